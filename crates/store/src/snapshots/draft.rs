//! Saving. A draft takes paths for as long as its limits last; committing writes the manifest, after which the change may
//! happen; settling afterwards leaves in the manifest only what the change really touched, and adds what it made.

use super::blobs::{NotSaved, hash_of};
use super::manifest::{ManifestEntry, PathState, SnapshotHeader, SnapshotManifest, SnapshotStage};
use super::newer::PathAfterChange;
use super::{SMALL, SnapshotLimits, Snapshots};
use crate::error::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::fs::anchored::{FileFacts, FileKind, OpenFolder};

/// How much of a path may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveExtent {
    /// The path itself; of a folder only that it is there.
    Itself,
    /// The path and everything below it.
    Below,
}

/// A time this close to the moment of saving may hide a later change.
const RACY_NANOSECONDS: i64 = 100_000_000;

/// Longer than any file of a small snapshot takes.
const FOREVER: Duration = Duration::from_hours(1);

/// A snapshot being taken.
#[derive(Debug)]
pub struct SnapshotDraft {
    snapshots: Snapshots,
    header: SnapshotHeader,
    limits: SnapshotLimits,
    deadline: Instant,
    entries: BTreeMap<PathBuf, SavedPath>,
    /// Folders whose names are all known: what appears in them later is new.
    whole: BTreeSet<PathBuf>,
    /// What was in those folders and could not be saved: it was not made by the change.
    unsaved: BTreeSet<PathBuf>,
    /// What a rewind will bring the paths to.
    targets: BTreeMap<PathBuf, PathState>,
    ready: bool,
}

#[derive(Debug)]
struct SavedPath {
    state: PathState,
    /// What was there, to recognise that nothing happened.
    seen: Option<FileFacts>,
}

/// A snapshot on disk whose change is about to happen or under way.
#[derive(Debug)]
pub struct PendingSnapshot {
    snapshots: Snapshots,
    header: SnapshotHeader,
    entries: BTreeMap<PathBuf, SavedPath>,
    whole: BTreeSet<PathBuf>,
    /// What was in those folders and could not be saved: it was not made by the change.
    unsaved: BTreeSet<PathBuf>,
    targets: BTreeMap<PathBuf, PathState>,
    limits: SnapshotLimits,
    /// Nanoseconds since the epoch.
    saved_at: i64,
}

impl SnapshotDraft {
    pub(super) fn new(snapshots: Snapshots, header: SnapshotHeader, limits: SnapshotLimits, deadline: Instant) -> Self {
        let (entries, whole, unsaved) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let targets = BTreeMap::new();
        Self { snapshots, header, limits, deadline, entries, whole, unsaved, targets, ready: false }
    }

