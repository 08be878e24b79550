//! The terminal of this process: raw mode, size, reading. Changes are undone on every way out: by `leave`, by drop,
//! and, from a panic hook or a signal handler, by `restore`.

use crate::sync::Mutex;
use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use tokio::sync::mpsc;

/// What `restore` must undo.
struct TerminalUndo {
    input: RawFd,
    output: RawFd,
    before: libc::termios,
    bytes: Vec<u8>,
}

static UNDO: Mutex<Option<TerminalUndo>> = Mutex::new(None);

/// Restores the terminal to its state before `Tty::enter`; does nothing when there is nothing to undo.
pub fn restore() {
    // Does not wait: a panic while the lock was held must not block here.
    let undo = UNDO.try_lock().and_then(|mut undo| undo.take());
    let Some(undo) = undo else { return };
    // SAFETY: the descriptors belong to a `Tty`, whose drop undoes first; the buffer outlives the call.
    unsafe {
        libc::write(undo.output, undo.bytes.as_ptr().cast(), undo.bytes.len());
        libc::tcsetattr(undo.input, libc::TCSANOW, &raw const undo.before);
    }
}

#[derive(Debug)]
pub struct Tty {
    input: OwnedFd,
    output: File,
}

impl Tty {
    /// Opens standard input and output. Output must be a terminal; if input is not, `/dev/tty` replaces it.
    pub fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let input = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            OwnedFd::from(File::open("/dev/tty")?)
        };
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Err(io::Error::other("standard output is not a terminal"));
        }
        Ok(Self { input, output: File::from(stdout.as_fd().try_clone_to_owned()?) })
    }

    /// Columns and rows; `None` when the terminal does not report them.
    pub fn size(&self) -> Option<(usize, usize)> {
        // SAFETY: all-zero is a valid winsize; the descriptor is open and the structure outlives the call.
        let size = unsafe {
            let mut size: libc::winsize = std::mem::zeroed();
            if libc::ioctl(self.output.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) != 0 {
                return None;
            }
            size
        };
        (size.ws_col > 0 && size.ws_row > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Switches to raw mode and writes `enter`; `leave` is written when raw mode ends.
    pub fn enter(&mut self, enter: &[u8], leave: &[u8]) -> io::Result<()> {
        // SAFETY: all-zero is a valid termios; tcgetattr fills it for a descriptor we hold open.
        let before = unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(self.input.as_raw_fd(), &raw mut before) != 0 {
                return Err(io::Error::last_os_error());
            }
            before
        };
        let undo = TerminalUndo {
            input: self.input.as_raw_fd(),
            output: self.output.as_raw_fd(),
            before,
            bytes: leave.to_vec(),
        };
        *UNDO.lock() = Some(undo);
        let mut raw = before;
        // SAFETY: cfmakeraw only changes the structure it is given.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // SAFETY: the descriptor is open and the structure is complete.
        if unsafe { libc::tcsetattr(self.input.as_raw_fd(), libc::TCSANOW, &raw const raw) } != 0 {
            return Err(io::Error::last_os_error());
        }
        self.output.write_all(enter)
    }

    /// Restores the state before `enter`.
    pub fn leave(&mut self) {
        restore();
    }

    /// A second handle for writing.
    pub fn writer(&self) -> io::Result<File> {
        self.output.try_clone()
    }

    /// Reads on a new thread until the `TtyReader` is dropped, and sends what was read to `bytes`. An empty buffer is
    /// the end of input.
    pub fn read(&self, bytes: mpsc::Sender<Vec<u8>>) -> io::Result<TtyReader> {
        let (stopped, stop) = io::pipe()?;
        let input = File::from(self.input.try_clone()?);
        let thread = std::thread::Builder::new().name("keys".into()).spawn(move || pump(input, &stopped, &bytes))?;
        Ok(TtyReader { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        restore();
    }
}

/// The reading thread. Dropping this ends it.
#[derive(Debug)]
pub struct TtyReader {
    stop: Option<PipeWriter>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for TtyReader {
    fn drop(&mut self) {
        // Closing the pipe wakes the thread.
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn pump(mut input: File, stopped: &PipeReader, bytes: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match wait(input.as_fd(), stopped.as_fd()) {
            Ok(PollResult::Input) => {}
            Ok(PollResult::Stop) => return,
            Err(_) => {
                bytes.try_send(Vec::new()).ok();
                return;
            }
        }
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        // The receiver is busy or about to stop us: wait, but not after a stop.
        let mut chunk = buffer[..read].to_vec();
        while let Err(mpsc::error::TrySendError::Full(back)) = bytes.try_send(chunk) {
            if is_stopped(stopped.as_fd()) {
                return;
            }
            chunk = back;
        }
        if read == 0 {
            return;
        }
    }
}

enum PollResult {
    Input,
    Stop,
}

fn wait(input: BorrowedFd<'_>, stopped: BorrowedFd<'_>) -> io::Result<PollResult> {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fds = [PollFd::from_borrowed_fd(input, PollFlags::IN), PollFd::from_borrowed_fd(stopped, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if fds[1].revents().is_empty() { PollResult::Input } else { PollResult::Stop })
}

/// Waits 5 ms for the stop signal.
fn is_stopped(stopped: BorrowedFd<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::from_borrowed_fd(stopped, PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    poll(&mut fds, Some(&moment)).is_ok_and(|ready| ready > 0)
}

/// Stops this process until it is continued, as Ctrl+Z does. The terminal must be restored before.
pub fn suspend() {
    // SAFETY: sends a signal to our own process group.
    unsafe { libc::kill(0, libc::SIGTSTP) };
}

/// Replaces what `restore` writes.
pub fn on_restore(bytes: &[u8]) {
    if let Some(undo) = UNDO.lock().as_mut() {
        undo.bytes = bytes.to_vec();
    }
}

/// Runs a program that uses the terminal, such as an editor, and waits for its end. Blocking; the terminal must be
/// restored before, and nothing else may read from it.
#[expect(clippy::disallowed_methods, reason = "it takes our place at the terminal and is waited for")]
pub fn run_foreground(shell_command: &str, argument: &std::path::Path, cwd: &std::path::Path) -> io::Result<bool> {
    let status = std::process::Command::new("/bin/sh")
        .args(["-c", &format!("{shell_command} \"$1\""), "sh"])
        .arg(argument)
        .current_dir(cwd)
        .status()?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_of_an_edited_file_is_never_read_by_a_shell() {
        // [SC-D21]
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a;touch hit;$(touch hit)`touch hit`\" 'x.txt");
        assert!(super::run_foreground("EDITED=1; printf text >", &file, dir.path()).unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
