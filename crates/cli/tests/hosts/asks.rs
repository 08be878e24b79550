//! Questions to a host: `can_use_tool` from the first request to the settings file, over the real protocol.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{ASK, EXE, answer, asked, host, last_result};
use serde_json::{Value, json};
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command}))
}

fn local(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.project().join(".claude/settings.local.json"));
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

#[test]
fn a_call_that_needs_leave_is_asked_about_and_runs_when_allowed() {
    // [CLI-175] [SDK-96] [SDK-98] [SDK-99] [SDK-157]
    let server = ModelServer::script([bash("ls"), bash("touch made"), ScriptedReply::text("done")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    let mut running = asked(&sandbox, &[]);
    let question = running.wait_for("control_request");
    let request = &question["request"];
    assert_eq!(request["subtype"], "can_use_tool");
    assert_eq!((&request["tool_name"], &request["input"]), (&json!("Bash"), &json!({"command": "touch made"})));
    assert!(request["tool_use_id"].as_str().unwrap().starts_with("toolu"), "{request}");
    let suggested = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
                            "behavior": "allow", "destination": "localSettings"}]);
    assert_eq!(request["permission_suggestions"], suggested);
    assert!(!sandbox.project().join("made").exists(), "nothing runs before the answer");
    answer(&mut running, &question, &json!({"behavior": "allow"}));
    let result = running.wait_for("result");
    assert_eq!(result["permission_denials"], json!([]));
    running.close_stdin();
    let run = running.finish().expect_clean();
    let lines = run.lines();
    let states: Vec<_> =
        lines.iter().filter(|l| l["subtype"] == "session_state_changed").map(|l| &l["state"]).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"]);
    let place = |kind: &str| lines.iter().rposition(|l| l["type"] == kind).unwrap();
    let tool_use = lines.iter().rposition(|l| l["message"]["content"][0]["type"] == "tool_use").unwrap();
    assert!(tool_use < place("control_request"), "the question comes behind the call it is about");
    assert!(sandbox.project().join("made").exists());
    assert_eq!(local(&sandbox), Value::Null, "a plain yes saves nothing");
}

#[test]
fn the_host_may_change_the_input_but_not_past_a_deny_rule() {
    // [SDK-100] [CLI-176] SC-E04
    let server = ModelServer::script([bash("touch a"), bash("touch b"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--disallowedTools", "Bash(rm *)"]);
    let first = running.wait_for("control_request");
    answer(&mut running, &first, &json!({"behavior": "allow", "updatedInput": {"command": "touch changed"}}));
    let second = running.wait_for("control_request");
    answer(&mut running, &second, &json!({"behavior": "allow", "updatedInput": {"command": "rm changed"}}));
    let result = running.wait_for("result");
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1);
    assert!(sandbox.project().join("changed").exists() && !sandbox.project().join("a").exists());
    assert!(last_result(&server)["content"].as_str().unwrap().contains("Bash(rm *)"), "{}", last_result(&server));
}

#[test]
fn a_refusal_reaches_the_model_and_may_end_the_turn() {
    // [SDK-102] [SDK-103]
    let server = ModelServer::script([bash("touch a"), bash("touch b"), bash("touch c")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &[]);
    let first = running.wait_for("control_request");
    answer(&mut running, &first, &json!({"behavior": "deny", "message": "use another name"}));
    let second = running.wait_for("control_request");
    assert_eq!(last_result(&server)["content"], "use another name");
    assert_eq!(last_result(&server)["is_error"], true);
    let id = &second["request_id"];
    running.send_json(
        &json!({"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": "dialog crashed"}}),
    );
    let third = running.wait_for("control_request");
    assert!(last_result(&server)["content"].as_str().unwrap().contains("dialog crashed"));
    answer(&mut running, &third, &json!({"behavior": "deny", "message": "stop", "interrupt": true}));
    let result = running.wait_for("result");
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_tools"))
    );
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 3);
    assert_eq!(server.requests().len(), 3, "no further request after the stop");
    assert_eq!(std::fs::read_dir(sandbox.project()).unwrap().count(), 0);
}

