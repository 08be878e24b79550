//! Full-text search over transcripts without an index. Files are read newest first, in pieces that several threads work
//! on. The raw bytes are searched for a part of the query that is the same in every JSON encoding, and only lines that
//! contain it are parsed. Results are reported in order, memory is bounded by the pieces in progress, and a cancelled
//! search ends soon. Ids, signatures, images and notes of the program are never found.

mod lines;
mod query;

use crate::list::TranscriptRow;
pub use lines::{SearchHit, Speaker};
use memchr::{memchr, memrchr};
pub use query::SearchQuery;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// In bytes: what one thread works on at a time.
const PIECE_BYTES: u64 = 8 << 20;
/// In bytes, read at once; small enough to stay in the processor's cache during the search.
const CHUNK_BYTES: usize = 256 << 10;
/// In bytes. Longer lines are skipped, as they are when a session is resumed.
const LINE_LIMIT: usize = 64 << 20;
const THREADS: usize = 8;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct SearchRequest<'a> {
    pub needle: &'a SearchQuery,
    /// The largest number of hits per session.
    pub per_session: usize,
    /// The caller sets it to end the search.
    pub cancelled: &'a AtomicBool,
}

/// A session in which something was found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    pub row: TranscriptRow,
    /// Hits of the later pieces of the file come first.
    pub hits: Vec<SearchHit>,
}

/// Searches `rows` and passes each session with a hit to `tell`, in the order of `rows`. Blocking.
pub fn search(
    rows: &[TranscriptRow],
    wanted: SearchRequest<'_>,
    tell: &mut dyn FnMut(SearchResult) -> ControlFlow<()>,
) {
    let pieces = pieces(rows, PIECE_BYTES);
    let over = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let counts: Vec<AtomicUsize> = rows.iter().map(|_| AtomicUsize::new(0)).collect();
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(THREADS)).min(pieces.len().max(1));
    let (sender, receiver) = sync_channel(threads * 64);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let shift = SearchWorker { rows, pieces: &pieces, wanted, stop: &over, next: &next, counts: &counts };
            let sender = sender.clone();
            scope.spawn(move || shift.work(&sender));
        }
        drop(sender);
        let mut ordered = OrderedResults { rows, pieces: &pieces, limit: wanted.per_session, at: 0, open: Vec::new() };
        let mut early: BTreeMap<usize, Vec<SearchHit>> = BTreeMap::new();
        for (piece, hits) in &receiver {
            early.insert(piece, hits);
            while let Some(hits) = early.remove(&ordered.at) {
                if let Some(found) = ordered.take(hits)
                    && tell(found).is_break()
                {
                    over.store(true, Ordering::Relaxed);
                    // Workers that want to send a result see that it is no longer received.
                    drop(receiver);
                    return;
                }
            }
        }
    });
}

/// A part of a file. A line belongs to the piece in which it begins.
#[derive(Clone, Copy, Debug)]
struct FilePiece {
    row: usize,
    from: u64,
    to: u64,
}

/// Pieces of one file are listed from its end, which is newer, to its start.
fn pieces(rows: &[TranscriptRow], size: u64) -> Vec<FilePiece> {
    let mut pieces = Vec::with_capacity(rows.len());
    for (row, file) in rows.iter().enumerate() {
        let mut to = file.size;
        while to > 0 {
            let from = to.saturating_sub(size);
            pieces.push(FilePiece { row, from, to });
            to = from;
        }
    }
    pieces
}

/// Merges the results of the threads in order.
struct OrderedResults<'a> {
    rows: &'a [TranscriptRow],
    pieces: &'a [FilePiece],
    limit: usize,
    at: usize,
    open: Vec<SearchHit>,
}

impl OrderedResults<'_> {
    /// Takes the hits of the piece at `self.at`; returns a session when its last piece was taken.
    fn take(&mut self, hits: Vec<SearchHit>) -> Option<SearchResult> {
        let piece = self.pieces[self.at];
        self.at += 1;
        self.open.extend(hits);
        if piece.from > 0 || self.open.is_empty() {
            return None;
        }
        let mut hits = std::mem::take(&mut self.open);
        hits.truncate(self.limit);
        Some(SearchResult { row: self.rows[piece.row].clone(), hits })
    }
}

