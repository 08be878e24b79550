//! What a call may destroy: the paths that would vanish, be overwritten or changed, and the parts of a git repository.
//! Pure and generous: it returns at least every path it can see; a path that is returned but not changed costs one copy. Paths may
//! hold patterns, which the caller expands. What it cannot see (the inside of scripts and build tools) it does not name.

mod git;
mod programs;
mod uncovered;
mod unseen;
mod words;

pub use unseen::unseen_programs;

use crate::access::Access;
use crate::path::normalise;
use crate::shell::reading::CommandReading;
use crate::shell::runners;
use crate::shell::script::{SimpleCommand, UnitJoin};
use crate::shell::suspects::PossibleCommand;
use crate::shell::wrapper::{base_name, may_run_others};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use words::VariableValues;

/// Everything a call may destroy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PossibleLosses {
    pub files: Vec<FileLoss>,
    pub git: Vec<GitLoss>,
    /// Programs that destroy something whose name is only known when they run.
    pub unnamed: Vec<String>,
    /// Programs that may destroy files which cannot be saved beforehand.
    pub uncovered: Vec<String>,
    /// Work may be lost for good: the user should hear that it was saved.
    pub is_irreversible: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLoss {
    /// Absolute; may hold `*`, `?` and `[`.
    pub path: PathBuf,
    pub extent: LossExtent,
}

/// What may change at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossExtent {
    /// The file itself, written in place or replaced; through a link its target.
    File,
    /// The path and everything below it.
    Tree,
    /// The same, and everything below what the path leads to, should it be a link.
    LinkedTree,
    /// Files below the path whose names fit the pattern; without one, any.
    Named(Option<String>),
    /// The path, or, when it is a folder, an entry in it named like each of these.
    Into(Vec<PathBuf>),
    /// What a patch file names, seen from the path.
    Patched(PathBuf),
    /// What an archive holds, unpacked into the path.
    Unpacked(PathBuf),
}

/// What may be lost in the repository around `dir`. Its index, refs and logs always belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLoss {
    pub dir: PathBuf,
    pub work: GitWork,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitWork {
    /// Nothing in the work tree.
    None,
    /// Tracked files: changed ones, and those that differ from any of these commits (or what may be one).
    Tracked { commits: Vec<String> },
    /// Files git does not know.
    Untracked { ignored: bool },
}

impl PossibleLosses {
    /// What the accesses of a call may destroy, seen from the shell's working directory.
    pub fn from_accesses(accesses: &[Access], cwd: &Path, home: Option<&Path>) -> Self {
        let mut losses = Self::default();
        for access in accesses {
            match access {
                Access::WritePath(path) => losses.add_file(path.clone(), LossExtent::File),
                Access::Run(command) if may_lose(command) => losses.add_command(command, cwd, home),
                Access::Run(_)
                | Access::ReadPath(_)
                | Access::Reach { .. }
                | Access::Use
                | Access::Harmless
                | Access::Interact => {}
            }
        }
        losses
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.git.is_empty() && self.unnamed.is_empty() && self.uncovered.is_empty()
    }

    fn add_file(&mut self, path: PathBuf, extent: LossExtent) {
        let loss = FileLoss { path, extent };
        if !self.files.contains(&loss) {
            self.files.push(loss);
        }
    }

    fn add_command(&mut self, command: &str, cwd: &Path, home: Option<&Path>) {
        let reading = CommandReading::of(command);
        let variables = VariableValues::from_suspects(&reading.suspects, home);
        let feeders: Vec<&PossibleCommand> = reading.suspects.iter().collect();
        let mut see = |suspect: &PossibleCommand, dirs: &[PathBuf]| {
            let entered = runners::entered(&suspect.words).into_iter();
            let inner: Vec<PathBuf> = entered
                .flat_map(|word| dirs.iter().flat_map(|dir| variables.paths(word, dir)).collect::<Vec<_>>())
                .collect();
            for dir in dirs.iter().chain(&inner) {
                self.add_part(suspect, &LossContext { dir, variables: &variables, feeders: &feeders, text: command });
            }
        };
        match &reading.strict {
            Ok(units) if !units.iter().any(runs_text) => {
                let mut walk = PossibleDirectories::new(cwd);
                for unit in units {
                    let suspect = suspect_from_unit(unit);
                    see(&suspect, walk.dirs(unit));
                    walk.step(unit, &variables);
                }
            }
            Ok(_) | Err(_) => {
                let mut dir = cwd.to_path_buf();
                for suspect in &reading.suspects {
                    see(suspect, std::slice::from_ref(&dir));
                    suspect.any_program(|program, arguments| {
                        if let Some(target) = cd_target(program, arguments) {
                            dir = variables.paths(target, &dir).into_iter().next().unwrap_or_else(|| dir.clone());
                        }
                        false
                    });
                }
            }
        }
    }

    /// One simple command in one directory.
    fn add_part(&mut self, suspect: &PossibleCommand, at: &LossContext<'_>) {
        for word in &suspect.writes {
            let is_descriptor = word.starts_with('&') || word.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if !is_descriptor {
                self.add_word(word, &LossExtent::File, at, "a redirection");
            }
        }
        suspect.any_program(|program, arguments| {
            programs::add(self, program, arguments, suspect, at);
            false
        });
    }

