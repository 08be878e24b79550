//! A corpus of replies is shown in three ways: as it is printed while the turn runs, as it is printed when the
//! conversation is resumed, and in the transcript view. All must look alike, cell by cell. Intended differences:
//!
//! - The transcript view has no limits: where the stream says how many lines are left out, or folds calls of one kind, the
//!   view has all of them. Results of reads and searches are shown there only.
//! - The transcript view has the time and the model at the right edge of what the model wrote.
//! - The line after a turn, with its time and cost, is printed when the turn ends: the file does not have the cost.
//! - Lists of tasks are shown at the prompt while a turn runs; only the transcript view has the calls that wrote them.

use super::*;
use crate::app::session::SessionDisplay;
use crate::app::{App, AppInput, Preferences};
use crate::test_events::stream_event;
use engine::{Event, ScreenEvent};
use serde_json::value::RawValue;
use terminal::keys::{KeyCode, KeyPress};
use terminal::surface::TerminalSize;
use wire::sdk::{PastMessage, ReportedDecision, SdkMessage, ToolResultMeta};

const BEGAN: &str = "2026-07-01T06:12:00.000Z";
const ENDED: &str = "2026-07-01T06:12:12.000Z";

/// One message of a turn.
enum Step {
    Says(String),
    Thinks(String),
    Calls(Vec<(&'static str, Value)>),
    /// The results of the calls before: text, whether it is an error, structured result, whether a person refused it.
    Results(Vec<(String, bool, Value, bool)>),
}

struct Reply {
    name: &'static str,
    steps: Vec<Step>,
}

fn ok(text: &str, detail: Value) -> Step {
    Step::Results(vec![(text.to_owned(), false, detail, false)])
}

fn failed(text: &str) -> Step {
    Step::Results(vec![(text.to_owned(), true, json!(format!("Error: {text}")), false)])
}

fn says(text: &str) -> Step {
    Step::Says(text.to_owned())
}

fn prose(name: &'static str, text: &str) -> Reply {
    Reply { name, steps: vec![says(text)] }
}

fn call(name: &'static str, tool: &'static str, input: Value, result: Step) -> Reply {
    Reply { name, steps: vec![Step::Calls(vec![(tool, input)]), result] }
}

fn patch(lines: usize) -> Value {
    let lines: Vec<String> = (0..lines).flat_map(|n| [format!("-let a{n} = 1;"), format!("+let b{n} = 1;")]).collect();
    json!({"structuredPatch": [{"oldStart": 41, "oldLines": lines.len() / 2, "newStart": 41, "newLines": lines.len() / 2, "lines": lines}]})
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat()
}

fn corpus() -> Vec<Reply> {
    let mut all = texts();
    all.extend(commands());
    all.extend(files());
    all.extend(other_calls());
    all
}

fn texts() -> Vec<Reply> {
    vec![
        prose(
            "paragraphs",
            "The total is rounded too early.\n\nI will round at the end, after the discount was applied to it.",
        ),
        prose("headings", "# One\n\ntext\n\n## Two\n\nmore\n\n### Three\n\nend"),
        prose("emphasis", "**bold** and *italic* and `code` and ~~gone~~"),
        prose(
            "a list",
            "- first point that is long enough to need a second row at this width of the window\n- second\n  - inner\n",
        ),
        prose("a numbered list", "1. one\n2. two\n3. three"),
        prose("tasks", "- [x] done\n- [ ] open"),
        prose("a quote", "> quoted words that go on for a while, so that they need more than one row\n\nafter it"),
        prose("code", "Look:\n\n```rust\nfn main() {\n    println!(\"hi\");\n}\n```\n\nDone."),
        prose("code without a language", "```\nplain\n  indented\n```"),
        prose("a table", "| name | count |\n|---|---:|\n| one | 1 |\n| two | 22 |\n\nafter"),
        prose(
            "a wide table",
            "| a | b |\n|---|---|\n| a cell with many words that cannot fit into one row | another cell with just as many words in it |",
        ),
        prose("links", "See [the guide](https://example.com/guide) and https://example.com/a/b."),
        prose("a rule", "above\n\n---\n\nbelow"),
        prose("wide characters", "日本語のテキスト is 日本語 and 👍 too"),
        prose("escapes", "\u{1b}[31mred\u{1b}[0m and \u{7} a bell"),
        Reply {
            name: "thinking",
            steps: vec![Step::Thinks("The cart rounds\ntoo early.".into()), says("It rounds too early.")],
        },
        Reply { name: "redacted thinking", steps: vec![Step::Thinks(String::new()), says("Yes.")] },
    ]
}

fn commands() -> Vec<Reply> {
    let bash = |command: &str| json!({"command": command});
    let out = |text: &str| json!({"stdout": text, "stderr": ""});
    vec![
        call("a short command", "Bash", bash("ls"), ok("a.rs\nb.rs", out("a.rs\nb.rs"))),
        call("a long output", "Bash", bash("seq 50"), ok(&lines(50), out(&lines(50)))),
        call("an output with one long line", "Bash", bash("cat x"), ok("x", out(&"word ".repeat(200)))),
        call("no output", "Bash", bash("true"), ok("", out(""))),
        call(
            "colours and progress",
            "Bash",
            bash("make"),
            ok("x", out("10 %\r100 %\n\u{1b}[32mok\u{1b}[0m \u{1b}[1;31mred\u{1b}[2J")),
        ),
        call("several lines of a command", "Bash", bash("# build\nmake \\\n  all"), ok("x", out("built"))),
        call(
            "a failure",
            "Bash",
            bash("cargo test"),
            failed(&format!("Exit code 101\n{}error: it broke\n{}", lines(20), lines(5))),
        ),
        call(
            "a command in the background",
            "Bash",
            json!({"command": "npm run dev", "run_in_background": true}),
            ok("Command running in background with ID b1", json!({"stdout": "", "backgroundTaskId": "b1"})),
        ),
        call(
            "a command that was moved",
            "Bash",
            bash("npm test"),
            ok("for the model", json!({"stdout": "so far", "backgroundTaskId": "b2", "backgroundedByUser": true})),
        ),
        call(
            "a command that was interrupted",
            "Bash",
            bash("sleep 9"),
            Step::Results(vec![("x".into(), true, json!({"interrupted": true, "stdout": "half"}), false)]),
        ),
        call(
            "a refused command",
            "Bash",
            bash("rm -rf x"),
            Step::Results(vec![(crate::app::dialog::REFUSED_MESSAGE.into(), true, json!("Error"), true)]),
        ),
    ]
}

fn files() -> Vec<Reply> {
    vec![
        call(
            "a read",
            "Read",
            json!({"file_path": "/project/src/a.rs"}),
            ok(
                "1\tx\n\n<system-reminder>\nobey\n</system-reminder>",
                json!({"type": "text", "file": {"content": "x", "numLines": 1, "totalLines": 1}}),
            ),
        ),
        Reply {
            name: "reads in a row",
            steps: vec![
                Step::Calls(
                    ["a", "b", "c"]
                        .iter()
                        .map(|name| ("Read", json!({"file_path": format!("/project/src/{name}.rs")})))
                        .collect(),
                ),
                Step::Results(
                    (0..3)
                        .map(|_| ("1\tx".to_owned(), false, json!({"file": {"numLines": 1, "totalLines": 1}}), false))
                        .collect(),
                ),
                says("Three files."),
            ],
        },
        call(
            "an edit",
            "Edit",
            json!({"file_path": "/project/src/a.rs", "old_string": "a", "new_string": "b"}),
            ok("updated", patch(2)),
        ),
        call(
            "a long edit",
            "Edit",
            json!({"file_path": "/project/src/a.rs", "old_string": "a", "new_string": "b"}),
            ok("updated", patch(30)),
        ),
        call(
            "a refused edit",
            "Edit",
            json!({"file_path": "/project/src/a.rs", "old_string": "one\n", "new_string": "two\n"}),
            Step::Results(vec![("use tabs".into(), true, json!("Error: use tabs"), true)]),
        ),
        call(
            "a new file",
            "Write",
            json!({"file_path": "/project/new.rs", "content": lines(40)}),
            ok("created", json!({"type": "create", "structuredPatch": []})),
        ),
        call(
            "a search",
            "Grep",
            json!({"pattern": "round(", "path": "/project/src"}),
            ok("a.rs:1:round(", json!({"numLines": 1, "numFiles": 1})),
        ),
        call(
            "a search for files",
            "Glob",
            json!({"pattern": "**/*.rs"}),
            ok("a.rs", json!({"numFiles": 1, "filenames": ["a.rs"]})),
        ),
    ]
}

fn other_calls() -> Vec<Reply> {
    vec![
        call(
            "a page",
            "WebFetch",
            json!({"url": "https://example.com/"}),
            ok("It says so.", json!({"bytes": 9, "code": 200})),
        ),
        call("a call of a server", "mcp__slack__send", json!({"to": "a"}), ok(&lines(9), Value::Null)),
        call(
            "an agent",
            "Agent",
            json!({"subagent_type": "Explore", "description": "Find it", "prompt": "Look"}),
            ok(
                "x",
                json!({"status": "completed", "content": [{"type": "text", "text": "It is in **a.rs**.\n\n- one\n- two\n- three\n- four"}],
                "totalToolUseCount": 3, "totalTokens": 1200, "totalDurationMs": 5000}),
            ),
        ),
        call(
            "an agent in the background",
            "Agent",
            json!({"description": "Look"}),
            ok("for the model", json!({"status": "async_launched", "agentId": "a1"})),
        ),
        call(
            "a question",
            "AskUserQuestion",
            json!({"questions": [{"question": "Which?"}]}),
            ok("x", json!({"answers": {"Which?": "this"}})),
        ),
        call(
            "a plan",
            "ExitPlanMode",
            json!({"plan": "# Plan\n\n1. look\n2. mend"}),
            ok("approved", json!({"plan": "# Plan\n\n1. look\n2. mend"})),
        ),
        call(
            "a list of tasks",
            "TodoWrite",
            json!({"todos": [{"content": "Find", "status": "in_progress", "activeForm": "Finding"}]}),
            ok("ok", json!({})),
        ),
        call(
            "an unknown tool",
            "Other",
            json!({"a": 1}),
            failed("<tool_use_error>No such tool: Other</tool_use_error>"),
        ),
    ]
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn app(columns: usize) -> App {
    let session = SessionDisplay { cwd: "/project".into(), shown_cwd: "~/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(Preferences::default(), TerminalSize { columns, rows: 40 }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn tell(app: &mut App, message: SdkMessage) {
    app.update(AppInput::Event(Event::Message(message)));
}

fn stream(app: &mut App, text: &str) {
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    tell(app, stream_event(&delta));
}

fn assistant(block: &Value, timestamp: &str) -> PastMessage {
    let message = json!({"role": "assistant", "model": "claude-opus-5", "content": [block]});
    PastMessage::new(raw(&message), "s".into(), "u".into(), timestamp.into())
}

fn result((id, (text, is_error, detail, is_refused)): (usize, &(String, bool, Value, bool))) -> PastMessage {
    let block = json!({"type": "tool_result", "tool_use_id": format!("c{id}"), "content": text, "is_error": is_error});
    let message = raw(&json!({"role": "user", "content": [block]}));
    let source = if *is_refused { "user_reject" } else { "config" };
    let meta = ToolResultMeta {
        id: format!("c{id}"),
        permission_decision: Some(ReportedDecision { decision: "accept", source, reason_type: None }),
        non_execution_kind: is_refused.then_some("user-rejected"),
    };
    PastMessage {
        tool_use_result: Some(raw(detail)),
        tool_result_meta: vec![meta],
        ..PastMessage::new(message, "s".into(), "u".into(), ENDED.into())
    }
}

/// The messages of a step, as they are in the transcript.
fn messages(step: &Step) -> Vec<SdkMessage> {
    let assistant = |block: &Value| assistant(block, BEGAN);
    match step {
        Step::Says(text) => vec![assistant(&json!({"type": "text", "text": text})).assistant()],
        Step::Thinks(text) => {
            let said = assistant(&json!({"type": "thinking", "thinking": text}));
            vec![PastMessage { thinking_duration_ms: Some(4_000), ..said }.assistant()]
        }
        Step::Calls(calls) => {
            let block = |(id, (tool, input)): (usize, &(&str, Value))| {
                assistant(&json!({"type": "tool_use", "id": format!("c{id}"), "name": tool, "input": input}))
                    .assistant()
            };
            calls.iter().enumerate().map(block).collect()
        }
        Step::Results(results) => results.iter().enumerate().map(result).map(PastMessage::user).collect(),
    }
}

/// Runs a reply as a live turn: text streams in pieces, calls start and end.
fn live(app: &mut App, reply: &Reply) {
    "go\r".chars().for_each(|c| {
        let key = if c == '\r' { KeyPress::plain(KeyCode::Enter) } else { KeyPress::char(c) };
        app.update(AppInput::Key(key));
    });
    for step in &reply.steps {
        if let Step::Says(text) = step {
            let pieces: Vec<char> = text.chars().collect();
            pieces.chunks(7).for_each(|piece| stream(app, &piece.iter().collect::<String>()));
        }
        if let Step::Results(results) = step {
            for id in 0..results.len() {
                app.update(AppInput::Event(Event::Aside(ScreenEvent::CallStarted { id: format!("c{id}") })));
            }
            app.now += Duration::from_secs(12);
        }
        for message in messages(step) {
            let message = match message {
                SdkMessage::User(mut said) => {
                    said.is_replay = false;
                    SdkMessage::User(said)
                }
                other => other,
            };
            tell(app, message);
        }
    }
    app.print_held_calls();
}

fn resumed(app: &mut App, reply: &Reply) {
    let prompt = raw(&json!({"role": "user", "content": "go"}));
    tell(app, PastMessage::new(prompt, "s".into(), "u".into(), BEGAN.into()).user());
    reply.steps.iter().flat_map(messages).for_each(|message| tell(app, message));
    app.print_held_calls();
}

/// The cells of lines in a window: a character with its style. Blanks at the end are no cells.
fn cells(lines: &[StyledLine], columns: usize) -> Vec<Vec<(char, TextStyle)>> {
    let row = |line: &StyledLine| {
        let mut row: Vec<(char, TextStyle)> = Vec::new();
        for span in &line.spans {
            row.extend(span.text.chars().map(|c| (c, TextStyle { bg: span.style.bg.or(line.fill), ..span.style })));
        }
        while row.last().is_some_and(|(c, style)| *c == ' ' && style.bg.is_none()) {
            row.pop();
        }
        row
    };
    lines.iter().flat_map(|line| line.cut_at(columns)).map(|line| row(&line)).collect()
}

fn text_of(row: &[(char, TextStyle)]) -> String {
    row.iter().map(|(c, _)| *c).collect()
}

/// Rows that only the stream has: they stand for what the view shows.
fn stands_for_more(row: &[(char, TextStyle)]) -> bool {
    let text = text_of(row);
    text.trim_start().starts_with("… ") || text.ends_with("ctrl+o") || text.ends_with('…') || text.contains(" files · ")
}

#[test]
fn a_reply_looks_the_same_live_resumed_and_in_the_transcript_view() {
    let corpus = corpus();
    assert!(corpus.len() >= 40, "{}", corpus.len());
    for columns in [40, 80, 120, 200] {
        for reply in &corpus {
            let (mut now, mut later) = (app(columns), app(columns));
            live(&mut now, reply);
            resumed(&mut later, reply);
            let printed = cells(&now.take_finished(), columns);
            assert_alike(&printed, &cells(&later.take_finished(), columns), reply.name);
            assert!(!printed.iter().any(|row| text_of(row).contains("for the model")), "{}", reply.name);
            in_the_view(&now, &printed, columns, reply.name);
            assert_alike(&whole(&now, columns), &whole(&later, columns), reply.name);
        }
    }
}

/// Compares first the texts, whose difference can be read, then all cells.
fn assert_alike(one: &[Vec<(char, TextStyle)>], other: &[Vec<(char, TextStyle)>], name: &str) {
    let texts = |rows: &[Vec<(char, TextStyle)>]| rows.iter().map(|row| text_of(row)).collect::<Vec<_>>();
    assert_eq!(texts(one), texts(other), "{name}");
    assert!(one == other, "{name}: colours differ");
}

fn look(app: &App, columns: usize) -> RecordLook<'_> {
    RecordLook {
        theme: &app.preferences.theme,
        columns,
        syntax: SyntaxColouring::Coloured,
        wrap: ProseWrap::Words,
        limits: RecordLimits::NONE,
    }
}

fn whole(app: &App, columns: usize) -> Vec<Vec<(char, TextStyle)>> {
    let part = crate::app::transcript::TranscriptFilter::All;
    let look = look(app, columns);
    let height = app.transcript.height(&part, &look);
    cells(&app.transcript.window(&part, 0..height, &look), columns)
}

/// Every row of the stream is in the view, in its order.
fn in_the_view(app: &App, printed: &[Vec<(char, TextStyle)>], columns: usize, name: &str) {
    let stamp: Vec<char> = "06:12 · Opus 5".chars().collect();
    let without_stamp = |mut row: Vec<(char, TextStyle)>| {
        let start = row.len().saturating_sub(stamp.len());
        if row[start..].iter().map(|(c, _)| c).eq(&stamp) {
            row.truncate(start);
            while row.last().is_some_and(|(c, _)| *c == ' ') {
                row.pop();
            }
        }
        row
    };
    let all: Vec<_> = whole(app, columns).into_iter().map(without_stamp).collect();
    let mut rest = all.iter();
    for row in printed.iter().filter(|row| !stands_for_more(row)) {
        let found = rest.any(|shown| shown == row);
        let shown: Vec<String> = all.iter().map(|row| text_of(row)).collect();
        assert!(found, "{name} at {columns}: {:?} is not in {shown:#?}", text_of(row));
    }
}

#[test]
fn only_the_transcript_view_has_what_is_left_out() {
    let mut app = app(80);
    live(&mut app, &call("x", "Bash", json!({"command": "seq 50"}), ok("", json!({"stdout": lines(50)}))));
    let printed: Vec<String> = app.take_finished().iter().map(StyledLine::text).collect();
    assert_eq!(
        printed[2..],
        ["  ◆ Run     seq 50 · 12 s", "     line 0", "     line 1", "     line 2", "     … 47 more lines · ctrl+o"]
    );
    assert!(whole(&app, 80).iter().any(|row| text_of(row) == "     line 49"));
    let title = text_of(&whole(&app, 80)[2]);
    assert!(title.starts_with("  ◆ Run     seq 50 · 12 s  ") && title.ends_with("  06:12 · Opus 5"), "{title}");
}

#[test]
fn what_a_person_did_is_told_by_its_name_when_a_conversation_is_resumed() {
    let mut app = app(80);
    let user = |text: &str| {
        let message = raw(&json!({"role": "user", "content": text}));
        PastMessage::new(message, "s".into(), "u".into(), BEGAN.into()).user()
    };
    tell(
        &mut app,
        user(
            "<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>all</command-args>",
        ),
    );
    tell(&mut app, user("<bash-input>ls</bash-input>\n<bash-stdout>a.rs</bash-stdout><bash-stderr></bash-stderr>"));
    tell(&mut app, user("<system-reminder>\nobey\n</system-reminder>"));
    tell(&mut app, user("[Request interrupted by user]"));
    let printed: Vec<String> = app.take_finished().iter().map(StyledLine::text).collect();
    let expected = ["▌ /review all", "", "▌ ! ls", "     a.rs", "", "  Interrupted. What should be done instead?"];
    assert_eq!(printed, expected);
}

#[test]
fn a_call_without_a_result_was_cut_off() {
    let mut app = app(80);
    let calls = Step::Calls(vec![("Bash", json!({"command": "make"}))]);
    for message in messages(&calls) {
        tell(&mut app, message);
    }
    let body = wire::sdk::SystemBody::Informational { content: "The last turn was cut off.".into(), level: "info" };
    let remark = wire::sdk::SystemMessage { kind: "system", body, session_id: "s".into(), uuid: "u".into() };
    tell(&mut app, SdkMessage::System(remark));
    let printed: Vec<String> = app.take_finished().iter().map(StyledLine::text).collect();
    assert_eq!(printed, ["  ✕ Run     make · cut off", "", "  The last turn was cut off."]);
}
