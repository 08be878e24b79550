use crate::app::session::{BackgroundTaskRow, SessionDisplay};
use crate::app::{App, AppEffect, AppInput, Preferences};
use crate::screen_reader::ScreenReaderSource;
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::TerminalSize;

const ESCAPE: KeyPress = KeyPress { code: KeyCode::Escape, mods: terminal::keys::KeyMods::NONE };
const ENTER: KeyPress = KeyPress { code: KeyCode::Enter, mods: terminal::keys::KeyMods::NONE };
const UP: KeyPress = KeyPress { code: KeyCode::Up, mods: terminal::keys::KeyMods::NONE };
const DOWN: KeyPress = KeyPress { code: KeyCode::Down, mods: terminal::keys::KeyMods::NONE };

fn app_of(columns: usize, preferences: Preferences) -> App {
    let session = SessionDisplay { id: Some("s".into()), cwd: "/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(preferences, TerminalSize { columns, rows: 30 }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn app() -> App {
    app_of(80, Preferences::default())
}

fn press(app: &mut App, keys: &[KeyPress]) -> Vec<AppEffect> {
    keys.iter().flat_map(|key| app.update(AppInput::Key(*key))).collect()
}

fn type_line(app: &mut App, text: &str) -> Vec<AppEffect> {
    let mut effects: Vec<AppEffect> = text.chars().flat_map(|c| app.update(AppInput::Key(KeyPress::char(c)))).collect();
    effects.extend(press(app, &[ENTER]));
    effects
}

fn shown(app: &App) -> String {
    app.view().lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
}

fn printed(app: &mut App) -> String {
    app.take_finished().iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
}

/// The only request of this kind among the effects: its id and itself.
fn request(effects: &[AppEffect], subtype: &str) -> (String, Value) {
    let read = |effect: &AppEffect| match effect {
        AppEffect::Request { id, request } => {
            let request = serde_json::to_value(request).unwrap();
            (request["subtype"] == subtype).then(|| (id.clone(), request))
        }
        _ => None,
    };
    effects.iter().find_map(read).unwrap_or_else(|| panic!("no {subtype} in {effects:?}"))
}

fn answer(app: &mut App, id: &str, body: &Value) -> Vec<AppEffect> {
    let line =
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": body}});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)))
}

fn refuse(app: &mut App, id: &str, why: &str) {
    let line = json!({"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": why}});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
}

fn prompt(uuid: &str, text: &str, files: usize, has_shell: bool) -> Value {
    let (added, removed) = if files > 0 { (12, 3) } else { (0, 0) };
    json!({"number": 1, "uuid": uuid, "text": text, "at": sys::clock::now_iso(), "files": files, "added": added,
           "removed": removed, "shellEffects": has_shell, "hasCheckpoint": true})
}

fn places() -> Value {
    json!({"sessionId": "s",
        "prompts": [prompt("u1", "fix the cart", 4, false), prompt("u2", "remove the old\nfolder", 1, true), prompt("u3", "thanks", 0, false)],
        "otherPrompts": [prompt("o1", "another way", 2, false)],
        "branches": [{"leafUuid": "leaf", "prompts": 1, "text": "another way", "at": sys::clock::now_iso(),
                      "promptUuids": ["o1"], "hasCheckpoint": true}]})
}

/// Opens the list.
fn open(app: &mut App, body: &Value) {
    let effects = type_line(app, "/rewind");
    let (id, _) = request(&effects, "x_rewind_list");
    answer(app, &id, body);
}

fn plan(files: &[&str], kept: &[&str]) -> Value {
    let file = |path: &&str| {
        json!({"path": format!("/project/{path}"), "change": "restored", "insertions": 1, "deletions": 2,
               "hunks": [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 1, "lines": ["-is there now", "-too", "+was there"]}]})
    };
    let paths: Vec<String> = kept.iter().map(|path| format!("/project/{path}")).collect();
    json!({"report": {"files": files.iter().map(file).collect::<Vec<_>>(), "insertions": files.len(), "deletions": 2 * files.len(),
        "kept": paths, "keptChanges": kept.iter().map(file).collect::<Vec<_>>(), "problems": [], "skippedLinks": 0,
        "notCovered": [{"what": "make all", "why": "what make changes is not known"}], "outside": []}})
}

