//! The messages of the Agent Client Protocol, version 1, that this agent reads and writes. Unused fields are not
//! read; unknown fields are ignored.

mod form;
mod update;

pub(crate) use form::{
    ElicitationAction, ElicitationAnswer, ElicitationField, ElicitationRequest, ElicitationSchema, FieldChoice,
    FieldItems,
};
pub(crate) use update::{
    AvailableCommand, CommandInput, ContentChunk, Cost, Diff, PlanEntry, SessionUpdate, TaskStatus, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind,
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

pub(crate) const VERSION: u16 = 1;

/// Methods the client calls on the agent.
pub(crate) mod method {
    pub(crate) const INITIALIZE: &str = "initialize";
    pub(crate) const AUTHENTICATE: &str = "authenticate";
    pub(crate) const SESSION_NEW: &str = "session/new";
    pub(crate) const SESSION_LOAD: &str = "session/load";
    pub(crate) const SESSION_RESUME: &str = "session/resume";
    pub(crate) const SESSION_LIST: &str = "session/list";
    pub(crate) const SESSION_CLOSE: &str = "session/close";
    pub(crate) const SESSION_SET_MODE: &str = "session/set_mode";
    pub(crate) const SESSION_SET_CONFIG_OPTION: &str = "session/set_config_option";
    pub(crate) const SESSION_PROMPT: &str = "session/prompt";
    pub(crate) const SESSION_CANCEL: &str = "session/cancel";
}

/// Methods the agent calls on the client.
pub(crate) mod client_method {
    pub(crate) const SESSION_UPDATE: &str = "session/update";
    pub(crate) const SESSION_REQUEST_PERMISSION: &str = "session/request_permission";
    pub(crate) const ELICITATION_CREATE: &str = "elicitation/create";
}

/// Extension fields by name, sent as `_meta`.
pub(crate) type MetaFields = Map<String, Value>;

/// A JSON-RPC error.
#[derive(Debug, Serialize)]
pub(crate) struct ProtocolError {
    code: i32,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl ProtocolError {
    fn new(code: i32, message: &'static str) -> Self {
        Self { code, message, data: None }
    }

    pub(crate) fn parse_error() -> Self {
        Self::new(-32700, "Parse error")
    }

    pub(crate) fn method_not_found() -> Self {
        Self::new(-32601, "Method not found")
    }

    pub(crate) fn invalid_params() -> Self {
        Self::new(-32602, "Invalid params")
    }

    pub(crate) fn internal_error() -> Self {
        Self::new(-32603, "Internal error")
    }

    pub(crate) fn auth_required() -> Self {
        Self::new(-32000, "Authentication required")
    }

    pub(crate) fn session_not_found(id: &str) -> Self {
        Self::new(-32002, "Resource not found").data(json!({"sessionId": id}))
    }

    /// Adds details that the client may show beside the message.
    pub(crate) fn data(self, data: impl Into<Value>) -> Self {
        Self { data: Some(data.into()), ..self }
    }
}

/// Reads `null` as the default value.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads an invalid value as `None`, so that capabilities of later versions do not break the start.
fn or_nothing<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeRequest {
    /// The answer always names our version, but the client must send a valid number.
    #[serde(rename = "protocolVersion")]
    _protocol_version: u16,
    #[serde(default, deserialize_with = "or_nothing")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ClientCapabilities {
    #[serde(default, deserialize_with = "or_nothing")]
    pub(crate) elicitation: Option<ElicitationCapabilities>,
    #[serde(rename = "_meta", default, deserialize_with = "or_nothing")]
    pub(crate) meta: Option<MetaFields>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ElicitationCapabilities {
    /// An object when the client can display forms.
    #[serde(default, deserialize_with = "or_nothing")]
    pub(crate) form: Option<Map<String, Value>>,
}

/// The capabilities of this agent.
pub(crate) fn initialize_response(agent_version: &str) -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": true},
            "sessionCapabilities": {"list": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
            "auth": {},
        },
        "authMethods": [{
            "id": "api-key",
            "name": "API key",
            "description": "Set ANTHROPIC_API_KEY for gimlet, or run `gimlet auth login`",
        }],
        "agentInfo": {"name": "gimlet", "title": "gimlet", "version": agent_version},
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSessionRequest {
    pub(crate) cwd: PathBuf,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) additional_directories: Vec<PathBuf>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) mcp_servers: Vec<McpServer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadSessionRequest {
    pub(crate) session_id: String,
    pub(crate) cwd: PathBuf,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) additional_directories: Vec<PathBuf>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) mcp_servers: Vec<McpServer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeSessionRequest {
    pub(crate) session_id: String,
    pub(crate) cwd: PathBuf,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) additional_directories: Vec<PathBuf>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) mcp_servers: Vec<McpServer>,
}

/// The answer to `session/new`, `session/load` and `session/resume`; `session_id` is set for a new session only.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionOpened {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
    pub(crate) modes: SessionModeState,
    pub(crate) config_options: Vec<SessionConfigOption>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum McpServer {
    /// `type` is `http` or `sse`.
    Remote {
        #[serde(rename = "type")]
        kind: RemoteKind,
        name: String,
        url: String,
        #[serde(deserialize_with = "or_default")]
        headers: Vec<NamedValue>,
    },
    Stdio {
        name: String,
        command: PathBuf,
        #[serde(deserialize_with = "or_default")]
        args: Vec<String>,
        #[serde(deserialize_with = "or_default")]
        env: Vec<NamedValue>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RemoteKind {
    Http,
    Sse,
}

/// A header or an environment variable.
#[derive(Debug, Deserialize)]
pub(crate) struct NamedValue {
    pub(crate) name: String,
    pub(crate) value: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionModeState {
    pub(crate) current_mode_id: String,
    pub(crate) available_modes: Vec<SessionMode>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionMode {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
}

/// A setting of a session that the client may offer as a selection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionConfigOption {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) category: &'static str,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) current_value: String,
    pub(crate) options: Vec<SessionConfigValue>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionConfigValue {
    pub(crate) value: String,
    pub(crate) name: String,
    pub(crate) description: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetSessionConfigOptionRequest {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetSessionModeRequest {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

/// Parameters that name a session and nothing else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionTarget {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListSessionsRequest {
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListSessionsResponse {
    pub(crate) sessions: Vec<SessionInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    pub(crate) session_id: String,
    pub(crate) cwd: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) updated_at: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptRequest {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<ContentBlock>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptResponse {
    pub(crate) stop_reason: StopReason,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
}

/// A part of a prompt or of a reply.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    Audio {},
    ResourceLink {
        name: String,
        uri: String,
    },
    Resource {
        resource: EmbeddedResource,
    },
}

impl ContentBlock {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum EmbeddedResource {
    Text { uri: String, text: String },
    Blob { uri: String, blob: String },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPermissionRequest {
    pub(crate) session_id: String,
    pub(crate) tool_call: ToolCallUpdate,
    pub(crate) options: Vec<PermissionOption>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    pub(crate) option_id: &'static str,
    pub(crate) name: String,
    pub(crate) kind: PermissionOptionKind,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PermissionOptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RequestPermissionResponse {
    pub(crate) outcome: PermissionOutcome,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum PermissionOutcome {
    Cancelled,
    #[serde(rename_all = "camelCase")]
    Selected {
        option_id: String,
    },
}
