//! Which lines of a file make the conversation, which values count, and what is said about the rest.

use super::tests::{at, boundary, call, file, leaf, load_text, long_file, order, result, said, text, user, uuids};
use super::*;

fn with(line: &str, field: &str) -> String {
    let at = line.rfind(r#""uuid""#).unwrap();
    format!("{}{field},{}", &line[..at], &line[at..])
}

fn on_disk(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("11111111-2222-4333-8444-555555555555.jsonl");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

/// What is said about a file in which the lines of these numbers cannot be read.
fn complaint(bad: &[usize]) -> Option<String> {
    let mut lines = Vec::new();
    let mut good: Vec<String> = long_file(10, 5);
    good.reverse();
    for number in 1..=12 {
        lines.push(if bad.contains(&number) { "not json".to_owned() } else { good.pop().unwrap() });
    }
    let (_dir, path) = on_disk(&file(&lines));
    let loaded = load(&path, &LoadOptions::default()).unwrap();
    let said = loaded.unreadable_lines()?;
    let (start, end) = said.split_once(&format!(" of {} ", path.display())).unwrap();
    Some(format!("{start}: {end}"))
}

// [F-C7]
#[test]
fn lines_that_cannot_be_read_are_named_by_number() {
    assert_eq!(complaint(&[]), None);
    let end = "left out of the conversation; the file was not changed.";
    assert_eq!(complaint(&[2]).unwrap(), format!("Warning: line 2: could not be read and is {end}"));
    assert_eq!(complaint(&[3, 12]).unwrap(), format!("Warning: lines 3, 12: could not be read and are {end}"));
    assert_eq!(
        complaint(&[2, 4, 6, 8, 10]).unwrap(),
        format!("Warning: lines 2, 4, 6, 8, 10: could not be read and are {end}")
    );
    // The newest five are named.
    assert_eq!(
        complaint(&[2, 4, 6, 8, 9, 10, 11]).unwrap(),
        format!("Warning: lines 6, 8, 9, 10, 11 and 2 more: could not be read and are {end}")
    );
}

/// Without the file the lines are counted only.
#[test]
fn lines_of_a_file_that_is_gone_are_counted() {
    for (bad, expected) in [("{\n", "Warning: 1 line of"), ("{\n[\n", "Warning: 2 lines of")] {
        let (dir, path) = on_disk(&format!("{}{bad}", file(&long_file(4, 2))));
        let loaded = load(&path, &LoadOptions::default()).unwrap();
        drop(dir);
        let said = loaded.unreadable_lines().unwrap();
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn results_are_told_from_prompts_and_calls() {
    let loaded = load_text(&file(&[
        user("u1", None, "a"),
        call("a1", "u1", "m1", "t1"),
        result("r1", "a1", "t1"),
        text("a2", "r1", "m2"),
    ]));
    let results: Vec<bool> = loaded.entries.iter().map(LoadedEntry::is_tool_result).collect();
    assert_eq!(results, [false, false, true, false]);
}

#[test]
fn the_weight_is_that_of_the_last_answer_with_usage() {
    let answer = |uuid: &str, usage: &str, more: &str| {
        format!(
            r#"{{"isSidechain":false,{more}"message":{{"role":"assistant","content":[],"usage":{usage}}},"type":"assistant","uuid":"{uuid}","timestamp":"2026-01-01T00:00:01.000Z"}}"#
        )
    };
    let usage = |input| {
        format!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":4000}}"#
        )
    };
    let weigh = |lines: &[String]| {
        let (_dir, path) = on_disk(&file(lines));
        weight(&path)
    };
    assert_eq!(weight(Path::new("/nowhere.jsonl")), None);
    let after = [
        user("u2", Some("a1"), "b"),
        answer("a2", r#"{"input_tokens":0}"#, ""),
        answer("a3", &usage(2), r#""isMeta":true,"#),
        text("a4", "a1", "m4"),
        "noise".to_owned(),
    ];
    let lines: Vec<String> =
        [answer("a0", &usage(9), ""), answer("a1", &usage(1), "")].into_iter().chain(after).collect();
    let found = weigh(&lines).unwrap();
    assert_eq!(found.tokens, 4321);
    assert_eq!(Some(found.last_at), sys::clock::parse_iso("2026-01-01T00:00:01.000Z"));
    assert_eq!(weigh(&[user("u1", None, "a")]), None);
    // Far from the end nobody looks.
    let mut long = vec![answer("a1", &usage(1), "")];
    long.extend(long_file(150, 10_000));
    assert_eq!(weigh(&long), None);
    long.truncate(20);
    assert!(weigh(&long).is_some());
}

/// Titles and modes written at the start of a long file, of which only the end is read.
#[test]
fn values_that_only_the_start_of_a_long_file_has_are_found() {
    let start = [
        r#"{"type":"custom-title","customTitle":"named","sessionId":"S"}"#.to_owned(),
        r#"{"type":"ai-title","aiTitle":"first","sessionId":"S"}"#.to_owned(),
        r#"{"type":"permission-mode","permissionMode":"plan","sessionId":"S"}"#.to_owned(),
        user("u", None, "a").replace(r#""cwd":"/r""#, r#""cwd":"/start","entrypoint":"cli""#),
    ];
    let mut lines = start.to_vec();
    lines.extend(long_file(100, 10_000));
    lines.extend([boundary("b1", "{}"), user("s1", Some("b1"), "summary")]);
    let early = load_text(&file(&lines));
    assert_eq!(uuids(&early), ["b1", "s1"]);
    assert_eq!((early.custom_title.as_deref(), early.ai_title.as_deref()), (Some("named"), Some("first")));
    assert_eq!(early.permission_mode.as_deref(), Some("plan"));
    assert_eq!((early.cwd.as_deref(), early.entrypoint.as_deref()), (Some("/start"), Some("cli")));
    assert_eq!(early.sticky.iter().filter(|line| line.contains("custom-title")).count(), 1);
    // What the end says is newer, but for where the session began.
    lines.extend([
        r#"{"type":"custom-title","customTitle":"renamed","sessionId":"S"}"#.to_owned(),
        r#"{"type":"ai-title","aiTitle":"second","sessionId":"S"}"#.to_owned(),
        r#"{"type":"permission-mode","permissionMode":"default","sessionId":"S"}"#.to_owned(),
    ]);
    let late = load_text(&file(&lines));
    assert_eq!((late.custom_title.as_deref(), late.ai_title.as_deref()), (Some("renamed"), Some("second")));
    assert_eq!((late.permission_mode.as_deref(), late.cwd.as_deref()), (Some("default"), Some("/start")));
    let titles: Vec<&str> =
        late.sticky.iter().map(|line| &**line).filter(|line| line.contains("custom-title")).collect();
    assert_eq!(titles, [r#"{"type":"custom-title","customTitle":"renamed","sessionId":"S"}"#]);
}

// [SDK-178]
#[test]
fn a_turn_holds_everything_up_to_the_next_prompt() {
    let prompt =
        |uuid: &str, parent: &str, id: &str| with(&user(uuid, Some(parent), "b"), &format!(r#""promptId":"{id}""#));
    let lines = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        prompt("u2", "a1", "p2"),
        call("a2", "u2", "m2", "t1"),
        result("r1", "a2", "t1"),
        with(&user("n1", Some("r1"), "a note"), r#""isMeta":true"#),
        prompt("u3", "n1", "p2"),
        with(&user("c1", Some("u3"), "a summary"), r#""isCompactSummary":true"#),
        text("a3", "c1", "m3"),
        prompt("u4", "a3", "p4"),
        text("a4", "u4", "m4"),
    ];
    let try_drop = |count: usize, turn: &str| {
        let options = LoadOptions { drops_turn: Some(turn.into()), ..at("a1") };
        load_bytes(file(&lines[..count]).as_bytes(), &options)
    };
    for count in 3..=9 {
        assert_eq!(uuids(&try_drop(count, "u2").unwrap()), ["u1", "a1"], "{count}");
    }
    for count in 10..=11 {
        let error = try_drop(count, "u2").unwrap_err().to_string();
        assert!(error.contains("entry u4 would be dropped"), "{error}");
    }
}

#[test]
fn the_model_is_that_of_the_last_answer_that_a_model_wrote() {
    let by = |uuid: &str, parent: &str, model: &str| {
        text(uuid, parent, uuid).replace(r#""model":"m""#, &format!(r#""model":"{model}""#))
    };
    let lines = [user("u1", None, "a"), by("a1", "u1", "old"), by("a2", "a1", "new"), by("a3", "a2", "<synthetic>")];
    assert_eq!(load_text(&file(&lines)).model.as_deref(), Some("new"));
    assert_eq!(load_text(&file(&lines[..2])).model.as_deref(), Some("old"));
    assert_eq!(load_text(&file(&lines[..1])).model, None);
}

#[test]
fn the_position_is_that_of_the_newest_prompt() {
    let prompt = |uuid: &str, parent: Option<&str>, more: &str| with(&user(uuid, parent, "a"), more);
    let placed = |n: u32| format!(r#""permissionMode":"default","turnPosition":{{"promptIndex":{n},"turnIndex":{n}}}"#);
    let position = |lines: &[String]| load_text(&file(lines)).position;
    let one = [prompt("u1", None, &placed(1))];
    let first = position(&one);
    assert!(first.is_some());
    let mut two = vec![one[0].clone(), text("a1", "u1", "m1"), prompt("u2", Some("a1"), &placed(2))];
    let second = position(&two);
    assert!(second.is_some() && second != first);
    // A result is no prompt; a prompt without a position has none.
    two.extend([call("a2", "u2", "m2", "t1"), result("r1", "a2", "t1")]);
    assert_eq!(position(&two), second);
    two.push(prompt("u3", Some("r1"), r#""permissionMode":"default""#));
    assert_eq!(position(&two), None);
}

#[test]
fn blank_lines_are_no_loss_and_lines_of_other_chains_are_not_counted() {
    let side = r#"{"type":"user","isSidechain":true,"message":{"role":"user","content":"no id"}}"#.to_owned();
    let lines = [user("u1", None, "a"), "  \t".to_owned(), String::new(), side, text("a1", "u1", "m1")];
    assert_eq!(load_text(&file(&lines)).skipped_lines, 0);
    let options = LoadOptions { sidechain: true, ..LoadOptions::default() };
    let text = file(&lines).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    assert_eq!(load_bytes(text.as_bytes(), &options).unwrap().skipped_lines, 1);
}

#[test]
fn calls_and_results_beside_the_path_are_those_of_its_responses() {
    // Another branch has responses, calls and results of its own.
    let lines = [
        user("u1", None, "go"),
        call("x1", "u1", "m9", "t9"),
        result("y1", "x1", "t9"),
        call("a1", "u1", "m1", "t1"),
        call("a2", "a1", "m1", "t2"),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        text("a3", "r2", "m2"),
    ];
    assert_eq!(order(&lines), ["u1", "a1", "a2", "r1", "r2", "a3"]);
    // Results come in the order of the file, wherever the path goes through them.
    let mut other = lines.to_vec();
    other[7] = text("a3", "r1", "m2");
    assert_eq!(order(&other), ["u1", "a1", "a2", "r1", "r2", "a3"]);
    // A line of the response that comes before those on the path stays before them.
    let first = [
        user("u1", None, "go"),
        text("a0", "u1", "m1"),
        call("a1", "u1", "m1", "t1"),
        result("r1", "a1", "t1"),
        text("a2", "r1", "m2"),
    ];
    assert_eq!(order(&first), ["u1", "a0", "a1", "r1", "a2"]);
}

// [SDK-178]
#[test]
fn a_cut_conversation_has_nothing_newer_beside_it() {
    let lines = [
        user("u1", None, "go"),
        call("a1", "u1", "m1", "t1"),
        call("a2", "a1", "m1", "t2"),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        text("a3", "r2", "m2"),
    ];
    let cut = |uuid: &str| {
        let loaded = load_bytes(file(&lines).as_bytes(), &at(uuid)).unwrap();
        uuids(&loaded).join(" ")
    };
    assert_eq!(cut("a1"), "u1 a1");
    assert_eq!(cut("a2"), "u1 a1 a2");
    assert_eq!(cut("r1"), "u1 a1 a2 r1");
    assert_eq!(cut("r2"), "u1 a1 a2 r1 r2");
}

// [TST-157]
#[test]
fn kept_messages_far_from_the_end_are_found() {
    let kept = [
        r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["u3","a3"]}}"#,
        r#"{"preservedSegment":{"headUuid":"u3","anchorUuid":"s1","tailUuid":"a3"}}"#,
    ];
    for metadata in kept {
        let mut lines = long_file(40, 10_000);
        lines.extend([boundary("b1", metadata), user("s1", Some("b1"), "summary"), user("u99", Some("s1"), "c")]);
        assert_eq!(order(&lines), ["b1", "s1", "u3", "a3", "u99"], "{metadata}");
    }
}

/// A compaction may name its own summary among what it kept, an end that does not lead to the head, or a ring.
#[test]
fn odd_lists_of_kept_messages_lose_nothing_that_was_said_later() {
    let old = [user("u1", None, "a"), text("a1", "u1", "m1"), user("u2", Some("a1"), "b"), text("a2", "u2", "m2")];
    let after = |metadata: &str| {
        let mut lines = old.to_vec();
        lines.extend([boundary("b1", metadata), user("s1", Some("b1"), "summary"), user("u3", Some("s1"), "c")]);
        order(&lines).join(" ")
    };
    assert_eq!(after(r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["s1","a2"]}}"#), "b1 s1 a2 u3");
    assert_eq!(after(r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["s1"]}}"#), "b1 s1 u3");
    assert_eq!(after(r#"{"preservedSegment":{"headUuid":"a2","anchorUuid":"s1","tailUuid":"u2"}}"#), "b1 s1 u3");
    assert_eq!(after(r#"{"preservedSegment":{"headUuid":"u2","anchorUuid":"gone","tailUuid":"a2"}}"#), "b1 s1 u3");
    assert_eq!(after(r#"{"preservedSegment":{"headUuid":"u2","anchorUuid":"s1","tailUuid":"u2"}}"#), "b1 s1 u2 u3");
    let ring = [
        user("u1", Some("a1"), "a"),
        text("a1", "u1", "m1"),
        user("u2", None, "b"),
        boundary("b1", r#"{"preservedSegment":{"headUuid":"u2","anchorUuid":"s1","tailUuid":"a1"}}"#),
        user("s1", Some("b1"), "summary"),
    ];
    assert_eq!(order(&ring), ["b1", "s1"]);
}

/// The entry whose parent is lost follows the line before it; the first line of the file follows nothing.
#[test]
fn a_lost_parent_is_replaced_by_the_line_before() {
    assert_eq!(order(&[user("u1", Some("gone"), "a"), text("a1", "u1", "m1")]), ["u1", "a1"]);
    let lines = [user("u1", None, "a"), text("a1", "u1", "m1"), user("u2", Some("gone"), "b")];
    assert_eq!(order(&lines), ["u1", "a1", "u2"]);
}

#[test]
fn without_a_message_of_the_user_what_is_left_is_shown() {
    let meta = |uuid: &str| with(&user(uuid, None, "meta"), r#""isMeta":true"#);
    let team = |uuid: &str| with(&user(uuid, None, "team"), r#""teamName":"x""#);
    assert_eq!(order(&[meta("m1")]), ["m1"]);
    assert_eq!(order(&[team("t1")]), ["t1"]);
    // A leaf that names a note is one, whatever else the file has.
    assert_eq!(order(&[user("u1", None, "a"), meta("m1").replace("null", r#""u1""#), leaf("m1")]), ["u1", "m1"]);
}

#[test]
fn a_leaf_is_the_last_message_even_when_more_lines_follow_it() {
    let note = |uuid: &str, parent: &str| {
        format!(r#"{{"parentUuid":"{parent}","type":"attachment","attachment":{{"type":"date"}},"uuid":"{uuid}"}}"#)
    };
    let lines = [user("u1", None, "a"), text("a1", "u1", "m1"), note("n1", "a1"), note("n2", "n1")];
    let loaded = load_text(&file(&lines));
    assert_eq!((uuids(&loaded).join(" "), loaded.leaf_uuid.as_deref()), ("u1 a1".to_owned(), Some("a1")));
    // A message without a body does not count.
    let empty = r#"{"parentUuid":"a1","isSidechain":false,"type":"user","uuid":"e1"}"#.to_owned();
    assert_eq!(order(&[user("u1", None, "a"), text("a1", "u1", "m1"), empty]), ["u1", "a1"]);
}

#[test]
fn a_named_leaf_far_from_the_end_is_found() {
    let mut lines = long_file(40, 10_000);
    lines.push(leaf("a3"));
    assert_eq!(order(&lines).last().map(String::as_str), Some("a3"));
    assert_eq!(order(&lines).len(), 8);
}

#[test]
fn a_named_leaf_behind_many_conversations_is_found() {
    let mut lines = Vec::new();
    for n in 0..40 {
        lines.extend([user(&format!("u{n}"), None, "a"), text(&format!("a{n}"), &format!("u{n}"), &format!("m{n}"))]);
    }
    lines.push(leaf("a1"));
    assert_eq!(order(&lines), ["u1", "a1"]);
}

// [TST-158]
#[test]
fn only_the_last_named_leaf_counts() {
    let turn = |n: u32, parent: Option<&str>| {
        [user(&format!("u{n}"), parent, "a"), text(&format!("a{n}"), &format!("u{n}"), &format!("m{n}"))]
    };
    let [u1, a1] = turn(1, None);
    let [u2, a2] = turn(2, Some("a1"));
    // Named before the second turn and again behind it: the user went back.
    let named = |older: &str, between: &[String], newer: &str| {
        let mut lines = vec![u1.clone(), a1.clone(), leaf(older), u2.clone(), a2.clone()];
        lines.extend(between.iter().cloned());
        lines.push(leaf(newer));
        order(&lines)
    };
    assert_eq!(named("u1", &[], "a1"), ["u1", "a1"]);
    assert_eq!(named("a1", &[leaf("a2")], "a1"), ["u1", "a1"]);
    assert_eq!(named("a1", &[], "a2"), ["u1", "a1", "u2", "a2"]);
    // A leaf that is not in the file names nothing.
    assert_eq!(order(&[u1.clone(), a1.clone(), leaf("gone")]), ["u1", "a1"]);
}

#[test]
fn what_the_user_took_back_is_marked() {
    let lines = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        user("u2", Some("a1"), "b"),
        r#"{"type":"x-retracted","uuids":["u2","gone"],"sessionId":"S"}"#.to_owned(),
        text("a2", "u2", "m2"),
    ];
    let loaded = load_text(&file(&lines));
    let marked: Vec<&str> = loaded.entries.iter().filter(|entry| entry.is_retracted).map(|e| &*e.uuid).collect();
    assert_eq!((marked, loaded.entries.len()), (vec!["u2"], 4));
}

#[test]
fn text_of_the_user_that_looks_like_a_kind_is_no_boundary() {
    let lines = [user("u1", None, "compact_boundary"), said("a1", "u1", "m1", r#"{"type":"text","text":"x"}"#)];
    let loaded = load_text(&file(&lines));
    assert!(loaded.boundary.is_none());
    assert_eq!(uuids(&loaded), ["u1", "a1"]);
}

/// [LNG-20] A line that takes a compaction back: above it the conversation is read as if there had been none, also the
/// messages that the compaction kept. Other branches still begin with the summary.
#[test]
fn an_undone_compaction_does_not_count() {
    let kept = r#"{"preservedMessages":{"anchorUuid":"s1","uuids":["u2"]}}"#;
    let undo = |uuid: &str, boundary: &str| {
        format!(
            r#"{{"parentUuid":"u2","isSidechain":false,"type":"system","subtype":"x_compaction_undone","boundaryUuid":"{boundary}","uuid":"{uuid}","sessionId":"S"}}"#
        )
    };
    let compacted = [
        user("u1", None, "a"),
        text("a1", "u1", "m1"),
        user("u2", Some("a1"), "b"),
        boundary("b1", kept),
        user("s1", Some("b1"), "summary"),
        text("a2", "u2", "m2"),
    ];
    assert_eq!(order(&compacted), ["b1", "s1", "u2", "a2"]);
    let undone = [&compacted[..], &[undo("x1", "b1")]].concat();
    assert_eq!(order(&undone), ["u1", "a1", "u2", "x1"]);
    let went_on = [&undone[..], &[user("u3", Some("x1"), "c"), text("a3", "u3", "m3")]].concat();
    assert_eq!(order(&went_on), ["u1", "a1", "u2", "x1", "u3", "a3"]);
    let other = load_bytes(file(&went_on).as_bytes(), &at("a2")).unwrap();
    assert_eq!(uuids(&other), ["b1", "s1", "u2", "a2"]);
    let again = [&went_on[..], &[boundary("b2", "{}"), user("s2", Some("b2"), "second")]].concat();
    assert_eq!(order(&again), ["b2", "s2"]);
    // A copy does not have what was taken back.
    let copied = [user("u1", None, "a"), user("u2", Some("u1"), "b"), undo("x1", "gone"), user("u3", Some("x1"), "c")];
    assert_eq!(order(&copied), ["u1", "u2", "x1", "u3"]);
}
