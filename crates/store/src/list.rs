//! What session pickers show, from the first and last 64 KiB of a file.

use std::path::{Path, PathBuf};

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: String,
    pub path: PathBuf,
    pub title: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: Option<u64>,
    /// Milliseconds since the epoch, of the file.
    pub modified_at: u64,
    pub entrypoint: Option<String>,
    pub tag: Option<String>,
}

pub(crate) fn recorded_cwd(_path: &Path) -> Option<String> {
    None
}
