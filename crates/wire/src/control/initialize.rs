//! What a host declares about itself and the session before the first prompt. Unknown keys are ignored; `null` means
//! the same as a missing key.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The fields of `initialize`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeRequest {
    /// Callback hooks by event name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<BTreeMap<String, Vec<HookMatcher>>>,
    /// Agent definitions by name, as `--agents` has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Box<RawValue>>,
    /// MCP servers that the host itself serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_server_configs: Option<BTreeMap<String, Box<RawValue>>>,
    /// Handshakes captured beforehand, by server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_server_manifests: Option<BTreeMap<String, Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPromptTexts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_snapshot: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_dynamic_sections: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_mode_instructions: Option<String>,
    /// Names the model may use for a tool, and the tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_aliases: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The only skills that are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_suggestions: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_progress_summaries: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_subagent_text: Option<bool>,
    /// Dialogs the host can show; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_dialog_kinds: Option<Vec<String>>,
    /// Interrupts spare background agents: the host stops them one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task_stop_affordance: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<serde_json::Value>>,
}

/// One text or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum SystemPromptTexts {
    One(String),
    Many(Vec<String>),
}

/// Separates the constant part of a system prompt from the changing part. It is never sent to the API.
const BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

impl SystemPromptTexts {
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text.clone()],
            Self::Many(texts) => texts.iter().filter(|text| *text != BOUNDARY).cloned().collect(),
        }
    }
}

/// Callbacks of the host for one event. Without a matcher they hear every occurrence.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookMatcher {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    #[serde(default)]
    pub hook_callback_ids: Vec<String>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<CallbackFailure>,
}

/// What a callback that fails means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallbackFailure {
    Continue,
    Block,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_and_unknown_keys_are_nothing() {
        // [SDK-50] [SDK-51]
        let asked: InitializeRequest =
            serde_json::from_str(r#"{"subtype":"initialize","hooks":null,"agents":null,"skills":null,"novel":[1]}"#)
                .unwrap();
        assert!(asked.hooks.is_none() && asked.agents.is_none() && asked.skills.is_none());
        let asked: InitializeRequest = serde_json::from_str(
            r#"{"hooks":{"Stop":[{"matcher":null,"hookCallbackIds":["h1"],"timeout":1.5,"onFailure":"block"}]}}"#,
        )
        .unwrap();
        let stop = &asked.hooks.unwrap()["Stop"][0];
        assert_eq!((stop.matcher.as_deref(), stop.on_failure), (None, Some(CallbackFailure::Block)));
    }

    #[test]
    fn the_boundary_between_blocks_is_no_text() {
        let many = SystemPromptTexts::Many(vec!["a".into(), BOUNDARY.into(), "b".into()]);
        assert_eq!(many.texts(), ["a", "b"]);
    }
}
