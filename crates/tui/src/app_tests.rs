use super::*;
use crate::test_events::stream_event;
use serde_json::json;
use terminal::keys::bindings::KeyAction;
use terminal::keys::{KeyCode, KeyMods};
use wire::mode::PermissionMode;
use wire::sdk::SdkMessage;

const SIZE: TerminalSize = TerminalSize { columns: 60, rows: 20 };

fn app() -> App {
    let session = SessionDisplay {
        id: Some("s".into()),
        cwd: "/project".into(),
        shown_cwd: "~/project".into(),
        ..SessionDisplay::default()
    };
    let mut app = App::new(Preferences::default(), SIZE, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn press(app: &mut App, keys: &[KeyPress]) -> Vec<AppEffect> {
    keys.iter().flat_map(|key| app.update(AppInput::Key(*key))).collect()
}

fn write(app: &mut App, text: &str) -> Vec<AppEffect> {
    text.chars().flat_map(|c| app.update(AppInput::Key(KeyPress::char(c)))).collect()
}

fn enter(app: &mut App) -> Vec<AppEffect> {
    press(app, &[KeyPress::plain(KeyCode::Enter)])
}

fn stream(app: &mut App, event: &serde_json::Value) {
    app.update(AppInput::Event(engine::Event::Message(stream_event(event))));
}

fn say(app: &mut App, text: &str) {
    stream(app, &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}));
}

fn ask(app: &mut App, request: &serde_json::Value) {
    let line = json!({"type": "control_request", "request_id": "q1", "request": request});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
}

fn shown(app: &App) -> Vec<String> {
    app.view().lines.iter().map(StyledLine::text).collect()
}

fn printed(app: &mut App) -> Vec<String> {
    app.take_finished().iter().map(StyledLine::text).collect()
}

#[test]
fn a_prompt_is_sent_and_one_typed_meanwhile_waits() {
    let mut app = app();
    write(&mut app, "hello");
    let effects = enter(&mut app);
    assert!(
        effects.contains(&AppEffect::Submit(PromptMessage { text: "hello".into(), ..PromptMessage::default() })),
        "{effects:?}"
    );
    assert!(app.is_busy());
    write(&mut app, "and then");
    let effects = enter(&mut app);
    let sent = effects.iter().find_map(|effect| match effect {
        AppEffect::Submit(prompt) => prompt.uuid.clone(),
        _ => None,
    });
    let uuid = sent.expect("it goes to the engine, which may tell it in the middle of the turn");
    assert!(shown(&app).contains(&"> and then".to_owned()));
    // The engine reports which messages it returns.
    let effects = press(&mut app, &[KeyPress::plain(KeyCode::Up)]);
    let [AppEffect::Request { id, request }] = &effects[..] else { panic!("{effects:?}") };
    assert!(crate::app::control_lines::text_of(request).contains("cancel_async_message"));
    assert!(app.prompt.editor.is_empty());
    let body = json!({"cancelled": true, "message_uuids": [uuid]});
    let response = json!({"subtype": "success", "request_id": id, "response": body});
    let line = json!({"type": "control_response", "response": response});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
    assert_eq!(app.prompt.editor.text(), "and then");
    assert!(!shown(&app)[..3].contains(&"> and then".to_owned()));
}

#[test]
fn text_streams_and_closed_blocks_are_printed_once() {
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    printed(&mut app);
    say(&mut app, "One.\n\nTw");
    assert_eq!(printed(&mut app), ["", "  One."]);
    assert!(shown(&app).contains(&"  Tw".to_owned()));
    say(&mut app, "o.");
    assert!(printed(&mut app).is_empty());
    assert!(shown(&app).contains(&"  Two.".to_owned()));
}

#[test]
fn the_turn_waits_for_an_open_question_whatever_else_goes_on() {
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    ask(&mut app, &json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "make"}}));
    say(&mut app, "More text comes meanwhile.");
    let rows = shown(&app).join("\n");
    assert!(rows.contains("Do you want to run this command?"), "{rows}");
    assert!(rows.contains("Waiting for your answer") && !rows.contains("esc to interrupt"), "{rows}");
}

