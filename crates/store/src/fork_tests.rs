use super::*;
use crate::resume::{LoadOptions, load};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const OLD: &str = "11111111-2222-4333-8444-555555555555";
const NEW: &str = "99999999-2222-4333-8444-555555555555";

struct Files {
    _dir: tempfile::TempDir,
    source: PathBuf,
    dest: PathBuf,
}

fn files(text: &str) -> Files {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join(format!("{OLD}.jsonl"));
    std::fs::write(&source, text).unwrap();
    Files { dest: dir.path().join(format!("new/{NEW}.jsonl")), source, _dir: dir }
}

fn fork_text(text: &str, options: &LoadOptions) -> String {
    let files = files(text);
    fork(&load(&files.source, options).unwrap(), NEW, &files.dest).unwrap();
    assert_eq!(std::fs::read_to_string(&files.source).unwrap(), text);
    assert_eq!(files.dest.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::read_to_string(&files.dest).unwrap()
}

fn node(kind: &str, uuid: &str, parent: &str, extra: &str) -> String {
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{{"role":"{kind}","content":"sessionId"}},"uuid":"{uuid}","sessionId":"{OLD}","forward":{{"sessionId":"{OLD}"}}{extra}}}"#
    )
}

/// The line as the fork should contain it.
fn moved(line: &str, uuid: &str) -> String {
    let swapped = line.replacen(
        &format!(r#""uuid":"{uuid}","sessionId":"{OLD}""#),
        &format!(r#""uuid":"{uuid}","sessionId":"{NEW}""#),
        1,
    );
    let body = swapped.strip_suffix('}').unwrap();
    format!(r#"{body},"forkedFrom":{{"sessionId":"{OLD}","messageUuid":"{uuid}"}}}}"#)
}

// [CLI-16] [SDK-176] [TST-168]
#[test]
fn a_fork_keeps_the_conversation_and_what_it_does_not_know() {
    let lines = [
        node("user", "u1", "null", ""),
        r#"{"type":"worktree-state","worktreeSession":null,"sessionId":"x"}"#.into(),
        r#"{"type":"api-request-shape","x":1}"#.into(),
        r#"{"type":"from-the-future",  "spaced" : [1.50, "é"]}"#.into(),
        node("assistant", "a1", "\"u1\"", r#","newField":{"a":1}"#),
        node("user", "dead", "\"u1\"", ""),
        node("user", "u2", "\"a1\"", ""),
        format!(r#"{{"type":"custom-title","customTitle":"t","sessionId":"{OLD}"}}"#),
        "torn {".into(),
        format!(r#"{{"type":"last-prompt","leafUuid":"u2","sessionId":"{OLD}"}}"#),
    ];
    let text = lines.join("\n") + "\n";
    let forked = fork_text(&text, &LoadOptions::default());
    let expected = [
        moved(&lines[0], "u1"),
        lines[3].clone(),
        moved(&lines[4], "a1"),
        moved(&lines[6], "u2"),
        lines[7].replace(OLD, NEW),
        lines[9].replace(OLD, NEW),
    ];
    assert_eq!(forked.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_fork_loads_like_its_source() {
    let canonical = include_str!("../fixtures/canonical.jsonl");
    for count in [8, 12] {
        let text = canonical.lines().take(count).collect::<Vec<_>>().join("\n") + "\n";
        let files = files(&text);
        let source = load(&files.source, &LoadOptions::default()).unwrap();
        fork(&source, NEW, &files.dest).unwrap();
        let copy = load(&files.dest, &LoadOptions::default()).unwrap();
        assert_eq!(copy.session_id, NEW);
        let bodies =
            |l: &LoadedConversation| l.entries.iter().map(|e| (e.uuid.clone(), e.body.clone())).collect::<Vec<_>>();
        assert_eq!(bodies(&copy), bodies(&source));
        assert_eq!(copy.ai_title, source.ai_title);
        assert_eq!(copy.leaf_uuid, source.leaf_uuid);
        // [SDK-183]
        for line in std::fs::read_to_string(&files.dest).unwrap().lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        fork(&source, NEW, &files.dest).unwrap_err();
    }
}

#[test]
fn a_cut_fork_ends_at_the_cut() {
    let [first, second] = [node("user", "u1", "null", ""), node("assistant", "a1", "\"u1\"", "")];
    let text = [first, second, node("user", "u2", "\"a1\"", ""), r#"{"type":"later"}"#.into()].join("\n") + "\n";
    let forked = fork_text(&text, &LoadOptions { at: Some("a1".into()), ..LoadOptions::default() });
    assert_eq!(forked.lines().count(), 2);
}

#[test]
fn links_through_dropped_lines_are_closed() {
    let progress = r#"{"parentUuid":"u1","type":"progress","uuid":"p1","data":{}}"#;
    let text = format!("{}\n{progress}\n{}\n", node("user", "u1", "null", ""), node("assistant", "a1", "\"p1\"", ""));
    let forked = fork_text(&text, &LoadOptions::default());
    assert_eq!(forked.lines().count(), 2);
    assert!(forked.lines().nth(1).unwrap().starts_with(r#"{"parentUuid":"u1","#));
}

#[test]
fn a_fork_of_a_fork_names_its_own_source() {
    let extra = r#","forkedFrom":{"sessionId":"older","messageUuid":"o1"}"#;
    let forked = fork_text(&format!("{}\n", node("user", "u1", "null", extra)), &LoadOptions::default());
    assert!(forked.contains(&format!(r#""forkedFrom":{{"sessionId":"{OLD}","messageUuid":"u1"}}"#)), "{forked}");
    assert!(!forked.contains("older"));
}

proptest::proptest! {
    /// Foreign fields of any shape come through byte for byte. [TST-168]
    #[test]
    fn foreign_lines_are_kept_to_the_byte(key in "[a-z]{1,8}x", text in "\\PC{0,20}", number in proptest::num::f64::NORMAL, gap in " {0,3}") {
        let value = serde_json::json!({"t": text, "n": [number, null, true]}).to_string();
        let meta = format!(r#"{{"type":"x-{key}",{gap}"{key}":{gap}{value}}}"#);
        let tree = node("user", "u1", "null", &format!(r#","{key}":{gap}{value}"#));
        let forked = fork_text(&format!("{tree}\n{meta}\n"), &LoadOptions::default());
        let expected = [moved(&tree, "u1"), meta];
        proptest::prop_assert_eq!(forked.lines().collect::<Vec<_>>(), expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
