//! `cargo xtask keep-data`: has the binary write one of each kind of data it keeps, as a fixture with the date of today.
//! Later builds must read it (`crates/cli/tests/hosts/earlier.rs`). To be run when a format changes, before the change.

use crate::record;
use crate::steps::{self, cargo_program};
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = root.join("crates/cli/tests/fixtures/earlier").join(record::today());
    ensure!(!folder.exists(), "{} is there already", folder.display());
    let mut command = Command::new(cargo_program());
    command.args(["test", "--package", "gimlet-cli", "--test", "hosts", "--"]);
    command.args(["--ignored", "--exact", "earlier::keep"]);
    steps::run(command.env("GIMLET_KEEP_DATA", &folder).current_dir(root))?;
    println!("   written to {}", folder.display());
    Ok(())
}