#[test]
fn an_answer_that_breaks_off_begins_again_without_what_was_there() {
    // [TST-234]
    let again = json!({"type": "message_start", "message": {}});
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    printed(&mut app);
    say(&mut app, "Only a beg");
    stream(&mut app, &again);
    assert!(printed(&mut app).is_empty());
    assert!(!shown(&app).concat().contains("Only"));
    say(&mut app, "One.\n\nTw");
    assert_eq!(printed(&mut app), ["", "  One."]);
    stream(&mut app, &again);
    assert_eq!(printed(&mut app), ["", "  The answer broke off and begins again."]);
    say(&mut app, "One.\n\nTwo.");
    assert_eq!(printed(&mut app), ["", "  One."]);
    assert!(shown(&app).contains(&"  Two.".to_owned()), "{:?}", shown(&app));
}

#[test]
fn an_exclamation_mark_runs_a_command() {
    // [TST-238]
    let mut app = app();
    write(&mut app, "! ls -l");
    let effects = enter(&mut app);
    assert!(effects.contains(&AppEffect::Submit(PromptMessage {
        text: "ls -l".into(),
        is_shell: true,
        ..PromptMessage::default()
    })));
    assert!(shown(&app).iter().any(|line| line.contains("Running your command")));
}

#[test]
fn escape_interrupts_at_once() {
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    assert_eq!(press(&mut app, &[KeyPress::plain(KeyCode::Escape)]), [AppEffect::Interrupt]);
    assert!(shown(&app).iter().any(|line| line.contains("Stopping")));
}

#[test]
fn ctrl_c_clears_then_exits_on_the_second_press() {
    // [TST-232]
    let mut app = app();
    write(&mut app, "draft");
    assert!(press(&mut app, &[KeyPress::ctrl('c')]).is_empty());
    assert!(app.prompt.editor.is_empty());
    assert!(press(&mut app, &[KeyPress::ctrl('c')]).is_empty());
    app.now += Duration::from_secs(1);
    assert!(press(&mut app, &[KeyPress::ctrl('c')]).is_empty());
    assert_eq!(press(&mut app, &[KeyPress::ctrl('c')]), [AppEffect::Exit]);
}

#[test]
fn ctrl_c_stops_a_turn_and_keeps_the_draft_and_can_leave_one_that_does_not_end() {
    // [TST-201] [TST-232]
    let mut app = app();
    write(&mut app, "go");
    enter(&mut app);
    write(&mut app, "draft");
    assert_eq!(press(&mut app, &[KeyPress::ctrl('c')]), [AppEffect::Interrupt]);
    assert_eq!(app.prompt.editor.text(), "draft");
    assert!(press(&mut app, &[KeyPress::ctrl('c'), KeyPress::ctrl('c')]).is_empty());
    assert_eq!(press(&mut app, &[KeyPress::ctrl('c')]), [AppEffect::Exit]);
}

#[test]
fn every_way_to_a_new_line() {
    // [TST-234]
    for keys in [
        vec![KeyPress::ctrl('j')],
        vec![KeyPress::new(KeyCode::Enter, KeyMods::ALT)],
        vec![KeyPress::new(KeyCode::Enter, KeyMods::SHIFT)],
        vec![KeyPress::char('\\'), KeyPress::plain(KeyCode::Enter)],
    ] {
        let mut app = app();
        write(&mut app, "a");
        assert!(press(&mut app, &keys).is_empty());
        write(&mut app, "b");
        assert_eq!(app.prompt.editor.text(), "a\nb");
    }
}

#[test]
fn keys_on_their_way_do_not_answer_a_question() {
    // [TST-240]
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    ask(&mut app, &json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}}));
    // While the user keeps typing, the dialog takes no answer.
    for _ in 0..5 {
        app.now += Duration::from_millis(100);
        assert!(write(&mut app, "y1").is_empty());
        assert!(enter(&mut app).is_empty());
    }
    assert_eq!(app.prompt.editor.text(), "y1y1y1y1y1");
    app.now += Duration::from_millis(300);
    let effects = write(&mut app, "y");
    assert!(
        matches!(&effects[..], [AppEffect::Reply(reply)] if reply.outcome.as_ref().unwrap().get().contains("\"behavior\":\"allow\"")),
        "{effects:?}"
    );
}

