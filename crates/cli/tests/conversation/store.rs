//! Sessions on disk through the real binary: every line as readers want it, and transcripts of other writers resumed.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

const ID: &str = "22222222-2222-4222-8222-222222222222";

fn is_v4(uuid: &Value) -> bool {
    let text = uuid.as_str().unwrap_or_default();
    let v4 = text.len() == 36 && text.as_bytes()[14] == b'4' && b"89ab".contains(&text.as_bytes()[19]);
    v4 && text.bytes().all(|b| b.is_ascii_digit() || b"abcdef-".contains(&b))
}

fn raw_lines(sandbox: &Sandbox) -> Vec<String> {
    std::fs::read_to_string(&sandbox.transcript_paths()[0]).unwrap().lines().map(str::to_owned).collect()
}

/// The directory of the transcripts of the sandbox's project.
fn project_dir(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.project();
    let name: String =
        path.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    sandbox.config_dir().join("projects").join(name)
}

/// Puts a transcript of another program into the project's directory.
fn plant(sandbox: &Sandbox, fixture: &str, id: &str) -> PathBuf {
    let text = fixture.replace("SESSION", id).replace("PROJECT", sandbox.project().to_str().unwrap());
    let path = project_dir(sandbox).join(format!("{id}.jsonl"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

// [TST-152] [TST-138] [SDK-172] [SDK-183] The envelope of every tree line, the form of every line.
#[test]
fn every_line_has_its_envelope() {
    let server = ModelServer::script([
        ScriptedReply::error(500, "api_error", "once"),
        ScriptedReply::message(vec![
            ScriptedBlock::thinking("hm", "c2ln"),
            ScriptedBlock::text("x"),
            ScriptedBlock::tool("Glob", &json!({"pattern": "*"})),
        ]),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &["--name", "A title"]);
    let mut parent = Value::Null;
    for raw in raw_lines(&sandbox) {
        let line: Value = serde_json::from_str(&raw).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), raw, "compact, keys as written");
        if line["uuid"].is_null() {
            assert!(raw.starts_with(r#"{"type":""#), "type comes first: {raw}");
            let is_checkpoint = raw.starts_with(r#"{"type":"file-history-"#);
            assert_eq!(line["sessionId"], if is_checkpoint { Value::Null } else { session_of(&lines).into() });
            continue;
        }
        assert!(is_v4(&line["uuid"]), "{raw}");
        assert_eq!(line["parentUuid"], parent, "one chain without gaps: {raw}");
        parent = line["uuid"].clone();
        assert_eq!((&line["isSidechain"], &line["userType"]), (&json!(false), &json!("external")));
        assert_eq!((&line["entrypoint"], &line["sessionId"]), (&json!("sdk-cli"), &json!(session_of(&lines))));
        assert_eq!(line["cwd"], sandbox.project().to_str().unwrap());
        assert_eq!(line["version"], lines[0]["claude_code_version"]);
        assert!(line["gitBranch"].is_string());
        let time = line["timestamp"].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && &time[19..20] == ".", "{time}");
    }
    assert!(!parent.is_null());
}

/// A response whose counts are final only in `message_delta`.
fn billed(blocks: Vec<ScriptedBlock>, input: u64, output: u64) -> ScriptedReply {
    ScriptedReply::message(blocks).usage(
        json!({"input_tokens": input, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0}),
        json!({"output_tokens": output}),
    )
}

// [TST-153] [TST-155] [SDK-132] One line per block, the same final usage on each; every way of counting is right.
#[test]
fn usage_adds_up_however_it_is_counted() {
    let call = |n: u32| ScriptedBlock::tool("Glob", &json!({"pattern": format!("{n}*")}));
    let server = ModelServer::script([
        billed(vec![ScriptedBlock::thinking("hm", "c2ln"), ScriptedBlock::text("both"), call(1), call(2)], 100, 40),
        billed(vec![call(3)], 200, 30),
        billed(vec![ScriptedBlock::text("done")], 300, 20),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &[]);
    let result = lines.last().unwrap();
    let on_disk = sandbox.transcript();
    let answers = of_kind(&on_disk, "assistant");
    assert_eq!(answers.len(), 6);
    assert!(answers.iter().all(|l| l["message"]["content"].as_array().unwrap().len() == 1));
    let mut groups: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for line in &answers {
        let key = format!("{}{}", line["message"]["id"], line["requestId"]);
        groups.entry(key).or_default().push(line);
    }
    assert_eq!(groups.len(), 3);
    let count = |line: &Value, key: &str| line["message"]["usage"][key].as_u64().unwrap();
    for key in ["input_tokens", "output_tokens", "cache_read_input_tokens"] {
        let total = result["usage"][key].as_u64().unwrap();
        assert_eq!(groups.values().map(|g| count(g[0], key)).sum::<u64>(), total, "by first: {key}");
        assert_eq!(groups.values().map(|g| count(g[g.len() - 1], key)).sum::<u64>(), total, "by last: {key}");
        let largest = |g: &Vec<&Value>| g.iter().map(|l| count(l, key)).max().unwrap();
        assert_eq!(groups.values().map(largest).sum::<u64>(), total, "by largest: {key}");
    }
    assert_eq!((&result["usage"]["input_tokens"], &result["usage"]["output_tokens"]), (&json!(600), &json!(90)));
    for group in groups.values() {
        let stops: Vec<bool> = group.iter().map(|l| l["message"]["stop_reason"].is_string()).collect();
        assert_eq!(stops.iter().filter(|s| **s).count(), 1);
        assert!(stops[stops.len() - 1]);
    }
}

// [TST-160] [TST-158] The metadata lines around a turn.
#[test]
fn a_turn_is_framed_by_its_metadata() {
    let server = ModelServer::script([ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "the prompt", &[]);
    let on_disk = sandbox.transcript();
    let id = session_of(&lines);
    assert_eq!((&on_disk[0]["operation"], &on_disk[0]["content"]), (&json!("enqueue"), &json!("the prompt")));
    assert_eq!((&on_disk[1]["operation"], on_disk[1].get("content")), (&json!("dequeue"), None));
    for line in &on_disk[..2] {
        assert_eq!((&line["type"], &line["sessionId"]), (&json!("queue-operation"), &json!(id)));
        assert!(line["timestamp"].is_string());
    }
    let last = of_kind(&on_disk, "last-prompt").pop().unwrap();
    assert_eq!(last["lastPrompt"], "the prompt");
    assert_eq!(last["leafUuid"], of_kind(&on_disk, "assistant").pop().unwrap()["uuid"]);
    assert!(of_kind(&on_disk, "permission-mode").is_empty(), "the mode did not change");
}

// [TST-158] The mode is recorded when a later run changes it, and comes back with the session.
#[test]
fn a_changed_mode_is_recorded() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "one", &[]));
    stream(&sandbox, "two", &["--resume", &id, "--permission-mode", "acceptEdits"]);
    let on_disk = sandbox.transcript();
    let modes = of_kind(&on_disk, "permission-mode");
    assert_eq!(modes.iter().map(|m| m["permissionMode"].clone()).collect::<Vec<_>>(), ["acceptEdits"]);
    assert_eq!(stream(&sandbox, "three", &["--resume", &id])[0]["permissionMode"], "acceptEdits");
    // Bypass and plan never come back by resuming.
    stream(&sandbox, "four", &["--resume", &id, "--permission-mode", "plan"]);
    assert_eq!(stream(&sandbox, "five", &["--resume", &id])[0]["permissionMode"], "default");
}

// [TST-159] A name becomes the title, and the session is found by it.
#[test]
fn a_name_is_the_title() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "one", &["--name", "Parser work"]));
    let title = json!({"type": "custom-title", "customTitle": "Parser work", "sessionId": id});
    assert_eq!(of_kind(&sandbox.transcript(), "custom-title")[0], &title);
    assert_eq!(session_of(&stream(&sandbox, "two", &["--resume", "Parser work"])), id);
    assert!(server.last_request().all_text().contains("one"));
}

