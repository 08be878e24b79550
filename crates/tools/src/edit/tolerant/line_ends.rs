//! Equal but for white space at line ends, or for one final newline more than the file has.

use super::{Lines, Place, TextDifference, keep_file_lines, unless_several};
use std::ops::Range;

pub(super) fn places(text: &str, old: &str, new: &str) -> Vec<Place> {
    let lines = Lines::of(text);
    let found = trimmed_places(&lines, old, new);
    let found = if found.is_empty() { without_newline(&lines, old, new) } else { found };
    unless_several(found, &lines, old, |file, wanted| file.trim_end() == wanted.trim_end())
}

/// The places of `old` without its last newline, which the file does not have.
fn without_newline(lines: &Lines<'_>, old: &str, new: &str) -> Vec<Place> {
    let Some(old_rest) = old.strip_suffix('\n') else { return Vec::new() };
    // The newline is left out of both texts. A new text that ends with fewer newlines than the old one keeps its own:
    // they are what is wanted after it.
    let newlines = |text: &str| text.len() - text.trim_end_matches('\n').len();
    let new = new.strip_suffix('\n').filter(|_| newlines(new) >= newlines(old)).unwrap_or(new);
    // What was sent ended with a line: the beginning of a longer line is another text.
    let fitting = trimmed_places(lines, old_rest, new).into_iter();
    fitting.filter(|place| old_rest.ends_with('\n') || lines.is_line_end(place.range.end)).collect()
}

fn trimmed_places(lines: &Lines<'_>, old: &str, new: &str) -> Vec<Place> {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let fitting = lines.windows(old.len()).filter_map(|at| fit(lines, at, &old));
    fitting
        .map(|(range, found)| {
            // White space that was sent at line ends where the file has none is not meant.
            let is_extra = found.iter().zip(&old).any(|(file, sent)| ends_blank(sent) && !ends_blank(file));
            let convert = |line: &str| Some(if is_extra { line.trim_end() } else { line }.to_owned());
            let replacement = keep_file_lines(&found, &old, &new, lines.is_line_end(range.end), convert);
            Place { range, change: replacement.map(|text| (text, TextDifference::LineEnds)) }
        })
        .collect()
}

fn ends_blank(line: &str) -> bool {
    line.ends_with(char::is_whitespace)
}

/// The pieces of the file's lines from line `at` on that are `old` but for white space at line ends.
fn fit<'a>(lines: &Lines<'a>, at: usize, old: &[&str]) -> Option<(Range<usize>, Vec<&'a str>)> {
    let last = old.len() - 1;
    let file = &lines.text[at..at + old.len()];
    let inner = 1..last.max(1);
    if !old[inner.clone()].iter().zip(&file[inner]).all(|(a, b)| a.trim_end() == b.trim_end()) {
        return None;
    }
    let (first_start, first_end) = match last {
        0 => single_line(file[0], old[0])?,
        _ => (file[0].trim_end().strip_suffix(old[0].trim_end())?.len(), file[0].len()),
    };
    let last_end = if last == 0 { first_end } else { prefix_length(file[last], old[last])? };
    let mut pieces = file.to_vec();
    pieces[last] = &pieces[last][..last_end];
    pieces[0] = &pieces[0][first_start..];
    Some((lines.starts[at] + first_start..lines.starts[at + last] + last_end, pieces))
}

/// How much of the file's line the last line of the text takes: all of it, or the beginning that is equal as it is.
fn prefix_length(line: &str, wanted: &str) -> Option<usize> {
    if line.starts_with(wanted) {
        return Some(wanted.len());
    }
    (line.trim_end() == wanted.trim_end()).then_some(line.len())
}

/// A text within one line that ends at the line's end.
fn single_line(line: &str, wanted: &str) -> Option<(usize, usize)> {
    Some((line.trim_end().strip_suffix(wanted.trim_end())?.len(), line.len()))
}
