//! Other views of the same session: the transcript view, the mode for screen readers, files that change while it runs.
//! The real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const TRANSCRIPT: &str = "\x0f";

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn ask(terminal: &mut TestTerminal, prompt: &str, answer: &str) {
    terminal.send(prompt);
    terminal.send("\r");
    terminal.wait_for(answer);
    terminal.wait_gone("esc to interrupt");
}

#[test]
fn the_transcript_is_searched_and_walked_through() {
    // [TST-244]
    let long = (0..60).map(|n| format!("- row {n} of it")).collect::<Vec<_>>().join("\n");
    let server = ModelServer::script([
        ScriptedReply::text(format!("Needle here.\n\n{long}")),
        ScriptedReply::text("Second answer."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    ask(&mut terminal, "first prompt", "row 59 of it");
    ask(&mut terminal, "second prompt", "  Second answer.");
    terminal.send(TRANSCRIPT);
    let screen = terminal.wait_for("transcript · end");
    assert!(
        screen.contains(" · Opus 5.5") && !screen.contains("claude-") && screen.contains("  Second answer."),
        "{screen}"
    );
    terminal.send("/needle\r");
    terminal.wait_until("the hit on top", |screen| screen.lines().next().unwrap_or_default().contains("Needle here."));
    terminal.send("n");
    terminal.send("G");
    terminal.wait_for("transcript · end");
    terminal.send("{");
    terminal.send("{");
    terminal.wait_until("the first prompt on top", |screen| screen.starts_with("▌ first prompt"));
    terminal.send("?");
    terminal.wait_for("open it in your editor");
    terminal.send("?");
    terminal.wait_for("▌ first prompt");
    terminal.send("g");
    terminal.send("/nowhere\r");
    terminal.wait_for("nowhere was not found");
    terminal.send("q");
    terminal.wait_gone("transcript ·");
}

#[test]
fn the_transcript_tails_goes_to_the_scrollback_and_to_an_editor() {
    // [TST-244]
    let gate = ReplyGate::new();
    let server =
        ModelServer::script([ScriptedReply::text("Early words."), ScriptedReply::text("Late words.").gate(&gate)]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let seen = sandbox.root().join("seen");
    let editor = sandbox.write("editor", format!("#!/bin/sh\ncat \"$1\" > '{}'\n", seen.display()));
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("EDITOR", editor.as_os_str());
    let mut terminal = start(&sandbox, &[]);
    ask(&mut terminal, "first prompt", "  Early words.");
    terminal.send("second prompt\r");
    terminal.wait_for("esc to interrupt");
    terminal.send(TRANSCRIPT);
    terminal.wait_for("transcript · end");
    gate.open_all();
    terminal.wait_for("  Late words.");
    terminal.send("v");
    // The editor uses the terminal and returns it.
    terminal.wait_for("transcript · end");
    testkit::wait_until("Late words.", || std::fs::read_to_string(&seen).unwrap_or_default().contains("Late words."));
    terminal.send("[");
    terminal.wait_gone("transcript ·");
    terminal.wait_until("everything twice", |screen| screen.matches("  Late words.").count() == 2);
}

#[test]
fn what_an_agent_did_stands_in_the_transcript() {
    // [TST-244]
    let server = ModelServer::with_handler(|request| {
        let text = request.all_text();
        match (text.contains("Look into it"), request.tool_results().is_empty()) {
            (true, true) if request.tool_uses().is_empty() && !text.contains("have it looked into") => {
                ScriptedReply::tool("Bash", json!({"command": "echo inner-$((40+2))"}))
            }
            (false, true) => ScriptedReply::tool(
                "Agent",
                json!({"description": "look", "prompt": "Look into it", "subagent_type": "general-purpose",
                       "run_in_background": false}),
            ),
            _ if !text.contains("have it looked into") => ScriptedReply::text("Found it."),
            _ if request.tool_uses().iter().any(|used| used["name"] == "Agent") => ScriptedReply::text("All done."),
            _ => ScriptedReply::tool("Bash", json!({"command": "echo inner-$((40+2))"})),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash,Agent"]);
    ask(&mut terminal, "have it looked into", "  All done.");
    terminal.send(TRANSCRIPT);
    terminal.wait_for("inner-42");
    terminal.send("a");
    let screen = terminal.wait_for("transcript of an agent");
    assert!(screen.contains("inner-42") && !screen.contains("All done."), "{screen}");
    terminal.send("a");
    terminal.wait_for("All done.");
}

#[test]
fn changed_bindings_count_at_once_and_mistakes_are_told() {
    // [TST-232] [EXT-252]
    let sandbox = Sandbox::new(EXE);
    let bound = |key: &str, action: &str| json!({"bindings": [{"context": "Global", "bindings": {key: action}}, {"context": "Nowhere", "bindings": {}}]});
    sandbox.write_config("keybindings.json", bound("ctrl+q", "app:toggleTranscript").to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("there is no context \"Nowhere\"");
    terminal.wait_for("? for shortcuts");
    terminal.send("\x11");
    terminal.wait_for("transcript · end");
    terminal.send("q");
    terminal.wait_gone("transcript · end");
    sandbox.write_config("keybindings.json", bound("ctrl+]", "app:toggleTranscript").to_string());
    // The file is checked once a second: keep pressing until it was.
    let opened = (0..100).any(|_| {
        terminal.send("\x1d");
        testkit::let_pass(std::time::Duration::from_millis(100));
        terminal.screen().contains("transcript · end")
    });
    assert!(opened, "{}", terminal.screen());
    terminal.send("q");
    terminal.wait_gone("transcript · end");
    terminal.send("\x11x");
    let screen = terminal.wait_for("❯ x");
    assert!(!screen.contains("transcript · end"));
}

#[test]
fn a_changed_theme_is_seen_at_once() {
    // [TST-248] [EXT-254]
    let sandbox = Sandbox::new(EXE);
    let theme = |colour: &str| json!({"base": "dark", "overrides": {"inactive": colour, "novel": "red"}}).to_string();
    sandbox.write_config("themes/mine.json", theme("#010203"));
    sandbox.write_config("settings.json", json!({"theme": "custom:mine"}).to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).env("COLORTERM", "truecolor").terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    let written = |terminal: &TestTerminal| String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(written(&terminal).contains("38;2;1;2;3"));
    sandbox.write_config("themes/mine.json", theme("#040506"));
    let seen = (0..100).any(|_| {
        terminal.send("x\x7f");
        testkit::let_pass(std::time::Duration::from_millis(100));
        written(&terminal).contains("38;2;4;5;6")
    });
    assert!(seen);
}

#[test]
fn the_prompt_can_be_edited_while_start_hooks_run_and_the_request_waits() {
    // [EXT-98]
    let server = ModelServer::script([ScriptedReply::text("Here.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook = json!([{"hooks": [{"type": "command", "command": "until test -e go; do sleep 0.02; done; echo from-the-hook"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"SessionStart": hook}}).to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("typed early");
    terminal.wait_for("❯ typed early");
    terminal.send("\r");
    terminal.wait_for("esc to interrupt");
    assert!(server.requests().is_empty());
    sandbox.write("go", "");
    terminal.wait_for("  Here.");
    assert!(server.request(0).all_text().contains("from-the-hook"));
}

fn reader(sandbox: &mut Sandbox, args: &[&str]) -> TestTerminal {
    sandbox.set("CLAUDE_AX_STARTUP_QUIET_MS", "0");
    sandbox.set("CLAUDE_AX_PREPARK_MS", "0");
    sandbox.gimlet(args).terminal(80, 40)
}

#[test]
fn a_screen_reader_hears_labels_and_no_glyphs() {
    // [TST-249]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made; echo out-$((40+2))"})),
        ScriptedReply::text("Done.\n\n| Name | Size |\n|---|---|\n| a | 1 |"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = reader(&mut sandbox, &["--ax-screen-reader"]);
    let screen = terminal.wait_for("for shortcuts");
    assert!(screen.starts_with("[Screen Reader Mode: on via flag]"), "{screen}");
    terminal.send("do it\r");
    let screen = terminal.wait_for("Enter selection (y/n or a number):");
    assert!(
        screen.contains("Permission Required: Do you want to run this command?") && screen.contains("\n1. Yes"),
        "{screen}"
    );
    terminal.answer("y");
    terminal.wait_for("claude: Done.");
    let screen = terminal.wait_for("Size: 1");
    for part in ["you: do it", "tool: Run touch made; echo out-$((40+2))", "\nout-42", "Name: a"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!screen.contains(['●', '⎿', '─', '❯', '✳', '│']), "{screen}");
    terminal.send("\x1b[Z");
    terminal.wait_for("mode: acceptEdits");
    terminal.send("one two");
    terminal.wait_for("> one two");
    terminal.send("\x17");
    terminal.wait_for("deleted two");
    let (row, column) = terminal.cursor();
    let line = terminal.screen().lines().nth(usize::from(row)).unwrap_or_default().to_owned();
    assert!(line.starts_with("> one") && column == 6, "{column} in {line:?}");
    for mark in ["\x07\x1b", "\x1b]133;C\x07", "\x1b]133;D\x07"] {
        wait_for_bytes(&terminal, 0, mark);
    }
}

#[test]
fn the_environment_and_the_settings_switch_the_reader_on_too() {
    // [TST-249]
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write_config("settings.json", r#"{"axScreenReader": true}"#);
    let terminal = reader(&mut sandbox, &[]);
    terminal.wait_for("[Screen Reader Mode: on via settings]");
    drop(terminal);
    sandbox.set("CLAUDE_AX_SCREEN_READER", "1");
    let terminal = reader(&mut sandbox, &[]);
    terminal.wait_for("[Screen Reader Mode: on via env]");
}

#[test]
fn enter_can_mean_a_new_line_and_another_key_send() {
    // [EXT-253]
    let server = ModelServer::script([ScriptedReply::text("Both lines.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let bindings = json!({"enter": "chat:newline", "ctrl+j": "chat:submit"});
    sandbox
        .write_config("keybindings.json", json!({"bindings": [{"context": "Chat", "bindings": bindings}]}).to_string());
    let mut terminal = start(&sandbox, &[]);
    terminal.send("one\rtwo");
    terminal.wait_for("❯ one\n  two");
    assert!(server.requests().is_empty());
    terminal.send("\n");
    terminal.wait_for("  Both lines.");
    assert!(server.request(0).all_text().contains("one\ntwo"));
}

#[test]
fn a_hook_may_have_a_text_shown_otherwise() {
    // [EXT-113]
    let server =
        ModelServer::script([ScriptedReply::text("The secret is 42."), ScriptedReply::text("The secret is 42.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = sandbox.root().join("told.jsonl");
    let output =
        json!({"hookSpecificOutput": {"hookEventName": "MessageDisplay", "displayContent": "The secret is hidden."}});
    let command = format!("cat >> '{}'; printf '%s' '{output}'", told.display());
    let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"MessageDisplay": hook}}).to_string());
    let mut terminal = start(&sandbox, &[]);
    terminal.send("tell me\r");
    terminal.wait_for("  The secret is hidden.");
    terminal.wait_gone("esc to interrupt");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("42"));
    drop(terminal);
    assert!(sandbox.transcript().iter().any(|line| line.to_string().contains("The secret is 42.")));
    let done = sandbox.gimlet(&["-p", "tell me"]).run().expect_clean();
    assert_eq!(done.stdout, "The secret is 42.\n");
    let heard: Vec<serde_json::Value> =
        std::fs::read_to_string(&told).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(heard.len(), 2, "once per message");
    for message in heard {
        assert_eq!((&message["final"], &message["index"]), (&json!(true), &json!(0)));
        assert_eq!(message["delta"], "The secret is 42.");
        assert!(message["message_id"].is_string() && message["turn_id"].is_string());
    }
}

/// Waits until these bytes were written to the terminal after the first `from`.
fn wait_for_bytes(terminal: &TestTerminal, from: usize, wanted: &str) {
    testkit::wait_until(wanted, || String::from_utf8_lossy(&terminal.bytes()[from..]).contains(wanted));
}

#[test]
fn a_theme_that_follows_the_terminal_does_so_at_once() {
    // [TST-248]
    const BACKGROUND: &str = "\x1b]11;?";
    const DARK_RULE: &str = "\x1b[38;5;243m─";
    const LIGHT_RULE: &str = "\x1b[38;5;247m─";
    let server = ModelServer::script([]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("TERM", "xterm-256color");
    sandbox.write_config("settings.json", json!({"theme": "dark"}).to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains(BACKGROUND));
    let from = terminal.bytes().len();
    terminal.send("/theme auto\r");
    wait_for_bytes(&terminal, from, BACKGROUND);
    terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    wait_for_bytes(&terminal, from, LIGHT_RULE);
    // A custom theme does not follow the background.
    let from = terminal.bytes().len();
    terminal.send("/theme dark\r");
    terminal.wait_for("theme: set to dark");
    wait_for_bytes(&terminal, from, DARK_RULE);
    let from = terminal.bytes().len();
    terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\x");
    terminal.wait_for("❯ x");
    assert!(!String::from_utf8_lossy(&terminal.bytes()[from..]).contains(LIGHT_RULE));
}

#[test]
fn a_key_that_is_entered_counts_for_the_next_request() {
    let server = ModelServer::script([
        ScriptedReply::error(401, "authentication_error", "invalid x-api-key"),
        ScriptedReply::text("Welcome."),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox.unset("ANTHROPIC_AUTH_TOKEN");
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "0");
    sandbox.gimlet(&["auth", "login"]).stdin("sk-ant-old-key-0123456789\n").run().expect_clean();
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("hello\r");
    terminal.wait_for("invalid x-api-key");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/login\r");
    terminal.wait_for("1. Enter an API key");
    terminal.send("1");
    terminal.wait_for("API key:");
    terminal.send("sk-ant-new-key-9876543210\r");
    terminal.wait_for("It applies from the next request.");
    terminal.send("again\r");
    terminal.wait_for("  Welcome.");
    let key = |n: usize| server.request(n).header("x-api-key").unwrap_or_default().to_owned();
    assert_eq!((key(0).as_str(), key(1).as_str()), ("sk-ant-old-key-0123456789", "sk-ant-new-key-9876543210"));
}
