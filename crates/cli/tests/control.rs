//! Requests of a host, over the real protocol: what `initialize` brings and changes, and that every request is answered once,
//! whatever else goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Running, Sandbox};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const HOST: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

fn start(sandbox: &Sandbox, more: &[&str]) -> Running {
    sandbox.gimlet(&[&HOST[..], more].concat()).stdin_open().spawn()
}

fn request(running: &mut Running, id: &str, request: &Value) {
    running.send_json(&json!({"type": "control_request", "request_id": id, "request": request}));
}

/// The answer to a request that is sent now.
fn ask(running: &mut Running, id: &str, asked: &Value) -> Value {
    request(running, id, asked);
    let line = running.wait_for("control_response");
    assert_eq!(line["response"]["request_id"], id, "{line}");
    line["response"].clone()
}

#[test]
fn initialize_tells_what_hosts_read() {
    // [SDK-39] [SDK-40] [SDK-41] [SDK-42] [SDK-43] [SDK-44] [SDK-45]
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write(
        ".claude/commands/deploy.md",
        "---\ndescription: Ships it\nargument-hint: \"[target]\"\n---\nDeploy $ARGUMENTS\n",
    );
    let mut running = start(&sandbox, &[]);
    let said = ask(&mut running, "i1", &json!({"subtype": "initialize", "hooks": null, "novel": 1}));
    assert_eq!(said["subtype"], "success");
    let reply = &said["response"];
    let deploy = reply["commands"].as_array().unwrap().iter().find(|c| c["name"] == "deploy").unwrap();
    assert_eq!((&deploy["description"], &deploy["argumentHint"]), (&json!("Ships it (project)"), &json!("[target]")));
    for command in reply["commands"].as_array().unwrap() {
        assert!(command["argumentHint"].is_string(), "{command}");
    }
    assert_eq!(reply["models"][0]["value"], "default");
    for model in reply["models"].as_array().unwrap() {
        assert!(model["displayName"].is_string() && model["description"].is_string(), "{model}");
    }
    assert!(reply["account"].is_object() && reply["agents"].as_array().unwrap().len() > 1);
    assert_eq!(reply["output_style"], "default");
    assert!(reply["available_output_styles"].as_array().unwrap().contains(&json!("default")));
    assert_eq!(reply["hook_on_failure_supported"], true);
    assert_eq!(reply.get("hooks_applied"), None, "no hooks were sent");
    assert_eq!(said["pending_permission_requests"], json!([]));
    assert_eq!(said["pending_user_dialog_requests"], json!([]));
    running.close_stdin();
    running.finish().expect_clean();
}

#[test]
fn a_prompt_right_behind_initialize_sees_everything_it_brought() {
    // [SDK-13] [SDK-17] [SDK-47] [SDK-49] [SDK-54]
    let server = ModelServer::script([Reply::tool("StructuredOutput", json!({"n": 1}))]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    let agents: serde_json::Map<String, Value> = (0..20)
        .map(|n| (format!("agent-{n}"), json!({"description": format!("number {n}"), "prompt": "x".repeat(13_000)})))
        .collect();
    request(
        &mut running,
        "i1",
        &json!({"subtype": "initialize", "agents": agents, "systemPrompt": ["SYSTEM-A", "SYSTEM-B"], "appendSystemPrompt": "SYSTEM-C",
                "title": "My title", "hooks": {"Stop": []},
                "jsonSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}),
    );
    running.send_user("go");
    let reply = running.wait_for("control_response");
    assert_eq!(reply["response"]["response"]["hooks_applied"], true);
    let init = running.wait_for("system");
    let names = init["agents"].as_array().unwrap();
    assert!((0..20).all(|n| names.contains(&json!(format!("agent-{n}")))), "{names:?}");
    let result = running.wait_for("result");
    assert_eq!(result["structured_output"], json!({"n": 1}), "{result}");
    running.close_stdin();
    running.finish().expect_clean();
    let system = server.request(0).json["system"].to_string();
    assert!(["SYSTEM-A", "SYSTEM-B", "SYSTEM-C"].iter().all(|part| system.contains(part)), "{system}");
    let title = sandbox.transcript().into_iter().find(|line| line["type"] == "custom-title").unwrap();
    assert_eq!(title["customTitle"], "My title");
}

#[test]
fn an_agent_that_only_the_host_declares_may_run_the_session() {
    // [SDK-22] [SDK-48]
    let server = ModelServer::script([Reply::text("as reviewer"), Reply::text("plain")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--agent", "reviewer"]);
    request(
        &mut running,
        "i1",
        &json!({"subtype": "initialize", "agents": {"reviewer": {"description": "reviews", "prompt": "REVIEW-PROMPT"}}}),
    );
    running.send_user("go");
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
    assert!(server.request(0).json["system"].to_string().contains("REVIEW-PROMPT"));
    let mut running = start(&sandbox, &["--agent", "nobody"]);
    running.send_user("go");
    let result = running.wait_for("result");
    assert!(result["errors"][0].as_str().unwrap().contains("nobody"), "{result}");
    running.finish().expect_code(1);
}

#[test]
fn a_host_that_must_introduce_itself_first_is_held_to_it() {
    // [SDK-25]
    let server = ModelServer::script([Reply::text("hello")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--await-initialize"]);
    running.send_user("go");
    let result = running.wait_for("result");
    assert_eq!(result["startup_failure_reason"], "initialize_not_first");
    running.finish().expect_code(1);
    let mut running = start(&sandbox, &["--await-initialize"]);
    request(&mut running, "i1", &json!({"subtype": "initialize"}));
    running.send_user("go");
    assert_eq!(running.wait_for("result")["result"], "hello");
}

#[test]
fn a_second_initialize_is_answered_and_tells_the_running_tasks() {
    // [SDK-52] [SDK-68]
    let server = ModelServer::script([Reply::text("hello")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    assert_eq!(ask(&mut running, "i1", &json!({"subtype": "initialize"}))["subtype"], "success");
    let said = ask(&mut running, "i2", &json!({"subtype": "initialize", "hooks": {}}));
    assert_eq!((&said["subtype"], &said["response"]["hooks_applied"]), (&json!("success"), &json!(true)));
    let told = running.wait_for("system");
    assert_eq!((&told["subtype"], &told["tasks"]), (&json!("background_tasks_changed"), &json!([])));
    let said = ask(&mut running, "u1", &json!({"subtype": "novel"}));
    assert_eq!(
        (&said["error"], &said["error_code"]),
        (&json!("Unsupported control request subtype: novel"), &json!("unsupported_request"))
    );
    running.close_stdin();
    running.finish().expect_clean();
}
