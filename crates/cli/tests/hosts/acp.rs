//! `gimlet acp`, driven as an editor drives it: JSON-RPC lines, many sessions in one process.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::collections::VecDeque;
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");

/// The editor's end of the pipe.
struct Editor {
    running: RunningGimlet,
    next: u64,
    /// Lines that were read and not yet used.
    seen: VecDeque<Value>,
}

impl Editor {
    fn start(sandbox: &Sandbox, capabilities: &Value) -> Self {
        let running = sandbox.gimlet(&["acp"]).stdin_open().spawn();
        let mut editor = Self { running, next: 0, seen: VecDeque::new() };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let reply = editor.call("initialize", &hello);
        assert_eq!(reply["result"]["protocolVersion"], 1, "{reply}");
        assert_eq!(reply["result"]["agentInfo"]["name"], "gimlet");
        editor
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.running.send_json(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.reply_to(id)
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.running.send_json(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn read(&mut self) -> Value {
        let line = self.running.next_line().expect("gimlet closed its output");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a protocol line: {line}"))
    }

    fn reply_to(&mut self, id: u64) -> Value {
        self.until(|line| line["id"] == id && line.get("method").is_none())
    }

    /// The first line for which `wanted` is true, already read or still to come. Others are kept in order.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&wanted) {
            return self.seen.remove(at).unwrap();
        }
        loop {
            let line = self.read();
            if wanted(&line) {
                return line;
            }
            self.seen.push_back(line);
        }
    }

    fn new_session(&mut self, sandbox: &Sandbox) -> String {
        let reply = self.call("session/new", &json!({"cwd": sandbox.project(), "mcpServers": []}));
        reply["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.send("session/prompt", &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Updates of one session that were read so far, of one kind.
    fn updates(&self, session: &str, kind: &str) -> Vec<&Value> {
        let of =
            |line: &&Value| line["params"]["sessionId"] == session && line["params"]["update"]["sessionUpdate"] == kind;
        self.seen.iter().filter(of).map(|line| &line["params"]["update"]).collect()
    }

    fn said(&self, session: &str) -> String {
        let chunks = self.updates(session, "agent_message_chunk");
        chunks.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    fn answer(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.running.send_json(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    }

    fn question(&mut self) -> Value {
        self.until(|line| line["method"] == "session/request_permission")
    }

    fn hang_up(mut self) {
        self.running.close_stdin();
        assert_eq!(self.running.finish().code(), 0);
    }
}

fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command}))
}

#[test]
fn a_prompt_streams_its_answer_and_ends() {
    let server = ModelServer::script([ScriptedReply::text("Hello from the model").tokens(100, 20)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "hi");
    let reply = editor.reply_to(prompt);
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert_eq!(editor.said(&session), "Hello from the model");
    assert_eq!(server.requests()[0].last_user_text(), "hi");
    let usage = editor.updates(&session, "usage_update");
    assert_eq!(usage[0]["used"], 120, "{usage:?}");
    editor.hang_up();
}

#[test]
fn a_call_is_shown_asked_about_and_finished() {
    let edit = json!({"file_path": "made.txt", "content": "new text"});
    let server =
        ModelServer::script([bash("touch one"), ScriptedReply::tool("Write", edit), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "go");
    let first = editor.question();
    let call = &first["params"]["toolCall"];
    assert_eq!((&call["title"], &call["kind"]), (&json!("`touch one`"), &json!("execute")));
    let kinds: Vec<&Value> = first["params"]["options"].as_array().unwrap().iter().map(|o| &o["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    let shown = editor.updates(&session, "tool_call");
    assert_eq!(shown[0]["toolCallId"], call["toolCallId"], "the call was shown before the question");
    assert!(!sandbox.project().join("one").exists(), "nothing runs before the answer");
    editor.answer(&first, "allow");
    let second = editor.question();
    let diff = &second["params"]["toolCall"]["content"][0];
    assert_eq!((&diff["type"], &diff["newText"]), (&json!("diff"), &json!("new text")));
    editor.answer(&second, "reject");
    assert_eq!(editor.reply_to(prompt)["result"]["stopReason"], "end_turn");
    let states: Vec<&Value> = editor.updates(&session, "tool_call_update").iter().map(|u| &u["status"]).collect();
    assert_eq!(states, ["completed", "failed"]);
    assert!(sandbox.project().join("one").exists() && !sandbox.project().join("made.txt").exists());
    editor.hang_up();
}

#[test]
fn always_saves_the_rule_that_was_shown() {
    let server = ModelServer::script([bash("touch one"), bash("touch two"), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "go");
    let question = editor.question();
    assert_eq!(question["params"]["options"][1]["name"], "Always allow Bash(touch *)");
    editor.answer(&question, "allow_always");
    assert_eq!(editor.reply_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(sandbox.project().join("two").exists(), "the second call is not asked about");
    assert!(sandbox.read(".claude/settings.local.json").contains("touch *"));
    editor.hang_up();
}

#[test]
fn cancelling_ends_the_prompt_and_what_waits_behind_it() {
    let server = ModelServer::script([bash("touch started && sleep 300"), ScriptedReply::text("later")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    let first = editor.prompt(&session, "go");
    let question = editor.question();
    let second = editor.prompt(&session, "and then");
    editor.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(editor.reply_to(first)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.reply_to(second)["result"]["stopReason"], "cancelled");
    // The question was withdrawn; a late answer changes nothing.
    editor.answer(&question, "allow");
    let third = editor.prompt(&session, "again");
    assert_eq!(editor.reply_to(third)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.said(&session), "later");
    editor.hang_up();
}

#[test]
fn sessions_are_listed_and_loaded_with_what_was_said() {
    let server = ModelServer::script([
        bash("echo seen"),
        ScriptedReply::text("first answer"),
        ScriptedReply::text("second answer"),
        ScriptedReply::text("third answer"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "remember the milk");
    editor.reply_to(prompt);
    editor.hang_up();

    let mut editor = Editor::start(&sandbox, &json!({}));
    let list = editor.call("session/list", &json!({"cwd": sandbox.project()}));
    assert_eq!(list["result"]["sessions"][0]["sessionId"], session, "{list}");
    assert_eq!(list["result"]["sessions"][0]["title"], "remember the milk");
    let place = json!({"sessionId": session, "cwd": sandbox.project(), "mcpServers": []});
    let loaded = editor.call("session/load", &place);
    assert!(loaded["result"]["modes"].is_object(), "{loaded}");
    assert_eq!(editor.updates(&session, "user_message_chunk")[0]["content"]["text"], "remember the milk");
    assert_eq!(editor.said(&session), "first answer");
    assert_eq!(editor.updates(&session, "tool_call")[0]["title"], "`echo seen`");
    assert_eq!(editor.updates(&session, "tool_call_update")[0]["status"], "completed");
    let prompt = editor.prompt(&session, "go on");
    assert_eq!(editor.reply_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(server.requests().last().unwrap().all_text().contains("remember the milk"), "the history is sent again");
    editor.hang_up();

    // `session/resume` continues without sending the history.
    let mut editor = Editor::start(&sandbox, &json!({}));
    let resumed = editor.call("session/resume", &place);
    assert!(resumed["result"].is_object(), "{resumed}");
    let prompt = editor.prompt(&session, "more");
    editor.reply_to(prompt);
    assert_eq!(editor.said(&session), "third answer");
    editor.hang_up();
}

#[test]
fn modes_change_what_is_asked() {
    let server = ModelServer::script([
        ScriptedReply::tool("Write", json!({"file_path": "a.txt", "content": "a"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let opened = editor.call("session/new", &json!({"cwd": sandbox.project(), "mcpServers": []}));
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(opened["result"]["modes"]["currentModeId"], "default");
    let changed = editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "acceptEdits"}));
    assert!(changed["result"].is_object(), "{changed}");
    let refused = editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "bypassPermissions"}));
    assert!(refused["error"].is_object(), "bypass was not allowed at the start: {refused}");
    let prompt = editor.prompt(&session, "go");
    assert_eq!(editor.reply_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(sandbox.project().join("a.txt").exists(), "an edit is accepted without a question");
    assert_eq!(editor.updates(&session, "current_mode_update")[0]["currentModeId"], "acceptEdits");
    editor.hang_up();
}

#[test]
fn many_sessions_run_side_by_side() {
    const SESSIONS: usize = 12;
    let server = ModelServer::with_handler(|request| {
        if request.tool_results().is_empty() {
            let name = request.last_user_text();
            return bash(&format!("touch {name}"));
        }
        ScriptedReply::text("done")
    });
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let sessions: Vec<String> = (0..SESSIONS).map(|_| editor.new_session(&sandbox)).collect();
    let prompts: Vec<u64> =
        sessions.iter().enumerate().map(|(at, session)| editor.prompt(session, &format!("file{at}"))).collect();
    // All are asked before any is answered, and the answers come in another order.
    let mut questions: Vec<Value> = (0..SESSIONS).map(|_| editor.question()).collect();
    questions.reverse();
    for question in &questions {
        editor.answer(question, "allow");
    }
    for prompt in prompts {
        assert_eq!(editor.reply_to(prompt)["result"]["stopReason"], "end_turn");
    }
    assert!((0..SESSIONS).all(|at| sandbox.project().join(format!("file{at}")).exists()));
    editor.hang_up();
}

#[test]
fn plans_and_terminals_are_drawn() {
    let todos = json!({"todos": [{"content": "Build", "status": "in_progress", "activeForm": "Building"}]});
    let server =
        ModelServer::script([ScriptedReply::tool("TodoWrite", todos), bash("echo out"), ScriptedReply::text("done")]);
    let mut sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.set("CLAUDE_CODE_ENABLE_TASKS", "0");
    let mut editor = Editor::start(&sandbox, &json!({"_meta": {"terminal_output": true}}));
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "go");
    editor.reply_to(prompt);
    let plan = &editor.updates(&session, "plan")[0]["entries"][0];
    assert_eq!((&plan["content"], &plan["status"]), (&json!("Build"), &json!("in_progress")));
    let call = editor.updates(&session, "tool_call")[0].clone();
    assert_eq!(call["content"][0]["type"], "terminal");
    let end = &editor.updates(&session, "tool_call_update").last().unwrap()["_meta"];
    assert_eq!(end["terminal_output"]["data"].as_str().unwrap().trim(), "out");
    assert_eq!(end["terminal_exit"]["exit_code"], 0);
    editor.hang_up();
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut sandbox = Sandbox::new(GIMLET);
    sandbox.unset("ANTHROPIC_API_KEY");
    let mut editor = Editor::start(&sandbox, &json!({}));
    assert_eq!(editor.call("session/fly", &json!({}))["error"]["code"], -32601);
    assert_eq!(editor.call("session/prompt", &json!({"sessionId": "x", "prompt": []}))["error"]["code"], -32002);
    assert_eq!(editor.call("session/new", &json!({"cwd": "relative", "mcpServers": []}))["error"]["code"], -32602);
    assert_eq!(editor.call("session/new", &json!({"cwd": "/no/such/dir", "mcpServers": []}))["error"]["code"], -32602);
    let missing =
        json!({"sessionId": "11111111-1111-4111-8111-111111111111", "cwd": sandbox.project(), "mcpServers": []});
    assert_eq!(editor.call("session/load", &missing)["error"]["code"], -32002);
    editor.running.send("this is not JSON");
    assert_eq!(editor.until(|line| line["error"]["code"] == -32700)["id"], Value::Null);
    // Without a credential the client gets an error that asks it to sign in.
    let session = editor.new_session(&sandbox);
    let prompt = editor.prompt(&session, "hi");
    assert_eq!(editor.reply_to(prompt)["error"]["code"], -32000);
    editor.hang_up();
}

#[test]
fn an_editor_that_hangs_up_leaves_nothing_running() {
    let server = ModelServer::script([bash("touch started && sleep 1234.5")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut editor = Editor::start(&sandbox, &json!({}));
    let session = editor.new_session(&sandbox);
    editor.prompt(&session, "go");
    let question = editor.question();
    editor.answer(&question, "allow");
    let project = sandbox.project();
    wait_until(|| runs_in(&project));
    editor.hang_up();
    wait_until(|| !runs_in(&project));
}

/// True when a process other than gimlet runs in `dir`.
fn runs_in(dir: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit())).any(|entry| {
        let sleeps = std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x001234.5"));
        sleeps && std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == dir)
    })
}

fn wait_until(condition: impl Fn() -> bool) {
    testkit::wait_until("a condition", condition);
}
