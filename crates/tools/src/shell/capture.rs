//! The merged output of one command, in bounded memory: the beginning (as much as may be shown inline), at least
//! the last 32 KiB, and a file once the output is longer than that or belongs to a background task. Secrets are
//! masked before anything is stored, so memory and file never contain a secret. The file is
//! capped: past the cap the middle is left out and the end is appended when the command is over.

use crate::foreground::OutputTail;
use crate::spill;
use permission::mask;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const TAIL_BYTES: usize = 32 * 1024;
/// Bytes collected before a write, while nobody watches the file.
const WRITE_BYTES: usize = 256 * 1024;
/// Bytes of the end of an output that are reported when the output could not be saved.
const END_BYTES: usize = 1_500;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CaptureLimits {
    /// Most characters that may be shown inline.
    pub(crate) inline_chars: usize,
    /// Longest output file, in bytes.
    pub(crate) file_bytes: u64,
    /// A command that prints more bytes than this is killed.
    pub(crate) kill_bytes: u64,
}

impl CaptureLimits {
    pub(crate) const FILE_BYTES: u64 = 64 * 1024 * 1024;
    pub(crate) const KILL_BYTES: u64 = 5 * 1024 * 1024 * 1024;
}

#[derive(Debug)]
pub(crate) struct OutputCapture {
    limits: CaptureLimits,
    head: Vec<u8>,
    head_chars: usize,
    /// Output after `head`, or the end of it.
    tail: Vec<u8>,
    total: u64,
    line_feeds: u64,
    ends_with_line_feed: bool,
    sink: OutputSink,
    pending: Vec<u8>,
    gap: Option<OutputGap>,
    mask: mask::MaskingStream,
    /// Shows the output while the command runs.
    shown_in: Option<OutputTail>,
}

/// Sizes, in bytes, for a file that contains both ends of an output but not its middle.
#[derive(Clone, Copy, Debug)]
struct OutputGap {
    first: u64,
    last: u64,
    missing: u64,
}

#[derive(Debug)]
enum OutputSink {
    /// Nothing was written yet; the path is the file that would be created.
    Unopened(PathBuf),
    Open {
        file: File,
        path: PathBuf,
        written: u64,
        watched: bool,
    },
    /// Writing failed: the rest of the output is counted but not stored in a file.
    Broken {
        path: PathBuf,
        error: String,
    },
}

impl OutputCapture {
    /// Creates a capture; the file at `path` is created only when the output outgrows memory.
    pub(crate) fn new(limits: CaptureLimits, path: PathBuf) -> Self {
        Self {
            limits,
            head: Vec::new(),
            head_chars: 0,
            tail: Vec::new(),
            total: 0,
            line_feeds: 0,
            ends_with_line_feed: false,
            sink: OutputSink::Unopened(path),
            pending: Vec::new(),
            gap: None,
            mask: mask::MaskingStream::default(),
            shown_in: None,
        }
    }

    /// Shows all further output there, as long as someone waits for the command.
    pub(crate) fn show_in(&mut self, tail: OutputTail) {
        self.shown_in = Some(tail);
    }

    /// Masks the secrets that `mask` knows in all further output.
    pub(crate) fn with_mask(mut self, mask: mask::MaskingStream) -> Self {
        self.mask = mask;
        self
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut mask = std::mem::take(&mut self.mask);
        mask.push(bytes, &mut |part| self.push_masked(part));
        self.mask = mask;
    }

    fn push_masked(&mut self, bytes: &[u8]) {
        if let Some(tail) = &self.shown_in {
            tail.push(bytes);
        }
        self.total += bytes.len() as u64;
        self.line_feeds += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.ends_with_line_feed = bytes.last().map_or(self.ends_with_line_feed, |last| *last == b'\n');
        let room = if self.tail.is_empty() { self.inline_part(bytes) } else { 0 };
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        push_tail(&mut self.tail, rest);
        match &self.sink {
            OutputSink::Unopened(_) if self.tail.is_empty() => {}
            OutputSink::Unopened(_) if self.pending.is_empty() => {
                self.pending.extend_from_slice(&self.head);
                self.pending.extend_from_slice(rest);
            }
            OutputSink::Open { written, .. } if written + self.pending.len() as u64 >= self.limits.file_bytes => {}
            OutputSink::Unopened(_) | OutputSink::Open { .. } => self.pending.extend_from_slice(bytes),
            OutputSink::Broken { .. } => {}
        }
    }