/// Chooses the newest prompt but `up`, and answers what going back there would do.
fn choose(app: &mut App, up: usize, plan: &Value) -> Value {
    let keys = std::iter::repeat_n(UP, up).chain([ENTER]).collect::<Vec<_>>();
    let effects = press(app, &keys);
    let (id, asked) = request(&effects, "x_rewind");
    answer(app, &id, plan);
    asked
}

/// [LNG-9] The list: newest last and chosen, text, age and changes, a mark for commands, branches below; typing filters.
#[test]
fn the_list_says_what_each_turn_changed() {
    let mut app = app();
    open(&mut app, &places());
    let screen = shown(&app);
    let row =
        |text: &str| screen.lines().position(|row| row.contains(text)).unwrap_or_else(|| panic!("{text}: {screen}"));
    assert!(
        row("fix the cart") < row("remove the old folder") && row("remove the old folder") < row("❯ thanks"),
        "{screen}"
    );
    assert!(row("❯ thanks") < row("⑂ another way"), "{screen}");
    for part in [
        "3 prompts",
        "  +12 −3 in 4 files",
        "! +12 −3 in 1 file",
        "no changes",
        "just now",
        "other branch",
        "! with what commands did",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    for c in "cart".chars() {
        press(&mut app, &[KeyPress::char(c)]);
    }
    let screen = shown(&app);
    assert!(
        screen.contains("1 of 3 prompts") && screen.contains("❯ fix the cart") && !screen.contains("thanks"),
        "{screen}"
    );
}

#[test]
fn the_list_fits_narrow_windows_and_speaks_without_signs() {
    for columns in [20, 40, 60, 120] {
        let mut app = app_of(columns, Preferences::default());
        open(&mut app, &places());
        let view = app.view();
        assert!(view.lines.iter().all(|line| line.width() <= columns), "{columns}");
        assert!(shown(&app).contains("fix the"), "{}", shown(&app));
        choose(&mut app, 1, &plan(&["a.txt"], &["b.txt"]));
        assert!(app.view().lines.iter().all(|line| line.width() <= columns), "{columns}");
    }
    let preferences = Preferences { screen_reader: Some(ScreenReaderSource::Flag), ..Preferences::default() };
    let mut app = app_of(80, preferences);
    open(&mut app, &places());
    let screen = shown(&app);
    assert!(screen.contains("with commands, just now") && !screen.contains("! +12"), "{screen}");
}

#[test]
fn without_a_prompt_there_is_nothing_to_go_back_to() {
    let mut app = app();
    open(&mut app, &json!({"prompts": [], "branches": []}));
    assert!(shown(&app).contains("Nothing to go back to yet"), "{}", shown(&app));
    press(&mut app, &[ESCAPE]);
    assert!(!app.has_panel());
}

/// [LNG-16] Code is offered where the checkpoint has changes; the difference can be read before anything is chosen.
#[test]
fn what_would_change_is_seen_before_the_choice() {
    let mut app = app();
    open(&mut app, &places());
    let asked = choose(&mut app, 1, &plan(&["a.txt"], &["b.txt"]));
    assert_eq!(asked, json!({"subtype": "x_rewind", "to": "u2", "part": "code", "dry_run": true}));
    let screen = shown(&app);
    let options = [
        "1. Code and conversation",
        "2. Conversation",
        "3. Code",
        "4. Summarise from here",
        "5. Summarise up to here",
        "6. Never mind",
    ];
    for part in options.iter().chain(&[
        "Back to before: remove the old folder",
        "1 file would change: +1 −2",
        "a.txt  +1 −2",
        "Changed by somebody else since: b.txt",
        "Not covered: make all (what make changes is not known)",
    ]) {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    press(&mut app, &[KeyPress::char('d')]);
    let screen = shown(&app);
    assert!(screen.contains("- is there now") && screen.contains("+ was there"), "{screen}");
    assert!(screen.contains("overwriting these would change") && screen.contains("b.txt"), "{screen}");
    press(&mut app, &[ESCAPE]);
    let effects = press(&mut app, &[KeyPress::char('6')]);
    assert!(
        !app.has_panel() && !effects.iter().any(|effect| matches!(effect, AppEffect::Request { .. })),
        "{effects:?}"
    );

    open(&mut app, &places());
    choose(&mut app, 0, &plan(&[], &[]));
    let screen = shown(&app);
    assert!(
        screen.contains("1. Conversation") && screen.contains("2. Summarise from here") && !screen.contains("Code"),
        "{screen}"
    );
}

/// [LNG-6] Files that somebody else changed are listed apart; each stays unless the person says otherwise.
#[test]
fn work_of_others_is_asked_about() {
    let mut app = app();
    open(&mut app, &places());
    choose(&mut app, 0, &plan(&["a.txt"], &["b.txt", "c.txt"]));
    let effects = press(&mut app, &[KeyPress::char('1')]);
    assert!(effects.is_empty(), "nothing is done before the answer: {effects:?}");
    let screen = shown(&app);
    assert!(screen.contains("Changed by somebody else since  2 files") && screen.contains("❯ 1. Go back"), "{screen}");
    assert!(screen.contains("2 files stay as they are"), "{screen}");
    press(&mut app, &[DOWN, DOWN, ENTER]);
    let screen = shown(&app);
    assert!(screen.contains("1 stay, 1 overwritten") && screen.contains("❯ 3."), "{screen}");
    let effects = press(&mut app, &[KeyPress::char('1')]);
    let (_, asked) = request(&effects, "x_rewind");
    assert_eq!(asked, json!({"subtype": "x_rewind", "to": "u3", "part": "both", "overwrite": ["/project/c.txt"]}));
    assert!(!app.has_panel());

    // The conversation alone touches no files.
    open(&mut app, &places());
    choose(&mut app, 0, &plan(&["a.txt"], &["b.txt"]));
    let effects = press(&mut app, &[KeyPress::char('2')]);
    assert_eq!(request(&effects, "x_rewind").1["part"], "conversation");
}

/// [LNG-9] [LNG-10] After going back a line says where the conversation goes on; the prompt returns, and the tasks are those
/// of that point; what runs is named.
#[test]
fn the_prompt_returns_and_what_happened_is_said() {
    let mut app = app();
    open(&mut app, &places());
    choose(&mut app, 2, &plan(&["a.txt"], &[]));
    let effects = press(&mut app, &[KeyPress::char('1')]);
    let (id, _) = request(&effects, "x_rewind");
    printed(&mut app);
    let mut done = plan(&["a.txt"], &["b.txt"]);
    done["report"]["id"] = "x7".into();
    done["prompt"] = json!({"content": "fix the cart"});
    done["stillRunning"] = json!(["npm run dev"]);
    done["lists"] =
        json!({"todos": [], "tasks": [{"id": "1", "subject": "Earlier task", "status": "in_progress"}], "plan": null});
    app.session.context_used = 90_000;
    let effects = answer(&mut app, &id, &done);
    let (usage, _) = request(&effects, "get_context_usage");
    answer(&mut app, &usage, &json!({"totalTokens": 12_000}));
    assert_eq!(app.session.context_used, 12_000);
    let said = printed(&mut app);
    for part in [
        "Back to before: fix the cart",
        "1 file restored (+1 −2).",
        "gimlet undo --to x7",
        "Kept, because somebody else changed it since: b.txt",
        "Not covered: make all",
        "Still running in the background: npm run dev",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let screen = shown(&app);
    assert!(screen.contains("❯ fix the cart"), "{screen}");
    type_line(&mut app, "");
    assert!(shown(&app).contains("Earlier task"), "{}", shown(&app));
}

#[test]
fn a_refusal_is_shown_and_nothing_returns() {
    let mut app = app();
    open(&mut app, &places());
    choose(&mut app, 2, &plan(&["a.txt"], &[]));
    let effects = press(&mut app, &[KeyPress::char('3')]);
    refuse(&mut app, &request(&effects, "x_rewind").0, "the disk is full");
    assert!(printed(&mut app).contains("the disk is full"));
    assert!(!shown(&app).contains("❯ fix the cart"));
}

/// [LNG-7] [LNG-9] A branch that was left is opened from the list: its end, or a place before one of its prompts.
#[test]
fn branches_are_taken_up_from_the_list() {
    let mut app = app();
    open(&mut app, &places());
    press(&mut app, &[DOWN, ENTER]);
    let screen = shown(&app);
    assert!(screen.contains("Other branch: another way") && screen.contains("❯ Its end"), "{screen}");
    let effects = press(&mut app, &[ENTER]);
    let (id, asked) = request(&effects, "x_rewind");
    assert_eq!(asked, json!({"subtype": "x_rewind", "to": "leaf", "part": "code", "branch": true, "dry_run": true}));
    answer(&mut app, &id, &plan(&["a.txt"], &[]));
    let screen = shown(&app);
    assert!(screen.contains("On with the branch: another way") && !screen.contains("Summarise"), "{screen}");
    let effects = press(&mut app, &[KeyPress::char('1')]);
    let (id, asked) = request(&effects, "x_rewind");
    assert_eq!(asked, json!({"subtype": "x_rewind", "to": "leaf", "part": "both", "branch": true}));
    let mut done = plan(&["a.txt"], &[]);
    done["lists"] = json!({"todos": [{"content": "Of the branch", "status": "pending", "activeForm": "x"}]});
    answer(&mut app, &id, &done);
    assert!(printed(&mut app).contains("On with the branch: another way"));

    open(&mut app, &places());
    press(&mut app, &[DOWN, ENTER]);
    let effects = press(&mut app, &[UP, ENTER]);
    assert_eq!(request(&effects, "x_rewind").1["to"], "o1");
}

/// [LNG-15] A part is summarised like a turn: what is typed meanwhile waits, and a refusal is shown.
#[test]
fn a_part_is_summarised() {
    for (key, direction) in [('4', "from"), ('5', "up_to")] {
        let mut app = app();
        open(&mut app, &places());
        choose(&mut app, 1, &plan(&["a.txt"], &[]));
        let effects = press(&mut app, &[KeyPress::char(key)]);
        let (id, asked) = request(&effects, "x_compact_part");
        assert_eq!(asked, json!({"subtype": "x_compact_part", "user_message_id": "u2", "direction": direction}));
        assert!(app.is_busy() && !app.has_panel());
        refuse(&mut app, &id, "there is nothing to summarise");
        assert!(printed(&mut app).contains("there is nothing to summarise") && !app.is_busy());
    }
}

/// [LNG-9] Esc twice on an empty prompt opens the list; with text in it, Esc twice clears it. While a turn runs nothing opens.
#[test]
fn escape_twice_opens_the_list() {
    let mut app = app();
    assert!(press(&mut app, &[ESCAPE]).is_empty());
    assert!(shown(&app).contains("Press esc again to go back to an earlier prompt"), "{}", shown(&app));
    request(&press(&mut app, &[ESCAPE]), "x_rewind_list");
    press(&mut app, &[ESCAPE]);
    assert!(!app.has_panel());
    // Too slow is no second press.
    press(&mut app, &[ESCAPE]);
    app.now += Duration::from_secs(5);
    assert!(press(&mut app, &[ESCAPE]).is_empty() && !app.has_panel());
    app.now += Duration::from_secs(5);
    for c in "text".chars() {
        press(&mut app, &[KeyPress::char(c)]);
    }
    press(&mut app, &[ESCAPE, ESCAPE]);
    assert!(!app.has_panel() && !shown(&app).contains("❯ text"), "{}", shown(&app));
    for name in ["checkpoint", "undo"] {
        request(&type_line(&mut app, &format!("/{name}")), "x_rewind_list");
        press(&mut app, &[ESCAPE]);
    }
    type_line(&mut app, "work");
    type_line(&mut app, "/rewind");
    assert!(!app.has_panel() && shown(&app).contains("Wait for the end of this turn"), "{}", shown(&app));
}

/// [LNG-9] After `/clear` a row leads back to the conversation before it.
#[test]
fn the_conversation_before_is_a_row_away() {
    let mut app = app();
    app.session.previous_id = Some("0c6a1f0e-5b0d-4d6b-9a39-0a1c7e0f5a11".into());
    open(&mut app, &json!({"prompts": [], "branches": []}));
    let screen = shown(&app);
    assert!(screen.contains("❯ /resume 0c6a1f0e (previous session)"), "{screen}");
    let effects = press(&mut app, &[ENTER]);
    assert!(effects.contains(&AppEffect::ReturnTo("0c6a1f0e-5b0d-4d6b-9a39-0a1c7e0f5a11".into())), "{effects:?}");
    assert!(!app.has_panel());
}

#[test]
fn what_goes_on_in_the_background_is_named_before() {
    let mut app = app();
    let task = BackgroundTaskRow {
        id: "t".into(),
        is_agent: false,
        kind: "shell",
        description: "npm run dev".into(),
        since: Duration::ZERO,
    };
    app.session.background.push(task);
    open(&mut app, &places());
    choose(&mut app, 0, &plan(&["a.txt"], &[]));
    assert!(shown(&app).contains("Goes on in the background: npm run dev"), "{}", shown(&app));
}
