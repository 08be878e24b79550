//! Removes snapshots past their age, the oldest ones while all together take too much space, and contents without a
//! reference. Runs at most once a day.

use super::Snapshots;
use super::manifest::{self, PathState};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

const EVERY_SECONDS: u64 = 24 * 60 * 60;
/// Contents this young may belong to a snapshot that is just being taken.
const YOUNG_SECONDS: u64 = 60 * 60;

impl Snapshots {
    /// Prunes unless that was done within a day, by any session. Failures only mean that old things stay longer.
    pub fn prune_daily(&self, age: Duration, bytes: u64) {
        let stamp = self.root.join("pruned");
        if !self.root.is_dir() || age_of(&stamp).is_some_and(|age| age < EVERY_SECONDS) {
            return;
        }
        let done = sys::fs::with_lock(&self.root.join("prune.lock"), Duration::ZERO, || {
            sys::fs::atomic_write(&stamp, b"", 0o600).ok();
            self.prune(age, bytes);
        });
        if let Err(error) = done {
            tracing::debug!(%error, "old snapshots were not pruned");
        }
    }

    fn prune(&self, age: Duration, bytes: u64) {
        let now = sys::clock::now_ms();
        let limit = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let (mut used, mut room) = (HashSet::new(), bytes);
        for header in self.list().iter().rev() {
            let path = self.manifest_path(&header.id);
            room = room.saturating_sub(header.bytes);
            let old = header.at < limit || room == 0;
            if old && header.at + YOUNG_SECONDS * 1000 < now {
                std::fs::remove_file(&path).ok();
                continue;
            }
            let Ok(manifest) = manifest::read(&path) else { continue };
            used.extend(manifest.entries.into_iter().filter_map(|entry| match entry.state {
                PathState::File { blob, .. } => Some(blob),
                PathState::Absent | PathState::Link { .. } | PathState::Folder { .. } => None,
            }));
        }
        self.sweep(&used);
    }

    fn sweep(&self, used: &HashSet<String>) {
        let blobs = self.blobs();
        for dir in std::fs::read_dir(blobs.root()).into_iter().flatten().flatten() {
            let first = dir.file_name().to_string_lossy().into_owned();
            if first.starts_with("new-") {
                forget(&dir.path());
                continue;
            }
            for blob in std::fs::read_dir(dir.path()).into_iter().flatten().flatten() {
                let hash = format!("{first}{}", blob.file_name().to_string_lossy());
                if !used.contains(&hash) {
                    forget(&blob.path());
                }
            }
        }
    }
}

fn forget(path: &Path) {
    if age_of(path).is_some_and(|age| age > YOUNG_SECONDS) {
        std::fs::remove_file(path).ok();
    }
}

/// Seconds since the last change.
fn age_of(path: &Path) -> Option<u64> {
    let modified = u64::try_from(std::fs::symlink_metadata(path).ok()?.mtime()).ok()?;
    Some((sys::clock::now_ms() / 1000).saturating_sub(modified))
}
