//! `gimlet project purge` through the real binary.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, on_terminal, print, session_of, stream};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedReply};

/// Two projects with a session each, and prompts of both.
fn kept() -> (ModelServer, Sandbox, PathBuf, [String; 2]) {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = sandbox.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let first = session_of(&stream(&sandbox, "one", &["--debug"]));
    let second = session_of(&print(&sandbox, "two", &[]).cwd(&other).run().expect_clean().lines());
    for (dir, id) in [(sandbox.project(), &first), (other.clone(), &second)] {
        let line = json!({"display": "typed", "pastedContents": {}, "timestamp": 1, "project": dir, "sessionId": id});
        let history = sandbox.config_dir().join("history.jsonl");
        let before = std::fs::read_to_string(&history).unwrap_or_default();
        std::fs::write(history, format!("{before}{line}\n")).unwrap();
        sandbox.write_config(&format!("tasks/{id}/1.json"), "{}");
        sandbox.write_config(&format!("file-history/{id}/0000@v1"), "x");
    }
    let state = json!({"projects": {
        sandbox.project().to_str().unwrap(): {"hasTrustDialogAccepted": true}, other.to_str().unwrap(): {"lastCost": 1},
    }, "numStartups": 3});
    sandbox.write_config(".claude.json", state.to_string());
    let notes = sandbox.transcript_paths()[0].parent().unwrap().join("memory/MEMORY.md");
    std::fs::create_dir_all(notes.parent().unwrap()).unwrap();
    std::fs::write(notes, "note\n").unwrap();
    (server, sandbox, other, [first, second])
}

/// Every file below `dir` with its bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
    found
}

// [CLI-59]
#[test]
fn a_dry_run_changes_nothing_and_names_everything() {
    let (_server, sandbox, other, _) = kept();
    let before = files(&sandbox.config_dir());
    let run = sandbox.gimlet(&["project", "purge", "--dry-run"]).run().expect_clean();
    assert!(
        run.stdout.contains(sandbox.project().to_str().unwrap()) && !run.stdout.contains(other.to_str().unwrap()),
        "{}",
        run.stdout
    );
    for told in ["1 session ", "1 prompt ", "trust", "Nothing was deleted."] {
        assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
    }
    let all = sandbox.gimlet(&["project", "purge", "--all", "--dry-run"]).run().expect_clean();
    assert!(all.stdout.contains(other.to_str().unwrap()), "{}", all.stdout);
    // Nobody can be asked, so nothing happens.
    let refused = sandbox.gimlet(&["project", "purge"]).run().expect_code(1);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(sandbox.gimlet(&["project", "list"]).run().code(), 1);
    assert_eq!(files(&sandbox.config_dir()), before);
}

#[test]
fn one_project_is_forgotten_and_the_other_stays() {
    let (_server, sandbox, other, [first, second]) = kept();
    let run = sandbox.gimlet(&["project", "purge", "--yes"]).run().expect_clean();
    assert!(run.stdout.contains("1 session, 1 prompt, 1 folder"), "{}", run.stdout);
    let left = files(&sandbox.config_dir());
    assert!(left.keys().all(|path| !path.to_str().unwrap().contains(&first)), "{:?}", left.keys());
    assert_eq!(left.keys().filter(|path| path.to_str().unwrap().contains(&second)).count(), 3);
    assert!(left.keys().any(|path| path.ends_with("memory/MEMORY.md")), "notes stay");
    let history = std::fs::read_to_string(sandbox.config_dir().join("history.jsonl")).unwrap();
    assert!(history.lines().count() == 1 && history.contains(&second), "{history}");
    let state = std::fs::read_to_string(sandbox.config_dir().join(".claude.json")).unwrap();
    assert!(
        !state.contains(&format!("\"{}\"", sandbox.project().display())) && state.contains("numStartups"),
        "{state}"
    );
    assert!(state.contains(other.to_str().unwrap()));
    assert_eq!(sandbox.gimlet(&["project", "purge", "--yes"]).run().expect_clean().stdout, "Nothing is stored.\n");
    let by_path = sandbox.gimlet(&["project", "purge", other.to_str().unwrap(), "-y"]).run().expect_clean();
    assert!(by_path.stdout.contains("1 session"), "{}", by_path.stdout);
    assert!(sandbox.transcript_paths().is_empty());
}

#[test]
fn a_session_that_is_open_stays() {
    let (_server, sandbox, _, [first, _]) = kept();
    let mut run = host(&sandbox, &["--resume", &first]).spawn();
    run.send_user("again");
    run.wait_for("result");
    let purge = sandbox.gimlet(&["project", "purge", "--all", "-y"]).run().expect_clean();
    assert!(purge.stdout.contains("1 session,"), "{}", purge.stdout);
    assert_eq!(sandbox.transcript_paths().len(), 1);
    run.send_user("still there");
    assert_eq!(run.wait_for("result")["result"], "ok");
}

#[test]
fn a_person_is_asked_and_no_is_the_default() {
    let (_server, sandbox, _, _) = kept();
    let Some(shown) = on_terminal(&sandbox, "project purge", &[("Delete all of this? [y/N] ", "")]) else { return };
    assert!(shown.contains("Nothing was deleted."), "{shown}");
    assert_eq!(sandbox.transcript_paths().len(), 2);
    let answers = [("? [y/N] ", "y"), ("? [y/N] ", "n"), ("? [y/N] ", "n")];
    let shown = on_terminal(&sandbox, "project purge -i", &answers).unwrap();
    assert!(shown.contains("1 session, 0 prompts, 0 folders"), "{shown}");
    assert_eq!(sandbox.transcript_paths().len(), 1);
}
