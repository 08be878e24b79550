//! Programs whose effects on files nobody can name beforehand: scripts, build tools, interpreters. For the report of what a
//! return to an earlier state does not bring back.

use super::{PossibleLosses, programs, uncovered};
use crate::shell::reading::CommandReading;
use crate::shell::wrapper::{base_name, strip_for_reading};
use crate::shell::{readonly, script::SimpleCommand};

/// Builtins and programs that change no files by themselves.
#[rustfmt::skip]
const WITHOUT_EFFECT: &[&str] = &[
    "cd", "pushd", "popd", "chdir", "echo", "printf", "export", "set", "unset", "true", "false", "test", "[", "[[", ":", "sleep", "wait",
    "exit", "return", "read", "local", "declare", "alias", "unalias", "shopt", "ulimit", "umask", "type", "command", "trap", "kill", "pkill",
    "killall", "break", "continue", "shift", "let", "mkdir", "touch", "git", "gh", "ping", "ssh-add", "clear",
];

/// The programs in `command` that may change files in ways that neither their names nor their arguments show.
pub fn unseen_programs(command: &str, losses: &PossibleLosses) -> Vec<String> {
    let reading = CommandReading::of(command);
    let mut names: Vec<String> = losses.uncovered.iter().chain(&losses.unnamed).cloned().collect();
    for unit in reading.units() {
        names.extend(unseen(unit));
    }
    if reading.units().is_empty() {
        let first = reading.suspects.iter().filter_map(|suspect| suspect.words.first());
        names.extend(first.map(|word| base_name(word).to_owned()).filter(|name| !is_seen(name)));
    }
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

fn unseen(unit: &SimpleCommand) -> Option<String> {
    let words = strip_for_reading(&unit.words);
    let program = base_name(&words.first()?.text);
    (readonly::looks(words).is_none() && !is_seen(program)).then(|| program.to_owned())
}

/// Whether what the program may destroy is computed elsewhere, or it destroys nothing.
fn is_seen(program: &str) -> bool {
    WITHOUT_EFFECT.contains(&program)
        || program.is_empty()
        || readonly::is_reader(program)
        || (programs::is_known(program) && !uncovered::may_destroy(program))
}
