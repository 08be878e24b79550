//! One running command: its child, its output so far. Waiting means the child's exit plus at most 250 ms for output
//! still on its way; a grandchild that holds the pipe cannot hang us. Dropping it kills the command's group.

use super::capture::OutputCapture;
use crate::sandbox::SandboxRun;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::process::{ChildProcess, ChildReport, ExitOutcome};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);
/// Between TERM and KILL. With the rest of the way it stays below the two seconds we promise.
const KILL_GRACE: Duration = Duration::from_millis(1_500);
const READ_BYTES: usize = 64 * 1024;

pub(crate) struct RunningCommand {
    child: ChildProcess,
    pipe: Option<pipe::Receiver>,
    pub(crate) capture: OutputCapture,
    buffer: Vec<u8>,
    /// Small files that live as long as the command: where it reports its directory, its text when very long.
    pub(crate) scratch: Vec<PathBuf>,
    /// Where it reports its directory when no file could be made.
    pub(crate) report: Option<ChildReport>,
    /// Its directory may change and cannot be reported.
    pub(crate) is_directory_untracked: bool,
    /// Goes after the child, which its declaration after it ensures.
    sandbox_run: Option<SandboxRun>,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    Exited(ExitOutcome),
    /// The time is up; the command still runs.
    Deadline,
    /// Someone wants it stopped; it still runs.
    Cancelled,
    /// It printed more than is allowed; it still runs.
    Excess,
}

enum RunningStep {
    Read(usize),
    Pause(WaitEnd),
}

impl RunningCommand {
    pub(crate) fn new(mut child: ChildProcess, capture: OutputCapture, scratch: Vec<PathBuf>) -> Self {
        let pipe = child.stdout.take();
        Self {
            child,
            pipe,
            capture,
            buffer: vec![0; READ_BYTES],
            scratch,
            report: None,
            is_directory_untracked: false,
            sandbox_run: None,
        }
    }

    /// The sandbox the command runs in.
    pub(crate) fn with_sandbox(mut self, confined: Option<SandboxRun>) -> Self {
        self.sandbox_run = confined;
        self
    }

    pub(crate) fn take_sandbox(&mut self) -> Option<SandboxRun> {
        self.sandbox_run.take()
    }

    /// Gathers output until something happens. May be called again after a pause.
    pub(crate) async fn wait_until(&mut self, cancel: &CancellationToken, deadline: Instant) -> io::Result<WaitEnd> {
        loop {
            let step = tokio::select! {
                biased;
                () = cancel.cancelled() => RunningStep::Pause(WaitEnd::Cancelled),
                () = tokio::time::sleep_until(deadline) => RunningStep::Pause(WaitEnd::Deadline),
                // Before reading: a grandchild that never stops printing must not hide the exit.
                exit = self.child.wait() => RunningStep::Pause(WaitEnd::Exited(exit?)),
                read = read(self.pipe.as_mut(), &mut self.buffer) => RunningStep::Read(read),
            };
            match step {
                RunningStep::Pause(pause) => return Ok(pause),
                RunningStep::Read(len) => self.record_output(len).await,
            }
            if self.capture.is_excessive() {
                return Ok(WaitEnd::Excess);
            }
        }
    }

    /// Output that is still in the pipe after the exit. Then descendants are let go: `server &` lives on.
    pub(crate) async fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        while self.pipe.is_some() {
            let reading = read(self.pipe.as_mut(), &mut self.buffer);
            let Ok(len) = tokio::time::timeout_at(deadline, reading).await else { break };
            self.record_output(len).await;
            if Instant::now() >= deadline {
                break;
            }
        }
        // In the sandbox nothing outlives its command.
        match self.sandbox_run {
            Some(_) => self.child.kill_tree(),
            None => self.child.release(),
        }
        self.capture.finish().await;
    }

    /// TERM, grace, KILL, reading on meanwhile so that nothing said in farewell is lost.
    pub(crate) async fn kill(&mut self) -> io::Result<()> {
        let Self { child, pipe, capture, buffer, .. } = &mut *self;
        {
            let stop = child.stop(KILL_GRACE);
            tokio::pin!(stop);
            loop {
                let len = tokio::select! {
                    biased;
                    exit = &mut stop => {
                        exit?;
                        break;
                    }
                    len = read(pipe.as_mut(), buffer) => len,
                };
                if len == 0 {
                    *pipe = None;
                }
                if !capture.is_excessive() {
                    capture.push(&buffer[..len]);
                }
                if capture.wants_write() {
                    capture.write().await;
                }
            }
        }
        self.read_rest();
        self.capture.finish().await;
        Ok(())
    }

    /// What is left in the pipe of a killed command, without waiting.
    fn read_rest(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        // More than a pipe can hold: a survivor may be printing still.
        for _ in 0..32 {
            match pipe.try_read(&mut self.buffer) {
                Ok(len) if len > 0 => self.capture.push(&self.buffer[..len]),
                Ok(_) | Err(_) => return,
            }
        }
    }

    async fn record_output(&mut self, len: usize) {
        if len == 0 {
            self.pipe = None;
        }
        self.capture.push(&self.buffer[..len]);
        if self.capture.wants_write() {
            self.capture.write().await;
        }
    }

    /// The pipe, when some descendant still holds its other end. It must be read on, or that process would block or
    /// die of a broken pipe.
    pub(crate) fn take_open_pipe(&mut self) -> Option<pipe::Receiver> {
        self.pipe.take()
    }
}

/// Reads some bytes; 0 at the end, or on an error, which a pipe only gives when it is unusable. Never ends when there
/// is no pipe.
async fn read(pipe: Option<&mut pipe::Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
