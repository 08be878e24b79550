//! Handlers beyond commands, and where else hooks are declared: agents that judge, skills, the agent a session runs as.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, kinds, of_kind, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply};

fn command(text: &str) -> Value {
    json!({"type": "command", "command": text})
}

fn on(event: &str, matcher: &str, handlers: &[Value]) -> Value {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": handlers}]}})
}

fn settings(sandbox: &Sandbox, value: &Value) {
    sandbox.write_config("settings.json", value.to_string());
}

fn bash(line: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": line}))
}

/// Answers judges with `judge` and everybody else from `script`, in order.
fn judged(
    script: Vec<ScriptedReply>,
    mut judge: impl FnMut(&testkit::CapturedRequest) -> ScriptedReply + Send + 'static,
) -> ModelServer {
    let mut script = script.into_iter();
    ModelServer::with_handler(move |request| {
        if request.system_text().contains("whether a condition holds") {
            return judge(request);
        }
        script.next().unwrap_or_else(|| ScriptedReply::status(400))
    })
}

// [EXT-44] An agent handler uses its tools before it judges; a "no" is sent to the model and the turn continues.
#[test]
fn an_agent_reads_before_it_judges() {
    let server = judged(vec![bash("touch made"), ScriptedReply::text("understood")], |request| {
        if request.tool_results().is_empty() {
            return ScriptedReply::tool("Read", json!({"file_path": "rules.txt"}));
        }
        let told = request.tool_results()[0]["content"].as_str().unwrap().contains("never touch");
        ScriptedReply::text(if told {
            r#"{"ok": false, "reason": "the rules say never touch"}"#
        } else {
            r#"{"ok": true}"#
        })
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("rules.txt", "never touch anything\n");
    let agent = json!({"type": "agent", "prompt": "Do the rules permit $ARGUMENTS?"});
    settings(&sandbox, &on("PreToolUse", "Bash", &[agent]));
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    assert!(!sandbox.project().join("made").exists());
    assert_eq!(of_kind(&lines, "result")[0]["result"], "understood");
    let requests = server.requests();
    let judge = requests.iter().find(|r| r.system_text().contains("whether a condition holds")).unwrap();
    let mut tools: Vec<&str> =
        judge.json["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["Glob", "Grep", "Read"], "it can change nothing");
    assert!(judge.all_text().contains(r#""command":"touch made""#));
    assert!(requests.last().unwrap().tool_results()[0]["content"].as_str().unwrap().contains("never touch"));
    assert!(!kinds(&lines).iter().any(|kind| kind.starts_with("system/task")), "the host hears nothing of it");
}

// [EXT-44] It is stopped after 50 turns; without a verdict nothing is blocked.
#[test]
fn an_agent_that_never_judges_is_cut_off() {
    let server = judged(vec![bash("touch made"), ScriptedReply::text("end")], |request| {
        // Never the same call twice, which would end it sooner.
        ScriptedReply::tool("Glob", json!({"pattern": format!("*{}", request.tool_results().len())}))
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("PreToolUse", "Bash", &[json!({"type": "agent", "prompt": "Well?", "timeout": 100})]));
    let done = crate::common::print(&sandbox, "go", &["--allowedTools", "Bash"])
        .timeout(std::time::Duration::from_mins(2))
        .run();
    assert!(sandbox.project().join("made").exists(), "{}", done.stderr);
    let judged = server.requests().iter().filter(|r| r.system_text().contains("whether a condition holds")).count();
    assert_eq!(judged, 50);
    assert!(done.stderr.contains("hook error"), "{}", done.stderr);
}

// [EXT-44] Handlers that ask a model are not asked about the judge's own calls; command handlers are.
#[test]
fn a_judge_is_not_judged() {
    let server = judged(
        vec![ScriptedReply::tool("Read", json!({"file_path": "a.txt"})), ScriptedReply::text("end")],
        |request| {
            if request.tool_results().is_empty() {
                return ScriptedReply::tool("Read", json!({"file_path": "b.txt"}));
            }
            ScriptedReply::text(r#"{"ok": true}"#)
        },
    );
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "a");
    sandbox.write("b.txt", "b");
    let handlers = [json!({"type": "agent", "prompt": "Fine?"}), command("cat >> \"$CLAUDE_PROJECT_DIR/seen.jsonl\"")];
    settings(&sandbox, &on("PreToolUse", "Read", &handlers));
    stream(&sandbox, "go", &[]);
    assert_eq!(server.requests().len(), 4);
    let seen = sandbox.read("seen.jsonl");
    let kinds: Vec<Value> =
        seen.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["agent_type"].clone()).collect();
    assert!(kinds.contains(&json!("hook-agent")) && kinds.contains(&Value::Null), "{kinds:?}");
}

fn skill(sandbox: &Sandbox, name: &str, head: &str) {
    sandbox.write(&format!(".claude/skills/{name}/SKILL.md"), format!("---\ndescription: d\n{head}---\nDo it.\n"));
}

// [EXT-30] Hooks of a skill start with its invocation and stay; `once` ends after one success.
#[test]
fn hooks_of_a_skill_stay_for_the_session() {
    let server = ModelServer::with_handler({
        let mut turn = 0;
        move |_| {
            turn += 1;
            if turn % 2 == 1 { bash("true") } else { ScriptedReply::text("end") }
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    skill(
        &sandbox,
        "careful",
        "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: echo always >> log\n        \
         - type: command\n          command: echo once >> log; test -e ready\n          once: true\n",
    );
    let mut run = host(&sandbox, &["--allowedTools", "Bash"]).spawn();
    for prompt in ["before", "/careful", "after", "again"] {
        if prompt == "after" {
            sandbox.write("ready", "");
        }
        run.send_user(prompt);
        run.wait_for("result");
    }
    run.close_stdin();
    run.finish();
    let log = sandbox.read("log");
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    assert_eq!((count("always"), count("once")), (3, 2), "once: one failure, one success: {log}");
}

// [EXT-30] Hooks of a skill that runs as an agent apply to that agent only.
#[test]
fn hooks_of_a_forked_skill_end_with_it() {
    let server =
        ModelServer::script([bash("true"), ScriptedReply::text("report"), bash("true"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    skill(
        &sandbox,
        "apart",
        "context: fork\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: cat >> log.jsonl\n",
    );
    stream(&sandbox, "/apart", &["--allowedTools", "Bash"]);
    let log = sandbox.read("log.jsonl");
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(serde_json::from_str::<Value>(&log).unwrap()["agent_id"].is_string());
}

// [EXT-31] Hooks of the session's agent apply to the main thread, where Stop is Stop.
#[test]
fn the_main_agent_brings_its_hooks() {
    let server = ModelServer::script([ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let agents = json!({"boss": {"description": "d", "prompt": "You lead.",
        "hooks": {"Stop": [{"hooks": [command("cat >> stops.jsonl")]}]}}});
    stream(&sandbox, "go", &["--agents", &agents.to_string(), "--agent", "boss"]);
    let stop: Value = serde_json::from_str(&sandbox.read("stops.jsonl")).unwrap();
    assert_eq!((&stop["hook_event_name"], &stop["agent_type"]), (&json!("Stop"), &json!("boss")));
    assert!(stop.get("agent_id").is_none(), "the main thread is no subagent");
}

// [EXT-97] A skill that a SessionStart hook wrote can be typed in the first prompt; a title counts at the start only.
#[test]
fn a_start_hook_may_bring_skills() {
    let server = ModelServer::script([ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let output =
        json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "reloadSkills": true, "sessionTitle": "Named"}});
    let write = "mkdir -p .claude/skills/late && printf -- '---\\ndescription: d\\n---\\nThe late words.\\n' > .claude/skills/late/SKILL.md";
    settings(&sandbox, &on("SessionStart", "", &[command(&format!("sleep 0.3; {write}; echo '{output}'"))]));
    let lines = stream(&sandbox, "/late", &[]);
    assert!(server.request(0).all_text().contains("The late words."));
    let init = of_kind(&lines, "system/init")[0];
    assert!(init["skills"].as_array().unwrap().contains(&json!("late")));
    assert!(sandbox.transcript().iter().any(|line| line["customTitle"] == "Named"));
}

fn say(fields: &Value) -> Value {
    let mut own = fields.clone();
    own["hookEventName"] = json!("PreToolUse");
    command(&format!("echo '{}'", json!({"hookSpecificOutput": own})))
}

fn defer(sandbox: &Sandbox) {
    let mut hook = say(&json!({"permissionDecision": "defer", "updatedInput": {"command": "touch other"}}));
    let text = hook["command"].as_str().unwrap().to_owned();
    hook["command"] = json!(format!("cat >> asked.jsonl; test -e go || {text}"));
    settings(sandbox, &on("PreToolUse", "Bash", &[hook]));
}

// [EXT-76] [SDK-115] A deferred call ends the run; a later run asks about the same call and continues.
#[test]
fn a_deferred_call_is_taken_up_later() {
    let server = ModelServer::script([bash("touch made"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    defer(&sandbox);
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let result = of_kind(&lines, "result")[0];
    assert_eq!(
        (&result["stop_reason"], &result["terminal_reason"]),
        (&json!("tool_deferred"), &json!("tool_deferred"))
    );
    let call = &result["deferred_tool_use"];
    assert_eq!((&call["name"], &call["input"]), (&json!("Bash"), &json!({"command": "touch made"})));
    let id = result["session_id"].as_str().unwrap();
    // The hook may defer repeatedly; the resumed run needs no prompt.
    let again = crate::common::print(&sandbox, "", &["--allowedTools", "Bash", "--resume", id]).run();
    assert_eq!(again.result()["deferred_tool_use"]["id"], call["id"]);
    assert_eq!(server.requests().len(), 1);
    sandbox.write("go", "");
    let lines = stream(&sandbox, "and now?", &["--allowedTools", "Bash", "--resume", id]);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "done");
    assert_eq!(of_kind(&lines, "system/init").len(), 1);
    assert!(sandbox.project().join("made").exists() && !sandbox.project().join("other").exists());
    let sent = server.request(1);
    assert_eq!(sent.tool_results()[0]["tool_use_id"], call["id"]);
    assert!(sent.last_user_text().contains("and now?"));
    let asked = sandbox.read("asked.jsonl");
    let ids: Vec<Value> =
        asked.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["tool_use_id"].clone()).collect();
    assert_eq!(ids, [call["id"].clone(), call["id"].clone(), call["id"].clone()]);
}

// [EXT-77] The tool of a deferred call no longer exists: an error, before any hook runs.
#[test]
fn a_deferred_call_needs_its_tool() {
    let server = ModelServer::script([bash("touch made")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    defer(&sandbox);
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let id = of_kind(&lines, "result")[0]["session_id"].as_str().unwrap().to_owned();
    let done = crate::common::print(&sandbox, "go on", &["--tools", "Read", "--resume", &id]).run().expect_code(1);
    let result = done.result();
    assert_eq!((&result["stop_reason"], &result["is_error"]), (&json!("tool_deferred_unavailable"), &json!(true)));
    assert_eq!(result["deferred_tool_use"]["name"], "Bash");
    assert_eq!(sandbox.read("asked.jsonl").lines().count(), 1);
}

// [EXT-76] With two calls in the message, deferring is reported and ignored.
#[test]
fn only_a_single_call_can_be_deferred() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            testkit::ScriptedBlock::tool_with_id("t1", "Bash", &json!({"command": "touch one"})),
            testkit::ScriptedBlock::tool_with_id("t2", "Bash", &json!({"command": "touch two"})),
        ]),
        ScriptedReply::text("end"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("PreToolUse", "Bash", &[say(&json!({"permissionDecision": "defer"}))]));
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "end");
    assert!(sandbox.project().join("one").exists() && sandbox.project().join("two").exists());
    assert!(of_kind(&lines, "system/informational")[0]["content"].as_str().unwrap().contains("deferred"));
}

// [EXT-107] A change of settings is reported once, however many agents notice it.
#[test]
fn a_change_of_settings_is_told_once() {
    let agents = || {
        ScriptedReply::message(
            (0..3)
                .map(|n| {
                    testkit::ScriptedBlock::tool_with_id(
                        &format!("t{n}"),
                        "Agent",
                        &json!({"description": "d", "prompt": "p", "run_in_background": false}),
                    )
                })
                .collect(),
        )
    };
    let mut step = 0;
    let server = ModelServer::with_handler(move |request| {
        step += 1;
        if step == 1 {
            return agents();
        }
        if request.tool_results().is_empty() && request.last_user_text().contains('p') {
            return ScriptedReply::tool("Read", json!({"file_path": "a.txt"}));
        }
        ScriptedReply::text("end")
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "a");
    // The link creates a complete file at once, whichever of the three hooks comes first.
    let all = json!({"hooks": {
        "ConfigChange": [{"hooks": [command("cat >> changes.jsonl; sleep 0.3")]}],
        "SubagentStart": [{"hooks": [command("mkdir -p .claude; echo '{\"cleanupPeriodDays\": 40}' > written.$$; ln written.$$ .claude/settings.local.json || true")]}],
    }});
    settings(&sandbox, &all);
    stream(&sandbox, "go", &[]);
    let changes = sandbox.read("changes.jsonl");
    assert_eq!(changes.lines().count(), 1, "{changes}");
}

// [EXT-112] [EXT-206] Instruction files that load later are reported with their reason; a written file loads its rules,
// unless that is switched off.
#[test]
fn instructions_that_come_later_are_told() {
    let run = |switch: Value| {
        let server = ModelServer::script([
            ScriptedReply::tool("Write", json!({"file_path": "sub/new.rs", "content": "x"})),
            ScriptedReply::tool("Read", json!({"file_path": "sub/old.rs"})),
            ScriptedReply::text("end"),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write("sub/CLAUDE.md", "sub words\n");
        sandbox.write("sub/old.rs", "y");
        sandbox.write(".claude/rules/rust.md", "---\npaths: \"**/*.rs\"\n---\nrust words\n");
        let mut all = on("InstructionsLoaded", "", &[command("cat >> \"$CLAUDE_PROJECT_DIR/loaded.jsonl\"")]);
        all.as_object_mut().unwrap().extend(switch.as_object().unwrap().clone());
        settings(&sandbox, &all);
        stream(&sandbox, "go", &["--permission-mode", "acceptEdits"]);
        let loaded: Vec<Value> =
            sandbox.read("loaded.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        (server.request(1).all_text().contains("rust words"), server.request(2).all_text(), loaded)
    };
    let (early, _, loaded) = run(json!({}));
    assert!(early);
    let of = |name: &str| loaded.iter().find(|l| l["file_path"].as_str().unwrap().ends_with(name)).unwrap().clone();
    let rule = of("rules/rust.md");
    assert_eq!((&rule["load_reason"], &rule["globs"]), (&json!("path_glob_match"), &json!(["**/*.rs"])));
    assert!(rule["trigger_file_path"].as_str().unwrap().ends_with("sub/new.rs"));
    assert_eq!(of("sub/CLAUDE.md")["load_reason"], "nested_traversal");
    let (early, late, _) = run(json!({"rulesOnWrite": false}));
    assert!(!early && late.contains("rust words") && late.contains("sub words"));
}

// [EXT-108] A change of a watched file by another program is reported while the session is idle.
#[test]
fn a_watched_file_is_told_at_once() {
    let server = ModelServer::script([ScriptedReply::text("one")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".env", "a");
    settings(&sandbox, &on("FileChanged", ".env", &[command("cat >> changed.jsonl")]));
    let mut run = host(&sandbox, &["--include-hook-events"]).spawn();
    run.send_user("first");
    run.wait_for("result");
    sandbox.write(".env", "other words");
    loop {
        let line: Value = serde_json::from_str(&run.next_line().unwrap()).unwrap();
        if line["subtype"] == "hook_response" && line["hook_event"] == "FileChanged" {
            break;
        }
    }
    run.close_stdin();
    run.finish();
    let changed: Value = serde_json::from_str(&sandbox.read("changed.jsonl")).unwrap();
    assert_eq!((&changed["event"], &changed["hook_event_name"]), (&json!("change"), &json!("FileChanged")));
}

// [EXT-105] [SDK-120] Hooks get tasks with id and subject, and may undo a change.
#[test]
fn hooks_have_a_say_in_the_task_list() {
    let server = ModelServer::script([
        ScriptedReply::tool("TaskCreate", json!({"subject": "forbidden", "description": "d"})),
        ScriptedReply::tool("TaskCreate", json!({"subject": "fine", "description": "d"})),
        ScriptedReply::tool("TaskUpdate", json!({"taskId": "2", "status": "completed"})),
        ScriptedReply::tool("TaskList", json!({})),
        ScriptedReply::text("end"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let guard = "d=$(cat); echo \"$d\" >> heard.jsonl; case \"$d\" in *forbidden*|*TaskCompleted*) echo 'not so' >&2; exit 2;; esac";
    let mut all = on("TaskCreated", "", &[command(guard)]);
    all["hooks"]["TaskCompleted"] = json!([{"hooks": [command(guard)]}]);
    settings(&sandbox, &all);
    let tools = ["--tools", "TaskCreate,TaskUpdate,TaskList,TaskGet"];
    let lines = stream(&sandbox, "go", &tools);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "end");
    let heard: Vec<Value> = sandbox.read("heard.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(heard.len(), 3);
    assert_eq!((&heard[1]["task_id"], &heard[1]["task_subject"]), (&json!("2"), &json!("fine")));
    let result = |n: usize| server.request(n).tool_results().last().unwrap().clone();
    assert!(result(1)["is_error"] == true && result(1)["content"].as_str().unwrap().contains("not so"));
    assert_eq!(result(3)["is_error"], true);
    let list = result(4)["content"].as_str().unwrap().to_owned();
    assert!(!list.contains("forbidden") && list.contains("fine") && list.contains("pending"), "{list}");
}
