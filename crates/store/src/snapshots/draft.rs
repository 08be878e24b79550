//! Saving. A draft takes paths for as long as its limits last; committing writes the manifest, after which the change may
//! happen; settling afterwards leaves in the manifest only what the change really touched, and adds what it made.

use super::blobs::{NotSaved, hash_of};
use super::manifest::{Entry, Header, Manifest, Stage, State};
use super::newer::Left;
use super::{Limits, SMALL, Snapshots};
use crate::error::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::fs::anchored::{Folder, Seen, SeenKind};

/// How much of a path may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The path itself; of a folder only that it is there.
    Itself,
    /// The path and everything below it.
    Below,
}

/// A time this close to the moment of saving may hide a later change.
const RACY: i64 = 100_000_000;

/// Longer than any file of a small snapshot takes.
const FOREVER: Duration = Duration::from_hours(1);

/// A snapshot being taken.
#[derive(Debug)]
pub struct Draft {
    snapshots: Snapshots,
    header: Header,
    limits: Limits,
    deadline: Instant,
    entries: BTreeMap<PathBuf, Saved>,
    /// Folders whose content is saved completely: what appears in them later is new.
    whole: BTreeSet<PathBuf>,
    ready: bool,
}

#[derive(Debug)]
struct Saved {
    state: State,
    /// What was there, to recognise that nothing happened.
    seen: Option<Seen>,
}

/// A snapshot on disk whose change is about to happen or under way.
#[derive(Debug)]
pub struct Kept {
    snapshots: Snapshots,
    header: Header,
    entries: BTreeMap<PathBuf, Saved>,
    whole: BTreeSet<PathBuf>,
    limits: Limits,
    /// Nanoseconds since the epoch.
    saved_at: i64,
}

impl Draft {
    pub(super) fn new(snapshots: Snapshots, header: Header, limits: Limits, deadline: Instant) -> Self {
        let (entries, whole) = (BTreeMap::new(), BTreeSet::new());
        Self { snapshots, header, limits, deadline, entries, whole, ready: false }
    }

