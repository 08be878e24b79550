//! The two output streams. stdout: whole lines, in order, without ever blocking the runtime. stderr: single lines that are
//! dropped rather than waited for.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// What a pipe that reports itself writable takes without blocking.
const SURE: usize = 4096;
/// How long a reader may stand still once the session is over.
const DRAIN: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(1);

/// Whether a write of up to a page would not block.
pub fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// One line on stderr. A reader that does not read must not stop us: if the pipe is full, the line is lost.
pub fn complain(line: &str) {
    let stderr = io::stderr();
    if is_writable(stderr.as_fd()) {
        stderr.lock().write_all(format!("{line}\n").as_bytes()).ok();
    }
}

/// stdout, unbuffered. Owned by one task.
pub(crate) struct Stdout {
    file: Option<File>,
}

impl Stdout {
    pub(crate) fn open() -> io::Result<Self> {
        let owned = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { file: Some(File::from(owned)) })
    }

    /// Writes `bytes` whole. Small writes to a ready pipe happen here and now; anything that might block goes to the
    /// blocking pool. `session_over` starts the clock after which a reader that stands still is given up.
    pub(crate) async fn write(&mut self, bytes: Vec<u8>, session_over: impl Fn() -> bool) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        if bytes.len() <= SURE && is_writable(file.as_fd()) {
            let written = file.write_all(&bytes);
            self.file = Some(file);
            return written;
        }
        let writing = tokio::task::spawn_blocking(move || (file.write_all(&bytes), file));
        let (written, file) = tokio::select! {
            done = writing => done.map_err(io::Error::other)?,
            () = reader_gave_up(session_over) => return Err(io::ErrorKind::TimedOut.into()),
        };
        self.file = Some(file);
        written
    }
}

async fn reader_gave_up(session_over: impl Fn() -> bool) {
    let mut since = None;
    loop {
        tokio::time::sleep(TICK).await;
        if session_over() && since.get_or_insert_with(Instant::now).elapsed() >= DRAIN {
            return;
        }
    }
}
