//! Messages to the host (stream-json). The terminal UI consumes the same values.

use crate::raw::to_line;
use crate::usage::{ModelUsage, Usage};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum SdkMessage {
    Init(Box<InitMessage>),
    Assistant(Box<AssistantMessage>),
    User(Box<UserMessage>),
    StreamEvent(StreamEvent),
    Result(Box<TurnResult>),
    System(SystemMessage),
    ToolProgress(ToolProgress),
    Reset(Box<ConversationReset>),
}

impl SdkMessage {
    /// One line without its newline.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Init(m) => to_line(m),
            Self::Assistant(m) => to_line(m),
            Self::User(m) => to_line(m),
            Self::StreamEvent(m) => to_line(m),
            Self::Result(m) => to_line(m),
            Self::System(m) => to_line(m),
            Self::ToolProgress(m) => to_line(m),
            Self::Reset(m) => to_line(m),
        }
    }
}

/// Opens every turn.
#[derive(Clone, Debug, Serialize)]
pub struct InitMessage {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub subtype: &'static str,
    pub cwd: String,
    pub session_id: String,
    pub tools: Vec<String>,
    pub mcp_servers: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_server_errors: Vec<crate::mcp::McpConfigError>,
    pub model: String,
    #[serde(rename = "permissionMode")]
    pub permission_mode: &'static str,
    pub slash_commands: Vec<String>,
    /// Those of them that need the terminal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terminal_slash_commands: Vec<String>,
    #[serde(rename = "apiKeySource")]
    pub api_key_source: &'static str,
    pub claude_code_version: &'static str,
    pub output_style: String,
    pub agents: Vec<String>,
    pub skills: Vec<String>,
    pub plugins: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub betas: Vec<String>,
    pub capabilities: Vec<&'static str>,
    pub uuid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_paths: Option<MemoryPaths>,
    /// Where the session was started; `cwd` is where it works now.
    pub original_cwd: String,
    pub additional_directories: Vec<String>,
    pub fast_mode_state: &'static str,
}

/// Where notes for later sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPaths {
    pub auto: String,
}

/// One finished content block of an API response, or a synthetic error text.
#[derive(Clone, Debug, Serialize)]
pub struct AssistantMessage {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: Box<RawValue>,
    pub parent_tool_use_id: Option<String>,
    pub session_id: String,
    pub uuid: String,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_api_error_message: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u16>,
    /// The API's own name for the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_type: Option<String>,
    /// How long the model thought, on the message of a thinking block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_duration_ms: Option<u64>,
    /// How much of its thinking was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_use_meta: Vec<ToolUseMeta>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    /// The command that was carried out here and whose output this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command_run: Option<LocalCommandRun>,
    /// The same as it was typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command_source: Option<String>,
    /// What `/context` found, beside its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<Box<RawValue>>,
    #[serde(flatten)]
    pub agent: Option<Arc<AgentStamp>>,
}

impl AssistantMessage {
    /// A message without any of the optional parts.
    pub fn new(message: Box<RawValue>, session_id: String, uuid: String, timestamp: String) -> Self {
        Self {
            kind: "assistant",
            message,
            parent_tool_use_id: None,
            session_id,
            uuid,
            timestamp,
            request_id: None,
            error: None,
            is_api_error_message: false,
            api_error_status: None,
            api_error_type: None,
            thinking_duration_ms: None,
            thinking_display: None,
            tool_use_meta: Vec::new(),
            aborted: false,
            user_message_uuid: None,
            local_command_run: None,
            local_command_source: None,
            context_usage: None,
            agent: None,
        }
    }
}

/// How a call is shown to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolUseMeta {
    pub id: String,
    pub tool_name: String,
    pub display_name: String,
    /// For the tool of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_display_name: Option<String>,
}

/// How a call came to its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolResultMeta {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<ToldDecision>,
    /// Why the call did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub non_execution_kind: Option<&'static str>,
}

/// `entry::RecordedDecision` as hosts read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ToldDecision {
    pub decision: &'static str,
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_type: Option<&'static str>,
}

/// Parts of an answer that broke off: whoever showed them takes them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AbandonedBlocks {
    pub api_message_id: Arc<str>,
    pub from_block_index: u32,
}

/// A command that was carried out without the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalCommandRun {
    pub command: String,
    pub args: String,
}

/// Who speaks, on the messages of a subagent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentStamp {
    pub agent_id: String,
    pub subagent_type: String,
    pub task_description: String,
}

/// A tool result, an injected text, or the echo of a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct UserMessage {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: Box<RawValue>,
    pub parent_tool_use_id: Option<String>,
    pub session_id: String,
    pub uuid: String,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_result_meta: Vec<ToolResultMeta>,
    #[serde(rename = "isReplay", skip_serializing_if = "std::ops::Not::not")]
    pub is_replay: bool,
    #[serde(rename = "isSynthetic", skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    #[serde(flatten)]
    pub agent: Option<Arc<AgentStamp>>,
}

