//! What the session asks its host.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The `request` object of a `control_request` that the session sends, in both directions: `Serialize` writes it, `read`
/// takes it from a line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum HostQuestion {
    CanUseTool(Box<CanUseTool>),
    Elicitation(ElicitationQuestion),
    HookCallback(HookCallback),
    McpMessage(McpMessageQuestion),
    /// A question of a newer session. It is answered with an error.
    #[serde(skip_serializing)]
    Unknown(String),
}

impl HostQuestion {
    /// `None` when the text is no object or a known question lacks a field.
    pub fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct QuestionHead {
            #[serde(default)]
            subtype: String,
        }
        fn part<T: DeserializeOwned>(text: &str) -> Option<T> {
            serde_json::from_str(text).ok()
        }
        let head: QuestionHead = part(text)?;
        Some(match head.subtype.as_str() {
            "can_use_tool" => Self::CanUseTool(part(text)?),
            "elicitation" => Self::Elicitation(part(text)?),
            "hook_callback" => Self::HookCallback(part(text)?),
            "mcp_message" => Self::McpMessage(part(text)?),
            _ => Self::Unknown(head.subtype),
        })
    }

    pub fn subtype(&self) -> &str {
        match self {
            Self::CanUseTool(_) => "can_use_tool",
            Self::Elicitation(_) => "elicitation",
            Self::HookCallback(_) => "hook_callback",
            Self::McpMessage(_) => "mcp_message",
            Self::Unknown(subtype) => subtype,
        }
    }
}

/// The name in a `can_use_tool` that asks the person at the terminal about the summary of a compaction.
pub const SUMMARY_REVIEW: &str = "CompactionSummary";

/// `can_use_tool`: may this call run?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CanUseTool {
    pub tool_name: String,
    #[serde(default)]
    pub display_name: String,
    /// As the model wrote it.
    #[serde(default = "null")]
    pub input: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permission_suggestions: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason_type: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_ask_rule: Option<MatchedRule>,
    #[serde(default)]
    pub tool_use_id: String,
    /// No rule can answer this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_user_interaction: bool,
    /// The simple commands of a shell command, when there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_parts: Vec<CommandPart>,
    /// The agent that asks. `None`: the main thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

/// One simple command and the decision about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandPart {
    pub command: String,
    /// `allow`, `ask` or `deny`.
    pub decision: Cow<'static, str>,
    #[serde(default)]
    pub reason: String,
}

/// The rule that asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatchedRule {
    pub source: Cow<'static, str>,
    pub tool_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// `elicitation`: an MCP server wants something from a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationQuestion {
    pub mcp_server_name: String,
    #[serde(default)]
    pub message: String,
    /// `form` or `url`.
    #[serde(default)]
    pub mode: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// The fields of a form, as JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Value>,
}

/// `hook_callback`: the host runs one of its functions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HookCallback {
    pub callback_id: String,
    pub input: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
}

/// `mcp_message`: JSON-RPC for a server inside the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct McpMessageQuestion {
    pub server_name: String,
    pub message: Box<RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_what_is_read() {
        let questions = [
            json!({"subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": {"command": "ls"},
                "decision_reason": "r", "decision_reason_type": "rule", "tool_use_id": "t",
                "matched_ask_rule": {"source": "userSettings", "tool_name": "Bash"},
                "command_parts": [{"command": "ls", "decision": "ask", "reason": "r"}], "agent_id": "a"}),
            json!({"subtype": "elicitation", "mcp_server_name": "s", "message": "m", "mode": "form", "requested_schema": {}}),
            json!({"subtype": "hook_callback", "callback_id": "c", "input": {}, "tool_use_id": "t"}),
            json!({"subtype": "mcp_message", "server_name": "s", "message": {"id": 1}}),
        ];
        for question in questions {
            let read = HostQuestion::read(&question.to_string()).unwrap();
            assert_eq!(read.subtype(), question["subtype"]);
            let written = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), question);
        }
        assert_eq!(HostQuestion::read(r#"{"subtype":"novel"}"#).unwrap().subtype(), "novel");
        assert!(HostQuestion::read(r#"{"subtype":"can_use_tool"}"#).is_none());
    }
}
