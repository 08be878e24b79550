//! Runs each test in a separate process, from one queue for all cores. This gives a time and a limit per test, and
//! no test can disturb another through process state.

use super::build::TestBinary;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The limit of a test in the test command.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(10);
/// Longest sleep of a worker between two checks of its test.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One test function of one executable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestCase {
    /// Index into the list of executables.
    pub(crate) binary: usize,
    pub(crate) function: String,
}

/// The result of one run of one test.
#[derive(Debug, Clone)]
pub(crate) struct TestRun {
    pub(crate) name: String,
    pub(crate) case: TestCase,
    pub(crate) took: Duration,
    pub(crate) passed: bool,
    pub(crate) output: String,
}

/// The tests to run, and how many are marked `#[ignore]`.
pub(crate) struct TestList {
    pub(crate) cases: Vec<TestCase>,
    pub(crate) ignored: usize,
}

/// Asks every executable for its tests; `filter` keeps those whose full name contains it.
pub(crate) fn list(binaries: &[TestBinary], filter: Option<&str>) -> Result<TestList> {
    let mut cases = Vec::new();
    let mut ignored = 0;
    for (index, binary) in binaries.iter().enumerate() {
        let skipped: BTreeSet<String> = functions(binary, &["--ignored"])?.into_iter().collect();
        for function in functions(binary, &[])? {
            if skipped.contains(&function) {
                ignored += 1;
            } else if filter.is_none_or(|text| format!("{} {function}", binary.name).contains(text)) {
                cases.push(TestCase { binary: index, function });
            }
        }
    }
    Ok(TestList { cases, ignored })
}

fn functions(binary: &TestBinary, more: &[&str]) -> Result<Vec<String>> {
    let output = Command::new(&binary.path).args(["--list", "--format", "terse"]).args(more).output();
    let output = output.with_context(|| format!("could not list the tests of {}", binary.name))?;
    if !output.status.success() {
        bail!("{} does not list its tests: {}", binary.name, String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect())
}

/// The configuration for running a list of tests.
pub(crate) struct TestQueue<'a> {
    pub(crate) binaries: &'a [TestBinary],
    /// Variables that every test gets in addition to our environment.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) workers: usize,
    /// A test that takes longer is killed and counted as failed.
    pub(crate) limit: Duration,
}

impl TestQueue<'_> {
    /// Runs `cases` in order and reports each when it ends.
    pub(crate) fn run(&self, cases: &[TestCase], report: impl Fn(usize, &TestRun) + Sync) -> Vec<TestRun> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.workers.min(cases.len()) {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let run = self.run_one(case);
                        let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        done.push(run);
                        if let Some(run) = done.last() {
                            report(done.len(), run);
                        }
                    }
                });
            }
        });
        done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn run_one(&self, case: &TestCase) -> TestRun {
        let name = format!("{} {}", self.binaries[case.binary].name, case.function);
        let started = Instant::now();
        let (passed, output) =
            self.run_process(case).unwrap_or_else(|error| (false, format!("could not run: {error}")));
        TestRun { name, case: case.clone(), took: started.elapsed(), passed, output }
    }

    /// Runs one test. Its output goes to a file, because a process that a test leaves behind would keep a pipe open.
    fn run_process(&self, case: &TestCase) -> std::io::Result<(bool, String)> {
        let binary = &self.binaries[case.binary];
        let mut file = tempfile::tempfile()?;
        let mut command = Command::new(&binary.path);
        command.args(["--exact", &case.function, "--nocapture"]).current_dir(&binary.folder).envs(&self.env);
        command.env("CARGO_MANIFEST_DIR", &binary.folder).stdin(Stdio::null()).process_group(0);
        command.stdout(file.try_clone()?).stderr(file.try_clone()?);
        let mut child = command.spawn()?;
        let status = wait(&mut child, self.limit)?;
        kill_group(child.id());
        let mut output = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut output)?;
        let mut output = String::from_utf8_lossy(&output).into_owned();
        if status.is_none() {
            output.push_str("\ntimed out\n");
        }
        Ok((status.is_some_and(|status| status.success()), output))
    }
}

/// Waits for the end of a test; `None` when it took too long and was killed.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(POLL_INTERVAL.min(started.elapsed() / 8));
    }
    kill_group(child.id());
    child.wait().map(|_| None)
}

fn kill_group(leader: u32) {
    let Some(group) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) else { return };
    // Fails when the group has already ended, which is the usual case.
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
}