// [TST-157] [SDK-168] [SDK-169] [TST-168] A transcript of the reference: boundary, kept messages, side chains,
// attachments and unknown lines.
#[test]
fn a_reference_transcript_is_resumed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let path = plant(&sandbox, include_str!("../fixtures/reference.jsonl"), ID);
    let before = std::fs::read(&path).unwrap();
    let lines = stream(&sandbox, "NEXT QUESTION", &["--resume", ID]);
    assert_eq!(lines[0]["session_id"], ID);
    assert_eq!((&lines[0]["model"], &lines[0]["permissionMode"]), (&json!("claude-sonnet-4-5"), &json!("default")));
    let request = server.request(0);
    let text = request.all_text();
    let order = ["SUMMARY", "KEPT QUESTION", "KEPT ANSWER", "ALSO THIS", "NEW QUESTION", "NEW ANSWER", "NEXT QUESTION"];
    let places: Vec<Option<usize>> = order.iter().map(|word| text.find(word)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {text}");
    for gone in ["LONG AGO", "FORGOTTEN", "SIDE"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert_eq!(request.tool_result_text("toolu_kept"), "kept output");
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"});
    assert!(request.messages().iter().any(|m| m["content"][0] == thinking), "{text}");
    let after = std::fs::read(&path).unwrap();
    assert!(after.starts_with(&before), "what others wrote stays as it was");

    // A fork keeps lines of kinds we do not know.
    let fork = session_of(&stream(&sandbox, "fork it", &["--resume", ID, "--fork-session"]));
    assert_eq!(std::fs::read(&path).unwrap(), after);
    assert!(server.last_request().all_text().contains("KEPT ANSWER"));
    let copied = std::fs::read_to_string(project_dir(&sandbox).join(format!("{fork}.jsonl"))).unwrap();
    assert!(copied.contains("KEPT ANSWER") && !copied.contains("SIDE ANSWER"));
}

// [TST-14] Calls of tools that no longer exist load, and go to the model as they were.
#[test]
fn retired_tools_are_replayed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    plant(&sandbox, include_str!("../fixtures/retired-tools.jsonl"), ID);
    stream(&sandbox, "go on", &["--resume", ID]);
    let request = server.request(0);
    let names: Vec<Value> = request.tool_uses().iter().map(|u| u["name"].clone()).collect();
    assert_eq!(names, ["LS", "BashOutput", "KillShell", "MultiEdit", "Task"]);
    assert_eq!(request.tool_results().len(), 5);
    assert!(request.tool_results().iter().all(|r| r.get("is_error").is_none()));
}

