//! Findings about files of any kind and size, the temporary folder, secrets in output, undo and saved output, as a user
//! meets them: the binary against a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![allow(clippy::disallowed_methods, reason = "the tests run programs as a user does")]

use crate::common::{EXE, print};
use serde_json::json;
use std::time::Duration;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const ALL: [&str; 1] = ["--dangerously-skip-permissions"];

fn sandbox(server: &ModelServer) -> Sandbox {
    let mut sandbox = Sandbox::with_server(EXE, server);
    sandbox.set("IS_SANDBOX", "1");
    sandbox
}

fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({ "command": command }))
}

/// The newest result that request `number` carries.
fn result(server: &ModelServer, number: usize) -> String {
    let results = server.request(number).tool_results();
    match &results.last().expect("a result")["content"] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Like `print`, with a memory limit: an unbounded read fails here without harming the machine.
fn limited(sandbox: &Sandbox, prompt: &str, megabytes: u64) -> std::process::Command {
    let inner = print(sandbox, prompt, &ALL).command();
    let mut outer = std::process::Command::new("timeout");
    outer.args(["60", "sh", "-c"]).arg(format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024));
    outer.arg(inner.get_program()).args(inner.get_args()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(sandbox.project()).stdin(std::process::Stdio::null());
    outer
}

// [F-C10] [MX-1]
#[test]
fn noting_what_a_command_showed_reads_no_device_and_no_huge_file() {
    let server = ModelServer::script([
        bash("head -c 20 /dev/zero"),
        bash("head -c 5 big.log"),
        bash("grep -m1 -c x big.log"),
        bash("head -n 1 small.txt"),
        ScriptedReply::tool("Edit", json!({"file_path": "small.txt", "old_string": "alpha", "new_string": "beta"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = sandbox(&server);
    let big = std::fs::File::create(sandbox.project().join("big.log")).unwrap();
    big.set_len(6 << 30).unwrap();
    sandbox.write("small.txt", "alpha\n");
    let done = limited(&sandbox, "look", 2_500).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(server.requests().len(), 6);
    assert_eq!(sandbox.read("small.txt"), "beta\n", "a small file that was shown may be edited");
}

// [F-C10] [MX-1]
#[test]
fn noting_what_a_command_showed_does_not_wait_for_a_fifo() {
    let server = ModelServer::script([bash("head -n 1 pipe"), ScriptedReply::text("done")]);
    let sandbox = sandbox(&server);
    let pipe = sandbox.project().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, "one line\n"))
    };
    let done = print(&sandbox, "look", &ALL).timeout(Duration::from_secs(20)).run().expect_clean();
    assert_eq!(done.result()["result"], "done");
    assert!(result(&server, 1).contains("one line"));
    writer.join().unwrap().unwrap();
}

// [F-C10]
#[test]
fn files_of_a_folder_that_are_no_files_neither_hang_nor_fill_memory() {
    let server = ModelServer::script([
        ScriptedReply::tool("Grep", json!({"pattern": "needle", "output_mode": "content"})),
        ScriptedReply::tool("Grep", json!({"pattern": "needle", "path": "trap"})),
        ScriptedReply::tool("Read", json!({"file_path": "zero"})),
        ScriptedReply::tool("Edit", json!({"file_path": "zero", "old_string": "a", "new_string": "b"})),
        ScriptedReply::tool("Read", json!({"file_path": "pipe"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = sandbox(&server);
    let project = sandbox.project();
    sandbox.write("a.txt", "needle\n");
    sandbox.write("trap/b.txt", "needle\n");
    let fifo = |name: &str| {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    // A clone can carry links to devices, an archive also FIFOs.
    for name in ["trap/.gitignore", "zero", "CLAUDE.md", ".claude/settings.local.json", ".claude/agents/a.md"] {
        std::fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", project.join(name)).unwrap();
    }
    for name in ["pipe", ".claude/settings.json", ".mcp.json", "CLAUDE.local.md", ".claude/skills/s/SKILL.md", ".git"] {
        fifo(name);
    }
    let done = limited(&sandbox, "look", 2_500).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let results: Vec<String> = (1..6).map(|n| result(&server, n)).collect();
    assert!(results[0].contains("a.txt") && !results[0].contains("trap"), "{}", results[0]);
    assert!(results[1].contains(".gitignore is not a regular file"), "{}", results[1]);
    assert!(results[2].contains("is a device") && results[3].contains("is a device"), "{results:?}");
    assert!(results[4].contains("is a FIFO"), "{}", results[4]);
}

// [F-C10]
#[test]
fn odd_files_that_say_where_a_repository_is_or_what_is_ignored_stop_no_search() {
    let server = ModelServer::script([
        ScriptedReply::tool("Grep", json!({"pattern": "needle"})),
        ScriptedReply::tool("Glob", json!({"pattern": "**/*.txt"})),
        bash("rg needle"),
        ScriptedReply::text("done"),
    ]);
    let sandbox = sandbox(&server);
    let project = sandbox.project();
    for file in ["a.txt", "one/b.txt", "two/c.txt", "secrets/k"] {
        sandbox.write(file, "needle\n");
    }
    // The first line of such a file is read whole by walks that respect ignore files.
    std::fs::File::create(project.join("one/.git")).unwrap().set_len(6 << 30).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(project.join("two/.ignore")).status().unwrap().success());
    sandbox.write(
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["Read(./secrets/**)"], "allow": ["Bash(rg *)"]}}"#,
    );
    let done = limited(&sandbox, "look", 2_500).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let results: Vec<String> = (1..4).map(|n| result(&server, n)).collect();
    assert!(results[0].contains("a.txt") && results[1].contains("a.txt"), "{results:?}");
    assert!(!results[0].contains("b.txt") && !results[0].contains("c.txt"), "{}", results[0]);
    // The deny rule must still hold, and no answer may be waited for.
    assert!(!results[2].contains("secrets/k:"), "{}", results[2]);
}

fn is_root() -> bool {
    let done = std::process::Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&done.stdout).trim() == "0"
}

/// A file system of one page that is full, where the machine lets us make one; else a folder that cannot be written to.
struct FullDisk {
    dir: std::path::PathBuf,
    mounted: bool,
}

impl FullDisk {
    fn at(dir: std::path::PathBuf) -> Self {
        std::fs::create_dir_all(&dir).unwrap();
        let mount =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&dir).output();
        let mounted = is_root() && mount.is_ok_and(|done| done.status.success());
        if mounted {
            // Fails because the disk is full, as intended.
            std::fs::write(dir.join("filler"), vec![1; 1 << 20]).unwrap_err();
        } else {
            Self::read_only(&dir);
        }
        Self { dir, mounted }
    }

    fn read_only(dir: &std::path::Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        if self.mounted {
            std::process::Command::new("umount").arg("-l").arg(&self.dir).status().ok();
        } else {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&self.dir, std::fs::Permissions::from_mode(0o700)).ok();
        }
    }
}

fn cd_script() -> ModelServer {
    ModelServer::script([bash("cd sub && true"), bash("pwd"), ScriptedReply::text("done")])
}

// [F-C1]
#[test]
fn the_directory_is_carried_over_when_the_temporary_folder_is_full() {
    let server = cd_script();
    let mut sandbox = sandbox(&server);
    sandbox.write("sub/a", "");
    let (disk, other) = (FullDisk::at(sandbox.root().join("full")), sandbox.root().join("other"));
    std::fs::create_dir(&other).unwrap();
    sandbox.set("CLAUDE_CODE_TMPDIR", disk.dir.as_os_str());
    sandbox.set("TMPDIR", other.as_os_str());
    let done = print(&sandbox, "go", &ALL).run();
    assert!(done.stderr.contains("CLAUDE_CODE_TMPDIR") && done.stderr.lines().count() == 1, "{}", done.stderr);
    let shown = result(&server, 2);
    assert!(shown.ends_with("/sub"), "{shown}");
}

// [F-C1]
#[test]
fn output_of_a_background_task_goes_where_it_can_be_written() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "echo from-the-task", "run_in_background": true})),
        ScriptedReply::text("started"),
        ScriptedReply::text("done"),
    ]);
    let mut sandbox = sandbox(&server);
    let (disk, other) = (FullDisk::at(sandbox.root().join("full")), sandbox.root().join("other"));
    std::fs::create_dir(&other).unwrap();
    sandbox.set("CLAUDE_CODE_TMPDIR", disk.dir.as_os_str());
    sandbox.set("TMPDIR", other.as_os_str());
    print(&sandbox, "go", &ALL).run();
    let said = result(&server, 1);
    let path = said.split("Output goes to ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    assert!(std::path::Path::new(path).starts_with(&other), "{said}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "from-the-task\n");
}

