//! Subagents through the real binary: what a host sees, what is on disk, limits, messages, stops and results.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, kinds, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use testkit::{CapturedRequest, ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

fn agent_of(request: &CapturedRequest) -> Option<String> {
    request.header("x-claude-code-agent-id").map(str::to_owned)
}

fn agent_call(id: &str, prompt: &str, more: &Value) -> ScriptedBlock {
    let mut input = json!({"description": "look around", "prompt": prompt, "run_in_background": false});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ScriptedBlock::tool_with_id(id, "Agent", &input)
}

/// The main thread's replies in order; agents answer from `agent`.
fn server(
    main: Vec<ScriptedReply>,
    agent: impl FnMut(&CapturedRequest) -> ScriptedReply + Send + 'static,
) -> ModelServer {
    let (mut main, mut agent) = (main.into_iter(), agent);
    ModelServer::with_handler(move |request| match agent_of(request) {
        Some(_) => agent(request),
        None => {
            main.next().unwrap_or_else(|| ScriptedReply::error(400, "invalid_request_error", "the main script is over"))
        }
    })
}

fn subagents(sandbox: &Sandbox, session: &str) -> PathBuf {
    let main = sandbox.transcript_paths().into_iter().find(|p| p.to_string_lossy().contains(session)).unwrap();
    main.with_extension("").join("subagents")
}

/// Transcripts of agents by id.
fn agent_files(sandbox: &Sandbox, session: &str) -> BTreeMap<String, Vec<Value>> {
    let files = std::fs::read_dir(subagents(sandbox, session)).unwrap().map(|f| f.unwrap().path());
    files
        .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
        .map(|p| {
            let id = p.file_stem().unwrap().to_str().unwrap().strip_prefix("agent-").unwrap().to_owned();
            (id, testkit::stream_lines(&std::fs::read_to_string(&p).unwrap()))
        })
        .collect()
}

