//! MCP servers through the real binary: a stdio fixture that answers, fails, hangs, floods, changes or will not exit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value, reason = "test code")]

use crate::common::death::{assert_nobody_left, is_live};
use crate::common::mcp::{config, scene, server};
use crate::common::{host, of_kind, print, stream};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{RunningGimlet, ScriptedReply};

/// One call of a tool, then the end; returns the result that the model got.
fn call(tool: &str, input: Value, more: &[&str]) -> (Value, Vec<Value>) {
    let (model, sandbox) =
        scene([ScriptedReply::tool(&format!("mcp__fix__{tool}"), input), ScriptedReply::text("done")]);
    let config = config(&[]);
    let flags: Vec<&str> =
        ["--mcp-config", &config, "--allowedTools", "mcp__fix"].iter().chain(more).copied().collect();
    let lines = stream(&sandbox, "go", &flags);
    (model.request(1).tool_results()[0].clone(), lines)
}

// [TST-204] [TST-209] [CLI-36]
#[test]
fn a_server_is_connected_before_the_first_request_and_its_tools_are_called() {
    let (model, sandbox) =
        scene([ScriptedReply::tool("mcp__fix__add", json!({"a": 2, "b": 40})), ScriptedReply::text("done")]);
    let lines = stream(&sandbox, "go", &["--mcp-config", &config(&["many=20"]), "--allowedTools", "mcp__fix__*"]);
    let init = of_kind(&lines, "system/init")[0];
    assert_eq!(init["mcp_servers"], json!([{"name": "fix", "status": "connected", "source": "dynamic"}]));
    let names = model.request(0).tool_names();
    assert!(
        names.contains(&"mcp__fix__add".to_owned()) && names.contains(&"mcp__fix__extra_19".to_owned()),
        "{names:?}"
    );
    assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__fix__echo")));
    assert!(model.request(0).all_text().contains("Use echo for echoes."));
    let result = &model.request(1).tool_results()[0];
    assert_eq!(result["content"], "42");
    let told = of_kind(&lines, "user")[0];
    assert_eq!(told["tool_use_result"], "42");
    assert_eq!(model.request(0).json["tools"], model.request(1).json["tools"]);
}

#[test]
fn results_of_every_kind_reach_the_model() {
    let (failed, lines) = call("fail", json!({}), &[]);
    assert_eq!((failed["content"].as_str(), failed["is_error"].as_bool()), (Some("it went wrong"), Some(true)));
    assert_eq!(of_kind(&lines, "user")[0]["tool_use_result"], "Error: it went wrong");
    let (picture, _) = call("picture", json!({}), &[]);
    assert_eq!(picture["content"][0]["source"]["media_type"], "image/png");
    let (data, lines) = call("structured", json!({}), &[]);
    assert_eq!(data["content"], r#"{"answer":42}"#);
    assert_eq!(of_kind(&lines, "user")[0]["tool_use_result"]["structuredContent"], json!({"answer": 42}));
}

// [TST-216] [SDK-126]
#[test]
fn large_results_are_saved_unless_the_tool_may_say_much() {
    let (big, _) = call("big", json!({"chars": 120_000}), &[]);
    let shown = big["content"].as_str().unwrap();
    assert!(shown.starts_with("<persisted-output>") && shown.len() < 4000, "{shown}");
    let path = shown.split("Full output saved to: ").nth(1).unwrap().lines().next().unwrap();
    assert!(path.contains("tool-results"), "{path}");
    let (roomy, _) = call("roomy", json!({"chars": 120_000}), &[]);
    assert_eq!(roomy["content"].as_str().unwrap().len(), 120_000);
}

// [CLI-160] A rule that denies the server removes its tools; a call without permission is denied.
#[test]
fn rules_speak_of_servers() {
    let (model, sandbox) = scene([ScriptedReply::text("done")]);
    stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--disallowedTools", "mcp__fix"]);
    assert!(!model.request(0).tool_names().iter().any(|name| name.starts_with("mcp__")));
    let (model, sandbox) =
        scene([ScriptedReply::tool("mcp__fix__echo", json!({"text": "x"})), ScriptedReply::text("done")]);
    let lines = stream(&sandbox, "go", &["--mcp-config", &config(&[])]);
    let result = &model.request(1).tool_results()[0];
    assert!(result["is_error"] == true && result["content"].as_str().unwrap().contains("granted"), "{result}");
    assert_eq!(of_kind(&lines, "result")[0]["permission_denials"][0]["tool_name"], "mcp__fix__echo");
}

// [TST-218] [EXT-78] A tool that requires a person is asked about in every mode.
#[test]
fn a_tool_may_insist_on_a_person() {
    let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__insist", json!({})), ScriptedReply::text("done")]);
    stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix"]);
    assert_eq!(model.request(1).tool_results()[0]["is_error"], true);
}

#[test]
fn a_server_that_crashes_says_how_and_the_session_goes_on() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__crash", json!({})),
        ScriptedReply::tool("mcp__fix__echo", json!({"text": "x"})),
        ScriptedReply::text("done"),
    ]);
    stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix"]);
    let crashed = model.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(crashed.contains("closed the connection"), "{crashed}");
    let later = model.request(2).tool_results()[1].clone();
    assert_eq!(later["is_error"], true, "{later}");
}

