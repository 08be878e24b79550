//! Taking changes back. What is there now is saved first; then every path is brought to its state in one step each, by
//! a rename within its folder. A restore that was killed is finished by the next one.

use super::blobs::{Blobs, hash_of};
use super::draft::{Draft, Kept};
use super::manifest::{Header, Kind, Manifest, Stage, State};
use super::{About, Limits, Snapshots, newer, plan};
use crate::error::StoreError;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use sys::fs::anchored::{self, Folder, SeenKind};

/// How long to wait for another restore.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a restore may save: far more than one change, because what is not saved is not touched.
const ROOM: Limits = Limits { files: 2_000_000, bytes: 1 << 40, time: Duration::from_hours(1), always: 0 };

/// What to take back.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The newest change still in force that belongs to `folder` and, when given, to `session`.
    Newest { folder: Option<PathBuf>, session: Option<String> },
    /// The change with this id and all later ones of its session. The beginning of an id will do.
    To(String),
}

/// A path that could not be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub why: String,
}

/// What a restore did, or would do.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// The snapshot that takes this restore back.
    pub id: Option<String>,
    /// The changes taken back, oldest first.
    pub changes: Vec<Header>,
    pub restored: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    pub problems: Vec<Problem>,
    /// Paths that somebody changed after the changes taken back: that work was, or would be, replaced.
    pub newer: Vec<PathBuf>,
    /// Restores that were interrupted and are now finished.
    pub finished: Vec<String>,
}

/// What a restore has before it.
struct Plan {
    changes: Vec<Header>,
    targets: BTreeMap<PathBuf, State>,
    newer: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnNewer {
    Refuse,
    Replace,
}

impl Snapshots {
    /// What `undo` would do.
    pub fn preview(&self, choice: &Choice) -> Result<Undone, StoreError> {
        let Plan { changes, targets, newer } = self.targets(choice)?;
        let mut undone = Undone { changes, newer, ..Undone::default() };
        for (path, target) in targets.iter().filter(|(path, target)| !is_at(path, target)) {
            undone.count(path, target);
        }
        Ok(undone)
    }

    /// As [`Self::undo`], but fails with `NewerWork` and changes nothing when it would replace work that is newer.
    pub fn undo_unless_newer(&self, choice: &Choice) -> Result<Undone, StoreError> {
        self.locked(choice, OnNewer::Refuse)
    }

    pub fn undo(&self, choice: &Choice) -> Result<Undone, StoreError> {
        self.locked(choice, OnNewer::Replace)
    }

    fn locked(&self, choice: &Choice, on_newer: OnNewer) -> Result<Undone, StoreError> {
        if !self.root.is_dir() {
            return Err(StoreError::NothingToUndo);
        }
        let lock = self.root.join("undo.lock");
        let locked = sys::fs::with_lock(&lock, PATIENCE, || {
            let mut undone = Undone { finished: self.recover()?, ..Undone::default() };
            // Whoever was interrupted and says "undo" again wants just that finished.
            if undone.finished.is_empty() || matches!(choice, Choice::To(_)) {
                self.take_back(choice, on_newer, &mut undone)?;
            }
            Ok(undone)
        });
        locked.map_err(|e| StoreError::write(&lock, e))?
    }

    fn take_back(&self, choice: &Choice, on_newer: OnNewer, undone: &mut Undone) -> Result<(), StoreError> {
        let Plan { changes, mut targets, newer } = self.targets(choice)?;
        if on_newer == OnNewer::Refuse && !newer.is_empty() {
            return Err(StoreError::NewerWork { paths: newer });
        }
        undone.newer = newer;
        targets.retain(|path, target| !is_at(path, target) || matches!(target, State::Folder { .. }));
        let kept = self.save_present(&changes, &mut targets, undone)?;
        undone.changes = changes;
        let Some(kept) = kept else { return Ok(()) };
        let id = kept.header().id.clone();
        Restore { id: &id, blobs: self.blobs(), undone }.run(&targets);
        undone.id = Some(kept.finish()?.id);
        Ok(())
    }

