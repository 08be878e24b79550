//! Taking changes back. What is there now is saved first; then every path is brought to its state in one step each, by
//! a rename within its folder. A restore that was killed is finished by the next one.

use super::blobs::{BlobStore, hash_of};
use super::draft::{PendingSnapshot, SnapshotDraft};
use super::manifest::{ChangeKind, PathState, SnapshotHeader, SnapshotManifest};
use super::{SnapshotCause, SnapshotLimits, Snapshots, newer, restore_plan, rewind};
use crate::error::StoreError;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use sys::fs::anchored::{self, FileKind, OpenFolder};

/// How long to wait for another restore.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// What a restore may save: far more than one change, because what is not saved is not touched.
pub(super) const PRESENT_LIMITS: SnapshotLimits =
    SnapshotLimits { files: 2_000_000, bytes: 1 << 40, time: Duration::from_hours(1), always: 0 };

/// Why a file is left alone that other names lead to as well.
pub(super) const HARD_LINK: &str = "it shares its content with another name (hard link); it was left alone";
const FOREIGN_LINK: &str = "a link or file now stands where a folder was; it was not followed";

/// What to take back.
#[derive(Clone, Debug)]
pub enum UndoChoice {
    /// The newest change still in force that belongs to `folder` and, when given, to `session`.
    Newest { folder: Option<PathBuf>, session: Option<String> },
    /// The change with this id and all later ones of its session. The beginning of an id will do.
    To(String),
}

/// A path that could not be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreProblem {
    pub path: PathBuf,
    pub why: String,
}

impl RestoreProblem {
    /// The path was left alone because of a link.
    pub fn is_link(&self) -> bool {
        self.why == HARD_LINK || self.why == FOREIGN_LINK
    }
}

/// What a restore did, or would do.
#[derive(Clone, Debug, Default)]
pub struct UndoResult {
    /// The snapshot that takes this restore back.
    pub id: Option<String>,
    /// The changes taken back, oldest first.
    pub changes: Vec<SnapshotHeader>,
    pub restored: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    pub problems: Vec<RestoreProblem>,
    /// Paths that were changed after the changes taken back: that work was, or would be, replaced.
    pub newer: Vec<PathBuf>,
    /// Restores that were interrupted and are now finished.
    pub finished: Vec<String>,
}

/// The work of one restore.
struct RestorePlan {
    changes: Vec<SnapshotHeader>,
    targets: BTreeMap<PathBuf, PathState>,
    newer: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NewerWorkPolicy {
    Refuse,
    Replace,
}

impl Snapshots {
    /// What `undo` would do.
    pub fn preview(&self, choice: &UndoChoice) -> Result<UndoResult, StoreError> {
        let RestorePlan { changes, targets, newer } = self.targets(choice)?;
        let mut undone = UndoResult { changes, newer, ..UndoResult::default() };
        for (path, target) in targets.iter().filter(|(path, target)| !is_at(path, target)) {
            undone.count(path, target);
        }
        Ok(undone)
    }

    /// As [`Self::undo`], but fails with `NewerWork` and changes nothing when it would replace work that is newer.
    pub fn undo_unless_newer(&self, choice: &UndoChoice) -> Result<UndoResult, StoreError> {
        self.undo_locked(choice, NewerWorkPolicy::Refuse)
    }

    pub fn undo(&self, choice: &UndoChoice) -> Result<UndoResult, StoreError> {
        self.undo_locked(choice, NewerWorkPolicy::Replace)
    }

    fn undo_locked(&self, choice: &UndoChoice, on_newer: NewerWorkPolicy) -> Result<UndoResult, StoreError> {
        if !self.root.is_dir() {
            return Err(StoreError::NothingToUndo);
        }
        let lock = self.root.join("undo.lock");
        let locked = sys::fs::with_lock(&lock, LOCK_TIMEOUT, || {
            let mut undone = UndoResult { finished: self.recover()?, ..UndoResult::default() };
            // A repeated undo after an interruption only finishes the interrupted one.
            if undone.finished.is_empty() || matches!(choice, UndoChoice::To(_)) {
                self.undo_changes(choice, on_newer, &mut undone)?;
            }
            Ok(undone)
        });
        locked.map_err(|e| StoreError::write(&lock, e))?
    }