// [TST-208] [TST-211]
#[test]
fn a_server_that_hangs_at_start_fails_within_its_limit() {
    let (model, sandbox) = scene([ScriptedReply::text("done")]);
    let both = json!({"mcpServers": {"fix": server(&[]), "slow": server(&["hang"])}}).to_string();
    let run = print(&sandbox, "go", &["--mcp-config", &both]).env("MCP_TIMEOUT", "1500").run().expect_clean();
    let lines = run.lines();
    let servers = &of_kind(&lines, "system/init")[0]["mcp_servers"];
    assert_eq!((&servers[0]["status"], &servers[1]["status"]), (&json!("connected"), &json!("failed")));
    assert!(model.request(0).tool_names().contains(&"mcp__fix__echo".to_owned()));
}

// [TST-224]
#[test]
fn noise_is_skipped() {
    let (model, sandbox) =
        scene([ScriptedReply::tool("mcp__fix__echo", json!({"text": "heard"})), ScriptedReply::text("done")]);
    stream(&sandbox, "go", &["--mcp-config", &config(&["flood"]), "--allowedTools", "mcp__fix"]);
    assert_eq!(model.request(1).tool_results()[0]["content"], "heard");
}

#[test]
fn a_list_that_changes_reaches_a_later_request() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__grow", json!({})),
        ScriptedReply::tool("Bash", json!({"command": "sleep 0.5"})),
        ScriptedReply::tool("mcp__fix__grown", json!({})),
        ScriptedReply::text("done"),
    ]);
    stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix", "Bash"]);
    assert!(!model.request(0).tool_names().contains(&"mcp__fix__grown".to_owned()));
    assert!(model.request(2).tool_names().contains(&"mcp__fix__grown".to_owned()));
    assert_eq!(model.request(3).tool_results()[2]["content"], "called grown");
}

