//! `find`: where it looks, what it prints, and what it hands to other programs.

use super::ReadPlanner;
use crate::reads::{ReadExtent, TreeWalk};
use crate::shell::flow::{FlowArgument, ProgramInvocation, ShellField};
use crate::shell::wrapper::base_name;

const ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// What one call of `find` goes through.
pub(super) struct FindCall {
    pub(super) roots: Vec<ShellField>,
    pub(super) walk: TreeWalk,
    /// Some word is not known, or a pattern of the shell changes its meaning.
    pub(super) unknown: bool,
    /// It runs a program that may read the files.
    pub(super) hands_on: bool,
}

/// Reads the arguments. Unknown tests exclude nothing.
pub(super) fn read(arguments: &[FlowArgument]) -> FindCall {
    let mut found = FindCall {
        roots: Vec::new(),
        walk: TreeWalk { names_only: true, ..TreeWalk::default() },
        unknown: false,
        hands_on: false,
    };
    let texts: Vec<Option<String>> = arguments.iter().map(FlowArgument::text).collect();
    found.unknown = texts.iter().any(Option::is_none);
    let is_test = |text: &str| text.starts_with(['-', '(', ')', '!', ',']);
    let options =
        texts.iter().take_while(|text| matches!(text.as_deref(), Some("-L" | "-H" | "-P" | "-O1" | "-O2" | "-O3")));
    let skipped = options.clone().count();
    found.walk.follows_links = options.clone().any(|text| text.as_deref() == Some("-L"));
    let roots = arguments[skipped..].iter().filter_map(FlowArgument::known).take_while(|field| !is_test(&field.text()));
    found.roots = roots.cloned().collect();
    let rest = &texts[(skipped + found.roots.len()).min(texts.len())..];
    found.tests(rest);
    if found.roots.is_empty() {
        found.roots.push(ShellField::literal("."));
    }
    found
}

impl FindCall {
    fn tests(&mut self, words: &[Option<String>]) {
        let text = |at: usize| words.get(at).and_then(|word| word.as_deref()).unwrap_or_default();
        // With alternatives a name that does not fit one of them may fit another.
        let plain = !words.iter().flatten().any(|word| matches!(word.as_str(), "-o" | "-or" | "," | "(" | "-prune"));
        for at in 0..words.len() {
            let negated = at > 0 && matches!(text(at - 1), "-not" | "!");
            let value = text(at + 1).to_owned();
            match text(at) {
                "-follow" => self.walk.follows_links = true,
                "-maxdepth" => self.walk.depth = value.parse().ok(),
                "-name" if plain && !negated && !value.contains('/') => self.walk.include.push(value),
                "-name" if plain && negated => self.walk.exclude.push(value),
                "-path" | "-wholename" if plain && negated => self.walk.exclude_path.push(value),
                "-files0-from" => self.unknown = true,
                action if ACTIONS.contains(&action) => {
                    let program = base_name(&value).to_owned();
                    self.hands_on |= super::is_modelled(&program) || crate::shell::wrapper::may_run_others(&program);
                }
                _ => {}
            }
        }
        // Each name must fit: more than one is more than the walk can tell apart.
        if self.walk.include.len() > 1 {
            self.walk.include.clear();
        }
        self.walk.names_only = !self.hands_on;
    }
}

impl ReadPlanner<'_> {
    pub(super) fn find(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        let found = read(arguments);
        if found.unknown {
            self.unknown(name, "a word of it is known only when it runs");
        }
        for root in &found.roots {
            let walk = TreeWalk { operand_text: root.text(), ..found.walk.clone() };
            self.add(name, root, &ReadExtent::Tree(walk), unit);
        }
    }
}