/// A message of an earlier run, told again.
#[derive(Clone, Debug)]
pub struct PastMessage {
    pub message: Box<RawValue>,
    pub session_id: String,
    pub uuid: String,
    pub timestamp: String,
}

impl PastMessage {
    pub fn assistant(self) -> SdkMessage {
        let Self { message, session_id, uuid, timestamp } = self;
        SdkMessage::Assistant(Box::new(AssistantMessage::new(message, session_id, uuid, timestamp)))
    }

    pub fn user(self) -> SdkMessage {
        let Self { message, session_id, uuid, timestamp } = self;
        SdkMessage::User(Box::new(UserMessage {
            kind: "user",
            message,
            parent_tool_use_id: None,
            session_id,
            uuid,
            timestamp,
            tool_use_result: None,
            tool_result_meta: Vec::new(),
            is_replay: true,
            is_synthetic: false,
            agent: None,
        }))
    }
}

/// A raw API event, for hosts that asked for partial messages.
#[derive(Clone, Debug, Serialize)]
pub struct StreamEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub event: Arc<RawValue>,
    pub session_id: String,
    pub parent_tool_use_id: Option<String>,
    pub uuid: String,
    /// On the first event of an answer: how long it was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_message_id: Option<Arc<str>>,
    /// On the first event of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<Arc<str>>,
    /// On the first event of an answer that replaces another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned_blocks: Option<AbandonedBlocks>,
}

/// Closes every turn.
#[derive(Clone, Debug, Serialize)]
pub struct TurnResult {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub subtype: &'static str,
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_type: Option<String>,
    pub duration_ms: u64,
    pub duration_api_ms: u64,
    #[serde(flatten)]
    pub times: FirstTimes,
    pub num_turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
    pub stop_reason: Option<String>,
    pub session_id: String,
    pub total_cost_usd: f64,
    pub usage: Usage,
    #[serde(rename = "modelUsage")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    /// The part of `modelUsage` that the result before did not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    pub permission_denials: Vec<PermissionDenial>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Box<RawValue>>,
    /// What still ran in the background when the run had to end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background_tasks_stopped: Vec<StoppedTask>,
    /// The call that a hook left for a later run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_tool_use: Option<DeferredToolUse>,
    /// What a person should know beside the answer: the session is not saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_failure_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command: Option<String>,
    /// What opened the turn, when it was not a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<TurnOrigin>,
    pub queued_turn_count: usize,
    pub result_index: u64,
    pub fast_mode_state: &'static str,
    pub subagent_stats: SubagentStats,
    pub uuid: String,
}

/// How long things of a turn took to begin, in milliseconds since the turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FirstTimes {
    /// The first piece of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    /// The first event of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_stream_ms: Option<u64>,
    /// The first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_request_ms: Option<u64>,
    /// The first message or event with content that was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_content_frame_ms: Option<u64>,
}

/// What became of the subagents of a session so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentStats {
    pub requested: SubagentWishes,
    pub spawned: u64,
    pub started_in_background: u64,
    pub completed: u64,
    pub failed: u64,
    pub killed: SubagentKills,
    pub refused: SubagentRefusals,
    pub by_type: BTreeMap<String, u64>,
    pub max_depth: u32,
    pub spawned_by_subagents: u64,
}

/// What calls said about waiting for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentWishes {
    pub foreground: u64,
    pub background: u64,
    pub unset: u64,
}

/// Who ended agents before they were done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentKills {
    pub user: u64,
    pub parent: u64,
    pub system: u64,
}

/// Which limit refused an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentRefusals {
    pub budget: u64,
    pub concurrency_limit: u64,
    pub depth_limit: u64,
}

