//! Keys that programs expect in the stream or in the transcript.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::mcp::{config, scene};
use crate::common::{EXE, answer, asked, host, of_kind, print, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

fn played(replies: impl IntoIterator<Item = ScriptedReply>) -> (ModelServer, Sandbox) {
    let server = ModelServer::script(replies);
    let sandbox = Sandbox::with_server(EXE, &server);
    (server, sandbox)
}

fn ask(running: &mut RunningGimlet, request: &Value) -> Value {
    running.send_json(&json!({"type": "control_request", "request_id": "c", "request": request}));
    running.wait_for("control_response")["response"].clone()
}

/// The next `system` line of this subtype.
fn told(running: &mut RunningGimlet, subtype: &str) -> Value {
    loop {
        let line = running.wait_for("system");
        if line["subtype"] == subtype {
            return line;
        }
    }
}

/// The transcript's lines of one type.
fn stored(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    sandbox.transcript().into_iter().filter(|line| line["type"] == kind).collect()
}

fn attachments(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let all = stored(sandbox, "attachment").into_iter().map(|line| line["attachment"].clone());
    all.filter(|attachment| attachment["type"] == kind).collect()
}

fn has_number(value: &Value) -> bool {
    value.as_u64().is_some()
}

// [F-B5] Extra fields of the API's usage are passed on: unchanged on the stream, in their final form in the transcript
// and in the result.
#[test]
fn what_the_api_adds_to_an_answer_is_kept() {
    let start =
        json!({"input_tokens": 5, "output_tokens": 1, "speed": "standard", "inference_geo": "eu", "new_key": 7});
    let last = json!({"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4},
        "iterations": [{"type": "message", "output_tokens": 9}]});
    let (_server, sandbox) = played([ScriptedReply::text("hello").usage(start, last)]);
    let lines = stream(&sandbox, "hi", &[]);
    let said = &of_kind(&lines, "assistant")[0]["message"];
    assert_eq!((&said["usage"]["inference_geo"], &said["usage"]["new_key"]), (&json!("eu"), &json!(7)), "{said}");
    assert_eq!(said.get("context_management"), Some(&Value::Null), "{said}");
    let kept = &stored(&sandbox, "assistant")[0]["message"];
    for usage in [&kept["usage"], &of_kind(&lines, "result")[0]["usage"]] {
        assert_eq!(usage["iterations"][0]["output_tokens"], 9, "{usage}");
        assert_eq!((&usage["speed"], &usage["inference_geo"]), (&json!("standard"), &json!("eu")), "{usage}");
        assert_eq!((&usage["new_key"], &usage["output_tokens_details"]["thinking_tokens"]), (&json!(7), &json!(4)));
    }
    assert_eq!(kept.get("context_management"), Some(&Value::Null), "{kept}");
}

// [F-B5] The transcript contains `context_management` of the last event.
#[test]
fn what_the_api_edited_is_recorded() {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::text("hello")]);
    let edits = json!({"applied_edits": [{"type": "clear_thinking_20251015"}]});
    let at = events.len() - 2;
    events[at] = testkit::ScriptedEvent::json(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 3}, "context_management": edits}));
    let (_server, sandbox) = played([ScriptedReply::sse(events)]);
    stream(&sandbox, "hi", &[]);
    assert_eq!(stored(&sandbox, "assistant")[0]["message"]["context_management"], edits);
}

// [F-B5] Messages record how long the model thought, how calls are displayed, and their block and request.
#[test]
fn messages_of_the_model_say_how_they_came() {
    let blocks = vec![
        ScriptedBlock::thinking("hm", "s1"),
        ScriptedBlock::tool_with_id("toolu_1", "Bash", &json!({"command": "echo x"})),
    ];
    let (_server, sandbox) = played([ScriptedReply::message(blocks), ScriptedReply::text("done")]);
    let flags = ["--allowedTools", "Bash", "--thinking-display", "summarized", "--model", "claude-sonnet-5-5"];
    let lines = stream(&sandbox, "hi", &flags);
    let said = of_kind(&lines, "assistant");
    assert!(has_number(&said[0]["thinking_duration_ms"]), "{}", said[0]);
    assert_eq!(said[0]["thinking_display"], "summarized", "{}", said[0]);
    assert!(said[2].get("thinking_duration_ms").is_none() && said[2].get("tool_use_meta").is_none(), "{}", said[2]);
    let meta = json!([{"id": "toolu_1", "tool_name": "Bash", "display_name": "Bash"}]);
    assert_eq!(said[1]["tool_use_meta"], meta);
    let kept = stored(&sandbox, "assistant");
    let indices: Vec<&Value> = kept.iter().map(|line| &line["apiBlockIndex"]).collect();
    assert_eq!(indices, [0, 1, 0]);
    assert_eq!(kept[0]["requestedModel"], "claude-sonnet-5-5");
    assert!(has_number(&kept[0]["thinkingDurationMs"]) && kept[1].get("thinkingDurationMs").is_none());
}

