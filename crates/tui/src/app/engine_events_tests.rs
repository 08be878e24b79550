use crate::app::record::call::CallPhase;
use crate::app::session::SessionDisplay;
use crate::app::{App, AppInput, Preferences};
use crate::test_events::stream_event;
use engine::Event;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::TerminalSize;
use wire::sdk::{PastMessage, SdkMessage};

fn app() -> App {
    let session = SessionDisplay { cwd: "/project".into(), shown_cwd: "~/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(Preferences::default(), TerminalSize { columns: 80, rows: 40 }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    "go\r".chars().for_each(|c| {
        let key = if c == '\r' { KeyPress::plain(KeyCode::Enter) } else { KeyPress::char(c) };
        app.update(AppInput::Key(key));
    });
    app.take_finished();
    app
}

fn past(message: &Value) -> PastMessage {
    let message = RawValue::from_string(message.to_string()).unwrap();
    PastMessage::new(message, "s".into(), "u".into(), String::new())
}

fn tell(app: &mut App, message: SdkMessage) {
    app.update(AppInput::Event(Event::Message(message)));
}

fn calls(app: &mut App, tool: &str, input: &Value) {
    let block = json!({"type": "tool_use", "id": "c1", "name": tool, "input": input});
    tell(app, past(&json!({"role": "assistant", "content": [block]})).assistant());
}

fn settles(app: &mut App, text: &str, is_error: bool, detail: &Value) {
    let block = json!({"type": "tool_result", "tool_use_id": "c1", "content": text, "is_error": is_error});
    let message = past(&json!({"role": "user", "content": [block]})).user();
    let SdkMessage::User(mut user) = message else { panic!("a user message") };
    user.is_replay = false;
    user.tool_use_result = Some(RawValue::from_string(detail.to_string()).unwrap());
    tell(app, SdkMessage::User(user));
}

/// The printed lines once no further call can join a group.
fn printed(app: &mut App) -> Vec<String> {
    app.print_held_calls();
    app.take_finished().iter().map(StyledLine::text).filter(|line| !line.is_empty()).collect()
}

struct Row {
    tool: &'static str,
    input: Value,
    text: &'static str,
    detail: Value,
    title: &'static str,
    facts: &'static str,
    result: &'static [&'static str],
}

