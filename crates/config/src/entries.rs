//! The entries of a settings file: the smallest parts that can be accepted or held back individually. An element of a
//! list, a member of a map, a hook and any other value are one entry each; every valid value belongs to exactly one
//! entry.

use serde_json::{Map, Value};
use std::borrow::Cow;
use wire::settings::{KeyShape, SettingKey, Settings};

/// One entry and its place in the file.
pub(crate) struct SettingsEntry<'a> {
    pub(crate) key: &'static SettingKey,
    /// Such as `permissions.allow`, `env.NAME` or `hooks.Stop`.
    pub(crate) path: String,
    pub(crate) part: EntryPart<'a>,
    /// For a hook: the other members of its group, then the hook.
    pub(crate) value: Cow<'a, Value>,
}

/// Which part of its key an entry is.
pub(crate) enum EntryPart<'a> {
    Whole,
    Element,
    Member(&'a str),
    Hook { matcher: &'a str, group: usize, number: usize, hook: &'a Value },
}

/// Decides which entries are kept.
type EntryFilter<'k> = dyn FnMut(&SettingsEntry<'_>) -> bool + 'k;

/// Keys that can only refuse something. They apply whoever wrote them.
#[rustfmt::skip]
const REFUSING_KEYS: &[&str] = &[
    "permissions.deny", "permissions.ask", "permissions.disableBypassPermissionsMode", "permissions.disableAutoMode",
    "disableAutoMode", "ignorePatterns", "disabledMcpjsonServers", "deniedMcpServers",
    "sandbox.filesystem.denyRead", "sandbox.filesystem.denyWrite", "sandbox.network.deniedDomains",
];

impl SettingsEntry<'_> {
    pub(crate) fn only_refuses(&self) -> bool {
        REFUSING_KEYS.contains(&self.path.as_str())
    }
}

/// Returns the settings object with only those entries that `keep` accepts. Visits every entry once.
pub(crate) fn filter_entries(values: &Map<String, Value>, keep: &mut EntryFilter<'_>) -> Map<String, Value> {
    object(Settings::KEYS, values, "", keep)
}

fn object(
    keys: &'static [SettingKey],
    values: &Map<String, Value>,
    prefix: &str,
    keep: &mut EntryFilter<'_>,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in values {
        let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
        let path = format!("{prefix}{name}");
        let kept = match (path.as_str(), &key.shape, value) {
            ("hooks", _, Value::Object(events)) if !events.is_empty() => hooks(key, events, keep),
            (_, KeyShape::Object(inner), Value::Object(members)) => {
                filled_object(object(inner, members, &format!("{path}."), keep))
            }
            (_, KeyShape::List(_), Value::Array(elements)) if !elements.is_empty() => list(key, &path, elements, keep),
            (_, KeyShape::Map(_), Value::Object(members)) if !members.is_empty() => map(key, &path, members, keep),
            _ => {
                let entry = SettingsEntry { key, path, part: EntryPart::Whole, value: Cow::Borrowed(value) };
                keep(&entry).then(|| value.clone())
            }
        };
        if let Some(value) = kept {
            out.insert(name.clone(), value);
        }
    }
    out
}

fn list(key: &'static SettingKey, path: &str, elements: &[Value], keep: &mut EntryFilter<'_>) -> Option<Value> {
    let mut stays = |value: &&Value| {
        keep(&SettingsEntry { key, path: path.to_owned(), part: EntryPart::Element, value: Cow::Borrowed(*value) })
    };
    let kept: Vec<Value> = elements.iter().filter(|value| stays(value)).cloned().collect();
    filled_list(kept)
}

fn map(
    key: &'static SettingKey,
    path: &str,
    members: &Map<String, Value>,
    keep: &mut EntryFilter<'_>,
) -> Option<Value> {
    let mut kept = Map::new();
    for (name, value) in members {
        let entry = SettingsEntry {
            key,
            path: format!("{path}.{name}"),
            part: EntryPart::Member(name),
            value: Cow::Borrowed(value),
        };
        if keep(&entry) {
            kept.insert(name.clone(), value.clone());
        }
    }
    filled_object(kept)
}

