//! `cargo xtask flake [TEXT]`: repeats every test that starts processes, sockets or terminals while busy loops run.
//! Tests that were repeated without a failure are recorded below `target` until all have been, so a run can end after
//! some minutes, or be interrupted, and continue later. Each run writes its result to `docs/testing.md`.

use super::build::{self, Built};
use super::queue::{self, TestCase, TestQueue};
use crate::record;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;
const BUSY_LOOPS: usize = 4;
/// Crates whose tests use more than memory and files.
const CRATES: [&str; 7] = ["cli ", "tools ", "sys ", "mcp ", "http ", "model ", "testkit "];
/// After this many tests the finished ones are recorded, and the time is looked at.
const BATCH: usize = 4;

#[derive(Debug, Default, PartialEq, Eq)]
struct Options<'a> {
    /// Only tests whose full name contains this text.
    filter: Option<&'a str>,
    /// No test is begun after this time; `None` runs all.
    limit: Option<Duration>,
    /// Builds the tests and runs none.
    only_build: bool,
}

impl<'a> Options<'a> {
    fn parse(words: &[&'a str]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--build" => options.only_build = true,
                "--minutes" => {
                    let minutes = rest.next().and_then(|text| text.parse().ok());
                    options.limit = Some(Duration::from_mins(minutes.context("--minutes needs a number")?));
                }
                text if !text.starts_with('-') => options.filter = Some(text),
                other => bail!("unknown option {other} (flake [TEXT] [--minutes N] [--build])"),
            }
        }
        Ok(options)
    }
}

pub(crate) fn flake(root: &Path, words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let built = build::build(root, &[])?;
    if options.only_build {
        return Ok(());
    }
    let list = queue::list(&built.tests, options.filter)?;
    let full_name = |case: &TestCase| super::name(&built.tests, case);
    let concerned = |case: &TestCase| CRATES.iter().any(|name| full_name(case).starts_with(name));
    let cases: Vec<TestCase> = list.cases.into_iter().filter(concerned).collect();
    let mut progress = FlakeProgress::load(root);
    beside_busy_loops(|| repeat(root, &built, &cases, &mut progress, options.limit));
    let names: BTreeSet<String> = cases.iter().map(full_name).collect();
    for name in names.difference(&progress.steady).filter(|name| progress.failed.contains(*name)) {
        println!("   unsteady: {name}");
    }
    record::row(root, "flake", options.filter.unwrap_or("all"), &progress.result(&names))?;
    if names.iter().any(|name| progress.is_unsteady(name)) {
        bail!("there are unsteady tests; the next run repeats them");
    }
    if options.filter.is_none() && names.is_subset(&progress.steady) {
        // The next run begins again.
        std::fs::remove_file(file(root)).context("flake-progress.txt")?;
    }
    Ok(())
}

/// What all runs have found since the last one that was complete.
#[derive(Default)]
struct FlakeProgress {
    /// Tests that passed every round of their last run.
    steady: BTreeSet<String>,
    /// Tests that failed in a round of any run.
    failed: BTreeSet<String>,
}

impl FlakeProgress {
    fn load(root: &Path) -> Self {
        Self::read(&std::fs::read_to_string(file(root)).unwrap_or_default())
    }

