//! A pseudo-terminal without an emulator: sends bytes and measures when certain bytes come out. Reading happens on
//! the measuring thread, so that only the measured program is between a key and its echo.

use super::Place;
use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SCREEN_TIMEOUT: Duration = Duration::from_mins(1);
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// A program in a terminal. Dropping it kills the program.
pub(super) struct Pane {
    terminal: File,
    child: Child,
    /// The time just before the program was started.
    pub(super) began: Instant,
    seen: Vec<u8>,
    /// Number of bytes the program has written.
    pub(super) written: u64,
}

impl Pane {
    pub(super) fn start(place: &Place, program: &Path, args: &[&str]) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(&terminal, SIZE)?;
        let name = ptsname(&terminal, Vec::new())?;
        let side = OpenOptions::new().read(true).write(true).open(Path::new(OsStr::from_bytes(name.as_bytes())))?;
        let mut command = place.command(program, args);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("PS1", "ready$ ");
        command.stdin(Stdio::from(side.try_clone()?)).stdout(Stdio::from(side.try_clone()?)).stderr(Stdio::from(side));
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("{} does not start", program.display()))?;
        Ok(Self { terminal: File::from(terminal), child, began, seen: Vec::new(), written: 0 })
    }

    pub(super) fn gimlet(place: &Place, args: &[&str]) -> Result<Self> {
        Self::start(place, &place.gimlet, args)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends keys and clears the earlier output, so that `wait_for` ignores it.
    pub(super) fn send(&mut self, keys: &str) -> Result<Instant> {
        self.drain(Duration::ZERO)?;
        self.seen.clear();
        let sent = Instant::now();
        self.terminal.write_all(keys.as_bytes())?;
        Ok(sent)
    }

    /// Waits until the output since the last `send` contains `text`; returns the time of that.
    pub(super) fn wait_for(&mut self, text: &str) -> Result<Instant> {
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        let mut from = 0;
        loop {
            if self.seen[from..].windows(text.len()).any(|window| window == text.as_bytes()) {
                return Ok(Instant::now());
            }
            from = self.seen.len().saturating_sub(text.len());
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.read(left)? {
                bail!("no {text:?} came; the end of what did: {:?}", self.end_of_output());
            }
        }
    }

    /// Reads output for this long.
    pub(super) fn drain(&mut self, time: Duration) -> Result<()> {
        let deadline = Instant::now() + time;
        while self.read(deadline.saturating_duration_since(Instant::now()))? {}
        Ok(())
    }

    /// Reads until nothing has come for this long.
    pub(super) fn settle(&mut self, time: Duration) -> Result<()> {
        while self.read(time)? {}
        Ok(())
    }

    /// Reads once; false when nothing came within `time`.
    fn read(&mut self, time: Duration) -> Result<bool> {
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        let time = Timespec::try_from(time)?;
        match poll(&mut fds, Some(&time)) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; 1 << 14];
        let count = self.terminal.read(&mut buffer).unwrap_or(0);
        ensure!(count > 0, "the program ended; the end of its output: {:?}", self.end_of_output());
        self.seen.extend_from_slice(&buffer[..count]);
        self.written += count as u64;
        // Limits memory; a search needs only the end of the output.
        if self.seen.len() > 1 << 22 {
            self.seen.drain(..1 << 21);
        }
        Ok(true)
    }

    fn end_of_output(&self) -> String {
        String::from_utf8_lossy(&self.seen[self.seen.len().saturating_sub(2_000)..]).into_owned()
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
