//! Finds where something to hide may begin and says what it is. Values are found by their first bytes and compared
//! whole; among values that begin alike the longest wins, and a value wins over a format.

use super::formats::{self, KeyBody, KeyBoundary, KeyMatch, KeyTail};
use super::table::{FORMATS, SHARED};
use super::{KnownSecret, mask_text, settings, structure};
use aho_corasick::{AhoCorasick, MatchKind, packed};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

/// A value is found by this many of its first bytes.
const PREFIX_BYTES: usize = 24;
/// A user name of this length may be a key.
const MIN_KEY_USER_BYTES: usize = 16;
/// How far back the surroundings of a key are looked at.
pub(super) const LOOKBEHIND_BYTES: usize = 96;

pub(super) struct SecretMatcher {
    values: Vec<SecretValue>,
    /// Where values begin; `None` when there are none.
    starts: Option<PrefixFinder>,
    /// Indices into `values` by first byte, longest first.
    by_first: FirstByteIndex,
    longest_start: usize,
}

struct SecretValue {
    bytes: Vec<u8>,
    mask: Vec<u8>,
}

impl SecretValue {
    fn start(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(PREFIX_BYTES)]
    }
}

/// What a place turned out to be.
pub(super) enum SecretMatch<'a> {
    Nothing,
    Wait,
    /// `lead` bytes stay as they are, `length` more are hidden.
    Secret {
        lead: usize,
        length: usize,
        rest: KeyTail,
        mask: &'a [u8],
    },
}

/// More beginnings at once make the vectorised search slower than another pass does.
const MAX_PACKED_PREFIXES: usize = 32;
/// Beginnings this short are searched for by themselves.
const TINY: usize = 2;
/// Beginnings shorter than this would make the search for longer ones less exact.
const MIN_PACKED_BYTES: usize = 4;

/// In the first bytes, beginnings of formats are looked up one by one: the search for all of them takes longer to build than
/// a few short texts to read.
const MAX_PLAIN_BYTES: usize = 16 << 10;

static FORMAT_STARTS: OnceLock<Vec<PrefixFinder>> = OnceLock::new();

/// The search for beginnings of formats in the next `more` bytes.
fn format_finders(more: usize) -> &'static [PrefixFinder] {
    static SEARCHED: AtomicUsize = AtomicUsize::new(0);
    if let Some(built) = FORMAT_STARTS.get() {
        return built;
    }
    let searched = SEARCHED.load(Ordering::Relaxed).saturating_add(more);
    if searched > MAX_PLAIN_BYTES {
        return FORMAT_STARTS.get_or_init(format_starts);
    }
    SEARCHED.store(searched, Ordering::Relaxed);
    &[PrefixFinder::EachFormat]
}

fn format_starts() -> Vec<PrefixFinder> {
    let mut starts: Vec<&[u8]> = FORMATS.iter().map(|format| format.start.as_bytes()).collect();
    starts.extend(SHARED.iter().map(|shared| shared.as_bytes()));
    starts.sort_unstable();
    starts.dedup();
    // One that begins with another is found with it; in this order the shorter one comes first.
    let mut needed: Vec<&[u8]> = Vec::new();
    for start in starts {
        if !needed.last().is_some_and(|last| start.starts_with(last)) {
            needed.push(start);
        }
    }
    let (long, rest): (Vec<&[u8]>, Vec<&[u8]>) = needed.into_iter().partition(|start| start.len() >= MIN_PACKED_BYTES);
    // A search is as sharp as the shortest of its beginnings.
    let (short, tiny): (Vec<&[u8]>, Vec<&[u8]>) = rest.into_iter().partition(|start| start.len() > TINY);
    // One byte alone is found everywhere and would slow the others down.
    let (pairs, single): (Vec<&[u8]>, Vec<&[u8]>) = tiny.into_iter().partition(|start| start.len() > 1);
    let finders = long
        .chunks(MAX_PACKED_PREFIXES)
        .chain(short.chunks(MAX_PACKED_PREFIXES))
        .chain(pairs.chunks(MAX_PACKED_PREFIXES))
        .chain(single.chunks(1));
    finders.filter_map(|starts| PrefixFinder::new(starts.iter().copied())).collect()
}

static FORMATS_BY_FIRST: LazyLock<FirstByteIndex> =
    LazyLock::new(|| FirstByteIndex::new(FORMATS.iter().map(|format| format.start.as_bytes())));
