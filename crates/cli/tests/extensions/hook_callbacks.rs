//! Hooks that the host runs itself (`hook_callback`), over the real protocol.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, of_kind};
use serde_json::{Value, json};
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

fn bash(line: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": line}))
}

/// A host that registered `hooks` and sent its first prompt.
fn start(sandbox: &Sandbox, hooks: &Value, more: &[&str]) -> RunningGimlet {
    let mut running = host(sandbox, more).spawn();
    initialize(&mut running, "i1", hooks);
    let reply = running.wait_for("control_response");
    assert_eq!(reply["response"]["response"]["hooks_applied"], true, "{reply}");
    running.send_user("go");
    running
}

fn initialize(running: &mut RunningGimlet, id: &str, hooks: &Value) {
    running.send_json(&json!({"type": "control_request", "request_id": id,
        "request": {"subtype": "initialize", "hooks": hooks}}));
}

fn on(event: &str, ids: &[&str]) -> Value {
    json!({event: [{"matcher": null, "hookCallbackIds": ids}]})
}

fn answer(running: &mut RunningGimlet, question: &Value, output: &Value) {
    let id = &question["request_id"];
    running.send_json(
        &json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": output}}),
    );
}

fn fail(running: &mut RunningGimlet, question: &Value) {
    let id = &question["request_id"];
    running.send_json(&json!({"type": "control_response",
        "response": {"subtype": "error", "request_id": id, "error": "callback crashed"}}));
}

fn decision(event: &str, fields: &Value) -> Value {
    let mut own = fields.clone();
    own["hookEventName"] = json!(event);
    json!({"hookSpecificOutput": own})
}

fn end(mut running: RunningGimlet) -> (Value, Vec<Value>) {
    let result = running.wait_for("result");
    running.close_stdin();
    (result, running.finish().lines())
}

/// One call of `touch made`, with the host's `output` to its PreToolUse callback: whether it ran, and the model's
/// second request.
fn one_call(output: &Value, more: &[&str]) -> (bool, testkit::CapturedRequest) {
    let server = ModelServer::script([bash("touch made"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = start(&sandbox, &on("PreToolUse", &["h0"]), more);
    let question = running.wait_for("control_request");
    answer(&mut running, &question, output);
    end(running);
    (sandbox.project().join("made").exists(), server.request(1))
}

// [SDK-113] [SDK-118] [EXT-117] Callbacks of one event run at once, with all data that a command hook gets; unknown
// names are ignored.
#[test]
fn callbacks_of_an_event_run_together() {
    let server = ModelServer::script([bash("touch made"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config(
        "settings.json",
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "cat > seen.json"}]}]}}).to_string(),
    );
    let mut hooks = json!({"PreToolUse": [
        {"matcher": "Bash", "hookCallbackIds": ["a", "b"]}, {"matcher": "Edit", "hookCallbackIds": ["c"]},
        {"hookCallbackIds": ["b"]}], "NoSuchEvent": [{"hookCallbackIds": ["x"]}]});
    for event in ["PostCompact", "PostModelSwitch", "TaskCreated", "MessageDisplay", "Elicitation", "DirectoryAdded"] {
        hooks[event] = json!([{"matcher": null, "hookCallbackIds": ["x"]}]);
    }
    let mut running = start(&sandbox, &hooks, &["--allowedTools", "Bash"]);
    let first = running.wait_for("control_request");
    let second = running.wait_for("control_request");
    let ids = [&first, &second].map(|q| q["request"]["callback_id"].as_str().unwrap().to_owned());
    assert!(ids.contains(&"a".to_owned()) && ids.contains(&"b".to_owned()), "each once: {ids:?}");
    let request = &first["request"];
    assert_eq!(request["subtype"], "hook_callback");
    assert_eq!(request["tool_use_id"], request["input"]["tool_use_id"]);
    assert!(!sandbox.project().join("made").exists());
    answer(&mut running, &second, &json!({}));
    answer(&mut running, &first, &json!({}));
    // Without a screen a message is reported once, when it is complete. [EXT-113]
    let display = running.wait_for("control_request");
    assert_eq!(display["request"]["input"]["hook_event_name"], "MessageDisplay");
    assert_eq!(display["request"]["input"]["final"], true);
    answer(&mut running, &display, &json!({}));
    end(running);
    assert!(sandbox.project().join("made").exists());
    let seen: Value = serde_json::from_str(&sandbox.read("seen.json")).unwrap();
    assert_eq!(request["input"], seen, "the same object that commands get");
    for key in ["session_id", "transcript_path", "cwd", "permission_mode", "prompt_id", "hook_event_name"] {
        assert!(seen[key].is_string(), "{key}");
    }
}

