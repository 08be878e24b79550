//! The two output streams. stdout gets whole lines, in order, without blocking the runtime. stderr gets single
//! lines, which are dropped when they cannot be written at once.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that a pipe which polls as writable accepts without blocking.
pub(crate) const SAFE_WRITE_BYTES: usize = 4096;
/// Once the session is over, how long a reader may read nothing before it is given up.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(1);

/// Whether a write of up to `SAFE_WRITE_BYTES` would not block.
pub fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Writes one line to stderr. The line is dropped when the pipe is full, so that a slow reader cannot stop the process.
pub fn print_to_stderr(line: &str) {
    let stderr = io::stderr();
    if is_writable(stderr.as_fd()) {
        stderr.lock().write_all(format!("{line}\n").as_bytes()).ok();
    }
}

/// Resolves when the reader of our stdout is gone. Never resolves for a terminal or where the reader cannot be
/// known, such as a file.
pub(crate) async fn reader_gone() {
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(stdout) if !stdout.is_terminal() => sys::hangup::wait_for_hangup(stdout).await,
        Ok(_) | Err(_) => std::future::pending().await,
    }
}

/// stdout, unbuffered. Used by one task only.
pub(crate) struct StdoutWriter {
    file: Option<File>,
}

impl StdoutWriter {
    pub(crate) fn open() -> io::Result<Self> {
        let owned = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { file: Some(File::from(owned)) })
    }

    /// Writes all of `bytes`. A small write to a ready pipe happens in this thread; any write that might block runs
    /// in the blocking pool. Once `session_over` returns true, a reader that reads nothing for `DRAIN_TIMEOUT` is
    /// given up.
    pub(crate) async fn write(&mut self, bytes: Vec<u8>, session_over: impl Fn() -> bool) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        if bytes.len() <= SAFE_WRITE_BYTES && is_writable(file.as_fd()) {
            let written = file.write_all(&bytes);
            self.file = Some(file);
            return written;
        }
        let progress = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&progress);
        let writing = tokio::task::spawn_blocking(move || (write_counted(&mut file, &bytes, &progress), file));
        let (written, file) = tokio::select! {
            done = writing => done.map_err(io::Error::other)?,
            () = reader_stalled(session_over, &seen) => return Err(io::ErrorKind::TimedOut.into()),
        };
        self.file = Some(file);
        written
    }
}

/// Writes in pieces that a ready pipe accepts whole, so that the progress of a slow reader can be measured.
fn write_counted(file: &mut File, bytes: &[u8], progress: &AtomicUsize) -> io::Result<()> {
    for piece in bytes.chunks(SAFE_WRITE_BYTES) {
        file.write_all(piece)?;
        progress.fetch_add(piece.len(), Ordering::Relaxed);
    }
    Ok(())
}

/// Resolves when the session is over and nothing was read for `DRAIN_TIMEOUT`.
async fn reader_stalled(session_over: impl Fn() -> bool, progress: &AtomicUsize) {
    let (mut last, mut since) = (0, Instant::now());
    loop {
        tokio::time::sleep(TICK).await;
        let now = progress.load(Ordering::Relaxed);
        if now != last || !session_over() {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() >= DRAIN_TIMEOUT {
            return;
        }
    }
}