/// The first two bytes of the beginnings of formats, as a bit for each pair.
struct BytePairs([u64; 1024]);

static FORMAT_PAIRS: LazyLock<BytePairs> = LazyLock::new(|| {
    let mut pairs = BytePairs([0; 1024]);
    for format in FORMATS {
        match *format.start.as_bytes() {
            [] => {}
            [first] => (0..=u8::MAX).for_each(|second| pairs.add(first, second)),
            [first, second, ..] => pairs.add(first, second),
        }
    }
    pairs
});

impl BytePairs {
    fn place(first: u8, second: u8) -> (usize, u64) {
        let pair = usize::from(u16::from_be_bytes([first, second]));
        (pair / 64, 1 << (pair % 64))
    }

    fn add(&mut self, first: u8, second: u8) {
        let (word, bit) = Self::place(first, second);
        self.0[word] |= bit;
    }

    fn has(&self, first: u8, second: u8) -> bool {
        let (word, bit) = Self::place(first, second);
        self.0[word] & bit != 0
    }
}

static LONGEST_FORMAT_START: LazyLock<usize> =
    LazyLock::new(|| FORMATS.iter().map(|format| format.start.len()).max().unwrap_or(0));

/// The mask text of a format; most are never needed.
fn format_mask(index: usize) -> &'static [u8] {
    static MASKS: [OnceLock<Vec<u8>>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];
    MASKS[index].get_or_init(|| mask_text(FORMATS[index].name).into_bytes())
}

impl SecretMatcher {
    pub(super) fn new(known: Vec<KnownSecret>) -> Self {
        let mut values: Vec<SecretValue> = Vec::new();
        for KnownSecret { name, value } in known {
            let mask = mask_text(&name).into_bytes();
            for bytes in spellings(value) {
                let inside_mask = mask.windows(bytes.len().max(1)).any(|w| w == bytes);
                if !inside_mask && !values.iter().any(|other| other.bytes == bytes) {
                    values.push(SecretValue { bytes, mask: mask.clone() });
                }
            }
        }
        values.sort_by_key(|value| std::cmp::Reverse(value.bytes.len()));
        let longest_value = values.iter().map(|value| value.start().len()).max().unwrap_or(0);
        let longest_start = longest_value.max(*LONGEST_FORMAT_START);
        Self {
            starts: PrefixFinder::new(values.iter().map(SecretValue::start)),
            by_first: FirstByteIndex::new(values.iter().map(SecretValue::start)),
            values,
            longest_start,
        }
    }

    /// The first place at or after `from` where a value or a format begins.
    pub(super) fn search_candidates<'a>(&'a self, bytes: &'a [u8]) -> CandidateSearch<'a> {
        let searches = self.starts.iter().chain(format_finders(bytes.len())).map(FinderCursor::of).collect();
        CandidateSearch { bytes, searches }
    }

    /// The first place at or after `from` whose bytes, up to the end, could be the first part of a beginning.
    pub(super) fn unfinished(&self, bytes: &[u8], from: usize) -> usize {
        let first = from.max(bytes.len().saturating_sub(self.longest_start.saturating_sub(1)));
        let begins = |at: &usize| {
            let rest = &bytes[*at..];
            let begun = |start: &[u8]| start.len() > rest.len() && start.starts_with(rest);
            self.by_first.of(rest[0]).any(|index| begun(self.values[index].start()))
                || FORMATS_BY_FIRST.of(rest[0]).any(|index| begun(FORMATS[index].start.as_bytes()))
        };
        (first..bytes.len()).find(begins).unwrap_or(bytes.len())
    }

