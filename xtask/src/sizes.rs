//! Prints the figures of the workspace beside their targets, then the longest files and functions. Never fails
//! because of a figure.

use crate::deps::{MAX_CYCLE, SESSION, SESSION_DRIVERS};
use crate::shape::WorkspaceShape;
use anyhow::Result;
use std::path::{Path, PathBuf};

const SHOWN: usize = 15;

pub(crate) fn report(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    for dir in ["crates", "xtask"] {
        collect(&root.join(dir), &mut files)?;
    }
    let mut lengths = Vec::new();
    let mut functions = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path)?;
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        lengths.push((text.lines().count(), shown.clone()));
        functions.extend(function_lengths(&text).into_iter().map(|(n, name)| (n, format!("{shown} {name}"))));
    }
    let total: usize = lengths.iter().map(|(n, _)| n).sum();
    println!("{} files, {total} lines\n", files.len());
    figures(&WorkspaceShape::measure(root)?);
    longest("files", lengths);
    longest("functions", functions);
    Ok(())
}

/// The measured figures and the targets of the architecture.
fn figures(shape: &WorkspaceShape) {
    let row = |what: &str, value: &str, target: &str| println!("{what:<44} {value:>10}   {target}");
    row("type names of one word", &format!("{} %", shape.one_word_percent()), "at most 45 %");
    row("type names defined in several places", &format!("{} %", shape.repeated_percent()), "at most 8 %");
    row("crates", &shape.crates.iter().filter(|c| c.name != "xtask").count().to_string(), "at most 22");
    row("longest chain of crates", &shape.chain.len().to_string(), "at most 8");
    row("locked packages", &shape.locked_packages.to_string(), "at most 400");
    let largest = shape.crates.iter().map(|shape| shape.modules.largest_cycle().len()).max().unwrap_or_default();
    row("largest cycle of modules", &largest.to_string(), &format!("at most {MAX_CYCLE}"));
    let (owner, session) = SESSION;
    let users = shape.crates.iter().find(|shape| shape.name == owner).map_or(0, |c| c.modules.users_of(session).len());
    row(
        &format!("modules that use {owner}::{session}"),
        &users.to_string(),
        &format!("at most {}", SESSION_DRIVERS.len()),
    );
    for shape in &shape.crates {
        let cycle = shape.modules.largest_cycle();
        let cycle = if cycle.is_empty() {
            "no cycle".to_owned()
        } else {
            format!("cycle of {}: {}", cycle.len(), cycle.join(" "))
        };
        println!("   {:<14} {:>6} lines, {cycle}", shape.name, shape.lines);
    }
    println!("   targets: 18,000 lines, a cycle of {MAX_CYCLE}\n\nnames defined most often");
    for (count, name) in shape.most_repeated().iter().take(SHOWN) {
        println!("{count:>6}  {name}");
    }
}

fn longest(what: &str, mut rows: Vec<(usize, String)>) {
    rows.sort_by(|a, b| b.cmp(a));
    println!("\nlongest {what}");
    for (lines, name) in rows.iter().take(SHOWN) {
        println!("{lines:>6}  {name}");
    }
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

/// Lengths of functions in formatted code: a function ends at the brace with the indentation of its first line.
fn function_lengths(text: &str) -> Vec<(usize, String)> {
    let mut open: Vec<(usize, usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if let Some(name) = function_name(line.trim_start()) {
            open.push((indent, number, name.to_owned()));
        }
        if line.trim() == "}"
            && let Some(at) = open.iter().rposition(|(i, ..)| *i == indent)
        {
            let (_, start, name) = open.swap_remove(at);
            found.push((number - start + 1, name));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_head = before.split_whitespace().all(|w| w.starts_with("pub") || matches!(w, "async" | "const" | "unsafe"));
    (is_head && !line.ends_with(';') && !line.ends_with('}')).then(|| after.split(['(', '<']).next().unwrap_or(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_by_indentation() {
        let text =
            "impl X {\n    pub async fn a<T>(&self) {\n        if x {\n        }\n    }\n}\nfn b() {\n}\nfn c() {}\n";
        assert_eq!(function_lengths(text), [(4, "a".to_owned()), (2, "b".to_owned())]);
    }
}
