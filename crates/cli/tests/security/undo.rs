//! `gimlet undo` through the real binary: a session destroys files, undo restores them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![allow(clippy::disallowed_methods, reason = "the tests run git as a user does")]

use crate::common::EXE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testkit::{FinishedRun, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

/// Runs one session in which the model makes these calls, one message each.
fn session(sandbox: &mut Sandbox, calls: &[(&str, Value)]) -> FinishedRun {
    let replies = calls.iter().map(|(tool, input)| ScriptedReply::tool(tool, input.clone()));
    run_session(sandbox, &ModelServer::script(replies.chain([ScriptedReply::text("done")])))
}

fn run_session(sandbox: &mut Sandbox, server: &ModelServer) -> FinishedRun {
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    let args = ["-p", "go", "--allowedTools", "Bash,Edit,Write,Read"];
    sandbox.gimlet(&args).timeout(Duration::from_mins(2)).run().expect_code(0)
}

fn bash(sandbox: &mut Sandbox, command: &str) -> FinishedRun {
    session(sandbox, &[("Bash", json!({"command": command}))])
}

fn undo(sandbox: &Sandbox, args: &[&str]) -> FinishedRun {
    let all: Vec<&str> = ["undo"].iter().chain(args).copied().collect();
    sandbox.gimlet(&all).timeout(Duration::from_mins(2)).run()
}

fn listed(sandbox: &Sandbox) -> Vec<Value> {
    undo(sandbox, &["--list", "--json"]).json()["snapshots"].as_array().unwrap().clone()
}

/// Every path with its mode and content; of a repository everything except objects.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if name.contains(".git/objects") {
            continue;
        }
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let state = if meta.is_symlink() {
            format!("-> {}", std::fs::read_link(&path).unwrap().display())
        } else if meta.is_dir() {
            walk(root, &path, found);
            format!("{:o}", meta.mode())
        } else {
            format!("{:o} {:?}", meta.mode(), std::fs::read(&path).unwrap())
        };
        found.insert(name, state);
    }
}

#[track_caller]
pub(crate) fn assert_same(now: &BTreeMap<String, String>, before: &BTreeMap<String, String>) {
    for (name, state) in before {
        assert_eq!(now.get(name), Some(state), "{name}");
    }
    let extra: Vec<_> = now.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(extra.is_empty(), "left over: {extra:?}");
}

pub(crate) fn git(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@t.example", "-c", "init.defaultBranch=main"];
    let out = Command::new("git").args(who).args(args).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Two commits, a second branch, a stash; then staged, unstaged, deleted, untracked and ignored work.
fn repository(sandbox: &Sandbox) {
    let dir = sandbox.project();
    git(&dir, &["init", "-q"]);
    for n in 0..5 {
        sandbox.write(&format!("src/f{n}.txt"), format!("first {n}\n"));
    }
    sandbox.write(".gitignore", "ignored/\n");
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "one"]);
    git(&dir, &["branch", "side"]);
    sandbox.write("src/f0.txt", "second\n");
    sandbox.write("src/later.txt", "later\n");
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "two"]);
    sandbox.write("src/f4.txt", "stashed\n");
    git(&dir, &["stash", "-q"]);
    sandbox.write("src/f1.txt", "unstaged work\n");
    sandbox.write("src/f2.txt", "staged work\n");
    sandbox.write("staged_new.txt", "staged and new\n");
    git(&dir, &["add", "src/f2.txt", "staged_new.txt"]);
    sandbox.write("src/f2.txt", "staged, then changed again\n");
    std::fs::remove_file(dir.join("src/f3.txt")).unwrap();
    sandbox.write("untracked/deep/note.txt", "note\n");
    std::fs::create_dir_all(dir.join("untracked/empty")).unwrap();
    sandbox.write("ignored/build.bin", [0_u8, 255, 1]);
    let script = sandbox.write("untracked/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn nothing_is_created_when_nothing_is_destroyed() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a", "a");
    bash(&mut sandbox, "cat a && ls -la && true").expect_clean();
    assert!(!sandbox.config_dir().join("snapshots").exists());
    assert_eq!(undo(&sandbox, &["--list"]).expect_clean().stdout, "Nothing was saved here.\n");
    undo(&sandbox, &[]).expect_code(1);
    assert!(!sandbox.config_dir().join("snapshots").exists());
}

