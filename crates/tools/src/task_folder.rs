//! The folder for files of running commands: directory reports and the output of background tasks. A folder in use
//! is locked, and the lock ends with the process: a folder whose lock file is not locked may be removed by any
//! process (`store::stale_folders`). Nothing is created before the first command.

use crate::spill;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::sync::Mutex;

/// Longest path, in bytes.
pub(crate) const MAX_PATH: usize = 8192;

/// Locked folders of this session, by path. There can be several after the conversation was cleared or moved.
#[derive(Debug, Default)]
pub struct TaskFolders {
    held: Mutex<BTreeMap<PathBuf, sys::fs::FileLock>>,
}

impl TaskFolders {
    /// Creates and locks `dir`. Blocks for at most a few seconds.
    pub(crate) fn lock_folder(&self, dir: &Path) -> io::Result<()> {
        let mut held = self.held.lock();
        if held.contains_key(dir) {
            return Ok(());
        }
        let file = lock_of(dir);
        // Another process may be removing the folder at this moment.
        for _ in 0..3 {
            spill::create_folder(dir)?;
            let lock = sys::fs::lock(&file, Duration::from_secs(1))?;
            if file.exists() {
                held.insert(dir.to_path_buf(), lock);
                return Ok(());
            }
        }
        Err(io::Error::other(format!("{} is being removed by another process", dir.display())))
    }

    /// Unlocks all folders and removes those without task output.
    pub(crate) fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        for dir in held.keys() {
            std::fs::remove_file(lock_of(dir)).ok();
            if std::fs::remove_dir(dir).is_ok()
                && let Some(session) = dir.parent()
            {
                std::fs::remove_dir(session).ok();
            }
        }
    }
}

/// The lock file, in the session's folder beside the folder of its tasks.
fn lock_of(dir: &Path) -> PathBuf {
    dir.with_file_name(sys::fs::LOCK_FILE_NAME)
}

/// Creates a file for the shell's directory report. Its space is reserved in advance, so that the report can be
/// written even if the disk fills up while the command runs.
pub(crate) fn report_file(path: &Path) -> io::Result<()> {
    let written = spill::create_private(path).and_then(|mut file: File| file.write_all(&[0; MAX_PATH]));
    if written.is_err() {
        std::fs::remove_file(path).ok();
    }
    written
}
