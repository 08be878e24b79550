//! The turn loop through the real binary: sequences of messages, results of calls, every way a turn ends.
#![allow(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

fn args<'a>(head: &[&'a str], tail: &[&'a str]) -> Vec<&'a str> {
    head.iter().chain(tail).copied().collect()
}

/// `type` or `type/subtype` of every line.
fn kinds(lines: &[Value]) -> Vec<String> {
    let kind = |l: &Value| match l["subtype"].as_str() {
        Some(subtype) => format!("{}/{subtype}", l["type"].as_str().unwrap()),
        None => l["type"].as_str().unwrap().to_owned(),
    };
    lines.iter().map(kind).collect()
}

fn stream(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> Vec<Value> {
    let all = args(&args(&["-p", prompt], &STREAM), more);
    sandbox.gimlet(&all).run().expect_clean().lines()
}

// [SDK-130] [SDK-132] [SDK-134] [CLI-8]
#[test]
fn a_plain_reply_is_init_assistant_result() {
    let server = ModelServer::script([ScriptedReply::text("Hello there.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "hi", &[]);
    assert_eq!(kinds(&lines), ["system/init", "assistant", "result/success"]);
    assert_eq!(lines[1]["message"]["stop_reason"], Value::Null);
    assert_eq!(lines[2]["result"], "Hello there.");
    assert_eq!(lines[2]["terminal_reason"], "completed");
    let on_disk = sandbox.transcript();
    let assistant = on_disk.iter().find(|l| l["type"] == "assistant").unwrap();
    assert_eq!(assistant["uuid"], lines[1]["uuid"]);
    assert_eq!(assistant["message"]["stop_reason"], "end_turn");
}

// [TST-1] [TST-2] [TST-3] [TST-8] [TST-156] [SDK-142]
#[test]
fn parallel_calls_answer_in_order_and_hang_on_their_own_lines() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::text("Looking."),
            ScriptedBlock::tool_with_id("toolu_a", "Read", &json!({"file_path": "a.txt"})),
            ScriptedBlock::tool_with_id("toolu_b", "Glob", &json!({"pattern": "*.txt"})),
        ]),
        ScriptedReply::text("Done."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "alpha\n");
    let lines = stream(&sandbox, "look", &[]);
    assert_eq!(
        kinds(&lines),
        ["system/init", "assistant", "assistant", "assistant", "user", "user", "assistant", "result/success"]
    );
    let request = server.request(1);
    let ids: Vec<Value> = request.tool_results().iter().map(|r| r["tool_use_id"].clone()).collect();
    assert_eq!(ids, ["toolu_a", "toolu_b"]);
    assert!(request.tool_results().iter().all(|r| r.get("is_error").is_none()));
    let on_disk = sandbox.transcript();
    let results: Vec<&Value> = on_disk.iter().filter(|l| l.get("toolUseResult").is_some()).collect();
    assert_eq!(results.len(), 2, "{on_disk:?}");
    for result in results {
        let parent = on_disk.iter().find(|l| l["uuid"] == result["parentUuid"]).unwrap();
        assert_eq!(parent["message"]["content"][0]["id"], result["message"]["content"][0]["tool_use_id"]);
        assert_eq!(result["sourceToolAssistantUUID"], parent["uuid"]);
        let told = lines.iter().find(|l| l["uuid"] == result["uuid"]).unwrap();
        assert_eq!(told["tool_use_result"], result["toolUseResult"]);
    }
}

// [TST-4]
#[test]
fn a_failed_call_is_an_error_string_and_the_turn_goes_on() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "missing.txt"})),
        ScriptedReply::tool("NoSuchTool", json!({})),
        ScriptedReply::tool("Read", json!({"limit": 3})),
        ScriptedReply::text("Sorry."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "try", &[]);
    let results: Vec<&Value> = lines.iter().filter(|l| l["type"] == "user").collect();
    assert_eq!(results.len(), 3, "{lines:?}");
    for line in results {
        assert!(line["tool_use_result"].as_str().unwrap().starts_with("Error: "), "{line}");
        assert_eq!(line["message"]["content"][0]["is_error"], true);
    }
    assert!(server.request(2).tool_results().last().unwrap()["content"].as_str().unwrap().contains("NoSuchTool"));
    assert!(server.request(3).tool_results().last().unwrap()["content"].as_str().unwrap().contains("file_path"));
}

