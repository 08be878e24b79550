use super::*;

fn decode(text: &str) -> (SettingsLayer, Vec<Diagnostic>) {
    let origin = LayerOrigin { source: SettingsSource::User, path: Some("/h/settings.json".into()), root: "/h".into() };
    let mut diagnostics = Vec::new();
    let layer = SettingsLayer::decode(origin, parse_object(text).unwrap(), &mut diagnostics);
    (layer, diagnostics)
}

#[test]
fn one_bad_key_does_not_spoil_the_file() {
    // [CLI-75]
    let (layer, diagnostics) = decode(
        r#"{"model": 5, "effortLevel": "high", "env": {"A": "b", "N": 3, "X": []}, "permissions": {"allow": ["Read", 7], "deny": "Bash", "ask": {}}}"#,
    );
    let settings = layer.settings();
    assert_eq!(settings.model, None);
    assert_eq!(layer.settings().effort_level.as_deref(), Some("high"));
    assert_eq!(layer.settings().env.get("N").map(String::as_str), Some("3"));
    assert_eq!(layer.settings().permissions.allow, ["Read"]);
    assert_eq!(layer.settings().permissions.deny, ["Bash"]);
    let messages: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert_eq!(messages[0], "/h/settings.json:1: model must be a string; it is ignored");
    assert!(messages[2].contains("permissions.allow[1]"), "{}", messages[2]);
    assert!(messages[3].contains("permissions.ask"), "{}", messages[3]);
}

#[test]
fn comments_are_accepted_and_errors_have_lines() {
    assert!(parse_object("{\n // note\n \"a\": 1, /* x */\n}").is_ok());
    assert!(parse_object("").unwrap().object.is_empty());
    let (line, message) = parse_object("{\n\"a\": 1,\n\"b\" 2\n}").unwrap_err();
    assert_eq!(line, Some(3));
    assert!(message.contains("not valid JSON"), "{message}");
    assert!(parse_object("[1]").is_err());
    assert!(parse_object("{'a': 1}").is_err());
}

#[test]
fn a_repeated_key_keeps_every_deny() {
    // SC-D19
    let (layer, diagnostics) =
        decode(r#"{"permissions": {"deny": ["A"]}, "permissions": {"deny": ["B"]}, "model": "x"}"#);
    assert_eq!(layer.settings().permissions.deny, ["A", "B"]);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn retention_of_zero_days_is_refused() {
    // [CLI-98]
    let (layer, diagnostics) = decode(r#"{"cleanupPeriodDays": 0}"#);
    assert_eq!(layer.settings().cleanup_period_days, None);
    let [diagnostic] = &diagnostics[..] else { panic!("{diagnostics:?}") };
    assert_eq!((diagnostic.line, diagnostic.key.as_deref()), (Some(1), Some("cleanupPeriodDays")));
    assert!(diagnostic.message.contains("at least 1"), "{}", diagnostic.message);
    let (layer, diagnostics) = decode(r#"{"cleanupPeriodDays": 1}"#);
    assert_eq!(layer.settings().cleanup_period_days, Some(1));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
}

#[test]
fn problems_name_their_line_and_key() {
    let text = "{\n  \"model\": \"a\",\n  \"permissions\": {\n    \"allow\": [\n      \"Read\",\n      5\n    ]\n  },\n  \"hooks\": {\n    \"Nope\": []\n  },\n  \"allowManagedHooksOnly\": true,\n  \"diffTool\": 1\n}";
    let (layer, diagnostics) = decode(text);
    let mut found: Vec<_> = diagnostics.iter().map(|d| (d.line, d.key.clone().unwrap())).collect();
    found.sort();
    let expected = [(6, "permissions.allow[1]"), (10, "hooks.Nope"), (12, "allowManagedHooksOnly"), (13, "diffTool")];
    assert_eq!(found, expected.map(|(line, key)| (Some(line), key.to_owned())));
    // [CLI-90]
    assert_eq!(layer.settings().allow_managed_hooks_only, None);
    assert_eq!(layer.line(&["permissions", "allow"], Some(0)), Some(5));
}

#[test]
fn broken_policy_fails_closed() {
    // [CLI-88]
    let origin = LayerOrigin { source: SettingsSource::Managed, path: Some("/m.json".into()), root: "/".into() };
    let text = r#"{"allowManagedHooksOnly": "yes", "allowManagedMcpServersOnly": 1, "disableCommandPluginSources": 0,
        "enforceAvailableModels": "x", "availableModels": 5, "allowedMcpServers": "a", "forceLoginOrgUUID": [3],
        "requiredMinimumVersion": 5, "deniedMcpServers": [{"serverName": "x"}]}"#;
    let mut diagnostics = Vec::new();
    let settings = SettingsLayer::decode(origin, parse_object(text).unwrap(), &mut diagnostics).settings();
    let on = [
        settings.allow_managed_hooks_only,
        settings.allow_managed_mcp_servers_only,
        settings.disable_command_plugin_sources,
        settings.enforce_available_models,
    ];
    assert_eq!(on, [Some(true); 4]);
    assert_eq!(settings.available_models, Some(Vec::new()));
    assert_eq!(settings.allowed_mcp_servers, Some(Vec::new()));
    assert_eq!(settings.force_login_org_uuid, Some(Vec::new()));
    assert_eq!(settings.required_minimum_version, None, "version bounds fail open");
    assert_eq!(settings.denied_mcp_servers.len(), 1);
    assert_eq!(diagnostics.len(), 8);
}
