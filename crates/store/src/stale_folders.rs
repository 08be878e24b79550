//! Removes what killed processes left in the temporary folders. A live session holds a lock on its folder. A folder
//! whose lock file exists and is not locked belongs to a process that is gone, and is removed. Folders without a lock
//! file (of sessions that ended normally, or of other programs) are left alone. No link is followed.

use crate::layout::StoreLayout;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest number of folders looked at, in each directory.
const MAX_REMOVED: usize = 20_000;

/// A directory with more folders than this is not looked through at every start.
const MANY_FOLDERS: usize = 50;
/// How long such a directory is left alone after it was looked through.
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);
/// Its modification time is when a directory with many folders was last looked through.
const STAMP_NAME: &str = ".last-sweep";

/// Removes the folders of dead sessions, except that of the session `own`, which may be about to be resumed. Returns
/// how many were removed. Blocking.
pub fn sweep(layout: &StoreLayout, own: &str) -> usize {
    sweep_roots(layout.temp_roots(), own)
}

fn sweep_roots<'a>(roots: impl Iterator<Item = &'a Path>, own: &str) -> usize {
    roots.filter(|root| !is_recently_swept(root)).map(|root| sweep_root(root, own)).sum()
}

fn is_recently_swept(root: &Path) -> bool {
    let stamp = std::fs::symlink_metadata(root.join(STAMP_NAME)).and_then(|meta| meta.modified());
    // A time in the future does not count.
    stamp.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < SWEEP_INTERVAL))
}

fn sweep_root(root: &Path, own: &str) -> usize {
    let projects = folders(root);
    if projects.len() > MANY_FOLDERS {
        // Replaces whatever has that name, so that a planted link is not followed.
        let stamped = sys::fs::atomic_write(&root.join(STAMP_NAME), b"", 0o600);
        if let Err(error) = stamped {
            tracing::debug!(%error, "the time of the sweep could not be noted");
        }
    }
    let mut removed = 0;
    for project in projects.iter().take(MAX_REMOVED) {
        for session in folders(project).into_iter().take(MAX_REMOVED) {
            if session.file_name().is_some_and(|name| name != own) && remove_dead(&session) {
                removed += 1;
            }
        }
        // Succeeds only when the folder is empty.
        std::fs::remove_dir(project).ok();
    }
    removed
}

fn remove_dead(session: &Path) -> bool {
    let lock = session.join(sys::fs::LOCK_FILE_NAME);
    let is_file = std::fs::symlink_metadata(&lock).is_ok_and(|meta| meta.is_file());
    if !is_file {
        return false;
    }
    let Ok(held) = sys::fs::lock(&lock, Duration::ZERO) else { return false };
    let removed = std::fs::remove_dir_all(session).is_ok();
    drop(held);
    removed
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use sys::Env;

    // [F-C1]
    #[test]
    fn only_folders_of_dead_sessions_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let temp = dir.path().join("tmp");
        std::fs::create_dir(&temp).unwrap();
        let (home, temp) = (dir.path().to_str().unwrap(), temp.to_str().unwrap());
        let layout = StoreLayout::new(&Env::default().with([("HOME", home), ("CLAUDE_CODE_TMPDIR", temp)]));
        let make = |session: &str, marked: bool| {
            let tasks = layout.create_tasks_dir(Path::new("/nowhere"), session).unwrap();
            std::fs::write(tasks.join("b1.output"), "text").unwrap();
            if marked {
                std::fs::write(tasks.with_file_name(sys::fs::LOCK_FILE_NAME), "").unwrap();
            }
            tasks
        };
        // The shared temporary folder is among the roots of the layout, and other programs use that.
        let sweep = |own: &str| {
            let roots: Vec<&Path> = layout.temp_roots().filter(|root| root.starts_with(dir.path())).collect();
            sweep_roots(roots.into_iter(), own)
        };
        let (dead, ended, own, live) = (make("D", true), make("E", false), make("O", true), make("L", true));
        let held = sys::fs::lock(&live.with_file_name(sys::fs::LOCK_FILE_NAME), Duration::ZERO).unwrap();
        assert_eq!(sweep("O"), 1);
        assert!(!dead.parent().unwrap().exists());
        assert!(ended.exists() && own.exists() && live.exists());
        drop(held);
        // A process that another test starts has a copy of the lock until it runs its program.
        let (mut removed, deadline) = (0, Instant::now() + Duration::from_secs(30));
        while removed < 2 && Instant::now() < deadline {
            removed += sweep("");
            std::thread::yield_now();
        }
        assert!(removed == 2 && ended.exists() && !own.exists() && !live.exists());
    }

    /// Starts stay fast where many folders are left: the sweep of a large directory is not repeated within the hour.
    #[test]
    fn a_directory_with_many_folders_is_swept_once_an_hour() {
        let root = tempfile::tempdir().unwrap();
        let dead = |project: usize| {
            let session = root.path().join(format!("project-{project}")).join("D");
            std::fs::create_dir_all(&session).unwrap();
            std::fs::write(session.join(sys::fs::LOCK_FILE_NAME), "").unwrap();
        };
        let sweep = || sweep_roots(std::iter::once(root.path()), "");
        (0..=MANY_FOLDERS).for_each(dead);
        assert_eq!(sweep(), MANY_FOLDERS + 1);
        dead(0);
        assert_eq!(sweep(), 0, "it was looked through just now");
        let stamp = std::fs::File::options().write(true).open(root.path().join(STAMP_NAME)).unwrap();
        let written = stamp.metadata().unwrap().modified().unwrap();
        stamp.set_modified(written - 2 * SWEEP_INTERVAL).unwrap();
        assert_eq!(sweep(), 1);
        dead(0);
        assert_eq!(sweep(), 1, "few folders are looked through at every start");
    }
}
