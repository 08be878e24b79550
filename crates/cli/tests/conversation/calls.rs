//! Calls through the real binary: what runs together and what waits, results of every kind, background tasks.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, kinds, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::{CapturedRequest, ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

fn is_search(request: &CapturedRequest) -> bool {
    request.json["tools"][0]["name"] == "web_search"
}

fn search(id: &str) -> ScriptedBlock {
    ScriptedBlock::tool_with_id(id, "WebSearch", &json!({"query": format!("about {id}")}))
}

fn searches(count: usize) -> Vec<ScriptedBlock> {
    (0..count).map(|n| search(&format!("toolu_{n}"))).collect()
}

// [TST-6] Shared calls run at the same time: neither is answered before both have asked.
#[test]
fn shared_calls_overlap() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let mut first = true;
    let server = ModelServer::with_handler(move |request| match is_search(request) {
        true => ScriptedReply::text("found").gate(&held),
        false if std::mem::take(&mut first) => ScriptedReply::message(searches(2)),
        false => ScriptedReply::text("done"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "WebSearch"]).spawn();
    server.wait_for_requests(3);
    gate.open_all();
    assert_eq!(run.finish().expect_clean().result()["result"], "done");
}

// [TST-6] A Write between two of them waits for the one before and holds back the one after.
#[test]
fn an_exclusive_call_is_a_barrier() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noted, mut first) = (Arc::clone(&seen), true);
    let target = Arc::new(Mutex::new(None::<std::path::PathBuf>));
    let wanted = Arc::clone(&target);
    let server = ModelServer::with_handler(move |request| {
        if is_search(request) {
            noted.lock().unwrap().push(wanted.lock().unwrap().as_ref().unwrap().exists());
            return ScriptedReply::text("found");
        }
        if !std::mem::take(&mut first) {
            return ScriptedReply::text("done");
        }
        let write = ScriptedBlock::tool_with_id("toolu_w", "Write", &json!({"file_path": "between", "content": "x"}));
        ScriptedReply::message(vec![search("toolu_1"), write, search("toolu_2")])
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    *target.lock().unwrap() = Some(sandbox.project().join("between"));
    stream(&sandbox, "go", &["--allowedTools", "WebSearch,Write"]);
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}

// [TST-9] The number of calls that run at once is limited, by default and by the environment.
#[test]
fn shared_calls_are_bounded() {
    for (limit, given) in [(10, None), (2, Some("2"))] {
        let (gate, released) = (ReplyGate::new(), Arc::new(AtomicBool::new(false)));
        let early = Arc::new(Mutex::new(0));
        let (held, open, counted, mut first) = (gate.clone(), Arc::clone(&released), Arc::clone(&early), true);
        let server = ModelServer::with_handler(move |request| {
            if is_search(request) {
                *counted.lock().unwrap() += u32::from(!open.load(Ordering::SeqCst));
                return ScriptedReply::text("found").gate(&held);
            }
            if std::mem::take(&mut first) {
                ScriptedReply::message(searches(limit + 1))
            } else {
                ScriptedReply::text("done")
            }
        });
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = print(&sandbox, "go", &["--allowedTools", "WebSearch"]);
        if let Some(given) = given {
            run = run.env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", given);
        }
        let run = run.spawn();
        gate.wait_until_reached(limit);
        released.store(true, Ordering::SeqCst);
        gate.open_all();
        drop(run.finish().expect_clean());
        assert_eq!(*early.lock().unwrap(), u32::try_from(limit).unwrap());
        assert_eq!(server.requests().len(), limit + 3);
    }
}

// [TST-80] Searches are in the totals and the cost; beyond the session's number the call says so.
#[test]
fn web_searches_are_counted_and_bounded() {
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "server_tool_use": {"web_search_requests": 3}});
    let mut step = 0;
    let server = ModelServer::with_handler(move |request| {
        if is_search(request) {
            return ScriptedReply::text("found").usage(usage.clone(), usage.clone());
        }
        step += 1;
        let reply = match step {
            1 => ScriptedReply::message(vec![search("toolu_1")]),
            2 => ScriptedReply::message(vec![search("toolu_2")]),
            _ => ScriptedReply::text("done"),
        };
        reply.tokens(0, 0)
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "WebSearch"])
        .env("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION", "1")
        .run()
        .expect_clean();
    let result = run.result();
    let model = result["modelUsage"].as_object().unwrap().values().next().unwrap();
    assert_eq!(model["webSearchRequests"], 3);
    assert!((result["total_cost_usd"].as_f64().unwrap() - 0.03).abs() < 1e-9, "{result}");
    let last = server.last_request();
    assert!(last.tool_result_text("toolu_2").contains("all of its 1 web searches"));
    assert_eq!(server.requests().iter().filter(|r| is_search(r)).count(), 1);
}

