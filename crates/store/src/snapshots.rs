//! What was there before something changed it, and the way back. One content store for all sessions: blobs named by their
//! hash, and one manifest per snapshot that says how each path was.
//!
//! Guarantees: nothing is created before the first save; everything is private to the user; no link is followed, neither
//! on saving nor on restoring; a restore first saves what it is about to replace, so it can be undone itself, and one
//! that was killed is finished by the next. Refuses: to restore over a file that shares its inode with another name,
//! to remove what it could not save.

mod blobs;
mod draft;
mod manifest;
mod newer;
mod prune;
mod restore;
mod restore_plan;

pub use draft::{PendingSnapshot, SaveExtent, SnapshotDraft};
pub use manifest::{
    ChangeKind, ManifestEntry, PathState, SkippedPath, SnapshotHeader, SnapshotManifest, SnapshotStage,
};
pub use restore::{RestoreProblem, UndoChoice, UndoResult};
pub use restore_plan::active;

use crate::error::StoreError;
use blobs::BlobStore;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What one snapshot may cost.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotLimits {
    pub files: u64,
    pub bytes: u64,
    pub time: Duration,
    /// So many files, of at most 64 MiB together, are saved however long it takes: a busy machine must not cut
    /// what is small.
    pub always: u64,
}

/// What is always saved, in bytes.
const SMALL: u64 = 64 << 20;

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { files: 50_000, bytes: 1 << 30, time: Duration::from_secs(10), always: 5_000 }
    }
}

/// Who is about to change something, and how.
#[derive(Clone, Debug)]
pub struct SnapshotCause {
    pub kind: ChangeKind,
    pub session: String,
    pub cwd: PathBuf,
    /// The command, or the tool and its file.
    pub description: String,
}

/// The store below one configuration home.
#[derive(Clone, Debug)]
pub struct Snapshots {
    root: PathBuf,
}

impl Snapshots {
    /// Touches nothing.
    pub fn at(config_home: &Path) -> Self {
        Self { root: config_home.join("snapshots") }
    }

    /// Where all of it is kept.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// A new snapshot in memory; nothing is on disk before something was kept.
    pub fn begin(&self, about: SnapshotCause, limits: SnapshotLimits) -> SnapshotDraft {
        let header = SnapshotHeader::new(about, Self::next_moment());
        SnapshotDraft::new(self.clone(), header, limits, Instant::now() + limits.time)
    }

    /// Headers of all snapshots, oldest first. What cannot be read is left out.
    pub fn list(&self) -> Vec<SnapshotHeader> {
        let mut found: Vec<SnapshotHeader> =
            self.manifest_paths().iter().filter_map(|path| manifest::read_header(path)).collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
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

    /// Milliseconds, later than every snapshot this process has begun.
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
