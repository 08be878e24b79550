//! Words, lines, brackets and quotes as Vim defines them. Pure functions over a text.

use crate::editor::motion;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordSize {
    Small,
    /// Everything between blanks.
    Big,
}

/// Whether a text object includes what surrounds it: blanks or brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectReach {
    Inside,
    Around,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharClass {
    Blank,
    Word,
    Punctuation,
}

fn class(c: char, size: WordSize) -> CharClass {
    if c.is_whitespace() {
        CharClass::Blank
    } else if size == WordSize::Big || c.is_alphanumeric() || c == '_' {
        CharClass::Word
    } else {
        CharClass::Punctuation
    }
}

fn class_at(text: &str, at: usize, size: WordSize) -> Option<CharClass> {
    text[at..].chars().next().map(|c| class(c, size))
}

/// An empty line counts as a word.
pub(super) fn is_empty_line(text: &str, at: usize) -> bool {
    motion::line_start(text, at) == motion::line_end(text, at)
}

fn is_blank(text: &str, at: usize, size: WordSize) -> bool {
    class_at(text, at, size) == Some(CharClass::Blank)
}

/// The end of the run of one class from `at` on, within the line.
fn end_of_run(text: &str, at: usize, size: WordSize) -> usize {
    let Some(here) = class_at(text, at, size) else { return at };
    let end = text[at..].char_indices().find(|(_, c)| *c == '\n' || class(*c, size) != here);
    end.map_or(text.len(), |(index, _)| at + index)
}

/// The start of the next word; the end of the text when there is none.
pub(super) fn next_word(text: &str, from: usize, size: WordSize) -> usize {
    let mut at = if is_blank(text, from, size) { motion::right(text, from) } else { end_of_run(text, from, size) };
    while is_blank(text, at, size) && !is_empty_line(text, at) {
        at = motion::right(text, at);
    }
    at
}

/// As `next_word`, but a word at the end of a line ends there: operators do not reach into the next line for it.
pub(super) fn next_word_or_line_end(text: &str, from: usize, size: WordSize) -> usize {
    if text[from..].starts_with('\n') {
        return from + 1;
    }
    let end = if is_blank(text, from, size) { motion::right(text, from) } else { end_of_run(text, from, size) };
    let line_end = motion::line_end(text, end);
    if line_end < text.len() && text[end..line_end].trim().is_empty() { line_end } else { next_word(text, from, size) }
}

/// The last character of the word at `at`.
pub(super) fn end_of_word_at(text: &str, at: usize, size: WordSize) -> usize {
    let end = end_of_run(text, at, size);
    if end == at { at } else { motion::left(text, end) }
}

/// The last character of the word after `from`.
pub(super) fn word_end(text: &str, from: usize, size: WordSize) -> usize {
    let mut at = motion::right(text, from);
    while is_blank(text, at, size) {
        at = motion::right(text, at);
    }
    if at >= text.len() { super::motions::last_of_line(text, text.len()) } else { end_of_word_at(text, at, size) }
}

pub(super) fn word_start(text: &str, from: usize, size: WordSize) -> usize {
    let mut at = motion::left(text, from);
    while at > 0 && is_blank(text, at, size) && !is_empty_line(text, at) {
        at = motion::left(text, at);
    }
    start_of_run(text, at, size)
}

fn start_of_run(text: &str, at: usize, size: WordSize) -> usize {
    let Some(here) = class_at(text, at, size).filter(|_| !is_empty_line(text, at)) else { return at };
    let run = text[..at].char_indices().rev().take_while(|(_, c)| *c != '\n' && class(*c, size) == here);
    run.last().map_or(at, |(index, _)| index)
}

/// The first character of a line that is no blank; its last when all are.
pub(super) fn first_non_blank(text: &str, from: usize) -> usize {
    indented(text, from).min(super::motions::last_of_line(text, from))
}

