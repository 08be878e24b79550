use crate::app::session::SessionDisplay;
use crate::app::{App, AppEffect, AppInput, Preferences};
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::{FocusChange, KeyCode, KeyMods, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::{Reflow, TerminalSize};

const ESCAPE: KeyPress = KeyPress { code: KeyCode::Escape, mods: KeyMods::NONE };

fn app(preferences: Preferences) -> App {
    let session = SessionDisplay { cwd: "/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(preferences, TerminalSize { columns: 80, rows: 30 }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn ask(app: &mut App, id: &str, mut request: Value) -> Vec<AppEffect> {
    request["subtype"] = json!("can_use_tool");
    let line = json!({"type": "control_request", "request_id": id, "request": request});
    let effects = app.update(AppInput::Event(crate::app::control_lines::event(&line)));
    app.now += Duration::from_secs(1);
    effects
}

fn press(app: &mut App, keys: &[KeyPress]) -> Vec<AppEffect> {
    keys.iter().flat_map(|key| app.update(AppInput::Key(*key))).collect()
}

fn shown(app: &App) -> String {
    app.view().lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
}

fn answers(effects: &[AppEffect]) -> Vec<Value> {
    let read = |effect: &AppEffect| match effect {
        AppEffect::Reply(reply) => {
            let body: Value = serde_json::from_str(reply.outcome.as_ref().ok()?.get()).ok()?;
            Some(json!({"request_id": reply.request_id, "response": body}))
        }
        _ => None,
    };
    effects.iter().filter_map(read).collect()
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "input": {"command": command}})
}

#[test]
fn an_agents_question_names_it_and_escape_denies_only_that_call() {
    // [TST-240]
    let mut app = app(Preferences::default());
    app.session.agent_names.insert("a1".into(), "Explore: find the tests".into());
    let mut request = bash("rm x");
    request["agent_id"] = json!("a1");
    ask(&mut app, "q1", request);
    ask(&mut app, "q2", bash("rm y"));
    let screen = shown(&app);
    assert!(screen.contains("asked by agent Explore: find the tests") && screen.contains("1 of 2"), "{screen}");
    let effects = press(&mut app, &[ESCAPE]);
    let answer = &answers(&effects)[0];
    assert_eq!((&answer["request_id"], &answer["response"]["interrupt"]), (&json!("q1"), &json!(false)));
    assert!(shown(&app).contains("rm y"));
}

#[test]
fn the_focus_of_the_window_and_keys_of_the_next_question_answer_nothing() {
    // [SC-E21]
    // [TST-240]
    let mut app = app(Preferences::default());
    ask(&mut app, "q1", bash("rm x"));
    ask(&mut app, "q2", bash("rm y"));
    for focus in [FocusChange::Gained, FocusChange::Lost] {
        assert!(app.update(AppInput::Focus(focus)).is_empty());
    }
    // The second press comes before the second question could be read.
    let effects = press(&mut app, &[KeyPress::char('1'), KeyPress::char('1')]);
    assert_eq!(answers(&effects).len(), 1);
    assert_eq!(app.prompt.editor.text(), "1");
}

#[test]
fn shift_tab_takes_the_whole_session_on_files_only() {
    let suggestions = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let back = [KeyPress::new(KeyCode::Tab, KeyMods::SHIFT)];
    let mut app = app(Preferences::default());
    let mut request = bash("rm x");
    request["permission_suggestions"] = suggestions.clone();
    ask(&mut app, "q1", request);
    assert!(answers(&press(&mut app, &back)).is_empty());
    press(&mut app, &[ESCAPE]);
    let write = json!({"tool_name": "Write", "input": {"file_path": "/project/a", "content": "x\n"},
                       "permission_suggestions": suggestions});
    let effects = ask(&mut app, "q2", write);
    assert!(
        matches!(&effects[..], [AppEffect::Request { request, .. }] if crate::app::control_lines::text_of(request).contains("read_file")),
        "{effects:?}"
    );
    assert!(!shown(&app).contains("Do you want to"), "its place in the file is not known yet");
    crate::app::control_lines::read_file(&mut app, &effects, None);
    app.now += Duration::from_secs(1);
    let answer = answers(&press(&mut app, &back));
    assert_eq!(answer[0]["response"]["updatedPermissions"][0]["mode"], "acceptEdits");
}

