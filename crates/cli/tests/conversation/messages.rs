//! What a host reads on stdout: shapes of the lines, errors and retries, the state frames, cost.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, json, kinds, of_kind, print, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedEvent, ScriptedReply};

// [SDK-130] [CLI-61] Every key that clients read without checking is present, in every turn.
#[test]
fn init_is_complete() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("one");
    run.wait_for("result");
    run.send_user("two");
    run.wait_for("result");
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let inits = of_kind(&lines, "system/init");
    assert_eq!(inits.len(), 2);
    for init in inits {
        for key in ["tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins", "capabilities"] {
            assert!(init[key].is_array(), "{key}: {init}");
        }
        for key in [
            "cwd",
            "session_id",
            "model",
            "permissionMode",
            "apiKeySource",
            "claude_code_version",
            "output_style",
            "uuid",
        ] {
            assert!(init[key].as_str().is_some_and(|s| !s.is_empty()), "{key}: {init}");
        }
        assert_eq!(init["apiKeySource"], "ANTHROPIC_API_KEY");
    }
}

// [SDK-131]
#[test]
fn the_output_style_is_echoed_even_when_unknown() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    assert_eq!(stream(&sandbox, "hi", &[])[0]["output_style"], "default");
    sandbox.write_config("settings.json", r#"{"outputStyle":"No such Style"}"#);
    assert_eq!(stream(&sandbox, "hi", &[])[0]["output_style"], "No such Style");
}

// [SDK-135] [TST-167] [SDK-145] The synthetic frame and line of an API error, by category.
#[test]
fn api_errors_are_told_by_category() {
    let cases = [
        (400, "invalid_request_error", "invalid_request"),
        (401, "authentication_error", "authentication_failed"),
        (403, "permission_error", "authentication_failed"),
        (404, "not_found_error", "model_not_found"),
        (429, "rate_limit_error", "rate_limit"),
        (500, "api_error", "server_error"),
        (529, "overloaded_error", "overloaded"),
    ];
    for (status, kind, category) in cases {
        let server = ModelServer::with_handler(move |_| ScriptedReply::error(status, kind, "it broke"));
        let sandbox = Sandbox::with_server(EXE, &server);
        let run = print(&sandbox, "hi", &[]).env("CLAUDE_CODE_MAX_RETRIES", "0").run().expect_code(1);
        let lines = run.lines();
        let frame = of_kind(&lines, "assistant")[0].clone();
        assert_eq!(frame["message"]["model"], "<synthetic>");
        assert_eq!((&frame["error"], &frame["api_error_status"]), (&json!(category), &json!(status)), "{frame}");
        let result = run.result();
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
        assert_eq!((&result["terminal_reason"], &result["api_error_status"]), (&json!("api_error"), &json!(status)));
        assert!(result["result"].as_str().unwrap().contains("it broke"), "{result}");
        let on_disk = sandbox.transcript();
        let line = of_kind(&on_disk, "assistant")[0];
        assert_eq!(line["uuid"], frame["uuid"]);
        assert_eq!((&line["isApiErrorMessage"], &line["error"]), (&json!(true), &json!(category)));
        assert_eq!(line["message"]["model"], "<synthetic>");
        for count in ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] {
            assert_eq!(line["message"]["usage"][count], 0, "{count}");
        }
    }
}

// [SDK-145] [SDK-187] After a failed turn the process goes on; the last result decides the exit code.
#[test]
fn a_failed_turn_is_not_the_end_of_the_session() {
    for (replies, code) in [([true, false], 0), ([false, true], 1)] {
        let reply = |fails| {
            if fails { ScriptedReply::error(413, "request_too_large", "too big") } else { ScriptedReply::text("ok") }
        };
        let server = ModelServer::script(replies.map(reply));
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = host(&sandbox, &[]).spawn();
        for fails in replies {
            run.send_user("go");
            assert_eq!(run.wait_for("result")["is_error"], fails);
        }
        run.close_stdin();
        drop(run.finish().expect_code(code));
    }
}