/// Background work that did not end in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoppedTask {
    pub task_id: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct DeferredToolUse {
    pub id: String,
    pub name: String,
    pub input: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnOrigin {
    pub kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct PermissionDenial {
    pub tool_name: String,
    pub tool_use_id: String,
    pub tool_input: Box<RawValue>,
}

/// `system` messages other than `init`: the subtype's fields, then ids.
#[derive(Clone, Debug, Serialize)]
pub struct SystemMessage {
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(flatten)]
    pub body: SystemBody,
    pub session_id: String,
    pub uuid: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum SystemBody {
    Status {
        status: Option<&'static str>,
        /// Stands beside `compacting` when no one asked for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        compact_output_chars: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        compact_result: Option<CompactResult>,
        #[serde(skip_serializing_if = "Option::is_none")]
        compact_error: Option<String>,
        #[serde(rename = "permissionMode", skip_serializing_if = "Option::is_none")]
        permission_mode: Option<&'static str>,
    },
    CompactBoundary {
        compact_metadata: serde_json::Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        logical_parent_uuid: Option<String>,
    },
    ApiRetry {
        attempt: u32,
        max_retries: u32,
        retry_delay_ms: u64,
        error_status: Option<u16>,
        error: &'static str,
    },
    /// The model refused; another one takes over for this turn.
    ModelRefusalFallback {
        trigger: &'static str,
        direction: &'static str,
        fallback_model: String,
        retracted_message_uuids: Vec<String>,
        #[serde(flatten)]
        refusal: Box<ModelRefusal>,
    },
    /// The model refused, and refused again; no other may take over.
    ModelRefusalNoFallback(Box<ModelRefusal>),
    PermissionDenied {
        tool_name: String,
        tool_use_id: String,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_reason_type: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_reason: Option<String>,
    },
    TaskStarted(Box<TaskStarted>),
    TaskProgress(Box<TaskProgress>),
    TaskUpdated {
        task_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
        patch: TaskPatch,
    },
    TaskNotification(Box<TaskNotification>),
    /// Everything that runs in the background now.
    BackgroundTasksChanged {
        tasks: Vec<BackgroundTask>,
    },
    ThinkingTokens {
        estimated_tokens: u64,
        estimated_tokens_delta: u64,
    },
    Informational {
        content: String,
        level: &'static str,
    },
    /// What a command that ran here said.
    LocalCommandOutput {
        content: String,
    },
    HookStarted {
        hook_id: String,
        hook_name: String,
        hook_event: &'static str,
    },
    HookResponse {
        hook_id: String,
        hook_name: String,
        hook_event: &'static str,
        output: String,
        stdout: String,
        stderr: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        outcome: &'static str,
    },
    /// The session has this title from now on.
    SessionTitleChanged {
        title: String,
    },
    /// Something a person may want to see for a moment.
    Notification {
        key: &'static str,
        text: String,
        priority: &'static str,
    },
    /// All commands that can be typed now.
    CommandsChanged {
        commands: Vec<crate::control::SlashCommand>,
    },
    SessionStateChanged {
        state: &'static str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sdk_host_only: bool,
    },
    /// What an MCP server asked for by address is done.
    ElicitationComplete {
        mcp_server_name: String,
        elicitation_id: String,
    },
    SessionWritesLost {
        error_code: String,
        lost: Vec<&'static str>,
        transcript_session_ids: Vec<String>,
    },
}

/// Who refused what, as far as the API says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelRefusal {
    pub original_model: String,
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_refusal_category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_refusal_explanation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_user_message_uuid: Option<String>,
    pub content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactResult {
    Success,
    Failed,
}

impl SystemBody {
    /// A request is on its way.
    pub fn requesting() -> Self {
        Self::status(Some("requesting"), None)
    }

    /// A compaction begins; `characters` of its summary are there when it began by itself.
    pub fn compacting(characters: Option<u64>) -> Self {
        Self::status(Some("compacting"), characters)
    }

    /// A compaction is over.
    pub fn compacted(result: CompactResult, error: Option<String>) -> Self {
        Self::Status {
            status: None,
            compact_output_chars: None,
            compact_result: Some(result),
            compact_error: error,
            permission_mode: None,
        }
    }

    /// The permission mode is another one now.
    pub fn mode(name: &'static str) -> Self {
        Self::Status {
            status: None,
            compact_output_chars: None,
            compact_result: None,
            compact_error: None,
            permission_mode: Some(name),
        }
    }

    fn status(status: Option<&'static str>, compact_output_chars: Option<u64>) -> Self {
        Self::Status { status, compact_output_chars, compact_result: None, compact_error: None, permission_mode: None }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskStarted {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    pub is_backgrounded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    pub task_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskProgress {
    pub task_id: String,
    pub run_id: String,
    pub tool_use_id: String,
    pub description: String,
    pub subagent_type: String,
    pub usage: TaskUsage,
    pub last_tool_name: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskNotification {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    pub status: &'static str,
    pub output_file: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TaskUsage>,
}

/// What a task has cost so far. Tokens are those of its last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskUsage {
    pub total_tokens: u64,
    pub tool_uses: u64,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackgroundTask {
    pub task_id: String,
    pub task_type: &'static str,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskPatch {
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<u64>,
}

/// The conversation is over and another begins behind the same host. Carries the old id.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationReset {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Names the reset, not the new session.
    pub new_conversation_id: String,
    pub trigger: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    pub timestamp: String,
    pub session_id: String,
    pub uuid: String,
}

/// A call that has been running for some seconds.
#[derive(Clone, Debug, Serialize)]
pub struct ToolProgress {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub tool_use_id: String,
    pub tool_name: String,
    pub parent_tool_use_id: Option<String>,
    pub elapsed_time_seconds: u64,
    pub session_id: String,
    pub uuid: String,
}
