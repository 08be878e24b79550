//! Saves files before they are changed, and restores them. All sessions share one content store: blobs named by their
//! hash, and one manifest per snapshot that records the state of each path.
//!
//! Guarantees: nothing is created before the first save; all files are private to the user; no link is followed,
//! neither when saving nor when restoring; a restore first saves what it is about to replace, so it can be undone
//! itself, and the next restore finishes one that was killed. Refuses to restore over a file that shares its inode with
//! another name, and to remove what it could not save.

mod blobs;
mod draft;
mod manifest;
mod newer;
mod prune;
mod restore;
mod restore_plan;
mod rewind;

pub use draft::{PendingSnapshot, SaveExtent, SnapshotDraft};
pub use manifest::{
    ChangeKind, ManifestEntry, PathState, SkippedPath, SnapshotHeader, SnapshotManifest, SnapshotStage,
};
pub use restore::{RestoreProblem, UndoChoice, UndoResult};
pub use restore_plan::active;
pub(crate) use rewind::add_lines;
pub use rewind::{ConversationStep, CopyAuthor, FileRewind, FoundCopy, RewindOutcome, RewindSelection, content_hash};

use crate::error::StoreError;
use blobs::BlobStore;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The limits of one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLimits {
    pub files: u64,
    pub bytes: u64,
    pub time: Duration,
    /// This many files, of at most 64 MiB together, are saved however long it takes: a small change is saved completely
    /// on a busy machine too.
    pub always: u64,
}

/// In bytes: how much is saved without a time limit.
const SMALL: u64 = 64 << 20;

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { files: 50_000, bytes: 1 << 30, time: Duration::from_secs(10), always: 5_000 }
    }
}

/// The change that a snapshot precedes.
#[derive(Clone, Debug)]
pub struct SnapshotCause {
    pub kind: ChangeKind,
    pub session: String,
    pub cwd: PathBuf,
    /// The command, or the tool and its file.
    pub description: String,
    /// The uuid of the prompt whose turn makes the change.
    pub prompt: Option<String>,
}

/// The snapshot store below one configuration home.
#[derive(Clone, Debug)]
pub struct Snapshots {
    root: PathBuf,
}

impl Snapshots {
    /// Does not touch the disk.
    pub fn at(config_home: &Path) -> Self {
        Self { root: config_home.join("snapshots") }
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Begins a snapshot in memory; nothing is written before the first file is saved.
    pub fn begin(&self, about: SnapshotCause, limits: SnapshotLimits) -> SnapshotDraft {
        let header = SnapshotHeader::new(about, Self::next_moment());
        SnapshotDraft::new(self.clone(), header, limits, Instant::now() + limits.time)
    }

    /// Headers of all snapshots, oldest first. Unreadable ones are left out.
    pub fn list(&self) -> Vec<SnapshotHeader> {
        let mut found: Vec<SnapshotHeader> =
            self.manifest_paths().iter().filter_map(|path| manifest::read_header(path)).collect();
        sys::compact_sort::sort_by(&mut found, |a, b| a.id.cmp(&b.id));
        found
    }

    pub fn load(&self, id: &str) -> Result<SnapshotManifest, StoreError> {
        let path = self.manifest_path(id);
        let known = id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if !known || !path.exists() {
            return Err(StoreError::NoSnapshot { id: id.to_owned() });
        }
        manifest::read(&path)
    }

    fn manifest_paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.root.join("manifests")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect()
    }

    fn manifest_path(&self, id: &str) -> PathBuf {
        self.root.join("manifests").join(format!("{id}.jsonl"))
    }

    fn blobs(&self) -> BlobStore {
        BlobStore::at(&self.root)
    }

    /// The time in milliseconds, made later than every snapshot this process has begun.
    fn next_moment() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let now = sys::clock::now_ms();
        let before = LAST.fetch_max(now, Ordering::Relaxed);
        if before < now {
            return now;
        }
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }
}

#[cfg(test)]
#[path = "snapshots/snapshots_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "snapshots/newer_tests.rs"]
mod newer_tests;

#[cfg(test)]
#[path = "snapshots/saving_tests.rs"]
mod saving_tests;
