//! Typed requests of the host. An unknown request keeps its name, so that the refusal can name it.

use super::initialize::InitializeRequest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The `request` object of a `control_request`.
#[derive(Debug)]
pub enum HostRequest {
    Initialize(Box<InitializeRequest>),
    Interrupt(InterruptRequest),
    SetPermissionMode(SetPermissionMode),
    SetModel(SetModel),
    SetMaxThinkingTokens(SetThinking),
    ApplyFlagSettings(FlagSettings),
    UpdateSettings(UpdateSettings),
    GetSettings,
    Mcp(McpRequest),
    RewindFiles(RewindFiles),
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
    /// Extension: asks for the current output of the user's status line command.
    StatusLine(StatusLine),
    /// Extension: asks for the output of the user's `subagentStatusLine` command about the running agents.
    AgentStatusLine(AgentStatusLine),
    /// Extension: the stored sign-in credentials have changed.
    RenewCredentials,
    /// Extension: removes the prompt of a turn that was stopped before any answer arrived.
    RetractPrompt,
    /// Extension: the host has shown a notification to the user; notification hooks are to run.
    Notify(NotifyRequest),
    /// Extension: a side question that is asked with the conversation as context.
    SideQuestion(SideQuestion),
    Unknown(String),
}

/// Requests about MCP servers.
#[derive(Debug)]
pub enum McpRequest {
    Status,
    SetServers(SetMcpServers),
    Reconnect(ReconnectMcpServer),
    Toggle(McpToggle),
    /// JSON-RPC that an MCP server of the host starts.
    Message(McpMessage),
    ReadResource(ReadMcpResource),
    Call(CallMcpTool),
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

impl HostRequest {
    /// Reads the `request` object.
    pub fn read(text: &str) -> Result<Self, UnreadableRequest> {
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

/// `x_side_question`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldChange<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.map_or(Self::Reset, Self::Set))
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct InterruptRequest {
    #[serde(default)]
    pub cancel_queued: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct SetPermissionMode {
    pub mode: String,
}

#[derive(Debug, Deserialize)]
pub struct SetModel {
    #[serde(default)]
    pub model: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct SetThinking {
    /// 0 switches thinking off.
    #[serde(default)]
    pub max_thinking_tokens: FieldChange<u32>,
    #[serde(default)]
    pub thinking_display: FieldChange<String>,
}

#[derive(Debug, Deserialize)]
pub struct UpdatePermissions {
    pub updates: Vec<super::PermissionUpdate>,
}

#[derive(Debug, Deserialize)]
pub struct FlagSettings {
    /// Top-level keys; null removes a value that was set before.
    pub settings: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub struct UpdateSettings {
    pub source: String,
    pub settings: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub struct RewindFiles {
    pub user_message_id: String,
    #[serde(default)]
    pub dry_run: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct GetContextUsage {
    /// `summary` or `full`.
    #[serde(default)]
    pub detail: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct TaskId {
    pub task_id: String,
}

#[derive(Debug, Deserialize)]
pub struct BackgroundTasksRequest {
    /// Moves only this call to the background; `None` moves all.
    #[serde(default)]
    pub tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct StatusLine {
    pub columns: u64,
    pub rows: u64,
    /// The mode of the prompt editor; `None` when the editor has no modes.
    #[serde(default)]
    pub vim: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct AgentStatusLine {
    pub columns: u64,
    pub rows: u64,
    pub tasks: Vec<AgentRow>,
}

/// A running agent as the host knows it.
#[derive(Debug, Deserialize)]
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

#[derive(Debug, Deserialize)]
pub struct NotifyRequest {
    pub notification_type: String,
    pub message: String,
}

#[derive(Debug, Deserialize)]
pub struct CancelAsyncMessage {
    #[serde(default)]
    pub message_uuid: Option<String>,
    /// Cancels all waiting messages instead of one.
    #[serde(default)]
    pub all: bool,
}

#[derive(Debug, Deserialize)]
pub struct ReadFile {
    pub path: String,
    #[serde(default)]
    pub max_bytes: Option<u64>,
    #[serde(default)]
    pub encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct SeedReadState {
    pub path: String,
    /// Milliseconds since the epoch.
    pub mtime: f64,
}

#[derive(Debug, Deserialize)]
pub struct FileSuggestions {
    #[serde(default)]
    pub query: String,
}

#[derive(Debug, Deserialize)]
pub struct RegisterRepoRoot {
    pub directory: String,
}

#[derive(Debug, Deserialize)]
pub struct ReloadPlugins {
    #[serde(default)]
    pub refuse_if_busy: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct RenameSession {
    pub title: String,
    #[serde(default)]
    pub session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct SetMcpServers {
    pub servers: std::collections::BTreeMap<String, Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectMcpServer {
    pub server_name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToggle {
    pub server_name: String,
    pub enabled: bool,
}

#[derive(Debug, Deserialize)]
pub struct McpMessage {
    pub server_name: String,
    pub message: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMcpResource {
    pub server_name: String,
    pub uri: String,
}

#[derive(Debug, Deserialize)]
pub struct CallMcpTool {
    pub tool: String,
    #[serde(default)]
    pub arguments: Option<Box<RawValue>>,
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    #[serde(default)]
    pub check_permissions: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpModeOverride {
    pub server_name: String,
    #[serde(default)]
    pub mode: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_null_and_set_are_three_things() {
        // [SDK-79]
        let read = |text: &str| match HostRequest::read(text).unwrap() {
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
        assert!(
            matches!(HostRequest::read(r#"{"subtype":"novel"}"#).unwrap(), HostRequest::Unknown(name) if name == "novel")
        );
        assert!(matches!(HostRequest::read("{}").unwrap(), HostRequest::Unknown(name) if name.is_empty()));
        let error = HostRequest::read(r#"{"subtype":"mcp_toggle","serverName":"s"}"#).unwrap_err();
        assert!(error.to_string().starts_with("Invalid mcp_toggle request: missing field `enabled`"), "{error}");
    }
}
