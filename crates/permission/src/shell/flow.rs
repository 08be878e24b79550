//! The data flow of a command: which programs it starts with which words, after variables, loops, substitutions, braces and
//! directories have been followed as far as the text tells. A word is either known (perhaps as a pattern of file names) or
//! unknown; nothing is guessed. It serves the path rules, options that write and removals, and never allows anything.

mod builtins;
pub(crate) mod field;
mod output;
pub(crate) mod renames;
mod walk;
mod words;

pub(crate) use field::ShellField;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Maximum number of values of a variable, of directories the shell may be in, and of words a list expands to.
const MAX_VALUES: usize = 64;
/// Simple commands that are looked at.
const MAX_INVOCATIONS: usize = 600;
/// How deep code inside code is followed.
const MAX_DEPTH: u32 = 10;

/// The word that stands for what a process substitution prints.
pub(crate) const SUBSTITUTED: &str = "/dev/fd/substitution";

/// What the shell knows before it starts.
#[derive(Clone, Copy)]
pub(crate) struct ShellStart<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) variables: &'a BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlowArgument {
    Known(ShellField),
    /// Known only when it runs.
    Unknown(TextOrigin),
}

/// Where unknown text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// Files, the environment, the network.
    Outside,
    /// Text of this very command, changed by some program (`base64 -d`, `tr`).
    Transformed,
}

/// One program the command may start.
#[derive(Clone, Debug)]
pub(crate) struct ProgramInvocation {
    pub(crate) words: Vec<FlowArgument>,
    /// Files that redirections open.
    pub(crate) reads: Vec<FlowArgument>,
    pub(crate) writes: Vec<FlowArgument>,
    /// Directories it may run in; `None` is a directory that is not known.
    pub(crate) dirs: Vec<Option<ShellField>>,
    pub(crate) input: StdinSource,
    /// Which word is the program is not certain.
    pub(crate) loose: bool,
    /// Names of variables that are set for this program only.
    pub(crate) assigned: Vec<String>,
}

/// What a program finds on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum StdinSource {
    #[default]
    Inherited,
    /// Text of the command.
    Text(String),
    /// Text with parts that are not known, as written.
    Unknown(String),
    /// What these invocations print.
    Pipe(Range<usize>),
    /// A file.
    File,
}

#[derive(Debug, Default)]
pub(crate) struct CommandFlow {
    pub(crate) invocations: Vec<ProgramInvocation>,
    /// Some text was not followed to its end.
    pub(crate) incomplete: bool,
    /// The command runs code that it builds from its own text, so that the code cannot be read beforehand.
    pub(crate) hidden_code: bool,
    /// Options of the shell change what patterns match.
    pub(crate) odd_patterns: bool,
}

pub(crate) fn trace(command: &str, start: &ShellStart<'_>) -> CommandFlow {
    // The library gives up on some broken texts with a panic.
    let follow = || {
        let mut walker = walk::FlowWalker::new(start);
        walker.run_text(command);
        // Code that runs later than its position in the text uses the variables and directories of that time.
        if let Some(everything) = walker.everything_seen() {
            walker = walk::FlowWalker::with_everything(start, everything);
            walker.run_text(command);
        }
        walker.finish()
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(follow))
        .unwrap_or_else(|_| CommandFlow { incomplete: true, ..CommandFlow::default() })
}

impl FlowArgument {
    pub(crate) fn known(&self) -> Option<&ShellField> {
        match self {
            Self::Known(field) => Some(field),
            Self::Unknown(_) => None,
        }
    }

    /// The text of a word that is known and no pattern.
    pub(crate) fn text(&self) -> Option<String> {
        self.known().map(ShellField::text)
    }
}

impl ProgramInvocation {
    /// The program and its arguments at each place where one may start.
    pub(crate) fn programs(&self) -> Vec<(String, &[FlowArgument])> {
        let name = |at: usize| self.words[at].text().map(|text| super::wrapper::base_name(&text).to_owned());
        let Some(first) = (!self.words.is_empty()).then(|| name(0)) else { return Vec::new() };
        let runs_others = self.loose || first.as_deref().is_some_and(super::wrapper::may_run_others);
        let starts: Vec<usize> = if runs_others {
            (0..self.words.len()).collect()
        } else {
            // `npm exec x`, `uv run x`, …
            let texts: Vec<String> = self.words.iter().map(|word| word.text().unwrap_or_default()).collect();
            let inner = super::runners::from(&texts).map_or(0..0, |from| from..self.words.len());
            std::iter::once(0).chain(inner).collect()
        };
        // Behind another program a dot is the working directory.
        let starts = starts.into_iter().filter(|at| *at == 0 || self.words[*at].text().as_deref() != Some("."));
        starts.filter_map(|at| Some((name(at)?, &self.words[at + 1..]))).collect()
    }

    /// Each place where the argument may be opened.
    pub(crate) fn opened(&self, field: &ShellField) -> Vec<Option<ShellField>> {
        self.at_each_dir(field, |dir| field.opened_from(dir))
    }

    /// Each place the argument may name.
    pub(crate) fn places(&self, field: &ShellField) -> Vec<Option<ShellField>> {
        self.at_each_dir(field, |dir| field.seen_from(dir, dir))
    }

    fn at_each_dir(
        &self,
        field: &ShellField,
        place: impl Fn(&ShellField) -> Option<ShellField>,
    ) -> Vec<Option<ShellField>> {
        let is_absolute = field.pattern().starts_with('/');
        let root = ShellField::literal("/");
        // Only names of processes depend on the directory then.
        if is_absolute && !field.pattern().starts_with("/proc") && !field.pattern().starts_with("/dev") {
            return vec![place(&root)];
        }
        let mut found: Vec<Option<ShellField>> = Vec::new();
        for dir in &self.dirs {
            let one = match dir {
                Some(dir) => place(dir),
                None if is_absolute && place(&root) == place(&ShellField::literal("/x")) => place(&root),
                None => None,
            };
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found
    }
}

#[cfg(test)]
#[path = "flow/flow_tests.rs"]
mod tests;
