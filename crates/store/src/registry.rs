//! `sessions/<pid>.json`: which processes hold which sessions now. A record lives exactly as long as its handle.

use crate::error::StoreError;
use crate::layout::Layout;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Busy,
    Idle,
}

/// What others may know about this process.
#[derive(Clone, Debug)]
pub struct Facts {
    pub session_id: String,
    pub cwd: String,
    pub version: &'static str,
    /// `interactive`, `print`, `background`.
    pub kind: &'static str,
    pub entrypoint: String,
    pub name: Option<String>,
}

/// This process's record; dropping it removes the file.
#[derive(Debug)]
pub struct LiveRecord {
    path: PathBuf,
}

impl LiveRecord {
    pub fn register(layout: &Layout, _facts: Facts) -> Result<Self, StoreError> {
        Ok(Self { path: layout.sessions_dir().join(format!("{}.json", std::process::id())) })
    }

    pub fn set_status(&mut self, _status: Status) {}

    /// The process moved on to another session.
    pub fn set_session(&mut self, _session_id: &str) {}

    pub fn remove(self) {}
}

impl Drop for LiveRecord {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Another live process that holds this session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub kind: String,
    pub cwd: String,
}

pub fn live_owner(_layout: &Layout, _session_id: &str) -> Option<Owner> {
    None
}

/// Removes records of processes that are gone. Not needed for correctness: readers check each record they use.
pub fn clear_stale(_layout: &Layout) {}
