//! Equal line by line but for leading white space, which differs by one rule in the whole text.

use super::{Lines, Place, TextDifference, keep_file_lines, unless_several};
use crate::edit::explain::count_blanks;
use std::ops::Range;

/// How the indentation that was sent becomes that of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::edit) enum IndentRule {
    /// The file has this more at the beginning of each line.
    More(String),
    /// The file has this less at the beginning of each line.
    Less(String),
    /// The file has a tab where this many spaces were sent.
    TabsForSpaces(usize),
    /// The file has this many spaces where a tab was sent.
    SpacesForTabs(usize),
}

pub(super) fn places(text: &str, old: &str, new: &str) -> Vec<Place> {
    let Some((old, new)) = without_leading_newlines(old, new) else { return Vec::new() };
    let lines = Lines::of(text);
    let wanted: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let fitting = lines.windows(wanted.len()).filter_map(|at| fit(&lines, at, &wanted));
    let found = fitting
        .map(|(range, found)| {
            let rule = IndentRule::between(&wanted, &found);
            let change = rule.and_then(|rule| {
                let ends_line = lines.is_line_end(range.end);
                let text = keep_file_lines(&found, &wanted, &new, ends_line, |line| rule.apply(line))?;
                Some((text, TextDifference::Indentation(rule)))
            });
            Place { range, change }
        })
        .collect();
    unless_several(found, &lines, old, |file, wanted| file.trim_start() == wanted.trim_start())
}

/// Both texts without the newlines they begin with; `None` when they begin with different ones.
fn without_leading_newlines<'a>(old: &'a str, new: &'a str) -> Option<(&'a str, &'a str)> {
    let (old_rest, new_rest) = (old.trim_start_matches('\n'), new.trim_start_matches('\n'));
    let is_same = new.is_empty() || old.len() - old_rest.len() == new.len() - new_rest.len();
    (is_same && !old_rest.is_empty()).then_some((old_rest, new_rest))
}

/// The file's lines from line `at` on, when they are `wanted` but for indentation. The last line of a text that ends
/// with a newline is empty and stands for the beginning of the line that follows.
fn fit<'a>(lines: &Lines<'a>, at: usize, wanted: &[&str]) -> Option<(Range<usize>, Vec<&'a str>)> {
    let mut found = lines.text[at..at + wanted.len()].to_vec();
    let last = wanted.len() - 1;
    if last > 0 && wanted[last].is_empty() {
        found[last] = "";
    }
    let is_equal = found.iter().zip(wanted).all(|(file, wanted)| file.trim_start() == wanted.trim_start());
    let end = lines.starts[at + last] + found[last].len();
    is_equal.then(|| (lines.starts[at]..end, found))
}

fn split_indent(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start().len())
}

impl IndentRule {
    /// What the file has, in words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::More(prefix) => format!("{} more", count_blanks(prefix)),
            Self::Less(prefix) => format!("{} less", count_blanks(prefix)),
            Self::TabsForSpaces(_) => "tabs".to_owned(),
            Self::SpacesForTabs(width) => format!("{width} spaces"),
        }
    }

    /// The one rule that turns the indentation of every line of `sent` into that of `file`.
    fn between(sent: &[&str], file: &[&str]) -> Option<Self> {
        let pairs: Vec<(&str, &str)> = sent
            .iter()
            .zip(file)
            .filter(|(line, _)| !line.trim().is_empty())
            .map(|(sent, file)| (split_indent(sent).0, split_indent(file).0))
            .collect();
        let (first_sent, first_file) = pairs.iter().find(|(sent, file)| sent != file)?;
        let mut rules = Vec::new();
        rules.extend(first_file.strip_suffix(first_sent).map(|more| Self::More(more.to_owned())));
        rules.extend(first_sent.strip_suffix(first_file).map(|less| Self::Less(less.to_owned())));
        rules.extend(ratio(first_sent, first_file).map(Self::TabsForSpaces));
        rules.extend(ratio(first_file, first_sent).map(Self::SpacesForTabs));
        rules.into_iter().find(|rule| pairs.iter().all(|(sent, file)| rule.indent(sent).as_deref() == Some(file)))
    }

    /// The line with the file's indentation; `None` when the rule does not say how.
    fn apply(&self, line: &str) -> Option<String> {
        let (indent, rest) = split_indent(line);
        if rest.is_empty() {
            return Some(String::new());
        }
        Some(self.indent(indent)? + rest)
    }

    fn indent(&self, sent: &str) -> Option<String> {
        let all = |c: char| sent.chars().all(|other| other == c);
        match self {
            Self::More(prefix) => Some(format!("{prefix}{sent}")),
            Self::Less(prefix) => sent.strip_prefix(prefix.as_str()).map(str::to_owned),
            Self::TabsForSpaces(width) => {
                (all(' ') && sent.len().is_multiple_of(*width)).then(|| "\t".repeat(sent.len() / width))
            }
            Self::SpacesForTabs(width) => all('\t').then(|| " ".repeat(sent.len() * width)),
        }
    }
}

/// How many spaces of `spaces` are one tab of `tabs`.
fn ratio(spaces: &str, tabs: &str) -> Option<usize> {
    let is_fit = !tabs.is_empty() && tabs.chars().all(|c| c == '\t') && spaces.chars().all(|c| c == ' ');
    (is_fit && spaces.len() >= 2 * tabs.len() && spaces.len().is_multiple_of(tabs.len()))
        .then(|| spaces.len() / tabs.len())
}
