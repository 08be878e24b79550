//! Real hooks, in Bash, Python and Node, through the real binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, kinds, of_kind, print, stream};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const BYPASS: [&str; 2] = ["--permission-mode", "acceptEdits"];

fn command(text: &str) -> Value {
    json!({"type": "command", "command": text})
}

fn on(event: &str, matcher: &str, handlers: &[Value]) -> Value {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": handlers}]}})
}

fn settings(sandbox: &Sandbox, value: &Value) {
    sandbox.write_config("settings.json", value.to_string());
}

fn script(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.write(name, text);
}

fn write(path: &str, content: &str) -> ScriptedReply {
    ScriptedReply::tool("Write", json!({"file_path": path, "content": content}))
}

fn bash(line: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": line}))
}

fn lines_of(sandbox: &Sandbox, file: &str) -> Vec<Value> {
    sandbox.read(file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// [EXT-85] A formatter after edits, in Python: the file is formatted before the next call sees it.
#[test]
fn a_formatter_runs_after_every_edit() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool_with_id("t1", "Write", &json!({"file_path": "a.txt", "content": "hello"})),
            ScriptedBlock::tool_with_id("t2", "Bash", &json!({"command": "cat a.txt"})),
        ]),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    script(
        &sandbox,
        "fmt.py",
        "import json,sys\nd=json.load(sys.stdin)\np=d['tool_input']['file_path']\n\
         assert p.startswith('/') and d['tool_response']['type']=='create' and d['tool_use_id']=='t1'\n\
         s=open(p).read().upper()\nopen(p,'w').write(s)\n\
         print(json.dumps({'decision':'block','reason':'formatted '+p.rsplit('/',1)[1]}))\n",
    );
    settings(&sandbox, &on("PostToolUse", "Write|Edit", &[command("python3 \"$CLAUDE_PROJECT_DIR/fmt.py\"")]));
    let lines = stream(&sandbox, "go", &[BYPASS[0], BYPASS[1], "--allowedTools", "Bash(cat *)"]);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "done");
    let sent = server.request(1);
    assert!(sent.tool_result_text("t2").contains("HELLO"), "{}", sent.tool_result_text("t2"));
    assert!(sent.tool_result_text("t1").contains("a.txt"));
    assert!(sent.all_text().contains("PostToolUse:Write hook feedback: formatted a.txt"));
}

