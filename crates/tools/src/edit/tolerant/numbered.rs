//! `old_string` was copied together with the line numbers that Read shows.

use super::{Place, TextDifference};
use crate::edit::apply::overlapping;

pub(super) fn places(text: &str, old: &str, new: &str) -> Vec<Place> {
    let Some(wanted) = without_rising_numbers(old) else { return Vec::new() };
    let replacement = match numbered_lines(new) {
        NumberedLines::All => without_numbers(new),
        NumberedLines::None => Some(new.to_owned()),
        NumberedLines::Some => None,
    };
    let found = overlapping(text, &wanted).into_iter();
    // Numbered lines are shown whole.
    let is_line_start = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let is_line_end = |at: usize| text[at..].is_empty() || text[at..].starts_with('\n') || is_line_start(at);
    let whole = found.filter(|range| is_line_start(range.start) && is_line_end(range.end));
    let change = replacement.map(|text| (text, TextDifference::LineNumbers));
    whole.map(|range| Place { range, change: change.clone() }).collect()
}

/// A line's number and its text.
fn split_number(line: &str) -> Option<(usize, &str)> {
    let digits = line.trim_start_matches(' ');
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let rest = &digits[end..];
    let text = rest.strip_prefix('\t').or_else(|| rest.strip_prefix('→'))?;
    Some((digits[..end].parse().ok()?, text))
}

/// The text without its numbers, when every line that is not empty has one and they rise by one from line to line.
fn without_rising_numbers(text: &str) -> Option<String> {
    let mut first = None;
    for (index, line) in text.split('\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let (number, _) = split_number(line)?;
        let expected = *first.get_or_insert(number.checked_sub(index)?) + index;
        if number != expected {
            return None;
        }
    }
    first.and_then(|_| without_numbers(text))
}

fn without_numbers(text: &str) -> Option<String> {
    let lines = text.split('\n').map(|line| if line.is_empty() { Some("") } else { split_number(line).map(|l| l.1) });
    lines.collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
}

enum NumberedLines {
    None,
    Some,
    All,
}

fn numbered_lines(text: &str) -> NumberedLines {
    let lines: Vec<&str> = text.split('\n').filter(|line| !line.is_empty()).collect();
    match lines.iter().filter(|line| split_number(line).is_some()).count() {
        0 => NumberedLines::None,
        n if n == lines.len() => NumberedLines::All,
        _ => NumberedLines::Some,
    }
}
