//! Replaces text, without file access. Matches are exact except for two differences that models cannot see: CRLF
//! and LF, and curly and straight quotes. Everything that is not replaced keeps its bytes.

use super::lookalikes::{FoldedText, Folding, folded, keep_file_characters, lf_only};
use crate::text_file::LineEnding;
use std::borrow::Cow;
use std::ops::Range;

/// How the old text was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    Exactly,
    /// With curly and straight quotes treated as equal.
    ByQuotes,
}

/// Which occurrences to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceScope {
    /// The only occurrence; more than one is an error.
    One,
    All,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedEdit {
    pub text: String,
    /// Where each replacement begins in `text`, in bytes.
    pub places: Vec<usize>,
    pub matched: MatchKind,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditMismatch {
    NotFound,
    /// The places in the text with LF line ends, when only one was to be replaced.
    Ambiguous(Vec<Range<usize>>),
}

/// Replaces `old` by `new` in `content`, which may have any line endings. `old` must not be empty.
pub fn apply(content: &str, old: &str, new: &str, scope: ReplaceScope) -> Result<AppliedEdit, EditMismatch> {
    let (old, new) = (lf_only(old), lf_only(new));
    let text = LfText::of(content);
    let (found, matched) = find(&text.lf, &old);
    if found.is_empty() {
        return Err(EditMismatch::NotFound);
    }
    if scope == ReplaceScope::One {
        // Places that overlap are different places too.
        let places = if found.len() == 1 { overlapping(&text.lf, &text.lf[found[0].clone()]) } else { found.clone() };
        if places.len() > 1 {
            return Err(EditMismatch::Ambiguous(places));
        }
    }
    let ending = LineEnding::of(content);
    let mut out = String::with_capacity(content.len() + new.len() * found.len());
    let (mut at, mut places) = (0, Vec::with_capacity(found.len()));
    for range in &found {
        out.push_str(&content[at..text.original(range.start)]);
        places.push(out.len());
        let replacement = match matched {
            MatchKind::Exactly => Cow::Borrowed(&*new),
            MatchKind::ByQuotes => keep_file_characters(&text.lf[range.clone()], &old, &new, Folding::Quotes).into(),
        };
        out.push_str(&ending.apply(&replacement));
        at = text.original(range.end);
    }
    out.push_str(&content[at..]);
    Ok(AppliedEdit { text: out, places, matched })
}

fn find(text: &str, old: &str) -> (Vec<Range<usize>>, MatchKind) {
    let exact = occurrences(text, old);
    if !exact.is_empty() || !may_match_by_quotes(text, old) {
        return (exact, MatchKind::Exactly);
    }
    let straight = FoldedText::of(text, Folding::Quotes);
    let found = occurrences(&straight.text, &folded(old, Folding::Quotes));
    (found.into_iter().map(|r| straight.original(r.start)..straight.original(r.end)).collect(), MatchKind::ByQuotes)
}

fn may_match_by_quotes(text: &str, old: &str) -> bool {
    Folding::Quotes.changes(old) || old.contains(['\'', '"']) && Folding::Quotes.changes(text)
}

pub(super) fn occurrences(text: &str, needle: &str) -> Vec<Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    memchr::memmem::find_iter(text.as_bytes(), needle).map(|at| at..at + needle.len()).collect()
}

/// Most overlapping places that are counted.
const MAX_OVERLAPPING: usize = 100;

/// All places of `needle` in `text`, also those that overlap.
pub(super) fn overlapping(text: &str, needle: &str) -> Vec<Range<usize>> {
    let finder = memchr::memmem::Finder::new(needle);
    let mut from = 0;
    let places = std::iter::from_fn(|| {
        let at = from + finder.find(text.as_bytes().get(from..)?)?;
        from = at + 1;
        Some(at..at + needle.len())
    });
    places.take(MAX_OVERLAPPING).collect()
}

/// Text with LF endings only, and the data to map offsets back to the original.
pub(super) struct LfText<'a> {
    pub(super) lf: Cow<'a, str>,
    /// Offsets in `lf` of the line feeds that had a carriage return before them.
    crlf_offsets: Vec<usize>,
}

impl<'a> LfText<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let folded = memchr::memmem::find_iter(text.as_bytes(), "\r\n").enumerate().map(|(i, at)| at - i).collect();
        Self { lf: lf_only(text), crlf_offsets: folded }
    }

    pub(super) fn original(&self, offset: usize) -> usize {
        offset + self.crlf_offsets.partition_point(|at| *at < offset)
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