    /// What begins at the first of `bytes`; `behind` is what stands before it.
    pub(super) fn judge(&self, bytes: &[u8], behind: &[u8], ended: bool) -> SecretMatch<'_> {
        for index in self.by_first.of(bytes[0]) {
            let value = &self.values[index];
            if bytes.starts_with(&value.bytes) {
                return SecretMatch::Secret {
                    lead: 0,
                    length: value.bytes.len(),
                    rest: KeyTail::Nothing,
                    mask: &value.mask,
                };
            }
            if !ended && value.bytes.starts_with(bytes) {
                return SecretMatch::Wait;
            }
        }
        for index in FORMATS_BY_FIRST.of(bytes[0]) {
            let format = &FORMATS[index];
            let Some(body) = bytes.strip_prefix(format.start.as_bytes()) else { continue };
            if !fits(format.edge, behind) {
                continue;
            }
            match formats::match_body(format.body, body, ended) {
                KeyMatch::No => {}
                KeyMatch::Wait => return SecretMatch::Wait,
                KeyMatch::Yes(length, rest) => {
                    let length = format.start.len() + length;
                    return SecretMatch::Secret { lead: 0, length, rest, mask: format_mask(index) };
                }
                KeyMatch::After(lead, length, rest) => {
                    // What has a name of its own keeps it.
                    if matches!(format.body, KeyBody::Authorization | KeyBody::KeyHeader) {
                        match self.has_name(&body[lead..], ended) {
                            KeyMatch::No => {
                                let lead = format.start.len() + lead;
                                return SecretMatch::Secret { lead, length, rest, mask: format_mask(index) };
                            }
                            KeyMatch::Wait => return SecretMatch::Wait,
                            KeyMatch::Yes(..) | KeyMatch::After(..) => continue,
                        }
                    }
                    let start = format.start.len();
                    // What would stay visible may hold a secret of its own.
                    let hides = lead >= MIN_KEY_USER_BYTES || self.holds_value(&body[..lead]);
                    let (lead, length) = if hides { (start, lead + length) } else { (start + lead, length) };
                    return SecretMatch::Secret { lead, length, rest, mask: format_mask(index) };
                }
            }
        }
        SecretMatch::Nothing
    }

    /// Whether a value or a key of a known kind begins here.
    fn has_name(&self, bytes: &[u8], ended: bool) -> KeyMatch {
        let Some(first) = bytes.first() else { return formats::undecided(ended) };
        if self.by_first.of(*first).any(|index| bytes.starts_with(&self.values[index].bytes)) {
            return KeyMatch::Yes(0, KeyTail::Nothing);
        }
        for index in FORMATS_BY_FIRST.of(*first) {
            let format = &FORMATS[index];
            let Some(body) = bytes.strip_prefix(format.start.as_bytes()) else { continue };
            let verdict = formats::match_body(format.body, body, ended);
            if verdict != KeyMatch::No {
                return verdict;
            }
        }
        KeyMatch::No
    }

    fn holds_value(&self, bytes: &[u8]) -> bool {
        self.starts.as_ref().is_some_and(|starts| starts.find(bytes).is_some())
    }
}

fn fits(edge: KeyBoundary, behind: &[u8]) -> bool {
    match edge {
        KeyBoundary::Any => true,
        KeyBoundary::Word => is_edge(behind),
        KeyBoundary::Alone => is_edge(behind) && behind.last() != Some(&b'-'),
        KeyBoundary::Digits => behind.iter().rev().take_while(|b| b.is_ascii_digit()).count() >= 8,
        KeyBoundary::Letters(count) => {
            let run = behind.iter().rev().take(count + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
            let before = &behind[..behind.len() - count.min(behind.len())];
            run >= count && is_edge(before)
        }
        KeyBoundary::Scheme => settings::is_server_scheme(behind),
        KeyBoundary::Settings => settings::separates(behind),
        KeyBoundary::Curl => structure::follows_curl(behind),
        KeyBoundary::Query => matches!(behind.last(), Some(b'?' | b'&')) || behind.ends_with(b"&amp;"),
    }
}

/// Whether a word may begin after `behind`: also after an escaped line end (`\n` in JSON) and after a colour code.
fn is_edge(behind: &[u8]) -> bool {
    let Some((last, before)) = behind.split_last() else { return true };
    if !(last.is_ascii_alphanumeric() || *last == b'_') {
        return true;
    }
    if before.last() == Some(&b'\\') && matches!(last, b'n' | b'r' | b't') {
        return true;
    }
    let digits = before.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let code = &before[..before.len() - digits];
    *last == b'm' && (code.ends_with(b"\x1b[") || code.ends_with(b"\\u001b["))
}

/// A value as programs print it: plain, in JSON, in double or single quotes of a shell, in a URL.
fn spellings(value: Vec<u8>) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(&value);
    let json = serde_json::to_string(&text).unwrap_or_default();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().as_bytes().to_vec();
    let mut doubled = Vec::new();
    let mut percent = Vec::new();
    for byte in &value {
        if matches!(byte, b'"' | b'\\' | b'$' | b'`') {
            doubled.push(b'\\');
        }
        doubled.push(*byte);
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            percent.push(*byte);
        } else {
            percent.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    let single = text.replace('\'', r"'\''").into_bytes();
    let mut all = vec![value];
    for spelling in [json, doubled, single, percent] {
        if !spelling.is_empty() && !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

/// A search for any of several beginnings: vectorised where the machine and their number allow it.
enum PrefixFinder {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
    /// Compares the beginnings of all formats at each place.
    EachFormat,
}

impl PrefixFinder {
    fn new<'a>(starts: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let starts: Vec<&[u8]> = starts.collect();
        if starts.is_empty() {
            return None;
        }
        if let Some(searcher) = packed::Searcher::new(&starts) {
            return Some(Self::Packed(searcher));
        }
        AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&starts).ok().map(Self::Automaton)
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Packed(searcher) => searcher.find(bytes).map(|found| found.start()),
            Self::Automaton(automaton) => automaton.find(bytes).map(|found| found.start()),
            Self::EachFormat => {
                let begins = |at: &usize| {
                    let rest = &bytes[*at..];
                    FORMATS_BY_FIRST.of(rest[0]).any(|index| rest.starts_with(FORMATS[index].start.as_bytes()))
                };
                let pairs = &*FORMAT_PAIRS;
                let is_pair = |at: &usize| bytes.get(at + 1).is_none_or(|second| pairs.has(bytes[*at], *second));
                (0..bytes.len()).find(|at| is_pair(at) && begins(at))
            }
        }
    }
}