    /// How many of `bytes` still belong to the part shown inline.
    fn inline_part(&mut self, bytes: &[u8]) -> usize {
        let byte_room = (self.limits.inline_chars * 4).saturating_sub(self.head.len());
        for (at, byte) in bytes.iter().enumerate() {
            let starts_char = (*byte & 0xC0) != 0x80;
            if at >= byte_room || (starts_char && self.head_chars == self.limits.inline_chars) {
                return at;
            }
            self.head_chars += usize::from(starts_char);
        }
        bytes.len()
    }

    /// True when the output is longer than may be shown inline.
    pub(crate) fn is_long(&self) -> bool {
        !self.tail.is_empty()
    }

    pub(crate) fn is_excessive(&self) -> bool {
        self.total > self.limits.kill_bytes
    }

    /// Bytes printed.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Lines printed, the last one also without a line end.
    pub(crate) fn total_lines(&self) -> u64 {
        self.line_feeds + u64::from(self.total > 0 && !self.ends_with_line_feed)
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes: at least `TAIL_BYTES`, or all when there are fewer.
    pub(crate) fn end(&self) -> Vec<u8> {
        if self.head.len() as u64 + self.tail.len() as u64 == self.total {
            return [&self.head[..], &self.tail[..]].concat();
        }
        self.tail.clone()
    }

    /// The file; `None` when nothing was written.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.sink {
            OutputSink::Unopened(_) => None,
            OutputSink::Open { path, .. } | OutputSink::Broken { path, .. } => Some(path),
        }
    }

    /// The error that stopped writing the file; `None` when there was none.
    pub(crate) fn write_error(&self) -> Option<&str> {
        match &self.sink {
            OutputSink::Broken { error, .. } => Some(error),
            OutputSink::Unopened(_) | OutputSink::Open { .. } => None,
        }
    }

    /// Describes what is missing in the file of a task; includes the last lines when the file could not be written.
    pub(crate) fn incomplete(&self) -> Option<String> {
        if let Some(error) = self.write_error() {
            let end = self.end();
            let end = String::from_utf8_lossy(&end[end.len().saturating_sub(END_BYTES)..]).trim().to_owned();
            let end = if end.is_empty() { String::new() } else { format!("; it ended with:\n{end}") };
            return Some(format!("its output could not be saved: {error}{end}"));
        }
        self.gap().map(|gap| format!("its output is not all in the file: {gap}"))
    }

    /// Describes the part that the file leaves out; `None` when it is complete.
    pub(crate) fn gap(&self) -> Option<String> {
        let gap = self.gap?;
        let size = spill::human_size;
        Some(format!(
            "it holds the first {} and the last {}; {} ({} bytes) between them were not saved",
            size(gap.first),
            size(gap.last),
            size(gap.missing),
            gap.missing
        ))
    }

    /// From now on all output is written to a file as soon as it arrives: to the first of `paths` that can be
    /// created. Output that already has a file keeps it.
    pub(crate) async fn write_through(&mut self, paths: Vec<PathBuf>) {
        if let OutputSink::Unopened(_) = self.sink {
            if self.pending.is_empty() {
                self.pending.clone_from(&self.head);
            }
            let gathered = self.pending.clone();
            for path in paths {
                self.sink = OutputSink::Unopened(path);
                self.pending.clone_from(&gathered);
                self.write().await;
                if self.write_error().is_none() {
                    break;
                }
            }
        } else {
            self.write().await;
        }
        if let OutputSink::Open { watched, .. } = &mut self.sink {
            *watched = true;
        }
    }

    pub(crate) fn wants_write(&self) -> bool {
        match &self.sink {
            OutputSink::Open { watched: true, .. } => !self.pending.is_empty(),
            OutputSink::Open { .. } | OutputSink::Unopened(_) => self.pending.len() >= WRITE_BYTES,
            OutputSink::Broken { .. } => false,
        }
    }

    /// Writes the collected bytes on a blocking thread.
    pub(crate) async fn write(&mut self) {
        self.off_thread(Self::write_pending).await;
    }

    /// Writes the rest and, where the middle was left out, the end.
    pub(crate) async fn finish(&mut self) {
        let mut mask = std::mem::take(&mut self.mask);
        mask.finish(&mut |part| self.push_masked(part));
        if self.pending.is_empty() && matches!(self.sink, OutputSink::Unopened(_)) {
            return;
        }
        self.off_thread(|capture| {
            capture.write_pending();
            capture.write_end();
        })
        .await;
    }

    async fn off_thread(&mut self, work: fn(&mut Self)) {
        let mut moved = std::mem::replace(self, Self::new(self.limits, PathBuf::new()));
        let worked = tokio::task::spawn_blocking(move || {
            work(&mut moved);
            moved
        });
        // Fails only when the runtime shuts down; the output is then lost.
        if let Ok(capture) = worked.await {
            *self = capture;
        }
    }

    fn write_pending(&mut self) {
        if let OutputSink::Unopened(path) = &self.sink {
            let path = path.clone();
            self.sink = match spill::create_private(&path) {
                Ok(file) => OutputSink::Open { file, path, written: 0, watched: false },
                Err(error) => OutputSink::Broken { path, error: error.to_string() },
            };
        }
        let bytes = std::mem::take(&mut self.pending);
        let OutputSink::Open { file, path, written, .. } = &mut self.sink else { return };
        let room = self.limits.file_bytes.saturating_sub(*written);
        let part = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        match file.write_all(part) {
            Ok(()) => {
                *written += part.len() as u64;
                self.pending = bytes;
                self.pending.clear();
            }
            Err(error) => self.sink = OutputSink::Broken { path: std::mem::take(path), error: error.to_string() },
        }
    }

    fn write_end(&mut self) {
        let OutputSink::Open { file, path, written, .. } = &mut self.sink else { return };
        let missing = self.total - *written;
        if missing == 0 {
            return;
        }
        let kept = usize::try_from(missing).map_or(self.tail.len(), |m| m.min(self.tail.len()));
        let left_out = missing - kept as u64;
        let note = format!("\n[{left_out} bytes left out here]\n");
        let end = &self.tail[self.tail.len() - kept..];
        let outcome = file.write_all(note.as_bytes()).and_then(|()| file.write_all(end));
        match outcome {
            Ok(()) if left_out > 0 => {
                self.gap = Some(OutputGap { first: *written, last: kept as u64, missing: left_out });
            }
            Ok(()) => {}
            Err(error) => self.sink = OutputSink::Broken { path: std::mem::take(path), error: error.to_string() },
        }
    }

    /// Makes sure that the output is in a file, as far as that is possible.
    pub(crate) async fn save(&mut self) {
        if let OutputSink::Unopened(_) = self.sink {
            if self.pending.is_empty() {
                self.pending.clone_from(&self.head);
            }
            self.write().await;
        }
    }

    /// Deletes the file, because the output was shown in another way.
    pub(crate) async fn discard_file(&mut self) {
        let Some(path) = self.file().map(Path::to_path_buf) else { return };
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_file(path)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(%error, "spilled output was not removed");
        }
    }
}

/// Appends to the tail, which keeps between `TAIL_BYTES` and twice that, so that bytes are rarely moved.
fn push_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
    if tail.len() + bytes.len() > 2 * TAIL_BYTES {
        let drop = tail.len().saturating_sub(TAIL_BYTES - bytes.len());
        tail.drain(..drop);
    }
    tail.extend_from_slice(bytes);
}

/// The last `bytes` bytes of a file, and the length of the file.
pub(crate) fn read_end(path: &Path, bytes: u64) -> io::Result<(Vec<u8>, u64)> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(bytes)))?;
    let mut end = Vec::new();
    file.take(bytes).read_to_end(&mut end)?;
    Ok((end, len))
}
