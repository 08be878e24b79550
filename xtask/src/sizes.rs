//! The longest files and functions, tests and tables included: a list to look at, not a gate.

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
    println!("{} files, {total} lines", files.len());
    longest("files", lengths);
    longest("functions", functions);
    Ok(())
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

/// Works on formatted code: a function ends at the brace with the indentation of its first line.
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
