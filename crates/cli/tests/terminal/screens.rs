//! Screens, the rows above the prompt and the demo: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const DOWN: &str = "\x1b[B";
const CTRL_B: &str = "\x02";

fn start(sandbox: &Sandbox, columns: u16, rows: u16) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(columns, rows);
    terminal.wait_for("? for shortcuts");
    terminal
}

#[test]
fn the_demo_opens_the_interface_without_a_key() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.unset("ANTHROPIC_API_KEY");
    let temp = sandbox.root().join("temporary");
    std::fs::create_dir(&temp).unwrap();
    let mut terminal = sandbox.gimlet(&["demo", "--tui"]).env("TMPDIR", &temp).terminal(100, 40);
    terminal.wait_for("the model is recorded");
    terminal.wait_for("Do you want");
    terminal.wait_for("900:CM");
    terminal.answer("1");
    terminal.wait_for("all eight cases pass");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/exit\r");
    terminal.wait_for("✓ sh test.sh passes in the project.");
    // Nothing of the person was touched.
    assert_eq!(std::fs::read_dir(sandbox.config_dir()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 1);
}

#[test]
fn a_demo_that_is_left_early_says_so() {
    let sandbox = Sandbox::new(EXE);
    let mut terminal = sandbox.gimlet(&["demo", "--tui"]).env("TMPDIR", sandbox.root()).terminal(100, 40);
    terminal.wait_for("Do you want");
    terminal.answer("\x1b");
    terminal.wait_gone("Do you want");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/exit\r");
    terminal.wait_for("The project is not fixed yet.");
    let done = sandbox.gimlet(&["demo", "--tui"]).env("TMPDIR", sandbox.root()).run().expect_code(1);
    assert!(done.stderr.contains("--tui needs a terminal"), "{}", done.stderr);
    let done = sandbox.gimlet(&["demo", "--fast"]).run().expect_code(1);
    assert!(done.stderr.contains("unknown option '--fast'"), "{}", done.stderr);
}

/// Servers connect without a prompt, and one that fails is announced.
#[test]
fn a_server_that_fails_is_announced_before_the_first_prompt() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let broken = json!({"mcpServers": {"broken": {"command": "/nonexistent/server"}}}).to_string();
    let mut terminal = sandbox.gimlet(&["--mcp-config", &broken]).terminal(110, 30);
    terminal.wait_for("the MCP server broken is not available");
    terminal.send("/mcp\r");
    let screen = terminal.wait_for("✕ failed");
    assert!(screen.contains("1 server"), "{screen}");
    assert!(server.requests().is_empty());
}

#[test]
fn memory_models_and_hooks_are_known_before_the_first_prompt() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Use tabs.\n");
    sandbox.write_config("CLAUDE.md", "Be brief.\n");
    let hook = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh --all"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"PreToolUse": hook}}).to_string());
    let mut terminal = start(&sandbox, 110, 40);
    let mut look = |name: &str, shown: &[&str]| {
        terminal.send(&format!("{name}\r"));
        for part in shown {
            terminal.wait_for(part);
        }
        terminal.send("\x1b");
        terminal.wait_for("? for shortcuts");
    };
    look("/memory", &["2 files", "all your projects", "this project, shared"]);
    look("/hooks", &["1 hook", "PreToolUse", "Bash", "./check.sh --all"]);
    look("/model", &["Opus", "$", "context window, price of a million tokens"]);
    assert!(server.requests().is_empty());
}

fn agent_call(in_background: bool) -> Value {
    json!({"description": "Look around", "prompt": "look", "subagent_type": "general-purpose",
           "run_in_background": in_background})
}

