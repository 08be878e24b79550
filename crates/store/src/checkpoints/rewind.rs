//! Going back to a prompt: what would change, and doing it. Files and conversation are one step where both are asked for.

use super::copies::{CopyFolder, path_of};
use super::log::{BranchEnd, CheckpointLog, PromptPoint};
use crate::error::StoreError;
use crate::snapshots::{
    ConversationStep, CopyAuthor, FileRewind, FoundCopy, RewindOutcome, RewindSelection, SnapshotHeader, Snapshots,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use wire::entry::{CheckpointChange, FileBackup, MetaEntry, TranscriptEntry};

/// What is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindPart {
    Code,
    Conversation,
    Both,
}

impl RewindPart {
    pub fn has_code(self) -> bool {
        self != Self::Conversation
    }

    pub fn has_conversation(self) -> bool {
        self != Self::Code
    }
}

/// Where the conversation goes on, and which state of the files belongs to it.
#[derive(Clone, Copy, Debug)]
pub enum RewindTarget<'a> {
    /// Before this prompt.
    Before(&'a PromptPoint),
    /// At the end of a branch that was left.
    Branch(&'a BranchEnd),
}

impl RewindTarget<'_> {
    pub fn text(&self) -> &str {
        match self {
            Self::Before(point) => &point.text,
            Self::Branch(branch) => &branch.text,
        }
    }

    /// The moment in the line of all changes of the session; `None` when no files were saved for it.
    fn moment(&self, log: &CheckpointLog) -> Option<RewindMoment> {
        match self {
            Self::Before(point) if !point.has_checkpoint => None,
            Self::Before(point) => Some(RewindMoment { order: log.order(&point.uuid)?, since: point.at }),
            Self::Branch(branch) => {
                let last = log.order(branch.prompts.last()?)?;
                let is_saved = log.prompts.get(last)?.has_checkpoint;
                is_saved.then_some(RewindMoment { order: last + 1, since: branch.at + 1 })
            }
        }
    }
}

/// What is taken back: changes of the prompts from a position on, and restores from a time on.
#[derive(Clone, Copy, Debug)]
struct RewindMoment {
    /// Among the prompts in the order of the file.
    order: usize,
    /// Milliseconds since the epoch.
    since: u64,
}

/// Which work of others is replaced.
#[derive(Clone, Debug, Default)]
pub enum OverwriteChoice {
    #[default]
    None,
    All,
    These(Vec<PathBuf>),
}

/// Something that a turn may have changed and that is not brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncoveredEffect {
    /// The command, or the tool and its file.
    pub what: String,
    pub why: String,
}

/// What a rewind of the files would do.
#[derive(Debug, Default)]
pub struct RewindPlan {
    pub files: FileRewind,
    pub uncovered: Vec<UncoveredEffect>,
    /// Files outside of the session's folders, which a copy alone does not allow to change.
    pub outside: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    #[error(
        "no files were saved for this prompt: checkpoints were switched off, or it is older than them. The conversation \
         can be taken back (--conversation)"
    )]
    NoCheckpoint,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The files and the conversation of one session.
#[derive(Clone, Debug)]
pub struct RewindRequest {
    pub config_home: PathBuf,
    /// Relative names in checkpoints start here.
    pub base: PathBuf,
    /// Files outside of these are not changed because a transcript says so.
    pub roots: Vec<PathBuf>,
}

impl RewindRequest {
    /// What taking the files back to `target` would do now.
    pub fn plan(&self, log: &CheckpointLog, target: RewindTarget<'_>) -> Result<RewindPlan, RewindError> {
        let moment = target.moment(log).ok_or(RewindError::NoCheckpoint)?;
        let snapshots = Snapshots::at(&self.config_home);
        let (copies, outside) = self.copies(log, moment);
        let takes = taken(log, moment);
        let files = snapshots.plan_rewind(&self.selection(log, target, &takes, copies))?;
        let uncovered = uncovered(log, moment, &files);
        Ok(RewindPlan { files, uncovered, outside })
    }

    /// Takes back `part`. With nothing to change in the files only the conversation moves.
    pub fn apply(
        &self,
        log: &CheckpointLog,
        target: RewindTarget<'_>,
        part: RewindPart,
        overwrite: &OverwriteChoice,
    ) -> Result<RewindOutcome, RewindError> {
        let step = part.has_conversation().then(|| conversation_step(log, target));
        if !part.has_code() {
            step.map_or(Ok(()), |step| crate::snapshots::add_lines(&step))?;
            return Ok(RewindOutcome::default());
        }
        let moment = target.moment(log).ok_or(RewindError::NoCheckpoint)?;
        let (copies, _) = self.copies(log, moment);
        let takes = taken(log, moment);
        let chosen = self.selection(log, target, &takes, copies);
        let overwrites = |path: &Path| match overwrite {
            OverwriteChoice::None => false,
            OverwriteChoice::All => true,
            OverwriteChoice::These(paths) => paths.iter().any(|chosen| chosen == path),
        };
        Ok(Snapshots::at(&self.config_home).apply_rewind(&chosen, &overwrites, step)?)
    }

