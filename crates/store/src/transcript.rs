//! The transcript of one session, written by one thread. Lines are queued in order and written whole, many in one
//! `write`; the file is created with the first message. While the disk fails, lines stay queued in order and are tried
//! again, and callers get the error. The file is never rewritten or truncated, nor touched without a new message.

mod disk;
mod sticky;
mod writer;

use crate::error::{StoreError, WriteFailure};
use disk::OpenDisk;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar};
use std::time::Duration;
use sys::sync::{self, Mutex, MutexGuard};
use tokio::sync::watch;
use writer::WriterThread;

pub(crate) use sticky::kind_of;

/// How many bytes may be queued while writing fails.
pub const QUEUE_LIMIT: usize = 8 << 20;
/// How many bytes may be queued while writing works: a few very large lines are queued without waiting.
const WORKING_LIMIT: usize = 64 << 20;
/// How long an append waits for room while the disk is merely slow.
const SLOW_DISK: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    Yes,
    No,
}

/// Called on the writer's thread with all lines that were written, in order: whole lines with their newlines.
pub type LineObserver = Arc<dyn Fn(&Path, &[u8]) + Send + Sync>;

/// A handle to the writer of one transcript. Clones share it; when the last one is dropped, the queue is still written.
#[derive(Clone)]
pub struct Transcript {
    /// `None` when nothing is persisted.
    shared: Option<Arc<TranscriptShared>>,
    path: Arc<Path>,
    _last: Arc<CloseWithLast>,
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript")
            .field("path", &self.path)
            .field("persist", &self.shared.is_some())
            .finish_non_exhaustive()
    }
}

struct TranscriptShared {
    path: Arc<Path>,
    state: Mutex<QueueState>,
    /// The writer waits here for work.
    work: Condvar,
    /// Threads without a runtime wait here for progress.
    moved: Condvar,
    progress: watch::Sender<WriteProgress>,
    health: watch::Sender<Option<WriteFailure>>,
}

#[derive(Default)]
struct QueueState {
    /// Metadata lines waiting for the first message.
    held: QueuedLines,
    queue: QueuedLines,
    /// Bytes that the writer has taken and not yet written.
    in_flight: usize,
    in_flight_lines: usize,
    /// A message was queued, so the file may be written.
    has_begun: bool,
    /// The number of bytes ever queued; a flush waits until as many are written.
    queued_total: u64,
    remembered: Vec<String>,
    /// A caller waits for a result: try again at once.
    attempt_requested: bool,
    /// Lines that do not fit into the queue are dropped without an error.
    may_lose: bool,
    closing: bool,
    running: bool,
    /// The thread of the writer sleeps and must be woken.
    asleep: bool,
    /// The state of the writer while its thread does not run.
    writer: Option<WriterThread>,
}

/// Whole lines, each with its newline.
#[derive(Default)]
struct QueuedLines {
    bytes: Vec<u8>,
    count: usize,
}

impl QueuedLines {
    fn push(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        self.count += 1;
    }

    fn take_from(&mut self, other: &mut Self) {
        self.bytes.append(&mut other.bytes);
        self.count += std::mem::take(&mut other.count);
    }
}

#[derive(Clone, Default)]
struct WriteProgress {
    written_total: u64,
    /// The number of failed attempts.
    failures: u64,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueTiming {
    WithFirstMessage,
    Now,
}

impl Transcript {
    /// Nothing happens on disk before the first message is appended.
    pub fn open(path: PathBuf, persist: Persistence) -> Self {
        Self::with_disk(path, persist, Box::new(disk::open_file))
    }

    fn with_disk(path: PathBuf, persist: Persistence, open: OpenDisk) -> Self {
        let path: Arc<Path> = path.into();
        let shared = (persist == Persistence::Yes).then(|| {
            let writer = WriterThread::new(Arc::clone(&path), open);
            Arc::new(TranscriptShared {
                path: Arc::clone(&path),
                state: Mutex::new(QueueState { writer: Some(writer), ..QueueState::default() }),
                work: Condvar::new(),
                moved: Condvar::new(),
                progress: watch::channel(WriteProgress::default()).0,
                health: watch::channel(None).0,
            })
        });
        Self { _last: Arc::new(CloseWithLast(shared.clone())), shared, path }
    }

