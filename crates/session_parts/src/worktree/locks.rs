//! Locks on worktrees. Ours name the process that holds them, so that locks of dead processes can be released. Locks
//! of other programs are never touched.

use std::path::{Path, PathBuf};

/// The start of our locks.
const LOCK_PREFIX: &str = "gimlet ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockState {
    None,
    /// This process holds it.
    Own,
    /// Another running process of ours holds it.
    Held,
    /// Its process has ended.
    Dead,
    /// Set by another program.
    Foreign,
}

fn file(worktree: &Path) -> Option<PathBuf> {
    sys::git::git_dir(worktree).map(|dir| dir.join("locked"))
}

pub(super) fn state(worktree: &Path) -> LockState {
    file(worktree).map_or(LockState::None, |file| read(&file))
}

fn read(file: &Path) -> LockState {
    let Ok(text) = sys::fs::read_text(file, sys::git::LINK_BYTES) else { return LockState::None };
    let Some((pid, start)) = holder(&text) else { return LockState::Foreign };
    if pid == sys::pid() {
        return LockState::Own;
    }
    let runs = sys::is_alive(pid) && sys::proc_start(pid).is_none_or(|now| now == start);
    if runs { LockState::Held } else { LockState::Dead }
}

/// Parses `gimlet agent 1, process 42 started 12345`.
fn holder(text: &str) -> Option<(i32, &str)> {
    let rest = text.trim().strip_prefix(LOCK_PREFIX)?;
    let (_, process) = rest.rsplit_once(", process ")?;
    let (pid, start) = process.split_once(" started ")?;
    Some((pid.parse().ok()?, start))
}

/// Locks the worktree for this process, unless it is already locked.
pub(super) fn take(worktree: &Path, holder: &str) -> std::io::Result<()> {
    let Some(file) = file(worktree) else { return Ok(()) };
    match read(&file) {
        LockState::Own | LockState::Held | LockState::Foreign => Ok(()),
        LockState::None | LockState::Dead => {
            let start = sys::proc_start(sys::pid()).unwrap_or_default();
            let text = format!("{LOCK_PREFIX}{holder}, process {} started {start}\n", sys::pid());
            sys::fs::atomic_write(&file, text.as_bytes(), 0o644)
        }
    }
}

/// Releases the lock of this process.
pub(super) fn release(worktree: &Path) {
    if state(worktree) == LockState::Own
        && let Some(file) = file(worktree)
    {
        std::fs::remove_file(file).ok();
    }
}

/// Releases the locks of our processes that have ended.
pub(super) fn release_dead(main: &Path) {
    let Some(git_dir) = sys::git::git_dir(main) else { return };
    let Ok(entries) = std::fs::read_dir(sys::git::common_dir(&git_dir).join("worktrees")) else { return };
    for entry in entries.flatten() {
        let file = entry.path().join("locked");
        if read(&file) == LockState::Dead {
            tracing::info!(lock = %file.display(), "released: its process is gone");
            std::fs::remove_file(&file).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [EXT-191]
    #[test]
    fn only_locks_of_dead_processes_are_released() {
        let dir = tempfile::tempdir().unwrap();
        let entries = dir.path().join(".git/worktrees");
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(entries.join(name)).unwrap();
            std::fs::write(entries.join(name).join("locked"), text).unwrap();
        };
        let parent = 1;
        let start = sys::proc_start(parent).unwrap_or_default();
        write("dead", "gimlet agent a, process 2147483646 started 5\n");
        write("reused", &format!("gimlet agent a, process {parent} started 0{start}7\n"));
        write("alive", &format!("gimlet agent a, process {parent} started {start}\n"));
        write("user", "on a portable disk");
        write("empty", "");
        write("alike", "gimlet is a fine word, process none");
        release_dead(dir.path());
        let left = |name: &str| entries.join(name).join("locked").exists();
        assert!(!left("dead") && !left("reused"));
        assert!(left("alive") && left("user") && left("empty") && left("alike"));
    }
}
