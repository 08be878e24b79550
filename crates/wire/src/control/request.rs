//! Typed requests of the host. An unknown request keeps its name, so that the refusal can name it.

use super::initialize::InitializeRequest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The `request` object of a `control_request`, in both directions: `read` takes it from a line, `Serialize` writes it.
#[derive(Debug, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum HostRequest {
    Initialize(Box<InitializeRequest>),
    Interrupt(InterruptRequest),
    SetPermissionMode(SetPermissionMode),
    SetModel(SetModel),
    SetMaxThinkingTokens(SetThinking),
    ApplyFlagSettings(FlagSettings),
    UpdateSettings(UpdateSettings),
    GetSettings,
    RewindFiles(RewindFiles),
    /// Ours: the prompts that can be gone back to.
    #[serde(rename = "x_rewind_list")]
    RewindList,
    /// Ours: goes back to a prompt, in files, conversation or both.
    #[serde(rename = "x_rewind")]
    Rewind(RewindConversation),
    /// Ours: a summary takes the place of a part of the conversation.
    #[serde(rename = "x_compact_part")]
    CompactPart(CompactPart),
    GetContextUsage(GetContextUsage),
    GetUsage,
    GetSessionCost,
    ListModels,
    GetBinaryVersion,
    StopTask(TaskId),
    BackgroundTasks(BackgroundTasksRequest),
    GetTaskOutput(TaskId),
    CancelAsyncMessage(CancelAsyncMessage),
    ReadFile(ReadFile),
    SeedReadState(SeedReadState),
    FileSuggestions(FileSuggestions),
    RegisterRepoRoot(RegisterRepoRoot),
    ReloadPlugins(ReloadPlugins),
    ReloadSkills,
    ReloadOutputStyles,
    RenameSession(RenameSession),
    SetColor,
    SetHasSubscribers,
    ListPermissionRules,
    /// Rules, modes and directories that the user changed in a screen of the terminal interface.
    UpdatePermissions(UpdatePermissions),
    GetHooksListing,
    /// Ours: what the user's status line prints now.
    #[serde(rename = "x_status_line")]
    StatusLine(StatusLine),
    /// Ours: what the user's command says about the agents that run.
    #[serde(rename = "x_agent_status_line")]
    AgentStatusLine(AgentStatusLine),
    /// Ours: what is stored for signing in is another one.
    #[serde(rename = "x_renew_credentials")]
    RenewCredentials,
    /// Ours: the prompt of a turn that was stopped before any answer is taken back.
    #[serde(rename = "x_retract_prompt")]
    RetractPrompt,
    /// Ours: the host has told its person something, and hooks are to hear of it.
    #[serde(rename = "x_notify")]
    Notify(NotifyRequest),
    /// Ours: the person writes to an agent that runs.
    #[serde(rename = "x_message_agent")]
    MessageAgent(AgentMessage),
    /// Ours: a question on the side, with the conversation as its context.
    #[serde(rename = "x_side_question")]
    SideQuestion(SideQuestion),
    /// A name that this build does not know.
    #[serde(skip_serializing)]
    Unknown(String),
    /// A known name with fields that cannot be read.
    #[serde(skip_serializing)]
    Unreadable(UnreadableRequest),
    #[serde(untagged)]
    Mcp(McpRequest),
}

/// Requests about MCP servers.
#[derive(Debug, Serialize)]
#[serde(tag = "subtype")]
pub enum McpRequest {
    #[serde(rename = "mcp_status")]
    Status,
    #[serde(rename = "mcp_set_servers")]
    SetServers(SetMcpServers),
    #[serde(rename = "mcp_reconnect")]
    Reconnect(ReconnectMcpServer),
    #[serde(rename = "mcp_toggle")]
    Toggle(McpToggle),
    /// A JSON-RPC message that a server inside the host starts.
    #[serde(rename = "mcp_message")]
    Message(McpMessage),
    #[serde(rename = "mcp_read_resource")]
    ReadResource(ReadMcpResource),
    #[serde(rename = "mcp_call")]
    Call(CallMcpTool),
    #[serde(rename = "set_mcp_permission_mode_override")]
    SetPermissionModeOverride(McpModeOverride),
}

/// A request with a known name whose fields are missing or malformed.
#[derive(Debug)]
pub struct UnreadableRequest {
    pub subtype: String,
    pub problem: String,
}

