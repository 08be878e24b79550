//! Finds the wanted lines of a text while it streams by. Memory depends on what is shown, not on the size of the text or
//! of its lines.

use std::borrow::Cow;
use std::io::{self, BufRead};

/// Once everything to show is there, lines are counted as far as this many bytes of the file.
const COUNTED_BYTES: u64 = 1 << 30;
/// The characters of a line that is cut are counted as far as this many bytes.
const MEASURED_BYTES: u64 = 16 << 20;
/// Most bytes of one character in UTF-8.
const MAX_CHAR_BYTES: usize = 4;

/// What happens when the bytes to show exceed the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) enum CapBehaviour {
    /// Show what fits and add a note.
    Clip,
    /// Stop at once, because the range that was asked for cannot be shown.
    Refuse,
}

/// Whether the empty text after a final newline counts as a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) enum LastNewline {
    /// It ends the last line, as `wc -l` and editors have it.
    EndsLine,
    /// It starts one more, empty line, as in the observed reference.
    StartsLine,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::read) struct LineRequest {
    /// The first line, counted from 1.
    pub(in crate::read) first: u64,
    /// How many lines; `None` means all.
    pub(in crate::read) limit: Option<u64>,
    /// Most bytes of numbered text.
    pub(in crate::read) cap: usize,
    pub(in crate::read) at_cap: CapBehaviour,
    /// Longer lines, in characters, are cut; `None` means none are.
    pub(in crate::read) line_chars: Option<usize>,
    pub(in crate::read) last_newline: LastNewline,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::read) struct ShownLines {
    pub(in crate::read) numbered: String,
    pub(in crate::read) content: String,
    pub(in crate::read) lines: u64,
    /// Lines of the whole file.
    pub(in crate::read) total: u64,
    /// The file is so large that its lines were not all counted: there are more than `total`.
    pub(in crate::read) has_more: bool,
    /// The cap was reached.
    pub(in crate::read) clipped: bool,
    /// How many of the lines shown were cut.
    pub(in crate::read) cut_lines: u64,
    /// Some bytes were not UTF-8.
    pub(in crate::read) lossy: bool,
    /// The file has bytes, and the last one is no newline.
    pub(in crate::read) lacks_newline: bool,
}

/// The outcome of a scan.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::read) enum ScannedLines {
    Shown(ShownLines),
    /// The range that was asked for exceeds the cap; this many of its lines do not.
    Refused {
        fitting: u64,
    },
}

/// Reads to the end, so that the line count is exact, unless the cap refuses the range or the file is very large.
pub(in crate::read) fn scan(mut reader: impl BufRead, wanted: LineRequest) -> io::Result<ScannedLines> {
    let phase = if wanted.first > 1 { ScanPhase::Skipping } else { ScanPhase::Showing };
    let mut scanner = LineScanner {
        wanted,
        shown: ShownLines::default(),
        line: LineStart::default(),
        ended: 0,
        scanned: 0,
        last: None,
        phase,
    };
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() || scanner.is_far_beyond() {
            scanner.shown.has_more = !buffer.is_empty();
            return Ok(ScannedLines::Shown(scanner.finish()));
        }
        let Some(used) = scanner.take(buffer) else {
            return Ok(ScannedLines::Refused { fitting: scanner.shown.lines });
        };
        scanner.scanned += used as u64;
        scanner.last = buffer[..used].last().copied();
        reader.consume(used);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanPhase {
    Skipping,
    Showing,
    Counting,
}

/// The part of a line that is shown, while the rest of it goes by.
#[derive(Debug, Default)]
struct LineStart {
    kept: Vec<u8>,
    /// All its bytes so far.
    bytes: u64,
    /// Its characters so far, as far as they are counted.
    chars: u64,
    last: Option<u8>,
}

impl LineStart {
    /// Adds bytes; at most `most` are kept.
    fn add(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        if most < usize::MAX {
            let left = MEASURED_BYTES.saturating_sub(self.bytes).min(bytes.len() as u64) as usize;
            self.chars += bytes[..left].iter().filter(|byte| (**byte as i8) >= -0x40).count() as u64;
        }
        self.bytes += bytes.len() as u64;
        self.last = bytes.last().copied().or(self.last);
    }

    /// Takes away the carriage return before a newline.
    fn end(&mut self) {
        if self.last == Some(b'\r') {
            if self.kept.len() as u64 == self.bytes {
                self.kept.pop();
            }
            self.chars = self.chars.saturating_sub(u64::from(self.bytes <= MEASURED_BYTES));
        }
    }

    /// The line as it is shown. A longer one is cut after `most` characters.
    fn shown(&self, most: Option<usize>) -> ShownLine<'_> {
        let Some(most) = most.filter(|most| self.chars > *most as u64) else {
            return ShownLine { text: String::from_utf8_lossy(&self.kept), is_cut: false };
        };
        let text = String::from_utf8_lossy(&self.kept);
        let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        let more = if self.bytes > MEASURED_BYTES { "more than " } else { "" };
        let cut = format!("{}… [line of {more}{} characters]", &text[..end], grouped(self.chars));
        ShownLine { text: cut.into(), is_cut: true }
    }
}

struct ShownLine<'a> {
    text: Cow<'a, str>,
    is_cut: bool,
}

