//! One running command: its child process and its output so far. Waiting ends with the child's exit plus at most
//! 250 ms for output in the pipe, so a grandchild that keeps the pipe open cannot block us. Dropping the value
//! kills the command's process group.

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
/// Time between SIGTERM and SIGKILL. Terminating a command must take less than two seconds in total.
const KILL_GRACE: Duration = Duration::from_millis(1_500);
const READ_BYTES: usize = 64 * 1024;

pub(crate) struct RunningCommand {
    child: ChildProcess,
    pipe: Option<pipe::Receiver>,
    pub(crate) capture: OutputCapture,
    buffer: Vec<u8>,
    /// Scratch files that exist as long as the command: its directory report, and its text when that is very long.
    pub(crate) scratch: Vec<PathBuf>,
    /// The pipe for the directory report when no file could be created.
    pub(crate) report: Option<ChildReport>,
    /// The directory may change and cannot be reported.
    pub(crate) is_directory_untracked: bool,
    /// Dropped after the child, because it is declared after it.
    sandbox_run: Option<SandboxRun>,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    Exited(ExitOutcome),
    /// The deadline was reached; the command still runs.
    Deadline,
    /// The call was cancelled; the command still runs.
    Cancelled,
    /// The command printed more than is allowed; it still runs.
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

    /// Sets the sandbox the command runs in.
    pub(crate) fn with_sandbox(mut self, confined: Option<SandboxRun>) -> Self {
        self.sandbox_run = confined;
        self
    }

    pub(crate) fn take_sandbox(&mut self) -> Option<SandboxRun> {
        self.sandbox_run.take()
    }

    /// Collects output until the command exits or something interrupts the wait. May be called again after an
    /// interruption.
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

    /// Reads output that is still in the pipe after the exit, then releases descendants: `server &` continues to run.
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
        // In the sandbox no process outlives its command.
        match self.sandbox_run {
            Some(_) => self.child.kill_tree(),
            None => self.child.release(),
        }
        self.capture.finish().await;
    }

    /// Sends SIGTERM, waits `KILL_GRACE`, sends SIGKILL; reads output meanwhile so that the last lines are not lost.
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

    /// Reads what is left in the pipe of a killed command, without waiting.
    fn read_rest(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        // 32 reads are more than a pipe contains; the limit exists because a survivor may still print.
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

    /// The pipe, when a descendant still has its other end open. It must be read further, or that process would
    /// block or die of a broken pipe.
    pub(crate) fn take_open_pipe(&mut self) -> Option<pipe::Receiver> {
        self.pipe.take()
    }
}

/// Reads some bytes; returns 0 at the end and on an error, after which a pipe is unusable. Never resolves without a
/// pipe.
async fn read(pipe: Option<&mut pipe::Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

pub(crate) async fn remove_scratch(files: Vec<PathBuf>) {
    // The task fails only when the runtime shuts down.
    tokio::task::spawn_blocking(move || remove_files(&files)).await.ok();
}

pub(crate) fn remove_files(files: &[PathBuf]) {
    for file in files {
        // Most of these files are never created.
        std::fs::remove_file(file).ok();
    }
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
