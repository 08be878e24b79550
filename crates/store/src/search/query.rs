//! A search query: words that must all occur in one text, in any order; quotes keep words together. ASCII letters match
//! in either case. Raw JSON is searched for a probe: a part of a word that every JSON encoder writes in the same way,
//! or, where a word has no such part, its usual spelling and its `\u` spelling.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::fmt::Write;
use std::ops::{ControlFlow, Range};

/// A parsed query.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    words: Vec<ByteProbe>,
    probes: Vec<ByteProbe>,
}

impl SearchQuery {
    /// Returns `None` when the query is empty.
    pub fn new(query: &str) -> Option<Self> {
        let words = words(query);
        // The longest word is likely the rarest.
        let longest = words.iter().max_by_key(|word| longest_plain_part(word).len().max(word.len() / 2))?;
        let probes = spellings(longest);
        Some(Self { probes, words: words.iter().map(|word| ByteProbe::new(word)).collect() })
    }

    /// Passes every line of `block` that may match to `tell`, each once. `block` must contain whole lines.
    pub(super) fn lines(&self, block: &[u8], tell: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        for (number, probe) in self.probes.iter().enumerate() {
            let mut at = 0;
            while let Some(found) = probe.find(&block[at..]) {
                let found = at + found;
                let start = memrchr(b'\n', &block[..found]).map_or(0, |n| n + 1);
                let end = memchr(b'\n', &block[found..]).map_or(block.len(), |n| found + n);
                let line = &block[start..end];
                at = (end + 1).min(block.len());
                let is_known = self.probes[..number].iter().any(|earlier| earlier.find(line).is_some());
                if !is_known && tell(line).is_break() {
                    return;
                }
            }
        }
    }

    /// True when raw JSON may contain the query.
    pub(super) fn is_spelled_in(&self, raw: &[u8]) -> bool {
        self.probes.iter().any(|probe| probe.find(raw).is_some())
    }

    /// The byte range of the first query word, when `text` contains all words.
    pub fn find_in(&self, text: &str) -> Option<Range<usize>> {
        let mut places = self.words.iter().map(|word| word.find(text.as_bytes()).map(|at| at..at + word.bytes.len()));
        let first = places.next()??;
        places.all(|place| place.is_some()).then_some(first)
    }
}

impl SearchQuery {
    /// How many words the query has.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// How many of the words `text` contains, and the place of the first of them.
    pub fn count_in(&self, text: &str) -> (usize, Range<usize>) {
        let found = |word: &ByteProbe| word.find(text.as_bytes()).map(|at| at..at + word.bytes.len());
        let places: Vec<Range<usize>> = self.words.iter().filter_map(found).collect();
        let first = places.iter().min_by_key(|place| place.start).cloned();
        (places.len(), first.unwrap_or(0..0))
    }
}

fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in query.split('"').enumerate() {
        // Odd parts are inside quotes.
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

/// True for bytes that every JSON encoder writes unchanged.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" !#$%()*+,-./:;=?@[]^_`{|}~".contains(&byte)
}

/// The longest plain part of a word.
fn longest_plain_part(word: &str) -> &str {
    let mut best = 0..0;
    let mut start = 0;
    for (at, byte) in word.bytes().chain([0]).enumerate() {
        if !is_plain(byte) {
            if at - start > best.len() {
                best = start..at;
            }
            start = at + 1;
        }
    }
    word.get(best).unwrap_or_default()
}

fn spellings(word: &str) -> Vec<ByteProbe> {
    let plain = longest_plain_part(word);
    if plain.len() >= 3 || plain.len() == word.len() {
        return vec![ByteProbe::new(plain)];
    }
    let usual = wire::raw::to_line(&word).unwrap_or_default();
    let usual = usual.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    let mut escaped = String::new();
    let first = word.chars().find(|c| !c.is_ascii() || !is_plain(*c as u8));
    for unit in first.into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
        write!(escaped, "\\u{unit:04x}").ok();
    }
    vec![ByteProbe::new(usual), ByteProbe::new(&escaped)]
}

/// Bytes that are common in transcripts, most common first; all others are rare.
const COMMON: &[u8] = b"e tao\"inrs-:0,dlcu4f1mb/_.\\2p8h93657g{}wyxkv";

fn rarity(byte: u8) -> usize {
    let byte = byte.to_ascii_lowercase();
    COMMON.iter().position(|common| *common == byte).unwrap_or(COMMON.len())
}

/// Bytes to search for; ASCII letters match in either case.
#[derive(Clone, Debug)]
struct ByteProbe {
    bytes: Vec<u8>,
    /// The positions of its rarest bytes.
    marks: [usize; 3],
    /// Set when the bytes contain no letters, so that an exact search is enough.
    exact: Option<Finder<'static>>,
}

