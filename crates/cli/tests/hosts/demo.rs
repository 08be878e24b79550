//! `gimlet demo` through the binary: it finishes the task in any environment, touches nothing else, and fails when a
//! tool does. The bundled cassette is created here from `demo/script.json`.
#![allow(clippy::unwrap_used, reason = "test code")]
#![allow(clippy::disallowed_methods, reason = "the project is checked from outside, as a user would")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const PROMPT: &str = include_str!("../../demo/prompt.txt");
const CASSETTE: &str = include_str!("../../demo/cassette.jsonl");

fn here(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// The path after a label in the output.
fn told(stdout: &str, label: &str) -> PathBuf {
    let line =
        stdout.lines().find(|l| l.trim_start().starts_with(label)).unwrap_or_else(|| panic!("{label}: {stdout}"));
    line.trim_start().strip_prefix(label).unwrap().trim().into()
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_demo_fixes_the_project_and_says_what_it_is() {
    let sandbox = Sandbox::new(EXE);
    let temp = sandbox.root().join("temporary");
    std::fs::create_dir(&temp).unwrap();
    let done = sandbox.gimlet(&["demo"]).env("TMPDIR", &temp).run().expect_clean();
    let out = &done.stdout;
    assert!(out.contains("the model is recorded") && out.contains("The model was recorded"), "{out}");
    // Drawn as the interface draws it: calls, results, and the change with its lines.
    assert!(out.contains("sh test.sh") && out.contains("roman.sh"), "{out}");
    assert!(out.contains("1000:M 900:CM") && out.contains("The tests of this project fail."), "{out}");
    assert!(!out.contains('\u{1b}'), "colours without a terminal");
    let project = told(out, "project");
    assert!(project.starts_with(&temp), "{}", project.display());
    let tested = std::process::Command::new("sh").arg("test.sh").current_dir(&project).output().unwrap();
    assert!(tested.status.success(), "{tested:?}");
    let transcript = std::fs::read_to_string(told(out, "transcript")).unwrap();
    let lines: Vec<Value> = transcript.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.iter().filter(|l| l.get("toolUseResult").is_some()).count(), 4);
    // No file of the user was touched.
    assert_eq!(names_in(&sandbox.home()), [".claude"]);
    assert!(names_in(&sandbox.config_dir()).is_empty());
    assert!(names_in(&sandbox.project()).is_empty());
    assert_eq!(names_in(&temp).len(), 1);
}

#[test]
fn the_demo_needs_no_environment() {
    let sandbox = Sandbox::new(EXE);
    let done = sandbox.gimlet(&["demo"]).env_clear().cwd("/").run().expect_clean();
    let folder = told(&done.stdout, "folder");
    assert!(folder.starts_with("/tmp/"), "{}", folder.display());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn settings_and_proxies_of_the_user_do_not_disturb_the_demo() {
    let sandbox = Sandbox::new(EXE);
    sandbox.write_config("settings.json", r#"{"permissions":{"deny":["Bash","Edit"]},"env":{"PATH":"/nowhere"}}"#);
    let run = sandbox.gimlet(&["demo"]).env("HTTPS_PROXY", "http://127.0.0.1:9").env("TMPDIR", sandbox.root());
    let done = run.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9").run().expect_clean();
    assert!(done.stdout.contains("passes in the project"));
}

#[test]
fn a_tool_that_misbehaves_fails_the_demo() {
    let sandbox = Sandbox::new(EXE);
    let bin = sandbox.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // Without `sh` the first test run has another result than the recorded one.
    let done = sandbox.gimlet(&["demo"]).env("PATH", &bin).env("TMPDIR", sandbox.root()).run().expect_code(1);
    assert!(done.stderr.contains("Error: the demo failed: "), "{}", done.stderr);
    assert!(done.stderr.contains("left the recorded way at exchange 2"), "{}", done.stderr);
    assert!(done.stderr.contains("recorded: ") && done.stderr.contains("now: "), "{}", done.stderr);
    assert!(!done.stdout.contains("✓"), "{}", done.stdout);

    // A `sh` that reports a wrong outcome.
    std::fs::write(bin.join("sh"), "#!/bin/bash\necho 'ok    1 -> I'\n").unwrap();
    std::process::Command::new("chmod").arg("755").arg(bin.join("sh")).status().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let done = sandbox.gimlet(&["demo"]).env("PATH", path).env("TMPDIR", sandbox.root()).run().expect_code(1);
    assert!(done.stderr.contains("exchange 2"), "{}", done.stderr);
}

#[test]
fn a_missing_temporary_folder_is_named() {
    let sandbox = Sandbox::new(EXE);
    let done = sandbox.gimlet(&["demo"]).env("TMPDIR", "/nonexistent/tmp").run().expect_code(1);
    assert!(done.stderr.contains("/nonexistent/tmp"), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}

/// Plays the script against the real binary with `--record`; returns the cassette.
fn recorded() -> String {
    let script = std::fs::read_to_string(here("demo/script.json")).unwrap();
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(EXE, &server);
    let script = script.replace("{{cwd}}", sandbox.project().to_str().unwrap());
    let steps: Vec<Value> = serde_json::from_str(&script).unwrap();
    for step in &steps {
        let mut blocks = vec![ScriptedBlock::text(step["say"].as_str().unwrap())];
        if let Some(name) = step["call"].as_str() {
            blocks.push(ScriptedBlock::tool(name, &step["input"]));
        }
        server.push(ScriptedReply::message(blocks));
    }
    for name in names_in(&here("demo/project")) {
        sandbox.write(&name, std::fs::read(here("demo/project").join(&name)).unwrap());
    }
    let tape = sandbox.root().join("cassette.jsonl");
    let tape = tape.to_str().unwrap();
    let rules = "Bash(sh test.sh),Edit(/roman.sh)";
    let args = ["-p", PROMPT.trim(), "--model", "sonnet", "--allowedTools", rules, "--record", tape];
    let done = sandbox.gimlet(&args).run().expect_clean();
    assert!(done.stdout.starts_with("Fixed."), "{}", done.stdout);
    assert_eq!(server.unused_replies(), 0);
    std::fs::read_to_string(tape).unwrap()
}

#[test]
fn the_bundled_cassette_is_what_the_script_records() {
    let fresh = recorded();
    // The first line names the version that recorded.
    assert!(
        fresh.lines().skip(1).eq(CASSETTE.lines().skip(1)),
        "run `cargo xtask record-demo`; fresh recording:\n{fresh}"
    );
    assert!(!CASSETTE.contains("/tmp") && !CASSETTE.contains("/home") && !CASSETTE.contains("test-key"), "{CASSETTE}");
}

/// `cargo xtask record-demo` runs this.
#[test]
#[ignore = "writes demo/cassette.jsonl"]
fn record_the_demo() {
    std::fs::write(here("demo/cassette.jsonl"), recorded()).unwrap();
}
