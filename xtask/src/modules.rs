//! Which top-level modules of a crate use which, read from `crate::name` paths outside tests.

use crate::source::{self, SourceFile};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each top-level module of a crate with the modules it uses.
pub(crate) struct ModuleGraph {
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl ModuleGraph {
    /// The modules of the crate in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        Ok(Self::of(&source::crate_files(folder)?))
    }

    pub(crate) fn of(files: &[SourceFile]) -> Self {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in files {
            let Some(module) = &file.module else { continue };
            uses.entry(module.clone()).or_default().extend(used_modules(&file.product));
        }
        let known: BTreeSet<String> = uses.keys().cloned().collect();
        for (module, used) in &mut uses {
            used.retain(|other| other != module && known.contains(other));
        }
        Self { uses }
    }

    /// Groups of modules that depend on each other, each sorted.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        circles(&self.uses)
    }

    /// The largest of the cycles; empty when there is none.
    pub(crate) fn largest_cycle(&self) -> Vec<String> {
        self.cycles().into_iter().max_by_key(Vec::len).unwrap_or_default()
    }

    /// The edges between modules of one group, as `from -> to`.
    pub(crate) fn edges_within(&self, group: &[String]) -> Vec<String> {
        let edges = |from: &String| -> Vec<String> {
            let inside = self.uses.get(from).into_iter().flatten().filter(|to| group.contains(to));
            inside.map(|to| format!("{from} -> {to}")).collect()
        };
        group.iter().flat_map(edges).collect()
    }

    /// The modules that use `module`.
    pub(crate) fn users_of(&self, module: &str) -> Vec<&str> {
        self.uses.iter().filter(|(_, used)| used.contains(module)).map(|(user, _)| user.as_str()).collect()
    }
}

/// First names after `crate::`, single or in braces.
fn used_modules(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, mark) in code.match_indices("crate::") {
        let rest = &code[at + mark.len()..];
        if rest.starts_with('{') {
            let inside = &rest[1..source::block_length(rest).max(2) - 1];
            found.extend(top_level_parts(inside).map(first_word));
        } else {
            found.insert(first_word(rest));
        }
    }
    found.remove("");
    found
}

/// The parts between commas outside inner braces.
fn top_level_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    })
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Groups of modules that depend on each other, each sorted.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|from| (from.as_str(), reachable(uses, from))).collect();
    let mut groups: Vec<Vec<String>> = Vec::new();
    for from in uses.keys() {
        let mutual = |to: &&str| reach[*to].contains(from.as_str());
        let group: Vec<String> = reach[from.as_str()].iter().copied().filter(mutual).map(str::to_owned).collect();
        if group.len() > 1 && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn reachable<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = uses[from].iter().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(uses[next].iter().map(String::as_str));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_from_uses_and_paths() {
        let code = "use crate::{a::X, b::{c, d}, e};\nuse crate::f::{g, h};\nfn x() { crate::i::run() }";
        let found: Vec<String> = used_modules(code).into_iter().collect();
        assert_eq!(found, ["a", "b", "e", "f", "i"]);
    }

    #[test]
    fn circles_are_groups_that_reach_each_other() {
        let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e")];
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in edges {
            uses.entry(from.into()).or_default().insert(to.into());
        }
        assert_eq!(circles(&uses), [vec!["a".to_owned(), "b".into(), "c".into()], vec!["e".into(), "f".into()]]);
    }
}
