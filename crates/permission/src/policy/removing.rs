//! Removals that no rule and no mode approves: of directories that must survive, and of targets that are not known before the command runs.

use super::{Access, AccessRequest, PathFacts, Policy};
use crate::shell::flow::{self, CommandFlow};
use crate::shell::reading::CommandReading;
use crate::shell::removal::{self, ProtectedDirectories};
use crate::shell::removal_targets::{self, RemovalVerdict};
use crate::shell::wrapper;
use std::path::{Path, PathBuf};

impl Policy {
    pub(super) fn removals(&self, asked: &AccessRequest<'_>) -> RemovalVerdict {
        let (Access::Run(command), Some(reading)) = (asked.access, &asked.reading) else { return RemovalVerdict::Fine };
        let precious = self.precious(asked.facts);
        let mut verdict = RemovalVerdict::Fine;
        if may_remove(reading) {
            let flow = flow::trace(command, &self.shell_start(&asked.facts.cwd));
            let real = |path: &Path| asked.facts.real(path).map(Path::to_path_buf);
            verdict = removal_targets::judge(&flow, &precious, &real);
            if verdict == RemovalVerdict::Fine && flow.incomplete && names_removal(reading) {
                verdict = RemovalVerdict::Ask("something is removed, and the command is not understood to its end");
            }
        }
        if verdict != RemovalVerdict::Refuse && self.directories.undo_store.is_some() && may_change(reading) {
            let flow = flow::trace(command, &self.shell_start(&asked.facts.cwd));
            let real = |path: &Path| asked.facts.real(path).map(Path::to_path_buf);
            if removal_targets::changes_store(&flow, &precious, &real) {
                verdict = RemovalVerdict::Refuse;
            }
        }
        if verdict == RemovalVerdict::Fine && removal::is_critical(&reading.suspects, &precious) {
            verdict = RemovalVerdict::Ask("a removal of a root, home or working directory");
        }
        verdict
    }

    pub(super) fn precious<'a>(&'a self, facts: &'a PathFacts) -> ProtectedDirectories<'a> {
        let place = &self.directories;
        ProtectedDirectories {
            cwd: &facts.cwd,
            home: place.home.as_deref(),
            roots: &place.roots,
            undo_store: place.undo_store.as_deref(),
            real_undo_store: place.undo_store.as_deref().and_then(|store| facts.real(store)),
        }
    }

    /// The paths whose real location decides about removals.
    pub(super) fn removal_needs(&self, reading: &CommandReading, command: &str, cwd: &Path) -> Vec<PathBuf> {
        let (removes, changes) = (may_remove(reading), may_change(reading) && self.directories.undo_store.is_some());
        if !removes && !changes {
            return Vec::new();
        }
        let flow: CommandFlow = flow::trace(command, &self.shell_start(cwd));
        let mut targets = if removes { removal_targets::targets(&flow) } else { Vec::new() };
        if changes {
            targets.extend(removal_targets::changed(&flow));
        }
        let mut needs: Vec<PathBuf> = targets.iter().flat_map(removal_targets::RemovalTarget::needs).collect();
        needs.extend(self.directories.undo_store.clone());
        needs
    }
}

/// A quick look: whether the command names a program that removes, or runs text that could.
fn may_remove(reading: &CommandReading) -> bool {
    // Assignments and texts may contain names of programs.
    let hidden = |word: &String| word.split(['=', ' ', '\'', '"', '(']).any(removes_by_name);
    names_removal(reading)
        || reading.suspects.iter().any(|suspect| suspect.words.iter().any(hidden))
        || reading.suspects.iter().any(|suspect| {
            suspect.any_program(|program, arguments| {
                program.contains('$')
                    || arguments.iter().any(|word| removes_by_name(word))
                    || program.starts_with("BASH_")
                    || matches!(program, "eval" | "source" | "." | "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash")
                    || (program == "rsync" && arguments.iter().any(|word| word.starts_with("--del")))
            })
        })
}

/// Whether the command writes files by redirections or by a program that does.
fn may_change(reading: &CommandReading) -> bool {
    reading.suspects.iter().any(|suspect| {
        !suspect.writes.is_empty() || suspect.any_program(|program, _| removal_targets::changes(program))
    })
}

fn takes_away(arguments: &[String]) -> bool {
    arguments.iter().any(|word| {
        word.starts_with("--rem")
            || word == "--move"
            || word == "-sdel"
            || (word.starts_with('-') && word.contains('m'))
    })
}

/// Whether any word of the command names a program that removes.
pub(super) fn mentions_removal(reading: &CommandReading) -> bool {
    reading
        .suspects
        .iter()
        .any(|suspect| suspect.words.iter().any(|word| removes_by_name(word) || word.contains("rm ")))
}

/// Whether a word names a program that removes.
fn removes_by_name(word: &str) -> bool {
    removal_targets::removes(wrapper::base_name(word))
}

fn names_removal(reading: &CommandReading) -> bool {
    reading.suspects.iter().any(|suspect| {
        suspect.any_program(|program, arguments| {
            removal_targets::removes(program)
                || matches!(program, "mv" | "hash" | "alias")
                || (matches!(program, "tar" | "bsdtar" | "zip" | "rsync" | "7z" | "gtar") && takes_away(arguments))
                || (program == "git" && arguments.iter().any(|word| word == "clean"))
                || (matches!(program, "fd" | "fdfind") && arguments.iter().any(|word| removes_by_name(word)))
                || (program == "find" && arguments.iter().any(|word| word == "-delete" || word == "rm"))
        })
    })
}
