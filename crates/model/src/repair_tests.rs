use super::*;
use proptest::prelude::*;
use serde_json::value::RawValue;

const MODEL: &str = "claude-opus-5";

fn raw(json: &str) -> Fragment {
    Fragment::new(RawValue::from_string(json.to_owned()).unwrap())
}

fn call(id: &str) -> Fragment {
    raw(&format!(r#"{{"type":"tool_use","id":"{id}","name":"X","input":{{}}}}"#))
}

fn result(id: &str) -> Fragment {
    raw(&format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":"ok"}}"#))
}

fn thinking() -> Fragment {
    raw(r#"{"type":"thinking","thinking":"","signature":"s"}"#)
}

fn assistant(blocks: Vec<Fragment>) -> Message {
    Message::assistant(MODEL, blocks)
}

/// The structure of a history as text: `u:text a:think,use(1) u:result(1)`.
fn shape(turns: &[Message]) -> String {
    let block = |b: &Fragment| match b.head() {
        FragmentHead::Text { .. } => "text".to_owned(),
        FragmentHead::Thinking | FragmentHead::RedactedThinking => "think".to_owned(),
        FragmentHead::ToolUse { id } => format!("use({id})"),
        FragmentHead::ToolResult { id } if b.get().contains(r#""is_error":true"#) => format!("error({id})"),
        FragmentHead::ToolResult { id } => format!("result({id})"),
        other => format!("{other:?}"),
    };
    let turn =
        |t: &Message| format!("{}:{}", &t.role.name()[..1], t.blocks.iter().map(block).collect::<Vec<_>>().join(","));
    turns.iter().map(turn).collect::<Vec<_>>().join(" ")
}

fn run(turns: &[Message]) -> RepairedHistory {
    repair(turns, &RepairNeeds::new(MODEL))
}

fn check(turns: &[Message], expected: &str) {
    let repaired = run(turns);
    assert_eq!(shape(&repaired.messages), expected, "{:?}", repaired.notes);
}

fn user(text: &str) -> Message {
    Message::user_text(text)
}

#[test]
fn a_good_history_is_untouched() {
    let turns =
        [user("a"), assistant(vec![thinking(), call("1"), call("2")]), Message::user(vec![result("1"), result("2")])];
    let repaired = run(&turns);
    assert!(repaired.notes.is_empty());
    for (before, after) in turns.iter().zip(&repaired.messages) {
        assert!(before.blocks.iter().zip(&after.blocks).all(|(a, b)| a.is_same(b)));
    }
}

#[test]
fn adjacent_turns_of_a_role_are_joined() {
    let turns = [
        user("a"),
        user("b"),
        assistant(vec![thinking()]),
        assistant(vec![call("1")]),
        Message::user(vec![result("1")]),
        user("c"),
    ];
    check(&turns, "u:text,text a:think,use(1) u:result(1),text");
}

#[test]
fn missing_results_are_made_up_and_orphans_dropped() {
    check(
        &[user("a"), assistant(vec![call("1"), call("2")]), Message::user(vec![result("2")])],
        "u:text a:use(1),use(2) u:result(2),error(1)",
    );
    check(&[user("a"), assistant(vec![call("1")])], "u:text a:use(1) u:error(1)");
    check(&[user("a"), assistant(vec![call("1")]), user("b")], "u:text a:use(1) u:error(1),text");
    check(
        &[user("a"), assistant(vec![Fragment::text("x")]), Message::user(vec![result("9"), Fragment::text("b")])],
        "u:text a:text u:text",
    );
    check(&[Message::user(vec![result("9")]), user("a")], "u:text");
    check(
        &[user("a"), assistant(vec![call("1")]), Message::user(vec![result("1"), result("1")])],
        "u:text a:use(1) u:result(1)",
    );
}

#[test]
fn results_stand_first() {
    check(
        &[user("a"), assistant(vec![call("1")]), Message::user(vec![Fragment::text("b"), result("1")])],
        "u:text a:use(1) u:result(1),text",
    );
}

#[test]
fn a_repeated_call_is_dropped_with_its_result() {
    let turns = [
        user("a"),
        assistant(vec![call("1")]),
        Message::user(vec![result("1")]),
        assistant(vec![call("1")]),
        Message::user(vec![result("1"), Fragment::text("x")]),
    ];
    check(&turns, "u:text a:use(1) u:result(1),text");
}

#[test]
fn empty_and_foreign_blocks_vanish() {
    let turns = [
        Message::user(vec![
            Fragment::text(" \n"),
            Fragment::text("a"),
            raw("5"),
            raw(r#"{"no":"type"}"#),
            raw(r#"{"type":"tool_use"}"#),
        ]),
        assistant(vec![Fragment::text("")]),
        user("b"),
        assistant(vec![thinking()]),
        user("c"),
        assistant(vec![Fragment::text("x"), result("4")]),
        Message::user(vec![call("7"), thinking(), Fragment::text("d")]),
    ];
    check(&turns, "u:text,text,text a:text u:text");
}

#[test]
fn thinking_only_answers_are_dropped() {
    check(&[user("a"), assistant(vec![thinking()])], "u:text");
}

// [TST-104] a paused answer stays last and gets no result.
#[test]
fn a_paused_answer_is_resent_as_it_is() {
    let server = raw(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#);
    let turns = [user("a"), assistant(vec![Fragment::text("searching  "), server.clone()])];
    let repaired = run(&turns);
    assert_eq!(repaired.messages.len(), 2);
    assert_eq!(repaired.messages[1].role, Role::Assistant);
    assert!(repaired.messages[1].blocks[1].is_same(&server));
    // Once something follows, an unanswered server call cannot be sent.
    let later = [turns[0].clone(), turns[1].clone(), user("b")];
    check(&later, "u:text a:text u:text");
    let trailing = run(&[user("a"), assistant(vec![Fragment::text("so \n")])]);
    assert_eq!(trailing.messages[1].blocks[0].get(), r#"{"type":"text","text":"so"}"#);
}

// [TST-115] thinking is kept for the same model in any spelling, dropped for another model or after a refusal.
#[test]
fn thinking_follows_its_model() {
    let dated = Message::assistant("claude-opus-5-20260801", vec![thinking(), Fragment::text("x")]);
    let other = Message::assistant("claude-sonnet-5", vec![thinking(), Fragment::text("y")]);
    let turns = [user("a"), dated, user("b"), other, user("c")];
    check(&turns, "u:text a:think,text u:text a:text u:text");
    let needs = RepairNeeds { thinking: KeepThinking::Drop, ..RepairNeeds::new(MODEL) };
    assert_eq!(shape(&repair(&turns, &needs).messages), "u:text a:text u:text a:text u:text");
    let switched = repair(&turns, &RepairNeeds::new("claude-sonnet-5[1m]"));
    assert_eq!(shape(&switched.messages), "u:text a:text u:text a:think,text u:text");
}

#[test]
fn a_history_that_begins_with_an_answer_gets_a_beginning() {
    check(&[assistant(vec![Fragment::text("x")]), user("a")], "u:text a:text u:text");
}

#[test]
fn markers_of_others_are_removed() {
    let marked = raw(r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#);
    assert_eq!(run(&[Message::user(vec![marked])]).messages[0].blocks[0].get(), r#"{"type":"text","text":"a"}"#);
    let quoted = Fragment::text(r#"the key "cache_control""#);
    assert!(run(&[Message::user(vec![quoted.clone()])]).messages[0].blocks[0].is_same(&quoted));
}

fn image(bytes: usize) -> String {
    let data = "A".repeat(bytes);
    format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#)
}

#[test]
fn images_over_the_limit_become_text() {
    let needs =
        RepairNeeds { limits: RepairLimits { image: 1_000, ..RepairLimits::default() }, ..RepairNeeds::new(MODEL) };
    let nested = format!(
        r#"{{"tool_use_id":"1","type":"tool_result","content":[{{"type":"text","text":"t"}},{},{}]}}"#,
        image(2_000),
        image(10)
    );
    let turns = [
        Message::user(vec![raw(&image(2_000)), raw(&image(10))]),
        assistant(vec![call("1")]),
        Message::user(vec![raw(&nested)]),
    ];
    let repaired = repair(&turns, &needs);
    assert_eq!(shape(&repaired.messages), "u:text,Image a:use(1) u:result(1)");
    let block = repaired.messages[2].blocks[0].get();
    assert_eq!(block.matches(r#""type":"image""#).count(), 1);
    assert!(block.contains("larger than the provider accepts"));
    assert_eq!(repaired.notes.len(), 2);
}

// [TST-119] the oldest media are removed first; if that is not enough, the size is reported.
#[test]
fn a_large_body_loses_its_oldest_media() {
    let size = 3 * 1024 * 1024;
    let limits = RepairLimits { body: 10 * 1024 * 1024, ..RepairLimits::default() };
    let needs = RepairNeeds { limits, ..RepairNeeds::new(MODEL) };
    let mut turns = vec![];
    let mut shapes = Vec::new();
    for number in 0..6 {
        turns.push(Message::user(vec![raw(&image(size)), Fragment::text("see")]));
        turns.push(assistant(vec![Fragment::text("ok")]));
        let repaired = repair(&turns, &needs);
        assert_eq!(repaired.oversize, None, "{number}");
        let kept: Vec<bool> = repaired
            .messages
            .iter()
            .filter(|t| t.role == Role::User)
            .map(|t| *t.blocks[0].head() == FragmentHead::Image)
            .collect();
        let left_out = kept.iter().take_while(|k| !**k).count();
        assert!(kept[left_out..].iter().all(|k| *k), "oldest first: {kept:?}");
        shapes.push(left_out);
    }
    assert_eq!(shapes, [0, 0, 0, 2, 3, 5]);
    let words = Message::user_text(&"x".repeat(11 * 1024 * 1024));
    assert!(repair(&[words], &needs).oversize.is_some_and(|size| size > limits.body));
}

/// Arbitrary small histories.
fn any_turns() -> impl Strategy<Value = Vec<Message>> {
    let block = prop_oneof![
        Just(Fragment::text("t")),
        Just(Fragment::text(" ")),
        Just(thinking()),
        (0..4u8).prop_map(|i| call(&i.to_string())),
        (0..4u8).prop_map(|i| result(&i.to_string())),
        Just(raw("null")),
        Just(raw(r#"{"type":"server_tool_use","id":"s","name":"w","input":{}}"#)),
        Just(raw(r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#)),
    ];
    let turn =
        (any::<bool>(), proptest::collection::vec(block, 0..4), any::<bool>()).prop_map(|(is_user, blocks, own)| {
            if is_user { Message::user(blocks) } else { Message::assistant(if own { MODEL } else { "other" }, blocks) }
        });
    proptest::collection::vec(turn, 0..8)
}

fn is_acceptable(turns: &[Message]) -> Result<(), TestCaseError> {
    let ids = |t: &Message, results: bool| -> Vec<String> {
        t.blocks
            .iter()
            .filter_map(|b| match b.head() {
                FragmentHead::ToolUse { id } if !results => Some(id.to_string()),
                FragmentHead::ToolResult { id } if results => Some(id.to_string()),
                _ => None,
            })
            .collect()
    };
    for (i, turn) in turns.iter().enumerate() {
        prop_assert_eq!(
            turn.role,
            if i % 2 == 0 { Role::User } else { Role::Assistant },
            "alternating from a user turn"
        );
        prop_assert!(!turn.blocks.is_empty());
        let unsendable =
            turn.blocks.iter().any(|b| matches!(b.head(), FragmentHead::Invalid | FragmentHead::Text { blank: true }));
        prop_assert!(!unsendable);
        let mut asked = if i == 0 { Vec::new() } else { ids(&turns[i - 1], false) };
        let mut answered = ids(turn, true);
        if turn.role == Role::User {
            let first_other = turn.blocks.iter().position(|b| !matches!(b.head(), FragmentHead::ToolResult { .. }));
            prop_assert!(first_other.is_none_or(|at| at >= answered.len()), "results first");
            asked.sort();
            answered.sort();
            prop_assert_eq!(asked, answered);
        } else {
            prop_assert!(!turn.blocks.iter().all(|b| b.head().is_thinking()));
            let dangling = i + 1 == turns.len() && !ids(turn, false).is_empty();
            prop_assert!(!dangling, "unanswered calls at the end");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn whatever_comes_in_something_acceptable_goes_out(turns in any_turns()) {
        let once = run(&turns);
        is_acceptable(&once.messages)?;
        let twice = run(&once.messages);
        prop_assert_eq!(shape(&twice.messages), shape(&once.messages), "repairing twice changes nothing");
    }

    #[test]
    fn later_turns_leave_earlier_repairs_alone(turns in any_turns(), cut in 0usize..8) {
        // A server call may get its result later; only then does the repair of earlier messages depend on later ones.
        let own: Vec<Message> = turns
            .into_iter()
            .map(|mut t| {
                t.blocks.retain(|b| !matches!(b.head(), FragmentHead::ServerToolUse { .. } | FragmentHead::ServerToolResult { .. }));
                t
            })
            .collect();
        let bytes = |turns: &[Message]| -> Vec<Vec<String>> {
            turns.iter().map(|t| t.blocks.iter().map(|b| b.get().to_owned()).collect()).collect()
        };
        let mut before = bytes(&run(&own[..cut.min(own.len())]).messages);
        // The end may still change: results arrive, texts are joined.
        before.truncate(before.len().saturating_sub(2));
        let after = bytes(&run(&own).messages);
        prop_assert_eq!(&after[..before.len()], &before[..]);
    }
}