#[test]
fn escape_says_no_and_a_comment_goes_along() {
    // [TST-240]
    let mut app = app();
    write(&mut app, "x");
    enter(&mut app);
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}});
    ask(&mut app, &request);
    app.now += Duration::from_secs(1);
    let effects = press(&mut app, &[KeyPress::plain(KeyCode::Escape)]);
    assert!(
        matches!(&effects[..], [AppEffect::Reply(reply)] if reply.outcome.as_ref().unwrap().get().contains("deny"))
    );
    ask(&mut app, &request);
    app.now += Duration::from_secs(1);
    press(&mut app, &[KeyPress::plain(KeyCode::Down), KeyPress::plain(KeyCode::Tab)]);
    write(&mut app, "use make");
    let effects = enter(&mut app);
    assert!(
        matches!(&effects[..], [AppEffect::Reply(reply)] if reply.outcome.as_ref().unwrap().get().contains("use make")),
        "{effects:?}"
    );
    assert!(!app.layers.has(LayerRank::Question));
}

#[test]
fn a_withdrawn_question_goes_away() {
    let mut app = app();
    ask(&mut app, &json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "x"}}));
    let line = json!({"type": "control_cancel_request", "request_id": "q1"});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
    assert!(!app.layers.has(LayerRank::Question));
}

#[test]
fn agents_are_stopped_on_the_second_press_and_shells_are_not() {
    // [TST-232]
    let mut app = app();
    app.session.background = vec![
        session::BackgroundTaskRow {
            id: "a1".into(),
            is_agent: true,
            kind: "agent",
            description: String::new(),
            since: Duration::ZERO,
        },
        session::BackgroundTaskRow {
            id: "b2".into(),
            is_agent: false,
            kind: "shell",
            description: String::new(),
            since: Duration::ZERO,
        },
    ];
    let keys = [KeyPress::ctrl('x'), KeyPress::ctrl('k')];
    assert!(press(&mut app, &keys).is_empty());
    let effects = press(&mut app, &keys);
    assert!(
        matches!(&effects[..], [AppEffect::Request { request, .. }] if crate::app::control_lines::text_of(request).contains("stop_task") && crate::app::control_lines::text_of(request).contains("a1")),
        "{effects:?}"
    );
}

#[test]
fn a_copy_of_the_conversation_asks_before_it_stops_what_runs() {
    let mut app = app();
    app.session.id = Some("s".into());
    write(&mut app, "x");
    enter(&mut app);
    app.transcript.add_from(
        super::record::RecordItem::Reply("Here.".into()),
        super::transcript::RecordOrigin { stamp: String::new(), agent: None },
        None,
    );
    app.activity.turn = None;
    printed(&mut app);
    let task = session::BackgroundTaskRow {
        id: "b2".into(),
        is_agent: false,
        kind: "shell",
        description: String::new(),
        since: Duration::ZERO,
    };
    app.session.background = vec![task];
    let is_copy = |effects: &[AppEffect]| effects.iter().any(|effect| matches!(effect, AppEffect::Fork { .. }));
    for (answer, copies) in [('2', false), ('1', true)] {
        write(&mut app, "/branch ");
        assert!(!is_copy(&enter(&mut app)));
        assert!(shown(&app).concat().contains("Exit and stop it"), "{:?}", shown(&app));
        app.update(AppInput::Tick);
        app.now += Duration::from_secs(5);
        assert_eq!(is_copy(&write(&mut app, &answer.to_string())), copies);
    }
    app.session.background.clear();
    write(&mut app, "/branch ");
    assert!(is_copy(&enter(&mut app)));
}

#[test]
fn modes_cycle() {
    let mut app = app();
    for mode in ["acceptEdits", "plan", "default"] {
        let effects = press(&mut app, &[KeyPress::new(KeyCode::Tab, KeyMods::SHIFT)]);
        assert!(
            matches!(&effects[..], [AppEffect::Request { request, .. }] if crate::app::control_lines::text_of(request).contains(mode)),
            "{effects:?}"
        );
    }
}

#[test]
fn nothing_moves_when_idle() {
    // [TST-226]
    let mut app = app();
    assert_eq!(app.next_change(), None);
    write(&mut app, "x");
    enter(&mut app);
    assert!(app.next_change().is_some());
}

