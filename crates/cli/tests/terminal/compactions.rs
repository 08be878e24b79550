//! Summaries that the person reads and changes before they are used, and the prices of going on with an old conversation.

use crate::common::EXE;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, TestTerminal};

fn editor(sandbox: &mut Sandbox, text: &str) {
    let path = sandbox.write("../editor.sh", format!("#!/bin/sh\nprintf '%s' '{text}' > \"$1\"\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.unset("VISUAL");
    sandbox.set("EDITOR", path.into_os_string());
}

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal
}

/// Types a command and runs it.
fn command(terminal: &mut TestTerminal, text: &str) {
    terminal.send(text);
    terminal.wait_for(&format!("❯ {text}"));
    terminal.send("\r");
}

/// [LNG-20] `/compact edit` opens the summary in the editor; what was left there is what the conversation goes on from.
#[test]
fn a_summary_is_edited_before_it_is_used() {
    let server = ModelServer::script(["One.", "SUMMARY of the model.", "Two."].map(ScriptedReply::text));
    let mut sandbox = Sandbox::with_server(EXE, &server);
    editor(&mut sandbox, "SUMMARY of the person.");
    let mut terminal = start(&sandbox, &[]);
    terminal.send("first\r");
    terminal.wait_for("  One.");
    terminal.wait_gone("esc to interrupt");
    command(&mut terminal, "/compact edit");
    let screen = terminal.wait_for("SUMMARY of the person.");
    assert!(screen.contains("Do you want to continue from this?"), "{screen}");
    terminal.answer("1");
    terminal.wait_gone("Do you want to continue from this?");
    terminal.wait_gone("esc to interrupt");
    terminal.send("second\r");
    terminal.wait_for("  Two.");
    let text = server.requests().pop().unwrap().all_text();
    assert!(text.contains("SUMMARY of the person.") && !text.contains("of the model"), "{text}");
}

/// [LNG-20] With `autoCompactReview` an automatic summary is shown first; a no keeps the conversation.
#[test]
fn automatic_summaries_are_reviewed() {
    let is_summary = |request: &CapturedRequest| request.last_user_text().contains("hand-over text only");
    let mut asked = 0;
    let server = ModelServer::with_handler(move |request| {
        asked += 1;
        match asked {
            _ if is_summary(request) => ScriptedReply::text("SUMMARY by itself."),
            2 => ScriptedReply::error(400, "invalid_request_error", "prompt is too long: 21000 tokens > 20000 maximum"),
            _ => ScriptedReply::text(format!("Answer {asked}.")),
        }
    });
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    sandbox.write_config("settings.json", json!({"autoCompactReview": true}).to_string());
    let mut terminal = start(&sandbox, &["--model", "small-model"]);
    terminal.send("first\r");
    terminal.wait_for("  Answer 1.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("second\r");
    let screen = terminal.wait_for("Do you want to continue from this?");
    assert!(screen.contains("SUMMARY by itself."), "{screen}");
    terminal.answer("1");
    terminal.wait_for("  Answer 4.");
    assert!(server.requests().pop().unwrap().all_text().contains("SUMMARY by itself."));
    terminal.wait_gone("esc to interrupt");
    command(&mut terminal, "/compact undo");
    terminal.wait_for("goes on from before the summary");
}

/// [LNG-23] An old, large conversation is offered from a summary with the price of both ways; whoever goes on with
/// everything is not asked about the same money again.
#[test]
fn an_old_conversation_names_its_prices() {
    let server = ModelServer::script(["One.", "Two."].map(ScriptedReply::text));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"costWarnUsd": 0.0001}).to_string());
    let args = ["-p", "first", "--model", "claude-sonnet-4-5"];
    sandbox.gimlet(&args).env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
    let path = sandbox.transcript_paths().remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let aged = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line.get("timestamp").is_some() {
            line["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        }
        if line["type"] == "assistant" {
            line["message"]["model"] = json!("claude-sonnet-4-5");
            line["message"]["usage"]["cache_read_input_tokens"] = json!(150_000);
        }
        line.to_string() + "\n"
    };
    std::fs::write(&path, text.lines().map(aged).collect::<String>()).unwrap();
    let mut terminal = sandbox.gimlet(&["-c"]).terminal(100, 30);
    let screen = terminal.wait_for("This session is large and old");
    // 150,000 tokens written to the cache at $3.75 a million, then read at $0.30.
    assert!(screen.contains("With everything: about $0.56 now, then about $0.05 for each request"), "{screen}");
    assert!(screen.contains("From a summary:  about $0.70 now, then about $0.01 for each request"), "{screen}");
    terminal.answer("2");
    terminal.wait_for("? for shortcuts");
    terminal.send("second\r");
    terminal.wait_for("  Two.");
    terminal.wait_gone("esc to interrupt");
}
