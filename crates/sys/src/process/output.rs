//! Reads the output of children in bounded time: until the pipe closes, or until a short time after the child itself
//! ended, whichever comes first.

use super::{ExitOutcome, SpawnSpec, TerminalAccess, spawn_in};
use crate::ring::RingBuffer;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

/// How long pipes are drained after a child's exit. Descendants that hold them cannot delay us longer.
pub const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

const CHUNK: usize = 32 * 1024;

/// Why [`drain`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainEnd {
    /// Every writer closed the pipe.
    End,
    /// Another process still holds the pipe; its later output is not read.
    Cut,
}

/// Passes everything that `reader` yields to `sink`, until its end or until `limit` after `exited` is ready.
///
/// ```ignore
/// let mut out = child.stdout.take();
/// let (exit_tx, exit_rx) = oneshot::channel();
/// // Another task waits for the child and fires `exit_tx`; this one reads:
/// drain(&mut out, async { exit_rx.await.ok(); }, process::DRAIN_TIMEOUT, |bytes| ring.push(bytes)).await?;
/// ```
pub async fn drain<R: AsyncRead + Unpin>(
    reader: &mut R,
    exited: impl Future<Output = ()>,
    limit: Duration,
    mut sink: impl FnMut(&[u8]),
) -> io::Result<DrainEnd> {
    let mut chunk = vec![0; CHUNK];
    let cut = async {
        exited.await;
        tokio::time::sleep(limit).await;
    };
    tokio::pin!(cut);
    loop {
        tokio::select! {
            biased;
            () = &mut cut => return Ok(DrainEnd::Cut),
            read = reader.read(&mut chunk) => match read? {
                0 => return Ok(DrainEnd::End),
                length => sink(&chunk[..length]),
            },
        }
    }
}

/// Input and limits for [`run`].
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Written to standard input, which is then closed. Needs `ChildInput::Pipe`.
    pub input: Vec<u8>,
    pub timeout: Duration,
    /// The time between SIGTERM and SIGKILL after the timeout.
    pub grace: Duration,
    /// How many bytes to keep of the beginning and of the end of each stream.
    pub keep: usize,
    pub descendants: DescendantPolicy,
    pub terminal: TerminalAccess,
}

/// What happens to the descendants of a child that has ended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DescendantPolicy {
    #[default]
    End,
    /// They may run until the end of the session.
    LiveOn,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            input: Vec::new(),
            timeout: Duration::from_mins(1),
            grace: Duration::from_secs(2),
            keep: RingBuffer::DEFAULT_SIDE,
            descendants: DescendantPolicy::End,
            terminal: TerminalAccess::Shared,
        }
    }
}

/// The result of a child.
#[derive(Debug)]
pub struct ProcessOutcome {
    pub exit: ExitOutcome,
    pub timed_out: bool,
    pub stdout: RingBuffer,
    pub stderr: RingBuffer,
}

/// Runs a child to its end in bounded time and memory. `options.descendants` decides about its descendants.
pub async fn run(spec: SpawnSpec, options: RunOptions) -> io::Result<ProcessOutcome> {
    let RunOptions { input, timeout, grace, keep, descendants, terminal } = options;
    let mut child = spawn_in(spec, terminal)?;
    let (mut stdin, mut out, mut err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (done, exited) = watch::channel(false);
    let mut stdout = RingBuffer::new(keep, keep);
    let mut stderr = RingBuffer::new(keep, keep);

    let wait = async {
        let ended = match tokio::time::timeout(timeout, child.wait()).await {
            Ok(exit) => exit.map(|exit| (exit, false)),
            Err(_) => child.stop(grace).await.map(|exit| (exit, true)),
        };
        done.send_replace(true);
        ended
    };
    let feed = async {
        let Some(mut stdin) = stdin.take() else { return };
        // A child that does not read its input, or closes it early, is not an error.
        let write = async {
            stdin.write_all(&input).await.ok();
        };
        tokio::select! { () = write => {}, () = is_true(exited.clone()) => {} }
    };
    let read_out = pump(out.as_mut(), &exited, &mut stdout);
    let read_err = pump(err.as_mut(), &exited, &mut stderr);
    let (ended, (), out_read, err_read) = tokio::join!(wait, feed, read_out, read_err);
    let (exit, timed_out) = ended?;
    out_read.and(err_read)?;
    if descendants == DescendantPolicy::LiveOn && !timed_out {
        child.release();
    }
    Ok(ProcessOutcome { exit, timed_out, stdout, stderr })
}

async fn pump<R: AsyncRead + Unpin>(
    reader: Option<&mut R>,
    exited: &watch::Receiver<bool>,
    ring: &mut RingBuffer,
) -> io::Result<()> {
    let Some(reader) = reader else { return Ok(()) };
    drain(reader, is_true(exited.clone()), DRAIN_TIMEOUT, |bytes| ring.push(bytes)).await?;
    Ok(())
}

async fn is_true(mut flag: watch::Receiver<bool>) {
    flag.wait_for(|done| *done).await.ok();
}
