//! Reads the lines of a file from its end to its start, in blocks, never the whole file. Uses one buffer that grows
//! only for lines longer than it. The length is fixed at the start, so later appends are not seen.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file, or bytes in memory that replace one.
pub(crate) trait ReadAt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(buffer, offset)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let bytes = self.get(start..).and_then(|rest| rest.get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

const BLOCK: usize = 64 << 10;
/// In bytes. Blocks grow up to this size, so that reading a whole file does not cost a system call every 64 KiB.
const LARGE_BLOCK: usize = 1 << 20;
/// In bytes. Longer lines are skipped: no request could carry one.
const LINE_LIMIT: usize = 64 << 20;

/// The position of a line in its file, without its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineSpan {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

pub(crate) struct BackwardLines<R> {
    source: R,
    /// `buffer[low..high]` was read and not yet returned; new blocks are put in front of it.
    buffer: Vec<u8>,
    low: usize,
    high: usize,
    /// The file offset of `buffer[low]`.
    start: u64,
    /// The number of bytes before `high` that are known to contain no newline.
    searched: usize,
    read: u64,
    /// True until the first line is read: a newline at the end of the file does not begin another line.
    fresh: bool,
}

impl<R: ReadAt> BackwardLines<R> {
    pub(crate) fn new(source: R, len: u64) -> Self {
        Self { source, buffer: Vec::new(), low: 0, high: 0, start: len, searched: 0, read: 0, fresh: true }
    }

    /// The next line towards the start. Empty lines are returned; over-long lines are returned without content.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(LineSpan, &[u8])>> {
        if std::mem::take(&mut self.fresh) && self.start > 0 {
            self.fill()?;
            self.high -= usize::from(self.buffer[self.high - 1] == b'\n');
        }
        loop {
            let unsearched = self.low..self.high - self.searched;
            if let Some(at) = memchr::memrchr(b'\n', &self.buffer[unsearched]) {
                let line = self.low + at + 1..self.high;
                let span = LineSpan { offset: self.start + at as u64 + 1, len: line.len() };
                self.high = self.low + at;
                self.searched = 0;
                return Ok(Some((span, &self.buffer[line])));
            }
            self.searched = self.left();
            if self.start == 0 {
                return Ok(self.first_line());
            }
            if self.left() > LINE_LIMIT {
                return self.skip_long_line().map(Some);
            }
            self.fill()?;
        }
    }

    fn left(&self) -> usize {
        self.high - self.low
    }

    /// Returns the rest of the buffer once the start of the file is reached, and `None` after that.
    fn first_line(&mut self) -> Option<(LineSpan, &[u8])> {
        let line = self.low..self.high;
        self.high = self.low;
        self.searched = 0;
        (!line.is_empty()).then(|| (LineSpan { offset: 0, len: line.len() }, &self.buffer[line]))
    }

    /// Reads the block before `start` in front of the unreturned bytes.
    fn fill(&mut self) -> io::Result<()> {
        let left = self.left();
        let grown = usize::try_from(self.read / 8).unwrap_or(LARGE_BLOCK).min(LARGE_BLOCK);
        let wanted = BLOCK.max(grown).max(left);
        let size = wanted.min(usize::try_from(self.start).unwrap_or(wanted));
        if self.low < size {
            self.make_room(size + left);
        }
        let block = self.low - size..self.low;
        self.source.read_at(&mut self.buffer[block], self.start - size as u64)?;
        self.read += size as u64;
        self.low -= size;
        self.start -= size as u64;
        Ok(())
    }

    /// Moves the unreturned bytes to the end of a buffer with room for `needed` bytes.
    fn make_room(&mut self, needed: usize) {
        let left = self.left();
        if self.buffer.len() < needed {
            let mut larger = vec![0; needed * 2];
            let end = larger.len();
            larger[end - left..].copy_from_slice(&self.buffer[self.low..self.high]);
            self.buffer = larger;
        } else {
            let end = self.buffer.len();
            self.buffer.copy_within(self.low..self.high, end - left);
        }
        self.high = self.buffer.len();
        self.low = self.high - left;
    }

    /// Goes back to the newline before an over-long line without storing the line.
    fn skip_long_line(&mut self) -> io::Result<(LineSpan, &[u8])> {
        let line_end = self.start + self.left() as u64;
        let mut offset = 0;
        self.searched = 0;
        self.buffer = Vec::new();
        (self.low, self.high) = (0, 0);
        while self.start > 0 {
            self.fill()?;
            if let Some(at) = memchr::memrchr(b'\n', &self.buffer[self.low..self.high]) {
                offset = self.start + at as u64 + 1;
                self.high = self.low + at;
                break;
            }
            self.high = self.low;
        }
        Ok((LineSpan { offset, len: usize::try_from(line_end - offset).unwrap_or(usize::MAX) }, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
        let mut reader = BackwardLines::new(bytes, bytes.len() as u64);
        let mut out = Vec::new();
        while let Some((span, line)) = reader.next_line().unwrap() {
            assert_eq!(span.len, line.len());
            out.push((span.offset, String::from_utf8_lossy(line).into_owned()));
        }
        out
    }

    #[test]
    fn lines_come_last_first_with_their_offsets() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\n\nbc"), [(3, "bc".into()), (2, String::new()), (0, "a".into())]);
        assert_eq!(lines(b"a\nb\n"), [(2, "b".into()), (0, "a".into())]);
        assert_eq!(lines(b"\n"), []);
    }

    #[test]
    fn long_lines_span_blocks() {
        let long = "x".repeat(3 * BLOCK + 17);
        let text = format!("{long}\nshort\n{long}\n");
        let found = lines(text.as_bytes());
        assert_eq!(found.iter().map(|l| l.1.len()).collect::<Vec<_>>(), [long.len(), 5, long.len()]);
        assert_eq!(found[1], (long.len() as u64 + 1, "short".into()));
    }

    #[test]
    fn over_long_lines_are_stepped_over() {
        let mut bytes = b"first\n".to_vec();
        bytes.resize(LINE_LIMIT * 2 + 100, b'x');
        bytes.extend_from_slice(b"\nlast\n");
        let mut reader = BackwardLines::new(bytes.as_slice(), bytes.len() as u64);
        let mut seen = Vec::new();
        while let Some((span, line)) = reader.next_line().unwrap() {
            seen.push((span.offset, String::from_utf8_lossy(line).into_owned()));
        }
        assert_eq!(seen, [(bytes.len() as u64 - 5, "last".into()), (6, String::new()), (0, "first".into())]);
    }

    proptest::proptest! {
        #[test]
        fn equals_a_forward_split(bytes in proptest::collection::vec(proptest::prop_oneof![proptest::prelude::Just(b'\n'), proptest::prelude::Just(b'a')], 0..200)) {
            let trimmed = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            let mut expected: Vec<String> = trimmed.split(|b| *b == b'\n').map(|l| String::from_utf8_lossy(l).into_owned()).collect();
            expected.reverse();
            let mut found: Vec<String> = lines(&bytes).into_iter().map(|l| l.1).collect();
            // An empty first line is not returned.
            if expected.last().is_some_and(String::is_empty) { expected.pop(); }
            if found.last().is_some_and(String::is_empty) && found.len() > expected.len() { found.pop(); }
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