    fn selection<'a>(
        &'a self,
        log: &'a CheckpointLog,
        target: RewindTarget<'_>,
        takes: &'a dyn Fn(&SnapshotHeader) -> bool,
        copies: Vec<FoundCopy>,
    ) -> RewindSelection<'a> {
        let shown: String = target.text().lines().next().unwrap_or_default().chars().take(60).collect();
        let description = match target {
            RewindTarget::Before(_) => format!("rewind to before: {shown}"),
            RewindTarget::Branch(_) => format!("rewind to the end of the branch of: {shown}"),
        };
        RewindSelection { session: &log.session_id, cwd: &self.base, description, takes, copies }
    }

    /// The copies that show files as they were at that moment, and files that may not be changed.
    fn copies(&self, log: &CheckpointLog, moment: RewindMoment) -> (Vec<FoundCopy>, Vec<PathBuf>) {
        let folder = CopyFolder::of(&self.config_home, &log.session_id);
        let mut states: BTreeMap<&str, &FileBackup> = BTreeMap::new();
        let first = log.prompts.get(moment.order);
        let at = first.map(|point| log.files.iter().position(|files| files.prompt == point.uuid).unwrap_or_default());
        // What the checkpoint does not name was touched later for the first time: its first state is meant.
        for (key, backup) in log.files.iter().skip(at.unwrap_or(log.files.len())).flat_map(|files| &files.files) {
            states.entry(key).or_insert(backup);
        }
        let authors = authors(log, moment, &self.base);
        let (mut copies, mut outside) = (Vec::new(), Vec::new());
        for (key, backup) in states {
            let path = path_of(key, backup, &self.base);
            let Some(author) = authors.get(&path) else { continue };
            if !self.roots.iter().any(|root| path.starts_with(root)) {
                outside.push(path);
                continue;
            }
            let copy = match &backup.backup_file_name {
                None => None,
                Some(name) => match folder.path(name).filter(|copy| copy.is_file()) {
                    Some(copy) => Some(copy),
                    None => continue,
                },
            };
            copies.push(FoundCopy { path, copy, author: author.clone() });
        }
        (copies, outside)
    }
}

/// Whether a change of the session was made after `moment`. What agents do belongs to the prompt that started them; restores
/// belong to their time.
fn taken(log: &CheckpointLog, moment: RewindMoment) -> impl Fn(&SnapshotHeader) -> bool + use<> {
    let orders: HashMap<String, usize> =
        log.prompts.iter().enumerate().map(|(order, point)| (point.uuid.clone(), order)).collect();
    move |header| match header.prompt.as_ref().and_then(|prompt| orders.get(prompt)) {
        Some(order) => *order >= moment.order,
        None => header.at >= moment.since,
    }
}

/// The changes of the turns after `moment`.
fn changes_since(log: &CheckpointLog, moment: RewindMoment) -> impl Iterator<Item = &CheckpointChange> {
    let later: HashSet<&str> = log.prompts.iter().skip(moment.order).map(|point| point.uuid.as_str()).collect();
    log.changes.iter().filter(move |change| later.contains(change.message_id.as_str()))
}

/// The files that the session changed after `moment`, as far as the transcript says.
fn authors(log: &CheckpointLog, moment: RewindMoment, base: &Path) -> HashMap<PathBuf, CopyAuthor> {
    let mut authors = HashMap::new();
    for change in changes_since(log, moment) {
        if let Some(path) = &change.path {
            authors.insert(real(Path::new(path)), CopyAuthor { left: change.after.clone() });
        }
    }
    for path in log.edited_since(moment.order) {
        authors.entry(real(&base.join(path))).or_default();
    }
    authors
}

fn real(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|dir| std::fs::canonicalize(dir).ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_path_buf(), |(dir, name)| dir.join(name))
}

fn uncovered(log: &CheckpointLog, moment: RewindMoment, files: &FileRewind) -> Vec<UncoveredEffect> {
    let present: HashSet<&str> = files.changes.iter().map(|header| header.id.as_str()).collect();
    let mut found: Vec<UncoveredEffect> = Vec::new();
    for change in changes_since(log, moment) {
        let gone = change.snapshot.as_deref().is_some_and(|id| !present.contains(id)) && change.kind != "edit";
        let why = match (&change.not_saved, change.not_covered.as_slice()) {
            (Some(why), _) => why.clone(),
            (None, []) if gone => "what was saved before it has been removed".into(),
            (None, []) => continue,
            (None, programs) => format!("what {} changes is not known", programs.join(", ")),
        };
        let effect = UncoveredEffect { what: change.what.clone(), why };
        if !found.contains(&effect) {
            found.push(effect);
        }
    }
    found
}

/// The lines with which a conversation goes on elsewhere.
pub(super) fn conversation_step(log: &CheckpointLog, target: RewindTarget<'_>) -> ConversationStep {
    let uuid = sys::id::uuid();
    let (message_id, leaf, last_prompt) = match target {
        RewindTarget::Before(point) => {
            let before = point.number.and_then(|number| number.checked_sub(1));
            let before = log.prompts.iter().find(|other| other.number.is_some() && other.number == before);
            (Some(point.uuid.clone()), point.parent.clone(), before.map(|point| point.text.clone()))
        }
        RewindTarget::Branch(branch) => (None, Some(branch.leaf.clone()), Some(branch.text.clone())),
    };
    let rewound = MetaEntry::XRewound {
        message_id,
        leaf_uuid: leaf.clone(),
        uuid: uuid.clone(),
        timestamp: sys::clock::now_iso(),
        session_id: log.session_id.clone(),
    };
    let last = MetaEntry::LastPrompt { last_prompt, leaf_uuid: leaf, session_id: log.session_id.clone() };
    // Our own types always serialise.
    let lines = [rewound, last].into_iter().filter_map(|entry| TranscriptEntry::Meta(entry).to_line().ok()).collect();
    ConversationStep { transcript: log.path.clone(), lines, mark: uuid }
}