#[test]
fn granted_rules_hold_at_once_and_are_saved_where_the_host_says() {
    // [SDK-101] [CLI-175] [CLI-179] [CLI-181] SC-E13
    let server = ModelServer::script([
        bash("touch a"),
        bash("touch b"),
        bash("mkdir c"),
        bash("mkdir d"),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &[]);
    let first = running.wait_for("control_request");
    let updates = &first["request"]["permission_suggestions"];
    answer(&mut running, &first, &json!({"behavior": "allow", "updatedPermissions": updates}));
    let second = running.wait_for("control_request");
    assert_eq!(second["request"]["input"]["command"], "mkdir c", "touch is not asked about again");
    let session =
        json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "mkdir *"}], "behavior": "allow"}]);
    answer(&mut running, &second, &json!({"behavior": "allow", "updatedPermissions": session}));
    assert_eq!(running.wait_for("result")["permission_denials"], json!([]));
    assert_eq!(
        local(&sandbox),
        json!({"permissions": {"allow": ["Bash(touch *)"]}}),
        "the session's rule is not saved"
    );
    // The next session needs no question for it.
    let server = ModelServer::script([bash("touch e"), bash("mkdir f"), ScriptedReply::text("done")]);
    let mut run = sandbox.gimlet(&["-p", "go", "--output-format", "json", "--trust-workspace"]);
    run = run.env("ANTHROPIC_BASE_URL", server.url());
    let denials = run.run().expect_clean().json()["permission_denials"].clone();
    assert_eq!(denials.as_array().unwrap().len(), 1, "{denials}");
    assert!(sandbox.project().join("e").exists());
}

