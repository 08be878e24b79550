//! The signals that end a run, as a stream. A signal that was ignored at the start (`nohup`, a background job) stays
//! ignored. The Rust runtime ignores SIGPIPE: writing to a closed pipe is an error of the write.

use std::io;
use tokio::signal::unix::{self, SignalKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
}

impl Signal {
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::Hangup => libc::SIGHUP,
        }
    }

    /// The exit code by which shells report a process that this signal ended.
    pub fn exit_code(self) -> u8 {
        128 + self.number() as u8
    }
}

/// After `listen`, these signals no longer end the process.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
    hangup: Option<unix::Signal>,
}

impl Signals {
    /// Must be called inside the runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: stream(Signal::Interrupt)?,
            terminate: stream(Signal::Terminate)?,
            hangup: stream(Signal::Hangup)?,
        })
    }

    /// The next signal. Several of one kind may arrive as one. Cancel safe.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            () = recv(&mut self.terminate) => Signal::Terminate,
            () = recv(&mut self.hangup) => Signal::Hangup,
            () = recv(&mut self.interrupt) => Signal::Interrupt,
        }
    }
}

/// Signals about the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalSignal {
    /// The window size has changed.
    Resized,
    /// The process continues after a stop.
    Continued,
}

#[derive(Debug)]
pub struct TerminalSignals {
    resized: unix::Signal,
    continued: unix::Signal,
}

impl TerminalSignals {
    /// Must be called inside the runtime.
    pub fn listen() -> io::Result<Self> {
        let listen = |number| unix::signal(SignalKind::from_raw(number));
        Ok(Self { resized: listen(libc::SIGWINCH)?, continued: listen(libc::SIGCONT)? })
    }

    /// The next signal. Several of one kind may arrive as one. Cancel safe.
    pub async fn next(&mut self) -> TerminalSignal {
        tokio::select! {
            Some(()) = self.resized.recv() => TerminalSignal::Resized,
            Some(()) = self.continued.recv() => TerminalSignal::Continued,
            else => std::future::pending().await,
        }
    }
}

fn stream(signal: Signal) -> io::Result<Option<unix::Signal>> {
    if is_ignored(signal.number()) {
        return Ok(None);
    }
    unix::signal(SignalKind::from_raw(signal.number())).map(Some)
}

async fn recv(stream: &mut Option<unix::Signal>) {
    if let Some(stream) = stream
        && stream.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: with a null new action sigaction only fills `current`, which outlives the call.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut current) == 0 && current.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn signals_arrive_as_values() {
        let all = [Signal::Hangup, Signal::Terminate, Signal::Interrupt];
        for signal in all {
            // SAFETY: sets the default action. A job that a shell started in the background ignores SIGINT.
            unsafe { libc::signal(signal.number(), libc::SIG_DFL) };
        }
        let mut signals = Signals::listen().unwrap();
        for expected in all {
            // SAFETY: raises a signal for which a handler is installed.
            unsafe { libc::raise(expected.number()) };
            assert_eq!(signals.next().await, expected);
        }
    }

    #[test]
    fn exit_codes_are_the_shell_ones() {
        assert_eq!(Signal::Interrupt.exit_code(), 130);
        assert_eq!(Signal::Terminate.exit_code(), 143);
        assert_eq!(Signal::Hangup.exit_code(), 129);
    }
}