// A denial: system/permission_denied comes before the result, which lists it; the exit code is 0.
#[test]
fn a_denied_call_is_told_listed_and_not_run() {
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "x.txt", "content": "x"})),
        ScriptedReply::text("I may not."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "write", &[]);
    assert_eq!(
        kinds(&lines),
        ["system/init", "assistant", "system/permission_denied", "user", "assistant", "result/success"]
    );
    assert_eq!(lines.last().unwrap()["permission_denials"][0]["tool_name"], "Write");
    let text = server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Claude requested permissions to "), "{text}");
    assert!(!sandbox.project().join("x.txt").exists());
}

#[test]
fn an_allow_rule_or_mode_lets_the_call_run() {
    for allow in [["--allowedTools", "Write"], ["--permission-mode", "acceptEdits"]] {
        let server = ModelServer::script([
            ScriptedReply::tool("Write", json!({"file_path": "x.txt", "content": "x"})),
            ScriptedReply::text("Written."),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let lines = stream(&sandbox, "write", &allow);
        assert_eq!(lines.last().unwrap()["permission_denials"], json!([]));
        assert_eq!(sandbox.read("x.txt"), "x");
    }
}

// [CLI-20] [SDK-146]
#[test]
fn max_turns_runs_the_last_calls_then_ends() {
    let server = ModelServer::with_handler(|_| ScriptedReply::tool("Glob", json!({"pattern": "*"})));
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&args(&args(&["-p", "go", "--max-turns", "2"], &STREAM), &[])).run().expect_code(1);
    let result = run.result();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(result["is_error"], true);
    assert_eq!(result["num_turns"], 3);
    assert_eq!(result["errors"], json!(["Reached maximum number of turns (2)"]));
    assert!(result.get("result").is_none());
    assert_eq!(server.requests().len(), 2);
    assert_eq!(kinds(&run.lines()).last().unwrap(), "result/error_max_turns");
    assert_eq!(run.lines().iter().filter(|l| l["type"] == "user").count(), 2);
}

// [CLI-22]
#[test]
fn the_budget_ends_the_turn_before_the_call_runs() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch ran"})).tokens(1_000_000, 1_000_000),
        ScriptedReply::text("never"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let all = args(&args(&["-p", "go", "--max-budget-usd", "0.01", "--allowedTools", "Bash"], &STREAM), &[]);
    let run = sandbox.gimlet(&all).run().expect_code(1);
    assert_eq!(kinds(&run.lines()), ["system/init", "assistant", "result/error_max_budget_usd"]);
    assert_eq!(run.result()["terminal_reason"], "budget_exhausted");
    assert!(!sandbox.project().join("ran").exists());
}

// [CLI-25] [SDK-147]
#[test]
fn structured_output_is_validated_and_ends_the_turn() {
    let server = ModelServer::script([
        ScriptedReply::tool("StructuredOutput", json!({"n": "three"})),
        ScriptedReply::tool("StructuredOutput", json!({"n": 3})),
        ScriptedReply::text("never asked"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let lines = stream(&sandbox, "n?", &["--json-schema", schema]);
    // [F-B2] The value is also the text of the result, and every call counts as a turn.
    let result = lines.last().unwrap();
    assert_eq!(result["structured_output"], json!({"n": 3}));
    assert_eq!((&result["result"], &result["num_turns"]), (&json!(r#"{"n":3}"#), &json!(3)));
    assert_eq!(server.requests().len(), 2);
    assert!(server.request(1).tool_results()[0]["content"].as_str().unwrap().contains("/n"));
}

// [CLI-27]
#[test]
fn structured_output_gives_up_after_its_retries() {
    let server = ModelServer::with_handler(|_| ScriptedReply::tool("StructuredOutput", json!({"n": "no"})));
    let sandbox = Sandbox::with_server(EXE, &server);
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let run = sandbox
        .gimlet(&["-p", "n?", "--output-format", "json", "--json-schema", schema])
        .env("MAX_STRUCTURED_OUTPUT_RETRIES", "2")
        .run()
        .expect_code(1);
    assert_eq!(run.json()["subtype"], "error_max_structured_output_retries");
    assert_eq!(server.requests().len(), 3);
}

// [TST-104]
#[test]
fn pause_turn_resends_without_a_user_message() {
    let server = ModelServer::script([
        ScriptedReply::text("Part one.").stop_reason("pause_turn"),
        ScriptedReply::text("Part two."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    assert_eq!(lines.last().unwrap()["result"], "Part two.");
    let roles: Vec<Value> = server.request(1).messages().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant"]);
}

// [TST-104] A call the output limit cut is discarded, and the model goes on.
#[test]
fn a_call_cut_by_the_output_limit_is_discarded() {
    let mut events = ScriptedReply::events(vec![
        ScriptedBlock::text("Writing."),
        ScriptedBlock::tool("Write", &json!({"file_path": "x"})),
    ]);
    let at = events.iter().position(|e| e.data.contains("input_json_delta")).unwrap();
    let cut =
        json!({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file_pa"}});
    events[at] = testkit::ScriptedEvent::json(&cut);
    for event in &mut events {
        event.data = event.data.replace("\"tool_use\",\"stop_sequence\"", "\"max_tokens\",\"stop_sequence\"");
    }
    let server = ModelServer::script([ScriptedReply::sse(events), ScriptedReply::text("Shorter now.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    assert_eq!(lines.last().unwrap()["result"], "Shorter now.");
    assert!(server.request(1).tool_uses().is_empty());
    assert!(server.request(1).tool_results().is_empty());
}

// [TST-115] [SDK-133] Thinking goes back unmodified.
#[test]
fn thinking_is_replayed_with_its_signature() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::thinking("Let me see.", "c2ln"),
            ScriptedBlock::tool("Glob", &json!({"pattern": "*"})),
        ]),
        ScriptedReply::text("Seen."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    let thinking = json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"});
    assert_eq!(lines.iter().find(|l| l["type"] == "assistant").unwrap()["message"]["content"][0], thinking);
    assert_eq!(server.request(1).messages()[1]["content"][0], thinking);
}

// [CLI-52] [TST-164] The partial answer is kept, the marker follows, the exit code is 0.
#[test]
fn sigint_keeps_the_partial_answer() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("one two three four").gate(&gate)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let all = args(&args(&["-p", "count", "--include-partial-messages"], &STREAM), &[]);
    let mut run = sandbox.gimlet(&all).spawn();
    gate.open_for(4);
    while !run.wait_for("stream_event")["event"]["delta"]["text"].is_string() {}
    run.interrupt();
    let done = run.finish_within(Duration::from_secs(10)).expect_code(1);
    let lines = done.lines();
    let tail: Vec<String> = kinds(&lines).split_off(lines.len() - 3);
    assert_eq!(tail, ["assistant", "user", "result/error_during_execution"]);
    assert_eq!(lines[lines.len() - 2]["message"]["content"][0]["text"], "[Request interrupted by user]");
    assert_eq!(done.result()["terminal_reason"], "aborted_streaming");
    assert!(done.result().get("result").is_none());
    assert!(sandbox.transcript().iter().any(|l| l["type"] == "assistant"));
}

// [SDK-139] [CLI-40] The assistant line stands between a block's last delta and its stop.
#[test]
fn partial_messages_keep_their_order() {
    let server = ModelServer::script([ScriptedReply::text("Hello you")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "hi", &["--include-partial-messages"]);
    let names: Vec<String> = lines
        .iter()
        .map(|l| l["event"]["type"].as_str().map_or_else(|| l["type"].as_str().unwrap().to_owned(), str::to_owned))
        .collect();
    let stop = names.iter().position(|n| n == "content_block_stop").unwrap();
    assert_eq!(names[stop - 1], "assistant");
    assert_eq!(names[stop - 2], "content_block_delta");
    assert_eq!(&names[stop + 1..], ["message_delta", "message_stop", "result"]);
    assert!(!names.iter().any(|n| n == "ping"));
}

// [SDK-148] [TST-103] Usage once per response; totals of the process over turns.
#[test]
fn usage_counts_each_response_once() {
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})).tokens(100, 10),
        ScriptedReply::text("one").tokens(200, 20),
        ScriptedReply::text("two").tokens(300, 30),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = sandbox.gimlet(&args(&STREAM, &["--input-format", "stream-json"])).stdin_open().spawn();
    run.send_user("first");
    let first = run.wait_for("result");
    run.send_user("second");
    let second = run.wait_for("result");
    run.close_stdin();
    drop(run.finish().expect_clean());
    assert_eq!(first["usage"]["input_tokens"], 300);
    assert_eq!(first["usage"]["output_tokens"], 30);
    assert_eq!(second["usage"]["input_tokens"], 300);
    assert_eq!(second["num_turns"], 1);
    let model = second["modelUsage"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!(model["inputTokens"], 600);
    assert_eq!(model["outputTokens"], 60);
    assert_eq!(second["result_index"], 1);
}

// [TST-113] Within a session, request n up to its moving cache marker begins request n+1.
#[test]
fn requests_grow_by_appending() {
    let mut left = 12;
    let server = ModelServer::with_handler(move |_| {
        left -= 1;
        match left {
            0 => ScriptedReply::text("done"),
            n if n % 3 == 0 => ScriptedReply::message(vec![
                ScriptedBlock::thinking("hm", "c2ln"),
                ScriptedBlock::tool("Glob", &json!({"pattern": format!("{n}*")})),
                ScriptedBlock::tool("Read", &json!({"file_path": "a.txt"})),
            ]),
            n => ScriptedReply::tool("Glob", json!({"pattern": format!("*{n}")})),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "a\n");
    sandbox.write("CLAUDE.md", "Use tabs.\n");
    stream(&sandbox, "go", &[]);
    let requests = server.requests();
    assert_eq!(requests.len(), 12);
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    for pair in requests.windows(2) {
        let (earlier, later) = (&pair[0].body, &pair[1].body);
        let moving = earlier.windows(marker.len()).rposition(|w| w == marker).unwrap();
        assert!(later.starts_with(&earlier[..moving]), "the prefix of a request changed");
        let marks = later.windows(13).filter(|w| w == b"cache_control").count();
        assert!(marks <= 4, "{marks} cache markers");
    }
    assert!(requests[0].all_text().contains("Use tabs."));
}

// [CLI-124] Neither a changed mode nor a loaded skill changes what was sent before.
#[test]
fn modes_and_skills_leave_the_prefix_alone() {
    let mut count = 0;
    let server = ModelServer::with_handler(move |_| {
        count += 1;
        match count {
            2 => ScriptedReply::tool("Skill", json!({"skill": "tidy"})),
            n => ScriptedReply::text(format!("answer {n}")),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Use tabs.\n");
    sandbox.write_config("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nTidy up now.\n");
    let mut run = sandbox.gimlet(&args(&STREAM, &["--input-format", "stream-json"])).stdin_open().spawn();
    let mut modes = ["acceptEdits", "plan", "default", "dontAsk", "default"].iter();
    for prompt in ["one", "two", "three", "/tidy please", "five", "six"] {
        run.send_user(prompt);
        run.wait_for("result");
        if let Some(mode) = modes.next() {
            let request = json!({"subtype": "set_permission_mode", "mode": mode});
            run.send_json(&json!({"type": "control_request", "request_id": mode, "request": request}));
            run.wait_for("control_response");
        }
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 7);
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    for pair in requests.windows(2) {
        let (earlier, later) = (&pair[0].body, &pair[1].body);
        let moving = earlier.windows(marker.len()).rposition(|w| w == marker).unwrap();
        assert!(later.starts_with(&earlier[..moving]), "the prefix of a request changed");
    }
    let last = requests[6].all_text();
    assert!(last.contains("Tidy up now.") && last.to_lowercase().contains("plan mode"), "{last}");
}

// [TST-100]
#[test]
fn requests_carry_path_version_session_and_our_own_name() {
    let server = ModelServer::script([ScriptedReply::text("hi")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "hi", &[]);
    let request = server.request(0);
    assert_eq!((request.path.as_str(), request.query.as_deref()), ("/v1/messages", Some("beta=true")));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("x-claude-code-session-id"), lines[0]["session_id"].as_str());
    assert!(request.header("user-agent").unwrap().starts_with("gimlet/"));
}

// [TST-120] [CLI-49]
#[test]
fn an_overloaded_model_is_replaced_for_the_turn_only() {
    let server = ModelServer::with_handler(|request| match request.model() {
        "claude-sonnet-4-5" => ScriptedReply::error(404, "not_found_error", "model: claude-sonnet-4-5"),
        _ => ScriptedReply::text("from the other"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let flags = ["--model", "claude-sonnet-4-5", "--fallback-model", "claude-haiku-4-5"];
    let mut run =
        sandbox.gimlet(&args(&args(&STREAM, &["--input-format", "stream-json"]), &flags)).stdin_open().spawn();
    for _ in 0..2 {
        run.send_user("hi");
        assert_eq!(run.wait_for("result")["result"], "from the other");
    }
    run.close_stdin();
    drop(run.finish().expect_clean());
    let asked: Vec<String> = server.requests().iter().map(|r| r.model().to_owned()).collect();
    assert_eq!(asked, ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"]);
}

// [TST-7] [MX-20] Later calls that change something are not run; those that only read are.
#[test]
fn a_failing_command_takes_its_later_siblings_with_it() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool_with_id("toolu_1", "Read", &json!({"file_path": "missing"})),
            ScriptedBlock::tool_with_id("toolu_2", "Bash", &json!({"command": "exit 3"})),
            ScriptedBlock::tool_with_id("toolu_3", "Bash", &json!({"command": "touch ran"})),
            ScriptedBlock::tool_with_id("toolu_4", "Read", &json!({"file_path": "there"})),
        ]),
        ScriptedReply::text("ok"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("there", "alpha\n");
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let request = server.request(1);
    assert!(request.tool_result_text("toolu_2").starts_with("Exit code 3"));
    assert!(request.tool_result_text("toolu_3").starts_with("Not run"));
    assert!(request.tool_result_text("toolu_4").contains("alpha"));
    assert!(!sandbox.project().join("ran").exists());
}

// [TST-10] [TST-11] Large results are spilled once and stay the same on later turns and after resume.
#[test]
fn a_large_result_is_spilled_and_replayed_identically() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "head -c 60000 /dev/zero | tr '\\0' x"})),
        ScriptedReply::text("big"),
        ScriptedReply::text("again"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let session = lines[0]["session_id"].as_str().unwrap();
    stream(&sandbox, "more", &["--resume", session]);
    let first = server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(first.starts_with("<persisted-output>"), "{}", &first[..60]);
    let path = first.split("Full output saved to: ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 60000);
    assert!(path.contains("tool-results"));
    assert_eq!(server.request(2).tool_results()[0]["content"].as_str().unwrap(), first);
}

// [TST-177] [CLI-16] [SDK-176]
#[test]
fn resume_appends_and_fork_leaves_the_source_alone() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = stream(&sandbox, "one", &[])[0]["session_id"].as_str().unwrap().to_owned();
    let resumed = stream(&sandbox, "two", &["--resume", &id]);
    assert_eq!(resumed[0]["session_id"], id.as_str());
    assert_eq!(sandbox.transcript_paths().len(), 1);
    let before = std::fs::read(&sandbox.transcript_paths()[0]).unwrap();
    let forked = stream(&sandbox, "three", &["--resume", &id, "--fork-session"]);
    assert_ne!(forked[0]["session_id"], id.as_str());
    let source = sandbox.transcript_paths().into_iter().find(|p| p.display().to_string().contains(&id)).unwrap();
    assert_eq!(std::fs::read(source).unwrap(), before);
    let texts = server.request(2).all_text();
    assert!(texts.contains("one") && texts.contains("two") && texts.contains("three"), "{texts}");
}

// A resumed request starts with the bytes of the last one of the earlier process.
#[test]
fn a_resumed_request_extends_the_last_one() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::thinking("t", "c2ln"),
            ScriptedBlock::tool("Glob", &json!({"pattern": "*"})),
        ]),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    let id = stream(&sandbox, "first", &[])[0]["session_id"].as_str().unwrap().to_owned();
    stream(&sandbox, "second", &["--resume", &id]);
    let (earlier, later) = (server.request(1).body, server.request(2).body);
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    let moving = earlier.windows(marker.len()).rposition(|w| w == marker).unwrap();
    assert!(later.starts_with(&earlier[..moving]));
}

// [SDK-136]
#[test]
fn without_credentials_the_result_says_how_to_get_going() {
    let sandbox = Sandbox::new(EXE);
    let run = sandbox.gimlet(&["-p", "hi", "--output-format", "json"]).env_remove("ANTHROPIC_API_KEY").run();
    let result = run.expect_code(1).json();
    let text = result["result"].as_str().unwrap();
    assert!(text.contains("Please run /login") && text.contains("gimlet demo"), "{text}");
    assert_eq!(result["is_error"], true);
}

// A context that is full ends the turn with the documented reason, and the session can still be resumed.
#[test]
fn a_full_context_names_the_ways_on() {
    let server = ModelServer::script([
        ScriptedReply::error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        ScriptedReply::text("short again"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&args(&args(&["-p", "big"], &STREAM), &[])).run().expect_code(1);
    let result = run.result();
    assert_eq!(result["terminal_reason"], "prompt_too_long");
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    let id = result["session_id"].as_str().unwrap();
    assert_eq!(stream(&sandbox, "smaller", &["--resume", id]).last().unwrap()["result"], "short again");
}
