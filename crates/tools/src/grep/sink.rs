//! Handles matches: counts them, or formats them as `path:line:text`. Lines are limited in width and number before
//! they are kept.

use super::{GrepMode, GrepQuery, SearchHalt};
use grep_matcher::{Match, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use std::io;

/// Longest line shown whole, in characters.
const MAX_COLUMNS: usize = 500;
/// Characters of a long line that are shown before the match.
const LEAD_COLUMNS: usize = 100;
/// Most bytes of lines from one file.
const MAX_FILE_BYTES: usize = 8 << 20;

/// A reader that fails once the search is to end, so that even a huge file without matches can be left.
pub(super) struct HaltingReader<'a, R> {
    pub(super) inner: R,
    pub(super) halt: SearchHalt<'a>,
}

impl<R: io::Read> io::Read for HaltingReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.halt.is_set() {
            return Err(io::Error::other("stopped"));
        }
        self.inner.read(buf)
    }
}

/// Counts matching lines, or matches when they may span lines, as ripgrep does.
pub(super) struct MatchCounter<'a> {
    matcher: &'a RegexMatcher,
    first_only: bool,
    multiline: bool,
    count: u64,
}

impl<'a> MatchCounter<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, query: &GrepQuery) -> Self {
        Self { matcher, first_only: query.mode == GrepMode::Files, multiline: query.multiline, count: 0 }
    }

    pub(super) fn matches(&self) -> u64 {
        self.count
    }
}

impl Sink for MatchCounter<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.multiline && !self.first_only {
            self.count += (ranges(self.matcher, found.bytes()).len() as u64).max(1);
        } else {
            self.count += 1;
        }
        Ok(!self.first_only)
    }

    fn finish(&mut self, searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        // A file found on a walk that turns out to be binary has no matches.
        if end.binary_byte_offset().is_some() && searcher.binary_detection().quit_byte().is_some() {
            self.count = 0;
        }
        Ok(())
    }
}

/// Collects the lines of one file.
pub(super) struct LineCollector<'a> {
    matcher: &'a RegexMatcher,
    query: &'a GrepQuery,
    path: String,
    room: usize,
    bytes: usize,
    pub(super) kept: Vec<String>,
    pub(super) total: u64,
}

impl<'a> LineCollector<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, query: &'a GrepQuery, path: String, room: usize) -> Self {
        Self { matcher, query, path, room, bytes: 0, kept: Vec::new(), total: 0 }
    }

    fn push(&mut self, separator: char, number: Option<u64>, text: &[u8]) {
        self.total += 1;
        if self.kept.len() >= self.room || self.bytes > MAX_FILE_BYTES {
            return;
        }
        let text = shorten(self.matcher, text);
        let line = match number {
            Some(number) => format!("{}{separator}{number}{separator}{text}", self.path),
            None => format!("{}{separator}{text}", self.path),
        };
        self.bytes += line.len();
        self.kept.push(line);
    }

    fn push_parts(&mut self, found: &SinkMatch<'_>) {
        for range in ranges(self.matcher, found.bytes()) {
            let ahead = &found.bytes()[..range.start()];
            let first = found.line_number().map(|n| n + memchr::memchr_iter(b'\n', ahead).count() as u64);
            let part = trim_newline(&found.bytes()[range.start()..range.end()]);
            for (i, line) in part.split(|b| *b == b'\n').enumerate() {
                self.push(':', first.map(|n| n + i as u64), line);
            }
        }
    }
}

impl Sink for LineCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.query.only_matching {
            self.push_parts(found);
            return Ok(true);
        }
        for (i, line) in found.lines().enumerate() {
            self.push(':', found.line_number().map(|n| n + i as u64), trim_newline(line));
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push('-', found.line_number(), trim_newline(found.bytes()));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.total += 1;
        if self.kept.len() < self.room {
            self.kept.push("--".to_owned());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        // The bytes of a binary file are not shown, only that it matches.
        if let Some(offset) = end.binary_byte_offset()
            && self.total > 0
        {
            let line = format!("{}: binary file matches (NUL byte near offset {offset})", self.path);
            (self.total, self.kept) = (1, vec![line]);
            self.kept.truncate(self.room);
        }
        Ok(())
    }
}

fn ranges(matcher: &RegexMatcher, bytes: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    let searched = matcher.find_iter(bytes, |m| {
        if !m.is_empty() {
            found.push(m);
        }
        true
    });
    searched.map_or_else(|_| Vec::new(), |()| found)
}

fn trim_newline(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// At most `MAX_COLUMNS` characters of the line, including the first match.
fn shorten(matcher: &RegexMatcher, line: &[u8]) -> String {
    if line.len() <= MAX_COLUMNS {
        return String::from_utf8_lossy(line).into_owned();
    }
    let text = String::from_utf8_lossy(line);
    let columns = text.chars().count();
    if columns <= MAX_COLUMNS {
        return text.into_owned();
    }
    let found = matcher.find(text.as_bytes()).ok().flatten();
    let at = found.map_or(0, |m| text[..text.floor_char_boundary(m.start())].chars().count());
    let start = if at + LEAD_COLUMNS <= MAX_COLUMNS { 0 } else { at.saturating_sub(LEAD_COLUMNS) };
    let start = start.min(columns - MAX_COLUMNS);
    let shown: String = text.chars().skip(start).take(MAX_COLUMNS).collect();
    let lead = if start > 0 { "[…] " } else { "" };
    format!("{lead}{shown} [line of {columns} characters shortened]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_keep_their_match_in_view() {
        let matcher = RegexMatcher::new("needle").unwrap();
        assert_eq!(shorten(&matcher, b"short needle"), "short needle");
        let late = format!("{}needle{}", "é".repeat(3000), "x".repeat(3000));
        let shown = shorten(&matcher, late.as_bytes());
        assert!(shown.contains("needle") && shown.starts_with("[…] é"), "{shown}");
        assert!(shown.chars().count() < 560);
        let early = format!("needle{}", "x".repeat(600));
        assert!(shorten(&matcher, early.as_bytes()).starts_with("needle"));
        let exact = "x".repeat(500);
        assert_eq!(shorten(&matcher, exact.as_bytes()), exact);
    }
}
