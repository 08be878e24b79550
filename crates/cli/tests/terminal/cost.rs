//! Questions about money at the terminal.

use crate::common::EXE;
use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

fn start(sandbox: &Sandbox) -> TestTerminal {
    let terminal = sandbox.gimlet(&["--model", "claude-sonnet-4-5"]).terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal
}

/// [LNG-29] An expensive request is asked about before it is sent; cancelling sends nothing.
#[test]
fn an_expensive_request_is_asked_about() {
    let server = ModelServer::script([ScriptedReply::text("Sent."), ScriptedReply::text("Warm.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"costWarnUsd": 0.0001}).to_string());
    let mut terminal = start(&sandbox);
    terminal.send("first\r");
    let screen = terminal.wait_for("Cancel");
    assert!(screen.contains("tokens that are not cached") && screen.contains("Continue"), "{screen}");
    terminal.answer("2");
    terminal.wait_gone("tokens that are not cached");
    terminal.wait_gone("esc to interrupt");
    assert!(server.requests().is_empty());
    terminal.send("second\r");
    terminal.wait_for("Cancel");
    terminal.answer("1");
    terminal.wait_for("  Sent.");
}

/// [LNG-35] A budget that is used up is asked about; raising it goes on with the turn.
#[test]
fn a_used_up_budget_can_be_raised() {
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})).tokens(100_000, 10),
        ScriptedReply::text("Went on."),
        ScriptedReply::tool("Glob", json!({"pattern": "*"})).tokens(100_000, 10),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"budgets": {"sessionUsd": 0.2}}).to_string());
    let mut terminal = start(&sandbox);
    terminal.send("first\r");
    let screen = terminal.wait_for("Stop");
    assert!(screen.contains("The budget of this session is used up"), "{screen}");
    terminal.answer("1");
    terminal.wait_for("  Went on.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("second\r");
    terminal.wait_for("Stop");
    terminal.answer("3");
    terminal.wait_for("Reached maximum budget");
    assert_eq!(server.requests().len(), 3);
}
