//! `cargo xtask eval`: how well a model gets on with the texts it is sent. Runs tasks with hidden checks against a
//! stand-in that slips, an endpoint, or recorded conversations. `docs/model-experience.md` describes it.

mod baseline;
mod budgets;
mod measure;
mod options;
mod place;
mod probe;
mod report;
mod run;
mod slip_list;
mod stats;
mod task;
mod texts;
mod toml;

use crate::clients::executable;
use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use options::{BackendKind, HELP, Job, Options};
use report::{percent, print_costly, print_slips, print_tasks, slip_rows};
use run::{Backend, Finished};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use task::Task;
use testkit::clumsy::Clumsiness;

pub(crate) use baseline::gate;

/// Seeds of the table that is recorded.
const SEEDS: u64 = 5;

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    if words.contains(&"--help") {
        println!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(words)?;
    if options.job == Job::Texts {
        return texts::print(root);
    }
    let binary = options.binary.clone().map_or_else(|| build(root), Ok)?;
    match options.job {
        Job::Budgets => budgets::check(root, &binary, options.against.as_deref()),
        Job::Slips => slip_list::print(&binary),
        Job::Gate => gate(root, &binary),
        Job::Tasks | Job::Texts => tasks(root, &binary, &options),
    }
}

fn tasks(root: &Path, binary: &Path, options: &Options) -> Result<()> {
    let mut tasks = task::load(root, options.tasks.as_deref())?;
    for task in &mut tasks {
        task.keep = options.keep;
    }
    let runs = options.runs.unwrap_or(if options.backend == BackendKind::Clumsy { SEEDS } else { 1 });
    let mut binaries = vec![binary];
    binaries.extend(options.against.as_deref());
    // Interleaved: a change of the machine or of the endpoint falls on both.
    let mut jobs = Vec::new();
    for seed in options.seed..options.seed + runs {
        for task in &tasks {
            jobs.extend((0..binaries.len()).map(|which| (which, task, seed)));
        }
    }
    let finished = run_all(&jobs, &binaries, |seed| backend(options, seed))?;
    let mut sides: Vec<Vec<Finished>> = binaries.iter().map(|_| Vec::new()).collect();
    for ((which, ..), run) in jobs.iter().zip(finished) {
        sides[*which].push(run);
    }
    for (binary, runs) in binaries.iter().zip(&sides) {
        println!("\n== {}", binary.display());
        show(runs, options);
    }
    if let [one, other] = &sides[..] {
        compare(one, other);
    }
    if let (Some(file), Some(runs)) = (&options.json, sides.first()) {
        baseline::write(file, binary, runs, runs.len() > tasks.len())?;
    }
    Ok(())
}

fn backend(options: &Options, seed: u64) -> Backend {
    match options.backend {
        BackendKind::Clumsy => Backend::Clumsy(Clumsiness { seed, percent: options.slip_rate }),
        BackendKind::Live => Backend::Live {
            url: options.url.clone(),
            key: options.key_variable.clone(),
            model: options.model.clone(),
            record: options.record.clone(),
        },
        BackendKind::Replay => Backend::Replay(options.cassettes.clone()),
    }
}

/// Runs the jobs on all cores; the results are in the order of the jobs.
fn run_all(
    jobs: &[(usize, &Task, u64)],
    binaries: &[&Path],
    backend: impl Fn(u64) -> Backend + Sync,
) -> Result<Vec<Finished>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Finished>)>> = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((which, task, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let at =
                        jobs.iter().position(|job| std::ptr::eq(job.1, *task) && job.0 == *which && job.2 == *seed);
                    let ran = run::run(task, binaries[*which], &backend(*seed)).with_context(|| task.name.clone());
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at.unwrap_or_default(), ran));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, ran)| ran).collect()
}

fn show(runs: &[Finished], options: &Options) {
    let (changed, same): (Vec<&Finished>, Vec<&Finished>) = runs.iter().partition(|run| run.changed.is_some());
    print_tasks(runs);
    if options.backend == BackendKind::Clumsy {
        print_slips(&slip_rows(runs));
        if options.verbose {
            print_costly(runs);
        }
        return;
    }
    let passed = same.iter().filter(|run| run.passed).count() as u64;
    let (low, high) = stats::interval(passed, same.len() as u64);
    if same.is_empty() {
        println!("no run counts");
    } else {
        println!("success {:.1} % (90 % interval {low:.1} to {high:.1})", percent(passed, same.len() as u64));
    }
    for run in changed {
        println!("prompt changed: {}: {}", run.task, run.changed.as_deref().unwrap_or_default());
    }
}

/// The two binaries on the same tasks and seeds.
fn compare(one: &[Finished], other: &[Finished]) {
    let pairs = || one.iter().zip(other).filter(|(a, b)| a.changed.is_none() && b.changed.is_none());
    let only_one = pairs().filter(|(a, b)| a.passed && !b.passed).count() as u64;
    let only_other = pairs().filter(|(a, b)| !a.passed && b.passed).count() as u64;
    println!("\n== comparison of {} pairs", pairs().count());
    println!(
        "only the first passed: {only_one}; only the second: {only_other}; p = {:.3}",
        stats::paired_test(only_one, only_other)
    );
    if one.iter().all(|run| run.slips.is_empty()) {
        return;
    }
    let bodies = |runs: &[Finished]| runs.iter().map(|run| run.measures.body_bytes()).sum::<u64>();
    println!("sum of bodies: {} and {} bytes", bodies(one), bodies(other));
    let (a, b) = (report::total(&slip_rows(one)), report::total(&slip_rows(other)));
    println!(
        "recovered with at most one further call: {:.1} % and {:.1} %; dead ends {} and {}",
        a.recovered_at_1(),
        b.recovered_at_1(),
        a.never,
        b.never
    );
}

fn build(root: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args(["build", "--release", "--package", "gimlet-cli", "--message-format", "json-render-diagnostics"]);
    let output = command.current_dir(root).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("gimlet does not build");
    }
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}
