//! Questions and screens as a person meets them: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";

fn start(sandbox: &Sandbox, size: (u16, u16)) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(size.0, size.1);
    terminal.wait_for("? for shortcuts");
    terminal
}

/// Types a command and runs it. The menu may offer more than what was typed, never something else.
fn command(terminal: &mut TestTerminal, text: &str) {
    terminal.send(text);
    terminal.wait_for(&format!("❯ {text}"));
    terminal.send("\r");
}

/// An editor that puts `text` into the file it is given.
fn editor(sandbox: &mut Sandbox, text: &str) {
    let path = sandbox.write("../editor.sh", format!("#!/bin/sh\nprintf '%s' '{text}' > \"$1\"\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.unset("VISUAL");
    sandbox.set("EDITOR", path.into_os_string());
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap_or_default()).unwrap_or_default()
}

#[test]
fn a_compound_command_is_shown_in_parts_and_explained() {
    // [TST-240]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "ls && touch made.txt"})),
        ScriptedReply::text("Made."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("make it\r");
    let screen = terminal.wait_for("1. Yes");
    assert!(screen.contains("✔ ls") && screen.contains("? touch made.txt"), "{screen}");
    // The window's focus answers nothing, whatever it does.
    terminal.answer("\x1b[O\x1b[I");
    terminal.send("\x05");
    terminal.wait_for("1 of 2 parts need your permission");
    assert!(!sandbox.project().join("made.txt").exists());
    terminal.send("1");
    terminal.wait_for("  Made.");
    assert!(sandbox.project().join("made.txt").exists());
}

#[test]
fn the_rule_can_be_changed_before_it_is_saved() {
    // [TST-240]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "mkdir one"})),
        ScriptedReply::text("Made."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    terminal.send("make it\r");
    terminal.wait_for("2. Yes, and do not ask again for  mkdir *  in this project");
    terminal.answer(DOWN);
    terminal.wait_for("e edits the rule");
    terminal.send("e");
    terminal.wait_for("rule: Bash(mkdir");
    terminal.send("\x15Bash(mkdir one)\r");
    terminal.wait_for("do not ask again for  mkdir one  in this project");
    terminal.send("\r");
    terminal.wait_for("  Made.");
    let saved = json_of(&sandbox.project().join(".claude/settings.local.json"));
    assert_eq!(saved["permissions"]["allow"], json!(["Bash(mkdir one)"]));
}

#[test]
fn a_change_is_edited_before_it_is_accepted_and_the_model_hears_of_it() {
    // [TST-44]
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "note.txt", "content": "proposed\n"})),
        ScriptedReply::text("Written."),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    editor(&mut sandbox, "my own words");
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("write it\r");
    terminal.wait_for("+ proposed");
    terminal.answer("\x07");
    terminal.wait_for("changed by you");
    let screen = terminal.wait_for("+ my own words");
    assert!(!screen.contains("+ proposed"), "{screen}");
    terminal.answer("1");
    terminal.wait_for("  Written.");
    assert_eq!(sandbox.read("note.txt"), "my own words\n");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains("The user changed your proposal") && told.contains("my own words"), "{told}");
    let written = sandbox.transcript();
    let result = written.iter().find_map(|line| line.get("toolUseResult")).unwrap();
    assert_eq!(result["userModified"], true, "{result}");
}

