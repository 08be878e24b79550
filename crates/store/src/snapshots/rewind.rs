//! Taking the files of a conversation back to one of its prompts: every path gets the state it had before the first of
//! the chosen changes. Changes of a session, restores included, are one line of time, so that going forward again is the
//! same operation. Work of others is kept unless the caller says otherwise. A note beside the store says which rewind is
//! under way and what belongs to it in the transcript: a rewind that was killed is finished by the next start, or, when it
//! had not begun to change anything, is as if it had not been asked for.

use super::draft::SnapshotDraft;
use super::manifest::{ChangeKind, PathState, SnapshotHeader, SnapshotManifest, SnapshotStage};
use super::restore::{HARD_LINK, LOCK_TIMEOUT, PRESENT_LIMITS, RestoreRun, UndoResult, describe_error, is_at};
use super::{SnapshotCause, Snapshots, newer, restore_plan};
use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::fs::anchored::{FileKind, OpenFolder};

/// What to take back.
pub struct RewindSelection<'a> {
    pub session: &'a str,
    pub cwd: &'a Path,
    /// Shown in lists of changes.
    pub description: String,
    /// Whether a change of the session is taken back.
    pub takes: &'a dyn Fn(&SnapshotHeader) -> bool,
    /// States of files that are known without a snapshot. A snapshot that names the same path decides.
    pub copies: Vec<FoundCopy>,
}

/// The state of a file at the prompt, as a checkpoint kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCopy {
    pub path: PathBuf,
    /// `None`: there was no such file.
    pub copy: Option<PathBuf>,
    pub author: CopyAuthor,
}

/// What is known of the session's own changes to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyAuthor {
    /// The hash of the content that the session last wrote; `None` when it is not known.
    pub left: Option<String>,
}

/// What a rewind would do.
#[derive(Debug, Default)]
pub struct FileRewind {
    /// The changes taken back, oldest first.
    pub changes: Vec<SnapshotHeader>,
    /// How each path that differs now must look.
    pub targets: BTreeMap<PathBuf, PathState>,
    /// Those that somebody else changed since: they are kept unless the caller overwrites them.
    pub newer: Vec<PathBuf>,
    /// Where the content of each file to restore lies.
    pub contents: BTreeMap<PathBuf, PathBuf>,
    /// Paths that cannot be brought back.
    pub blocked: UndoResult,
}

/// The part of a rewind that belongs to the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationStep {
    pub transcript: PathBuf,
    /// Whole lines without newlines.
    pub lines: Vec<String>,
    /// A text that only these lines contain.
    pub mark: String,
}

/// What a rewind did.
#[derive(Debug, Default)]
pub struct RewindOutcome {
    pub undone: UndoResult,
    /// Paths that somebody else changed since, left as they are.
    pub kept: Vec<PathBuf>,
}

/// The rewind that is under way.
#[derive(Serialize, Deserialize)]
struct RewindNote {
    id: String,
    conversation: Option<ConversationStep>,
}

impl Snapshots {
    /// What a rewind would do now. Changes nothing.
    pub fn plan_rewind(&self, chosen: &RewindSelection<'_>) -> Result<FileRewind, StoreError> {
        let of_session = |header: &SnapshotHeader| header.session == chosen.session && (chosen.takes)(header);
        let changes: Vec<SnapshotHeader> = self.list().into_iter().filter(of_session).collect();
        let manifests: Vec<SnapshotManifest> = changes.iter().map(|h| self.load(&h.id)).collect::<Result<_, _>>()?;
        let left = newer::states_after(&manifests);
        let restored = first_saved_by_restores(&manifests);
        let mut targets = restore_plan::merge(manifests);
        let mut foreign = BTreeSet::new();
        for FoundCopy { path, copy, author } in &chosen.copies {
            if targets.contains_key(path) && !restored.contains(path) {
                continue;
            }
            let Some(target) = copied_state(path, copy.as_deref())? else {
                targets.remove(path);
                continue;
            };
            if !restored.contains(path) && author.left.is_some() && content_hash(path) != author.left {
                foreign.insert(path.clone());
            }
            targets.insert(path.clone(), target);
        }
        let mut plan = FileRewind { changes, ..FileRewind::default() };
        for (path, target) in targets {
            if is_at(&path, &target) {
                continue;
            }
            if let Some(why) = obstacle(&path, &target) {
                plan.blocked.problem(&path, why);
                continue;
            }
            if foreign.contains(&path) || newer::is_newer(&path, &target, left.get(&path)) {
                plan.newer.push(path.clone());
            }
            if let PathState::File { blob, .. } = &target {
                let stored = Some(self.blobs().path(blob)).filter(|stored| stored.exists());
                let copy =
                    || chosen.copies.iter().find(|found| found.path == path).and_then(|found| found.copy.clone());
                plan.contents.extend(stored.or_else(copy).map(|content| (path.clone(), content)));
            }
            plan.targets.insert(path, target);
        }
        Ok(plan)
    }

