//! `cargo xtask fuzz [NAME]`: builds the fuzz targets with coverage counters and runs them with libFuzzer. Neither needs
//! another compiler than the one of the repository. Time and executions of all pieces add up in `docs/testing.md`; inputs
//! worth keeping go to `fuzz/corpus`, one on each line, which the tests of the crates run too. `--endless` runs what is
//! built without touching the tree, so it can stay in the background for hours; `--record` adds its pieces to the table.

mod pieces;
mod target;

use crate::steps::{cargo_program, target_folder};
use anyhow::{Context, Result, bail, ensure};
use pieces::PieceFile;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use target::FuzzTarget;

const MINUTES: u64 = 2;
/// Coverage counters at every edge and comparison; the code for `cfg(fuzzing)`.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// An endless run passes over a target with this many findings, which would end each piece at once.
const MOST_FINDINGS: usize = 10;
const SYNTAX: &str = "fuzz [NAME] [--minutes N] [--folder FOLDER] [--build | --endless | --record]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Builds, runs one piece of each target and records it.
    Once,
    Build,
    /// Runs what is built, one target after the other, until it is stopped; the pieces are kept in a file.
    Endless,
    /// Adds the pieces of an endless run to the table.
    Record,
}

#[derive(Debug)]
struct Options<'a> {
    minutes: u64,
    name: Option<&'a str>,
    mode: Mode,
    /// For programs, inputs, findings and pieces.
    folder: PathBuf,
}

impl<'a> Options<'a> {
    fn parse(root: &Path, words: &[&'a str]) -> Result<Self> {
        let mut options =
            Self { minutes: MINUTES, name: None, mode: Mode::Once, folder: target_folder(root).join("fuzz") };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--minutes" => {
                    let number = rest.next().and_then(|text| text.parse().ok()).filter(|minutes| *minutes > 0);
                    options.minutes = number.context("--minutes needs a number above 0")?;
                }
                "--folder" => options.folder = std::path::absolute(rest.next().context("--folder needs a folder")?)?,
                "--build" => options.mode = Mode::Build,
                "--endless" => options.mode = Mode::Endless,
                "--record" => options.mode = Mode::Record,
                name if !name.starts_with('-') => options.name = Some(name),
                other => bail!("unknown option {other} ({SYNTAX})"),
            }
        }
        Ok(options)
    }

    fn target(&self, root: &Path, name: &str) -> FuzzTarget {
        FuzzTarget::new(root, &self.folder, name)
    }
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let options = Options::parse(root, words)?;
    match options.mode {
        Mode::Once => once(root, &options),
        Mode::Build => {
            let programs = build(root, &options)?;
            println!("   {}", programs.display());
            Ok(())
        }
        Mode::Endless => endless(root, &options),
        Mode::Record => record(root, &options),
    }
}

/// Builds, runs one piece of each target, keeps the useful inputs and records the result.
fn once(root: &Path, options: &Options<'_>) -> Result<()> {
    let targets = chosen(&sources(root)?, options.name)?;
    let programs = build(root, options)?;
    let mut findings = Vec::new();
    for name in &targets {
        let target = options.target(root, name);
        let piece = target.run(&programs, options.minutes)?;
        target.keep(&programs)?;
        if piece.open_findings > 0 {
            findings.push(name.as_str());
        }
        pieces::record(root, &[piece])?;
    }
    ensure!(findings.is_empty(), "findings in {}", findings.join(", "));
    Ok(())
}

fn endless(root: &Path, options: &Options<'_>) -> Result<()> {
    let folder = programs_folder(&options.folder)?;
    let targets = chosen(&programs(&folder)?, options.name)?;
    let file = PieceFile::new(&options.folder);
    loop {
        let mut has_run = false;
        for name in &targets {
            let target = options.target(root, name);
            if target.open_findings() < MOST_FINDINGS {
                file.append(&target.run(&folder, options.minutes)?)?;
                has_run = true;
            }
        }
        ensure!(has_run, "every target has {MOST_FINDINGS} findings or more");
    }
}

fn record(root: &Path, options: &Options<'_>) -> Result<()> {
    let file = PieceFile::new(&options.folder);
    let pieces = file.take()?;
    ensure!(!pieces.is_empty(), "no piece has ended since the last record in {}", options.folder.display());
    pieces::record(root, &pieces)?;
    file.forget()?;
    let mut names: Vec<&str> = pieces.iter().map(|piece| piece.target.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let programs = programs_folder(&options.folder)?;
    names.into_iter().try_for_each(|name| options.target(root, name).keep(&programs))
}

fn chosen(all: &[String], only: Option<&str>) -> Result<Vec<String>> {
    let chosen: Vec<String> = all.iter().filter(|name| only.is_none_or(|only| only == *name)).cloned().collect();
    ensure!(!chosen.is_empty(), "there is no fuzz target of that name; there are: {}", all.join(", "));
    Ok(chosen)
}

/// The targets of the tree.
fn sources(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).context("fuzz/fuzz_targets")? {
        all.extend(entry?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    all.sort();
    Ok(all)
}

/// The targets that are built.
fn programs(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.with_context(|| format!("{}: run `cargo xtask fuzz --build` first", folder.display()))?;
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && about.permissions().mode() & 0o111 != 0 {
            all.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    all.sort();
    Ok(all)
}

fn programs_folder(folder: &Path) -> Result<PathBuf> {
    Ok(folder.join(host_triple()?).join("release"))
}

/// Builds the targets; returns the folder of the programs. A target triple keeps the counters out of build scripts.
fn build(root: &Path, options: &Options<'_>) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &host_triple()?]);
    match options.name {
        Some(name) => command.args(["--bin", name]),
        None => command.arg("--bins"),
    };
    crate::steps::run(command.env("CARGO_TARGET_DIR", &options.folder).env("RUSTFLAGS", FLAGS).current_dir(root))?;
    programs_folder(&options.folder)
}

fn host_triple() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let root = Path::new("/r");
        let options = Options::parse(root, &["--minutes", "5", "sse", "--folder", "/f", "--endless"]).unwrap();
        assert_eq!((options.minutes, options.name, options.mode), (5, Some("sse"), Mode::Endless));
        assert_eq!(options.folder, Path::new("/f"));
        assert_eq!(Options::parse(root, &[]).unwrap().mode, Mode::Once);
        for wrong in [&["--minutes", "0"][..], &["--minutes"], &["--folder"], &["--forever"]] {
            assert!(Options::parse(root, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn programs_are_the_executable_files() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("b", 0o755), ("a", 0o755), ("a.d", 0o644), (".lock", 0o644)] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(folder.path().join("deps")).unwrap();
        assert_eq!(programs(folder.path()).unwrap(), ["a", "b"]);
    }

    /// Every source of a target is declared in the manifest, or it would never be built.
    #[test]
    fn every_target_is_in_the_manifest() {
        let root = crate::root();
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let targets = sources(&root).unwrap();
        for name in &targets {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        }
        assert!(targets.iter().any(|name| name == "websocket") && targets.iter().any(|name| name == "filter"));
    }
}
