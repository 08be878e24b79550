//! Keeps the checkpoints of a conversation while it runs. Each prompt gets a line with the versions of the files that
//! were changed so far; a file that is changed for the first time is copied before. What a call changed is noted beside the
//! prompt it belongs to. One object serves the session and its agents: an agent's changes belong to the prompt that
//! started it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::checkpoints::{self, CopyFolder, CopySource, TrackedFile};
use store::{StoreError, Transcript};
use sys::sync::Mutex;
use wire::entry::{CheckpointChange, CheckpointFiles, MetaEntry, TranscriptEntry};

/// A file that no turn of so many prompts changed is no longer named by new checkpoints.
const NAMED_FOR: u64 = 100;
/// Old copies are removed each time so many checkpoints were taken.
const PRUNED_EVERY: u64 = 25;

/// The checkpoints of one conversation.
pub struct SessionCheckpoints {
    state: Mutex<CheckpointState>,
}

struct CheckpointState {
    transcript: Transcript,
    copies: CopyFolder,
    /// Names of files below this directory are relative to it.
    base: PathBuf,
    /// The files of the resumed conversation were not read yet.
    is_unread: bool,
    /// The prompt whose turn runs or ran last; `None` while checkpoints are off.
    prompt: Option<String>,
    files: BTreeMap<PathBuf, NamedFile>,
    /// Checkpoints taken by this process.
    taken: u64,
}

struct NamedFile {
    tracked: TrackedFile,
    /// How many checkpoints had been taken when it was last changed.
    changed_at: u64,
}

/// The checkpoints as one thread of the session uses them.
#[derive(Clone)]
pub struct CheckpointScope {
    shared: Arc<SessionCheckpoints>,
    owner: CheckpointOwner,
}

#[derive(Clone)]
enum CheckpointOwner {
    /// Each prompt has its own checkpoint.
    Session,
    /// Everything belongs to this prompt.
    Agent(Option<String>),
}

/// Old copies may be removed now.
pub struct CopyPruning {
    copies: CopyFolder,
    transcript: PathBuf,
}

impl CopyPruning {
    /// Reads the whole transcript, so it must not run where others wait.
    pub fn run(&self) {
        match self.copies.prune(&self.transcript) {
            Ok(removed) => tracing::debug!(removed, "old copies of checkpoints were removed"),
            Err(error) => tracing::debug!(%error, "old copies of checkpoints were not removed"),
        }
    }
}

impl CheckpointScope {
    /// For the session that writes `transcript`. Touches nothing on disk.
    pub fn new(transcript: &Transcript, config_home: &Path, session_id: &str, base: &Path) -> Self {
        let state = CheckpointState {
            transcript: transcript.clone(),
            copies: CopyFolder::of(config_home, session_id),
            base: base.to_path_buf(),
            is_unread: true,
            prompt: None,
            files: BTreeMap::new(),
            taken: 0,
        };
        Self { shared: Arc::new(SessionCheckpoints { state: Mutex::new(state) }), owner: CheckpointOwner::Session }
    }

