//! `/cd`: a conversation moves to another directory with all its files, and is never lost in between.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, print, session_of, stream};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{CapturedRequest, ModelServer, ReplyGate, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

fn say(run: &mut RunningGimlet, text: &str) -> Value {
    run.send_user(text);
    run.wait_for("result")
}

fn result_text(result: &Value) -> &str {
    result["result"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Another directory beside the project.
fn other(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.root().join("other");
    std::fs::create_dir_all(dir.join(".claude")).unwrap();
    std::fs::write(dir.join("CLAUDE.md"), "Rules of the other place.\n").unwrap();
    dir
}

fn add_skill(dir: &Path) {
    let skill = dir.join(".claude/skills/there");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: there\ndescription: Only of the other place\n---\nx\n").unwrap();
}

/// The directory of the transcripts of `dir`.
fn project_dir(sandbox: &Sandbox, dir: &Path) -> PathBuf {
    let name = dir.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    sandbox.config_dir().join("projects").join(name.collect::<String>())
}

/// The bytes of a request up to its moving cache marker.
fn prefix(request: &CapturedRequest) -> Vec<u8> {
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    let moving = request.body.windows(marker.len()).rposition(|w| w == marker).unwrap();
    request.body[..moving].to_vec()
}

/// The ids that `gimlet sessions list` shows in `dir`.
fn listed(sandbox: &Sandbox, dir: &Path) -> Vec<String> {
    let out = sandbox.gimlet(&["sessions", "list", "--json"]).cwd(dir).run().stdout;
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["sessionId"].as_str().unwrap().to_owned();
    out.lines().map(id).collect()
}

// [TST-184] [CLI-164] File, folder, instructions, skills, shell and hooks move; the old directory no longer lists it.
#[test]
fn a_conversation_moves_with_everything_it_has() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "head -c 60000 /dev/zero | tr '\\0' x"})),
        ScriptedReply::text("one"),
        ScriptedReply::tool("Bash", json!({"command": "pwd"})),
        ScriptedReply::text("two"),
        ScriptedReply::text("three"),
        ScriptedReply::text("four"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Rules of the first place.\n");
    let other = other(&sandbox);
    add_skill(&other);
    let seen = sandbox.root().join("seen");
    let hook = json!([{"hooks": [{"type": "command", "command": format!("cat >> {0}; echo >> {0}", seen.display())}]}]);
    let hooks = json!({"CwdChanged": hook, "UserPromptSubmit": hook, "SessionStart": hook, "SessionEnd": hook});
    sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
    let mut run = host(&sandbox, &["--allowedTools", "Bash"]).spawn();
    let first = say(&mut run, "begin");
    let id = first["session_id"].as_str().unwrap().to_owned();
    say(&mut run, "/rename The long way");
    let moved = say(&mut run, &format!("/cd {}", other.display()));
    assert_eq!(moved["is_error"], false, "{moved}");
    assert!(result_text(&moved).contains(other.to_str().unwrap()), "{moved}");
    assert_eq!(moved["session_id"], id.as_str());
    // Even while it is open.
    assert_eq!((listed(&sandbox, &sandbox.project()), listed(&sandbox, &other)), (vec![], vec![id.clone()]));
    let record = sandbox.config_dir().join(format!("sessions/{}.json", run.pid()));
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert_eq!(record["cwd"], other.to_str().unwrap());
    let second = say(&mut run, "where are you?");
    assert_eq!(second["result"], "two");
    assert!(second["total_cost_usd"].as_f64().unwrap() > first["total_cost_usd"].as_f64().unwrap());
    run.close_stdin();
    let lines = run.finish().expect_clean().lines();
    let inits: Vec<&Value> = lines.iter().filter(|l| l["subtype"] == "init").map(|l| &l["cwd"]).collect();
    assert_eq!(inits.last().unwrap(), &other.to_str().unwrap());
    let request = server.request(2);
    let text = request.all_text();
    for told in ["begin", "Rules of the other place.", "Only of the other place", "The session works in"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(request.system_text().contains(other.to_str().unwrap()));
    assert!(!request.system_text().contains(sandbox.project().to_str().unwrap()));
    assert_eq!(server.request(3).tool_results().last().unwrap()["content"], other.to_str().unwrap());
    // On disk all files are in one place, and nothing was left behind.
    let file = project_dir(&sandbox, &other).join(format!("{id}.jsonl"));
    assert_eq!(sandbox.transcript_paths(), std::slice::from_ref(&file));
    assert!(!project_dir(&sandbox, &sandbox.project()).join(&id).exists());
    assert_eq!(std::fs::read_dir(file.with_extension("").join("tool-results")).unwrap().count(), 1);
    let on_disk = sandbox.transcript();
    let mark = on_disk.iter().find(|l| l["type"] == "relocated").unwrap();
    assert_eq!((&mark["cwd"], &mark["from"]), (&json!(other), &json!(sandbox.project())));
    let mut parent = Value::Null;
    for line in on_disk.iter().filter(|l| l["uuid"].is_string() && l["type"] != "system") {
        if line.get("toolUseResult").is_none() && !parent.is_null() {
            assert!(on_disk.iter().any(|l| l["uuid"] == line["parentUuid"]), "{line}");
        }
        parent = line["uuid"].clone();
    }
    let told: Vec<Value> = std::fs::read_to_string(seen)
        .unwrap()
        .lines()
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let events: Vec<&str> = told.iter().map(|e| e["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(events, ["SessionStart", "UserPromptSubmit", "CwdChanged", "UserPromptSubmit", "SessionEnd"]);
    assert_eq!((&told[2]["old_cwd"], &told[2]["new_cwd"]), (&json!(sandbox.project()), &json!(other)));
    assert_eq!((&told[3]["cwd"], &told[3]["transcript_path"]), (&json!(other), &json!(file)));

    // It can be continued there, and by its id from anywhere.
    let there = print(&sandbox, "again", &["--continue"]).cwd(&other).run().expect_clean();
    assert!(server.request(4).body.starts_with(&prefix(&server.request(3))), "as if it had never been closed");
    assert_eq!(session_of(&there.lines().into_iter().filter(|l| l["subtype"] == "init").collect::<Vec<_>>()), id);
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    drop(print(&sandbox, "and again", &["--resume", &id]).cwd(&elsewhere).run().expect_clean());
    assert!(server.request(5).all_text().contains("begin"));
    assert_eq!(sandbox.transcript_paths(), [file]);
    assert!(sandbox.gimlet(&["sessions", "list"]).cwd(&other).run().stdout.contains("The long way"));
}

// [TST-184] Killed at any point: at most one directory lists it, and it resumes completely.
#[test]
fn a_move_that_was_killed_is_finished() {
    for step in 0..3 {
        let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
        let sandbox = Sandbox::with_server(EXE, &server);
        let other = other(&sandbox);
        let id = session_of(&stream(&sandbox, "begin", &[]));
        let old = sandbox.transcript_paths().remove(0);
        std::fs::create_dir_all(old.with_extension("").join("subagents")).unwrap();
        let new = project_dir(&sandbox, &other).join(format!("{id}.jsonl"));
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        // The steps of a move, up to the point of the kill.
        std::fs::hard_link(&old, &new).unwrap();
        if step > 0 {
            let line = json!({"type": "relocated", "cwd": other, "from": sandbox.project(), "sessionId": id});
            let text = std::fs::read_to_string(&old).unwrap();
            std::fs::write(&old, format!("{text}{line}\n")).unwrap();
        }
        if step > 1 {
            std::fs::remove_file(&old).unwrap();
        }
        let home = if step == 0 { sandbox.project() } else { other.clone() };
        let away = if step == 0 { other.clone() } else { sandbox.project() };
        assert_eq!((listed(&sandbox, &home), listed(&sandbox, &away)), (vec![id.clone()], vec![]), "step {step}");
        // Resumed from the other directory.
        drop(print(&sandbox, "more", &["--resume", &id]).cwd(&away).run().expect_clean());
        assert!(server.last_request().all_text().contains("begin"));
        let file = if step == 0 { &old } else { &new };
        assert_eq!(sandbox.transcript_paths(), std::slice::from_ref(file), "step {step}");
        assert!(file.with_extension("").join("subagents").is_dir(), "step {step}");
        assert_eq!((listed(&sandbox, &home), listed(&sandbox, &away)), (vec![id.clone()], vec![]), "step {step}");
    }
}

// [TST-184] Killed while moving back and forth.
#[test]
fn a_session_that_is_killed_while_it_moves_is_in_one_place() {
    for moves in 0..6 {
        let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
        let sandbox = Sandbox::with_server(EXE, &server);
        let places = [other(&sandbox), sandbox.project()];
        let mut run = host(&sandbox, &[]).spawn();
        let id = say(&mut run, "begin")["session_id"].as_str().unwrap().to_owned();
        for n in 0..20 {
            run.send_user(&format!("/cd {}", places[n % 2].display()));
        }
        for _ in 0..moves {
            run.wait_for("result");
        }
        run.kill();
        drop(run.finish());
        let found: Vec<String> = places.iter().flat_map(|place| listed(&sandbox, place)).collect();
        assert_eq!(found, std::slice::from_ref(&id), "after {moves} moves");
        drop(print(&sandbox, "more", &["--resume", &id]).cwd(sandbox.root()).run().expect_clean());
        assert!(server.last_request().all_text().contains("begin"));
        assert_eq!(sandbox.transcript_paths().len(), 1, "after {moves} moves");
    }
}

// [CLI-164] Declarations of the new directory apply only when it is trusted, whatever trusted the old one.
#[test]
fn trust_and_rules_are_those_of_the_new_place() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("no"),
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("yes"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = other(&sandbox);
    let ran = sandbox.root().join("ran");
    let hook = json!([{"hooks": [{"type": "command", "command": format!("touch {}", ran.display())}]}]);
    let settings = json!({"permissions": {"allow": ["Bash(touch *)"]}, "hooks": {"UserPromptSubmit": hook}});
    std::fs::write(other.join(".claude/settings.json"), settings.to_string()).unwrap();
    let mut run = host(&sandbox, &["--trust-workspace"]).spawn();
    let moved = say(&mut run, &format!("/cd {}", other.display()));
    assert!(result_text(&moved).contains("not trusted"), "{moved}");
    let denied = say(&mut run, "go");
    assert_eq!(denied["permission_denials"].as_array().unwrap().len(), 1);
    assert!(!ran.exists() && !other.join("made").exists());
    say(&mut run, &format!("/cd {}", sandbox.project().display()));
    drop(sandbox.gimlet(&["trust", "--yes"]).cwd(&other).run());
    let moved = say(&mut run, &format!("/cd {}", other.display()));
    assert!(!result_text(&moved).contains("not trusted"), "{moved}");
    let allowed = say(&mut run, "go");
    assert_eq!(allowed["permission_denials"], json!([]));
    assert!(ran.exists() && other.join("made").exists());
}

// Grants and background commands are kept; without a file only the conversation moves.
#[test]
fn grants_and_background_commands_go_along() {
    let server = ModelServer::script([
        ScriptedReply::tool(
            "Bash",
            json!({"command": "until [ -e go ]; do sleep 0.01; done; echo over", "run_in_background": true}),
        ),
        ScriptedReply::text("started"),
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("made"),
        ScriptedReply::text("heard"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = other(&sandbox);
    let mut run = host(&sandbox, &["--no-session-persistence"]).spawn();
    say(&mut run, "/permissions allow Bash");
    say(&mut run, "REMEMBER");
    let moved = say(&mut run, &format!("/cd {}", other.display()));
    assert_eq!(moved["is_error"], false, "{moved}");
    assert_eq!(say(&mut run, "make it")["permission_denials"], json!([]));
    assert!(other.join("made").exists());
    assert!(server.request(2).all_text().contains("REMEMBER"));
    // The command still runs in its directory, and its end is reported.
    std::fs::write(sandbox.project().join("go"), "").unwrap();
    assert_eq!(run.wait_for("result")["result"], "heard");
    assert!(server.request(4).last_user_text().contains("<task-notification>"));
    assert!(sandbox.transcript_paths().is_empty());
}

#[test]
fn what_cannot_move_stays_as_it_is() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::with_handler(move |request| {
        if request.last_user_text().contains("dig") {
            return ScriptedReply::text("dug").gate(&held);
        }
        match request.tool_results().len() {
            0 if request.last_user_text().contains("start") => ScriptedReply::message(vec![ScriptedBlock::tool(
                "Agent",
                &json!({"description": "d", "prompt": "dig", "run_in_background": true, "subagent_type": "general-purpose"}),
            )]),
            _ => ScriptedReply::text("ok"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = other(&sandbox);
    std::fs::write(
        other.join(".claude/settings.json"),
        "{\"permissions\": {\"disableBypassPermissionsMode\": \"disable\"}}",
    )
    .unwrap();
    let mut run = host(&sandbox, &[]).spawn();
    say(&mut run, "start");
    let refused = say(&mut run, &format!("/cd {}", other.display()));
    assert!(refused["is_error"] == true && result_text(&refused).contains("Agents still work"), "{refused}");
    for (path, why) in [("", "Which directory"), ("/no/such/place", "cannot be used"), ("CLAUDE.md", "cannot be used")]
    {
        let refused = say(&mut run, &format!("/cd {path}"));
        assert!(refused["is_error"] == true && result_text(&refused).contains(why), "{refused}");
    }
    assert!(result_text(&say(&mut run, "/cd .")).contains("already"));
    gate.open_all();
    run.wait_for("result");
    run.close_stdin();
    run.finish();
    assert_eq!(listed(&sandbox, &sandbox.project()).len(), 1);
    assert!(listed(&sandbox, &other).is_empty());
}

// [TST-184] What the new folder would activate is asked about, as at a start.
#[test]
fn the_terminal_follows_and_asks_about_the_new_folder() {
    let server =
        ModelServer::script([ScriptedReply::text("One."), ScriptedReply::text("Two."), ScriptedReply::text("Three.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = other(&sandbox);
    std::fs::write(other.join("only-there.txt"), "x").unwrap();
    add_skill(&other);
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("hello\r");
    terminal.wait_for("  One.");
    terminal.wait_gone("esc to interrupt");
    terminal.send(&format!("/cd {}\r", other.display()));
    terminal.wait_for("The session works in");
    terminal.wait_gone("esc to interrupt");
    // Commands and files are those of the new place.
    terminal.send("/ther");
    terminal.wait_for("Only of the other place");
    terminal.send("\x15");
    terminal.wait_gone("Only of the other place");
    terminal.send("look at @only-th");
    terminal.wait_for("only-there.txt");
    terminal.send("\t\r");
    terminal.wait_for("  Two.");
    terminal.wait_gone("esc to interrupt");
    // Back, and there again once it has something to run.
    terminal.send(&format!("/cd {}\r", sandbox.project().display()));
    terminal.wait_for(&format!("works in {} now", sandbox.project().display()));
    let ran = sandbox.root().join("ran");
    let hook = json!([{"hooks": [{"type": "command", "command": format!("touch {}", ran.display())}]}]);
    std::fs::write(other.join(".claude/settings.json"), json!({"hooks": {"UserPromptSubmit": hook}}).to_string())
        .unwrap();
    terminal.wait_gone("esc to interrupt");
    terminal.send(&format!("/cd {}\r", other.display()));
    let screen = terminal.wait_for("Do you trust");
    assert!(screen.contains("touch "), "{screen}");
    terminal.answer("1");
    terminal.wait_gone("Do you trust");
    terminal.send("and now?\r");
    terminal.wait_for("  Three.");
    assert!(ran.exists());
    assert!(server.request(2).all_text().contains("hello"));
    assert_eq!(sandbox.transcript_paths().len(), 1);
}
