//! The writer thread: writes what is queued and wakes the callers that wait for it. It sleeps while there is nothing to
//! do; while writing fails it tries again at growing intervals and whenever a caller asks.

use super::disk::{AppendDisk, DiskState, OpenDisk, WriteBatch};
use super::sticky::StickyMetadata;
use super::{LineObserver, QueueState, TranscriptShared};
use crate::error::WriteFailure;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::sync::{self, MutexGuard};

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(10);
/// A failure that may pass is reported after this time.
const WARN_AFTER: Duration = Duration::from_mins(1);
/// The largest number of bytes read back to find lines that other processes appended.
const LOOK_BACK: u64 = 16 << 20;
/// How many bytes at the end of an existing file are read before the first copies.
const TAIL: u64 = 64 << 10;

pub(super) struct WriterThread {
    path: Arc<Path>,
    open: OpenDisk,
    disk: Option<Box<dyn AppendDisk>>,
    batch: WriteBatch,
    /// Copies of metadata being written; no caller waits for them.
    copies: WriteBatch,
    sticky: StickyMetadata,
    /// The file is known up to this offset; after it we wrote `own` bytes.
    known: u64,
    own: u64,
    pub(super) observer: Option<LineObserver>,
}

impl WriterThread {
    pub(super) fn new(path: Arc<Path>, open: OpenDisk) -> Self {
        Self {
            observer: None,
            path,
            open,
            disk: None,
            batch: WriteBatch::default(),
            copies: WriteBatch::default(),
            sticky: StickyMetadata::default(),
            known: 0,
            own: 0,
        }
    }

