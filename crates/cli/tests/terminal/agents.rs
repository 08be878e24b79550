//! The rows of running agents, and a user command that formats them: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn call(in_background: bool) -> Value {
    json!({"description": "Look around", "prompt": "look", "subagent_type": "general-purpose",
           "run_in_background": in_background})
}

/// An agent that makes one call and then waits for the gate.
fn agent(gate: &ReplyGate) -> ModelServer {
    ModelServer::script([
        ScriptedReply::tool("Agent", call(false)),
        ScriptedReply::tool("Glob", json!({"pattern": "*.txt"})),
        ScriptedReply::text("Nothing there.").gate(gate),
        ScriptedReply::text("The agent found nothing."),
    ])
}

/// A command that writes its input to `told` and answers with `content`.
fn rows(sandbox: &Sandbox, content: &str) -> Value {
    let told = sandbox.root().join("told.json");
    let script = format!(
        "cat > '{told}.new'; mv '{told}.new' '{told}'; id=$(grep -o '\"id\":\"[^\"]*\"' '{told}' | head -1 | cut -d'\"' -f4); \
         printf '{{\"id\":\"%s\",\"content\":\"{content}\"}}\\n' \"$id\"",
        told = told.display()
    );
    json!({"type": "command", "command": script})
}

fn go(sandbox: &Sandbox) -> TestTerminal {
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(90, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("look around\r");
    terminal
}

#[test]
fn a_command_writes_the_rows_of_agents() {
    // [EXT-250]
    let gate = ReplyGate::new();
    let server = agent(&gate);
    let sandbox = Sandbox::with_server(EXE, &server);
    let line = rows(&sandbox, "my own row");
    sandbox.write_config("settings.json", json!({"subagentStatusLine": line}).to_string());
    let terminal = go(&sandbox);
    let screen = terminal.wait_for("⑂ my own row");
    assert!(screen.contains("Agent   general-purpose: Look around"), "{screen}");
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.root().join("told.json")).unwrap()).unwrap();
    for name in ["session_id", "transcript_path", "cwd"] {
        assert!(told[name].is_string(), "{name} in {told}");
    }
    assert_eq!(told["columns"], 90);
    let task = &told["tasks"][0];
    assert_eq!((&task["name"], &task["description"]), (&json!("general-purpose"), &json!("Look around")));
    assert_eq!((&task["type"], &task["status"]), (&json!("local_agent"), &json!("running")));
    assert!(task["startTime"].as_u64().unwrap() > 1_600_000_000_000, "{task}");
    assert!(task["tokenCount"].is_u64() && task["tokenSamples"].is_array() && task["label"].is_string(), "{task}");
    gate.open_all();
    let screen = terminal.wait_for("  The agent found nothing.");
    assert!(screen.contains("· 1 call ·"), "{screen}");
    assert!(!screen.contains("my own row"), "{screen}");
}

#[test]
fn an_empty_answer_hides_a_row_and_other_answers_leave_it() {
    // [EXT-250]
    let gate = ReplyGate::new();
    let server = agent(&gate);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"subagentStatusLine": rows(&sandbox, "")}).to_string());
    let terminal = go(&sandbox);
    server.wait_for_requests(3);
    terminal.wait_until("the row is hidden", |screen| {
        screen.contains("Agent   general-purpose: Look around") && !screen.contains("⑂ general-purpose")
    });
    // The settings apply from the next tick on.
    let silent = json!({"subagentStatusLine": {"type": "command", "command": "echo nothing of use"}});
    sandbox.write_config("settings.json", silent.to_string());
    terminal.wait_for(" · 1 call · Glob");
    gate.open_all();
    terminal.wait_for("  The agent found nothing.");
}

