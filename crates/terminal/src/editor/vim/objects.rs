//! Words, lines, brackets and quotes as Vim defines them. Pure functions over a text.

use crate::editor::motion;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordSize {
    Small,
    /// Everything between blanks.
    Big,
}

fn class(c: char, word: WordSize) -> u8 {
    if c.is_whitespace() {
        0
    } else if word == WordSize::Big || c.is_alphanumeric() || c == '_' {
        1
    } else {
        2
    }
}

fn class_at(text: &str, at: usize, word: WordSize) -> Option<u8> {
    text[at..].chars().next().map(|c| class(c, word))
}

pub(super) fn next_word(text: &str, from: usize, word: WordSize) -> usize {
    let Some(here) = class_at(text, from, word) else { return text.len() };
    let mut left = false;
    for (index, c) in text[from..].char_indices() {
        let now = class(c, word);
        left |= now != here;
        if left && now != 0 {
            return from + index;
        }
    }
    text.len()
}

pub(super) fn word_end(text: &str, from: usize, word: WordSize) -> usize {
    let mut at = motion::right(text, from);
    while class_at(text, at, word) == Some(0) {
        at = motion::right(text, at);
    }
    let Some(here) = class_at(text, at, word) else { return motion::left(text, text.len()) };
    loop {
        let next = motion::right(text, at);
        if next == at || class_at(text, next, word) != Some(here) {
            return at;
        }
        at = next;
    }
}

pub(super) fn word_start(text: &str, from: usize, word: WordSize) -> usize {
    let mut at = motion::left(text, from);
    while at > 0 && class_at(text, at, word) == Some(0) {
        at = motion::left(text, at);
    }
    let here = class_at(text, at, word);
    while at > 0 {
        let before = motion::left(text, at);
        if class_at(text, before, word) != here {
            break;
        }
        at = before;
    }
    at
}

pub(super) fn first_non_blank(text: &str, from: usize) -> usize {
    let start = motion::line_start(text, from);
    let line = &text[start..motion::line_end(text, from)];
    start + line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The same column in the next line, counted in grapheme clusters.
pub(super) fn line_below(text: &str, from: usize) -> usize {
    let end = motion::line_end(text, from);
    if end == text.len() { from } else { same_column(text, from, end + 1) }
}

pub(super) fn line_above(text: &str, from: usize) -> usize {
    let start = motion::line_start(text, from);
    if start == 0 { from } else { same_column(text, from, motion::line_start(text, start - 1)) }
}

fn same_column(text: &str, from: usize, line: usize) -> usize {
    use unicode_segmentation::UnicodeSegmentation;
    let column = text[motion::line_start(text, from)..from].graphemes(true).count();
    let end = motion::line_end(text, line);
    text[line..end].grapheme_indices(true).nth(column).map_or(end, |(index, _)| line + index)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindKind {
    To,
    Before,
    BackTo,
    BackAfter,
}

impl FindKind {
    pub(super) fn parse(key: char) -> Self {
        match key {
            'f' => Self::To,
            't' => Self::Before,
            'F' => Self::BackTo,
            _ => Self::BackAfter,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CharFind {
    pub(super) kind: FindKind,
    pub(super) what: char,
}

impl CharFind {
    pub(super) fn is_forward(self) -> bool {
        matches!(self.kind, FindKind::To | FindKind::Before)
    }

    pub(super) fn reversed(self) -> Self {
        let kind = match self.kind {
            FindKind::To => FindKind::BackTo,
            FindKind::Before => FindKind::BackAfter,
            FindKind::BackTo => FindKind::To,
            FindKind::BackAfter => FindKind::Before,
        };
        Self { kind, ..self }
    }

    /// The position of the `count`th match; searches only the current line.
    pub(super) fn go(self, text: &str, from: usize, count: usize) -> Option<usize> {
        let (start, end) = (motion::line_start(text, from), motion::line_end(text, from));
        let nth = count.saturating_sub(1);
        match self.kind {
            FindKind::To | FindKind::Before => {
                let after = motion::right(text, from).min(end);
                let (index, _) = text[after..end].char_indices().filter(|(_, c)| *c == self.what).nth(nth)?;
                let found = after + index;
                Some(if self.kind == FindKind::To { found } else { motion::left(text, found) })
            }
            FindKind::BackTo | FindKind::BackAfter => {
                let (index, c) = text[start..from].char_indices().rev().filter(|(_, c)| *c == self.what).nth(nth)?;
                let found = start + index;
                Some(if self.kind == FindKind::BackTo { found } else { found + c.len_utf8() })
            }
        }
    }
}

/// The range of a text object such as `iw`, `a"` or `i(` at a position.
pub(super) fn object(text: &str, at: usize, reach: char, kind: char) -> Option<Range<usize>> {
    let around = reach == 'a';
    match kind {
        'w' => word_object(text, at, around, WordSize::Small),
        'W' => word_object(text, at, around, WordSize::Big),
        '"' | '\'' | '`' => quoted(text, at, around, kind),
        '(' | ')' | 'b' => bracketed(text, at, around, ('(', ')')),
        '[' | ']' => bracketed(text, at, around, ('[', ']')),
        '{' | '}' | 'B' => bracketed(text, at, around, ('{', '}')),
        _ => None,
    }
}

fn word_object(text: &str, at: usize, around: bool, word: WordSize) -> Option<Range<usize>> {
    let here = class_at(text, at, word)?;
    let start = text[..at].char_indices().rev().take_while(|(_, c)| *c != '\n' && class(*c, word) == here).last();
    let start = start.map_or(at, |(index, _)| index);
    let end_of = |from: usize, wanted: u8| {
        let run = text[from..].char_indices().find(|(_, c)| *c == '\n' || class(*c, word) != wanted);
        run.map_or(text.len(), |(index, _)| from + index)
    };
    let end = end_of(at, here);
    if !around {
        return Some(start..end);
    }
    let wide = end_of(end, 0);
    if wide > end {
        return Some(start..wide);
    }
    // Without a blank after the word, the blanks before it are included.
    let before = text[..start].trim_end_matches([' ', '\t']).len();
    Some(before..end)
}

fn quoted(text: &str, at: usize, around: bool, quote: char) -> Option<Range<usize>> {
    let (start, end) = (motion::line_start(text, at), motion::line_end(text, at));
    let marks: Vec<usize> = text[start..end].match_indices(quote).map(|(index, _)| start + index).collect();
    let pair = marks.chunks_exact(2).find(|pair| at <= pair[1])?;
    Some(if around { pair[0]..pair[1] + 1 } else { pair[0] + 1..pair[1] })
}

fn bracketed(text: &str, at: usize, around: bool, (open, close): (char, char)) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    let mut start = None;
    if text[at..].starts_with(open) {
        start = Some(at);
    } else {
        for (index, c) in text[..at].char_indices().rev() {
            if c == close {
                depth += 1;
            } else if c == open {
                if depth == 0 {
                    start = Some(index);
                    break;
                }
                depth -= 1;
            }
        }
    }
    let start = start?;
    depth = 0;
    for (index, c) in text[start + 1..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            if depth == 0 {
                let end = start + 1 + index;
                return Some(if around { start..end + 1 } else { start + 1..end });
            }
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
