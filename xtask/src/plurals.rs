//! Plurals made by hand. `wire::counting` writes every count, so that nobody reads "1 tools"; a choice between a noun and
//! its plural anywhere else is found here.

use crate::source;
use anyhow::{Result, ensure};
use std::path::Path;
use wire::counting::plural;

/// Where plurals are made, and examples of them.
const ALLOWED: [&str; 2] = ["crates/wire/src/counting.rs", "xtask/src/plurals.rs"];

pub(crate) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    for folder in source::crate_folders(root)? {
        source::collect(&folder.join("src"), &mut files)?;
    }
    let mut wrong = Vec::new();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if !ALLOWED.contains(&shown.as_str()) {
            let text = std::fs::read_to_string(&path)?;
            wrong.extend(by_hand(&text).into_iter().map(|line| format!("{shown}:{line}")));
        }
    }
    ensure!(wrong.is_empty(), "plurals made by hand; use wire::counting::counted or plural:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// The lines in which a condition chooses between a noun and its plural.
fn by_hand(text: &str) -> Vec<usize> {
    let chooses = |line: &str| {
        let mut parts = line.split('"');
        while let Some(before) = parts.next() {
            let Some(one) = parts.next() else { return false };
            let mut rest = parts.clone();
            let is_choice =
                before.ends_with("== 1 { ") && rest.next().is_some_and(|between| between.contains("else {"));
            if is_choice && rest.next().is_some_and(|many| is_plural(one, many)) {
                return true;
            }
        }
        false
    };
    text.lines().enumerate().filter(|(_, line)| chooses(line)).map(|(index, _)| index + 1).collect()
}

fn is_plural(one: &str, many: &str) -> bool {
    (one.is_empty() && many == "s") || (!one.is_empty() && plural(2, one) == many) || one.starts_with("1 ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_plurals_is_found_and_other_choices_are_not() {
        let text = r#"
let s = if n == 1 { "" } else { "s" };
let unit = if n == 1 { "match" } else { "matches" };
let files = if n == 1 { "1 path".into() } else { format!("{n} paths") };
let verb = if n == 1 { "is" } else { "are" };
let both = if n == 1 { "file matches" } else { "files match" };
println!("{}", counted(n, "match"));
"#;
        assert_eq!(by_hand(text), [2, 3, 4]);
    }
}