#[test]
fn no_command_of_a_folder_runs_before_it_is_trusted_or_where_hooks_are_off() {
    // [EXT-250] [EXT-251]
    let line = json!({"type": "command", "command": "touch ran; echo x"});
    for (user, project) in [
        (json!({}), json!({"subagentStatusLine": line})),
        (json!({"disableAllHooks": true, "subagentStatusLine": line}), json!({})),
    ] {
        let gate = ReplyGate::new();
        let server = agent(&gate);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", user.to_string());
        sandbox.write(".claude/settings.json", project.to_string());
        let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(90, 24);
        terminal.wait_for("? for shortcuts");
        if project.get("subagentStatusLine").is_some() {
            terminal.wait_for("Do you trust");
            terminal.answer("2");
            terminal.wait_gone("Do you trust");
        }
        terminal.send("look around\r");
        terminal.wait_for(" · 1 call · Glob");
        gate.open_all();
        terminal.wait_for("  The agent found nothing.");
        assert!(!sandbox.project().join("ran").exists());
    }
}

#[test]
fn an_agent_in_the_background_has_a_row_above_the_prompt() {
    // [EXT-250]
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        let is_main = request.json["tools"].to_string().contains("\"Agent\"");
        match (is_main, request.tool_results().is_empty()) {
            (true, true) => ScriptedReply::tool("Agent", call(true)),
            (true, false) => ScriptedReply::text("It looks around."),
            (false, true) => ScriptedReply::tool("Glob", json!({"pattern": "*.txt"})),
            (false, false) => ScriptedReply::text("Nothing there.").gate(&held),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let terminal = go(&sandbox);
    let screen = terminal.wait_until("the agent is at work", |screen| {
        screen.contains("⑂ general-purpose  Look around · ") && screen.contains(" · 1 call")
    });
    assert!(screen.contains("· in the background"), "{screen}");
    gate.open_all();
    terminal.wait_gone("⑂ general-purpose");
}

// [F-B5] [EXT-250] Ctrl+B: an agent that is waited for goes on in the background, and reports when it has ended.
#[test]
fn a_waiting_agent_is_moved_to_the_background() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        // The agent may start agents as well; its prompt is another one.
        let is_main = request.all_text().contains("look around");
        match (is_main, request.tool_results().is_empty()) {
            (true, true) => ScriptedReply::tool("Agent", call(false)),
            (true, false) if request.last_user_text().contains("Nothing there.") => {
                ScriptedReply::text("It has ended.")
            }
            (true, false) => ScriptedReply::text("It looks around."),
            (false, true) => ScriptedReply::tool("Glob", json!({"pattern": "*.txt"})),
            (false, false) => ScriptedReply::text("Nothing there.").gate(&held),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = go(&sandbox);
    terminal.wait_for(" · 1 call · Glob");
    terminal.send("\x02");
    terminal.wait_for("  It looks around.");
    terminal.wait_for("⑂ general-purpose  Look around");
    gate.open_all();
    terminal.wait_for("  It has ended.");
    terminal.wait_gone("⑂ general-purpose");
    let told = server.requests().iter().flat_map(testkit::CapturedRequest::tool_results).last().unwrap().to_string();
    assert!(told.contains("The user moved the agent to the background"), "{told}");
}

/// The end of the turn says nothing about what an agent in the background runs.
#[test]
fn what_an_agent_in_the_background_runs_is_shown_as_running_after_the_turn() {
    let wait = "until [ -e go ]; do sleep 0.05; done";
    let server = ModelServer::with_handler(move |request| {
        let is_main = request.all_text().contains("begin here");
        match (is_main, request.tool_results().is_empty()) {
            (true, true) => ScriptedReply::tool("Agent", call(true)),
            (true, false) => ScriptedReply::text("It digs."),
            (false, true) => ScriptedReply::tool("Bash", json!({"command": wait})),
            (false, false) => ScriptedReply::text("Dug."),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["--allowedTools", "Bash"]).terminal(90, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("begin here\r");
    terminal.wait_for("  It digs.");
    terminal.wait_gone("esc to interrupt");
    terminal.wait_for("· 1 call · Bash");
    terminal.send("\x1b[B");
    terminal.wait_for("⑂ running");
    terminal.send("\r");
    let screen = terminal.wait_for("transcript of an agent");
    assert!(screen.contains("◌ Run     until") && !screen.contains("interrupted"), "{screen}");
    sandbox.write("go", "");
    terminal.wait_for("◆ Run     until");
    terminal.send("q");
}
