use super::*;
use crate::app::record::call::CallPhase;
use crate::app::session::SessionDisplay;
use crate::app::tools::{CallOutcome, RecordLimits};
use serde_json::{Value, json};
use terminal::markdown::{ProseWrap, SyntaxColouring};
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
    let rows = |calls: &CallTracker, seconds: u64, asked: bool| {
        let now = Duration::from_secs(seconds);
        let place = CallRowsPlace { look: look(&theme), now, background_key: Some("ctrl+b") };
        texts(&calls.rows(&place, |_| asked, |_| None))
    };
    assert_eq!(rows(&calls, 60, false), ["  ◌ Run     make"], "it waits for its turn");
    assert_eq!(rows(&calls, 60, true), ["  ◇ Run     make"]);
    let call = calls.get_mut("c").unwrap();
    call.since = Some(Duration::from_mins(1));
    assert_eq!(rows(&calls, 60, false), ["  ◌ Run     make"]);
    assert_eq!(rows(&calls, 61, false), ["  ◌ Run     make · 1 s"]);
    calls.get_mut("c").unwrap().output = "one\n10 %\r20 %\r\n\n".into();
    assert_eq!(rows(&calls, 68, false), ["  ◌ Run     make · 8 s · ctrl+b to background", "     20 %"]);
}
