//! Subagents on disk: `<session>/subagents/agent-<id>.jsonl` and the sidecar `agent-<id>.meta.json` beside it. Unknown
//! fields of a sidecar are kept when it is rewritten.

use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use wire::block::BlockHead;
use wire::entry::{EntryHead, MessageHead};
use wire::usage::Usage;

const FOLDER: &str = "subagents";
const PREFIX: &str = "agent-";
const META: &str = ".meta.json";
/// In bytes. A sidecar is a few hundred bytes; a larger file is not read.
const MAX_SIDECAR: usize = 256 << 10;

/// The folder that holds the subagents of a session.
pub fn folder(session_dir: &Path) -> PathBuf {
    session_dir.join(FOLDER)
}

pub fn transcript_path(session_dir: &Path, id: &str) -> PathBuf {
    folder(session_dir).join(format!("{PREFIX}{id}.jsonl"))
}

pub fn sidecar_path(session_dir: &Path, id: &str) -> PathBuf {
    folder(session_dir).join(format!("{PREFIX}{id}{META}"))
}

/// Returns `a` followed by 16 hexadecimal digits.
pub fn new_id() -> String {
    let random: String = sys::id::uuid().chars().filter(char::is_ascii_hexdigit).take(16).collect();
    format!("a{random}")
}

/// How a finished agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentOutcome {
    Completed,
    Failed,
    Stopped,
}

/// The content of the JSON file beside an agent's transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sidecar {
    pub agent_type: String,
    pub description: String,
    /// The tool call that started the agent.
    pub tool_use_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_backgrounded: bool,
    /// Set when the agent has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentOutcome>,
    /// The user stopped the agent: only the user may resume it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped_by_user: bool,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Sidecar {
    /// Replaces the sidecar of `id` in one step.
    pub fn write(&self, session_dir: &Path, id: &str) -> Result<(), StoreError> {
        let path = sidecar_path(session_dir, id);
        let failed = |e| StoreError::write(&path, e);
        crate::layout::create_private(&folder(session_dir)).map_err(failed)?;
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        sys::fs::atomic_write(&path, &bytes, 0o600).map_err(failed)
    }

    /// Returns `None` when the file is missing, too large or not valid.
    pub fn read(path: &Path) -> Option<Self> {
        let read = sys::fs::read_limited(path, MAX_SIDECAR).ok()?;
        if read.more { None } else { serde_json::from_slice(&read.bytes).ok() }
    }
}

/// One agent of a session.
#[derive(Clone, Debug)]
pub struct StoredAgent {
    pub id: String,
    pub sidecar: Sidecar,
    pub transcript: PathBuf,
}

/// The agents of a session that have a sidecar, sorted by id. A session without agents costs one failed system call.
pub fn list(session_dir: &Path) -> Vec<StoredAgent> {
    let Ok(entries) = std::fs::read_dir(folder(session_dir)) else { return Vec::new() };
    let mut found: Vec<StoredAgent> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let id = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(META)?.to_owned();
            let sidecar = Sidecar::read(&path)?;
            Some(StoredAgent { transcript: transcript_path(session_dir, &id), id, sidecar })
        })
        .collect();
    sys::compact_sort::sort_by(&mut found, |a, b| a.id.cmp(&b.id));
    found
}

/// How many of the last calls of an agent are kept.
pub const LAST_CALLS: usize = 3;

/// A call as the model sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    pub tool: String,
    /// JSON
    pub input: String,
}

/// What the transcript of an agent contains.
#[derive(Clone, Debug, Default)]
pub struct AgentSummary {
    /// Text of the last response.
    pub text: String,
    /// The last response has stopped without calls, and no user line follows it.
    pub is_final: bool,
    /// The last response is our own text about a failed request.
    pub is_api_error: bool,
    pub tool_uses: u64,
    /// The last calls, oldest first: at most [`LAST_CALLS`].
    pub last_calls: VecDeque<RecordedCall>,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    /// Usage of the last response.
    pub last: Usage,
    /// Usage by model, every response counted once.
    pub models: BTreeMap<String, Usage>,
}

impl AgentSummary {
    pub fn duration_ms(&self) -> u64 {
        self.ended_at_ms.unwrap_or(0).saturating_sub(self.started_at_ms.unwrap_or(0))
    }

    /// Tokens of the last response, as a task reports them.
    pub fn total_tokens(&self) -> u64 {
        self.last.total_input() + self.last.output_tokens
    }
}

/// The response that is being read; one response may span several lines.
#[derive(Default)]
struct PartialResponse {
    id: String,
    model: String,
    usage: Usage,
    texts: Vec<String>,
    calls: u64,
    has_stopped: bool,
    is_api_error: bool,
}

