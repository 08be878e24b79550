//! Finds the text a model meant when `old_string` is not in the file as sent, and brings `new_string` into the file's
//! form. Five differences are accepted, each only when the one before found nothing, and only when exactly one place
//! fits. A text that fits several places is refused: nothing is guessed.

mod escapes;
mod indentation;
mod line_ends;
mod lookalike_text;
mod numbered;

use super::apply::overlapping;
use super::explain::line_index;
use crate::compare::{DiffTag, compare};
pub(super) use indentation::IndentRule;
use std::ops::Range;

/// How the text in the file differs from `old_string`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextDifference {
    /// `old_string` had the line numbers that Read shows.
    LineNumbers,
    /// White space at line ends, or one final newline.
    LineEnds,
    /// Spaces, dashes and dots that look alike.
    Lookalikes,
    /// `\n`, `\t` and `\"` were spelled out.
    Escapes,
    Indentation(IndentRule),
}

/// The one place that `old_string` means, and what is to be put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TolerantMatch {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
    pub(super) difference: TextDifference,
}

impl TolerantMatch {
    /// How the text was found, in one sentence for the model. `text` is the file before the edit.
    pub(super) fn note(&self, text: &str) -> String {
        let first = line_index(text, self.range.start) + 1;
        let last = first + text[self.range.clone()].trim_end_matches('\n').matches('\n').count();
        let lines = if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
        let way = match &self.difference {
            TextDifference::LineNumbers => "after taking off the line numbers".to_owned(),
            TextDifference::LineEnds => "apart from white space at line ends".to_owned(),
            TextDifference::Lookalikes => "apart from characters that look alike".to_owned(),
            TextDifference::Escapes => "with its escapes read as characters".to_owned(),
            TextDifference::Indentation(rule) => format!("by indentation (file: {})", rule.describe()),
        };
        format!("Matched {lines} {way}.")
    }
}

/// A place that fits, and what is to be put there; `None` where `new_string` cannot be brought into the file's form.
struct Place {
    range: Range<usize>,
    change: Option<(String, TextDifference)>,
}

/// Shorter texts, in characters that are not blank, are never matched by likeness.
const MIN_TEXT_CHARS: usize = 12;
/// Longer files, in bytes, are searched for the exact text only.
const MAX_FILE_BYTES: usize = 8 << 20;

/// What a search by likeness found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TolerantSearch {
    Nothing,
    One(TolerantMatch),
    /// Where it would fit, as byte ranges; more than one, so none was taken.
    Several(Vec<Range<usize>>),
}

/// Searches `text`, which like `old` and `new` has LF line ends only, for `old`. The caller has made sure that `text`
/// does not contain `old` exactly.
pub(super) fn search(text: &str, old: &str, new: &str) -> TolerantSearch {
    if text.len() > MAX_FILE_BYTES
        || old.chars().filter(|c| !c.is_whitespace()).take(MIN_TEXT_CHARS).count() < MIN_TEXT_CHARS
    {
        return TolerantSearch::Nothing;
    }
    let steps = [numbered::places, line_ends::places, lookalike_text::places, escapes::places, indentation::places];
    let found = steps.iter().map(|places| places(text, old, new)).find(|places| !places.is_empty());
    choose(text, found.unwrap_or_default())
}

fn choose(text: &str, mut places: Vec<Place>) -> TolerantSearch {
    if places.len() > 1 {
        return TolerantSearch::Several(places.into_iter().map(|place| place.range).collect());
    }
    match places.pop() {
        Some(Place { range, change: Some((replacement, difference)) }) if text[range.clone()] != replacement => {
            let is_certain = !joins_lines(text, &range, &replacement)
                && !cuts_word(text, range.start)
                && !cuts_word(text, range.end)
                && !is_there_already(text, &range, &replacement);
            if !is_certain {
                return TolerantSearch::Nothing;
            }
            // The text that is there must say by itself which place is meant.
            match overlapping(text, &text[range.clone()]) {
                all if all.len() > 1 => TolerantSearch::Several(all),
                _ => TolerantSearch::One(TolerantMatch { range, replacement, difference }),
            }
        }
        _ => TolerantSearch::Nothing,
    }
}

