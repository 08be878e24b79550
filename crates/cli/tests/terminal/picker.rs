//! The session picker, and questions before a session starts: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// One conversation per pair of prompt and reply, recorded as the terminal records them.
fn talked(replies: &[(&str, &str)], more: &[&str]) -> (ModelServer, Sandbox) {
    let all = replies.iter().map(|(_, reply)| *reply).chain(more.iter().copied());
    let server = ModelServer::script(all.map(ScriptedReply::text));
    let sandbox = Sandbox::with_server(EXE, &server);
    for (prompt, _) in replies {
        sandbox.gimlet(&["-p", prompt]).env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
    }
    (server, sandbox)
}

fn picker(sandbox: &Sandbox, args: &[&str], (columns, rows): (u16, u16)) -> TestTerminal {
    sandbox.gimlet(args).terminal(columns, rows)
}

const TALKS: [(&str, &str); 3] = [
    ("fix the parser", "The tokenizer was wrong."),
    ("write the docs", "Documentation stands."),
    ("tune the cache", "It is faster now."),
];

#[test]
fn a_conversation_is_found_by_its_words_and_goes_on() {
    // [TST-245]
    let (server, sandbox) = talked(&TALKS, &["And on it goes."]);
    let mut terminal = picker(&sandbox, &["-r"], (80, 24));
    let screen = terminal.wait_until("all three", |s| TALKS.iter().all(|(prompt, _)| s.contains(prompt)));
    assert!(screen.contains("Resume a session") && screen.contains("❯ tune the cache"), "{screen}");
    terminal.send("TOKENIZER");
    let screen = terminal.wait_for("The tokenizer was wrong.");
    assert!(screen.contains("❯ fix the parser") && !screen.contains("write the docs"), "{screen}");
    terminal.send("\r");
    let screen = terminal.wait_for("\n  The tokenizer was wrong.");
    assert!(screen.contains("▌ fix the parser"), "{screen}");
    terminal.send("go on\r");
    terminal.wait_for("  And on it goes.");
    let told = server.request(3).all_text();
    assert!(told.contains("fix the parser") && told.contains("go on"), "{told}");
}

#[test]
fn sessions_are_previewed_and_named() {
    // [TST-245]
    let (_server, sandbox) = talked(&TALKS, &[]);
    let mut terminal = picker(&sandbox, &["--resume"], (80, 24));
    terminal.wait_for("❯ tune the cache");
    terminal.send(" ");
    terminal.wait_for("● It is faster now.");
    terminal.send("\x1b");
    terminal.wait_gone("It is faster now.");
    terminal.send("\x12");
    terminal.wait_for("Name:");
    terminal.send("cache work\r");
    terminal.wait_for("❯ cache work");
    terminal.send("\x1b");
    let (code, _) = terminal.finish();
    assert_eq!(code, 0);
    assert!(sandbox.gimlet(&["sessions", "list"]).run().stdout.contains("cache work"));
}

#[test]
fn a_text_that_names_no_single_conversation_opens_the_picker_with_it() {
    // [TST-182]
    let (_server, sandbox) = talked(&TALKS, &[]);
    let mut terminal = picker(&sandbox, &["-r", "the"], (80, 24));
    terminal.wait_until("all three", |s| TALKS.iter().all(|(prompt, _)| s.contains(prompt)));
    terminal.send(" docs");
    let screen = terminal.wait_gone("tune the cache");
    assert!(screen.contains("Search: the docs") && screen.contains("❯ write the docs"), "{screen}");
    let gone = sandbox.gimlet(&["-r", "11111111-2222-4333-8444-555555555555"]).terminal(80, 24).finish();
    assert_eq!(gone.0, 1);
    assert!(String::from_utf8_lossy(&gone.1).contains("No conversation found with session ID"));
}

#[test]
fn resume_switches_the_conversation_behind_the_interface() {
    let (server, sandbox) = talked(&TALKS[..2], &["New one.", "Back again."]);
    let mut terminal = picker(&sandbox, &[], (80, 24));
    terminal.wait_for("? for shortcuts");
    terminal.send("something new\r");
    terminal.wait_for("  New one.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/resume parser\r");
    terminal.wait_for("❯ fix the parser");
    terminal.send("\r");
    let screen = terminal.wait_for("\n  The tokenizer was wrong.");
    assert!(screen.contains("Session in "), "{screen}");
    terminal.send("and?\r");
    terminal.wait_for("  Back again.");
    let told = server.request(3).all_text();
    assert!(told.contains("fix the parser") && !told.contains("something new"), "{told}");
    // Esc leaves everything as it is.
    terminal.wait_gone("esc to interrupt");
    terminal.send("/resume\r");
    terminal.wait_for("(open) fix the parser");
    terminal.send("\x1b");
    terminal.wait_gone("Resume a session");
    assert_eq!(sandbox.transcript_paths().len(), 3);
}

