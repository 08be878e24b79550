//! Going back by requests of a host: files as SDKs ask for them, and the conversation of a running session.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use super::rewind::{SESSION, lines_of};
use crate::common::EXE;
use serde_json::{Value, json};
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedReply};

const ARGS: [&str; 9] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--allowedTools",
    "Bash,Edit,Write,Read,TodoWrite",
    "--replay-user-messages",
];

fn say(running: &mut RunningGimlet, uuid: &str, text: &str) {
    running.send_json(&json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}));
    running.wait_for("result");
}

fn ask(running: &mut RunningGimlet, request: &Value) -> Value {
    let id = sys_id();
    running.send_json(&json!({"type": "control_request", "request_id": id, "request": request}));
    loop {
        let said = running.wait_for("control_response");
        if said["response"]["request_id"] == id {
            return said["response"].clone();
        }
    }
}

fn sys_id() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("r{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

const STRICT_MODEL: &str = "claude-sonnet-4-5";
const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-222222222222";
const THREE: &str = "33333333-3333-4333-8333-333333333333";

fn started(sandbox: &mut Sandbox, replies: Vec<ScriptedReply>) -> (ModelServer, RunningGimlet) {
    started_with(sandbox, replies, &[])
}

fn started_with(sandbox: &mut Sandbox, replies: Vec<ScriptedReply>, more: &[&str]) -> (ModelServer, RunningGimlet) {
    let server = ModelServer::script(replies);
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    sandbox.set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true");
    // A model that has to read before it overwrites.
    sandbox.set("ANTHROPIC_MODEL", STRICT_MODEL);
    let all: Vec<&str> = ARGS.iter().chain(more).copied().collect();
    let running = sandbox.gimlet(&all).stdin_open().spawn();
    (server, running)
}

fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command}))
}

/// [LNG-12] [SDK-85] [TST-191] A dry run says what would change and changes nothing; applying restores the files to the
/// prompt's checkpoint and keeps the work of others; an unknown prompt is no error of the request.
#[test]
fn hosts_take_files_back() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "one\n");
    sandbox.write("b.txt", "one\n");
    let (_server, mut running) = started(
        &mut sandbox,
        vec![
            bash("echo two > a.txt"),
            ScriptedReply::text("x"),
            bash("echo more >> a.txt; echo two > b.txt"),
            ScriptedReply::text("x"),
        ],
    );
    say(&mut running, ONE, "first");
    say(&mut running, TWO, "second");
    sandbox.write("b.txt", "by hand\n");
    let unknown = ask(&mut running, &json!({"subtype": "rewind_files", "user_message_id": "nobody"}));
    assert_eq!(
        (unknown["subtype"].as_str(), unknown["response"]["canRewind"].as_bool()),
        (Some("success"), Some(false))
    );
    assert!(unknown["response"]["error"].as_str().unwrap().contains("nobody"));
    let plan =
        ask(&mut running, &json!({"subtype": "rewind_files", "user_message_id": ONE, "dry_run": true}))["response"]
            .clone();
    assert_eq!(
        (plan["canRewind"].as_bool(), plan["insertions"].as_u64(), plan["deletions"].as_u64()),
        (Some(true), Some(1), Some(2)),
        "{plan}"
    );
    assert_eq!(plan["filesChanged"], json!([sandbox.project().join("a.txt")]), "{plan}");
    assert_eq!(sandbox.read("a.txt"), "two\nmore\n");
    let done = ask(&mut running, &json!({"subtype": "rewind_files", "user_message_id": TWO}))["response"].clone();
    assert_eq!(done["x_kept"], json!([sandbox.project().join("b.txt")]), "{done}");
    assert_eq!((sandbox.read("a.txt"), sandbox.read("b.txt")), ("two\n".into(), "by hand\n".into()));
    ask(&mut running, &json!({"subtype": "rewind_files", "user_message_id": ONE}));
    assert_eq!(sandbox.read("a.txt"), "one\n");
    running.close_stdin();
    running.finish().expect_code(0);
}

/// [LNG-1] [SDK-85] With stream-json input checkpoints are kept only when the host's environment asks for them.
#[test]
fn hosts_ask_for_checkpoints() {
    let server = ModelServer::script([bash("echo two > a.txt"), ScriptedReply::text("x")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = sandbox.gimlet(&ARGS).stdin_open().spawn();
    say(&mut running, ONE, "first");
    let refused = ask(&mut running, &json!({"subtype": "rewind_files", "user_message_id": ONE}));
    assert_eq!(refused["response"]["canRewind"], false);
    running.close_stdin();
    running.finish().expect_code(0);
    assert!(lines_of(&sandbox.transcript(), "file-history-snapshot").is_empty());
}

/// [LNG-16] The difference of each file can be seen before anything is restored.
#[test]
fn the_difference_is_shown_first() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "one\nkeep\n");
    let (_server, mut running) = started(&mut sandbox, vec![bash("sed -i s/one/two/ a.txt"), ScriptedReply::text("x")]);
    say(&mut running, ONE, "first");
    let plan = ask(&mut running, &json!({"subtype": "x_rewind", "to": "1", "part": "code", "dry_run": true}));
    let hunk = &plan["response"]["report"]["files"][0]["hunks"][0]["lines"];
    assert_eq!(*hunk, json!(["-two", "+one", " keep"]), "{plan}");
    assert_eq!(sandbox.read("a.txt"), "two\nkeep\n");
    running.close_stdin();
    running.finish().expect_code(0);
}