// [SDK-115] What a callback decides is what a command would decide.
#[test]
fn callbacks_decide_like_commands() {
    let say = |fields: Value| decision("PreToolUse", &fields);
    assert!(one_call(&say(json!({"permissionDecision": "allow"})), &[]).0, "leave replaces the question");
    let (ran, request) = one_call(
        &say(json!({"permissionDecision": "deny", "permissionDecisionReason": "not on my watch"})),
        &["--allowedTools", "Bash"],
    );
    assert!(!ran && request.tool_results()[0]["content"].as_str().unwrap().contains("not on my watch"));
    assert!(
        !one_call(&say(json!({"permissionDecision": "ask"})), &["--allowedTools", "Bash"]).0,
        "nobody can be asked"
    );
    assert!(!one_call(&say(json!({"permissionDecision": "allow"})), &["--disallowedTools", "Bash(touch *)"]).0);
    let (ran, request) = one_call(
        &say(
            json!({"permissionDecision": "allow", "updatedInput": {"command": "echo other"}, "additionalContext": "mind the gap"}),
        ),
        &[],
    );
    assert!(!ran && request.tool_results()[0]["content"].as_str().unwrap().contains("other"));
    assert!(request.all_text().contains("mind the gap"));
    assert!(!one_call(&json!({"decision": "block", "reason": "legacy"}), &["--allowedTools", "Bash"]).0);
    // An output for another event is ignored.
    assert!(one_call(&decision("Stop", &json!({"permissionDecision": "deny"})), &["--allowedTools", "Bash"]).0);
}

// [SDK-117] An async answer of the host does not delay the call.
#[test]
fn an_async_answer_delays_nothing() {
    assert!(one_call(&json!({"async": true, "asyncTimeout": 60_000}), &["--allowedTools", "Bash"]).0);
}

