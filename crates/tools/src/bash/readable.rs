//! Command output as a model reads it: without escape sequences, with lines that were overwritten in their last
//! state, and with both ends of what is too long, cut at line borders. Output that is not text is described.

use std::borrow::Cow;
use std::fmt::Write;

/// How many characters of both ends are shown of output that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShownEnds {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl ShownEnds {
    pub(super) const SUCCESS: Self = Self { first: 4_000, last: 6_000 };
    /// The end of a failure says more than its beginning. With the likely causes and the path of the file, what is
    /// shown of a failure stays below 15,000 bytes.
    pub(super) const FAILURE: Self = Self { first: 3_000, last: 11_000 };
}

/// Most characters of one line that is longer than an end may be.
const MAX_LINE_CHARS: usize = 2_000;

/// The text on the screen after `bytes` were printed to it, as far as single lines go.
pub(super) fn screen_text(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.bytes().all(|b| b >= b' ' && b != 0x7f || matches!(b, b'\n' | b'\t')) && !text.contains('\u{9b}') {
        return text;
    }
    let mut screen = Screen::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => screen.escape(&mut chars),
            '\u{9b}' => screen.control_sequence(&mut chars),
            '\n' => screen.end_line(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            c if c.is_control() && c != '\t' => {}
            c => screen.put(c),
        }
    }
    screen.finish().into()
}

/// The line that is being written, and the finished ones.
#[derive(Default)]
struct Screen {
    done: String,
    line: Vec<char>,
    column: usize,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Screen {
    fn put(&mut self, c: char) {
        match self.line.get_mut(self.column) {
            Some(old) => *old = c,
            None => self.line.push(c),
        }
        self.column += 1;
    }

    fn end_line(&mut self) {
        self.done.extend(self.line.drain(..));
        self.done.push('\n');
        self.column = 0;
    }

    fn finish(mut self) -> String {
        self.done.extend(self.line);
        self.done
    }

    /// Skips the sequence after an escape character.
    fn escape(&mut self, chars: &mut Chars<'_>) {
        match chars.next() {
            Some('[') => self.control_sequence(chars),
            // Strings (titles, links) end with BEL or ESC \.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || c == '\u{9c}' || c == '\u{1b}' && chars.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(chars.next()),
            _ => {}
        }
    }

    /// Carries out what a control sequence does to its line; others are skipped.
    fn control_sequence(&mut self, chars: &mut Chars<'_>) {
        let mut parameters = String::new();
        while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
            parameters.push(c);
        }
        let number = parameters.parse::<usize>();
        match chars.next_if(|c| matches!(c, '@'..='~')) {
            Some('K') => self.erase(number.unwrap_or(0)),
            Some('G') => self.column = number.unwrap_or(1).saturating_sub(1).min(self.line.len()),
            Some('C') => self.column = (self.column + number.unwrap_or(1).max(1)).min(self.line.len()),
            Some('D') => self.column = self.column.saturating_sub(number.unwrap_or(1).max(1)),
            _ => {}
        }
    }

    fn erase(&mut self, part: usize) {
        match part {
            0 => self.line.truncate(self.column),
            1 => self.line.iter_mut().take(self.column + 1).for_each(|c| *c = ' '),
            _ => {
                self.line.clear();
                self.column = 0;
            }
        }
    }
}

/// The two ends of an output that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutputEnds {
    pub(super) first: String,
    pub(super) last: String,
    /// What was left out, as `[lines 121–7640 of 8001 left out]`.
    pub(super) gap: String,
    /// The lines left out, counted from 1, first and last.
    pub(super) missing: Option<(u64, u64)>,
}

impl OutputEnds {
    pub(super) fn joined(&self) -> String {
        format!("{}\n{}\n{}", self.first, self.gap, self.last)
    }
}