#[test]
fn a_change_is_shown_at_its_place_from_the_beginning() {
    // [TST-240]
    let edit = json!({"tool_name": "Edit", "input": {"file_path": "/project/a", "old_string": "two\n", "new_string": "zwei\n"}});
    let mut app = app(Preferences::default());
    let effects = ask(&mut app, "q1", edit.clone());
    assert!(!shown(&app).contains("- two"), "{}", shown(&app));
    crate::app::control_lines::read_file(&mut app, &effects, Some("one\ntwo\n"));
    assert!(shown(&app).contains("2 - two"), "{}", shown(&app));
    app.now += Duration::from_secs(1);
    press(&mut app, &[ESCAPE]);
    // A question that is withdrawn while its file is read never appears.
    let effects = ask(&mut app, "q2", edit);
    app.update(AppInput::Event(engine::Event::AskWithdrawn { id: "q2".into() }));
    crate::app::control_lines::read_file(&mut app, &effects, Some("one\ntwo\n"));
    assert!(!shown(&app).contains("Do you want to"), "{}", shown(&app));
}

#[test]
fn a_file_that_is_overwritten_is_shown_as_what_changes() {
    let mut app = app(Preferences::default());
    let write = json!({"tool_name": "Write", "input": {"file_path": "/project/a", "content": "one\nzwei\n"}});
    let effects = ask(&mut app, "q1", write);
    crate::app::control_lines::read_file(&mut app, &effects, Some("one\ntwo\n"));
    let screen = shown(&app);
    assert!(
        screen.contains("Do you want to overwrite a") && screen.contains("- two") && !screen.contains("+ one"),
        "{screen}"
    );
}

#[test]
fn questions_that_nobody_answers_send_what_is_chosen() {
    // [TST-241]
    let minute = Duration::from_mins(1);
    // The notification must not interfere.
    let patience = crate::app::alerts::AlertDelays { question: minute * 60, idle: minute * 60 };
    let mut app = app(Preferences { question_timeout: Some(minute), alert_delays: patience, ..Preferences::default() });
    let question = |text: &str| json!({"question": text, "options": [{"label": "A"}, {"label": "B"}]});
    let input = json!({"questions": [question("One?"), question("Two?")]});
    ask(&mut app, "q1", json!({"tool_name": "AskUserQuestion", "input": input}));
    press(&mut app, &[KeyPress::char('2')]);
    assert_eq!(app.layers.next_tick(&app.layer_view()), Some(app.now + minute));
    app.now += Duration::from_millis(59_999);
    assert!(answers(&app.update(AppInput::Tick)).is_empty());
    app.now += Duration::from_millis(1);
    let answer = answers(&app.update(AppInput::Tick));
    let input = &answer[0]["response"]["updatedInput"];
    assert_eq!((&input["answers"], &input["afkTimeoutMs"]), (&json!({"One?": "B"}), &json!(60_000)));
    assert_eq!(app.layers.next_tick(&app.layer_view()), None);
}

#[test]
fn a_tall_question_has_a_screen_of_its_own_below_the_last_lines_until_it_is_answered() {
    // [TST-247]
    let mut app = app(Preferences::default());
    app.note(&(0..40).map(|n| format!("said {n}")).collect::<Vec<_>>().join("\n"), terminal::theme::ThemeToken::Text);
    app.take_finished();
    let rows = |app: &App| app.cover().map(|frame| frame.lines.iter().map(StyledLine::text).collect::<Vec<_>>());
    ask(&mut app, "q1", bash("touch made.txt"));
    app.choose_screen(Reflow::Wraps);
    assert_eq!(rows(&app), None, "a short one stays where the conversation is");
    press(&mut app, &[ESCAPE]);
    ask(&mut app, "q2", bash(&"echo some words of a long command that is about as wide as the window\n".repeat(20)));
    app.choose_screen(Reflow::Cuts);
    assert_eq!(rows(&app), None, "nothing is moved into the scrollback of a terminal that cuts rows");
    app.choose_screen(Reflow::Wraps);
    let shown = rows(&app).unwrap();
    assert!(shown.len() <= 30 && shown.iter().any(|row| row.contains("Do you want to run")), "{shown:?}");
    let printed: Vec<String> = app.take_finished().iter().map(StyledLine::text).collect();
    let last = printed.last().unwrap();
    assert!(shown.contains(last), "{last:?} in {shown:?}");
    // It stays there although it would fit now.
    app.size = TerminalSize { columns: 200, rows: 60 };
    app.choose_screen(Reflow::Wraps);
    assert!(rows(&app).is_some());
    app.now += Duration::from_secs(1);
    press(&mut app, &[ESCAPE]);
    app.choose_screen(Reflow::Wraps);
    assert_eq!(rows(&app), None);
}

#[test]
fn the_conversation_can_be_read_while_the_model_asks() {
    // [TST-241]
    let mut app = app(Preferences::default());
    let options = json!([{"label": "A"}, {"label": "B"}]);
    let input = json!({"questions": [{"question": "One?", "options": options}]});
    ask(&mut app, "q1", json!({"tool_name": "AskUserQuestion", "input": input}));
    assert!(app.cover().is_none());
    press(&mut app, &[KeyPress::ctrl('o')]);
    assert!(app.cover().is_some());
    press(&mut app, &[KeyPress::char('q')]);
    assert!(app.cover().is_none() && shown(&app).contains("One?"), "{}", shown(&app));
}