    fn targets(&self, choice: &Choice) -> Result<Plan, StoreError> {
        let headers = self.list();
        let chosen: Vec<Header> = match choice {
            Choice::Newest { folder, session } => {
                let near = |header: &Header| {
                    let same = |folder: &PathBuf| folder.starts_with(&header.cwd) || header.cwd.starts_with(folder);
                    folder.as_ref().is_none_or(same) && session.as_ref().is_none_or(|id| *id == header.session)
                };
                vec![plan::newest(&headers, near).ok_or(StoreError::NothingToUndo)?.clone()]
            }
            Choice::To(id) => plan::since(&headers, by_prefix(&headers, id)?).into_iter().cloned().collect(),
        };
        let manifests: Vec<Manifest> = chosen.iter().map(|h| self.load(&h.id)).collect::<Result<_, _>>()?;
        let left = newer::left_by(&manifests);
        let targets = plan::merge(manifests);
        let changed = |(path, target): &(&PathBuf, &State)| {
            let folder = matches!(target, State::Folder { .. });
            !folder && newer::is_newer(path, left.get(*path)) && !is_at(path, target)
        };
        let newer = targets.iter().filter(changed).map(|(path, _)| path.clone()).collect();
        Ok(Plan { changes: chosen, targets, newer })
    }

    /// Saves what is there now. What cannot be saved leaves the plan.
    fn save_present(
        &self,
        changes: &[Header],
        targets: &mut BTreeMap<PathBuf, State>,
        undone: &mut Undone,
    ) -> Result<Option<Kept>, StoreError> {
        let Some(first) = changes.first() else { return Ok(None) };
        let what = if changes.len() == 1 {
            format!("undo of: {}", first.what)
        } else {
            format!("undo of {} changes since: {}", changes.len(), first.what)
        };
        let about = About { kind: Kind::Undo, session: first.session.clone(), cwd: first.cwd.clone(), what };
        let mut draft: Draft = self.begin(about, ROOM);
        draft.set_undoes(changes.iter().map(|h| h.id.clone()).collect());
        targets.retain(|path, target| {
            if *target == State::Absent && is_at(path, target) {
                return false;
            }
            match draft.keep_exactly(path) {
                Ok(()) if draft.saved(path).is_some() => return true,
                Ok(()) => undone.problem(path, "what is there now could not be saved, so it was left alone"),
                Err(error) => undone.problem(path, told(&error)),
            }
            false
        });
        draft.commit()
    }

    /// Finishes restores whose process died. Called under the lock, so nobody is at work.
    fn recover(&self) -> Result<Vec<String>, StoreError> {
        let mut finished = Vec::new();
        for header in self.list().into_iter().filter(|h| h.stage == Stage::Applying) {
            let mut manifest = self.load(&header.id)?;
            let undone: Vec<Manifest> = header.undoes.iter().filter_map(|id| self.load(id).ok()).collect();
            let mut targets = plan::merge(undone);
            let saved: BTreeSet<&PathBuf> = manifest.entries.iter().map(|entry| &entry.path).collect();
            targets.retain(|path, _| saved.contains(path));
            let mut report = Undone::default();
            Restore { id: &header.id, blobs: self.blobs(), undone: &mut report }.run(&targets);
            manifest.header.stage = Stage::Settled;
            manifest.write(&self.manifest_path(&header.id))?;
            finished.push(header.id);
        }
        Ok(finished)
    }
}

fn by_prefix<'a>(headers: &'a [Header], id: &str) -> Result<&'a Header, StoreError> {
    let found: Vec<&Header> = headers.iter().filter(|h| h.id.starts_with(id) && !id.is_empty()).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(StoreError::NoSnapshot { id: id.to_owned() }),
        many => Err(StoreError::ManySnapshots { id: id.to_owned(), count: many.len() }),
    }
}

impl Undone {
    fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_path_buf(), why: why.into() });
    }

    fn count(&mut self, path: &Path, target: &State) {
        match target {
            State::Absent => self.removed.push(path.to_path_buf()),
            State::File { .. } | State::Link { .. } | State::Folder { .. } => self.restored.push(path.to_path_buf()),
        }
    }
}

struct Restore<'a> {
    id: &'a str,
    blobs: Blobs,
    undone: &'a mut Undone,
}

