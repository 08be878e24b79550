//! `cargo xtask test --long [NAME]`: the full counts of tests that the test command runs in a short form. A form is
//! cut into pieces, each with a seed; an interrupted run continues at its first unfinished piece. The result is a
//! row in `docs/testing.md`.

use super::build;
use super::queue::{self, TestQueue};
use crate::record;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One test whose size is set by the environment.
struct LongForm {
    name: &'static str,
    package: &'static str,
    /// Part of the full name of the test, as the queue prints it.
    test: &'static str,
    /// Samples in total, and per piece. Both are equal when the test cannot be divided.
    samples: usize,
    piece: usize,
    /// Built in the release profile, because memory is measured.
    release: bool,
    /// How long a piece may take.
    limit: Duration,
}

const FORMS: &[LongForm] = &[
    LongForm::sampled("reads", "gimlet-cli", "generators::random_reads", 10_000),
    LongForm::sampled("writes", "gimlet-cli", "generators::random_options", 5_000),
    LongForm::sampled("removals", "gimlet-cli", "generators::random_removals", 5_000),
    LongForm::sampled("wrappers", "gimlet-permission", "wrappers::no_wrapper_starts", 5_000),
    LongForm::sampled("flag order", "gimlet-permission", "wrappers::the_order_of_flags", 5_000),
    // Each sample is a command in four folders, judged with and without rules.
    LongForm::sampled("silent forms", "gimlet-cli", "silent_forms::random_silent", 3_000),
    LongForm { piece: 10_000, ..LongForm::sampled("edit forms", "gimlet-tools", "edit_forms::random_edits", 100_000) },
    LongForm {
        name: SOAK,
        package: "gimlet-cli",
        test: "soak::",
        samples: 10_000,
        piece: 10_000,
        release: true,
        limit: Duration::from_hours(2),
    },
];

/// The test with many turns in one session.
const SOAK: &str = "soak";

impl LongForm {
    const fn sampled(name: &'static str, package: &'static str, test: &'static str, samples: usize) -> Self {
        Self { name, package, test, samples, piece: 500, release: false, limit: queue::TEST_TIMEOUT }
    }

    fn pieces(&self) -> usize {
        self.samples.div_ceil(self.piece)
    }
}

pub(crate) fn long(root: &Path, only: Option<&str>) -> Result<()> {
    let chosen: Vec<&LongForm> = FORMS.iter().filter(|form| only.is_none_or(|name| form.name == name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
        bail!("there is no long form of that name; there are: {}", names.join(", "));
    }
    for form in chosen {
        run_form(root, form).with_context(|| format!("long form '{}'", form.name))?;
    }
    Ok(())
}

/// `cargo xtask soak [--turns N]`: one session of many turns in the release build. Only the full count is recorded.
pub(crate) fn soak(root: &Path, turns: Option<usize>) -> Result<()> {
    let form = FORMS.iter().find(|form| form.name == SOAK).context("there is no soak test")?;
    let Some(turns) = turns else { return run_form(root, form) };
    let built = build::build_profile(root, &[form.package.to_owned()], form.release)?;
    let list = queue::list(&built.tests, Some(form.test))?;
    let env = BTreeMap::from([("GIMLET_SAMPLES".to_owned(), turns.to_string())]);
    let queue = TestQueue { binaries: &built.tests, env, workers: 1, limit: form.limit };
    for run in queue.run(&list.cases, |_, _| {}) {
        println!("   {:.0} s\n{}", run.took.as_secs_f64(), run.output);
        if !run.passed {
            bail!("the soak of {turns} turns failed");
        }
    }
    Ok(())
}

fn run_form(root: &Path, form: &LongForm) -> Result<()> {
    println!("== {}: {} samples in {} pieces", form.name, form.samples, form.pieces());
    let built = build::build_profile(root, &[form.package.to_owned()], form.release)?;
    let list = queue::list(&built.tests, Some(form.test))?;
    let [case] = &list.cases[..] else { bail!("'{}' names {} tests, not one", form.test, list.cases.len()) };
    for piece in finished(root, form)..form.pieces() {
        let env = [("GIMLET_SAMPLES", form.piece), ("GIMLET_SEED", 20_261_118 + piece)];
        let env: BTreeMap<String, String> = env.iter().map(|(k, v)| ((*k).to_owned(), v.to_string())).collect();
        let queue = TestQueue { binaries: &built.tests, env, workers: 1, limit: form.limit };
        for run in queue.run(std::slice::from_ref(case), |_, _| {}) {
            if !run.passed {
                record::row(root, "long", form.name, &format!("piece {piece} of {} FAILED", form.pieces()))?;
                bail!("piece {piece} failed (GIMLET_SEED={}):\n{}", 20_261_118 + piece, run.output);
            }
            println!("   piece {} of {}: {:.0} s", piece + 1, form.pieces(), run.took.as_secs_f64());
            if form.name == SOAK {
                println!("{}", run.output);
            }
        }
        std::fs::write(progress_file(root, form), (piece + 1).to_string())?;
    }
    std::fs::remove_file(progress_file(root, form))?;
    record::row(root, "long", form.name, &format!("{} samples, no failure", form.samples))
}

/// How many pieces an earlier, interrupted run has finished.
fn finished(root: &Path, form: &LongForm) -> usize {
    let text = std::fs::read_to_string(progress_file(root, form)).unwrap_or_default();
    text.parse().unwrap_or(0)
}

fn progress_file(root: &Path, form: &LongForm) -> PathBuf {
    crate::steps::target_folder(root).join(format!("long-{}", form.name.replace(' ', "-")))
}