/// [LNG-9] [LNG-10] A running session goes back: the next request holds only what was said before, the prompt returns with
/// all its parts, and read files, checklist and grants are those of that point. The branch that was left can be taken up.
#[test]
fn a_running_conversation_goes_back() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("early.txt", "early\n");
    sandbox.write("late.txt", "late\n");
    let read = |name: &str| ScriptedReply::tool("Read", json!({"file_path": name}));
    let write = |name: &str| ScriptedReply::tool("Write", json!({"file_path": name, "content": "changed"}));
    let todos = |text: &str| {
        ScriptedReply::tool("TodoWrite", json!({"todos": [{"content": text, "status": "pending", "activeForm": text}]}))
    };
    let replies = vec![
        read("early.txt"),
        todos("early task"),
        ScriptedReply::text("x"),
        read("late.txt"),
        todos("late task"),
        ScriptedReply::text("x"),
        // After going back:
        write("early.txt"),
        write("late.txt"),
        ScriptedReply::text("x"),
        ScriptedReply::text("taken up"),
    ];
    let (server, mut running) = started(&mut sandbox, replies);
    say(&mut running, ONE, "first words");
    ask(
        &mut running,
        &json!({"subtype": "update_permissions", "updates": [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "early:*"}], "behavior": "allow", "destination": "session"}]}),
    );
    let blocks = json!([{"type": "text", "text": "second words"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]);
    running.send_json(&json!({"type": "user", "uuid": TWO, "message": {"role": "user", "content": blocks}}));
    running.wait_for("result");
    ask(
        &mut running,
        &json!({"subtype": "update_permissions", "updates": [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "late:*"}], "behavior": "allow", "destination": "session"}]}),
    );
    let list = ask(&mut running, &json!({"subtype": "x_rewind_list"}))["response"].clone();
    assert_eq!(list["prompts"].as_array().unwrap().len(), 2, "{list}");
    let gone = ask(&mut running, &json!({"subtype": "x_rewind", "to": TWO, "part": "conversation"}));
    assert_eq!(gone["subtype"], "success", "{gone}");
    assert_eq!(gone["response"]["prompt"]["content"], blocks, "the prompt returns with its image");
    let rules = ask(&mut running, &json!({"subtype": "list_permission_rules"}))["response"].to_string();
    assert!(rules.contains("early:*") && !rules.contains("late:*"), "{rules}");
    say(&mut running, THREE, "another way");
    let requests = server.requests();
    let sent = requests[6].all_text();
    assert!(sent.contains("first words") && !sent.contains("second words") && sent.contains("another way"), "{sent}");
    assert_eq!(sandbox.read("early.txt"), "changed", "what was read before still counts");
    assert_eq!(sandbox.read("late.txt"), "late\n", "what was read on the other branch does not");
    let list = ask(&mut running, &json!({"subtype": "x_rewind_list"}))["response"].clone();
    let leaf = list["branches"][0]["leafUuid"].as_str().unwrap().to_owned();
    let taken = ask(&mut running, &json!({"subtype": "x_rewind", "to": leaf, "branch": true, "part": "conversation"}));
    assert_eq!(taken["subtype"], "success", "{taken}");
    say(&mut running, "44444444-4444-4444-8444-444444444444", "on");
    let sent = server.last_request().all_text();
    assert!(sent.contains("second words") && !sent.contains("another way"), "{sent}");
    running.close_stdin();
    running.finish().expect_code(0);
}

/// The task list on disk: subjects with their status.
fn tasks(sandbox: &Sandbox) -> Vec<(String, String)> {
    let folder = sandbox.config_dir().join("tasks").join(SESSION);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|end| end == "json") {
            let task: Value = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap();
            found.push((task["subject"].as_str().unwrap().to_owned(), task["status"].as_str().unwrap().to_owned()));
        }
    }
    found.sort();
    found
}

fn task(subject: &str, status: &str) -> (String, String) {
    (subject.to_owned(), status.to_owned())
}