impl std::fmt::Display for UnreadableRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Invalid {} request: {}", self.subtype, self.problem)
    }
}

impl std::error::Error for UnreadableRequest {}

#[derive(Deserialize)]
struct RequestHead {
    #[serde(default)]
    subtype: String,
}

/// Requests are equal when they are written alike.
impl PartialEq for HostRequest {
    fn eq(&self, other: &Self) -> bool {
        match (serde_json::to_value(self), serde_json::to_value(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
    }
}

impl HostRequest {
    /// Reads the `request` object. A request that cannot be read is kept with the reason, so that it can be refused.
    pub fn read(text: &str) -> Self {
        Self::try_read(text).unwrap_or_else(Self::Unreadable)
    }

    fn try_read(text: &str) -> Result<Self, UnreadableRequest> {
        let head: RequestHead = part("control", text)?;
        let subtype = head.subtype.as_str();
        Ok(match subtype {
            "initialize" => Self::Initialize(part(subtype, text)?),
            "interrupt" => Self::Interrupt(part(subtype, text)?),
            "set_permission_mode" => Self::SetPermissionMode(part(subtype, text)?),
            "set_model" => Self::SetModel(part(subtype, text)?),
            "set_max_thinking_tokens" => Self::SetMaxThinkingTokens(part(subtype, text)?),
            "apply_flag_settings" => Self::ApplyFlagSettings(part(subtype, text)?),
            "update_settings" => Self::UpdateSettings(part(subtype, text)?),
            "get_settings" => Self::GetSettings,
            "rewind_files" => Self::RewindFiles(part(subtype, text)?),
            "get_context_usage" => Self::GetContextUsage(part(subtype, text)?),
            "get_usage" => Self::GetUsage,
            "get_session_cost" => Self::GetSessionCost,
            "list_models" => Self::ListModels,
            "get_binary_version" => Self::GetBinaryVersion,
            "stop_task" => Self::StopTask(part(subtype, text)?),
            "background_tasks" => Self::BackgroundTasks(part(subtype, text)?),
            "get_task_output" => Self::GetTaskOutput(part(subtype, text)?),
            "x_status_line" => Self::StatusLine(part(subtype, text)?),
            "x_agent_status_line" => Self::AgentStatusLine(part(subtype, text)?),
            "x_notify" => Self::Notify(part(subtype, text)?),
            "x_renew_credentials" => Self::RenewCredentials,
            "x_message_agent" => Self::MessageAgent(part(subtype, text)?),
            "x_rewind_list" => Self::RewindList,
            "x_rewind" => Self::Rewind(part(subtype, text)?),
            "x_compact_part" => Self::CompactPart(part(subtype, text)?),
            "x_side_question" => Self::SideQuestion(part(subtype, text)?),
            "x_retract_prompt" => Self::RetractPrompt,
            "cancel_async_message" => Self::CancelAsyncMessage(part(subtype, text)?),
            "read_file" => Self::ReadFile(part(subtype, text)?),
            "seed_read_state" => Self::SeedReadState(part(subtype, text)?),
            "file_suggestions" => Self::FileSuggestions(part(subtype, text)?),
            "register_repo_root" => Self::RegisterRepoRoot(part(subtype, text)?),
            "reload_plugins" => Self::ReloadPlugins(part(subtype, text)?),
            "reload_skills" => Self::ReloadSkills,
            "reload_output_styles" => Self::ReloadOutputStyles,
            "rename_session" => Self::RenameSession(part(subtype, text)?),
            "set_color" => Self::SetColor,
            "set_has_subscribers" => Self::SetHasSubscribers,
            "list_permission_rules" => Self::ListPermissionRules,
            "update_permissions" => Self::UpdatePermissions(part(subtype, text)?),
            "get_hooks_listing" => Self::GetHooksListing,
            _ => return Self::read_mcp(subtype, text),
        })
    }

    fn read_mcp(subtype: &str, text: &str) -> Result<Self, UnreadableRequest> {
        Ok(Self::Mcp(match subtype {
            "mcp_status" => McpRequest::Status,
            "mcp_set_servers" => McpRequest::SetServers(part(subtype, text)?),
            "mcp_reconnect" => McpRequest::Reconnect(part(subtype, text)?),
            "mcp_toggle" => McpRequest::Toggle(part(subtype, text)?),
            "mcp_message" => McpRequest::Message(part(subtype, text)?),
            "mcp_read_resource" => McpRequest::ReadResource(part(subtype, text)?),
            "mcp_call" => McpRequest::Call(part(subtype, text)?),
            "set_mcp_permission_mode_override" => McpRequest::SetPermissionModeOverride(part(subtype, text)?),
            _ => return Ok(Self::Unknown(subtype.to_owned())),
        }))
    }
}

fn part<T: DeserializeOwned>(subtype: &str, text: &str) -> Result<T, UnreadableRequest> {
    serde_json::from_str(text)
        .map_err(|error| UnreadableRequest { subtype: subtype.to_owned(), problem: error.to_string() })
}

/// `x_message_agent`
#[derive(Debug, Deserialize, Serialize)]
pub struct AgentMessage {
    pub task_id: String,
    pub message: String,
}

/// `x_side_question`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SideQuestion {
    pub question: String,
}

/// The change to a field: missing (no change), null (back to the default) or set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FieldChange<T> {
    #[default]
    Keep,
    Reset,
    Set(T),
}