fn sidecar(sandbox: &Sandbox, session: &str, id: &str) -> Value {
    let path = subagents(sandbox, session).join(format!("agent-{id}.meta.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every line's parent is the line before it; the first has none.
fn assert_linear(lines: &[Value], id: &str) {
    let nodes: Vec<&Value> = lines.iter().filter(|l| l["uuid"].is_string()).collect();
    assert_eq!(nodes[0]["parentUuid"], Value::Null);
    assert_eq!(nodes[0]["type"], "user");
    let known: std::collections::BTreeSet<&str> = nodes.iter().map(|n| n["uuid"].as_str().unwrap()).collect();
    for node in &nodes {
        assert_eq!((&node["isSidechain"], &node["agentId"]), (&json!(true), &json!(id)), "{node}");
        assert!(node["parentUuid"].as_str().is_none_or(|parent| known.contains(parent)), "{node}");
    }
}

// [EXT-173] [EXT-176] [SDK-137] [SDK-138] [TST-88] [TST-169] [CLI-110] A foreground agent: the host's lines in order,
// the result for the model, the transcript with its sidecar.
#[test]
fn a_foreground_agent_from_start_to_end() {
    let server = server(
        vec![
            ScriptedReply::message(vec![
                ScriptedBlock::text("I delegate."),
                agent_call("toolu_agent", "read notes.txt", &json!({})),
            ]),
            ScriptedReply::text("All known."),
        ],
        |request| match request.tool_uses().len() {
            0 => ScriptedReply::message(vec![
                ScriptedBlock::text("Reading."),
                ScriptedBlock::tool_with_id("toolu_read", "Read", &json!({"file_path": "notes.txt"})),
            ]),
            _ => ScriptedReply::text("The notes say hello.").tokens(100, 7),
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("notes.txt", "hello\n");
    sandbox.write("CLAUDE.md", "Project rule: be brief.\n");
    let lines = stream(&sandbox, "what do the notes say?", &[]);
    assert_eq!(
        kinds(&lines),
        [
            "system/init",
            "assistant",
            "assistant",
            "system/task_started",
            "user",
            "system/task_progress",
            "assistant",
            "user",
            "system/task_updated",
            "system/task_notification",
            "user",
            "assistant",
            "result/success",
        ]
    );
    let started = &lines[3];
    let id = started["task_id"].as_str().unwrap().to_owned();
    assert!(id.len() == 17 && id.starts_with('a'), "{id}");
    assert_eq!(started["task_type"], "local_agent");
    assert_eq!((&started["tool_use_id"], &started["spawn_depth"]), (&json!("toolu_agent"), &json!(1)));
    assert_eq!((&started["subagent_type"], &started["is_backgrounded"]), (&json!("general-purpose"), &json!(false)));
    assert_eq!(started["prompt"], "read notes.txt");
    for at in [4, 6, 7] {
        assert_eq!(lines[at]["parent_tool_use_id"], "toolu_agent", "{}", lines[at]);
        assert_eq!((&lines[at]["agent_id"], &lines[at]["task_description"]), (&json!(id), &json!("look around")));
    }
    assert_eq!(lines[4]["message"]["content"], "read notes.txt");
    assert_eq!(lines[5]["last_tool_name"], "Read");
    assert_eq!(lines[5]["usage"]["tool_uses"], 1);
    assert_eq!(lines[8]["patch"]["status"], "completed");
    assert_eq!((&lines[9]["status"], &lines[9]["usage"]["tool_uses"]), (&json!("completed"), &json!(1)));
    assert_eq!(lines[10]["parent_tool_use_id"], Value::Null);
    let result = &lines[10]["tool_use_result"];
    assert_eq!((&result["status"], &result["agentId"]), (&json!("completed"), &json!(id)));
    assert_eq!((&result["totalToolUseCount"], &result["totalTokens"]), (&json!(1), &json!(107)));
    assert_eq!(result["content"], json!([{"type": "text", "text": "The notes say hello."}]));
    // The result that the model gets.
    let read = server.last_request().tool_result_text("toolu_agent");
    assert!(read.starts_with("The notes say hello.\nagentId: "), "{read}");
    assert!(read.contains("<usage>total_tokens: 107\ntool_uses: 1\nduration_ms: "), "{read}");
    // [EXT-169] [EXT-170] What the agent gets: its prompt and the instructions, not the conversation.
    let request = server.request(1);
    assert_eq!(agent_of(&request).as_deref(), Some(id.as_str()));
    assert!(request.all_text().contains("Project rule: be brief."));
    assert!(!request.all_text().contains("what do the notes say?"));
    assert!(request.system_text().contains("You are a subagent of gimlet"));
    assert!(!request.tool_names().contains(&"TaskOutput".to_owned()));
    // On disk.
    let session = session_of(&lines);
    let files = agent_files(&sandbox, &session);
    let own = &files[&id];
    assert_linear(own, &id);
    assert_eq!(own[0]["message"]["content"], "read notes.txt");
    assert!(own.iter().filter(|l| l["uuid"].is_string()).all(|l| l["sessionId"] == session.as_str()));
    let meta = sidecar(&sandbox, &session, &id);
    assert_eq!((&meta["agentType"], &meta["toolUseId"]), (&json!("general-purpose"), &json!("toolu_agent")));
    assert_eq!((&meta["status"], &meta["spawnDepth"]), (&json!("completed"), &json!(1)));
    // [CLI-58] The same as text and as JSON.
    let shown = sandbox.gimlet(&["agents"]).run().expect_clean().stdout;
    assert!(shown.contains(&id) && shown.contains("done  general-purpose: look around"), "{shown}");
    let listed = sandbox.gimlet(&["agents", "--json"]).run().expect_clean().json();
    assert_eq!(listed[0]["sessionId"], session.as_str());
    assert_eq!((&listed[0]["agents"][0]["id"], &listed[0]["agents"][0]["state"]), (&json!(id), &json!("done")));
}

// [SDK-138] [CLI-43] With the flag the text of agents is forwarded too.
#[test]
fn text_of_agents_is_forwarded_when_asked_for() {
    let replies =
        || vec![ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({}))]), ScriptedReply::text("done")];
    for (flag, wanted) in [(&[][..], 0), (&["--forward-subagent-text"][..], 1)] {
        let server = server(replies(), |_| ScriptedReply::text("from the agent"));
        let sandbox = Sandbox::with_server(EXE, &server);
        let lines = stream(&sandbox, "go", flag);
        let forwarded = lines.iter().filter(|l| l["type"] == "assistant" && l["parent_tool_use_id"] == "toolu_a");
        assert_eq!(forwarded.count(), wanted);
    }
}

// [EXT-172] [TST-89] [SDK-154] [SDK-186] [CLI-54] A background agent: launched at once, reported once in a separate
// turn, waited for at the end of the run.
#[test]
fn a_background_agent_is_told_once() {
    // [TST-200]
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_bg", "work", &json!({"run_in_background": true}))]),
            ScriptedReply::text("It runs."),
            ScriptedReply::text("It has ended."),
        ],
        move |_| ScriptedReply::text("Background report.").gate(&held),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = print(&sandbox, "go", &[]).env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1").spawn();
    assert_eq!(run.wait_for("result")["result"], "It runs.");
    gate.open_all();
    let lines = run.finish().expect_clean().lines();
    let results = of_kind(&lines, "result");
    assert_eq!(results.len(), 2);
    assert_eq!(
        (&results[1]["result"], &results[1]["origin"]["kind"]),
        (&json!("It has ended."), &json!("task-notification"))
    );
    assert_eq!(of_kind(&lines, "system/init").len(), 2);
    let launched = of_kind(&lines, "user").into_iter().find(|l| l["parent_tool_use_id"].is_null()).unwrap();
    let result = &launched["tool_use_result"];
    assert_eq!((&result["status"], &result["isAsync"]), (&json!("async_launched"), &json!(true)));
    let id = result["agentId"].as_str().unwrap();
    assert!(result["outputFile"].as_str().unwrap().ends_with(&format!("{id}.output")));
    let changed = of_kind(&lines, "system/background_tasks_changed");
    assert_eq!(changed[0]["tasks"][0]["task_id"], id);
    assert_eq!(changed.last().unwrap()["tasks"], json!([]));
    // Idle is reported once, at the very end.
    let states: Vec<&str> =
        of_kind(&lines, "system/session_state_changed").iter().map(|l| l["state"].as_str().unwrap()).collect();
    assert_eq!(states.iter().filter(|s| **s == "idle").count(), 1, "{states:?}");
    let text = server.last_request().all_text();
    assert_eq!(text.matches("<task-notification>").count(), 1);
    assert!(
        text.contains(&format!("<task-id>{id}</task-id>")) && text.contains("<result>Background report.</result>"),
        "{text}"
    );
    assert!(text.contains("Full transcript available at: "));
    let line = sandbox.transcript().into_iter().find(|l| l.to_string().contains("<task-notification>")).unwrap();
    assert_eq!((&line["origin"]["kind"], &line["isMeta"]), (&json!("task-notification"), &json!(true)));
}

// [EXT-154] [EXT-157] An unknown type names those that exist, and files that did not load.
#[test]
fn an_unknown_type_lists_the_known_ones() {
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_x", "go", &json!({"subagent_type": "nobody"}))]),
            ScriptedReply::text("I see."),
        ],
        |_| ScriptedReply::text("never"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".claude/agents/good.md", "---\nname: good\ndescription: is good\n---\nBe good.\n");
    sandbox.write(".claude/agents/bad.md", "---\ndescription: has no name\n---\nx\n");
    let lines = stream(&sandbox, "go", &[]);
    let read = server.last_request().tool_result_text("toolu_x");
    assert!(
        read.contains("Agent type 'nobody' not found. Available agents: general-purpose, Explore, Plan, good"),
        "{read}"
    );
    assert!(read.contains("bad.md"), "{read}");
    assert_eq!(lines[0]["agents"], json!(["general-purpose", "Explore", "Plan", "good"]));
    // [EXT-155] [TST-13]
    assert!(lines[0]["tools"].as_array().unwrap().contains(&json!("Task")));
    let description = server.request(0).json["tools"].to_string();
    assert!(description.contains("- good: is good"));
}

