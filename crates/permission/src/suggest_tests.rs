use super::*;

#[test]
#[rustfmt::skip]
fn credentials_are_recognised() {
    // [CLI-180]
    for text in [
        "curl -H 'Authorization: x'", "x --token abc", "deploy sk-ant-abc", "git clone https://u:p@host/x", "x AKIAABCDEFGHIJKLMNOP",
        "x 0123456789abcdef0123456789abcdef", "PASSWORD=x y",
    ] {
        assert!(looks_secret(text), "{text}");
    }
    for text in ["npm test", "git commit -m message", "cargo test -p gimlet-permission", "curl https://example.com/a/b"] {
        assert!(!looks_secret(text), "{text}");
    }
}

#[test]
fn the_wire_shape_is_the_protocols() {
    // SDK 11.4
    let rules = vec![("Bash".into(), Some("npm test *".into()))];
    let save = RuleSuggestion::AddRules { rules, destination: SuggestionDestination::LocalSettings };
    assert_eq!(
        save.to_json().to_string(),
        r#"{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test *"}],"behavior":"allow","destination":"localSettings"}"#
    );
    let mode =
        RuleSuggestion::SetMode { mode: PermissionMode::AcceptEdits, destination: SuggestionDestination::Session };
    assert_eq!(mode.to_json().to_string(), r#"{"type":"setMode","mode":"acceptEdits","destination":"session"}"#);
}
