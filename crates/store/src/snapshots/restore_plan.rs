//! Which snapshots a restore takes back, and how each path must then look. Pure.

use super::manifest::{ChangeKind, ManifestEntry, PathState, SnapshotHeader, SnapshotManifest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The target state of every path: its oldest saved state. `manifests` come oldest first.
pub(super) fn merge(manifests: impl IntoIterator<Item = SnapshotManifest>) -> BTreeMap<PathBuf, PathState> {
    let mut plan: BTreeMap<PathBuf, PathState> = BTreeMap::new();
    for manifest in manifests {
        let mut decided = Vec::new();
        for ManifestEntry { path, state, .. } in manifest.entries {
            if plan.contains_key(&path) {
                continue;
            }
            // Below something that was no folder at an earlier time there was nothing either.
            let state = if below_no_folder(&plan, &path) { PathState::Absent } else { state };
            decided.push((path, state));
        }
        plan.extend(decided);
    }
    plan
}

fn below_no_folder(plan: &BTreeMap<PathBuf, PathState>, path: &Path) -> bool {
    let is_none = |dir: &Path| plan.get(dir).is_some_and(|state| !matches!(state, PathState::Folder { .. }));
    path.ancestors().skip(1).any(is_none)
}

/// The ids of snapshots that no restore has taken back. `headers` come oldest first.
pub fn active(headers: &[SnapshotHeader]) -> BTreeSet<&str> {
    let mut taken_back: BTreeSet<&str> = BTreeSet::new();
    let mut active = BTreeSet::new();
    for header in headers.iter().rev() {
        if !taken_back.contains(header.id.as_str()) {
            active.insert(header.id.as_str());
            taken_back.extend(header.undoes.iter().map(String::as_str));
        }
    }
    active
}

/// The newest change that is still in force.
pub(super) fn newest(headers: &[SnapshotHeader], fits: impl Fn(&SnapshotHeader) -> bool) -> Option<&SnapshotHeader> {
    let active = active(headers);
    headers.iter().rev().find(|h| h.kind != ChangeKind::Undo && active.contains(h.id.as_str()) && fits(h))
}

/// `first` and everything its session did after it, oldest first.
pub(super) fn since<'a>(headers: &'a [SnapshotHeader], first: &SnapshotHeader) -> Vec<&'a SnapshotHeader> {
    headers.iter().filter(|h| h.id >= first.id && h.session == first.session).collect()
}