// [EXT-155] [EXT-156] [EXT-160] [EXT-162] [EXT-166] [SDK-23] Definitions of the command line: prompt, tools, model,
// limits; called by the tool's old name.
#[test]
fn a_definition_decides_prompt_tools_and_model() {
    let server = server(
        vec![
            ScriptedReply::tool(
                "Task",
                json!({"description": "d", "prompt": "go", "subagent_type": "reader", "run_in_background": false}),
            ),
            ScriptedReply::text("done"),
        ],
        |_| ScriptedReply::text("read"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: greets\n---\nSay good day.\n");
    sandbox.write(".claude/agents/reader.md", "---\nname: reader\ndescription: other\n---\nNot this one.\n");
    let agents = json!({"reader": {"description": "reads", "prompt": "You only read.", "tools": ["Read", "Grep", "Nope"],
                                   "disallowedTools": ["Grep"], "model": "haiku", "skills": ["greet"]}});
    stream(&sandbox, "go", &["--agents", &agents.to_string(), "--append-subagent-system-prompt", "Mind the gap."]);
    let request = server.request(1);
    assert!(request.system_text().starts_with("You only read."), "{}", request.system_text());
    assert!(request.system_text().contains("Say good day.") && request.system_text().contains("Mind the gap."));
    assert_eq!(request.tool_names(), ["Read"]);
    assert!(request.model().contains("haiku"), "{}", request.model());
    assert_ne!(request.model(), server.request(0).model());
    // The environment variable takes precedence.
    let second = self::server(
        vec![
            ScriptedReply::message(vec![agent_call("t", "go", &json!({"model": "opus"}))]),
            ScriptedReply::text("done"),
        ],
        |_| ScriptedReply::text("x"),
    );
    let mut sandbox = Sandbox::with_server(EXE, &second);
    sandbox.set("CLAUDE_CODE_SUBAGENT_MODEL", "haiku");
    stream(&sandbox, "go", &[]);
    assert!(second.request(1).model().contains("haiku"));
}

// [EXT-183] [SDK-22] The main thread as an agent, also when it is resumed.
#[test]
fn the_main_thread_can_run_as_an_agent() {
    let server =
        ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two"), ScriptedReply::text("three")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let file = sandbox
        .write(".claude/agents/boss.md", "---\nname: boss\ndescription: rules\ntools: Read\n---\nYou are the boss.\n");
    let session = session_of(&stream(&sandbox, "go", &["--agent", "boss"]));
    assert!(server.request(0).system_text().starts_with("You are the boss."));
    assert_eq!(server.request(0).tool_names(), ["Read"]);
    assert!(sandbox.transcript().iter().any(|l| l["type"] == "agent-setting" && l["agentSetting"] == "boss"));
    stream(&sandbox, "on", &["--resume", &session]);
    assert!(server.request(1).system_text().starts_with("You are the boss."));
    std::fs::remove_file(file).unwrap();
    let gone = print(&sandbox, "on", &["--resume", &session]).run().expect_code(0);
    assert!(gone.stderr.contains("agent \"boss\" no longer exists"), "{}", gone.stderr);
    let refused = print(&sandbox, "go", &["--agent", "boss"]).run().expect_code(1);
    assert!(refused.stderr.contains("there is no agent \"boss\""), "{}", refused.stderr);
}

// [EXT-164] [EXT-175] [SDK-163] [CLI-183] Rules apply inside agents, in the foreground, the background and below; a run
// without a host asks nobody.
#[test]
fn rules_hold_inside_agents() {
    for background in [false, true] {
        let more = json!({"run_in_background": background});
        let server = server(
            vec![
                ScriptedReply::message(vec![agent_call("toolu_a", "outer", &more)]),
                ScriptedReply::text("launched"),
                ScriptedReply::text("done"),
            ],
            |request| {
                let inner = request.messages()[0].to_string().contains("inner");
                match (inner, request.tool_uses().len()) {
                    (false, 0) => ScriptedReply::message(vec![
                        ScriptedBlock::tool_with_id(
                            "toolu_w",
                            "Write",
                            &json!({"file_path": "secret/x", "content": "x"}),
                        ),
                        agent_call("toolu_n", "inner", &json!({})),
                    ]),
                    (true, 0) => ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                        "toolu_b",
                        "Bash",
                        &json!({"command": "python3 -c 'open(1)' > made"}),
                    )]),
                    _ => ScriptedReply::text("refused"),
                }
            },
        );
        let sandbox = Sandbox::with_server(EXE, &server);
        let flags = ["--disallowedTools", "Edit(secret/**)", "--permission-mode", "acceptEdits"];
        let lines = stream(&sandbox, "go", &flags);
        assert!(!sandbox.project().join("secret/x").exists() && !sandbox.project().join("made").exists());
        let denied = of_kind(&lines, "system/permission_denied");
        assert_eq!(denied.len(), 2, "{:?}", kinds(&lines));
        assert!(denied.iter().all(|d| d["agent_id"].is_string()));
        assert_ne!(denied[0]["agent_id"], denied[1]["agent_id"]);
    }
}

