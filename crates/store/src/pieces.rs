//! Reads the lines of many files with several threads. A file is cut into pieces; a piece is read in chunks that stay in
//! the processor's cache.

use memchr::{memchr, memrchr};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

/// In bytes: what one thread works on at a time.
pub(crate) const PIECE_BYTES: u64 = 8 << 20;
/// In bytes, read at once; small enough to stay in the processor's cache.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;
/// In bytes. Longer lines are skipped, as they are when a session is resumed.
const LINE_LIMIT: usize = 64 << 20;
const THREADS: usize = 8;

/// A part of a file. A line belongs to the piece in which it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilePiece {
    /// The index of the file.
    pub(crate) file: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The pieces of files of these sizes. Pieces of one file are listed from its end, which is newer, to its start.
pub(crate) fn of(sizes: impl Iterator<Item = u64>, size: u64) -> Vec<FilePiece> {
    let mut pieces = Vec::new();
    for (file, mut to) in sizes.enumerate() {
        while to > 0 {
            let from = to.saturating_sub(size);
            pieces.push(FilePiece { file, from, to });
            to = from;
        }
    }
    pieces
}

/// How many threads work on so many pieces.
pub(crate) fn threads_for(pieces: usize) -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().min(THREADS)).min(pieces.max(1))
}

/// Passes the lines of a piece to `take`, many at a time, until it breaks.
pub(crate) fn read(
    file: &File,
    piece: FilePiece,
    buffer: &mut Vec<u8>,
    take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    // The byte before the piece shows whether the piece starts at the beginning of a line.
    let mut base = piece.from.saturating_sub(1);
    let mut skips = piece.from > 0;
    let mut held = 0;
    loop {
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
        if take(&bytes[start..end]).is_break() || is_last {
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