#[test]
fn small_screens_are_enough() {
    // [TST-245] [TST-247]
    let (_server, sandbox) = talked(&TALKS, &[]);
    for size in [(40, 12), (20, 5)] {
        let mut terminal = picker(&sandbox, &["-r"], size);
        terminal.wait_for("❯ tune the");
        terminal.send("parser");
        let screen = terminal.wait_for("❯ fix the");
        assert!(screen.contains("Search: parser"), "{screen}");
        terminal.send("\r");
        terminal.wait_for("wrong.");
    }
}

#[test]
fn nothing_of_a_folder_runs_before_it_is_trusted() {
    // [EXT-20] SC-D05
    let server = ModelServer::script([
        ScriptedReply::text("Hello."),
        ScriptedReply::text("Again."),
        ScriptedReply::text("Third."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}});
    sandbox.write(".claude/settings.json", hook.to_string());
    let ran = || sandbox.project().join("hooked").exists();
    // Keys typed before the question appeared do not answer it.
    let mut terminal = picker(&sandbox, &[], (80, 24));
    terminal.send("1\r");
    let screen = terminal.wait_for("Do you trust");
    assert!(screen.contains("touch hooked") && screen.contains("❯ 2. No, continue"), "{screen}");
    terminal.answer("\x1b");
    assert_eq!(terminal.finish().0, 0);
    assert!(!ran() && server.requests().is_empty());
    let mut without = picker(&sandbox, &[], (80, 24));
    without.wait_for("Do you trust");
    without.answer("\r");
    without.wait_gone("Do you trust");
    without.send("hi\r");
    without.wait_for("  Hello.");
    assert!(!ran(), "the folder was not trusted");
    let mut trusted = picker(&sandbox, &[], (80, 24));
    trusted.wait_for("Do you trust");
    trusted.answer("1");
    trusted.wait_gone("Do you trust");
    trusted.send("hi\r");
    trusted.wait_for("  Again.");
    assert!(ran(), "the folder was trusted");
    // The question is not repeated until something changes.
    drop(trusted);
    picker(&sandbox, &["hello"], (80, 24)).wait_for("  Third.");
    sandbox.write(".claude/settings.json", hook.to_string().replace("touch hooked", "touch other"));
    picker(&sandbox, &[], (80, 24)).wait_for("has changed since you trusted it");
}

#[test]
fn servers_of_a_project_are_approved_one_by_one() {
    // [TST-207]
    let server = ModelServer::script([ScriptedReply::text("Hello."), ScriptedReply::text("Hello again.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let declared = json!({"mcpServers": {
        "alpha": {"command": "sh", "args": ["-c", "touch alpha-ran; cat"]},
        "beta": {"command": "sh", "args": ["-c", "touch beta-ran; cat"]},
    }});
    sandbox.write(".mcp.json", declared.to_string());
    // Trust alone says nothing of servers that were not shown.
    sandbox.gimlet(&["trust", "--yes"]).run().expect_code(0);
    let mut terminal = picker(&sandbox, &[], (80, 24));
    let screen = terminal.wait_for("Use an MCP server");
    assert!(screen.contains("touch alpha-ran") && screen.contains("1 more after this one"), "{screen}");
    terminal.answer("4");
    terminal.wait_for("touch beta-ran");
    terminal.answer("\x1b");
    terminal.wait_gone("Use an MCP server");
    terminal.send("hi\r");
    terminal.wait_for("  Hello.");
    assert!(!sandbox.project().join("alpha-ran").exists() && !sandbox.project().join("beta-ran").exists());
    drop(terminal);
    // There is no new question about refused entries; there is one about those left for later.
    let mut again = picker(&sandbox, &[], (80, 24));
    let screen = again.wait_for("touch beta-ran");
    assert!(!screen.contains("alpha"), "{screen}");
    again.answer("1");
    again.wait_gone("Use an MCP server");
    // The answer is saved before the session starts.
    again.send("hi\r");
    again.wait_for("  Hello again.");
    assert!(sandbox.read(".claude/settings.local.json").contains("beta"));
}

// [F-B8] A server that was put off stays in the list, with how to allow it; credentials in its arguments are hidden.
#[test]
fn a_server_that_was_put_off_is_listed() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let args = json!(["-c", "cat", "--api-key", "hunter22-canary"]);
    sandbox.write(".mcp.json", json!({"mcpServers": {"alpha": {"command": "sh", "args": args}}}).to_string());
    let terminal = picker(&sandbox, &[], (100, 30));
    let screen = terminal.wait_for("Do you trust");
    assert!(screen.contains("--api-key") && !screen.contains("canary"), "{screen}");
    drop(terminal);
    sandbox.gimlet(&["trust", "--yes"]).run().expect_code(0);
    let mut terminal = picker(&sandbox, &[], (100, 30));
    let screen = terminal.wait_for("Use an MCP server");
    assert!(screen.contains("--api-key") && !screen.contains("canary"), "{screen}");
    terminal.answer("3");
    terminal.wait_gone("Use an MCP server");
    terminal.send("/mcp\r");
    let screen = terminal.wait_for("not approved; the next start of gimlet");
    assert!(screen.contains("alpha"), "{screen}");
    terminal.send("\x1b");
    terminal.wait_gone("not approved");
    terminal.send("/mcp enable alpha\r");
    terminal.wait_for("MCP server alpha: not approved");
}