// [TST-96] [TST-219] A thousand tools cost one reminder; a loaded tool is added after the others.
#[test]
fn deferred_tools_are_loaded_by_reference() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("ToolSearch", json!({"query": "select:mcp__fix__extra_7,mcp__fix__echo"})),
        ScriptedReply::tool("mcp__fix__extra_7", json!({})),
        ScriptedReply::text("done"),
    ]);
    let run = print(&sandbox, "go", &["--mcp-config", &config(&["many=1000"]), "--allowedTools", "mcp__fix"])
        .env("ENABLE_TOOL_SEARCH", "true")
        .run();
    let lines = run.expect_clean().lines();
    let first = model.request(0);
    let names = first.tool_names();
    assert!(
        names.contains(&"ToolSearch".to_owned()) && !names.iter().any(|name| name.starts_with("mcp__")),
        "{names:?}"
    );
    assert!(first.all_text().contains("mcp__fix__: "), "{}", first.all_text());
    let size = first.json.to_string().len();
    assert!(size < 60_000, "{size}");
    let second = model.request(1);
    let references = json!([{"type": "tool_reference", "tool_name": "mcp__fix__extra_7"},
        {"type": "tool_reference", "tool_name": "mcp__fix__echo"}]);
    assert_eq!(second.tool_results()[0]["content"], references);
    let tools = second.json["tools"].as_array().unwrap();
    let loaded = &tools[tools.len() - 2];
    assert_eq!((&loaded["name"], &loaded["defer_loading"]), (&json!("mcp__fix__extra_7"), &json!(true)));
    assert_eq!(tools[..tools.len() - 2], first.json["tools"].as_array().unwrap()[..]);
    assert!(second.header("anthropic-beta").unwrap().contains("advanced-tool-use"));
    assert_eq!(model.request(2).tool_results()[1]["content"], "called extra_7");
    let init = of_kind(&lines, "system/init")[0];
    assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__fix__extra_999")));
}

// [TST-219] Other endpoints get schemas as text, and only when they would fill the window.
#[test]
fn deferral_is_emulated_where_references_are_unknown() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("ToolSearch", json!({"query": "number 17", "max_results": 1})),
        ScriptedReply::tool("mcp__fix__extra_17", json!({})),
        ScriptedReply::text("done"),
    ]);
    stream(&sandbox, "go", &["--mcp-config", &config(&["many=600"]), "--allowedTools", "mcp__fix"]);
    let found = model.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(found.contains(r#""name":"mcp__fix__extra_17""#), "{found}");
    let last = model.request(1).tool_names().pop().unwrap();
    assert_eq!(last, "mcp__fix__extra_17");
    assert_eq!(model.request(2).tool_results()[1]["content"], "called extra_17");
}

#[test]
fn resources_are_listed_and_read() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("ListMcpResourcesTool", json!({})),
        ScriptedReply::tool("ReadMcpResourceTool", json!({"server": "fix", "uri": "note://one"})),
        ScriptedReply::text("done"),
    ]);
    let lines = stream(&sandbox, "go", &["--mcp-config", &config(&[])]);
    let listed: Value = serde_json::from_str(model.request(1).tool_results()[0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(listed, json!([{"uri": "note://one", "name": "one", "mimeType": "text/plain", "server": "fix"}]));
    assert_eq!(of_kind(&lines, "user")[1]["tool_use_result"]["contents"][0]["text"], "the text of the note");
}

// [TST-220] [SDK-66]
#[test]
fn prompts_are_commands_with_quoted_arguments() {
    for typed in [r#"/mcp__fix__greet Ada "very warm""#, r#"/fix:greet (MCP) Ada "very warm""#] {
        let (model, sandbox) = scene([ScriptedReply::text("done")]);
        let lines = stream(&sandbox, typed, &["--mcp-config", &config(&[])]);
        let sent = model.request(0).all_text();
        assert!(sent.contains("Greet Ada in a very warm way"), "{sent}");
        assert!(sent.contains("<command-name>/mcp__fix__greet</command-name>"), "{sent}");
        let commands = of_kind(&lines, "system/init")[0]["slash_commands"].clone();
        assert!(commands.as_array().unwrap().contains(&json!("mcp__fix__greet")));
    }
}

// [SDK-111] [CLI-177]
#[test]
fn a_tool_decides_in_place_of_a_person() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::tool("Write", json!({"file_path": "no", "content": "x"})),
        ScriptedReply::text("done"),
    ]);
    let flags = ["--mcp-config", &config(&[]), "--permission-prompt-tool", "mcp__fix__permit"];
    stream(&sandbox, "go", &flags);
    assert!(sandbox.project().join("made").exists());
    assert_eq!(model.request(2).tool_results()[1]["content"], "the server says no");
    let (_model, sandbox) =
        scene([ScriptedReply::tool("Bash", json!({"command": "touch made"})), ScriptedReply::text("done")]);
    let done =
        print(&sandbox, "go", &["--mcp-config", &config(&[]), "--permission-prompt-tool", "mcp__fix__nope"]).run();
    assert!(done.stderr.contains("mcp__fix__nope (passed via --permission-prompt-tool) not found"), "{}", done.stderr);
    assert!(done.stderr.contains("mcp__fix__echo"), "{}", done.stderr);
}

