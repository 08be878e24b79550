//! An open directory, for reading many files below it: its path is resolved once.

use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

#[derive(Debug)]
pub struct BaseDirectory(OwnedFd);

impl BaseDirectory {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a file for reading. Never blocks: a FIFO without a writer opens too.
    pub fn file(&self, below: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, below, flags, Mode::empty())?))
    }
}