#[test]
fn bypassing_is_warned_of_once() {
    let server = ModelServer::script([ScriptedReply::text("Hello.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("IS_SANDBOX", "1");
    let flag = ["--dangerously-skip-permissions"];
    let mut terminal = picker(&sandbox, &flag, (80, 24));
    terminal.wait_for("Bypass all permission checks?");
    terminal.answer("\r");
    assert_eq!(terminal.finish().0, 0);
    let mut accepted = picker(&sandbox, &flag, (80, 24));
    accepted.wait_for("Bypass all permission checks?");
    accepted.answer("1");
    accepted.wait_for("bypass permissions on");
    drop(accepted);
    picker(&sandbox, &flag, (80, 24)).wait_for("bypass permissions on");
}

#[test]
fn a_large_old_conversation_is_offered_as_a_summary() {
    let (_server, sandbox) = talked(&TALKS[..1], &[]);
    let path = sandbox.transcript_paths().remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let old: String = text
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line.get("timestamp").is_some() {
                line["timestamp"] = json!("2026-01-01T00:00:00.000Z");
            }
            if line["type"] == "assistant" {
                line["message"]["usage"]["cache_read_input_tokens"] = json!(150_000);
            }
            line.to_string() + "\n"
        })
        .collect();
    std::fs::write(&path, old).unwrap();
    let mut terminal = picker(&sandbox, &["-c"], (80, 24));
    let screen = terminal.wait_for("This session is large and old");
    assert!(screen.contains("About 150k tokens"), "{screen}");
    terminal.answer("2");
    terminal.wait_for("\n  The tokenizer was wrong.");
}

#[test]
fn only_the_end_of_a_long_conversation_is_printed_and_the_rest_is_a_key_away() {
    let server = ModelServer::script((0..40).map(|n| ScriptedReply::text(format!("answer {n}"))));
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines: String = (0..40)
        .map(|n| {
            json!({"type": "user", "message": {"role": "user", "content": format!("question {n}")}}).to_string() + "\n"
        })
        .collect();
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    sandbox.gimlet(&args).env("CLAUDE_CODE_ENTRYPOINT", "cli").stdin(lines).run().expect_clean();
    let mut terminal = picker(&sandbox, &["-c"], (80, 200));
    let screen = terminal.wait_for("  answer 39");
    assert!(screen.contains("… earlier: ctrl+o") && !screen.contains("question 3\n"), "{screen}");
    terminal.send("\x0f");
    terminal.wait_for("transcript · end");
    terminal.send("g");
    let screen = terminal.wait_for("  answer 0");
    assert!(screen.contains("▌ question 0"), "{screen}");
}

#[test]
fn leaving_asks_while_something_runs() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "sleep 300", "run_in_background": true})),
        ScriptedReply::text("It runs."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = picker(&sandbox, &["--allowedTools", "Bash", "--", "start it"], (80, 24));
    terminal.wait_for("  It runs.");
    terminal.wait_for("1 background task");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/exit\r");
    let screen = terminal.wait_for("Something is still running");
    assert!(screen.contains("❯ 2. Stay"), "{screen}");
    terminal.answer("\x1b");
    terminal.wait_gone("Something is still running");
    terminal.send("/exit\r");
    terminal.wait_for("Something is still running");
    terminal.answer("1");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn a_host_that_would_get_credentials_is_agreed_to_by_itself() {
    let sandbox = Sandbox::with_server(EXE, &ModelServer::script([ScriptedReply::text("Hello.")]));
    sandbox.write(".claude/settings.json", r#"{"env": {"ANTHROPIC_BASE_URL": "http://elsewhere.test/v1"}}"#);
    let mut terminal = picker(&sandbox, &[], (80, 24));
    let screen = terminal.wait_for("Do you trust");
    assert!(screen.contains("ANTHROPIC_BASE_URL sends requests to elsewhere.test"), "{screen}");
    terminal.answer("1");
    let screen = terminal.wait_for("credentials to elsewhere.test?");
    assert!(screen.contains("❯ 2. No"), "{screen}");
    terminal.answer("\r");
    assert_eq!(terminal.finish().0, 0);
    assert_eq!(sandbox.gimlet(&["trust", "--show"]).run().code(), 1, "nothing was recorded");
}
