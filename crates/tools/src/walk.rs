//! Shared by Glob and Grep: walking a tree on all cores, stopping early, and displaying paths. Walks never follow
//! links, never enter version-control directories, and end when the call is cancelled or its time is up; what was
//! found until then is kept.

use crate::contract::{CallContext, PathDiscovery, ToolOutcome, Workspace};
use ignore::{DirEntry, WalkBuilder, WalkParallel};
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};
use sys::Env;

const VCS_DIRS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];
/// Most threads of a walk; more would only compete for the file system.
const MAX_THREADS: usize = 12;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    Complete,
    TimedOut,
    Cancelled,
}

/// Tells workers to stop, so that they need neither clock nor lock per file. Zero means go on.
#[derive(Debug, Default)]
pub(crate) struct HaltFlag(AtomicU8);

impl HaltFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    fn set(&self, why: WalkEnd) {
        self.0.store(why as u8, Ordering::Relaxed);
    }

    fn ended(&self) -> WalkEnd {
        match self.0.load(Ordering::Relaxed) {
            x if x == WalkEnd::TimedOut as u8 => WalkEnd::TimedOut,
            x if x == WalkEnd::Cancelled as u8 => WalkEnd::Cancelled,
            _ => WalkEnd::Complete,
        }
    }
}

/// Runs `work` on a blocking thread until it ends, the call is cancelled, or `limit` has passed.
pub(crate) async fn run<T, W>(cx: &CallContext, limit: Duration, work: W) -> Result<(T, WalkEnd), ToolOutcome>
where
    T: Send + 'static,
    W: FnOnce(&HaltFlag) -> T + Send + 'static,
{
    let halt = Arc::new(HaltFlag::default());
    let flag = Arc::clone(&halt);
    let mut task = tokio::task::spawn_blocking(move || work(&flag));
    let joined = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            halt.set(WalkEnd::Cancelled);
            task.await
        }
        joined = &mut task => joined,
        () = tokio::time::sleep(limit) => {
            halt.set(WalkEnd::TimedOut);
            task.await
        }
    };
    match (joined, halt.ended()) {
        (Ok(_), WalkEnd::Cancelled) => Err(ToolOutcome::failed("The search was interrupted before it finished.")),
        (Ok(found), ended) => Ok((found, ended)),
        (Err(error), _) => Err(ToolOutcome::failed(format!("The search failed: {error}"))),
    }
}

/// The time limit of a search: 20 s, 60 s on the slower file system of WSL, or the value of the environment.
pub(crate) fn time_limit(env: &Env) -> Duration {
    let set = env.number::<f64>("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS").filter(|s| *s > 0.0);
    match set.map(Duration::try_from_secs_f64) {
        Some(Ok(limit)) => limit,
        _ if env.non_empty("WSL_DISTRO_NAME").is_some() => Duration::from_mins(1),
        _ => Duration::from_secs(20),
    }
}

/// Completes `builder` with the options of all walks. `honours_ignores`: the walk reads ignore files.
pub(crate) fn build_parallel(builder: &mut WalkBuilder, honours_ignores: bool) -> WalkParallel {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = move |entry: &DirEntry| !(is_vcs_dir(entry) || honours_ignores && has_unreadable_ignores(entry));
    builder.threads(cores.min(MAX_THREADS)).filter_entry(wanted).build_parallel()
}

/// The walking library reads ignore files whole, whatever they are; a folder with an ignore file that is not a
/// regular file of ordinary size is skipped.
fn has_unreadable_ignores(entry: &DirEntry) -> bool {
    let is_dir = entry.depth() > 0 && entry.file_type().is_some_and(|t| t.is_dir());
    let odd = if is_dir { sys::fs::unreadable_ignore_file(entry.path()) } else { None };
    if let Some(file) = &odd {
        tracing::debug!(file = %file.display(), "its folder was not searched: this is no regular file");
    }
    odd.is_some()
}

