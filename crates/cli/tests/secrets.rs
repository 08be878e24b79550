//! Keys go to the API and nowhere else: not into logs, transcripts, output, errors, files or the commands that run.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::{EXE, print};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testkit::{Captured, ModelServer, Reply, Sandbox};

const KEY: &str = "sk-ant-canary-0123456789abcdef";
const TOKEN: &str = "canary-token-fedcba9876543210";

/// Every file below `dir`, with its bytes.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|w| w == secret.as_bytes())
}

/// Runs with `secret` and looks for it everywhere the run could have left it.
fn leaves_no_trace(sandbox: &Sandbox, secret: &str, run: testkit::Run) -> testkit::Finished {
    let done = run.run();
    assert!(!done.stdout.contains(secret), "stdout: {}", done.stdout);
    assert!(!done.stderr.contains(secret), "stderr: {}", done.stderr);
    let mut all = Vec::new();
    files(sandbox.root(), &mut all);
    assert!(all.iter().any(|(path, _)| path.contains(".jsonl")), "the run left a transcript");
    for (path, bytes) in all.iter().filter(|(path, _)| !path.ends_with("helper.sh")) {
        assert!(!holds(bytes, secret), "{path} holds the key");
    }
    done
}

fn calls_env() -> ModelServer {
    let mut step = 0;
    ModelServer::with_handler(move |_| {
        step += 1;
        match step {
            1 => Reply::error(529, "overloaded_error", "busy"),
            2 => Reply::tool(
                "Bash",
                json!({"command": "env; cat /proc/self/environ | tr '\\0' '\\n'; cat /proc/$PPID/cmdline"}),
            ),
            _ => Reply::text("done"),
        }
    })
}

fn in_bodies(server: &ModelServer, secret: &str) -> bool {
    server.requests().iter().any(|r: &Captured| holds(&r.body, secret))
}

// [CLI-81] A key of the environment, with everything that logs switched on.
#[test]
fn a_key_reaches_the_api_and_nothing_else() {
    for (name, secret, header) in
        [("ANTHROPIC_API_KEY", KEY, "x-api-key"), ("ANTHROPIC_AUTH_TOKEN", TOKEN, "authorization")]
    {
        let server = calls_env();
        let sandbox = Sandbox::with_server(EXE, &server);
        let log = sandbox.root().join("debug.log");
        let log = log.to_str().unwrap();
        let run = print(&sandbox, "go", &["--allowedTools", "Bash", "--debug-file", log])
            .env_remove("ANTHROPIC_API_KEY")
            .env(name, secret);
        let done = leaves_no_trace(&sandbox, secret, run).expect_clean();
        assert_eq!(done.result()["result"], "done");
        assert!(server.request(0).header(header).unwrap().contains(secret), "the API gets it");
        assert!(!in_bodies(&server, secret));
        assert!(std::fs::metadata(log).unwrap().len() > 0, "the log was written");
    }
}

#[test]
fn a_key_that_is_refused_is_not_quoted() {
    let message = format!("invalid x-api-key: {KEY}");
    let server = ModelServer::with_handler(move |_| Reply::error(401, "authentication_error", &message));
    let sandbox = Sandbox::with_server(EXE, &server);
    let log = sandbox.root().join("debug.log");
    let run = print(&sandbox, "go", &["--debug-file", log.to_str().unwrap()])
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .env("ANTHROPIC_API_KEY", KEY);
    let done = leaves_no_trace(&sandbox, KEY, run).expect_code(1);
    assert!(done.result()["result"].as_str().unwrap().contains("/login"));
}

#[test]
fn a_key_of_a_helper_is_kept_in_memory() {
    let server = calls_env();
    let sandbox = Sandbox::with_server(EXE, &server);
    let helper = sandbox.write_config("helper.sh", format!("#!/bin/sh\necho {KEY}\n"));
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.write_config("settings.json", json!({"apiKeyHelper": helper.to_str().unwrap()}).to_string());
    let log = sandbox.root().join("debug.log");
    let run = print(&sandbox, "go", &["--allowedTools", "Bash", "--debug-file", log.to_str().unwrap()])
        .env_remove("ANTHROPIC_API_KEY");
    let done = leaves_no_trace(&sandbox, KEY, run).expect_clean();
    assert_eq!(done.result()["result"], "done");
    assert!(
        server.request(0).header("x-api-key").is_some_and(|k| k == KEY)
            || server.request(0).header("authorization").is_some()
    );
}

#[test]
fn a_cassette_holds_no_key() {
    let server = ModelServer::script([Reply::text("hi")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let tape = sandbox.root().join("tape.jsonl");
    let run = print(&sandbox, "go", &["--record", tape.to_str().unwrap()]).env("ANTHROPIC_API_KEY", KEY);
    drop(leaves_no_trace(&sandbox, KEY, run).expect_clean());
    assert!(std::fs::metadata(&tape).unwrap().len() > 0);
}