// SC-E11 [CLI-161] A denied type starts by none of its names, and is not offered.
#[test]
fn a_denied_type_does_not_start() {
    let server = server(
        vec![
            ScriptedReply::message(vec![
                agent_call("toolu_1", "go", &json!({"subagent_type": "Explore"})),
                ScriptedBlock::tool_with_id(
                    "toolu_2",
                    "Task",
                    &json!({"description": "d", "prompt": "p", "subagent_type": "Explore"}),
                ),
            ]),
            ScriptedReply::text("no"),
        ],
        |_| ScriptedReply::text("never"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "go", &["--disallowedTools", "Agent(Explore)"]);
    assert_eq!(server.requests().len(), 2);
    assert!(server.last_request().tool_results().iter().all(|r| r["is_error"] == true));
    assert!(!server.request(0).json["tools"].to_string().contains("- Explore:"));
}

// SC-D16 [EXT-163] [CLI-171] A definition cannot lift what policy forbids, nor change what its parent may do.
#[test]
fn modes_follow_parent_and_policy() {
    let cases = [
        ("bypassPermissions", "default", r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#, false),
        ("acceptEdits", "default", "{}", true),
        ("plan", "acceptEdits", "{}", true),
        // SC-E06 Agents of a session in plan mode are in plan mode.
        ("acceptEdits", "plan", "{}", false),
    ];
    for (own, parent, settings, written) in cases {
        let server = server(
            vec![
                ScriptedReply::message(vec![agent_call("t", "go", &json!({"subagent_type": "w"}))]),
                ScriptedReply::text("done"),
            ],
            |request| match request.tool_uses().len() {
                0 => ScriptedReply::tool("Write", json!({"file_path": "out.txt", "content": "x"})),
                _ => ScriptedReply::text("tried"),
            },
        );
        let sandbox = Sandbox::with_server(EXE, &server);
        let agents = json!({"w": {"description": "d", "prompt": "p", "permissionMode": own}});
        let flags = ["--agents", &agents.to_string(), "--permission-mode", parent, "--settings", settings];
        stream(&sandbox, "go", &flags);
        assert_eq!(sandbox.project().join("out.txt").exists(), written, "{own} below {parent}");
    }
}

// [EXT-179] [TST-90] Three layers below the main thread; one when so set. At the limit the tool is absent.
#[test]
fn depth_is_limited() {
    for (limit, layers) in [(None, 3), (Some("1"), 1)] {
        let server = server(
            vec![ScriptedReply::message(vec![agent_call("t", "go", &json!({}))]), ScriptedReply::text("done")],
            |request| {
                let deeper = request.tool_names().contains(&"Agent".to_owned()) && request.tool_uses().is_empty();
                if deeper {
                    ScriptedReply::message(vec![agent_call("t", "go", &json!({}))])
                } else {
                    ScriptedReply::text("bottom")
                }
            },
        );
        let mut sandbox = Sandbox::with_server(EXE, &server);
        if let Some(limit) = limit {
            sandbox.set("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", limit);
        }
        let lines = stream(&sandbox, "go", &[]);
        let started = of_kind(&lines, "system/task_started");
        let depths: Vec<u64> = started.iter().map(|s| s["spawn_depth"].as_u64().unwrap()).collect();
        assert_eq!(depths, (1..=layers).collect::<Vec<u64>>());
        // [TST-170] Who started whom is on disk.
        let files = agent_files(&sandbox, &session_of(&lines));
        assert_eq!(files.len() as u64, layers);
        for pair in started.windows(2) {
            let meta = sidecar(&sandbox, &session_of(&lines), pair[1]["task_id"].as_str().unwrap());
            assert_eq!(meta["parentAgentId"], pair[0]["task_id"]);
        }
    }
}

// [EXT-180] [TST-90] More agents at once than allowed are refused, in words that do not invite a retry.
#[test]
fn agents_at_once_are_limited() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let calls = (0..3).map(|n| agent_call(&format!("toolu_{n}"), "go", &json!({"run_in_background": true}))).collect();
    let server = server(
        vec![
            ScriptedReply::message(calls),
            ScriptedReply::text("launched"),
            ScriptedReply::text("a"),
            ScriptedReply::text("b"),
        ],
        move |_| ScriptedReply::text("x").gate(&held),
    );
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "2");
    let mut run = print(&sandbox, "go", &[]).spawn();
    run.wait_for("result");
    gate.open_all();
    drop(run.finish().expect_clean());
    let main: Vec<CapturedRequest> = server.requests().into_iter().filter(|r| agent_of(r).is_none()).collect();
    let text = main[1].tool_result_text("toolu_2");
    assert!(text.starts_with("Concurrent subagent limit reached"), "{text}");
    assert!(main[1].tool_result_text("toolu_1").contains("agentId: "));
}