#[test]
fn a_removed_tree_comes_back() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("lib/a/b/c.txt", "c");
    sandbox.write("lib/run.sh", "#!/bin/sh\n");
    sandbox.write("keep", "keep");
    let lib = sandbox.project().join("lib");
    std::fs::set_permissions(lib.join("run.sh"), PermissionsExt::from_mode(0o4750)).unwrap();
    std::fs::set_permissions(lib.join("a"), PermissionsExt::from_mode(0o711)).unwrap();
    std::fs::create_dir(lib.join("empty")).unwrap();
    symlink("../keep", lib.join("link")).unwrap();
    symlink("nowhere", lib.join("dangling")).unwrap();
    let before = tree(&sandbox.project());
    let run = bash(&mut sandbox, "rm -rf lib");
    assert!(!lib.exists());
    let told = &run.stderr;
    assert!(told.starts_with("Saved before `rm -rf lib`: `gimlet undo --to "), "{told}");
    let dry = undo(&sandbox, &["--dry-run"]).expect_clean();
    assert!(dry.stdout.contains("Would undo: rm -rf lib") && !lib.exists(), "{}", dry.stdout);
    let done = undo(&sandbox, &[]).expect_clean();
    assert!(done.stdout.contains("Undone: rm -rf lib"), "{}", done.stdout);
    assert_same(&tree(&sandbox.project()), &before);
    // Undo of undo.
    let id = listed(&sandbox)[0]["id"].as_str().unwrap().to_owned();
    undo(&sandbox, &["--to", &id]).expect_clean();
    assert!(!lib.exists());
    undo(&sandbox, &[]).expect_clean();
    assert_same(&tree(&sandbox.project()), &before);
}

// [F-A10] A slash behind a link, a class of characters, a directory given to a runner.
#[test]
fn what_goes_by_links_patterns_and_directories_comes_back() {
    for command in
        ["rm -rf l/", "rm [[:lower:]]", "rm [![:digit:]] [\"a\"]", "env -C src rm -rf deep", "env --chdir=src rm a.rs"]
    {
        let mut sandbox = Sandbox::new(EXE);
        for path in ["src/a.rs", "src/deep/b.rs", "a", "b"] {
            sandbox.write(path, path);
        }
        symlink("src", sandbox.project().join("l")).unwrap();
        let before = tree(&sandbox.project());
        bash(&mut sandbox, command);
        // Some versions of rm refuse a link with a slash.
        if tree(&sandbox.project()) == before {
            assert_eq!(command, "rm -rf l/", "nothing was removed");
            continue;
        }
        undo(&sandbox, &[]).expect_clean();
        assert_same(&tree(&sandbox.project()), &before);
    }
}

#[test]
fn an_overwritten_file_comes_back_step_by_step() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("f", "first\n");
    let calls: Vec<_> = ["echo x > f", "echo y > f", "mv f g", "echo z >| h"]
        .map(|command| ("Bash", json!({"command": command})))
        .into();
    let run = session(&mut sandbox, &calls);
    // Nothing serious happened, so nothing is printed.
    assert_eq!(run.stderr, "");
    let steps =
        [("g", Some("y\n"), "h"), ("f", Some("y\n"), "g"), ("f", Some("x\n"), "g"), ("f", Some("first\n"), "g")];
    for (file, content, gone) in steps {
        undo(&sandbox, &[]).expect_clean();
        assert_eq!(std::fs::read_to_string(sandbox.project().join(file)).ok().as_deref(), content);
        assert!(!sandbox.project().join(gone).exists());
    }
    undo(&sandbox, &[]).expect_code(1);
}

// [F-A4]
#[test]
fn a_hard_reset_with_uncommitted_work_comes_back() {
    // SC-E09
    for command in [
        "git reset --hard",
        "git --config-env a.b=HOME reset --hard",
        "git --attr-source HEAD reset --hard HEAD~1",
        "git reset --hard HEAD~1",
        "git checkout -f side",
        "git checkout -- .",
        "git restore --staged --worktree .",
        "git reset -q HEAD~1",
        "git checkout src/f1.txt",
        "git rm -rfq src",
        "cd src && git -C .. switch --discard-changes side",
    ] {
        let mut sandbox = Sandbox::new(EXE);
        repository(&sandbox);
        let before = tree(&sandbox.project());
        let run = bash(&mut sandbox, command);
        assert_ne!(tree(&sandbox.project()), before, "{command} did nothing");
        if !command.contains("-q HEAD") && !command.contains("f1") {
            assert!(run.stderr.contains("Saved before"), "{command}: {}", run.stderr);
        }
        undo(&sandbox, &[]).expect_clean();
        assert_same(&tree(&sandbox.project()), &before);
    }
}

