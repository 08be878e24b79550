use crate::app::session::SessionDisplay;
use crate::app::{App, AppEffect, AppInput, Preferences};
use engine::screens::{SettingForm, SettingRow};
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::TerminalSize;
use terminal::theme::BaseTheme;

use super::{PanelJob, PanelJobResult};

fn app(columns: usize, rows: usize) -> App {
    let session = SessionDisplay { cwd: "/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(Preferences::default(), TerminalSize { columns, rows }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

fn type_line(app: &mut App, text: &str) -> Vec<AppEffect> {
    let mut effects: Vec<AppEffect> = text.chars().flat_map(|c| app.update(AppInput::Key(KeyPress::char(c)))).collect();
    effects.extend(app.update(AppInput::Key(KeyPress::plain(KeyCode::Enter))));
    effects
}

fn press(app: &mut App, keys: &[KeyPress]) -> Vec<AppEffect> {
    keys.iter().flat_map(|key| app.update(AppInput::Key(*key))).collect()
}

fn shown(app: &App) -> String {
    app.view().lines.iter().map(StyledLine::text).collect::<Vec<_>>().join("\n")
}

/// Answers the request of this subtype among the effects.
fn answer(app: &mut App, effects: &[AppEffect], subtype: &str, body: &Value) -> Vec<AppEffect> {
    let id = effects.iter().find_map(|effect| match effect {
        AppEffect::Request { id, request } if crate::app::control_lines::text_of(request).contains(subtype) => {
            Some(id.clone())
        }
        _ => None,
    });
    let id = id.unwrap_or_else(|| panic!("no {subtype} in {effects:?}"));
    let line = json!({"type": "control_response",
                      "response": {"subtype": "success", "request_id": id, "response": body}});
    app.update(AppInput::Event(crate::app::control_lines::event(&line)))
}

fn requests(effects: &[AppEffect]) -> Vec<Value> {
    let read = |effect: &AppEffect| match effect {
        AppEffect::Request { request, .. } => serde_json::to_value(request).ok(),
        _ => None,
    };
    effects.iter().filter_map(read).collect()
}

fn jobs(effects: Vec<AppEffect>) -> Vec<PanelJob> {
    effects
        .into_iter()
        .filter_map(|effect| if let AppEffect::RunPanelJob(job) = effect { Some(job) } else { None })
        .collect()
}

const ENTER: KeyPress = KeyPress { code: KeyCode::Enter, mods: terminal::keys::KeyMods::NONE };
const DOWN: KeyPress = KeyPress { code: KeyCode::Down, mods: terminal::keys::KeyMods::NONE };
const ESCAPE: KeyPress = KeyPress { code: KeyCode::Escape, mods: terminal::keys::KeyMods::NONE };

fn models() -> Value {
    json!({"models": [
        {"value": "default", "displayName": "Default (Opus)", "description": "configured", "resolvedModel": "opus-1",
         "supportedEffortLevels": ["low", "high"]},
        {"value": "haiku", "displayName": "Haiku", "description": "fast", "resolvedModel": "haiku-1"}]})
}

#[test]
fn a_model_is_kept_or_only_for_now() {
    let mut app = app(80, 24);
    let effects = press(&mut app, &[KeyPress::alt('p')]);
    answer(&mut app, &effects, "list_models", &models());
    assert!(shown(&app).contains("2. Haiku"), "{}", shown(&app));
    let effects = press(&mut app, &[KeyPress::char('2')]);
    assert_eq!(requests(&effects)[0], json!({"subtype": "set_model", "model": "haiku"}));
    let kept = PanelJob::Change { file: "userSettings", key: "model".into(), value: Some("haiku".into()) };
    assert_eq!(jobs(effects), [kept]);
    assert!(!app.has_panel());

    let effects = type_line(&mut app, "/model");
    answer(&mut app, &effects, "list_models", &models());
    let effects =
        press(&mut app, &[KeyPress::plain(KeyCode::Up), KeyPress::plain(KeyCode::Right), KeyPress::char('s')]);
    assert_eq!(requests(&effects)[0]["model"], Value::Null);
    assert_eq!(requests(&effects)[1]["settings"]["effortLevel"], "high");
    assert!(jobs(effects).is_empty());
}

#[test]
fn an_id_that_is_not_listed_can_be_typed() {
    let mut app = app(80, 24);
    let effects = press(&mut app, &[KeyPress::alt('p')]);
    answer(&mut app, &effects, "list_models", &models());
    press(&mut app, &[KeyPress::char('3')]);
    let effects = type_line(&mut app, "my-model");
    assert_eq!(requests(&effects)[0]["model"], "my-model");
}

#[test]
fn a_rule_is_added_and_removed_while_a_turn_runs() {
    // [CLI-214]
    let mut app = app(100, 24);
    type_line(&mut app, "work");
    assert!(app.is_busy());
    let effects = type_line(&mut app, "/permissions");
    let rules = json!({"state": {"rules": [
        {"behavior": "allow", "source": "localSettings", "rule": "Bash(ls)", "editability": "editable"},
        {"behavior": "deny", "source": "policySettings", "rule": "WebFetch", "editability": "readOnly"}],
        "workspaceDirectories": [{"path": "/elsewhere", "source": "session"}]}});
    answer(&mut app, &effects, "list_permission_rules", &rules);
    let screen = shown(&app);
    assert!(screen.contains("deny  WebFetch") && screen.contains("administrator"), "{screen}");
    press(&mut app, &[ENTER, KeyPress::char('3')]);
    type_line(&mut app, "Bash(rm *)");
    let effects = press(&mut app, &[KeyPress::char('1')]);
    let update = &requests(&effects)[0]["updates"][0];
    assert_eq!(update["type"], "addRules");
    assert_eq!(update["rules"][0], json!({"toolName": "Bash", "ruleContent": "rm *"}));
    assert_eq!((&update["behavior"], &update["destination"]), (&json!("deny"), &json!("session")));
    assert!(shown(&app).contains("deny  Bash(rm *)"));
    // The rule and the directory can both be removed.
    let effects: Vec<AppEffect> =
        "Bash(ls".chars().flat_map(|c| app.update(AppInput::Key(KeyPress::char(c)))).collect();
    assert!(effects.is_empty());
    let effects = press(&mut app, &[ENTER, KeyPress::char('2')]);
    assert_eq!(requests(&effects)[0]["updates"][0]["type"], "removeRules");
    assert!(!shown(&app).contains("Bash(ls)"));
    press(&mut app, &[ESCAPE]);
    for c in "elsewhere".chars() {
        app.update(AppInput::Key(KeyPress::char(c)));
    }
    let effects = press(&mut app, &[ENTER, KeyPress::char('2')]);
    assert_eq!(requests(&effects)[0]["updates"][0]["directories"], json!(["/elsewhere"]));
    press(&mut app, &[ESCAPE, ESCAPE]);
    assert!(!app.has_panel());
}

#[test]
fn themes_are_seen_while_they_are_pointed_at_and_left_as_they_were() {
    // [TST-248]
    let mut app = app(80, 24);
    let before = app.preferences.theme.base();
    let asked = type_line(&mut app, "/theme");
    assert!(jobs(asked).contains(&PanelJob::Themes));
    app.update(AppInput::PanelJobDone(PanelJobResult::Themes {
        files: vec![("mine".into(), r#"{"base":"light-ansi"}"#.into())],
        chosen: None,
    }));
    press(&mut app, &[DOWN]);
    assert_ne!(app.preferences.theme.base(), before);
    press(&mut app, &[ESCAPE]);
    assert_eq!(app.preferences.theme.base(), before);
    type_line(&mut app, "/theme");
    app.update(AppInput::PanelJobDone(PanelJobResult::Themes {
        files: vec![("mine".into(), r#"{"base":"light-ansi"}"#.into())],
        chosen: None,
    }));
    let effects = press(&mut app, &[KeyPress::char('8')]);
    assert_eq!(app.preferences.theme.base(), BaseTheme::LightAnsi);
    let kept = PanelJob::Change { file: "userSettings", key: "theme".into(), value: Some("custom:mine".into()) };
    assert_eq!(jobs(effects), [kept]);
}

fn settings() -> Vec<SettingRow> {
    let files = vec!["userSettings", "localSettings", "projectSettings"];
    let row = |key: &str, form| SettingRow {
        key: key.into(),
        about: "about it",
        value: None,
        source: None,
        form,
        files: files.clone(),
        no_effect: None,
    };
    vec![
        row("editorMode", SettingForm::OneOf(&["normal", "vim"])),
        row("language", SettingForm::Text),
        row("sandbox.enabled", SettingForm::Switch),
        row("hooks", SettingForm::File),
    ]
}

/// Settings are switched in place, found by their raw key, and put where they were asked to be.
#[test]
fn a_setting_is_found_switched_and_placed() {
    let mut app = app(80, 24);
    type_line(&mut app, "/config");
    app.update(AppInput::PanelJobDone(PanelJobResult::Settings(Ok(settings()))));
    let screen = shown(&app);
    assert!(screen.contains("Settings  4 settings") && screen.contains("Editor keys"), "{screen}");
    for c in "edm".chars() {
        app.update(AppInput::Key(KeyPress::char(c)));
    }
    assert!(shown(&app).contains("1 of 4 settings") && shown(&app).contains("  editorMode"), "{}", shown(&app));
    // Two values are switched in place.
    let effects = press(&mut app, &[ENTER]);
    let change = |file, value: &str| PanelJob::Change { file, key: "editorMode".into(), value: Some(value.into()) };
    assert_eq!(jobs(effects), [change("userSettings", "vim")]);
    // Tab asks for the value and the place.
    press(&mut app, &[KeyPress::plain(KeyCode::Tab)]);
    assert!(shown(&app).contains("2. vim"), "{}", shown(&app));
    press(&mut app, &[KeyPress::char('2')]);
    assert!(shown(&app).contains("Editor keys: set to vim for"), "{}", shown(&app));
    let effects = press(&mut app, &[KeyPress::char('2')]);
    assert_eq!(jobs(effects), [change("localSettings", "vim")]);
    let changed =
        PanelJobResult::Changed { key: "editorMode".into(), value: Some("vim".into()), outcome: Ok("f".into()) };
    let effects = app.update(AppInput::PanelJobDone(changed));
    assert!(app.preferences.vim);
    assert_eq!(jobs(effects), [PanelJob::Settings]);
    assert!(app.take_finished().is_empty(), "the screen shows it");
    press(&mut app, &[ESCAPE, ESCAPE]);
    let effects = type_line(&mut app, "/config language=de verbose=true");
    assert_eq!(jobs(effects).len(), 2);
}

#[test]
fn commands_that_must_wait_for_the_turn_stay_in_the_prompt() {
    let mut app = app(80, 24);
    type_line(&mut app, "work");
    for command in ["/branch copy", "/resume some words"] {
        type_line(&mut app, command);
        assert_eq!(app.prompt.editor.text(), command);
        app.prompt.editor.set(String::new());
    }
}

/// `/focus` holds at once, and an older answer of the engine does not switch it off again.
#[test]
fn the_focus_view_outlives_settings_that_were_read_before() {
    let mut app = app(80, 24);
    app.request_settings();
    let asked = app.interface_settings.request_id.clone().unwrap();
    type_line(&mut app, "/focus");
    assert!(app.has_focus_view());
    assert!(app.receive_settings(&asked, &serde_json::json!({"effective": {"viewMode": "default"}})));
    assert!(app.has_focus_view());
}

#[test]
fn a_value_that_a_project_shares_is_overridden_for_one_person_only() {
    let mut app = app(80, 24);
    let mut rows = settings();
    rows[2].value = Some(true.into());
    rows[2].source = Some("projectSettings");
    rows[1].source = Some("policySettings");
    rows[3].no_effect = Some("it belongs elsewhere");
    type_line(&mut app, "/config");
    app.update(AppInput::PanelJobDone(PanelJobResult::Settings(Ok(rows))));
    let of = |app: &mut App, word: &str| {
        for c in word.chars() {
            app.update(AppInput::Key(KeyPress::char(c)));
        }
        let effects = press(app, &[ENTER]);
        press(app, &[ESCAPE]);
        effects
    };
    let off = PanelJob::Change { file: "localSettings", key: "sandbox.enabled".into(), value: Some(false.into()) };
    assert!(shown(&app).contains("Sandbox for commands") && shown(&app).contains("project"), "{}", shown(&app));
    let effects = of(&mut app, "sandbox");
    assert_eq!(jobs(effects), [off]);
    for (word, why) in [("language", "The administrator has set this"), ("hooks", "no effect: it belongs elsewhere")] {
        assert!(jobs(of(&mut app, word)).is_empty());
        assert!(shown(&app).contains(why), "{}", shown(&app));
    }
}

#[test]
fn servers_are_listed_and_switched() {
    let mut app = app(80, 24);
    let effects = type_line(&mut app, "/mcp");
    let error = format!("no such program {}\nits second line", "and more words ".repeat(6));
    let servers = json!({"mcpServers": [{"name": "files", "status": "failed", "error": error, "scope": "local"}]});
    answer(&mut app, &effects, "mcp_status", &servers);
    let row = shown(&app).lines().find(|row| row.contains("files")).unwrap().to_owned();
    assert!(row.contains("✕ failed  local · no such program and") && row.ends_with("…"), "{row}");
    assert!(!shown(&app).contains("second line") && shown(&app).contains("MCP servers  1 server"), "{}", shown(&app));
    press(&mut app, &[ENTER, KeyPress::char('1')]);
    assert!(shown(&app).contains("its second line") && shown(&app).contains("files failed"), "{}", shown(&app));
    press(&mut app, &[ESCAPE]);
    let effects = press(&mut app, &[ENTER, KeyPress::char('3')]);
    assert_eq!(requests(&effects)[0], json!({"subtype": "mcp_reconnect", "serverName": "files"}));
    let effects = answer(&mut app, &effects, "mcp_reconnect", &json!({}));
    assert_eq!(requests(&effects)[0]["subtype"], "mcp_status");
    let effects = type_line(&mut app, "");
    assert!(requests(&effects).is_empty());
    press(&mut app, &[ESCAPE, ESCAPE]);
    let effects = type_line(&mut app, "/mcp disable files");
    assert_eq!(requests(&effects)[0]["enabled"], false);
}

#[test]
fn every_screen_fits_a_tiny_terminal_and_closes() {
    // [TST-247]
    for (columns, rows) in [(20, 5), (40, 12), (120, 40)] {
        for command in [
            "/model",
            "/permissions",
            "/theme",
            "/config",
            "/mcp",
            "/hooks",
            "/agents",
            "/tasks",
            "/memory",
            "/context",
            "/usage",
            "/status",
            "/doctor",
            "/help",
            "/diff",
            "/keybindings",
            "/effort",
            "/output-style",
        ] {
            let mut app = app(columns, rows);
            let effects = type_line(&mut app, command);
            let bodies = json!({"models": models()["models"], "state": {"rules": []}, "mcpServers": [], "hooks": [],
                "categories": [{"name": "Messages", "tokens": 10, "kind": "used"}], "maxTokens": 100, "session": {}});
            for effect in &effects {
                if let AppEffect::Request { id, .. } = effect {
                    let line = json!({"type": "control_response",
                        "response": {"subtype": "success", "request_id": id, "response": bodies}});
                    app.update(AppInput::Event(crate::app::control_lines::event(&line)));
                }
            }
            for job in jobs(effects) {
                let result = match job {
                    PanelJob::Settings => PanelJobResult::Settings(Ok(settings())),
                    PanelJob::Themes => PanelJobResult::Themes { files: Vec::new(), chosen: None },
                    PanelJob::Memory => PanelJobResult::Memory(Ok(engine::screens::MemoryPlaces::default())),
                    PanelJob::Doctor => PanelJobResult::Doctor("fine\n".repeat(90)),
                    PanelJob::Diff => PanelJobResult::Diff(Ok("diff --git a b\n@@ -1 +1 @@\n-a\n+b\n".repeat(90))),
                    other => panic!("{other:?}"),
                };
                app.update(AppInput::PanelJobDone(result));
            }
            assert!(app.has_panel(), "{command}");
            for _ in 0..4 {
                let frame = app.view();
                assert!(frame.lines.len() <= rows, "{command} at {columns}x{rows}");
                assert!(frame.caret.is_none_or(|caret| caret.row < rows && caret.column < columns), "{command}");
                press(&mut app, &[DOWN, KeyPress::plain(KeyCode::PageDown)]);
            }
            press(&mut app, &[ESCAPE, ESCAPE]);
            assert!(!app.has_panel(), "{command}");
        }
    }
}

#[test]
fn background_work_is_stopped_from_its_list() {
    let mut app = app(80, 24);
    let task = wire::sdk::BackgroundTask {
        task_id: "b1".into(),
        task_type: "local_bash",
        description: "npm run dev".into(),
        subagent_type: None,
        parent_task_id: None,
    };
    let background = crate::app::session::BackgroundTaskRow::of(task);
    app.session.background = vec![background];
    app.now += Duration::from_secs(75);
    let effects = type_line(&mut app, "/bashes");
    answer(&mut app, &effects, "get_task_output", &json!({"output": "early\n".repeat(20) + "listening on 3000\n"}));
    let screen = shown(&app);
    for part in ["1. npm run dev", "running 1 min 25 s", "listening on 3000", "1 task"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    // The output is looked at again each second.
    app.now += Duration::from_secs(1);
    let effects = app.update(AppInput::Tick);
    answer(&mut app, &effects, "get_task_output", &json!({"output": "GET /\n"}));
    assert!(shown(&app).contains("  GET /") && shown(&app).contains("running 1 min 26 s"), "{}", shown(&app));
    let effects = press(&mut app, &[KeyPress::char('x')]);
    assert_eq!(requests(&effects)[0], json!({"subtype": "stop_task", "task_id": "b1"}));
    app.session.background.clear();
    app.update_panels(&super::PanelNews::TasksChanged);
    assert!(shown(&app).contains("Nothing is running"));
}

#[test]
fn memory_lists_every_file_and_the_free_places_without_a_prompt() {
    use engine::screens::{MemoryPlace, MemoryPlaces, MemoryScope};
    let place = |path: &str, scope, tokens| MemoryPlace { path: path.into(), scope, tokens };
    let mut app = app(80, 24);
    let effects = type_line(&mut app, "/memory");
    assert_eq!(jobs(effects), [PanelJob::Memory]);
    let files = vec![
        place("/home/me/.claude/CLAUDE.md", MemoryScope::User, Some(120)),
        place("/project/CLAUDE.md", MemoryScope::Project, None),
    ];
    let places = MemoryPlaces { files, keeps_notes: true };
    app.update(AppInput::PanelJobDone(PanelJobResult::Memory(Ok(places))));
    let screen = shown(&app);
    for part in ["Memory  1 file", ".claude/CLAUDE.md", "all your projects", "120 tokens", "2. CLAUDE.md", "new", "on"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let effects = press(&mut app, &[KeyPress::char('3')]);
    let off = PanelJob::Change { file: "userSettings", key: "autoMemoryEnabled".into(), value: Some(false.into()) };
    assert_eq!(jobs(effects), [off]);
}

#[test]
fn the_theme_that_is_chosen_is_marked_also_when_it_is_ones_own() {
    for (chosen, marked) in [(Some("custom:mine"), "custom:mine ✔"), (Some("custom:gone"), "dark ✔"), (None, "dark ✔")]
    {
        let mut app = app(80, 24);
        type_line(&mut app, "/theme");
        let files = vec![("mine".into(), r#"{"base":"dark"}"#.into())];
        let chosen = chosen.map(str::to_owned);
        app.update(AppInput::PanelJobDone(PanelJobResult::Themes { files, chosen }));
        let screen = shown(&app);
        assert!(screen.contains(marked) && screen.matches('✔').count() == 1, "{marked}: {screen}");
    }
}

fn with_agent() -> App {
    let mut app = app(80, 24);
    let started = wire::sdk::TaskStarted {
        task_id: "a1".into(),
        run_id: None,
        tool_use_id: Some("c1".into()),
        description: "Find it".into(),
        subagent_type: Some("explore".into()),
        is_backgrounded: true,
        spawn_depth: None,
        parent_task_id: None,
        task_type: "local_agent",
        prompt: None,
    };
    app.agents.record_start(&started, app.now);
    app
}

/// [F-B5] Two keys open the conversation of an agent; it is stopped and written to from its row.
#[test]
fn agents_are_entered_from_the_prompt() {
    let mut app = with_agent();
    app.now += Duration::from_secs(5);
    assert!(shown(&app).contains("⑂ explore  Find it · 5 s"), "{}", shown(&app));
    press(&mut app, &[DOWN]);
    assert!(shown(&app).contains("explore: Find it") && shown(&app).contains("Agents  1 agent"), "{}", shown(&app));
    press(&mut app, &[ENTER]);
    let cover: Vec<String> = app.cover().expect("the conversation").lines.iter().map(StyledLine::text).collect();
    assert!(cover.iter().any(|line| line.contains("transcript of an agent")), "{cover:?}");
    press(&mut app, &[KeyPress::char('q'), KeyPress::char('m')]);
    let effects = type_line(&mut app, "look in src too");
    let message = json!({"subtype": "x_message_agent", "task_id": "a1", "message": "look in src too"});
    assert_eq!(requests(&effects), [message]);
    let effects = press(&mut app, &[KeyPress::char('x')]);
    assert_eq!(requests(&effects), [json!({"subtype": "stop_task", "task_id": "a1"})]);
    app.end_agent("a1", crate::app::agents::AgentEnd::Stopped);
    app.now += Duration::from_secs(1);
    app.update(AppInput::Tick);
    assert!(shown(&app).contains("◆ ended") && shown(&app).contains("stopped · 5 s"), "{}", shown(&app));
    assert!(requests(&press(&mut app, &[KeyPress::char('x')])).is_empty());
    assert!(shown(&app).contains("It has ended"), "{}", shown(&app));
}