    fn undo_changes(
        &self,
        choice: &UndoChoice,
        on_newer: NewerWorkPolicy,
        undone: &mut UndoResult,
    ) -> Result<(), StoreError> {
        let RestorePlan { changes, mut targets, newer } = self.targets(choice)?;
        if on_newer == NewerWorkPolicy::Refuse && !newer.is_empty() {
            return Err(StoreError::NewerWork { paths: newer });
        }
        undone.newer = newer;
        targets.retain(|path, target| !is_at(path, target) || matches!(target, PathState::Folder { .. }));
        let kept = self.save_present(&changes, &mut targets, undone)?;
        undone.changes = changes;
        let Some(kept) = kept else { return Ok(()) };
        let id = kept.header().id.clone();
        RestoreRun { id: &id, blobs: self.blobs(), undone }.run(&targets);
        undone.id = Some(kept.finish()?.id);
        Ok(())
    }

    fn targets(&self, choice: &UndoChoice) -> Result<RestorePlan, StoreError> {
        let headers = self.list();
        let chosen: Vec<SnapshotHeader> = match choice {
            UndoChoice::Newest { folder, session } => {
                let near = |header: &SnapshotHeader| {
                    let same = |folder: &PathBuf| folder.starts_with(&header.cwd) || header.cwd.starts_with(folder);
                    folder.as_ref().is_none_or(same) && session.as_ref().is_none_or(|id| *id == header.session)
                };
                vec![restore_plan::newest(&headers, near).ok_or(StoreError::NothingToUndo)?.clone()]
            }
            UndoChoice::To(id) => {
                restore_plan::since(&headers, by_prefix(&headers, id)?).into_iter().cloned().collect()
            }
        };
        let manifests: Vec<SnapshotManifest> = chosen.iter().map(|h| self.load(&h.id)).collect::<Result<_, _>>()?;
        let left = newer::states_after(&manifests);
        let targets = restore_plan::merge(manifests);
        let changed = |(path, target): &(&PathBuf, &PathState)| {
            newer::is_newer(path, target, left.get(*path)) && !is_at(path, target)
        };
        let newer = targets.iter().filter(changed).map(|(path, _)| path.clone()).collect();
        Ok(RestorePlan { changes: chosen, targets, newer })
    }

    /// Saves what is there now. What cannot be saved leaves the plan.
    fn save_present(
        &self,
        changes: &[SnapshotHeader],
        targets: &mut BTreeMap<PathBuf, PathState>,
        undone: &mut UndoResult,
    ) -> Result<Option<PendingSnapshot>, StoreError> {
        let Some(first) = changes.first() else { return Ok(None) };
        let what = if changes.len() == 1 {
            format!("undo of: {}", first.what)
        } else {
            format!("undo of {} changes since: {}", changes.len(), first.what)
        };
        let about = SnapshotCause {
            kind: ChangeKind::Undo,
            session: first.session.clone(),
            cwd: first.cwd.clone(),
            description: what,
            prompt: None,
        };
        let mut draft: SnapshotDraft = self.begin(about, PRESENT_LIMITS);
        draft.set_undoes(changes.iter().map(|h| h.id.clone()).collect());
        targets.retain(|path, target| {
            if *target == PathState::Absent && is_at(path, target) {
                return false;
            }
            draft.save_or_report(path, undone)
        });
        draft.commit()
    }

