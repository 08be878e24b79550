//! What the tests of whole runs share: the argument lists of scripts and SDKs, and short names for what they read.
#![allow(dead_code, reason = "every test file uses its own part")]

use serde_json::Value;
use testkit::{Finished, Run, Sandbox};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
pub(crate) const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

/// `-p PROMPT` as a stream, with more flags.
pub(crate) fn print(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> Run {
    let all: Vec<&str> = ["-p", prompt].iter().chain(&STREAM).chain(more).copied().collect();
    sandbox.gimlet(&all)
}

/// The lines of a clean run of `print`.
pub(crate) fn stream(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> Vec<Value> {
    print(sandbox, prompt, more).run().expect_clean().lines()
}

/// A run that reads stream-json from an open stdin.
pub(crate) fn host(sandbox: &Sandbox, more: &[&str]) -> Run {
    let all: Vec<&str> = STREAM.iter().chain(&["--input-format", "stream-json"]).chain(more).copied().collect();
    sandbox.gimlet(&all).stdin_open()
}

/// The only object of a run with `--output-format json`.
pub(crate) fn json(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> Finished {
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