#[test]
fn every_size_has_a_prompt() {
    // [TST-247]
    let mut app = app();
    write(&mut app, "a prompt of some length that wraps in small windows");
    for (columns, rows) in [(20, 5), (40, 10), (400, 60), (1, 1), (5, 2)] {
        app.size = TerminalSize { columns, rows };
        let frame = app.view();
        assert!(frame.lines.len() <= rows, "{columns}x{rows}");
        assert!(frame.caret.is_some_and(|caret| caret.row < rows), "{columns}x{rows}");
    }
    ask(&mut app, &json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "a\nb\nc\nd\ne"}}));
    app.size = TerminalSize { columns: 20, rows: 5 };
    assert!(app.view().lines.len() <= 5);
}

#[test]
fn files_are_suggested_and_late_answers_ignored() {
    // [TST-237]
    let mut app = app();
    let effects = write(&mut app, "see @ma");
    assert_eq!(effects.last(), Some(&AppEffect::FindFiles(FileQuestion::Mention("ma".into()))));
    app.update(AppInput::Files { query: "m".into(), found: vec!["old".into()] });
    assert!(!app.layers.has(LayerRank::Completion));
    app.update(AppInput::Files { query: "ma".into(), found: vec!["src/main.rs".into(), "my map.txt".into()] });
    press(&mut app, &[KeyPress::plain(KeyCode::Down), KeyPress::plain(KeyCode::Tab)]);
    assert_eq!(app.prompt.editor.text(), "see @\"my map.txt\" ");
}

#[test]
fn a_history_search_finds_and_can_be_left() {
    // [TST-239]
    let mut app = app();
    let earlier = |text: &str| EarlierPrompt { text: text.into(), is_here: true, session_id: "s".into() };
    app.update(AppInput::History(vec![earlier("build it"), earlier("test it")]));
    write(&mut app, "draft");
    press(&mut app, &[KeyPress::ctrl('r')]);
    write(&mut app, "te");
    assert!(shown(&app).contains(&"  ❯ test it".to_owned()), "{:#?}", shown(&app));
    assert!(shown(&app).iter().any(|row| row.ends_with("this project · 1 found")));
    press(&mut app, &[KeyPress::ctrl('c')]);
    assert_eq!(app.prompt.editor.text(), "draft");
    press(&mut app, &[KeyPress::ctrl('r')]);
    write(&mut app, "te");
    assert!(enter(&mut app).is_empty(), "Enter takes it");
    assert_eq!(app.prompt.editor.text(), "test it");
    assert!(enter(&mut app).iter().any(|effect| matches!(effect, AppEffect::Submit(_))), "a second Enter sends it");
}

#[test]
fn what_is_sent_before_the_session_is_ready_is_sent_then() {
    let mut app = app();
    app.is_ready = false;
    write(&mut app, "early");
    let effects = enter(&mut app);
    assert!(!effects.iter().any(|effect| matches!(effect, AppEffect::Submit(_))), "{effects:?}");
    app.begin_queued();
    assert!(!app.is_busy());
    app.is_ready = true;
    app.begin_queued();
    let effects = app.update(AppInput::Tick);
    assert!(matches!(&effects[..], [AppEffect::Submit(prompt)] if prompt.text == "early"), "{effects:?}");
}

#[test]
fn what_is_sent_before_the_session_is_ready_comes_back_with_escape() {
    for key in [KeyPress::plain(KeyCode::Escape), KeyPress::ctrl('c')] {
        let mut app = app();
        app.is_ready = false;
        write(&mut app, "early");
        enter(&mut app);
        assert_eq!(app.prompt.editor.text(), "");
        press(&mut app, &[key]);
        assert_eq!(app.prompt.editor.text(), "early");
        app.is_ready = true;
        app.begin_queued();
        assert!(!app.is_busy(), "nothing is sent any more");
    }
}

#[test]
fn modes_go_on_from_the_last_wish_although_older_answers_come_in() {
    let mut app = app();
    let cycle = |app: &mut App| press(app, &[KeyPress::new(KeyCode::Tab, KeyMods::SHIFT)]);
    cycle(&mut app);
    cycle(&mut app);
    let wished = app.session.mode;
    assert_eq!(wished, PermissionMode::Plan);
    app.session.mode = PermissionMode::AcceptEdits;
    cycle(&mut app);
    assert_eq!(app.session.mode, PermissionMode::Default);
}

