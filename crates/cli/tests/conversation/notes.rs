//! Notes that sessions keep for later ones, and what a project's instructions may bring in from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, git, print, stream};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{ModelServer, Sandbox, ScriptedReply};

fn notes_of(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project().canonicalize().unwrap();
    let name = project.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    sandbox.config_dir().join("projects").join(name).join("memory")
}

fn write(path: &std::path::Path, content: &str) -> ScriptedReply {
    ScriptedReply::tool("Write", json!({"file_path": path, "content": content}))
}

/// The result of one Write to `file` in the folder of notes, the first request, and the place it was run in.
fn note(file: &str, content: &str, more: &[&str], prepare: &dyn Fn(&Sandbox)) -> (Value, String, Sandbox) {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    server.push(write(&notes_of(&sandbox).join(file), content));
    server.push(ScriptedReply::text("end"));
    prepare(&sandbox);
    print(&sandbox, "go", more).run();
    let result = server.request(1).tool_results()[0].clone();
    (result, server.request(0).all_text(), sandbox)
}

// [EXT-209] The prompt names the folder of notes, the model writes there without a question, and later sessions read
// the same folder, also from a subfolder of the repository and from a worktree.
#[test]
fn notes_are_written_and_read_in_one_place() {
    let (result, first, sandbox) = note("MEMORY.md", "- likes short answers\n", &[], &|sandbox| {
        git(sandbox, "init -q");
        git(sandbox, "commit -q --allow-empty -m one");
    });
    let dir = notes_of(&sandbox);
    assert_ne!(result["is_error"], true, "{result}");
    assert!(first.contains(&format!("notes for later sessions of this project in {}", dir.display())), "{first}");
    git(&sandbox, "worktree add -q tree");
    sandbox.write("sub/x", "");
    for place in ["", "sub", "tree"] {
        let server = ModelServer::script([ScriptedReply::text("end")]);
        let run =
            print(&sandbox, "go", &[]).env("ANTHROPIC_BASE_URL", server.url()).cwd(sandbox.project().join(place)).run();
        let text = server.request(0).all_text();
        assert!(
            text.contains("likes short answers") && text.contains(&dir.display().to_string()),
            "{place}: {}",
            run.stderr
        );
    }
}

// [EXT-209] Switched off by setting or variable: notes are neither mentioned nor read, and writing there asks.
#[test]
fn notes_can_be_switched_off() {
    let off = |settings: &str, variable: Option<&str>| {
        let server = ModelServer::script([]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        let dir = notes_of(&sandbox);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("MEMORY.md"), "old words\n").unwrap();
        server.push(write(&dir.join("a.md"), "x"));
        server.push(ScriptedReply::text("end"));
        sandbox.write_config("settings.json", settings);
        if let Some(value) = variable {
            sandbox.set("CLAUDE_CODE_DISABLE_AUTO_MEMORY", value);
        }
        print(&sandbox, "go", &[]).run();
        let text = server.request(0).all_text();
        assert!(!text.contains("old words") && !text.contains("notes for later"), "{text}");
        assert_eq!(server.request(1).tool_results()[0]["is_error"], true);
        assert!(!dir.join("a.md").exists());
    };
    off(r#"{"autoMemoryEnabled": false}"#, None);
    off("{}", Some("1"));
}

// [EXT-210] An index that is too long is written with a complaint; near the limit there is a reminder.
#[test]
fn the_index_has_a_size() {
    let (result, _, sandbox) = note("MEMORY.md", &"- a line\n".repeat(201), &[], &|_| {});
    assert_eq!(result["is_error"], true);
    assert!(result["content"].as_str().unwrap().contains("too long"), "{result}");
    assert!(notes_of(&sandbox).join("MEMORY.md").exists());
    let (result, ..) = note("MEMORY.md", &"x".repeat(26_000), &[], &|_| {});
    assert_eq!(result["is_error"], true);
    let (result, ..) = note("MEMORY.md", &"- a line\n".repeat(190), &[], &|_| {});
    assert!(result["is_error"] != true && result["content"].as_str().unwrap().contains("nearly full"), "{result}");
    let (result, ..) = note("topic.md", &"- a line\n".repeat(500), &[], &|_| {});
    assert!(result["is_error"] != true, "only the index has a limit: {result}");
}

// [EXT-209] The folder is for notes only: other files, links that lead outside and deny rules are treated as usual.
#[test]
fn the_place_for_notes_is_no_way_out() {
    let refused = |file: &str, more: &[&str], prepare: &dyn Fn(&Sandbox)| {
        let (result, _, sandbox) = note(file, "x", more, prepare);
        assert_eq!(result["is_error"], true, "{file}: {result}");
        sandbox
    };
    refused("run.sh", &[], &|_| {});
    refused("../settings.md", &[], &|_| {});
    refused("a.md", &["--disallowedTools", "Write"], &|_| {});
    let sandbox = refused("out/a.md", &[], &|sandbox| {
        let dir = notes_of(sandbox);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::create_dir_all(sandbox.home().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(sandbox.home().join("elsewhere"), dir.join("out")).unwrap();
    });
    assert!(!sandbox.home().join("elsewhere/a.md").exists());
    refused("a.md", &["--permission-mode", "plan"], &|_| {});
}

// [EXT-198] Imports from outside the project wait for approval, which a run may bring along.
#[test]
fn imports_from_outside_can_be_allowed_for_a_run() {
    let read = |more: &[&str]| {
        let server = ModelServer::script([ScriptedReply::text("end")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        std::fs::write(sandbox.root().join("outside.md"), "words from outside\n").unwrap();
        sandbox.write("CLAUDE.md", format!("@{}\n", sandbox.root().join("outside.md").display()));
        stream(&sandbox, "go", more);
        server.request(0).all_text().contains("words from outside")
    };
    assert!(!read(&[]));
    assert!(read(&["--allow-external-imports"]));
}