/// The ends of an output of `total_lines` lines, from its beginning and its end, which may overlap.
pub(super) fn ends(head: &str, tail: &str, total_lines: u64, shown: ShownEnds) -> OutputEnds {
    let (head, tail) = (head.trim_start_matches('\n'), tail.trim_end());
    let first = first_lines(head, shown.first);
    let last = last_lines(tail, shown.last);
    let leading = count_lines(first);
    let trailing = count_lines(last);
    let (from, to) = (leading + 1, total_lines.saturating_sub(trailing));
    let is_cut_within_lines = from > to;
    let gap = if is_cut_within_lines {
        "[the middle of long lines left out]".to_owned()
    } else {
        format!("[lines {from}–{to} of {total_lines} left out]")
    };
    let missing = (!is_cut_within_lines).then_some((from, to));
    OutputEnds { first: shorten_lines(first), last: shorten_lines(last), gap, missing }
}

fn count_lines(text: &str) -> u64 {
    if text.is_empty() { 0 } else { memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1 }
}

/// The whole lines that fit into `most` characters; the beginning of the first one when it does not fit.
fn first_lines(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    match text[..end].rfind('\n') {
        Some(at) => &text[..at],
        None => &text[..end],
    }
}

fn last_lines(text: &str, most: usize) -> &str {
    let Some((start, _)) = text.char_indices().rev().nth(most.saturating_sub(1)) else { return text };
    if start == 0 {
        return text;
    }
    if text[..start].ends_with('\n') {
        return &text[start..];
    }
    match text[start..].split_once('\n') {
        Some((_, lines)) if !lines.is_empty() => lines,
        _ => &text[start..],
    }
}

/// Cuts lines that are longer than a line may be.
fn shorten_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => {
                write!(out, "{}… [line of {} characters]", &line[..end], line.chars().count()).ok();
            }
            None => out.push_str(line),
        }
    }
    out
}

/// What bytes that are not text are; `None` for text.
pub(super) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 10] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\x7fELF", "an executable"),
        (b"SQLite format 3", "an SQLite database"),
    ];
    if !is_binary(bytes) {
        return None;
    }
    Some(KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("binary data", |(_, kind)| kind))
}

/// True when more than a tenth of the bytes are neither text nor terminal control, or a third are NUL: some programs
/// print a NUL after each name.
fn is_binary(bytes: &[u8]) -> bool {
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let control = bytes.iter().filter(|b| matches!(b, 1..=6 | 0x0e..=0x1a | 0x1c..=0x1f)).count();
    let nul = memchr::memchr_iter(0, bytes).count();
    // A character may be cut at the end of what was kept.
    invalid.saturating_sub(3) + control > bytes.len() / 10 || nul > bytes.len() / 3
}

/// Words that mark the cause of a failure; the lines of the first group go before those of the second.
const CAUSES: [&[&str]; 2] = [
    &["error:", "error[", "Error:", "ERROR", "FAILED", "panicked", "Traceback", "fatal:", "FATAL", "AssertionError"],
    &["error", "Error", "failed", "FAIL", "Exception", "undefined reference", "Segmentation fault"],
];
const MAX_CAUSES: usize = 5;
const MAX_CAUSE_CHARS: usize = 200;

/// Lines of `text` between two lines, counted from 1, that look like the cause of a failure.
pub(super) fn likely_causes(text: &[u8], (from, to): (u64, u64)) -> Vec<String> {
    let mut found: [Vec<(u64, String)>; 2] = Default::default();
    let lines = text.split(|b| *b == b'\n').zip(1u64..).skip(from as usize - 1).take((to - from + 1) as usize);
    for (line, number) in lines {
        let text = String::from_utf8_lossy(line);
        let Some(rank) = CAUSES.iter().position(|words| words.iter().any(|word| text.contains(word))) else { continue };
        if found[rank].len() < MAX_CAUSES {
            let shown: String = screen_text(line).trim().chars().take(MAX_CAUSE_CHARS).collect();
            found[rank].push((number, shown));
        } else if rank == 0 {
            break;
        }
    }
    let mut causes: Vec<(u64, String)> = found.into_iter().flatten().take(MAX_CAUSES).collect();
    sys::compact_sort::sort_by_key(&mut causes, |(number, _)| *number);
    causes.into_iter().map(|(number, line)| format!("{number}: {line}")).collect()
}

#[cfg(test)]
#[path = "readable_tests.rs"]
mod tests;
