//! The real layers on top of each other, and some of them alone.

use super::tests::Outside;
use super::*;
use crate::app::confirm::ConfirmDialog;
use crate::app::dialog::{Dialog, PlanOffers, ToolPermissionRequest};
use crate::app::help::PromptHelp;
use crate::app::menu::{Menu, MenuItem, SuggestionKind, SuggestionQuery};
use crate::app::pager::Pager;
use crate::app::{App, AppEffect, AppInput};
use crate::picker::PickerRequest;
use crate::screen_reader::ScreenReaderSource;
use engine::preflight::PreflightQuestion;
use serde_json::json;
use terminal::keys::KeyCode;

const SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

fn app(preferences: Preferences) -> App {
    let session = SessionDisplay { cwd: "/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(preferences, SIZE, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn write(app: &mut App, text: &str) -> Vec<AppEffect> {
    text.chars().flat_map(|c| app.update(AppInput::Key(KeyPress::char(c)))).collect()
}

fn press(app: &mut App, key: KeyPress) -> Vec<AppEffect> {
    app.update(AppInput::Key(key))
}

/// Asks for permission and lets the time pass in which keys do not answer.
fn ask(app: &mut App, id: &str) {
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}});
    let line = json!({"type": "control_request", "request_id": id, "request": request});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
    app.now += Duration::from_secs(1);
}

fn answers(effects: &[AppEffect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, AppEffect::Reply(_))).count()
}

