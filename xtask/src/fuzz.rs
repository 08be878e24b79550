//! `cargo xtask fuzz [NAME] [--minutes N]`: builds the fuzz targets with coverage counters and runs them with libFuzzer.
//! Neither needs another compiler than the one of the repository. Work is kept below `target`, so minutes add up over
//! runs; what is worth keeping goes to `fuzz/corpus`, one input on each line, which the tests of the crates run too.

use crate::record;
use crate::steps::{cargo_program, target_folder};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const MINUTES: u64 = 2;
/// Coverage counters at every edge and comparison; the code for `cfg(fuzzing)`.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// Longest kept input in bytes, and the most inputs kept of one target.
const KEPT_LENGTH: usize = 256;
const KEPT: usize = 200;

struct Options<'a> {
    minutes: u64,
    name: Option<&'a str>,
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let mut options = Options { minutes: MINUTES, name: None };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--minutes" => {
                options.minutes = rest.next().and_then(|text| text.parse().ok()).context("--minutes needs a number")?;
            }
            name if !name.starts_with('-') => options.name = Some(name),
            other => bail!("unknown option {other} (fuzz [NAME] [--minutes N])"),
        }
    }
    let targets = targets(root, options.name)?;
    let programs = build(root, options.name)?;
    let mut findings = Vec::new();
    for name in &targets {
        if !FuzzTarget::new(root, name).run(&programs, options.minutes)? {
            findings.push(name.as_str());
        }
    }
    ensure!(findings.is_empty(), "findings in {}", findings.join(", "));
    Ok(())
}

fn targets(root: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).context("fuzz/fuzz_targets")? {
        all.extend(entry?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    all.sort();
    let chosen: Vec<String> = all.iter().filter(|name| only.is_none_or(|only| only == *name)).cloned().collect();
    ensure!(!chosen.is_empty(), "there is no fuzz target of that name; there are: {}", all.join(", "));
    Ok(chosen)
}

/// Builds the targets; returns the folder of the programs. A target triple keeps the counters out of build scripts.
fn build(root: &Path, only: Option<&str>) -> Result<PathBuf> {
    let triple = host_triple()?;
    let folder = target_folder(root).join("fuzz");
    let mut command = Command::new(cargo_program());
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &triple]);
    match only {
        Some(name) => command.args(["--bin", name]),
        None => command.arg("--bins"),
    };
    crate::steps::run(command.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", FLAGS).current_dir(root))?;
    Ok(folder.join(triple).join("release"))
}

fn host_triple() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// The files of one fuzz target.
struct FuzzTarget<'a> {
    root: &'a Path,
    name: &'a str,
    /// Inputs as files; libFuzzer adds to them.
    inputs: PathBuf,
    /// Where inputs are written that break a promise.
    findings: PathBuf,
    /// Seconds and executions of all runs so far.
    totals: PathBuf,
    kept: PathBuf,
}

impl<'a> FuzzTarget<'a> {
    fn new(root: &'a Path, name: &'a str) -> Self {
        let folder = target_folder(root).join("fuzz");
        Self {
            root,
            name,
            inputs: folder.join("inputs").join(name),
            findings: folder.join("findings").join(name),
            totals: folder.join(format!("{name}.totals")),
            kept: root.join("fuzz/corpus").join(format!("{name}.txt")),
        }
    }