// [SC-G01] Children do not see the key; they do see what their declaration gives them.
#[test]
fn a_server_gets_its_own_environment() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__environment", json!({"name": "ANTHROPIC_API_KEY"})),
        ScriptedReply::tool("mcp__fix__environment", json!({"name": "GIVEN"})),
        ScriptedReply::tool("mcp__fix__roots", json!({})),
        ScriptedReply::text("done"),
    ]);
    let mut fix = server(&[]);
    fix["env"] = json!({"GIVEN": "${FROM_OUTSIDE:-fallback}"});
    let config = json!({"mcpServers": {"fix": fix}}).to_string();
    stream(&sandbox, "go", &["--mcp-config", &config, "--allowedTools", "mcp__fix"]);
    assert_eq!(model.request(1).tool_results()[0]["content"], "(unset)");
    assert_eq!(model.request(2).tool_results()[1]["content"], "fallback");
    // [TST-212]
    let roots = model.request(3).tool_results()[2]["content"].as_str().unwrap().to_owned();
    assert!(roots.contains("file://") && roots.contains("project"), "{roots}");
}

// [EXT-167] A server that an agent declares is available only to that agent.
#[test]
fn an_agent_brings_its_own_server() {
    let (model, sandbox) = scene([
        ScriptedReply::tool(
            "Agent",
            json!({"description": "d", "prompt": "echo it", "subagent_type": "helper",
            "run_in_background": false}),
        ),
        ScriptedReply::tool("mcp__own__echo", json!({"text": "from the agent"})),
        ScriptedReply::text("agent done"),
        ScriptedReply::text("done"),
    ]);
    let agents =
        json!({"helper": {"description": "d", "prompt": "p", "mcpServers": [{"own": server(&[])}]}}).to_string();
    stream(&sandbox, "go", &["--agents", &agents, "--allowedTools", "mcp__own"]);
    assert!(!model.request(0).tool_names().iter().any(|name| name.starts_with("mcp__own")));
    assert!(model.request(1).tool_names().contains(&"mcp__own__echo".to_owned()));
    assert_eq!(model.request(2).tool_results()[0]["content"], "from the agent");
    assert!(!model.request(3).tool_names().iter().any(|name| name.starts_with("mcp__own")));
}

fn answer(running: &mut RunningGimlet, request: &Value, response: Value) {
    running.send_json(&json!({"type": "control_response", "response":
        {"subtype": "success", "request_id": request["request_id"], "response": response}}));
}

/// Answers messages to `calc` as the host until another message comes.
fn serve_calc(running: &mut RunningGimlet) -> Value {
    loop {
        let line: Value = serde_json::from_str(&running.next_line().expect("more lines")).unwrap();
        if line["type"] != "control_request" || line["request"]["subtype"] != "mcp_message" {
            if line["type"] == "result" || line["type"] == "control_request" {
                return line;
            }
            continue;
        }
        let message = &line["request"]["message"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "calc", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "double", "description": "d",
                "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}}]}),
            "tools/call" => {
                let n = message["params"]["arguments"]["n"].as_i64().unwrap();
                json!({"content": [{"type": "text", "text": (2 * n).to_string()}]})
            }
            // [SDK-125] A notification without an id.
            _ => {
                answer(running, &line, json!({"mcp_response": {"jsonrpc": "2.0", "result": {}}}));
                continue;
            }
        };
        answer(running, &line, json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}}));
    }
}