// [F-C1]
#[test]
fn files_of_killed_runs_are_swept() {
    let mut paths = Vec::new();
    let temp = tempfile::tempdir().unwrap();
    for last in [false, false, true] {
        let (gate, replies) =
            (testkit::ReplyGate::new(), if last { vec![ScriptedReply::text("done")] } else { Vec::new() });
        let script = if last {
            replies
        } else {
            vec![
                ScriptedReply::tool("Bash", json!({"command": "echo x; sleep 60", "run_in_background": true})),
                ScriptedReply::text("never").gate(&gate),
            ]
        };
        let server = ModelServer::script(script);
        let mut sandbox = sandbox(&server);
        sandbox.set("CLAUDE_CODE_TMPDIR", temp.path().as_os_str());
        let run = print(&sandbox, "go", &ALL);
        if last {
            run.run().expect_clean();
        } else {
            let mut running = run.spawn();
            running.wait_for("user");
            running.kill();
            running.finish();
        }
        paths.push(files_below(temp.path()));
    }
    assert!(paths[0].len() >= 2, "a killed run leaves files: {:?}", paths[0]);
    assert_eq!(paths[2], Vec::<std::path::PathBuf>::new(), "the next run removes them");
}

fn files_below(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

// [F-C3]
#[test]
fn what_was_saved_of_a_huge_output_is_said() {
    let server = ModelServer::script([bash("head -c 70000000 /dev/zero | tr '\\0' 'x'"), ScriptedReply::text("done")]);
    let sandbox = sandbox(&server);
    print(&sandbox, "go", &ALL).timeout(Duration::from_mins(1)).run().expect_clean();
    let said = result(&server, 1);
    let path = said.lines().find_map(|line| line.split_once("Full output saved to: ")).expect("the phrase stays").1;
    let size = std::fs::metadata(path).unwrap().len();
    assert!(size < 70_000_000 && size > 64 << 20, "{size}");
    let line = said.lines().find(|line| line.starts_with("Not all of it")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("the first 64.0 MB and the last "), "{line}");
    // How much of the end is kept depends on the pieces in which it came: 32 to 64 KB.
    let left_out = line.split_once(" bytes) between them were not saved").and_then(|(head, _)| head.rsplit_once('('));
    let left_out: i64 = left_out.expect("the number of bytes").1.parse().unwrap();
    let most = 70_000_000 - (64 << 20) - (32 << 10);
    assert!((most - (40 << 10)..=most + 16).contains(&left_out), "{line}");
}

fn undo(sandbox: &Sandbox, args: &[&str]) -> testkit::FinishedRun {
    let all: Vec<&str> = ["undo"].iter().chain(args).copied().collect();
    sandbox.gimlet(&all).run()
}

/// A session with these commands, each in a separate message. Returns its messages.
fn destroy(sandbox: &mut Sandbox, commands: &[&str]) -> String {
    let server = ModelServer::script(commands.iter().map(|command| bash(command)).chain([ScriptedReply::text("done")]));
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    let done = print(sandbox, "go", &ALL).run().expect_code(0);
    format!("{}{}", done.stdout, done.stderr)
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false"]).args(args);
    let done = command.current_dir(sandbox.project()).env("HOME", sandbox.home()).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

// [F-A10]
#[test]
fn undo_says_that_it_would_replace_newer_work_and_waits_for_force() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("IS_SANDBOX", "1");
    sandbox.set("ANTHROPIC_API_KEY", "sk-test-key-of-nobody");
    sandbox.write("a.txt", "first\n");
    sandbox.write("b.txt", "kept\n");
    destroy(&mut sandbox, &["echo second > a.txt; rm b.txt"]);
    sandbox.write("a.txt", "edited by hand\n");
    let refused = undo(&sandbox, &[]).expect_code(1);
    assert!(refused.stderr.contains("a.txt") && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("b.txt"), "{}", refused.stderr);
    assert_eq!(sandbox.read("a.txt"), "edited by hand\n", "nothing was changed");
    assert!(!sandbox.project().join("b.txt").exists());
    let shown = undo(&sandbox, &["--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(shown["newer"].as_array().unwrap().len(), 1, "{shown}");
    let json = undo(&sandbox, &["--json"]).expect_code(1).json();
    assert!(json["newer"][0].as_str().unwrap().ends_with("a.txt"), "{json}");
    let done = undo(&sandbox, &["--force"]).expect_code(0);
    assert!(done.stdout.contains("newer work replaced: "), "{}", done.stdout);
    assert_eq!(sandbox.read("a.txt"), "first\n");
    assert_eq!(sandbox.read("b.txt"), "kept\n");
    let id = done.stdout.rsplit(' ').next().unwrap().trim().to_owned();
    undo(&sandbox, &["--to", &id]).expect_code(0);
    assert_eq!(sandbox.read("a.txt"), "edited by hand\n", "what was replaced comes back");
}

// [F-A10]
#[test]
fn undo_asks_in_a_terminal_before_it_replaces_newer_work() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("IS_SANDBOX", "1");
    sandbox.set("ANTHROPIC_API_KEY", "sk-test-key-of-nobody");
    sandbox.write("a.txt", "first\n");
    destroy(&mut sandbox, &["echo second > a.txt"]);
    sandbox.write("a.txt", "by hand\n");
    let mut terminal = sandbox.gimlet(&["undo"]).terminal(100, 24);
    terminal.wait_for("Replace it?");
    terminal.send("n\r");
    terminal.wait_for("Nothing was changed.");
    assert_eq!(terminal.finish().0, 1);
    assert_eq!(sandbox.read("a.txt"), "by hand\n");
    let mut terminal = sandbox.gimlet(&["undo"]).terminal(100, 24);
    terminal.wait_for("Replace it?");
    terminal.send("y\r");
    terminal.wait_for("Undone");
    assert_eq!(terminal.finish().0, 0);
    assert_eq!(sandbox.read("a.txt"), "first\n");
}

// [F-A10]
#[test]
fn undo_sees_newer_commits_and_stashes_and_not_a_mere_status() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("IS_SANDBOX", "1");
    sandbox.set("ANTHROPIC_API_KEY", "sk-test-key-of-nobody");
    git(&sandbox, &["init", "-q"]);
    sandbox.write("a.txt", "first\n");
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-qm", "one"]);
    let touch = |sandbox: &Sandbox| {
        sandbox.write("a.txt", "first\n");
        git(sandbox, &["status", "--short"]);
    };
    // What git itself refreshes does not count as work.
    sandbox.write("a.txt", "uncommitted\n");
    destroy(&mut sandbox, &["git reset -q --hard"]);
    git(&sandbox, &["update-index", "--refresh"]);
    git(&sandbox, &["status", "--short"]);
    undo(&sandbox, &[]).expect_code(0);
    assert_eq!(sandbox.read("a.txt"), "uncommitted\n");
    // A commit after the change.
    destroy(&mut sandbox, &["git reset -q --hard"]);
    sandbox.write("b.txt", "more\n");
    git(&sandbox, &["add", "b.txt"]);
    git(&sandbox, &["commit", "-qm", "two"]);
    let refused = undo(&sandbox, &[]).expect_code(1);
    assert!(refused.stderr.contains("index") && refused.stderr.contains("--force"), "{}", refused.stderr);
    // A stash after one was dropped.
    touch(&sandbox);
    sandbox.write("a.txt", "stashed\n");
    git(&sandbox, &["stash", "-q"]);
    destroy(&mut sandbox, &["git stash drop -q"]);
    sandbox.write("a.txt", "another\n");
    git(&sandbox, &["stash", "-q"]);
    let refused = undo(&sandbox, &[]).expect_code(1);
    assert!(refused.stderr.contains("stash"), "{}", refused.stderr);
    undo(&sandbox, &["--force"]).expect_code(0);
}

// [F-A10]
#[test]
fn programs_that_undo_does_not_cover_are_announced() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("IS_SANDBOX", "1");
    sandbox.set("ANTHROPIC_API_KEY", "sk-test-key-of-nobody");
    for (name, text) in [("a.txt", "a\n"), ("b.txt", "b\n"), ("run.sh", "exit 0\n")] {
        sandbox.write(name, text);
    }
    let said = destroy(&mut sandbox, &["gzip a.txt"]);
    assert!(said.contains("undo does not cover what gzip may destroy"), "{said}");
    let said = destroy(&mut sandbox, &["perl -e 'unlink \"b.txt\"' || true"]);
    assert!(said.contains("undo does not cover what perl may destroy"), "{said}");
    let said = destroy(&mut sandbox, &["sh run.sh", "true", "ls"]);
    assert!(!said.contains("does not cover"), "{said}");
}

