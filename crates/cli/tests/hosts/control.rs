//! Requests of a host over the real protocol: what `initialize` returns and changes, and that every request is answered
//! exactly once, whatever else happens.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, ReplyGate, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const HOST: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

fn start(sandbox: &Sandbox, more: &[&str]) -> RunningGimlet {
    sandbox.gimlet(&[&HOST[..], more].concat()).stdin_open().spawn()
}

fn request(running: &mut RunningGimlet, id: &str, request: &Value) {
    running.send_json(&json!({"type": "control_request", "request_id": id, "request": request}));
}

/// Sends a request and returns its answer.
fn ask(running: &mut RunningGimlet, id: &str, asked: &Value) -> Value {
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
    let server = ModelServer::script([ScriptedReply::tool("StructuredOutput", json!({"n": 1}))]);
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
    let server = ModelServer::script([ScriptedReply::text("as reviewer"), ScriptedReply::text("plain")]);
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
    let server = ModelServer::script([ScriptedReply::text("hello")]);
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
    let server = ModelServer::script([ScriptedReply::text("hello")]);
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

#[test]
fn an_interrupt_is_receipted_before_the_result_and_spares_what_waits() {
    // [SDK-70] [SDK-71] [SDK-72] [SDK-73] [SDK-89]
    let server = ModelServer::script([
        ScriptedReply::text("one two three").cut_after_events(4).cut_by_stall(),
        ScriptedReply::text("second"),
        ScriptedReply::text("fourth"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--include-partial-messages"]);
    assert_eq!(ask(&mut running, "n1", &json!({"subtype": "interrupt"}))["response"], json!({"still_queued": []}));
    let user = |text: &str, uuid: &str| json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}, "origin": {"kind": "human"}});
    let id = |n: u32| format!("00000000-0000-4000-8000-00000000000{n}");
    running.send_json(&user("first", &id(1)));
    running.wait_for("stream_event");
    running.send_json(&user("second", &id(2)));
    running.send_json(&user("third", &id(3)));
    let dropped = ask(&mut running, "c1", &json!({"subtype": "cancel_async_message", "message_uuid": id(3)}));
    assert_eq!(dropped["response"], json!({"cancelled": true}));
    let unknown = ask(&mut running, "c2", &json!({"subtype": "cancel_async_message", "message_uuid": id(9)}));
    assert_eq!(unknown["response"], json!({"cancelled": false}));
    let receipt = ask(&mut running, "n2", &json!({"subtype": "interrupt"}));
    assert_eq!(receipt["response"], json!({"still_queued": [id(2)]}));
    let first = running.wait_for("result");
    assert_eq!((&first["terminal_reason"], &first["user_message_uuid"]), (&json!("aborted_streaming"), &json!(id(1))));
    assert_eq!(first["origin"], json!({"kind": "human"}), "[SDK-64]");
    assert_eq!(running.wait_for("result")["result"], "second");
    running.send_json(&user("fourth", &id(4)));
    assert_eq!(running.wait_for("result")["result"], "fourth");
    let nothing = ask(&mut running, "n3", &json!({"subtype": "interrupt", "cancel_queued": true}));
    assert_eq!(nothing["response"], json!({"still_queued": [], "cancelled": []}));
    running.close_stdin();
    running.finish().expect_clean();
}

#[test]
fn models_thinking_and_settings_change_the_next_request() {
    // [SDK-78] [SDK-79] [SDK-80] [SDK-81]
    let server = ModelServer::script((0..4).map(|n| ScriptedReply::text(n.to_string())));
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox
        .write(".claude/agents/pirate.md", "---\nname: pirate\ndescription: talks\ntools: Read\n---\nPIRATE-PROMPT\n");
    let mut running = start(&sandbox, &["--model", "claude-opus-5", "--trust-workspace"]);
    let turn = |running: &mut RunningGimlet| {
        running.send_user("go");
        let init = running.wait_for("system");
        running.wait_for("result");
        init["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(turn(&mut running), "claude-opus-5");
    let done = |said: Value| assert_eq!(said["subtype"], "success", "{said}");
    done(ask(&mut running, "m1", &json!({"subtype": "set_model", "model": "sonnet"})));
    done(ask(&mut running, "e1", &json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "max"}})));
    done(ask(&mut running, "t1", &json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0})));
    assert_eq!(turn(&mut running), "claude-sonnet-5-5");
    assert_eq!(server.request(1).json["output_config"]["effort"], "max");
    assert_eq!(server.request(1).json["thinking"]["type"], "disabled");
    done(ask(&mut running, "t2", &json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": null})));
    done(ask(&mut running, "m2", &json!({"subtype": "set_model", "model": null})));
    done(ask(
        &mut running,
        "g1",
        &json!({"subtype": "apply_flag_settings", "settings": {"agent": "pirate", "effortLevel": null}}),
    ));
    assert_eq!(turn(&mut running), "claude-opus-5");
    assert_ne!(server.request(2).json["thinking"]["type"], "disabled");
    assert!(server.request(2).json["system"].to_string().contains("PIRATE-PROMPT"));
    let tools = server.request(2).json["tools"].as_array().unwrap().clone();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), ["Read"]);
    for wrong in
        [json!({"effortLevel": "enormous"}), json!({"agent": "nobody"}), json!({"model": 7, "effortLevel": "low"})]
    {
        let said = ask(&mut running, "w", &json!({"subtype": "apply_flag_settings", "settings": wrong}));
        assert_eq!(said["subtype"], "error", "{said}");
    }
    done(ask(&mut running, "m3", &json!({"subtype": "set_model", "model": "novel-model-9"})));
    assert_eq!(turn(&mut running), "novel-model-9");
    assert_ne!(server.request(3).json["output_config"]["effort"], "low", "nothing of a refused call is applied");
    running.close_stdin();
    running.finish().expect_code(0);
}

