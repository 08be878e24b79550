use super::*;

fn decode(text: &str) -> (Layer, Vec<Diagnostic>) {
    let origin = Origin { source: Source::User, path: Some("/h/settings.json".into()), root: "/h".into() };
    let mut diagnostics = Vec::new();
    let layer = Layer::decode(origin, parse_object(text).unwrap(), &mut diagnostics);
    (layer, diagnostics)
}

#[test]
fn one_bad_key_does_not_spoil_the_file() {
    // [CLI-75]
    let (layer, diagnostics) = decode(
        r#"{"model": 5, "effortLevel": "high", "env": {"A": "b", "N": 3, "X": []}, "permissions": {"allow": ["Read", 7], "deny": "Bash", "ask": {}}}"#,
    );
    assert_eq!(layer.settings.model, None);
    assert_eq!(layer.settings.effort_level.as_deref(), Some("high"));
    assert_eq!(layer.settings.env.get("N").map(String::as_str), Some("3"));
    assert_eq!(layer.settings.permissions.allow, ["Read"]);
    assert_eq!(layer.settings.permissions.deny, ["Bash"]);
    let messages: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert!(messages[0].starts_with("/h/settings.json: model has the wrong type"), "{}", messages[0]);
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
    assert_eq!(layer.settings.permissions.deny, ["A", "B"]);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn retention_of_zero_days_is_refused() {
    // [CLI-98]
    let (layer, diagnostics) = decode(r#"{"cleanupPeriodDays": 0}"#);
    assert_eq!(layer.settings.cleanup_period_days, None);
    assert_eq!(diagnostics.len(), 1);
}
