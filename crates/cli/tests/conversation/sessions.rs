//! `gimlet sessions` through the real binary: conversations are listed, found, shown, exported and named.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// A sandbox with one conversation per reply, prompts numbered; ids oldest first.
fn talked(replies: &[&str]) -> (ModelServer, Sandbox, Vec<String>) {
    let server = ModelServer::script(replies.iter().map(|text| ScriptedReply::text(*text)));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut ids = Vec::new();
    for number in 0..replies.len() {
        let out = sandbox.gimlet(&["-p", &format!("prompt {number}"), "--output-format", "json"]).run().expect_clean();
        ids.push(out.json()["session_id"].as_str().unwrap().to_owned());
    }
    (server, sandbox, ids)
}

#[test]
fn conversations_are_listed_found_and_shown() {
    let (_server, sandbox, ids) =
        talked(&["The quick brown fox.", "Er sagte \"größer\" und schwieg.", "Nothing here."]);
    let listed = sandbox.gimlet(&["sessions", "list"]).run().expect_clean().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines.iter().all(|line| line.contains("prompt ")), "{listed}");
    let first = sandbox.gimlet(&["sessions", "list", "--limit", "1", "--json"]).run().expect_clean();
    let first: Value = serde_json::from_str(first.stdout.trim()).unwrap();
    assert_eq!(first["title"], "prompt 2");
    let found = sandbox.gimlet(&["sessions", "search", "QUICK", "fox"]).run().expect_clean().stdout;
    assert!(found.contains(&ids[0]) && found.contains("assistant: The quick brown fox."), "{found}");
    assert_eq!(found.lines().count(), 2, "{found}");
    let german = sandbox.gimlet(&["sessions", "search", "größer", "--json"]).run().expect_clean().stdout;
    let german: Value = serde_json::from_str(german.trim()).unwrap();
    assert_eq!((&german["sessionId"], &german["hits"][0]["role"]), (&json!(ids[1]), &json!("assistant")));
    // Ids are not searchable text, and finding nothing has the exit code of grep.
    assert_eq!(sandbox.gimlet(&["sessions", "search", &ids[2]]).run().code(), 1);
    let shown = sandbox.gimlet(&["sessions", "show", &ids[0][..8]]).run().expect_clean().stdout;
    assert_eq!(shown, "> prompt 0\n\nThe quick brown fox.\n\n");
}

#[test]
fn a_conversation_is_named_and_exported() {
    // [TST-168]
    let (_server, sandbox, ids) = talked(&["An answer."]);
    let path = sandbox.transcript_paths().remove(0);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":\"x_novel\",\"kept\":true}\n");
    std::fs::write(&path, text).unwrap();
    sandbox.gimlet(&["sessions", "rename", &ids[0], "The", "name"]).run().expect_clean();
    assert!(sandbox.gimlet(&["sessions", "list"]).run().stdout.contains("The name"));
    let page = sandbox.gimlet(&["sessions", "export", "The name", "talk.html"]).run().expect_clean();
    assert!(page.stdout.trim().ends_with("talk.html"));
    assert!(sandbox.read("talk.html").contains("<h1>The name</h1>"));
    let again = sandbox.gimlet(&["sessions", "export", "The name", "talk.html"]).run();
    assert!(again.code() == 1 && again.stderr.contains("talk.html"), "{}", again.stderr);
    let all = sandbox.gimlet(&["sessions", "export", &ids[0], "--format", "json"]).run().expect_clean().stdout;
    let all: Value = serde_json::from_str(&all).unwrap();
    assert!(all["entries"].as_array().unwrap().contains(&json!({"type": "x_novel", "kept": true})));
    let markdown = sandbox.gimlet(&["sessions", "export", &ids[0]]).run().expect_clean().stdout;
    assert!(markdown.contains("## You\n\nprompt 0\n\nAn answer."), "{markdown}");
    assert_eq!(sandbox.gimlet(&["sessions", "show", "nobody"]).run().code(), 1);
}

#[test]
fn what_was_put_away_comes_back_with_the_next_prompt() {
    // [SDK-182]
    let (_server, sandbox, ids) = talked(&["One.", "Two."]);
    let path = sandbox.transcript_paths().into_iter().find(|path| path.to_string_lossy().contains(&ids[0])).unwrap();
    let mark = path.with_extension("").join("archived.json");
    std::fs::create_dir_all(mark.parent().unwrap()).unwrap();
    std::fs::write(&mark, r#"{"archived":true,"at":"2026-01-01T00:00:00Z","by":"sdk"}"#).unwrap();
    let listed = || sandbox.gimlet(&["sessions", "list"]).run().expect_clean().stdout;
    assert!(!listed().contains(&ids[0]));
    assert!(sandbox.gimlet(&["sessions", "list", "--archived"]).run().stdout.contains(&ids[0]));
    // A failed request counts as a prompt too.
    sandbox.gimlet(&["-p", "again", "--resume", &ids[0]]).run();
    assert!(!mark.exists() && listed().contains(&ids[0]));
    // A move clears the archive mark too.
    std::fs::write(&mark, r#"{"archived":true}"#).unwrap();
    let other = sandbox.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    sandbox.gimlet(&["-p", &format!("/cd {}", other.display()), "--resume", &ids[0]]).run().expect_clean();
    assert!(sandbox.gimlet(&["sessions", "list"]).cwd(&other).run().stdout.contains(&ids[0]));
}
