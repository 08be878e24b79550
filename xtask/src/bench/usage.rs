//! Peak memory and processor time of one process. The kernel reports them only for children that have been waited
//! for, and a child inherits the peak of the process that forked it; so a small new copy of this program runs in
//! between.

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The hidden subcommand of the observer.
pub(super) const OBSERVER: &str = "bench-observe";

#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) peak_bytes: u64,
    pub(super) cpu: Duration,
}

pub(super) fn observer() -> Result<PathBuf> {
    std::env::current_exe().context("this program cannot find itself")
}

/// Runs `program` under an observer; `command` starts the observer with its environment.
pub(super) fn measure(mut command: Command, program: &Path, args: &[&str]) -> Result<Usage> {
    command.arg("bench").arg(OBSERVER).arg(program).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // The output must be read, as a host would do.
    if let Some(mut stdout) = child.stdout.take() {
        std::io::copy(&mut stdout, &mut std::io::sink())?;
    }
    let mut report = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut report)?;
    }
    ensure!(child.wait()?.success(), "{} {args:?} failed: {report}", program.display());
    let mut numbers = report.split_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok).context("the observer reported nothing");
    Ok(Usage { peak_bytes: next()? * 1024, cpu: Duration::from_micros(next()?) })
}

/// The observer: runs the command and reports on stderr, which the command does not get.
pub(super) fn observe(argv: &[&str]) -> Result<()> {
    let (program, args) = argv.split_first().context("nothing to observe")?;
    let status = Command::new(program).args(args).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
    let cpu = micros(usage.user_time()) + micros(usage.system_time());
    writeln!(std::io::stderr(), "{} {cpu}", usage.max_rss())?;
    Ok(())
}

/// The proportional share of memory of a running process, in bytes: in a sum, shared pages are counted once.
pub(super) fn proportional_bytes(pid: u32) -> Result<u64> {
    Ok(field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")? * 1024)
}

/// Resident memory of a running process, in bytes.
pub(super) fn resident_bytes(pid: u32) -> Result<u64> {
    Ok(field(&format!("/proc/{pid}/status"), "VmRSS:")? * 1024)
}

/// Processor time of all current threads of a running process.
pub(super) fn cpu_time(pid: u32) -> Result<Duration> {
    let nanos = each_thread(pid, |thread| {
        let text = std::fs::read_to_string(format!("{thread}/schedstat"))?;
        Ok(text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0))
    })?;
    Ok(Duration::from_nanos(nanos))
}

/// How often the threads have gone to sleep, which is about how often they were woken.
pub(super) fn wakeups(pid: u32) -> Result<u64> {
    each_thread(pid, |thread| field(&format!("{thread}/status"), "voluntary_ctxt_switches:"))
}

fn each_thread(pid: u32, mut figure: impl FnMut(&str) -> Result<u64>) -> Result<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has ended")?;
    let mut sum = 0;
    for thread in threads {
        // A thread may end between listing and reading.
        sum += figure(&thread?.path().to_string_lossy()).unwrap_or(0);
    }
    Ok(sum)
}

fn field(path: &str, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("{path}: no {name}"))?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}
