use super::*;
use crate::history::{History, HistoryPart};
use model::Message;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

fn said(how: SaidHow, text: &str) -> SaidByUser {
    SaidByUser { line: text.chars().take(8).collect(), how, text: text.to_owned(), ..SaidByUser::default() }
}

fn words(all: Vec<SaidByUser>) -> CarriedWords {
    CarriedWords { said: all, ..CarriedWords::default() }
}

// [LNG-17] Within the budget every word stays; beyond it the oldest are shortened first, and the latest prompt is whole.
#[test]
fn the_oldest_words_are_shortened_first() {
    let long = |name: &str| format!("{name} {}", "word ".repeat(200));
    let mut all = words(vec![
        said(SaidHow::Prompt, &long("first")),
        said(SaidHow::Queued, "short correction"),
        said(SaidHow::Prompt, &long("second")),
        said(SaidHow::Prompt, &long("third")),
        said(SaidHow::Answer, "yes, both"),
    ]);
    let whole = all.clone();
    let tokens = all.tokens();
    all.fit(tokens);
    assert_eq!(all, whole, "all of it fits");
    all.fit(tokens - 10);
    let cut: Vec<bool> = all.said.iter().map(|said| said.cut > 0).collect();
    assert_eq!(cut, [true, false, false, false, false]);
    all.said[0].number = Some(57);
    let text = all.render(&[]);
    assert!(text.contains("more characters, whole in line 57 of the transcript]"), "{text}");
    assert!(text.contains(&whole.said[2].text), "{text}");
    all.fit(1);
    assert_eq!(all.said.len(), 2, "{all:?}");
    assert!(all.said[0].text.starts_with("first "));
    assert_eq!(all.said[1], whole.said[3], "the latest prompt is whole");
    assert_eq!(all.left_out, 3);
    assert!(all.render(&[]).contains("[3 more messages left out here"), "{}", all.render(&[]));
    assert!(all.render(&[]).contains("[5] third"), "{}", all.render(&[]));
}

// [LNG-17] Ten thousand prompts still fit.
#[test]
fn the_budget_holds_for_any_number_of_prompts() {
    let budget = words_budget(200_000);
    let mut all =
        words((0..10_000).map(|n| said(SaidHow::Prompt, &format!("prompt {n} {}", "x".repeat(n % 700)))).collect());
    all.fit(budget);
    assert!(all.tokens() <= budget);
    assert!(all.said.len() > 100, "{}", all.said.len());
    assert!(all.said[0].text.starts_with("prompt 0"));
    assert!(all.said.last().unwrap().text.starts_with("prompt 9999"));
    assert_eq!(all.left_out as usize + all.said.len(), 10_000);
    assert_eq!((words_budget(20_000), words_budget(1_000_000)), (1_600, 16_000));
}

fn fragment(value: &serde_json::Value) -> model::Fragment {
    model::Fragment::new(RawValue::from_string(value.to_string()).unwrap())
}

// [LNG-17] Prompts, queued words, answers and refusals are words of the person; reminders, results and repeated words are not.
#[test]
fn words_are_found_in_the_conversation() {
    let mut history = History::default();
    let mut push = |turn: Message, part, line: &str| history.push(turn, part, vec![line.to_owned()]);
    push(Message::user_text("old summary"), HistoryPart::Summary, "s0");
    push(Message::user_text("fix it"), HistoryPart::Prompt, "p1");
    push(Message::user_text("a reminder"), HistoryPart::Beside, "b1");
    let calls = vec![
        fragment(&json!({"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": {}})),
        fragment(&json!({"type": "tool_use", "id": "r", "name": "Bash", "input": {"command": "rm  -rf\nx"}})),
        fragment(&json!({"type": "tool_use", "id": "w", "name": "Bash", "input": {"command": "ls"}})),
        fragment(&json!({"type": "tool_use", "id": "n", "name": "Bash", "input": {"command": "pwd"}})),
    ];
    push(Message::assistant("m", calls), HistoryPart::Other, "a1");
    let result = |id: &str, text: &str, error: bool| {
        fragment(&json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}))
    };
    let answered = "The user answered your questions: \"Which?\"=\"the red one\". Go on with these answers in mind.";
    push(Message::user(vec![result("q", answered, false)]), HistoryPart::Other, "r1");
    push(Message::user(vec![result("r", "no, keep it", true)]), HistoryPart::Other, "r2");
    push(Message::user(vec![result("w", wire::control::REFUSED_MESSAGE, true)]), HistoryPart::Other, "r3");
    push(Message::user(vec![result("n", "/home", false)]), HistoryPart::Other, "r4");
    push(Message::user_text("and in tabs"), HistoryPart::Joined, "j1");
    push(Message::user_text("repeated"), HistoryPart::Repeated, "l1");
    let typed = "<command-name>/brief</command-name>\n<command-message>brief</command-message>\n<command-args>two words</command-args>";
    push(Message::user_text(typed), HistoryPart::Prompt, "p2");
    let refused = BTreeSet::from(["r".to_owned(), "w".to_owned()]);
    let carried = CarriedRecord {
        words: vec![CarriedWords { summary: "s0".into(), said: vec![said(SaidHow::Prompt, "begin")], left_out: 2 }],
        ..CarriedRecord::default()
    };
    let found = words_in(history.entries(0..history.turns().len()), &refused, &carried);
    let shown: Vec<(&str, SaidHow)> = found.said.iter().map(|said| (said.text.as_str(), said.how)).collect();
    let expected = [
        ("begin", SaidHow::Prompt),
        ("fix it", SaidHow::Prompt),
        ("\"Which?\"=\"the red one\".", SaidHow::Answer),
        ("no, keep it", SaidHow::Refusal),
        ("and in tabs", SaidHow::Queued),
        ("/brief two words", SaidHow::Prompt),
    ];
    assert_eq!(shown, expected);
    assert_eq!(found.left_out, 2);
    assert_eq!(found.said[3].about.as_deref(), Some("Bash rm -rf x"));
    assert_eq!(found.latest_request(), [5]);
    assert_eq!(words(found.said[..5].to_vec()).latest_request(), [1, 4]);
}

#[test]
fn a_record_survives_the_file() {
    let record = CarriedRecord {
        words: vec![CarriedWords { summary: "s".into(), said: vec![said(SaidHow::Refusal, "no")], left_out: 0 }],
        files: vec![ChangedFile { path: "/p".into(), added: 1, removed: 0 }],
        failed: vec![FailedCommand { command: "make".into(), output: "x".into() }],
    };
    let metadata = json!({"trigger": "auto", METADATA_KEY: record}).to_string();
    assert_eq!(CarriedRecord::read(Some(&metadata)), record);
    assert_eq!(CarriedRecord::read(Some(r#"{"trigger":"auto"}"#)), CarriedRecord::default());
    assert_eq!(CarriedRecord::read(None), CarriedRecord::default());
}
