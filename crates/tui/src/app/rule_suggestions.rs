//! What "do not ask again" would save: described completely, and editable before it is saved. A scope that cannot be
//! described completely is not offered.

use super::panel::rules::split;
use serde_json::{Value, json};
use terminal::text;

/// Where a rule can be saved, in the order offered.
const PLACES: [&str; 4] = ["session", "localSettings", "projectSettings", "userSettings"];

/// Describes what the suggestions would change; `None` when they cannot be described completely.
pub fn describe_scope(suggestions: &[Value]) -> Option<String> {
    if suggestions.is_empty() {
        return None;
    }
    let parts: Option<Vec<String>> = suggestions.iter().map(describe_suggestion).collect();
    parts.map(|parts| parts.join("; "))
}

fn describe_suggestion(value: &Value) -> Option<String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let place = match text("destination").unwrap_or("session") {
        "session" => "for this session",
        "localSettings" => "in this project (only you)",
        "projectSettings" => "in this project (shared)",
        "userSettings" => "in all your projects",
        _ => return None,
    };
    match text("type")? {
        "addRules" if text("behavior") == Some("allow") => {
            let rules = value.get("rules")?.as_array()?;
            let names: Option<Vec<String>> = rules.iter().map(describe_rule).collect();
            Some(format!("do not ask again for {} {place}", names?.join(", ")))
        }
        "addDirectories" => {
            let directories = value.get("directories")?.as_array()?;
            let names: Option<Vec<&str>> = directories.iter().map(Value::as_str).collect();
            Some(format!("work in {} too, {place}", text::clean(&names?.join(", "))))
        }
        "setMode" => match text("mode")? {
            "acceptEdits" => Some(format!("accept all edits {place}")),
            mode => Some(format!("change to {} mode {place}", text::clean(mode))),
        },
        _ => None,
    }
}

fn describe_rule(value: &Value) -> Option<String> {
    let tool = value.get("toolName")?.as_str()?;
    Some(text::clean(&match value.get("ruleContent").and_then(Value::as_str) {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    }))
}

fn rules_of(suggestions: &[Value]) -> impl Iterator<Item = &Value> {
    let adding = suggestions.iter().filter(|value| value.get("type").and_then(Value::as_str) == Some("addRules"));
    adding.filter_map(|value| value.get("rules")?.as_array()).flatten()
}

/// How many rules the suggestions would save.
pub fn count(suggestions: &[Value]) -> usize {
    rules_of(suggestions).count()
}

/// The rule with this index.
pub fn rule_at(suggestions: &[Value], at: usize) -> Option<String> {
    rules_of(suggestions).nth(at).and_then(describe_rule)
}

/// Replaces the rule with this index; `false` when `text` is not a rule.
pub fn set_rule(suggestions: &mut [Value], at: usize, text: &str) -> bool {
    let (tool, content) = split(text.trim());
    let named = !tool.is_empty() && tool.chars().all(|c| c.is_alphanumeric() || "_-*".contains(c));
    if !named || content.is_some_and(str::is_empty) {
        return false;
    }
    let adding = suggestions.iter_mut().filter(|value| value.get("type").and_then(Value::as_str) == Some("addRules"));
    let mut rules = adding.filter_map(|value| value.get_mut("rules")?.as_array_mut()).flatten();
    let Some(rule) = rules.nth(at) else { return false };
    *rule = match content {
        Some(content) => json!({"toolName": tool, "ruleContent": content}),
        None => json!({"toolName": tool}),
    };
    true
}

/// Moves the rules `by` steps in `PLACES`.
pub fn shift_place(suggestions: &mut [Value], by: isize) {
    for value in suggestions.iter_mut().filter(|value| value.get("type").and_then(Value::as_str) == Some("addRules")) {
        let now = value.get("destination").and_then(Value::as_str).unwrap_or("session");
        let at = PLACES.iter().position(|place| *place == now).unwrap_or(0);
        let next = at.saturating_add_signed(by).min(PLACES.len() - 1);
        value["destination"] = json!(PLACES[next]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestions() -> Vec<Value> {
        let rules =
            json!([{"toolName": "Bash", "ruleContent": "git push *"}, {"toolName": "Bash", "ruleContent": "ls"}]);
        vec![json!({"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": rules})]
    }

    #[test]
    fn a_rule_is_changed_before_it_is_saved() {
        // [TST-240]
        let mut all = suggestions();
        assert_eq!((count(&all), rule_at(&all, 0).as_deref()), (2, Some("Bash(git push *)")));
        assert!(set_rule(&mut all, 0, "Bash(git push origin main)"));
        for bad in ["", "(x)", "Bash()", "two words"] {
            assert!(!set_rule(&mut all, 1, bad), "{bad}");
        }
        let scope = describe_scope(&all).unwrap();
        assert_eq!(scope, "do not ask again for Bash(git push origin main), Bash(ls) in this project (only you)");
        shift_place(&mut all, -1);
        shift_place(&mut all, -1);
        assert!(describe_scope(&all).unwrap().ends_with("for this session"));
    }
}
