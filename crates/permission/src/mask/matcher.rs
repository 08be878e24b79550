//! Finds where something to hide may begin and says what it is. Values are found by their first bytes and compared
//! whole; among values that begin alike the longest wins, and a value wins over a format.

use super::formats::{self, Body, Edge, Rest, Verdict};
use super::table::{FORMATS, SHARED};
use super::{Known, mask_text};
use aho_corasick::{AhoCorasick, MatchKind, packed};
use std::sync::LazyLock;

/// A value is found by this many of its first bytes.
const START: usize = 24;
/// A user name of this length may be a key.
const LONG_LEAD: usize = 16;
/// How far back the surroundings of a key are looked at.
pub(super) const BEHIND: usize = 16;

pub(super) struct Matcher {
    values: Vec<Value>,
    /// Where values begin; `None` when there are none.
    starts: Option<Finder>,
    /// Indices into `values` by first byte, longest first.
    by_first: ByFirst,
    /// Mask texts of `FORMATS`, in its order.
    format_masks: Vec<Vec<u8>>,
    longest_start: usize,
}

struct Value {
    bytes: Vec<u8>,
    mask: Vec<u8>,
}

impl Value {
    fn start(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(START)]
    }
}

/// What a place turned out to be.
pub(super) enum Found<'a> {
    Nothing,
    Wait,
    /// `lead` bytes stay as they are, `length` more are hidden.
    Secret {
        lead: usize,
        length: usize,
        rest: Rest,
        mask: &'a [u8],
    },
}

/// More beginnings at once make the vectorised search slower than another pass does.
const AT_ONCE: usize = 32;
/// Beginnings this short are searched for one by one.
const TINY: usize = 2;
/// Beginnings shorter than this would make the search for longer ones less exact.
const LONG: usize = 4;

static FORMAT_STARTS: LazyLock<Vec<Finder>> = LazyLock::new(|| {
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
    let (long, rest): (Vec<&[u8]>, Vec<&[u8]>) = needed.into_iter().partition(|start| start.len() >= LONG);
    // A search is as sharp as the shortest of its beginnings.
    let (short, tiny): (Vec<&[u8]>, Vec<&[u8]>) = rest.into_iter().partition(|start| start.len() > TINY);
    let finders = long.chunks(AT_ONCE).chain(short.chunks(AT_ONCE)).chain(tiny.chunks(1));
    finders.filter_map(|starts| Finder::new(starts.iter().copied())).collect()
});
static FORMATS_BY_FIRST: LazyLock<ByFirst> =
    LazyLock::new(|| ByFirst::new(FORMATS.iter().map(|format| format.start.as_bytes())));

impl Matcher {
    pub(super) fn new(known: Vec<Known>) -> Self {
        let mut values: Vec<Value> = Vec::new();
        for Known { name, value } in known {
            let mask = mask_text(&name).into_bytes();
            for bytes in spellings(value) {
                let inside_mask = mask.windows(bytes.len().max(1)).any(|w| w == bytes);
                if !inside_mask && !values.iter().any(|other| other.bytes == bytes) {
                    values.push(Value { bytes, mask: mask.clone() });
                }
            }
        }
        values.sort_by_key(|value| std::cmp::Reverse(value.bytes.len()));
        let longest_format = FORMATS.iter().map(|format| format.start.len()).max().unwrap_or(0);
        let longest_start = values.iter().map(|value| value.start().len()).max().unwrap_or(0).max(longest_format);
        Self {
            starts: Finder::new(values.iter().map(Value::start)),
            by_first: ByFirst::new(values.iter().map(Value::start)),
            format_masks: FORMATS.iter().map(|format| mask_text(format.name).into_bytes()).collect(),
            values,
            longest_start,
        }
    }

