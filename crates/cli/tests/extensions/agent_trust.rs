//! What applies to a session applies to its agents: hooks, questions to the host, grants, compaction; and skills that
//! run as agents.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, kinds, of_kind, print, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

fn is_agent(request: &CapturedRequest) -> bool {
    request.header("x-claude-code-agent-id").is_some()
}

fn agent_call(id: &str, more: &Value) -> ScriptedBlock {
    let mut input = json!({"description": "look around", "prompt": "the task", "run_in_background": false});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ScriptedBlock::tool_with_id(id, "Agent", &input)
}

/// The main thread's replies in order; agents answer from `agent`.
fn server(
    main: Vec<ScriptedReply>,
    agent: impl FnMut(&CapturedRequest) -> ScriptedReply + Send + 'static,
) -> ModelServer {
    let (mut main, mut agent) = (main.into_iter(), agent);
    ModelServer::with_handler(move |request| {
        if is_agent(request) {
            return agent(request);
        }
        main.next().unwrap_or_else(|| ScriptedReply::error(400, "invalid_request_error", "the main script is over"))
    })
}

fn of_agents(server: &ModelServer) -> Vec<CapturedRequest> {
    server.requests().into_iter().filter(is_agent).collect()
}

fn group(matcher: &str, line: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": line}]}])
}

fn seen(sandbox: &Sandbox, file: &str) -> Vec<Value> {
    sandbox.read(file).lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn touch(name: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": format!("touch {name}")}))
}

// [EXT-29] SC-E05 A hook that refuses a call of the main thread refuses it for an agent, in foreground and background.
#[test]
fn hooks_cover_the_calls_of_agents() {
    for background in [false, true] {
        let call = agent_call("toolu_a", &json!({"run_in_background": background}));
        let server = server(
            vec![ScriptedReply::message(vec![call]), ScriptedReply::text("first"), ScriptedReply::text("second")],
            |request| {
                if request.tool_uses().is_empty() { touch("made") } else { ScriptedReply::text("refused") }
            },
        );
        let sandbox = Sandbox::with_server(EXE, &server);
        let guard = "cat >> seen.jsonl; echo >> seen.jsonl; echo 'not here' >&2; exit 2";
        let hooks = json!({"hooks": {"PreToolUse": group("Bash", guard)}});
        sandbox.write_config("settings.json", hooks.to_string());
        let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
        assert!(!sandbox.project().join("made").exists(), "background: {background}");
        let denied = of_kind(&lines, "system/permission_denied");
        assert_eq!(denied[0]["decision_reason_type"], "hook");
        let told = &seen(&sandbox, "seen.jsonl")[0];
        assert_eq!((&told["agent_id"], &told["agent_type"]), (&denied[0]["agent_id"], &json!("general-purpose")));
        assert!(told["agent_id"].is_string(), "{told}");
        let main = sandbox.transcript_paths();
        assert!(main.iter().any(|path| told["transcript_path"] == json!(path)), "the main session's file: {told}");
        assert!(of_agents(&server).last().unwrap().tool_results()[0].to_string().contains("not here"));
    }
}

// [EXT-103] [EXT-104] [EXT-92] Hooks around an agent: one adds text at its start, the other keeps it working.
#[test]
fn hooks_around_an_agent() {
    let mut answers = 0;
    let server = server(
        vec![ScriptedReply::message(vec![agent_call("toolu_a", &json!({}))]), ScriptedReply::text("done")],
        move |_| {
            answers += 1;
            ScriptedReply::text(format!("answer {answers}"))
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let stop = "input=$(cat); echo \"$input\" >> stop.jsonl; case \"$input\" in *'\"stop_hook_active\":true'*) exit 0;; esac; \
                test -s \"$(printf '%s' \"$input\" | sed 's/.*\"agent_transcript_path\":\"\\([^\"]*\\)\".*/\\1/')\" || exit 1; \
                echo 'look twice' >&2; exit 2";
    let begin = r#"cat >/dev/null; echo '{"continue":false,"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"mind the gap"}}'"#;
    let hooks = json!({"hooks": {
        "SubagentStart": group("general-purpose", begin),
        "SubagentStop": group("", stop),
        "Stop": group("", "echo main >> main-stop"),
    }});
    sandbox.write_config("settings.json", hooks.to_string());
    let lines = stream(&sandbox, "go", &[]);
    let sent = of_agents(&server);
    assert_eq!(sent.len(), 2, "kept at work once");
    assert!(sent[0].all_text().contains("mind the gap"), "{}", sent[0].all_text());
    assert!(sent[1].last_user_text().contains("look twice"), "{}", sent[1].last_user_text());
    assert!(!server.last_request().all_text().contains("mind the gap"));
    assert!(server.last_request().tool_result_text("toolu_a").contains("answer 2"));
    let stops = seen(&sandbox, "stop.jsonl");
    assert_eq!(stops.len(), 2);
    assert_eq!(stops[0]["last_assistant_message"], "answer 1");
    assert_eq!(
        (&stops[0]["hook_event_name"], &stops[0]["agent_type"]),
        (&json!("SubagentStop"), &json!("general-purpose"))
    );
    assert_eq!(sandbox.read("main-stop"), "main\n", "Stop is the main thread's");
    assert_eq!(of_kind(&lines, "result")[0]["result"], "done");
}

// [EXT-31] Hooks of a definition run while its agent runs, and its Stop is the agent's.
#[test]
fn hooks_of_a_definition() {
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", &json!({"subagent_type": "w"}))]),
            touch("by-main"),
            ScriptedReply::text("done"),
        ],
        |request| if request.tool_uses().is_empty() { touch("by-agent") } else { ScriptedReply::text("refused") },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let agents = json!({"w": {"description": "d", "prompt": "p", "hooks": {
        "PreToolUse": group("Bash", "echo 'no' >&2; exit 2"),
        "Stop": group("", "cat >> stop.jsonl"),
    }}});
    stream(&sandbox, "go", &["--agents", &agents.to_string(), "--allowedTools", "Bash"]);
    assert!(!sandbox.project().join("by-agent").exists());
    assert!(sandbox.project().join("by-main").exists());
    let stops = seen(&sandbox, "stop.jsonl");
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0]["hook_event_name"], "SubagentStop");
}