    /// Sets the observer of lines written from now on. A flush returns only after the observer was called.
    #[must_use]
    pub fn with_observer(self, tap: Option<LineObserver>) -> Self {
        if let (Some(shared), Some(tap)) = (&self.shared, tap)
            && let Some(writer) = &mut shared.lock().writer
        {
            writer.observer = Some(tap);
        }
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Queues whole lines (without newlines), to be written together. Metadata lines wait for the first message of this
    /// process. Fails when writing fails and the queue is full, or the thread cannot start: then nothing more may run.
    pub fn append(&self, lines: Vec<String>) -> Result<(), StoreError> {
        self.enqueue(lines, QueueTiming::WithFirstMessage)
    }

    /// Like `append`, for metadata that must be kept even when no message follows.
    pub fn append_now(&self, lines: Vec<String>) -> Result<(), StoreError> {
        self.enqueue(lines, QueueTiming::Now)
    }

    fn enqueue(&self, lines: Vec<String>, when: QueueTiming) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let size: usize = lines.iter().map(|l| l.len() + 1).sum();
        let mut state = match shared.room_for(size) {
            Err(StoreError::Full { .. }) if shared.lock().may_lose => return Ok(()),
            room => room?,
        };
        state.has_begun |= when == QueueTiming::Now || lines.iter().any(|l| !sticky::is_metadata(l));
        let begun = state.has_begun;
        let target = if begun { &mut state.queue } else { &mut state.held };
        for line in lines {
            target.push(&line);
        }
        if !begun {
            return Ok(());
        }
        if state.held.count > 0 {
            let mut all = std::mem::take(&mut state.held);
            all.take_from(&mut state.queue);
            state.queued_total += (all.bytes.len() - size) as u64;
            state.queue = all;
        }
        state.queued_total += size as u64;
        TranscriptShared::start(shared, &mut state)?;
        shared.wake(state);
        Ok(())
    }

    /// Takes metadata lines that a resumed file already contains, so that copies of them stay near its end.
    pub fn remember(&self, lines: &[impl AsRef<str>]) {
        if let Some(shared) = &self.shared {
            shared.lock().remembered.extend(lines.iter().map(|l| l.as_ref().to_owned()));
        }
    }

    /// Waits until everything queued before is written; fails with the reason when it is not (the lines stay queued).
    pub async fn flush(&self) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let Some((target, before)) = shared.request_attempt() else { return Ok(()) };
        let mut progress = shared.progress.subscribe();
        let reached = |p: &WriteProgress| p.written_total >= target || p.failures > before || p.closed;
        // The sender lives in `shared`, so waiting cannot fail.
        progress.wait_for(reached).await.ok();
        shared.outcome(target)
    }

    /// Like `flush`, for threads without an async runtime; gives up after `limit`.
    pub fn flush_blocking(&self, limit: Duration) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let Some((target, before)) = shared.request_attempt() else { return Ok(()) };
        let waits = |_: &mut QueueState| {
            let now = shared.progress.borrow();
            now.written_total < target && now.failures <= before && !now.closed
        };
        drop(sync::wait_while_for(&shared.moved, shared.lock(), limit, waits));
        shared.outcome(target)
    }

    /// True when any appended line was written to the file.
    pub fn has_saved(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.progress.borrow().written_total > 0)
    }

    /// From now on lines that do not fit into the queue are dropped: the session continues although it cannot be saved.
    pub fn allow_loss(&self) {
        if let Some(shared) = &self.shared {
            shared.lock().may_lose = true;
        }
    }

    /// The current failure; `None` while writing works. The receiver is notified of changes.
    pub fn health(&self) -> watch::Receiver<Option<WriteFailure>> {
        self.shared.as_ref().map_or_else(|| watch::channel(None).1, |s| s.health.subscribe())
    }

    /// The number of lines that are not in the file yet.
    pub fn pending(&self) -> usize {
        self.shared.as_ref().map_or(0, |s| s.lock().pending_lines())
    }

    /// Writes the queue and fresh copies of the metadata, then stops the writer. When writing fails it tries once and
    /// reports how many lines are missing. A later append starts the writer again.
    pub async fn close(&self) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let target = {
            let mut state = shared.lock();
            if !state.running {
                return Ok(());
            }
            state.closing = true;
            let target = state.queued_total;
            shared.wake(state);
            target
        };
        shared.progress.subscribe().wait_for(|p| p.closed).await.ok();
        shared.outcome(target)
    }
}