impl<T> FieldChange<T> {
    fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T: Serialize> Serialize for FieldChange<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Reset => serializer.serialize_none(),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldChange<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.map_or(Self::Reset, Self::Set))
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct InterruptRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_queued: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct SetPermissionMode {
    pub mode: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct SetModel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct SetThinking {
    /// 0 switches thinking off.
    #[serde(default, skip_serializing_if = "FieldChange::is_keep")]
    pub max_thinking_tokens: FieldChange<u32>,
    #[serde(default, skip_serializing_if = "FieldChange::is_keep")]
    pub thinking_display: FieldChange<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct UpdatePermissions {
    pub updates: Vec<super::PermissionUpdate>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct FlagSettings {
    /// Top-level keys; null removes a value that was set before.
    pub settings: Map<String, Value>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct UpdateSettings {
    pub source: String,
    pub settings: Map<String, Value>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct RewindFiles {
    pub user_message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// A request to go back to before a prompt.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RewindConversation {
    /// The prompt's number on the present branch or its uuid; with `branch` the uuid of the end of another branch.
    pub to: String,
    /// `code`, `conversation` or `both`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// `to` is the end of a branch that was left, which is taken up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<bool>,
    /// Only say what would change, with the difference of each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Files that somebody else changed since and that are replaced all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overwrite: Vec<String>,
}

/// A request to summarise the conversation from a prompt on, or up to it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct CompactPart {
    /// The uuid of the prompt.
    pub user_message_id: String,
    /// `from`: the prompt and everything after it; `up_to`: everything before it.
    pub direction: String,
    /// What the summary should heed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
pub struct GetContextUsage {
    /// `summary` or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct TaskId {
    pub task_id: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
pub struct BackgroundTasksRequest {
    /// Only this call; otherwise all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct StatusLine {
    pub columns: u64,
    pub rows: u64,
    /// The editor's mode, when it has modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vim: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct AgentStatusLine {
    pub columns: u64,
    pub rows: u64,
    pub tasks: Vec<AgentRow>,
}

/// An agent that runs, as the host knows it.
#[derive(Debug, Deserialize, Serialize)]
pub struct AgentRow {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The text of its row when the command prints none.
    pub label: String,
    pub elapsed_ms: u64,
    pub token_count: u64,
    /// Earlier token counts, oldest first.
    pub token_samples: Vec<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct NotifyRequest {
    pub notification_type: String,
    pub message: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct CancelAsyncMessage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
    /// Everything that waits, in place of one message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct ReadFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct SeedReadState {
    pub path: String,
    /// Milliseconds since the epoch.
    pub mtime: f64,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct FileSuggestions {
    #[serde(default)]
    pub query: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct RegisterRepoRoot {
    pub directory: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
pub struct ReloadPlugins {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse_if_busy: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct RenameSession {
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct SetMcpServers {
    pub servers: std::collections::BTreeMap<String, Box<RawValue>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectMcpServer {
    pub server_name: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToggle {
    pub server_name: String,
    pub enabled: bool,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct McpMessage {
    pub server_name: String,
    pub message: Box<RawValue>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMcpResource {
    pub server_name: String,
    pub uri: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct CallMcpTool {
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_permissions: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpModeOverride {
    pub server_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_null_and_set_are_three_things() {
        // [SDK-79]
        let read = |text: &str| match HostRequest::read(text) {
            HostRequest::SetMaxThinkingTokens(asked) => asked.max_thinking_tokens,
            other => panic!("{other:?}"),
        };
        assert_eq!(read(r#"{"subtype":"set_max_thinking_tokens"}"#), FieldChange::Keep);
        assert_eq!(read(r#"{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}"#), FieldChange::Reset);
        assert_eq!(read(r#"{"subtype":"set_max_thinking_tokens","max_thinking_tokens":0}"#), FieldChange::Set(0));
    }

    #[test]
    fn an_unknown_name_is_kept_and_a_known_one_must_be_whole() {
        // [SDK-68]
        assert!(matches!(HostRequest::read(r#"{"subtype":"novel"}"#), HostRequest::Unknown(name) if name == "novel"));
        assert!(matches!(HostRequest::read("{}"), HostRequest::Unknown(name) if name.is_empty()));
        let HostRequest::Unreadable(error) = HostRequest::read(r#"{"subtype":"mcp_toggle","serverName":"s"}"#) else {
            panic!("it has no field `enabled`");
        };
        assert!(error.to_string().starts_with("Invalid mcp_toggle request: missing field `enabled`"), "{error}");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let requests = [
            json!({"subtype": "initialize", "title": "T", "hooks": {"Stop": [{"hookCallbackIds": ["h"]}]}}),
            json!({"subtype": "interrupt", "cancel_queued": true}),
            json!({"subtype": "set_permission_mode", "mode": "plan"}),
            json!({"subtype": "set_model", "model": "opus"}),
            json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": null}),
            json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "high"}}),
            json!({"subtype": "update_settings", "source": "user", "settings": {}}),
            json!({"subtype": "get_settings"}),
            json!({"subtype": "rewind_files", "user_message_id": "u", "dry_run": true}),
            json!({"subtype": "get_context_usage"}),
            json!({"subtype": "get_usage"}),
            json!({"subtype": "get_session_cost"}),
            json!({"subtype": "list_models"}),
            json!({"subtype": "get_binary_version"}),
            json!({"subtype": "stop_task", "task_id": "t"}),
            json!({"subtype": "background_tasks"}),
            json!({"subtype": "get_task_output", "task_id": "t"}),
            json!({"subtype": "x_status_line", "columns": 80, "rows": 24}),
            json!({"subtype": "x_agent_status_line", "columns": 80, "rows": 24, "tasks": []}),
            json!({"subtype": "x_notify", "notification_type": "idle_prompt", "message": "m"}),
            json!({"subtype": "x_renew_credentials"}),
            json!({"subtype": "x_message_agent", "task_id": "a", "message": "m"}),
            json!({"subtype": "x_side_question", "question": "q"}),
            json!({"subtype": "x_retract_prompt"}),
            json!({"subtype": "cancel_async_message", "all": true}),
            json!({"subtype": "read_file", "path": "/p", "max_bytes": 5}),
            json!({"subtype": "seed_read_state", "path": "/p", "mtime": 1.0}),
            json!({"subtype": "file_suggestions", "query": "q"}),
            json!({"subtype": "register_repo_root", "directory": "/d"}),
            json!({"subtype": "reload_plugins"}),
            json!({"subtype": "reload_skills"}),
            json!({"subtype": "reload_output_styles"}),
            json!({"subtype": "rename_session", "title": "T"}),
            json!({"subtype": "set_color"}),
            json!({"subtype": "set_has_subscribers"}),
            json!({"subtype": "list_permission_rules"}),
            json!({"subtype": "update_permissions", "updates": [{"type": "setMode", "mode": "plan"}]}),
            json!({"subtype": "get_hooks_listing"}),
            json!({"subtype": "mcp_status"}),
            json!({"subtype": "mcp_set_servers", "servers": {}}),
            json!({"subtype": "mcp_reconnect", "serverName": "s"}),
            json!({"subtype": "mcp_toggle", "serverName": "s", "enabled": false}),
            json!({"subtype": "mcp_message", "server_name": "s", "message": {"id": 1}}),
            json!({"subtype": "mcp_read_resource", "serverName": "s", "uri": "u"}),
            json!({"subtype": "mcp_call", "tool": "t", "arguments": {"a": 1}}),
            json!({"subtype": "set_mcp_permission_mode_override", "serverName": "s"}),
        ];
        for request in requests {
            let read = HostRequest::read(&request.to_string());
            let written = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), request, "{read:?}");
        }
    }
}