    /// Fuzzes for some minutes, keeps the useful inputs and records the result. False when a promise was broken.
    fn run(&self, programs: &Path, minutes: u64) -> Result<bool> {
        println!("== {}: {minutes} minutes", self.name);
        std::fs::create_dir_all(&self.inputs)?;
        std::fs::create_dir_all(&self.findings)?;
        self.unpack()?;
        let program = programs.join(self.name);
        self.try_findings(&program)?;
        let seconds = format!("-max_total_time={}", minutes * 60);
        let prefix = format!("-artifact_prefix={}/", self.findings.display());
        let mut command = Command::new(&program);
        command.args([&seconds, &prefix, "-timeout=10", "-rss_limit_mb=2048", "-max_len=2048", "-print_final_stats=1"]);
        let started = Instant::now();
        let output = command.args(["-use_value_profile=1"]).arg(&self.inputs).output().context("fuzz target")?;
        let spent = started.elapsed().as_secs();
        let log = String::from_utf8_lossy(&output.stderr);
        let (seconds, executions) = self.add_totals(spent, number(&log, "stat::number_of_executed_units:"))?;
        let found = std::fs::read_dir(&self.findings)?.count();
        if !output.status.success() {
            let last: Vec<&str> = log.lines().rev().take(40).collect();
            println!("{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        self.keep(&program)?;
        let verdict =
            if output.status.success() && found == 0 { "no finding".to_owned() } else { format!("FINDINGS: {found}") };
        let result = format!("{} minutes, {executions} executions: {verdict}", seconds / 60);
        record::row(self.root, "fuzz", self.name, &result)?;
        Ok(output.status.success() && found == 0)
    }

    /// Runs what earlier runs have found; what breaks no promise any more is an input like others.
    fn try_findings(&self, program: &Path) -> Result<()> {
        for entry in std::fs::read_dir(&self.findings)? {
            let path = entry?.path();
            let output = Command::new(program).arg("-timeout=10").arg(&path).output().context("fuzz target")?;
            if output.status.success() {
                println!("   mended: {}", path.display());
                std::fs::rename(&path, self.inputs.join(path.file_name().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    /// Writes the kept inputs as files.
    fn unpack(&self) -> Result<()> {
        for line in std::fs::read_to_string(&self.kept).unwrap_or_default().lines() {
            let bytes = unescaped(line);
            std::fs::write(self.inputs.join(file_name(&bytes)), bytes)?;
        }
        Ok(())
    }

    /// Has libFuzzer choose the smallest set of inputs with the same coverage, and keeps the short ones of it.
    fn keep(&self, program: &Path) -> Result<()> {
        let chosen = tempfile::tempdir()?;
        let mut command = Command::new(program);
        command.args(["-merge=1", "-timeout=10"]).arg(format!("-max_len={KEPT_LENGTH}"));
        let output = command.arg(chosen.path()).arg(&self.inputs).output().context("fuzz target")?;
        if !output.status.success() {
            println!("   the inputs could not be reduced; those kept before stay");
            return Ok(());
        }
        let mut inputs = Vec::new();
        for entry in std::fs::read_dir(chosen.path())? {
            let bytes = std::fs::read(entry?.path())?;
            inputs.push(bytes);
        }
        inputs.retain(|bytes| bytes.len() <= KEPT_LENGTH);
        inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        let step = inputs.len().div_ceil(KEPT).max(1);
        let lines: String =
            inputs.iter().step_by(step).flat_map(|bytes| [bytes.escape_ascii().to_string(), "\n".to_owned()]).collect();
        std::fs::write(&self.kept, lines).context("fuzz/corpus")
    }

    fn add_totals(&self, seconds: u64, executions: u64) -> Result<(u64, u64)> {
        let text = std::fs::read_to_string(&self.totals).unwrap_or_default();
        let mut earlier = text.split_whitespace().map(|word| word.parse().unwrap_or(0));
        let sum = (earlier.next().unwrap_or(0) + seconds, earlier.next().unwrap_or(0) + executions);
        std::fs::write(&self.totals, format!("{} {}", sum.0, sum.1))?;
        Ok(sum)
    }
}

/// The number behind `label` in the statistics of libFuzzer.
fn number(log: &str, label: &str) -> u64 {
    let line = log.lines().find_map(|line| line.strip_prefix(label));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}

fn file_name(bytes: &[u8]) -> String {
    crate::dist::hex_sha256(bytes).chars().take(20).collect()
}

/// The reverse of `escape_ascii`.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = |digit: &u8| (*digit as char).to_digit(16).unwrap_or(0) as u8;
        let (byte, length) = match (first, more) {
            (b'\\', [b'x', high, low, ..]) => (hex(high) << 4 | hex(low), 4),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [other, ..]) => (*other, 2),
            (byte, _) => (*byte, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_written_on_lines_and_read_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&all.escape_ascii().to_string()), all);
        assert_eq!(unescaped(""), b"");
    }

    #[test]
    fn executions_are_read_from_the_statistics() {
        let log = "x\nstat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     5\n";
        assert_eq!(number(log, "stat::number_of_executed_units:"), 1234);
    }
}
