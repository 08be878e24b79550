//! `cargo xtask test`: everything a change must pass, as stages with their times. `docs/testing.md` describes the
//! options.

pub(crate) mod build;
mod changed;
mod flake;
mod leftovers;
mod long;
pub(crate) mod queue;
mod times;

use crate::steps::{self, Stages, cargo_program};
use crate::{clients, deps, eval, ids, settings, supply, walk};
use anyhow::{Result, bail};
use build::{Built, TestBinary};
use queue::{TestCase, TestQueue, TestRun};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub(crate) use flake::flake;
pub(crate) use long::{long, soak};

/// When more tests fail, none is repeated: the change is broken and the cause is not a busy machine.
const MOST_REPEATED: usize = 5;
/// A progress line is printed after this many tests.
const PROGRESS_STEP: usize = 250;
/// How many of the slowest tests are printed.
const SLOWEST_SHOWN: usize = 20;

#[derive(Default)]
struct Options {
    no_clients: bool,
    changed: bool,
    filter: Option<String>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--no-clients" => options.no_clients = true,
                "--changed" => options.changed = true,
                "--only" => options.filter = rest.next().map(|text| (*text).to_owned()),
                other => {
                    bail!("unknown option {other} (test [--no-clients] [--changed] [--only TEXT] | test --long [NAME])")
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let mut stages = Stages::default();
    let done = run_stages(root, &options, &mut stages);
    stages.print();
    done
}

fn run_stages(root: &Path, options: &Options, stages: &mut Stages) -> Result<()> {
    let packages = if options.changed { changed::packages(root)? } else { changed::Packages::All };
    let cargo = |args: &[&str]| steps::run(Command::new(cargo_program()).args(args).current_dir(root));
    stages.stage("format", || cargo(&["fmt", "--all", "--check"]))?;
    stages.stage("crate and module edges", || deps::check(root))?;
    stages.stage("dependencies", || supply::check(root))?;
    stages.stage("checklist items", || ids::check(root))?;
    let Some(packages) = packages.to_build() else {
        println!("no crate has changed");
        return Ok(());
    };
    stages.stage("system packages", || {
        system_packages(root);
        Ok(())
    })?;
    let built = stages.stage("compile and lint", || build::build(root, &packages))?;
    if packages.is_empty() {
        stages.stage("settings keys", || settings::check_messages(root, &built.settings_readers))?;
    }
    stages.stage("rust tests", || rust_tests(root, &built, options.filter.as_deref()))?;
    if packages.is_empty() && options.filter.is_none() {
        if let Some(product) = built.product.as_deref() {
            stages.stage("model experience", || eval::gate(root, product))?;
        }
        stages.stage("documentation", || documentation(root))?;
        stages.stage("first change", || walk::run(root))?;
        if !options.no_clients {
            clients::run(root, built.product.as_deref(), stages)?;
        }
    }
    Ok(())
}

/// Builds the documentation without a warning and runs its examples.
fn documentation(root: &Path) -> Result<()> {
    let cargo = |args: &[&str]| {
        let mut command = Command::new(cargo_program());
        steps::run(command.args(args).env("RUSTDOCFLAGS", "-D warnings").current_dir(root))
    };
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

/// Installs missing system programs where that is possible. Tests that need a missing program report NOT RUN.
fn system_packages(root: &Path) {
    let wanted = [
        ("/usr/bin/bwrap", "bubblewrap"),
        ("/usr/bin/tmux", "tmux"),
        ("/usr/bin/rg", "ripgrep"),
        ("/usr/bin/vim.tiny", "vim-tiny"),
    ];
    let missing: Vec<&str> =
        wanted.iter().filter(|(path, _)| !Path::new(path).exists()).map(|(_, name)| *name).collect();
    if missing.is_empty() || !Path::new("/usr/bin/apt-get").exists() {
        return;
    }
    let install = |args: &[&str]| steps::run(Command::new("apt-get").args(args).args(&missing).current_dir(root));
    let is_installed = install(&["install", "-y", "-q"]).is_ok()
        || (steps::run(Command::new("apt-get").args(["update", "-q"])).is_ok()
            && install(&["install", "-y", "-q"]).is_ok());
    if !is_installed {
        println!("   could not install {}: their tests report NOT RUN", missing.join(", "));
    }
}

/// Runs all tests, repeats the few that failed, and prints a summary.
fn rust_tests(root: &Path, built: &Built, filter: Option<&str>) -> Result<()> {
    let list = queue::list(&built.tests, filter)?;
    let earlier = times::load(root);
    let mut cases = list.cases;
    cases.sort_by_cached_key(|case| {
        std::cmp::Reverse(earlier.get(&name(&built.tests, case)).copied().unwrap_or_default())
    });
    println!("   {} tests in {} executables", cases.len(), built.tests.len());
    let run = leftovers::run_name();
    let env = BTreeMap::from([(leftovers::VARIABLE.to_owned(), run.clone())]);
    let queue = TestQueue { binaries: &built.tests, env, workers: workers(), limit: queue::TEST_TIMEOUT };
    let total = cases.len();
    let runs = queue.run(&cases, |done, run| progress(done, total, run));
    times::save(root, earlier, &runs);
    let repeated = repeat_failed(&queue, &runs);
    summary(&runs, &repeated, list.ignored)?;
    leftovers::check(&run)
}

fn name(binaries: &[TestBinary], case: &TestCase) -> String {
    format!("{} {}", binaries[case.binary].name, case.function)
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

fn progress(done: usize, total: usize, run: &TestRun) {
    if !run.passed {
        println!("\n   FAILED {} ({:.1} s)\n{}", run.name, run.took.as_secs_f64(), run.output.trim_end());
    }
    if done.is_multiple_of(PROGRESS_STEP) {
        println!("   {done} of {total}");
    }
}

/// Runs each failed test once more, alone. The second run is counted and printed: a test that passes then is flaky.
fn repeat_failed(queue: &TestQueue<'_>, runs: &[TestRun]) -> Vec<TestRun> {
    let failed: Vec<TestCase> = runs.iter().filter(|run| !run.passed).map(|run| run.case.clone()).collect();
    if failed.len() > MOST_REPEATED {
        return Vec::new();
    }
    let alone = TestQueue { binaries: queue.binaries, env: queue.env.clone(), workers: 1, limit: queue::TEST_TIMEOUT };
    alone.run(&failed, |_, run| {
        println!("   repeated {}: {}", run.name, if run.passed { "passed" } else { "FAILED again" });
    })
}

fn summary(runs: &[TestRun], repeated: &[TestRun], ignored: usize) -> Result<()> {
    let mut slowest: Vec<&TestRun> = runs.iter().collect();
    slowest.sort_by_key(|run| std::cmp::Reverse(run.took));
    println!("\n   slowest tests");
    for run in slowest.iter().take(SLOWEST_SHOWN) {
        println!("   {:>6.1} s  {}", run.took.as_secs_f64(), run.name);
    }
    let mut not_run: Vec<&str> =
        runs.iter().flat_map(|run| run.output.lines()).filter(|line| line.contains("NOT RUN")).collect();
    not_run.sort_unstable();
    not_run.dedup();
    for line in not_run {
        println!("   {line}");
    }
    let saved = repeated.iter().filter(|run| run.passed).count();
    let failed = runs.iter().filter(|run| !run.passed).count() - saved;
    println!("\n   second runs: {}", repeated.len());
    for run in repeated {
        println!("   UNSTEADY {} ({})", run.name, if run.passed { "passed the second time" } else { "failed twice" });
    }
    println!("{} passed, {failed} failed, {ignored} skipped", runs.len() - failed);
    if failed > 0 {
        bail!("{failed} tests failed");
    }
    Ok(())
}
