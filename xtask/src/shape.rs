//! Figures of the workspace with targets: names of types, cycles between modules, sizes of crates, chains of
//! crates, locked packages. `cargo xtask sizes` prints them.

use crate::deps;
use crate::modules::ModuleGraph;
use crate::source;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Figures of one crate.
pub(crate) struct CrateShape {
    pub(crate) name: String,
    /// Lines of product code without blank lines and comments.
    pub(crate) lines: usize,
    pub(crate) modules: ModuleGraph,
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
        for folder in source::crate_folders(root)? {
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

impl CrateShape {
    fn measure(folder: &Path) -> Result<Self> {
        let files = source::crate_files(folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lines = files.iter().map(|file| file.product.lines().filter(|line| !line.trim().is_empty()).count()).sum();
        let types =
            files.iter().flat_map(|file| file.product.lines().filter_map(type_name)).map(str::to_owned).collect();
        let modules = ModuleGraph::of(&files);
        Ok(Self { name, lines, modules, types })
    }
}

/// The struct, enum or trait that an unindented line defines.
fn type_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
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
