//! The protections of the user apply inside agents too: the sandbox, the masking of secrets, undo.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![cfg(target_os = "linux")]

use crate::common::{EXE, print};
use serde_json::{Value, json};
use std::io::Write;
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

fn is_agent(request: &CapturedRequest) -> bool {
    request.header("x-claude-code-agent-id").is_some()
}

/// A main thread that starts one agent, which runs `command` and reports what it read.
fn one_command(command: &str, background: bool) -> ModelServer {
    let input = json!({"description": "d", "prompt": "p", "run_in_background": background});
    let main = [
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id("toolu_a", "Agent", &input)]),
        ScriptedReply::text("x"),
        ScriptedReply::text("x"),
    ];
    let (mut main, command) = (main.into_iter(), command.to_owned());
    ModelServer::with_handler(move |request| {
        if !is_agent(request) {
            return main.next().unwrap();
        }
        match request.tool_uses().len() {
            0 => ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                "toolu_1",
                "Bash",
                &json!({"command": command}),
            )]),
            _ => ScriptedReply::text("reported"),
        }
    })
}

fn read_by_agent(server: &ModelServer) -> String {
    let last = server.requests().into_iter().rfind(is_agent).unwrap();
    last.tool_result_text("toolu_1")
}

// [EXT-164] [CLI-191] A command of an agent cannot write outside, in the foreground and in the background.
#[test]
fn agents_are_confined() {
    for background in [false, true] {
        let server = one_command("echo in > inside.txt; echo out > ~/outside.txt; echo $?", background);
        let sandbox = Sandbox::with_server(EXE, &server);
        let status = sandbox.gimlet(&["sandbox", "status", "--json"]).run();
        if status.json()["backend"].is_null() {
            std::io::stderr().write_all(b"NOT RUN: no sandbox here\n").unwrap();
            return;
        }
        std::fs::write(sandbox.home().join("outside.txt"), "untouched").unwrap();
        sandbox.write_config("settings.json", json!({"sandbox": {"enabled": true}}).to_string());
        print(&sandbox, "go", &[]).run().expect_code(0);
        assert_eq!(std::fs::read_to_string(sandbox.home().join("outside.txt")).unwrap(), "untouched");
        assert_eq!(sandbox.read("inside.txt"), "in\n", "{}", read_by_agent(&server));
    }
}

// [EXT-164] A secret that a command of an agent prints reaches neither the model nor a transcript.
#[test]
fn secrets_are_masked_in_agents() {
    const SECRET: &str = "canary-token-fedcba9876543210";
    for background in [false, true] {
        let server = one_command("cat secret.txt", background);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        sandbox.set("MY_SERVICE_TOKEN", SECRET);
        sandbox.write("secret.txt", format!("it is {SECRET}!\n"));
        let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_code(0);
        let read = read_by_agent(&server);
        assert!(read.starts_with("it is ") && !read.contains(SECRET), "{read}");
        assert!(!run.stdout.contains(SECRET));
        let holds = |r: &CapturedRequest| r.body.windows(SECRET.len()).any(|w| w == SECRET.as_bytes());
        assert!(!server.requests().iter().any(holds));
    }
}

// [EXT-164] What an agent destroys can be brought back.
#[test]
fn what_agents_destroy_comes_back() {
    for background in [false, true] {
        let server = one_command("rm -r precious", background);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write("precious/notes.txt", "mine\n");
        print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_code(0);
        assert!(!sandbox.project().join("precious").exists(), "{}", read_by_agent(&server));
        let listed: Value = sandbox.gimlet(&["undo", "--list", "--json"]).run().json();
        assert_eq!(listed["snapshots"].as_array().unwrap().len(), 1, "{listed}");
        sandbox.gimlet(&["undo"]).run().expect_code(0);
        assert_eq!(sandbox.read("precious/notes.txt"), "mine\n");
    }
}