/// The end of the blanks at the start of a line.
pub(super) fn indented(text: &str, from: usize) -> usize {
    let start = motion::line_start(text, from);
    let line = &text[start..motion::line_end(text, from)];
    start + line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The range of a text object such as `iw`, `a"` or `i(` at a position.
pub(super) fn object(text: &str, at: usize, reach: ObjectReach, kind: char, count: usize) -> Option<Range<usize>> {
    match kind {
        'w' => word_object(text, at, reach, WordSize::Small, count),
        'W' => word_object(text, at, reach, WordSize::Big, count),
        '"' | '\'' | '`' => quoted(text, at, reach, kind),
        '(' | ')' | 'b' => bracketed(text, at, reach, ('(', ')'), count),
        '[' | ']' => bracketed(text, at, reach, ('[', ']'), count),
        '{' | '}' | 'B' => bracketed(text, at, reach, ('{', '}'), count),
        _ => None,
    }
}

fn word_object(text: &str, at: usize, reach: ObjectReach, size: WordSize, count: usize) -> Option<Range<usize>> {
    let line_end = motion::line_end(text, at);
    if is_empty_line(text, at) {
        return None;
    }
    let start = start_of_run(text, at, size);
    let mut end = start;
    match reach {
        ObjectReach::Inside => {
            for _ in 0..count {
                end = run_or_break(text, end);
                end = end_of_run(text, end, size).max(end);
            }
            Some(start..end)
        }
        ObjectReach::Around => {
            let starts_blank = start == line_end || is_blank(text, start, size);
            let mut has_blanks = starts_blank;
            for _ in 0..count {
                if starts_blank {
                    let last = word_end(text, end, size);
                    let next = motion::right(text, last);
                    if next <= end || is_blank(text, last, size) {
                        return None;
                    }
                    end = next;
                } else {
                    end = end_of_run(text, end, size);
                    let wide = if is_blank(text, end, size) { end_of_run(text, end, size) } else { end };
                    has_blanks = wide > end;
                    end = wide;
                }
            }
            if has_blanks {
                return Some(start..end);
            }
            // Without a blank after the word, the blanks before it are included, unless they indent the line.
            let line = motion::line_start(text, start);
            let before = line + text[line..start].trim_end_matches([' ', '\t']).len();
            Some(if before == line { start..end } else { before..end })
        }
    }
}

/// The next run: in the next line when this one is at its end.
fn run_or_break(text: &str, at: usize) -> usize {
    if !text[at..].starts_with('\n') || is_empty_line(text, at) {
        return at;
    }
    at + 1
}

fn quoted(text: &str, at: usize, reach: ObjectReach, quote: char) -> Option<Range<usize>> {
    let (start, end) = (motion::line_start(text, at), motion::line_end(text, at));
    let (open, close) = quote_pair(&text[start..end], at - start, quote)?;
    let (open, close) = (start + open, start + close);
    if reach == ObjectReach::Inside {
        return Some(open + 1..close);
    }
    let after = close + 1;
    let wide = end - text[after..end].trim_start_matches([' ', '\t']).len();
    if wide > after {
        return Some(open..wide);
    }
    let before = text[start..open].trim_end_matches([' ', '\t']).len();
    Some(start + before..after)
}

/// The quotes around a position of a line. On a quote, pairs are counted from the start of the line; elsewhere the
/// nearest quote before counts as the opening one, or else the first pair after.
fn quote_pair(line: &str, at: usize, quote: char) -> Option<(usize, usize)> {
    let escaped = |index: usize| line[..index].chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
    let marks: Vec<usize> =
        line.match_indices(quote).map(|(index, _)| index).filter(|index| !escaped(*index)).collect();
    let next_after = |from: usize| marks.iter().copied().find(|mark| *mark > from);
    if marks.contains(&at) {
        return marks.chunks_exact(2).map(|pair| (pair[0], pair[1])).find(|(open, close)| *open == at || *close == at);
    }
    let open = marks.iter().copied().rfind(|mark| *mark < at).or_else(|| next_after(at))?;
    Some((open, next_after(open)?))
}

fn bracketed(
    text: &str,
    at: usize,
    reach: ObjectReach,
    (open, close): (char, char),
    count: usize,
) -> Option<Range<usize>> {
    let around = if text[at..].starts_with(open) { Some(at) } else { opening(text, at, (open, close)) };
    // Outside of brackets the next pair counts.
    let next = || text[at..].find([open, close]).map(|index| at + index).filter(|next| text[*next..].starts_with(open));
    let mut start = around.or_else(next)?;
    for _ in 1..count {
        start = opening(text, start, (open, close))?;
    }
    let mut depth = 0_usize;
    let mut end = None;
    for (index, c) in text[start + 1..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && depth == 0 {
            end = Some(start + 1 + index);
            break;
        } else if c == close {
            depth -= 1;
        }
    }
    let end = end?;
    if reach == ObjectReach::Around {
        return Some(start..end + 1);
    }
    Some(start + 1..end)
}

/// The opening bracket around a position, which itself does not count.
fn opening(text: &str, at: usize, (open, close): (char, char)) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, c) in text[..at].char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open && depth == 0 {
            return Some(index);
        } else if c == open {
            depth -= 1;
        }
    }
    None
}

/// Swaps upper and lower case.
pub(super) fn flipped(text: &str) -> String {
    let flip =
        |c: char| -> String { if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() } };
    text.chars().map(flip).collect()
}
