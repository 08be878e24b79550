//! Full-text search over transcripts without an index. Files are read newest first, in pieces that several threads work
//! on. The raw bytes are searched for a part of the query that is the same in every JSON encoding, and only lines that
//! contain it are parsed. Results are reported in order, memory is bounded by the pieces in progress, and a cancelled
//! search ends soon. Ids, signatures, images and notes of the program are never found.

mod lines;
mod query;

use crate::list::TranscriptRow;
use crate::pieces::{self, FilePiece, PIECE_BYTES, threads_for};
pub use lines::{SearchHit, Speaker};
pub use query::SearchQuery;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

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
    let pieces = pieces::of(rows.iter().map(|row| row.size), PIECE_BYTES);
    let over = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let counts: Vec<AtomicUsize> = rows.iter().map(|_| AtomicUsize::new(0)).collect();
    let threads = threads_for(pieces.len());
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
        Some(SearchResult { row: self.rows[piece.file].clone(), hits })
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
            let known = self.counts[piece.file].load(Ordering::Relaxed);
            let mut hits = Vec::new();
            if known < self.wanted.per_session {
                if open.as_ref().is_none_or(|(file, _)| *file != piece.file) {
                    open = File::open(&self.rows[piece.file].path).ok().map(|opened| (piece.file, opened));
                }
                if let Some((_, file)) = &open {
                    // After a read error the hits found so far are kept.
                    self.search_piece(file, *piece, &mut buffer, &mut hits).ok();
                }
                self.counts[piece.file].fetch_add(hits.len(), Ordering::Relaxed);
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
    ) -> std::io::Result<()> {
        pieces::read(file, piece, buffer, &mut |lines| {
            if self.is_over() {
                return ControlFlow::Break(());
            }
            self.search_lines(lines, hits);
            if hits.len() < self.wanted.per_session { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    }

    fn search_lines(&self, lines: &[u8], hits: &mut Vec<SearchHit>) {
        self.wanted.needle.lines(lines, &mut |line| {
            hits.extend(lines::hit(line, self.wanted.needle));
            if hits.len() < self.wanted.per_session { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