/// What a search thread uses.
#[derive(Clone, Copy)]
struct SearchWorker<'a> {
    rows: &'a [TranscriptRow],
    pieces: &'a [FilePiece],
    wanted: SearchRequest<'a>,
    stop: &'a AtomicBool,
    next: &'a AtomicUsize,
    counts: &'a [AtomicUsize],
}

impl SearchWorker<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.wanted.cancelled.load(Ordering::Relaxed)
    }

    fn work(self, sender: &SyncSender<(usize, Vec<SearchHit>)>) {
        let mut buffer = Vec::new();
        // A large file is opened once per thread, not once per piece.
        let mut open: Option<(usize, File)> = None;
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(at).filter(|_| !self.is_over()) else { return };
            let known = self.counts[piece.row].load(Ordering::Relaxed);
            let mut hits = Vec::new();
            if known < self.wanted.per_session {
                if open.as_ref().is_none_or(|(row, _)| *row != piece.row) {
                    open = File::open(&self.rows[piece.row].path).ok().map(|file| (piece.row, file));
                }
                if let Some((_, file)) = &open {
                    // After a read error the hits found so far are kept.
                    self.search_piece(file, *piece, &mut buffer, &mut hits).ok();
                }
                self.counts[piece.row].fetch_add(hits.len(), Ordering::Relaxed);
            }
            if sender.send((at, hits)).is_err() {
                return;
            }
        }
    }

    fn search_piece(
        &self,
        file: &File,
        piece: FilePiece,
        buffer: &mut Vec<u8>,
        hits: &mut Vec<SearchHit>,
    ) -> io::Result<()> {
        // The byte before the piece shows whether the piece starts at the beginning of a line.
        let mut base = piece.from.saturating_sub(1);
        let mut skips = piece.from > 0;
        let mut held = 0;
        while !self.is_over() && hits.len() < self.wanted.per_session {
            if buffer.len() < held + CHUNK_BYTES {
                buffer.resize(held + CHUNK_BYTES, 0);
            }
            let read = file.read_at(&mut buffer[held..held + CHUNK_BYTES], base + held as u64)?;
            let filled = held + read;
            let bytes = &buffer[..filled];
            let (end, is_last) = whole_lines(bytes, held, (piece.to - base) as usize, read == 0);
            let mut start = 0;
            if skips && end > 0 {
                start = memchr(b'\n', &bytes[..end]).map_or(end, |at| at + 1);
                skips = false;
            }
            self.search_lines(&bytes[start..end], hits);
            if is_last {
                return Ok(());
            }
            held = filled - end;
            if held > LINE_LIMIT {
                // The rest of the over-long line is skipped like the cut line at the start of a piece.
                (held, skips) = (0, true);
                base += filled as u64;
                continue;
            }
            buffer.copy_within(end..filled, 0);
            base += end as u64;
        }
        Ok(())
    }

    fn search_lines(&self, lines: &[u8], hits: &mut Vec<SearchHit>) {
        self.wanted.needle.lines(lines, &mut |line| {
            hits.extend(lines::hit(line, self.wanted.needle));
            if hits.len() < self.wanted.per_session { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
}

/// How many of `bytes` are complete lines that begin within the first `limit` bytes, and whether these are all such
/// lines. The first `held` bytes contain no newline.
fn whole_lines(bytes: &[u8], held: usize, limit: usize, is_end: bool) -> (usize, bool) {
    if is_end {
        return (bytes.len(), true);
    }
    if bytes.len() < limit {
        return (memrchr(b'\n', &bytes[held..]).map_or(0, |at| held + at + 1), false);
    }
    // The line that contains the last byte of the piece is its last.
    let from = held.max(limit - 1);
    match memchr(b'\n', &bytes[from..]) {
        Some(at) => (from + at + 1, true),
        None => (memrchr(b'\n', &bytes[held..from]).map_or(0, |at| held + at + 1), false),
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
