//! Text as numbered lines, a page at a time.

mod scan;

use super::{OpenFile, ReadFileCall};
use crate::contract::{CallContext, ToolOutcome};
use crate::file_work::{self, structured};
use crate::read_state::{Fingerprint, MAX_REMEMBERED_BYTES, SeenContent, SeenLines};
use crate::session_facts::is_compatible_output;
use crate::text_file::TextEncoding;
use scan::{CapBehaviour, LastNewline, LineRequest, ScannedLines, ShownLines, grouped, scan};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use sys::Env;
use wire::counting::counted;

/// Most lines of a page.
const PAGE_LINES: u64 = 2_000;
/// Most bytes of the lines of a page; with its notices it stays within 60,000.
const PAGE_BYTES: usize = 59_800;
/// Longer lines, in characters, are cut.
const LINE_CHARS: usize = 2_000;
/// Of larger files, in bytes, only the beginning is shown without a range or `allow_large`.
const WHOLE_LIMIT: u64 = 256 * 1024;
/// Lines of the beginning of a large file.
const BEGINNING_LINES: u64 = 200;
/// Most bytes that one read shows, even with `allow_large`.
const HARD_LIMIT: u64 = 16 * 1024 * 1024;
/// Larger files, in bytes, are identified by their metadata: hashing them would cost more than reading a few lines.
const HASH_LIMIT: u64 = 64 * 1024 * 1024;
const DEFAULT_TOKENS: usize = 25_000;
const TOKENS_VARIABLE: &str = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS";

/// Most bytes of text that a read of a requested range, or of a notebook, may show.
pub(super) fn token_cap(env: &Env, allow_large: bool) -> usize {
    if allow_large {
        return HARD_LIMIT as usize;
    }
    wire::tokens::bytes_of(env.number(TOKENS_VARIABLE).filter(|n| *n > 0).unwrap_or(DEFAULT_TOKENS))
}

/// What a call shows of a text.
#[derive(Clone, Copy, Debug)]
struct ReadExtent {
    lines: LineRequest,
    /// The call did not say how many lines: what is left out is said.
    is_page: bool,
    /// The size of the file, in bytes, when only its beginning is shown because of it.
    large: Option<u64>,
}

impl ReadExtent {
    fn of(call: &ReadFileCall, size: u64, env: &Env) -> Self {
        let allowed = if call.allow_large { HARD_LIMIT } else { WHOLE_LIMIT };
        let large = (call.offset.is_none() && call.limit.is_none() && size > allowed).then_some(size);
        let page_lines = match (large, call.allow_large) {
            (Some(_), _) => Some(BEGINNING_LINES),
            (None, true) => None,
            (None, false) => Some(PAGE_LINES),
        };
        let is_page = call.limit.is_none();
        let has_own_cap = env.non_empty(TOKENS_VARIABLE).is_some();
        let cap = token_cap(env, call.allow_large && large.is_none());
        let lines = LineRequest {
            first: call.offset.unwrap_or(1).max(1),
            limit: call.limit.or(page_lines),
            cap: if is_page && !has_own_cap && cap < HARD_LIMIT as usize { cap.min(PAGE_BYTES) } else { cap },
            at_cap: if is_page { CapBehaviour::Clip } else { CapBehaviour::Refuse },
            line_chars: (!call.allow_large).then_some(LINE_CHARS),
            last_newline: if is_compatible_output(env) { LastNewline::StartsLine } else { LastNewline::EndsLine },
        };
        Self { lines, is_page, large }
    }
}

pub(super) fn show(cx: &CallContext, source: OpenFile, call: &ReadFileCall) -> Result<ToolOutcome, ToolOutcome> {
    let env = &cx.state.facts.env;
    let extent = ReadExtent::of(call, source.meta.len(), env);
    if extent.large.is_some() && is_compatible_output(env) {
        return Err(too_large(&source, call));
    }
    let (path, stamp) = (source.path.clone(), source.stamp);
    let scanned = scan_source(source, extent.lines).map_err(|e| file_work::io_error("read", &path, &e))?;
    let mut shown = match scanned.lines {
        ScannedLines::Shown(shown) => shown,
        ScannedLines::Refused { fitting } => return Err(over_cap(&path, extent.lines, fitting)),
    };
    let first = extent.lines.first;
    if shown.lines > 0 || shown.total == 0 {
        let lines = SeenLines { first, count: shown.lines, total: shown.total, is_cut: shown.is_cut() };
        let seen = SeenContent { fingerprint: scanned.fingerprint, bytes: scanned.bytes.as_deref(), stamp };
        cx.state.reads.record_lines(&path, seen, lines);
    }
    shown.clipped |= extent.is_page && shown.lines > 0 && first + shown.lines <= shown.total;
    Ok(outcome(&path, extent, shown))
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

/// The error for a range that is too long, with the number of its lines that would fit.
fn over_cap(path: &Path, wanted: LineRequest, fitting: u64) -> ToolOutcome {
    let tokens = wire::tokens::of_bytes(wanted.cap);
    let way_out = match fitting {
        0 => "Ask for fewer lines with `limit`".to_owned(),
        fitting => format!("The first {fitting} of them fit: set `limit` to {fitting}"),
    };
    ToolOutcome::failed(format!(
        "The lines asked for from {} come to more than {tokens} tokens. {way_out}, or search the file with Grep.",
        path.display()
    ))
}

struct ScannedFile {
    lines: ScannedLines,
    fingerprint: Fingerprint,
    /// All bytes of a file that is small enough to be remembered.
    bytes: Option<Vec<u8>>,
}

/// Scans the file with its encoding.
fn scan_source(mut source: OpenFile, wanted: LineRequest) -> io::Result<ScannedFile> {
    let stat = Fingerprint::of_stat(&source.meta);
    match TextEncoding::sniff(&source.head) {
        encoding @ (TextEncoding::Utf16Le | TextEncoding::Utf16Be) => {
            let mut bytes = Vec::new();
            source.file.by_ref().take(HASH_LIMIT).read_to_end(&mut bytes)?;
            let text = encoding.decode(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
            let lines = scan(Cursor::new(text), wanted)?;
            Ok(ScannedFile { lines, fingerprint: Fingerprint::of(&bytes), bytes: Some(bytes) })
        }
        encoding @ (TextEncoding::Utf8 | TextEncoding::Utf8Bom) => {
            let hash = (source.meta.len() <= HASH_LIMIT).then(Sha256::new);
            let copy = (source.meta.len() <= MAX_REMEMBERED_BYTES as u64).then(Vec::new);
            let noting = NotingReader { inner: source.file, hash, copy };
            let mut reader = BufReader::with_capacity(64 * 1024, noting);
            if encoding == TextEncoding::Utf8Bom {
                reader.read_exact(&mut [0; 3])?;
            }
            let lines = scan(&mut reader, wanted)?;
            let NotingReader { hash, copy, .. } = reader.into_inner();
            let fingerprint = hash.map_or(stat, |h| Fingerprint::Hash(h.finalize().into()));
            Ok(ScannedFile { lines, fingerprint, bytes: copy })
        }
    }
}

/// Hashes and keeps what is read through it.
struct NotingReader<R> {
    inner: R,
    hash: Option<Sha256>,
    copy: Option<Vec<u8>>,
}

impl<R: Read> Read for NotingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..n]);
        }
        // The file may grow while it is read.
        self.copy = self.copy.take().filter(|copy| copy.len() + n <= MAX_REMEMBERED_BYTES);
        if let Some(copy) = &mut self.copy {
            copy.extend_from_slice(&buffer[..n]);
        }
        Ok(n)
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

