//! Files of the administrator.

use std::path::{Path, PathBuf};

/// The administrator's directory on this platform.
pub fn managed_dir() -> PathBuf {
    if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/ClaudeCode")
    } else {
        PathBuf::from("/etc/claude-code")
    }
}

/// A file that an ordinary user can write is not a policy. With a `chosen` directory the owner is not checked.
pub(crate) fn is_administrators_own(path: &Path, chosen: bool) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = std::fs::metadata(path) else { return false };
    (chosen || meta.uid() == 0) && meta.mode() & 0o022 == 0
}
