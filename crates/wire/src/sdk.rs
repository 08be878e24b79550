//! Messages to the host (stream-json). The terminal UI consumes the same values.

mod rate_limit;
mod result;
mod task;

pub use rate_limit::*;
pub use result::*;
pub use task::*;

use crate::raw::{to_line, to_line_of};
use serde::Serialize;
use serde_json::value::RawValue;
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
    RateLimit(Box<RateLimitEvent>),
    Reset(Box<ConversationReset>),
}

impl SdkMessage {
    /// The message as one line, without its newline.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Init(m) => to_line(m),
            Self::Assistant(m) => to_line(m),
            Self::User(m) => to_line(m),
            Self::StreamEvent(m) => to_line_of(m, m.event.get().len() + STREAM_EVENT_FRAME),
            Self::Result(m) => to_line(m),
            Self::System(m) => to_line(m),
            Self::ToolProgress(m) => to_line(m),
            Self::RateLimit(m) => to_line(m),
            Self::Reset(m) => to_line(m),
        }
    }
}

/// The first message of every turn.
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
    /// The slash commands that need the terminal.
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
    /// The directory the session was started in; `cwd` is the current one.
    pub original_cwd: String,
    pub additional_directories: Vec<String>,
    pub fast_mode_state: &'static str,
}

/// The directory of notes for later sessions.
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
    /// The error type as the API names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_type: Option<String>,
    /// Duration of the thinking in milliseconds, on the message of a thinking block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_duration_ms: Option<u64>,
    /// The requested display of the thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_use_meta: Vec<ToolUseMeta>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    /// The command that ran locally and produced this output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command_run: Option<LocalCommandRun>,
    /// The same command as the user typed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command_source: Option<String>,
    /// The structured result of `/context`, in addition to its text.
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

/// Names for showing a call to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolUseMeta {
    pub id: String,
    pub tool_name: String,
    pub display_name: String,
    /// Set for MCP tools only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_display_name: Option<String>,
}

/// How a call was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolResultMeta {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<ReportedDecision>,
    /// Why the call did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub non_execution_kind: Option<&'static str>,
}

/// `entry::RecordedDecision` in the form sent to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedDecision {
    pub decision: &'static str,
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_type: Option<&'static str>,
}

/// Blocks of a response that broke off; a client that showed them removes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AbandonedBlocks {
    pub api_message_id: Arc<str>,
    pub from_block_index: u32,
}

/// A command that ran without the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalCommandRun {
    pub command: String,
    pub args: String,
}

/// Identifies the subagent that a message belongs to.
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

/// A message of an earlier run that is sent again.
#[derive(Clone, Debug)]
pub struct PastMessage {
    pub message: Box<RawValue>,
    pub session_id: String,
    pub uuid: String,
    pub timestamp: String,
    pub tool_use_result: Option<Box<RawValue>>,
    pub tool_result_meta: Vec<ToolResultMeta>,
    pub thinking_duration_ms: Option<u64>,
    pub is_api_error_message: bool,
}

impl PastMessage {
    /// A message without any of the optional parts.
    pub fn new(message: Box<RawValue>, session_id: String, uuid: String, timestamp: String) -> Self {
        Self {
            message,
            session_id,
            uuid,
            timestamp,
            tool_use_result: None,
            tool_result_meta: Vec::new(),
            thinking_duration_ms: None,
            is_api_error_message: false,
        }
    }

    pub fn assistant(self) -> SdkMessage {
        let said = AssistantMessage::new(self.message, self.session_id, self.uuid, self.timestamp);
        SdkMessage::Assistant(Box::new(AssistantMessage {
            thinking_duration_ms: self.thinking_duration_ms,
            is_api_error_message: self.is_api_error_message,
            ..said
        }))
    }