/// The beginnings in one buffer, in order. Each search goes on where it stood.
pub(super) struct CandidateSearch<'a> {
    bytes: &'a [u8],
    searches: Vec<FinderCursor<'a>>,
}

struct FinderCursor<'a> {
    finder: &'a PrefixFinder,
    /// The last answer; everything before it was searched.
    at: Option<usize>,
}

impl<'a> FinderCursor<'a> {
    fn of(finder: &'a PrefixFinder) -> Self {
        Self { finder, at: Some(0) }
    }

    fn from(&mut self, bytes: &[u8], from: usize, fresh: bool) -> Option<usize> {
        if fresh || self.at? < from {
            self.at = self.finder.find(&bytes[from..]).map(|at| from + at);
        }
        self.at
    }
}

impl CandidateSearch<'_> {
    /// `from` never goes back.
    pub(super) fn next(&mut self, from: usize, fresh: bool) -> Option<usize> {
        let bytes = self.bytes;
        self.searches.iter_mut().filter_map(|search| search.from(bytes, from, fresh)).min()
    }
}

/// Indices of beginnings by their first byte, in the order given.
struct FirstByteIndex {
    rows: Vec<usize>,
    /// Where the rows of each first byte end.
    ends: [u16; 256],
}

impl FirstByteIndex {
    fn new<'a>(starts: impl Iterator<Item = &'a [u8]>) -> Self {
        let first = |(index, start): (usize, &[u8])| start.first().map(|byte| (*byte, index));
        let mut rows: Vec<(u8, usize)> = starts.enumerate().filter_map(first).collect();
        rows.sort_by_key(|(byte, _)| *byte);
        let mut ends = [0; 256];
        for (byte, _) in &rows {
            ends[usize::from(*byte)] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        Self { rows: rows.into_iter().map(|(_, index)| index).collect(), ends }
    }

    fn of(&self, byte: u8) -> impl Iterator<Item = usize> {
        let at = usize::from(byte);
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        self.rows[usize::from(from)..usize::from(self.ends[at])].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_searches_find_the_beginnings_of_all_formats() {
        let mut text = Vec::new();
        for format in FORMATS {
            text.extend_from_slice(b" x=");
            text.extend_from_slice(format.start.as_bytes());
            text.extend_from_slice(b"q7");
        }
        let built = format_starts();
        let first = |finders: &[PrefixFinder], from: usize| {
            finders.iter().filter_map(|finder| finder.find(&text[from..])).min().map(|at| from + at)
        };
        let begins = |at: usize| FORMATS.iter().any(|format| text[at..].starts_with(format.start.as_bytes()));
        let mut found = 0;
        let mut from = 0;
        while let Some(at) = first(&[PrefixFinder::EachFormat], from) {
            // The built search may also stop at what several beginnings share.
            let mut other = first(&built, from);
            while let Some(shared) = other.filter(|other| *other < at) {
                assert!(!begins(shared), "{shared}");
                other = first(&built, shared + 1);
            }
            assert_eq!(other, Some(at));
            (found, from) = (found + 1, at + 1);
        }
        assert!(found >= FORMATS.len());
    }
}
