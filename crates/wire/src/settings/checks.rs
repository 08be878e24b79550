//! What is asked of values whose shape is free: entries of lists of servers, status lines, credentials.

use super::shape::ValueProblem::{self, Ignored, Kept};
use serde_json::Value;

const SKILL_STATES: &[&str] = &["on", "name-only", "user-invocable-only", "off"];
const CREDENTIAL_MODES: &[&str] = &["deny", "mask"];
const SERVER_ENTRY: &str = "must be an object with serverName (a string), serverCommand (a list of strings) or serverUrl (a string); it is ignored";

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

pub(super) fn model(value: &Value) -> Option<ValueProblem> {
    let is_blank = value.as_str().is_some_and(|model| model.trim().is_empty());
    is_blank.then_some(Ignored("must name a model; it is ignored"))
}

pub(super) fn status_line(value: &Value) -> Option<ValueProblem> {
    let is_command = value.get("type").is_none_or(|kind| kind == "command");
    let fits = value.is_object() && is_command && text(value, "command").is_some();
    (!fits).then_some(Ignored(r#"must be an object like {"type": "command", "command": "…"}; it is ignored"#))
}

pub(super) fn spinner_verbs(value: &Value) -> Option<ValueProblem> {
    let is_mode = |mode: &Value| mode == "append" || mode == "replace";
    let fits = value.get("verbs").is_some_and(is_text_list) && value.get("mode").is_none_or(is_mode);
    (!fits).then_some(Ignored(
        r#"must be an object with verbs (a list of strings) and mode ("append" or "replace"); it is ignored"#,
    ))
}

pub(super) fn skill_override(value: &Value) -> Option<ValueProblem> {
    let fits = value.as_str().is_some_and(|state| SKILL_STATES.contains(&state));
    (!fits).then_some(Ignored("must be one of on, name-only, user-invocable-only, off; it is ignored"))
}

/// Nothing is allowed by an entry that cannot be understood.
pub(super) fn allowed_server(value: &Value) -> Option<ValueProblem> {
    (!is_server_entry(value)).then_some(Ignored(SERVER_ENTRY))
}

pub(super) fn denied_server(value: &Value) -> Option<ValueProblem> {
    if value.as_str().is_some_and(|name| !name.trim().is_empty()) {
        return Some(Kept(
            r#"must be an object; it is taken for {"serverName": …} and denies the server of that name"#,
        ));
    }
    (!is_server_entry(value)).then_some(Ignored(SERVER_ENTRY))
}

fn is_server_entry(value: &Value) -> bool {
    let has_command =
        value.get("serverCommand").is_some_and(|command| is_text_list(command) && command != &Value::Array(Vec::new()));
    text(value, "serverName").is_some() || has_command || text(value, "serverUrl").is_some()
}

pub(super) fn credential_file(value: &Value) -> Option<ValueProblem> {
    credential(value, "path", r#"must be an object like {"path": "…", "mode": "deny"}; it is ignored"#)
}

pub(super) fn credential_variable(value: &Value) -> Option<ValueProblem> {
    credential(value, "name", r#"must be an object like {"name": "…", "mode": "deny"}; it is ignored"#)
}

/// What is named is hidden, whatever its mode says.
fn credential(value: &Value, key: &str, expected: &'static str) -> Option<ValueProblem> {
    if text(value, key).is_none() {
        return Some(Ignored(expected));
    }
    let fits = value.get("mode").is_none_or(|mode| mode.as_str().is_some_and(|mode| CREDENTIAL_MODES.contains(&mode)));
    (!fits).then_some(Kept("has a mode that is neither deny nor mask; it counts as deny"))
}
