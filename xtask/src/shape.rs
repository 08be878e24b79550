//! Figures of the workspace with targets: names of types, cycles between modules, sizes of crates, chains of
//! crates, locked packages. `cargo xtask sizes` prints them.

use crate::deps;
use crate::source::{self, SourceFile};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Figures of one crate.
pub(crate) struct CrateShape {
    pub(crate) name: String,
    /// Lines of product code without blank lines and comments.
    pub(crate) lines: usize,
    /// The largest group of modules that depend on each other; empty when there is no cycle.
    pub(crate) cycle: Vec<String>,
    /// Names of structs, enums and traits, one entry per definition.
    types: Vec<String>,
}

/// Figures of the workspace.
pub(crate) struct WorkspaceShape {
    pub(crate) crates: Vec<CrateShape>,
    /// The longest chain of our crates, from the top.
    pub(crate) chain: Vec<String>,
    pub(crate) locked_packages: usize,
}

impl WorkspaceShape {
    pub(crate) fn measure(root: &Path) -> Result<Self> {
        let mut crates = Vec::new();
        for folder in crate_folders(root)? {
            crates.push(CrateShape::measure(&folder)?);
        }
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
        let chain = longest_chain(&deps::edges_of(&deps::metadata(root)?));
        Ok(Self { crates, chain, locked_packages: lock.matches("[[package]]").count() })
    }

    /// Percentage of the definitions whose name has one word.
    pub(crate) fn one_word_percent(&self) -> usize {
        let names: Vec<&String> = self.crates.iter().flat_map(|shape| &shape.types).collect();
        let single = names.iter().filter(|name| name.chars().filter(char::is_ascii_uppercase).count() == 1).count();
        percent(single, names.len())
    }

    /// Percentage of the names that are defined in several places.
    pub(crate) fn repeated_percent(&self) -> usize {
        let counts = self.type_counts();
        percent(counts.values().filter(|count| **count > 1).count(), counts.len())
    }

    /// The names that are defined most often, with their counts.
    pub(crate) fn most_repeated(&self) -> Vec<(usize, String)> {
        let mut rows: Vec<_> =
            self.type_counts().into_iter().filter(|(_, n)| *n > 1).map(|(name, n)| (n, name.to_owned())).collect();
        rows.sort_by(|a, b| b.cmp(a));
        rows
    }

    fn type_counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for name in self.crates.iter().flat_map(|shape| &shape.types) {
            *counts.entry(name.as_str()).or_default() += 1;
        }
        counts
    }
}

fn percent(part: usize, whole: usize) -> usize {
    (100 * part + whole / 2) / whole.max(1)
}

pub(crate) fn crate_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(root.join("crates")).context("crates")?;
    let mut folders: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.push(root.join("xtask"));
    folders.sort();
    Ok(folders)
}

impl CrateShape {
    fn measure(folder: &Path) -> Result<Self> {
        let files = source::crate_files(folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lines = files.iter().map(|file| file.product.lines().filter(|line| !line.trim().is_empty()).count()).sum();
        let types =
            files.iter().flat_map(|file| file.product.lines().filter_map(type_name)).map(str::to_owned).collect();
        let uses = module_uses(&files);
        let cycle = circles(&uses).into_iter().max_by_key(Vec::len).unwrap_or_default();
        Ok(Self { name, lines, cycle, types })
    }
}

/// The struct, enum or trait that an unindented line defines.
fn type_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn module_uses(files: &[SourceFile]) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let Some(module) = &file.module else { continue };
        uses.entry(module.clone()).or_default().extend(used_modules(&file.product));
    }
    let known: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, used) in &mut uses {
        used.retain(|other| other != module && known.contains(other));
    }
    uses
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

fn longest_chain(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    fn below(edges: &BTreeMap<String, BTreeSet<String>>, name: &str) -> Vec<String> {
        let lower = edges.get(name).into_iter().flatten().map(|to| below(edges, to)).max_by_key(Vec::len);
        std::iter::once(name.to_owned()).chain(lower.unwrap_or_default()).collect()
    }
    edges.keys().map(|name| below(edges, name)).max_by_key(Vec::len).unwrap_or_default()
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

    #[test]
    fn type_names_are_read_from_definitions() {
        let names = [
            "pub(crate) struct TwoWords<T> {",
            "enum One {",
            "pub trait Three: Send {",
            "    struct Inner;",
            "structure x",
        ];
        let found: Vec<Option<&str>> = names.iter().map(|line| type_name(line)).collect();
        assert_eq!(found, [Some("TwoWords"), Some("One"), Some("Three"), None, None]);
    }
}