    pub fn user(self) -> SdkMessage {
        let Self { message, session_id, uuid, timestamp, tool_use_result, tool_result_meta, .. } = self;
        SdkMessage::User(Box::new(UserMessage {
            kind: "user",
            message,
            parent_tool_use_id: None,
            session_id,
            uuid,
            timestamp,
            tool_use_result,
            tool_result_meta,
            is_replay: true,
            is_synthetic: false,
            agent: None,
        }))
    }
}

/// About how many bytes surround the event in a line.
const STREAM_EVENT_FRAME: usize = 320;

/// A raw API event, for hosts that requested partial messages.
#[derive(Clone, Debug, Serialize)]
pub struct StreamEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub event: Arc<RawValue>,
    pub session_id: String,
    pub parent_tool_use_id: Option<String>,
    pub uuid: String,
    /// On the first event of a response: the wait for it, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_message_id: Option<Arc<str>>,
    /// On the first event of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<Arc<str>>,
    /// On the first event of a response that replaces another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned_blocks: Option<AbandonedBlocks>,
}

/// `system` messages other than `init`: the fields of the subtype, then the ids.
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
        /// Set together with `compacting` when the compaction started automatically.
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
    /// Results of calls were cleared to make room, without a summary.
    MicrocompactBoundary {
        microcompact_metadata: serde_json::Value,
    },
    ApiRetry {
        attempt: u32,
        max_retries: u32,
        retry_delay_ms: u64,
        error_status: Option<u16>,
        error: &'static str,
        /// Ours: what happened, in words.
        #[serde(rename = "x_reason")]
        reason: String,
    },
    /// The model refused; another model takes over for this turn.
    ModelRefusalFallback {
        trigger: &'static str,
        direction: &'static str,
        fallback_model: String,
        retracted_message_uuids: Vec<String>,
        #[serde(flatten)]
        refusal: Box<ModelRefusal>,
    },
    /// The model refused twice, and no other model takes over.
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
    /// All tasks that now run in the background.
    BackgroundTasksChanged {
        tasks: Vec<BackgroundTask>,
    },
    ThinkingTokens {
        estimated_tokens: u64,
        estimated_tokens_delta: u64,
    },
    /// Prompt text that was paid for again; for hosts that asked for it.
    XCacheMiss {
        cause: &'static str,
        detail: String,
        model: String,
        missed_tokens: u64,
        /// What it cost more than a hit; `None` when the price is not known.
        cost_usd: Option<f64>,
    },
    Informational {
        content: String,
        level: &'static str,
    },
    /// The output of a command that ran locally.
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
    /// The new title of the session.
    SessionTitleChanged {
        title: String,
    },
    /// A short notice for the user.
    Notification {
        key: &'static str,
        text: String,
        priority: &'static str,
    },
    /// All slash commands that are now available.
    CommandsChanged {
        commands: Vec<crate::control::SlashCommand>,
    },
    SessionStateChanged {
        state: &'static str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sdk_host_only: bool,
    },
    /// The user has completed an elicitation of an MCP server that was opened by URL.
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

/// The refusing model and the API's details about the refusal.
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
    /// A request to the API has been sent.
    pub fn requesting() -> Self {
        Self::status(Some("requesting"), None)
    }

    /// A compaction begins. `characters` is the length of its summary so far; `None` unless it started automatically.
    pub fn compacting(characters: Option<u64>) -> Self {
        Self::status(Some("compacting"), characters)
    }

    /// A compaction has ended.
    pub fn compacted(result: CompactResult, error: Option<String>) -> Self {
        Self::Status {
            status: None,
            compact_output_chars: None,
            compact_result: Some(result),
            compact_error: error,
            permission_mode: None,
        }
    }

    /// The permission mode has changed.
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

/// The conversation has ended and a new one begins for the same host. `session_id` is the old id.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationReset {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The id of the reset, not of the new session.
    pub new_conversation_id: String,
    pub trigger: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    pub timestamp: String,
    pub session_id: String,
    pub uuid: String,
}

/// Sent when a call has been running for some seconds.
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
