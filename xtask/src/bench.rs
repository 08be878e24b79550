//! Whole-process measurements of the release binary, each beside its budget and as a ratio to a bare `true` process of the same
//! run, so that a busy machine shows itself.

use crate::clients::executable;
use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 51;

/// One line of the table.
struct Row {
    what: &'static str,
    measured: String,
    ratio: String,
    budget: &'static str,
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let binary = release_binary(root)?;
    let bare = median(|| spawn(&mut Command::new("true")))?;
    let version = median(|| spawn(Command::new(&binary).arg("--version")))?;
    let help = median(|| spawn(Command::new(&binary).arg("--help")))?;
    let size = std::fs::metadata(&binary)?.len() as f64 / 1e6;
    print(&[
        Row { what: "true", measured: ms(bare), ratio: String::new(), budget: "" },
        Row { what: "--version", measured: ms(version), ratio: ratio(version, bare), budget: "3 ms" },
        Row { what: "--help", measured: ms(help), ratio: ratio(help, bare), budget: "3 ms" },
        Row { what: "binary size", measured: format!("{size:.1} MB"), ratio: String::new(), budget: "15 MB" },
    ]);
    Ok(())
}

fn release_binary(root: &Path) -> Result<std::path::PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "gimlet-cli",
        "--message-format",
        "json-render-diagnostics",
    ]);
    let output = command.current_dir(root).stderr(Stdio::inherit()).output().context("cargo build")?;
    if !output.status.success() {
        bail!("the release build failed");
    }
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}

fn spawn(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

fn median(mut once: impl FnMut() -> Result<()>) -> Result<Duration> {
    once()?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let started = Instant::now();
        once()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times[RUNS / 2])
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn ratio(time: Duration, bare: Duration) -> String {
    format!("{:.1} x true", time.as_secs_f64() / bare.as_secs_f64())
}

fn print(rows: &[Row]) {
    println!("| {:<28} | {:>10} | {:>12} | {:>8} |", "what", "median", "ratio", "budget");
    println!("|{:-<30}|{:->12}|{:->14}|{:->10}|", "", "", "", "");
    for row in rows {
        println!("| {:<28} | {:>10} | {:>12} | {:>8} |", row.what, row.measured, row.ratio, row.budget);
    }
}