/// A number with commas between its thousands.
pub(in crate::read) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

struct LineScanner {
    wanted: LineRequest,
    shown: ShownLines,
    /// The part of the current line that was read so far.
    line: LineStart,
    /// Number of line ends found.
    ended: u64,
    /// Number of bytes seen.
    scanned: u64,
    /// The last byte seen.
    last: Option<u8>,
    phase: ScanPhase,
}

impl LineScanner {
    /// Whether nothing more is to be shown and the file is too large to be read to its end.
    fn is_far_beyond(&self) -> bool {
        let is_rest_of_cut_line =
            self.phase == ScanPhase::Showing && self.wanted.line_chars.is_some() && self.line.bytes > COUNTED_BYTES;
        self.scanned > COUNTED_BYTES && (self.phase == ScanPhase::Counting || is_rest_of_cut_line)
    }

    /// Consumes a part of `buffer` and returns its length; `None` when the cap refuses the range.
    fn take(&mut self, buffer: &[u8]) -> Option<usize> {
        match self.phase {
            ScanPhase::Skipping => Some(self.skip(buffer)),
            ScanPhase::Showing => self.show(buffer),
            ScanPhase::Counting => Some(self.count(buffer)),
        }
    }

    fn skip(&mut self, buffer: &[u8]) -> usize {
        let need = self.wanted.first - 1 - self.ended;
        let Some(at) = memchr::memchr_iter(b'\n', buffer).nth(need as usize - 1) else { return self.count(buffer) };
        self.ended += need;
        self.phase = ScanPhase::Showing;
        at + 1
    }

    fn count(&mut self, buffer: &[u8]) -> usize {
        self.ended += memchr::memchr_iter(b'\n', buffer).count() as u64;
        buffer.len()
    }

    fn show(&mut self, buffer: &[u8]) -> Option<usize> {
        let end = memchr::memchr(b'\n', buffer);
        // One character more than is shown tells that there are more; a carriage return may follow.
        let most = self.wanted.line_chars.map_or(usize::MAX, |chars| (chars + 2) * MAX_CHAR_BYTES);
        self.line.add(&buffer[..end.unwrap_or(buffer.len())], most);
        match (self.shown.room_for(&self.line, self.wanted), self.wanted.at_cap) {
            (false, CapBehaviour::Refuse) => return None,
            (false, CapBehaviour::Clip) => {
                self.shown.clip(&self.line, self.wanted);
                self.phase = ScanPhase::Counting;
            }
            (true, _) if end.is_some() => {
                self.shown.push(&mut self.line, self.wanted);
                self.line = LineStart::default();
                if self.wanted.limit == Some(self.shown.lines) {
                    self.phase = ScanPhase::Counting;
                }
            }
            (true, _) => {}
        }
        self.ended += u64::from(end.is_some());
        Some(end.map_or(buffer.len(), |at| at + 1))
    }

    fn finish(mut self) -> ShownLines {
        let Some(last) = self.last else { return self.shown };
        let has_open_line = last != b'\n' || self.wanted.last_newline == LastNewline::StartsLine;
        if self.phase == ScanPhase::Showing && has_open_line {
            self.shown.push_last(&self.line, self.wanted);
        }
        let ends_file = self.shown.lines + self.wanted.first > self.ended && !self.shown.clipped;
        if last == b'\n' && !has_open_line && ends_file && self.shown.lines > 0 {
            self.shown.content.push('\n');
        }
        self.shown.lacks_newline = last != b'\n' && !self.shown.has_more;
        self.shown.total = self.ended + u64::from(has_open_line);
        self.shown
    }
}

impl ShownLines {
    fn room_for(&self, line: &LineStart, wanted: LineRequest) -> bool {
        // Number, tab and newline; the exact number of digits does not matter.
        self.numbered.len() + line.kept.len() + 8 <= wanted.cap
    }

    fn push(&mut self, line: &mut LineStart, wanted: LineRequest) {
        line.end();
        self.push_last(line, wanted);
    }

    fn push_last(&mut self, line: &LineStart, wanted: LineRequest) {
        let ShownLine { mut text, is_cut } = line.shown(wanted.line_chars);
        self.lossy |= std::str::from_utf8(&line.kept).is_err_and(|error| error.error_len().is_some() || !is_cut);
        self.cut_lines += u64::from(is_cut);
        if text.contains('\0') {
            text = text.replace('\0', "").into();
        }
        if self.lines > 0 {
            self.numbered.push('\n');
            self.content.push('\n');
        }
        let number = wanted.first + self.lines;
        self.numbered.push_str(&number.to_string());
        self.numbered.push('\t');
        self.numbered.push_str(&text);
        self.content.push_str(&text);
        self.lines += 1;
    }

    /// Marks the result as clipped. If the first line is already too long, a part of it is shown.
    fn clip(&mut self, line: &LineStart, wanted: LineRequest) {
        self.clipped = true;
        if self.lines == 0 {
            let bytes = &line.kept;
            let whole = bytes.len().min(wanted.cap);
            let cut = (whole.saturating_sub(3)..=whole).rev().find(|at| std::str::from_utf8(&bytes[..*at]).is_ok());
            let kept = bytes[..cut.unwrap_or(whole)].to_vec();
            self.push_last(&LineStart { kept, ..LineStart::default() }, wanted);
        }
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