#[test]
fn a_plan_can_begin_a_new_conversation() {
    // [TST-241]
    let mut app = app(Preferences { clears_on_plan: true, ..Preferences::default() });
    ask(
        &mut app,
        "q1",
        json!({"tool_name": "ExitPlanMode", "input": {"plan": "1. go", "planFilePath": "/plans/x.md"}}),
    );
    let screen = shown(&app);
    assert!(screen.contains("Plan file: /plans/x.md") && screen.contains("1. Yes, clear the conversation"), "{screen}");
    let effects = press(&mut app, &[KeyPress::char('1')]);
    assert_eq!(answers(&effects)[0]["response"]["behavior"], "deny");
    let submits = |effects: &[AppEffect], text: &str| {
        effects.iter().any(|effect| matches!(effect, AppEffect::Submit(prompt) if prompt.text.starts_with(text)))
    };
    assert!(submits(&effects, "/clear") && !submits(&effects, "Carry out"), "{effects:?}");
    let reset = wire::sdk::ConversationReset {
        kind: "conversation_reset",
        new_conversation_id: "n".into(),
        trigger: "clear",
        user_message_uuid: None,
        timestamp: String::new(),
        session_id: "s".into(),
        uuid: "u".into(),
    };
    let effects = app.update(AppInput::Event(engine::Event::Message(wire::sdk::SdkMessage::Reset(Box::new(reset)))));
    assert!(submits(&effects, "Carry out this plan:\n\n1. go"), "{effects:?}");
}

#[test]
fn what_is_typed_in_a_screen_answers_no_question() {
    // [TST-240]
    let mut app = app(Preferences::default());
    for c in "/help".chars() {
        app.update(AppInput::Key(KeyPress::char(c)));
    }
    press(&mut app, &[KeyPress { code: KeyCode::Enter, mods: KeyMods::NONE }]);
    assert!(app.has_panel());
    ask(&mut app, "q1", bash("rm x"));
    app.now += Duration::from_secs(5);
    app.typed_at = app.now;
    let effects = press(&mut app, &[KeyPress::char('1'), KeyPress::char('y')]);
    assert!(answers(&effects).is_empty() && app.prompt.editor.is_empty());
    app.now += Duration::from_secs(1);
    assert_eq!(answers(&press(&mut app, &[KeyPress::char('y')])).len(), 1);
    assert!(app.has_panel(), "the screen is still there");
}

#[test]
fn a_no_is_completed_by_words_or_by_enter_alone() {
    // [TST-240]
    const ENTER: KeyPress = KeyPress { code: KeyCode::Enter, mods: KeyMods::NONE };
    for (key, words) in
        [(KeyPress::char('2'), "use make"), (KeyPress::char('n'), "use make"), (KeyPress::char('2'), "")]
    {
        let mut app = app(Preferences::default());
        ask(&mut app, "q1", bash("rm x"));
        assert!(answers(&press(&mut app, &[key])).is_empty());
        assert!(shown(&app).contains("what to do instead:"), "{}", shown(&app));
        let typed: Vec<KeyPress> = words.chars().map(KeyPress::char).chain([ENTER]).collect();
        let answer = &answers(&press(&mut app, &typed))[0]["response"];
        assert_eq!(answer["behavior"], "deny");
        if words.is_empty() {
            assert_eq!(answer["interrupt"], true);
        } else {
            assert_eq!((&answer["message"], answer.get("interrupt")), (&json!(words), None));
        }
    }
    // Esc leaves the words, and then says no without any.
    let mut app = app(Preferences::default());
    ask(&mut app, "q1", bash("rm x"));
    assert!(answers(&press(&mut app, &[KeyPress::char('2'), KeyPress::char('u'), ESCAPE])).is_empty());
    assert_eq!(answers(&press(&mut app, &[ESCAPE]))[0]["response"]["interrupt"], true);
}

#[test]
fn the_count_stands_at_the_right_edge_of_the_question() {
    // [TST-240]
    let mut app = app(Preferences::default());
    for id in ["q1", "q2", "q3"] {
        ask(&mut app, id, bash("rm x"));
    }
    let screen = shown(&app);
    let title = screen.lines().find(|row| row.contains("Do you want to run this command?")).unwrap().to_owned();
    assert!(title.ends_with("1 of 3") && title.chars().count() == 80, "{screen}");
    press(&mut app, &[ESCAPE]);
    assert!(shown(&app).contains("1 of 2"));
    app.now += Duration::from_secs(1);
    press(&mut app, &[ESCAPE]);
    assert!(!shown(&app).contains(" of "), "{}", shown(&app));
}