// [F-B5] A call of a server's tool has a display name, and its lines name the server and the tool.
#[test]
fn calls_of_servers_are_attributed() {
    let (_server, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__echo", json!({"text": "hi"})),
        ScriptedReply::tool("mcp__fix__structured", json!({})),
        ScriptedReply::text("done"),
    ]);
    let lines = stream(&sandbox, "hi", &["--mcp-config", &config(&[]), "--allowedTools", "mcp__fix"]);
    let meta = &of_kind(&lines, "assistant")[0]["tool_use_meta"][0];
    assert_eq!((&meta["display_name"], &meta["server_display_name"]), (&json!("Echo"), &json!("fix")), "{meta}");
    let call = &stored(&sandbox, "assistant")[0];
    assert_eq!((&call["attributionMcpServer"], &call["attributionMcpTool"]), (&json!("fix"), &json!("echo")), "{call}");
    let results = stored(&sandbox, "user");
    assert!(results[1].get("mcpMeta").is_none(), "{}", results[1]);
    let beside = json!({"_meta": {"trace": "t1"}, "structuredContent": {"answer": 42}});
    assert_eq!(results[2]["mcpMeta"], beside, "{}", results[2]);
}

// [F-B5] The error has the type that the API gave it.
#[test]
fn an_api_error_has_its_type() {
    let (_server, sandbox) = played([ScriptedReply::error(400, "invalid_request_error", "no")]);
    let lines = print(&sandbox, "hi", &[]).run().expect_code(1).lines();
    assert_eq!(of_kind(&lines, "assistant")[0]["api_error_type"], "invalid_request_error");
    assert_eq!(of_kind(&lines, "result")[0]["api_error_type"], "invalid_request_error");
}

// [F-B5] Results record who allowed a call, or why it did not run: on the stream and in the transcript.
#[test]
fn results_say_who_decided() {
    let call = |id: &str, command: &str| ScriptedBlock::tool_with_id(id, "Bash", &json!({"command": command}));
    let calls = [call("a", "echo 1"), call("b", "touch made"), call("c", "touch other"), call("d", "rm gone")];
    let mut script: Vec<ScriptedReply> = calls.into_iter().map(|call| ScriptedReply::message(vec![call])).collect();
    script.push(ScriptedReply::text("done"));
    let (_server, sandbox) = played(script);
    let mut running = asked(&sandbox, &["--disallowedTools", "Bash(rm *)"]);
    let question = running.wait_for("control_request");
    answer(&mut running, &question, &json!({"behavior": "allow", "updatedInput": {"command": "touch made"}}));
    let question = running.wait_for("control_request");
    answer(&mut running, &question, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
    let marks: Vec<(Value, Value)> = stored(&sandbox, "user")
        .into_iter()
        .filter(|line| line["toolUseResult"] != Value::Null)
        .map(|line| (line["permissionDecision"].clone(), line["toolDenialKind"].clone()))
        .collect();
    let decided = |decision: &str, source: &str| json!({"decision": decision, "source": source});
    let with = |mut decided: Value, reason: &str| {
        decided["reasonType"] = json!(reason);
        decided
    };
    assert_eq!(
        marks,
        [
            (with(decided("accept", "config"), "other"), Value::Null),
            (decided("accept", "user_temporary"), Value::Null),
            (decided("reject", "user_reject"), json!("user-rejected")),
            (with(decided("reject", "config"), "rule"), json!("permission-rule")),
        ]
    );
}

// [F-B5] The same on the stream; a hook that refuses is named as such.
#[test]
fn the_stream_says_who_decided() {
    let script = || {
        let call = |id: &str, command: &str| ScriptedBlock::tool_with_id(id, "Bash", &json!({"command": command}));
        [
            ScriptedReply::message(vec![call("a", "echo 1")]),
            ScriptedReply::message(vec![call("b", "echo 2")]),
            ScriptedReply::text("done"),
        ]
    };
    let (_server, sandbox) = played(script());
    let lines = stream(&sandbox, "hi", &["--disallowedTools", "Bash(echo 2)"]);
    let metas: Vec<&Value> = of_kind(&lines, "user").iter().map(|line| &line["tool_result_meta"][0]).collect();
    let allowed = json!({"decision": "accept", "source": "config", "reason_type": "other"});
    assert_eq!((&metas[0]["id"], &metas[0]["permission_decision"]), (&json!("a"), &allowed));
    assert_eq!(metas[1]["permission_decision"]["reason_type"], "rule");
    assert_eq!(metas[1]["non_execution_kind"], "permission-rule");
    let (_server, sandbox) = played(script());
    let hook = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"PreToolUse": hook}}).to_string());
    let lines = stream(&sandbox, "hi", &[]);
    let meta = &of_kind(&lines, "user")[0]["tool_result_meta"][0];
    assert_eq!(meta["permission_decision"], json!({"decision": "reject", "source": "hook", "reason_type": "hook"}));
}