// [SDK-122] [SDK-123] [SDK-125] Both ways to register a server inside the host.
#[test]
fn servers_inside_the_host_work_both_ways() {
    for by_flag in [true, false] {
        let (model, sandbox) =
            scene([ScriptedReply::tool("mcp__calc__double", json!({"n": 21})), ScriptedReply::text("done")]);
        let flag = json!({"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}).to_string();
        let mut flags = vec!["--allowedTools", "mcp__calc"];
        if by_flag {
            flags.extend(["--mcp-config", flag.as_str()]);
        }
        let mut running = host(&sandbox, &flags).spawn();
        let names = if by_flag { json!([]) } else { json!(["calc"]) };
        running.send_json(&json!({"type": "control_request", "request_id": "i",
            "request": {"subtype": "initialize", "sdkMcpServers": names}}));
        running.send_user("go");
        let end = serve_calc(&mut running);
        assert_eq!((&end["type"], &end["result"]), (&json!("result"), &json!("done")), "{end}");
        assert_eq!(model.request(1).tool_results()[0]["content"], "42", "by flag: {by_flag}");
        running.close_stdin();
        running.finish();
    }
}

// [SDK-124] A handshake recorded for our revision is not repeated.
#[test]
fn a_manifest_spares_the_handshake() {
    for (version, asks) in [("2025-11-25", false), ("2024-11-05", true)] {
        let (model, sandbox) = scene([ScriptedReply::text("done")]);
        let mut running = host(&sandbox, &[]).spawn();
        let manifest = json!({"initializeResult": {"protocolVersion": version, "capabilities": {"tools": {}},
            "serverInfo": {"name": "calc", "version": "1"}}, "toolsListResult": {"tools": [{"name": "double",
            "inputSchema": {"type": "object"}}]}});
        running.send_json(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize",
            "sdkMcpServers": ["calc"], "sdkMcpServerManifests": {"calc": manifest}}}));
        running.send_user("go");
        let mut asked = false;
        loop {
            let line: Value = serde_json::from_str(&running.next_line().unwrap()).unwrap();
            if line["request"]["subtype"] == "mcp_message" {
                asked = true;
                let message = &line["request"]["message"];
                let result = match message["method"].as_str().unwrap() {
                    "initialize" => manifest["initializeResult"].clone(),
                    "tools/list" => manifest["toolsListResult"].clone(),
                    _ => json!({}),
                };
                answer(
                    &mut running,
                    &line,
                    json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}}),
                );
            }
            if line["type"] == "result" {
                break;
            }
        }
        assert_eq!(asked, asks, "{version}");
        assert!(model.request(0).tool_names().contains(&"mcp__calc__double".to_owned()));
        running.close_stdin();
        running.finish();
    }
}

fn control(running: &mut RunningGimlet, request: Value) -> Value {
    running.send_json(&json!({"type": "control_request", "request_id": "c", "request": request}));
    let line = running.wait_for("control_response");
    line["response"].clone()
}

