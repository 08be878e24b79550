//! Removals that no rule and no mode approves: of directories that must survive, and of what nobody can name beforehand.

use super::{Access, Asked, Facts, Policy};
use crate::shell::flow::{self, Flow};
use crate::shell::reading::Reading;
use crate::shell::removal::{self, Precious};
use crate::shell::targets::{self, Verdict};
use std::path::{Path, PathBuf};

impl Policy {
    pub(super) fn removals(&self, asked: &Asked<'_>) -> Verdict {
        let (Access::Run(command), Some(reading)) = (asked.access, &asked.reading) else { return Verdict::Fine };
        let precious = self.precious(asked.facts);
        let mut verdict = Verdict::Fine;
        if may_remove(reading) {
            let flow = flow::trace(command, &self.start(&asked.facts.cwd));
            let real = |path: &Path| asked.facts.real(path).map(Path::to_path_buf);
            verdict = targets::judge(&flow, &precious, &real);
            if verdict == Verdict::Fine && flow.incomplete && names_removal(reading) {
                verdict = Verdict::Ask("something is removed, and the command is not understood to its end");
            }
        }
        if verdict == Verdict::Fine && removal::is_critical(&reading.suspects, &precious) {
            verdict = Verdict::Ask("a removal of a root, home or working directory");
        }
        verdict
    }

    pub(super) fn precious<'a>(&'a self, facts: &'a Facts) -> Precious<'a> {
        let place = &self.place;
        Precious {
            cwd: &facts.cwd,
            home: place.home.as_deref(),
            roots: &place.roots,
            store: place.undo_store.as_deref(),
            real_store: place.undo_store.as_deref().and_then(|store| facts.real(store)),
        }
    }

    /// The paths whose real location decides about removals.
    pub(super) fn removal_needs(&self, reading: &Reading, command: &str, cwd: &Path) -> Vec<PathBuf> {
        if !may_remove(reading) {
            return Vec::new();
        }
        let flow: Flow = flow::trace(command, &self.start(cwd));
        let mut needs: Vec<PathBuf> = targets::targets(&flow).iter().flat_map(targets::Target::needs).collect();
        needs.extend(self.place.undo_store.clone());
        needs
    }
}

/// A quick look: whether the command names a program that removes, or runs text that could.
fn may_remove(reading: &Reading) -> bool {
    names_removal(reading)
        || reading.suspects.iter().any(|suspect| {
            suspect.any_program(|program, arguments| {
                program.contains('$')
                    || matches!(program, "eval" | "source" | "." | "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash")
                    || (program == "rsync" && arguments.iter().any(|word| word.starts_with("--del")))
            })
        })
}

fn names_removal(reading: &Reading) -> bool {
    reading.suspects.iter().any(|suspect| {
        suspect.any_program(|program, arguments| {
            targets::removes(program)
                || program == "mv"
                || (program == "find" && arguments.iter().any(|word| word == "-delete" || word == "rm"))
        })
    })
}
