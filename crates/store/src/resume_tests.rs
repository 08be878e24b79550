use super::*;
use std::cell::Cell;

const EXAMPLES: &str = include_str!("../fixtures/canonical.jsonl");

pub(super) fn user(uuid: &str, parent: Option<&str>, text: &str) -> String {
    let parent = serde_json::to_string(&parent).unwrap();
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/r","sessionId":"S"}}"#
    )
}

pub(super) fn said(uuid: &str, parent: &str, message: &str, block: &str) -> String {
    format!(
        r#"{{"parentUuid":"{parent}","isSidechain":false,"message":{{"id":"{message}","role":"assistant","model":"m","content":[{block}]}},"type":"assistant","uuid":"{uuid}","cwd":"/r","sessionId":"S"}}"#
    )
}

pub(super) fn text(uuid: &str, parent: &str, message: &str) -> String {
    said(uuid, parent, message, r#"{"type":"text","text":"t"}"#)
}

pub(super) fn call(uuid: &str, parent: &str, message: &str, id: &str) -> String {
    said(uuid, parent, message, &format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#))
}

pub(super) fn result(uuid: &str, parent: &str, id: &str) -> String {
    format!(
        r#"{{"parentUuid":"{parent}","isSidechain":false,"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"ok"}}]}},"uuid":"{uuid}","toolUseResult":{{"stdout":"ok"}},"sessionId":"S"}}"#
    )
}

pub(super) fn boundary(uuid: &str, metadata: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"logicalParentUuid":"x","isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{metadata},"uuid":"{uuid}","sessionId":"S"}}"#
    )
}

pub(super) fn leaf(uuid: &str) -> String {
    format!(r#"{{"type":"last-prompt","lastPrompt":"p","leafUuid":"{uuid}","sessionId":"S"}}"#)
}

pub(super) fn file(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

pub(super) fn at(uuid: &str) -> LoadOptions {
    LoadOptions { at: Some(uuid.into()), ..LoadOptions::default() }
}

pub(super) fn load_text(text: &str) -> LoadedConversation {
    load_bytes(text.as_bytes(), &LoadOptions::default()).unwrap()
}

pub(super) fn uuids(loaded: &LoadedConversation) -> Vec<&str> {
    loaded.entries.iter().map(|e| &*e.uuid).collect()
}

pub(super) fn order(lines: &[String]) -> Vec<String> {
    uuids(&load_text(&file(lines))).into_iter().map(str::to_owned).collect()
}

// [TST-157]
#[test]
fn the_canonical_lines_load_from_the_boundary() {
    let loaded = load_text(EXAMPLES);
    assert_eq!(uuids(&loaded), ["b1", "u3"]);
    assert_eq!(loaded.leaf_uuid.as_deref(), Some("u3"));
    assert!(loaded.entries[1].is_compact_summary);
    let boundary = loaded.boundary.unwrap();
    assert_eq!(boundary.logical_parent.as_deref(), Some("u2"));
    assert_eq!(boundary.metadata.as_deref(), Some(r#"{"trigger":"manual","preTokens":180000}"#));
    assert_eq!(loaded.ai_title.as_deref(), Some("Repository listing"));
    assert_eq!(loaded.last_prompt.as_deref(), Some("list files"));
    assert_eq!(loaded.permission_mode.as_deref(), Some("default"));
    assert_eq!((loaded.session_id.as_str(), loaded.cwd.as_deref()), ("S", Some("/repo")));
    assert_eq!(loaded.skipped_lines, 0);
}

#[test]
fn before_compaction_the_whole_chain_is_live() {
    let before = EXAMPLES.lines().take(8).collect::<Vec<_>>().join("\n");
    let loaded = load_text(&before);
    assert_eq!(uuids(&loaded), ["u1", "a1", "a2", "u2"]);
    assert_eq!(loaded.model.as_deref(), Some("m"));
    assert_eq!(loaded.entries[0].body.as_deref(), Some(r#"{"role":"user","content":"list files"}"#));
    assert_eq!(loaded.entries[1].message_id.as_deref(), Some("msg_1"));
    assert!(loaded.entries[3].is_tool_result());
    assert_eq!(loaded.entries[3].message().unwrap().blocks().unwrap().len(), 1);
    assert!(loaded.sticky.iter().any(|l| l.starts_with(r#"{"type":"ai-title""#)));
}

/// Lines in the order of another program, with its housekeeping lines; contents are shortened.
#[test]
fn foreign_housekeeping_stands_outside_the_chain() {
    let note = |uuid: &str, parent: &str| {
        format!(
            r#"{{"parentUuid":"{parent}","isSidechain":false,"attachment":{{"type":"environment"}},"rendered":[{{"content":"x"}}],"type":"attachment","uuid":"{uuid}"}}"#
        )
    };
    let lines = [
        r#"{"type":"queue-operation","operation":"enqueue","timestamp":"t","sessionId":"S","content":"go"}"#.into(),
        user("u1", None, "go")
            .replace(r#""type":"user""#, r#""turnPosition":{"promptIndex":0},"slug":null,"type":"user""#),
        note("n1", "u1"),
        note("n2", "n1"),
        r#"{"type":"atis-latch","value":null}"#.into(),
        format!(r#"{{"type":"api-request-shape","tools":["{}"]}}"#, "x".repeat(100_000)),
        r#"{"type":"api-request","uuid":"q1","parentUuid":"n2"}"#.into(),
        call("a1", "n2", "m1", "t1").replace(r#""sessionId":"S""#, r#""sessionId":"S","session_id":"S","madeBy":{}"#),
        r#"{"type":"tools-used","tools":["Bash"]}"#.into(),
        result("r1", "a1", "t1"),
        text("a2", "r1", "m2"),
        note("n3", "a2"),
        leaf("a2"),
        r#"{"type":"cost-state","total":{"usd":0.1}}"#.into(),
    ];
    let loaded = load_text(&file(&lines));
    assert_eq!(uuids(&loaded), ["u1", "n1", "n2", "a1", "r1", "a2"]);
    assert_eq!(loaded.entries[1].body.as_deref(), Some(r#"{"type":"environment"}"#));
    assert_eq!(loaded.skipped_lines, 0);
}

// [TST-180] [TST-156]
#[test]
fn parallel_results_are_all_there_in_order() {
    let lines = [
        user("u1", None, "go"),
        text("a1", "u1", "m1"),
        call("a2", "a1", "m1", "t1"),
        call("a3", "a2", "m1", "t2"),
        call("a4", "a3", "m1", "t3"),
        result("r1", "a2", "t1"),
        result("r2", "a3", "t2"),
        result("r3", "a4", "t3"),
        text("a5", "r3", "m2"),
    ];
    assert_eq!(order(&lines), ["u1", "a1", "a2", "a3", "a4", "r1", "r2", "r3", "a5"]);
    // The process was killed after the first result: the unanswered calls stay visible.
    assert_eq!(order(&lines[..6]), ["u1", "a1", "a2", "a3", "a4", "r1"]);
    // The conversation continued from an earlier result.
    let mut other = lines.to_vec();
    other[8] = text("a5", "r1", "m2");
    assert_eq!(order(&other), ["u1", "a1", "a2", "a3", "a4", "r1", "r2", "r3", "a5"]);
}

#[test]
fn several_results_may_share_a_line_and_text_may_look_like_one() {
    let both = r#"{"parentUuid":"a2","type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"\"tool_use_id\":\"t9\"","tool_use_id":"t1"},{ "tool_use_id": "t2","type":"tool_result"}]},"uuid":"r1"}"#;
    let lines = [user("u1", None, "go"), call("a1", "u1", "m1", "t1"), call("a2", "a1", "m1", "t2"), both.into()];
    let loaded = load_text(&file(&lines));
    let ids: Vec<&str> = loaded.entries[3].calls.iter().map(|c| &**c).collect();
    assert_eq!(ids, ["t1", "t2"]);
}

#[test]
fn a_call_answered_twice_counts_once() {
    let lines = [
        user("u1", None, "go"),
        call("a1", "u1", "m1", "t1"),
        result("r1", "a1", "t1"),
        result("r2", "a1", "t1"),
        text("a2", "r2", "m2"),
    ];
    assert_eq!(order(&lines), ["u1", "a1", "r2", "a2"]);
}

// [TST-158]
#[test]
fn the_last_prompt_names_the_leaf_until_something_newer_is_said() {
    let mut lines =
        vec![user("u1", None, "a"), text("a1", "u1", "m1"), user("u2", Some("a1"), "b"), text("a2", "u2", "m2")];
    lines.push(leaf("a1"));
    assert_eq!(order(&lines), ["u1", "a1"]);
    // The rewound branch continues, and the process dies before it records the leaf.
    lines.push(user("u3", Some("a1"), "c"));
    assert_eq!(order(&lines), ["u1", "a1", "u3"]);
    // A copy of the old hint changes nothing.
    lines.push(leaf("a1"));
    assert_eq!(order(&lines), ["u1", "a1", "u3"]);
    lines.push(leaf("gone"));
    assert_eq!(order(&lines), ["u1", "a1", "u3"]);
}

#[test]
fn leaves_are_things_said_in_the_main_conversation() {
    let side = user("s1", Some("a1"), "side").replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let meta = user("m1", Some("a1"), "meta").replace(r#""type":"user""#, r#""isMeta":true,"type":"user""#);
    let team = user("t1", Some("a1"), "team").replace(r#""type":"user""#, r#""teamName":"x","type":"user""#);
    let system = r#"{"parentUuid":"a1","type":"system","subtype":"turn_duration","uuid":"d1"}"#.to_owned();
    let note = r#"{"parentUuid":"d1","type":"attachment","attachment":{"type":"date"},"uuid":"n1"}"#.to_owned();
    let lines = [user("u1", None, "a"), text("a1", "u1", "m1"), meta, team, system, note, side];
    assert_eq!(order(&lines), ["u1", "a1"]);
}

#[test]
fn an_attachment_named_as_leaf_is_kept() {
    let note = r#"{"parentUuid":"a1","type":"attachment","attachment":{"type":"structured_output"},"uuid":"n1"}"#;
    let time = r#"{"parentUuid":"n1","type":"system","subtype":"turn_duration","uuid":"d1"}"#;
    let lines = [user("u1", None, "a"), text("a1", "u1", "m1"), note.to_owned(), leaf("n1"), time.to_owned()];
    assert_eq!(order(&lines), ["u1", "a1", "n1"]);
}

// [TST-178] [TST-142]
#[test]
fn noise_is_stepped_over_and_gaps_are_bridged() {
    let lines = [
        user("u1", None, "a"),
        "{\"parentUuid\":\"u1\",\"type\":\"assis".to_owned(),
        "not json".to_owned(),
        String::new(),
        r#"{"type":"from-the-future","x":1}"#.to_owned(),
        "[1]".to_owned(),
        user("u2", Some("lost"), "b"),
        text("a2", "u2", "m2"),
    ];
    let mut text = file(&lines);
    text.push_str("{\"torn");
    let loaded = load_text(&text);
    assert_eq!(uuids(&loaded), ["u1", "u2", "a2"]);
    assert_eq!(loaded.skipped_lines, 4);
    let bad_utf8 = [text.as_bytes(), b"\n\xff\xfe\n"].concat();
    assert_eq!(uuids(&load_bytes(&bad_utf8, &LoadOptions::default()).unwrap()), ["u1", "u2", "a2"]);
}

// [F-C7]
#[test]
fn every_message_that_is_left_out_is_counted() {
    let lines = [
        user("u1", None, "a"),
        r#"{"type":5,"uuid":"x1","parentUuid":"u1","message":{"role":"user","content":"lost"}}"#.to_owned(),
        r#"{"uuid":"x2","message":{"role":"user","content":"lost"}}"#.to_owned(),
        r#"{"type":"user","message":{"role":"user","content":"no id"}}"#.to_owned(),
        r#"{"type":"user","uuid":"x3","parentUuid":"u1","message":7}"#.to_owned(),
        r#"{"type":"assistant","uuid":"x4","parentUuid":"u1","message":{"role":"assistant","content":null}}"#
            .to_owned(),
        r#"{"type":"attachment","uuid":"x5","parentUuid":"u1"}"#.to_owned(),
        r#"{"type":"queue-operation","operation":"enq"#.to_owned(),
        r#"{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content" : "fine"}}"#.to_owned(),
        text("a2", "u2", "m2"),
    ];
    let loaded = load_text(&file(&lines));
    assert_eq!(loaded.skipped_lines, 7);
    assert!(uuids(&loaded).ends_with(&["u2", "a2"]));
}

// [TST-178]
#[test]
fn rings_and_repeats_end() {
    let ring = [user("u1", Some("a1"), "a"), text("a1", "u1", "m1")];
    assert_eq!(order(&ring), ["u1", "a1"]);
    let own = [user("u1", Some("u1"), "a"), text("a1", "u1", "m1")];
    assert_eq!(order(&own), ["u1", "a1"]);
    let twice = [user("u1", None, "old"), text("a1", "u1", "m1"), user("u1", None, "new"), text("a2", "u1", "m2")];
    let loaded = load_text(&file(&twice));
    assert_eq!(uuids(&loaded), ["u1", "a2"]);
    assert!(loaded.entries[0].body.as_deref().unwrap().contains("new"));
}

// [TST-157] [SDK-169]
#[test]
fn kept_messages_follow_the_summary() {
    let old = [user("u1", None, "a"), text("a1", "u1", "m1"), user("u2", Some("a1"), "b"), text("a2", "u2", "m2")];
    let listed = r#"{"trigger":"auto","preservedMessages":{"anchorUuid":"s1","uuids":["u2","a2"]}}"#;
    let segment = r#"{"trigger":"auto","preservedSegment":{"headUuid":"u2","anchorUuid":"s1","tailUuid":"a2"}}"#;
    for metadata in [listed, segment] {
        let mut lines = old.to_vec();
        lines.extend([boundary("b1", metadata), user("s1", Some("b1"), "summary")]);
        assert_eq!(order(&lines), ["b1", "s1", "u2", "a2"], "{metadata}");
        // The next prompt may follow the summary or the last kept message.
        for parent in ["s1", "a2"] {
            let mut lines = lines.clone();
            lines.extend([user("u3", Some(parent), "c"), text("a3", "u3", "m3")]);
            assert_eq!(order(&lines), ["b1", "s1", "u2", "a2", "u3", "a3"], "{metadata} {parent}");
        }
    }
    let lost = r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["nowhere","a2"]}}"#;
    let mut lines = old.to_vec();
    lines.extend([boundary("b1", lost), user("s1", Some("b1"), "summary")]);
    assert_eq!(order(&lines), ["b1", "s1", "a2"]);
}

#[test]
fn a_rewind_to_before_the_compaction_goes_back_there() {
    let lines = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        boundary("b1", "{}"),
        user("s1", Some("b1"), "summary"),
        user("u3", Some("a1"), "again"),
    ];
    assert_eq!(order(&lines), ["u1", "a1", "u3"]);
}

// [SDK-178]
#[test]
fn resuming_at_an_entry_cuts_after_it() {
    let lines = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        call("a2", "a1", "m1", "t1"),
        result("r1", "a2", "t1"),
        text("a3", "r1", "m2"),
        leaf("a3"),
    ];
    let bytes = file(&lines);
    let load_at = |uuid: &str| load_bytes(bytes.as_bytes(), &at(uuid));
    assert_eq!(uuids(&load_at("a1").unwrap()), ["u1", "a1"]);
    assert_eq!(uuids(&load_at("r1").unwrap()), ["u1", "a1", "a2", "r1"]);
    let error = load_at("nope").unwrap_err();
    assert!(matches!(error, StoreError::UnknownEntry { .. }), "{error}");
}

// [SDK-178]
#[test]
fn only_the_named_turn_may_be_dropped() {
    let lines = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        user("u2", Some("a1"), "b"),
        call("a2", "u2", "m2", "t1"),
        result("r1", "a2", "t1"),
        user("u3", Some("r1"), "c"),
        text("a3", "u3", "m3"),
    ];
    let try_drop = |count: usize, uuid: &str, turn: &str| {
        let options = LoadOptions { drops_turn: Some(turn.into()), ..at(uuid) };
        load_bytes(file(&lines[..count]).as_bytes(), &options)
    };
    assert_eq!(uuids(&try_drop(5, "a1", "u2").unwrap()), ["u1", "a1"]);
    assert_eq!(uuids(&try_drop(7, "r1", "u3").unwrap()), ["u1", "a1", "u2", "a2", "r1"]);
    for (count, uuid, turn) in [(7, "a1", "u2"), (7, "a1", "u3"), (5, "u1", "u2"), (5, "a1", "nope"), (5, "a1", "")] {
        let error = try_drop(count, uuid, turn).unwrap_err().to_string();
        assert!(error.starts_with("Resume rejected by --resume-drops-turn:"), "{error}");
    }
}

#[test]
fn replacements_come_in_file_order() {
    let line = |id: &str| {
        format!(
            r#"{{"type":"content-replacement","replacements":[{{"kind":"k","toolUseId":"{id}","replacement":"short"}},{{"odd":1}}],"sessionId":"S"}}"#
        )
    };
    let loaded = load_text(&file(&[user("u1", None, "a"), line("t1"), line("t2")]));
    let ids: Vec<&str> = loaded.replacements.iter().map(|r| r.tool_use_id.as_str()).collect();
    assert_eq!(ids, ["t1", "t2"]);
}

#[test]
fn a_file_without_messages_is_empty() {
    for text in ["", "\n", "{\"type\":\"mode\",\"mode\":\"normal\"}\n", "noise"] {
        let error = load_bytes(text.as_bytes(), &LoadOptions::default()).unwrap_err();
        assert!(matches!(error, StoreError::Empty { .. }), "{text:?}");
    }
}

#[test]
fn subagent_files_are_side_chains() {
    let lines = [user("u1", None, "a"), text("a1", "u1", "m1")];
    let text = file(&lines).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let options = LoadOptions { sidechain: true, ..LoadOptions::default() };
    assert_eq!(uuids(&load_bytes(text.as_bytes(), &options).unwrap()), ["u1", "a1"]);
    load_bytes(text.as_bytes(), &LoadOptions::default()).unwrap_err();
}

/// Counts the bytes that are read.
pub(super) struct Counting<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) read: Cell<u64>,
}

impl ReadAt for Counting<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read.set(self.read.get() + buffer.len() as u64);
        self.bytes.read_at(buffer, offset)
    }
}

pub(super) fn long_file(turns: usize, filler: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for n in 0..turns {
        let parent = n.checked_sub(1).map(|p| format!("a{p}"));
        lines.push(user(&format!("u{n}"), parent.as_deref(), &"x".repeat(filler)));
        lines.push(text(&format!("a{n}"), &format!("u{n}"), &format!("m{n}")));
    }
    lines
}

// [TST-150]
#[test]
fn a_boundary_near_the_end_spares_the_rest_of_the_file() {
    let mut lines = long_file(2000, 10_000);
    lines.push(boundary("b1", r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["u1999","a1999"]}}"#));
    lines.push(user("s1", Some("b1"), "summary"));
    for n in 0..20 {
        let parent = if n == 0 { "a1999".to_owned() } else { format!("y{}", n - 1) };
        lines.push(user(&format!("x{n}"), Some(&parent), &"y".repeat(10_000)));
        lines.push(text(&format!("y{n}"), &format!("x{n}"), &format!("n{n}")));
    }
    let text = file(&lines);
    let source = Counting { bytes: text.as_bytes(), read: Cell::new(0) };
    let loaded = load_from(&source, text.len() as u64, Path::new(""), &LoadOptions::default()).unwrap();
    assert_eq!(loaded.entries.len(), 2 + 2 + 40);
    assert_eq!(loaded.cwd.as_deref(), Some("/r"));
    let live = 200_000;
    assert!(source.read.get() < 3 * live + (256 << 10), "read {} of {}", source.read.get(), text.len());
}

#[test]
fn without_a_boundary_the_file_is_read_once_and_bodies_again() {
    let text = file(&long_file(300, 10_000));
    let source = Counting { bytes: text.as_bytes(), read: Cell::new(0) };
    let loaded = load_from(&source, text.len() as u64, Path::new(""), &LoadOptions::default()).unwrap();
    assert_eq!(loaded.entries.len(), 600);
    assert!(source.read.get() <= 2 * text.len() as u64);
}

#[test]
fn the_whole_line_can_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("11111111-2222-4333-8444-555555555555.jsonl");
    let lines = [user("u1", None, "a"), call("a1", "u1", "m1", "t1"), result("r1", "a1", "t1")];
    std::fs::write(&path, file(&lines)).unwrap();
    let loaded = load(&path, &LoadOptions::default()).unwrap();
    assert_eq!(loaded.session_id, "11111111-2222-4333-8444-555555555555");
    assert_eq!(loaded.raw_line(&loaded.entries[2]).unwrap(), lines[2]);
    assert!(matches!(load(&dir.path().join("no"), &LoadOptions::default()), Err(StoreError::Read { .. })));
}

proptest::proptest! {
    /// Whatever lines are lost, doubled or torn, loading ends and returns each entry once.
    #[test]
    fn damage_never_breaks_loading(picks in proptest::collection::vec((0_usize..12, 0_usize..400), 0..30)) {
        let all = [
            user("u1", None, "a"), call("a1", "u1", "m1", "t1"), call("a2", "a1", "m1", "t2"), result("r1", "a1", "t1"),
            result("r2", "a2", "t2"), text("a3", "r2", "m2"), boundary("b1", r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["r2","a3"]}}"#),
            user("s1", Some("b1"), "s"), user("u4", Some("a3"), "d"), leaf("u4"), leaf("r1"), user("u1", Some("u4"), "e"),
        ];
        let mut text = String::new();
        for (line, cut) in picks {
            text.push_str(&all[line][..cut.min(all[line].len())]);
            text.push('\n');
        }
        if let Ok(loaded) = load_bytes(text.as_bytes(), &LoadOptions::default()) {
            let mut seen = uuids(&loaded);
            let count = seen.len();
            proptest::prop_assert!(count > 0);
            seen.sort_unstable();
            seen.dedup();
            proptest::prop_assert_eq!(seen.len(), count);
        }
    }
}