    /// For an agent that is started now.
    #[must_use]
    pub fn for_agent(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), owner: CheckpointOwner::Agent(self.prompt()) }
    }

    /// Continues in the file of another conversation, or of this one after it has moved.
    pub fn begin_session(&self, transcript: &Transcript, config_home: &Path, session_id: &str, base: &Path) {
        let mut state = self.shared.state.lock();
        state.transcript = transcript.clone();
        state.copies = CopyFolder::of(config_home, session_id);
        state.base = base.to_path_buf();
        (state.is_unread, state.prompt) = (true, None);
        state.files.clear();
    }

    /// The prompt that changes belong to now; `None` while checkpoints are off.
    pub fn prompt(&self) -> Option<String> {
        match &self.owner {
            CheckpointOwner::Session => self.shared.state.lock().prompt.clone(),
            CheckpointOwner::Agent(prompt) => prompt.clone(),
        }
    }

    /// Checkpoints are off for the next turn.
    pub fn skip_prompt(&self) {
        self.shared.state.lock().prompt = None;
    }

    /// Takes the checkpoint of a prompt that is about to be recorded. Returns work for later, now and then.
    pub fn begin_prompt(&self, uuid: &str) -> Result<Option<CopyPruning>, StoreError> {
        let mut state = self.shared.state.lock();
        state.read_earlier();
        state.taken += 1;
        let CheckpointState { copies, files, taken, base, .. } = &mut *state;
        files.retain(|_, file| file.changed_at + NAMED_FOR >= *taken);
        for file in files.values_mut() {
            if matches!(copies.refresh(&mut file.tracked), checkpoints::FoundVersion::New(_)) {
                file.changed_at = *taken;
            }
        }
        let key = |(path, file): (&PathBuf, &NamedFile)| (checkpoints::key_of(path, base), file.tracked.backup.clone());
        let snapshot = CheckpointFiles {
            message_id: uuid.to_owned(),
            tracked_file_backups: files.iter().map(key).collect(),
            timestamp: sys::clock::now_iso(),
        };
        state.prompt = Some(uuid.to_owned());
        state.append(MetaEntry::FileHistorySnapshot {
            message_id: uuid.to_owned(),
            snapshot,
            is_snapshot_update: false,
        })?;
        let due = state.taken.is_multiple_of(PRUNED_EVERY) && !state.files.is_empty();
        let transcript = || state.transcript.path().to_path_buf();
        Ok(due.then(|| CopyPruning { copies: state.copies.clone(), transcript: transcript() }))
    }

    /// Keeps a file as it is before a tool changes it for the first time. `stored` has the same content. Returns why it
    /// could not be kept.
    pub fn keep_before(&self, path: &Path, stored: Option<&Path>, assistant_line: &str) -> Option<String> {
        let prompt = self.prompt()?;
        let mut state = self.shared.state.lock();
        let path = real(path);
        let taken = state.taken;
        if let Some(known) = state.files.get_mut(&path) {
            known.changed_at = taken;
            return None;
        }
        let tracked = match state.copies.track(&path, stored.map_or(CopySource::Original, CopySource::Stored)) {
            Ok(tracked) => tracked,
            Err(why) => return Some(why),
        };
        let delta = MetaEntry::FileHistoryDelta {
            message_id: assistant_line.to_owned(),
            snapshot_message_id: prompt,
            tracking_path: checkpoints::key_of(&path, &state.base),
            backup: tracked.backup.clone(),
            timestamp: sys::clock::now_iso(),
        };
        state.files.insert(path, NamedFile { tracked, changed_at: taken });
        let written = state.append(delta);
        written.err().map(|error| error.to_string())
    }

    /// Notes what a call changed.
    pub fn note_change(&self, change: CheckpointChange) {
        if let Err(error) = self.shared.state.lock().append(MetaEntry::XCheckpointChange(Box::new(change))) {
            tracing::warn!(%error, "a change could not be noted for its checkpoint");
        }
    }
}

impl CheckpointState {
    /// Takes up the files of a conversation that another process began.
    fn read_earlier(&mut self) {
        if !std::mem::take(&mut self.is_unread) {
            return;
        }
        let earlier = checkpoints::latest_files(self.transcript.path(), &self.base);
        let taken = self.taken;
        self.files.extend(
            earlier.into_values().map(|tracked| (tracked.path.clone(), NamedFile { tracked, changed_at: taken })),
        );
    }

    fn append(&self, entry: MetaEntry) -> Result<(), StoreError> {
        match TranscriptEntry::Meta(entry).to_line() {
            Ok(line) => self.transcript.append(vec![line]),
            Err(error) => {
                tracing::error!(%error, "a line about a checkpoint could not be serialised");
                Ok(())
            }
        }
    }
}

/// The path with the links on the way to it resolved.
fn real(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|dir| std::fs::canonicalize(dir).ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_path_buf(), |(dir, name)| dir.join(name))
}