const ASKING: [&str; 2] = ["--permission-prompt-tool", "stdio"];

fn answer(running: &mut RunningGimlet, question: &Value, verdict: &Value) {
    let id = &question["request_id"];
    running.send_json(
        &json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": verdict}}),
    );
}

// [CLI-183] [SDK-96] An agent asks the session's host and names itself; a grant applies to the whole session.
#[test]
fn agents_ask_the_host_of_the_session() {
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", &json!({}))]),
            touch("by-main"),
            ScriptedReply::text("done"),
        ],
        |request| if request.tool_uses().is_empty() { touch("by-agent") } else { ScriptedReply::text("made") },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = host(&sandbox, &ASKING).spawn();
    running.send_user("go");
    let question = running.wait_for("control_request");
    assert_eq!(question["request"]["input"]["command"], "touch by-agent");
    assert!(question["request"]["agent_id"].as_str().unwrap().starts_with('a'), "{question}");
    let rule = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
                       "behavior": "allow", "destination": "session"}]);
    answer(&mut running, &question, &json!({"behavior": "allow", "updatedPermissions": rule}));
    running.wait_for("result");
    running.close_stdin();
    let lines = running.finish().expect_clean().lines();
    assert!(sandbox.project().join("by-agent").exists() && sandbox.project().join("by-main").exists());
    assert_eq!(of_kind(&lines, "control_request").len(), 1, "asked once");
}

