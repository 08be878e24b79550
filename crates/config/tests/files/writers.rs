//! Eight processes change the same two files fifty times each; no change is lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "the test starts itself again")]

use config::edit::{FilePrivacy, SettingsEdit, edit};
use config::state;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use sys::Env;

const PROCESSES: usize = 8;
const CHANGES: usize = 50;
const HOME: &str = "GIMLET_TEST_WRITER_HOME";
const NUMBER: &str = "GIMLET_TEST_WRITER_NUMBER";

/// The work of one process; does nothing in a normal run.
#[test]
fn one_writer() {
    let given = Env::snapshot();
    let (Some(home), Some(number)) = (given.get(HOME), given.get(NUMBER)) else { return };
    let env = Env::default().with([("HOME", home)]);
    let path = Path::new(home).join(".claude/settings.json");
    for change in 0..CHANGES {
        let rule = json!(format!("Bash(p{number} c{change})"));
        edit(&path, &["permissions", "allow"], &SettingsEdit::Add(vec![rule]), FilePrivacy::Private, &env).unwrap();
        let name = format!("p{number}c{change}");
        state::update(&env, |all| drop(all.insert(name, json!(change)))).unwrap();
    }
}

#[test]
fn eight_processes_lose_nothing() {
    // [CLI-92] [CLI-76]
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path();
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    let settings = home.join(".claude/settings.json");
    std::fs::write(&settings, "{\n  // kept\n  \"unknown\": [1]\n}\n").unwrap();
    std::fs::write(home.join(".claude.json"), r#"{"numStartups": 3}"#).unwrap();
    let start = |number: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "writers::one_writer", "-q"]).env(HOME, home).env(NUMBER, number.to_string());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(text.contains("// kept") && text.contains("\"unknown\": [1]"), "{text}");
    assert_eq!(text.matches("Bash(p").count(), PROCESSES * CHANGES);
    let all: Value = serde_json::from_slice(&std::fs::read(home.join(".claude.json")).unwrap()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 1 + PROCESSES * CHANGES);
}