fn outcome(path: &Path, extent: ReadExtent, shown: ShownLines) -> ToolOutcome {
    let output = TextEnvelope {
        kind: "text",
        file: TextOutput {
            file_path: path.to_string_lossy(),
            content: &shown.content,
            num_lines: shown.lines,
            start_line: extent.lines.first,
            total_lines: shown.total,
            truncated_by_token_cap: shown.clipped,
        },
    };
    let structured = structured(&output);
    ToolOutcome::text(model_text(extent, shown), structured)
}

/// An outcome with a text in place of something that has no lines of its own.
pub(super) fn substitute_outcome(path: &Path, text: String) -> ToolOutcome {
    let lines = text.lines().count() as u64;
    let file = TextOutput {
        file_path: path.to_string_lossy(),
        content: &text,
        num_lines: lines,
        start_line: 1,
        total_lines: lines,
        truncated_by_token_cap: false,
    };
    let structured = structured(&TextEnvelope { kind: "text", file });
    ToolOutcome::text(text, structured)
}

fn model_text(extent: ReadExtent, shown: ShownLines) -> String {
    if shown.total == 0 {
        return "<system-reminder>The file exists but is empty.</system-reminder>".into();
    }
    if shown.lines == 0 {
        return format!(
            "<system-reminder>The file has {}, fewer than the offset {}. Nothing to show.</system-reminder>",
            shown.counted(),
            extent.lines.first
        );
    }
    let notices: Vec<String> = [part_notice(extent, &shown), cut_notice(&shown)].into_iter().flatten().collect();
    let ends_file = extent.lines.first + shown.lines > shown.total;
    let mut text = shown.numbered;
    if shown.lossy {
        text.push_str("\n\n[The file is not valid UTF-8: bytes that could not be decoded are shown as \u{fffd}.]");
    }
    if shown.lacks_newline && ends_file && extent.lines.last_newline == LastNewline::EndsLine {
        text.push_str("\n\n[The file does not end with a newline.]");
    }
    if !notices.is_empty() {
        write!(text, "\n\n<system-reminder>{}</system-reminder>", notices.join(" ")).ok();
    }
    text
}

/// Which part of the file is shown, and how to see the rest.
fn part_notice(extent: ReadExtent, shown: &ShownLines) -> Option<String> {
    if !shown.clipped {
        return None;
    }
    let first = extent.lines.first;
    let last = first + shown.lines - 1;
    let size = extent.large.map_or_else(String::new, |size| format!(" ({} KB)", grouped(size.div_ceil(1024))));
    let ways = match extent.large {
        Some(size) if size > HARD_LIMIT => ", or search it with Grep",
        Some(_) => ", search it with Grep, or set `allow_large` if all of it is needed",
        None => ", or set `allow_large` to see all of it",
    };
    Some(format!(
        "PARTIAL view: lines {first}–{last} of {}{size} shown. Go on with `offset` {} and a `limit`{ways}.",
        shown.counted(),
        last + 1
    ))
}

fn cut_notice(shown: &ShownLines) -> Option<String> {
    (shown.cut_lines > 0).then(|| {
        format!(
            "Lines are cut at {} characters. To see more of line N: `sed -n Np FILE | cut -c {}-{}`.",
            grouped(LINE_CHARS as u64),
            LINE_CHARS + 1,
            2 * LINE_CHARS
        )
    })
}

impl ShownLines {
    /// Whether parts of lines are left out.
    fn is_cut(&self) -> bool {
        self.cut_lines > 0 || (self.clipped && self.lines == 1)
    }

    /// The number of lines of the file.
    fn counted(&self) -> String {
        let more = if self.has_more { "more than " } else { "" };
        format!("{more}{}", counted(self.total, "line"))
    }
}
