//! `gimlet rewind` through the real binary: sessions change files with tools, commands and agents, and are taken back.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![allow(clippy::disallowed_methods, reason = "the tests run git as a user does")]

use super::undo::{assert_same, git, tree};
use crate::common::EXE;
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{CapturedRequest, FinishedRun, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

pub(crate) const SESSION: &str = "0c6a1f0e-5b0d-4d6b-9a39-0a1c7e0f5a11";

/// One turn of the session in a process of its own: the model makes these calls, one message each.
pub(crate) fn turn(sandbox: &mut Sandbox, prompt: &str, calls: &[(&str, Value)]) -> FinishedRun {
    let replies = calls.iter().map(|(tool, input)| ScriptedReply::tool(tool, input.clone()));
    let server = ModelServer::script(replies.chain([ScriptedReply::text("done")]));
    turn_with(sandbox, prompt, &server)
}

fn turn_with(sandbox: &mut Sandbox, prompt: &str, server: &ModelServer) -> FinishedRun {
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    let known = sandbox.transcript_paths().iter().any(|path| path.ends_with(format!("{SESSION}.jsonl")));
    let id = if known { ["--resume", SESSION] } else { ["--session-id", SESSION] };
    let args = ["-p", prompt, "--allowedTools", "Bash,Edit,Write,Read,Agent,Skill", id[0], id[1]];
    sandbox.gimlet(&args).timeout(Duration::from_mins(2)).run().expect_code(0)
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": path, "content": content}))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": command}))
}

pub(crate) fn rewind(sandbox: &Sandbox, args: &[&str]) -> FinishedRun {
    let all: Vec<&str> = ["rewind", "--session", SESSION].iter().chain(args).copied().collect();
    sandbox.gimlet(&all).timeout(Duration::from_mins(2)).run()
}

pub(crate) fn lines_of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// [LNG-1] [TST-161] Each prompt has a line in the shape that others read; a file's first touch in a turn is a delta; the
/// content lies in the session's folder, once for each version.
#[test]
fn checkpoints_are_written_in_the_known_shape() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "one\n");
    turn(
        &mut sandbox,
        "first",
        &[("Read", json!({"file_path": "a.txt"})), write("a.txt", "two\n"), write("new.txt", "n\n")],
    );
    turn(&mut sandbox, "second", &[]);
    turn(&mut sandbox, "third", &[]);
    let lines = sandbox.transcript_of(SESSION);
    let snapshots = lines_of(&lines, "file-history-snapshot");
    let prompts: Vec<&Value> =
        lines_of(&lines, "user").into_iter().filter(|line| line["promptSource"].is_string()).collect();
    assert_eq!((snapshots.len(), prompts.len()), (3, 3));
    for (snapshot, prompt) in snapshots.iter().zip(&prompts) {
        assert_eq!(keys(snapshot), ["type", "messageId", "snapshot", "isSnapshotUpdate"]);
        assert_eq!(keys(&snapshot["snapshot"]), ["messageId", "trackedFileBackups", "timestamp"]);
        assert_eq!((&snapshot["messageId"], &snapshot["snapshot"]["messageId"]), (&prompt["uuid"], &prompt["uuid"]));
        assert_eq!(snapshot["isSnapshotUpdate"], false);
    }
    assert_eq!(snapshots[0]["snapshot"]["trackedFileBackups"], json!({}));
    let deltas = lines_of(&lines, "file-history-delta");
    assert_eq!(deltas.len(), 2, "{deltas:?}");
    assert_eq!(keys(deltas[0]), ["type", "messageId", "snapshotMessageId", "trackingPath", "backup", "timestamp"]);
    assert_eq!(
        (deltas[0]["trackingPath"].as_str(), &deltas[0]["snapshotMessageId"]),
        (Some("a.txt"), &prompts[0]["uuid"])
    );
    let asked = lines.iter().find(|line| line["uuid"] == deltas[0]["messageId"]).unwrap();
    assert_eq!(asked["type"], "assistant");
    let name = deltas[0]["backup"]["backupFileName"].as_str().unwrap();
    assert!(name.len() == 19 && name.ends_with("@v1"), "{name}");
    assert_eq!(deltas[0]["backup"]["realParentDir"], sandbox.project().display().to_string());
    assert_eq!(deltas[1]["backup"]["backupFileName"], Value::Null, "there was no such file");
    let folder = sandbox.config_dir().join("file-history").join(SESSION);
    let content = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(content(name), "one\n");
    // At the second prompt both files had other contents; at the third they had not changed.
    let (second, third) =
        (&snapshots[1]["snapshot"]["trackedFileBackups"], &snapshots[2]["snapshot"]["trackedFileBackups"]);
    assert_eq!((second["a.txt"]["version"].as_u64(), second["new.txt"]["version"].as_u64()), (Some(2), Some(2)));
    assert_eq!(content(second["a.txt"]["backupFileName"].as_str().unwrap()), "two\n");
    assert_eq!(second, third, "unchanged content reuses its version");
    // The copy and the snapshot of the edit are one file on disk.
    let links = std::fs::metadata(folder.join(name)).unwrap();
    assert_eq!((links.nlink(), links.mode() & 0o777), (2, 0o600));
}