    /// Takes the files back and then adds the lines of the conversation. What is there now is saved first. Paths that
    /// somebody else changed since are kept, except those that `overwrites` names.
    pub fn apply_rewind(
        &self,
        chosen: &RewindSelection<'_>,
        overwrites: &dyn Fn(&Path) -> bool,
        conversation: Option<ConversationStep>,
    ) -> Result<RewindOutcome, StoreError> {
        crate::layout::create_private(self.folder()).map_err(|e| StoreError::write(self.folder(), e))?;
        let lock = self.folder().join("undo.lock");
        let locked = sys::fs::with_lock(&lock, LOCK_TIMEOUT, || {
            let finished = self.recover()?;
            let FileRewind { changes, mut targets, newer, blocked, .. } = self.plan_rewind(chosen)?;
            let kept: Vec<PathBuf> = newer.into_iter().filter(|path| !overwrites(path)).collect();
            targets.retain(|path, _| !kept.contains(path));
            let mut undone = UndoResult { finished, ..blocked };
            self.import_copies(&chosen.copies, &targets)?;
            self.restore_targets(chosen, &changes, targets, conversation, &mut undone)?;
            undone.changes = changes;
            Ok(RewindOutcome { undone, kept })
        });
        locked.map_err(|e| StoreError::write(&lock, e))?
    }

    /// Puts the contents of a checkpoint's copies into the store, where a restore that is taken up again finds them.
    fn import_copies(&self, copies: &[FoundCopy], targets: &BTreeMap<PathBuf, PathState>) -> Result<(), StoreError> {
        let far = Instant::now() + Duration::from_hours(1);
        for FoundCopy { path, copy, .. } in copies {
            let (Some(copy), Some(PathState::File { blob, .. })) = (copy, targets.get(path)) else { continue };
            if self.blobs().path(blob).exists() {
                continue;
            }
            let stored = crate::layout::create_private(self.blobs().root()).and_then(|()| File::open(copy)).and_then(
                |mut file| self.blobs().put(&mut file, far).map_err(|_| io::Error::other("it could not be copied")),
            );
            stored.map_err(|e| StoreError::read(copy, e))?;
        }
        Ok(())
    }

    fn restore_targets(
        &self,
        chosen: &RewindSelection<'_>,
        changes: &[SnapshotHeader],
        mut targets: BTreeMap<PathBuf, PathState>,
        conversation: Option<ConversationStep>,
        undone: &mut UndoResult,
    ) -> Result<(), StoreError> {
        if targets.is_empty() {
            return conversation.map_or(Ok(()), |step| add_lines(&step));
        }
        let about = SnapshotCause {
            kind: ChangeKind::Rewind,
            session: chosen.session.to_owned(),
            cwd: chosen.cwd.to_path_buf(),
            description: chosen.description.clone(),
            prompt: None,
        };
        let mut draft: SnapshotDraft = self.begin(about, PRESENT_LIMITS);
        draft.set_undoes(changes.iter().map(|header| header.id.clone()).collect());
        targets.retain(|path, _| draft.save_or_report(path, undone));
        draft.set_targets(targets.clone());
        let id = draft.header().id.clone();
        self.write_note(&RewindNote { id: id.clone(), conversation: conversation.clone() })?;
        if let Some(kept) = draft.commit()? {
            RestoreRun { id: &id, blobs: self.blobs(), undone }.run(&targets);
            undone.id = Some(kept.finish()?.id);
        }
        if let Some(step) = conversation {
            add_lines(&step)?;
        }
        self.remove_note();
        Ok(())
    }

    /// Finishes the rewind or undo that a killed process left. Costs one look at the disk when there is none.
    pub fn finish_interrupted(&self) -> Result<Vec<String>, StoreError> {
        if !self.note_path().exists() {
            return Ok(Vec::new());
        }
        let lock = self.folder().join("undo.lock");
        let locked = sys::fs::with_lock(&lock, LOCK_TIMEOUT, || self.recover());
        locked.map_err(|e| StoreError::write(&lock, e))?
    }