/// Ctrl+B moves the agent that is waited for; the command it runs at that moment goes on inside of it.
#[test]
fn a_waiting_agent_moves_with_its_command() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        let is_main = request.all_text().contains("look around");
        match (is_main, request.tool_results().is_empty()) {
            (true, true) => ScriptedReply::tool("Agent", agent_call(false)),
            (true, false) if request.last_user_text().contains("Found it.") => ScriptedReply::text("It has ended."),
            (true, false) => ScriptedReply::text("It looks around.").gate(&held),
            (false, true) => ScriptedReply::tool(
                "Bash",
                json!({"command": "until test -e go; do sleep 0.02; done; echo inner-$((40+2))"}),
            ),
            (false, false) => ScriptedReply::text("Found it."),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["--allowedTools", "Bash,Agent"]).terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("look around\r");
    terminal.wait_for("· Bash until test -e go");
    terminal.send(CTRL_B);
    server.wait_for_requests(3);
    let told = server.requests().iter().flat_map(testkit::CapturedRequest::tool_results).next().unwrap().to_string();
    assert!(told.contains("The user moved the agent to the background"), "{told}");
    gate.open_all();
    terminal.wait_for("It looks around.");
    terminal.wait_for("⑂ general-purpose  Look around");
    sandbox.write("go", "");
    terminal.wait_for("It has ended.");
    // The end is told once.
    let screen = terminal.wait_gone("esc to interrupt");
    assert_eq!(screen.matches("Agent \"Look around\" completed").count(), 1, "{screen}");
    let results: Vec<Value> = server.requests().iter().flat_map(testkit::CapturedRequest::tool_results).collect();
    assert!(results.iter().any(|result| result.to_string().contains("inner-42")), "{results:?}");
}

/// Two keys open the conversation of an agent; a message reaches it.
#[test]
fn an_agent_is_opened_and_written_to() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        // The agent may start agents as well; its prompt is another one.
        let is_main = request.all_text().contains("look around");
        match (is_main, request.tool_results().is_empty()) {
            (true, true) => ScriptedReply::tool("Agent", agent_call(true)),
            (true, false) => ScriptedReply::text("It looks around."),
            (false, true) => ScriptedReply::tool("Glob", json!({"pattern": "*.nothing"})),
            (false, false) if request.all_text().contains("also in src") => ScriptedReply::text("Looked there too."),
            (false, false) => ScriptedReply::text("Nothing yet.").gate(&held),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, 100, 30);
    terminal.send("look around\r");
    terminal.wait_for("It looks around.");
    terminal.wait_gone("esc to interrupt");
    terminal.wait_for("⑂ general-purpose");
    terminal.send(DOWN);
    terminal.wait_for("Agents");
    terminal.send("\r");
    let screen = terminal.wait_for("transcript of an agent");
    assert!(screen.contains("*.nothing"), "{screen}");
    terminal.send("q");
    terminal.wait_for("m to message");
    terminal.send("m");
    terminal.wait_for("Message:");
    terminal.send("also in src\r");
    terminal.wait_for("Sent. The agent reads it");
    gate.open_all();
    testkit::wait_until("the message reached the agent", || {
        server.requests().iter().any(|request| request.last_user_text().contains("also in src"))
    });
}

/// A worktree that a session made is named in the banner, and removed at the end when it holds nothing.
#[expect(clippy::disallowed_methods, reason = "a repository to work in")]
#[test]
fn a_clean_worktree_goes_with_its_session_and_one_with_work_stays() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").current_dir(sandbox.project()).args(args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]);
    for (name, has_work) in [("clean", false), ("busy", true)] {
        let path = sandbox.project().canonicalize().unwrap().join(".claude/worktrees").join(name);
        let mut terminal = sandbox.gimlet(&["--worktree", name, "--trust-workspace"]).terminal(110, 30);
        let screen = terminal.wait_for("? for shortcuts");
        assert!(screen.contains(&format!(".claude/worktrees/{name}")), "{screen}");
        testkit::wait_until("the worktree is there", || path.is_dir());
        terminal.send("/status\r");
        let screen = terminal.wait_for("Credentials");
        assert!(screen.matches(path.to_str().unwrap()).count() == 2, "{screen}");
        terminal.send("\x1b");
        terminal.wait_gone("Credentials");
        assert_eq!(git(&["status", "--porcelain"]), "");
        if has_work {
            std::fs::write(path.join("work.txt"), "mine").unwrap();
        }
        terminal.send("/exit\r");
        terminal.wait_for(if has_work { "it holds 1 uncommitted file" } else { "held nothing new and was removed." });
        assert_eq!(path.is_dir(), has_work);
        assert_eq!(git(&["branch"]).contains(&format!("worktree-{name}")), has_work);
    }
}