#[test]
fn cleaned_files_stashes_and_branches_come_back() {
    for command in ["git clean -fdq", "git clean -fdxq", "git stash drop -q", "git stash clear", "git branch -Dq side"]
    {
        let mut sandbox = Sandbox::new(EXE);
        repository(&sandbox);
        let before = tree(&sandbox.project());
        bash(&mut sandbox, command);
        assert_ne!(tree(&sandbox.project()), before, "{command} did nothing");
        undo(&sandbox, &[]).expect_clean();
        assert_same(&tree(&sandbox.project()), &before);
        git(&sandbox.project(), &["fsck"]);
    }
}

// [F-A10]
#[test]
fn what_one_git_call_puts_away_and_the_next_one_loses_comes_back() {
    let stash = "git -c user.name=t -c user.email=t@t.example stash -q";
    for command in [
        format!("{stash}; git stash drop -q"),
        format!("{stash} -u && git stash clear"),
        "git add -A; git reset -q --hard".to_owned(),
    ] {
        let mut sandbox = Sandbox::new(EXE);
        repository(&sandbox);
        let before = tree(&sandbox.project());
        let run = bash(&mut sandbox, &command);
        assert_ne!(tree(&sandbox.project()), before, "{command} did nothing");
        assert!(run.stderr.contains("Saved before"), "{command}: {}", run.stderr);
        undo(&sandbox, &[]).expect_clean();
        assert_same(&tree(&sandbox.project()), &before);
    }
}

#[test]
fn a_repository_cannot_make_the_snapshot_run_its_programs() {
    // SC-B21
    let mut sandbox = Sandbox::new(EXE);
    repository(&sandbox);
    let trap = sandbox.root().join("trapped");
    let script = sandbox.write(".git/trap.sh", format!("#!/bin/sh\ntouch {}\ncat\n", trap.display()));
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let program = script.display().to_string();
    for key in ["core.fsmonitor", "filter.x.clean", "diff.external", "diff.x.textconv", "core.pager"] {
        git(&sandbox.project(), &["config", key, &program]);
    }
    sandbox.write(".git/info/attributes", "* filter=x diff=x\n");
    // The command itself runs no git: only saving the snapshot could run the program.
    bash(&mut sandbox, "true || git clean -fdx || git reset --hard HEAD~1");
    assert!(!trap.exists());
}

#[test]
fn edits_of_a_thousand_files_come_back() {
    let mut sandbox = Sandbox::new(EXE);
    for n in 0..1_000 {
        sandbox.write(&format!("src/d{}/f{n}.txt", n % 10), format!("content {n}\n"));
    }
    let before = tree(&sandbox.project());
    bash(&mut sandbox, "sed -i s/content/changed/ src/*/*.txt");
    assert!(sandbox.read("src/d7/f7.txt").starts_with("changed"));
    undo(&sandbox, &[]).expect_clean();
    assert_same(&tree(&sandbox.project()), &before);
}

#[test]
fn edits_by_tools_come_back_at_once_and_new_files_go() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("a.txt", "one\n");
    sandbox.write("real.txt", "linked\n");
    symlink("real.txt", sandbox.project().join("link.txt")).unwrap();
    let before = tree(&sandbox.project());
    let mut calls = Vec::new();
    for n in 0..20 {
        let (old, new) = (if n == 0 { "one".into() } else { format!("v{}", n - 1) }, format!("v{n}"));
        calls.push(("Read", json!({"file_path": "a.txt"})));
        calls.push(("Edit", json!({"file_path": "a.txt", "old_string": old, "new_string": new})));
    }
    calls.push(("Write", json!({"file_path": "new/deep/b.txt", "content": "b"})));
    calls.push(("Read", json!({"file_path": "link.txt"})));
    calls.push(("Write", json!({"file_path": "link.txt", "content": "through\n"})));
    session(&mut sandbox, &calls).expect_clean();
    assert_eq!((sandbox.read("a.txt"), sandbox.read("real.txt")), ("v19\n".into(), "through\n".into()));
    let rows = listed(&sandbox);
    assert_eq!(rows.len(), 22);
    let first = rows.last().unwrap()["id"].as_str().unwrap();
    undo(&sandbox, &["--to", first]).expect_clean();
    assert_same(&tree(&sandbox.project()), &before);
}