// [SDK-82] [SDK-83] [SDK-84]
#[test]
fn a_host_sees_and_changes_servers() {
    let (model, sandbox) = scene([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let broken = json!({"mcpServers": {"fix": server(&[]), "bad": {"command": "/no/such/program"}}}).to_string();
    let mut running = host(&sandbox, &["--mcp-config", &broken]).spawn();
    running.send_user("go");
    running.wait_for("result");
    let status = control(&mut running, json!({"subtype": "mcp_status"}));
    let rows = status["response"]["mcpServers"].as_array().unwrap().clone();
    assert_eq!((&rows[0]["name"], &rows[0]["status"]), (&json!("bad"), &json!("failed")));
    assert!(rows[0]["error"].as_str().unwrap().contains("/no/such/program"), "{rows:?}");
    assert_eq!((&rows[1]["status"], &rows[1]["serverInfo"]["name"]), (&json!("connected"), &json!("fixture")));
    assert_eq!(
        (&rows[1]["tools"][0]["name"], &rows[1]["tools"][0]["annotations"]),
        (&json!("echo"), &json!({"readOnly": true}))
    );
    let off = control(&mut running, json!({"subtype": "mcp_toggle", "serverName": "fix", "enabled": false}));
    assert_eq!(off["subtype"], "success");
    let unknown = control(&mut running, json!({"subtype": "mcp_reconnect", "serverName": "nope"}));
    assert_eq!(unknown["subtype"], "error");
    let set = control(&mut running, json!({"subtype": "mcp_set_servers", "servers": {"new": server(&[])}}));
    assert_eq!((&set["response"]["added"], &set["response"]["removed"]), (&json!(["new"]), &json!([])), "{set}");
    running.send_user("again");
    running.wait_for("result");
    let names = model.request(1).tool_names();
    assert!(names.contains(&"mcp__new__echo".to_owned()) && !names.contains(&"mcp__fix__echo".to_owned()), "{names:?}");
    let set = control(&mut running, json!({"subtype": "mcp_set_servers", "servers": {}}));
    assert_eq!(set["response"]["removed"], json!(["new"]));
    running.close_stdin();
    running.finish();
}

// [SDK-46] The test waits less long than the server may take.
#[test]
fn a_server_that_hangs_does_not_hold_up_the_handshake() {
    let (_model, sandbox) = scene([]);
    let slow = json!({"mcpServers": {"slow": server(&["hang"])}}).to_string();
    let mut running = host(&sandbox, &["--mcp-config", &slow]).env("MCP_TIMEOUT", "60000").spawn();
    let reply = control(&mut running, json!({"subtype": "initialize"}));
    assert_eq!(reply["subtype"], "success", "{reply}");
    running.close_stdin();
    running.finish();
}

// [SDK-128] [TST-213]
#[test]
fn an_elicitation_reaches_the_host() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__ask", json!({})),
        ScriptedReply::tool("mcp__fix__ask", json!({})),
        ScriptedReply::text("done"),
    ]);
    let mut running = host(&sandbox, &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix"]).spawn();
    running.send_user("go");
    let asked = running.wait_for("control_request");
    assert_eq!(
        (&asked["request"]["subtype"], &asked["request"]["mcp_server_name"]),
        (&json!("elicitation"), &json!("fix"))
    );
    assert_eq!(asked["request"]["requested_schema"]["properties"]["city"]["type"], "string");
    answer(&mut running, &asked, json!({"action": "accept", "content": {"city": "Oslo"}}));
    let asked = running.wait_for("control_request");
    running.send_json(&json!({"type": "control_response", "response":
        {"subtype": "error", "request_id": asked["request_id"], "error": "no handler"}}));
    running.wait_for("result");
    let said = |n: usize| -> Value {
        serde_json::from_str(model.request(n).tool_results()[n - 1]["content"].as_str().unwrap()).unwrap()
    };
    assert_eq!(said(1), json!({"action": "accept", "content": {"city": "Oslo", "unit": "C"}}));
    assert_eq!(said(2), json!({"action": "decline"}));
    running.close_stdin();
    running.finish();
}

/// Processes that carry this text in their command line.
fn carrying(marker: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let carries = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(marker) && line.contains("mcp_server.py") && !line.contains("mcpServers") && is_live(*pid)
    };
    pids.filter(carries).collect()
}

fn check_nobody_left(marker: &str) {
    assert_nobody_left(|| carrying(marker));
}

fn wait_for_text(path: &Path, text: &str) {
    testkit::wait_until(text, || std::fs::read_to_string(path).unwrap_or_default().contains(text));
}

