//! Questions of MCP servers to the user: the real binary in a pseudo-terminal, a real server.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::mcp::{scene, server};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const ESCAPE: &str = "\x1b";
const DOWN: &str = "\x1b[B";

/// The model calls this tool of the server, which asks.
fn asked(tool: &str) -> (ModelServer, Sandbox, TestTerminal) {
    let (model, sandbox) =
        scene([ScriptedReply::tool(&format!("mcp__fix__{tool}"), json!({})), ScriptedReply::text("That was it.")]);
    // The terminal waits for no other server.
    let mut fix = server(&["forms"]);
    fix["alwaysLoad"] = json!(true);
    let flags = ["--mcp-config", &json!({"mcpServers": {"fix": fix}}).to_string(), "--allowedTools", "mcp__fix"];
    let mut terminal = sandbox.gimlet(&flags).terminal(80, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("go\r");
    terminal.wait_for("The MCP server fix asks you");
    (model, sandbox, terminal)
}

/// The answer that the server got.
fn answer(model: &ModelServer, terminal: &TestTerminal) -> Value {
    terminal.wait_for("  That was it.");
    let content = model.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    serde_json::from_str(&content).unwrap()
}

#[test]
fn a_form_is_filled_in_and_checked_on_the_way() {
    // [TST-213]
    let (model, _sandbox, mut terminal) = asked("form");
    let screen = terminal.wait_for("Your name");
    assert!(screen.contains("Who are you?") && screen.contains("Waiting for your answer"), "{screen}");
    terminal.answer("\r");
    terminal.wait_for("it is required");
    terminal.send("A\r");
    terminal.wait_for("at least 2 characters");
    terminal.send("da\r");
    terminal.wait_for("Your name: Ada");
    terminal.send("old\r");
    terminal.wait_for("that is not a whole number");
    terminal.send("\x150\r");
    terminal.wait_for("at least 1");
    terminal.send("\x1536\r");
    terminal.wait_for("❯ 1. small");
    terminal.send(DOWN);
    terminal.wait_for("❯ 2. medium");
    terminal.send("\r");
    let screen = terminal.wait_for("❯ 1. Send it");
    assert!(screen.contains("age: 36") && screen.contains("size: m"), "{screen}");
    terminal.send("\r");
    assert_eq!(
        answer(&model, &terminal),
        json!({"action": "accept", "content": {"name": "Ada", "age": 36, "size": "m"}})
    );
}

#[test]
fn what_may_be_left_out_is_left_out() {
    // [TST-213]
    let (model, _sandbox, mut terminal) = asked("form");
    terminal.answer("Ada\r");
    terminal.wait_for("Your name: Ada");
    terminal.send("36\r");
    terminal.wait_for("3. (skip)");
    terminal.send("3");
    terminal.wait_for("❯ 1. Send it");
    terminal.send("1");
    assert_eq!(answer(&model, &terminal), json!({"action": "accept", "content": {"name": "Ada", "age": 36}}));
}

#[test]
fn a_form_is_declined_at_its_end_and_cancelled_anywhere() {
    // [TST-213]
    let (model, _sandbox, mut terminal) = asked("form");
    terminal.answer("Ada\r");
    terminal.wait_for("Your name: Ada");
    terminal.send(ESCAPE);
    assert_eq!(answer(&model, &terminal), json!({"action": "cancel"}));
    let (model, _sandbox, mut terminal) = asked("ask");
    terminal.wait_for("city");
    terminal.answer("Oslo\r");
    terminal.wait_for("city: Oslo");
    terminal.send("\r");
    terminal.wait_for("2. Decline");
    terminal.send("2");
    assert_eq!(answer(&model, &terminal), json!({"action": "decline"}));
}

#[test]
fn an_address_is_shown_whole_and_opened_by_nobody_but_the_person() {
    // [TST-213]
    for (keys, action) in [("1", "accept"), ("2", "decline"), (ESCAPE, "cancel")] {
        let (model, _sandbox, mut terminal) = asked("visit");
        let screen = terminal.wait_for("https://login.example/start?x=1");
        assert!(screen.contains("This link leads to login.example."), "{screen}");
        terminal.answer(keys);
        assert_eq!(answer(&model, &terminal)["action"], action);
    }
}

#[test]
fn the_list_of_servers_follows_one_that_connects_late() {
    // [F-B8]
    let (_model, sandbox) = scene([]);
    let go = sandbox.project().join("go");
    let late = server(&[&format!("wait={}", go.display())]);
    let flags = ["--mcp-config", &json!({"mcpServers": {"late": late}}).to_string()];
    let mut terminal = sandbox.gimlet(&flags).terminal(80, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("/mcp\r");
    terminal.wait_for("◌ connecting");
    std::fs::write(&go, "").unwrap();
    terminal.wait_for("connected");
}