// [EXT-165] [EXT-181] Limits and failures of agents are reported to the thread that started them.
#[test]
fn an_agent_that_fails_says_so() {
    let agents = json!({"short": {"description": "d", "prompt": "p", "maxTurns": 1}}).to_string();
    let server = server(
        vec![
            ScriptedReply::message(vec![
                agent_call("toolu_m", "limit", &json!({"subagent_type": "short"})),
                agent_call("toolu_e", "broken", &json!({})),
            ]),
            ScriptedReply::text("done"),
        ],
        |request| {
            if request.all_text().contains("broken") {
                return ScriptedReply::error(400, "invalid_request_error", "no such thing");
            }
            ScriptedReply::message(vec![
                ScriptedBlock::text("Half of it."),
                ScriptedBlock::tool("Glob", &json!({"pattern": "*"})),
            ])
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "go", &["--agents", &agents]);
    let request = server.last_request();
    let limit = request.tool_result_text("toolu_m");
    assert!(limit.starts_with("Half of it.\n\n[The agent was stopped at its limit of 1 turns"), "{limit}");
    let broken = request.tool_result_text("toolu_e");
    assert!(broken.starts_with("Agent terminated early due to an API error"), "{broken}");
}

// [EXT-177] [TST-94] A finished agent can be continued with its conversation; one that the user stopped cannot.
#[test]
fn a_finished_agent_can_be_continued() {
    let seen = Arc::new(Mutex::new(None::<String>));
    let id = Arc::clone(&seen);
    let mut step = 0;
    let server = ModelServer::with_handler(move |request| {
        if agent_of(request).is_some() {
            return ScriptedReply::text(if request.all_text().contains("and then?") { "second" } else { "first" });
        }
        step += 1;
        match step {
            1 => ScriptedReply::message(vec![agent_call("toolu_a", "begin", &json!({"name": "helper"}))]),
            2 => {
                let text = request.tool_result_text("toolu_a");
                let found = text.split("agentId: ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
                *id.lock().unwrap() = Some(found);
                ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                    "toolu_s",
                    "SendMessage",
                    &json!({"to": "helper", "message": "and then?"}),
                )])
            }
            3 => ScriptedReply::text("asked"),
            _ => ScriptedReply::text("heard"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    let id = seen.lock().unwrap().clone().unwrap();
    let second = server.requests().into_iter().rfind(|r| agent_of(r).is_some()).unwrap();
    assert_eq!(agent_of(&second).as_deref(), Some(id.as_str()));
    assert!(second.all_text().contains("begin") && second.all_text().contains("first"));
    assert!(server.last_request().all_text().contains("<result>second</result>"));
    let session = session_of(&lines);
    assert_eq!(agent_files(&sandbox, &session).len(), 1);
    assert_linear(&agent_files(&sandbox, &session)[&id], &id);
    assert_eq!(sidecar(&sandbox, &session, &id)["toolUseId"], "toolu_a");
}

// [SDK-87] [SDK-75] The host stops an agent: it ends with the agents it started, and stays stopped.
#[test]
fn an_agent_is_stopped_with_its_children() {
    let inner = ReplyGate::new();
    let held = inner.clone();
    let mut step = 0;
    let server = ModelServer::with_handler(move |request| {
        if agent_of(request).is_some() {
            let inner = request.messages()[0].to_string().contains("inner");
            let call = agent_call("toolu_in", "inner", &json!({}));
            return if inner { ScriptedReply::text("never").gate(&held) } else { ScriptedReply::message(vec![call]) };
        }
        step += 1;
        match step {
            1 => ScriptedReply::message(vec![agent_call("toolu_out", "outer", &json!({"run_in_background": true}))]),
            2 => ScriptedReply::text("launched"),
            3 => {
                let text = request.all_text();
                let to = text.split("<task-id>").nth(1).map(|t| t.split('<').next().unwrap().to_owned());
                ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                    "toolu_s",
                    "SendMessage",
                    &json!({"to": to, "message": "go on"}),
                )])
            }
            _ => ScriptedReply::text("done"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("go");
    run.wait_for("result");
    inner.wait_until_reached(1);
    let session = sandbox.transcript_paths()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let files = agent_files(&sandbox, &session);
    let outer = files.keys().find(|id| sidecar(&sandbox, &session, id)["spawnDepth"] == 1).unwrap().clone();
    run.send_json(
        &json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "stop_task", "task_id": outer}}),
    );
    assert_eq!(run.wait_for("control_response")["response"]["subtype"], "success");
    while run.wait_for("system")["tasks"] != json!([]) {}
    run.send_json(
        &json!({"type": "control_request", "request_id": "r2", "request": {"subtype": "stop_task", "task_id": "nope"}}),
    );
    assert_eq!(run.wait_for("control_response")["response"]["subtype"], "success");
    run.send_user("and now?");
    assert_eq!(run.wait_for("result")["result"], "done");
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let updated = of_kind(&lines, "system/task_updated");
    assert_eq!(updated.len(), 2);
    assert!(updated.iter().all(|u| u["patch"]["status"] == "killed"), "{updated:?}");
    let refused = server.last_request().tool_result_text("toolu_s");
    assert!(refused.contains("was stopped by the user"), "{refused}");
}

// [SDK-75] An interrupt ends agents of both kinds; every call is answered.
#[test]
fn an_interrupt_ends_agents() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = server(
        vec![ScriptedReply::message(vec![
            agent_call("toolu_f", "fore", &json!({})),
            agent_call("toolu_b", "back", &json!({"run_in_background": true})),
        ])],
        move |_| ScriptedReply::text("never").gate(&held),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("go");
    gate.wait_until_reached(2);
    run.interrupt();
    let result = run.wait_for("result");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    run.close_stdin();
    let lines = run.finish().lines();
    assert_eq!(of_kind(&lines, "system/task_updated").len(), 2, "{:?}", kinds(&lines));
    let answered: Vec<&Value> = of_kind(&lines, "user")
        .into_iter()
        .filter(|l| l["parent_tool_use_id"].is_null() && l["tool_use_result"] != Value::Null)
        .collect();
    assert_eq!(answered.len(), 2);
}

// [EXT-171] The shell of an agent starts where the agent did, every time, and does not move its parent's.
#[test]
fn a_directory_change_stays_in_its_call() {
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({}))]),
            ScriptedReply::message(vec![ScriptedBlock::tool_with_id("toolu_p", "Bash", &json!({"command": "pwd"}))]),
            ScriptedReply::text("done"),
        ],
        |request| match request.tool_uses().len() {
            0 => ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                "toolu_1",
                "Bash",
                &json!({"command": "cd sub && pwd"}),
            )]),
            1 => {
                ScriptedReply::message(vec![ScriptedBlock::tool_with_id("toolu_2", "Bash", &json!({"command": "pwd"}))])
            }
            _ => ScriptedReply::text(format!(
                "{} {}",
                request.tool_result_text("toolu_1"),
                request.tool_result_text("toolu_2")
            )),
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("sub/x", "");
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let project = sandbox.project().canonicalize().unwrap().display().to_string();
    let request = server.last_request();
    assert!(request.tool_result_text("toolu_a").starts_with(&format!("{project}/sub {project}")));
    assert_eq!(request.tool_result_text("toolu_p"), project);
}

