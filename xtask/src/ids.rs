//! Finds items of the specification's checklists that no test names. `docs/conformance.md` lists the items in scope
//! and those left out, with reasons; every item must be named by a test or left out, otherwise this check fails.

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

/// Reads lines such as `- TST: 1–83, 100–120, 126` and `- F: A1–A11, B1–B14`.
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

/// The part and the number at the beginning of `text`: `17`, `A1`.
fn item(text: &str) -> Option<(Option<char>, u32)> {
    let part = text.chars().next().filter(char::is_ascii_uppercase);
    let digits: String = text.chars().skip(part.iter().count()).take_while(char::is_ascii_digit).collect();
    Some((part, digits.parse().ok()?))
}

/// Table rows that begin with an id: the item is left out, the rest of the row is the reason.
fn left(text: &str) -> BTreeMap<Id, String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| {
        let (id, why) = row.split_once(" | ")?;
        Some((ids(id).into_iter().next()?, why.to_owned()))
    })
    .collect()
}

/// The ids in the tests of the repository.
fn named(root: &Path) -> Result<BTreeSet<Id>> {
    let mut found = BTreeSet::new();
    for dir in ["crates", "tests", "xtask/src/eval"] {
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
            found.extend(ids(&test_lines(&path, &text)));
        }
    }
    Ok(())
}

/// The lines of a file where ids count: test functions with the comments and attributes above them.
fn test_lines(path: &Path, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let heads: fn(&str) -> bool = match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => |line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"),
        Some("py") => |line| line.starts_with("def test_") || line.starts_with("async def test_"),
        _ => |line| line.starts_with("test(") || line.starts_with("it("),
    };
    let mut chosen = String::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| heads(line.trim_start())) {
        let above = lines[..at].iter().rev().take_while(|line| is_beside_a_function(line)).count();
        let indent = line.len() - line.trim_start().len();
        let inside = |line: &&&str| {
            line.trim().is_empty() || line.len() - line.trim_start().len() > indent || is_beside_a_function(line)
        };
        let opening = lines[at..].iter().take_while(|line| is_beside_a_function(line)).count().max(1);
        let body = lines[(at + opening).min(lines.len())..].iter().skip(1).take_while(inside).count();
        let end = (at + opening + 1 + body).min(lines.len());
        for line in &lines[at - above..end] {
            chosen.push_str(line);
            chosen.push('\n');
        }
    }
    chosen
}

/// True for a comment, an attribute or a decorator.
fn is_beside_a_function(line: &str) -> bool {
    ["//", "#", "@"].iter().any(|mark| line.trim_start().starts_with(mark))
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
    }

    #[test]
    fn an_id_counts_at_a_test_function_only() {
        let text = "//! [TST-1]\n\n// [TST-2]\nfn helper() {}\n\n// [TST-3]\n#[test]\n// [TST-4]\nfn one() {\n    x(); // [TST-5]\n}\n\n// [TST-6]\nfn other() {\n}\n";
        let found: Vec<String> = ids(&test_lines(Path::new("a.rs"), text)).iter().map(show).collect();
        assert_eq!(found, ["TST-3", "TST-4", "TST-5"]);
        let text = "# [TST-1]\nX = 1\n\n# [TST-2]\n@mark\nasync def test_x():\n    # [TST-3]\n    pass\n";
        let found: Vec<String> = ids(&test_lines(Path::new("a.py"), text)).iter().map(show).collect();
        assert_eq!(found, ["TST-2", "TST-3"]);
    }
}
