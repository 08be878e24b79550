//! The control envelope. Unknown requests are answered with an error response, never ignored.

mod initialize;
mod reply;
mod request;

pub use initialize::{CallbackFailure, HookMatcher, InitializeRequest, SystemPromptTexts};
pub use reply::{Account, AgentInfo, ModelInfo, SlashCommand};
pub use request::*;

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

#[derive(Debug, Serialize)]
pub struct ControlResponse<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub response: ResponseBody<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum ResponseBody<'a> {
    Success {
        request_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<serde_json::Value>,
        /// Only in the answer to `initialize`: the complete requests that still wait for an answer of the host.
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_permission_requests: Option<Vec<Box<RawValue>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_user_dialog_requests: Option<Vec<Box<RawValue>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_elicitation_requests: Option<Vec<Box<RawValue>>>,
    },
    Error {
        request_id: &'a str,
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<&'static str>,
    },
}

impl<'a> ControlResponse<'a> {
    /// The error response to a request that cannot be carried out.
    pub fn refused(request_id: &'a str, error: String) -> Self {
        let response = ResponseBody::Error { request_id, error, error_code: None };
        Self { kind: "control_response", response }
    }

    pub fn success(request_id: &'a str, response: serde_json::Value) -> Self {
        let response = ResponseBody::Success {
            request_id,
            response: Some(response),
            pending_permission_requests: None,
            pending_user_dialog_requests: None,
            pending_elicitation_requests: None,
        };
        Self { kind: "control_response", response }
    }

    /// An error response with a code that programs can test for.
    pub fn refused_as(request_id: &'a str, error: String, error_code: &'static str) -> Self {
        let response = ResponseBody::Error { request_id, error, error_code: Some(error_code) };
        Self { kind: "control_response", response }
    }

    pub fn unsupported(request_id: &'a str, subtype: &str) -> Self {
        Self {
            kind: "control_response",
            response: ResponseBody::Error {
                request_id,
                error: format!("Unsupported control request subtype: {subtype}"),
                error_code: Some("unsupported_request"),
            },
        }
    }
}

/// A request from gimlet to the host.
#[derive(Debug, Serialize)]
pub struct ControlRequest<'a, R> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub request_id: &'a str,
    pub request: R,
}

impl<'a, R> ControlRequest<'a, R> {
    pub fn new(request_id: &'a str, request: R) -> Self {
        Self { kind: "control_request", request_id, request }
    }
}

/// Withdraws a request that gimlet sent; a later answer to it is ignored.
#[derive(Debug, Serialize)]
pub struct ControlCancel<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub request_id: &'a str,
}

impl<'a> ControlCancel<'a> {
    pub fn new(request_id: &'a str) -> Self {
        Self { kind: "control_cancel_request", request_id }
    }
}

/// `can_use_tool`: asks the host whether this call may run.
#[derive(Debug, Serialize)]
pub struct CanUseTool<'a> {
    pub subtype: &'static str,
    pub tool_name: &'a str,
    pub display_name: &'a str,
    pub input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permission_suggestions: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_ask_rule: Option<MatchedRule>,
    pub tool_use_id: &'a str,
    /// True when no permission rule can answer this request: a person must.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_user_interaction: bool,
    /// The simple commands of a shell command, when there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command_parts: Vec<CommandPart>,
    /// The agent that asks; absent for the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<&'a str>,
}

/// One simple command and the decision about it.
#[derive(Clone, Debug, Serialize)]
pub struct CommandPart {
    pub command: String,
    /// `allow`, `ask` or `deny`.
    pub decision: &'static str,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct MatchedRule {
    pub source: &'static str,
    pub tool_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// The `response` object of a `control_response`.
#[derive(Debug, Deserialize)]
pub struct ControlAnswer<'a> {
    pub request_id: String,
    #[serde(default)]
    pub subtype: String,
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
    #[serde(default)]
    pub error: Option<String>,
}

/// The host's answer to `can_use_tool`.
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

/// One change to rules, mode or directories. A field that is missing or null is read as `None`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionUpdate {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub rules: Option<Vec<UpdatedRule>>,
    #[serde(default)]
    pub behavior: Option<RuleBehaviour>,
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub directories: Option<Vec<String>>,
    #[serde(default)]
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

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdatedRule {
    pub tool_name: String,
    #[serde(default)]
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
