//! What the transcripts say about usage: one record per response of a model, however often it was written. A response
//! stands on one line per block, in copies that forks made, and in the transcripts of agents that began as a fork.
//! Several threads search the files for the bytes that every usage contains; only those lines are parsed.

mod line;

use crate::layout::StoreLayout;
use crate::pieces::{self, FilePiece, PIECE_BYTES, threads_for};
use line::{FoundUsage, LineUsage};
pub use line::{RecordedMiss, TokenCounts};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;
use sys::sync::Mutex;

/// What every recorded usage begins with: transcripts are written without spaces.
const MARK: &[u8] = b"\"usage\":{";

/// A transcript: of a session, or of an agent of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageFile {
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
    /// The name of the folder below `projects`.
    pub project: String,
    pub session: String,
    /// The id of the agent; `None` for the session itself.
    pub agent: Option<String>,
}

/// One response of a model.
#[derive(Clone, Debug)]
pub struct RecordedResponse {
    pub file: Arc<UsageFile>,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// `None` when the line names none.
    pub model: Option<String>,
    /// The working directory; empty when the line names none.
    pub cwd: String,
    pub tokens: TokenCounts,
}

/// Everything that was recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordedUsage {
    pub responses: Vec<RecordedResponse>,
    pub misses: Vec<RecordedMiss>,
}

/// The transcripts of all projects, sorted by path. `since_ms` leaves out files that were not changed since then.
pub fn files(layout: &StoreLayout, since_ms: Option<u64>) -> Vec<UsageFile> {
    let root = layout.projects();
    let mut all = Vec::new();
    walk(&root, &root, since_ms, &mut all);
    sys::compact_sort::sort_by(&mut all, |a, b| a.path.cmp(&b.path));
    all
}

fn walk(root: &Path, dir: &Path, since_ms: Option<u64>, all: &mut Vec<UsageFile>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            walk(root, &path, since_ms, all);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            all.extend(usage_file(root, path, since_ms));
        }
    }
}

fn usage_file(root: &Path, path: PathBuf, since_ms: Option<u64>) -> Option<UsageFile> {
    let meta = path.metadata().ok().filter(|meta| meta.is_file() && meta.len() > 0)?;
    if let Some(since) = since_ms {
        let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        if u64::try_from(changed.as_millis()).unwrap_or(u64::MAX) < since {
            return None;
        }
    }
    let name = |part: std::path::Component<'_>| part.as_os_str().to_string_lossy().into_owned();
    let parts: Vec<String> = path.strip_prefix(root).ok()?.components().map(name).collect();
    let file = path.file_stem()?.to_string_lossy().into_owned();
    let project = if parts.len() > 1 { parts[0].clone() } else { String::new() };
    let session = if parts.len() > 2 { parts[1].clone() } else { file.clone() };
    let agent = file.strip_prefix("agent-").map(str::to_owned);
    Some(UsageFile { size: meta.len(), project, session, agent, path })
}

/// Reads the usage of all `files`. Blocking; what cannot be read is left out.
pub fn read(files: Vec<UsageFile>) -> RecordedUsage {
    let files: Vec<Arc<UsageFile>> = files.into_iter().map(Arc::new).collect();
    let pieces = pieces::of(files.iter().map(|file| file.size), PIECE_BYTES);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(pieces.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads_for(pieces.len()) {
            scope.spawn(|| read_pieces(&files, &pieces, &next, &found));
        }
    });
    let mut found = found.into_inner();
    sys::compact_sort::sort_by_key(&mut found, |(piece, _)| *piece);
    // Within a file the pieces go from its end to its start.
    sys::compact_sort::sort_by_key(&mut found, |(piece, _)| (pieces[*piece].file, pieces[*piece].from));
    let mut usage = RecordedUsage::default();
    let mut counted = CountedResponses::default();
    for (piece, lines) in found {
        let file = &files[pieces[piece].file];
        for line in lines {
            match line {
                FoundUsage::Miss(miss) => usage.misses.push(RecordedMiss { session: file.session.clone(), ..miss }),
                FoundUsage::Response(line) => counted.take(file, *line),
            }
        }
    }
    // Forks copy the lines of their session.
    sys::compact_sort::sort_by(&mut usage.misses, |a, b| {
        (a.at_ms, a.tokens, &a.session).cmp(&(b.at_ms, b.tokens, &b.session))
    });
    usage.misses.dedup_by(|a, b| (a.at_ms, a.tokens, &a.cause) == (b.at_ms, b.tokens, &b.cause));
    usage.responses = counted.finish();
    usage
}