#[test]
fn a_snapshot_that_is_too_large_is_announced_and_partial() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write_config("settings.json", r#"{"snapshotLimitMegabytes": 1}"#);
    sandbox.write("big/a.bin", vec![1_u8; 700_000]);
    sandbox.write("big/b.bin", vec![2_u8; 700_000]);
    let run = bash(&mut sandbox, "rm -r big");
    assert!(
        run.stderr.starts_with("Warning: only a part was saved before `rm -r big`: more than 1 MiB"),
        "{}",
        run.stderr
    );
    assert_eq!(listed(&sandbox)[0]["complete"], false);
    undo(&sandbox, &[]).expect_clean();
    assert!(sandbox.project().join("big/a.bin").exists() && !sandbox.project().join("big/b.bin").exists());
}

// [F-A10]
#[test]
fn a_file_change_that_failed_leaves_neither_a_warning_nor_folders() {
    let mut sandbox = Sandbox::new(EXE);
    let fifo = sandbox.project().join("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let long = format!("new/deep/{}", "n".repeat(300));
    let calls = [
        ("Write", json!({"file_path": "pipe", "content": "x"})),
        ("Edit", json!({"file_path": "pipe", "old_string": "a", "new_string": "b"})),
        ("Write", json!({"file_path": long, "content": "x"})),
    ];
    session(&mut sandbox, &calls).expect_clean();
    assert_eq!(listed(&sandbox), Vec::<Value>::new());
    assert!(!sandbox.project().join("new").exists());
    // A command that destroys what cannot be saved is still told.
    let run = bash(&mut sandbox, "rm pipe");
    assert!(run.stderr.starts_with("Warning: nothing was saved before `rm pipe`, so it cannot be undone: "), "{run:?}");
}

#[test]
fn what_cannot_be_named_is_said_and_the_switch_turns_it_off() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("d/f", "x");
    let run = bash(&mut sandbox, "X=$(echo d); rm -rf \"$X\"");
    assert!(run.stderr.contains("not everything could be saved"), "{}", run.stderr);
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write_config("settings.json", r#"{"snapshotsEnabled": false}"#);
    sandbox.write("d/f", "x");
    bash(&mut sandbox, "rm -rf d").expect_clean();
    assert!(!sandbox.config_dir().join("snapshots").exists());
    // A project cannot turn it off.
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write(".claude/settings.json", r#"{"snapshotsEnabled": false}"#);
    sandbox.write("d/f", "x");
    bash(&mut sandbox, "rm -rf d");
    assert!(sandbox.config_dir().join("snapshots").exists());
}

#[test]
fn two_sessions_at_once_keep_their_own_changes() {
    let mut sandbox = Sandbox::new(EXE);
    (0..20).for_each(|n| drop(sandbox.write(&format!("a/{n}"), "old")));
    (0..20).for_each(|n| drop(sandbox.write(&format!("b/{n}"), "old")));
    let before = tree(&sandbox.project());
    let calls = |dir: &str| {
        let commands =
            (0..20).map(|n| ScriptedReply::tool("Bash", json!({"command": format!("echo new{n} > {dir}/{n}")})));
        ModelServer::script(commands.chain([ScriptedReply::text("done")]))
    };
    let (one, two) = (calls("a"), calls("b"));
    sandbox.set("ANTHROPIC_BASE_URL", one.url());
    let args = ["-p", "go", "--allowedTools", "Bash", "--output-format", "json"];
    let first = sandbox.gimlet(&args).spawn();
    sandbox.set("ANTHROPIC_BASE_URL", two.url());
    let second = sandbox.gimlet(&args).spawn();
    let ids = [first.finish().json(), second.finish().json()].map(|r| r["session_id"].as_str().unwrap().to_owned());
    let of_session = |id: &str| {
        let rows: Vec<Value> = listed(&sandbox).into_iter().filter(|row| row["session_id"] == id).collect();
        assert_eq!(rows.len(), 20);
        rows.last().unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (oldest_one, oldest_two) = (of_session(&ids[0]), of_session(&ids[1]));
    undo(&sandbox, &["--to", &oldest_one]).expect_clean();
    assert_eq!((sandbox.read("a/7"), sandbox.read("b/7")), ("old".into(), "new7\n".into()));
    undo(&sandbox, &["--to", &oldest_two]).expect_clean();
    assert_same(&tree(&sandbox.project()), &before);
}

#[test]
fn a_killed_undo_is_finished_by_the_next() {
    let mut sandbox = Sandbox::new(EXE);
    for n in 0..3_000 {
        sandbox.write(&format!("d/{}/{n}", n % 30), format!("content {n}\n"));
    }
    let before = tree(&sandbox.project());
    bash(&mut sandbox, "rm -rf d");
    let running = sandbox.gimlet(&["undo"]).spawn();
    let dir = sandbox.project().join("d/3");
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !dir.exists() && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    running.kill();
    running.finish();
    let again = undo(&sandbox, &[]);
    assert_same(&tree(&sandbox.project()), &before);
    assert!(again.stdout.contains("Finished an undo") || again.stderr.contains("nothing to undo"), "{again:?}");
}

#[test]
fn links_planted_after_the_snapshot_are_not_followed() {
    // SC-C18
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("d/f", "mine");
    bash(&mut sandbox, "echo new > d/f");
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "outside").unwrap();
    std::fs::remove_dir_all(sandbox.project().join("d")).unwrap();
    symlink(&outside, sandbox.project().join("d")).unwrap();
    let done = undo(&sandbox, &[]).expect_code(1);
    assert!(done.stdout.contains("not restored") && done.stdout.contains("was not followed"), "{}", done.stdout);
    assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "outside");
}

#[test]
fn several_calls_of_one_message_are_saved_each() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("f", "0\n");
    let blocks = (1..=3).map(|n| {
        ScriptedBlock::tool_with_id(&format!("toolu_{n}"), "Bash", &json!({"command": format!("echo {n} > f")}))
    });
    let server = ModelServer::script([ScriptedReply::message(blocks.collect()), ScriptedReply::text("done")]);
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    sandbox.gimlet(&["-p", "go", "--allowedTools", "Bash"]).run().expect_clean();
    for expected in ["2\n", "1\n", "0\n"] {
        undo(&sandbox, &[]).expect_clean();
        assert_eq!(sandbox.read("f"), expected);
    }
}

