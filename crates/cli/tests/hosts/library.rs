//! The engine as a library: the example program, against the scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::EXE;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const SOURCE: &str = include_str!("../../../engine/examples/one_prompt.rs");

/// The binary of the example. Built here if only this test was selected.
#[expect(clippy::disallowed_methods, reason = "cargo is started from outside the product")]
fn example() -> PathBuf {
    let path = Path::new(EXE).parent().unwrap().join("examples/one_prompt");
    if !path.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "gimlet-engine", "--example", "one_prompt"]);
        assert!(build.status().unwrap().success(), "the example does not build");
    }
    path
}

#[test]
fn the_example_is_a_whole_host() {
    assert!(SOURCE.lines().count() <= 25, "{} lines", SOURCE.lines().count());
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("It is made."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = sandbox.gimlet(&["Make it"]).exe(example()).run().expect_clean();
    assert!(sandbox.project().join("made").exists(), "the question was answered");
    let said: Vec<&str> = done.stdout.lines().collect();
    let last: Value = serde_json::from_str(said[said.len() - 2]).unwrap();
    assert_eq!(last["content"][0]["text"], "It is made.");
    assert!(said.last().unwrap().starts_with("cost: $"), "{}", done.stdout);
    assert!(server.request(0).all_text().contains("Make it"));
}

/// The callback for questions of the model gets the form, and its answer reaches the model.
#[test]
fn the_example_answers_questions_of_the_model() {
    let form = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }]});
    let server = ModelServer::script([ScriptedReply::tool("AskUserQuestion", form), ScriptedReply::text("Red it is.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = sandbox.gimlet(&["Paint it"]).exe(example()).run().expect_clean();
    assert!(done.stdout.contains("Red it is."), "{}", done.stdout);
    let answer = json!(server.request(1).tool_results()).to_string();
    assert!(answer.contains("Red") && answer.contains("Which colour?"), "{answer}");
}
