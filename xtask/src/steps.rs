//! Shared by the tasks: programs that are printed before they start, and stages with their times.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A stage of the test command that takes longer is marked in the closing table.
const STAGE_BUDGET: Duration = Duration::from_mins(4);

/// The stages of one run with their times.
#[derive(Default)]
pub(crate) struct Stages {
    done: Vec<(String, Duration, bool)>,
}

impl Stages {
    /// Runs one named stage; the name is printed before its output, in its error and in the closing table.
    pub(crate) fn stage<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("== {name}");
        let started = Instant::now();
        let done = work().with_context(|| format!("stage '{name}' failed"));
        self.done.push((name.to_owned(), started.elapsed(), done.is_ok()));
        done
    }

    /// Prints the closing table.
    pub(crate) fn print(&self) {
        println!("\n== stages");
        for (name, took, passed) in &self.done {
            let mark = match (passed, *took > STAGE_BUDGET) {
                (false, _) => "  FAILED",
                (true, true) => "  over 4 minutes",
                (true, false) => "",
            };
            println!("{:>8.1} s  {name}{mark}", took.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, took, _)| *took).sum();
        println!("{:>8.1} s  in all", total.as_secs_f64());
    }
}

/// Cargo's target folder.
pub(crate) fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

pub(crate) fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Runs one named stage outside the test command.
pub(crate) fn stage<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut stages = Stages::default();
    let done = stages.stage(name, work);
    stages.print();
    done
}

/// Prints and runs a program with our streams.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = std::iter::once(command.get_program()).chain(command.get_args());
    let shown = shown.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    println!("   $ {shown}");
    let status = command.status().with_context(|| format!("could not start {shown}"))?;
    if !status.success() {
        bail!("failed ({status}): {shown}");
    }
    Ok(())
}
