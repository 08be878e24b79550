//! Which items of the specification's checklists no test names. The items in scope and those left on purpose, with
//! their reasons, stand in `docs/conformance.md`; an item must be in one of three states: named by a test, left, or a
//! failure of this check.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LIST: &str = "docs/conformance.md";
const AREAS: [&str; 9] = ["CLI", "EXT", "F", "LNG", "MX", "PRV", "SDK", "SRV", "TST"];

/// Area, part and number: `TST-17` has no part, `F-A1` is item 1 of part A.
type Id = (&'static str, Option<char>, u32);

pub(crate) fn check(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(LIST)).with_context(|| format!("{LIST} cannot be read"))?;
    let wanted = in_scope(&text);
    let left = left(&text);
    let named = named(root)?;
    let missing: Vec<String> =
        wanted.iter().filter(|id| !named.contains(id) && !left.contains_key(id)).map(show).collect();
    let covered = wanted.iter().filter(|id| named.contains(id)).count();
    println!("{} items in scope: {covered} named by tests, {} left with a reason", wanted.len(), left.len());
    if missing.is_empty() {
        return Ok(());
    }
    bail!("no test names these, and {LIST} gives no reason:\n  {}", missing.join(" "))
}

fn show(id: &Id) -> String {
    format!("{}-{}{}", id.0, id.1.map(String::from).unwrap_or_default(), id.2)
}

/// Lines such as `- TST: 1–83, 100–120, 126` and `- F: A1–A11, B1–B14`.
fn in_scope(text: &str) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        for area in AREAS {
            let Some(ranges) = line.strip_prefix("- ").and_then(|l| l.strip_prefix(area)?.strip_prefix(": ")) else {
                continue;
            };
            for range in ranges.split(", ") {
                let (first, last) = range.split_once('–').unwrap_or((range, range));
                let (Some((part, first)), Some((_, last))) = (item(first.trim()), item(last.trim())) else { continue };
                found.extend((first..=last).map(|n| (area, part, n)));
            }
        }
    }
    found
}

/// The part and the number that `text` begins with: `17`, `A1`.
fn item(text: &str) -> Option<(Option<char>, u32)> {
    let part = text.chars().next().filter(char::is_ascii_uppercase);
    let digits: String = text.chars().skip(part.iter().count()).take_while(char::is_ascii_digit).collect();
    Some((part, digits.parse().ok()?))
}

/// Table rows that begin with an id: the item is left, the rest of the row says why.
fn left(text: &str) -> BTreeMap<Id, String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| {
        let (id, why) = row.split_once(" | ")?;
        Some((ids(id).into_iter().next()?, why.to_owned()))
    })
    .collect()
}

/// Ids in the tests of the repository.
fn named(root: &Path) -> Result<BTreeSet<Id>> {
    let mut found = BTreeSet::new();
    for dir in ["crates", "tests"] {
        collect(&root.join(dir), &mut found)?;
    }
    Ok(found)
}

fn collect(dir: &Path, found: &mut BTreeSet<Id>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("{} cannot be listed", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("node_modules") && !path.ends_with(".venv") {
                collect(&path, found)?;
            }
            continue;
        }
        let is_source = path.extension().is_some_and(|e| ["rs", "py", "js", "mjs", "ts", "sh"].iter().any(|s| e == *s));
        if is_source {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            found.extend(ids(test_part(&path, &text)));
        }
    }
    Ok(())
}

/// A test file is all test; in other Rust files the tests come last.
fn test_part<'a>(path: &Path, text: &'a str) -> &'a str {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_test = path.components().any(|c| c.as_os_str() == "tests") || name.ends_with("_tests.rs");
    if is_test { text } else { text.find("#[cfg(test)]").map_or("", |at| &text[at..]) }
}

fn ids(text: &str) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for area in AREAS {
        for (at, _) in text.match_indices(area) {
            let is_word_start = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let Some(rest) = text[at + area.len()..].strip_prefix('-').filter(|_| is_word_start) else { continue };
            found.extend(item(rest).map(|(part, number)| (area, part, number)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_the_names_are_read() {
        let text = "- TST: 1–3, 7\n- SDK: 5\n- F: A1–A2, B4\n\n| TST-2 | later |\n| F-A2 | later |\n";
        let wanted: Vec<String> = in_scope(text).iter().map(show).collect();
        assert_eq!(wanted, ["F-A1", "F-A2", "F-B4", "SDK-5", "TST-1", "TST-2", "TST-3", "TST-7"]);
        assert_eq!(left(text).keys().map(show).collect::<Vec<_>>(), ["F-A2", "TST-2"]);
        let named = ids("// [TST-17] [CLI-5], XTST-4, TST 4 [F-C10] PDF-A1 [MX-4] [LNG-3]");
        let named: Vec<String> = named.iter().map(show).collect();
        assert_eq!(named, ["CLI-5", "F-C10", "LNG-3", "MX-4", "TST-17"]);
        assert_eq!(test_part(Path::new("src/a.rs"), "[x]\n#[cfg(test)]\nmod"), "#[cfg(test)]\nmod");
    }
}
