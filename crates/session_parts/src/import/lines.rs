//! The transcript of an imported conversation: lines as this program writes them, one under the other.

use super::conversation::{ImportedConversation, ImportedMessage, TimedMessage};
use serde_json::{Value, json};
use std::path::Path;
use tools::foreign_text::defuse;
use wire::entry::{AssistantEntry, Attribution, EntryTail, MetaEntry, SystemEntry, TranscriptEntry, UserEntry};

/// The id of a session here: that of the other program when it is one, else one that is always the same for it.
pub(super) fn session_id(source_id: &str) -> String {
    if sys::id::is_uuid(source_id) {
        return source_id.to_ascii_lowercase();
    }
    store::place::derived_id(source_id)
}

/// The whole file.
pub(super) fn transcript(
    read: &ImportedConversation,
    messages: Vec<TimedMessage>,
    id: &str,
    cwd: &Path,
) -> Result<String, String> {
    let first = messages.iter().find_map(|message| sys::clock::parse_iso(message.at.as_deref()?));
    let mut made = TranscriptLines::new(first, id, cwd);
    let program = read.source.label();
    made.user(&json!(crate::prompts::imported(program)), UserLineKind::Note)?;
    for TimedMessage { at, message } in messages {
        if let Some(at) = at.and_then(|at| sys::clock::parse_iso(&at)) {
            made.at = sys::clock::iso(at);
        }
        match message {
            ImportedMessage::Prompt(blocks) => made.user(&plain(blocks), UserLineKind::Prompt)?,
            ImportedMessage::Note(text) => made.user(&json!(text), UserLineKind::Note)?,
            ImportedMessage::Result(block) => made.user(&json!([block]), UserLineKind::Result)?,
            ImportedMessage::Answer(blocks) => made.answer(blocks)?,
            ImportedMessage::Summary(text) => made.summary(&text)?,
        }
    }
    made.finish(read)
}

