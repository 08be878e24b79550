//! Files that survive a crash: atomic replacement, whole-line appends, advisory locks and bounded reads. All of it
//! blocks; call it from a blocking or writer thread.

pub mod anchored;
mod append;
mod atomic;
mod base;

pub use append::{AppendError, AppendFile};
pub use atomic::{Durability, atomic_write, atomic_write_with};
pub use base::Base;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs `action` while holding the advisory lock on `path` (created 0600, never removed), which keeps out other
/// processes that ask the same way. Waits at most `wait`, then fails with `TimedOut`.
pub fn with_lock<T>(path: &Path, wait: Duration, action: impl FnOnce() -> T) -> io::Result<T> {
    let held = lock(path, wait)?;
    let result = action();
    drop(held);
    Ok(result)
}

/// An advisory lock, given up when this is dropped, also by a panic.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing the file gives the lock up")] File);

/// As [`with_lock`], for work that is not one function.
pub fn lock(path: &Path, wait: Duration) -> io::Result<Lock> {
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let deadline = Instant::now() + wait;
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(pause),
            Err(TryLockError::WouldBlock) => {
                let message = format!("{} is locked by another process; waited {wait:?}", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// A new file in the directory for temporary files that only its owner can read.
pub fn private_temp(prefix: &str, extension: &str, bytes: &[u8]) -> io::Result<std::path::PathBuf> {
    let name = format!("{prefix}-{}.{extension}", crate::id::uuid());
    let path = std::env::temp_dir().join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(path)
}

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    pub bytes: Vec<u8>,
    /// Whether the file went on after `bytes`.
    pub more: bool,
}

/// At most `limit` bytes of a regular file. Refuses pipes and devices, which could block or never end.
pub fn read_limited(path: &Path, limit: usize) -> io::Result<Limited> {
    // Without O_NONBLOCK opening a FIFO that nobody writes to would hang.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    read_up_to(file, limit, metadata.len())
}

fn read_up_to(file: File, limit: usize, hint: u64) -> io::Result<Limited> {
    let capacity = usize::try_from(hint).unwrap_or(limit).min(limit);
    let mut bytes = Vec::with_capacity(capacity.saturating_add(1));
    // One byte more than allowed shows whether there is more; sizes reported for files in /proc are zero.
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    let more = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(Limited { bytes, more })
}

#[cfg(test)]
#[path = "fs/fs_tests.rs"]
mod tests;
