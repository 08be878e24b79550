//! Worktrees through the real binary: `--worktree`, EnterWorktree and ExitWorktree, the hooks that make and remove
//! them, and what is never lost.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, of_kind, print, session_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

#[expect(clippy::disallowed_methods, reason = "a repository to work in")]
fn git_in(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .env("HOME", sandbox.home())
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn git(sandbox: &Sandbox, args: &[&str]) -> String {
    git_in(sandbox, &sandbox.project(), args)
}

fn repository(server: &ModelServer) -> Sandbox {
    let sandbox = Sandbox::with_server(EXE, server);
    sandbox.write("tracked.txt", "first\n");
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-qm", "first"]);
    sandbox
}

fn tree(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.project().canonicalize().unwrap().join(".claude/worktrees").join(name)
}

fn call(id: &str, name: &str, input: &Value) -> ScriptedBlock {
    ScriptedBlock::tool_with_id(id, name, input)
}

/// One reply per request, each with these calls; then a last word.
fn steps(calls: Vec<Vec<ScriptedBlock>>) -> ModelServer {
    let replies = calls.into_iter().map(ScriptedReply::message).chain([ScriptedReply::text("done")]);
    ModelServer::script(replies.collect::<Vec<_>>())
}

fn result_of(request: &CapturedRequest, id: &str) -> String {
    request.tool_result_text(id)
}

// [CLI-46] [EXT-190] The session works in the worktree and cannot write to the main checkout; a headless run names it.
#[test]
fn a_session_in_a_worktree_of_its_own() {
    let server = steps(vec![vec![
        call("toolu_1", "Bash", &json!({"command": "pwd && echo new > made.txt"})),
        call("toolu_2", "Write", &json!({"file_path": "relative.txt", "content": "x"})),
        call("toolu_3", "Bash", &json!({"command": "cd ../../.. && touch stray.txt"})),
    ]]);
    let sandbox = repository(&server);
    let flags = ["--worktree", "x", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"];
    let run = print(&sandbox, "go", &flags).run().expect_code(0);
    let path = tree(&sandbox, "x");
    assert!(path.join("made.txt").exists() && path.join("relative.txt").exists() && path.join("tracked.txt").exists());
    assert!(!sandbox.project().join("stray.txt").exists() && !sandbox.project().join("made.txt").exists());
    assert!(result_of(&server.last_request(), "toolu_1").starts_with(path.to_str().unwrap()));
    let lines = run.lines();
    assert_eq!(of_kind(&lines, "system/init")[0]["cwd"], path.to_str().unwrap());
    assert!(git(&sandbox, &["branch"]).contains("worktree-x"));
    let said = run.stderr.trim();
    assert!(said.contains(path.to_str().unwrap()) && said.contains("2 uncommitted files"), "{said}");
    let entry = sandbox.project().join(".git/worktrees/x");
    assert!(!entry.join("locked").exists());
    let state: Vec<Value> = sandbox.transcript().into_iter().filter(|l| l["type"] == "worktree-state").collect();
    // [F-B5]
    let stay = &state[0]["worktreeSession"];
    let here = json!(sandbox.project().canonicalize().unwrap());
    assert_eq!((&stay["preEnterOriginalCwd"], &stay["sessionId"]), (&here, &lines[0]["session_id"]), "{stay}");
    assert_eq!(stay["originalBranch"], git(&sandbox, &["branch", "--show-current"]).trim(), "{stay}");
    assert_eq!(state[0]["worktreeSession"]["worktreePath"], path.to_str().unwrap());
    assert_eq!(state[0]["worktreeSession"]["worktreeBranch"], "worktree-x");
}

// [CLI-46] Without a name one is made up; a name that exists is opened again with what is in it.
#[test]
fn names_are_made_up_and_used_again() {
    let server = ModelServer::script((0..3).map(|_| ScriptedReply::text("done")).collect::<Vec<_>>());
    let sandbox = repository(&server);
    print(&sandbox, "go", &["-w"]).run().expect_code(0);
    print(&sandbox, "go", &["-w", "again"]).run().expect_code(0);
    std::fs::write(tree(&sandbox, "again").join("work.txt"), "mine").unwrap();
    let run = print(&sandbox, "go", &["-w", "again"]).run().expect_code(0);
    assert!(run.stderr.contains("1 uncommitted file,"), "{}", run.stderr);
    let names = std::fs::read_dir(tree(&sandbox, "")).unwrap().map(|e| e.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name != ".gitignore").collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // The main checkout does not list them.
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

// [EXT-187] `fresh` is the remote's default branch, `head` what is checked out.
#[test]
fn the_base_is_what_the_setting_says() {
    for (base, has_local) in [("fresh", false), ("head", true)] {
        let server = ModelServer::script([ScriptedReply::text("done")]);
        let sandbox = repository(&server);
        let remote = sandbox.root().join("remote.git");
        git(&sandbox, &["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
        git(&sandbox, &["remote", "add", "origin", remote.to_str().unwrap()]);
        git(&sandbox, &["fetch", "-q", "origin"]);
        git(&sandbox, &["remote", "set-head", "origin", "main"]);
        git(&sandbox, &["checkout", "-q", "-b", "feature"]);
        sandbox.write("local.txt", "x");
        git(&sandbox, &["add", "."]);
        git(&sandbox, &["commit", "-qm", "second"]);
        sandbox.write_config("settings.json", json!({"worktree": {"baseRef": base}}).to_string());
        print(&sandbox, "go", &["-w", "x"]).run().expect_code(0);
        assert_eq!(tree(&sandbox, "x").join("local.txt").exists(), has_local, "{base}");
        assert_eq!(git(&sandbox, &["branch", "--show-current"]).trim(), "feature");
    }
}

// A session left in a worktree goes on there; from anywhere in the repository; when it is gone, here, with a notice.
// [TST-185]
#[test]
fn a_resumed_session_returns_to_its_worktree() {
    let pwd = |id: &str| ScriptedReply::message(vec![call(id, "Bash", &json!({"command": "pwd"}))]);
    let server = ModelServer::script([
        ScriptedReply::text("one"),
        pwd("toolu_1"),
        ScriptedReply::text("two"),
        pwd("toolu_2"),
        ScriptedReply::text("three"),
    ]);
    let sandbox = repository(&server);
    let first = print(&sandbox, "go", &["-w", "x"]).run().expect_code(0);
    let session = session_of(&first.lines());
    let resume = ["--resume", &session, "--allowedTools", "Bash"];
    print(&sandbox, "more", &resume).run().expect_code(0);
    let path = tree(&sandbox, "x");
    assert_eq!(result_of(&server.request(2), "toolu_1").trim(), path.to_str().unwrap());
    assert_eq!(sandbox.transcript_paths().len(), 1);
    std::fs::remove_dir_all(&path).unwrap();
    let run = print(&sandbox, "more", &resume).run().expect_code(0);
    assert!(run.stderr.contains("is gone"), "{}", run.stderr);
    let here = sandbox.project().canonicalize().unwrap();
    assert_eq!(result_of(&server.request(4), "toolu_2").trim(), here.to_str().unwrap());
    let states: Vec<Value> = sandbox.transcript().into_iter().filter(|l| l["type"] == "worktree-state").collect();
    assert_eq!(states.last().unwrap()["worktreeSession"], Value::Null);
}

// A path that is no longer the worktree is not entered: a session never falls back to the main checkout by itself.
#[test]
fn a_worktree_that_cannot_be_verified_ends_the_start() {
    let server = ModelServer::script([ScriptedReply::text("one")]);
    let sandbox = repository(&server);
    let session = session_of(&print(&sandbox, "go", &["-w", "x"]).run().expect_code(0).lines());
    let path = tree(&sandbox, "x");
    std::fs::remove_file(path.join(".git")).unwrap();
    let run = print(&sandbox, "more", &["--resume", &session]).run().expect_code(1);
    assert!(
        run.stderr.contains("cannot be used") || run.stdout.contains("cannot be used"),
        "{}{}",
        run.stderr,
        run.stdout
    );
    assert_eq!(server.requests().len(), 1);
}

// [TST-99] Entered, left, and removed only when nothing is lost.
#[test]
fn the_model_enters_and_leaves() {
    let server = steps(vec![
        vec![
            call("toolu_in", "EnterWorktree", &json!({"name": "try"})),
            call("toolu_pwd", "Bash", &json!({"command": "pwd; echo work > made.txt"})),
        ],
        vec![call("toolu_no", "ExitWorktree", &json!({"action": "remove"}))],
        vec![
            call("toolu_out", "ExitWorktree", &json!({"action": "remove", "discard_changes": true})),
            call("toolu_back", "Bash", &json!({"command": "pwd"})),
        ],
    ]);
    let sandbox = repository(&server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_clean();
    let (path, here) = (tree(&sandbox, "try"), sandbox.project().canonicalize().unwrap());
    let last = server.last_request();
    assert!(result_of(&last, "toolu_in").contains(path.to_str().unwrap()));
    assert_eq!(result_of(&last, "toolu_pwd").trim(), path.to_str().unwrap());
    let refused = result_of(&last, "toolu_no");
    assert!(refused.contains("is not removed") && refused.contains("1 uncommitted file"), "{refused}");
    let removed = result_of(&last, "toolu_out");
    assert!(removed.contains("Removed") && !path.exists(), "{removed}");
    assert_eq!(result_of(&last, "toolu_back").trim(), here.to_str().unwrap());
    assert!(!git(&sandbox, &["branch"]).contains("worktree-try"));
    // Discarded work can still be restored.
    let reference = removed.split_whitespace().find(|word| word.starts_with("refs/gimlet/discarded/try-")).unwrap();
    assert_eq!(git(&sandbox, &["show", &format!("{reference}:made.txt")]), "work\n");
    let lines = run.lines();
    let left = of_kind(&lines, "user").into_iter().find(|l| l["tool_use_result"]["discardedFiles"].is_number());
    let left = &left.unwrap()["tool_use_result"];
    assert_eq!(
        (&left["action"], &left["discardedFiles"], &left["discardedCommits"]),
        (&json!("remove"), &json!(1), &json!(0))
    );
    assert_eq!(left["originalCwd"], here.to_str().unwrap());
}

// Commits that are on no other branch count as work; a kept worktree is unchanged.
#[test]
fn commits_found_nowhere_else_are_kept() {
    let commit = "git -c user.name=t -c user.email=t@t commit -qam more";
    let server = steps(vec![
        vec![
            call("toolu_in", "EnterWorktree", &json!({"name": "try"})),
            call("toolu_c", "Bash", &json!({"command": format!("echo more >> tracked.txt && {commit}")})),
        ],
        vec![call("toolu_no", "ExitWorktree", &json!({"action": "remove"}))],
        vec![call("toolu_out", "ExitWorktree", &json!({"action": "keep"}))],
    ]);
    let sandbox = repository(&server);
    print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_clean();
    let refused = result_of(&server.last_request(), "toolu_no");
    assert!(refused.contains("1 commit found nowhere else"), "{refused}");
    assert!(tree(&sandbox, "try").join("tracked.txt").exists());
    assert_eq!(git(&sandbox, &["rev-list", "--count", "main..worktree-try"]).trim(), "1");
    assert!(!sandbox.project().join(".git/worktrees/try/locked").exists());
}

// [TST-99] A worktree outside our folder needs a question, whatever the rules say; only bypass mode does not ask.
#[test]
fn a_worktree_elsewhere_needs_leave() {
    for (flags, enters) in
        [(&["--allowedTools", "EnterWorktree"][..], false), (&["--permission-mode", "bypassPermissions"][..], true)]
    {
        let server = steps(vec![vec![call("toolu_in", "EnterWorktree", &json!({"path": "../elsewhere"}))]]);
        let mut sandbox = repository(&server);
        sandbox.set("IS_SANDBOX", "1");
        git(&sandbox, &["worktree", "add", "-q", "../elsewhere"]);
        let run = print(&sandbox, "go", flags).run().expect_code(0);
        let read = result_of(&server.last_request(), "toolu_in");
        assert_eq!(read.contains("works in the worktree"), enters, "{read}");
        assert_eq!(run.result()["permission_denials"].as_array().unwrap().len(), usize::from(!enters));
    }
}

// [EXT-110] [EXT-111] Hooks create and remove the worktree; they choose the path.
#[test]
fn hooks_make_and_remove_worktrees() {
    let agent = json!({"description": "d", "prompt": "p", "run_in_background": false, "isolation": "worktree"});
    let main = [ScriptedReply::message(vec![call("toolu_a", "Agent", &agent)]), ScriptedReply::text("done")];
    let mut main = main.into_iter();
    let server = ModelServer::with_handler(move |request| {
        if request.header("x-claude-code-agent-id").is_none() {
            return main.next().unwrap();
        }
        match request.tool_uses().len() {
            0 => ScriptedReply::message(vec![call("toolu_1", "Bash", &json!({"command": "pwd"}))]),
            _ => ScriptedReply::text(request.tool_result_text("toolu_1")),
        }
    });
    let sandbox = repository(&server);
    let made = sandbox.root().join("made");
    let create = format!(
        "read -r input; echo \"$input\" >> {0}.log; git worktree add -q --detach {0} >&2 && printf '\\033[1m%s\\033[0m\\n\\n' {0}",
        made.display()
    );
    let remove = format!("read -r input; echo \"$input\" >> {0}.log; git worktree remove --force {0}", made.display());
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {"WorktreeCreate": hook(&create), "WorktreeRemove": hook(&remove)}});
    sandbox.write_config("settings.json", settings.to_string());
    print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_clean();
    let read = result_of(&server.last_request(), "toolu_a");
    assert!(read.contains("/made"), "{read}");
    assert!(!made.exists() && !sandbox.project().join(".claude/worktrees").exists());
    let log = testkit::stream_lines(&std::fs::read_to_string(made.with_extension("log")).unwrap());
    assert_eq!(log[0]["hook_event_name"], "WorktreeCreate");
    assert!(log[0]["name"].as_str().unwrap().starts_with("agent-"));
    assert_eq!(log[1]["hook_event_name"], "WorktreeRemove");
    assert_eq!(log[1]["worktree_path"], made.to_str().unwrap());
}

// [EXT-110] A hook that fails, prints nothing or leads through a link creates no worktree and ends the start.
#[test]
fn a_hook_that_makes_nothing_ends_the_start() {
    for (command, why) in [
        ("echo broken >&2; exit 1", "broken"),
        ("true", "printed no path"),
        ("echo linked", "is a link"),
        ("echo /no/such/../folder", "has . or .."),
        ("echo missing", "no folder"),
    ] {
        let server = ModelServer::script([ScriptedReply::text("never")]);
        let sandbox = repository(&server);
        std::fs::create_dir(sandbox.root().join("target")).unwrap();
        std::os::unix::fs::symlink(sandbox.root().join("target"), sandbox.project().join("linked")).unwrap();
        let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
        sandbox.write_config("settings.json", json!({"hooks": {"WorktreeCreate": hook}}).to_string());
        let run = print(&sandbox, "go", &["-w", "x"]).run().expect_code(1);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(why), "{command}: {said}");
        assert!(server.requests().is_empty());
    }
}

// [EXT-191] The next session releases locks of a killed one; a lock of the user stays and keeps the worktree.
#[test]
fn locks_of_the_dead_are_released() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = repository(&server);
    print(&sandbox, "go", &["-w", "x"]).run().expect_code(0);
    let entries = sandbox.project().join(".git/worktrees");
    std::fs::write(entries.join("x/locked"), "gimlet session x, process 2147483646 started 1\n").unwrap();
    git(&sandbox, &["worktree", "add", "-q", "../mine"]);
    git(&sandbox, &["worktree", "lock", "--reason", "mine", "../mine"]);
    print(&sandbox, "go", &["-w", "y"]).run().expect_code(0);
    assert!(!entries.join("x/locked").exists());
    assert!(entries.join("mine/locked").exists());
}

// [EXT-188] An agent with a worktree of its own is kept out of the worktree of the session that started it.
#[test]
fn a_session_in_a_worktree_isolates_its_agents() {
    let agent = json!({"description": "d", "prompt": "p", "run_in_background": false, "isolation": "worktree"});
    let main = [ScriptedReply::message(vec![call("toolu_a", "Agent", &agent)]), ScriptedReply::text("done")];
    let mut main = main.into_iter();
    let server = ModelServer::with_handler(move |request| {
        if request.header("x-claude-code-agent-id").is_none() {
            return main.next().unwrap();
        }
        match request.tool_uses().len() {
            0 => ScriptedReply::message(vec![
                call("toolu_1", "Write", &json!({"file_path": "../x/stray.txt", "content": "x"})),
                call("toolu_2", "Write", &json!({"file_path": "../../../stray.txt", "content": "x"})),
                call("toolu_3", "Write", &json!({"file_path": "own.txt", "content": "x"})),
            ]),
            _ => ScriptedReply::text("done"),
        }
    });
    let sandbox = repository(&server);
    let flags = ["-w", "x", "--permission-mode", "bypassPermissions"];
    print(&sandbox, "go", &flags).env("IS_SANDBOX", "1").run().expect_code(0);
    assert!(!tree(&sandbox, "x").join("stray.txt").exists() && !sandbox.project().join("stray.txt").exists());
    let read = result_of(&server.last_request(), "toolu_a");
    let own = read.lines().find_map(|line| line.strip_prefix("worktreePath: ")).unwrap();
    assert!(Path::new(own).join("own.txt").exists());
    assert_eq!(git_in(&sandbox, &tree(&sandbox, "x"), &["status", "--porcelain"]), "");
}

// [TST-149] Removal of old sessions is announced first; invalid settings prevent it.
#[test]
fn a_sweep_is_announced_first() {
    const OLD: &str = "11111111-1111-4111-8111-111111111111";
    let gate = testkit::ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("done").gate(&gate), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let old = sandbox.write_config(&format!("projects/-gone/{OLD}.jsonl"), "{}\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(24);
    std::fs::File::open(&old).unwrap().set_times(std::fs::FileTimes::new().set_modified(long_ago)).unwrap();
    let running = print(&sandbox, "go", &[]).spawn();
    let announced = sandbox.config_dir().join(".cleanup-announced");
    testkit::wait_until("the sweep", || announced.exists());
    gate.open_all();
    let run = running.finish().expect_code(0);
    assert!(run.stderr.contains("1 session unused for 30 days will be removed from tomorrow on"), "{}", run.stderr);
    assert!(old.exists() && sandbox.config_dir().join(".last-cleanup").exists());
}
