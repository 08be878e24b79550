use super::*;
use crate::app::record::call::CallPhase;
use crate::app::session::SessionDisplay;
use crate::app::tools::{CallOutcome, RecordLimits};
use serde_json::{Value, json};
use terminal::markdown::{ProseWrap, SyntaxColouring};
use terminal::text;
use terminal::theme::Theme;

fn record(tool: &str, input: Value) -> CallRecord {
    let label = tools::label(tool, &input, &SessionDisplay::default());
    let phase = CallPhase::Open;
    CallRecord {
        id: "c".into(),
        tool: tool.into(),
        input,
        label,
        phase,
        has_begun: false,
        took: None,
        is_refused: false,
        refusal_text: None,
    }
}

fn finish(calls: &mut CallTracker, tool: &str, input: Value) -> bool {
    let outcome = CallOutcome { text: "ok".into(), ..CallOutcome::default() };
    calls.hold(CallRecord { phase: CallPhase::Ended(outcome), ..record(tool, input) }).is_none()
}

fn look(theme: &Theme) -> RecordLook<'_> {
    RecordLook {
        theme,
        columns: 60,
        syntax: SyntaxColouring::Coloured,
        wrap: ProseWrap::Words,
        limits: RecordLimits::STREAM,
    }
}

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

#[test]
fn calls_of_one_server_become_one_line_and_one_alone_stays_whole() {
    let (mut calls, theme) = (CallTracker::default(), Theme::default());
    assert!(finish(&mut calls, "mcp__slack__send", json!({"to": "a"})));
    assert_eq!(texts(&calls.take_held(&look(&theme))), ["  ◆ slack   send to: \"a\"", "     ok"]);
    for name in ["send", "list", "send"] {
        assert!(calls.joins(&format!("mcp__slack__{name}")));
        assert!(finish(&mut calls, &format!("mcp__slack__{name}"), json!({"to": "a"})));
    }
    assert!(!calls.joins("mcp__other__x") && !calls.joins("Read"));
    assert!(!finish(&mut calls, "Read", json!({"file_path": "a"})), "another kind is not mixed in");
    assert_eq!(texts(&calls.take_held(&look(&theme))), ["  ◆ slack   3 calls · send, list, send"]);
}

#[test]
fn many_names_stay_on_one_line() {
    let (mut calls, theme) = (CallTracker::default(), Theme::default());
    for n in 0..20 {
        finish(&mut calls, "Read", json!({"file_path": format!("src/file_{n}.rs")}));
    }
    let lines = texts(&calls.take_held(&look(&theme)));
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("  ◆ Read    20 files · file_0.rs, file_1.rs,") && lines[0].ends_with('…'),
        "{lines:?}"
    );
}

#[test]
fn a_command_is_never_held() {
    assert!(!finish(&mut CallTracker::default(), "Bash", json!({"command": "ls"})));
}

#[test]
fn a_call_says_that_it_runs_only_when_it_does() {
    let (mut calls, theme) = (CallTracker::default(), Theme::default());
    calls.open(OpenCall::new(record("Bash", json!({"command": "make"}))));
    assert_eq!(calls.turn_wait(), TurnWait::NextCall);
    let rows = |calls: &CallTracker, seconds: u64, asked: bool| {
        let now = Duration::from_secs(seconds);
        let frame = RunningFrame::at(now);
        let place = CallRowsPlace { look: look(&theme), now, frame, background_key: Some("ctrl+b") };
        texts(&calls.rows(&place, |_| asked, |_| None))
    };
    assert_eq!(rows(&calls, 60, false), ["  · Run     make"], "it waits for its turn");
    assert_eq!(rows(&calls, 60, true), ["  ◇ Run     make"]);
    let call = calls.get_mut("c").unwrap();
    call.since = Some(Duration::from_mins(1));
    assert_eq!(rows(&calls, 60, false), ["  ◌ Run     make"]);
    assert_eq!(rows(&calls, 61, false), ["  ◌ Run     make · 1 s"]);
    calls.get_mut("c").unwrap().output = "one\n10 %\r20 %\r\n\n".into();
    assert_eq!(rows(&calls, 68, false), ["  ◌ Run     make · 8 s · ctrl+b to background", "     20 %"]);
    assert_eq!(calls.turn_wait(), TurnWait::Tool("Bash".into()));
}

#[test]
fn a_running_call_breathes_twice_a_second() {
    let at = |ms| RunningFrame::at(Duration::from_millis(ms));
    assert_eq!(
        [at(0), at(499), at(500), at(999), at(1_000)].map(|frame| frame == RunningFrame::Still),
        [true, true, false, false, true]
    );
}

fn title_of(command: &str, facts: &[String], columns: usize, limits: RecordLimits) -> Vec<String> {
    let theme = Theme::default();
    let look = RecordLook { columns, limits, ..look(&theme) };
    let label = tools::label("Bash", &json!({"command": command}), &SessionDisplay::default());
    texts(&title(&label, CallState::Done, facts, &look))
}

#[test]
fn a_command_of_many_lines_is_one_row_in_the_stream_and_whole_without_limits() {
    let script = format!("cat > a.txt <<'EOF'\n{}EOF", "line\n".repeat(20));
    let fact = ["2.1 s".to_owned()];
    let stream = |columns| title_of(&script, &fact, columns, RecordLimits::STREAM);
    assert_eq!(stream(80), ["  ◆ Run     cat > a.txt <<'EOF' … +21 lines · 2.1 s"]);
    assert_eq!(stream(40), ["  ◆ Run     cat > a… +21 lines · 2.1 s"].map(str::to_owned));
    assert_eq!(title_of(&script, &fact, 80, RecordLimits::NONE).len(), 22);
    assert_eq!(title_of("one\ntwo", &[], 80, RecordLimits::STREAM), ["  ◆ Run     one … +1 line"]);
}

#[test]
fn a_long_object_is_cut_for_what_came_of_it_and_a_path_is_not() {
    let long = "cargo test --workspace --all-features -- --nocapture --test-threads 1";
    for columns in [40, 60, 80] {
        let rows = title_of(long, &["exit 101".to_owned()], columns, RecordLimits::STREAM);
        assert!(rows.len() == 1 && rows[0].ends_with("… · exit 101"), "{rows:?}");
        assert!(text::width(&rows[0]) <= columns, "{rows:?}");
    }
    let words = "denied: ".to_owned() + &"please do something else ".repeat(4);
    let rows = title_of(long, &[words], 60, RecordLimits::STREAM);
    assert!(rows.len() > 1 && rows[0].starts_with("  ◆ Run     cargo test --workspace"), "{rows:?}");
    let path = format!("/very/{}file.rs", "deep/".repeat(20));
    assert!(title_of(&path, &[], 60, RecordLimits::STREAM).concat().replace([' ', '◆'], "").ends_with("deep/file.rs"));
}

#[test]
fn a_command_of_the_person_shows_the_end_of_its_output_while_it_runs() {
    let theme = Theme::default();
    let own = OwnCommand { since: Duration::from_secs(1), output: "a\nb\n\nc\n10 %\r20 %\n".into() };
    let rows = |seconds| {
        let now = Duration::from_secs(seconds);
        let frame = RunningFrame::at(now);
        texts(&own.rows(&CallRowsPlace { look: look(&theme), now, frame, background_key: Some("ctrl+b") }))
    };
    assert_eq!(rows(2), ["     b", "     c", "     20 %"]);
    assert_eq!(rows(3), ["     b", "     c", "     20 %", "     ctrl+b to background"]);
}