/// How many positions are compared at once; the compiler turns the loop into vector instructions.
const LANES: usize = 64;
/// When one of the positions matches, groups of this size are compared again.
const GROUP: usize = 16;

impl ByteProbe {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes().to_vec();
        let mut places: Vec<usize> = (0..bytes.len()).collect();
        sys::compact_sort::sort_by_key(&mut places, |at| std::cmp::Reverse(rarity(bytes[*at])));
        let mark = |n: usize| places.get(n).or(places.first()).copied().unwrap_or(0);
        let has_letters = bytes.iter().any(u8::is_ascii_alphabetic);
        let exact = (!has_letters && !bytes.is_empty()).then(|| Finder::new(&bytes).into_owned());
        Self { marks: [mark(0), mark(1), mark(2)], exact, bytes }
    }

    fn is_at(&self, haystack: &[u8], at: usize) -> bool {
        haystack.get(at..at + self.bytes.len()).is_some_and(|there| there.eq_ignore_ascii_case(&self.bytes))
    }

    fn find(&self, haystack: &[u8]) -> Option<usize> {
        if let Some(exact) = &self.exact {
            return exact.find(haystack);
        }
        let length = self.bytes.len();
        if length == 0 || haystack.len() < length {
            return None;
        }
        let [one, two, three] = self.marks;
        let fold = |byte: u8| byte | 0x20;
        let [a, b, c] = self.marks.map(|mark| fold(self.bytes[mark]));
        let mut at = 0;
        while at + LANES + length <= haystack.len() {
            let (first, second, third) =
                (&haystack[at + one..][..LANES], &haystack[at + two..][..LANES], &haystack[at + three..][..LANES]);
            let marked = |lane: usize| {
                u8::from(fold(first[lane]) == a) & u8::from(fold(second[lane]) == b) & u8::from(fold(third[lane]) == c)
            };
            let any = |lanes: Range<usize>| lanes.fold(0, |any, lane| any | marked(lane)) != 0;
            if any(0..LANES) {
                // Checking every lane would be slow when the marks are bytes that are common in ids.
                let mut groups = (0..LANES).step_by(GROUP).filter(|start| any(*start..start + GROUP));
                let is_here = |lane: &usize| marked(*lane) != 0 && self.is_at(haystack, at + lane);
                if let Some(lane) = groups.find_map(|start| (start..start + GROUP).find(is_here)) {
                    return Some(at + lane);
                }
            }
            at += LANES;
        }
        (at..=haystack.len() - length).find(|at| self.is_at(haystack, *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(word: &str, text: &str) -> Option<usize> {
        ByteProbe::new(word).find(text.as_bytes())
    }

    #[test]
    fn a_word_is_found_at_every_place_in_either_case() {
        for length in 0..200 {
            let text = format!("{}ParSer{}", "-".repeat(length), "x".repeat(length % 7));
            assert_eq!(find("pARSER", &text), Some(length), "{length}");
            assert_eq!(find("parsed", &text), None);
        }
        assert_eq!(find("a", "bbA"), Some(2));
        assert_eq!(find("größe", "xx Größe"), Some(3));
        // Folding is for letters only.
        assert_eq!(find("@a", &format!("`a{}", "-".repeat(100))), None);
        assert_eq!(find("", "a"), None);
    }

    #[test]
    fn all_words_count_and_quotes_keep_them_together() {
        let both = SearchQuery::new("slow parser").unwrap();
        assert_eq!(both.find_in("The Parser is SLOW"), Some(14..18));
        assert_eq!(both.find_in("The parser"), None);
        let phrase = SearchQuery::new("\"slow parser\"").unwrap();
        assert!(phrase.find_in("The parser is slow").is_none());
        assert!(phrase.find_in("a slow parser").is_some());
        assert!(SearchQuery::new("  \"\" ").is_none());
    }

    #[test]
    fn every_spelling_of_a_word_is_a_candidate() {
        // The text, then its spelling by different encoders.
        let cases = [
            ("中文", "中文"),
            ("中文", r"\u4e2d\u6587"),
            ("中文", r"\u4E2D\u6587"),
            ("ü", r"\u00FC"),
            ("😀", r"\ud83d\ude00"),
            ("a/b/c", "a/b/c"),
            ("<b>", r"\u003cb\u003e"),
            ("C:\\x", r"C:\\x"),
            ("größe", r"gr\u00f6\u00dfe"),
        ];
        for (word, spelled) in cases {
            let needle = SearchQuery::new(&format!("\"{word}\"")).unwrap();
            let block = format!("{{\"nothing\":1}}\n{{\"text\":\"{spelled}\"}}\n");
            let mut told = 0;
            needle.lines(block.as_bytes(), &mut |line| {
                assert!(line.starts_with(b"{\"text\""));
                told += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(told, 1, "{word} in {spelled}");
        }
    }
}
