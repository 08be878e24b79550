//! Checks the folders a session writes to, and the URL requests are sent to.

use super::{DoctorContext, DoctorFinding, bad, good, without_password};
use config::state::{config_home, state_file};
use std::path::{Path, PathBuf};
use sys::Env;
use sys::fs::Durability;

/// Large enough to detect a full disk.
const PROBE_BYTES: usize = 64 * 1024;

/// Checks that sessions, settings and trust can be saved. Writes a file and removes it.
pub(super) fn writable(env: &Env, findings: &mut Vec<DoctorFinding>) {
    let state_dir = state_file(env).and_then(|file| file.parent().map(Path::to_path_buf));
    let mut dirs: Vec<PathBuf> = config_home(env).into_iter().chain(state_dir).collect();
    dirs.dedup();
    for dir in dirs {
        if let Err(error) = probe(&dir) {
            let text = format!("{} cannot be written ({error}): sessions and settings cannot be saved", dir.display());
            let fix = format!(
                "make room in {0} and make it writable, or set CLAUDE_CONFIG_DIR to a folder that is; \
                 --no-session-persistence runs without saving",
                dir.display()
            );
            findings.push(bad("config home", text, fix));
        }
    }
}

/// If the folder does not exist yet, its nearest existing parent must be writable.
fn probe(dir: &Path) -> std::io::Result<()> {
    let missing =
        |dir: &&Path| std::fs::symlink_metadata(dir).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let there = dir.ancestors().find(|dir| !missing(dir)).unwrap_or(dir);
    let file = there.join(format!(".gimlet-doctor-{}", sys::id::base36(8)));
    let written = sys::fs::atomic_write_with(&file, ".".repeat(PROBE_BYTES).as_bytes(), 0o600, Durability::Disk);
    std::fs::remove_file(&file).ok();
    written
}

/// Checks the URL that requests are sent to.
pub(super) fn base_url(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let Some(url) = config::credentials::base_url(&context.loaded.env) else { return };
    let has_query = url.contains(['?', '#']).then_some("has a query or a fragment");
    match url_problem(url).or(has_query) {
        None => findings.push(good("credentials", format!("requests go to {}", without_password(url)))),
        Some(problem) => findings.push(bad(
            "credentials",
            format!("ANTHROPIC_BASE_URL is {:?}, which {problem}", without_password(url)),
            "set ANTHROPIC_BASE_URL to an address such as https://host.example, or unset it",
        )),
    }
}

/// The way requests go.
pub(super) fn proxy(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    if let Err(error) = http::Http::new(context.loaded.env.clone()).check() {
        let fix = "set the proxy variable to an address such as http://proxy.example:3128, or unset it";
        findings.push(bad("network", error.to_string(), fix));
    }
}

/// More places to work in, which have to be there.
pub(super) fn directories(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    for dir in context.loaded.additional_directories.iter().filter(|dir| !dir.is_dir()) {
        let text = format!("permissions.additionalDirectories names {}, which is not a directory", dir.display());
        findings.push(bad("settings", text, format!("create {} or remove it from the settings", dir.display())));
    }
}

/// What a conversation can be taken back with.
pub(super) fn checkpoints(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let settings = &context.loaded.settings;
    let by_variable = context.loaded.env.is_on("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING");
    let has_snapshots = settings.snapshots_enabled != Some(false);
    let text = match (settings.file_checkpointing_enabled != Some(false), has_snapshots) {
        _ if by_variable => {
            "off (CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING): only conversations can be taken back".to_owned()
        }
        (false, _) => "off (fileCheckpointingEnabled): only conversations can be taken back".to_owned(),
        (true, false) => "edits of tools only (snapshotsEnabled is off): what commands do is not saved".to_owned(),
        (true, true) => "edits of tools and what commands do (`gimlet rewind`, `gimlet undo`)".to_owned(),
    };
    findings.push(good("going back", text));
}

/// Why a text is not an address that HTTP requests can go to.
pub(super) fn url_problem(url: &str) -> Option<&'static str> {
    let url = url.trim();
    let Some((scheme, rest)) = url.split_once("://") else { return Some("has no http:// or https:// in front") };
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Some("is neither http:// nor https://");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((name, after)) => (name, after.strip_prefix(':')),
            None => return Some("has a bracket that is not closed"),
        },
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Some("names no host");
    }
    match port {
        Some(port) if port.parse::<u16>().is_err() => Some("has a port that is not a number up to 65535"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::url_problem;

    // [F-C8]
    #[test]
    fn addresses_are_told_from_other_texts() {
        for fine in ["https://a.example", "http://127.0.0.1:8080/x?y", "HTTP://u:p@[::1]:80", "https://a.example:443/"]
        {
            assert_eq!(url_problem(fine), None, "{fine}");
        }
        for wrong in ["", "a.example", "ftp://a", "https://", "https:///x", "http://a:x", "http://[::1", "http://a b/"]
        {
            assert!(url_problem(wrong).is_some(), "{wrong}");
        }
    }
}