/// A prompt of one text is written as that text.
fn plain(mut blocks: Vec<Value>) -> Value {
    let is_text = blocks.len() == 1 && blocks[0]["type"] == "text";
    if is_text { blocks[0]["text"].take() } else { Value::Array(blocks) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UserLineKind {
    Prompt,
    /// For the model only.
    Note,
    Result,
    Summary,
}

struct TranscriptLines {
    text: String,
    tail: EntryTail,
    leaf: Option<String>,
    prompt_id: Option<String>,
    /// The line of the last answer, for the results of its calls.
    answer: Option<String>,
    at: String,
    responses: usize,
}

impl TranscriptLines {
    /// `first` is the time of the first message.
    fn new(first: Option<u64>, id: &str, cwd: &Path) -> Self {
        let branch = sys::git::branch(cwd);
        let tail = EntryTail {
            user_type: "external",
            entrypoint: "cli".into(),
            cwd: cwd.display().to_string(),
            session_id: id.to_owned(),
            version: wire::version::COMPAT,
            git_branch: if branch.is_empty() { "HEAD".into() } else { branch },
            slug: None,
        };
        let at = first.map_or_else(sys::clock::now_iso, sys::clock::iso);
        Self { text: String::new(), tail, leaf: None, prompt_id: None, answer: None, at, responses: 0 }
    }

    fn push(&mut self, entry: &TranscriptEntry) -> Result<(), String> {
        let line = entry.to_line().map_err(|error| format!("a line could not be written: {error}"))?;
        self.text.push_str(&line);
        self.text.push('\n');
        if let Some(uuid) = entry.uuid() {
            self.leaf = Some(uuid.to_owned());
        }
        Ok(())
    }

    fn user(&mut self, content: &Value, kind: UserLineKind) -> Result<(), String> {
        if kind == UserLineKind::Prompt {
            self.prompt_id = Some(sys::id::uuid());
        }
        let message = wire::raw::to_raw(&json!({"role": "user", "content": content})).map_err(|e| e.to_string())?;
        let entry = UserEntry {
            parent_uuid: self.leaf.clone(),
            is_sidechain: false,
            agent_id: None,
            prompt_id: self.prompt_id.clone(),
            kind: "user",
            message,
            is_meta: kind == UserLineKind::Note,
            is_compact_summary: kind == UserLineKind::Summary,
            is_visible_in_transcript_only: kind == UserLineKind::Summary,
            uuid: sys::id::uuid(),
            timestamp: self.at.clone(),
            permission_mode: None,
            prompt_source: None,
            origin: None,
            turn_origin: None,
            turn_position: None,
            tool_use_result: None,
            call: None,
            mcp_meta: None,
            source_tool_assistant_uuid: self.answer.clone().filter(|_| kind == UserLineKind::Result),
            source_tool_use_id: None,
            tail: self.tail.clone(),
        };
        self.push(&TranscriptEntry::User(Box::new(entry)))
    }

    /// One line per block, as responses are written. They name no model: the next one is chosen as for a new session. What
    /// they used was paid for elsewhere, so it counts nothing here.
    fn answer(&mut self, blocks: Vec<Value>) -> Result<(), String> {
        self.responses += 1;
        let id = format!("msg_imported_{:05}", self.responses);
        let calls = blocks.iter().any(|block| block["type"] == "tool_use");
        let stop = if calls { "tool_use" } else { "end_turn" };
        let usage = json!({"input_tokens": 0, "output_tokens": 0});
        for block in blocks {
            let message = json!({"id": id, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": stop, "stop_sequence": null, "usage": usage});
            let entry = AssistantEntry {
                parent_uuid: self.leaf.clone(),
                is_sidechain: false,
                agent_id: None,
                message: wire::raw::to_raw(&message).map_err(|e| e.to_string())?,
                block: None,
                request_id: None,
                kind: "assistant",
                uuid: sys::id::uuid(),
                timestamp: self.at.clone(),
                effort: None,
                is_api_error_message: false,
                error: None,
                api_error_status: None,
                refusal: None,
                aborted: false,
                is_aborted_mid_stream: false,
                attribution: Attribution::default(),
                tail: self.tail.clone(),
            };
            self.answer = Some(entry.uuid.clone());
            self.push(&TranscriptEntry::Assistant(Box::new(entry)))?;
        }
        Ok(())
    }

    /// The conversation goes on from the summary, as it did in the other program.
    fn summary(&mut self, text: &str) -> Result<(), String> {
        let mut fields = serde_json::Map::new();
        fields.insert("content".into(), "Conversation compacted".into());
        fields.insert("isMeta".into(), false.into());
        fields.insert("level".into(), "info".into());
        fields.insert("compactMetadata".into(), json!({"trigger": "auto", "preTokens": 0}));
        let boundary = SystemEntry {
            parent_uuid: None,
            logical_parent_uuid: self.leaf.clone(),
            is_sidechain: false,
            agent_id: None,
            kind: "system",
            subtype: "compact_boundary",
            fields,
            uuid: sys::id::uuid(),
            timestamp: self.at.clone(),
            tail: self.tail.clone(),
        };
        self.push(&TranscriptEntry::System(Box::new(boundary)))?;
        self.user(&json!(crate::prompts::imported_summary(&defuse(text).text)), UserLineKind::Summary)
    }

    /// Adds the title and where the session came from.
    fn finish(mut self, read: &ImportedConversation) -> Result<String, String> {
        let session_id = self.tail.session_id.clone();
        if let Some(title) = read.title.as_deref().map(crate::messages::session_name).filter(|title| !title.is_empty())
        {
            self.push(&TranscriptEntry::Meta(MetaEntry::AiTitle { ai_title: title, session_id: session_id.clone() }))?;
        }
        self.push(&TranscriptEntry::Meta(MetaEntry::XImported {
            source: read.source.label(),
            source_version: read.source_version.clone(),
            source_id: read.source_id.clone(),
            model: read.model.clone(),
            timestamp: sys::clock::now_iso(),
            session_id,
        }))?;
        Ok(self.text)
    }
}