    /// The first place at or after `from` where a value or a format begins.
    pub(super) fn hunt<'a>(&'a self, bytes: &'a [u8]) -> Hunt<'a> {
        let searches = self.starts.iter().chain(FORMAT_STARTS.iter()).map(Next::of).collect();
        Hunt { bytes, searches }
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
    pub(super) fn judge(&self, bytes: &[u8], behind: &[u8], ended: bool) -> Found<'_> {
        for index in self.by_first.of(bytes[0]) {
            let value = &self.values[index];
            if bytes.starts_with(&value.bytes) {
                return Found::Secret { lead: 0, length: value.bytes.len(), rest: Rest::Nothing, mask: &value.mask };
            }
            if !ended && value.bytes.starts_with(bytes) {
                return Found::Wait;
            }
        }
        for index in FORMATS_BY_FIRST.of(bytes[0]) {
            let format = &FORMATS[index];
            let Some(body) = bytes.strip_prefix(format.start.as_bytes()) else { continue };
            if !fits(format.edge, behind) {
                continue;
            }
            match formats::judge(format.body, body, ended) {
                Verdict::No => {}
                Verdict::Wait => return Found::Wait,
                Verdict::Yes(length, rest) => {
                    let length = format.start.len() + length;
                    return Found::Secret { lead: 0, length, rest, mask: &self.format_masks[index] };
                }
                Verdict::After(lead, length, rest) => {
                    // What has a name of its own keeps it.
                    if format.body == Body::Authorization {
                        match self.has_name(&body[lead..], ended) {
                            Verdict::No => {
                                let lead = format.start.len() + lead;
                                return Found::Secret { lead, length, rest, mask: &self.format_masks[index] };
                            }
                            Verdict::Wait => return Found::Wait,
                            Verdict::Yes(..) | Verdict::After(..) => continue,
                        }
                    }
                    let start = format.start.len();
                    // What would stay visible may hold a secret of its own.
                    let hides = lead >= LONG_LEAD || self.holds_value(&body[..lead]);
                    let (lead, length) = if hides { (start, lead + length) } else { (start + lead, length) };
                    return Found::Secret { lead, length, rest, mask: &self.format_masks[index] };
                }
            }
        }
        Found::Nothing
    }

    /// Whether a value or a key of a known kind begins here.
    fn has_name(&self, bytes: &[u8], ended: bool) -> Verdict {
        let Some(first) = bytes.first() else { return formats::unsure(ended) };
        if self.by_first.of(*first).any(|index| bytes.starts_with(&self.values[index].bytes)) {
            return Verdict::Yes(0, Rest::Nothing);
        }
        for index in FORMATS_BY_FIRST.of(*first) {
            let format = &FORMATS[index];
            let Some(body) = bytes.strip_prefix(format.start.as_bytes()) else { continue };
            let verdict = formats::judge(format.body, body, ended);
            if verdict != Verdict::No {
                return verdict;
            }
        }
        Verdict::No
    }

    fn holds_value(&self, bytes: &[u8]) -> bool {
        self.starts.as_ref().is_some_and(|starts| starts.find(bytes).is_some())
    }
}

fn fits(edge: Edge, behind: &[u8]) -> bool {
    match edge {
        Edge::Any => true,
        Edge::Word => is_edge(behind),
        Edge::Alone => is_edge(behind) && behind.last() != Some(&b'-'),
        Edge::Digits => behind.iter().rev().take_while(|b| b.is_ascii_digit()).count() >= 8,
        Edge::Letters(count) => {
            let run = behind.iter().rev().take(count + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
            let before = &behind[..behind.len() - count.min(behind.len())];
            run >= count && is_edge(before)
        }
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
enum Finder {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

impl Finder {
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
        }
    }
}

/// The beginnings in one buffer, in order. Each search goes on where it stood.
pub(super) struct Hunt<'a> {
    bytes: &'a [u8],
    searches: Vec<Next<'a>>,
}

struct Next<'a> {
    finder: &'a Finder,
    /// The last answer; everything before it was searched.
    at: Option<usize>,
}

impl<'a> Next<'a> {
    fn of(finder: &'a Finder) -> Self {
        Self { finder, at: Some(0) }
    }

    fn from(&mut self, bytes: &[u8], from: usize, fresh: bool) -> Option<usize> {
        if fresh || self.at? < from {
            self.at = self.finder.find(&bytes[from..]).map(|at| from + at);
        }
        self.at
    }
}

impl Hunt<'_> {
    /// `from` never goes back.
    pub(super) fn next(&mut self, from: usize, fresh: bool) -> Option<usize> {
        let bytes = self.bytes;
        self.searches.iter_mut().filter_map(|search| search.from(bytes, from, fresh)).min()
    }
}

/// Indices of beginnings by their first byte, in the order given.
struct ByFirst {
    rows: Vec<(u8, usize)>,
}

impl ByFirst {
    fn new<'a>(starts: impl Iterator<Item = &'a [u8]>) -> Self {
        let first = |(index, start): (usize, &[u8])| start.first().map(|byte| (*byte, index));
        let mut rows: Vec<(u8, usize)> = starts.enumerate().filter_map(first).collect();
        rows.sort_by_key(|(byte, _)| *byte);
        Self { rows }
    }

    fn of(&self, byte: u8) -> impl Iterator<Item = usize> {
        let from = self.rows.partition_point(|(first, _)| *first < byte);
        self.rows[from..].iter().take_while(move |(first, _)| *first == byte).map(|(_, index)| *index)
    }
}
