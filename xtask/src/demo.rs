//! The demo's cassette and the pictures. All are made with the real binary: the cassette by recording a scripted
//! conversation, the pictures by drawing what a terminal shows.

use crate::steps::{self, cargo_program};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Runs `crates/cli/demo/script.json` and stores the output of `--record`.
pub(crate) fn record(root: &Path) -> Result<()> {
    let args = ["test", "-p", "gimlet-cli", "--test", "hosts", "--quiet", "--", "--ignored", "record_the_demo"];
    steps::run(Command::new(cargo_program()).args(args).current_dir(root))
}

/// Draws `docs/pictures` from the real interface.
pub(crate) fn pictures(root: &Path) -> Result<()> {
    let args = ["test", "-p", "gimlet-cli", "--test", "terminal", "--quiet", "--", "pictures::"];
    steps::run(Command::new(cargo_program()).args(args).env("GIMLET_WRITE_PICTURES", "1").current_dir(root))
}