// [F-B5] Events name their response, the first one has the time it took to arrive, and one that replaces another names
// what it replaces.
#[test]
fn events_name_their_answer() {
    let text = "the same words again and again";
    let broken = ScriptedReply::text(text).message_id("msg_broken").cut_after_events(4).cut_by_reset();
    let (_server, sandbox) = played([broken, ScriptedReply::text(text).message_id("msg_whole")]);
    let flags = ["--include-partial-messages", "--thinking-display", "omitted"];
    let lines = print(&sandbox, "hi", &flags).env("CLAUDE_CODE_MAX_RETRIES", "2").run().expect_clean().lines();
    let events = of_kind(&lines, "stream_event");
    let firsts: Vec<&&Value> = events.iter().filter(|line| line["event"]["type"] == "message_start").collect();
    assert_eq!(firsts.len(), 2, "{events:?}");
    assert!(events.iter().all(|line| line["api_message_id"].is_string()));
    assert_eq!(firsts[1]["api_message_id"], "msg_whole");
    assert!(firsts.iter().all(|line| has_number(&line["ttft_ms"])), "{firsts:?}");
    assert_eq!(events.iter().filter(|line| line.get("ttft_ms").is_some()).count(), 2);
    assert!(firsts[0].get("abandoned_blocks").is_none());
    assert_eq!(firsts[1]["abandoned_blocks"], json!({"api_message_id": "msg_broken", "from_block_index": 0}));
}

// [F-B5] A result reports what was spent since the previous one, start times, and the outcome of agents.
#[test]
fn a_result_tells_what_is_new_in_it() {
    let (_server, sandbox) =
        played([ScriptedReply::text("one").tokens(10, 3), ScriptedReply::text("two").tokens(20, 4)]);
    let mut running = host(&sandbox, &[]).spawn();
    running.send_user("one");
    let first = running.wait_for("result");
    running.send_user("two");
    let second = running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
    for (result, all, new) in [(&first, 10, 10), (&second, 30, 20)] {
        let row = |key: &str| result[key].as_object().unwrap().values().next().unwrap().clone();
        assert_eq!(
            (row("modelUsage")["inputTokens"].clone(), row("model_usage_since_last_result")["inputTokens"].clone()),
            (json!(all), json!(new))
        );
        let cached = ["cacheCreationEphemeral5mInputTokens", "cacheCreationEphemeral1hInputTokens"];
        for key in ["canonicalModel", "provider", "costBasis", "thinkingTokens"].into_iter().chain(cached) {
            assert!(row("modelUsage").get(key).is_some(), "{key}");
        }
        for key in ["ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms"] {
            assert!(has_number(&result[key]), "{key}: {result}");
        }
    }
    let none = json!({"requested": {"foreground": 0, "background": 0, "unset": 0}, "spawned": 0, "started_in_background": 0,
        "completed": 0, "failed": 0, "killed": {"user": 0, "parent": 0, "system": 0},
        "refused": {"budget": 0, "concurrency_limit": 0, "depth_limit": 0}, "by_type": {}, "max_depth": 0,
        "spawned_by_subagents": 0});
    assert_eq!(second["subagent_stats"], none);
    let (_server, sandbox) = played([ScriptedReply::text("one")]);
    let alone = crate::common::json(&sandbox, "hi", &[]).json();
    assert!(alone.get("model_usage_since_last_result").is_none(), "{alone}");
}