/// Refuses a root when its ignore files, or those of the folders above it, cannot be read.
pub(crate) fn check_ignores(root: &Path) -> Result<(), ToolOutcome> {
    match root.ancestors().find_map(sys::fs::unreadable_ignore_file) {
        None => Ok(()),
        Some(file) => Err(ToolOutcome::invalid(format!(
            "{} is not a regular file of ordinary size, so the ignore rules cannot be read. Remove it, or name a file.",
            file.display()
        ))),
    }
}

/// How the walk found `entry`. The root may be a link; below it links are not followed, so a regular file is at its
/// real path.
pub(crate) fn discovery(entry: &DirEntry) -> PathDiscovery {
    let plain = entry.depth() > 0 && entry.file_type().is_some_and(|t| t.is_file());
    if plain { PathDiscovery::Walked } else { PathDiscovery::Named }
}

/// The root itself may have any name, because the model named it.
fn is_vcs_dir(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_type().is_some_and(|t| t.is_dir()) && is_vcs_name(entry.file_name())
}

pub(crate) fn is_vcs_name(name: &std::ffi::OsStr) -> bool {
    VCS_DIRS.iter().any(|dir| name == *dir)
}

/// The path relative to the working directory when it is inside, absolute otherwise.
pub(crate) fn display_path(path: &Path, at: &Workspace) -> String {
    match path.strip_prefix(&at.cwd) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

pub(crate) fn missing_error(what: &str, path: &Path, at: &Workspace) -> ToolOutcome {
    let (path, cwd) = (path.display(), at.cwd.display());
    ToolOutcome::invalid(format!("{what} does not exist: {path}. The current working directory is {cwd}."))
}

/// A note for the end of an incomplete result; `None` when it is complete.
pub(crate) fn time_note(ended: WalkEnd, limit: Duration) -> Option<String> {
    (ended == WalkEnd::TimedOut)
        .then(|| format!("(The search stopped after {limit:?}; results are incomplete. Search a narrower path.)"))
}

/// The `keep` smallest of all items offered, and how many were offered. Memory does not grow with the tree.
#[derive(Debug)]
pub(crate) struct SmallestItems<T> {
    heap: BinaryHeap<T>,
    keep: usize,
    pub(crate) total: u64,
}

impl<T: Ord> SmallestItems<T> {
    pub(crate) fn new(keep: usize) -> Self {
        Self { heap: BinaryHeap::new(), keep, total: 0 }
    }

    pub(crate) fn add(&mut self, item: T) {
        self.total += 1;
        if self.heap.len() < self.keep {
            self.heap.push(item);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && item < *worst
        {
            *worst = item;
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        let total = self.total + other.total;
        other.heap.into_iter().for_each(|item| self.add(item));
        self.total = total;
    }

    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec()
    }
}

/// A file's modification time; an unknown time counts as the oldest.
pub(crate) fn modified(meta: std::io::Result<std::fs::Metadata>) -> SystemTime {
    meta.and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_keeps_the_smallest_and_counts_all() {
        let mut best = SmallestItems::new(3);
        for n in [5, 1, 9, 2] {
            best.add(n);
        }
        let mut other = SmallestItems::new(3);
        for n in [0, 7, 8, 6] {
            other.add(n);
        }
        best.merge(other);
        assert_eq!(best.total, 8);
        assert_eq!(best.into_sorted(), [0, 1, 2]);
    }

    #[test]
    fn time_limit_follows_the_environment() {
        // [TST-77]
        let empty = Env::default();
        assert_eq!(time_limit(&empty), Duration::from_secs(20));
        let set = |value: &str| time_limit(&empty.with([("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", value)]));
        assert_eq!(set("5"), Duration::from_secs(5));
        assert_eq!(set("0.25"), Duration::from_millis(250));
        for bad in ["0", "-1", "soon", "1e300"] {
            assert_eq!(set(bad), Duration::from_secs(20), "{bad}");
        }
        assert_eq!(time_limit(&empty.with([("WSL_DISTRO_NAME", "d")])), Duration::from_mins(1));
    }
}
