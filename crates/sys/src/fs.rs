//! Files that survive a crash: atomic replacement, whole-line appends, advisory locks and bounded reads. All functions
//! block; call them from a blocking or writer thread.

pub mod anchored;
mod append;
mod atomic;
mod base;
mod regular;

pub use append::{AppendError, AppendFile};
pub use atomic::{Durability, atomic_write, atomic_write_with};
pub use base::BaseDirectory;
pub use regular::{
    LimitedRead, open_regular, read_limited, read_named_text, read_text, read_whole, unreadable_ignore_file,
};

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs `action` while holding the advisory lock on `path` (created 0600, never removed). The lock keeps out other
/// processes that use this function. Waits at most `wait`, then fails with `TimedOut`.
pub fn with_lock<T>(path: &Path, wait: Duration, action: impl FnOnce() -> T) -> io::Result<T> {
    let held = lock(path, wait)?;
    let result = action();
    drop(held);
    Ok(result)
}

/// The name of a lock file in a temporary folder: the folder is in use while the file is locked.
pub const LOCK_FILE_NAME: &str = ".in-use";

/// An advisory lock. Dropping it releases the lock.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "closing the file gives the lock up")] File);

/// Like [`with_lock`], but returns the lock.
pub fn lock(path: &Path, wait: Duration) -> io::Result<FileLock> {
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let deadline = Instant::now() + wait;
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FileLock(file)),
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

/// True when files can be created in the directory `path`: it exists, we may write to it, and its disk is not full.
pub fn has_room(path: &Path) -> bool {
    const MIN_FREE_BYTES: u64 = 256 * 1024;
    let writable = rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok();
    // Some file systems report zero for their totals.
    let room = rustix::fs::statvfs(path).is_ok_and(|disk| {
        let bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
        (disk.f_blocks == 0 || bytes >= MIN_FREE_BYTES) && (disk.f_files == 0 || disk.f_favail > 0)
    });
    writable && path.is_dir() && room
}

/// Creates a file in the temporary directory that only its owner can read.
pub fn private_temp(prefix: &str, extension: &str, bytes: &[u8]) -> io::Result<std::path::PathBuf> {
    let name = format!("{prefix}-{}.{extension}", crate::id::uuid());
    let path = std::env::temp_dir().join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(path)
}

#[cfg(test)]
#[path = "fs/fs_tests.rs"]
mod tests;
