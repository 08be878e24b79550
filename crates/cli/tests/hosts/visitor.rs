//! The README is correct: every command in it runs, every figure was measured, every command it names exists.
#![allow(clippy::disallowed_methods, reason = "programs are started from outside, as a user does")]
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::EXE;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{ModelServer, Sandbox, ScriptedReply};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(relative: &str) -> String {
    std::fs::read_to_string(root().join(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
}

/// The commands of the blocks of shell code, each with its continuation lines.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| !line.trim().is_empty()).collect()
}

/// Replaces cargo: what would be built is this build; chores are looked up in their list.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2" in
    "run --release") shift 3; exec gimlet "$@" ;;
    "install --path") test -f "$ROOT/$3/Cargo.toml" ;;
    xtask*) grep -q "^  $2 " "$ROOT/xtask/src/main.rs" ;;
    *) echo "what is cargo $*?" >&2; exit 1 ;;
esac
"#;

#[test]
fn every_command_of_the_readme_runs() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Done."));
    let sandbox = Sandbox::with_server(EXE, &server);
    let tools = sandbox.root().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    symlink(EXE, tools.join("gimlet")).unwrap();
    std::fs::write(tools.join("cargo"), CARGO).unwrap();
    std::fs::set_permissions(tools.join("cargo"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(sandbox.project()).status().unwrap().success());
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    let text = page("README.md");
    let all = commands(&text);
    assert!(all.len() >= 10, "{all:?}");
    // A block that is not `sh` would not be run.
    assert!(text.split("```").skip(1).step_by(2).all(|block| block.starts_with("sh\n")), "a block of another kind");
    for line in &all {
        if line.contains("| jq") && !has_jq {
            println!("NOT RUN: {line} (there is no jq)");
            continue;
        }
        let command = match line.as_str() {
            // The tests do not start themselves.
            ".ci/run" => format!("test -x '{}'", root().join(".ci/run").display()),
            line => line.to_owned(),
        };
        let mut bash = sandbox.gimlet(&["-euo", "pipefail", "-c", &command]).exe("bash").command();
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let output = bash.env("PATH", path).env("ROOT", root()).env("TMPDIR", sandbox.root()).output().unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{line}\n{}{}", said(&output.stdout), said(&output.stderr));
    }
    for inline in quoted(&text).filter(|code| code.starts_with("cargo ")) {
        assert!(
            inline.starts_with("cargo run --release -- ") || page("xtask/src/main.rs").contains(&inline[12..]),
            "{inline}"
        );
    }
}

/// The text between backquotes, outside of blocks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|part| part.split('`').skip(1).step_by(2))
}

#[test]
fn every_command_that_the_readme_names_exists() {
    let help = Sandbox::new(EXE).gimlet(&["--help"]).run().expect_clean().stdout;
    let commands = help.split("Commands:").nth(1).unwrap().to_owned();
    let text = page("README.md");
    let named: Vec<&str> = quoted(&text).filter_map(|code| code.strip_prefix("gimlet ")?.split(' ').next()).collect();
    assert!(named.len() >= 8, "{named:?}");
    for name in named {
        let is_there = if name.starts_with('-') {
            help.contains(&format!("  {name}"))
        } else {
            commands.contains(&format!("\n  {name} "))
        };
        assert!(is_there, "gimlet {name}");
    }
}

#[test]
fn the_figures_of_the_readme_are_measured_ones() {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let measured: Vec<Vec<String>> =
        page("docs/performance.md").lines().filter(|l| l.starts_with('|')).map(cells).collect();
    let is_figure = |line: &&str| line.starts_with("| ") && !line.starts_with("|  ");
    let text = page("README.md");
    let claimed: Vec<Vec<String>> = text.lines().filter(is_figure).map(cells).collect();
    assert!(claimed.len() >= 4, "{claimed:?}");
    for row in claimed {
        assert!(measured.iter().any(|line| line.starts_with(&row[..4])), "not in docs/performance.md: {row:?}");
    }
    let tested = page("docs/testing.md");
    for (claim, proof) in [
        ("of 5,000 random wrappers", "5,000: 794 allowed and run, the denied program never started"),
        ("638 of 659 everyday commands", "Everyday commands: 659"),
    ] {
        assert!(text.contains(claim) && tested.contains(proof), "{claim}");
    }
    assert!(
        text.contains("kills it at 100 moments")
            && page("crates/cli/tests/processes/kill.rs").contains("ROUNDS: usize = 100;")
    );
}