// [EXT-174] [CLI-183] [SDK-87] A background agent asks while the main thread is idle; stopping it ends the question.
#[test]
fn a_background_agent_asks_while_the_session_is_idle() {
    let call = agent_call("toolu_a", &json!({"run_in_background": true}));
    let server = server(
        vec![
            ScriptedReply::message(vec![call]),
            ScriptedReply::text("launched"),
            ScriptedReply::text("heard"),
            ScriptedReply::text("more"),
        ],
        |request| match request.tool_uses().len() {
            0 => touch("first"),
            1 => touch("second"),
            _ => ScriptedReply::text("made"),
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = host(&sandbox, &ASKING).spawn();
    running.send_user("go");
    let question = running.wait_for("control_request");
    answer(&mut running, &question, &json!({"behavior": "allow"}));
    let again = running.wait_for("control_request");
    assert!(sandbox.project().join("first").exists());
    let agent = again["request"]["agent_id"].clone();
    assert!(agent.is_string() && agent == question["request"]["agent_id"]);
    running.send_json(&json!({"type": "control_request", "request_id": "stop",
                              "request": {"subtype": "stop_task", "task_id": agent}}));
    let withdrawn = running.wait_for("control_cancel_request");
    assert_eq!(withdrawn["request_id"], again["request_id"]);
    running.close_stdin();
    let lines = running.finish().expect_clean().lines();
    assert!(!sandbox.project().join("second").exists());
    assert_eq!(of_kind(&lines, "system/task_notification")[0]["status"], "stopped", "{:?}", kinds(&lines));
}

// [CLI-183] A mode that the host chooses reaches running agents, except those whose definition chose one.
#[test]
fn a_chosen_mode_reaches_running_agents() {
    for (own, asked) in [(None, 1), (Some("default"), 2)] {
        let call = agent_call("toolu_a", &json!({"subagent_type": "w"}));
        let server = server(vec![ScriptedReply::message(vec![call]), ScriptedReply::text("done")], |request| {
            match request.tool_uses().len() {
                0 => touch("first"),
                1 => ScriptedReply::tool("Write", json!({"file_path": "second", "content": "x"})),
                _ => ScriptedReply::text("made"),
            }
        });
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut agents = json!({"w": {"description": "d", "prompt": "p"}});
        if let Some(mode) = own {
            agents["w"]["permissionMode"] = mode.into();
        }
        let agents = agents.to_string();
        let mut running = host(&sandbox, &[&ASKING[..], &["--agents", &agents]].concat()).spawn();
        running.send_user("go");
        let question = running.wait_for("control_request");
        running.send_json(&json!({"type": "control_request", "request_id": "mode",
                                  "request": {"subtype": "set_permission_mode", "mode": "acceptEdits"}}));
        running.wait_for("control_response");
        answer(&mut running, &question, &json!({"behavior": "allow"}));
        if asked == 2 {
            let question = running.wait_for("control_request");
            assert_eq!(question["request"]["tool_name"], "Write");
            answer(&mut running, &question, &json!({"behavior": "allow"}));
        }
        running.wait_for("result");
        running.close_stdin();
        let lines = running.finish().expect_clean().lines();
        assert_eq!(of_kind(&lines, "control_request").len(), asked, "{own:?}");
        assert!(sandbox.project().join("second").exists());
    }
}

// SC-E06 Plan mode reaches every agent, also one with a mode of its own.
#[test]
fn plan_mode_reaches_every_agent() {
    let call = agent_call("toolu_a", &json!({"subagent_type": "w"}));
    let server = server(vec![ScriptedReply::message(vec![call]), ScriptedReply::text("done")], |request| match request
        .tool_uses()
        .len()
    {
        0 => touch("first"),
        1 => ScriptedReply::tool("Write", json!({"file_path": "second", "content": "x"})),
        _ => ScriptedReply::text("made"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let agents = json!({"w": {"description": "d", "prompt": "p", "permissionMode": "acceptEdits"}}).to_string();
    let rules = r#"{"permissions":{"ask":["Bash(touch *)"]}}"#;
    let flags = [&ASKING[..], &["--agents", &agents, "--settings", rules]].concat();
    let mut running = host(&sandbox, &flags).spawn();
    running.send_user("go");
    let question = running.wait_for("control_request");
    running.send_json(&json!({"type": "control_request", "request_id": "mode",
                              "request": {"subtype": "set_permission_mode", "mode": "plan"}}));
    running.wait_for("control_response");
    answer(&mut running, &question, &json!({"behavior": "deny", "message": "no"}));
    running.wait_for("result");
    running.close_stdin();
    drop(running.finish());
    assert!(!sandbox.project().join("second").exists());
}

// SC-D20 What an agent writes to the settings grants and runs nothing, even if it ended before the change is noticed.
#[test]
fn an_agent_cannot_grant_by_writing_settings() {
    let rules = r#"{"permissions":{"allow":["Bash"]},
        "hooks":{"PreToolUse":[{"matcher":"","hooks":[{"type":"command","command":"touch ran"}]}]}}"#;
    let agent = move |request: &CapturedRequest| match request.tool_uses().len() {
        0 => ScriptedReply::tool("Write", json!({"file_path": "rules.json", "content": rules})),
        1 => ScriptedReply::tool("Bash", json!({"command": "mv rules.json .claude/settings.local.json"})),
        _ => ScriptedReply::text("written"),
    };
    let call = agent_call("toolu_a", &json!({"run_in_background": true}));
    let main = vec![
        ScriptedReply::message(vec![call]),
        ScriptedReply::text("launched"),
        touch("made"),
        ScriptedReply::text("done"),
    ];
    let server = server(main, agent);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".claude/keep", "");
    let mut running = host(&sandbox, &ASKING).spawn();
    running.send_user("go");
    let mut asked = Vec::new();
    while !asked.iter().any(|command: &String| command == "touch made") {
        let question = running.wait_for("control_request");
        asked.push(question["request"]["input"]["command"].as_str().unwrap_or("(a file)").to_owned());
        let verdict = match asked.last().unwrap().as_str() {
            "touch made" => json!({"behavior": "deny", "message": "no"}),
            _ => json!({"behavior": "allow"}),
        };
        answer(&mut running, &question, &verdict);
    }
    running.close_stdin();
    let told = running.finish().expect_code(0).stderr;
    assert_eq!(told.matches("allow rule Bash").count(), 1, "{told}");
    assert_eq!(sandbox.read(".claude/settings.local.json"), rules);
    assert!(!sandbox.project().join("made").exists() && !sandbox.project().join("ran").exists());
}

// [TST-192] [TST-194] An agent's conversation is shortened in its own file; the main one is not.
#[test]
fn an_agent_compacts_its_own_conversation() {
    let mut step = 0;
    let server = server(
        vec![ScriptedReply::message(vec![agent_call("toolu_a", &json!({}))]), ScriptedReply::text("done")],
        move |_| {
            step += 1;
            match step {
                1 => ScriptedReply::tool("Read", json!({"file_path": "notes.txt"})),
                2 => ScriptedReply::error(
                    400,
                    "invalid_request_error",
                    "prompt is too long: 21000 tokens > 20000 maximum",
                ),
                3 => ScriptedReply::text("what was done so far"),
                _ => ScriptedReply::text("all known"),
            }
        },
    );
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    sandbox.write("notes.txt", "alpha beta gamma\n");
    sandbox.write("CLAUDE.md", "Project rule: be brief.\n");
    let lines = print(&sandbox, "go", &["--model", "small-model"]).run().expect_code(0).lines();
    let again = of_agents(&server).pop().unwrap().all_text();
    for told in ["what was done so far", "Project rule: be brief.", "alpha beta gamma"] {
        assert!(again.contains(told), "{told}: {again}");
    }
    assert_eq!(of_kind(&lines, "result")[0]["result"], "done");
    assert!(of_kind(&lines, "system/compact_boundary").is_empty(), "nothing of it concerns the main conversation");
    let main = sandbox.transcript_paths().into_iter().find(|p| !p.to_string_lossy().contains("subagents")).unwrap();
    assert!(!std::fs::read_to_string(&main).unwrap().contains("compact_boundary"));
    let folder = std::fs::read_dir(main.with_extension("").join("subagents")).unwrap();
    let own = folder.map(|f| f.unwrap().path()).find(|p| p.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let own = testkit::stream_lines(&std::fs::read_to_string(own).unwrap());
    let boundary = own.iter().find(|l| l["subtype"] == "compact_boundary").expect("a boundary");
    assert_eq!(boundary["isSidechain"], true);
}

// [EXT-144] A skill with `context: fork` runs in an agent without the conversation; a headless run waits for it.
#[test]
fn a_skill_can_run_as_an_agent() {
    let main = vec![
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
            "toolu_s",
            "Skill",
            &json!({"skill": "survey", "args": "the docs"}),
        )]),
        ScriptedReply::text("first"),
        ScriptedReply::text("second"),
    ];
    let server = server(main, |request| match request.tool_uses().len() {
        0 => touch("surveyed"),
        _ => ScriptedReply::text("the survey found nothing"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config(
        "skills/survey/SKILL.md",
        "---\ndescription: Surveys\ncontext: fork\nallowed-tools: Bash(touch *)\n---\nSurvey $ARGUMENTS.\n",
    );
    let lines = stream(&sandbox, "a word of mine", &["--allowedTools", "Skill"]);
    let asked = of_agents(&server)[0].all_text();
    assert!(asked.contains("Survey the docs.") && !asked.contains("a word of mine"), "{asked}");
    assert!(sandbox.project().join("surveyed").exists(), "what the skill grants holds for its agent");
    assert!(server.last_request().tool_result_text("toolu_s").contains("the survey found nothing"));
    assert_eq!(of_kind(&lines, "system/task_started").len(), 1);
    // Typed by the user.
    stream(&sandbox, "/survey the code", &[]);
    assert!(server.last_request().last_user_text().contains("the survey found nothing"));
    // A rule about the type of agent applies here too.
    let refused = print(&sandbox, "/survey it", &["--disallowedTools", "Agent(general-purpose)"]).run().expect_code(1);
    assert!(of_kind(&refused.lines(), "system/task_started").is_empty());
}
