//! Transcript lines: the ones gimlet writes (fixed key order), and the fields gimlet reads from any line.

use crate::raw::to_line;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Fields at the end of every line that belongs to the message tree.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryTail {
    pub user_type: &'static str,
    pub entrypoint: String,
    pub cwd: String,
    pub session_id: String,
    pub version: &'static str,
    pub git_branch: String,
    /// The name of the conversation's plan; `None` until there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
}

/// A `user` line: a prompt, a tool result, or text that gimlet injected.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserEntry {
    pub parent_uuid: Option<String>,
    pub is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `{"role":"user","content":…}`
    pub message: Box<RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_meta: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_compact_summary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_visible_in_transcript_only: bool,
    pub uuid: String,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<RawValue>>,
    /// What started the turn; set only on the line that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_position: Option<TurnPosition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Box<RawValue>>,
    #[serde(flatten)]
    pub call: Option<CallMarks>,
    /// Metadata that an MCP server sent with the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_meta: Option<Box<RawValue>>,
    #[serde(rename = "sourceToolAssistantUUID", skip_serializing_if = "Option::is_none")]
    pub source_tool_assistant_uuid: Option<String>,
    #[serde(rename = "sourceToolUseID", skip_serializing_if = "Option::is_none")]
    pub source_tool_use_id: Option<String>,
    #[serde(flatten)]
    pub tail: EntryTail,
}

/// The position of a prompt in its session, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnPosition {
    /// Position among the prompts.
    pub prompt_index: u64,
    /// Position among all turns, including turns that no prompt started.
    pub turn_index: u64,
}

/// How a call was decided, on the line of its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallMarks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<RecordedDecision>,
    /// Why the call did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_denial_kind: Option<&'static str>,
    /// The command ran in the sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedDecision {
    /// `accept` or `reject`.
    pub decision: &'static str,
    /// Who decided: `config`, `hook`, `user_temporary`, `user_permanent`, `user_reject`.
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_type: Option<&'static str>,
}

/// An `assistant` line: one content block of one API response.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantEntry {
    pub parent_uuid: Option<String>,
    pub is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The API message with exactly one block, final usage and stop reason.
    pub message: Box<RawValue>,
    #[serde(flatten)]
    pub block: Option<BlockMarks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub uuid: String,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_api_error_message: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u16>,
    #[serde(flatten)]
    pub refusal: Option<RefusalMark>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// The same flag under the name that newer readers expect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_aborted_mid_stream: bool,
    #[serde(flatten)]
    pub attribution: Attribution,
    #[serde(flatten)]
    pub tail: EntryTail,
}

/// Which block of which response a line contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockMarks {
    pub api_block_index: u32,
    /// The model that was requested; `message` names the model that answered.
    pub requested_model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_duration_ms: Option<u64>,
}

/// The skill, agent or MCP tool a line is attributed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// The skill that was invoked last in this turn.
    #[serde(rename = "attributionSkill", skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The type of the subagent that wrote the line.
    #[serde(rename = "attributionAgent", skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The MCP server of the tool that the line calls; the tool is in `mcp_tool`.
    #[serde(rename = "attributionMcpServer", skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<String>,
    #[serde(rename = "attributionMcpTool", skip_serializing_if = "Option::is_none")]
    pub mcp_tool: Option<String>,
}

/// Names the refused response, on the lines that report the refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalMark {
    pub refused_message_id: String,
    pub refusing_model: String,
}

/// A `system` line. `fields` are specific to the subtype and keep their order.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemEntry {
    pub parent_uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_parent_uuid: Option<String>,
    pub is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub subtype: &'static str,
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
    pub uuid: String,
    pub timestamp: String,
    #[serde(flatten)]
    pub tail: EntryTail,
}

/// An `attachment` line: context that the model received in addition to the conversation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentEntry {
    pub parent_uuid: Option<String>,
    pub is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub attachment: Box<RawValue>,
    pub uuid: String,
    pub timestamp: String,
    #[serde(flatten)]
    pub tail: EntryTail,
}