// [SDK-143] [SDK-144] [CLI-63] One result per turn, with the same keys and types whatever happened.
#[test]
fn results_have_one_shape() {
    let call = || ScriptedReply::tool("Glob", json!({"pattern": "*"}));
    let runs: [(Vec<ScriptedReply>, &[&str], &str); 4] = [
        (vec![ScriptedReply::text("ok")], &[], "success"),
        (vec![call(), call()], &["--max-turns", "1"], "error_max_turns"),
        (vec![call().tokens(9_000_000, 9_000_000)], &["--max-budget-usd", "0.5"], "error_max_budget_usd"),
        (vec![ScriptedReply::error(400, "invalid_request_error", "no")], &[], "success"),
    ];
    for (replies, flags, subtype) in runs {
        let server = ModelServer::script(replies);
        let sandbox = Sandbox::with_server(EXE, &server);
        let run = print(&sandbox, "go", flags).run();
        let lines = run.lines();
        assert_eq!(of_kind(&lines, "result").len(), 1);
        assert_eq!(kinds(&lines).last().unwrap(), &format!("result/{subtype}"));
        let result = run.result();
        for key in ["duration_ms", "duration_api_ms", "num_turns", "result_index", "queued_turn_count"] {
            assert!(result[key].is_u64(), "{key}: {result}");
        }
        for key in ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] {
            assert!(result["usage"][key].is_u64(), "{key}: {result}");
        }
        assert!(result["modelUsage"].is_object() && result["permission_denials"].is_array());
        assert!(result["total_cost_usd"].is_f64() || result["total_cost_usd"].is_u64());
        if subtype == "success" {
            assert!(result["result"].is_string() && result.get("errors").is_none(), "{result}");
        } else {
            assert!(!result["errors"].as_array().unwrap().is_empty() && result.get("result").is_none(), "{result}");
        }
        assert_eq!(run.code(), i32::from(result["is_error"] == true));
    }
}