fn agents(
    main: Vec<ScriptedReply>,
    mut agent: impl FnMut() -> ScriptedReply + Send + 'static,
) -> (ModelServer, Sandbox) {
    let mut main = main.into_iter();
    let server =
        ModelServer::with_handler(move |request: &CapturedRequest| match request.header("x-claude-code-agent-id") {
            Some(_) => agent(),
            None => main.next().unwrap_or_else(|| ScriptedReply::text("nothing more")),
        });
    let sandbox = Sandbox::with_server(EXE, &server);
    (server, sandbox)
}

// [F-B5] Agents are counted; the last text of a background agent is reported, and its lines name its type.
#[test]
fn agents_are_counted_and_heard() {
    let call = |id: &str, background: bool| {
        let input = json!({"description": "d", "prompt": "p", "run_in_background": background});
        ScriptedBlock::tool_with_id(id, "Agent", &input)
    };
    let main = vec![
        ScriptedReply::message(vec![call("front", false)]),
        ScriptedReply::message(vec![call("back", true)]),
        ScriptedReply::text("waiting"),
        ScriptedReply::text("heard"),
    ];
    let (_server, sandbox) = agents(main, || ScriptedReply::text("the agent's report"));
    let lines = stream(&sandbox, "go", &[]);
    let stats = &of_kind(&lines, "result").last().unwrap()["subagent_stats"];
    assert_eq!(stats["requested"], json!({"foreground": 1, "background": 1, "unset": 0}), "{stats}");
    assert_eq!(
        (&stats["spawned"], &stats["completed"], &stats["started_in_background"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!((&stats["by_type"], &stats["max_depth"]), (&json!({"general-purpose": 2}), &json!(1)));
    let heard: Vec<&Value> = of_kind(&lines, "assistant")
        .into_iter()
        .filter(|line| line["message"]["content"][0]["text"] == "the agent's report")
        .collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        (&heard[0]["parent_tool_use_id"], &heard[0]["subagent_type"]),
        (&json!("back"), &json!("general-purpose"))
    );
    let dir =
        sandbox.transcript_paths().into_iter().find(|path| !path.to_string_lossy().contains("subagents")).unwrap();
    let files = std::fs::read_dir(dir.with_extension("").join("subagents")).unwrap().map(|file| file.unwrap().path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let lines = testkit::stream_lines(&std::fs::read_to_string(file).unwrap());
    let said = lines.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(said["attributionAgent"], "general-purpose", "{said}");
}

// [F-B5] `system/init` names directories, commands that need a terminal, and only skills that the model may use.
#[test]
fn init_says_where_and_with_what() {
    let (_server, sandbox) = played([ScriptedReply::text("hello")]);
    sandbox.write(".claude/skills/open/SKILL.md", "---\nname: open\ndescription: for all\n---\nbody");
    let closed = "---\nname: closed\ndescription: typed only\ndisable-model-invocation: true\n---\nbody";
    sandbox.write(".claude/skills/closed/SKILL.md", closed);
    sandbox.write(".claude/commands/deploy/web.md", "Deploy the site");
    let extra = sandbox.root().join("extra");
    std::fs::create_dir(&extra).unwrap();
    let lines = stream(&sandbox, "hi", &["--add-dir", extra.to_str().unwrap()]);
    let init = &of_kind(&lines, "system/init")[0];
    assert_eq!(init["original_cwd"], init["cwd"]);
    assert_eq!(init["additional_directories"], json!([extra]));
    assert!(init["memory_paths"]["auto"].as_str().unwrap().contains("memory"), "{init}");
    let names = |key: &str| -> Vec<String> { serde_json::from_value(init[key].clone()).unwrap() };
    assert!(names("terminal_slash_commands").contains(&"resume".to_owned()));
    assert!(!names("slash_commands").contains(&"resume".to_owned()));
    assert!(names("skills").contains(&"open".to_owned()) && !names("skills").contains(&"closed".to_owned()), "{init}");
    assert!(names("skills").contains(&"deploy:web".to_owned()), "{init}");
    assert!(names("slash_commands").contains(&"closed".to_owned()), "{init}");
    let (_server, sandbox) = played([ScriptedReply::text("hello")]);
    let off = print(&sandbox, "hi", &[]).env("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1").run().expect_clean().lines();
    assert!(of_kind(&off, "system/init")[0].get("memory_paths").is_none());
}

// [F-B5] A title is reported when it takes effect, wherever it came from, and is recorded for readers and peers.
#[test]
fn a_title_is_told() {
    let (_server, sandbox) = played([ScriptedReply::text("hello")]);
    let mut running = host(&sandbox, &["--name", "first name"]).spawn();
    running.send_user("hi");
    assert_eq!(told(&mut running, "session_title_changed")["title"], "first name");
    running.wait_for("result");
    assert_eq!(ask(&mut running, &json!({"subtype": "rename_session", "title": "second"}))["subtype"], "success");
    assert_eq!(told(&mut running, "session_title_changed")["title"], "second");
    running.send_user("/rename third");
    assert_eq!(told(&mut running, "session_title_changed")["title"], "third");
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_clean();
    let names: Vec<Value> = stored(&sandbox, "agent-name").into_iter().map(|line| line["agentName"].clone()).collect();
    assert!(["first name", "second", "third"].iter().all(|name| names.contains(&json!(name))), "{names:?}");
    assert_eq!(stored(&sandbox, "mode")[0]["mode"], "normal");
}

// [F-B5] A Stop hook that keeps the turn going: a notification, and its feedback as a message.
#[test]
fn a_stop_hook_that_objects_is_told() {
    let (_server, sandbox) = played([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let once = "test -e once && exit 0; touch once; echo 'run the tests' >&2; exit 2";
    let hook = json!([{"hooks": [{"type": "command", "command": once}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"Stop": hook}}).to_string());
    let lines = stream(&sandbox, "hi", &[]);
    let told = of_kind(&lines, "system/notification");
    assert!(told[0]["text"].as_str().unwrap().contains("run the tests"), "{told:?}");
    assert_eq!((&told[0]["key"], &told[0]["priority"]), (&json!("stop-hook-blocked"), &json!("low")));
    let said = of_kind(&lines, "user");
    assert!(said[0]["message"].to_string().contains("run the tests") && said[0]["isSynthetic"] == true, "{said:?}");
}

// [F-B5] An answer that reached the output limit is continued by a message that everybody sees.
#[test]
fn the_output_limit_is_told() {
    let (_server, sandbox) =
        played([ScriptedReply::text("half").stop_reason("max_tokens"), ScriptedReply::text("rest")]);
    let lines = stream(&sandbox, "hi", &[]);
    let said = of_kind(&lines, "user");
    assert_eq!((said.len(), &said[0]["isSynthetic"]), (1, &json!(true)), "{said:?}");
}

// [F-B5] Commands that come while a session runs replace the list that the host has.
#[test]
fn changed_commands_are_told() {
    let (_server, sandbox) = played([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let mut running = host(&sandbox, &[]).spawn();
    assert_eq!(ask(&mut running, &json!({"subtype": "initialize"}))["subtype"], "success");
    running.send_user("hi");
    running.wait_for("result");
    sandbox.write(".claude/commands/later.md", "Do it later");
    running.send_user("hi");
    let changed = told(&mut running, "commands_changed");
    let has = |name: &str| changed["commands"].as_array().unwrap().iter().any(|command| command["name"] == name);
    assert!(has("later") && has("compact"), "{changed}");
    running.close_stdin();
    running.finish().expect_clean();
}

// [F-B5] Requests of a host are answered with the effective value; stopping an ended task succeeds.
#[test]
fn requests_are_answered_with_what_holds() {
    let (_server, sandbox) = played([]);
    let mut running = host(&sandbox, &["--model", "claude-sonnet-5-5"]).spawn();
    let greeted = ask(&mut running, &json!({"subtype": "initialize"}));
    assert_eq!(greeted["response"]["account"]["apiProvider"], "firstParty", "{greeted}");
    let said = ask(&mut running, &json!({"subtype": "set_model", "model": "claude-haiku-5-5"}));
    assert_eq!(said["response"]["model"], "claude-haiku-5-5", "{said}");
    let said = ask(&mut running, &json!({"subtype": "set_model", "model": "default"}));
    assert_eq!(said["response"]["model"], "claude-sonnet-5-5", "{said}");
    assert_eq!(ask(&mut running, &json!({"subtype": "stop_task", "task_id": "gone"}))["subtype"], "success");
    running.close_stdin();
    running.finish().expect_clean();
    let by_token = host(&sandbox, &[]).env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "t");
    let mut running = by_token.spawn();
    let greeted = ask(&mut running, &json!({"subtype": "initialize"}));
    let account = &greeted["response"]["account"];
    assert_eq!(
        (&account["tokenSource"], &account["apiProvider"]),
        (&json!("CLAUDE_CODE_OAUTH_TOKEN"), &json!("firstParty"))
    );
    running.close_stdin();
    running.finish().expect_clean();
}

// [F-B5] `auth status` shows the source of the key and the directories.
#[test]
fn auth_status_says_where() {
    let (_server, sandbox) = played([]);
    let status = sandbox.gimlet(&["auth", "status", "--json"]).run().expect_code(0).json();
    assert_eq!(status["apiKeySource"], "ANTHROPIC_API_KEY", "{status}");
    assert_eq!(status["configDirectory"], json!(sandbox.config_dir()));
    assert_eq!(status["projectsDirectory"], json!(sandbox.config_dir().join("projects")));
    assert_eq!(status["analyticsDisabled"], true);
    let token = sandbox.gimlet(&["auth", "status", "--json"]).env_remove("ANTHROPIC_API_KEY");
    let status = token.env("CLAUDE_CODE_OAUTH_TOKEN", "t").run().expect_code(0).json();
    assert_eq!((&status["authMethod"], &status["apiKeySource"]), (&json!("oauth_token"), &json!("none")), "{status}");
}

// [F-B5] The status line command gets the state of the provider's cache.
#[test]
fn the_status_line_learns_of_the_cache() {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output_tokens": 1});
    let (_server, sandbox) = played([ScriptedReply::text("hello").usage(usage, json!({"output_tokens": 2}))]);
    let line = json!({"type": "command", "command": "cat > status.json; echo ok"});
    sandbox.write_config("settings.json", json!({"statusLine": line}).to_string());
    let mut running = host(&sandbox, &[]).spawn();
    running.send_user("hi");
    running.wait_for("result");
    let said = ask(&mut running, &json!({"subtype": "x_status_line", "columns": 80, "rows": 24}));
    assert_eq!(said["subtype"], "success", "{said}");
    running.close_stdin();
    running.finish().expect_clean();
    let input: Value = serde_json::from_str(&sandbox.read("status.json")).unwrap();
    let cache = &input["prompt_cache"];
    assert_eq!((&cache["ttl"], &cache["hit_percentage"], &cache["warm"]), (&json!("5m"), &json!(80), &json!(true)));
    assert!(cache["expires_at"].as_u64().unwrap() > 1_700_000_000, "{cache}");
}

// [F-B5] A prompt records its position, also after the session was resumed.
#[test]
fn prompts_say_where_they_stand() {
    let (_server, sandbox) = played([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    stream(&sandbox, "first", &[]);
    stream(&sandbox, "second", &["--continue"]);
    let positions: Vec<Value> = stored(&sandbox, "user").iter().map(|line| line["turnPosition"].clone()).collect();
    let at = |n: u64| json!({"promptIndex": n, "turnIndex": n});
    assert_eq!(positions, [at(0), at(1)]);
    assert!(stored(&sandbox, "user").iter().all(|line| line["turnOrigin"] == "sdk"));
}

// [F-B5] The transcript records hooks that ran, for programs that show them; no request contains them.
#[test]
fn hooks_that_ran_are_recorded() {
    let script = [
        ScriptedReply::tool("Bash", json!({"command": "echo x"})),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ];
    let (server, sandbox) = played(script);
    let run = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks = json!({
        "UserPromptSubmit": run("echo '{\"systemMessage\": \"for the user\"}'"),
        "PostToolUse": run("echo secretly; exit 0"),
        "PreToolUse": run("echo broken >&2; exit 1"),
    });
    sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
    print(&sandbox, "hi", &[]).run().expect_code(0);
    let ran = attachments(&sandbox, "hook_success");
    let after = ran.iter().find(|line| line["hookEvent"] == "PostToolUse").unwrap();
    assert_eq!((&after["stdout"], &after["exitCode"]), (&json!("secretly\n"), &json!(0)), "{after}");
    assert!(has_number(&after["durationMs"]) && after["command"] == "echo secretly; exit 0", "{after}");
    assert_eq!(after["hookName"], "PostToolUse:Bash");
    let failed = attachments(&sandbox, "hook_non_blocking_error");
    assert_eq!(
        (&failed[0]["hookEvent"], &failed[0]["stderr"]),
        (&json!("PreToolUse"), &json!("broken\n")),
        "{failed:?}"
    );
    assert_eq!(attachments(&sandbox, "hook_system_message")[0]["content"], "for the user");
    assert_eq!(stored(&sandbox, "user")[0]["parentUuid"], Value::Null);
    stream(&sandbox, "again", &["--continue"]);
    let sent = server.requests().last().unwrap().all_text();
    assert!(sent.contains("one") && !sent.contains("secretly") && !sent.contains("for the user"), "{sent}");
}

// [F-B5] Reaching the turn limit is recorded.
#[test]
fn reached_limits_leave_a_line() {
    let (_server, sandbox) = played([ScriptedReply::tool("Bash", json!({"command": "echo x"}))]);
    print(&sandbox, "hi", &["--max-turns", "1"]).run().expect_code(1);
    let line = &attachments(&sandbox, "max_turns_reached")[0];
    assert_eq!((&line["maxTurns"], &line["turnCount"]), (&json!(1), &json!(2)), "{line}");
}

// [F-B5] An answer that the user interrupted is marked.
#[test]
fn a_broken_off_answer_is_marked() {
    let (server, sandbox) = played([ScriptedReply::text("a long answer").cut_after_events(4).cut_by_stall()]);
    let mut running = host(&sandbox, &["--include-partial-messages"]).spawn();
    running.send_user("hi");
    server.wait_for_requests(1);
    while running.wait_for("stream_event")["event"]["type"] != "content_block_delta" {}
    ask(&mut running, &json!({"subtype": "interrupt"}));
    running.wait_for("result");
    running.close_stdin();
    running.finish();
    assert_eq!(stored(&sandbox, "assistant")[0]["isAbortedMidStream"], true);
}

// [F-B5] Answers after a skill was loaded are attributed to it until the next prompt.
#[test]
fn answers_are_attributed_to_a_skill() {
    let (_server, sandbox) = played([ScriptedReply::text("done"), ScriptedReply::text("other")]);
    sandbox.write(".claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: tidies\n---\nTidy up");
    stream(&sandbox, "/tidy", &[]);
    stream(&sandbox, "and now?", &["--continue"]);
    let kept = stored(&sandbox, "assistant");
    assert_eq!(kept[0]["attributionSkill"], "tidy", "{}", kept[0]);
    assert!(kept[1].get("attributionSkill").is_none(), "{}", kept[1]);
}

// [F-B5] One line records the thinking of the model.
#[test]
fn thinking_leaves_a_line() {
    let (_server, sandbox) = played([ScriptedReply::message(vec![
        ScriptedBlock::thinking("let me see", "s"),
        ScriptedBlock::text("hello there"),
    ])]);
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("hi\r");
    let screen = terminal.wait_until("the answer below its thinking", |screen| {
        let (thought, said) = (screen.find("∴ thought for 1 s · ctrl+o"), screen.find("hello there"));
        thought.is_some() && thought < said
    });
    assert!(!screen.contains("let me see"), "{screen}");
    terminal.terminate();
    terminal.finish();
}