impl Restore<'_> {
    /// Removals from the deepest up, then folders from the top down with what is in them, then the folders' own facts.
    fn run(&mut self, targets: &BTreeMap<PathBuf, State>) {
        for (path, target) in targets.iter().rev().filter(|(_, target)| **target == State::Absent) {
            self.bring(path, target);
        }
        for (path, target) in targets.iter().filter(|(_, target)| **target != State::Absent) {
            self.bring(path, target);
        }
        for (path, target) in targets.iter().rev() {
            if let State::Folder { mode, modified } = target
                && let Ok(folder) = Folder::open(path)
                && let Err(error) = folder.dress(*mode, *modified)
            {
                self.undone.problem(path, error.to_string());
            }
        }
    }

    fn bring(&mut self, path: &Path, target: &State) {
        let done = match target {
            State::Absent => remove(path),
            State::Folder { .. } => make_folder(path),
            State::File { .. } | State::Link { .. } => self.put(path, target),
        };
        match done {
            Ok(Done::Changed) => self.undone.count(path, target),
            Ok(Done::Already) => {}
            Err(error) => self.undone.problem(path, told(&error)),
        }
    }

    fn put(&self, path: &Path, target: &State) -> io::Result<Done> {
        if is_at(path, target) {
            return Ok(Done::Already);
        }
        let (folder, name) = holding_made(path)?;
        match folder.look(name)? {
            Some(seen) if seen.kind == SeenKind::Folder => folder.remove_folder(name)?,
            Some(seen) if seen.kind == SeenKind::File && seen.links > 1 && matches!(target, State::File { .. }) => {
                return Err(io::Error::other("it shares its content with another name (hard link); it was left alone"));
            }
            Some(_) | None => {}
        }
        let temp = temp_name(self.id, path);
        folder.unlink(&temp).or_else(if_missing)?;
        let made = self.make(&folder, &temp, target).and_then(|()| folder.rename(&temp, name));
        if made.is_err() {
            folder.unlink(&temp).ok();
        }
        made.map(|()| Done::Changed)
    }

    fn make(&self, folder: &Folder, temp: &OsStr, target: &State) -> io::Result<()> {
        match target {
            State::File { blob, mode, modified, uid, gid, .. } => {
                let mut file = folder.create_new(temp)?;
                self.blobs.copy_to(blob, &mut file)?;
                anchored::dress(&file, *mode, (*uid, *gid), *modified)
            }
            State::Link { to } => folder.make_link(temp, to),
            State::Absent | State::Folder { .. } => Ok(()),
        }
    }
}

enum Done {
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

fn remove(path: &Path) -> io::Result<Done> {
    let (folder, name) = match Folder::holding(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Done::Already),
        Err(error) => return Err(error),
    };
    match folder.look(name)? {
        None => return Ok(Done::Already),
        Some(seen) if seen.kind == SeenKind::Folder => folder.remove_folder(name)?,
        Some(_) => folder.unlink(name)?,
    }
    Ok(Done::Changed)
}

fn make_folder(path: &Path) -> io::Result<Done> {
    let (folder, name) = holding_made(path)?;
    match folder.look(name)? {
        Some(seen) if seen.kind == SeenKind::Folder => return Ok(Done::Already),
        Some(_) => folder.unlink(name)?,
        None => {}
    }
    // Open for us until everything is in it; the saved mode follows.
    folder.make_folder(name, 0o700)?;
    Ok(Done::Changed)
}

/// The folder that holds `path`, made when it is not there.
fn holding_made(path: &Path) -> io::Result<(Folder, &OsStr)> {
    match Folder::holding(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parents(path)?;
            Folder::holding(path)
        }
        found => found,
    }
}

fn make_parents(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let mut folder = Folder::open(Path::new("/"))?;
    for part in parent.components() {
        let Component::Normal(name) = part else { continue };
        if folder.look(name)?.is_none() {
            folder.make_folder(name, 0o777)?;
        }
        folder = folder.enter(name)?;
    }
    Ok(())
}

/// Whether the path already is as it should be. The time of a folder does not count.
fn is_at(path: &Path, target: &State) -> bool {
    let Ok((folder, name)) = Folder::holding(path) else { return *target == State::Absent };
    let Ok(seen) = folder.look(name) else { return false };
    let Some(seen) = seen else { return *target == State::Absent };
    match (target, seen.kind) {
        (State::File { blob, size, mode, modified, .. }, SeenKind::File) => {
            (seen.size, seen.mode, seen.modified) == (*size, *mode, *modified)
                && folder.read(name).and_then(|mut file| hash_of(&mut file)).ok().as_ref() == Some(blob)
        }
        (State::Link { to }, SeenKind::Link) => folder.link_target(name).ok().as_ref() == Some(to),
        (State::Folder { mode, .. }, SeenKind::Folder) => seen.mode == *mode,
        (State::Absent | State::File { .. } | State::Link { .. } | State::Folder { .. }, _) => false,
    }
}

fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotADirectory => "a link or file now stands where a folder was; it was not followed".into(),
        io::ErrorKind::DirectoryNotEmpty => "it now holds other files; it was left alone".into(),
        _ => error.to_string(),
    }
}
