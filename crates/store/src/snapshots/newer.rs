//! Work that is newer than the change to be taken back. When a change is over, the manifest notes how it left each path;
//! a path that differs now was changed by another program since: its content decides, not its time, and its mode.
//! The index of a repository is compared by what is
//! staged, because every `git status` may refresh the times it holds.

use super::blobs::hash_of;
use super::manifest::{PathState, SnapshotManifest};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::fs::anchored::{FileKind, OpenFolder};

/// Larger indexes are compared by time and size.
const MAX_INDEX: u64 = 256 << 20;
/// Larger files are compared by time and size.
const MAX_HASHED: u64 = 64 << 20;

/// How a change left a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "k", rename_all = "lowercase")]
pub enum PathAfterChange {
    Absent,
    /// Folders are compared by their entries.
    Folder {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    File {
        size: u64,
        modified: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// Of the content, or of where a link leads; `None` for large files and in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
        /// What is staged, for the index of a repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        staged: Option<String>,
    },
}

impl PathAfterChange {
    /// `None` when it is not known.
    pub(super) fn now(path: &Path) -> Option<Self> {
        let (folder, name) = match OpenFolder::open_parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Self::Absent),
            Err(_) => return None,
        };
        let Some(seen) = folder.stat(name).ok()? else { return Some(Self::Absent) };
        let (size, modified, mode) = (seen.size, seen.modified, Some(seen.mode));
        Some(match seen.kind {
            FileKind::Folder => Self::Folder { mode },
            FileKind::File => {
                let staged = is_index(path).then(|| staged(path)).flatten();
                let small = staged.is_none() && size <= MAX_HASHED;
                let hash = if small { folder.read(name).and_then(|mut file| hash_of(&mut file)).ok() } else { None };
                Self::File { size, modified, mode, hash, staged }
            }
            FileKind::Link => {
                let target = folder.link_target(name).ok();
                let hash = target.map(|to| format!("{:x}", Sha256::digest(to.as_os_str().as_encoded_bytes())));
                Self::File { size, modified, mode, hash, staged: None }
            }
            FileKind::Special => Self::File { size, modified, mode, hash: None, staged: None },
        })
    }

    fn is_same(&self, now: &Self) -> bool {
        let alike = |then: &Option<u32>, now: &Option<u32>| then.is_none() || then == now;
        match (self, now) {
            (Self::Absent, Self::Absent) => true,
            (Self::Folder { mode: then }, Self::Folder { mode: now }) => alike(then, now),
            (Self::File { staged: Some(then), .. }, Self::File { staged: Some(now), .. }) => then == now,
            (
                Self::File { size, modified, mode, hash, .. },
                Self::File { size: size_now, modified: modified_now, mode: mode_now, hash: hash_now, .. },
            ) => {
                let content = match (hash, hash_now) {
                    (Some(then), Some(now)) => then == now,
                    _ => modified == modified_now,
                };
                size == size_now && content && alike(mode, mode_now)
            }
            (Self::Absent | Self::Folder { .. } | Self::File { .. }, _) => false,
        }
    }
}

/// How the changes left their paths, as far as that is known; the last one decides. `manifests` come oldest first.
pub(super) fn states_after(manifests: &[SnapshotManifest]) -> BTreeMap<PathBuf, PathAfterChange> {
    let mut left = BTreeMap::new();
    for entry in manifests.iter().flat_map(|manifest| &manifest.entries) {
        match &entry.left {
            Some(state) => drop(left.insert(entry.path.clone(), state.clone())),
            None => drop(left.remove(&entry.path)),
        }
    }
    left
}

/// Whether the path was changed since, so that bringing it to `target` would replace newer work.
pub(super) fn is_newer(path: &Path, target: &PathState, left: Option<&PathAfterChange>) -> bool {
    let (Some(then), Some(now)) = (left, PathAfterChange::now(path)) else { return false };
    // A folder that is there again keeps what is in it.
    let reused = matches!(
        (target, then, &now),
        (PathState::Folder { .. }, PathAfterChange::Absent, PathAfterChange::Folder { .. })
    );
    !reused && !then.is_same(&now)
}

fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "index") && path.with_file_name("HEAD").is_file()
}

/// A hash of what is staged: modes, objects, stages and names, without the times of files.
fn staged(index: &Path) -> Option<String> {
    let bytes = sys::fs::read_whole(index, MAX_INDEX as usize).ok()?;
    [20, 32].into_iter().find_map(|hash| entries(&bytes, hash))
}

/// `None` when the index is not of this kind.
fn entries(bytes: &[u8], hash: usize) -> Option<String> {
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (version, count) = (number(4)?, number(8)?);
    let mut hasher = Sha256::new();
    let mut at = 12;
    for _ in 0..count {
        let flags_at = at + 40 + hash;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let name_at = flags_at + if flags & 0x4000 != 0 { 4 } else { 2 };
        // Version 4 begins a name with the number of bytes it shares with the one before; those never hold a NUL but in
        // a number of zero, which is one byte.
        let skip = usize::from(version == 4);
        let length = bytes.get(name_at + skip..)?.iter().position(|byte| *byte == 0)? + skip;
        let name = bytes.get(name_at..name_at + length)?;
        if number(at + 24)? & 0o170_000 == 0 || name.is_empty() {
            return None;
        }
        hasher.update(bytes.get(at + 24..at + 28)?);
        hasher.update(bytes.get(at + 40..name_at)?);
        hasher.update(name);
        hasher.update([0]);
        at = if version == 4 { name_at + length + 1 } else { at + ((name_at + length - at) / 8 + 1) * 8 };
    }
    // Extensions follow, then a hash of everything: a file with hashes of another length does not end there.
    while at + hash < bytes.len() {
        at += 8 + number(at + 4)? as usize;
    }
    (bytes.len() == at + hash).then(|| format!("{:x}", hasher.finalize()))
}
