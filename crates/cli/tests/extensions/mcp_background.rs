//! Calls of MCP servers that take long go on in the background.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::mcp::{config, scene, server};
use crate::common::{host, of_kind, print};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedReply};

/// A call that ends when the file is there.
fn waits_for(file: &str) -> ScriptedReply {
    ScriptedReply::tool("mcp__fix__sleep", json!({"seconds": 60, "until": file}))
}

/// The folder of that file.
struct Sign(tempfile::TempDir);

impl Sign {
    fn path(&self) -> PathBuf {
        self.0.path().join("go")
    }

    fn give(&self) {
        std::fs::write(self.path(), "").unwrap();
    }
}

fn scene_with(more: Vec<ScriptedReply>) -> (ModelServer, Sandbox, Sign) {
    let sign = Sign(tempfile::tempdir().unwrap());
    let first = waits_for(sign.path().to_str().unwrap());
    let (model, sandbox) = scene(std::iter::once(first).chain(more).collect::<Vec<_>>());
    (model, sandbox, sign)
}

/// A host that has just sent "go".
fn going(sandbox: &Sandbox, env: &[(&str, &str)]) -> RunningGimlet {
    let config = config(&[]);
    let run = host(sandbox, &["--mcp-config", &config, "--allowedTools", "mcp__fix"]);
    let mut run = env.iter().fold(run, |run, (name, value)| run.env(name, *value)).spawn();
    run.send_user("go");
    run
}

fn output_of(result: &Value) -> PathBuf {
    let text = result["content"].as_str().unwrap();
    text.split("its result will be in ").nth(1).unwrap().split(". Do not wait").next().unwrap().into()
}

// [TST-210] After the configured time, where it is switched on; the end is reported to the model once.
#[test]
fn a_long_call_goes_on_in_the_background() {
    let (model, sandbox, sign) = scene_with(vec![ScriptedReply::text("waiting"), ScriptedReply::text("done")]);
    let env = [("CLAUDE_AUTO_BACKGROUND_TASKS", "1"), ("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "50")];
    let mut run = going(&sandbox, &env);
    assert_eq!(run.wait_for("result")["result"], "waiting");
    let result = model.request(1).tool_results()[0].clone();
    assert!(result["content"].as_str().unwrap().contains("goes on in the background as task b"), "{result}");
    let output = output_of(&result);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "");
    sign.give();
    // Its end is a separate turn.
    assert_eq!(run.wait_for("result")["result"], "done");
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "slept");
    let told = model.request(2).last_user_text();
    assert!(told.contains("<task-notification>") && told.contains("MCP call \"fix: sleep\" completed"), "{told}");
    assert!(told.contains(output.to_str().unwrap()), "{told}");
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let started = of_kind(&lines, "system/task_started");
    assert_eq!((started.len(), &started[0]["task_type"]), (1, &json!("mcp_task")));
    assert_eq!(of_kind(&lines, "system/task_notification")[0]["status"], "completed");
    let on_disk = sandbox.transcript();
    let twin = on_disk.iter().find_map(|l| l["toolUseResult"]["backgroundTaskId"].as_str()).unwrap();
    assert_eq!(twin, started[0]["task_id"]);
    assert_eq!(model.requests().len(), 3);
}

// [TST-210] Scripts wait for their calls, however long.
#[test]
fn without_a_person_calls_are_waited_for() {
    for env in [("CLAUDE_AUTO_BACKGROUND_TASKS", "0"), ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")] {
        let (model, sandbox) =
            scene([ScriptedReply::tool("mcp__fix__sleep", json!({"seconds": 0.3})), ScriptedReply::text("done")]);
        let config = config(&[]);
        let run = print(&sandbox, "go", &["--mcp-config", &config, "--allowedTools", "mcp__fix"]);
        let run = run.env("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "1").env(env.0, env.1);
        run.run().expect_clean();
        assert_eq!(model.request(1).tool_results()[0]["content"], "slept");
    }
}

#[test]
fn a_call_is_let_go_when_the_host_says_so_and_can_be_stopped() {
    let (model, sandbox, _sign) = scene_with(vec![ScriptedReply::text("waiting"), ScriptedReply::text("stopped")]);
    let log = sandbox.root().join("server.log");
    let config = config(&[&format!("log={}", log.display())]);
    let mut run = host(&sandbox, &["--mcp-config", &config, "--allowedTools", "mcp__fix"]).spawn();
    run.send_user("go");
    while !std::fs::read_to_string(&log).unwrap_or_default().contains("sleeping") {
        std::thread::yield_now();
    }
    let ask = |id: &str, request: Value| json!({"type": "control_request", "request_id": id, "request": request});
    run.send_json(&ask("b", json!({"subtype": "background_tasks"})));
    assert_eq!(run.wait_for("control_response")["response"]["response"]["backgrounded"], true);
    assert_eq!(run.wait_for("result")["result"], "waiting");
    let on_disk = sandbox.transcript();
    let twin = on_disk.iter().map(|l| &l["toolUseResult"]).find(|r| r["backgroundTaskId"].is_string()).unwrap();
    assert_eq!(twin["backgroundedByUser"], true);
    // The session cannot move away while a server works for it.
    run.send_user(&format!("/cd {}", sandbox.root().display()));
    let refused = run.wait_for("result");
    assert!(refused["result"].as_str().unwrap().contains("A call of a server still runs"), "{refused}");
    // An interrupt ends the turn, not the background call.
    run.send_json(&ask("i", json!({"subtype": "interrupt"})));
    run.wait_for("control_response");
    run.send_json(&ask("s", json!({"subtype": "stop_task", "task_id": twin["backgroundTaskId"]})));
    assert_eq!(run.wait_for("control_response")["response"]["subtype"], "success");
    assert_eq!(run.wait_for("result")["result"], "stopped");
    assert!(model.request(2).last_user_text().contains("MCP call \"fix: sleep\" was stopped"));
}

// [TST-210] In the terminal this is the default.
#[test]
fn the_terminal_does_not_wait_for_long_calls() {
    let (_model, sandbox, sign) = scene_with(vec![ScriptedReply::text("Meanwhile."), ScriptedReply::text("All done.")]);
    // The terminal waits for no other server.
    let mut fix = server(&[]);
    fix["alwaysLoad"] = true.into();
    let config = json!({"mcpServers": {"fix": fix}}).to_string();
    let run = sandbox.gimlet(&["--mcp-config", &config, "--allowedTools", "mcp__fix"]);
    let mut terminal = run.env("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "50").terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("go\r");
    terminal.wait_for("  Meanwhile.");
    sign.give();
    terminal.wait_for("  All done.");
}
