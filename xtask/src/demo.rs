//! The demo's cassette and the pictures. All are made with the real binary: the cassette by recording a scripted
//! conversation, the pictures by drawing what a terminal shows.

use crate::steps::{self, cargo_program};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Runs `crates/cli/demo/script.json` and stores the output of `--record`.
pub(crate) fn record(root: &Path) -> Result<()> {
    run_ignored_test(root, "hosts", "record_the_demo")
}

/// Draws `docs/demo.svg`.
pub(crate) fn picture(root: &Path) -> Result<()> {
    run_ignored_test(root, "terminal", "draw_the_demo")
}

/// Draws `docs/pictures` from the real interface.
pub(crate) fn pictures(root: &Path) -> Result<()> {
    run_ignored_test(root, "terminal", "pictures::")
}

fn run_ignored_test(root: &Path, target: &str, name: &str) -> Result<()> {
    let args = ["test", "-p", "gimlet-cli", "--test", target, "--quiet", "--", "--ignored", name];
    steps::run(Command::new(cargo_program()).args(args).current_dir(root))
}
