//! Writes the session's transcript: builds each line with its parent, passes it to the store, and keeps the leaf.
//! Only `flush` waits for the disk.

use serde_json::value::RawValue;
use store::{Persistence, StoreError, Transcript, WriteFailure};
use sys::{clock, id};
pub use wire::entry::RefusalMark;
use wire::entry::{
    AssistantEntry, AttachmentEntry, Attribution, BlockMarks, CallMarks, EntryTail, MetaEntry, SystemEntry,
    TranscriptEntry, TurnPosition, UserEntry,
};
use wire::mode::PermissionMode;

pub struct TranscriptWriter {
    transcript: Transcript,
    persist: Persistence,
    tail: EntryTail,
    /// The agent that writes these lines; `None` for the main thread.
    agent_id: Option<String>,
    leaf: Option<String>,
    prompt_id: Option<String>,
    /// The prompt with the current `prompt_id` is not written yet.
    is_prompt_announced: bool,
    /// `note_kind` was done.
    has_kind: bool,
    /// The position of the next prompt in the session.
    position: TurnPosition,
    /// The failure that was last reported to the user.
    reported_failure: Option<WriteFailure>,
    /// The file contained this conversation before this process wrote to it.
    was_saved: bool,
    /// Receives what is written.
    mirror: Option<store::LineObserver>,
}

/// An appended line: what the corresponding message to the host needs.
pub struct WrittenLine {
    pub uuid: String,
    pub timestamp: String,
}

/// A prompt or injected text.
pub struct UserLine<'a> {
    pub message: Box<RawValue>,
    pub uuid: Option<String>,
    pub mode: PermissionMode,
    pub source: &'a PromptSource,
    /// Who sent the prompt; empty for other lines.
    pub origin: &'static str,
}

/// Where a user line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSource {
    /// Submitted by the host: opens a new prompt group.
    Host,
    /// The task of an agent: opens a new prompt group in its file.
    Task,
    /// Written by us, part of the running turn, hidden from people.
    Meta,
    /// Like `Meta`, but sent to the host: it keeps the turn going.
    Nudge,
    /// A background task has ended. It never counts as consent.
    Notice,
    /// Written by us and shown (the interrupt marker).
    Marker,
    /// A command that ran here, and its output.
    Local,
}

/// The result of one call.
pub struct ResultLine {
    pub message: Box<RawValue>,
    pub structured: Box<RawValue>,
    /// The assistant line that made the call: parent of this one.
    pub assistant_uuid: String,
    pub marks: CallMarks,
    pub mcp_meta: Option<Box<RawValue>>,
}

/// One block of a response, not written yet: lines wait for the final usage.
pub struct AssistantLine {
    pub message: Box<RawValue>,
    /// `None` for a message of our own.
    pub block: Option<BlockMarks>,
    pub attribution: Attribution,
    pub uuid: String,
    pub timestamp: String,
    pub request_id: Option<String>,
    pub effort: Option<&'static str>,
    pub error: Option<ApiErrorLine>,
    pub aborted: bool,
}

#[derive(Clone)]
pub struct ApiErrorLine {
    pub category: &'static str,
    pub status: Option<u16>,
    pub refusal: Option<RefusalMark>,
}

/// What to do about a configuration folder that cannot be written.
pub const SAVE_HINT: &str = "To continue without saving, use --no-session-persistence; to save elsewhere, set CLAUDE_CONFIG_DIR to a folder that can \
     be written.";