#[rustfmt::skip]
fn table() -> Vec<Row> {
    let row = |tool, input, text, detail, title, facts, result| Row { tool, input, text, detail, title, facts, result };
    let hunk = json!({"structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]});
    vec![
        row("Bash", json!({"command": "make"}), "built", json!({"stdout": "built"}), "Run     make", "", &["     built"]),
        row("TaskOutput", json!({"task_id": "b1"}), "<status>completed</status>",
            json!({"task": {"status": "completed", "output": "went"}}), "Output  b1", "completed", &["     went"]),
        row("TaskStop", json!({"task_id": "b1"}), "Stopped task b1: make", json!({}), "Stop    b1", "stopped", &[]),
        row("Read", json!({"file_path": "/project/a.rs"}), "1\tx", json!({"type": "text", "file": {"numLines": 142, "totalLines": 142}}),
            "Read    a.rs", "142 lines", &[]),
        row("Edit", json!({"file_path": "/project/a.rs"}), "ok", hunk.clone(), "Edit    a.rs", "+1 −1",
            &["      1 - a", "      1 + b"]),
        row("MultiEdit", json!({"file_path": "/project/a.rs"}), "ok", hunk, "Edit    a.rs", "+1 −1",
            &["      1 - a", "      1 + b"]),
        row("Write", json!({"file_path": "/project/a.rs", "content": "x\n"}), "ok", json!({}), "Write   a.rs", "1 line",
            &["      1 + x"]),
        row("NotebookEdit", json!({"notebook_path": "/project/n.ipynb"}), "Updated cell 1", json!({}), "Edit    n.ipynb", "Updated cell 1", &[]),
        row("Glob", json!({"pattern": "*.rs"}), "a.rs", json!({"numFiles": 1}), "Find    *.rs", "1 file", &[]),
        row("Grep", json!({"pattern": "x"}), "a.rs:1:x", json!({"numLines": 3, "numFiles": 1}), "Search  \"x\"", "3 lines", &[]),
        row("WebFetch", json!({"url": "https://a.test/"}), "It says so.", json!({"bytes": 9, "code": 200}), "Fetch   https://a.test/", "", &["     It says so."]),
        row("WebSearch", json!({"query": "rust"}), "Links: [{}]", json!({"results": ["words", {"content": [{}, {}]}]}),
            "Search  the web for \"rust\"", "2 results", &[]),
        row("TodoWrite", json!({"todos": []}), "ok", json!({}), "Tasks   ", "", &[]),
        row("TaskCreate", json!({"subject": "Build it", "description": "d"}), "Task #1 created successfully: Build it", json!({}),
            "Task    Build it", "", &["     Task #1 created successfully: Build it"]),
        row("TaskGet", json!({"taskId": "1"}), "Task #1", json!({}), "Task    1", "", &["     Task #1"]),
        row("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}), "Updated task #1 status", json!({}),
            "Task    1: in progress", "", &["     Updated task #1 status"]),
        row("TaskList", json!({}), "No tasks found", json!({}), "Tasks   ", "", &["     No tasks found"]),
        row("AskUserQuestion", json!({"questions": [{"question": "Which?"}]}), "answered", json!({"answers": {"Which?": "this"}}),
            "Ask     Which?", "", &["     Which? → this"]),
        row("EnterPlanMode", json!({}), "Plan mode is on. Look around.", json!({}), "Plan    ", "plan mode is on", &[]),
        row("ExitPlanMode", json!({"plan": "1. look"}), "User has approved", json!({"plan": "1. look"}), "Plan    ", "approved", &["     1. look"]),
        row("Skill", json!({"skill": "tidy"}), "Skill tidy is loaded", json!({}), "Skill   tidy", "", &[]),
        row("Agent", json!({"subagent_type": "Explore", "description": "Find it"}), "It is there.",
            json!({"status": "completed", "content": [{"type": "text", "text": "It is there."}], "totalToolUseCount": 3,
                   "totalTokens": 1200, "totalDurationMs": 5000}),
            "Agent   Explore: Find it", "3 calls · 1.2k tokens · 5.0 s", &["     It is there."]),
        row("SendMessage", json!({"to": "a1", "message": "go"}), "The message waits", json!({}), "Message a1", "", &["     The message waits"]),
        row("ToolSearch", json!({"query": "mail"}), "[tool_reference]", json!({"matches": ["a", "b"]}), "Tools   mail", "2 tools", &[]),
        row("EnterWorktree", json!({"name": "w"}), "Works in w", json!({}), "Enter   worktree w", "", &["     Works in w"]),
        row("ExitWorktree", json!({"action": "keep"}), "Back", json!({}), "Leave   worktree keep", "", &["     Back"]),
        row("ListMcpResourcesTool", json!({"server": "s"}), "No resources found.", json!([]), "s       resources", "", &["     No resources found."]),
        row("ReadMcpResourceTool", json!({"server": "s", "uri": "a://b"}), "text", json!({}), "s       a://b", "", &["     text"]),
        row("mcp__s__t", json!({"a": 1}), "done", json!({}), "s       t a: 1", "", &["     done"]),
    ]
}

/// The line of a call with this glyph.
fn line_of(row: &Row, glyph: &str, fact: &str) -> String {
    let title = format!("  {glyph} {}", row.title);
    let dot = if fact.is_empty() || row.title.ends_with("   ") { "" } else { " · " };
    format!("{title}{dot}{fact}")
}

#[test]
fn every_tool_has_a_row_for_success() {
    for row in table() {
        let mut app = app();
        calls(&mut app, row.tool, &row.input);
        settles(&mut app, row.text, false, &row.detail);
        let mut expected = vec![line_of(&row, "◆", row.facts)];
        expected.extend(row.result.iter().map(|line| (*line).to_owned()));
        // Its result is shown in the todo list.
        let expected = if matches!(row.tool, "TodoWrite" | "TaskCreate") { Vec::new() } else { expected };
        assert_eq!(printed(&mut app), expected, "{}", row.tool);
    }
}

#[test]
fn every_tool_has_a_row_for_failure() {
    for row in table() {
        let mut app = app();
        calls(&mut app, row.tool, &row.input);
        settles(&mut app, "<tool_use_error>It broke.</tool_use_error>", true, &json!("Error: It broke."));
        assert_eq!(printed(&mut app), [line_of(&row, "✕", ""), "     It broke.".into()], "{}", row.tool);
    }
}

#[test]
fn every_tool_has_a_row_for_an_interrupt() {
    for row in table() {
        let mut app = app();
        let interrupted = line_of(&row, "✕", "interrupted");
        calls(&mut app, row.tool, &row.input);
        settles(&mut app, "Not run: the user interrupted the turn.", true, &Value::Null);
        assert_eq!(printed(&mut app), std::slice::from_ref(&interrupted), "{}", row.tool);
        calls(&mut app, row.tool, &row.input);
        app.end_open_calls(&CallPhase::Interrupted);
        assert_eq!(printed(&mut app), [interrupted], "{}", row.tool);
    }
}

#[test]
fn every_tool_has_a_row_for_a_no() {
    for row in table().iter().filter(|row| row.tool != "AskUserQuestion") {
        let mut app = app();
        calls(&mut app, row.tool, &row.input);
        let request =
            json!({"subtype": "can_use_tool", "tool_name": row.tool, "input": row.input, "tool_use_id": "c1"});
        let line = json!({"type": "control_request", "request_id": "q1", "request": request});
        let effects = app.update(AppInput::Event(crate::app::control_lines::event(&line)));
        crate::app::control_lines::read_file(&mut app, &effects, None);
        app.now += Duration::from_secs(1);
        app.update(AppInput::Key(KeyPress::plain(KeyCode::Escape)));
        settles(&mut app, crate::app::dialog::REFUSED_MESSAGE, true, &Value::Null);
        let shown = printed(&mut app);
        assert!(shown[0].starts_with(&line_of(row, "✕", "")), "{}: {shown:?}", row.tool);
        let is_kept = matches!(row.tool, "Write" | "ExitPlanMode");
        assert_eq!(shown.len(), if is_kept { 2 } else { 1 }, "{}: {shown:?}", row.tool);
    }
}

fn notice(app: &mut App, task: &str, call: &str) {
    let notification = wire::sdk::TaskNotification {
        task_id: task.into(),
        run_id: None,
        tool_use_id: Some(call.into()),
        status: "completed",
        output_file: String::new(),
        summary: "Agent \"Look\" completed".into(),
        usage: None,
    };
    let body = wire::sdk::SystemBody::TaskNotification(Box::new(notification));
    let remark = wire::sdk::SystemMessage { kind: "system", body, session_id: "s".into(), uuid: "u".into() };
    tell(app, SdkMessage::System(remark));
}

#[test]
fn an_agent_that_has_ended_is_shown_so_at_once_and_told_once() {
    let mut app = app();
    calls(&mut app, "Agent", &json!({"description": "Look", "subagent_type": "Explore"}));
    let rows = |app: &App| app.view().lines.iter().map(StyledLine::text).collect::<Vec<_>>();
    assert!(rows(&app).iter().any(|row| row == "  · Agent   Explore: Look"), "{:?}", rows(&app));
    app.update(AppInput::Event(Event::Aside(engine::ScreenEvent::CallStarted { id: "c1".into() })));
    assert!(rows(&app).iter().any(|row| row == "  ◌ Agent   Explore: Look"), "{:?}", rows(&app));
    notice(&mut app, "a1", "c1");
    assert!(rows(&app).iter().any(|row| row == "  ◆ Agent   Explore: Look"), "{:?}", rows(&app));
    assert!(printed(&mut app).is_empty(), "its result says it");
    notice(&mut app, "a2", "another call");
    notice(&mut app, "a2", "another call");
    assert_eq!(printed(&mut app), ["  Agent \"Look\" completed"]);
}

#[test]
fn a_no_with_a_word_shows_the_word() {
    let mut app = app();
    calls(&mut app, "Bash", &json!({"command": "rm x"}));
    let request =
        json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}, "tool_use_id": "c1"});
    let line = json!({"type": "control_request", "request_id": "q1", "request": request});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
    app.now += Duration::from_secs(1);
    let keys = [
        KeyPress::plain(KeyCode::Down),
        KeyPress::plain(KeyCode::Tab),
        KeyPress::char('k'),
        KeyPress::char('o'),
        KeyPress::plain(KeyCode::Enter),
    ];
    for key in keys {
        app.update(AppInput::Key(key));
    }
    settles(&mut app, "ko", true, &Value::Null);
    let shown = printed(&mut app);
    assert!(shown[0].starts_with("  ✕ Run     rm x · ") && shown[0].ends_with(": ko"), "{shown:?}");
}

