//! Permission requests. The editor gets the call as it would be displayed, and the options that fit it; the chosen
//! option becomes the answer to the engine. An editor that cannot answer counts as a refusal.

use crate::call_display;
use crate::protocol::{
    PermissionOption, PermissionOptionKind, PermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ToolCallContent, ToolCallStatus, ToolCallUpdate,
};
use engine::{ToolClass, tool_facts};
use serde_json::{Value, json};
use std::path::Path;
use wire::control::{CanUseTool, PermissionVerdict};

const ONCE: &str = "allow";
const ALWAYS: &str = "allow_always";
const REJECT: &str = "reject";

/// What an editor shows of `can_use_tool`.
#[derive(Debug)]
pub(crate) struct AcpPermissionRequest {
    pub(crate) tool_name: String,
    pub(crate) input: Value,
    pub(crate) tool_use_id: String,
    permission_suggestions: Vec<Value>,
    decision_reason: Option<String>,
}

impl From<CanUseTool> for AcpPermissionRequest {
    fn from(asked: CanUseTool) -> Self {
        Self {
            tool_name: asked.tool_name,
            input: serde_json::from_str(asked.input.get()).unwrap_or_default(),
            tool_use_id: asked.tool_use_id,
            permission_suggestions: asked.permission_suggestions,
            decision_reason: asked.decision_reason,
        }
    }
}

impl AcpPermissionRequest {
    pub(crate) fn request(&self, session_id: &str, cwd: &Path) -> RequestPermissionRequest {
        let shown = call_display::call(&self.tool_name, &self.input, cwd);
        let mut content = shown.content;
        let reason = self.decision_reason.as_deref().filter(|reason| !reason.is_empty());
        content.extend(reason.map(ToolCallContent::text));
        let tool_call = ToolCallUpdate {
            tool_call_id: self.tool_use_id.clone(),
            kind: Some(shown.kind),
            status: Some(ToolCallStatus::Pending),
            title: Some(shown.title),
            content: Some(content),
            locations: Some(shown.locations),
            raw_input: Some(self.input.clone()),
            ..ToolCallUpdate::default()
        };
        RequestPermissionRequest { session_id: session_id.to_owned(), tool_call, options: self.options() }
    }

    fn presents_plan(&self) -> bool {
        tool_facts(&self.tool_name).class == ToolClass::PlanExit
    }

    fn options(&self) -> Vec<PermissionOption> {
        let option = |id: &'static str, name: String, kind| PermissionOption { option_id: id, name, kind };
        if self.presents_plan() {
            return vec![
                option("acceptEdits", "Yes, and accept edits".into(), PermissionOptionKind::AllowAlways),
                option("default", "Yes, and ask before edits".into(), PermissionOptionKind::AllowOnce),
                option(REJECT, "No, keep planning".into(), PermissionOptionKind::RejectOnce),
            ];
        }
        let mut options = vec![option(ONCE, "Allow once".into(), PermissionOptionKind::AllowOnce)];
        if let Some(scope) = self.scope() {
            options.push(option(ALWAYS, format!("Always allow {scope}"), PermissionOptionKind::AllowAlways));
        }
        options.push(option(REJECT, "Reject".into(), PermissionOptionKind::RejectOnce));
        options
    }

    /// What the "always" option would save, in words; `None` when there is nothing to save.
    fn scope(&self) -> Option<String> {
        let parts: Vec<String> = self.permission_suggestions.iter().flat_map(describe).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The `response` of the engine's question.
    pub(crate) fn verdict(&self, outcome: Result<RequestPermissionResponse, String>) -> PermissionVerdict {
        let chosen = match outcome {
            Ok(response) => match response.outcome {
                PermissionOutcome::Selected { option_id } => option_id,
                PermissionOutcome::Cancelled => return deny("The user cancelled the question.", true),
            },
            Err(why) => return deny(&format!("The editor could not ask: {why}"), false),
        };
        match chosen.as_str() {
            ONCE => PermissionVerdict::allow(self.input.clone()),
            ALWAYS => PermissionVerdict::allow(self.input.clone()).with_updates(self.permission_suggestions.clone()),
            mode @ ("acceptEdits" | "default") if self.presents_plan() => {
                let update = json!({"type": "setMode", "mode": mode, "destination": "session"});
                PermissionVerdict::allow(self.input.clone()).with_updates(vec![update])
            }
            _ => deny("The user refused this.", false),
        }
    }
}

fn deny(message: &str, interrupt: bool) -> PermissionVerdict {
    PermissionVerdict::deny(message).interrupting(interrupt)
}

fn describe(suggestion: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match suggestion.get("type").and_then(Value::as_str) {
        Some("addRules") => {
            let rules = suggestion.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let rule = |rule: &Value| {
                let tool = text(rule, "toolName")?;
                Some(text(rule, "ruleContent").map_or_else(|| tool.clone(), |content| format!("{tool}({content})")))
            };
            rules.iter().filter_map(rule).collect()
        }
        Some("setMode") => text(suggestion, "mode").map(|mode| format!("as in mode {mode}")).into_iter().collect(),
        Some("addDirectories") => {
            let list = suggestion.get("directories").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(|dir| dir.as_str().map(|dir| format!("access to {dir}"))).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(tool: &str, suggestions: &Value) -> AcpPermissionRequest {
        let asked = json!({
            "tool_name": tool, "input": {"command": "ls"}, "tool_use_id": "t", "permission_suggestions": suggestions,
        });
        serde_json::from_str::<CanUseTool>(&asked.to_string()).unwrap().into()
    }

    fn chosen(option: &str) -> Result<RequestPermissionResponse, String> {
        serde_json::from_value(json!({"outcome": {"outcome": "selected", "optionId": option}}))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn always_is_offered_only_with_something_to_save() {
        let bare = question("Bash", &json!([]));
        assert_eq!(bare.options().len(), 2);
        let rules =
            json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "behavior": "allow"}]);
        let full = question("Bash", &rules);
        assert_eq!(full.options()[1].name, "Always allow Bash(ls:*)");
        assert_eq!(json!(full.verdict(chosen(ALWAYS)))["updatedPermissions"], rules);
        assert_eq!(json!(full.verdict(chosen(ONCE))).get("updatedPermissions"), None);
    }

    #[test]
    fn everything_else_is_a_refusal() {
        let asked = question("Bash", &json!([]));
        assert_eq!(json!(asked.verdict(chosen("nonsense")))["behavior"], "deny");
        assert_eq!(json!(asked.verdict(Err("gone".into())))["behavior"], "deny");
        let cancelled = serde_json::from_value(json!({"outcome": {"outcome": "cancelled"}})).unwrap();
        assert_eq!(json!(asked.verdict(Ok(cancelled)))["interrupt"], true);
    }

    #[test]
    fn a_plan_is_accepted_into_a_mode() {
        let plan = question("ExitPlanMode", &json!([]));
        assert_eq!(json!(plan.verdict(chosen("acceptEdits")))["updatedPermissions"][0]["mode"], "acceptEdits");
        assert_eq!(json!(plan.verdict(chosen(REJECT)))["behavior"], "deny");
        // A mode is no answer to another question.
        assert_eq!(json!(question("Bash", &json!([])).verdict(chosen("default")))["behavior"], "deny");
    }
}