/// Whether the line that follows would become a part of the replacement's last line, which nobody asks for knowingly.
fn joins_lines(text: &str, range: &Range<usize>, replacement: &str) -> bool {
    let rest = &text[range.end..];
    text[range.clone()].ends_with('\n')
        && !replacement.is_empty()
        && !replacement.ends_with('\n')
        && !rest.is_empty()
        && !rest.starts_with('\n')
}

/// Whether the offset lies within a word: what begins or ends there is probably another text.
fn cuts_word(text: &str, offset: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text[..offset].ends_with(is_part) && text[offset..].starts_with(is_part)
}

/// Whether the replacement stands there with more than the place has: the edit was made before.
fn is_there_already(text: &str, range: &Range<usize>, replacement: &str) -> bool {
    replacement.len() > range.len()
        && (text[range.start..].starts_with(replacement) || text[..range.end].ends_with(replacement))
}

/// The lines of `text` without their line ends, with the offset of each. Text that ends with a newline has an empty
/// last line.
struct Lines<'a> {
    all: &'a str,
    text: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        let starts = lines.iter().scan(0, |at, line| Some(std::mem::replace(at, *at + line.len() + 1))).collect();
        Self { all: text, text: lines, starts }
    }

    fn len(&self) -> usize {
        self.text.len()
    }

    fn is_line_end(&self, offset: usize) -> bool {
        self.all[offset..].is_empty() || self.all[offset..].starts_with('\n')
    }

    /// The indices at which `count` lines fit.
    fn windows(&self, count: usize) -> Range<usize> {
        0..(self.len() + 1).saturating_sub(count)
    }
}

/// The place that was found; where whole lines elsewhere are `wanted` as well but for newlines around it, all of these:
/// none of them is chosen.
fn unless_several(
    found: Vec<Place>,
    lines: &Lines<'_>,
    wanted: &str,
    is_equal: impl Fn(&str, &str) -> bool,
) -> Vec<Place> {
    let wanted: Vec<&str> = wanted.trim_matches('\n').split('\n').collect();
    if found.len() != 1 {
        return found;
    }
    let fits = |at: &usize| lines.text[*at..].iter().zip(&wanted).all(|(file, wanted)| is_equal(file, wanted));
    let place = |at: usize| {
        let last = at + wanted.len() - 1;
        Place { range: lines.starts[at]..lines.starts[last] + lines.text[last].len(), change: None }
    };
    let all: Vec<Place> = lines.windows(wanted.len()).filter(fits).map(place).collect();
    if all.len() > 1 { all } else { found }
}

/// The lines of `new` for the file: those that `old` has too as they are in the file (`found`, line by line that of
/// `old`), the others converted. Where the place ends within a line (`ends_line` is false), a blank last line that stood
/// before other lines is converted too: the rest of that line must not get its white space. `None` when a line cannot be
/// converted.
fn keep_file_lines(
    found: &[&str],
    old: &[&str],
    new: &[&str],
    ends_line: bool,
    convert: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut out: Vec<String> = Vec::with_capacity(new.len());
    for op in compare(old, new, None) {
        match op.tag() {
            DiffTag::Equal => {
                for (old_at, new_at) in op.old_range().zip(op.new_range()) {
                    let is_moved_end = new_at + 1 == new.len() && old_at + 1 < old.len();
                    let is_moved_end = is_moved_end && !ends_line && new[new_at].trim().is_empty();
                    out.push(if is_moved_end { convert(new[new_at])? } else { found[old_at].to_owned() });
                }
            }
            DiffTag::Insert | DiffTag::Replace => {
                for line in &new[op.new_range()] {
                    out.push(convert(line)?);
                }
            }
            DiffTag::Delete => {}
        }
    }
    Some(out.join("\n"))
}

#[cfg(test)]
#[path = "tolerant_tests.rs"]
mod tests;
