//! Appends whole lines. Guarantees: each append is normally one `write`, so that lines of several processes do not mix;
//! a write that fails halfway is undone, and where it cannot be, the next append starts on a new line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An append that failed.
#[derive(Debug)]
pub struct AppendError {
    /// How many of the given bytes stayed in the file. Normally zero: the caller may simply try again.
    pub written: usize,
    pub source: io::Error,
}

impl std::fmt::Display for AppendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "append failed after {} bytes: {}", self.written, self.source)
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A file that is only appended to, in whole lines. Other processes may append too.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    needs_newline: bool,
}

impl AppendFile {
    /// Opens or creates the file (0600). If it does not end in a newline, the first append adds one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)?;
        let needs_newline = !ends_with_newline(&mut file)?;
        Ok(Self { file, needs_newline })
    }

    /// Appends `lines`, which must end in a newline.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.append_counted(lines).map_err(|error| error.source)
    }

    /// Like [`append`](Self::append), but an error also says how many bytes could not be removed again.
    pub fn append_counted(&mut self, lines: &[u8]) -> Result<(), AppendError> {
        if !self.needs_newline {
            return self.write_or_undo(lines);
        }
        let mut repaired = Vec::with_capacity(lines.len() + 1);
        repaired.push(b'\n');
        repaired.extend_from_slice(lines);
        self.write_or_undo(&repaired).map_err(|error| AppendError { written: error.written.saturating_sub(1), ..error })
    }

    /// Waits until everything appended so far is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write_or_undo(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        let mut written = 0;
        let source = loop {
            match self.file.write(&bytes[written..]) {
                Ok(0) => break io::Error::from(io::ErrorKind::WriteZero),
                Ok(length) => written += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
            if written == bytes.len() {
                self.needs_newline = false;
                return Ok(());
            }
        };
        if written > 0 && self.truncate_write(written).is_ok() {
            written = 0;
        }
        if written > 0 {
            self.needs_newline = bytes[written - 1] != b'\n';
        }
        Err(AppendError { written, source })
    }

    /// Removes the last `length` bytes if this process wrote them: in append mode the position is the end of our write.
    fn truncate_write(&mut self, length: usize) -> io::Result<()> {
        let end = self.file.stream_position()?;
        if self.file.metadata()?.len() != end {
            return Err(io::Error::other("another process has appended since"));
        }
        self.file.set_len(end - length as u64)
    }
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}
