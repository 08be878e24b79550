//! Resuming conversations through the real binary: what is found, what is restored, what is reported, and where the
//! files of a session are.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use testkit::{CapturedRequest, ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

const ID: &str = "22222222-2222-4222-8222-222222222222";

fn always(text: &'static str) -> ModelServer {
    ModelServer::with_handler(move |_| ScriptedReply::text(text))
}

/// The bytes of a request up to its moving cache marker.
fn prefix(request: &CapturedRequest) -> Vec<u8> {
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    let moving = request.body.windows(marker.len()).rposition(|w| w == marker).unwrap();
    request.body[..moving].to_vec()
}

/// A line of a tree as others write it.
fn line(kind: &str, uuid: &str, parent: Option<&str>, rest: &Value, sandbox: &Sandbox) -> String {
    let mut line = json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z",
        "userType": "external", "cwd": sandbox.project(), "sessionId": ID, "version": "2.1.240",
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string() + "\n"
}

fn user(uuid: &str, parent: Option<&str>, content: &Value, sandbox: &Sandbox) -> String {
    line("user", uuid, parent, &json!({"message": {"role": "user", "content": content}}), sandbox)
}

fn said(uuid: &str, parent: &str, message: &str, block: &Value, sandbox: &Sandbox) -> String {
    let message = json!({"id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [block], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    line("assistant", uuid, Some(parent), &json!({"message": message}), sandbox)
}

fn plant(sandbox: &Sandbox, text: &str) -> PathBuf {
    let name: String =
        sandbox.project().to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let path = sandbox.config_dir().join("projects").join(name).join(format!("{ID}.jsonl"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

// [TST-171] Everything sent beside the conversation is in the file: instructions, skills, output of hooks.
#[test]
fn a_resumed_request_begins_with_the_bytes_of_the_live_one() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::thinking("t", "c2ln"),
            ScriptedBlock::tool("Read", &json!({"file_path": "sub/a.txt"})),
        ]),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    sandbox.write("sub/CLAUDE.md", "Be careful here.\n");
    sandbox.write("sub/a.txt", "alpha\n");
    sandbox.write_config("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up\n---\nTidy.\n");
    let hook = |text: &str| json!([{"hooks": [{"type": "command", "command": format!("echo {text}")}]}]);
    let hooks = json!({"SessionStart": hook("begun"), "UserPromptSubmit": hook("noted")});
    sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
    let id =
        session_of(&stream(&sandbox, "first", &[]).into_iter().filter(|l| l["subtype"] == "init").collect::<Vec<_>>());
    let text = server.request(1).all_text();
    for told in ["Be brief.", "Be careful here.", "Tidies up", "begun", "noted"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    print(&sandbox, "second", &["--resume", &id]).run().expect_clean();
    assert!(server.request(2).body.starts_with(&prefix(&server.request(1))));
}

// [TST-172] Other processes see open sessions and their status; records of dead processes go at the next start.
#[test]
fn the_registry_tells_what_a_session_does() {
    let gate = ReplyGate::new();
    let call = ScriptedBlock::tool("Write", &json!({"file_path": "x", "content": "y"}));
    let server = ModelServer::script([ScriptedReply::message(vec![call]).gate(&gate), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let dead = sandbox.write_config("sessions/4194399.json", r#"{"pid":4194399,"sessionId":"S","procStart":"1"}"#);
    let init = std::fs::read_to_string("/proc/1/stat").map(|_| "1").ok();
    let reused = init.map(|_| sandbox.write_config("sessions/1.json", r#"{"pid":1,"sessionId":"S","procStart":"77"}"#));
    let mut run = host(&sandbox, &crate::common::ASK).spawn();
    let record = sandbox.config_dir().join(format!("sessions/{}.json", run.pid()));
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&record).ok()?).ok();
    let stands = |status: &str| {
        while read().is_none_or(|now| now["status"] != status) {
            std::thread::yield_now();
        }
        read().unwrap()
    };
    run.send_user("go");
    server.wait_for_requests(1);
    let busy = stands("busy");
    assert_eq!((&busy["pid"], &busy["cwd"]), (&json!(run.pid()), &json!(sandbox.project())));
    assert_eq!((&busy["peerProtocol"], busy.get("waitingFor")), (&json!(1), None));
    for key in ["sessionId", "procStart", "version", "kind", "entrypoint"] {
        assert!(busy[key].is_string(), "{key}: {busy}");
    }
    assert!(busy["startedAt"].is_u64() && busy["statusUpdatedAt"].is_u64() && busy["updatedAt"].is_u64());
    gate.open_all();
    let question = run.wait_for("control_request");
    assert_eq!(stands("waiting")["waitingFor"], "permission");
    crate::common::answer(&mut run, &question, &json!({"behavior": "deny", "message": "no"}));
    run.wait_for("result");
    assert!(stands("idle").get("waitingFor").is_none());
    while dead.exists() || reused.as_ref().is_some_and(|path| path.exists()) {
        std::thread::yield_now();
    }
    run.close_stdin();
    drop(run.finish().expect_clean());
    assert!(!record.exists());
}

// [TST-173] Prompts of people, not of programs, without repeats: pastes are folded, long ones stored once in a file.
#[test]
fn what_people_type_is_remembered_and_nothing_else() {
    let server = always("ok");
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "of a program", &[]);
    let history = sandbox.config_dir().join("history.jsonl");
    assert!(!history.exists());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    let long = format!("{}\nend", "words ".repeat(400));
    let mut say = |keys: &str, count: usize| {
        terminal.send(keys);
        server.wait_for_requests(count + 1);
        terminal.wait_gone("esc to interrupt");
    };
    say("hello\r", 1);
    say("hello\r", 2);
    say(&format!("see \x1b[200~{long}\x1b[201~\r"), 3);
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&history).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    while lines().len() < 2 {
        std::thread::yield_now();
    }
    drop(terminal);
    let lines = lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let keys: Vec<&str> = lines[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["display", "pastedContents", "timestamp", "project", "sessionId"]);
    assert_eq!((&lines[0]["display"], &lines[0]["project"]), (&json!("hello"), &json!(sandbox.project())));
    assert_eq!(lines[1]["display"], "see [Pasted text #1 +1 lines]");
    let paste = &lines[1]["pastedContents"]["1"];
    assert_eq!((&paste["id"], &paste["type"], paste.get("content")), (&json!(1), &json!("text"), None));
    let file = sandbox.config_dir().join(format!("paste-cache/{}.txt", paste["contentHash"].as_str().unwrap()));
    assert_eq!(std::fs::read_to_string(file).unwrap(), long);
    assert!(server.last_request().last_user_text().contains(&long));
    // The next session can recall the whole prompt.
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("\x1b[A");
    terminal.wait_for("words words");
}

// [TST-174] The paths of the files of a session.
#[test]
fn everything_has_its_place() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool("TaskCreate", &json!({"subject": "s", "description": "d"})),
            ScriptedBlock::tool("Bash", &json!({"command": "head -c 60000 /dev/zero | tr '\\0' x"})),
        ]),
        ScriptedReply::text("done"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_ENABLE_TASKS", "1");
    let seen = sandbox.root().join("seen");
    let command = format!("echo \"$CLAUDE_ENV_FILE\" > {}", seen.display());
    let hooks = json!({"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]});
    sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
    let run = print(&sandbox, "go", &["--debug", "--session-id", ID, "--allowedTools", "Bash,TaskCreate"]).run();
    drop(run.expect_clean());
    let home = sandbox.config_dir();
    assert!(home.join(format!("debug/{ID}.txt")).is_file());
    assert_eq!(std::fs::read_link(home.join("debug/latest")).unwrap(), Path::new(&format!("{ID}.txt")));
    assert!(home.join(format!("tasks/{ID}/1.json")).is_file());
    let env_file = std::fs::read_to_string(seen).unwrap();
    assert!(env_file.starts_with(home.join(format!("session-env/{ID}")).to_str().unwrap()), "{env_file}");
    let results = sandbox.transcript_paths()[0].with_extension("").join("tool-results");
    assert_eq!(std::fs::read_dir(results).unwrap().count(), 1);
}

// [TST-176] Found by id from any directory, unless it is ambiguous; then as if there were none.
#[test]
fn an_id_is_found_from_another_directory() {
    let server = always("ok");
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "REMEMBER", &[]));
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let from_there = || print(&sandbox, "more", &["--resume", &id]).cwd(&elsewhere).run();
    assert_eq!(session_of(&from_there().expect_clean().lines()), id);
    assert!(server.last_request().all_text().contains("REMEMBER"));
    assert_eq!(sandbox.transcript_paths().len(), 1, "it stays where it is");
    // A fork belongs to the directory in which it was made.
    let fork = print(&sandbox, "more", &["--resume", &id, "--fork-session"]).cwd(&elsewhere).run().expect_clean();
    let listed = sandbox.gimlet(&["sessions", "list", "--json"]).cwd(&elsewhere).run().expect_clean().stdout;
    assert!(listed.contains(&session_of(&fork.lines())), "{listed}");
    std::fs::remove_dir_all(
        sandbox.transcript_paths().iter().find(|p| !p.to_str().unwrap().contains(&id)).unwrap().parent().unwrap(),
    )
    .unwrap();
    let copies = sandbox.config_dir().join("projects/-copy");
    std::fs::create_dir_all(&copies).unwrap();
    std::fs::copy(&sandbox.transcript_paths()[0], copies.join(format!("{id}.jsonl"))).unwrap();
    let refused = from_there().expect_code(1);
    assert_eq!(refused.result()["errors"][0], format!("No conversation found with session ID: {id}"));
}

// [TST-178] Files that others damaged.
#[test]
fn a_damaged_file_is_resumed() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Glob", "input": {"pattern": "*"}});
    type Make = fn(&Sandbox, &dyn Fn(&str) -> Value, &dyn Fn(&str) -> Value) -> String;
    let cases: [(&str, Make); 6] = [
        ("dangling call", |s, text, call| {
            user("u1", None, &json!("KEPT"), s)
                + &said("a1", "u1", "m1", &text("hm"), s)
                + &said("a2", "a1", "m1", &call("toolu_x"), s)
        }),
        ("missing parent", |s, text, _| {
            user("u1", None, &json!("before"), s)
                + &user("u2", Some("lost"), &json!("KEPT"), s)
                + &said("a2", "u2", "m1", &text("hm"), s)
        }),
        ("duplicate uuid", |s, text, _| {
            user("u1", None, &json!("old"), s)
                + &user("u1", None, &json!("KEPT"), s)
                + &said("a1", "u1", "m1", &text("hm"), s)
        }),
        ("self parent", |s, text, _| {
            user("u1", Some("u1"), &json!("KEPT"), s) + &said("a1", "u1", "m1", &text("hm"), s)
        }),
        ("cycle", |s, text, _| user("u1", Some("a1"), &json!("KEPT"), s) + &said("a1", "u1", "m1", &text("hm"), s)),
        ("malformed attachment", |s, text, _| {
            user("u1", None, &json!("KEPT"), s)
                + &line("attachment", "t1", Some("u1"), &json!({"attachment": 7}), s)
                + &line(
                    "attachment",
                    "t2",
                    Some("t1"),
                    &json!({"attachment": {"type": "skill_listing", "content": []}}),
                    s,
                )
                + &said("a1", "t2", "m1", &text("hm"), s)
        }),
    ];
    for (what, make) in cases {
        let server = always("fine");
        let sandbox = Sandbox::with_server(EXE, &server);
        plant(&sandbox, &make(&sandbox, &text, &call));
        let lines = print(&sandbox, "go on", &["--resume", ID]).run().expect_clean().lines();
        assert_eq!(lines.last().unwrap()["result"], "fine", "{what}");
        let request = server.request(0);
        assert!(request.all_text().contains("KEPT"), "{what}: {}", request.all_text());
        let (calls, results) = (request.tool_uses().len(), request.tool_results().len());
        assert_eq!((calls, results), if what == "dangling call" { (1, 1) } else { (0, 0) }, "{what}");
    }
}

// [TST-180] Every result of calls that ran side by side.
#[test]
fn parallel_results_come_back_whole() {
    let calls: Vec<ScriptedBlock> = (0..5)
        .map(|n| ScriptedBlock::tool_with_id(&format!("toolu_{n}"), "Glob", &json!({"pattern": format!("{n}*")})))
        .collect();
    let server =
        ModelServer::script([ScriptedReply::message(calls), ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    for n in 0..5 {
        sandbox.write(&format!("{n}.txt"), "x");
    }
    let id = session_of(&stream(&sandbox, "go", &[]));
    stream(&sandbox, "more", &["--resume", &id]);
    let contents = |at: usize| -> Vec<Value> {
        server
            .request(at)
            .tool_results()
            .iter()
            .map(|r| json!([r["tool_use_id"], r["content"], r["is_error"]]))
            .collect()
    };
    assert_eq!(contents(2), contents(1));
    assert_eq!(contents(2).len(), 5);
    assert!(server.request(2).body.starts_with(&prefix(&server.request(1))));
}

// [TST-181] Resuming restores the model and the agent, never plan or bypass mode.
#[test]
fn model_and_agent_come_back_and_dangerous_modes_do_not() {
    let server = always("ok");
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("IS_SANDBOX", "1");
    sandbox.write(".claude/agents/boss.md", "---\nname: boss\ndescription: rules\n---\nYou are the boss.\n");
    for mode in ["plan", "bypassPermissions"] {
        let begun = stream(&sandbox, "go", &["--model", "haiku", "--agent", "boss", "--permission-mode", mode]);
        assert_eq!(begun[0]["permissionMode"], mode);
        let id = session_of(&begun);
        let again = stream(&sandbox, "on", &["--resume", &id]);
        assert_eq!((&again[0]["permissionMode"], &again[0]["model"]), (&json!("default"), &begun[0]["model"]));
        assert!(server.last_request().json["model"].as_str().unwrap().contains("haiku"));
        assert!(server.last_request().system_text().starts_with("You are the boss."));
        let other = stream(&sandbox, "on", &["--resume", &id, "--model", "opus"]);
        assert!(other[0]["model"].as_str().unwrap().contains("opus"), "{}", other[0]);
    }
}

// [TST-183] The second process warns; both continue.
#[test]
fn a_conversation_that_is_open_elsewhere_is_shared_with_a_warning() {
    let server = always("ok");
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut first = host(&sandbox, &[]).spawn();
    first.send_user("from the first");
    let id = first.wait_for("result")["session_id"].as_str().unwrap().to_owned();
    let second = print(&sandbox, "from the second", &["--resume", &id]).run().expect_code(0);
    assert!(second.stderr.contains("open in another process"), "{}", second.stderr);
    assert!(second.stderr.contains(&first.pid().to_string()), "{}", second.stderr);
    drop(print(&sandbox, "a copy", &["--resume", &id, "--fork-session"]).run().expect_clean());
    first.send_user("again from the first");
    first.wait_for("result");
    first.close_stdin();
    drop(first.finish().expect_clean());
    let on_disk = sandbox.transcript_of(&id);
    for text in ["from the first", "from the second", "again from the first"] {
        assert_eq!(of_kind(&on_disk, "user").iter().filter(|l| l["message"]["content"] == text).count(), 1, "{text}");
    }
    // The later end is used; the other process is gone.
    drop(print(&sandbox, "onwards", &["--resume", &id]).run().expect_clean());
    assert!(server.last_request().all_text().contains("again from the first"));
}

// [TST-186] Lines that a host mirrored elsewhere, put into a new directory, can be resumed there.
#[test]
fn a_mirrored_conversation_is_resumed_from_what_was_told() {
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})),
        ScriptedReply::text("hello"),
        ScriptedReply::text("again"),
        ScriptedReply::text("from the copy"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--session-mirror"]).spawn();
    for prompt in ["go", "and again"] {
        run.send_user(prompt);
        run.wait_for("result");
    }
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let elsewhere = sandbox.root().join("elsewhere");
    for frame in lines.iter().filter(|l| l["type"] == "transcript_mirror") {
        let path = Path::new(frame["filePath"].as_str().unwrap());
        let key = path.strip_prefix(sandbox.config_dir().join("projects")).unwrap();
        assert_eq!(key.components().count(), 2, "project and session: {}", key.display());
        let copy = elsewhere.join("projects").join(key);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let mut text = std::fs::read_to_string(&copy).unwrap_or_default();
        for entry in frame["entries"].as_array().unwrap() {
            writeln!(text, "{entry}").unwrap();
        }
        std::fs::write(copy, text).unwrap();
    }
    let id = session_of(&lines.into_iter().filter(|l| l["subtype"] == "init").collect::<Vec<_>>());
    let copy = print(&sandbox, "onwards", &["--resume", &id]).env("CLAUDE_CONFIG_DIR", &elsewhere).run().expect_clean();
    assert_eq!(copy.result()["result"], "from the copy");
    assert!(server.request(3).body.starts_with(&prefix(&server.request(2))));
}
