use super::*;
use crate::app::session::SessionDisplay;
use crate::app::tools::label;
use serde_json::json;

fn told(tool: &str, input: &Value, outcome: &CallOutcome) -> CallTale {
    let label = label(tool, input, &crate::app::session::SessionDisplay::default());
    tale(tool, input, &label, outcome, false)
}

fn outcome(text: &str, is_error: bool, detail: Value) -> CallOutcome {
    CallOutcome { text: text.into(), is_error, detail }
}

#[test]
fn an_edit_tells_its_patch() {
    let detail = json!({"structuredPatch": [{"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2,
        "lines": [" same", "-let a = 1;", "+let b = 1;"]}]});
    let tale = told("Edit", &json!({"file_path": "/project/a.rs"}), &outcome("ok", false, detail));
    assert_eq!(tale.facts, ["+1 −1"]);
    let CallDetail::Change { hunks, is_dim: false, .. } = tale.detail else { panic!("{tale:?}") };
    let numbers: Vec<usize> = hunks[0].iter().map(|row| row.number).collect();
    assert_eq!(numbers, [7, 8, 8]);
}

#[test]
fn a_refused_edit_keeps_its_change() {
    let input = json!({"file_path": "a.rs", "old_string": "one", "new_string": "two"});
    let tale = told("Edit", &input, &outcome(REFUSED_MESSAGE, true, Value::Null));
    assert_eq!((tale.end, &tale.facts[..]), (CallEnd::Stopped, &["denied".to_owned()][..]));
    assert!(matches!(tale.detail, CallDetail::Change { is_dim: true, .. }), "{tale:?}");
}

#[test]
fn a_text_alone_is_enough() {
    let facts = |tool: &str, text: &str| told(tool, &json!({}), &outcome(text, false, Value::Null)).facts.join(" · ");
    assert_eq!(facts("Read", "1\ta\n2\tb"), "2 lines");
    assert_eq!(facts("Read", "1\ta\n\n<system-reminder>\nobey\n</system-reminder>"), "1 line");
    assert_eq!(facts("Grep", "a.rs\nb.rs"), "2 lines");
    assert_eq!(facts("Bash", ""), "no output");
    let shown = |tool: &str, text: &str| told(tool, &json!({}), &outcome(text, false, Value::Null)).detail;
    assert_eq!(shown("TaskOutput", "it runs"), CallDetail::Output("it runs".into()));
    assert_eq!(shown("Agent", "It is in a.rs."), CallDetail::Report("It is in a.rs.".into()));
}

#[test]
fn how_a_command_ended_is_told() {
    let bash = |text: &str, is_error, detail| told("Bash", &json!({"command": "x"}), &outcome(text, is_error, detail));
    let failed = bash("Exit code 101\nerror: no", true, json!("Error: Exit code 101"));
    assert_eq!((failed.end, &failed.facts[0][..]), (CallEnd::Failed, "exit 101"));
    assert_eq!(failed.detail, CallDetail::Failure("error: no".into()));
    let stopped = bash("so far\n[The user…]", true, json!({"interrupted": true, "stdout": "so far"}));
    assert_eq!((stopped.end, &stopped.facts[0][..]), (CallEnd::Stopped, "interrupted"));
    assert_eq!(stopped.detail, CallDetail::Output("so far".into()));
    let late = json!({"interrupted": true, "stdout": "", "timedOutAfterMs": 120_000});
    assert_eq!(bash("", true, late).facts, ["stopped after 2 min 0 s"]);
    let moved = json!({"stdout": "", "backgroundTaskId": "b1", "backgroundedByUser": true});
    assert_eq!(bash("text for the model", false, moved).facts, ["moved to the background", "/tasks shows it"]);
    let meaning = json!({"stdout": "", "returnCodeInterpretation": "No matches found"});
    assert_eq!(bash("No matches found", false, meaning).facts, ["No matches found"]);
    let model_only = json!({"stdout": "done", "stderr": ""});
    assert_eq!(bash("done\n[took 12 s]", false, model_only).detail, CallDetail::Output("done".into()));
}

#[test]
fn a_no_is_told_in_words_for_people() {
    let fact = |text: &str, refused| {
        tale(
            "Bash",
            &json!({}),
            &label("Bash", &json!({}), &SessionDisplay::default()),
            &outcome(text, true, Value::Null),
            refused,
        )
        .facts
        .join("")
    };
    assert_eq!(fact(REFUSED_MESSAGE, true), "denied");
    assert_eq!(fact("use tabs", true), "denied: use tabs");
    assert_eq!(fact(KEEP_PLANNING_MESSAGE, true), "still planning");
    assert_eq!(fact(NOT_RUN, false), "interrupted");
}

#[test]
fn lines_are_counted_as_people_do() {
    let read = |content: &str, lines: u64, all: u64| {
        let detail = json!({"type": "text", "file": {"content": content, "numLines": lines, "totalLines": all}});
        told("Read", &json!({}), &outcome("", false, detail)).facts.join("")
    };
    assert_eq!(read("a\nb\n", 3, 3), "2 lines");
    assert_eq!(read("a\nb\n", 2, 2), "2 lines");
    assert_eq!(read("a\nb", 2, 2), "2 lines");
    assert_eq!(read("a", 1, 40), "1 of 40 lines");
}

#[test]
fn times_are_told_in_words() {
    let words = |ms| duration_words(Duration::from_millis(ms));
    assert_eq!([words(2_149), words(12_900), words(65_000)], ["2.1 s", "12 s", "1 min 5 s"]);
    assert_eq!(words(3_600_000 * 2 + 61_000), "2 h 1 min");
}