    /// Finishes restores whose process died. Called under the lock, so no other process is at work.
    pub(super) fn recover(&self) -> Result<Vec<String>, StoreError> {
        let mut finished = Vec::new();
        for header in self.list().into_iter().filter(rewind::is_under_way) {
            let mut manifest = self.load(&header.id)?;
            let undone = || header.undoes.iter().filter_map(|id| self.load(id).ok()).collect::<Vec<_>>();
            let mut targets = manifest.targets();
            if header.kind != ChangeKind::Rewind {
                targets = restore_plan::merge(undone());
            }
            let saved: BTreeSet<&PathBuf> = manifest.entries.iter().map(|entry| &entry.path).collect();
            targets.retain(|path, _| saved.contains(path));
            let mut report = UndoResult::default();
            RestoreRun { id: &header.id, blobs: self.blobs(), undone: &mut report }.run(&targets);
            manifest.settle();
            manifest.write(&self.manifest_path(&header.id))?;
            finished.push(header.id);
        }
        self.finish_conversation()?;
        Ok(finished)
    }
}

fn by_prefix<'a>(headers: &'a [SnapshotHeader], id: &str) -> Result<&'a SnapshotHeader, StoreError> {
    let found: Vec<&SnapshotHeader> = headers.iter().filter(|h| h.id.starts_with(id) && !id.is_empty()).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(StoreError::NoSnapshot { id: id.to_owned() }),
        many => Err(StoreError::ManySnapshots { id: id.to_owned(), count: many.len() }),
    }
}

impl SnapshotDraft {
    /// Saves a path that a restore is about to replace. `false` when it cannot be: then it must be left alone.
    pub(super) fn save_or_report(&mut self, path: &Path, undone: &mut UndoResult) -> bool {
        match self.save_exactly(path) {
            Ok(()) if self.saved(path).is_some() => return true,
            Ok(()) => undone.problem(path, "what is there now could not be saved, so it was left alone"),
            Err(error) => undone.problem(path, describe_error(&error)),
        }
        false
    }
}

impl UndoResult {
    pub(super) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(RestoreProblem { path: path.to_path_buf(), why: why.into() });
    }

    pub(super) fn count(&mut self, path: &Path, target: &PathState) {
        match target {
            PathState::Absent => self.removed.push(path.to_path_buf()),
            PathState::File { .. } | PathState::Link { .. } | PathState::Folder { .. } => {
                self.restored.push(path.to_path_buf());
            }
        }
    }
}

pub(super) struct RestoreRun<'a> {
    pub(super) id: &'a str,
    pub(super) blobs: BlobStore,
    pub(super) undone: &'a mut UndoResult,
}

impl RestoreRun<'_> {
    /// Removals from the deepest up, then folders from the top down with what is in them, then the folders' own facts.
    pub(super) fn run(&mut self, targets: &BTreeMap<PathBuf, PathState>) {
        for (path, target) in targets.iter().rev().filter(|(_, target)| **target == PathState::Absent) {
            self.restore_path(path, target);
        }
        for (path, target) in targets.iter().filter(|(_, target)| **target != PathState::Absent) {
            self.restore_path(path, target);
        }
        for (path, target) in targets.iter().rev() {
            if let PathState::Folder { mode, modified } = target
                && let Ok(folder) = OpenFolder::open(path)
                && let Err(error) = folder.set_attributes(*mode, *modified)
            {
                self.undone.problem(path, error.to_string());
            }
        }
    }

    fn restore_path(&mut self, path: &Path, target: &PathState) {
        let done = match target {
            PathState::Absent => remove(path),
            PathState::Folder { .. } => make_folder(path),
            PathState::File { .. } | PathState::Link { .. } => self.put(path, target),
        };
        match done {
            Ok(PathOutcome::Changed) => self.undone.count(path, target),
            Ok(PathOutcome::Already) => {}
            Err(error) => self.undone.problem(path, describe_error(&error)),
        }
    }

    fn put(&self, path: &Path, target: &PathState) -> io::Result<PathOutcome> {
        if is_at(path, target) {
            return Ok(PathOutcome::Already);
        }
        let (folder, name) = open_or_make_parent(path)?;
        match folder.stat(name)? {
            Some(seen) if seen.kind == FileKind::Folder => folder.remove_folder(name)?,
            Some(seen) if seen.kind == FileKind::File && seen.links > 1 && matches!(target, PathState::File { .. }) => {
                return Err(io::Error::other(HARD_LINK));
            }
            Some(_) | None => {}
        }
        let temp = temp_name(self.id, path);
        folder.unlink(&temp).or_else(if_missing)?;
        let made = self.make(&folder, &temp, target).and_then(|()| folder.rename(&temp, name));
        if made.is_err() {
            folder.unlink(&temp).ok();
        }
        made.map(|()| PathOutcome::Changed)
    }

    fn make(&self, folder: &OpenFolder, temp: &OsStr, target: &PathState) -> io::Result<()> {
        match target {
            PathState::File { blob, mode, modified, uid, gid, .. } => {
                let mut file = folder.create_new(temp)?;
                self.blobs.copy_to(blob, &mut file)?;
                anchored::dress(&file, *mode, (*uid, *gid), *modified)
            }
            PathState::Link { to } => folder.make_link(temp, to),
            PathState::Absent | PathState::Folder { .. } => Ok(()),
        }
    }
}