/// Lines outside the message tree. `type` comes first because readers search for it as raw bytes.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum MetaEntry {
    LastPrompt {
        #[serde(skip_serializing_if = "Option::is_none")]
        last_prompt: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        leaf_uuid: Option<String>,
        session_id: String,
    },
    CustomTitle {
        custom_title: String,
        session_id: String,
    },
    AiTitle {
        ai_title: String,
        session_id: String,
    },
    Tag {
        tag: String,
        session_id: String,
    },
    Mode {
        mode: String,
        session_id: String,
    },
    PermissionMode {
        permission_mode: String,
        session_id: String,
    },
    /// The name of the session among other sessions.
    AgentName {
        agent_name: String,
        session_id: String,
    },
    /// The colour of the session's prompt, by name.
    AgentColor {
        agent_color: String,
        session_id: String,
    },
    /// The agent definition that the main thread uses.
    AgentSetting {
        agent_setting: String,
        session_id: String,
    },
    /// The worktree the session works in; `null` after the session has left it.
    WorktreeState {
        worktree_session: Option<Box<WorktreeSession>>,
        session_id: String,
    },
    /// The session works in `cwd` from this line on, and its file was moved to that project's directory.
    Relocated {
        cwd: String,
        from: String,
        timestamp: String,
        session_id: String,
    },
    QueueOperation {
        operation: &'static str,
        timestamp: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        session_id: String,
    },
    /// The cost of the session so far; the last such line is the valid one.
    CostState {
        session_id: String,
        #[serde(flatten)]
        state: Box<crate::usage::CostState>,
    },
    /// Lines that were taken back. They stay in the file but are left out when the conversation is resumed.
    XRetracted {
        uuids: Vec<String>,
        session_id: String,
    },
    /// Prompt text that was paid for although an earlier request had put it into the provider's cache.
    XCacheMiss {
        session_id: String,
        timestamp: String,
        model: String,
        cause: &'static str,
        detail: String,
        usage: MissedTokens,
        #[serde(rename = "costUSD")]
        cost_usd: Option<f64>,
    },
    /// The checkpoint of a prompt: the files that earlier turns changed, as they are now.
    FileHistorySnapshot {
        message_id: String,
        snapshot: CheckpointFiles,
        is_snapshot_update: bool,
    },
    /// A file that is changed for the first time, as it was before.
    FileHistoryDelta {
        message_id: String,
        snapshot_message_id: String,
        tracking_path: String,
        backup: FileBackup,
        timestamp: String,
    },
    /// What a call changed, for the checkpoint of the prompt it belongs to.
    XCheckpointChange(Box<CheckpointChange>),
    /// The conversation goes on after `leaf_uuid`: later lines are another branch.
    XRewound {
        /// The prompt that was gone back to; `None` when another branch was taken up.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// `None`: before the first prompt.
        leaf_uuid: Option<String>,
        uuid: String,
        timestamp: String,
        session_id: String,
    },
    ContentReplacement {
        replacements: Vec<ResultReplacement>,
        session_id: String,
        uuid: String,
        timestamp: String,
    },
}

/// The tokens of a cache miss. Readers of usage look for lines with this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MissedTokens {
    #[serde(rename = "missed_tokens")]
    pub missed: u64,
}

/// The files of a checkpoint. Paths below the session's directory are relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckpointFiles {
    pub message_id: String,
    pub tracked_file_backups: std::collections::BTreeMap<String, FileBackup>,
    pub timestamp: String,
}

/// A copy of a file in the session's folder of copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileBackup {
    /// `None`: there was no such file.
    pub backup_file_name: Option<String>,
    pub version: u32,
    pub backup_time: String,
    /// The folder of the file without links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_parent_dir: Option<String>,
}

/// What one call changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckpointChange {
    /// The prompt whose turn the call belongs to.
    pub message_id: String,
    /// The snapshot that was taken before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// `edit` or `command`.
    pub kind: String,
    /// The command, or the tool and its file.
    pub what: String,
    /// The file that a tool changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub paths: u64,
    pub added: u64,
    pub removed: u64,
    /// The hash of the file as the tool left it, where no snapshot knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Programs whose effects are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Why something was not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_saved: Option<String>,
    pub timestamp: String,
}

/// What a resumed session needs to find its worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeSession {
    pub original_cwd: String,
    pub worktree_path: String,
    #[serde(default)]
    pub worktree_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_head_commit: Option<String>,
    /// The working directory before the session entered the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_enter_original_cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hook_based: bool,
}

/// A large tool result that is sent to the model in a shortened form from now on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultReplacement {
    pub kind: String,
    pub tool_use_id: String,
    pub replacement: String,
}

/// One line that is ready to be appended.
#[derive(Clone, Debug)]
pub enum TranscriptEntry {
    User(Box<UserEntry>),
    Assistant(Box<AssistantEntry>),
    System(Box<SystemEntry>),
    Attachment(Box<AttachmentEntry>),
    Meta(MetaEntry),
}

