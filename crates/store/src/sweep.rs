//! Removes old sessions with their files. Runs at most once a day; never removes a session that is open, memory notes
//! or the prompt history. The first sweep that would remove a session only announces it; the next one, at least a day
//! later, removes. No link is followed.

use crate::layout::StoreLayout;
use crate::live_sessions;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

const DAY: Duration = Duration::from_hours(24);
/// The modification time of this file is the time of the last sweep.
const STAMP_FILE: &str = ".last-cleanup";
/// Exists when the user was informed that sessions will be removed.
const ANNOUNCED_FILE: &str = ".cleanup-announced";
/// Folders with one entry per session, or with entries that belong to no session; each entry's age decides.
const FOLDERS: [&str; 10] = [
    "file-history",
    "tasks",
    "plans",
    "paste-cache",
    "image-cache",
    "uploads",
    "session-env",
    "debug",
    "todos",
    "statsig",
];
/// How many levels below a session's folder are searched for newer files.
const DEPTH: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepResult {
    /// The last sweep was less than a day ago.
    NotDue,
    /// The next sweep will remove this many sessions.
    Announced(usize),
    /// This many sessions were removed.
    Removed(usize),
}

/// Removes sessions that were not modified for `age`. `now` is the time since the epoch. Blocking.
pub fn sweep(layout: &StoreLayout, age: Duration, now: Duration) -> io::Result<SweepResult> {
    let stamp = layout.home().join(STAMP_FILE);
    if modified(&stamp).is_some_and(|at| now.saturating_sub(at) < DAY) {
        return Ok(SweepResult::NotDue);
    }
    // Written before the work, so that another process that starts now does not sweep too.
    sys::fs::atomic_write(&stamp, b"", 0o600)?;
    let limit =
        SweepLimit { age, now, live: live_sessions::live(layout).into_iter().map(|owner| owner.session_id).collect() };
    let sessions = sessions(layout, &limit);
    let announced = layout.home().join(ANNOUNCED_FILE);
    if !sessions.is_empty() && !announced.exists() {
        sys::fs::atomic_write(&announced, b"", 0o600)?;
        return Ok(SweepResult::Announced(sessions.len()));
    }
    for folder in FOLDERS.map(|folder| layout.home().join(folder)) {
        if !is_folder(&folder) {
            continue;
        }
        for path in entries(&folder) {
            if !limit.is_live(&path) && limit.is_old(&path) {
                remove(&path);
            }
        }
    }
    // Checked again: a session may have been resumed meanwhile.
    let live: BTreeSet<String> = live_sessions::live(layout).into_iter().map(|owner| owner.session_id).collect();
    let limit = SweepLimit { live, ..limit };
    let mut removed = 0;
    for session in sessions {
        if session.paths.iter().all(|path| !limit.is_live(path) && limit.is_old(path)) {
            session.paths.iter().for_each(|path| remove(path));
            removed += 1;
        }
    }
    Ok(SweepResult::Removed(removed))
}

struct SweepLimit {
    age: Duration,
    now: Duration,
    live: BTreeSet<String>,
}

impl SweepLimit {
    fn is_live(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.live.iter().any(|id| name.starts_with(id.as_str()))
    }

    /// True when nothing in `path` is newer than the limit.
    fn is_old(&self, path: &Path) -> bool {
        self.is_old_to(path, DEPTH)
    }

    fn is_old_to(&self, path: &Path, depth: usize) -> bool {
        let Ok(meta) = std::fs::symlink_metadata(path) else { return true };
        let old = time(&meta).is_some_and(|at| self.now.saturating_sub(at) > self.age);
        old && (depth == 0 || !meta.is_dir() || entries(path).iter().all(|inner| self.is_old_to(inner, depth - 1)))
    }
}

/// A transcript and the folder beside it, or only one of them.
struct OldSession {
    paths: Vec<PathBuf>,
}

fn sessions(layout: &StoreLayout, limit: &SweepLimit) -> Vec<OldSession> {
    let mut found = Vec::new();
    for project in entries(&layout.projects()) {
        if !is_folder(&project) {
            continue;
        }
        let inside: BTreeSet<PathBuf> = entries(&project).into_iter().collect();
        for path in &inside {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let beside = path.with_extension("");
            let paths = match SessionFile::of(&name) {
                SessionFile::Transcript if inside.contains(&beside) => vec![path.clone(), beside],
                SessionFile::Transcript | SessionFile::SetAside => vec![path.clone()],
                SessionFile::Folder if !inside.contains(&path.with_extension("jsonl")) => vec![path.clone()],
                SessionFile::Folder | SessionFile::Other => continue,
            };
            if paths.iter().all(|path| !limit.is_live(path) && limit.is_old(path)) {
                found.push(OldSession { paths });
            }
        }
    }
    found
}

enum SessionFile {
    Transcript,
    /// A transcript that another program renamed.
    SetAside,
    /// The folder of a session.
    Folder,
    /// Never removed: notes, catalogues, anything else.
    Other,
}

impl SessionFile {
    fn of(name: &str) -> Self {
        let (id, rest) = name.split_once('.').unwrap_or((name, ""));
        let is_id = id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        match rest {
            _ if !is_id => Self::Other,
            "" if !name.contains('.') => Self::Folder,
            "jsonl" => Self::Transcript,
            rest if rest.starts_with("orphaned-") || rest.starts_with("jsonl.superseded-") => Self::SetAside,
            _ => Self::Other,
        }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(dir) else { return Vec::new() };
    list.flatten().map(|entry| entry.path()).collect()
}

fn modified(path: &Path) -> Option<Duration> {
    time(&std::fs::symlink_metadata(path).ok()?)
}

fn time(meta: &Metadata) -> Option<Duration> {
    meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()
}

/// Removes a link, not its target.
fn remove(path: &Path) {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return };
    let removed = if meta.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    if let Err(error) = removed {
        tracing::warn!(%error, path = %path.display(), "an old session could not be removed");
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
