//! Reads a line without showing it. The terminal is restored even when reading fails.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;

/// Asks on the controlling terminal and reads one line with echo off.
pub fn read_secret(question: &str) -> io::Result<String> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    // Echo is off before the question: an answer typed at once must not be shown either.
    let quiet = EchoGuard::new(&terminal)?;
    (&terminal).write_all(question.as_bytes())?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    drop(quiet);
    (&terminal).write_all(b"\n").ok();
    read?;
    Ok(line.trim().to_owned())
}

/// Keeps echo off until it is dropped.
struct EchoGuard<'a> {
    terminal: &'a File,
    before: libc::termios,
}

impl<'a> EchoGuard<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        // SAFETY: all-zero is a valid termios; tcgetattr fills it for a descriptor we hold open.
        let before = unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(terminal.as_raw_fd(), &raw mut before) != 0 {
                return Err(io::Error::last_os_error());
            }
            before
        };
        let mut silent = before;
        silent.c_lflag &= !libc::ECHO;
        // SAFETY: the descriptor is open and the structure is complete.
        if unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const silent) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the descriptor is still open; the structure is the one the terminal gave us.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const self.before) };
    }
}