    /// The files are as they must be: the rest of the rewind that was killed follows.
    pub(super) fn finish_conversation(&self) -> Result<(), StoreError> {
        let Ok(text) = std::fs::read_to_string(self.note_path()) else { return Ok(()) };
        // Without its snapshot the rewind had changed nothing.
        if let Ok(RewindNote { id, conversation: Some(step) }) = serde_json::from_str(&text)
            && self.manifest_path(&id).exists()
        {
            add_lines(&step)?;
        }
        self.remove_note();
        Ok(())
    }

    fn write_note(&self, note: &RewindNote) -> Result<(), StoreError> {
        let path = self.note_path();
        let text = wire::raw::to_line(note).map_err(|e| StoreError::write(&path, e.into()))?;
        sys::fs::atomic_write(&path, text.as_bytes(), 0o600).map_err(|e| StoreError::write(&path, e))
    }

    fn remove_note(&self) {
        if let Err(error) = std::fs::remove_file(self.note_path()) {
            tracing::debug!(%error, "the note about a rewind was not removed");
        }
    }

    fn note_path(&self) -> PathBuf {
        self.folder().join("rewinding.json")
    }
}

/// Adds the lines once.
pub(crate) fn add_lines(step: &ConversationStep) -> Result<(), StoreError> {
    let add = || {
        let present = std::fs::read(&step.transcript)?;
        if memchr::memmem::find(&present, step.mark.as_bytes()).is_some() {
            return Ok(());
        }
        let mut text = step.lines.join("\n");
        text.push('\n');
        sys::fs::AppendFile::open(&step.transcript)?.append(text.as_bytes())
    };
    add().map_err(|e| StoreError::write(&step.transcript, e))
}

/// Paths that restores changed and no change of the session before them: their first state is that before a restore, not
/// that at the prompt. `manifests` come oldest first.
fn first_saved_by_restores(manifests: &[SnapshotManifest]) -> BTreeSet<PathBuf> {
    let (mut restored, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for manifest in manifests {
        let is_restore = matches!(manifest.header.kind, ChangeKind::Undo | ChangeKind::Rewind);
        for path in manifest.entries.iter().map(|entry| &entry.path) {
            if seen.insert(path) && is_restore {
                restored.insert(path.clone());
            }
        }
    }
    restored
}

/// The hash of a file's content; `None` when there is no file.
pub fn content_hash(path: &Path) -> Option<String> {
    let (folder, name) = OpenFolder::open_parent(path).ok()?;
    folder.stat(name).ok()?.filter(|seen| seen.kind == FileKind::File)?;
    super::blobs::hash_of(&mut folder.read(name).ok()?).ok()
}

/// How a path must look by a copy; `None` when its content already is that of the copy.
fn copied_state(path: &Path, copy: Option<&Path>) -> Result<Option<PathState>, StoreError> {
    let Some(copy) = copy else { return Ok(Some(PathState::Absent)) };
    let read = || -> io::Result<Option<PathState>> {
        let mut file = File::open(copy)?;
        let meta = file.metadata()?;
        let blob = super::blobs::hash_of(&mut file)?;
        let now = OpenFolder::open_parent(path).and_then(|(folder, name)| {
            let seen = folder.stat(name)?.filter(|seen| seen.kind == FileKind::File);
            let hash = if seen.is_some() { super::blobs::hash_of(&mut folder.read(name)?).ok() } else { None };
            Ok(seen.zip(hash))
        });
        let now = now.ok().flatten();
        if now.as_ref().is_some_and(|(_, hash)| *hash == blob) {
            return Ok(None);
        }
        let modified = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        let (mode, (uid, gid)) = now.map_or((0o644, (meta.uid(), meta.gid())), |(seen, _)| (seen.mode, seen.owner));
        Ok(Some(PathState::File { blob, size: meta.len(), mode, modified, uid, gid }))
    };
    read().map_err(|e| StoreError::read(copy, e))
}

/// Why a path cannot be brought to its state: a link on the way, or content shared with another name.
fn obstacle(path: &Path, target: &PathState) -> Option<String> {
    match OpenFolder::open_parent(path) {
        Ok((folder, name)) => {
            let seen = folder.stat(name).ok().flatten()?;
            let shared = seen.kind == FileKind::File && seen.links > 1 && matches!(target, PathState::File { .. });
            shared.then(|| HARD_LINK.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(describe_error(&error)),
    }
}

/// Whether the manifest belongs to a restore under way.
pub(super) fn is_under_way(header: &SnapshotHeader) -> bool {
    header.stage == SnapshotStage::Applying
}
