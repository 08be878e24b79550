//! The folder for the files of running commands: where a shell reports its directory, the output of background tasks.
//! A folder in use is locked, and the lock goes with the process however it ends: whoever finds a folder with a lock
//! file that nobody holds may remove it (`store::leftovers`). Nothing is created before the first command.

use crate::spill;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::sync::Mutex;

/// No path is longer.
pub(crate) const MAX_PATH: usize = 8192;

/// Folders of this session, locked. More than one after the conversation began anew or moved.
#[derive(Debug, Default)]
pub struct TaskFolders {
    held: Mutex<BTreeMap<PathBuf, sys::fs::FileLock>>,
}

impl TaskFolders {
    /// Creates and locks `dir`. Blocking, but only for moments.
    pub(crate) fn lock_folder(&self, dir: &Path) -> io::Result<()> {
        let mut held = self.held.lock();
        if held.contains_key(dir) {
            return Ok(());
        }
        let file = lock_of(dir);
        // Another process may just be removing the folder.
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

    /// Gives all folders up and removes those in which no task left output.
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

/// In the session's own folder, beside the files of its tasks.
fn lock_of(dir: &Path) -> PathBuf {
    dir.with_file_name(sys::fs::LOCK_FILE_NAME)
}

/// A file for a shell to report its directory in. Its space is taken up front, so that a disk that fills up while the
/// command runs cannot swallow the report.
pub(crate) fn report_file(path: &Path) -> io::Result<()> {
    let written = spill::create_private(path).and_then(|mut file: File| file.write_all(&[0; MAX_PATH]));
    if written.is_err() {
        std::fs::remove_file(path).ok();
    }
    written
}