    /// A word of the command as a path that may change.
    fn add_word(&mut self, word: &str, extent: &LossExtent, at: &LossContext<'_>, program: &str) {
        if matches!(word, "{}" | ";" | "+" | "\\;" | "-" | "") {
            return;
        }
        let paths = at.variables.paths(word, at.dir);
        if paths.is_empty() && !self.unnamed.iter().any(|known| known == program) {
            self.unnamed.push(program.to_owned());
        }
        // With a slash at its end a link is followed, and what it leads to is lost.
        let follows = *extent == LossExtent::Tree && (word.ends_with('/') || word.ends_with("/."));
        for path in paths {
            self.add_file(path, if follows { LossExtent::LinkedTree } else { extent.clone() });
        }
    }
}

/// The position of a part within its command.
struct LossContext<'a> {
    dir: &'a Path,
    variables: &'a VariableValues,
    /// All parts of the command: what one prints another may be given as names.
    feeders: &'a [&'a PossibleCommand],
    /// The whole command.
    text: &'a str,
}

impl LossContext<'_> {
    fn paths(&self, words: &[&str]) -> Vec<PathBuf> {
        words.iter().flat_map(|word| self.variables.paths(word, self.dir)).collect()
    }
}

/// A quick look, so that ordinary commands are not read once more.
fn may_lose(command: &str) -> bool {
    let plain: String = command.chars().filter(|c| !matches!(c, '\\' | '\'' | '"')).collect();
    let text = HARMLESS.iter().fold(plain, |text, redirection| text.replace(redirection, " "));
    let ends_word = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    text.contains('>') || text.split(ends_word).any(|word| programs::may_change(word, &text))
}

/// Frequent redirections that destroy nothing.
const HARMLESS: &[&str] = &["2>&1", "2>/dev/null", "&>/dev/null", ">/dev/null", "2> /dev/null", "> /dev/null", ">&2"];

fn runs_text(unit: &SimpleCommand) -> bool {
    const SHELLS: &[&str] =
        &["sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "eval", "ssh", "su", "watch", "parallel"];
    let mut words = unit.words.iter().map(|word| base_name(&word.text));
    let first = words.next().unwrap_or_default();
    SHELLS.contains(&first) || (may_run_others(first) && words.any(|word| SHELLS.contains(&word)))
}

fn suspect_from_unit(unit: &SimpleCommand) -> PossibleCommand {
    let side = |writes: bool| {
        let of_side = unit.redirects.iter().filter(move |redirect| redirect.writes == writes);
        of_side.map(|redirect| redirect.word.text.clone()).collect()
    };
    let words = unit.words.iter().map(|word| word.text.clone()).collect();
    PossibleCommand { words, reads: side(false), writes: side(true) }
}

fn cd_target<'a>(program: &str, arguments: &'a [String]) -> Option<&'a str> {
    let moves = matches!(program, "cd" | "pushd" | "chdir");
    moves.then(|| arguments.iter().map(String::as_str).find(|word| !word.starts_with('-')).unwrap_or("~"))
}

/// Follows `cd` through a command; where it is not certain, every directory it may have led to counts.
struct PossibleDirectories {
    dirs: BTreeMap<u32, Vec<PathBuf>>,
    last: u32,
    /// The part before was a `cd`, from these directories.
    directories_before_cd: Option<Vec<PathBuf>>,
}

impl PossibleDirectories {
    fn new(cwd: &Path) -> Self {
        Self { dirs: BTreeMap::from([(0, vec![cwd.to_path_buf()])]), last: 0, directories_before_cd: None }
    }

    fn dirs(&mut self, unit: &SimpleCommand) -> &[PathBuf] {
        let before = self.dirs.get(&self.last).cloned().unwrap_or_default();
        let here = self.dirs.entry(unit.scope).or_default();
        if unit.scope != self.last {
            // A group may have moved the shell, or have been a shell of its own.
            add_new(here, before);
        }
        // `cd x; rm y` runs in the old directory when `cd` failed.
        if let Some(left) = self.directories_before_cd.take()
            && unit.join != UnitJoin::And
        {
            add_new(here, left);
        }
        self.last = unit.scope;
        here
    }

    fn step(&mut self, unit: &SimpleCommand, variables: &VariableValues) {
        let (Some(name), Some(here)) = (unit.words.first(), self.dirs.get(&unit.scope).cloned()) else { return };
        let arguments: Vec<String> = unit.words.iter().skip(1).map(|word| word.text.clone()).collect();
        let Some(target) = cd_target(&name.text, &arguments) else { return };
        let moved: Vec<PathBuf> = here.iter().flat_map(|dir| variables.paths(target, dir)).collect();
        if !moved.is_empty() {
            self.dirs.insert(unit.scope, moved);
            self.directories_before_cd = Some(here);
        }
    }
}

fn add_new(into: &mut Vec<PathBuf>, more: Vec<PathBuf>) {
    for dir in more {
        if !into.contains(&dir) && into.len() < 8 {
            into.push(dir);
        }
    }
}

fn absolute(dir: &Path, word: &str) -> PathBuf {
    normalise(&dir.join(word))
}

#[cfg(test)]
#[path = "destruction_tests.rs"]
mod tests;
