//! Which model is asked, and how hard it thinks: aliases, retired ids, `opusplan`, the default effort.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn effort(server: &ModelServer, n: usize) -> String {
    server.request(n).json["output_config"]["effort"].as_str().unwrap_or("none").to_owned()
}

// [F-B6]
#[test]
fn aliases_and_retired_ids_are_the_current_models() {
    for (name, id, notice) in [
        ("opus", "claude-opus-5-5", ""),
        ("default", "claude-opus-5-5", ""),
        ("best", "claude-opus-5-5", ""),
        ("sonnet", "claude-sonnet-5-5", ""),
        ("haiku", "claude-haiku-5-5", ""),
        ("fable", "claude-fable-5-2", ""),
        ("claude-opus-4-1-20250805", "claude-opus-5-5", "claude-opus-4-1-20250805 is retired; claude-opus-5-5 is used"),
    ] {
        let server = ModelServer::script([ScriptedReply::text("fine")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let done = sandbox.gimlet(&["-p", "hi", "--model", name]).run().expect_code(0);
        assert_eq!(server.request(0).model(), id, "{name}");
        assert!(done.stderr.contains(notice) && done.stderr.is_empty() == notice.is_empty(), "{name}: {}", done.stderr);
    }
}

// [F-B6]
#[test]
fn opusplan_plans_with_opus_and_works_with_sonnet() {
    let plan = ScriptedReply::tool("ExitPlanMode", json!({"plan": "1. do it"}));
    let server = ModelServer::script([plan, ScriptedReply::text("done"), ScriptedReply::text("more")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let flags = ["-p", "--model", "opusplan", "--permission-mode", "plan", "--input-format", "stream-json"];
    let more = ["--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio"];
    let mut running = sandbox.gimlet(&[&flags[..], &more[..]].concat()).stdin_open().spawn();
    running.send_user("plan it");
    let asked = running.wait_for("control_request");
    let allow = json!({"behavior": "allow", "updatedInput": asked["request"]["input"]});
    let response = json!({"subtype": "success", "request_id": asked["request_id"], "response": allow});
    running.send_json(&json!({"type": "control_response", "response": response}));
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_code(0);
    let models: Vec<String> = server.requests().iter().map(|request| request.model().to_owned()).collect();
    assert_eq!(models, ["claude-opus-5-5", "claude-sonnet-5-5"]);
}

// [F-B6]
#[test]
fn the_default_effort_is_medium_in_a_terminal_and_the_models_own_elsewhere() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Hello there."));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.gimlet(&["-p", "hi"]).run().expect_clean();
    let first = server.requests().len();
    assert_eq!(effort(&server, first - 1), "high");
    for (args, level) in [(vec!["hi"], "medium"), (vec!["hi", "--effort", "max"], "max")] {
        let before = server.requests().len();
        let terminal = sandbox.gimlet(&args).terminal(80, 24);
        terminal.wait_for("Hello there.");
        assert_eq!(effort(&server, before), level);
    }
}

// [F-C9]
#[test]
fn a_model_in_no_table_is_told_with_the_window_that_is_assumed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = |told: Option<&str>| {
        let run = sandbox.gimlet(&["-p", "hi", "--model", "my-model"]);
        let run = told.into_iter().fold(run, |run, tokens| run.env("CLAUDE_CODE_MAX_CONTEXT_TOKENS", tokens));
        run.run().expect_code(0).stderr
    };
    let said = run(None);
    assert!(said.contains("A context window of 200,000 tokens is assumed"), "{said}");
    assert!(said.contains("CLAUDE_CODE_MAX_CONTEXT_TOKENS=N"), "{said}");
    assert!(!run(Some("32768")).contains("is assumed"));
}