fn read_pieces(
    files: &[Arc<UsageFile>],
    pieces: &[FilePiece],
    next: &AtomicUsize,
    found: &Mutex<Vec<(usize, Vec<FoundUsage>)>>,
) {
    let finder = Finder::new(MARK);
    let mut buffer = Vec::new();
    let mut open: Option<(usize, File)> = None;
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(piece) = pieces.get(at) else { return };
        if open.as_ref().is_none_or(|(file, _)| *file != piece.file) {
            open = File::open(&files[piece.file].path).ok().map(|opened| (piece.file, opened));
        }
        let Some((_, file)) = &open else { continue };
        let mut lines = Vec::new();
        let read = pieces::read(file, *piece, &mut buffer, &mut |bytes| {
            marked_lines(&finder, bytes, &mut lines);
            ControlFlow::Continue(())
        });
        if let Err(error) = read {
            tracing::warn!(%error, path = %files[piece.file].path.display(), "a transcript could not be read to its end");
        }
        found.lock().push((at, lines));
    }
}

/// Parses the lines with a usage.
fn marked_lines(finder: &Finder<'_>, bytes: &[u8], lines: &mut Vec<FoundUsage>) {
    let mut from = 0;
    while let Some(at) = finder.find(&bytes[from..]).map(|at| from + at) {
        let start = memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
        let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
        lines.extend(line::parse(&bytes[start..end]));
        from = end;
    }
}

/// Counts each response once. Of several records of one response the largest counts, because blocks are written
/// before the response has ended.
#[derive(Default)]
struct CountedResponses {
    kept: Vec<(RecordedResponse, bool)>,
    /// By the ids of the message and of the request.
    own: HashMap<(String, Option<String>), usize>,
    /// Message and time of the responses of conversations.
    times: HashSet<(String, u64)>,
    /// Lines of agents: one that began as a fork holds copies of its session's responses.
    side: Vec<(Arc<UsageFile>, LineUsage)>,
}

impl CountedResponses {
    fn take(&mut self, file: &Arc<UsageFile>, line: LineUsage) {
        let Some(id) = line.message_id.clone() else { return self.kept.push((line.response(file), false)) };
        if line.is_sidechain {
            return self.side.push((Arc::clone(file), line));
        }
        self.times.insert((id.clone(), line.at_ms));
        let next = self.kept.len();
        let at = *self.own.entry((id, line.request_id.clone())).or_insert(next);
        self.keep(at, file, line);
    }

    /// Puts the record at `at`, unless a better one stands there.
    fn keep(&mut self, at: usize, file: &Arc<UsageFile>, line: LineUsage) {
        let is_copy = line.is_copy;
        let total = line.tokens.total();
        match self.kept.get(at) {
            None => self.kept.push((line.response(file), is_copy)),
            // At the same size the session that made the request counts, not its fork.
            Some((before, was_copy)) if (total, !is_copy) > (before.tokens.total(), !*was_copy) => {
                self.kept[at] = (line.response(file), is_copy);
            }
            Some(_) => {}
        }
    }

    /// A line of an agent is a copy when its response or its time is known.
    fn finish(mut self) -> Vec<RecordedResponse> {
        let mut requests: HashMap<(String, Option<String>), usize> = HashMap::new();
        let mut times: HashMap<(String, u64), usize> = HashMap::new();
        for (file, line) in std::mem::take(&mut self.side) {
            let Some(id) = line.message_id.clone() else { continue };
            let (request, time) = ((id.clone(), line.request_id.clone()), (id, line.at_ms));
            if self.own.contains_key(&request) || self.times.contains(&time) {
                continue;
            }
            let known = requests.get(&request).or_else(|| times.get(&time)).copied();
            let at = known.unwrap_or(self.kept.len());
            requests.insert(request, at);
            times.insert(time, at);
            self.keep(at, &file, line);
        }
        self.kept.into_iter().map(|(response, _)| response).collect()
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
