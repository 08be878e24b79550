//! `cargo xtask mutate [--sample N] [--seed S] [--own-tests] [NAME]`: changes deciding functions one by one and runs the tests that
//! reach the change. All mutants of a sample are compiled into one copy of the tree, each behind a switch. Results are
//! kept below `target`, so an interrupted run continues. A mutant that no test notices is an open question, until a
//! test kills it or the table in `docs/testing.md` says why it may live. `--own-tests` leaves out the tests of the
//! binary, which take long to build; the result is recorded only when it leaves nothing open.

mod build;
mod edits;
mod find;
mod results;
mod sample;

use crate::record;
use crate::steps::target_folder;
use crate::test::queue::{self, TestCase, TestQueue};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use build::MutantBuild;
use find::Mutant;
use results::{Outcome, Results};
use sample::Area;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

const SAMPLE: usize = 300;
const SEED: u64 = 1;
/// A test that a mutant makes slower than this many times its usual duration, and [`MORE`], has noticed it.
const SLOWER: u32 = 10;
const MORE: Duration = Duration::from_secs(20);

struct Options<'a> {
    sample: usize,
    seed: u64,
    area: Option<&'a str>,
    /// Without the tests of the binary.
    own_tests: bool,
}

impl<'a> Options<'a> {
    fn parse(words: &[&'a str]) -> Result<Self> {
        let mut options = Self { sample: SAMPLE, seed: SEED, area: None, own_tests: false };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut number = || rest.next().and_then(|text| text.parse::<u64>().ok()).context("a number is missing");
            match *word {
                "--sample" => options.sample = number()? as usize,
                "--seed" => options.seed = number()?,
                "--own-tests" => options.own_tests = true,
                name if !name.starts_with('-') => options.area = Some(name),
                other => bail!("unknown option {other} (mutate [--sample N] [--seed S] [--own-tests] [NAME])"),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let areas = sample::areas(options.area)?;
    let tree = Tree::read(root)?;
    let mutants = sample::sample(&tree, &areas, options.sample, options.seed)?;
    let folder = target_folder(root).join("mutate");
    std::fs::create_dir_all(folder.join("tmp"))?;
    let with_binary = !options.own_tests && areas.iter().any(|area| !area.tests_of_binary.is_empty());
    let built = build::build(root, &tree, &areas, &mutants, with_binary)?;
    let tests = reaching_tests(&built, &folder, &areas)?;
    let mut results = Results::open(&folder.join("results.txt"), &built)?;
    for number in &built.compiled {
        let mutant = &mutants[*number];
        if results.has(&mutant.key) {
            continue;
        }
        let outcome = outcome(&built, &folder, *number, tests.get(number).map(Vec::as_slice).unwrap_or_default());
        println!("   {:>4} of {}  {outcome}  {}", number + 1, mutants.len(), mutant.key);
        results.add(&mutant.key, &outcome)?;
    }
    report(root, &options, &built, &mutants, &results)
}

/// A test and how long it takes when no mutant is on.
struct ReachingTest {
    case: TestCase,
    took: Duration,
}

fn queue<'a>(built: &'a MutantBuild, folder: &Path, more: (&str, String), limit: Duration) -> TestQueue<'a> {
    let variable = (more.0.to_owned(), more.1);
    let tmp = ("TMPDIR".to_owned(), folder.join("tmp").display().to_string());
    TestQueue { binaries: &built.tests, env: BTreeMap::from([variable, tmp]), workers: 1, limit }
}

/// Runs every test once and notes which mutants it reaches; quick tests come first.
fn reaching_tests(built: &MutantBuild, folder: &Path, areas: &[&Area]) -> Result<BTreeMap<usize, Vec<ReachingTest>>> {
    let mut cases = queue::list(&built.tests, None)?.cases;
    cases.retain(|case| {
        let binary = &built.tests[case.binary].name;
        let name = format!("{binary} {}", case.function);
        let chosen = areas.iter().flat_map(|area| area.tests_of_binary);
        !binary.starts_with("cli ") || chosen.into_iter().any(|prefix| name.starts_with(prefix))
    });
    println!("   {} mutants, {} tests", built.compiled.len(), cases.len());
    let mut reaching: BTreeMap<usize, Vec<ReachingTest>> = BTreeMap::new();
    for case in cases {
        let file = folder.join("reached.txt");
        std::fs::write(&file, "")?;
        let queue = queue(built, folder, (build::REACHED, file.display().to_string()), queue::TEST_TIMEOUT);
        let run = queue.run_one(&case);
        if !run.passed {
            println!("   fails without a mutant, and is left out: {}", run.name);
            continue;
        }
        for line in std::fs::read_to_string(&file)?.lines() {
            let test = ReachingTest { case: case.clone(), took: run.took };
            reaching.entry(line.parse().context("the number of a mutant")?).or_default().push(test);
        }
    }
    for tests in reaching.values_mut() {
        tests.sort_by_key(|test| test.took);
    }
    Ok(reaching)
}

/// Runs the tests that reach a mutant until one notices it.
fn outcome(built: &MutantBuild, folder: &Path, number: usize, tests: &[ReachingTest]) -> Outcome {
    for test in tests {
        let limit = test.took * SLOWER + MORE;
        let run = queue(built, folder, (build::ACTIVE, number.to_string()), limit).run_one(&test.case);
        if !run.passed {
            clean(&folder.join("tmp"));
            return if run.took >= limit { Outcome::TimedOut(run.name) } else { Outcome::Killed(run.name) };
        }
    }
    if tests.is_empty() { Outcome::Unreached } else { Outcome::Survived }
}

/// Removes what tests that were killed have left. What cannot be removed only takes space.
fn clean(tmp: &Path) {
    std::fs::remove_dir_all(tmp).ok();
    std::fs::create_dir_all(tmp).ok();
}

fn report(
    root: &Path,
    options: &Options<'_>,
    built: &MutantBuild,
    mutants: &[Mutant],
    results: &Results,
) -> Result<()> {
    let reasons = results::reasons(root)?;
    let (mut noticed, mut explained, mut open) = (0, 0, BTreeSet::new());
    for number in &built.compiled {
        let key = &mutants[*number].key;
        if results.is_noticed(key) {
            noticed += 1;
        } else if reasons.contains_key(key) {
            explained += 1;
        } else {
            open.insert(key);
        }
    }
    for key in &open {
        println!("   SURVIVED {key}");
    }
    let all = noticed + explained + open.len();
    let result = format!(
        "{all} mutants (seed {}): {noticed} noticed by tests, {explained} live with a reason, {} open",
        options.seed,
        open.len()
    );
    if options.own_tests && !open.is_empty() {
        println!("   {result}");
    } else {
        record::row(root, "mutate", options.area.unwrap_or("all"), &result)?;
    }
    if !open.is_empty() {
        bail!("{} mutants are noticed by no test", open.len());
    }
    Ok(())
}
