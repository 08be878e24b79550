//! Findings about turns, results, requests and the store, each tested as a user or client sees it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, answer, asked, host, json as as_json, kinds, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

fn background(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command, "run_in_background": true, "description": "Wait for go"}))
}

// [F-B2] `-p` waits for a background command, then the model has a turn with its notification: a second init and
// result.
#[test]
fn print_mode_waits_for_background_commands() {
    let server = ModelServer::script([
        background("touch begun; until [ -e go ]; do sleep 0.02; done; echo finished"),
        ScriptedReply::text("started"),
        ScriptedReply::text("noticed"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = print(&sandbox, "work", &["--allowedTools", "Bash"]).spawn();
    assert_eq!(run.wait_for("result")["result"], "started");
    sandbox.write("go", "");
    let lines = run.finish().expect_clean().lines();
    assert_eq!(of_kind(&lines, "system/init").len(), 2);
    let results = of_kind(&lines, "result");
    assert_eq!((&results[1]["result"], &results[1]["result_index"]), (&json!("noticed"), &json!(1)));
    assert_eq!(results[1]["origin"]["kind"], "task-notification");
    assert!(server.request(2).all_text().contains("<task-notification>"));
    assert!(results[1].get("background_tasks_stopped").is_none());
}

// [F-B2] On a terminal, stderr shows what the run waits for; with a pipe there is no such line.
#[test]
fn a_terminal_is_told_what_is_waited_for() {
    let server = ModelServer::script([
        background("until [ -e go ]; do sleep 0.02; done"),
        ScriptedReply::text("started"),
        ScriptedReply::text("noticed"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&["-p", "work", "--allowedTools", "Bash"]).terminal(120, 30);
    let screen = run.wait_for("Waiting for work in the background");
    assert!(screen.contains("\"Wait for go\"") && screen.contains("10 min"), "{screen}");
    sandbox.write("go", "");
    run.wait_for("noticed");
    assert_eq!(run.finish().0, 0);
}

// [F-B2] num_turns is 1 plus the number of rounds of tool results.
#[test]
fn num_turns_counts_rounds_of_results() {
    let look = || ScriptedReply::tool("Glob", json!({"pattern": "*"}));
    let turns = |replies: Vec<ScriptedReply>, code: i32| {
        let server = ModelServer::script(replies);
        let sandbox = Sandbox::with_server(EXE, &server);
        as_json(&sandbox, "go", &[]).expect_code(code).json()["num_turns"].clone()
    };
    assert_eq!(turns(vec![ScriptedReply::text("plain")], 0), 1);
    assert_eq!(turns(vec![look(), ScriptedReply::text("one call")], 0), 2);
    assert_eq!(turns(vec![look(), look(), ScriptedReply::text("two rounds")], 0), 3);
    assert_eq!(turns(vec![ScriptedReply::error(403, "permission_error", "no")], 1), 1);
    assert_eq!(turns(vec![ScriptedReply::text("half").stop_reason("max_tokens"), ScriptedReply::text("rest")], 0), 1);
}

// [F-B2] An API error has the stop reason of the message that reports it.
#[test]
fn an_api_error_has_the_stop_reason_of_its_message() {
    let server = ModelServer::script([ScriptedReply::error(403, "permission_error", "no")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let result = print(&sandbox, "go", &[]).run().expect_code(1).result();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!((&result["stop_reason"], &result["terminal_reason"]), (&json!("stop_sequence"), &json!("api_error")));
}

// [F-B2] A refusal is retried once, then reported; what was refused is not sent again when the session is resumed.
#[test]
fn a_refusal_is_retried_once_and_then_told() {
    let refusal = |id: &str| ScriptedReply::text("I could say").stop_reason("refusal").message_id(id);
    let server = ModelServer::script([refusal("msg_1"), refusal("msg_2"), ScriptedReply::text("fine")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = print(&sandbox, "FORBIDDEN", &[]).run().expect_code(1);
    let lines = done.lines();
    assert_eq!(server.requests().len(), 2, "one retry");
    let told = of_kind(&lines, "system/model_refusal_no_fallback")[0];
    assert!(told["original_model"].as_str().unwrap().starts_with("claude-"), "{told}");
    let result = done.result();
    assert_eq!(
        (&result["subtype"], &result["is_error"], &result["terminal_reason"]),
        (&json!("success"), &json!(true), &json!("api_error"))
    );
    assert!(result["result"].as_str().unwrap().contains("refused to answer"), "{result}");
    let stored = sandbox.transcript();
    let line = stored.iter().find(|l| l["subtype"] == "model_refusal_no_fallback").unwrap();
    assert_eq!((&line["refusedMessageId"], &line["refusingModel"]), (&json!("msg_2"), &told["original_model"]));
    let synthetic = stored.iter().find(|l| l["isApiErrorMessage"] == true).unwrap();
    assert_eq!(synthetic["refusedMessageId"], "msg_2");
    stream(&sandbox, "harmless", &["--resume", &session_of(&lines)]);
    let text = server.request(2).all_text();
    assert!(!text.contains("FORBIDDEN") && !text.contains("I could say"), "{text}");
    assert!(text.contains("Today's date is"), "what was told beside the refused prompt stays: {text}");
}

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

// [F-B2] A model that never returns structured output is asked once more, visibly; then its text is the result.
#[test]
fn structured_output_that_never_comes_is_asked_for_once() {
    let server = ModelServer::script([ScriptedReply::text("three"), ScriptedReply::text("still three")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "n?", &["--json-schema", SCHEMA]);
    assert_eq!(kinds(&lines), ["system/init", "assistant", "user", "assistant", "result/success"]);
    assert_eq!(lines[2]["isSynthetic"], true);
    let result = lines.last().unwrap();
    assert_eq!((&result["result"], &result["is_error"]), (&json!("still three"), &json!(false)));
    assert!(result.get("structured_output").is_none(), "{result}");
}

// [F-B2] The cost of a resumed session includes what was spent before; its transcript records it. A budget applies to
// one run.
#[test]
fn cost_is_carried_on_when_a_session_is_resumed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok").tokens(1000, 100));
    let sandbox = Sandbox::with_server(EXE, &server);
    let first = stream(&sandbox, "a", &[]);
    let cost = |lines: &[Value]| lines.last().unwrap()["total_cost_usd"].as_f64().unwrap();
    let once = cost(&first);
    assert!(once > 0.0);
    let session = session_of(&first);
    let budget = format!("{}", once * 1.5);
    let second = stream(&sandbox, "b", &["--resume", &session, "--max-budget-usd", &budget]);
    assert!((cost(&second) - 2.0 * once).abs() < 1e-9, "{} after {once}", cost(&second));
    let models = second.last().unwrap()["modelUsage"].as_object().unwrap().clone();
    assert_eq!(models.values().next().unwrap()["inputTokens"], 2000);
    let stored = sandbox.transcript_of(&session);
    let states: Vec<&Value> = stored.iter().filter(|l| l["type"] == "cost-state").collect();
    assert_eq!(states.len(), 2);
    assert!((states[1]["totalCostUSD"].as_f64().unwrap() - 2.0 * once).abs() < 1e-9);
    for key in [
        "sessionId",
        "totalCostUSD",
        "totalAPIDuration",
        "totalAPIDurationWithoutRetries",
        "totalToolDuration",
        "totalLinesAdded",
        "totalLinesRemoved",
        "totalDuration",
        "startTime",
        "modelUsage",
        "hasUnknownModelCost",
    ] {
        assert!(states[1].get(key).is_some(), "{key}: {}", states[1]);
    }
    assert_eq!(states[0]["startTime"], states[1]["startTime"], "the session began once");
    let fork = stream(&sandbox, "c", &["--resume", &session, "--fork-session"]);
    assert!((cost(&fork) - once).abs() < 1e-9, "a fork is a session of its own");
}

// [F-B2] The result of the session lists what subagents were denied.
#[test]
fn denials_of_subagents_are_in_the_result() {
    let server = ModelServer::with_handler(|request| {
        let is_agent = request.all_text().contains("AGENT-TASK") && !request.all_text().contains("please delegate");
        match (is_agent, request.tool_results().is_empty()) {
            (false, true) => ScriptedReply::tool(
                "Agent",
                json!({"description": "try", "prompt": "AGENT-TASK", "run_in_background": false}),
            ),
            (true, true) => ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                "toolu_inner",
                "Write",
                &json!({"file_path": "x.txt", "content": "x"}),
            )]),
            (_, false) => ScriptedReply::text("done"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "please delegate", &[]);
    let denials = lines.last().unwrap()["permission_denials"].clone();
    assert_eq!((&denials[0]["tool_name"], &denials[0]["tool_use_id"]), (&json!("Write"), &json!("toolu_inner")));
    assert_eq!(denials.as_array().unwrap().len(), 1);
}

// [F-B2] An edit that is impossible gets a tool error; there is no question, and it does not count as a denial.
#[test]
fn an_invalid_call_is_answered_without_a_question() {
    let cases = [
        json!({"file_path": "a.txt", "old_string": "absent", "new_string": "x"}),
        json!({"file_path": "a.txt", "old_string": "l", "new_string": "x"}),
        json!({"file_path": "a.txt", "old_string": "x", "new_string": "x"}),
        json!({"file_path": "missing.txt", "old_string": "a", "new_string": "x"}),
        json!({"file_path": "a.txt", "old_string": 3, "new_string": "x"}),
    ];
    for input in cases {
        let server = ModelServer::script([
            ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
            ScriptedReply::tool("Edit", input.clone()),
            ScriptedReply::text("I see."),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write("a.txt", "hello\n");
        let mut running = asked(&sandbox, &[]);
        assert_eq!(running.wait_for("result")["permission_denials"], json!([]), "{input}");
        running.close_stdin();
        let lines = running.finish().expect_clean().lines();
        assert!(of_kind(&lines, "control_request").is_empty(), "{input}");
        let results = server.request(2).tool_results();
        let said = results[1]["content"].as_str().unwrap();
        assert!(said.starts_with("<tool_use_error>"), "{input}: {said}");
    }
}

// [F-B2] The check does not reveal the content of hidden files: the question comes first.
#[test]
fn a_check_does_not_read_what_is_hidden() {
    let server = ModelServer::script([
        ScriptedReply::tool(
            "Edit",
            json!({"file_path": "/etc/hostname", "old_string": "absent-text", "new_string": "x"}),
        ),
        ScriptedReply::text("I see."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--settings", r#"{"permissions":{"ask":["Read(//etc/**)"]}}"#]);
    let question = running.wait_for("control_request");
    answer(&mut running, &question, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    assert_eq!(crate::common::last_result(&server)["content"], "no");
}

// [F-B9] Reminders and instruction files come before the user's words, which are the last text of their message; a
// resumed request repeats the bytes.
#[test]
fn the_prompt_is_the_last_text_of_its_message() {
    let server = ModelServer::with_handler(|request| match request.tool_results().len() {
        0 => ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        _ => ScriptedReply::text("ok"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "INSTRUCTIONS\n");
    sandbox.write("a.txt", "alpha\n");
    sandbox.write(".claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up\n---\nTidy.\n");
    let first = stream(&sandbox, "FIRST-PROMPT", &[]);
    stream(&sandbox, "SECOND-PROMPT", &["--resume", &session_of(&first)]);
    let texts = |message: &Value| -> Vec<String> {
        let blocks = message["content"].as_array().unwrap().iter();
        blocks.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
    };
    let opening = texts(&server.request(0).messages()[0]);
    assert_eq!(opening.last().unwrap(), "FIRST-PROMPT");
    assert!(opening.iter().any(|text| text.contains("INSTRUCTIONS")), "{opening:?}");
    assert!(opening.iter().any(|text| text.contains("tidy")), "{opening:?}");
    let resumed = server.request(2);
    assert_eq!(texts(resumed.messages().last().unwrap()).last().unwrap(), "SECOND-PROMPT");
    let unmarked = |request: &testkit::CapturedRequest, count: usize| {
        let mut messages = request.messages()[..count].to_vec();
        for block in messages.iter_mut().flat_map(|m| m["content"].as_array_mut().unwrap()) {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        messages
    };
    assert_eq!(unmarked(&resumed, 3), unmarked(&server.request(1), 3), "a resumed request has the same bytes");
}

// [F-B12] Programs read the screen: the texts of a question and of a running turn, and their absence when idle.
#[test]
fn programs_can_tell_from_the_screen_what_goes_on() {
    let gate = testkit::ReplyGate::new();
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made", "description": "Make a file"})),
        ScriptedReply::text("All done.").gate(&gate),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["make it"]).terminal(80, 30);
    let question = terminal.wait_for("Do you want");
    assert!(question.contains("esc to cancel") && question.contains("touch made"), "{question}");
    terminal.answer("1");
    server.wait_for_requests(2);
    terminal.wait_for("esc to interrupt");
    gate.open_all();
    let idle = terminal
        .wait_until("the turn to end", |screen| screen.contains("All done.") && !screen.contains("esc to interrupt"));
    assert!(!idle.contains("Do you want") && !idle.contains("esc to cancel"), "{idle}");
    terminal.terminate();
}

// [F-B11] An answer with the id of its question at the top level is accepted, with and without an envelope.
#[test]
fn an_answer_may_carry_its_id_at_the_top() {
    let envelopes = [
        |verdict: Value, id: &Value| json!({"type": "control_response", "request_id": id, "response": {"subtype": "success", "response": verdict}}),
        |verdict: Value, id: &Value| json!({"type": "control_response", "request_id": id, "response": verdict}),
    ];
    for envelope in envelopes {
        let server = ModelServer::script([
            ScriptedReply::tool("Bash", json!({"command": "touch made"})),
            ScriptedReply::text("done"),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut running = asked(&sandbox, &[]);
        let question = running.wait_for("control_request");
        let input = question["request"]["input"].clone();
        running.send_json(&envelope(json!({"behavior": "allow", "updatedInput": input}), &question["request_id"]));
        assert_eq!(running.wait_for("result")["result"], "done");
        assert!(sandbox.project().join("made").exists());
    }
}

// [F-B11] Commands that a plan names are shown for approval and then run without a question; others ask.
#[test]
fn commands_named_with_a_plan_are_granted_with_it() {
    let plans = |config: &std::path::Path| config.join("plans");
    let server = ModelServer::with_handler(|request| {
        let done = request.tool_results().len();
        let file = request.all_text().split_whitespace().find(|word| word.contains("/plans/")).map(|word| {
            word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/').trim_end_matches('.').to_owned()
        });
        match done {
            0 => ScriptedReply::tool(
                "Write",
                json!({"file_path": file.unwrap_or_default(), "content": "# Plan\nTouch it.\n"}),
            ),
            1 => ScriptedReply::tool(
                "ExitPlanMode",
                json!({"allowedPrompts": [{"tool": "Bash", "prompt": "touch granted:*"}, {"tool": "Bash", "prompt": "*"}]}),
            ),
            2 => ScriptedReply::tool("Bash", json!({"command": "touch granted now"})),
            3 => ScriptedReply::tool("Bash", json!({"command": "touch other"})),
            _ => ScriptedReply::text("done"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--permission-mode", "plan"]);
    let plan = running.wait_for("control_request");
    assert_eq!(plan["request"]["tool_name"], "ExitPlanMode", "{plan}");
    assert_eq!(plan["request"]["input"]["allowedPrompts"][0]["prompt"], "touch granted:*");
    assert!(plans(&sandbox.config_dir()).exists());
    let input = plan["request"]["input"].clone();
    answer(&mut running, &plan, &json!({"behavior": "allow", "updatedInput": input}));
    let next = running.wait_for("control_request");
    assert_eq!(next["request"]["input"]["command"], "touch other", "the granted one was not asked about");
    answer(&mut running, &next, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    assert!(sandbox.project().join("granted").exists() && !sandbox.project().join("other").exists());
    let offered = server.request(0).json["tools"].as_array().unwrap().clone();
    let exit = offered.iter().find(|tool| tool["name"] == "ExitPlanMode").unwrap();
    assert_eq!(exit["input_schema"]["properties"]["allowedPrompts"]["type"], "array");
}

fn listed(sandbox: &Sandbox) -> Vec<Value> {
    testkit::stream_lines(&sandbox.gimlet(&["sessions", "list", "--json"]).run().expect_clean().stdout)
}

// [F-B11] The list marks conversations in progress: no end, no result, and recently changed.
#[test]
fn a_list_of_sessions_says_which_one_works() {
    let server = ModelServer::with_handler(|request| match request.tool_results().len() {
        0 => ScriptedReply::tool("Bash", json!({"command": "touch begun; until [ -e go ]; do sleep 0.02; done"})),
        _ => ScriptedReply::text("done"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = print(&sandbox, "work", &["--allowedTools", "Bash"]).spawn();
    run.wait_for("assistant");
    testkit::wait_until("begun", || sandbox.project().join("begun").exists());
    assert_eq!(listed(&sandbox)[0]["state"], "working");
    let path = sandbox.transcript_paths()[0].clone();
    let old = std::fs::metadata(&path).unwrap().modified().unwrap() - std::time::Duration::from_mins(2);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    assert_eq!(listed(&sandbox)[0]["state"], "idle", "a conversation that nothing was added to for long");
    sandbox.write("go", "");
    drop(run.finish().expect_clean());
    assert_eq!(listed(&sandbox)[0]["state"], "idle");
}

/// Model, flags, a variable, and whether TaskCreate and TodoWrite are offered.
type Offer<'a> = (&'a str, &'a [&'a str], Option<(&'a str, &'a str)>, [bool; 2]);

// [F-B10] The lists a model is offered, the same for scripts, SDK hosts and the terminal.
#[test]
fn task_lists_are_offered_by_model_and_name() {
    let cases: [Offer<'_>; 7] = [
        ("claude-haiku-4-5", &[], None, [true, false]),
        ("claude-haiku-4-5", &[], Some(("CLAUDE_CODE_ENABLE_TASKS", "0")), [false, true]),
        ("claude-opus-5", &[], None, [false, false]),
        ("claude-opus-5", &[], Some(("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")), [true, false]),
        ("claude-opus-5", &["--allowedTools", "TodoWrite"], None, [false, true]),
        ("claude-opus-5", &["--tools", "default,TaskCreate"], None, [true, false]),
        ("claude-opus-5", &["--tools", "TodoWrite"], None, [false, true]),
    ];
    for (model, flags, env, wanted) in cases {
        let server = ModelServer::with_handler(|_| ScriptedReply::text("answered"));
        let mut sandbox = Sandbox::with_server(EXE, &server);
        if let Some((name, value)) = env {
            sandbox.set(name, value);
        }
        let all: Vec<&str> = ["--model", model].iter().chain(flags).copied().collect();
        stream(&sandbox, "hi", &all);
        let mut running = host(&sandbox, &all).spawn();
        running.send_user("hi");
        running.wait_for("result");
        let terminal = sandbox.gimlet(&[&["hi"], all.as_slice()].concat()).terminal(100, 30);
        terminal.wait_for("answered");
        terminal.terminate();
        for n in 0..3 {
            let names = server.request(n).tool_names();
            let has = |name: &str| names.iter().any(|n| n == name);
            assert_eq!([has("TaskCreate"), has("TodoWrite")], wanted, "{model} {flags:?} {env:?}, start {n}");
        }
    }
}

// [F-B4] Local commands are stored so that readers list the session, streamed with their input, and never sent.
#[test]
fn local_commands_are_stored_and_streamed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "be brief\n");
    let lines = stream(&sandbox, "/context all", &[]);
    assert_eq!(kinds(&lines), ["system/init", "assistant", "result/success"]);
    let told = &lines[1];
    assert_eq!(told["local_command_run"], json!({"command": "context", "args": "all"}));
    assert_eq!(
        (&told["local_command_source"], &told["message"]["stop_reason"]),
        (&json!("/context all"), &json!("end_turn"))
    );
    let keys = [
        "model",
        "total_tokens",
        "raw_max_tokens",
        "percentage",
        "categories",
        "mcp_tools",
        "memory_files",
        "agents",
        "skills",
    ];
    for key in keys {
        assert!(told["context_usage"].get(key).is_some(), "{key}: {told}");
    }
    let category = &told["context_usage"]["categories"][0];
    assert!(category["name"].is_string() && category["tokens"].is_u64() && category["kind"] == "used", "{category}");
    assert!(told["message"]["content"][0]["text"].as_str().unwrap().contains("| System prompt |"), "Markdown");
    let session = session_of(&lines);
    let stored = sandbox.transcript_of(&session);
    let kind = |line: &Value| match (&line["subtype"], &line["operation"]) {
        (Value::String(subtype), _) => subtype.clone(),
        (_, Value::String(operation)) => operation.clone(),
        _ => line["type"].as_str().unwrap().to_owned(),
    };
    let order: Vec<String> = stored.iter().map(kind).collect();
    assert_eq!(order, ["enqueue", "dequeue", "user", "user", "local_command", "last-prompt", "mode", "cost-state"]);
    assert_eq!(stored[2]["isMeta"], true);
    let command = stored[3]["message"]["content"].as_str().unwrap();
    assert!(command.starts_with("<command-name>/context</command-name>"), "{command}");
    assert!(
        command.contains("<command-message>context</command-message>")
            && command.contains("<command-args>all</command-args>")
    );
    assert_eq!(stored[4]["commandRun"], json!({"command": "context", "args": "all"}));
    assert_eq!(stored[4]["contextUsage"]["memory_files"][0]["type"], "Project");
    assert!(stored[4]["content"].as_str().unwrap().starts_with("<local-command-stdout>"));
    assert_eq!(listed(&sandbox).len(), 1, "readers list it");
    stream(&sandbox, "hello", &["--resume", &session]);
    let sent = server.request(0).all_text();
    assert!(!sent.contains("command-name") && !sent.contains("local-command") && sent.contains("hello"), "{sent}");
}
