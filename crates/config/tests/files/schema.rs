//! The shipped schema and the reference table match the types, and real files fit the schema.

#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use wire::settings::{KeyScope, KeyShape, SettingKey, Settings, schema};

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares the file with `expected`, or writes it when `UPDATE_EXPECTED=1`.
fn same(name: &str, expected: &str) {
    let path = docs(name);
    if sys::Env::snapshot().is_on("UPDATE_EXPECTED") {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/{name} is out of date: run this test with UPDATE_EXPECTED=1");
}

#[test]
fn the_shipped_schema_is_current() {
    // [CLI-100]
    same("settings.schema.json", &format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap()));
}

#[test]
fn the_reference_lists_every_key() {
    let text = std::fs::read_to_string(docs("settings.md")).unwrap();
    let (head, rest) = text.split_once("<!-- keys -->\n").unwrap();
    let (_, tail) = rest.split_once("<!-- /keys -->").unwrap();
    let mut table = "| Key | Takes | Read from | Meaning |\n|---|---|---|---|\n".to_owned();
    rows(Settings::KEYS, "", &mut table);
    same("settings.md", &format!("{head}<!-- keys -->\n{table}<!-- /keys -->{tail}"));
}

fn rows(keys: &[SettingKey], prefix: &str, out: &mut String) {
    for key in keys {
        let name = format!("{prefix}{}", key.name);
        if let KeyShape::Object(inner) = key.shape {
            rows(inner, &format!("{name}."), out);
            continue;
        }
        let scope = match key.scope {
            KeyScope::Any => "any file",
            KeyScope::UserLocalManaged => "user, local, managed",
            KeyScope::UserManaged => "user, managed",
            KeyScope::Managed => "managed",
        };
        writeln!(out, "| `{name}` | {} | {scope} | {} |", takes(&key.shape), key.doc.trim()).unwrap();
    }
}

fn takes(shape: &KeyShape) -> String {
    match shape {
        KeyShape::Bool => "true or false".into(),
        KeyShape::Text => "text".into(),
        KeyShape::TextOrOff => "text or false".into(),
        KeyShape::OneOf(choices) => choices.join(", "),
        KeyShape::Integer { .. } | KeyShape::Number { .. } => "number".into(),
        KeyShape::List(_) => "list".into(),
        KeyShape::Map(_) | KeyShape::Object(_) => "object".into(),
        KeyShape::Any => "JSON".into(),
    }
}

// [F-B3]
#[test]
fn real_files_fit_and_wrong_ones_do_not() {
    let validator = wire::json_schema::Schema::compile(&schema()).unwrap();
    let team = json!({
        "$schema": "https://example.com/settings.json", "model": "opus", "cleanupPeriodDays": 20, "env": {"A": "b"},
        "permissions": {"allow": ["Bash(npm run lint)", "Read(~/.zshrc)"], "deny": ["Read(./.env)"], "defaultMode": "acceptEdits"},
        "hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt", "timeout": 5}]}]},
        "statusLine": {"type": "command", "command": "s", "padding": 0}, "includeCoAuthoredBy": false,
        "sandbox": {"enabled": true, "network": {"allowedDomains": ["*.example.com"]}},
        "enabledPlugins": {"a@b": true}, "extraKnownMarketplaces": {"b": {"source": {"source": "github", "repo": "x/y"}}},
        "forceLoginOrgUUID": "one", "unknownKey": {"kept": true}
    });
    assert!(validator.is_valid(&team), "{:?}", validator.faults(&team, 5));
    for wrong in [
        json!({"model": 5}),
        json!({"permissions": {"allow": [1]}}),
        json!({"permissions": {"defaultMode": "yolo"}}),
        json!({"cleanupPeriodDays": 0}),
        json!({"hooks": {"Stop": [{}]}}),
        json!({"env": []}),
        // A key that grants something needs a list, as in the reader of settings files.
        json!({"permissions": {"allow": "Bash"}}),
        json!({"permissions": {"additionalDirectories": "/"}}),
        json!({"sandbox": {"excludedCommands": "docker *"}}),
        json!({"sandbox": {"network": {"allowedDomains": "*"}}}),
        json!({"sandbox": {"ignoreViolations": {"npm": "network"}}}),
        json!({"enabledMcpjsonServers": "theirs"}),
        json!({"httpHookAllowedEnvVars": "TOKEN"}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}