// [F-A9]
#[test]
fn credentials_of_servers_headers_and_helpers_stay_hidden() {
    let pass = ["kX9", "mP2", "qR7", "vT4"].concat();
    let slack = format!("xox{}-123456789012-1234567890123-{}", "b", "aB3dE6gH9kLmN2aB3dE6gH9k");
    let server = ModelServer::script([bash("cat out.log .mcp.json"), ScriptedReply::text("done")]);
    let sandbox = sandbox(&server);
    let declared = json!({"mcpServers": {
        "local": {"command": "true", "env": {"SERVICE_API_KEY": format!("env-{pass}")}},
        "far": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Api-Key": format!("head-{pass}")}}}});
    sandbox.write(".mcp.json", declared.to_string());
    sandbox.write(
        "out.log",
        format!("> Authorization: Bearer bear-{pass}\npostgres://app:{pass}@db.internal/x\n{slack}\nsaw env-{pass} and head-{pass}\n"),
    );
    let done = print(&sandbox, "look", &ALL).run();
    let shown = result(&server, 1);
    assert!(!shown.contains(&pass) && !shown.contains("aB3dE6gH9kLmN2"), "{shown}");
    assert!(!done.stdout.contains(&pass), "{}", done.stdout);
    for name in ["authorization header", "password", "Slack token", "SERVICE_API_KEY", "header X-Api-Key"] {
        assert!(shown.contains(&format!("[secret {name} hidden by gimlet]")), "{name}: {shown}");
    }
}

// [F-A9]
#[test]
fn the_complaint_of_a_failing_helper_is_masked() {
    let pass = ["kX9", "mP2", "qR7", "vT4"].concat();
    let server = ModelServer::script([ScriptedReply::text("never")]);
    let mut sandbox = sandbox(&server);
    sandbox.unset("ANTHROPIC_API_KEY");
    let helper = format!("echo 'vault refused: postgres://app:{pass}@db.internal/x' >&2; exit 3");
    sandbox.write_config("settings.json", json!({ "apiKeyHelper": helper }).to_string());
    let done = print(&sandbox, "go", &[]).run();
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains("apiKeyHelper script is failing"), "{said}");
    assert!(said.contains("[secret password hidden by gimlet]") && !said.contains(&pass), "{said}");
}

// [F-A9] **Quiet**
#[test]
fn lines_with_placeholders_can_be_edited() {
    let line = "DATABASE_URL=postgres://postgres:postgres@localhost:5432/app # Authorization: Bearer <token>, password=${DB_PASSWORD}\n";
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": ".env.example"})),
        ScriptedReply::tool(
            "Edit",
            json!({"file_path": ".env.example", "old_string": line.trim(), "new_string": line.trim().replace("5432", "5433")}),
        ),
        ScriptedReply::text("done"),
    ]);
    let sandbox = sandbox(&server);
    sandbox.write(".env.example", line);
    print(&sandbox, "go", &ALL).run().expect_clean();
    assert!(result(&server, 1).contains("postgres:postgres@localhost"));
    assert_eq!(sandbox.read(".env.example"), line.replace("5432", "5433"));
}

// [F-A9]
#[test]
fn credentials_in_arguments_of_servers_are_not_shown() {
    let sandbox = Sandbox::new(EXE);
    let (key, token) = (format!("sk-ant-{}", "aB3dE6gH9".repeat(4)), format!("ghp_{}", "aB3dE6gH9".repeat(4)));
    let password = ["Zk38", "sKw0", "2kd9"].concat();
    let (assigned, address) = (format!("--token={token}"), format!("postgres://bob:{password}@db.prod.net/x"));
    let args = ["mcp", "add", "db", "--", "false", "--api-key", &key, &assigned, &address, "--password", "short1"];
    let added = sandbox.gimlet(&args).run();
    let listed = sandbox.gimlet(&["mcp", "list"]).run();
    let got = sandbox.gimlet(&["mcp", "get", "db"]).run();
    for shown in [&added, &listed, &got] {
        let text = format!("{}{}", shown.stdout, shown.stderr);
        for secret in [&key, &token, &password, "short1"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(
            text.contains("--api-key [secret --api-key hidden by gimlet]") && text.contains("postgres://bob:"),
            "{text}"
        );
    }
}
