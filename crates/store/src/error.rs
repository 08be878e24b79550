//! Errors of sessions on disk, worded so that the user can act on them.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("No conversation found with session ID: {id}")]
    NotFound { id: String },
    #[error("{} sessions are titled \"{title}\"; resume one of them by its session ID: {}", ids.len(), ids.join(", "))]
    Ambiguous { title: String, ids: Vec<String> },
    #[error("{} holds no conversation to resume", path.display())]
    Empty { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// Writing fails; the lines are still queued and will be tried again.
    #[error("{failure}")]
    Failing { failure: WriteFailure, lines: usize },
    /// Writing fails and the queue is full: nothing may run unrecorded, so the turn must end.
    #[error("the transcript cannot be written and {} MiB are waiting for it; free disk space, then resume this session", limit >> 20)]
    Full { limit: usize },
    #[error(
        "no message with uuid {uuid} in this conversation; --resume-session-at takes the uuid of one of its entries"
    )]
    UnknownEntry { uuid: String },
    #[error("no snapshot with ID {id}; see gimlet undo --list")]
    NoSnapshot { id: String },
    #[error("{} snapshots begin with {id}; give more of the ID", .count)]
    ManySnapshots { id: String, count: usize },
    #[error("nothing to undo here; gimlet undo --list --all shows what was saved elsewhere")]
    NothingToUndo,
    #[error("newer work would be replaced: {}", named(.paths))]
    NewerWork { paths: Vec<PathBuf> },
    #[error("Resume rejected by --resume-drops-turn: {reason}")]
    DropsTurn { reason: String },
}

/// Lists the first few paths.
fn named(paths: &[PathBuf]) -> String {
    const MOST: usize = 5;
    let mut text: Vec<String> = paths.iter().take(MOST).map(|path| path.display().to_string()).collect();
    if paths.len() > MOST {
        text.push(format!("and {} more", paths.len() - MOST));
    }
    text.join(", ")
}

impl StoreError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), source }
    }
}

/// Why transcript lines cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// In words, such as `disk full`.
    pub cause: String,
    /// The error code of the system, such as `ENOSPC`.
    pub code: String,
    /// The failure does not pass by itself, or has lasted a minute: the user must be warned.
    pub warn: bool,
}

impl std::fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Transcript writes are failing ({} — {}) · recent messages may not be saved for resume",
            self.cause, self.code
        )
    }
}
