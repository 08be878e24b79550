//! Characters that models take for one another: curly and straight quotes, kinds of spaces and dashes, three dots and
//! an ellipsis. Text is compared with such characters folded into one, and what is not changed keeps the file's own.

use crate::compare::{DiffTag, compare};
use std::borrow::Cow;

/// Which characters are treated as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folding {
    /// Curly and straight quotes.
    Quotes,
    /// Quotes, and also spaces, dashes and ellipses.
    All,
}

const THREE_DOTS: &str = "...";

impl Folding {
    fn fold(self, c: char) -> char {
        match (c, self) {
            ('‘' | '’' | '‚' | '‛', _) => '\'',
            ('“' | '”' | '„' | '‟', _) => '"',
            ('\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}', Self::All) => ' ',
            ('\u{2010}'..='\u{2015}' | '\u{2212}', Self::All) => '-',
            (other, _) => other,
        }
    }

    /// Splits `text` into its folded characters, each with the bytes it has in `text`.
    fn units(self, text: &str) -> impl Iterator<Item = Unit<'_>> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let c = rest.chars().next()?;
            let (folded, length) = match self {
                Self::All if rest.starts_with(THREE_DOTS) => ('…', THREE_DOTS.len()),
                _ => (self.fold(c), c.len_utf8()),
            };
            let (source, after) = rest.split_at(length);
            rest = after;
            Some(Unit { folded, source })
        })
    }

    /// Whether `text` has a character that this folding changes.
    pub(super) fn changes(self, text: &str) -> bool {
        self.units(text).any(|unit| !unit.is_itself())
    }
}

/// A folded character and the text it was made from.
#[derive(Clone, Copy)]
struct Unit<'a> {
    folded: char,
    source: &'a str,
}

impl Unit<'_> {
    fn is_itself(&self) -> bool {
        self.source.chars().eq([self.folded])
    }
}

/// Folded text, and the data to map its offsets back.
pub(super) struct FoldedText {
    pub(super) text: String,
    /// After each unit whose length changed: the offset in `text`, and how many bytes the original is longer so far.
    shifts: Vec<(usize, isize)>,
}

impl FoldedText {
    pub(super) fn of(text: &str, folding: Folding) -> Self {
        let mut folded = String::with_capacity(text.len());
        let (mut shifts, mut shift) = (Vec::new(), 0);
        for unit in folding.units(text) {
            folded.push(unit.folded);
            let longer = unit.source.len() as isize - unit.folded.len_utf8() as isize;
            if longer != 0 {
                shift += longer;
                shifts.push((folded.len(), shift));
            }
        }
        Self { text: folded, shifts }
    }

    /// The offset in the original of an offset in `text` that is a boundary of characters.
    pub(super) fn original(&self, offset: usize) -> usize {
        let passed = self.shifts.partition_point(|(at, _)| *at <= offset);
        let shift = passed.checked_sub(1).map_or(0, |last| self.shifts[last].1);
        offset.saturating_add_signed(shift)
    }
}

/// `text` with its lookalikes folded.
pub(super) fn folded(text: &str, folding: Folding) -> String {
    folding.units(text).map(|unit| unit.folded).collect()
}

/// Above this many characters, only the common prefix and suffix keep the file's characters.
const DIFF_LIMIT: usize = 4_000;

/// `new`, with the characters it shares with `old` taken from `found`, which is `old` as it is in the file.
pub(super) fn keep_file_characters(found: &str, old: &str, new: &str, folding: Folding) -> String {
    let found: Vec<&str> = folding.units(found).map(|unit| unit.source).collect();
    let old: Vec<char> = folding.units(old).map(|unit| unit.folded).collect();
    let (new, new_folded): (Vec<&str>, Vec<char>) = folding.units(new).map(|unit| (unit.source, unit.folded)).unzip();
    if found.len() != old.len() {
        return new.concat();
    }
    if old.len().max(new.len()) > DIFF_LIMIT {
        return keep_ends(&found, &old, &new, &new_folded);
    }
    let mut out = String::new();
    for op in compare(&old, &new_folded, None) {
        match op.tag() {
            DiffTag::Equal => out.extend(found[op.old_range()].iter().copied()),
            DiffTag::Insert | DiffTag::Replace => out.extend(new[op.new_range()].iter().copied()),
            DiffTag::Delete => {}
        }
    }
    out
}

fn keep_ends(found: &[&str], old: &[char], new: &[&str], new_folded: &[char]) -> String {
    let head = old.iter().zip(new_folded).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new_folded.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let middle = &new[head..new.len() - tail];
    [&found[..head], middle, &found[found.len() - tail..]].concat().concat()
}

/// `text` with LF line ends only.
pub(super) fn lf_only(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_back_to_the_same_characters() {
        for (text, folding) in [("a “b” c… d", Folding::Quotes), ("x – y... z…\u{a0}w", Folding::All)] {
            let folded = FoldedText::of(text, folding);
            let mut offset = 0;
            for unit in folding.units(text) {
                let original = folded.original(offset);
                assert!(text[original..].starts_with(unit.source), "{text:?} at {offset}");
                offset += unit.folded.len_utf8();
            }
            assert_eq!(folded.original(folded.text.len()), text.len());
        }
    }

    #[test]
    fn only_lookalikes_are_changed() {
        assert_eq!(folded("a\u{a0}–b…", Folding::All), "a -b…");
        assert_eq!(folded("a...b", Folding::All), "a…b");
        assert_eq!(folded("a – “b”", Folding::Quotes), "a – \"b\"");
        assert!(!Folding::All.changes("a - b"));
        assert!(Folding::All.changes("a − b"));
    }
}
