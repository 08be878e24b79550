//! Text as numbered lines. Streams the file: memory depends on what is shown, not on the size of the file or its lines.

use super::{OpenFile, ReadFileCall};
use crate::contract::{CallContext, ToolOutcome};
use crate::file_work::{self, structured};
use crate::read_state::{Coverage, Fingerprint, MAX_REMEMBERED_BYTES, SeenFile};
use crate::text_file::TextEncoding;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use sys::Env;

/// Largest file, in bytes, that is shown whole without a range or `allow_large`.
const WHOLE_LIMIT: u64 = 256 * 1024;
/// Most bytes that one read shows, even with `allow_large`.
const HARD_LIMIT: u64 = 16 * 1024 * 1024;
/// Larger files, in bytes, are identified by their metadata: hashing them would cost more than reading a few lines.
const HASH_LIMIT: u64 = 64 * 1024 * 1024;
const DEFAULT_TOKENS: usize = 25_000;
/// Bytes of numbered text that count as ten tokens.
const BYTES_PER_TEN_TOKENS: usize = 52;

/// Most bytes of numbered text that one read may show.
pub(super) fn token_cap(env: &Env, allow_large: bool) -> usize {
    if allow_large {
        return HARD_LIMIT as usize;
    }
    let tokens = env.number("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS").filter(|n| *n > 0).unwrap_or(DEFAULT_TOKENS);
    tokens.saturating_mul(BYTES_PER_TEN_TOKENS) / 10
}

/// What happens when the cap is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapBehaviour {
    /// Show what fits and add a note, because no range was requested.
    Clip,
    /// Stop at once, because the requested range cannot be shown.
    Refuse,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LineRequest {
    /// The first line, counted from 1.
    pub(super) first: u64,
    pub(super) limit: Option<u64>,
    pub(super) cap: usize,
    pub(super) at_cap: CapBehaviour,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShownLines {
    pub(super) numbered: String,
    pub(super) content: String,
    pub(super) lines: u64,
    /// Lines of the whole file; a final newline starts one more, empty line.
    pub(super) total: u64,
    pub(super) clipped: bool,
    /// Some bytes were not UTF-8.
    pub(super) lossy: bool,
}

pub(super) fn show(cx: &CallContext, source: OpenFile, call: &ReadFileCall) -> Result<ToolOutcome, ToolOutcome> {
    let explicit = call.offset.is_some() || call.limit.is_some();
    let allowed = if call.allow_large { HARD_LIMIT } else { WHOLE_LIMIT };
    if !explicit && source.meta.len() > allowed {
        return Err(too_large(&source, call));
    }
    let wanted = LineRequest {
        first: call.offset.unwrap_or(1).max(1),
        limit: call.limit,
        cap: token_cap(&cx.state.facts.env, call.allow_large),
        at_cap: if explicit { CapBehaviour::Refuse } else { CapBehaviour::Clip },
    };
    let path = source.path.clone();
    let (shown, fingerprint) = scan_source(source, wanted).map_err(|e| file_work::io_error("read", &path, &e))?;
    let Some(shown) = shown else { return Err(over_cap(&path, wanted)) };
    let coverage = match (shown.clipped, shown.lines == shown.total) {
        (true, _) => Coverage::Clipped,
        (false, true) => Coverage::Whole,
        (false, false) => Coverage::Range,
    };
    match sys::fs::read_whole(&path, MAX_REMEMBERED_BYTES).ok().filter(|now| Fingerprint::of(now) == fingerprint) {
        Some(content) if coverage == Coverage::Whole => cx.state.reads.record_shown(&path, &content),
        Some(content) if coverage == Coverage::Range => cx.state.reads.record_part_shown(&path, &content),
        Some(_) | None => cx.state.reads.record_seen(&path, SeenFile { fingerprint, coverage }),
    }
    Ok(outcome(&path, wanted, shown))
}

fn too_large(source: &OpenFile, call: &ReadFileCall) -> ToolOutcome {
    let (path, kb) = (source.path.display(), source.meta.len().div_ceil(1024));
    let way_out = if call.allow_large {
        "Read parts of it with `offset` and `limit`."
    } else {
        "Read a part with `offset` and `limit`, search it with Grep, or set `allow_large` if all of it is needed."
    };
    let most = if call.allow_large { HARD_LIMIT } else { WHOLE_LIMIT } / 1024;
    ToolOutcome::failed(format!("{path} is {kb} KB, more than the {most} KB that can be read at once. {way_out}"))
}

fn over_cap(path: &Path, wanted: LineRequest) -> ToolOutcome {
    let tokens = wanted.cap * 10 / BYTES_PER_TEN_TOKENS;
    ToolOutcome::failed(format!(
        "The lines asked for from {} come to more than {tokens} tokens. Ask for fewer lines with `limit`, or search \
         the file with Grep.",
        path.display()
    ))
}

/// Scans the file with its encoding. `None` when the cap refused the range.
fn scan_source(mut source: OpenFile, wanted: LineRequest) -> io::Result<(Option<ShownLines>, Fingerprint)> {
    let stat = Fingerprint::of_stat(&source.meta);
    match TextEncoding::sniff(&source.head) {
        encoding @ (TextEncoding::Utf16Le | TextEncoding::Utf16Be) => {
            let mut bytes = Vec::new();
            source.file.by_ref().take(HASH_LIMIT).read_to_end(&mut bytes)?;
            let text = encoding.decode(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
            Ok((scan(Cursor::new(text), wanted)?, Fingerprint::of(&bytes)))
        }
        encoding @ (TextEncoding::Utf8 | TextEncoding::Utf8Bom) => {
            let hash = (source.meta.len() <= HASH_LIMIT).then(Sha256::new);
            let mut reader = BufReader::with_capacity(64 * 1024, HashingReader { inner: source.file, hash });
            if encoding == TextEncoding::Utf8Bom {
                reader.read_exact(&mut [0; 3])?;
            }
            let shown = scan(&mut reader, wanted)?;
            let hash = reader.into_inner().hash;
            Ok((shown, hash.map_or(stat, |h| Fingerprint::Hash(h.finalize().into()))))
        }
    }
}

struct HashingReader<R> {
    inner: R,
    hash: Option<Sha256>,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..n]);
        }
        Ok(n)
    }
}