// [SDK-149]
#[test]
fn the_context_window_is_that_of_the_model() {
    for (model, window) in
        [("claude-haiku-4-5", 200_000), ("claude-sonnet-4-5", 200_000), ("claude-sonnet-4-5[1m]", 1_000_000)]
    {
        let id = model.trim_end_matches("[1m]");
        let server = ModelServer::script([ScriptedReply::text("ok").model(id)]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let result = json(&sandbox, "hi", &["--model", model]).expect_clean().json();
        let usage = result["modelUsage"].as_object().unwrap();
        assert_eq!(usage.len(), 1, "{result}");
        assert_eq!(usage.values().next().unwrap()["contextWindow"], window, "{model}: {result}");
    }
}

// [SDK-140] [SDK-139] The pieces of a call's input are passed on, under the message id of the assistant line.
#[test]
fn input_deltas_are_forwarded() {
    let server =
        ModelServer::script([ScriptedReply::tool("Glob", json!({"pattern": "*.rs"})), ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &["--include-partial-messages"]);
    let events: Vec<&Value> = of_kind(&lines, "stream_event").into_iter().map(|l| &l["event"]).collect();
    let pieces: String = events.iter().filter_map(|e| e["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&pieces).unwrap(), json!({"pattern": "*.rs"}));
    let start = events.iter().find(|e| e["type"] == "message_start").unwrap();
    assert_eq!(start["message"]["id"], of_kind(&lines, "assistant")[0]["message"]["id"]);
}

// [SDK-141] [CLI-41]
#[test]
fn prompts_are_echoed_only_when_asked_for() {
    for flags in [&["--replay-user-messages"][..], &[]] {
        let server = ModelServer::script([ScriptedReply::text("ok")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = host(&sandbox, flags).spawn();
        let uuid = "11111111-1111-4111-8111-111111111111";
        run.send_json(&json!({"type": "user", "uuid": uuid, "session_id": "default", "parent_tool_use_id": null,
                              "message": {"role": "user", "content": "hello"}}));
        run.wait_for("result");
        run.close_stdin();
        let lines = run.finish().expect_clean().lines();
        let echoes = of_kind(&lines, "user");
        assert_eq!(echoes.len(), flags.len());
        for echo in echoes {
            assert_eq!((&echo["isReplay"], &echo["uuid"]), (&json!(true), &json!(uuid)));
            assert_eq!(echo["session_id"], lines[0]["session_id"]);
        }
        let on_disk = sandbox.transcript();
        assert_eq!(of_kind(&on_disk, "user")[0]["uuid"], uuid);
    }
}

// [SDK-156] [SDK-157]
#[test]
fn state_frames_come_only_when_asked_for_and_end_idle() {
    let switches = [(None, None), (Some(false), None), (None, Some(())), (Some(false), Some(()))];
    for (open, sdk) in switches {
        let server = ModelServer::script([ScriptedReply::error(400, "invalid_request_error", "no")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = print(&sandbox, "hi", &[]);
        if open.is_some() {
            run = run.env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
        }
        if sdk.is_some() {
            run = run.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
        }
        let lines = run.run().expect_code(1).lines();
        let frames = of_kind(&lines, "system/session_state_changed");
        if open.is_none() && sdk.is_none() {
            assert!(frames.is_empty());
            continue;
        }
        let states: Vec<&Value> = frames.iter().map(|f| &f["state"]).collect();
        assert_eq!(states, ["running", "idle"]);
        assert_eq!(lines[0]["state"], "running");
        assert_eq!(lines.last().unwrap()["state"], "idle");
        let private = open.is_none();
        assert!(frames.iter().all(|f| f.get("sdk_host_only") == private.then_some(&json!(true))), "{frames:?}");
    }
}

// [SDK-159] [CLI-62] A line is sent before each retry, by category.
#[test]
fn every_retry_is_told_first() {
    let server = ModelServer::script([
        ScriptedReply::error(429, "rate_limit_error", "slow down").header("retry-after", "0"),
        ScriptedReply::error(500, "api_error", "oops"),
        ScriptedReply::error(529, "overloaded_error", "busy"),
        // The first failure is on a kept connection and costs no retry; the second is on a new one.
        ScriptedReply::reset(),
        ScriptedReply::reset(),
        ScriptedReply::text("finally"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "hi", &[]).timeout(std::time::Duration::from_mins(1)).run().expect_clean();
    let lines = run.lines();
    let told: Vec<Value> = of_kind(&lines, "system/api_retry")
        .iter()
        .map(|l| json!([l["attempt"], l["max_retries"], l["error_status"], l["error"]]))
        .collect();
    let expected = [
        json!([1, 10, 429, "rate_limit"]),
        json!([2, 10, 500, "server_error"]),
        json!([3, 10, 529, "overloaded"]),
        json!([4, 10, null, "unknown"]),
    ];
    assert_eq!(told, expected);
    assert!(of_kind(&lines, "system/api_retry").iter().all(|l| l["retry_delay_ms"].is_u64()));
    // [TST-162] The transcript contains each of them in the form that strict readers accept.
    let on_disk = sandbox.transcript();
    let errors = of_kind(&on_disk, "system/api_error");
    assert_eq!(errors.len(), 4);
    for line in errors {
        assert_eq!(line["level"], "error");
        assert!(line["retryInMs"].is_u64() && line["retryAttempt"].is_u64() && line["maxRetries"].is_u64());
        assert!(line["error"].is_object() && line["parentUuid"].is_string());
    }
}

// [SDK-163]
#[test]
fn nothing_unasked_is_said() {
    let server = ModelServer::script([ScriptedReply::tool("Glob", json!({"pattern": "*"})), ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let known = ["system/init", "assistant", "user", "result/success"];
    for kind in kinds(&stream(&sandbox, "go", &[])) {
        assert!(known.contains(&kind.as_str()), "{kind}");
    }
}

// [CLI-206] [TST-103] Usage that is reported again replaces, it does not add.
#[test]
fn repeated_usage_is_counted_once() {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::text("ok")]);
    let delta = |output: u64| {
        ScriptedEvent::json(
            &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                            "usage": {"output_tokens": output}}),
        )
    };
    let at = events.iter().position(|e| e.data.contains("message_delta")).unwrap();
    events.splice(at..=at, [delta(40), delta(70), delta(70)]);
    let server = ModelServer::script([ScriptedReply::sse(events)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let result = json(&sandbox, "hi", &["--model", "claude-haiku-4-5"]).expect_clean().json();
    assert_eq!(result["usage"]["output_tokens"], 70);
    let model = result["modelUsage"].as_object().unwrap().values().next().unwrap();
    assert_eq!(model["outputTokens"], 70);
}

// [CLI-21] A prompt that waited while a turn reached the turn limit becomes a separate turn.
#[test]
fn a_waiting_prompt_survives_the_turn_limit() {
    let call = || ScriptedReply::tool("Glob", json!({"pattern": "*"}));
    let server = ModelServer::script([call(), ScriptedReply::text("second")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--max-turns", "1"]).spawn();
    run.send_user("first");
    run.send_user("again");
    assert_eq!(run.wait_for("result")["subtype"], "error_max_turns");
    let second = run.wait_for("result");
    assert_eq!((&second["subtype"], &second["result"]), (&json!("success"), &json!("second")));
    run.close_stdin();
    drop(run.finish().expect_clean());
}

// [CLI-31] [CLI-32] [SDK-10] [TST-15] Which tools the request offers.
#[test]
fn the_tools_flag_chooses_what_is_offered() {
    let offered = |flags: &[&str]| {
        let server = ModelServer::script([ScriptedReply::text("ok")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let lines = stream(&sandbox, "hi", flags);
        let names = server.request(0).tool_names();
        let listed: Vec<String> = serde_json::from_value(lines[0]["tools"].clone()).unwrap();
        // The subagent tool keeps its old name in the listing.
        let named: Vec<String> =
            names.iter().map(|n| if n == "Agent" { "Task".to_owned() } else { n.clone() }).collect();
        assert_eq!(listed, named);
        names
    };
    let default = offered(&[]);
    assert!(["Bash", "Read", "Edit", "Write", "Glob", "Grep"].iter().all(|n| default.iter().any(|d| d == n)));
    assert_eq!(offered(&["--tools", "default"]), default);
    assert_eq!(offered(&["--tools", ""]), Vec::<String>::new());
    let mut two = offered(&["--tools", "Grep,Glob"]);
    two.sort();
    assert_eq!(two, ["Glob", "Grep"]);
}

// [TST-83] The lists a model is offered, through the engine: asked for by name, or switched by the environment.
#[test]
fn task_lists_are_offered_as_documented() {
    let offered = |model: &str, env: Option<(&str, &str)>, flags: &[&str]| {
        let server = ModelServer::script([ScriptedReply::text("ok")]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        if let Some((name, value)) = env {
            sandbox.set(name, value);
        }
        let all: Vec<&str> = ["--model", model].iter().chain(flags).copied().collect();
        stream(&sandbox, "hi", &all);
        let names = server.request(0).tool_names();
        (names.contains(&"TaskCreate".to_owned()), names.contains(&"TodoWrite".to_owned()))
    };
    assert_eq!(offered("claude-haiku-4-5", None, &[]), (true, false));
    assert_eq!(offered("claude-haiku-4-5", Some(("CLAUDE_CODE_ENABLE_TASKS", "0")), &[]), (false, true));
    assert_eq!(offered("claude-haiku-4-5", None, &["--allowedTools", "TodoWrite"]), (false, true));
}

// [SDK-15] [CLI-33] Settings from the command line: text, or a file beside the working directory, with or without BOM.
#[test]
fn settings_may_be_given_in_line_or_as_a_file() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("conf/with-bom.json", "\u{feff}{\"outputStyle\":\"from file\"}");
    let style = |given: &str| stream(&sandbox, "hi", &["--settings", given])[0]["output_style"].clone();
    assert_eq!(style("conf/with-bom.json"), "from file");
    assert_eq!(style(r#"{"outputStyle":"in line"}"#), "in line");
}

// [TST-105] [F-B2] A refusal is retried once, then retracted: the next request contains neither the prompt nor the
// answers. A fallback is used once.
#[test]
fn a_refusal_is_retracted_and_falls_back_once() {
    let refusal = || ScriptedReply::text("I can").stop_reason("refusal");
    let server = ModelServer::script([refusal(), refusal(), ScriptedReply::text("fine")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("FORBIDDEN");
    let refused = run.wait_for("result");
    assert_eq!((&refused["is_error"], &refused["stop_reason"]), (&json!(true), &json!("refusal")));
    assert_eq!(refused["terminal_reason"], "api_error");
    run.send_user("harmless");
    assert_eq!(run.wait_for("result")["result"], "fine");
    run.close_stdin();
    drop(run.finish().expect_clean());
    let text = server.request(2).all_text();
    assert!(!text.contains("I can") && !text.contains("FORBIDDEN") && text.contains("harmless"), "{text}");

    let server = ModelServer::with_handler(|request| match request.model() {
        "claude-haiku-4-5" => ScriptedReply::text("from the other"),
        _ => ScriptedReply::text("no").stop_reason("refusal"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let flags = ["--model", "claude-sonnet-4-5", "--fallback-model", "claude-haiku-4-5"];
    assert_eq!(stream(&sandbox, "hi", &flags).last().unwrap()["result"], "from the other");
    assert_eq!(server.requests().len(), 2);
}