fn shown(app: &App) -> String {
    app.view().lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_visible_question_gets_the_keys_although_help_is_open() {
    let mut app = app(Preferences::default());
    write(&mut app, "?");
    assert!(shown(&app).contains("/ commands"));
    ask(&mut app, "q1");
    assert!(shown(&app).contains("Do you want to run this command?"));
    assert_eq!(answers(&write(&mut app, "y")), 1);
    assert!(shown(&app).contains("/ commands"), "help is there again");
    write(&mut app, "x");
    assert!(
        !shown(&app).contains("/ commands") && app.prompt.editor.is_empty(),
        "a key closes it and does nothing else"
    );
}

#[test]
fn the_transcript_gets_the_keys_while_it_covers_a_question_and_a_panel() {
    let mut app = app(Preferences::default());
    write(&mut app, "/help");
    press(&mut app, KeyPress::plain(KeyCode::Enter));
    ask(&mut app, "q1");
    press(&mut app, KeyPress::ctrl('o'));
    assert!(app.cover().is_some());
    assert_eq!(answers(&write(&mut app, "y1")), 0);
    assert!(app.layers.find::<Pager>().is_some() && app.has_panel());
    press(&mut app, KeyPress::char('q'));
    assert!(app.cover().is_none() && shown(&app).contains("Do you want to run this command?"));
    // The question can be read only now.
    assert_eq!(answers(&write(&mut app, "y")), 0);
    app.now += Duration::from_secs(1);
    assert_eq!(answers(&write(&mut app, "y")), 1);
    assert!(shown(&app).contains("Commands"), "the panel is there again");
}

#[test]
fn a_paste_goes_to_the_picker_in_front_of_a_question() {
    let mut app = app(Preferences::default());
    ask(&mut app, "q1");
    app.open_picker("");
    let effects = app.update(AppInput::Paste("words".into()));
    let searches = |effect: &AppEffect| matches!(effect, AppEffect::Picker(PickerRequest::Search { query, .. }) if query == "words");
    assert!(effects.iter().any(searches), "{effects:?}");
}

#[test]
fn a_question_before_the_start_is_above_everything_but_the_transcript() {
    let mut app = app(Preferences::default());
    ask(&mut app, "q1");
    app.open_picker("");
    app.ask_before_start(PreflightQuestion::Bypass);
    assert!(shown(&app).contains("Bypass all permission checks?"));
    app.now += Duration::from_secs(1);
    let effects = press(&mut app, KeyPress::plain(KeyCode::Escape));
    assert!(matches!(effects.last(), Some(AppEffect::Entry(_))), "{effects:?}");
    assert!(app.layers.has(LayerRank::SessionPicker), "the picker is there again");
}

#[test]
fn a_screen_reader_hears_every_layer() {
    let reader = Preferences { screen_reader: Some(ScreenReaderSource::Flag), ..Preferences::default() };
    let mut app = app(reader);
    app.size.rows = 60;
    write(&mut app, "?");
    assert!(shown(&app).contains("/ commands"), "{}", shown(&app));
    app.open_picker("");
    assert!(!shown(&app).contains("/ commands"), "{}", shown(&app));
    app.ask_before_start(PreflightQuestion::Bypass);
    let heard = shown(&app);
    assert!(heard.contains("Bypass all permission checks?") && heard.contains("2. No, exit"), "{heard}");
}

fn effects_of(outcome: KeyOutcome) -> Vec<LayerEffect> {
    match outcome {
        KeyOutcome::Taken(effects) => effects,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_confirmation_alone_ignores_keys_until_it_could_be_read() {
    let outside = Outside::default();
    let now = outside.view().now;
    let mut fresh = ConfirmDialog::before_start(PreflightQuestion::Bypass, now);
    assert!(matches!(effects_of(fresh.key(KeyPress::char('1'), &outside.view()))[..], [LayerEffect::Typed]));
    let mut read = ConfirmDialog::before_start(PreflightQuestion::Bypass, Duration::ZERO);
    assert!(matches!(read.key(KeyPress::ctrl('z'), &outside.view()), KeyOutcome::Passed));
    assert!(read.paste("text", &outside.view()).is_none());
    let effects = effects_of(read.key(KeyPress::char('1'), &outside.view()));
    assert!(matches!(effects[..], [LayerEffect::Close, LayerEffect::Outside(AppEffect::Entry(_))]), "{effects:?}");
}

#[test]
fn a_question_alone_passes_early_keys_on_and_answers_later_ones() {
    let outside = Outside::default();
    let request = || ToolPermissionRequest { tool_name: "Bash".into(), ..ToolPermissionRequest::default() };
    let mut fresh = Dialog::new("q".into(), request(), outside.view().now, PlanOffers::default());
    assert!(matches!(fresh.key(KeyPress::char('y'), &outside.view()), KeyOutcome::Early));
    assert_eq!(fresh.contexts(), [KeyContext::Confirmation, KeyContext::Global]);
    let mut read = Dialog::new("q".into(), request(), Duration::ZERO, PlanOffers::default());
    let effects = effects_of(read.key(KeyPress::char('y'), &outside.view()));
    assert!(matches!(effects[..], [LayerEffect::Close, LayerEffect::Reply(_), LayerEffect::RefuseCall { .. }]));
}

#[test]
fn suggestions_alone_complete_and_leave_the_rest_to_the_prompt() {
    let mut outside = Outside::default();
    outside.editor.set("/mo");
    let wanted = SuggestionQuery { kind: SuggestionKind::Command, query: "mo".into(), start: 0 };
    let mut menu = Menu::new(wanted, vec![MenuItem::new("/model", "")]);
    let effects = menu.action(KeyAction::Submit, &outside.view()).unwrap();
    let [LayerEffect::Close, LayerEffect::Complete { text, .. }, LayerEffect::Perform(KeyAction::Submit)] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!(text, "/model ");
    outside.editor.set("/model");
    let wanted = SuggestionQuery { kind: SuggestionKind::Command, query: "model".into(), start: 0 };
    let mut menu = Menu::new(wanted, menu.items);
    assert!(menu.action(KeyAction::Submit, &outside.view()).is_none(), "it is complete");
    assert!(menu.action(KeyAction::CycleMode, &outside.view()).is_none());
    assert!(menu.unbound_key(KeyPress::char('x'), &outside.view()).is_none());
}

#[test]
fn help_alone_is_closed_by_any_key_and_leaves_actions_to_the_prompt() {
    let outside = Outside::default();
    let closes = |effects: Option<Vec<LayerEffect>>| matches!(effects.as_deref(), Some([LayerEffect::Close]));
    assert!(closes(PromptHelp.unbound_key(KeyPress::char('x'), &outside.view())));
    assert!(closes(PromptHelp.action(KeyAction::Interrupt, &outside.view())));
    assert!(PromptHelp.action(KeyAction::ToggleTodos, &outside.view()).is_none());
}