#[derive(PartialEq, Eq)]
enum ScanPhase {
    Skipping,
    Showing,
    Counting,
}

/// Reads to the end, so that the line count is exact, unless the cap refuses the range.
pub(super) fn scan(mut reader: impl BufRead, wanted: LineRequest) -> io::Result<Option<ShownLines>> {
    let phase = if wanted.first > 1 { ScanPhase::Skipping } else { ScanPhase::Showing };
    let mut scanner = LineScanner { wanted, shown: ShownLines::default(), line: Vec::new(), ended: 0, phase };
    let mut any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(Some(if any { scanner.finish() } else { ShownLines::default() }));
        }
        any = true;
        let Some(used) = scanner.take(buffer) else { return Ok(None) };
        reader.consume(used);
    }
}

struct LineScanner {
    wanted: LineRequest,
    shown: ShownLines,
    /// The part of the current line that was read so far.
    line: Vec<u8>,
    /// Number of line ends found.
    ended: u64,
    phase: ScanPhase,
}

impl LineScanner {
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
        self.line.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
        let fits = self.shown.room_for(&self.line, self.wanted);
        match (fits, self.wanted.at_cap) {
            (false, CapBehaviour::Refuse) => return None,
            (false, CapBehaviour::Clip) => {
                self.shown.clip(&self.line, self.wanted);
                self.phase = ScanPhase::Counting;
            }
            (true, _) if end.is_some() => {
                self.shown.push(&self.line, self.wanted);
                self.line.clear();
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
        if self.phase == ScanPhase::Showing {
            self.shown.push_last(&self.line, self.wanted);
        }
        self.shown.total = self.ended + 1;
        self.shown
    }
}

impl ShownLines {
    fn room_for(&self, line: &[u8], wanted: LineRequest) -> bool {
        // Number, tab and newline; the exact number of digits does not matter.
        self.numbered.len() + line.len() + 8 <= wanted.cap
    }

    fn push(&mut self, line: &[u8], wanted: LineRequest) {
        self.push_last(line.strip_suffix(b"\r").unwrap_or(line), wanted);
    }

    fn push_last(&mut self, line: &[u8], wanted: LineRequest) {
        let mut text = String::from_utf8_lossy(line);
        self.lossy |= matches!(text, Cow::Owned(_));
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
    fn clip(&mut self, line: &[u8], wanted: LineRequest) {
        self.clipped = true;
        if self.lines == 0 {
            let whole = line.len().min(wanted.cap);
            let cut = (whole.saturating_sub(3)..=whole).rev().find(|at| std::str::from_utf8(&line[..*at]).is_ok());
            self.push_last(&line[..cut.unwrap_or(whole)], wanted);
        }
    }
}

#[derive(Serialize)]
struct TextEnvelope<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: TextOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TextOutput<'a> {
    file_path: Cow<'a, str>,
    content: &'a str,
    num_lines: u64,
    start_line: u64,
    total_lines: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated_by_token_cap: bool,
}

fn outcome(path: &Path, wanted: LineRequest, shown: ShownLines) -> ToolOutcome {
    let output = TextEnvelope {
        kind: "text",
        file: TextOutput {
            file_path: path.to_string_lossy(),
            content: &shown.content,
            num_lines: shown.lines,
            start_line: wanted.first,
            total_lines: shown.total,
            truncated_by_token_cap: shown.clipped,
        },
    };
    let structured = structured(&output);
    ToolOutcome::text(model_text(wanted, shown), structured)
}

/// An outcome with one line in place of a file that cannot be shown.
pub(super) fn one_line_outcome(path: &Path, text: String) -> ToolOutcome {
    let file = TextOutput {
        file_path: path.to_string_lossy(),
        content: &text,
        num_lines: 1,
        start_line: 1,
        total_lines: 1,
        truncated_by_token_cap: false,
    };
    let structured = structured(&TextEnvelope { kind: "text", file });
    ToolOutcome::text(text, structured)
}

fn model_text(wanted: LineRequest, shown: ShownLines) -> String {
    let total = shown.total;
    if total == 0 {
        return "<system-reminder>The file exists but is empty.</system-reminder>".into();
    }
    if shown.lines == 0 {
        return format!(
            "<system-reminder>The file has {total} lines, fewer than the offset {}. Nothing to show.</system-reminder>",
            wanted.first
        );
    }
    let mut text = shown.numbered;
    if shown.lossy {
        text.push_str("\n\n[The file is not valid UTF-8: bytes that could not be decoded are shown as \u{fffd}.]");
    }
    if shown.clipped {
        let next = shown.lines + 1;
        let notice = format!(
            "\n\n<system-reminder>PARTIAL view: {} of {total} lines shown. Go on with `offset` {next} and a `limit`, \
             or set `allow_large` to see all of it.</system-reminder>",
            shown.lines
        );
        text.push_str(&notice);
    }
    text
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
