//! The demo: it works from nothing, it fails when a tool misbehaves, and its recording is the one the script below gives.

#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use serde_json::{Value, json};
use std::path::Path;
use testkit::{Block, ModelServer, Reply, Sandbox};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");
const PROMPT: &str = "The test of this project fails. Find out why, fix it, and check that the test passes.";

#[test]
fn the_demo_fixes_the_project_without_a_key() {
    let sandbox = Sandbox::new(GIMLET);
    let run =
        sandbox.gimlet(&["demo"]).env_remove("ANTHROPIC_API_KEY").env("TMPDIR", sandbox.root()).run().expect_clean();
    assert!(run.stdout.contains("are a recording"), "{}", run.stdout);
    for step in ["Bash sh test.sh", "Read roman.sh", "Edit roman.sh", "Fixed: sh test.sh passes"] {
        assert!(run.stdout.contains(step), "{step} in {}", run.stdout);
    }
    let place = place(&sandbox);
    assert!(std::fs::read_to_string(place.join("roman/roman.sh")).unwrap().contains("900:CM"));
    let projects = place.join("config/projects");
    assert_eq!(std::fs::read_dir(projects).unwrap().count(), 1, "a real transcript was written");
    assert_eq!(
        std::fs::read_dir(sandbox.config_dir()).unwrap().count(),
        0,
        "the user's own configuration is left alone"
    );
}

#[test]
fn the_demo_fails_when_a_tool_misbehaves() {
    // A shell that lies: every command prints something else than what was recorded.
    let sandbox = Sandbox::new(GIMLET);
    let liar = sandbox.write("bin/sh", "#!/bin/sh\necho nonsense\n");
    std::fs::set_permissions(&liar, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", liar.parent().unwrap().display());
    let run = sandbox.gimlet(&["demo"]).env("PATH", path).env("TMPDIR", sandbox.root()).run().expect_code(1);
    assert!(run.stderr.starts_with("Error: the demo failed"), "{}", run.stderr);
}

fn place(sandbox: &Sandbox) -> std::path::PathBuf {
    let mut dirs = std::fs::read_dir(sandbox.root()).unwrap().map(|e| e.unwrap().path());
    dirs.find(|p| p.file_name().unwrap().to_string_lossy().starts_with("gimlet-demo-")).unwrap()
}

/// Run with `GIMLET_UPDATE=1` to write the recording anew.
#[test]
fn the_recording_is_current() {
    let sandbox = Sandbox::new(GIMLET);
    for file in std::fs::read_dir(Path::new(DEMO).join("project")).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, sandbox.project().join(file.file_name().unwrap())).unwrap();
    }
    let server = ModelServer::script(script(&sandbox.project()));
    let tape = sandbox.root().join("tape.jsonl");
    let args = ["-p", PROMPT, "--model", "claude-sonnet-4-5", "--record", tape.to_str().unwrap(), "--setting-sources="];
    let args = [&args[..], &["--allowedTools", "Bash", "Read", "Edit"]].concat();
    sandbox.gimlet(&args).env("ANTHROPIC_BASE_URL", server.url()).run().expect_clean();
    let made = std::fs::read_to_string(tape).unwrap();
    assert!(!made.contains(sandbox.root().to_str().unwrap()), "a path of this machine: {made}");
    let kept = Path::new(DEMO).join("fix.jsonl");
    if update_wanted() {
        std::fs::write(&kept, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(kept).unwrap(), made, "run this test with GIMLET_UPDATE=1 if this is meant");
}

#[expect(clippy::disallowed_methods, reason = "asks the person who runs the test")]
fn update_wanted() -> bool {
    std::env::var_os("GIMLET_UPDATE").is_some()
}

fn script(project: &Path) -> Vec<Reply> {
    let file = project.join("roman.sh");
    let test = || json!({"command": "sh test.sh", "description": "Run the test"});
    let old = "1000:M 500:D 100:C 90:XC 50:L 40:XL 10:X 9:IX 5:V 1:I";
    let new = "1000:M 900:CM 500:D 400:CD 100:C 90:XC 50:L 40:XL 10:X 9:IX 5:V 4:IV 1:I";
    vec![
        step("I'll run the test to see what fails.", "Bash", &test()),
        step(
            "4, 14, 400 and 944 come out wrong, 9 and 40 are right. Let me read the script.",
            "Read",
            &json!({"file_path": file}),
        ),
        step(
            "The table of steps has XC, XL and IX, but lacks the other subtractive pairs: CM, CD and IV.",
            "Edit",
            &json!({"file_path": file, "old_string": old, "new_string": new}),
        ),
        step("Now the test again.", "Bash", &test()),
        answer(
            "All eight cases pass. `roman.sh` did not know 900 (CM), 400 (CD) and 4 (IV); they are in its table now, in descending order.",
        ),
    ]
}

fn step(text: &str, tool: &str, input: &Value) -> Reply {
    Reply::message(vec![words(text), Block::tool(tool, input)]).tokens(900, 60)
}

fn answer(text: &str) -> Reply {
    Reply::message(vec![words(text)]).tokens(1400, 50)
}

/// Streamed word by word, as a model does.
fn words(text: &str) -> Block {
    Block::TextPieces(text.split_inclusive(' ').map(str::to_owned).collect())
}
