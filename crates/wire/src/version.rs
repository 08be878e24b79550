//! The two version numbers: the one that clients check for features, and gimlet's release.

/// The version that `--version`, `system/init` and transcripts report. Clients compare it; it is not gimlet's release
/// number.
pub const COMPAT: &str = "2.1.325";
/// gimlet's release number.
pub const OWN: &str = env!("CARGO_PKG_VERSION");
/// The product name shown to users and servers.
pub const PRODUCT: &str = "gimlet";

/// `2.1.325 (gimlet 0.1.0)`
pub fn line() -> String {
    format!("{COMPAT} ({PRODUCT} {OWN})")
}