    /// One test on each line, with what is known of it.
    fn read(text: &str) -> Self {
        let mut progress = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("steady", name)) => progress.steady.insert(name.to_owned()),
                Some(("failed", name)) => progress.failed.insert(name.to_owned()),
                _ => false,
            };
        }
        progress
    }

    fn text(&self) -> String {
        let steady = self.steady.iter().map(|name| format!("steady: {name}\n"));
        steady.chain(self.failed.iter().map(|name| format!("failed: {name}\n"))).collect()
    }

    fn save(&self, root: &Path) {
        if let Err(error) = std::fs::write(file(root), self.text()) {
            println!("   the list of finished tests could not be written: {error}");
        }
    }

    fn is_unsteady(&self, name: &str) -> bool {
        self.failed.contains(name) && !self.steady.contains(name)
    }

    /// Adds the rounds of one test.
    fn add(&mut self, name: String, has_failed: bool) {
        if has_failed {
            self.steady.remove(&name);
            self.failed.insert(name);
        } else {
            self.steady.insert(name);
        }
    }

    /// The row for tests of these names.
    fn result(&self, names: &BTreeSet<String>) -> String {
        let count = |wanted: &dyn Fn(&String) -> bool| names.iter().filter(|name| wanted(name)).count();
        let unsteady = count(&|name| self.is_unsteady(name));
        let earlier = count(&|name| self.failed.contains(name)) - unsteady;
        let done = count(&|name| self.steady.contains(name)) + unsteady;
        let tests = if done == names.len() {
            format!("{done} tests")
        } else {
            format!("{done} of {} tests so far", names.len())
        };
        let mended = if earlier == 0 { String::new() } else { format!(", {earlier} failed in an earlier run only") };
        format!("{tests}, {ROUNDS} rounds beside {BUSY_LOOPS} busy loops: {unsteady} unsteady{mended}")
    }
}

/// Repeats the tests that are not known to be steady, those that failed before first.
fn repeat(root: &Path, built: &Built, cases: &[TestCase], progress: &mut FlakeProgress, limit: Option<Duration>) {
    let full_name = |case: &TestCase| super::name(&built.tests, case);
    let mut open: Vec<&TestCase> = cases.iter().filter(|case| !progress.steady.contains(&full_name(case))).collect();
    open.sort_by_key(|case| !progress.failed.contains(&full_name(case)));
    let earlier = cases.len() - open.len();
    println!(
        "{} tests, {earlier} of them done by an earlier run, {ROUNDS} rounds, {BUSY_LOOPS} busy loops",
        cases.len()
    );
    let queue = TestQueue {
        binaries: &built.tests,
        env: BTreeMap::new(),
        workers: super::workers(),
        limit: queue::TEST_TIMEOUT,
    };
    let started = Instant::now();
    for (number, batch) in open.chunks(BATCH).enumerate() {
        if limit.is_some_and(|limit| started.elapsed() >= limit) {
            break;
        }
        let repeated: Vec<TestCase> =
            batch.iter().flat_map(|case| std::iter::repeat_n((*case).clone(), ROUNDS)).collect();
        let runs = queue.run(&repeated, |_, run| {
            if !run.passed {
                println!("   FAILED {}\n{}", run.name, run.output);
            }
        });
        for case in batch {
            let has_failed = runs.iter().any(|run| run.case == **case && !run.passed);
            progress.add(full_name(case), has_failed);
        }
        progress.save(root);
        println!("   {} of {}", number * BATCH + batch.len(), open.len());
    }
}

/// Runs `work` while threads of this process keep the cores busy.
fn beside_busy_loops(work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        work();
        stop.store(true, Ordering::Relaxed);
    });
}

fn file(root: &Path) -> PathBuf {
    crate::steps::target_folder(root).join("flake-progress.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_results() {
        let limit = Some(Duration::from_mins(9));
        let options = Options::parse(&["cli hosts", "--minutes", "9"]).unwrap();
        assert_eq!(options, Options { filter: Some("cli hosts"), limit, only_build: false });
        assert!(Options::parse(&["--build"]).unwrap().only_build);
        assert!(Options::parse(&["--minutes"]).is_err() && Options::parse(&["--hours"]).is_err());
    }

    #[test]
    fn a_failure_is_not_forgotten() {
        let names: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        let mut progress = FlakeProgress::default();
        progress.add("a".into(), false);
        progress.add("b".into(), true);
        let rounds = "20 rounds beside 4 busy loops";
        assert_eq!(progress.result(&names), format!("2 of 3 tests so far, {rounds}: 1 unsteady"));
        let mut progress = FlakeProgress::read(&progress.text());
        progress.add("b".into(), false);
        progress.add("c".into(), false);
        assert_eq!(progress.result(&names), format!("3 tests, {rounds}: 0 unsteady, 1 failed in an earlier run only"));
    }
}