// [SDK-174] A file forked by an SDK: new ids, `forkedFrom`, no leaf pointer, a title at the end.
#[test]
fn a_file_forked_by_an_sdk_is_resumed() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "ORIGINAL", &["--session-id", ID]);
    let fork = "33333333-3333-4333-8333-333333333333";
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut text = String::new();
    for mut line in sandbox.transcript() {
        let Some(old) = line["uuid"].as_str().map(str::to_owned) else { continue };
        let new = format!("44444444-4444-4444-8444-{:012}", ids.len());
        ids.insert(old.clone(), new.clone());
        line["parentUuid"] = line["parentUuid"].as_str().map_or(Value::Null, |p| json!(ids[p]));
        line["uuid"] = json!(new);
        line["sessionId"] = json!(fork);
        line["forkedFrom"] = json!({"sessionId": ID, "messageUuid": old});
        writeln!(text, "{line}").unwrap();
    }
    let title = json!({"type": "custom-title", "customTitle": "ORIGINAL (fork)", "sessionId": fork});
    writeln!(text, "{title}").unwrap();
    std::fs::write(project_dir(&sandbox).join(format!("{fork}.jsonl")), text).unwrap();
    assert_eq!(session_of(&stream(&sandbox, "onwards", &["--resume", fork])), fork);
    assert!(server.last_request().all_text().contains("ORIGINAL"));
    std::fs::remove_file(project_dir(&sandbox).join(format!("{fork}.jsonl"))).unwrap();
    let gone = print(&sandbox, "again", &["--resume", fork]).run().expect_code(1);
    assert!(gone.result()["errors"][0].as_str().unwrap().contains("No conversation found with session ID"));
}

