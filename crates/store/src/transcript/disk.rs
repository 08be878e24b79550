//! The file of a transcript: append-only, shared with other processes. Continues correctly after a partial write.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The file operations an append needs; tests use a failing implementation.
pub(super) trait AppendDisk: Send {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    fn state(&self) -> io::Result<DiskState>;
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

pub(super) type OpenDisk = Box<dyn Fn(&Path) -> io::Result<Box<dyn AppendDisk>> + Send>;

#[derive(Clone, Copy, Debug)]
pub(super) struct DiskState {
    pub(super) len: u64,
    pub(super) ends_whole: bool,
    /// The file was deleted: written bytes would be lost.
    pub(super) deleted: bool,
}

pub(super) fn open_file(path: &Path) -> io::Result<Box<dyn AppendDisk>> {
    if let Some(dir) = path.parent() {
        crate::layout::create_private(dir)?;
    }
    let file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)?;
    Ok(Box::new(file))
}

impl AppendDisk for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn state(&self) -> io::Result<DiskState> {
        let meta = self.metadata()?;
        let len = meta.len();
        let mut last = [b'\n'];
        if len > 0 {
            self.read_exact_at(&mut last, len - 1)?;
        }
        Ok(DiskState { len, ends_whole: last[0] == b'\n', deleted: meta.nlink() == 0 })
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

/// Lines to write, of which the first `done` bytes are in the file.
#[derive(Default)]
pub(super) struct WriteBatch {
    pub(super) bytes: Vec<u8>,
    pub(super) done: usize,
    /// Where our last partial write ended; the rest of a line may follow only there.
    torn_at: Option<u64>,
}

impl WriteBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes the rest. Afterwards the batch is empty, or `done` is the number of bytes written.
    pub(super) fn write_to(&mut self, disk: &mut dyn AppendDisk, state: DiskState) -> io::Result<()> {
        let goes_on = self.torn_at == Some(state.len);
        if !goes_on {
            self.done = memchr::memrchr(b'\n', &self.bytes[..self.done]).map_or(0, |at| at + 1);
            self.separate(state.ends_whole);
        }
        self.torn_at = None;
        let mut end = state.len;
        while self.done < self.bytes.len() {
            match disk.write(&self.bytes[self.done..]) {
                Ok(0) => return Err(self.record_partial_write(end, io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    self.done += n;
                    end += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.record_partial_write(end, e)),
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
        self.done = 0;
        Ok(())
    }

    /// After a torn line of another process a newline is written first, in the same write.
    fn separate(&mut self, ends_whole: bool) {
        let has_newline = self.bytes.get(self.done) == Some(&b'\n');
        match (ends_whole, has_newline) {
            (false, false) => self.bytes.insert(self.done, b'\n'),
            (true, true) => drop(self.bytes.remove(self.done)),
            (true, false) | (false, true) => {}
        }
    }

    fn record_partial_write(&mut self, end: u64, error: io::Error) -> io::Error {
        if self.done > 0 && self.bytes[self.done - 1] != b'\n' {
            self.torn_at = Some(end);
        }
        error
    }
}