// [CLI-23] Usage of agents is in the totals and not in the turn's; the budget covers them.
#[test]
fn usage_and_cost_are_rolled_up() {
    let replies = || {
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({}))]).tokens(1000, 100),
            ScriptedReply::text("done").tokens(1000, 100),
        ]
    };
    let server = server(replies(), |_| ScriptedReply::text("x").tokens(5000, 500));
    let sandbox = Sandbox::with_server(EXE, &server);
    let result = print(&sandbox, "go", &[]).run().expect_clean().result();
    assert_eq!(result["usage"]["input_tokens"], 2000);
    let totals: Vec<u64> =
        result["modelUsage"].as_object().unwrap().values().map(|m| m["inputTokens"].as_u64().unwrap()).collect();
    assert_eq!(totals.iter().sum::<u64>(), 7000);
    let limited = self::server(
        vec![ScriptedReply::message(vec![
            agent_call("toolu_a", "go", &json!({})),
            ScriptedBlock::tool_with_id("toolu_w", "Write", &json!({"file_path": "after", "content": "x"})),
            agent_call("toolu_b", "go", &json!({})),
        ])],
        |_| ScriptedReply::text("x").tokens(5_000_000, 500),
    );
    let sandbox = Sandbox::with_server(EXE, &limited);
    let flags = ["--max-budget-usd", "1", "--permission-mode", "acceptEdits"];
    let run = print(&sandbox, "go", &flags).run().expect_code(1);
    assert_eq!(run.result()["subtype"], "error_max_budget_usd");
    let results: Vec<Value> = sandbox.transcript().into_iter().filter(|l| l["toolUseResult"].is_string()).collect();
    assert!(results[0]["toolUseResult"].as_str().unwrap().contains("Budget limit reached"), "{results:?}");
}

#[expect(clippy::disallowed_methods, reason = "a repository to work in")]
fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(sandbox.project())
        .env("HOME", sandbox.home())
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

// [EXT-186] [EXT-187] [EXT-188] [EXT-189] [TST-93] A worktree of its own: used, removed when unchanged, kept and named
// when not; the main checkout is out of reach.
#[test]
fn an_isolated_agent_works_in_its_own_worktree() {
    for changes in [false, true] {
        let server = server(
            vec![
                ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({"isolation": "worktree"}))]),
                ScriptedReply::text("done"),
            ],
            move |request| match (request.tool_uses().len(), changes) {
                (0, true) => ScriptedReply::message(vec![
                    ScriptedBlock::tool_with_id(
                        "toolu_1",
                        "Bash",
                        &json!({"command": "cat local.env && echo new > made.txt"}),
                    ),
                    ScriptedBlock::tool_with_id(
                        "toolu_2",
                        "Bash",
                        &json!({"command": "cd ../../.. && touch stray.txt"}),
                    ),
                ]),
                (0, false) => ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
                    "toolu_1",
                    "Bash",
                    &json!({"command": "ls"}),
                )]),
                _ => ScriptedReply::text(request.tool_result_text("toolu_1")),
            },
        );
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write("tracked.txt", "x");
        sandbox.write(".gitignore", "*.env\n");
        sandbox.write("local.env", "KEY=1\n");
        sandbox.write("other.env", "KEY=2\n");
        sandbox.write(".worktreeinclude", "local.env\ntracked.txt\n");
        git(&sandbox, &["init", "-q"]);
        git(&sandbox, &["add", "."]);
        git(&sandbox, &["commit", "-qm", "first"]);
        let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
        assert!(!sandbox.project().join("stray.txt").exists() && !sandbox.project().join("made.txt").exists());
        let read = server.last_request().tool_result_text("toolu_a");
        let folder = sandbox.project().join(".claude/worktrees");
        let mut left: Vec<PathBuf> =
            std::fs::read_dir(&folder).map(|d| d.map(|e| e.unwrap().path()).collect()).unwrap_or_default();
        left.retain(|path| !path.ends_with(".gitignore"));
        if changes {
            assert!(
                read.contains("KEY=1")
                    && read.contains("worktreePath: ")
                    && read.contains("worktreeBranch: worktree-agent-"),
                "{read}"
            );
            assert!(left[0].join("made.txt").exists() && !left[0].join("other.env").exists());
            assert!(git(&sandbox, &["branch"]).contains("worktree-agent-"));
        } else {
            assert!(read.starts_with("local.env\ntracked.txt"), "{read}");
            assert!(left.is_empty() && !read.contains("worktreePath"), "{read} {left:?}");
            assert!(!git(&sandbox, &["branch"]).contains("worktree-agent-"));
        }
        assert_eq!(of_kind(&lines, "system/task_updated")[0]["patch"]["status"], "completed");
    }
}