// [SDK-181] [TST-135] [SDK-166] A configuration directory made for one run holds settings and sessions alike.
#[test]
fn a_temporary_configuration_directory_is_whole() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "REMEMBER ME", &[]));
    let elsewhere = sandbox.root().join("elsewhere");
    let from = sandbox.transcript_paths().remove(0);
    let to = elsewhere.join("projects").join(from.parent().unwrap().file_name().unwrap());
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    std::fs::write(elsewhere.join("settings.json"), r#"{"outputStyle":"from elsewhere"}"#).unwrap();
    let before = std::fs::read(&from).unwrap();
    let run = print(&sandbox, "more", &["--resume", &id]).env("CLAUDE_CONFIG_DIR", &elsewhere).run().expect_clean();
    assert_eq!(run.lines()[0]["output_style"], "from elsewhere");
    assert!(server.last_request().all_text().contains("REMEMBER ME"));
    assert_eq!(std::fs::read(&from).unwrap(), before, "the other directory is left alone");

    let named = print(&sandbox, "x", &[])
        .env("CLAUDE_CONFIG_DIR", &elsewhere)
        .env("CLAUDE_CODE_PROJECT_DIR_NAME", "shared_name")
        .run()
        .expect_clean();
    let id = session_of(&named.lines());
    assert!(elsewhere.join(format!("projects/shared_name/{id}.jsonl")).exists());
}

// [TST-134] [SDK-165] Two directories that share a name on disk do not see each other's sessions.
#[test]
fn similar_directories_stay_apart() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let places = ["my_app", "my-app"].map(|name| sandbox.project().join(name));
    for place in &places {
        std::fs::create_dir_all(place).unwrap();
        drop(print(&sandbox, place.to_str().unwrap(), &[]).cwd(place).run().expect_clean());
    }
    for place in &places {
        drop(print(&sandbox, "again", &["--continue"]).cwd(place).run().expect_clean());
        let text = server.last_request().all_text();
        assert!(text.contains(&format!("{}\n", place.display())) || text.contains(place.to_str().unwrap()), "{text}");
        let other = places.iter().find(|p| *p != place).unwrap();
        assert!(!text.contains(other.to_str().unwrap()), "{text}");
    }
}

// [TST-175] [CLI-17] [SDK-175] `-p -c` continues the conversation with the newest message, including those of programs
// but not background ones.
#[test]
fn continue_takes_the_newest_conversation() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let older = session_of(&stream(&sandbox, "OLDER", &[]));
    let newer = session_of(&stream(&sandbox, "NEWER", &[]));
    // A touched file and a background session are no newer conversations.
    let path = |id: &str| project_dir(&sandbox).join(format!("{id}.jsonl"));
    let text = std::fs::read_to_string(path(&older)).unwrap();
    std::fs::write(path(&older), &text).unwrap();
    let bg = text.replace(&older, ID).replace("\"isSidechain\":false", "\"isSidechain\":false,\"sessionKind\":\"bg\"");
    std::fs::write(path(ID), bg.replace("2026-", "2090-").replace("2025-", "2090-")).unwrap();
    assert_eq!(session_of(&stream(&sandbox, "more", &["--continue"])), newer);
    assert_eq!(session_of(&stream(&sandbox, "more", &["-c"])), newer);
}

