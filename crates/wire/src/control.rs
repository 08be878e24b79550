//! The control envelope. Unknown requests are answered with an error response, never ignored.

pub mod codec;
mod initialize;
mod question;
mod reply;
mod request;
mod response;

pub use initialize::{CallbackFailure, HookMatcher, InitializeRequest, SystemPromptTexts};
pub use question::{
    CanUseTool, CommandPart, ElicitationQuestion, HookCallback, HostQuestion, MatchedRule, McpMessageQuestion,
    SUMMARY_REVIEW,
};
pub use reply::{Account, AgentInfo, ModelInfo, SlashCommand};
pub use request::*;
pub use response::{ControlResponse, HostReply, PermissionVerdict};

use crate::settings::{RuleBehaviour, SettingsSource};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One line from the host, read far enough to route it.
#[derive(Debug, Deserialize)]
pub struct InboundLine<'a> {
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub request_id: Option<String>,
    #[serde(borrow, default)]
    pub request: Option<&'a RawValue>,
    /// Set on a `control_response`.
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub message: Option<&'a RawValue>,
    #[serde(default)]
    pub uuid: Option<String>,
    #[serde(default, rename = "shouldQuery")]
    pub should_query: Option<bool>,
    /// `now`, `next` or `later`.
    #[serde(default)]
    pub priority: Option<String>,
    #[serde(default)]
    pub client_composed: Option<bool>,
    #[serde(borrow, default)]
    pub origin: Option<&'a RawValue>,
}

/// What a host says to `can_use_tool`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAnswer<'a> {
    pub behavior: String,
    #[serde(borrow, default)]
    pub updated_input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub updated_permissions: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub interrupt: Option<bool>,
}

/// One change to rules, mode or directories. Read leniently: what is missing or null is absent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionUpdate {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<UpdatedRule>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<RuleBehaviour>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<SettingsSource>,
}

impl PermissionUpdate {
    /// True when the change is saved to a settings file and outlives the session.
    pub fn lasts(&self) -> bool {
        matches!(self.destination, Some(SettingsSource::User | SettingsSource::Project | SettingsSource::Local))
    }

    /// An update that allows `rules` until the session ends.
    pub fn allow_for_session(rules: Vec<UpdatedRule>) -> Self {
        Self {
            kind: "addRules".into(),
            rules: Some(rules),
            behavior: Some(RuleBehaviour::Allow),
            mode: None,
            directories: None,
            destination: Some(SettingsSource::Session),
        }
    }
}

/// The rules that the `allowedPrompts` list of ExitPlanMode asks for. They are shown with the plan and granted when the
/// user accepts it. Only Bash entries that name their program become rules; all other entries are skipped.
pub fn allowed_prompts(list: Option<&serde_json::Value>) -> Vec<UpdatedRule> {
    let entries = list.and_then(serde_json::Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |entry: &serde_json::Value, name: &str| entry.get(name)?.as_str().map(str::to_owned);
    let rule = |entry: &serde_json::Value| {
        let command = text(entry, "prompt")?.trim().to_owned();
        let program = command.split([' ', ':']).next().unwrap_or_default();
        let is_named = program.starts_with(|c: char| c.is_ascii_alphanumeric() || "./_~".contains(c));
        let is_plain = is_named && !program.contains(['*', '?', '[', '$', '`']) && !command.contains('\n');
        (text(entry, "tool")? == "Bash" && is_plain)
            .then(|| UpdatedRule { tool_name: "Bash".into(), rule_content: Some(command) })
    };
    entries.iter().filter_map(rule).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdatedRule {
    pub tool_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

impl UpdatedRule {
    /// The rule as settings files write it: `Tool` or `Tool(content)`.
    pub fn text(&self) -> String {
        match &self.rule_content {
            Some(content) => format!("{}({content})", self.tool_name),
            None => self.tool_name.clone(),
        }
    }
}

/// What the model is told when a person refuses without a word.
pub const REFUSED_MESSAGE: &str = "The user refused this call. Stop and wait for what they say.";
/// The same for a plan.
pub const KEEP_PLANNING_MESSAGE: &str = "The user wants to keep planning.";
/// A plan was approved for a new conversation.
pub const PLAN_MOVED_MESSAGE: &str = "The user approved the plan and carries it out in a new conversation.";

/// Whether the refusal says nothing of the person's own.
pub fn is_wordless_refusal(message: &str) -> bool {
    let message = message.trim();
    message.is_empty() || [REFUSED_MESSAGE, KEEP_PLANNING_MESSAGE, PLAN_MOVED_MESSAGE].contains(&message)
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-B11]
    #[test]
    fn only_named_commands_are_granted_with_a_plan() {
        let list = serde_json::json!([
            {"tool": "Bash", "prompt": "npm test:*"}, {"tool": "Bash", "prompt": " ./build.sh --fast "},
            {"tool": "Bash", "prompt": "*"}, {"tool": "Bash", "prompt": ":*"}, {"tool": "Bash", "prompt": ""},
            {"tool": "Bash", "prompt": "$X y"}, {"tool": "Bash", "prompt": "a\nb"}, {"tool": "Edit", "prompt": "x"},
            {"prompt": "x"}, "npm", 3,
        ]);
        let texts: Vec<String> = allowed_prompts(Some(&list)).iter().map(UpdatedRule::text).collect();
        assert_eq!(texts, ["Bash(npm test:*)", "Bash(./build.sh --fast)"]);
        assert!(allowed_prompts(Some(&serde_json::json!("npm"))).is_empty() && allowed_prompts(None).is_empty());
    }
}
