//! Recorded results: rows of the table between `<!-- results -->` and `<!-- /results -->` in `docs/testing.md`.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

const FILE: &str = "docs/testing.md";
const BEGIN: &str = "<!-- results -->\n";
const END: &str = "<!-- /results -->";

/// Adds the row of `kind` and `name`, or replaces it.
pub(crate) fn row(root: &Path, kind: &str, name: &str, result: &str) -> Result<()> {
    rows(root, kind, &[(name, result.to_owned())])
}

/// Adds or replaces the rows of `kind`: pairs of name and result, all or none.
pub(crate) fn rows(root: &Path, kind: &str, rows: &[(&str, String)]) -> Result<()> {
    let path = root.join(FILE);
    let mut text = std::fs::read_to_string(&path).context(FILE)?;
    let date = today();
    for (name, result) in rows {
        text = with_row(&text, &key(kind, name), &format!(" {date} | {result} |"))?;
    }
    std::fs::write(&path, text).context(FILE)?;
    for (name, result) in rows {
        println!("   {kind} {name}: {result} (written to {FILE})");
    }
    Ok(())
}

/// The recorded result of `kind` and `name`.
pub(crate) fn result(root: &Path, kind: &str, name: &str) -> Result<Option<String>> {
    let text = std::fs::read_to_string(root.join(FILE)).context(FILE)?;
    Ok(result_in(&text, &key(kind, name)))
}

fn result_in(text: &str, key: &str) -> Option<String> {
    let (_date, result) = text.lines().find_map(|line| line.strip_prefix(key))?.split_once(" | ")?;
    Some(result.strip_suffix(" |")?.to_owned())
}

fn key(kind: &str, name: &str) -> String {
    format!("| {kind} | {name} |")
}

fn with_row(text: &str, key: &str, rest: &str) -> Result<String> {
    let begin = text.find(BEGIN).with_context(|| format!("{FILE} has no {BEGIN}"))? + BEGIN.len();
    let end = text[begin..].find(END).with_context(|| format!("{FILE} has no {END}"))? + begin;
    let mut lines: Vec<String> =
        text[begin..end].lines().filter(|line| !line.starts_with(key)).map(str::to_owned).collect();
    lines.push(format!("{key}{rest}"));
    let heading = lines.iter().take_while(|line| !line.starts_with("|---")).count() + 1;
    let first = heading.min(lines.len() - 1);
    lines[first..].sort();
    Ok(format!("{}{}\n{}", &text[..begin], lines.join("\n"), &text[end..]))
}

/// The date as `2026-11-18`.
pub(crate) fn today() -> String {
    let output = Command::new("date").arg("+%F").output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{result_in, with_row};

    #[test]
    fn a_row_is_added_sorted_and_replaced() {
        let text = "a\n<!-- results -->\n| Kind | Name | Date | Result |\n|---|---|---|---|\n<!-- /results -->\nb";
        let once = with_row(text, "| long | x |", " d1 | ok |").unwrap();
        let twice =
            with_row(&with_row(&once, "| flake | y |", " d | ok |").unwrap(), "| long | x |", " d2 | ok |").unwrap();
        assert_eq!(
            twice,
            "a\n<!-- results -->\n| Kind | Name | Date | Result |\n|---|---|---|---|\n| flake | y | d | ok |\n| long | x | d2 | ok |\n<!-- /results -->\nb"
        );
        assert_eq!(result_in(&twice, "| long | x |").as_deref(), Some("ok"));
        assert_eq!(result_in(&twice, "| long | y |"), None);
    }
}