/// Reads a whole transcript, one line at a time. Lines that are not JSON are skipped.
pub fn summarise(path: &Path) -> Result<AgentSummary, StoreError> {
    let file = std::fs::File::open(path).map_err(|e| StoreError::read(path, e))?;
    let mut summary = AgentSummary::default();
    let mut response: Option<PartialResponse> = None;
    for line in BufReader::new(file).split(b'\n') {
        let bytes = line.map_err(|e| StoreError::read(path, e))?;
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let Some(head) = EntryHead::read(text) else { continue };
        if let Some(at) = head.timestamp.as_deref().and_then(sys::clock::parse_iso) {
            summary.started_at_ms.get_or_insert(at);
            summary.ended_at_ms = Some(at);
        }
        match &*head.kind {
            "assistant" => summary.assistant(&head, &mut response),
            "user" => summary.is_final = false,
            _ => {}
        }
    }
    summary.finish_response(response.take());
    Ok(summary)
}

impl AgentSummary {
    fn assistant(&mut self, head: &EntryHead<'_>, response: &mut Option<PartialResponse>) {
        let Some(message) = head.message.and_then(MessageHead::read) else { return };
        let id = message.id.as_deref().unwrap_or_default();
        if response.as_ref().is_none_or(|open| open.id != id) {
            self.finish_response(response.take());
            *response = Some(PartialResponse { id: id.to_owned(), ..PartialResponse::default() });
        }
        let Some(open) = response.as_mut() else { return };
        open.is_api_error = head.is_api_error_message;
        open.has_stopped |= message.stop_reason.is_some();
        if let Some(model) = &message.model {
            open.model = model.to_string();
        }
        if let Some(usage) = message.usage {
            open.usage.absorb(usage);
        }
        for block in message.blocks().unwrap_or_default() {
            match BlockHead::read(block) {
                Some(BlockHead::Text(text)) => open.texts.push(text.into_owned()),
                Some(BlockHead::ToolUse { name, input, .. }) => {
                    open.calls += 1;
                    if self.last_calls.len() == LAST_CALLS {
                        self.last_calls.pop_front();
                    }
                    self.last_calls.push_back(RecordedCall { tool: name.into_owned(), input: input.get().to_owned() });
                }
                _ => {}
            }
        }
        self.is_final = open.has_stopped && open.calls == 0;
    }

    fn finish_response(&mut self, response: Option<PartialResponse>) {
        let Some(done) = response else { return };
        self.tool_uses += done.calls;
        self.is_api_error = done.is_api_error;
        if !done.texts.is_empty() {
            self.text = done.texts.join("\n");
        }
        if done.model.is_empty() || done.model == "<synthetic>" {
            return;
        }
        self.models.entry(done.model).or_default().add(&done.usage);
        self.last = done.usage;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-169] [TST-170]
    #[test]
    fn sidecars_keep_what_they_do_not_know() {
        let dir = tempfile::tempdir().unwrap();
        let path = sidecar_path(dir.path(), "a1");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, r#"{"agentType":"Explore","toolUseId":"t","parentAgentId":"a0","taskKind":"x"}"#)
            .unwrap();
        let mut sidecar = Sidecar::read(&path).unwrap();
        assert_eq!(sidecar.parent_agent_id.as_deref(), Some("a0"));
        sidecar.status = Some(AgentOutcome::Completed);
        sidecar.write(dir.path(), "a1").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#""taskKind":"x""#) && text.contains(r#""status":"completed""#), "{text}");
        assert_eq!(list(dir.path()).len(), 1);
        assert!(list(&dir.path().join("none")).is_empty());
    }

    #[test]
    fn responses_are_counted_once_and_the_end_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let line = |id: &str, block: &str, stop: &str, at: &str| {
            format!(
                r#"{{"type":"assistant","timestamp":"{at}","message":{{"id":"{id}","model":"m","content":[{block}],"stop_reason":{stop},"usage":{{"input_tokens":10,"output_tokens":5}}}}}}"#
            )
        };
        let call = r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#;
        let text = r#"{"type":"text","text":"done"}"#;
        let mut lines = vec![
            r#"{"type":"user","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"go"}}"#
                .to_owned(),
            line("m1", text, "null", "2026-01-01T00:00:01.000Z"),
            line("m1", call, "\"tool_use\"", "2026-01-01T00:00:01.000Z"),
        ];
        let write = |lines: &[String]| std::fs::write(&path, lines.join("\n")).unwrap();
        write(&lines);
        let open = summarise(&path).unwrap();
        assert!(!open.is_final);
        assert_eq!((open.tool_uses, open.models["m"].output_tokens), (1, 5));
        lines.push(
            r#"{"type":"user","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[]}}"#.into(),
        );
        lines.push(line("m2", text, "\"end_turn\"", "2026-01-01T00:00:03.000Z"));
        write(&lines);
        let done = summarise(&path).unwrap();
        assert!(done.is_final);
        assert_eq!((done.text.as_str(), done.duration_ms(), done.total_tokens()), ("done", 3000, 15));
    }
}