/// [LNG-2] [TST-188] Edited files are restored, created ones removed, deleted ones made again, with their modes; a file that
/// other names lead to is skipped and counted.
#[test]
fn files_return_as_they_were() {
    let mut sandbox = Sandbox::new(EXE);
    for (name, mode) in [("edited.sh", 0o750), ("gone.txt", 0o640), ("shared.txt", 0o644)] {
        let path = sandbox.write(name, format!("old {name}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = tree(&sandbox.project());
    turn(
        &mut sandbox,
        "first",
        &[
            ("Read", json!({"file_path": "edited.sh"})),
            ("Read", json!({"file_path": "shared.txt"})),
            write("edited.sh", "new\n"),
            write("deep/er/made.txt", "m\n"),
            write("shared.txt", "new\n"),
            bash("rm gone.txt"),
        ],
    );
    let names: Vec<String> = tree(&sandbox.project()).keys().cloned().collect();
    assert!(names.contains(&"deep/er/made.txt".into()) && !names.contains(&"gone.txt".into()), "{names:?}");
    std::fs::hard_link(sandbox.project().join("shared.txt"), sandbox.root().join("other-name")).unwrap();
    let done = rewind(&sandbox, &["--to", "1", "--code", "--json"]).expect_code(1).json();
    assert_eq!(done["skippedLinks"], 1, "{done}");
    assert!(done["problems"][0]["path"].as_str().unwrap().ends_with("shared.txt"));
    assert_eq!(sandbox.read("shared.txt"), "new\n");
    std::fs::remove_file(sandbox.root().join("other-name")).unwrap();
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    assert_same(&tree(&sandbox.project()), &before);
}

/// [LNG-3] What commands removed, replaced and made is taken back, in and out of a repository.
#[test]
fn effects_of_commands_are_taken_back() {
    let mut sandbox = Sandbox::new(EXE);
    let repository = sandbox.project().join("repo");
    for name in ["tracked.txt", "sed.txt"] {
        sandbox.write(&format!("repo/{name}"), format!("{name}\n"));
    }
    git(&repository, &["init", "-q"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "one"]);
    sandbox.write("repo/tracked.txt", "work that is not committed\n");
    sandbox.write("plain/a/b.txt", "b\n");
    sandbox.write("over.txt", "over\n");
    sandbox.write("from.txt", "from\n");
    let before = tree(&sandbox.project());
    turn(
        &mut sandbox,
        "first",
        &[
            bash("rm -rf plain"),
            bash("mv from.txt over.txt"),
            bash("git -C repo reset --hard -q"),
            bash("sed -i s/sed/SED/ repo/sed.txt"),
            bash("mkdir -p made/dir && touch made/dir/empty"),
            bash("echo text > made.txt"),
        ],
    );
    turn(&mut sandbox, "second", &[bash("echo more >> made.txt")]);
    assert!(!sandbox.project().join("plain").exists() && sandbox.read("repo/tracked.txt") == "tracked.txt\n");
    let listed = rewind(&sandbox, &["--json"]).expect_code(0).json();
    assert_eq!(listed["prompts"][0]["shellEffects"], true, "{listed}");
    rewind(&sandbox, &["--to", "2", "--code"]).expect_code(0);
    assert_eq!(sandbox.read("made.txt"), "text\n");
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    assert_same(&tree(&sandbox.project()), &before);
}

/// [LNG-4] What nobody could name beforehand is told, with the command; harmless commands are not.
#[test]
fn effects_that_are_not_covered_are_named() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("clean.sh", "rm -f junk.txt\n");
    sandbox.write("junk.txt", "j\n");
    turn(&mut sandbox, "first", &[bash("ls -la && cat junk.txt"), bash("sh clean.sh"), bash("echo x > seen.txt")]);
    assert!(!sandbox.project().join("junk.txt").exists());
    let done = rewind(&sandbox, &["--to", "1", "--code", "--json"]).expect_code(0).json();
    let named: Vec<&str> = done["notCovered"].as_array().unwrap().iter().map(|e| e["what"].as_str().unwrap()).collect();
    assert_eq!(named, ["sh clean.sh"], "{done}");
    assert!(!sandbox.project().join("seen.txt").exists());
}

fn is_agent(request: &CapturedRequest) -> bool {
    request.header("x-claude-code-agent-id").is_some()
}

/// A main thread that starts one agent, which makes these calls.
fn agent_server(first: ScriptedBlock, calls: Vec<(&'static str, Value)>) -> ModelServer {
    let mut main =
        [ScriptedReply::message(vec![first])].into_iter().chain(std::iter::repeat_with(|| ScriptedReply::text("x")));
    ModelServer::with_handler(move |request| {
        if !is_agent(request) {
            return main.next().unwrap();
        }
        match calls.get(request.tool_results().len()) {
            Some((tool, input)) => ScriptedReply::tool(tool, input.clone()),
            None => ScriptedReply::text("reported"),
        }
    })
}

/// [LNG-5] What subagents in the foreground and background and forked skills change belongs to the prompt that started them.
#[test]
fn changes_of_agents_belong_to_their_prompt() {
    let skill = "---\nname: forked\ndescription: d\ncontext: fork\n---\nDo it.\n";
    let agent = |background: bool| {
        ScriptedBlock::tool_with_id(
            "toolu_a",
            "Agent",
            &json!({"description": "d", "prompt": "p", "run_in_background": background}),
        )
    };
    let forked = ScriptedBlock::tool_with_id("toolu_a", "Skill", &json!({"skill": "forked"}));
    for (name, start) in [("foreground", agent(false)), ("background", agent(true)), ("skill", forked)] {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.write(".claude/skills/forked/SKILL.md", skill);
        sandbox.write("precious/notes.txt", "mine\n");
        let before = tree(&sandbox.project());
        let calls = vec![write("by-agent.txt", "a\n"), bash("rm -r precious")];
        turn_with(&mut sandbox, "first", &agent_server(start, calls));
        assert!(!sandbox.project().join("precious").exists() && sandbox.read("by-agent.txt") == "a\n", "{name}");
        turn(&mut sandbox, "second", &[]);
        let listed = rewind(&sandbox, &["--json"]).json();
        assert_eq!(listed["prompts"][0]["files"].as_u64(), Some(3), "{name}: {listed}");
        assert_eq!(listed["prompts"][1]["files"].as_u64(), Some(0), "{name}: {listed}");
        rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
        assert_same(&tree(&sandbox.project()), &before);
    }
}

/// [LNG-6] A file that somebody else changed since stays and is named; only an explicit choice replaces it.
#[test]
fn newer_work_of_others_stays() {
    for snapshots in [true, false] {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.write_config("settings.json", json!({"snapshotsEnabled": snapshots}).to_string());
        sandbox.write("a.txt", "old\n");
        sandbox.write("b.txt", "old\n");
        let read = |name: &str| ("Read", json!({"file_path": name}));
        turn(&mut sandbox, "first", &[read("a.txt"), read("b.txt"), write("a.txt", "new\n"), write("b.txt", "new\n")]);
        sandbox.write("a.txt", "by hand\n");
        let plan = rewind(&sandbox, &["--to", "1", "--code", "--dry-run", "--json"]).expect_code(0).json();
        let kept = json!([sandbox.project().join("a.txt")]);
        assert_eq!(plan["kept"], kept, "{plan}");
        assert_eq!((plan["insertions"].as_u64(), plan["deletions"].as_u64()), (Some(1), Some(1)), "{plan}");
        assert_eq!(sandbox.read("b.txt"), "new\n", "a dry run changes nothing");
        let done = rewind(&sandbox, &["--to", "1", "--code", "--json"]).expect_code(0).json();
        assert_eq!(done["kept"], kept, "{done}");
        assert_eq!((sandbox.read("a.txt"), sandbox.read("b.txt")), ("by hand\n".into(), "old\n".into()));
        rewind(&sandbox, &["--to", "1", "--code", "--force"]).expect_code(0);
        assert_eq!(sandbox.read("a.txt"), "old\n", "snapshots: {snapshots}");
    }
}

/// [LNG-7] A rewind is taken back by undo, and the same list leads forward again.
#[test]
fn a_rewind_is_taken_back() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "0\n");
    turn(&mut sandbox, "first", &[bash("echo 1 > a.txt")]);
    turn(&mut sandbox, "second", &[bash("echo 2 > a.txt"), write("b.txt", "2\n")]);
    turn(&mut sandbox, "third", &[bash("echo 3 > a.txt")]);
    let state = |sandbox: &Sandbox| (sandbox.read("a.txt"), sandbox.project().join("b.txt").exists());
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    assert_eq!(state(&sandbox), ("0\n".into(), false));
    rewind(&sandbox, &["--to", "3", "--code"]).expect_code(0);
    assert_eq!(state(&sandbox), ("2\n".into(), true), "forward, to where the third prompt was accepted");
    rewind(&sandbox, &["--to", "2", "--code"]).expect_code(0);
    assert_eq!(state(&sandbox), ("1\n".into(), false));
    sandbox.gimlet(&["undo"]).run().expect_code(0);
    assert_eq!(state(&sandbox), ("2\n".into(), true), "undo takes the newest rewind back");
}

/// [LNG-8] A rewind that is killed at any moment is finished or has not begun; the next start finds no half state.
#[test]
fn a_killed_rewind_is_never_half() {
    let mut sandbox = Sandbox::new(EXE);
    let kills = 30;
    for n in 0..150 {
        sandbox.write(&format!("d/{}/{n}", n % 10), format!("content {n}\n"));
    }
    let before = tree(&sandbox.project());
    turn(
        &mut sandbox,
        "first",
        &[bash("rm -rf d; mkdir e; for n in 1 2 3 4 5 6 7 8; do echo $n > e/f$n; done; echo > e/f1")],
    );
    let after = tree(&sandbox.project());
    let transcript =
        sandbox.transcript_paths().into_iter().find(|path| path.ends_with(format!("{SESSION}.jsonl"))).unwrap();
    let untouched = std::fs::read(&transcript).unwrap();
    let started = std::time::Instant::now();
    rewind(&sandbox, &["--to", "1", "--both"]).expect_code(0);
    let whole = started.elapsed();
    sandbox.gimlet(&["undo"]).run().expect_code(0);
    let mut seen = [0; 2];
    for kill in 0..kills {
        assert_same(&tree(&sandbox.project()), &after);
        std::fs::write(&transcript, &untouched).unwrap();
        let running = sandbox.gimlet(&["rewind", "--session", SESSION, "--to", "1", "--both"]).spawn();
        let deadline = std::time::Instant::now() + whole * kill / kills;
        let is_last = kill + 1 == kills;
        while std::time::Instant::now() < deadline || (is_last && !sandbox.project().join("d").exists()) {
            std::thread::yield_now();
        }
        running.kill();
        running.finish();
        // Any next start finishes it; this one asks for nothing else.
        rewind(&sandbox, &[]).expect_code(0);
        let now = tree(&sandbox.project());
        let is_back = now.contains_key("d");
        assert_same(&now, if is_back { &before } else { &after });
        let lines = sandbox.transcript_of(SESSION);
        assert_eq!(lines_of(&lines, "x-rewound").len(), usize::from(is_back), "files and conversation go together");
        assert!(!sandbox.config_dir().join("snapshots/rewinding.json").exists());
        seen[usize::from(is_back)] += 1;
        if is_back {
            sandbox.gimlet(&["undo"]).run().expect_code(0);
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "kills before and after the first change: {seen:?}");
}

/// [LNG-8] The next session, not only the next rewind, finishes what was killed.
#[test]
fn the_next_session_finishes_a_rewind() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "old\n");
    turn(&mut sandbox, "first", &[bash("echo new > a.txt")]);
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    // As a kill between the snapshot and the first file leaves it.
    let folder = sandbox.config_dir().join("snapshots");
    let manifests = std::fs::read_dir(folder.join("manifests")).unwrap().map(|entry| entry.unwrap().path());
    let manifest: PathBuf = manifests
        .into_iter()
        .find(|path| std::fs::read_to_string(path).unwrap().contains("\"kind\":\"rewind\""))
        .unwrap();
    let text = std::fs::read_to_string(&manifest).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut header, mut entry) = (lines[0].clone(), lines[1].clone());
    header["stage"] = "applying".into();
    let original = std::fs::read_dir(folder.join("manifests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| *path != manifest);
    let saved: Value =
        serde_json::from_str(std::fs::read_to_string(original.unwrap()).unwrap().lines().nth(1).unwrap()).unwrap();
    let mut target = saved.as_object().unwrap().clone();
    target.retain(|key, _| key != "p" && key != "l");
    entry["t"] = target.into();
    std::fs::write(&manifest, format!("{header}\n{entry}\n")).unwrap();
    let note = json!({"id": header["id"], "conversation": null});
    std::fs::write(folder.join("rewinding.json"), note.to_string()).unwrap();
    sandbox.write("a.txt", "new\n");
    let run = turn(&mut sandbox, "second", &[]);
    assert_eq!(sandbox.read("a.txt"), "old\n");
    assert!(run.stderr.contains("interrupted was finished"), "{}", run.stderr);
}

/// [LNG-9] [TST-190] The next prompt hangs below the node before the chosen one; no line is lost; the branch that was left is
/// listed and can be resumed.
#[test]
fn a_conversation_branches() {
    let mut sandbox = Sandbox::new(EXE);
    for prompt in ["first words", "second words", "third words"] {
        turn(&mut sandbox, prompt, &[]);
    }
    let before = sandbox.transcript_of(SESSION);
    rewind(&sandbox, &["--to", "2", "--conversation"]).expect_code(0);
    let server = ModelServer::script([ScriptedReply::text("other")]);
    turn_with(&mut sandbox, "another way", &server);
    let sent = server.request(0).all_text();
    assert!(sent.contains("first words") && !sent.contains("second words"), "{sent}");
    let lines = sandbox.transcript_of(SESSION);
    assert_eq!(lines[..before.len()], before[..], "old lines stay");
    let prompt = |text: &str| {
        lines
            .iter()
            .find(|line| line["message"]["content"].to_string().contains(text) && line["type"] == "user")
            .unwrap()
    };
    assert_eq!(prompt("another way")["parentUuid"], prompt("second words")["parentUuid"]);
    let listed = rewind(&sandbox, &["--json"]).json();
    let texts: Vec<&str> = listed["prompts"].as_array().unwrap().iter().map(|p| p["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first words", "another way"]);
    let branch = &listed["branches"].as_array().unwrap()[..];
    assert_eq!(
        (branch.len(), branch[0]["prompts"].as_u64(), branch[0]["text"].as_str()),
        (1, Some(2), Some("second words")),
        "{listed}"
    );
    let server = ModelServer::script([ScriptedReply::text("back")]);
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    let leaf = branch[0]["leafUuid"].as_str().unwrap();
    sandbox.gimlet(&["-p", "on", "--resume", SESSION, "--resume-session-at", leaf]).run().expect_code(0);
    let sent = server.request(0).all_text();
    assert!(sent.contains("third words") && !sent.contains("another way"), "{sent}");
}

/// [LNG-9] Back to before the first prompt: the next one begins the conversation anew, in the same file.
#[test]
fn a_conversation_goes_back_to_its_start() {
    let mut sandbox = Sandbox::new(EXE);
    turn(&mut sandbox, "first words", &[]);
    rewind(&sandbox, &["--to", "1"]).expect_code(0);
    let server = ModelServer::script([ScriptedReply::text("x")]);
    turn_with(&mut sandbox, "anew", &server);
    assert!(!server.request(0).all_text().contains("first words"));
    let lines = sandbox.transcript_of(SESSION);
    let prompts: Vec<&Value> =
        lines_of(&lines, "user").into_iter().filter(|line| line["promptSource"].is_string()).collect();
    assert_eq!((prompts.len(), &prompts[1]["parentUuid"]), (2, &Value::Null));
    // And on from there as ever.
    let server = ModelServer::script([ScriptedReply::text("y")]);
    turn_with(&mut sandbox, "on", &server);
    let sent = server.request(0).all_text();
    assert!(sent.contains("anew") && !sent.contains("first words"), "{sent}");
}

/// [LNG-11] Exit codes, JSON, numbers and uuids, and what is refused.
#[test]
fn the_command_says_what_it_did() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.gimlet(&["rewind"]).run().expect_code(1);
    sandbox.write("a.txt", "old\n");
    turn(&mut sandbox, "first words", &[("Read", json!({"file_path": "a.txt"})), write("a.txt", "new\nand more\n")]);
    let listed = rewind(&sandbox, &["--json"]).expect_code(0).json();
    let first = &listed["prompts"][0];
    assert_eq!(
        (first["number"].as_u64(), first["added"].as_u64(), first["removed"].as_u64(), first["files"].as_u64()),
        (Some(1), Some(2), Some(1), Some(1)),
        "{listed}"
    );
    let text = rewind(&sandbox, &[]).expect_clean().stdout;
    assert!(text.contains("first words") && text.contains("+2 −1 in 1 file"), "{text}");
    for wrong in [&["--to", "7"][..], &["--to", "nothing"], &["--code", "--both"], &["--unknown"], &["--to"]] {
        let refused = rewind(&sandbox, wrong).expect_code(1);
        assert!(!refused.stderr.is_empty(), "{wrong:?}");
    }
    let error = rewind(&sandbox, &["--to", "7", "--json"]).expect_code(1).json();
    assert!(error["error"].as_str().unwrap().contains("no prompt 7"), "{error}");
    assert!(sandbox.gimlet(&["rewind", "--help"]).run().expect_clean().stdout.contains("--dry-run"));
    let uuid = first["uuid"].as_str().unwrap();
    let plan = rewind(&sandbox, &["--to", uuid, "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(
        (plan["dryRun"].as_bool(), plan["part"].as_str(), plan["files"][0]["change"].as_str()),
        (Some(true), Some("both"), Some("restored"))
    );
    assert_eq!((plan["insertions"].as_u64(), plan["deletions"].as_u64()), (Some(1), Some(2)), "{plan}");
    let done = rewind(&sandbox, &["--to", uuid, "--json"]).expect_code(0).json();
    assert!(done["id"].is_string() && done["sessionId"] == SESSION, "{done}");
    assert_eq!(sandbox.read("a.txt"), "old\n");
}

/// [LNG-1] The switches: nothing is written, and going back says why it cannot.
#[test]
fn checkpoints_can_be_switched_off() {
    for by_setting in [true, false] {
        let mut sandbox = Sandbox::new(EXE);
        if by_setting {
            sandbox.write_config("settings.json", json!({"fileCheckpointingEnabled": false}).to_string());
        } else {
            sandbox.set("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", "1");
        }
        turn(&mut sandbox, "first", &[write("a.txt", "a\n")]);
        let lines = sandbox.transcript_of(SESSION);
        assert!(lines.iter().all(|line| !line["type"].as_str().unwrap().contains("file-history")) && !lines.is_empty());
        assert!(!sandbox.config_dir().join("file-history").exists());
        let refused = rewind(&sandbox, &["--to", "1", "--code"]).expect_code(1);
        assert!(refused.stderr.contains("switched off"), "{}", refused.stderr);
        let doctor = sandbox.gimlet(&["doctor"]).run().stdout;
        let switch = if by_setting { "fileCheckpointingEnabled" } else { "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING" };
        let told = doctor.lines().find(|line| line.contains("going back")).unwrap();
        assert!(told.contains("off") && told.contains(switch), "{told}");
        // Undo works by itself.
        sandbox.gimlet(&["undo"]).run().expect_code(0);
        assert!(!sandbox.project().join("a.txt").exists());
    }
}

/// [LNG-14] A session that another program wrote, with its copies and no snapshots, is taken back; a file outside of the
/// session's folder is not changed because a transcript says so.
#[test]
fn a_session_of_another_program_is_taken_back() {
    let sandbox = Sandbox::new(EXE);
    let project = sandbox.project();
    let name: String =
        project.display().to_string().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let outside = sandbox.root().join("outside.txt");
    std::fs::write(&outside, "outside\n").unwrap();
    sandbox.write("a.txt", "three\n");
    sandbox.write("made.txt", "made\n");
    let copies = format!("file-history/{SESSION}");
    sandbox.write_config(&format!("{copies}/00000000000000aa@v1"), "one\n");
    sandbox.write_config(&format!("{copies}/00000000000000aa@v2"), "two\n");
    sandbox.write_config(&format!("{copies}/00000000000000bb@v1"), "evil\n");
    let backup = |name: Option<&str>, version: u32| json!({"backupFileName": name, "version": version, "backupTime": "2026-01-01T00:00:00.000Z"});
    let snapshot = |id: &str, files: Value| json!({"type": "file-history-snapshot", "messageId": id, "snapshot": {"messageId": id, "trackedFileBackups": files, "timestamp": "2026-01-01T00:00:00.000Z"}, "isSnapshotUpdate": false});
    let tail = json!({"isSidechain": false, "userType": "external", "cwd": project, "sessionId": SESSION, "version": "2.1.240", "gitBranch": "main"});
    let line = |kind: &str, uuid: &str, parent: Value, content: Value, at: &str| {
        let mut line = json!({"parentUuid": parent, "type": kind, "message": {"role": kind, "content": content}, "uuid": uuid, "timestamp": at});
        line.as_object_mut().unwrap().extend(tail.as_object().unwrap().clone());
        line
    };
    let edit = |id: &str, file: &Path| json!([{"type": "tool_use", "id": id, "name": "Edit", "input": {"file_path": file, "old_string": "x", "new_string": "y"}}]);
    let answer = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
    let all = [
        snapshot("u1", json!({})),
        line("user", "u1", Value::Null, json!("first"), "2026-01-01T00:00:01.000Z"),
        line("assistant", "a1", json!("u1"), edit("t1", &project.join("a.txt")), "2026-01-01T00:00:02.000Z"),
        json!({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {"messageId": "u1", "trackedFileBackups": {"a.txt": backup(Some("00000000000000aa@v1"), 1)}, "timestamp": "2026-01-01T00:00:02.000Z"}, "isSnapshotUpdate": true}),
        line("user", "r1", json!("a1"), answer("t1"), "2026-01-01T00:00:03.000Z"),
        snapshot("u2", json!({"a.txt": backup(Some("00000000000000aa@v2"), 2)})),
        line("user", "u2", json!("r1"), json!("second"), "2026-01-01T00:00:04.000Z"),
        line("assistant", "a2", json!("u2"), edit("t2", &project.join("a.txt")), "2026-01-01T00:00:05.000Z"),
        line("user", "r2", json!("a2"), answer("t2"), "2026-01-01T00:00:06.000Z"),
        line("assistant", "a3", json!("r2"), edit("t3", &project.join("made.txt")), "2026-01-01T00:00:07.000Z"),
        json!({"type": "file-history-delta", "messageId": "a3", "snapshotMessageId": "u2", "trackingPath": "made.txt", "backup": backup(None, 1), "timestamp": "2026-01-01T00:00:07.000Z"}),
        line("assistant", "a4", json!("a3"), edit("t4", &outside), "2026-01-01T00:00:08.000Z"),
        json!({"type": "file-history-delta", "messageId": "a4", "snapshotMessageId": "u2", "trackingPath": outside, "backup": backup(Some("00000000000000bb@v1"), 1), "timestamp": "2026-01-01T00:00:08.000Z"}),
    ];
    let text: Vec<String> = all.iter().map(Value::to_string).collect();
    let text = text.join("\n") + "\n";
    sandbox.write_config(&format!("projects/{name}/{SESSION}.jsonl"), text);
    let done = rewind(&sandbox, &["--to", "2", "--code", "--json"]).expect_code(0).json();
    assert_eq!((sandbox.read("a.txt"), project.join("made.txt").exists()), ("two\n".into(), false), "{done}");
    assert_eq!(done["outside"], json!([outside]), "{done}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside\n");
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    sandbox.gimlet(&["undo"]).run().expect_code(0);
    assert_eq!(sandbox.read("a.txt"), "two\n");
}

/// Links on the way to a file are not followed, and what cannot be restored is told.
#[test]
fn links_are_not_followed() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("d/f.txt", "old\n");
    turn(&mut sandbox, "first", &[bash("echo new > d/f.txt")]);
    let outside = sandbox.root().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f.txt"), "theirs\n").unwrap();
    std::fs::remove_dir_all(sandbox.project().join("d")).unwrap();
    symlink(&outside, sandbox.project().join("d")).unwrap();
    let done = rewind(&sandbox, &["--to", "1", "--code", "--force", "--json"]).expect_code(1).json();
    assert_eq!(done["skippedLinks"], 1, "{done}");
    assert_eq!(std::fs::read_to_string(outside.join("f.txt")).unwrap(), "theirs\n");
}