/// PreToolUse callbacks of a host that never answers, or fails.
fn broken(group: &Value, silent: bool) -> (bool, Vec<Value>) {
    let server = ModelServer::script([bash("touch made"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut group = group.clone();
    group["hookCallbackIds"] = json!(["h0"]);
    let mut running = start(&sandbox, &json!({"PreToolUse": [group]}), &["--allowedTools", "Bash"]);
    let question = running.wait_for("control_request");
    if !silent {
        fail(&mut running, &question);
    }
    let (_, lines) = end(running);
    let cancelled =
        lines.iter().any(|l| l["type"] == "control_cancel_request" && l["request_id"] == question["request_id"]);
    assert_eq!(cancelled, silent, "a question that is given up is withdrawn");
    let text = |line: &Value| line.to_string().contains("timed out after 0.2 s");
    assert!(!silent || lines.iter().any(text), "the timeout is named");
    (sandbox.project().join("made").exists(), lines)
}

// [SDK-114] [EXT-48] No answer blocks a call unless the host chose otherwise; an error does not, unless it chose so.
#[test]
fn failures_follow_what_the_host_said() {
    assert!(!broken(&json!({"timeout": 0.2}), true).0);
    assert!(!broken(&json!({"timeout": 0.2, "onFailure": "block"}), true).0);
    let (ran, lines) = broken(&json!({"timeout": 0.2, "onFailure": "continue"}), true);
    assert!(ran && !of_kind(&lines, "system/informational").is_empty());
    let (ran, lines) = broken(&json!({}), false);
    assert!(
        ran && of_kind(&lines, "system/informational")[0]["content"].as_str().unwrap().contains("callback crashed")
    );
    assert!(!broken(&json!({"onFailure": "block"}), false).0);
}

// [EXT-48] [SDK-121] [SDK-114] No answer refuses a prompt; it does not keep a turn from stopping.
#[test]
fn silence_refuses_prompts_and_never_holds_an_end() {
    let server = ModelServer::script([ScriptedReply::text("answer")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let group = json!([{"hookCallbackIds": ["h0"], "timeout": 0.2}]);
    let running = start(&sandbox, &json!({"UserPromptSubmit": group}), &[]);
    let (result, _) = end(running);
    assert_eq!(result["terminal_reason"], "hook_stopped");
    assert!(server.requests().is_empty());

    let group = json!([{"hookCallbackIds": ["h0"], "timeout": 0.2, "onFailure": "block"}]);
    let mut running = start(&sandbox, &json!({"Stop": group}), &[]);
    let question = running.wait_for("control_request");
    let input = &question["request"]["input"];
    assert_eq!((&input["last_assistant_message"], &input["stop_hook_active"]), (&json!("answer"), &json!(false)));
    let (result, lines) = end(running);
    assert_eq!(result["result"], "answer");
    assert!(!of_kind(&lines, "system/informational").is_empty());
}

// [SDK-116] [SDK-119] The result object reaches PostToolUse, and `continue: false` ends the turn with a result.
#[test]
fn a_callback_can_end_the_turn_after_an_edit() {
    let server = ModelServer::script([ScriptedReply::tool("Write", json!({"file_path": "a.txt", "content": "x"}))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = start(&sandbox, &on("PostToolUse", &["h0"]), &["--permission-mode", "acceptEdits"]);
    let question = running.wait_for("control_request");
    let response = &question["request"]["input"]["tool_response"];
    assert!(response["filePath"].as_str().unwrap().ends_with("a.txt") && response["structuredPatch"].is_array());
    answer(&mut running, &question, &json!({"continue": false, "stopReason": "enough"}));
    let (result, lines) = end(running);
    assert_eq!((&result["subtype"], &result["terminal_reason"]), (&json!("success"), &json!("hook_stopped")));
    assert!(of_kind(&lines, "system/informational").iter().any(|l| l["content"] == "enough"));
}

// [SDK-113] Callbacks are asked for the calls of agents too, with the agent's id.
#[test]
fn callbacks_reach_into_agents() {
    let server = ModelServer::script([
        ScriptedReply::tool("Agent", json!({"description": "d", "prompt": "p", "run_in_background": false})),
        bash("touch made"),
        ScriptedReply::text("report"),
        ScriptedReply::text("end"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h0"]}]});
    let mut running = start(&sandbox, &hooks, &["--allowedTools", "Bash"]);
    let question = running.wait_for("control_request");
    let input = &question["request"]["input"];
    assert!(input["agent_id"].is_string() && input["agent_type"] == "general-purpose", "{input}");
    answer(&mut running, &question, &decision("PreToolUse", &json!({"permissionDecision": "deny"})));
    end(running);
    assert!(!sandbox.project().join("made").exists());
}

// [SDK-113] Two calls that may run together have their callbacks asked together.
#[test]
fn callbacks_of_parallel_calls_are_asked_together() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool_with_id("t1", "Read", &json!({"file_path": "a.txt"})),
            ScriptedBlock::tool_with_id("t2", "Read", &json!({"file_path": "b.txt"})),
        ]),
        ScriptedReply::text("end"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "alpha");
    sandbox.write("b.txt", "beta");
    let mut running = start(&sandbox, &on("PreToolUse", &["h0"]), &[]);
    let first = running.wait_for("control_request");
    let second = running.wait_for("control_request");
    answer(&mut running, &second, &json!({}));
    answer(&mut running, &first, &decision("PreToolUse", &json!({"permissionDecision": "deny"})));
    end(running);
    let denied = first["request"]["tool_use_id"].as_str().unwrap();
    let request = server.request(1);
    for id in ["t1", "t2"] {
        assert_eq!(request.tool_result_text(id).contains("denied"), id == denied, "{id}");
    }
}

// [SDK-113] A repeated `initialize` replaces the callbacks; calls that wait for an old one are told to try again.
#[test]
fn registering_again_replaces_what_was_there() {
    let server = ModelServer::script([bash("touch one"), bash("touch two"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = start(&sandbox, &on("PreToolUse", &["old"]), &["--allowedTools", "Bash"]);
    let question = running.wait_for("control_request");
    assert_eq!(question["request"]["callback_id"], "old");
    initialize(&mut running, "i2", &on("PreToolUse", &["new"]));
    let question = running.wait_for("control_request");
    assert_eq!(question["request"]["callback_id"], "new");
    answer(&mut running, &question, &json!({}));
    end(running);
    assert!(!sandbox.project().join("one").exists() && sandbox.project().join("two").exists());
    assert!(server.request(1).tool_results()[0]["content"].as_str().unwrap().contains("Try again"));
}
