//! Detects changed files without reading them: by time, size and identity. A new or missing file is a change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathStamps(Vec<(PathBuf, Option<PathStamp>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathStamp {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
}

impl PathStamp {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            size: meta.len(),
            inode: meta.ino(),
        }
    }
}

impl PathStamps {
    pub(crate) fn take(paths: Vec<PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect())
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Adds a path in its current state.
    pub(crate) fn add(&mut self, path: PathBuf) {
        let now = stamp(&path);
        self.0.push((path, now));
    }

    /// Adds a file in the state in which it was read.
    pub(crate) fn add_seen(&mut self, path: PathBuf, seen: PathStamp) {
        self.0.push((path, Some(seen)));
    }

    /// True when no file has changed.
    pub(crate) fn are_unchanged(&self) -> bool {
        self.0.iter().all(|(path, before)| stamp(path) == *before)
    }
}

fn stamp(path: &Path) -> Option<PathStamp> {
    std::fs::metadata(path).ok().as_ref().map(PathStamp::of)
}
