//! Boundaries of words, lines and graphemes. Pure functions over a text and a byte offset.

use unicode_segmentation::UnicodeSegmentation;

/// The nearest grapheme boundary at or before `at`.
pub fn boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    text.grapheme_indices(true).map(|(start, _)| start).take_while(|start| *start <= at).last().unwrap_or(0)
}

pub fn left(text: &str, at: usize) -> usize {
    text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
}

pub fn right(text: &str, at: usize) -> usize {
    text[at..].graphemes(true).next().map_or(at, |cluster| at + cluster.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The start of the word before `at`.
pub fn word_left(text: &str, at: usize) -> usize {
    let mut seen_word = false;
    for (index, c) in text[..at].char_indices().rev() {
        if is_word(c) {
            seen_word = true;
        } else if seen_word {
            return index + c.len_utf8();
        }
    }
    0
}

/// The end of the word after `at`.
pub fn word_right(text: &str, at: usize) -> usize {
    let mut seen_word = false;
    for (index, c) in text[at..].char_indices() {
        if is_word(c) {
            seen_word = true;
        } else if seen_word {
            return at + index;
        }
    }
    text.len()
}

/// The start of the text between blanks before `at`, skipping blanks first.
pub fn big_word_left(text: &str, at: usize) -> usize {
    let mut seen_word = false;
    for (index, c) in text[..at].char_indices().rev() {
        if !c.is_whitespace() {
            seen_word = true;
        } else if seen_word {
            return index + c.len_utf8();
        }
    }
    0
}

pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |index| index + 1)
}

pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |index| at + index)
}