/// Everything that can be seen or heard of the interface.
fn everything(app: &mut App) -> String {
    format!("{:?} {:?} {:?}", app.view(), app.cover(), printed(app))
}

/// An interface in a state in which some of the keys do something.
fn in_state(state: &str) -> App {
    let mut app = app();
    let earlier = |text: &str| EarlierPrompt { text: text.into(), is_here: true, session_id: "s".into() };
    app.update(AppInput::History(vec![earlier("build it"), earlier("test it")]));
    match state {
        "text" => drop(write(&mut app, "some words")),
        "history" => drop(press(&mut app, &[KeyPress::ctrl('p'), KeyPress::ctrl('p')])),
        "turn" => {
            write(&mut app, "go");
            enter(&mut app);
        }
        _ => {}
    }
    app
}

/// Whatever `?` lists does something, in an empty prompt, while text is typed, or while a turn runs.
#[test]
fn every_listed_key_has_an_effect() {
    let bindings = KeyBindings::default();
    for (action, keys) in help::listed(&bindings) {
        if action == KeyAction::ToggleTodos {
            // Shows or hides what only a list of tasks has; see the tests of the list.
            continue;
        }
        let chord = bindings.chord_of(action).unwrap_or_default();
        let has_effect = |state: &str| {
            let mut app = in_state(state);
            let before = everything(&mut app);
            let effects = press(&mut app, chord);
            !effects.is_empty() || everything(&mut app) != before
        };
        assert!(["empty", "text", "history", "turn"].into_iter().any(has_effect), "{keys}: {}", action.help());
    }
}

#[test]
fn an_unknown_command_of_several_words_is_offered_as_text() {
    let mut app = app();
    write(&mut app, "/verfy that it works");
    enter(&mut app);
    let ended = |command: Option<&str>| {
        let local_command = command.map(str::to_owned);
        let result = wire::sdk::TurnResult { kind: "result", local_command, ..wire::sdk::TurnResult::default() };
        AppInput::Event(engine::Event::Message(SdkMessage::Result(Box::new(result))))
    };
    app.update(ended(Some(engine::UNKNOWN_COMMAND)));
    assert_eq!(app.prompt.editor.text(), "/verfy that it works");
    assert!(shown(&app).iter().any(|row| row.contains("press enter to send it to the model as text")));
    let sent = |effects: &[AppEffect]| {
        effects.iter().find_map(|effect| match effect {
            AppEffect::Submit(prompt) => Some((prompt.text.clone(), prompt.is_verbatim)),
            _ => None,
        })
    };
    let effects = enter(&mut app);
    assert_eq!(sent(&effects), Some(("/verfy that it works".into(), true)));
    app.update(ended(None));
    // What was changed first is a command again.
    write(&mut app, "/verfy this and that");
    enter(&mut app);
    app.update(ended(Some(engine::UNKNOWN_COMMAND)));
    write(&mut app, "!");
    assert!(!shown(&app).iter().any(|row| row.contains("press enter to send it")), "{:?}", shown(&app));
    let effects = enter(&mut app);
    assert_eq!(sent(&effects), Some(("/verfy this and that!".into(), false)));
}

/// [TST-173] A prompt that is typed before the session has an id is recorded with that id.
#[test]
fn prompts_are_recorded_with_the_id_of_their_session() {
    let unnamed = || {
        let mut app = app();
        app.session.id = None;
        app
    };
    let mut app = unnamed();
    write(&mut app, "hello");
    let recorded = |effects: Vec<AppEffect>| {
        let of = |effect| match effect {
            AppEffect::Remember { typed, session_id } => Some((typed.shown, session_id)),
            _ => None,
        };
        effects.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(recorded(enter(&mut app)), []);
    app.session.id = Some("S1".into());
    app.record_prompts();
    assert_eq!(recorded(app.update(AppInput::Tick)), [("hello".into(), "S1".into())]);
    write(&mut app, "again");
    assert_eq!(recorded(enter(&mut app)), [("again".into(), "S1".into())]);
    // One that no session took is recorded at the end.
    let mut app = unnamed();
    write(&mut app, "/vim");
    assert_eq!(recorded(enter(&mut app)), []);
    press(&mut app, &[KeyPress::ctrl('c')]);
    assert_eq!(recorded(press(&mut app, &[KeyPress::ctrl('c')])), [("/vim".into(), String::new())]);
}