#[test]
fn what_a_background_command_removes_comes_back() {
    for (command, background) in [("rm -rf d", true), ("(sleep 0.2; rm -rf d) & true", false)] {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.write("d/f", "x");
        let wait = json!({"command": "while [ -e d ]; do sleep 0.05; done"});
        let calls = [("Bash", json!({"command": command, "run_in_background": background})), ("Bash", wait)];
        // The end of a background command may give the model one more turn.
        let replies = calls.map(|(tool, input)| ScriptedReply::tool(tool, input));
        let server = ModelServer::script(replies.into_iter().chain(["done", "noted"].map(ScriptedReply::text)));
        run_session(&mut sandbox, &server);
        assert!(!sandbox.project().join("d").exists());
        undo(&sandbox, &[]).expect_clean();
        assert_eq!(sandbox.read("d/f"), "x");
    }
}

#[test]
fn what_was_removed_before_a_session_was_killed_comes_back() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("d/f", "x");
    let server = ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "rm -rf d; sleep 60"}))]);
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    let running = sandbox.gimlet(&["-p", "go", "--allowedTools", "Bash"]).spawn();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while sandbox.project().join("d").exists() && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    running.kill();
    running.finish();
    undo(&sandbox, &[]).expect_clean();
    assert_eq!(sandbox.read("d/f"), "x");
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const PLACES: &[&str] =
    &["a", "b", "a/x", "a/y", "b/x", "c/d/e", "c/d", "c", "f.txt", "g.txt", "a/h.txt", "'sp ace'", "s"];

fn random_command(dice: &mut Dice) -> String {
    let (one, two) = (dice.pick(PLACES), dice.pick(PLACES));
    match dice.roll(18) {
        0 => format!("rm -rf {one}"),
        1 => format!("rm -f {one} {two}"),
        2 => format!("mv {one} {two}"),
        3 => format!("cp -r {one} {two}"),
        4 => format!("echo new > {one}"),
        5 => format!("echo more >> {one}"),
        6 => format!("ln -sfn {one} {two}"),
        7 => format!("sed -i s/e/E/ {one}"),
        8 => format!("cd {one} && rm -rf *"),
        9 => format!("find {one} -type f -delete"),
        10 => "find . -name '*.txt' | xargs rm -f".into(),
        11 => format!("mkdir -p {one} && cp -r {two} {one}/"),
        12 => format!("truncate -s 1 {one}"),
        13 => format!("rsync -a --delete {one}/ {two}/ || tee {one} < /dev/null"),
        14 => format!("for f in {one} {two}; do rm -rf $f; done"),
        15 => format!("cp -r {one}/. {two}"),
        16 => format!("mv {one}/* {two}"),
        _ => format!("D={one}; rm -rf \"$D\"/*; chmod 600 {two}"),
    }
}