fn hooks(key: &'static SettingKey, events: &Map<String, Value>, keep: &mut EntryFilter<'_>) -> Option<Value> {
    let mut kept = Map::new();
    for (event, groups) in events {
        let path = format!("hooks.{event}");
        let Some(groups) = groups.as_array().filter(|groups| !groups.is_empty()) else {
            if keep(&SettingsEntry { key, path, part: EntryPart::Whole, value: Cow::Borrowed(groups) }) {
                kept.insert(event.clone(), groups.clone());
            }
            continue;
        };
        let groups = groups.iter().enumerate().filter_map(|(at, group)| hook_group(key, &path, (at, group), keep));
        if let Some(groups) = filled_list(groups.collect()) {
            kept.insert(event.clone(), groups);
        }
    }
    filled_object(kept)
}

fn hook_group(
    key: &'static SettingKey,
    path: &str,
    (at, group): (usize, &Value),
    keep: &mut EntryFilter<'_>,
) -> Option<Value> {
    let members = group.as_object();
    let all = members.and_then(|members| members.get("hooks")?.as_array()).filter(|all| !all.is_empty());
    let (Some(members), Some(all)) = (members, all) else {
        let entry = SettingsEntry { key, path: path.to_owned(), part: EntryPart::Element, value: Cow::Borrowed(group) };
        return keep(&entry).then(|| group.clone());
    };
    let matcher = members.get("matcher").and_then(Value::as_str).unwrap_or("*");
    let mut beside = members.clone();
    beside.remove("hooks");
    let mut stays = |(number, hook): (usize, &Value)| {
        let part = EntryPart::Hook { matcher, group: at, number, hook };
        let value = Value::Array(vec![Value::Object(beside.clone()), hook.clone()]);
        keep(&SettingsEntry { key, path: path.to_owned(), part, value: Cow::Owned(value) })
    };
    let kept = all.iter().enumerate().filter(|(number, hook)| stays((*number, *hook))).map(|(_, hook)| hook.clone());
    let kept = filled_list(kept.collect())?;
    let mut group = members.clone();
    group.insert("hooks".into(), kept);
    Some(Value::Object(group))
}

fn filled_list(list: Vec<Value>) -> Option<Value> {
    (!list.is_empty()).then_some(Value::Array(list))
}

fn filled_object(members: Map<String, Value>) -> Option<Value> {
    (!members.is_empty()).then_some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    // [F-A1]
    #[test]
    fn every_value_is_visited_and_each_can_be_left_out_alone() {
        let hook = |command: &str| json!({"type": "command", "command": command});
        let all = parse(json!({
            "model": "m", "env": {"A": "1", "B": "2"}, "fallbackModel": [], "statusLine": {"command": "x"},
            "permissions": {"allow": ["Read", "Bash"], "deny": ["Edit"], "defaultMode": "plan"},
            "hooks": {"Stop": [{"matcher": "a", "hooks": [hook("one"), hook("two")]}, {"hooks": [hook("three")]}, 7]},
            "sandbox": {"network": {"allowedDomains": ["a.example"]}}
        }));
        let mut seen = Vec::new();
        let same = filter_entries(&all, &mut |entry| {
            seen.push(entry.path.clone());
            true
        });
        assert_eq!(same, all, "nothing is lost or added");
        assert_eq!(seen.len(), 14, "{seen:?}");
        for left_out in 0..seen.len() {
            let mut at = 0;
            let fewer = filter_entries(&all, &mut |_| {
                at += 1;
                at != left_out + 1
            });
            let mut count = 0;
            filter_entries(&fewer, &mut |_| {
                count += 1;
                true
            });
            assert_eq!(count, seen.len() - 1, "without {}", seen[left_out]);
        }
        assert!(filter_entries(&all, &mut |_| false).is_empty());
    }
}
