use super::*;
use serde_json::json;

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

#[test]
fn results_are_cut_with_a_count() {
    let outcome = |text: &str, is_error| CallOutcome { text: text.into(), is_error, detail: Value::Null };
    let shown = |outcome: &CallOutcome| texts(&result("Bash", &json!({}), outcome, &Theme::default(), 80));
    assert_eq!(shown(&outcome("a\nb\n", false)), ["  ⎿ a", "    b"]);
    assert_eq!(shown(&outcome("", false)), ["  ⎿ (no output)"]);
    let long = "line\n".repeat(9);
    assert_eq!(shown(&outcome(&long, false))[4], "    … +5 lines (ctrl+o to expand)");
    assert_eq!(shown(&outcome("<tool_use_error>bad</tool_use_error>", true)), ["  ⎿ bad"]);
}

#[test]
fn an_edit_shows_its_patch() {
    let detail = json!({"structuredPatch": [{"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2,
        "lines": [" same", "-let a = 1;", "+let b = 1;"]}]});
    let outcome = CallOutcome { text: "ok".into(), is_error: false, detail };
    let lines = result("Edit", &json!({"file_path": "/project/a.rs"}), &outcome, &Theme::default(), 60);
    assert_eq!(
        texts(&lines),
        ["  ⎿ 1 addition and 1 removal", "      7   same", "      8 - let a = 1;", "      8 + let b = 1;"]
    );
}

#[test]
fn what_a_resumed_conversation_knows_is_enough() {
    let told = |tool: &str, text: &str| {
        let outcome = CallOutcome { text: text.into(), is_error: false, detail: Value::Null };
        texts(&result(tool, &json!({"plan": "1. look"}), &outcome, &Theme::default(), 60)).join("\n")
    };
    assert_eq!(told("Read", "1\ta\n2\tb"), "  ⎿ 2 lines");
    assert_eq!(told("Grep", "a.rs\nb.rs"), "  ⎿ 2 lines");
    assert_eq!(told("WebSearch", "found it"), "  ⎿ found it");
    assert_eq!(told("TaskOutput", "<status>x</status>"), "  ⎿ <status>x</status>");
    assert_eq!(told("Agent", "It is in a.rs."), "  ⎿ It is in a.rs.");
    assert_eq!(told("ExitPlanMode", "approved"), "  ⎿ Approved\n    1. look");
}

#[test]
fn a_no_of_an_earlier_run_is_told_in_words_for_people() {
    let told = |text: &str| {
        let outcome = CallOutcome { text: text.into(), is_error: true, detail: Value::Null };
        texts(&result("Bash", &json!({}), &outcome, &Theme::default(), 60))
    };
    assert_eq!(told(REFUSED_MESSAGE), ["  ⎿ You said no"]);
    assert_eq!(told(KEEP_PLANNING_MESSAGE), ["  ⎿ Not yet: planning goes on"]);
}

#[test]
fn lines_are_counted_as_people_do() {
    let read = |content: &str, lines: u64, all: u64| {
        let detail = json!({"type": "text", "file": {"content": content, "numLines": lines, "totalLines": all}});
        summary("Read", &CallOutcome { text: String::new(), is_error: false, detail }).unwrap()
    };
    assert_eq!(read("a\nb\n", 3, 3), "2 lines");
    assert_eq!(read("a\nb", 2, 2), "2 lines");
    assert_eq!(read("a", 1, 40), "1 of 40 lines");
}