// [TST-221] Servers that ignore SIGTERM and the end of their input and leave their group are killed when gimlet ends.
#[test]
fn no_server_outlives_us() {
    for how in ["end", "terminate", "kill", "close"] {
        let (_model, sandbox) = scene([
            ScriptedReply::tool("mcp__fix__sleep", json!({"seconds": if how == "end" { 0 } else { 60 }})),
            ScriptedReply::text("done"),
        ]);
        let log = sandbox.root().join("server.log");
        let marker = format!("log={}", log.display());
        let config = config(&["stubborn", "leave", &marker]);
        let flags = ["--mcp-config", &config, "--allowedTools", "mcp__fix"];
        let mut running = host(&sandbox, &flags).spawn();
        running.send_user("go");
        wait_for_text(&log, "sleeping");
        assert!(carrying(&marker).len() >= 2, "{how}: {:?}", carrying(&marker));
        match how {
            "end" => {
                running.wait_for("result");
                running.close_stdin();
                running.finish();
            }
            "terminate" => running.terminate(),
            "kill" => running.kill(),
            _ => drop(running),
        }
        check_nobody_left(&marker);
    }
}

// [EXT-115] [TST-213] A hook answers instead of a person, and another hook can change the answer.
#[test]
fn hooks_answer_elicitations() {
    for (last, expected) in [
        ("", "accept"),
        (r#"{"hookSpecificOutput":{"hookEventName":"ElicitationResult","action":"decline"}}"#, "decline"),
    ] {
        let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__ask", json!({})), ScriptedReply::text("done")]);
        let first =
            r#"{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"city":"Bonn"}}}"#;
        let hook = |text: &str| json!([{"hooks": [{"type": "command", "command": format!("echo '{text}'")}]}]);
        let settings = json!({"hooks": {"Elicitation": hook(first), "ElicitationResult": hook(last)}}).to_string();
        stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix", "--settings", &settings]);
        let said = model.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["action"], expected, "{said}");
    }
}

// [EXT-41] A tool of a server as a hook; a missing tool blocks nothing.
#[test]
fn tools_of_servers_run_as_hooks() {
    let (model, sandbox) =
        scene([ScriptedReply::tool("Bash", json!({"command": "echo ran"})), ScriptedReply::text("done")]);
    let verdict = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no ${tool_input.command}"}}"#;
    let handlers = json!([
        {"type": "mcp_tool", "server": "gone", "tool": "echo", "input": {}},
        {"type": "mcp_tool", "server": "fix", "tool": "echo", "input": {"text": verdict}},
    ]);
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": handlers}]}}).to_string();
    let run =
        print(&sandbox, "go", &["--mcp-config", &config(&[]), "--allowedTools", "Bash", "--settings", &settings]).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let result = model.request(1).tool_results()[0].clone();
    assert!(result["is_error"] == true && result["content"].as_str().unwrap().contains("no echo ran"), "{result}");
}

// [SDK-127] A tool that the host disallows is never called; one without permission is denied.
#[test]
fn a_hosts_own_tool_needs_leave_like_any_other() {
    for (flags, offered) in [(vec!["--disallowedTools", "mcp__calc__double"], false), (vec![], true)] {
        let (model, sandbox) =
            scene([ScriptedReply::tool("mcp__calc__double", json!({"n": 1})), ScriptedReply::text("done")]);
        let mut running = host(&sandbox, &flags).spawn();
        running.send_json(&json!({"type": "control_request", "request_id": "i",
            "request": {"subtype": "initialize", "sdkMcpServers": ["calc"]}}));
        running.send_user("go");
        serve_calc(&mut running);
        assert_eq!(model.request(0).tool_names().contains(&"mcp__calc__double".to_owned()), offered);
        assert_eq!(model.request(1).tool_results()[0]["is_error"], true);
        running.close_stdin();
        running.finish();
    }
}
