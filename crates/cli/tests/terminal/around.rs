//! What surrounds the conversation: the user's status line, notifications, terminal sequences of hooks. The real binary
//! in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::path::Path;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn leave(mut terminal: TestTerminal) -> String {
    terminal.send("\x03");
    terminal.wait_for("again to exit");
    terminal.send("\x03");
    let (code, bytes) = terminal.finish();
    assert_eq!(code, 0);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The lines of a file, once there are `count`.
fn lines_of(path: &Path, count: usize) -> Vec<String> {
    testkit::wait_for(|| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count { Ok(lines) } else { Err(format!("{count} lines in {}: {text}", path.display())) }
    })
}

/// Waits until these bytes were written to the terminal.
fn wait_for_bytes(terminal: &TestTerminal, wanted: &str) {
    testkit::wait_until(wanted, || String::from_utf8_lossy(&terminal.bytes()).contains(wanted));
}

fn status_line(command: &str) -> String {
    json!({"statusLine": {"type": "command", "command": command, "padding": 1}}).to_string()
}

#[test]
fn the_status_line_is_told_how_the_session_stands() {
    // [TST-251] [EXT-246] [EXT-248]
    let server = ModelServer::script([ScriptedReply::text("Answered.").tokens(1_000, 50)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = sandbox.root().join("told.jsonl");
    let command = format!(
        "cat >> '{}'; printf '\\033[31mred\\033[0m %sx%s\\nsecond row \\033[2Jof it\\n' $COLUMNS $LINES",
        told.display()
    );
    sandbox.write_config("settings.json", status_line(&command));
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(70, 20);
    let screen = terminal.wait_for("second row of it");
    assert!(screen.contains("\n red 70x20\n second row of it"), "{screen}");
    assert!(!screen.contains("  ? for shortcuts"), "{screen}");
    let first: Value = serde_json::from_str(&lines_of(&told, 1)[0]).unwrap();
    for name in ["session_id", "transcript_path", "cwd", "version"] {
        assert!(first[name].is_string(), "{name} in {first}");
    }
    assert!(first["model"]["id"].is_string() && first["model"]["display_name"].is_string());
    assert_eq!(first["workspace"]["current_dir"], first["cwd"]);
    assert!(first["workspace"]["project_dir"].is_string() && first["workspace"]["added_dirs"].is_array());
    assert_eq!(first["output_style"]["name"], "default");
    assert_eq!(first["cost"]["total_cost_usd"], 0.0);
    let window = &first["context_window"];
    assert!(window["used_percentage"].is_null() && window["current_usage"].is_null(), "{window}");
    assert!(window["context_window_size"].as_u64().unwrap() >= 200_000);
    assert!(window["estimate"]["tokens"].as_u64().unwrap() > 0, "{window}");
    assert_eq!((&first["exceeds_200k_tokens"], &first["fast_mode"]), (&json!(false), &json!(false)));
    assert!(
        first["thinking"]["enabled"].is_boolean() && first.get("vim").is_none() && first.get("prompt_id").is_none()
    );
    terminal.send("go\r");
    terminal.wait_for("  Answered.");
    terminal.wait_gone("esc to interrupt");
    let find = |lines: Vec<String>| -> Option<Value> {
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.into_iter().find(|value| !value["context_window"]["current_usage"].is_null())
    };
    let count = lines_of(&told, 2).len();
    let later = find(lines_of(&told, 2)).or_else(|| find(lines_of(&told, count + 1))).unwrap();
    assert_eq!(later["context_window"]["current_usage"]["input_tokens"], 1_000);
    assert_eq!(later["context_window"]["used_percentage"], 0);
    assert!(later["prompt_id"].is_string() && later["cost"]["total_cost_usd"].as_f64().unwrap() > 0.0);
    leave(terminal);
}

#[test]
fn the_status_line_follows_modes_and_gives_way() {
    // [TST-251] [EXT-247] [EXT-249]
    let sandbox = Sandbox::new(EXE);
    let told = sandbox.root().join("told");
    let command = format!("echo x >> '{}'; echo n=$(wc -l < '{0}')", told.display());
    sandbox.write_config("settings.json", status_line(&command));
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(70, 20);
    terminal.wait_for("n=1");
    terminal.send("\x1b[Z");
    terminal.wait_for("n=2");
    // Three changes at once run the command once.
    terminal.send("\x1b[Z\x1b[Z\x1b[Z");
    terminal.wait_for("n=3");
    terminal.send("/");
    terminal.wait_gone("n=3");
    terminal.send("\x7f");
    terminal.wait_for("n=3");
    // A command that fails leaves a blank line.
    sandbox.write_config("settings.json", status_line("echo broken; exit 3"));
    terminal.send("\x1b[Z");
    terminal.wait_gone("n=3");
    assert!(!terminal.screen().contains("broken"));
    leave(terminal);
    assert_eq!(lines_of(&told, 3).len(), 3);
}

#[test]
fn a_slow_status_line_is_cancelled_by_a_newer_one_and_refreshes_by_itself() {
    // [TST-251] [EXT-247]
    let server = ModelServer::script([ScriptedReply::text("Answered.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = sandbox.root().join("told");
    let command = format!(
        "echo x >> '{}'; if [ $(wc -l < '{0}') = 1 ]; then sleep 600; echo late; else echo n=$(wc -l < '{0}'); fi",
        told.display()
    );
    let line = json!({"statusLine": {"type": "command", "command": command, "refreshInterval": 1}});
    sandbox.write_config("settings.json", line.to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(70, 20);
    terminal.wait_for("? for shortcuts");
    lines_of(&told, 1);
    // The first run has printed nothing yet; the end of a turn runs the command again.
    terminal.send("go\r");
    terminal.wait_for("n=2");
    terminal.wait_for("n=3");
    leave(terminal);
}

#[test]
fn no_status_line_of_a_project_before_it_is_trusted_or_where_hooks_are_off() {
    // [TST-251] [EXT-251]
    for (user, project) in [
        (json!({}), json!({"statusLine": {"type": "command", "command": "echo shown-$((40+2))"}})),
        (
            json!({"disableAllHooks": true, "statusLine": {"type": "command", "command": "echo shown-$((40+2))"}}),
            json!({}),
        ),
    ] {
        let server = ModelServer::script([ScriptedReply::text("Answered.")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", user.to_string());
        sandbox.write(".claude/settings.json", project.to_string());
        let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(70, 20);
        terminal.wait_for("? for shortcuts");
        if project.get("statusLine").is_some() {
            terminal.wait_for("Do you trust");
            terminal.answer("2");
            terminal.wait_gone("Do you trust");
        }
        terminal.send("go\r");
        terminal.wait_for("  Answered.");
        terminal.wait_gone("esc to interrupt");
        terminal.send("\x1b[Z");
        terminal.wait_for("accept edits on");
        assert!(!leave(terminal).contains("shown-42"));
    }
}

#[test]
fn a_question_nobody_answers_and_a_rest_call_the_person() {
    // [TST-250] [EXT-102] [EXT-255]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("Made."),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let heard = sandbox.root().join("heard.jsonl");
    let hook = json!({"matcher": "idle_prompt", "hooks": [{"type": "command", "command": format!("cat >> '{}'", heard.display())}]});
    sandbox.write_config(
        "settings.json",
        json!({"preferredNotifChannel": "iterm2", "hooks": {"Notification": [hook]}}).to_string(),
    );
    sandbox.set("GIMLET_TEST_QUESTION_MS", "300");
    sandbox.set("GIMLET_TEST_IDLE_MS", "300");
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("make it\r");
    terminal.wait_for("1. Yes");
    wait_for_bytes(&terminal, "\x1b]9;gimlet needs your permission to use Bash\x07");
    terminal.send("1");
    terminal.wait_for("  Made.");
    wait_for_bytes(&terminal, "\x1b]9;gimlet is waiting for your input\x07");
    let told: Value = serde_json::from_str(&lines_of(&heard, 1)[0]).unwrap();
    assert_eq!(told["notification_type"], "idle_prompt");
    let written = leave(terminal);
    assert_eq!(written.matches("\x1b]9;gimlet needs").count(), 1);
    assert_eq!(written.matches("\x1b]9;gimlet is waiting").count(), 1);
}

#[test]
fn hooks_hear_of_a_rest_with_alerts_off_and_tmux_passes_them_through() {
    // [TST-250] [EXT-102]
    for (channel, wanted) in
        [("notifications_disabled", None), ("ghostty", Some("\x1bPtmux;\x1b\x1b]777;notify;gimlet;"))]
    {
        let server = ModelServer::script([ScriptedReply::text("Done.")]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        let heard = sandbox.root().join("heard.jsonl");
        let hook = json!({"hooks": [{"type": "command", "command": format!("cat >> '{}'", heard.display())}]});
        sandbox.write_config(
            "settings.json",
            json!({"preferredNotifChannel": channel, "hooks": {"Notification": [hook]}}).to_string(),
        );
        sandbox.set("GIMLET_TEST_IDLE_MS", "100");
        sandbox.set("TMUX", "/tmp/tmux-0/default,1,0");
        let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
        terminal.wait_for("? for shortcuts");
        terminal.send("go\r");
        terminal.wait_for("  Done.");
        lines_of(&heard, 1);
        if let Some(wanted) = wanted {
            wait_for_bytes(&terminal, wanted);
        }
        let written = leave(terminal);
        assert_eq!(wanted.is_some(), written.contains("waiting for your input"));
    }
}

#[test]
fn hooks_say_what_they_do_and_may_notify() {
    // [EXT-53] [EXT-66]
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("Done.").gate(&gate)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook =
        |command: &str| json!([{"hooks": [{"type": "command", "command": command, "statusMessage": "Looking it up"}]}]);
    let waits =
        "until test -e go; do sleep 0.02; done; printf '%s' '{\"terminalSequence\": \"\\u001b]9;from a hook\\u0007\"}'";
    let refused = "printf '%s' '{\"terminalSequence\": \"\\u001b]9;never\\u0007\\u001b[2J\"}'";
    sandbox.write_config(
        "settings.json",
        json!({"hooks": {"UserPromptSubmit": hook(waits), "Stop": hook(refused)}}).to_string(),
    );
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("go\r");
    terminal.wait_for("Looking it up…");
    sandbox.write("go", "");
    wait_for_bytes(&terminal, "\x1b]9;from a hook\x07");
    terminal.wait_gone("Looking it up");
    gate.open_all();
    terminal.wait_for("  Done.");
    terminal.wait_gone("esc to interrupt");
    assert!(!leave(terminal).contains("never"));
    // Without a terminal nothing of it is written.
    server.push(ScriptedReply::text("Done."));
    let done = sandbox.gimlet(&["-p", "go"]).run().expect_clean();
    assert_eq!(done.stdout, "Done.\n");
}

#[test]
fn context_figures_agree_wherever_they_are_shown() {
    // [TST-198] [EXT-248]
    let server =
        ModelServer::script([ScriptedReply::text("An answer of some length, so that there is something to count.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = sandbox.root().join("told.jsonl");
    sandbox.write_config("settings.json", status_line(&format!("cat >> '{}'", told.display())));
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    let mut running = sandbox.gimlet(&args).stdin_open().spawn();
    running.send_user("hello");
    running.wait_for("result");
    let mut ask = |id: &str, request: Value| {
        running.send_json(&json!({"type": "control_request", "request_id": id, "request": request}));
        running.wait_for("control_response")["response"]["response"].clone()
    };
    let usage = ask("a", json!({"subtype": "get_context_usage"}));
    ask("b", json!({"subtype": "x_status_line", "columns": 80, "rows": 24}));
    running.send_user("/context");
    let shown = running.wait_for("assistant")["context_usage"].clone();
    running.close_stdin();
    running.finish().expect_clean();
    let input: Value = serde_json::from_str(&lines_of(&told, 1)[0]).unwrap();
    let counts = [
        usage["totalTokens"].as_f64().unwrap(),
        input["context_window"]["estimate"]["tokens"].as_f64().unwrap(),
        shown["total_tokens"].as_f64().unwrap(),
    ];
    let (least, most) = counts.iter().fold((f64::MAX, 0.0_f64), |(a, b), n| (a.min(*n), b.max(*n)));
    assert!(least > 0.0 && (most - least) / most <= 0.02, "{counts:?}");
}

#[test]
fn the_status_line_counts_lines_and_knows_the_name() {
    // [EXT-246]
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "a.txt", "content": "one\ntwo\n"})),
        ScriptedReply::tool("Edit", json!({"file_path": "a.txt", "old_string": "two", "new_string": "2\n3"})),
        ScriptedReply::text("Written."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = sandbox.root().join("told.jsonl");
    sandbox.write_config("settings.json", status_line(&format!("cat >> '{}'", told.display())));
    let mut terminal =
        sandbox.gimlet(&["--permission-mode", "acceptEdits", "--name", "my work", "write it"]).terminal(80, 24);
    terminal.wait_for("  Written.");
    terminal.wait_gone("esc to interrupt");
    let last: Value = testkit::wait_for(|| {
        let lines = lines_of(&told, 1);
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        if last["cost"]["total_lines_added"] == 4 { Ok(last) } else { Err(last.to_string()) }
    });
    assert_eq!(last["cost"]["total_lines_removed"], 1);
    assert_eq!(last["session_name"], "my work");
    terminal.send("\x04");
}
