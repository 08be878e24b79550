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
    if let Some(folder) = opened_folder(suggestions) {
        return Some(format!("allow reading and writing in {folder} for this session"));
    }
    let parts: Option<Vec<String>> = suggestions.iter().map(describe_suggestion).collect();
    parts.map(|parts| parts.join("; "))
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn describe_suggestion(value: &Value) -> Option<String> {
    let place = match field(value, "destination").unwrap_or("session") {
        "session" => "for this session",
        "localSettings" => "in this project",
        "projectSettings" => "in this project, for everybody in it",
        "userSettings" => "in all your projects",
        _ => return None,
    };
    match field(value, "type")? {
        "addRules" if field(value, "behavior") == Some("allow") => {
            let rules = value.get("rules")?.as_array()?;
            let files: Vec<String> = rules.iter().filter_map(describe_files).collect();
            if files.len() == rules.len() {
                return Some(format!("allow {} {place}", files.join(", ")));
            }
            let names: Option<Vec<String>> = rules.iter().map(describe_rule).collect();
            Some(format!("do not ask again for  {}  {place}", names?.join(", ")))
        }
        "addDirectories" => {
            let directories = value.get("directories")?.as_array()?;
            let names: Option<Vec<&str>> = directories.iter().map(Value::as_str).collect();
            Some(format!("work in {} too, {place}", text::clean(&names?.join(", "))))
        }
        "setMode" => match field(value, "mode")? {
            "acceptEdits" => Some(format!("accept all edits {place}")),
            mode => Some(format!("change to {} mode {place}", text::clean(mode))),
        },
        _ => None,
    }
}

/// The folder that all of the suggestions open together, for reading and writing in this session.
fn opened_folder(suggestions: &[Value]) -> Option<String> {
    let [added, ruled] = suggestions else { return None };
    let of_session = [added, ruled].iter().all(|value| field(value, "destination") == Some("session"));
    let ([dir], [rule]) =
        (added.get("directories")?.as_array()?.as_slice(), ruled.get("rules")?.as_array()?.as_slice())
    else {
        return None;
    };
    let kinds = (field(added, "type"), field(ruled, "type"), field(ruled, "behavior"));
    let dir = text::clean(dir.as_str()?);
    let is_one = kinds == (Some("addDirectories"), Some("addRules"), Some("allow"));
    let is_same = describe_files(rule).is_some_and(|files| files == format!("writing in {dir}"));
    (is_one && of_session && is_same).then_some(dir)
}

/// A rule on absolute paths, in words: `writing in /tmp`.
fn describe_files(rule: &Value) -> Option<String> {
    let verb = match field(rule, "toolName")? {
        "Edit" => "writing",
        "Read" => "reading",
        _ => return None,
    };
    let path = field(rule, "ruleContent")?.strip_prefix('/').filter(|path| path.starts_with('/'))?;
    let (path, below) = path.strip_suffix("/**").map_or((path, false), |path| (path, true));
    let shown = text::clean(&literal(path)?);
    Some(if below { format!("{verb} in {shown}") } else { format!("{verb} {shown}") })
}

/// The path that a specifier without a pattern stands for.
fn literal(specifier: &str) -> Option<String> {
    let mut path = String::new();
    let mut chars = specifier.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => path.push(chars.next()?),
            '*' | '?' | '[' | ']' | '{' | '}' | '!' => return None,
            c => path.push(c),
        }
    }
    (path.len() > 1).then_some(path)
}

/// A rule for commands by what it covers, any other with the name of its tool.
fn describe_rule(value: &Value) -> Option<String> {
    let tool = field(value, "toolName")?;
    Some(text::clean(&match field(value, "ruleContent") {
        Some(content) if tool == "Bash" => content.to_owned(),
        _ => rule_text(value)?,
    }))
}

/// The rule as it is written in settings.
fn rule_text(value: &Value) -> Option<String> {
    let tool = field(value, "toolName")?;
    Some(match field(value, "ruleContent") {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
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
    rules_of(suggestions).nth(at).and_then(rule_text)
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
        assert_eq!(scope, "do not ask again for  git push origin main, ls  in this project");
        shift_place(&mut all, -1);
        shift_place(&mut all, -1);
        assert!(describe_scope(&all).unwrap().ends_with("for this session"));
    }

    #[test]
    fn files_and_folders_are_told_in_words() {
        // [TST-240]
        let rules = |tool: &str, content: &str| {
            let rules = json!([{"toolName": tool, "ruleContent": content}]);
            json!({"type": "addRules", "behavior": "allow", "destination": "session", "rules": rules})
        };
        let folder = json!({"type": "addDirectories", "directories": ["/tmp/a b"], "destination": "session"});
        for (all, expected) in [
            (vec![rules("Edit", "//tmp/**")], "allow writing in /tmp for this session"),
            (vec![rules("Edit", "//w/a\\[1\\].txt")], "allow writing /w/a[1].txt for this session"),
            (vec![rules("Read", "//srv/**")], "allow reading in /srv for this session"),
            (
                vec![folder.clone(), rules("Edit", "//tmp/a b/**")],
                "allow reading and writing in /tmp/a b for this session",
            ),
            (
                vec![folder, rules("Edit", "//srv/**")],
                "work in /tmp/a b too, for this session; allow writing in /srv for this session",
            ),
            // A pattern, or a path that counts from elsewhere, is shown as it is.
            (vec![rules("Edit", "//tmp/*.txt")], "do not ask again for  Edit(//tmp/*.txt)  for this session"),
            (vec![rules("Edit", "src/**")], "do not ask again for  Edit(src/**)  for this session"),
        ] {
            assert_eq!(describe_scope(&all).unwrap(), expected);
        }
    }
}