#[test]
fn random_destruction_is_undone_completely() {
    for seed in 1..=25 {
        let mut dice = Dice(seed);
        let mut sandbox = Sandbox::new(EXE);
        for place in PLACES {
            let path = format!("{}/{}", place.trim_matches('\''), dice.pick(&["1.txt", "2.rs", "deep/3.txt"]));
            if place.contains(".txt") {
                sandbox.write(place, format!("text of {place}\n"));
            } else if dice.roll(3) > 0 && *place != "s" {
                sandbox.write(&path, format!("text of {path}\n"));
            }
        }
        symlink(dice.pick(&["a", "f.txt", "nowhere"]), sandbox.project().join("s")).unwrap();
        let before = tree(&sandbox.project());
        let commands: Vec<String> = (0..8).map(|_| random_command(&mut dice)).collect();
        let calls: Vec<_> = commands.iter().map(|c| ("Bash", json!({"command": format!("{c}; true")}))).collect();
        session(&mut sandbox, &calls);
        let rows = listed(&sandbox);
        let Some(first) = rows.last() else { continue };
        let done = undo(&sandbox, &["--to", first["id"].as_str().unwrap()]);
        assert_eq!(done.code(), 0, "seed {seed}: {commands:#?}\n{}{}", done.stdout, done.stderr);
        let now = tree(&sandbox.project());
        assert!(now == before, "seed {seed}: {commands:#?}\nnow {now:#?}\nbefore {before:#?}");
    }
}

// [F-A10]
#[test]
fn newer_work_of_every_kind_is_named_and_kept() {
    type Later = fn(&std::path::Path);
    let cases: [(&str, &str, Later); 6] = [
        ("rm -r d", "d", |dir| std::fs::write(dir.join("d"), "newer").unwrap()),
        ("rm -r d", "d", |dir| symlink("elsewhere", dir.join("d")).unwrap()),
        ("rm f", "f", |dir| {
            std::fs::create_dir(dir.join("f")).unwrap();
            std::fs::write(dir.join("f/inner"), "newer").unwrap();
        }),
        // The same size, and the time put back.
        ("echo two > f", "f", |dir| {
            let time = std::fs::metadata(dir.join("f")).unwrap().modified().unwrap();
            std::fs::write(dir.join("f"), "own\n").unwrap();
            std::fs::File::options().write(true).open(dir.join("f")).unwrap().set_modified(time).unwrap();
        }),
        ("sed -i s/one/two/ f", "f", |dir| {
            std::fs::set_permissions(dir.join("f"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }),
        ("ln -sfn two link", "link", |dir| {
            std::fs::remove_file(dir.join("link")).unwrap();
            symlink("own", dir.join("link")).unwrap();
        }),
    ];
    for (command, path, later) in cases {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.write("d/x", "kept");
        sandbox.write("f", "one\n");
        symlink("one", sandbox.project().join("link")).unwrap();
        bash(&mut sandbox, command);
        later(&sandbox.project());
        let before = tree(&sandbox.project());
        let refused = undo(&sandbox, &[]);
        assert!(refused.code() != 0 && refused.stderr.contains(path), "{command}: {refused:?}");
        assert!(refused.stderr.contains("--force"), "{command}: {refused:?}");
        assert_same(&tree(&sandbox.project()), &before);
        let forced = undo(&sandbox, &["--force"]);
        assert!(forced.code() == 0 || forced.stdout.contains("it was left alone"), "{command}: {forced:?}");
    }
}

// [F-A10] **Quiet**
#[test]
fn what_only_looks_newer_is_taken_back_without_a_question() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.write("d/x", "kept");
    sandbox.write("f", "one\n");
    let before = tree(&sandbox.project());
    bash(&mut sandbox, "rm -r d; echo two > f");
    // Touched, and a folder that is there again: nothing would be lost.
    std::fs::create_dir(sandbox.project().join("d")).unwrap();
    let file = std::fs::File::options().write(true).open(sandbox.project().join("f")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    undo(&sandbox, &[]).expect_clean();
    assert_same(&tree(&sandbox.project()), &before);
}
