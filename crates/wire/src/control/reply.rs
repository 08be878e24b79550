//! Objects inside responses to the host.

use serde::Serialize;

/// A command that can be typed after a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    /// Empty when the command takes no arguments.
    pub argument_hint: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub builtin: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentInfo {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A model as it is listed to hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub value: String,
    pub display_name: String,
    pub description: String,
    pub resolved_model: String,
    pub supports_effort: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_effort_levels: Vec<&'static str>,
    pub supports_adaptive_thinking: bool,
}

/// The account that requests are billed to. Contains no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_source: Option<String>,
    pub api_provider: &'static str,
}
