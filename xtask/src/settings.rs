//! Checks that code reads every settings key, or that the key is declared to have no effect. The compiler reports
//! the readers: with the feature `settings-readers` of `wire` each use of a key's field is a warning that names the
//! key, resolved by type.

use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use wire::settings::{KeyShape, SettingKey, Settings};

/// The objects of a settings file: the type and its path.
const OBJECTS: &[(&str, &str)] = &[
    ("Settings", ""),
    ("PermissionSettings", "permissions."),
    ("AttributionSettings", "attribution."),
    ("BudgetSettings", "budgets."),
    ("WorktreeSettings", "worktree."),
    ("SandboxSettings", "sandbox."),
    ("SandboxFilesystem", "sandbox.filesystem."),
    ("SandboxNetwork", "sandbox.network."),
    ("SandboxCredentials", "sandbox.credentials."),
];

/// Keys that are read from the files as JSON, each with the file and the code of its reader.
#[rustfmt::skip]
const READ_AS_JSON: &[(&str, &str, &str)] = &[
    ("permissions.allow", "crates/config/src/merge.rs", r#"add(RuleBehaviour::Allow, "allow")"#),
    ("permissions.ask", "crates/config/src/merge.rs", r#"add(RuleBehaviour::Ask, "ask")"#),
    ("permissions.deny", "crates/config/src/merge.rs", r#"add(RuleBehaviour::Deny, "deny")"#),
    ("permissions.defaultMode", "crates/config/src/merge.rs", r#"block.get("defaultMode")"#),
    ("refuseUntrustedProjectCode", "crates/config/src/project.rs", r#"valid.get("refuseUntrustedProjectCode")"#),
    ("sandbox.filesystem.allowWrite", "crates/session_parts/src/sandbox/lists.rs", r#"paths("allowWrite")"#),
    ("sandbox.filesystem.denyWrite", "crates/session_parts/src/sandbox/lists.rs", r#"paths("denyWrite")"#),
    ("sandbox.filesystem.denyRead", "crates/session_parts/src/sandbox/lists.rs", r#"paths("denyRead")"#),
    ("sandbox.filesystem.allowRead", "crates/session_parts/src/sandbox/lists.rs", r#"paths("allowRead")"#),
    ("sandbox.network.allowedDomains", "crates/session_parts/src/sandbox/lists.rs", r#"texts(sandbox, "network", "allowedDomains")"#),
    ("sandbox.network.deniedDomains", "crates/session_parts/src/sandbox/lists.rs", r#"texts(sandbox, "network", "deniedDomains")"#),
    ("sandbox.credentials.files", "crates/session_parts/src/sandbox/lists.rs", r#"entries("files")"#),
    ("sandbox.credentials.envVars", "crates/session_parts/src/sandbox/lists.rs", r#"entries("envVars")"#),
    ("theme", "crates/cli/src/preferences.rs", r#"settings.get("theme")"#),
    ("editorMode", "crates/cli/src/preferences.rs", r#"settings.get("editorMode")"#),
    ("askUserQuestionTimeout", "crates/cli/src/preferences.rs", r#"settings.get("askUserQuestionTimeout")"#),
    ("axScreenReader", "crates/cli/src/preferences.rs", r#"settings.get("axScreenReader")"#),
    ("showTurnDuration", "crates/tui/src/app/interface_settings.rs", r#"flag("showTurnDuration")"#),
    ("wrap", "crates/cli/src/preferences.rs", r#"settings.get("wrap")"#),
    ("viewMode", "crates/tui/src/app/focus.rs", "settings.get(SETTING)"),
    ("verbose", "crates/tui/src/app/focus.rs", r#"settings.get("verbose")"#),
    ("prefersReducedMotion", "crates/cli/src/preferences.rs", r#"settings.get("prefersReducedMotion")"#),
    ("respondToBashCommands", "crates/cli/src/preferences.rs", r#"settings.get("respondToBashCommands")"#),
    ("showClearContextOnPlanAccept", "crates/cli/src/preferences.rs", r#"settings.get("showClearContextOnPlanAccept")"#),
    ("terminalProgressBarEnabled", "crates/cli/src/preferences.rs", r#"settings.get("terminalProgressBarEnabled")"#),
    ("preferredNotifChannel", "crates/cli/src/preferences.rs", r#"settings.get("preferredNotifChannel")"#),
    ("spinnerVerbs", "crates/tui/src/app/interface_settings.rs", r#"settings.get("spinnerVerbs")"#),
    ("forceLoginMethod", "crates/config/src/credentials.rs", r#"["forceLoginOrgUUID", "forceLoginMethod"].into_iter().find(policy)"#),
    ("forceLoginOrgUUID", "crates/config/src/credentials.rs", r#"["forceLoginOrgUUID", "forceLoginMethod"].into_iter().find(policy)"#),
    ("policyHelper", "crates/config/src/policy.rs", r#"valid.get("policyHelper")"#),
    ("ignorePatterns", "crates/config/src/merge.rs", r#"effective.get("ignorePatterns")"#),
];

/// The files and lines that read each key.
type Readers = BTreeMap<String, BTreeSet<String>>;

/// Builds with the feature on, then checks every key.
pub(crate) fn check(root: &Path) -> Result<()> {
    check_messages(root, &messages(root)?)
}

/// True for a compiler message that reports a read.
pub(crate) fn is_reader(message: &Value) -> bool {
    message["code"]["code"] == "deprecated"
        && message["message"].as_str().is_some_and(|text| text.contains("settings::"))
}

/// Checks every key against the messages of a build with the feature on.
pub(crate) fn check_messages(root: &Path, messages: &[Value]) -> Result<()> {
    let readers = typed_readers(root, messages)?;
    let mut wrong = Vec::new();
    let mut keys = Vec::new();
    leaves(Settings::KEYS, "", &mut keys);
    for (path, key) in &keys {
        let typed = readers.get(path);
        let as_json = READ_AS_JSON.iter().find(|(name, ..)| name == path);
        match (key.no_effect, typed, as_json) {
            (None, None, None) => wrong.push(format!("{path}: nothing reads it, and it is not declared `no_effect`")),
            (Some(_), Some(at), _) => wrong.push(format!("{path}: declared `no_effect`, but read at {}", shown(at))),
            (_, Some(at), Some(_)) => {
                wrong.push(format!("{path}: listed as read from JSON, but read at {}", shown(at)));
            }
            (_, None, Some((_, file, code))) => {
                let text =
                    std::fs::read_to_string(root.join(file)).with_context(|| format!("could not read {file}"))?;
                if !text.lines().any(|line| line.contains(code) && !line.trim_start().starts_with("//")) {
                    wrong.push(format!("{path}: its reader `{code}` is not in {file}"));
                }
            }
            (None, Some(_), None) | (Some(_), None, None) => {}
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!(
        "   {} keys, {} with a reader",
        keys.len(),
        keys.iter().filter(|(_, key)| key.no_effect.is_none()).count()
    );
    Ok(())
}

fn shown(at: &BTreeSet<String>) -> String {
    at.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// Collects every key that is not an object.
fn leaves(keys: &'static [SettingKey], prefix: &str, out: &mut Vec<(String, &'static SettingKey)>) {
    for key in keys {
        match key.shape {
            KeyShape::Object(inner) => leaves(inner, &format!("{prefix}{}.", key.name), out),
            _ => out.push((format!("{prefix}{}", key.name), key)),
        }
    }
}

/// The feature of `wire` that reports reads.
pub(crate) const FEATURE: &str = "gimlet-wire/settings-readers";

fn messages(root: &Path) -> Result<Vec<Value>> {
    let args = ["check", "--workspace", "--quiet", "--features", FEATURE, "--message-format=json"];
    println!("   $ cargo {}", args.join(" "));
    let mut cargo = Command::new(cargo_program());
    let output =
        cargo.args(args).current_dir(root).stderr(Stdio::inherit()).output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("cargo check failed");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(parsed.map(|mut message| message["message"].take()).filter(is_reader).collect())
}

/// The places that read each key in product code; a read in a test does not count.
fn typed_readers(root: &Path, messages: &[Value]) -> Result<Readers> {
    let mut found = Readers::new();
    for message in messages {
        let Some((key, file, line)) = reader(message)? else { continue };
        if crate::source::is_product_line(root, &file, line)? {
            found.entry(key).or_default().insert(format!("{file}:{line}"));
        }
    }
    Ok(found)
}

/// The key, the file and the line of a read; `None` when the compiler message reports none.
fn reader(message: &Value) -> Result<Option<(String, String, usize)>> {
    if message["code"]["code"] != "deprecated" {
        return Ok(None);
    }
    let text = message["message"].as_str().unwrap_or_default();
    // use of deprecated field `wire::settings::keys::Settings::language`: language
    let Some((path, name)) = text.strip_prefix("use of deprecated field `").and_then(|rest| rest.split_once("`: "))
    else {
        return Ok(None);
    };
    let Some(object) = path.rsplit("::").nth(1).filter(|_| path.contains("settings::")) else { return Ok(None) };
    let Some((_, prefix)) = OBJECTS.iter().find(|(known, _)| *known == object) else {
        bail!("{object} is an object of settings that OBJECTS does not know");
    };
    let Some(span) = message["spans"].as_array().and_then(|spans| spans.iter().find(|span| span["is_primary"] == true))
    else {
        return Ok(None);
    };
    let file = span["file_name"].as_str().unwrap_or_default();
    if file.contains("crates/wire/") || is_write(&span["text"][0]) {
        return Ok(None);
    }
    let line = span["line_start"].as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
    Ok(Some((format!("{prefix}{name}"), file.to_owned(), line)))
}

/// `settings.key = …` and `Settings { key: … }` set the field and do not read it.
fn is_write(line: &Value) -> bool {
    let text = line["text"].as_str().unwrap_or_default();
    let end = line["highlight_end"].as_u64().and_then(|end| usize::try_from(end).ok()).unwrap_or(1);
    let after: String = text.chars().skip(end.saturating_sub(1)).collect();
    let after = after.trim_start();
    (after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>"))
        || (after.starts_with(':') && !after.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(line: &str, field: &str) -> Value {
        let at = line.find(field).unwrap_or_default();
        json!({"code": {"code": "deprecated"},
               "message": "use of deprecated field `wire::settings::keys::PermissionSettings::allow`: allow",
               "spans": [{"is_primary": true, "file_name": "crates/config/src/rules.rs", "line_start": 3,
                          "text": [{"text": line, "highlight_end": at + field.len() + 1}]}]})
    }

    // [F-B3]
    #[test]
    fn reads_are_told_from_writes() {
        let told = |line: &str| reader(&message(line, "allow")).ok().flatten().map(|(key, ..)| key);
        assert_eq!(told("for rule in &p.allow {").as_deref(), Some("permissions.allow"));
        assert_eq!(told("if p.allow == other {").as_deref(), Some("permissions.allow"));
        assert_eq!(told("p.allow = Vec::new();"), None);
        assert_eq!(told("PermissionSettings { allow: list, ..old }"), None);
    }
}