#[test]
fn a_list_that_was_not_taken_is_not_shown() {
    let mut app = app();
    let todos = json!({"todos": [{"content": "one", "status": "in_progress", "activeForm": "Doing one"}]});
    calls(&mut app, "TodoWrite", &todos);
    let shown = |app: &App| app.view().lines.iter().any(|line| line.text().contains("Doing one"));
    assert!(!shown(&app));
    settles(&mut app, "InputValidationError", true, &Value::Null);
    assert!(!shown(&app));
    calls(&mut app, "TodoWrite", &todos);
    settles(&mut app, "ok", false, &Value::Null);
    assert!(shown(&app));
}

#[test]
fn reads_in_a_row_say_how_much_each_brought() {
    let mut app = app();
    for (path, lines) in [("/project/a.rs", 142), ("/project/b.rs", 1)] {
        calls(&mut app, "Read", &json!({"file_path": path}));
        settles(&mut app, "", false, &json!({"file": {"numLines": lines, "totalLines": lines}}));
    }
    assert_eq!(printed(&mut app), ["  ◆ Read    2 files · a.rs, b.rs"]);
}

#[test]
fn a_long_prompt_of_a_resumed_conversation_is_folded() {
    let mut app = app();
    let text: Vec<String> = (0..5000).map(|n| format!("line {n}")).collect();
    tell(&mut app, past(&json!({"role": "user", "content": text.join("\n")})).user());
    let shown = printed(&mut app);
    assert_eq!((shown.len(), shown[0].as_str(), shown[8].as_str()), (9, "▌ line 0", "▌ … 4992 more lines · ctrl+o"));
    tell(&mut app, past(&json!({"role": "user", "content": "a\nb"})).user());
    assert_eq!(printed(&mut app), ["▌ a", "▌ b"]);
}

#[test]
fn words_on_their_way_do_not_hide_who_interrupted() {
    let mut app = app();
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "late "}});
    let begin = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    app.interrupt();
    for event in [begin, delta] {
        tell(&mut app, stream_event(&event));
    }
    let mark = past(&json!({"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}));
    let SdkMessage::User(mut user) = mark.user() else { panic!("a user message") };
    user.is_replay = false;
    tell(&mut app, SdkMessage::User(user));
    assert!(printed(&mut app).iter().any(|line| line.contains("Interrupted.")));
}
