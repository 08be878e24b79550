//! The fields of each event besides the common ones.

use super::{HookEvent, HookEventName};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident $(by $subject:ident)? {
        $($(#[$attr:meta])* $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize)]
        pub struct $name {
            $(#[serde(skip_serializing_if = "OptionalField::is_absent")] $(#[$attr])* pub $field: $type,)*
        }

        impl HookEvent for $name {
            const EVENT: HookEventName = HookEventName::$name;
            $(fn subject(&self) -> Option<&str> {
                Some(&self.$subject)
            })?
        }
    )*};
}

/// Lets the macro skip fields that are `None`; all other fields are written.
trait OptionalField {
    fn is_absent(&self) -> bool {
        false
    }
}
impl<T> OptionalField for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}
impl OptionalField for String {}
impl OptionalField for bool {}
impl OptionalField for u64 {}
impl OptionalField for Box<RawValue> {}
impl<T> OptionalField for Vec<T> {}
impl OptionalField for NullableText {}

/// Written as `null` when it is `None`.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct NullableText(pub Option<String>);

payloads! {
    PreToolUse by tool_name {
        tool_name: String,
        tool_input: Box<RawValue>,
        tool_use_id: String,
        batch: Option<BatchPlace>,
    }
    PostToolUse by tool_name {
        tool_name: String,
        tool_input: Box<RawValue>,
        tool_response: Box<RawValue>,
        tool_use_id: String,
        duration_ms: u64,
    }
    PostToolUseFailure by tool_name {
        tool_name: String,
        tool_input: Box<RawValue>,
        tool_use_id: String,
        error: String,
        is_interrupt: bool,
        duration_ms: u64,
    }
    PostToolBatch {
        tool_calls: Vec<BatchCall>,
    }
    PermissionRequest by tool_name {
        tool_name: String,
        tool_input: Box<RawValue>,
        permission_suggestions: Option<Box<RawValue>>,
    }
    PermissionDenied by tool_name {
        tool_name: String,
        tool_input: Box<RawValue>,
        tool_use_id: String,
        reason: String,
    }
    UserPromptSubmit {
        prompt: String,
        session_title: Option<String>,
    }
    UserPromptExpansion by command_name {
        expansion_type: String,
        command_name: String,
        command_args: String,
        command_source: Option<String>,
        prompt: String,
    }
    SessionStart by source {
        source: String,
        model: Option<String>,
        agent_type: Option<String>,
        session_title: Option<String>,
    }
    SessionEnd by reason {
        reason: String,
    }
    Setup by trigger {
        trigger: String,
    }
    Stop {
        stop_hook_active: bool,
        last_assistant_message: Option<String>,
        background_tasks: Vec<HookBackgroundTask>,
        session_crons: Vec<CronTask>,
    }
    StopFailure by error {
        error: String,
        error_details: Option<String>,
        last_assistant_message: Option<String>,
    }
    /// The agent's id and type are in the base fields.
    SubagentStart by kind {
        #[serde(skip)]
        kind: String,
    }
    /// The agent's id and type are in the base fields.
    SubagentStop by kind {
        #[serde(skip)]
        kind: String,
        stop_hook_active: bool,
        agent_transcript_path: String,
        last_assistant_message: Option<String>,
        background_tasks: Vec<HookBackgroundTask>,
        session_crons: Vec<CronTask>,
    }
    PreCompact by trigger {
        trigger: String,
        custom_instructions: NullableText,
    }
    PostCompact by trigger {
        trigger: String,
        compact_summary: String,
    }
    Notification by notification_type {
        message: String,
        title: Option<String>,
        notification_type: String,
    }
    MessageDisplay {
        turn_id: String,
        message_id: String,
        index: u64,
        r#final: bool,
        delta: String,
    }
    TaskCreated {
        task_id: String,
        task_subject: String,
        task_description: Option<String>,
    }
    TaskCompleted {
        task_id: String,
        task_subject: String,
        task_description: Option<String>,
    }
    /// An MCP server asks the user for input.
    Elicitation by mcp_server_name {
        mcp_server_name: String,
        message: String,
        mode: Option<String>,
        url: Option<String>,
        elicitation_id: Option<String>,
        requested_schema: Option<Box<RawValue>>,
    }
    ElicitationResult by mcp_server_name {
        mcp_server_name: String,
        action: String,
        mode: Option<String>,
        elicitation_id: Option<String>,
        content: Option<Box<RawValue>>,
    }
    ConfigChange by source {
        source: String,
        file_path: Option<String>,
    }
    InstructionsLoaded by load_reason {
        file_path: String,
        memory_type: String,
        load_reason: String,
        globs: Option<Vec<String>>,
        trigger_file_path: Option<String>,
        parent_file_path: Option<String>,
    }
    WorktreeCreate {
        name: String,
    }
    WorktreeRemove {
        worktree_path: String,
    }
    CwdChanged {
        old_cwd: String,
        new_cwd: String,
    }
    FileChanged by name {
        #[serde(skip)]
        name: String,
        file_path: String,
        event: String,
    }
    DirectoryAdded by source {
        directory: String,
        source: String,
    }
}

/// A switch from one model to another.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSwitch {
    /// The text that matchers are compared with.
    #[serde(skip)]
    pub canonical: String,
    pub from_model: String,
    pub to_model: String,
    pub requested_model: NullableText,
    /// `command`, `picker` or `sdk`.
    pub source: String,
    pub context_tokens: u64,
    pub prompt_cache_warm: bool,
    pub cache_ttl: String,
    pub estimated_cache_write_usd: f64,
    pub pricing: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct PreModelSwitch(pub ModelSwitch);

#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct PostModelSwitch(pub ModelSwitch);

impl HookEvent for PreModelSwitch {
    const EVENT: HookEventName = HookEventName::PreModelSwitch;
    fn subject(&self) -> Option<&str> {
        Some(&self.0.canonical)
    }
}

impl HookEvent for PostModelSwitch {
    const EVENT: HookEventName = HookEventName::PostModelSwitch;
    fn subject(&self) -> Option<&str> {
        Some(&self.0.canonical)
    }
}

/// Position of a call among the calls of one message (an extension of gimlet).
#[derive(Clone, Debug, Serialize)]
pub struct BatchPlace {
    pub size: usize,
    pub index: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct BatchCall {
    pub tool_name: String,
    pub tool_input: Box<RawValue>,
    pub tool_use_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_response: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HookBackgroundTask {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CronTask {
    pub id: String,
    pub schedule: String,
    pub recurring: bool,
    pub prompt: String,
}

/// Longest description or command in a list of tasks, in characters.
const CLIPPED: usize = 1000;

/// Cuts a text after `CLIPPED` characters and appends how many were cut.
pub fn clip(text: &str) -> String {
    let count = text.chars().count();
    if count <= CLIPPED {
        return text.to_owned();
    }
    let kept: String = text.chars().take(CLIPPED).collect();
    format!("{kept}… [+{} chars]", count - CLIPPED)
}

/// The answer of the model that runs a `prompt` or `agent` handler.
#[derive(Clone, Debug, Deserialize)]
pub struct Judgement {
    pub ok: bool,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub impossible: bool,
}