    /// Saves an absolute path as it is now, or that nothing is there. Links on the way to it are resolved now; the path
    /// itself is never followed. What cannot be saved is noted in the header.
    pub fn save(&mut self, path: &Path, reach: SaveExtent) {
        if self.header.cut.is_some() || is_virtual(path) {
            return;
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let (real, missing) = nearest(parent);
        if let Some(first) = missing.first() {
            if std::fs::symlink_metadata(real.join(first)).is_ok() {
                self.header.skip(path, "the way to it is a broken link or cannot be searched");
                return;
            }
            // Nothing is there: neither the path nor the folders it would need.
            let mut folder = real.join(first);
            self.record_path(folder.clone(), PathState::Absent, None);
            for part in missing.iter().skip(1).map(PathBuf::as_path).chain([Path::new(name)]) {
                folder.push(part);
                self.record_path(folder.clone(), PathState::Absent, None);
            }
            return;
        }
        if let Err(error) = OpenFolder::open(&real).and_then(|folder| self.save_in(&folder, &real, name, reach)) {
            self.header.skip(path, error.to_string());
        }
    }

    /// Saves the path itself as a restore will find it: no link on the way to it is followed or resolved. Parents must
    /// come before what is in them.
    pub(super) fn save_exactly(&mut self, path: &Path) -> io::Result<()> {
        let no_folder = |dir: &Path| self.saved(dir).is_some_and(|state| !matches!(state, PathState::Folder { .. }));
        if path.ancestors().skip(1).any(no_folder) {
            self.record_path(path.to_path_buf(), PathState::Absent, None);
            return Ok(());
        }
        match OpenFolder::open_parent(path) {
            Ok((folder, name)) => {
                let dir = path.parent().unwrap_or(path).to_path_buf();
                self.save_in(&folder, &dir, name, SaveExtent::Itself)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.record_path(path.to_path_buf(), PathState::Absent, None);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn save_in(&mut self, folder: &OpenFolder, dir: &Path, name: &OsStr, reach: SaveExtent) -> io::Result<()> {
        let path = dir.join(name);
        if path.starts_with(&self.snapshots.root) || self.is_full() {
            return Ok(());
        }
        let known = self.entries.contains_key(&path);
        let Some(seen) = folder.stat(name)? else {
            self.record_path(path, PathState::Absent, None);
            return Ok(());
        };
        match seen.kind {
            FileKind::Folder => {
                self.record_path(
                    path.clone(),
                    PathState::Folder { mode: seen.mode, modified: seen.modified },
                    Some(seen),
                );
                if reach == SaveExtent::Below && !self.whole.contains(&path) {
                    self.below(folder, name, &path)?;
                }
            }
            FileKind::File if !known => self.file(folder, name, path, seen)?,
            FileKind::Link if !known => {
                let to = folder.link_target(name)?;
                self.record_path(path, PathState::Link { to }, Some(seen));
            }
            FileKind::File | FileKind::Link => {}
            FileKind::Special => self.header.skip(&path, "it is a device, pipe or socket"),
        }
        Ok(())
    }

    fn below(&mut self, folder: &OpenFolder, name: &OsStr, path: &Path) -> io::Result<()> {
        let inner = folder.enter(name)?;
        let mut names = inner.names()?;
        names.sort_unstable();
        for name in names {
            if let Err(error) = self.save_in(&inner, path, &name, SaveExtent::Below) {
                self.header.skip(&path.join(&name), error.to_string());
            }
            if self.header.cut.is_some() {
                return Ok(());
            }
            let path = path.join(&name);
            if !self.entries.contains_key(&path) {
                self.unsaved.insert(path);
            }
        }
        self.whole.insert(path.to_path_buf());
        Ok(())
    }

    fn file(&mut self, folder: &OpenFolder, name: &OsStr, path: PathBuf, seen: FileFacts) -> io::Result<()> {
        if self.header.bytes + seen.size > self.limits.bytes {
            self.header.cut = Some(format!("more than {} MiB would have to be saved", self.limits.bytes >> 20));
            self.header.skip(&path, "the size limit is reached");
            return Ok(());
        }
        self.prepare()?;
        let mut file = folder.read(name)?;
        let deadline = if self.is_small(seen.size) { Instant::now() + FOREVER } else { self.deadline };
        match self.snapshots.blobs().put(&mut file, deadline) {
            Ok((blob, size)) => {
                self.header.bytes += size;
                let state = PathState::File {
                    blob,
                    size,
                    mode: seen.mode,
                    modified: seen.modified,
                    uid: seen.owner.0,
                    gid: seen.owner.1,
                };
                self.record_path(path, state, Some(seen));
                Ok(())
            }
            Err(NotSaved::Late) => {
                self.stop_for_time();
                self.header.skip(&path, "the time limit is reached");
                Ok(())
            }
            Err(NotSaved::Failed(error)) => Err(error),
        }
    }

    /// Whether so little was saved, with so many bytes more, that the time does not matter.
    fn is_small(&self, more: u64) -> bool {
        (self.entries.len() as u64) < self.limits.always && self.header.bytes + more <= SMALL
    }

    fn stop_for_time(&mut self) {
        self.header.cut = Some(format!("saving took longer than {} s", self.limits.time.as_secs()));
    }

    fn is_full(&mut self) -> bool {
        if self.header.cut.is_some() {
            return true;
        }
        if self.entries.len() as u64 >= self.limits.files {
            self.header.cut = Some(format!("more than {} files would have to be saved", self.limits.files));
        } else if !self.is_small(0) && Instant::now() > self.deadline {
            self.stop_for_time();
        }
        self.header.cut.is_some()
    }

    fn record_path(&mut self, path: PathBuf, state: PathState, seen: Option<FileFacts>) {
        self.entries.entry(path).or_insert(SavedPath { state, seen });
    }

    /// Makes the directories of the store, once.
    fn prepare(&mut self) -> io::Result<()> {
        if self.ready {
            return Ok(());
        }
        crate::layout::create_private(self.snapshots.blobs().root())?;
        crate::layout::create_private(&self.snapshots.root.join("manifests"))?;
        self.ready = true;
        Ok(())
    }

    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    pub(super) fn set_undoes(&mut self, ids: Vec<String>) {
        self.header.undoes = ids;
        self.header.stage = SnapshotStage::Applying;
    }

    /// What the change, a rewind, will bring its paths to.
    pub(super) fn set_targets(&mut self, targets: BTreeMap<PathBuf, PathState>) {
        self.targets = targets;
    }

    /// The state saved of a path.
    pub(super) fn saved(&self, path: &Path) -> Option<&PathState> {
        self.entries.get(path).map(|saved| &saved.state)
    }

    /// Writes the manifest. `None` when nothing was kept and nothing is missing; a restore that finds all in place is
    /// still noted, or the next one would choose the same change again.
    pub fn commit(mut self) -> Result<Option<PendingSnapshot>, StoreError> {
        if self.entries.is_empty() && self.header.is_complete() && self.header.undoes.is_empty() {
            return Ok(None);
        }
        self.header.files = self.entries.len() as u64;
        let root = self.snapshots.root.clone();
        self.prepare().map_err(|e| StoreError::write(&root, e))?;
        let kept = PendingSnapshot {
            snapshots: self.snapshots,
            header: self.header,
            entries: self.entries,
            whole: self.whole,
            unsaved: self.unsaved,
            targets: self.targets,
            limits: self.limits,
            saved_at: i64::try_from(sys::clock::now_ms()).unwrap_or(i64::MAX / 1_000_000) * 1_000_000,
        };
        kept.write()?;
        Ok(Some(kept))
    }
}

impl PendingSnapshot {
    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// Where the content of a saved file lies; `None` when the path was no file or is not in this snapshot.
    pub fn content_of(&self, path: &Path) -> Option<PathBuf> {
        let parent = std::fs::canonicalize(path.parent()?).ok()?;
        match &self.entries.get(&parent.join(path.file_name()?))?.state {
            PathState::File { blob, .. } => Some(self.snapshots.blobs().path(blob)),
            PathState::Absent | PathState::Link { .. } | PathState::Folder { .. } => None,
        }
    }

    fn write(&self) -> Result<(), StoreError> {
        let over = self.header.stage == SnapshotStage::Settled;
        let entry = |(path, saved): (&PathBuf, &SavedPath)| ManifestEntry {
            path: path.clone(),
            state: saved.state.clone(),
            left: if over { PathAfterChange::now(path) } else { None },
            target: if over { None } else { self.targets.get(path).cloned() },
        };
        let manifest =
            SnapshotManifest { header: self.header.clone(), entries: self.entries.iter().map(entry).collect() };
        manifest.write(&self.snapshots.manifest_path(&self.header.id))
    }

    /// The change is over: forgets what it left alone and notes what it made. A snapshot of nothing is removed.
    pub fn complete(mut self) -> Result<Option<SnapshotHeader>, StoreError> {
        self.add_new();
        let saved_at = self.saved_at;
        self.entries.retain(|path, saved| changed(path, saved, saved_at));
        let path = self.snapshots.manifest_path(&self.header.id);
        if self.entries.is_empty() && self.header.is_complete() {
            std::fs::remove_file(&path).map_err(|e| StoreError::write(&path, e))?;
            return Ok(None);
        }
        self.header.stage = SnapshotStage::Settled;
        self.header.files = self.entries.len() as u64;
        self.write()?;
        Ok(Some(self.header))
    }

    /// The change failed. What it left alone is forgotten, also that not everything could be saved of it.
    pub fn abandon(mut self) -> Result<Option<SnapshotHeader>, StoreError> {
        self.header.cut = None;
        self.header.skipped.clear();
        self.header.skipped_count = 0;
        self.complete()
    }

    /// A restore is through.
    pub(super) fn finish(mut self) -> Result<SnapshotHeader, StoreError> {
        self.header.stage = SnapshotStage::Settled;
        self.write()?;
        Ok(self.header)
    }

    /// What now is where nothing was.
    fn add_new(&mut self) {
        let absent = self.entries.iter().filter(|(_, saved)| saved.state == PathState::Absent).map(|(path, _)| path);
        let mut folders: Vec<PathBuf> = absent.chain(&self.whole).cloned().collect();
        while let Some(path) = folders.pop() {
            if self.entries.len() as u64 >= 2 * self.limits.files {
                return;
            }
            let Ok(folder) = OpenFolder::open(&path) else { continue };
            for name in folder.names().unwrap_or_default() {
                let inner = path.join(&name);
                if self.entries.contains_key(&inner) || self.unsaved.contains(&inner) {
                    continue;
                }
                if folder.stat(&name).ok().flatten().is_some_and(|seen| seen.kind == FileKind::Folder) {
                    folders.push(inner.clone());
                }
                self.entries.insert(inner, SavedPath { state: PathState::Absent, seen: None });
            }
        }
    }
}

fn changed(path: &Path, saved: &SavedPath, saved_at: i64) -> bool {
    let Ok((folder, name)) = OpenFolder::open_parent(path) else { return saved.seen.is_some() };
    let (Ok(now), before) = (folder.stat(name), saved.seen) else { return true };
    let (now, before) = match (now, before) {
        (None, None) => return false,
        (Some(now), Some(before)) => (now, before),
        (None, Some(_)) | (Some(_), None) => return true,
    };
    match (&saved.state, now.kind) {
        (PathState::Folder { mode, modified }, FileKind::Folder) => (now.mode, now.modified) != (*mode, *modified),
        (PathState::Link { to }, FileKind::Link) => folder.link_target(name).ok().as_ref() != Some(to),
        (PathState::File { blob, .. }, FileKind::File) => {
            if now != before {
                return true;
            }
            // The clock of a file system is coarse: a change at the moment of saving leaves the same time.
            let racy = now.modified + RACY_NANOSECONDS > saved_at;
            racy && folder.read(name).and_then(|mut file| hash_of(&mut file)).ok().as_ref() != Some(blob)
        }
        _ => true,
    }
}

/// The nearest existing folder with its links resolved, and the components that are missing below it.
fn nearest(folder: &Path) -> (PathBuf, Vec<PathBuf>) {
    let mut missing = Vec::new();
    let mut at = folder;
    loop {
        if let Ok(real) = std::fs::canonicalize(at) {
            missing.reverse();
            return (real, missing);
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            missing.reverse();
            return (PathBuf::from("/"), missing);
        };
        missing.push(PathBuf::from(name));
        at = parent;
    }
}

/// Devices and the kernel's own trees hold no work.
fn is_virtual(path: &Path) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|dir| path.starts_with(dir))
}