/// The demonstration: edits, `rm -rf` outside of git, a subagent's edit and two compactions; back to the first prompt restores
/// every byte and mode, forward restores the later state, and a file changed by hand meanwhile is kept and named.
#[test]
fn a_long_session_goes_back_and_forward() {
    let mut sandbox = Sandbox::new(EXE);
    for n in 0..20 {
        let path = sandbox.write(&format!("work/{}/{n}.txt", n % 3), format!("{n}\n").repeat(n + 1));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600 + (n as u32 % 8))).unwrap();
    }
    sandbox.write("by-hand.txt", "mine\n");
    let before = tree(&sandbox.project());
    turn(
        &mut sandbox,
        "edit",
        &[
            ("Read", json!({"file_path": "by-hand.txt"})),
            write("by-hand.txt", "gimlet's\n"),
            write("src/new.rs", "fn a() {}\n"),
        ],
    );
    compact(&mut sandbox);
    turn(&mut sandbox, "remove", &[bash("rm -rf work && echo gone > log.txt")]);
    compact(&mut sandbox);
    let agent = ScriptedBlock::tool_with_id(
        "toolu_a",
        "Agent",
        &json!({"description": "d", "prompt": "p", "run_in_background": false}),
    );
    turn_with(
        &mut sandbox,
        "agent",
        &agent_server(agent, vec![write("agent.txt", "a\n"), bash("chmod 700 agent.txt")]),
    );
    let after = tree(&sandbox.project());
    let lines = sandbox.transcript_of(SESSION);
    let compactions = lines.iter().filter(|line| line["subtype"] == "compact_boundary").count();
    assert_eq!(compactions, 2);
    let listed = rewind(&sandbox, &["--json"]).json();
    let texts: Vec<&str> = listed["prompts"].as_array().unwrap().iter().map(|p| p["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["edit", "remove", "agent"], "across compactions");

    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    assert_same(&tree(&sandbox.project()), &before);
    sandbox.gimlet(&["undo"]).run().expect_code(0);
    assert_same(&tree(&sandbox.project()), &after);
    rewind(&sandbox, &["--to", "1", "--code"]).expect_code(0);
    rewind(&sandbox, &["--to", "3", "--code"]).expect_code(0);
    let mut at_third = after.clone();
    at_third.remove("agent.txt");
    assert_same(&tree(&sandbox.project()), &at_third);

    sandbox.write("by-hand.txt", "by hand now\n");
    let done = rewind(&sandbox, &["--to", "1", "--code", "--json"]).expect_code(0).json();
    assert_eq!(done["kept"], json!([sandbox.project().join("by-hand.txt")]), "{done}");
    let mut kept = before.clone();
    kept.insert("by-hand.txt".into(), tree(&sandbox.project())["by-hand.txt"].clone());
    assert_same(&tree(&sandbox.project()), &kept);
    assert_eq!(sandbox.read("by-hand.txt"), "by hand now\n");
}

fn compact(sandbox: &mut Sandbox) {
    let server = ModelServer::script([ScriptedReply::text("<summary>so far</summary>")]);
    turn_with(sandbox, "/compact", &server);
}