// [TST-12] [SDK-37] Odd characters in a result: one valid line on stdout and on disk, nothing that splits lines.
#[test]
fn odd_characters_in_a_result_stay_on_one_line() {
    let command = r"printf 'a\0b\342\200\250c\355\240\200d\377e'";
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": command})), ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_clean();
    let on_disk = std::fs::read_to_string(&sandbox.transcript_paths()[0]).unwrap();
    for text in [run.stdout.as_str(), &on_disk] {
        assert!(!text.contains('\u{2028}') && !text.contains('\0'));
        testkit::stream_lines(text);
    }
    let told = server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(told.starts_with("ab\u{2028}c") && told.contains('\u{fffd}') && told.ends_with('e'), "{told:?}");
}

// [TST-12] [TST-102] Half a surrogate pair in the model's own words does not end the turn.
#[test]
fn half_a_surrogate_pair_from_the_model_is_survived() {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::text("PLACE")]);
    for event in &mut events {
        event.data = event.data.replace("PLACE", r"a\ud83db");
    }
    let mut call =
        ScriptedReply::events(vec![ScriptedBlock::tool_with_id("toolu_1", "Glob", &json!({"pattern": "PLACE"}))]);
    for event in &mut call {
        event.data = event.data.replace("PLACE", r"x\\ud83dy");
    }
    let server = ModelServer::script([ScriptedReply::sse(call), ScriptedReply::sse(events)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    assert_eq!(lines.last().unwrap()["result"], "a\u{fffd}b");
    assert_eq!(server.requests().len(), 2);
    sandbox.transcript();
}

// [TST-154] The command finds its own call in the transcript: the line was written before the effect began.
#[test]
fn a_call_is_on_disk_before_its_effect() {
    let command = "cat \"$CLAUDE_CONFIG_DIR\"/projects/*/*.jsonl | grep -c toolu_itself > count; true";
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::text("Looking."),
            ScriptedBlock::tool_with_id("toolu_itself", "Bash", &json!({"command": command})),
        ]),
        ScriptedReply::text("ok"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    assert_eq!(sandbox.read("count").trim(), "1");
}

// [TST-1] [TST-164] An interrupt inside a call: every call has its one result, the marker follows, resume goes on.
#[test]
fn an_interrupted_call_has_its_result() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool_with_id("toolu_1", "Bash", &json!({"command": "echo started; touch begun; sleep 60"})),
            ScriptedBlock::tool_with_id("toolu_2", "Bash", &json!({"command": "touch never"})),
        ]),
        ScriptedReply::text("resumed"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).spawn();
    wait_until(|| sandbox.project().join("begun").exists());
    run.interrupt();
    let lines = run.finish_within(Duration::from_secs(10)).expect_code(1).lines();
    assert_eq!(kinds(&lines).last().unwrap(), "result/error_during_execution");
    assert_eq!(lines.last().unwrap()["terminal_reason"], "aborted_tools");
    let resumed = stream(&sandbox, "more", &["--resume", &session_of(&lines)]);
    assert_eq!(resumed.last().unwrap()["result"], "resumed");
    let request = server.request(1);
    let ids: Vec<Value> = request.tool_results().iter().map(|r| r["tool_use_id"].clone()).collect();
    assert_eq!(ids, ["toolu_1", "toolu_2"]);
    assert!(request.tool_results().iter().all(|r| r["is_error"] == true));
    assert!(request.tool_result_text("toolu_1").contains("started"), "partial output is kept");
    assert!(request.all_text().contains("[Request interrupted by user for tool use]"));
    assert!(!sandbox.project().join("never").exists());
}