// [SDK-24] [CLI-19] [TST-147] Nothing under the projects directory, and the run is otherwise the same.
#[test]
fn persistence_can_be_switched_off() {
    let server = ModelServer::with_handler(|request| match request.tool_results().len() {
        0 => ScriptedReply::tool("Glob", json!({"pattern": "*"})),
        _ => ScriptedReply::text("ok"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "hi", &["--no-session-persistence"]);
    assert_eq!(lines.last().unwrap()["result"], "ok");
    drop(print(&sandbox, "hi", &[]).env("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1").run().expect_code(0));
    assert!(sandbox.transcript_paths().is_empty());
}

// [SDK-190] [TST-183] Two processes write to one session at once: no line is lost or torn, and the session resumes.
#[test]
fn two_processes_in_one_session_keep_every_line() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        if request.last_user_text().contains("both") {
            return ScriptedReply::text(format!("answer to {}", request.last_user_text())).gate(&held);
        }
        ScriptedReply::text("ok")
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "begin", &[]));
    let runs: Vec<_> = (0..4).map(|n| print(&sandbox, &format!("both {n}"), &["--resume", &id]).spawn()).collect();
    server.wait_for_requests(5);
    gate.open_all();
    for run in runs {
        drop(run.finish().expect_code(0));
    }
    let on_disk = sandbox.transcript();
    for n in 0..4 {
        let asked = format!("both {n}");
        assert_eq!(of_kind(&on_disk, "user").iter().filter(|l| l["message"]["content"] == asked.as_str()).count(), 1);
    }
    assert_eq!(of_kind(&on_disk, "assistant").len(), 5);
    assert_eq!(stream(&sandbox, "end", &["--resume", &id]).last().unwrap()["result"], "ok");
    assert!(server.last_request().all_text().contains("begin"));
}

// [TST-1] A run that was killed inside a call: the call is answered when the session goes on, once.
#[test]
fn a_killed_call_is_answered_on_resume() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id(
            "toolu_dead",
            "Bash",
            &json!({"command": "touch begun; sleep 60"}),
        )]),
        ScriptedReply::text("back"),
        ScriptedReply::text("and again"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = print(&sandbox, "go", &["--session-id", ID, "--allowedTools", "Bash"]).spawn();
    while !sandbox.project().join("begun").exists() {
        std::thread::yield_now();
    }
    run.kill();
    drop(run.finish());
    for at in 1..3 {
        stream(&sandbox, "more", &["--resume", ID]);
        let results = server.request(at).tool_results();
        assert_eq!(results.len(), 1);
        assert_eq!((&results[0]["tool_use_id"], &results[0]["is_error"]), (&json!("toolu_dead"), &json!(true)));
    }
}

// [TST-139] Opening a session without a prompt leaves no file; resuming without a prompt changes none.
#[test]
fn no_words_no_file() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.close_stdin();
    drop(run.finish().expect_clean());
    assert!(sandbox.transcript_paths().is_empty());
    let id = session_of(&stream(&sandbox, "one", &[]));
    let path = sandbox.transcript_paths().remove(0);
    let facts = || (std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
    let before = facts();
    let mut run = host(&sandbox, &["--resume", &id]).spawn();
    run.close_stdin();
    drop(run.finish().expect_clean());
    assert_eq!(facts(), before);
}

// [TST-167] Our own error texts are never sent to the model, neither in the next turn nor after resuming.
#[test]
fn error_texts_are_never_sent() {
    let server = ModelServer::script([
        ScriptedReply::error(400, "invalid_request_error", "BROKEN"),
        ScriptedReply::text("second"),
        ScriptedReply::text("third"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("one");
    let failed = run.wait_for("result");
    assert_eq!(failed["is_error"], true);
    run.send_user("two");
    run.wait_for("result");
    run.close_stdin();
    drop(run.finish().expect_clean());
    stream(&sandbox, "three", &["--resume", failed["session_id"].as_str().unwrap()]);
    for at in [1, 2] {
        let text = server.request(at).all_text();
        assert!(text.contains("one") && text.contains("two") && !text.contains("BROKEN"), "{text}");
    }
}
