//! The two versions: the one clients gate features on, and our own.

/// What `--version`, `system/init` and transcripts report. Clients compare it; it is not our release number.
pub const COMPAT: &str = "2.1.325";
/// Our own release.
pub const OWN: &str = env!("CARGO_PKG_VERSION");
/// The product name shown to users and servers.
pub const PRODUCT: &str = "gimlet";

/// `2.1.325 (gimlet 0.1.0)`
pub fn line() -> String {
    format!("{COMPAT} ({PRODUCT} {OWN})")
}