fn notice_origin() -> Box<RawValue> {
    RawValue::from_string(r#"{"kind":"task-notification"}"#.into()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The lines of a compaction.
pub struct BoundaryLine {
    pub metadata: serde_json::Value,
    pub summary: Box<RawValue>,
    pub summary_uuid: String,
    /// The last kept message; `None` when nothing was kept.
    pub leaf: Option<String>,
}

impl TranscriptWriter {
    pub fn persists(&self) -> Persistence {
        self.persist
    }

    /// Records another directory and branch on later lines.
    pub fn move_to(&mut self, cwd: &std::path::Path) {
        self.tail.cwd = cwd.display().to_string();
        let branch = sys::git::branch(cwd);
        self.tail.git_branch = if branch.is_empty() { "HEAD".into() } else { branch };
    }

    pub fn new(transcript: Transcript, persist: Persistence, tail: EntryTail, leaf: Option<String>) -> Self {
        Self {
            transcript,
            persist,
            tail,
            agent_id: None,
            was_saved: leaf.is_some(),
            leaf,
            prompt_id: None,
            is_prompt_announced: false,
            has_kind: false,
            position: TurnPosition::default(),
            reported_failure: None,
            mirror: None,
        }
    }

    /// Starts a new file for another conversation.
    pub fn begin_session(&mut self, path: &std::path::Path, session_id: &str) {
        let tail = EntryTail { session_id: session_id.to_owned(), slug: None, ..self.tail.clone() };
        let mirror = self.mirror.take();
        let transcript = Transcript::open(path.to_path_buf(), self.persist).with_observer(mirror.clone());
        *self = Self::new(transcript, self.persist, tail, None).mirrored(mirror);
    }

    /// Continues the same conversation in a moved file, which has `metadata` near its end.
    pub fn take_state_from(&mut self, before: &Self, metadata: &[String]) {
        self.leaf.clone_from(&before.leaf);
        self.was_saved = before.was_saved || before.transcript.has_saved();
        self.prompt_id.clone_from(&before.prompt_id);
        self.is_prompt_announced = before.is_prompt_announced;
        (self.has_kind, self.position) = (before.has_kind, before.position);
        self.tail.slug.clone_from(&before.tail.slug);
        self.transcript.remember(metadata);
    }

    /// Sends the whole file to hosts that keep copies, under its new name.
    pub async fn mirror_all(&self) {
        let (Some(tap), Some(path)) = (self.mirror.clone(), self.file()) else { return };
        let path = path.to_path_buf();
        tokio::task::spawn_blocking(move || crate::mirror::mirror_file(&tap, &path)).await.ok();
    }

    /// Marks every line as a side chain of the session, written by this agent.
    #[must_use]
    pub fn for_agent(self, agent_id: &str) -> Self {
        Self { agent_id: Some(agent_id.to_owned()), ..self }
    }

    /// `tap` also receives the history of a fork, which is not written line by line.
    #[must_use]
    pub fn mirrored(self, tap: Option<store::LineObserver>) -> Self {
        Self { mirror: tap, ..self }
    }

    /// Records the name of the conversation's plan on every later line.
    pub fn set_slug(&mut self, slug: &str) {
        self.tail.slug = Some(slug.to_owned());
    }

    /// Later lines continue after this one.
    pub fn go_on_after(&mut self, leaf: Option<String>) {
        self.leaf = leaf;
    }

    pub fn leaf(&self) -> Option<&str> {
        self.leaf.as_deref()
    }

    /// The id of the current prompt.
    pub fn prompt_id(&self) -> Option<&str> {
        self.prompt_id.as_deref()
    }

    /// Sets the id of the next prompt before it is written, because hooks receive it first.
    pub fn announce_prompt(&mut self) {
        self.prompt_id = Some(id::uuid());
        self.is_prompt_announced = true;
    }

    /// Starts this session's file with the history of another.
    pub fn fork(&mut self, source: &store::LoadedConversation, session_id: &str) -> Result<(), StoreError> {
        match self.persist {
            Persistence::Yes => store::fork::fork(source, session_id, self.transcript.path())?,
            Persistence::No => return Ok(()),
        }
        self.was_saved = true;
        if let Some(tap) = self.mirror.clone() {
            // An observer may wait for the host, so it must not run on the runtime.
            let path = self.transcript.path().to_path_buf();
            std::thread::spawn(move || crate::mirror::mirror_file(&tap, &path)).join().ok();
        }
        Ok(())
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Continues after the last position of the resumed conversation.
    #[must_use]
    pub fn following(self, last: Option<TurnPosition>) -> Self {
        let next =
            |last: TurnPosition| TurnPosition { prompt_index: last.prompt_index + 1, turn_index: last.turn_index + 1 };
        Self { position: last.map(next).unwrap_or_default(), ..self }
    }

    /// Counts a turn that no prompt opened.
    pub fn count_turn(&mut self) {
        self.position.turn_index += 1;
    }

    /// The position of a turn that this line opens; advances to the next.
    fn take_position(&mut self, source: PromptSource) -> Option<TurnPosition> {
        let taken = self.position;
        match source {
            PromptSource::Host => {
                self.position = TurnPosition { prompt_index: taken.prompt_index + 1, turn_index: taken.turn_index + 1 };
                Some(taken)
            }
            PromptSource::Notice
            | PromptSource::Task
            | PromptSource::Meta
            | PromptSource::Nudge
            | PromptSource::Marker
            | PromptSource::Local => None,
        }
    }

    pub fn user(&mut self, line: UserLine<'_>) -> Result<WrittenLine, StoreError> {
        let turn_position = self.take_position(*line.source);
        let is_prompt = *line.source == PromptSource::Host;
        let opens_group = is_prompt || *line.source == PromptSource::Task;
        if opens_group && !std::mem::take(&mut self.is_prompt_announced) {
            self.prompt_id = Some(id::uuid());
        }
        let entry = UserEntry {
            is_meta: matches!(line.source, PromptSource::Meta | PromptSource::Nudge | PromptSource::Notice),
            origin: (*line.source == PromptSource::Notice).then(notice_origin),
            permission_mode: is_prompt.then(|| line.mode.as_str()),
            prompt_source: is_prompt.then_some("sdk"),
            turn_origin: is_prompt.then_some(line.origin),
            turn_position,
            ..self.blank_user(line.message, line.uuid)
        };
        self.push_user(entry)
    }

    /// Writes the text of a skill, with the call that loaded it.
    pub fn skill(&mut self, message: Box<RawValue>, tool_use_id: Option<String>) -> Result<WrittenLine, StoreError> {
        let entry = UserEntry { is_meta: true, source_tool_use_id: tool_use_id, ..self.blank_user(message, None) };
        self.push_user(entry)
    }

    pub fn result(&mut self, line: ResultLine) -> Result<WrittenLine, StoreError> {
        let entry = UserEntry {
            parent_uuid: Some(line.assistant_uuid.clone()),
            tool_use_result: Some(line.structured),
            call: (line.marks != CallMarks::default()).then_some(line.marks),
            mcp_meta: line.mcp_meta,
            source_tool_assistant_uuid: Some(line.assistant_uuid),
            ..self.blank_user(line.message, None)
        };
        self.push_user(entry)
    }

    fn blank_user(&self, message: Box<RawValue>, uuid: Option<String>) -> UserEntry {
        UserEntry {
            parent_uuid: self.leaf.clone(),
            is_sidechain: self.agent_id.is_some(),
            agent_id: self.agent_id.clone(),
            prompt_id: self.prompt_id.clone(),
            kind: "user",
            message,
            is_meta: false,
            is_compact_summary: false,
            is_visible_in_transcript_only: false,
            uuid: uuid.unwrap_or_else(id::uuid),
            timestamp: clock::now_iso(),
            permission_mode: None,
            prompt_source: None,
            origin: None,
            turn_origin: None,
            turn_position: None,
            tool_use_result: None,
            call: None,
            mcp_meta: None,
            source_tool_assistant_uuid: None,
            source_tool_use_id: None,
            tail: self.tail.clone(),
        }
    }

    fn push_user(&mut self, entry: UserEntry) -> Result<WrittenLine, StoreError> {
        let written = WrittenLine { uuid: entry.uuid.clone(), timestamp: entry.timestamp.clone() };
        self.push(&[TranscriptEntry::User(Box::new(entry))])?;
        Ok(written)
    }

    /// Writes all lines of a response at once, each the parent of the next.
    pub fn assistant(&mut self, lines: Vec<AssistantLine>) -> Result<(), StoreError> {
        let mut parent = self.leaf.clone();
        let mut entries = Vec::with_capacity(lines.len());
        for line in lines {
            let uuid = line.uuid.clone();
            entries.push(TranscriptEntry::Assistant(Box::new(AssistantEntry {
                parent_uuid: parent.replace(uuid),
                is_sidechain: self.agent_id.is_some(),
                agent_id: self.agent_id.clone(),
                message: line.message,
                block: line.block,
                request_id: line.request_id,
                kind: "assistant",
                uuid: line.uuid,
                timestamp: line.timestamp,
                effort: line.effort,
                is_api_error_message: line.error.is_some(),
                error: line.error.as_ref().map(|e| e.category),
                api_error_status: line.error.as_ref().and_then(|e| e.status),
                refusal: line.error.and_then(|e| e.refusal),
                aborted: line.aborted,
                is_aborted_mid_stream: line.aborted,
                attribution: line.attribution,
                tail: self.tail.clone(),
            })));
        }
        self.push(&entries)
    }

    /// The transcript's file; `None` when nothing is saved.
    pub fn file(&self) -> Option<&std::path::Path> {
        matches!(self.persist, Persistence::Yes).then(|| self.transcript.path())
    }

    /// Writes the compaction boundary and the summary. Later lines continue the kept messages.
    pub fn boundary(&mut self, line: BoundaryLine) -> Result<WrittenLine, StoreError> {
        let mut fields = serde_json::Map::new();
        fields.insert("content".into(), "Conversation compacted".into());
        fields.insert("isMeta".into(), false.into());
        fields.insert("level".into(), "info".into());
        fields.insert("compactMetadata".into(), line.metadata);
        let boundary = SystemEntry {
            parent_uuid: None,
            logical_parent_uuid: self.leaf.clone(),
            is_sidechain: self.agent_id.is_some(),
            agent_id: self.agent_id.clone(),
            kind: "system",
            subtype: "compact_boundary",
            fields,
            uuid: id::uuid(),
            timestamp: clock::now_iso(),
            tail: self.tail.clone(),
        };
        let summary = UserEntry {
            parent_uuid: Some(boundary.uuid.clone()),
            is_compact_summary: true,
            is_visible_in_transcript_only: true,
            ..self.blank_user(line.summary, Some(line.summary_uuid))
        };
        let written = WrittenLine { uuid: summary.uuid.clone(), timestamp: summary.timestamp.clone() };
        self.push(&[TranscriptEntry::System(Box::new(boundary)), TranscriptEntry::User(Box::new(summary))])?;
        if line.leaf.is_some() {
            self.leaf = line.leaf;
        }
        Ok(written)
    }

    /// Returns the uuid of the line.
    pub fn attachment(&mut self, attachment: Box<RawValue>) -> Result<String, StoreError> {
        let entry = AttachmentEntry {
            parent_uuid: self.leaf.clone(),
            is_sidechain: self.agent_id.is_some(),
            agent_id: self.agent_id.clone(),
            kind: "attachment",
            attachment,
            uuid: id::uuid(),
            timestamp: clock::now_iso(),
            tail: self.tail.clone(),
        };
        let uuid = entry.uuid.clone();
        self.push(&[TranscriptEntry::Attachment(Box::new(entry))])?;
        Ok(uuid)
    }

    pub fn system(
        &mut self,
        subtype: &'static str,
        fields: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), StoreError> {
        let entry = SystemEntry {
            parent_uuid: self.leaf.clone(),
            logical_parent_uuid: None,
            is_sidechain: self.agent_id.is_some(),
            agent_id: self.agent_id.clone(),
            kind: "system",
            subtype,
            fields,
            uuid: id::uuid(),
            timestamp: clock::now_iso(),
            tail: self.tail.clone(),
        };
        self.push(&[TranscriptEntry::System(Box::new(entry))])
    }

    pub fn meta(&mut self, entry: MetaEntry) -> Result<(), StoreError> {
        self.push(&[TranscriptEntry::Meta(entry)])
    }

    /// Records the kind of the session, once per process: readers distinguish sessions by it.
    pub fn note_kind(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.has_kind, true) {
            return Ok(());
        }
        self.meta(MetaEntry::Mode { mode: "normal".into(), session_id: self.tail.session_id.clone() })
    }

    /// Records the session's name, for lists of sessions and for messages to it.
    pub fn name(&mut self, name: String, session_id: String) -> Result<(), StoreError> {
        let title = MetaEntry::CustomTitle { custom_title: name.clone(), session_id: session_id.clone() };
        let agent = MetaEntry::AgentName { agent_name: name, session_id };
        self.push(&[TranscriptEntry::Meta(title), TranscriptEntry::Meta(agent)])
    }

    fn push(&mut self, entries: &[TranscriptEntry]) -> Result<(), StoreError> {
        let mut lines = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry.to_line() {
                Ok(line) => lines.push(line),
                // Our types always serialise; a bug here must not lose the rest of the turn.
                Err(error) => tracing::error!(%error, "a transcript line could not be serialised"),
            }
        }
        if let Some(uuid) = entries.iter().rev().find_map(TranscriptEntry::uuid) {
            self.leaf = Some(uuid.to_owned());
        }
        self.transcript.append(lines)
    }

    /// A warning about a failing disk: once, and again only after it has recovered.
    pub fn take_warning(&mut self) -> Option<String> {
        let unsaved = self.unsaved();
        let failure = self.transcript.health().borrow().clone().filter(|f| f.warn || unsaved.is_some());
        let is_fresh = failure.is_some() && self.reported_failure != failure;
        // The session of the agent reports it.
        let is_silent = unsaved.is_some() && self.agent_id.is_some();
        let text = unsaved.or_else(|| failure.as_ref().map(ToString::to_string));
        self.reported_failure = failure;
        text.filter(|_| is_fresh && !is_silent)
    }

    /// Why nothing of this conversation could be saved, and the consequences; `None` when something is saved or
    /// nothing has failed.
    pub fn unsaved(&self) -> Option<String> {
        if self.persist == Persistence::No || self.was_saved || self.transcript.has_saved() {
            return None;
        }
        let failure = self.transcript.health().borrow().clone()?;
        Some(format!(
            "Transcript writes are failing ({} — {}) · this session is not saved: it cannot be resumed, and undo and \
             checkpoints are off. {SAVE_HINT} Not writable: {}",
            failure.cause,
            failure.code,
            self.transcript.path().display()
        ))
    }

    /// Waits until everything appended so far is written. Also succeeds when nothing could ever be saved: the session
    /// goes on without a file. Fails when a conversation that was being saved no longer is, because nothing may run
    /// unrecorded.
    pub async fn barrier(&self) -> Result<(), StoreError> {
        match self.flush().await {
            Err(_) if self.unsaved().is_some() => {
                self.transcript.allow_loss();
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Waits until everything appended so far is written; returns the reason when that fails.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.transcript.flush().await
    }
}
