//! What the tests of whole runs share: the argument lists of scripts and SDKs, and short names for what they read.
#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod death;
pub(crate) mod mcp;

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use testkit::{FinishedRun, GimletRun, ModelServer, RunningGimlet, Sandbox};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
pub(crate) const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

/// `-p PROMPT` as a stream, with more flags.
pub(crate) fn print(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> GimletRun {
    let all: Vec<&str> = ["-p", prompt].iter().chain(&STREAM).chain(more).copied().collect();
    sandbox.gimlet(&all)
}

/// The lines of a clean run of `print`.
pub(crate) fn stream(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> Vec<Value> {
    print(sandbox, prompt, more).run().expect_clean().lines()
}

/// A run that reads stream-json from an open stdin.
pub(crate) fn host(sandbox: &Sandbox, more: &[&str]) -> GimletRun {
    let all: Vec<&str> = STREAM.iter().chain(&["--input-format", "stream-json"]).chain(more).copied().collect();
    sandbox.gimlet(&all).stdin_open()
}

/// Permission questions go to the host.
pub(crate) const ASK: [&str; 2] = ["--permission-prompt-tool", "stdio"];

/// A host that answers permission questions and has just sent "go".
pub(crate) fn asked(sandbox: &Sandbox, more: &[&str]) -> RunningGimlet {
    let mut running = host(sandbox, &[&ASK, more].concat()).spawn();
    running.send_user("go");
    running
}

/// Sends the host's answer to a question.
pub(crate) fn answer(running: &mut RunningGimlet, question: &Value, verdict: &Value) {
    let id = &question["request_id"];
    running.send_json(
        &json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": verdict}}),
    );
}

/// Runs git in the project: the words of `line`, with a name to commit as and no settings but its own.
#[expect(clippy::disallowed_methods, reason = "a repository is made from outside")]
pub(crate) fn git(sandbox: &Sandbox, line: &str) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]);
    command.args(line.split(' ')).current_dir(sandbox.project()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", sandbox.home());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The last result in the newest request.
pub(crate) fn last_result(server: &ModelServer) -> Value {
    server.requests().last().unwrap().tool_results().last().unwrap().clone()
}

/// The only object of a run with `--output-format json`.
pub(crate) fn json(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> FinishedRun {
    let all: Vec<&str> = ["-p", prompt, "--output-format", "json"].iter().chain(more).copied().collect();
    sandbox.gimlet(&all).run()
}

/// `type` or `type/subtype` of every line.
pub(crate) fn kinds(lines: &[Value]) -> Vec<String> {
    let kind = |l: &Value| match l["subtype"].as_str() {
        Some(subtype) => format!("{}/{subtype}", l["type"].as_str().unwrap()),
        None => l["type"].as_str().unwrap().to_owned(),
    };
    lines.iter().map(kind).collect()
}

/// The lines of one `type`, or of one `type/subtype`.
pub(crate) fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines
        .iter()
        .zip(kinds(lines))
        .filter(|(_, k)| k == kind || k.split('/').next() == Some(kind))
        .map(|(l, _)| l)
        .collect()
}

pub(crate) fn session_of(lines: &[Value]) -> String {
    lines[0]["session_id"].as_str().unwrap().to_owned()
}

/// Runs the binary on a real terminal, made by `script`, and types each answer when the text before it has appeared.
/// Returns what the terminal showed; `None`, with a message, where there is no `script`.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a terminal is set up from outside"
)]
pub(crate) fn on_terminal(sandbox: &Sandbox, args: &str, answers: &[(&str, &str)]) -> Option<String> {
    let program = "/usr/bin/script";
    if !cfg!(target_os = "linux") || !std::path::Path::new(program).exists() {
        eprintln!("not run: there is no `script` to make a terminal with");
        return None;
    }
    let mut command = Command::new(program);
    command.args(["-q", "-c", &format!("'{EXE}' {args}"), "/dev/null"]).current_dir(sandbox.project());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", sandbox.home()).env("SHELL", "/bin/sh");
    command.env("CLAUDE_CONFIG_DIR", sandbox.config_dir());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut typed, mut shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut text = Vec::new();
    for (question, answer) in answers {
        let mut byte = [0];
        while !text.ends_with(question.as_bytes()) {
            let read = shown.read(&mut byte).unwrap();
            assert_eq!(read, 1, "{question:?} was not asked: {}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
        }
        typed.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    shown.read_to_end(&mut text).unwrap();
    child.wait().unwrap();
    Some(String::from_utf8_lossy(&text).into_owned())
}