/// Makes the writer finish and stop when the last handle is dropped.
struct CloseWithLast(Option<Arc<TranscriptShared>>);

impl Drop for CloseWithLast {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            let mut state = shared.lock();
            state.closing = true;
            shared.wake(state);
        }
    }
}

impl QueueState {
    fn pending_lines(&self) -> usize {
        self.queue.count + self.in_flight_lines
    }

    fn pending_bytes(&self) -> usize {
        self.held.bytes.len() + self.moving_bytes()
    }

    /// Bytes that the writer will write; held lines wait for the first message.
    fn moving_bytes(&self) -> usize {
        self.queue.bytes.len() + self.in_flight
    }
}

impl TranscriptShared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Waits while the disk is slow, not while it fails. A single line may have any size.
    fn room_for(&self, size: usize) -> Result<MutexGuard<'_, QueueState>, StoreError> {
        let limit = || if self.health.borrow().is_none() { WORKING_LIMIT } else { QUEUE_LIMIT };
        let fits = |s: &QueueState| s.moving_bytes() == 0 || s.pending_bytes() + size <= limit();
        let waits = |s: &mut QueueState| !fits(s) && self.health.borrow().is_none();
        let (state, _) = sync::wait_while_for(&self.moved, self.lock(), SLOW_DISK, waits);
        if fits(&state) { Ok(state) } else { Err(StoreError::Full { limit: QUEUE_LIMIT }) }
    }

    /// Wakes the writer, which then finds the lock free.
    fn wake(&self, mut state: MutexGuard<'_, QueueState>) {
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep {
            self.work.notify_one();
        }
    }

    fn start(shared: &Arc<Self>, state: &mut QueueState) -> Result<(), StoreError> {
        if state.running {
            return Ok(());
        }
        let Some(writer) = state.writer.take() else { return Ok(()) };
        let this = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("transcript".into()).spawn(move || writer::run(&this, writer));
        // The join handle is not kept: `closed` says when the thread is done.
        thread.map(drop).map_err(|e| StoreError::write(&shared.path, e))?;
        state.running = true;
        state.closing = false;
        shared.progress.send_modify(|p| p.closed = false);
        Ok(())
    }

    /// Requests an attempt now. Returns the byte and failure counts to wait for; `None` when nothing is queued.
    fn request_attempt(&self) -> Option<(u64, u64)> {
        let mut state = self.lock();
        let now = self.progress.borrow();
        if now.written_total >= state.queued_total {
            return None;
        }
        state.attempt_requested = true;
        let awaited = (state.queued_total, now.failures);
        drop(now);
        self.wake(state);
        Some(awaited)
    }

    fn outcome(&self, target: u64) -> Result<(), StoreError> {
        if self.progress.borrow().written_total >= target {
            return Ok(());
        }
        let lines = self.lock().pending_lines();
        let failure = self.health.borrow().clone();
        let failure = failure.unwrap_or_else(|| WriteFailure {
            cause: "the disk does not answer".into(),
            code: "ETIMEDOUT".into(),
            warn: true,
        });
        Err(StoreError::Failing { failure, lines })
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