/// [LNG-10] The task list and the plan are those of the point gone back to, and those of a branch that is taken up; a later process
/// knows them as well.
#[test]
fn tasks_and_plan_belong_to_their_point() {
    let mut sandbox = Sandbox::new(EXE);
    let create = |subject: &str| {
        ScriptedReply::tool("TaskCreate", json!({"subject": subject, "description": "d", "activeForm": "f"}))
    };
    let update = ScriptedReply::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"}));
    let plan = sandbox.config_dir().join("plans");
    let tools = "TaskCreate,TaskUpdate,Write,Read";
    let replies = vec![create("early"), ScriptedReply::text("x"), update, create("late"), ScriptedReply::text("x")];
    let (_server, mut running) =
        started_with(&mut sandbox, replies, &["--session-id", SESSION, "--allowedTools", tools, "--tools", "default"]);
    say(&mut running, ONE, "first words");
    let early = vec![task("early", "pending")];
    assert_eq!(tasks(&sandbox), early);
    say(&mut running, TWO, "second words");
    let late = vec![task("early", "completed"), task("late", "pending")];
    assert_eq!(tasks(&sandbox), late);
    let gone =
        ask(&mut running, &json!({"subtype": "x_rewind", "to": TWO, "part": "conversation"}))["response"].clone();
    assert_eq!(tasks(&sandbox), early);
    assert_eq!(gone["lists"]["tasks"][0]["subject"], "early", "{gone}");
    assert_eq!(gone["lists"]["tasks"].as_array().unwrap().len(), 1, "{gone}");
    running.close_stdin();
    running.finish().expect_code(0);

    // Another process takes the branch up, and goes back to the first prompt.
    let (_server, mut running) = started_with(
        &mut sandbox,
        vec![ScriptedReply::text("x")],
        &["--resume", SESSION, "--allowedTools", tools, "--tools", "default"],
    );
    let list = ask(&mut running, &json!({"subtype": "x_rewind_list"}))["response"].clone();
    assert_eq!(list["branches"][0]["promptUuids"], json!([TWO]), "{list}");
    let leaf = list["branches"][0]["leafUuid"].as_str().unwrap().to_owned();
    ask(&mut running, &json!({"subtype": "x_rewind", "to": leaf, "branch": true, "part": "conversation"}));
    assert_eq!(tasks(&sandbox), late);
    ask(&mut running, &json!({"subtype": "x_rewind", "to": ONE, "part": "conversation"}));
    assert_eq!(tasks(&sandbox), Vec::new());
    assert!(!plan.exists());
    running.close_stdin();
    running.finish().expect_code(0);
}

/// [LNG-7] The end of a branch that was left can be gone on with together with the files as they were then.
#[test]
fn a_branch_is_taken_up_with_its_files() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "one\n");
    sandbox.write("kept/f.txt", "f\n");
    let (_server, mut running) = started(
        &mut sandbox,
        vec![
            bash("echo two > a.txt"),
            ScriptedReply::text("x"),
            bash("echo three > a.txt; rm -rf kept"),
            ScriptedReply::text("x"),
            bash("echo other > a.txt; echo new > b.txt"),
            ScriptedReply::text("x"),
        ],
    );
    say(&mut running, ONE, "first");
    say(&mut running, TWO, "second");
    let both = |to: &str| json!({"subtype": "x_rewind", "to": to, "part": "both"});
    ask(&mut running, &both(TWO));
    assert_eq!((sandbox.read("a.txt"), sandbox.read("kept/f.txt")), ("two\n".into(), "f\n".into()));
    // At once, and again after another way was tried.
    for is_after in [false, true] {
        if is_after {
            ask(&mut running, &both(TWO));
            say(&mut running, THREE, "third");
            assert_eq!((sandbox.read("a.txt"), sandbox.read("b.txt")), ("other\n".into(), "new\n".into()));
        }
        let list = ask(&mut running, &json!({"subtype": "x_rewind_list"}))["response"].clone();
        let branch =
            list["branches"].as_array().unwrap().iter().find(|branch| branch["text"] == "second").unwrap().clone();
        assert_eq!(branch["hasCheckpoint"], true, "{list}");
        let mut up = both(branch["leafUuid"].as_str().unwrap());
        up["branch"] = true.into();
        let mut planned = up.clone();
        planned["dry_run"] = true.into();
        let plan = ask(&mut running, &planned)["response"].clone();
        assert!(plan["report"]["files"].to_string().contains("a.txt"), "{plan}");
        let done = ask(&mut running, &up);
        assert_eq!(done["subtype"], "success", "{done}");
        assert_eq!(sandbox.read("a.txt"), "three\n");
        assert!(!sandbox.project().join("kept").exists() && !sandbox.project().join("b.txt").exists());
    }
    running.close_stdin();
    running.finish().expect_code(0);
}