#[test]
fn several_questions_of_the_model_are_answered_in_tabs() {
    // [TST-241]
    let option = |label: &str| json!({"label": label, "description": "about it", "preview": format!("[{label} looks like this]")});
    let question = |text: &str, header: &str, multiple: bool| json!({"question": text, "header": header, "multiSelect": multiple, "options": [option("first"), option("second")]});
    let questions = [question("Which one?", "One", false), question("Which ones?", "Many", true)];
    let server = ModelServer::script([
        ScriptedReply::tool("AskUserQuestion", json!({"questions": questions})),
        ScriptedReply::text("Thanks."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("choose\r");
    let screen = terminal.wait_for("☐ One   ☐ Many   Send");
    assert!(screen.contains("[first looks like this]"), "{screen}");
    terminal.answer("2");
    terminal.wait_for("☑ One   ☐ Many");
    terminal.send("1");
    terminal.wait_for("☑ first");
    terminal.send("n");
    terminal.wait_for("note:");
    terminal.send("for now\r");
    terminal.wait_for("note: for now");
    terminal.send("\r");
    terminal.wait_for("1. Send answers");
    terminal.send("1");
    terminal.wait_for("  Thanks.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains(r#"\"Which one?\"=\"second\""#) && told.contains("note of the user: for now"), "{told}");
}

#[test]
fn a_plan_is_edited_and_its_file_named() {
    // [TST-241]
    let server = ModelServer::script([
        ScriptedReply::tool("ExitPlanMode", json!({"plan": "1. first step"})),
        ScriptedReply::text("Going."),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    editor(&mut sandbox, "1. a better step");
    let terminal = sandbox.gimlet(&["--permission-mode", "plan"]).terminal(80, 30);
    terminal.wait_for("plan mode on");
    let mut terminal = terminal;
    terminal.send("plan it\r");
    let screen = terminal.wait_for("1. first step");
    assert!(screen.contains("Plan file: "), "{screen}");
    terminal.answer("\x07");
    terminal.wait_for("1. a better step");
    terminal.answer("2");
    terminal.wait_for("  Going.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains("a better step"), "{told}");
}

#[test]
fn the_model_is_picked_from_a_list() {
    let server = ModelServer::script([ScriptedReply::text("Small and quick."), ScriptedReply::text("Own.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    terminal.send("\x1bp");
    let screen = terminal.wait_for("Another model…");
    let place = |part: &str| screen.lines().position(|row| row.contains(part)).unwrap();
    for _ in place("❯")..place("Haiku") {
        terminal.send(DOWN);
    }
    terminal.wait_until("haiku is pointed at", |screen| {
        screen.lines().any(|row| row.contains('❯') && row.contains("Haiku"))
    });
    terminal.send("s");
    terminal.wait_for("Model: haiku, for this session.");
    terminal.send("hello\r");
    terminal.wait_for("  Small and quick.");
    assert!(server.request(0).model().contains("haiku"), "{}", server.request(0).model());
    assert!(json_of(&sandbox.config_dir().join("settings.json"))["model"].is_null());
    terminal.wait_gone("esc to interrupt");
    command(&mut terminal, "/model");
    terminal.wait_for("Another model…");
    terminal.send("6");
    terminal.wait_for("Id:");
    terminal.send("house-model\r");
    terminal.wait_for("Model: house-model, from now on.");
    terminal.wait_for("model: set to house-model");
    terminal.send("again\r");
    terminal.wait_for("  Own.");
    assert_eq!(server.request(1).model(), "house-model");
    assert_eq!(json_of(&sandbox.config_dir().join("settings.json"))["model"], "house-model");
}

#[test]
fn a_rule_added_while_a_turn_runs_holds_for_its_next_call() {
    // [CLI-214]
    let gate = ReplyGate::new();
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made.txt"})).gate(&gate),
        ScriptedReply::text("Refused, I see."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    terminal.send("make it\r");
    terminal.wait_for("esc to interrupt");
    command(&mut terminal, "/permissions");
    terminal.wait_for("Add a rule…");
    terminal.send("\r");
    terminal.wait_for("3. deny");
    terminal.send("3");
    terminal.wait_for("New rule: deny");
    terminal.send("Bash(touch *)\r");
    terminal.wait_for("2. this project, only you");
    terminal.send("2");
    terminal.wait_for("deny Bash(touch *): added (local).");
    terminal.send(ESCAPE);
    terminal.wait_gone("Add a rule…");
    gate.open_all();
    terminal.wait_for("  Refused, I see.");
    assert!(!sandbox.project().join("made.txt").exists());
    assert_eq!(server.request(1).tool_results()[0]["is_error"], true);
    let saved = json_of(&sandbox.project().join(".claude/settings.local.json"));
    assert_eq!(saved["permissions"]["deny"], json!(["Bash(touch *)"]));
}

#[test]
fn settings_are_found_and_changed() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    command(&mut terminal, "/config");
    terminal.wait_for("Search:");
    terminal.send("editorMode");
    terminal.wait_for("Keys of the prompt editor");
    terminal.send("\r");
    terminal.wait_for("editorMode: set to vim");
    terminal.send("\x03");
    terminal.wait_for("-- INSERT --");
    assert_eq!(json_of(&sandbox.config_dir().join("settings.json"))["editorMode"], "vim");
}

#[test]
fn every_command_of_the_terminal_opens_its_screen() {
    // [CLI-213]
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 40));
    let screens = [
        ("/agents", "can start"),
        ("/context", "Free space"),
        ("/diff", "Uncommitted changes"),
        ("/doctor", "config home"),
        ("/effort", "xhigh"),
        ("/help", "Commands"),
        ("/hooks", "No hooks."),
        ("/keybindings", "app:interrupt"),
        ("/mcp", "No MCP servers."),
        ("/memory", "Notes between sessions"),
        ("/output-style", "Explanatory"),
        ("/status", "Credentials"),
        ("/tasks", "Nothing is running in the background"),
        ("/theme", "light-daltonized"),
        ("/cost", "Total cost: $0.0000"),
    ];
    for (name, shown) in screens {
        command(&mut terminal, name);
        terminal.wait_for(shown);
        terminal.send(ESCAPE);
        terminal.wait_gone(shown);
        terminal.wait_for("? for shortcuts");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn commands_that_are_not_there_say_why_and_are_not_offered() {
    // [CLI-213]
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 40));
    for name in ["/teleport", "/chrome", "/workflows", "/pr-comments", "/background"] {
        terminal.send(name);
        let screen = terminal.wait_for(&format!("❯ {name}"));
        assert!(!screen.contains(&format!("  {name}  ")), "{screen}");
        terminal.send("\r");
        terminal.wait_for(&format!("     {name}: "));
        terminal.wait_gone("esc to interrupt");
    }
    for name in ["/scroll-speed", "/terminal-setup", "/tui", "/voice"] {
        command(&mut terminal, name);
        terminal.wait_for(&format!("{name}: "));
    }
    terminal.send("\x1bo");
    terminal.wait_for("Fast mode is not available");
    assert!(server.requests().is_empty());
}

#[expect(clippy::disallowed_methods, reason = "a repository to work in")]
#[test]
fn uncommitted_changes_are_shown() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").current_dir(sandbox.project()).args(args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    sandbox.write("kept.txt", "before\n");
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
    sandbox.write("kept.txt", "after\n");
    sandbox.write("new.txt", "new\n");
    let mut terminal = start(&sandbox, (80, 30));
    command(&mut terminal, "/diff");
    let screen = terminal.wait_for("+after");
    assert!(screen.contains("-before") && screen.contains("new.txt"), "{screen}");
}

#[test]
fn a_narrow_and_a_tiny_terminal_can_answer() {
    // [TST-247]
    for size in [(40, 12), (20, 5)] {
        let server = ModelServer::script([
            ScriptedReply::tool("Bash", json!({"command": "touch made.txt"})),
            ScriptedReply::text("Made."),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut terminal = sandbox.gimlet(&["make it"]).terminal(size.0, size.1);
        terminal.wait_for("1. Yes");
        terminal.answer("\r");
        server.wait_for_requests(2);
        assert!(sandbox.project().join("made.txt").exists());
    }
}

#[test]
fn pictures_and_links_of_the_model_are_never_fetched() {
    // [SC-G05]
    let server = ModelServer::start();
    let address = format!("{}/leak?secret=1", server.url());
    server.push(ScriptedReply::text(format!("Look: ![chart]({address}) and [here]({address}). That is all.")));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("show me\r");
    terminal.wait_for("all.\n");
    command(&mut terminal, "/exit");
    terminal.finish();
    let asked: Vec<String> = server.all_requests().iter().map(|request| request.path.clone()).collect();
    assert!(!asked.iter().any(|path| path.contains("leak")), "{asked:?}");
}

#[test]
fn a_plain_yes_does_not_count_as_a_change() {
    // [F-B2]
    let input = r#"{"file_path":"note.txt", "content":"caf\u00e9\n"}"#;
    let call = ScriptedBlock::Tool { id: None, name: "Write".into(), input: input.into() };
    let server = ModelServer::script([ScriptedReply::message(vec![call]), ScriptedReply::text("Written.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("write it\r");
    terminal.wait_for("+ café");
    terminal.answer("1");
    terminal.wait_for("  Written.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(!told.contains("changed your proposal"), "{told}");
}

#[test]
fn the_question_about_a_file_shows_hidden_characters() {
    // [F-B3] SC-E11
    let content = "if admin\u{202e}\u{200b} two\none\u{1b}[31mtwo\n";
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "note.txt", "content": content})),
        ScriptedReply::tool(
            "Edit",
            json!({"file_path": "note.txt", "old_string": "one\u{1b}[31mtwo\n", "new_string": "x\u{2066}y\n"}),
        ),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    terminal.send("write it\r");
    let screen = terminal.wait_for("+ if admin\\u{202e}\\u{200b} two");
    assert!(screen.contains("+ one\\u{1b}[31mtwo"), "{screen}");
    terminal.answer("1");
    terminal.wait_for("x\\u{2066}y");
}

#[test]
fn a_mistyped_command_is_answered_here_and_not_by_the_model() {
    // [F-B4]
    let server = ModelServer::script([ScriptedReply::text("from the model")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 24));
    command(&mut terminal, "/contxt");
    terminal.wait_for("Unknown command: /contxt. Did you mean /context?");
    assert!(server.requests().is_empty());
    // A path is no command.
    terminal.send("/tmp is full\r");
    terminal.wait_for("from the model");
}