impl TranscriptEntry {
    /// The line without its newline.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::User(e) => to_line(e),
            Self::Assistant(e) => to_line(e),
            Self::System(e) => to_line(e),
            Self::Attachment(e) => to_line(e),
            Self::Meta(e) => to_line(e),
        }
    }

    /// `None` for metadata lines, which are not part of the message tree.
    pub fn uuid(&self) -> Option<&str> {
        match self {
            Self::User(e) => Some(&e.uuid),
            Self::Assistant(e) => Some(&e.uuid),
            Self::System(e) => Some(&e.uuid),
            Self::Attachment(e) => Some(&e.uuid),
            Self::Meta(_) => None,
        }
    }
}

/// The fields of a line that routing, listing and resuming read. All other fields stay in the raw line.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryHead<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub session_id: Option<Cow<'a, str>>,
    /// The snake_case spelling. Newer lines may carry both spellings, so a serde alias does not work.
    #[serde(borrow, rename = "session_id")]
    pub session_id_snake: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub entrypoint: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub request_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub prompt_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub permission_mode: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub session_kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub team_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub leaf_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub last_prompt: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub custom_title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub ai_title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub tag: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub summary: Option<Cow<'a, str>>,
    pub is_sidechain: bool,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub is_api_error_message: bool,
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub replacements: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
    #[serde(borrow, rename = "sourceToolAssistantUUID")]
    pub source_tool_assistant_uuid: Option<Cow<'a, str>>,
}

impl<'a> EntryHead<'a> {
    /// `None` for anything that is not a JSON object of the expected field types.
    pub fn read(line: &'a str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// True for lines that belong to the message tree.
    pub fn is_node(&self) -> bool {
        self.uuid.is_some() && matches!(&*self.kind, "user" | "assistant" | "system" | "attachment" | "progress")
    }
}

/// The API message inside a `user` or `assistant` line.
#[derive(Debug, Deserialize)]
pub struct MessageHead<'a> {
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

impl<'a> MessageHead<'a> {
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The content as separate blocks; a plain string is returned as `Err` with its text.
    pub fn blocks(&self) -> Result<Vec<&'a RawValue>, Cow<'a, str>> {
        let Some(content) = self.content else { return Ok(Vec::new()) };
        if let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content.get()) {
            return Ok(blocks);
        }
        Err(serde_json::from_str::<&str>(content.get())
            .map(Cow::Borrowed)
            .or_else(|_| serde_json::from_str::<String>(content.get()).map(Cow::Owned))
            .unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_lines_put_type_first() {
        let tag = MetaEntry::Tag { tag: "x".into(), session_id: "S".into() };
        assert_eq!(TranscriptEntry::Meta(tag).to_line().unwrap(), r#"{"type":"tag","tag":"x","sessionId":"S"}"#);
    }

    #[test]
    fn both_spellings_of_the_session_id_may_stand_in_one_line() {
        let head = EntryHead::read(r#"{"type":"user","sessionId":"S","session_id":"S"}"#).unwrap();
        assert_eq!(head.session_id.as_deref(), Some("S"));
    }

    #[test]
    fn raw_fields_survive_beside_a_flattened_tail() {
        let entry = UserEntry {
            parent_uuid: None,
            is_sidechain: false,
            agent_id: None,
            prompt_id: Some("p".into()),
            kind: "user",
            message: RawValue::from_string(r#"{"role":"user","content":"hi"}"#.into()).unwrap(),
            is_meta: false,
            is_compact_summary: false,
            is_visible_in_transcript_only: false,
            uuid: "u".into(),
            timestamp: "t".into(),
            permission_mode: Some("default"),
            prompt_source: Some("sdk"),
            origin: None,
            turn_origin: None,
            turn_position: None,
            tool_use_result: None,
            call: None,
            mcp_meta: None,
            source_tool_assistant_uuid: None,
            source_tool_use_id: None,
            tail: EntryTail {
                slug: None,
                user_type: "external",
                entrypoint: "sdk-cli".into(),
                cwd: "/r".into(),
                session_id: "S".into(),
                version: "2.1.325",
                git_branch: String::new(),
            },
        };
        assert_eq!(
            TranscriptEntry::User(Box::new(entry)).to_line().unwrap(),
            r#"{"parentUuid":null,"isSidechain":false,"promptId":"p","type":"user","message":{"role":"user","content":"hi"},"uuid":"u","timestamp":"t","permissionMode":"default","promptSource":"sdk","userType":"external","entrypoint":"sdk-cli","cwd":"/r","sessionId":"S","version":"2.1.325","gitBranch":""}"#
        );
    }
}