enum PathOutcome {
    Changed,
    Already,
}

/// The same name each time, so that a restore that is taken up again finds its own leftovers.
fn temp_name(id: &str, path: &Path) -> OsString {
    let hash = Sha256::digest(path.as_os_str().as_bytes());
    format!(".gimlet-{id}-{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3]).into()
}

fn if_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn remove(path: &Path) -> io::Result<PathOutcome> {
    let (folder, name) = match OpenFolder::open_parent(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathOutcome::Already),
        Err(error) => return Err(error),
    };
    match folder.stat(name)? {
        None => return Ok(PathOutcome::Already),
        Some(seen) if seen.kind == FileKind::Folder => folder.remove_folder(name)?,
        Some(_) => folder.unlink(name)?,
    }
    Ok(PathOutcome::Changed)
}

fn make_folder(path: &Path) -> io::Result<PathOutcome> {
    let (folder, name) = open_or_make_parent(path)?;
    match folder.stat(name)? {
        Some(seen) if seen.kind == FileKind::Folder => return Ok(PathOutcome::Already),
        Some(_) => folder.unlink(name)?,
        None => {}
    }
    // Open for us until everything is in it; the saved mode follows.
    folder.make_folder(name, 0o700)?;
    Ok(PathOutcome::Changed)
}

/// The folder that holds `path`, made when it is not there.
fn open_or_make_parent(path: &Path) -> io::Result<(OpenFolder, &OsStr)> {
    match OpenFolder::open_parent(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parents(path)?;
            OpenFolder::open_parent(path)
        }
        found => found,
    }
}

fn make_parents(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let mut folder = OpenFolder::open(Path::new("/"))?;
    for part in parent.components() {
        let Component::Normal(name) = part else { continue };
        if folder.stat(name)?.is_none() {
            folder.make_folder(name, 0o777)?;
        }
        folder = folder.enter(name)?;
    }
    Ok(())
}

/// Whether the path already is as it should be. The time of a folder does not count.
pub(super) fn is_at(path: &Path, target: &PathState) -> bool {
    let Ok((folder, name)) = OpenFolder::open_parent(path) else { return *target == PathState::Absent };
    let Ok(seen) = folder.stat(name) else { return false };
    let Some(seen) = seen else { return *target == PathState::Absent };
    match (target, seen.kind) {
        (PathState::File { blob, size, mode, modified, .. }, FileKind::File) => {
            (seen.size, seen.mode, seen.modified) == (*size, *mode, *modified)
                && folder.read(name).and_then(|mut file| hash_of(&mut file)).ok().as_ref() == Some(blob)
        }
        (PathState::Link { to }, FileKind::Link) => folder.link_target(name).ok().as_ref() == Some(to),
        (PathState::Folder { mode, .. }, FileKind::Folder) => seen.mode == *mode,
        (PathState::Absent | PathState::File { .. } | PathState::Link { .. } | PathState::Folder { .. }, _) => false,
    }
}

pub(super) fn describe_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotADirectory => FOREIGN_LINK.into(),
        io::ErrorKind::DirectoryNotEmpty => "it now holds other files; it was left alone".into(),
        _ => error.to_string(),
    }
}