    /// The file, opened anew when it was deleted, and how it is now.
    fn disk(&mut self) -> io::Result<(&mut dyn AppendDisk, DiskState)> {
        let state = self.disk.as_ref().map(|disk| disk.state()).transpose()?.filter(|state| !state.deleted);
        let state = if let Some(state) = state { state } else { self.open_disk()? };
        match &mut self.disk {
            Some(disk) => Ok((disk.as_mut(), state)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open_disk(&mut self) -> io::Result<DiskState> {
        self.disk = None;
        let disk = (self.open)(&self.path)?;
        let state = disk.state()?;
        self.known = state.len.saturating_sub(TAIL);
        self.own = 0;
        self.disk = Some(disk);
        Ok(state)
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        let size = batch.bytes.len();
        let written = self.observer.as_ref().map(|_| batch.bytes.clone());
        let result = self.disk().and_then(|(disk, state)| batch.write_to(disk, state));
        self.batch = batch;
        if result.is_ok() {
            self.own += size as u64;
            if let Some(bytes) = written {
                self.notify_observer(&bytes);
            }
        }
        result
    }

    /// Passes the written lines to the observer.
    fn notify_observer(&self, bytes: &[u8]) {
        if let Some(tap) = &self.observer {
            tap(&self.path, bytes);
        }
    }

    /// Writes fresh copies of metadata at the end, after reading what other processes appended.
    fn write_copies(&mut self) -> io::Result<()> {
        if self.copies.is_empty() {
            self.read_appended()?;
            self.copies.bytes = self.sticky.copies();
        }
        let mut copies = std::mem::take(&mut self.copies);
        let bytes = copies.bytes.clone();
        let result = self.disk().and_then(|(disk, state)| copies.write_to(disk, state));
        self.copies = copies;
        if result.is_ok() {
            self.own += bytes.len() as u64;
            self.sticky.lines_added(&bytes);
            self.notify_observer(&bytes);
        }
        result
    }

    /// Reads what was appended since the last look, unless this process wrote all of it.
    fn read_appended(&mut self) -> io::Result<()> {
        let (known, own) = (self.known, self.own);
        let (disk, state) = self.disk()?;
        let end = state.len;
        if end > known + own {
            let start = known.max(end.saturating_sub(LOOK_BACK));
            let mut bytes = vec![0; (end - start) as usize];
            disk.read_at(&mut bytes, start)?;
            self.sticky.lines_added(&bytes);
        }
        self.known = end;
        self.own = 0;
        Ok(())
    }
}

pub(super) fn run(shared: &TranscriptShared, mut writer: WriterThread) {
    let mut trouble = DiskTrouble::default();
    loop {
        let closing = collect(shared, &mut writer, &trouble);
        let result = if writer.batch.is_empty() { Ok(()) } else { attempt(shared, &mut writer) };
        let result = result.and_then(|()| copy_metadata(&mut writer, closing));
        trouble.update(shared, result);
        if closing && finish(shared, &mut writer) {
            return;
        }
    }
}

/// Waits for something to do and moves it into the batch. True when the transcript is being closed.
fn collect(shared: &TranscriptShared, writer: &mut WriterThread, trouble: &DiskTrouble) -> bool {
    let mut state = wait(shared, trouble);
    state.attempt_requested = false;
    for line in std::mem::take(&mut state.remembered) {
        writer.sticky.remember(line);
    }
    let taken = std::mem::take(&mut state.queue);
    writer.sticky.lines_added(&taken.bytes);
    if writer.batch.is_empty() {
        writer.batch.bytes = taken.bytes;
    } else {
        writer.batch.bytes.extend_from_slice(&taken.bytes);
    }
    state.in_flight = writer.batch.bytes.len();
    state.in_flight_lines += taken.count;
    state.closing
}

fn wait<'a>(shared: &'a TranscriptShared, trouble: &DiskTrouble) -> MutexGuard<'a, QueueState> {
    let idle = |s: &mut QueueState| {
        s.asleep = s.queue.count == 0 && !s.attempt_requested && !s.closing;
        s.asleep
    };
    let state = shared.lock();
    let mut state = match trouble.retry_in {
        None => sync::wait_while(&shared.work, state, idle),
        Some(pause) => sync::wait_while_for(&shared.work, state, pause, idle).0,
    };
    state.asleep = false;
    state
}

fn attempt(shared: &TranscriptShared, writer: &mut WriterThread) -> io::Result<()> {
    writer.write_batch()?;
    let mut state = shared.lock();
    state.in_flight = 0;
    state.in_flight_lines = 0;
    let written = state.queued_total - state.queue.bytes.len() as u64;
    shared.progress.send_modify(|p| p.written_total = written);
    shared.moved.notify_all();
    Ok(())
}

fn copy_metadata(writer: &mut WriterThread, closing: bool) -> io::Result<()> {
    let due = writer.sticky.is_due() || (closing && writer.sticky.is_far());
    if due || !writer.copies.is_empty() {
        return writer.write_copies();
    }
    Ok(())
}

/// Ends the thread; returns false when new lines were queued meanwhile.
fn finish(shared: &TranscriptShared, writer: &mut WriterThread) -> bool {
    let mut state = shared.lock();
    let healthy = shared.health.borrow().is_none();
    if healthy && state.queue.count > 0 {
        return false;
    }
    let open: OpenDisk = Box::new(super::disk::open_file);
    let next = WriterThread { observer: writer.observer.clone(), ..WriterThread::new(Arc::clone(&shared.path), open) };
    state.writer = Some(std::mem::replace(writer, next));
    state.running = false;
    shared.progress.send_modify(|p| p.closed = true);
    shared.moved.notify_all();
    true
}

/// How long writing has been failing, and when to try again.
#[derive(Default)]
struct DiskTrouble {
    since: Option<Instant>,
    retry_in: Option<Duration>,
}

impl DiskTrouble {
    fn update(&mut self, shared: &TranscriptShared, result: io::Result<()>) {
        let Err(error) = result else {
            *self = Self::default();
            shared.health.send_if_modified(|h| h.take().is_some());
            return;
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        self.retry_in = Some(self.retry_in.map_or(FIRST_RETRY, |p| (p * 2).min(LAST_RETRY)));
        let failure = describe(&error, since.elapsed() >= WARN_AFTER);
        tracing::warn!(%failure, "transcript");
        shared.health.send_if_modified(|h| {
            let changed = h.as_ref() != Some(&failure);
            *h = Some(failure);
            changed
        });
        // Waiters hold the lock between checking and sleeping, so they cannot miss this.
        let guard = shared.lock();
        shared.progress.send_modify(|p| p.failures += 1);
        shared.moved.notify_all();
        drop(guard);
    }
}

fn describe(error: &io::Error, patience_over: bool) -> WriteFailure {
    let known = match error.kind() {
        io::ErrorKind::StorageFull => Some(("disk full", "ENOSPC")),
        io::ErrorKind::QuotaExceeded => Some(("disk quota exceeded", "EDQUOT")),
        io::ErrorKind::ReadOnlyFilesystem => Some(("read-only file system", "EROFS")),
        io::ErrorKind::InvalidFilename => Some(("file name too long", "ENAMETOOLONG")),
        io::ErrorKind::FileTooLarge => Some(("file too large", "EFBIG")),
        io::ErrorKind::NotADirectory => Some(("not a directory", "ENOTDIR")),
        io::ErrorKind::PermissionDenied => Some(("permission denied", "EACCES")),
        _ => None,
    };
    match known {
        Some((cause, code)) => WriteFailure { cause: cause.into(), code: code.into(), warn: true },
        None => WriteFailure {
            cause: error.to_string(),
            code: error.raw_os_error().map_or_else(|| "EIO".into(), |n| format!("errno {n}")),
            warn: patience_over,
        },
    }
}
