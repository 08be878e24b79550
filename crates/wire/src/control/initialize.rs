//! What a host declares about itself and the session before the first prompt. Unknown keys are ignored; `null` means
//! the same as a missing key.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The fields of `initialize`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeRequest {
    /// Callback hooks by event name.
    pub hooks: Option<BTreeMap<String, Vec<HookMatcher>>>,
    /// Agent definitions by name, as `--agents` has them.
    pub agents: Option<Box<RawValue>>,
    /// MCP servers that the host process serves.
    pub sdk_mcp_servers: Option<Vec<String>>,
    pub sdk_mcp_server_configs: Option<BTreeMap<String, Box<RawValue>>>,
    /// MCP handshakes that were captured earlier, by server name.
    pub sdk_mcp_server_manifests: Option<BTreeMap<String, Box<RawValue>>>,
    pub system_prompt: Option<SystemPromptTexts>,
    pub append_system_prompt: Option<String>,
    pub system_prompt_snapshot: Option<bool>,
    pub exclude_dynamic_sections: Option<bool>,
    pub json_schema: Option<serde_json::Value>,
    pub plan_mode_instructions: Option<String>,
    /// Names that the model may use for a tool, each with the real tool name.
    pub tool_aliases: Option<BTreeMap<String, String>>,
    pub title: Option<String>,
    /// The only skills that are offered. `None` offers all.
    pub skills: Option<Vec<String>>,
    pub prompt_suggestions: Option<bool>,
    pub agent_progress_summaries: Option<bool>,
    pub forward_subagent_text: Option<bool>,
    /// Dialogs the host can show; absent means none.
    pub supported_dialog_kinds: Option<Vec<String>>,
    /// Interrupts leave background agents running, because the host stops them one by one.
    pub per_task_stop_affordance: Option<bool>,
    pub plugins: Option<Vec<serde_json::Value>>,
}

/// A system prompt as one text or as several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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

/// Callbacks of the host for one event. Without a matcher they run for every occurrence.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookMatcher {
    #[serde(default)]
    pub matcher: Option<String>,
    #[serde(default)]
    pub hook_callback_ids: Vec<String>,
    /// In seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    #[serde(default)]
    pub on_failure: Option<CallbackFailure>,
}

/// What happens when a callback fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
