//! Stand-ins for protected paths that do not exist: a mount needs an existing path. They are empty directories, which
//! git ignores, and are removed when the last command that needs them has ended. One left behind by a crash is
//! recognised by its mode and removed by the next command.

use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const MODE: u32 = 0o555;

/// How many running commands need each stand-in.
static IN_USE: LazyLock<Mutex<BTreeMap<PathBuf, usize>>> = LazyLock::new(Mutex::default);

fn in_use() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    IN_USE.lock()
}

/// The stand-ins of one command.
#[derive(Debug, Default)]
pub(crate) struct StandIns(Vec<PathBuf>);

impl StandIns {
    /// Leaves out paths that could not be created: where we cannot create them, neither can the command.
    pub(crate) fn make(paths: &[PathBuf]) -> Self {
        let mut used = in_use();
        let made = paths.iter().filter(|path| {
            let there = used.contains_key(*path) || DirBuilder::new().mode(MODE).create(path).is_ok();
            if there {
                *used.entry((*path).clone()).or_default() += 1;
            }
            there
        });
        Self(made.cloned().collect())
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.0
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        let mut used = in_use();
        for path in &self.0 {
            let Some(count) = used.get_mut(path) else { continue };
            *count -= 1;
            if *count == 0 {
                used.remove(path);
                // Fails when something was put there meanwhile; that is kept.
                std::fs::remove_dir(path).ok();
            }
        }
    }
}

/// True when a path is missing, or is a stand-in of a running command or one left behind.
pub(crate) fn is_missing(path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return true };
    if !meta.is_dir() || meta.mode() & 0o7777 != MODE || meta.uid() != crate::uid() {
        return false;
    }
    if in_use().contains_key(path) {
        return true;
    }
    // An empty directory that nobody may write to is a stand-in that was left behind.
    std::fs::remove_dir(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_shared_and_go_with_the_last_command() {
        // [CLI-195]
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join(".claude"), dir.path().join("no/parent")];
        let first = StandIns::make(&paths);
        let second = StandIns::make(&paths);
        assert_eq!(first.paths(), [paths[0].clone()]);
        assert!(is_missing(&paths[0]) && paths[0].is_dir());
        drop(first);
        assert!(paths[0].is_dir());
        drop(second);
        assert!(!paths[0].exists());
        DirBuilder::new().mode(MODE).create(&paths[0]).unwrap();
        assert!(is_missing(&paths[0]), "left behind by a crash");
        assert!(!paths[0].exists());
        std::fs::create_dir(&paths[0]).unwrap();
        assert!(!is_missing(&paths[0]), "somebody's own");
    }
}
