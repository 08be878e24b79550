//! `cargo xtask flake [TEXT]`: repeats every test that starts processes, sockets or terminals while busy loops run.
//! Tests that were repeated without a failure are recorded below `target`, so an interrupted run can continue. The
//! result is a row in `docs/testing.md`.

use super::build;
use super::queue::{self, TestCase, TestQueue};
use crate::record;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: usize = 20;
const BUSY_LOOPS: usize = 4;
/// Crates whose tests use more than memory and files.
const CRATES: [&str; 7] = ["cli ", "tools ", "sys ", "mcp ", "http ", "model ", "testkit "];
/// The list of finished tests is written after this many tests.
const BATCH: usize = 16;

pub(crate) fn flake(root: &Path, filter: Option<&str>) -> Result<()> {
    let built = build::build(root, &[])?;
    let list = queue::list(&built.tests, filter)?;
    let full_name = |case: &TestCase| super::name(&built.tests, case);
    let concerned = |case: &TestCase| CRATES.iter().any(|name| full_name(case).starts_with(name));
    let cases: Vec<TestCase> = list.cases.into_iter().filter(concerned).collect();
    let mut steady = load(root);
    let open: Vec<TestCase> = cases.iter().filter(|case| !steady.contains(&full_name(case))).cloned().collect();
    println!(
        "{} tests, {} of them done by an earlier run, {ROUNDS} rounds, {BUSY_LOOPS} busy loops",
        cases.len(),
        cases.len() - open.len()
    );
    let queue = TestQueue {
        binaries: &built.tests,
        env: BTreeMap::new(),
        workers: super::workers(),
        limit: queue::TEST_TIMEOUT,
    };
    let mut failed: BTreeMap<String, usize> = BTreeMap::new();
    beside_busy_loops(|| {
        for (number, batch) in open.chunks(BATCH).enumerate() {
            let repeated: Vec<TestCase> =
                batch.iter().flat_map(|case| std::iter::repeat_n(case.clone(), ROUNDS)).collect();
            let runs = queue.run(&repeated, |_, run| {
                if !run.passed {
                    println!("   FAILED {}\n{}", run.name, run.output);
                }
            });
            for run in &runs {
                *failed.entry(run.name.clone()).or_default() += usize::from(!run.passed);
            }
            steady.extend(batch.iter().map(full_name).filter(|name| failed.get(name) == Some(&0)));
            save(root, &steady);
            println!("   {} of {}", (number + 1) * BATCH, open.len());
        }
    });
    failed.retain(|_, count| *count > 0);
    for (name, count) in &failed {
        println!("   {count} of {ROUNDS} failed: {name}");
    }
    let result =
        format!("{} tests, {ROUNDS} rounds beside {BUSY_LOOPS} busy loops: {} unsteady", cases.len(), failed.len());
    record::row(root, "flake", filter.unwrap_or("all"), &result)?;
    if !failed.is_empty() {
        bail!("{} unsteady tests", failed.len());
    }
    Ok(())
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
    crate::steps::target_folder(root).join("flake-steady.txt")
}

fn load(root: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file(root)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn save(root: &Path, steady: &BTreeSet<String>) {
    let text: String = steady.iter().flat_map(|name| [name, "\n"]).collect();
    if let Err(error) = std::fs::write(file(root), text) {
        println!("   the list of finished tests could not be written: {error}");
    }
}