// [TST-52] [TST-165] [SDK-155] A background command: frames for the host, one notification for the model.
#[test]
fn a_background_command_is_told_to_host_and_model() {
    let server = ModelServer::script([
        ScriptedReply::tool(
            "Bash",
            json!({"command": "until [ -e go ]; do sleep 0.02; done", "run_in_background": true,
                                   "description": "Wait for go"}),
        ),
        ScriptedReply::text("started"),
        ScriptedReply::text("noticed"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--allowedTools", "Bash"]).env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1").spawn();
    run.send_user("go");
    assert_eq!(run.wait_for("result")["result"], "started");
    // A running shell does not keep the session from being idle.
    assert_eq!(run.wait_for("system")["state"], "idle");
    sandbox.write("go", "");
    assert_eq!(run.wait_for("result")["result"], "noticed");
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let of = |kind: &str| of_kind(&lines, kind)[0].clone();
    let (started, updated, told) =
        (of("system/task_started"), of("system/task_updated"), of("system/task_notification"));
    assert_eq!((&started["task_type"], &started["description"]), (&json!("local_bash"), &json!("Wait for go")));
    assert_eq!(updated["patch"]["status"], "completed");
    assert_eq!((&told["status"], &told["task_id"]), (&json!("completed"), &started["task_id"]));
    let id = started["task_id"].as_str().unwrap();
    let call = started["tool_use_id"].as_str().unwrap();
    let file = told["output_file"].as_str().unwrap();
    let notice = format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<output-file>{file}</output-file>\n\
         <status>completed</status>\n<summary>Background command \"Wait for go\" completed (exit code 0)</summary>\n\
         </task-notification>"
    );
    assert_eq!(server.request(2).all_text().matches("<task-notification>").count(), 1);
    assert!(server.request(2).all_text().contains(&notice), "{}", server.request(2).all_text());
}

// [CLI-54] [SDK-185] [F-B2] A run waits for its shells, at most as long as the variable says; then the model has a last
// turn, and shells that still run are stopped and named in its result.
#[test]
fn a_shell_that_outlasts_the_wait_is_stopped_and_named() {
    // [TST-203]
    let server = ModelServer::script([
        ScriptedReply::tool(
            "Bash",
            json!({"command": "echo $$ > pid; exec sleep 300", "run_in_background": true, "description": "Sleep long"}),
        ),
        ScriptedReply::text("started"),
        ScriptedReply::text("It did not end in time."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).env("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "300");
    let lines = run.run().expect_clean().lines();
    let results = of_kind(&lines, "result");
    assert_eq!(results.len(), 2, "{:?}", kinds(&lines));
    assert_eq!(of_kind(&lines, "system/init").len(), 2);
    let last = results[1];
    assert_eq!(last["background_tasks_stopped"][0]["description"], "Sleep long");
    let said = last["result"].as_str().unwrap();
    assert!(said.starts_with("It did not end in time.") && said.contains("\"Sleep long\""), "{said}");
    assert!(server.request(2).all_text().contains("Sleep long"), "the model knows what still runs");
    assert_eq!(of_kind(&lines, "system/task_notification")[0]["status"], "stopped");
    let pid = sandbox.read("pid");
    assert!(!std::path::Path::new("/proc").join(pid.trim()).join("exe").exists(), "{pid} still runs");
}

// [SDK-160]
#[test]
fn a_long_call_reports_progress() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
            "toolu_slow",
            "Bash",
            &json!({"command": "until [ -e go ]; do sleep 0.02; done"}),
        )]),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = print(&sandbox, "go", &["--allowedTools", "Bash"]).spawn();
    let progress = run.wait_for("tool_progress");
    sandbox.write("go", "");
    assert_eq!((&progress["tool_use_id"], &progress["tool_name"]), (&json!("toolu_slow"), &json!("Bash")));
    assert!(progress["elapsed_time_seconds"].as_u64().unwrap() >= 2);
    drop(run.finish().expect_clean());
}

// [CLI-65] [TST-62] The environment of a command; a nested run that it starts keeps its own session.
#[test]
fn commands_see_their_surroundings_and_nested_runs_are_kept() {
    let nested = format!("ANTHROPIC_API_KEY=k {EXE} -p inner < /dev/null; env");
    let server = ModelServer::with_handler(move |request| {
        match (request.tool_results().is_empty(), request.last_user_text().contains("outer")) {
            (true, true) => ScriptedReply::tool("Bash", json!({"command": nested})),
            (true, false) => ScriptedReply::text("from inside"),
            (false, _) => ScriptedReply::text("done"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "outer", &["--allowedTools", "Bash"]).env("OTEL_EXPORTER_OTLP_HEADERS", "x=y").spawn();
    let pid = run.pid();
    let lines = run.finish().expect_clean().lines();
    let text = server.last_request().tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(text.contains("from inside"), "{text}");
    let has = |line: String| text.lines().any(|l| l == line);
    assert!(has("CLAUDECODE=1".into()) && has("CLAUDE_CODE_CHILD_SESSION=1".into()), "{text}");
    assert!(
        has(format!("CLAUDE_CODE_SESSION_ID={}", session_of(&lines))) && has(format!("CLAUDE_PID={pid}")),
        "{text}"
    );
    assert!(!text.contains("OTEL_"), "{text}");
    assert_eq!(sandbox.transcript_paths().len(), 2);
}

fn wait_until(ready: impl Fn() -> bool) {
    testkit::wait_until("a condition", ready);
}
