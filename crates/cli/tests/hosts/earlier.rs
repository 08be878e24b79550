//! Data that earlier builds have written: sessions, trust, snapshots, stored keys and settings. Each folder below
//! `fixtures/earlier` was written by the build of its date (`cargo xtask keep-data`), and this build must read it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, print};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedReply};

const SESSION: &str = "5f2f1c1e-0000-4000-8000-00000000e001";
const KEY: &str = "kept-key-of-an-earlier-build";
/// Stand for the sandbox's folder, in texts and in names of folders.
const ROOT: &str = "@ROOT@";
const SLUG: &str = "@SLUG@";

fn slug(path: &Path) -> String {
    path.display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// What a person does with one build.
fn work_with(sandbox: &mut Sandbox) {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "read.txt"})),
        ScriptedReply::tool(
            "Agent",
            json!({"description": "Look", "prompt": "look around", "run_in_background": false}),
        ),
        ScriptedReply::text("The agent found a lighthouse."),
        ScriptedReply::tool("Bash", json!({"command": "rm lost.txt", "description": "Remove a file"})),
        ScriptedReply::text("It is gone."),
    ]);
    sandbox.set("ANTHROPIC_BASE_URL", server.url());
    sandbox.write("read.txt", "the harbour is closed\n");
    sandbox.write("lost.txt", "worth keeping\n");
    sandbox.write(".claude/settings.local.json", r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#);
    drop(sandbox.gimlet(&["trust", "--yes"]).run().expect_clean());
    let login = sandbox.gimlet(&["auth", "login"]).env_remove("ANTHROPIC_API_KEY");
    drop(login.stdin(format!("{KEY}\n")).run().expect_code(0));
    drop(sandbox.gimlet(&["config", "set", "language", "Latin"]).run().expect_code(0));
    let flags = ["--session-id", SESSION, "--allowedTools", "Bash,Read", "--name", "harbour"];
    let done = print(sandbox, "what is in the harbour?", &flags).run().expect_code(0);
    assert!(done.stdout.contains("It is gone."), "{done:?}");
}

/// Started by `cargo xtask keep-data`, which names the folder.
#[test]
#[ignore = "writes a fixture"]
#[expect(clippy::disallowed_methods, reason = "the chore names the folder")]
fn keep() {
    let folder = PathBuf::from(std::env::var_os("GIMLET_KEEP_DATA").expect("the folder to write"));
    let mut sandbox = Sandbox::new(EXE);
    work_with(&mut sandbox);
    let root = sandbox.root().display().to_string();
    let change = |text: &str| text.replace(&root, ROOT).replace(&slug(sandbox.root()), SLUG);
    for part in ["home", "project"] {
        copy(&sandbox.root().join(part), &folder.join(part), &change);
    }
}

/// Copies a folder; `change` is applied to texts and to names.
fn copy(from: &Path, to: &Path, change: &impl Fn(&str) -> String) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(change(&entry.file_name().to_string_lossy()));
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target, change);
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        // Locks and stamps say nothing.
        if bytes.is_empty() {
            continue;
        }
        let bytes =
            String::from_utf8(bytes).map_or_else(std::string::FromUtf8Error::into_bytes, |text| change(&text).into());
        std::fs::write(&target, bytes).unwrap();
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// A sandbox with the data of each earlier build, and the date of the build.
fn earlier() -> Vec<(String, Sandbox)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/earlier");
    let folders = std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap());
    let kept: Vec<(String, Sandbox)> = folders
        .map(|folder| {
            let sandbox = Sandbox::new(EXE);
            let root = sandbox.root().display().to_string();
            let change = |text: &str| text.replace(ROOT, &root).replace(SLUG, &slug(sandbox.root()));
            copy(&folder.path(), sandbox.root(), &change);
            (folder.file_name().into_string().unwrap(), sandbox)
        })
        .collect();
    assert!(!kept.is_empty());
    kept
}

#[test]
fn sessions_of_earlier_builds_go_on() {
    for (date, mut sandbox) in earlier() {
        let server = ModelServer::script([ScriptedReply::text("Still closed.")]);
        sandbox.set("ANTHROPIC_BASE_URL", server.url());
        let done = print(&sandbox, "and now?", &["--resume", SESSION]).run().expect_code(0);
        assert!(done.stdout.contains("Still closed."), "{date}: {done:?}");
        let request = server.request(0);
        assert_eq!(request.tool_uses().len(), 3, "{date}");
        let told = request.all_text();
        for text in ["what is in the harbour?", "It is gone.", "and now?"] {
            assert!(told.contains(text), "{date}: {text} is not in {told}");
        }
        let results = request.tool_results();
        for (result, text) in results.iter().zip(["the harbour is closed", "a lighthouse"]) {
            assert!(result["content"].to_string().contains(text), "{date}: {result}");
        }
    }
}

#[test]
fn folders_that_were_trusted_stay_trusted() {
    for (date, mut sandbox) in earlier() {
        let touch = ScriptedReply::tool("Bash", json!({"command": "touch made.txt"}));
        let server = ModelServer::script([touch, ScriptedReply::text("done")]);
        sandbox.set("ANTHROPIC_BASE_URL", server.url());
        let done = print(&sandbox, "make it", &[]).run().expect_code(0);
        assert!(sandbox.project().join("made.txt").exists(), "{date}: {done:?}");
        drop(sandbox.gimlet(&["trust", "--show"]).run().expect_code(0));
    }
}

#[test]
fn changes_of_earlier_builds_can_be_taken_back() {
    for (date, sandbox) in earlier() {
        assert!(!sandbox.project().join("lost.txt").exists(), "{date}");
        drop(sandbox.gimlet(&["undo"]).run().expect_code(0));
        assert_eq!(sandbox.read("lost.txt"), "worth keeping\n", "{date}");
    }
}

#[test]
fn stored_keys_and_settings_of_earlier_builds_count() {
    for (date, mut sandbox) in earlier() {
        let server = ModelServer::script([ScriptedReply::text("done")]);
        sandbox.set("ANTHROPIC_BASE_URL", server.url());
        drop(print(&sandbox, "hi", &[]).env_remove("ANTHROPIC_API_KEY").run().expect_code(0));
        assert_eq!(server.request(0).header("x-api-key"), Some(KEY), "{date}");
        let language = sandbox.gimlet(&["config", "get", "language"]).run().expect_code(0);
        assert_eq!(language.stdout.trim().trim_matches('"'), "Latin", "{date}");
    }
}