#[test]
fn settings_of_the_host_grant_and_refuse_at_once() {
    // [SDK-80]
    let bash = |command: &str| ScriptedReply::tool("Bash", json!({"command": command}));
    let server =
        ModelServer::script([bash("touch a"), ScriptedReply::text("no"), bash("touch b"), ScriptedReply::text("yes")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    running.send_user("go");
    assert_eq!(running.wait_for("result")["permission_denials"].as_array().unwrap().len(), 1);
    let rules = json!({"permissions": {"allow": ["Bash(touch *)"]}});
    let said = ask(&mut running, "g1", &json!({"subtype": "apply_flag_settings", "settings": rules}));
    assert_eq!(said["subtype"], "success", "{said}");
    let listed = ask(&mut running, "l1", &json!({"subtype": "list_permission_rules"}));
    assert!(listed["response"]["state"]["rules"].to_string().contains("Bash(touch *)"), "{listed}");
    running.send_user("go");
    assert_eq!(running.wait_for("result")["permission_denials"], json!([]));
    assert!(sandbox.project().join("b").exists() && !sandbox.project().join("a").exists());
    running.close_stdin();
    running.finish().expect_clean();
}

/// The host sees rules as they are, also while a turn runs.
#[test]
fn rules_granted_in_a_turn_are_listed_in_that_turn() {
    let bash = |command: &str| ScriptedReply::tool("Bash", json!({"command": command}));
    let server = ModelServer::script([bash("touch a"), bash("mkdir b"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--permission-prompt-tool", "stdio"]);
    running.send_user("go");
    let answer = |running: &mut RunningGimlet, asked: &Value, granted: Value| {
        let verdict =
            json!({"behavior": "allow", "updatedInput": asked["request"]["input"], "updatedPermissions": granted});
        let reply = json!({"subtype": "success", "request_id": asked["request_id"], "response": verdict});
        running.send_json(&json!({"type": "control_response", "response": reply}));
    };
    let first = running.wait_for("control_request");
    let rule = json!({"toolName": "Bash", "ruleContent": "touch *"});
    let grant = json!([{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}]);
    answer(&mut running, &first, grant);
    let second = running.wait_for("control_request");
    let listed = ask(&mut running, "l1", &json!({"subtype": "list_permission_rules"}));
    assert!(listed["response"]["state"]["rules"].to_string().contains("Bash(touch *)"), "{listed}");
    answer(&mut running, &second, json!([]));
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
}

#[test]
fn what_only_looks_is_answered_with_its_shape() {
    // [SDK-82] [SDK-83] [SDK-86] [SDK-90] [SDK-93] [SDK-94]
    let server = ModelServer::script([ScriptedReply::text("hello")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("CLAUDE.md", "remember\n");
    let mut running = start(&sandbox, &[]);
    running.send_user("go");
    running.wait_for("result");
    let mut number = 0;
    let mut look = |running: &mut RunningGimlet, asked: Value| {
        number += 1;
        let said = ask(running, &format!("r{number}"), &asked);
        assert_eq!(said["subtype"], "success", "{asked}: {said}");
        said["response"].clone()
    };
    let usage = look(&mut running, json!({"subtype": "get_context_usage", "detail": "summary"}));
    for key in ["totalTokens", "maxTokens", "rawMaxTokens", "percentage"] {
        assert!(usage[key].is_u64(), "{key}: {usage}");
    }
    assert!(usage["memoryFiles"][0]["path"].as_str().unwrap().ends_with("CLAUDE.md"), "{usage}");
    assert!(
        usage["gridRows"].as_array().unwrap().len() <= 10 && usage["agents"].is_array() && usage["mcpTools"].is_array()
    );
    assert!(look(&mut running, json!({"subtype": "get_settings"}))["effective"].is_object());
    assert!(look(&mut running, json!({"subtype": "list_models"}))["models"].is_array());
    assert!(
        look(&mut running, json!({"subtype": "get_hooks_listing"}))["eventCatalog"].as_array().unwrap().len() >= 30
    );
    assert!(look(&mut running, json!({"subtype": "get_usage"}))["session"]["total_cost_usd"].is_number());
    assert!(look(&mut running, json!({"subtype": "get_session_cost"}))["text"].as_str().unwrap().contains('$'));
    assert!(look(&mut running, json!({"subtype": "reload_skills"}))["skills"].is_array());
    assert!(look(&mut running, json!({"subtype": "reload_plugins"}))["commands"].is_array());
    assert!(look(&mut running, json!({"subtype": "reload_output_styles"}))["available_output_styles"].is_array());
    assert!(look(&mut running, json!({"subtype": "mcp_status"}))["mcpServers"].is_array());
    let rewind = look(&mut running, json!({"subtype": "rewind_files", "user_message_id": "u"}));
    assert_eq!(rewind["canRewind"], false);
    look(&mut running, json!({"subtype": "rename_session", "title": "A better name"}));
    for refused in [
        json!({"subtype": "rename_session", "title": "x", "session_id": "another"}),
        json!({"subtype": "mcp_reconnect", "serverName": "none"}),
        json!({"subtype": "mcp_toggle", "serverName": "none", "enabled": true}),
        json!({"subtype": "set_permission_mode", "mode": "novel"}),
        json!({"subtype": "set_model", "model": 7}),
    ] {
        assert_eq!(ask(&mut running, "no", &refused)["subtype"], "error", "{refused}");
    }
    running.close_stdin();
    running.finish().expect_clean();
    assert!(sandbox.transcript().iter().any(|line| line["customTitle"] == "A better name"));
    assert_eq!(server.requests().len(), 1, "looking costs no request");
}

#[test]
fn a_host_reads_what_the_model_could_read_unasked() {
    // [SDK-91] [SDK-92]
    let edit = json!({"file_path": "seen.txt", "old_string": "old", "new_string": "new"});
    let server = ModelServer::script([ScriptedReply::tool("Edit", edit), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("open.txt", "0123456789");
    sandbox.write("secret.txt", "hidden");
    let seen = sandbox.write("seen.txt", "old\n");
    let outside = sandbox.root().join("outside.txt");
    std::fs::write(&outside, "outside").unwrap();
    let more =
        ["--disallowedTools", "Read(secret.txt)", "--permission-mode", "acceptEdits", "--model", "claude-sonnet-4-5"];
    let mut running = start(&sandbox, &more);
    let said = ask(&mut running, "r1", &json!({"subtype": "read_file", "path": "open.txt", "max_bytes": 4}));
    assert_eq!((&said["response"]["contents"], &said["response"]["truncated"]), (&json!("0123"), &json!(true)));
    let said = ask(&mut running, "r2", &json!({"subtype": "read_file", "path": "open.txt", "encoding": "base64"}));
    assert_eq!(said["response"]["contents"], "MDEyMzQ1Njc4OQ==");
    for path in ["secret.txt", outside.to_str().unwrap(), "missing.txt"] {
        let said = ask(&mut running, "r3", &json!({"subtype": "read_file", "path": path}));
        assert_eq!(said["subtype"], "error", "{path}: {said}");
    }
    let modified = std::fs::metadata(&seen).unwrap().modified().unwrap();
    let mtime = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let said =
        ask(&mut running, "s1", &json!({"subtype": "seed_read_state", "path": "seen.txt", "mtime": mtime as u64}));
    assert_eq!(said["subtype"], "success", "{said}");
    running.send_user("edit it");
    running.wait_for("result");
    assert_eq!(sandbox.read("seen.txt"), "new\n", "the model need not read what the host has shown");
    running.close_stdin();
    running.finish().expect_code(0);
}

#[test]
fn a_command_goes_on_in_the_background_when_the_host_says_so() {
    // [SDK-88] [SDK-87]
    let sleep = ScriptedReply::tool(
        "Bash",
        json!({"command": "echo begun; until [ -e go ]; do sleep 0.02; done", "timeout": 60_000}),
    );
    let server = ModelServer::script([sleep, ScriptedReply::text("meanwhile"), ScriptedReply::text("it ended")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--allowedTools", "Bash"]);
    let said = ask(&mut running, "b0", &json!({"subtype": "background_tasks"}));
    assert_eq!(said["response"], json!({"backgrounded": false}), "nothing runs");
    running.send_user("go");
    running.wait_for("assistant");
    // The call may not have begun yet: repeated until it is moved to the background.
    while ask(&mut running, "b1", &json!({"subtype": "background_tasks"}))["response"]["backgrounded"] == false {}
    assert_eq!(running.wait_for("result")["result"], "meanwhile");
    let result = server.request(1).tool_results()[0]["content"].to_string();
    assert!(result.contains("background"), "{result}");
    running.close_stdin();
    sandbox.write("go", "");
    let done = running.finish().expect_clean();
    assert_eq!(done.result()["result"], "it ended", "a run waits for what it started");
}

#[test]
fn five_hundred_requests_at_once_are_answered_once_each_while_a_turn_runs() {
    // [SDK-69]
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("one two three").gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    running.send_user("go");
    running.wait_for("system");
    let kinds = ["get_binary_version", "get_settings", "list_models", "novel", "get_context_usage"];
    for n in 0..500 {
        request(&mut running, &format!("r{n}"), &json!({"subtype": kinds[n % kinds.len()]}));
    }
    let mut answered = std::collections::BTreeMap::new();
    for _ in 0..500 {
        let line = running.wait_for("control_response");
        *answered.entry(line["response"]["request_id"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    assert!(answered.len() == 500 && answered.values().all(|count| *count == 1));
    gate.open_all();
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
}

#[test]
fn transcripts_are_mirrored_before_the_result() {
    // [SDK-180] [TST-186]
    let server = ModelServer::script([ScriptedReply::text("hello"), ScriptedReply::text("again")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--session-mirror"]);
    running.send_user("go");
    running.wait_for("result");
    running.send_user("and again");
    running.wait_for("result");
    running.close_stdin();
    let run = running.finish().expect_clean();
    let lines = run.lines();
    let mirrored: Vec<Value> = lines
        .iter()
        .filter(|line| line["type"] == "transcript_mirror")
        .flat_map(|line| line["entries"].as_array().unwrap().clone())
        .collect();
    assert_eq!(mirrored, sandbox.transcript(), "the frames are the file");
    let path =
        lines.iter().find(|line| line["type"] == "transcript_mirror").unwrap()["filePath"].as_str().unwrap().to_owned();
    assert!(path.starts_with(sandbox.config_dir().to_str().unwrap()), "{path}");
    let answer =
        lines.iter().position(|line| line.to_string().contains("\"again\"") && line["type"] == "transcript_mirror");
    let result = lines.iter().rposition(|line| line["type"] == "result");
    assert!(answer.unwrap() < result.unwrap());
}

#[test]
fn a_host_that_does_not_read_loses_nothing_and_is_still_obeyed() {
    let gate = ReplyGate::new();
    let blocks: Vec<String> = (0..100).map(|n| format!("{n} {}", "x".repeat(2_000))).collect();
    let long = ScriptedReply::message(blocks.iter().map(ScriptedBlock::text).collect());
    let server = ModelServer::script([long, ScriptedReply::text("after").gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&HOST[..], &["--include-partial-messages"]].concat();
    let mut running = sandbox.gimlet(&args).stdin_open().reader_waits().spawn();
    running.send_user("go");
    server.wait_for_requests(1);
    // Far more than the pipe holds is queued by now; requests still reach the session.
    request(&mut running, "m1", &json!({"subtype": "set_model", "model": "claude-haiku-4-5"}));
    running.send_user("next");
    running.start_reading();
    let mut said = Vec::new();
    loop {
        let line: Value = serde_json::from_str(&running.next_line().unwrap()).unwrap();
        said.extend(line["message"]["content"][0]["text"].as_str().map(str::to_owned));
        if line["type"] == "result" {
            break;
        }
    }
    assert_eq!(said, blocks, "every block arrives, in order");
    gate.open_all();
    running.wait_for("result");
    assert_eq!(server.request(1).json["model"], "claude-haiku-4-5");
    running.close_stdin();
    running.finish().expect_clean();
}

#[test]
fn prompts_keep_their_form_and_only_plain_ones_are_interpreted() {
    // [SDK-57] [SDK-58] [SDK-59] [SDK-60] [SDK-61] [SDK-62] [SDK-53]
    let server = ModelServer::script((0..4).map(|n| ScriptedReply::text(n.to_string())));
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write(".claude/commands/shout.md", "SHOUT $ARGUMENTS\n");
    sandbox.write(".claude/skills/quiet/SKILL.md", "---\nname: quiet\ndescription: QUIET-SKILL\n---\nbody\n");
    sandbox.write(".claude/skills/loud/SKILL.md", "---\nname: loud\ndescription: LOUD-SKILL\n---\nbody\n");
    let mut running = start(&sandbox, &["--replay-user-messages", "--trust-workspace"]);
    let said = ask(&mut running, "i", &json!({"subtype": "initialize", "skills": ["loud"]}));
    assert_eq!(said["subtype"], "success");
    let user = |content: Value, more: Value| {
        let mut frame =
            json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": "default"});
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        frame
    };
    let id = "00000000-0000-4000-8000-0000000000aa";
    running.send_json(&user(json!("noted"), json!({"shouldQuery": false})));
    running.send_json(&user(json!("/shout one"), json!({"client_composed": true, "uuid": id})));
    let echo = running.wait_for("user");
    assert_eq!(
        (&echo["uuid"], &echo["isReplay"], &echo["message"]["content"]),
        (&json!(id), &json!(true), &json!("/shout one"))
    );
    running.wait_for("result");
    running.send_json(&user(json!("/shout two"), json!({"session_id": ""})));
    running.wait_for("result");
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!([{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}}]);
    running.send_json(&user(image.clone(), json!({})));
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
    let first = server.request(0).json["messages"].to_string();
    assert!(first.contains("noted") && first.contains("/shout one") && !first.contains("SHOUT one"), "{first}");
    assert!(first.contains("LOUD-SKILL") && !first.contains("QUIET-SKILL"), "{first}");
    assert!(server.request(1).json["messages"].to_string().contains("SHOUT two"));
    assert!(server.request(2).json["messages"].to_string().contains(pixel));
    let stored: Vec<Value> = sandbox
        .transcript()
        .into_iter()
        .filter(|line| line["promptSource"] == "sdk")
        .map(|line| line["message"]["content"].clone())
        .collect();
    assert!(
        stored.contains(&json!("noted")) && stored.contains(&json!("/shout one")) && stored.contains(&image),
        "{stored:?}"
    );
    assert!(sandbox.transcript().iter().any(|line| line["uuid"] == id));
}

#[test]
fn an_urgent_prompt_ends_the_running_turn_and_every_call_is_answered() {
    // [SDK-63] [SDK-74] [SDK-75]
    let sleep = ScriptedReply::tool("Bash", json!({"command": "touch started; sleep 60"}));
    let server = ModelServer::script([sleep, ScriptedReply::text("urgent"), ScriptedReply::text("later")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--allowedTools", "Bash"]);
    running.send_user("go");
    running.wait_for("assistant");
    let started = sandbox.project().join("started");
    testkit::wait_until("the command to start", || started.exists());
    let frame = |text: &str, priority: &str| json!({"type": "user", "message": {"role": "user", "content": text}, "priority": priority});
    running.send_json(&frame("LATER", "later"));
    running.send_json(&frame("URGENT", "now"));
    let result = running.wait_for("result");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert_eq!(running.wait_for("result")["result"], "urgent");
    assert_eq!(running.wait_for("result")["result"], "later");
    running.close_stdin();
    running.finish().expect_clean();
    assert_eq!(server.request(1).tool_results().len(), 1);
    assert!(server.request(1).json["messages"].to_string().contains("URGENT"));
}

#[test]
fn with_nobody_to_answer_nothing_is_asked() {
    // [SDK-112]
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "touch a"})), ScriptedReply::text("no")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--permission-prompt-tool", "stdio", "--permission-prompts", "none"]);
    running.send_user("go");
    assert_eq!(running.wait_for("result")["permission_denials"].as_array().unwrap().len(), 1);
    running.close_stdin();
    let run = running.finish().expect_clean();
    assert!(run.lines().iter().all(|line| line["type"] != "control_request"));
}