// SC-C18 A link of the repository at the place of worktrees is not followed, and the agent does not run without one.
#[test]
fn a_worktree_is_never_made_through_a_link() {
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({"isolation": "worktree"}))]),
            ScriptedReply::text("done"),
        ],
        |_| ScriptedReply::text("never"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("tracked.txt", "x");
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-qm", "first"]);
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir(sandbox.project().join(".claude")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.project().join(".claude/worktrees")).unwrap();
    stream(&sandbox, "go", &[]);
    let read = server.last_request().tool_result_text("toolu_a");
    assert!(read.contains("Refusing to use") && read.contains("as an isolation worktree"), "{read}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(server.requests().len(), 2);
}

// 20 agents with 10 calls each: every result arrives once, every transcript is whole.
#[test]
fn twenty_agents_with_ten_calls_each() {
    const AGENTS: usize = 20;
    const CALLS: usize = 10;
    let calls = (0..AGENTS).map(|n| {
        agent_call(&format!("toolu_{n}"), &format!("job {n}."), &json!({"run_in_background": n.is_multiple_of(2)}))
    });
    let calls: Vec<ScriptedBlock> = calls.collect();
    let mut first = true;
    let server = ModelServer::with_handler(move |request| {
        if agent_of(request).is_none() {
            return if std::mem::take(&mut first) {
                ScriptedReply::message(calls.clone())
            } else {
                ScriptedReply::text("noted")
            };
        }
        let done = request.tool_uses().len();
        let job = request.messages()[0].to_string().split("job ").nth(1).unwrap().split('.').next().unwrap().to_owned();
        if done == CALLS {
            return ScriptedReply::text(format!("report of job {job}."));
        }
        let command = format!("echo {done} >> out-{job}");
        ScriptedReply::message(vec![ScriptedBlock::tool("Bash", &json!({"command": command}))])
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).timeout(std::time::Duration::from_mins(2));
    let lines = run.spawn().finish_within(std::time::Duration::from_mins(2)).expect_clean().lines();
    let files = agent_files(&sandbox, &session_of(&lines));
    assert_eq!(files.len(), AGENTS);
    for (id, file) in &files {
        assert_linear(file, id);
        assert_eq!(file.iter().filter(|l| l["toolUseResult"].is_object()).count(), CALLS, "{id}");
        assert_eq!(sidecar(&sandbox, &session_of(&lines), id)["status"], "completed");
    }
    let text = sandbox.transcript().iter().map(ToString::to_string).collect::<String>();
    for n in 0..AGENTS {
        let expected = (0..CALLS).map(|c| c.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(sandbox.read(&format!("out-{n}")), expected);
        let told = if n.is_multiple_of(2) {
            format!("<result>report of job {n}.</result>")
        } else {
            format!("\"text\":\"report of job {n}.\"}},{{\"type\":\"text\",\"text\":\"agentId")
        };
        assert_eq!(text.matches(&told).count(), 1, "job {n}");
    }
}

// [EXT-178] A name given to two agents is refused with a message; their ids work.
#[test]
fn a_name_given_twice_is_refused() {
    let message =
        ScriptedBlock::tool_with_id("toolu_s", "SendMessage", &json!({"to": "helper", "message": "and then?"}));
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_a", "one", &json!({"name": "helper"}))]),
            ScriptedReply::message(vec![agent_call("toolu_b", "two", &json!({"name": "helper"}))]),
            ScriptedReply::message(vec![message]),
            ScriptedReply::text("done"),
        ],
        |_| ScriptedReply::text("first"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "go", &[]);
    let read = server.last_request().tool_result_text("toolu_s");
    assert!(read.contains("'helper' has been given to several agents"), "{read}");
    let id = |call: &str| {
        let text = server.last_request().tool_result_text(call);
        text.split("agentId: ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    assert!(read.contains(&id("toolu_a")) && read.contains(&id("toolu_b")), "{read}");
    assert_eq!(server.requests().len(), 6);
}

// [EXT-185] Notes of an agent: the folder is created, the start of MEMORY.md is sent, the agent may write there.
#[test]
fn an_agent_keeps_notes() {
    let long = (0..300).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    for (memory, folder) in [("project", ".claude/agent-memory/keeper"), ("local", ".claude/agent-memory-local/keeper")]
    {
        let server = server(
            vec![
                ScriptedReply::message(vec![agent_call("toolu_a", "go", &json!({"subagent_type": "keeper"}))]),
                ScriptedReply::message(vec![agent_call("toolu_b", "go", &json!({"subagent_type": "keeper"}))]),
                ScriptedReply::text("done"),
            ],
            |_| ScriptedReply::text("noted"),
        );
        let sandbox = Sandbox::with_server(EXE, &server);
        let head = format!("---\nname: keeper\ndescription: d\ntools: Grep\nmemory: {memory}\n---\nYou keep notes.\n");
        sandbox.write(".claude/agents/keeper.md", head);
        let index = format!("{folder}/MEMORY.md");
        sandbox.write(&index, &long);
        stream(&sandbox, "go", &[]);
        let first = server.requests().into_iter().find(|r| agent_of(r).is_some()).unwrap();
        let told = first.system_text();
        assert!(told.contains(folder) && told.contains("line 199") && !told.contains("line 200"), "{told}");
        let tools = first.tool_names();
        assert!(["Read", "Write", "Edit"].iter().all(|tool| tools.contains(&(*tool).to_owned())), "{tools:?}");
        std::fs::remove_dir_all(sandbox.project().join(folder)).unwrap();
    }
}

// [EXT-160] `Agent(a, b)` of a main thread's definition: no other type is offered or started.
#[test]
fn a_main_thread_may_be_limited_to_types() {
    let server = server(
        vec![
            ScriptedReply::message(vec![
                agent_call("toolu_a", "go", &json!({"subagent_type": "Explore"})),
                agent_call("toolu_b", "go", &json!({})),
            ]),
            ScriptedReply::text("done"),
        ],
        |_| ScriptedReply::text("found"),
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    let text = "---\nname: boss\ndescription: rules\ntools: Read, Agent(Explore, Plan)\n---\nYou are the boss.\n";
    sandbox.write(".claude/agents/boss.md", text);
    stream(&sandbox, "go", &["--agent", "boss"]);
    let offered = server.request(0).json["tools"].to_string();
    assert!(offered.contains("- Explore:") && !offered.contains("- general-purpose:"), "{offered}");
    let last = server.last_request();
    assert!(last.tool_result_text("toolu_a").contains("found"));
    assert!(
        last.tool_result_text("toolu_b").contains("may not be started here"),
        "{}",
        last.tool_result_text("toolu_b")
    );
}

// [EXT-183] An agent that the user names is to be used; the words of the user stay as they are.
#[test]
fn a_named_agent_is_pointed_out() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".claude/agents/r.md", "---\nname: reviewer\ndescription: reviews\n---\nYou review.\n");
    let session = session_of(&stream(&sandbox, "ask @agent-reviewer about @agent-nobody", &[]));
    let sent = server.request(0).json["messages"].to_string();
    assert!(sent.contains("ask @agent-reviewer about @agent-nobody") && sent.contains("named the agent"), "{sent}");
    assert!(!sent.contains("named the agent \\\"nobody"));
    let noted: Vec<Value> =
        sandbox.transcript().into_iter().filter(|l| l["attachment"]["type"] == "agent_mention").collect();
    assert_eq!((noted.len(), &noted[0]["attachment"]["agentType"]), (1, &json!("reviewer")));
    stream(&sandbox, "more", &["--resume", &session]);
    let again = server.request(1).json["messages"].to_string();
    assert_eq!(again.matches("named the agent").count(), 1, "{again}");
}

// [EXT-156] `initialPrompt` of the session's agent is put before the first prompt, once.
#[test]
fn an_initial_prompt_comes_first() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let text = "---\nname: boss\ndescription: rules\ninitialPrompt: Look around first.\n---\nYou are the boss.\n";
    sandbox.write(".claude/agents/boss.md", text);
    let session = session_of(&stream(&sandbox, "then work", &["--agent", "boss"]));
    assert!(
        server.request(0).all_text().contains("Look around first.\n\nthen work"),
        "{}",
        server.request(0).all_text()
    );
    stream(&sandbox, "more", &["--resume", &session]);
    assert_eq!(server.request(1).all_text().matches("Look around first.").count(), 1);
}

// [EXT-184] A fork is sent what its session was sent, byte for byte, and then its task; it cannot fork again.
#[test]
fn a_fork_knows_the_conversation() {
    let fork = json!({"subagent_type": "fork"});
    let again = agent_call("toolu_again", "deeper", &fork);
    let server = server(
        vec![
            ScriptedReply::message(vec![agent_call("toolu_f", "the side task", &fork)]),
            ScriptedReply::text("launched"),
            ScriptedReply::text("heard"),
        ],
        move |request| match request.tool_uses().len() {
            1 => ScriptedReply::message(vec![again.clone()]),
            _ => ScriptedReply::text("done aside"),
        },
    );
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_FORK_SUBAGENT", "1");
    sandbox.write("CLAUDE.md", "Be brief.");
    stream(&sandbox, "the whole story", &[]);
    let requests = server.requests();
    let main = requests.iter().find(|r| agent_of(r).is_none()).unwrap();
    let forks: Vec<&CapturedRequest> = requests.iter().filter(|r| agent_of(r).is_some()).collect();
    for part in ["system", "tools", "model", "max_tokens"] {
        let plain = |value: &Value| value.to_string().replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        assert_eq!(plain(&forks[0].json[part]), plain(&main.json[part]), "{part}");
    }
    let (first, copied) = (&main.json["messages"][0], &forks[0].json["messages"][0]);
    assert_eq!(first["content"][0]["text"], copied["content"][0]["text"]);
    let text = forks[0].all_text();
    assert!(text.contains("the whole story") && text.contains("the side task") && text.contains("Be brief."), "{text}");
    let refused = forks.last().unwrap().tool_result_text("toolu_again");
    assert!(refused.contains("cannot fork again"), "{refused}");
    assert!(server.last_request().all_text().contains("done aside"));
}

// [TST-80] The limit of searches holds for a session with all its agents; a new conversation begins anew.
#[test]
fn searches_are_counted_for_the_whole_session() {
    let search = |id: &str| {
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id(id, "WebSearch", &json!({"query": "rust"}))])
    };
    let server = ModelServer::script([
        search("s1"),
        ScriptedReply::text("found"),
        ScriptedReply::message(vec![agent_call("a1", "look again", &json!({}))]),
        search("s2"),
        ScriptedReply::text("nothing more"),
        ScriptedReply::text("end"),
        search("s3"),
        ScriptedReply::text("found anew"),
        ScriptedReply::text("end"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION", "1");
    let mut running = host(&sandbox, &["--allowedTools", "WebSearch,Agent"]).spawn();
    running.send_user("go");
    running.wait_for("result");
    let agents = server.request(4).tool_results()[0].to_string();
    assert!(agents.contains("has used all of its 1 web searches"), "{agents}");
    running.send_user("/clear");
    running.wait_for("result");
    running.send_user("once more");
    running.wait_for("result");
    let again = server.request(8).tool_results()[0].to_string();
    assert!(again.contains("found anew"), "{again}");
    running.close_stdin();
    running.finish();
}
