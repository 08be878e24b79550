//! Notices changed files without reading them: by time, size and identity. A file that appears or vanishes is a change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
}

impl Stamp {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            size: meta.len(),
            inode: meta.ino(),
        }
    }
}

impl Stamps {
    pub(crate) fn take(paths: Vec<PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect())
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Adds a path as it is now.
    pub(crate) fn add(&mut self, path: PathBuf) {
        let now = stamp(&path);
        self.0.push((path, now));
    }

    /// Adds a file whose state was seen when it was read.
    pub(crate) fn add_seen(&mut self, path: PathBuf, seen: Stamp) {
        self.0.push((path, Some(seen)));
    }

    /// Whether every file is as it was.
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(|(path, before)| stamp(path) == *before)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().as_ref().map(Stamp::of)
}
