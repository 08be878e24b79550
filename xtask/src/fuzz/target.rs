//! The files of one fuzz target, and one piece of work with it.

#[path = "../../../fuzz/checks/unescaped.rs"]
mod unescaped;

use super::pieces::Piece;
use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use std::path::{Path, PathBuf};
use std::process::Command;
use unescaped::unescaped;

/// Longest kept input in bytes, and the most inputs kept of one target.
const KEPT_LENGTH: usize = 256;
const KEPT: usize = 200;
/// An input that takes longer is a finding. Long, because on a busy machine a program may not run for seconds.
const TIMEOUT: &str = "-timeout=120";

pub(super) struct FuzzTarget {
    name: String,
    /// Inputs as files; libFuzzer adds to them.
    inputs: PathBuf,
    /// Where inputs are written that break a promise.
    findings: PathBuf,
    /// The inputs that the tree keeps.
    kept: PathBuf,
}

impl FuzzTarget {
    pub(super) fn new(root: &Path, folder: &Path, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            inputs: folder.join("inputs").join(name),
            findings: folder.join("findings").join(name),
            kept: root.join("fuzz/corpus").join(format!("{name}.txt")),
        }
    }

    /// Fuzzes for some minutes, or until a promise is broken.
    pub(super) fn run(&self, programs: &Path, minutes: u64) -> Result<Piece> {
        println!("== {}: {minutes} minutes", self.name);
        std::fs::create_dir_all(&self.inputs)?;
        std::fs::create_dir_all(&self.findings)?;
        self.unpack()?;
        let program = programs.join(&self.name);
        self.try_findings(&program)?;
        let seconds = format!("-max_total_time={}", minutes * 60);
        let prefix = format!("-artifact_prefix={}/", self.findings.display());
        let mut command = Command::new(&program);
        command.args([&seconds, &prefix, TIMEOUT, "-rss_limit_mb=2048", "-max_len=2048", "-print_final_stats=1"]);
        let before = processor_seconds()?;
        let output = command.args(["-use_value_profile=1"]).arg(&self.inputs).output().context("fuzz target")?;
        let seconds = processor_seconds()?.saturating_sub(before);
        let log = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let last: Vec<&str> = log.lines().rev().take(40).collect();
            println!("{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        let executions = number(&log, "stat::number_of_executed_units:");
        let unnamed = usize::from(!output.status.success());
        let open_findings = self.open_findings().max(unnamed);
        println!("   {seconds} seconds of processor time, {executions} executions, {open_findings} findings");
        Ok(Piece { target: self.name.clone(), seconds, executions, open_findings })
    }

    /// How many inputs break a promise.
    pub(super) fn open_findings(&self) -> usize {
        std::fs::read_dir(&self.findings).map_or(0, Iterator::count)
    }

    /// Runs what earlier runs have found; what breaks no promise any more is an input like others.
    fn try_findings(&self, program: &Path) -> Result<()> {
        for entry in std::fs::read_dir(&self.findings)? {
            let path = entry?.path();
            let output = Command::new(program).arg(TIMEOUT).arg(&path).output().context("fuzz target")?;
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
    pub(super) fn keep(&self, programs: &Path) -> Result<()> {
        let chosen = tempfile::tempdir()?;
        let mut command = Command::new(programs.join(&self.name));
        command.args(["-merge=1", TIMEOUT]).arg(format!("-max_len={KEPT_LENGTH}"));
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
}

/// Processor time of all programs that we started and that have ended.
fn processor_seconds() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let seconds = usage.user_time().tv_sec() + usage.system_time().tv_sec();
    Ok(u64::try_from(seconds).unwrap_or(0))
}

/// The number behind `label` in the statistics of libFuzzer.
fn number(log: &str, label: &str) -> u64 {
    let line = log.lines().find_map(|line| line.strip_prefix(label));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}

fn file_name(bytes: &[u8]) -> String {
    crate::dist::hex_sha256(bytes).chars().take(20).collect()
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
