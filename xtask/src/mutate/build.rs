//! Builds a copy of the tree with all mutants of a sample. A mutant that does not compile is left out, and the copy is
//! built again.

use super::edits::{self, Edit};
use super::find::Mutant;
use super::sample::Area;
use crate::steps::{cargo_program, target_folder};
use crate::test::build::{Built, TestBinary};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The variable that holds the number of the mutant to switch on.
pub(super) const ACTIVE: &str = "GIMLET_MUTANT";
/// The variable that names a file: the numbers of all mutants that were reached are added to it.
pub(super) const REACHED: &str = "GIMLET_MUTANTS_REACHED";

/// The arguments that select the tests of the binary. The whole workspace, so that packages of others are built with
/// the features that the test command builds them with.
const TESTS_OF_BINARY: &[&str] = &["--workspace", "--test", "security", "--test", "conversation"];

/// The code that is added to each mutated crate.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(warnings, clippy::all, clippy::pedantic)]
pub mod mutant_switch {
    use std::io::Write;
    use std::sync::{LazyLock, Mutex};
    static ACTIVE: LazyLock<Option<usize>> = LazyLock::new(|| std::env::var("GIMLET_MUTANT").ok()?.parse().ok());
    static REACHED: LazyLock<Option<Mutex<(std::collections::BTreeSet<usize>, std::fs::File)>>> = LazyLock::new(|| {
        let path = std::env::var_os("GIMLET_MUTANTS_REACHED")?;
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path).ok()?;
        Some(Mutex::new((Default::default(), file)))
    });
    #[inline(never)]
    pub fn is_on(number: usize) -> bool {
        if let Some(reached) = &*REACHED {
            let mut reached = reached.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if reached.0.insert(number) {
                let _ = writeln!(reached.1, "{number}");
            }
        }
        *ACTIVE == Some(number)
    }
}
"#;

/// The test executables of the copy, and the numbers of the mutants in them.
pub(super) struct MutantBuild {
    pub(super) tests: Vec<TestBinary>,
    pub(super) compiled: BTreeSet<usize>,
}

/// Builds `tree` with `mutants`, whose numbers are their positions, and the tests of the binary too if `with_binary`.
pub(super) fn build(
    root: &Path,
    tree: &Tree,
    areas: &[&Area],
    mutants: &[Mutant],
    with_binary: bool,
) -> Result<MutantBuild> {
    let folder = target_folder(root).join("mutate").join("tree");
    let mut compiled: BTreeSet<usize> = (0..mutants.len()).collect();
    loop {
        mutated(tree, areas, mutants, &compiled)?.write(&folder)?;
        let output = compile(root, &folder, &own_tests(areas))?;
        if output.succeeded {
            let mut tests = output.built.tests;
            if with_binary {
                let output = compile(root, &folder, TESTS_OF_BINARY)?;
                ensure!(output.succeeded, "the tests of the binary do not compile:\n{}", output.text);
                tests.extend(output.built.tests);
            }
            return Ok(MutantBuild { tests, compiled });
        }
        let blamed: BTreeSet<usize> = compiled
            .iter()
            .copied()
            .filter(|number| output.errors.iter().any(|error| error.is_in(&mutants[*number])))
            .collect();
        ensure!(!blamed.is_empty(), "the copy does not compile, and no mutant is at fault:\n{}", output.text);
        println!("   {} mutants do not compile and are left out", blamed.len());
        compiled.retain(|number| !blamed.contains(number));
    }
}

/// The tree with the mutants of `numbers` and their switch.
fn mutated(tree: &Tree, areas: &[&Area], mutants: &[Mutant], numbers: &BTreeSet<usize>) -> Result<Tree> {
    let mut by_file: BTreeMap<&str, Vec<Edit>> = BTreeMap::new();
    for number in numbers {
        let mutant = &mutants[*number];
        by_file.entry(&mutant.file).or_default().extend(mutant.edits(*number));
    }
    let mut copy = Tree(tree.0.clone());
    for (file, edits) in by_file {
        let content = copy.0.get_mut(file).with_context(|| format!("there is no {file}"))?;
        *content = edits::apply(std::str::from_utf8(content)?, edits).into_bytes();
    }
    let roots: BTreeSet<&str> = areas.iter().map(|area| area.crate_root).collect();
    for file in roots {
        copy.0.get_mut(file).with_context(|| format!("there is no {file}"))?.extend_from_slice(SWITCH.as_bytes());
    }
    Ok(copy)
}

#[derive(Default)]
struct CompilerOutput {
    succeeded: bool,
    built: Built,
    errors: Vec<ErrorPlace>,
    text: String,
}

/// The lines of one compiler error.
struct ErrorPlace {
    file: String,
    first: usize,
    last: usize,
}

impl ErrorPlace {
    fn is_in(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.first <= mutant.last_line && self.last >= mutant.first_line
    }
}

/// The arguments that select the tests of the mutated crates.
fn own_tests<'a>(areas: &[&'a Area]) -> Vec<&'a str> {
    let packages: BTreeSet<&str> = areas.iter().map(|area| area.package).collect();
    packages.into_iter().flat_map(|package| ["-p", package]).collect()
}

fn compile(root: &Path, folder: &Path, selection: &[&str]) -> Result<CompilerOutput> {
    let mut command = Command::new(cargo_program());
    command.args(["test", "--no-run", "--offline", "--quiet", "--message-format=json"]).args(selection);
    command.env("CARGO_TARGET_DIR", target_folder(root)).env("CARGO_PROFILE_DEV_DEBUG", "0");
    let output = command.current_dir(folder).output().context("cargo test --no-run")?;
    let mut found = CompilerOutput { succeeded: output.status.success(), ..CompilerOutput::default() };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if message["reason"] == "compiler-artifact" {
            found.built.note(&message);
        } else if message["message"]["level"] == "error" {
            found.text.push_str(message["message"]["rendered"].as_str().unwrap_or_default());
            found.errors.extend(places(&message["message"]));
        }
    }
    if !found.succeeded && found.text.is_empty() {
        bail!("cargo: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(found)
}

fn places(error: &Value) -> Vec<ErrorPlace> {
    let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let primary = spans.iter().filter(|span| span["is_primary"] == true);
    let line = |span: &Value, name: &str| span[name].as_u64().unwrap_or_default() as usize;
    primary
        .map(|span| ErrorPlace {
            file: span["file_name"].as_str().unwrap_or_default().to_owned(),
            first: line(span, "line_start"),
            last: line(span, "line_end"),
        })
        .collect()
}
