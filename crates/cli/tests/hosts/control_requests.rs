//! Rare requests of hosts: calls of a server's tools, file suggestions, roots, aliases of tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value, reason = "test code")]

use crate::common::mcp::{config, scene};
use crate::common::{EXE, host};
use serde_json::{Value, json};
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedReply};

fn ask(running: &mut RunningGimlet, request: Value) -> Value {
    running.send_json(&json!({"type": "control_request", "request_id": "c", "request": request}));
    running.wait_for("control_response")["response"].clone()
}

fn end(mut running: RunningGimlet) {
    running.close_stdin();
    running.finish().expect_clean();
}

// [SDK-95] A host calls a server's tool itself; rules apply to it, and a cancelled call is cancelled.
#[test]
fn a_host_calls_a_tool_of_a_server() {
    let (_model, sandbox) = scene([]);
    let log = sandbox.root().join("server.log");
    let option = format!("log={}", log.display());
    let flags =
        ["--mcp-config", &config(&[&option]), "--disallowedTools", "mcp__fix__add", "--allowedTools", "mcp__fix__echo"];
    let mut running = host(&sandbox, &flags).spawn();
    assert_eq!(ask(&mut running, json!({"subtype": "initialize"}))["subtype"], "success");
    let call = |tool: &str, arguments: Value| json!({"subtype": "mcp_call", "tool": tool, "arguments": arguments});
    let done = ask(&mut running, call("mcp__fix__echo", json!({"text": "hi"})));
    assert_eq!(done["response"]["content"][0]["text"], "hi", "{done}");
    let failed = ask(&mut running, call("mcp__fix__fail", json!({})));
    assert_eq!((&failed["subtype"], &failed["response"]["isError"]), (&json!("success"), &json!(true)), "{failed}");
    let denied = ask(&mut running, call("mcp__fix__add", json!({"a": 1, "b": 2})));
    assert_eq!(denied["subtype"], "error", "{denied}");
    let mut checked = call("mcp__fix__fail", json!({}));
    checked["check_permissions"] = json!(true);
    assert_eq!(ask(&mut running, checked)["subtype"], "error");
    let mut allowed = call("mcp__fix__echo", json!({"text": "yes"}));
    allowed["check_permissions"] = json!(true);
    assert_eq!(ask(&mut running, allowed)["response"]["content"][0]["text"], "yes");
    assert_eq!(ask(&mut running, call("mcp__fix__nope", json!({})))["subtype"], "error");
    let mut short = call("mcp__fix__sleep", json!({"seconds": 0.6}));
    short["timeout_ms"] = json!(100);
    let late = ask(&mut running, short);
    assert!(late["error"].as_str().unwrap().contains("did not answer within 100 ms"), "{late}");
    end(running);
}

#[test]
fn files_are_suggested_and_hidden_ones_are_not() {
    let sandbox = Sandbox::with_server(EXE, &ModelServer::script([]));
    for path in ["src/main.rs", "src/domain.rs", "secret/main.key"] {
        sandbox.write(path, "x");
    }
    let mut running = host(&sandbox, &["--disallowedTools", "Read(./secret/**)"]).spawn();
    assert_eq!(ask(&mut running, json!({"subtype": "initialize"}))["subtype"], "success");
    let found = ask(&mut running, json!({"subtype": "file_suggestions", "query": "main"}));
    let expected =
        json!([{"path": "src/main.rs", "isDirectory": false}, {"path": "src/domain.rs", "isDirectory": false}]);
    assert_eq!(found["response"]["suggestions"], expected, "{found}");
    end(running);
}

// [EXT-109] A root below the session's directories is reported to hooks; a directory outside cannot become one.
#[test]
fn a_repository_root_is_registered() {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("vendor/lib/a.txt", "x");
    let hook = json!([{"hooks": [{"type": "command", "command": "cat > added.json"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"DirectoryAdded": hook}}).to_string());
    let mut running = host(&sandbox, &[]).spawn();
    for refused in ["..", ".", "missing", "/"] {
        let said = ask(&mut running, json!({"subtype": "register_repo_root", "directory": refused}));
        assert_eq!(said["subtype"], "error", "{refused}: {said}");
    }
    let said = ask(&mut running, json!({"subtype": "register_repo_root", "directory": "vendor/lib"}));
    assert_eq!(said["subtype"], "success", "{said}");
    running.send_user("go");
    running.wait_for("result");
    end(running);
    let told: Value = serde_json::from_str(&sandbox.read("added.json")).unwrap();
    assert_eq!(told["source"], "register_repo_root");
    assert_eq!(told["directory"], json!(sandbox.project().join("vendor/lib")));
}

// [SDK-55] An alias changes the name, not the tool or its rules.
#[test]
fn another_name_for_a_tool_leads_to_it_once() {
    for (denied, expected) in [(false, "ran"), (true, "")] {
        let server = ModelServer::script([
            ScriptedReply::tool("launcher", json!({"command": "echo ran"})),
            ScriptedReply::tool("twice", json!({"command": "echo ran"})),
            ScriptedReply::text("done"),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let flags = if denied { ["--disallowedTools", "Bash(echo:*)"] } else { ["--allowedTools", "Bash"] };
        let mut running = host(&sandbox, &flags).spawn();
        let aliases = json!({"launcher": "Bash", "twice": "launcher"});
        ask(&mut running, json!({"subtype": "initialize", "toolAliases": aliases}));
        running.send_user("go");
        running.wait_for("result");
        let results = server.request(2).tool_results();
        assert_eq!(results[0]["is_error"] == true, denied, "{results:?}");
        assert!(results[0]["content"].as_str().unwrap().contains(expected), "{results:?}");
        assert!(results[1]["content"].as_str().unwrap().contains("No such tool available: launcher"), "{results:?}");
        assert_eq!(server.request(1).tool_uses()[0]["name"], "launcher");
        end(running);
    }
}

// [SDK-56]
#[test]
fn a_host_says_how_plans_are_made() {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = host(&sandbox, &["--permission-mode", "plan"]).spawn();
    ask(&mut running, json!({"subtype": "initialize", "planModeInstructions": "Plan in rhymes."}));
    running.send_user("go");
    running.wait_for("result");
    let sent = server.request(0).all_text();
    assert!(sent.contains("Plan in rhymes.") && !sent.contains("How to plan:"), "{sent}");
    end(running);
}

// [SDK-78] [EXT-114] A hook can refuse the host's model as it can a typed one.
#[test]
fn a_hook_may_refuse_the_hosts_model() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook = json!([{"matcher": "claude-opus.*", "hooks": [{"type": "command",
        "command": "cat > switch.json; echo too dear >&2; exit 2"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"PreModelSwitch": hook}}).to_string());
    let mut running = host(&sandbox, &["--model", "claude-sonnet-4-5"]).spawn();
    assert_eq!(ask(&mut running, json!({"subtype": "set_model", "model": "claude-opus-4-5"}))["subtype"], "success");
    running.send_user("go");
    running.wait_for("result");
    assert_eq!(server.request(0).model(), "claude-sonnet-4-5");
    let told: Value = serde_json::from_str(&sandbox.read("switch.json")).unwrap();
    assert_eq!((&told["source"], &told["to_model"]), (&json!("sdk"), &json!("claude-opus-4-5")));
    ask(&mut running, json!({"subtype": "set_model", "model": "claude-haiku-4-5"}));
    running.send_user("again");
    running.wait_for("result");
    assert_eq!(server.request(1).model(), "claude-haiku-4-5");
    end(running);
}
