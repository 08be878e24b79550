//! Replaces text, without file access. Matches are exact except for two differences that models cannot see: CRLF
//! and LF, and curly and straight quotes. Everything that is not replaced keeps its bytes.

use crate::compare::{DiffTag, compare};
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
    pub count: usize,
    pub matched: MatchKind,
}

/// Why nothing was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditMismatch {
    NotFound,
    /// The number of occurrences, when only one was to be replaced.
    Ambiguous(usize),
}

/// Replaces `old` by `new` in `content`, which may have any line endings. `old` must not be empty.
pub fn apply(content: &str, old: &str, new: &str, scope: ReplaceScope) -> Result<AppliedEdit, EditMismatch> {
    let (old, new) = (lf_only(old), lf_only(new));
    let text = LfText::of(content);
    let (found, matched) = find(&text.lf, &old);
    match (found.len(), scope) {
        (0, _) => return Err(EditMismatch::NotFound),
        (n @ 2.., ReplaceScope::One) => return Err(EditMismatch::Ambiguous(n)),
        _ => {}
    }
    let ending = LineEnding::of(content);
    let mut out = String::with_capacity(content.len() + new.len() * found.len());
    let mut at = 0;
    for range in &found {
        out.push_str(&content[at..text.original(range.start)]);
        let replacement = match matched {
            MatchKind::Exactly => Cow::Borrowed(&*new),
            MatchKind::ByQuotes => keep_quotes(&text.lf[range.clone()], &old, &new).into(),
        };
        out.push_str(&ending.apply(&replacement));
        at = text.original(range.end);
    }
    out.push_str(&content[at..]);
    Ok(AppliedEdit { text: out, count: found.len(), matched })
}

fn find(text: &str, old: &str) -> (Vec<Range<usize>>, MatchKind) {
    let exact = occurrences(text, old);
    if !exact.is_empty() || !(has_quotes(old) && text.contains(CURLY) || old.contains(CURLY)) {
        return (exact, MatchKind::Exactly);
    }
    let straight = StraightQuotes::of(text);
    let found = occurrences(&straight.text, &straighten(old));
    (found.into_iter().map(|r| straight.original(r.start)..straight.original(r.end)).collect(), MatchKind::ByQuotes)
}

fn occurrences(text: &str, needle: &str) -> Vec<Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    memchr::memmem::find_iter(text.as_bytes(), needle).map(|at| at..at + needle.len()).collect()
}

fn lf_only(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// Text with LF endings only, and the data to map offsets back to the original.
struct LfText<'a> {
    lf: Cow<'a, str>,
    /// Offsets in `lf` of the line feeds that had a carriage return before them.
    crlf_offsets: Vec<usize>,
}

impl<'a> LfText<'a> {
    fn of(text: &'a str) -> Self {
        let folded = memchr::memmem::find_iter(text.as_bytes(), "\r\n").enumerate().map(|(i, at)| at - i).collect();
        Self { lf: lf_only(text), crlf_offsets: folded }
    }

    fn original(&self, offset: usize) -> usize {
        offset + self.crlf_offsets.partition_point(|at| *at < offset)
    }
}

const CURLY: [char; 8] = ['‘', '’', '‚', '‛', '“', '”', '„', '‟'];

fn has_quotes(text: &str) -> bool {
    text.contains(['\'', '"'])
}

fn straight(c: char) -> char {
    match c {
        '‘' | '’' | '‚' | '‛' => '\'',
        '“' | '”' | '„' | '‟' => '"',
        other => other,
    }
}

fn straighten(text: &str) -> String {
    text.chars().map(straight).collect()
}

/// Text with straight quotes, and the data to map offsets back. A curly quote has three bytes, a straight one has one.
struct StraightQuotes {
    text: String,
    /// Offsets in `text` of the quotes that were curly.
    curly_offsets: Vec<usize>,
}

impl StraightQuotes {
    fn of(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut adjusted = Vec::new();
        for c in text.chars() {
            let s = straight(c);
            if s != c {
                adjusted.push(out.len());
            }
            out.push(s);
        }
        Self { text: out, curly_offsets: adjusted }
    }

    fn original(&self, offset: usize) -> usize {
        offset + 2 * self.curly_offsets.partition_point(|at| *at < offset)
    }
}

/// Above this many characters, only the common prefix and suffix keep the file's quotes.
const DIFF_LIMIT: usize = 4_000;

/// `new`, with the characters it shares with `old` taken from `found`, which is `old` with the file's quotes.
fn keep_quotes(found: &str, old: &str, new: &str) -> String {
    let found: Vec<char> = found.chars().collect();
    let old: Vec<char> = old.chars().map(straight).collect();
    let new_chars: Vec<char> = new.chars().collect();
    let new_plain: Vec<char> = new.chars().map(straight).collect();
    if old.len().max(new_chars.len()) > DIFF_LIMIT {
        return keep_ends(&found, &old, &new_chars, &new_plain);
    }
    let mut out = String::with_capacity(new.len());
    for op in compare(&old, &new_plain, None) {
        match op.tag() {
            DiffTag::Equal => out.extend(&found[op.old_range()]),
            DiffTag::Insert | DiffTag::Replace => out.extend(&new_chars[op.new_range()]),
            DiffTag::Delete => {}
        }
    }
    out
}

fn keep_ends(found: &[char], old: &[char], new: &[char], new_plain: &[char]) -> String {
    let head = old.iter().zip(new_plain).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new_plain.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let middle = &new[head..new.len() - tail];
    found[..head].iter().chain(middle).chain(&found[found.len() - tail..]).collect()
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