// [EXT-55] [EXT-118] [EXT-117] A command validator in Bash blocks, and the model reads why. [SC-E05]
#[test]
fn a_validator_blocks_what_it_does_not_like() {
    let server = ModelServer::script([bash("rm -rf build"), ScriptedReply::text("fine")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let check = "input=$(cat); echo \"$input\" >> seen.jsonl; case \"$input\" in *'rm -rf'*) echo 'no rm -rf here' >&2; exit 2;; esac";
    settings(&sandbox, &on("PreToolUse", "Bash", &[command(check)]));
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let result = server.request(1).tool_results()[0].clone();
    assert_eq!(result["is_error"], true);
    assert!(result["content"].as_str().unwrap().contains("no rm -rf here"));
    assert_eq!(of_kind(&lines, "system/permission_denied")[0]["decision_reason_type"], "hook");
    let seen = &lines_of(&sandbox, "seen.jsonl")[0];
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!((&seen["permission_mode"], &seen["tool_name"]), (&json!("default"), &json!("Bash")));
    assert!(seen.get("agent_id").is_none() && seen["prompt_id"].is_string());
    assert!(seen["transcript_path"].as_str().unwrap().contains(".jsonl"));
}

// [EXT-54] [EXT-94] [EXT-119] [CLI-42] [SDK-158] A context injector in Node, and a guard over prompts.
#[test]
fn context_is_injected_and_prompts_can_be_refused() {
    let server = ModelServer::script([ScriptedReply::text("one")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    script(
        &sandbox,
        "inject.js",
        "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>{const d=JSON.parse(s);\
         if(d.prompt.includes('secret')){console.error('secrets stay home');process.exit(2)}\
         console.log(JSON.stringify({hookSpecificOutput:{hookEventName:'UserPromptSubmit',additionalContext:'branch is blue'}}))})",
    );
    let mut all = on("UserPromptSubmit", "", &[command("node \"$CLAUDE_PROJECT_DIR/inject.js\"")]);
    all["hooks"]["SessionStart"] = json!([{"hooks": [command("echo from the start")]}]);
    settings(&sandbox, &all);
    let lines = stream(&sandbox, "hello", &["--include-hook-events"]);
    let order = kinds(&lines);
    assert_eq!(
        order[..5],
        ["system/hook_started", "system/hook_response", "system/hook_started", "system/hook_response", "system/init"]
    );
    assert_eq!((&lines[0]["hook_name"], &lines[1]["outcome"]), (&json!("SessionStart:startup"), &json!("success")));
    let text = server.request(0).all_text();
    assert!(text.contains("branch is blue") && text.contains("from the start"), "{text}");
    let kept = sandbox.transcript();
    let attached: Vec<&Value> = kept.iter().filter(|l| l["attachment"]["type"] == "hook_additional_context").collect();
    assert_eq!(attached.len(), 2);
    assert_eq!(attached[1]["attachment"]["content"], json!(["branch is blue"]));

    let lines = stream(&sandbox, "the secret plan", &[]);
    let result = of_kind(&lines, "result")[0];
    assert_eq!((&result["subtype"], &result["terminal_reason"]), (&json!("success"), &json!("hook_stopped")));
    assert!(result["result"].as_str().unwrap().contains("secrets stay home"));
    assert_eq!(server.requests().len(), 1, "the model never sees a refused prompt");
}

// [EXT-70] What a hook said is replayed on resume with the same bytes; SessionStart runs again.
#[test]
fn saved_context_is_replayed_on_resume() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut all = on("UserPromptSubmit", "", &[command("echo run >> count; echo told once $(wc -l < count)")]);
    all["hooks"]["SessionStart"] =
        json!([{"hooks": [command("jq -r .source 2>/dev/null || grep -o '\"source\":\"[a-z]*\"'")]}]);
    settings(&sandbox, &all);
    stream(&sandbox, "hello", &[]);
    stream(&sandbox, "again", &["--continue"]);
    let (first, second) = (server.request(0), server.request(1));
    let text = second.all_text();
    assert!(text.contains("told once 1") && text.contains("told once 2") && text.contains("resume"), "{text}");
    let count = first.messages().len();
    assert_eq!(strip_marks(&first.messages()[..count]), strip_marks(&second.messages()[..count]));
}

fn strip_marks(messages: &[Value]) -> String {
    json!(messages).to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

// [EXT-89] [EXT-90] [EXT-92] Stop hooks keep the turn going, are told that they did, and are limited.
#[test]
fn stop_hooks_keep_the_turn_going_and_are_cut_off() {
    let replies = (0..12).map(|n| ScriptedReply::text(format!("answer {n}")));
    let server = ModelServer::script(replies);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("Stop", "", &[command("cat >> stops.jsonl; echo 'tests are missing' >&2; exit 2")]));
    let lines = stream(&sandbox, "go", &[]);
    let stops = lines_of(&sandbox, "stops.jsonl");
    assert_eq!(stops.len(), 9);
    assert_eq!((&stops[0]["stop_hook_active"], &stops[1]["stop_hook_active"]), (&json!(false), &json!(true)));
    assert_eq!(stops[3]["last_assistant_message"], "answer 3");
    assert_eq!(server.requests().len(), 9);
    assert!(server.request(1).last_user_text().contains("Stop hook feedback:\n- tests are missing"));
    assert!(of_kind(&lines, "system/informational").iter().any(|l| l["content"].as_str().unwrap().contains("8 times")));
    assert_eq!(of_kind(&lines, "result")[0]["result"], "answer 8");
}

// [TST-146] [EXT-92] The transcript is complete when a Stop hook runs: 1,000 turns, 0 misses.
#[test]
fn a_stop_hook_always_finds_the_last_answer_in_the_transcript() {
    const SESSIONS: usize = 20;
    const TURNS: usize = 50;
    let mut turn = 0;
    let server = ModelServer::with_handler(move |_| {
        turn += 1;
        ScriptedReply::text(format!("answer-{turn}."))
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let check = "read -r line; t=${line#*transcript_path\\\":\\\"}; t=${t%%\\\"*}; m=${line#*last_assistant_message\\\":\\\"}; \
                 m=${m%%\\\"*}; case \"$(tail -c 4000 \"$t\")\" in *\"$m\"*) echo hit;; *) echo \"miss $m\";; esac >> found";
    settings(&sandbox, &on("Stop", "", &[command(check)]));
    for _ in 0..SESSIONS {
        let mut run = host(&sandbox, &[]).timeout(Duration::from_mins(2)).spawn();
        for n in 0..TURNS {
            run.send_user(&format!("turn {n}"));
            run.wait_for("result");
        }
        run.close_stdin();
        run.finish();
    }
    let found = sandbox.read("found");
    let miss = found.lines().find(|line| *line != "hit");
    assert_eq!(found.lines().filter(|line| *line == "hit").count(), SESSIONS * TURNS, "{miss:?}");
}

// [EXT-63] [EXT-64] `continue: false` ends the turn, a message reaches the user.
#[test]
fn a_hook_can_end_the_turn() {
    let server = ModelServer::script([bash("echo x")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let output = json!({"continue": false, "stopReason": "enough for today", "systemMessage": "look here"});
    settings(&sandbox, &on("PostToolUse", "Bash", &[command(&format!("echo '{output}'"))]));
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let result = of_kind(&lines, "result")[0];
    assert_eq!((&result["subtype"], &result["terminal_reason"]), (&json!("success"), &json!("hook_stopped")));
    let told: Vec<&str> =
        of_kind(&lines, "system/informational").iter().map(|l| l["content"].as_str().unwrap()).collect();
    assert!(told.contains(&"look here") && told.contains(&"enough for today"), "{told:?}");
    assert_eq!(of_kind(&lines, "user").len(), 1, "the call keeps its result");
}

fn decide(decision: &str) -> Value {
    let output = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "because"}});
    command(&format!("echo '{output}'"))
}

// [EXT-72] [EXT-73] [SC-E02] [SC-E03] Hooks can restrict; their permission does not override a deny rule.
#[test]
fn hooks_tighten_and_never_loosen_a_rule() {
    let ran = |hook: &str, flags: &[&str]| {
        let server = ModelServer::script([bash("touch made"), ScriptedReply::text("end")]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        sandbox.set("IS_SANDBOX", "1");
        settings(&sandbox, &on("PreToolUse", "", &[decide(hook)]));
        print(&sandbox, "go", flags).run();
        sandbox.project().join("made").exists()
    };
    assert!(ran("allow", &[]), "leave replaces the question");
    assert!(!ran("allow", &["--disallowedTools", "Bash(touch *)"]));
    assert!(!ran("allow", &["--settings", r#"{"permissions":{"ask":["Bash(touch *)"]}}"#]));
    assert!(!ran("deny", &["--dangerously-skip-permissions"]));
    assert!(!ran("ask", &["--dangerously-skip-permissions"]));
    assert!(ran("allow", &["--permission-mode", "dontAsk"]));
    assert!(!ran("allow", &["--permission-mode", "plan"]), "plan mode is a guarantee");
}

// [EXT-74] [SC-E04] Rules and the tool see the rewritten input.
#[test]
fn a_rewritten_input_is_judged_like_any_other() {
    let ran = |flags: &[&str]| {
        let server = ModelServer::script([bash("echo original"), ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
            "updatedInput": {"command": "touch rewritten"}}});
        settings(&sandbox, &on("PreToolUse", "", &[command(&format!("echo '{output}'"))]));
        print(&sandbox, "go", flags).run();
        sandbox.project().join("rewritten").exists()
    };
    assert!(ran(&[]));
    assert!(!ran(&["--disallowedTools", "Bash(touch *)"]));
}

// [EXT-82] [EXT-83] [EXT-84] Other parts of an answer: rules are saved in the named place, hooks cannot choose bypass
// mode, and a refusal can end the turn.
#[test]
fn an_answer_can_carry_grants_or_end_the_turn() {
    let run = |decision: Value| {
        let server = ModelServer::script([write("a.txt", "x"), bash("touch b"), ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        settings(&sandbox, &on("PermissionRequest", "Write", &[command(&format!("echo '{output}'"))]));
        let lines = stream(&sandbox, "go", &[]);
        (sandbox, of_kind(&lines, "result")[0].clone())
    };
    let rules = |to: &str| {
        json!({"type": "addRules", "behavior": "allow", "destination": to,
        "rules": [{"toolName": "Bash", "ruleContent": "touch b"}]})
    };
    let bypass = json!({"type": "setMode", "mode": "bypassPermissions", "destination": "session"});
    let (sandbox, _) = run(json!({"behavior": "allow", "updatedPermissions": [rules("localSettings")]}));
    assert!(sandbox.read(".claude/settings.local.json").contains("touch b") && sandbox.project().join("b").exists());
    let (sandbox, _) = run(json!({"behavior": "allow", "updatedPermissions": [rules("session")]}));
    assert!(!sandbox.project().join(".claude").exists() && sandbox.project().join("b").exists());
    let (sandbox, _) = run(json!({"behavior": "allow", "updatedPermissions": [bypass]}));
    assert!(!sandbox.project().join("b").exists(), "bypass mode needs its launch flag");
    let (_, result) = run(json!({"behavior": "deny", "message": "not today", "interrupt": true}));
    assert_eq!(result["terminal_reason"], "hook_stopped");
}

// [EXT-86] Output of the right shape replaces what the model reads; other output does not.
#[test]
fn a_hook_can_replace_the_output_of_a_command() {
    let read = |output: Value| {
        let server = ModelServer::script([bash("echo original"), ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let output = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}});
        settings(&sandbox, &on("PostToolUse", "Bash", &[command(&format!("echo '{output}'"))]));
        stream(&sandbox, "go", &["--allowedTools", "Bash"]);
        server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(read(json!({"stdout": "replaced", "stderr": "", "interrupted": false})), "replaced");
    assert!(read(json!({"lines": 3})).contains("original"));
}

// [EXT-52] [EXT-93] The end of a run kills async hooks, and Stop hooks know the background tasks.
#[test]
fn the_end_of_a_run_ends_async_hooks() {
    let background = ScriptedReply::tool("Bash", json!({"command": "sleep 60", "run_in_background": true}));
    let server =
        ModelServer::script([background, ScriptedReply::text("end"), ScriptedReply::text("the task was stopped")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "1");
    let detached = json!({"type": "command", "command": "echo $$ > pid; exec sleep 300", "async": true});
    let mut all = on("SessionStart", "", &[detached]);
    all["hooks"]["Stop"] = json!([{"hooks": [command("[ -e stop.json ] || cat > stop.json")]}]);
    settings(&sandbox, &all);
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let stop: Value = serde_json::from_str(&sandbox.read("stop.json")).unwrap();
    assert_eq!((&stop["background_tasks"][0]["type"], &stop["session_crons"]), (&json!("shell"), &json!([])));
    let ended: Vec<&Value> = of_kind(&lines, "system/hook_response");
    assert_eq!((ended.len(), &ended[0]["outcome"]), (1, &json!("cancelled")));
    let pid = sandbox.read("pid").trim().to_owned();
    assert!(!std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists());
}

// [EXT-80] [EXT-81] A permission question is answered by a hook, and asked only when one is pending.
#[test]
fn a_hook_answers_the_permission_question() {
    let server = ModelServer::script([
        write("a.txt", "x"),
        ScriptedReply::tool("Read", json!({"file_path": "b.txt"})),
        ScriptedReply::text("end"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("b.txt", "b");
    let output =
        json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    settings(&sandbox, &on("PermissionRequest", "", &[command(&format!("cat >> asked.jsonl; echo '{output}'"))]));
    stream(&sandbox, "go", &[]);
    assert_eq!(sandbox.read("a.txt"), "x");
    let asked = lines_of(&sandbox, "asked.jsonl");
    assert_eq!(asked.len(), 1, "the read was allowed without a question");
    assert!(asked[0]["permission_suggestions"].is_array() && asked[0].get("tool_use_id").is_none());
}

// [EXT-47] [EXT-56] [EXT-58] A hanging hook is stopped, a broken one is reported once; neither blocks.
#[test]
fn hanging_and_broken_hooks_hold_nothing_up() {
    let server = ModelServer::script([bash("echo a"), bash("echo b"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hanging = json!({"type": "command", "command": "sleep 600", "timeout": 0.3});
    let handlers = [hanging, command("echo first; echo oops >&2; exit 1"), command("no-such-program-at-all")];
    settings(&sandbox, &on("PreToolUse", "Bash", &handlers));
    let done = print(&sandbox, "go", &["--allowedTools", "Bash"]).run();
    assert_eq!(done.result()["result"], "end");
    for told in ["timed out after 0.3 s", "oops", "no-such-program-at-all"] {
        assert_eq!(done.stderr.matches("PreToolUse:Bash hook error").count(), 3, "{}", done.stderr);
        assert!(done.stderr.contains(told), "{told}: {}", done.stderr);
    }
    assert!(done.stderr.contains("first"), "its output is shown: {}", done.stderr);
}

// [EXT-67] 10 MB of output are bounded: the model gets a preview and a path.
#[test]
fn a_flood_of_output_is_bounded() {
    let server = ModelServer::script([ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("SessionStart", "", &[command("head -c 10000000 /dev/zero | tr '\\0' y")]));
    stream(&sandbox, "go", &[]);
    let text = server.request(0).all_text();
    assert!(text.len() < 30_000 && text.contains("The whole text is in"), "{}", text.len());
}

// A daemon of a hook delays nothing, and dies with gimlet.
#[test]
fn a_daemon_of_a_hook_dies_with_gimlet() {
    let server = ModelServer::script([ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let daemon = "(setsid sh -c 'echo $$ > pid; exec sleep 600' &) ; while [ ! -s pid ]; do :; done; echo up";
    settings(&sandbox, &on("SessionStart", "", &[command(daemon)]));
    stream(&sandbox, "go", &[]);
    let pid = sandbox.read("pid").trim().to_owned();
    testkit::wait_until("the end of the daemon", || !std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists());
}

// [EXT-37] Variables that a hook exports reach later commands.
#[test]
fn exported_variables_reach_later_commands() {
    let server = ModelServer::script([bash("echo value=$FROM_HOOK"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut all = on("SessionStart", "", &[command("echo 'export FROM_HOOK=blue' >> \"$CLAUDE_ENV_FILE\"")]);
    all["hooks"]["PreToolUse"] = json!([{"hooks": [command("echo ${CLAUDE_ENV_FILE:-none} > none")]}]);
    settings(&sandbox, &all);
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    assert!(server.request(1).tool_results()[0]["content"].as_str().unwrap().contains("value=blue"));
    assert_eq!(sandbox.read("none").trim(), "none");
}

// [EXT-87] Failures have a separate event; denied and invalid calls have none.
#[test]
fn failures_have_their_own_event() {
    let invalid = ScriptedReply::tool("Bash", json!({"nonsense": 1}));
    let server = ModelServer::script([bash("exit 3"), invalid, write("/etc/x", "x"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut all = on("PostToolUseFailure", "", &[command("cat >> failed.jsonl")]);
    all["hooks"]["PostToolUse"] = json!([{"hooks": [command("cat >> worked.jsonl")]}]);
    settings(&sandbox, &all);
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let failed = lines_of(&sandbox, "failed.jsonl");
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["error"].as_str().unwrap().starts_with("Exit code 3"));
    assert!(!sandbox.project().join("worked.jsonl").exists());
}

// [EXT-88] One event for all calls of a message; it can end the turn.
#[test]
fn a_batch_is_told_once() {
    let server = ModelServer::script([ScriptedReply::message(vec![
        ScriptedBlock::tool_with_id("t1", "Bash", &json!({"command": "echo a"})),
        ScriptedBlock::tool_with_id("t2", "Bash", &json!({"command": "echo b"})),
    ])]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("PostToolBatch", "", &[command("cat >> batch.jsonl; echo 'stop here' >&2; exit 2")]));
    let lines = stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let batch = lines_of(&sandbox, "batch.jsonl");
    assert_eq!((batch.len(), batch[0]["tool_calls"].as_array().unwrap().len()), (1, 2));
    assert_eq!(batch[0]["tool_calls"][1]["tool_response"], "b");
    assert_eq!(of_kind(&lines, "result")[0]["terminal_reason"], "hook_stopped");
}

// [EXT-91] API errors have their own event; Stop does not run then.
#[test]
fn an_api_error_is_no_stop() {
    let server = ModelServer::script([ScriptedReply::error(400, "invalid_request_error", "bad")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut all = on("StopFailure", "", &[command("cat >> failure.jsonl")]);
    all["hooks"]["Stop"] = json!([{"hooks": [command("touch stopped")]}]);
    settings(&sandbox, &all);
    print(&sandbox, "go", &[]).run();
    assert!(lines_of(&sandbox, "failure.jsonl")[0]["error"].is_string());
    assert!(!sandbox.project().join("stopped").exists());
}

// [EXT-49] SessionEnd hooks run within their limit.
#[test]
fn the_end_of_a_session_is_bounded() {
    let server = ModelServer::script([ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("SessionEnd", "", &[command("cat >> end.jsonl"), command("sleep 600")]));
    print(&sandbox, "go", &[]).run();
    assert_eq!(lines_of(&sandbox, "end.jsonl")[0]["reason"], "other");
}

// [EXT-19] [EXT-107] [SC-D20] The user's edits apply at once; those of a call wait; a hook may refuse.
#[test]
fn edits_of_hooks_count_at_once_unless_a_call_made_them() {
    let hooks = |name: &str| on("Stop", "", &[command(&format!("touch {name}"))]).to_string();
    let server = ModelServer::script([
        ScriptedReply::text("one"),
        write(".claude/settings.local.json", &hooks("by-call")),
        ScriptedReply::text("two"),
        ScriptedReply::text("three"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run =
        host(&sandbox, &["--settings", r#"{"permissions":{"allow":["Edit"]}}"#, "--permission-mode", "acceptEdits"])
            .spawn();
    run.send_user("first");
    run.wait_for("result");
    sandbox.write(".claude/settings.json", hooks("by-user"));
    run.send_user("second");
    run.wait_for("result");
    assert!(sandbox.project().join("by-user").exists(), "the user's edit counts without a restart");
    run.send_user("third");
    run.wait_for("result");
    run.close_stdin();
    run.finish();
    assert!(!sandbox.project().join("by-call").exists(), "what a call wrote waits");
}

// [EXT-21] [EXT-22] Headless runs run project hooks, unless they are switched off.
#[test]
fn hooks_of_the_project_run_unless_switched_off() {
    let ran = |flags: &[&str]| {
        let server = ModelServer::script([ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write(".claude/settings.json", on("Stop", "", &[command("touch ran")]).to_string());
        print(&sandbox, "go", flags).run();
        sandbox.project().join("ran").exists()
    };
    assert!(ran(&[]));
    assert!(!ran(&["--settings", r#"{"disableAllHooks":true}"#]));
    assert!(!ran(&["--bare"]));
    assert!(!ran(&["--safe-mode"]));
    assert!(!ran(&["--refuse-untrusted-code"]));
}

// [EXT-11] A runaway pattern is cut off; lookahead works.
#[test]
fn a_runaway_matcher_is_cut_off() {
    let server = ModelServer::script([bash("echo a"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let all = json!({"hooks": {"PreToolUse": [
        {"matcher": "^(?=((B?a?s?h?)*)*x)y", "hooks": [command("touch runaway")]},
        {"matcher": "^(?!Edit$).*", "hooks": [command("touch looked")]},
        {"matcher": "(", "hooks": [command("touch invalid")]},
    ]}});
    settings(&sandbox, &all);
    print(&sandbox, "go", &["--allowedTools", "Bash"]).run();
    let made = ["runaway", "looked", "invalid"].map(|name| sandbox.project().join(name).exists());
    assert_eq!(made, [false, true, false]);
}

// [EXT-40] [EXT-24] HTTP handlers: the answer is applied, other addresses are refused.
#[test]
fn an_http_hook_decides() {
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "by wire"}});
    let hook = ModelServer::script([]);
    hook.route("/hook", ScriptedReply::status(200).json(&deny));
    let run = |extra: Value| {
        let server = ModelServer::script([bash("touch made"), ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut all = on("PreToolUse", "", &[json!({"type": "http", "url": format!("{}/hook", hook.url())})]);
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        settings(&sandbox, &all);
        print(&sandbox, "go", &["--allowedTools", "Bash"]).run();
        sandbox.project().join("made").exists()
    };
    assert!(!run(json!({})));
    assert!(run(json!({"allowedHttpHookUrls": ["https://elsewhere.example/*"]})));
}

// [EXT-42] A prompt handler asks the small model.
#[test]
fn a_prompt_hook_judges_the_end_of_a_turn() {
    let mut judged = false;
    let server = ModelServer::with_handler(move |request| {
        if !request.system_text().contains("whether a condition holds") {
            return ScriptedReply::text("answer");
        }
        let no = !std::mem::replace(&mut judged, true);
        ScriptedReply::text(if no { r#"{"ok": false, "reason": "run the tests"}"# } else { r#"{"ok": true}"# })
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &on("Stop", "", &[json!({"type": "prompt", "prompt": "Did the tests run? $ARGUMENTS"})]));
    let lines = stream(&sandbox, "go", &[]);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "answer");
    assert!(server.requests().iter().any(|r| r.last_user_text().contains("run the tests")));
}

// [EXT-50] [EXT-51] Async hooks: nothing waits for them; their output comes later, or wakes an idle session.
#[test]
fn async_hooks_speak_later() {
    let server =
        ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two"), ScriptedReply::text("three")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let rewake = json!({"type": "command", "asyncRewake": true,
        "command": "[ -e woke ] && exit 0; touch woke; while [ ! -e go ]; do sleep 0.02; done; echo 'the build broke' >&2; exit 2"});
    settings(&sandbox, &on("UserPromptSubmit", "", &[rewake]));
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("first");
    run.wait_for("result");
    sandbox.write("go", "");
    run.wait_for("result");
    run.close_stdin();
    run.finish();
    assert!(server.request(1).all_text().contains("the build broke"));
}

// [EXT-108] The shell's directory and named files are watched.
#[test]
fn moves_and_changed_files_are_told() {
    let server =
        ModelServer::script([bash("mkdir -p sub && cd sub"), bash("echo b > ../.env"), ScriptedReply::text("end")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write(".env", "a");
    let root = sandbox.project().display().to_string();
    let mut all = on("CwdChanged", "", &[command(&format!("cat >> {root}/moved.jsonl"))]);
    all["hooks"]["FileChanged"] =
        json!([{"matcher": ".env", "hooks": [command(&format!("cat >> {root}/changed.jsonl"))]}]);
    all["hooks"]["SessionStart"] = json!([{"hooks": [command(&format!(
        "echo '{}'", json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": [format!("{root}/.env")]}})))]}]);
    settings(&sandbox, &all);
    stream(&sandbox, "go", &["--allowedTools", "Bash"]);
    let moved = lines_of(&sandbox, "moved.jsonl");
    assert!(moved[0]["new_cwd"].as_str().unwrap().ends_with("/sub"));
    let changed = lines_of(&sandbox, "changed.jsonl");
    assert_eq!((changed.len(), &changed[0]["event"]), (1, &json!("change")));
}

// [EXT-96] [EXT-99] [EXT-112] Start of a session: an initial message, setup, instruction files.
#[test]
fn a_session_begins_with_its_hooks() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "be brief");
    let output = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "initialUserMessage": "before you"}});
    let mut all = on("SessionStart", "startup", &[command(&format!("echo '{output}'"))]);
    all["hooks"]["Setup"] = json!([{"matcher": "init", "hooks": [command("touch set-up")]}]);
    all["hooks"]["InstructionsLoaded"] = json!([{"hooks": [command("cat >> loaded.jsonl")]}]);
    settings(&sandbox, &all);
    stream(&sandbox, "go", &[]);
    assert!(
        server.request(0).last_user_text().contains("before you")
            || server.request(0).all_text().contains("before you")
    );
    assert!(!server.request(0).all_text().contains("go\n") && server.requests().len() == 2);
    assert!(!sandbox.project().join("set-up").exists(), "a normal start has no setup");
    let done = sandbox.gimlet(&["--init-only"]).run().expect_clean();
    assert_eq!(done.stdout, "");
    assert!(sandbox.project().join("set-up").exists());
}

// [EXT-28] The list names each hook with its source; a test shows the merged decision.
#[test]
fn hooks_are_listed_and_tried() {
    let sandbox = Sandbox::new(EXE);
    settings(&sandbox, &on("PreToolUse", "Bash", &[decide("ask"), decide("deny")]));
    sandbox.write(".claude/settings.json", on("Stop", "", &[command("echo stop")]).to_string());
    let list = sandbox.gimlet(&["hooks", "list"]).run().expect_clean().stdout;
    for part in ["PreToolUse (2)", "[Bash] command:", "User Settings", "Stop (1)", "Project Settings"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let listed = sandbox.gimlet(&["hooks", "list", "--json"]).run().expect_clean().json();
    assert_eq!(listed["hooks"].as_array().unwrap().len(), 3);
    let input = r#"{"tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let tried = sandbox.gimlet(&["hooks", "test", "PreToolUse", "--input", input, "--json"]).run();
    assert_eq!(tried.json()["decision"], "deny");
    let other =
        sandbox.gimlet(&["hooks", "test", "PreToolUse", "--input", r#"{"tool_name":"Edit"}"#]).run().expect_clean();
    assert!(other.stdout.contains("No hook of PreToolUse matches"));
}