#[test]
fn every_kind_of_update_and_destination() {
    // [CLI-180] [CLI-182] SC-E13
    let server = ModelServer::script([
        bash("touch a"),
        ScriptedReply::tool("Read", json!({"file_path": "../beside/x"})),
        ScriptedReply::tool("Write", json!({"file_path": "w", "content": "w"})),
        bash("touch b"),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let beside = sandbox.root().join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("x"), "outside\n").unwrap();
    sandbox.write(".claude/settings.json", r#"{"permissions": {"ask": ["WebSearch", "Bash(x *)"]}}"#);
    let mut running = asked(&sandbox, &["--trust-workspace"]);
    let first = running.wait_for("control_request");
    let rule = |text: &str| json!([{"toolName": "Bash", "ruleContent": text}]);
    answer(
        &mut running,
        &first,
        &json!({"behavior": "allow", "updatedPermissions": [
            {"type": "addRules", "rules": rule("cargo *"), "behavior": "allow", "destination": "userSettings"},
            {"type": "addRules", "rules": rule("deploy --token ghp_0123456789abcdefghijABCDEFGHIJ012345"), "behavior": "allow", "destination": "localSettings"},
            {"type": "addRules", "rules": rule("y *"), "behavior": "deny", "destination": "projectSettings"},
            {"type": "removeRules", "rules": rule("x *"), "behavior": "ask", "destination": "projectSettings"},
            {"type": "replaceRules", "rules": rule("z"), "behavior": "ask", "destination": "localSettings"},
            {"type": "addDirectories", "directories": [beside.to_str().unwrap()], "destination": "session"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addRules", "rules": rule("q"), "behavior": "allow", "destination": "policySettings"},
            {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
            {"type": "novel"},
        ]}),
    );
    // Neither the directory beside nor the file in the project is asked about; a shell command beyond files is.
    let result = running.wait_for("result");
    assert_eq!(result["permission_denials"], json!([]), "{result}");
    assert_eq!(sandbox.read("w"), "w");
    running.close_stdin();
    let run = running.finish().expect_clean();
    assert_eq!(run.lines().iter().filter(|l| l["type"] == "control_request").count(), 1);
    let status = run.lines().into_iter().find(|l| l["subtype"] == "status").unwrap();
    assert_eq!(status["permissionMode"], "acceptEdits");
    let user: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.config_dir().join("settings.json")).unwrap()).unwrap();
    assert_eq!(user, json!({"permissions": {"allow": ["Bash(cargo *)"]}}));
    let project: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
    assert_eq!(project, json!({"permissions": {"ask": ["WebSearch"], "deny": ["Bash(y *)"]}}));
    assert_eq!(local(&sandbox)["permissions"]["ask"], json!(["Bash(z)"]));
    assert!(!local(&sandbox).to_string().contains("ghp_"), "no credential is saved: {}", local(&sandbox));
}

#[test]
fn questions_of_parallel_calls_are_answered_in_any_order() {
    // [SDK-104]
    let read = |id: &str, path: &str| ScriptedBlock::tool_with_id(id, "Read", &json!({"file_path": path}));
    let server = ModelServer::script([
        ScriptedReply::message(vec![read("toolu_1", "../one"), read("toolu_2", "../two")]),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    std::fs::write(sandbox.root().join("one"), "first\n").unwrap();
    std::fs::write(sandbox.root().join("two"), "second\n").unwrap();
    let mut running = asked(&sandbox, &[]);
    let (one, two) = (running.wait_for("control_request"), running.wait_for("control_request"));
    assert_eq!(
        (&one["request"]["tool_use_id"], &two["request"]["tool_use_id"]),
        (&json!("toolu_1"), &json!("toolu_2"))
    );
    assert_eq!(one["request"]["blocked_path"], json!(sandbox.root().join("one")));
    answer(&mut running, &two, &json!({"behavior": "allow"}));
    // Doubled and made-up answers change nothing.
    answer(&mut running, &two, &json!({"behavior": "deny", "message": "late"}));
    answer(&mut running, &json!({"request_id": "nobody"}), &json!({"behavior": "allow"}));
    answer(&mut running, &one, &json!({"behavior": "deny", "message": "not this one"}));
    running.wait_for("result");
    let results = server.request(1).tool_results();
    assert_eq!(results[0]["content"], "not this one");
    assert!(results[1]["content"].as_str().unwrap().contains("second"), "{results:?}");
}

#[test]
fn the_end_of_input_refuses_and_an_interrupt_withdraws() {
    // [SDK-103] [SDK-105]
    let server = ModelServer::script([bash("touch a"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &[]);
    running.wait_for("control_request");
    running.close_stdin();
    let run = running.finish().expect_clean();
    assert_eq!(run.result()["permission_denials"].as_array().unwrap().len(), 1);
    assert!(last_result(&server)["content"].as_str().unwrap().contains("closed"));

    let server = ModelServer::script([bash("touch a")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &[]);
    let question = running.wait_for("control_request");
    running.interrupt();
    let withdrawn = running.wait_for("control_cancel_request");
    assert_eq!(withdrawn["request_id"], question["request_id"]);
    answer(&mut running, &question, &json!({"behavior": "allow"}));
    let result = running.wait_for("result");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert!(!sandbox.project().join("a").exists(), "a late yes runs nothing");
}

#[test]
fn a_host_sees_where_a_link_leads_and_hidden_characters() {
    // SC-C07 SC-E20 [CLI-190]
    let command = "touch a\u{202e}b\t\tc";
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "notes.md", "content": "x"})),
        bash(command),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let target = sandbox.home().join(".bashrc");
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, sandbox.project().join("notes.md")).unwrap();
    let mut running = asked(&sandbox, &["--permission-mode", "acceptEdits"]);
    let link = running.wait_for("control_request");
    let shown = link["request"]["description"].as_str().unwrap();
    assert!(shown.contains("notes.md") && shown.contains(target.to_str().unwrap()), "{shown}");
    assert_eq!(link["request"]["blocked_path"], json!(target));
    assert_eq!(link["request"]["decision_reason_type"], "safetyCheck");
    answer(&mut running, &link, &json!({"behavior": "deny", "message": "no"}));
    let hidden = running.wait_for("control_request");
    assert_eq!(hidden["request"]["description"], "touch a\\u{202e}b\\t\\tc");
    assert_eq!(hidden["request"]["input"]["command"], command, "the input itself is not touched");
    answer(&mut running, &hidden, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
}

#[test]
fn a_link_swapped_while_the_question_is_open_is_asked_about_again() {
    // SC-C06
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "f", "content": "new"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let secret = sandbox.home().join("precious");
    std::fs::write(&secret, "keep").unwrap();
    let mut running = asked(&sandbox, &[]);
    let first = running.wait_for("control_request");
    std::os::unix::fs::symlink(&secret, sandbox.project().join("f")).unwrap();
    answer(&mut running, &first, &json!({"behavior": "allow"}));
    let second = running.wait_for("control_request");
    assert_eq!(second["request"]["blocked_path"], json!(secret));
    answer(&mut running, &second, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "keep");
}

#[test]
fn a_host_may_switch_modes_within_what_the_launch_allows() {
    // [SDK-76] [SDK-77] [CLI-171]
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "w", "content": "w"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = host(&sandbox, &ASK).spawn();
    let choose = |running: &mut RunningGimlet, mode: &str| {
        running.send_json(&json!({"type": "control_request", "request_id": mode, "request": {"subtype": "set_permission_mode", "mode": mode}}));
        running.wait_for("control_response")["response"].clone()
    };
    for refused in ["bypassPermissions", "auto", "yolo"] {
        assert_eq!(choose(&mut running, refused)["subtype"], "error", "{refused}");
    }
    assert_eq!(choose(&mut running, "acceptEdits")["response"]["mode"], "acceptEdits");
    running.send_user("go");
    assert_eq!(running.wait_for("system")["permissionMode"], "acceptEdits");
    running.wait_for("result");
    assert_eq!(sandbox.read("w"), "w");

    let server = ModelServer::script([bash("touch a"), bash("touch b"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#);
    let args = [&ASK[..], &["--allow-dangerously-skip-permissions"]].concat();
    let mut running = host(&sandbox, &args).env("IS_SANDBOX", "1").spawn();
    assert_eq!(choose(&mut running, "bypassPermissions")["subtype"], "error");
    running.send_user("go");
    let question = running.wait_for("control_request");
    let bypass = json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]);
    answer(&mut running, &question, &json!({"behavior": "allow", "updatedPermissions": bypass}));
    let again = running.wait_for("control_request");
    assert_eq!(again["request"]["input"]["command"], "touch b", "the mode did not change");
}

#[test]
fn a_prompt_tool_that_does_not_exist_fails_the_run() {
    // [CLI-177]
    let server = ModelServer::script([bash("touch a"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&["-p", "go", "--permission-prompt-tool", "mcp__s__t"]).run().expect_code(1);
    assert!(
        run.stderr.contains("MCP tool mcp__s__t (passed via --permission-prompt-tool) not found"),
        "{}",
        run.stderr
    );
    assert!(!sandbox.project().join("a").exists());
}

#[test]
fn the_reason_of_a_hook_reaches_the_host() {
    // [SDK-107]
    let server = ModelServer::script([bash("ls"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let said = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "look first",
    }});
    let hook = json!({"type": "command", "command": format!("echo '{said}'")});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    sandbox.write_config("settings.json", settings.to_string());
    let mut running = asked(&sandbox, &[]);
    let question = running.wait_for("control_request");
    assert!(question["request"]["decision_reason"].as_str().unwrap().contains("look first"), "{question}");
    answer(&mut running, &question, &json!({"behavior": "allow"}));
    assert_eq!(running.wait_for("result")["permission_denials"], json!([]));
}

#[test]
fn an_answer_that_repeats_the_input_in_another_spelling_changes_nothing() {
    // [F-B2] [SDK-100]
    let input = r#"{"file_path":"note.txt", "content":"caf\u00e9\n"}"#;
    let call = ScriptedBlock::Tool { id: None, name: "Write".into(), input: input.into() };
    let server = ModelServer::script([ScriptedReply::message(vec![call]), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &[]);
    let question = running.wait_for("control_request");
    let id = &question["request_id"];
    // Another order of keys, another spelling of the letter.
    running.send(&format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{id},"response":{{"behavior":"allow","updatedInput":{{"content":"café\n","file_path":"note.txt"}}}}}}}}"#
    ));
    running.wait_for("result");
    assert_eq!(sandbox.read("note.txt"), "café\n");
    let told = last_result(&server).to_string();
    assert!(!told.contains("changed your proposal"), "{told}");
}