    /// Saves an absolute path as it is now, or that nothing is there. Links on the way to it are resolved now; the path
    /// itself is never followed. What cannot be saved is noted in the header.
    pub fn keep(&mut self, path: &Path, reach: Reach) {
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
            self.note(folder.clone(), State::Absent, None);
            for part in missing.iter().skip(1).map(PathBuf::as_path).chain([Path::new(name)]) {
                folder.push(part);
                self.note(folder.clone(), State::Absent, None);
            }
            return;
        }
        if let Err(error) = Folder::open(&real).and_then(|folder| self.keep_in(&folder, &real, name, reach)) {
            self.header.skip(path, error.to_string());
        }
    }

    /// Saves the path itself as a restore will find it: no link on the way to it is followed or resolved. Parents must
    /// come before what is in them.
    pub(super) fn keep_exactly(&mut self, path: &Path) -> io::Result<()> {
        let no_folder = |dir: &Path| self.saved(dir).is_some_and(|state| !matches!(state, State::Folder { .. }));
        if path.ancestors().skip(1).any(no_folder) {
            self.note(path.to_path_buf(), State::Absent, None);
            return Ok(());
        }
        match Folder::holding(path) {
            Ok((folder, name)) => {
                let dir = path.parent().unwrap_or(path).to_path_buf();
                self.keep_in(&folder, &dir, name, Reach::Itself)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.note(path.to_path_buf(), State::Absent, None);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn keep_in(&mut self, folder: &Folder, dir: &Path, name: &OsStr, reach: Reach) -> io::Result<()> {
        let path = dir.join(name);
        if path.starts_with(&self.snapshots.root) || self.is_full() {
            return Ok(());
        }
        let known = self.entries.contains_key(&path);
        let Some(seen) = folder.look(name)? else {
            self.note(path, State::Absent, None);
            return Ok(());
        };
        match seen.kind {
            SeenKind::Folder => {
                self.note(path.clone(), State::Folder { mode: seen.mode, modified: seen.modified }, Some(seen));
                if reach == Reach::Below && !self.whole.contains(&path) {
                    self.below(folder, name, &path)?;
                }
            }
            SeenKind::File if !known => self.file(folder, name, path, seen)?,
            SeenKind::Link if !known => {
                let to = folder.link_target(name)?;
                self.note(path, State::Link { to }, Some(seen));
            }
            SeenKind::File | SeenKind::Link => {}
            SeenKind::Special => self.header.skip(&path, "it is a device, pipe or socket"),
        }
        Ok(())
    }

    fn below(&mut self, folder: &Folder, name: &OsStr, path: &Path) -> io::Result<()> {
        let inner = folder.enter(name)?;
        let mut names = inner.names()?;
        names.sort_unstable();
        for name in names {
            if let Err(error) = self.keep_in(&inner, path, &name, Reach::Below) {
                self.header.skip(&path.join(&name), error.to_string());
            }
        }
        self.whole.insert(path.to_path_buf());
        Ok(())
    }

    fn file(&mut self, folder: &Folder, name: &OsStr, path: PathBuf, seen: Seen) -> io::Result<()> {
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
                let state = State::File {
                    blob,
                    size,
                    mode: seen.mode,
                    modified: seen.modified,
                    uid: seen.owner.0,
                    gid: seen.owner.1,
                };
                self.note(path, state, Some(seen));
                Ok(())
            }
            Err(NotSaved::Late) => {
                self.late();
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

    fn late(&mut self) {
        self.header.cut = Some(format!("saving took longer than {} s", self.limits.time.as_secs()));
    }

    fn is_full(&mut self) -> bool {
        if self.header.cut.is_some() {
            return true;
        }
        if self.entries.len() as u64 >= self.limits.files {
            self.header.cut = Some(format!("more than {} files would have to be saved", self.limits.files));
        } else if !self.is_small(0) && Instant::now() > self.deadline {
            self.late();
        }
        self.header.cut.is_some()
    }

    fn note(&mut self, path: PathBuf, state: State, seen: Option<Seen>) {
        self.entries.entry(path).or_insert(Saved { state, seen });
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

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn set_undoes(&mut self, ids: Vec<String>) {
        self.header.undoes = ids;
        self.header.stage = Stage::Applying;
    }

    /// The state saved of a path.
    pub(super) fn saved(&self, path: &Path) -> Option<&State> {
        self.entries.get(path).map(|saved| &saved.state)
    }

    /// Writes the manifest. `None` when nothing was kept and nothing is missing; a restore that finds all in place is
    /// still noted, or the next one would choose the same change again.
    pub fn commit(mut self) -> Result<Option<Kept>, StoreError> {
        if self.entries.is_empty() && self.header.is_complete() && self.header.undoes.is_empty() {
            return Ok(None);
        }
        self.header.files = self.entries.len() as u64;
        let root = self.snapshots.root.clone();
        self.prepare().map_err(|e| StoreError::write(&root, e))?;
        let kept = Kept {
            snapshots: self.snapshots,
            header: self.header,
            entries: self.entries,
            whole: self.whole,
            limits: self.limits,
            saved_at: i64::try_from(sys::clock::now_ms()).unwrap_or(i64::MAX / 1_000_000) * 1_000_000,
        };
        kept.write()?;
        Ok(Some(kept))
    }
}

impl Kept {
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn write(&self) -> Result<(), StoreError> {
        let over = self.header.stage == Stage::Settled;
        let entry = |(path, saved): (&PathBuf, &Saved)| Entry {
            path: path.clone(),
            state: saved.state.clone(),
            left: if over { Left::now(path) } else { None },
        };
        let manifest = Manifest { header: self.header.clone(), entries: self.entries.iter().map(entry).collect() };
        manifest.write(&self.snapshots.manifest_path(&self.header.id))
    }

    /// The change is over: forgets what it left alone and notes what it made. A snapshot of nothing is removed.
    pub fn settle(mut self) -> Result<Option<Header>, StoreError> {
        self.add_new();
        let saved_at = self.saved_at;
        self.entries.retain(|path, saved| changed(path, saved, saved_at));
        let path = self.snapshots.manifest_path(&self.header.id);
        if self.entries.is_empty() && self.header.is_complete() {
            std::fs::remove_file(&path).map_err(|e| StoreError::write(&path, e))?;
            return Ok(None);
        }
        self.header.stage = Stage::Settled;
        self.header.files = self.entries.len() as u64;
        self.write()?;
        Ok(Some(self.header))
    }

    /// A restore is through.
    pub(super) fn finish(mut self) -> Result<Header, StoreError> {
        self.header.stage = Stage::Settled;
        self.write()?;
        Ok(self.header)
    }

    /// What now is where nothing was.
    fn add_new(&mut self) {
        let absent = self.entries.iter().filter(|(_, saved)| saved.state == State::Absent).map(|(path, _)| path);
        let mut folders: Vec<PathBuf> = absent.chain(&self.whole).cloned().collect();
        while let Some(path) = folders.pop() {
            if self.entries.len() as u64 >= 2 * self.limits.files {
                return;
            }
            let Ok(folder) = Folder::open(&path) else { continue };
            for name in folder.names().unwrap_or_default() {
                let inner = path.join(&name);
                if self.entries.contains_key(&inner) {
                    continue;
                }
                if folder.look(&name).ok().flatten().is_some_and(|seen| seen.kind == SeenKind::Folder) {
                    folders.push(inner.clone());
                }
                self.entries.insert(inner, Saved { state: State::Absent, seen: None });
            }
        }
    }
}

fn changed(path: &Path, saved: &Saved, saved_at: i64) -> bool {
    let Ok((folder, name)) = Folder::holding(path) else { return saved.seen.is_some() };
    let (Ok(now), before) = (folder.look(name), saved.seen) else { return true };
    let (now, before) = match (now, before) {
        (None, None) => return false,
        (Some(now), Some(before)) => (now, before),
        (None, Some(_)) | (Some(_), None) => return true,
    };
    match (&saved.state, now.kind) {
        (State::Folder { mode, modified }, SeenKind::Folder) => (now.mode, now.modified) != (*mode, *modified),
        (State::Link { to }, SeenKind::Link) => folder.link_target(name).ok().as_ref() != Some(to),
        (State::File { blob, .. }, SeenKind::File) => {
            if now != before {
                return true;
            }
            // The clock of a file system is coarse: a change at the moment of saving leaves the same time.
            let racy = now.modified + RACY > saved_at;
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
    ["/dev", "/proc", "/sys"].iter().any(|dir| path.starts_with(dir)) || path.parent().is_none()
}
