//! Finds and ends whole process trees. As subreaper this process adopts every orphan below it, so all descendants of a
//! child are below the child itself or below an orphan that carries the child's marker (or is in its group). A child
//! that left nothing behind, the common case, therefore costs a few small reads instead of a scan of all processes.

use super::registry::{self, CHILD_VARIABLE, RUN_VARIABLE};
use crate::procfs;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long a synchronous kill searches for survivors. SIGKILL takes well under 1 ms unless the kernel is stuck.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// The process tree of one child.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    /// The pid of the child, which is also its group.
    pub(crate) leader: i32,
    pub(crate) marker: String,
}

/// Whether the leader may be signalled by its pid: after it was reaped the pid may belong to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderState {
    Unreaped,
    Reaped,
}

/// The result of one search of the process table.
#[derive(Debug, Default)]
pub(crate) struct TreeSnapshot {
    pub(crate) live: Vec<i32>,
    /// There was nothing to search. Otherwise a process may have been adopted by us during the search, when its parent
    /// died, and only a second empty result in a row is proof.
    pub(crate) is_certain: bool,
}

impl TreeSnapshot {
    fn below(roots: Vec<i32>) -> Self {
        Self { is_certain: roots.is_empty(), live: with_descendants(roots) }
    }
}

impl ProcessTree {
    /// Finds every live process of this tree.
    pub(crate) fn look(&self, leader: LeaderState) -> TreeSnapshot {
        let mut live = match leader {
            LeaderState::Unreaped => with_descendants(vec![self.leader]),
            LeaderState::Reaped => Vec::new(),
        };
        // After the tree of the leader, because processes move from there to us and never back.
        let orphans = TreeSnapshot::below(strays().into_iter().filter(|pid| self.owns(*pid)).collect());
        live.extend(orphans.live);
        TreeSnapshot { live, is_certain: orphans.is_certain && leader == LeaderState::Reaped }
    }

    fn owns(&self, pid: i32) -> bool {
        procfs::has_marker(pid, CHILD_VARIABLE, &self.marker)
            || procfs::stat(pid).is_some_and(|stat| stat.group == self.leader && stat.session == own_session())
    }

    /// Sends SIGTERM to every process not yet in `asked`; returns true when any process is left.
    pub(crate) fn terminate(&self, leader: LeaderState, asked: &mut BTreeSet<i32>) -> bool {
        let look = self.look(leader);
        for pid in &look.live {
            if asked.insert(*pid) {
                send(*pid, libc::SIGTERM);
                // A stopped process handles the signal only when it runs again.
                send(*pid, libc::SIGCONT);
            }
        }
        if cfg!(not(target_os = "linux")) && asked.insert(-self.leader) {
            send_group(self.leader, libc::SIGTERM);
        }
        !look.live.is_empty()
    }

    /// Sends SIGKILL until nothing is left, bounded in time.
    pub(crate) fn kill(&self, leader: LeaderState) {
        if leader == LeaderState::Unreaped || cfg!(not(target_os = "linux")) {
            send_group(self.leader, libc::SIGKILL);
        }
        kill_until_none(|| self.look(leader));
    }
}

/// Kills everything below this process except the keeper and inherited children.
pub(crate) fn kill_everything() {
    if cfg!(not(target_os = "linux")) {
        registry::lock().direct().for_each(|group| send_group(group, libc::SIGKILL));
        return;
    }
    let (run, subreaper, owns_unmarked) = {
        let registry = registry::lock();
        if !registry.has_started_any() {
            return;
        }
        (registry.run().to_owned(), registry.is_subreaper(), registry.owns_unmarked())
    };
    kill_until_none(|| {
        let children: BTreeSet<i32> = own_children().into_iter().collect();
        let mut roots: Vec<i32> = registry::lock().direct().filter(|pid| children.contains(pid)).collect();
        roots.extend(strays().into_iter().filter(|pid| owns_unmarked || procfs::has_marker(*pid, RUN_VARIABLE, &run)));
        if !subreaper {
            roots.extend(marked(&run));
        }
        TreeSnapshot::below(roots)
    });
}

/// Every process on the machine that carries the marker `run`.
pub(crate) fn marked(run: &str) -> Vec<i32> {
    procfs::pids().into_iter().filter(|pid| *pid > 1 && procfs::has_marker(*pid, RUN_VARIABLE, run)).collect()
}

/// Sends SIGKILL to what `look` finds until it certainly finds nothing, or the time is up.
fn kill_until_none(mut look: impl FnMut() -> TreeSnapshot) {
    let deadline = Instant::now() + KILL_LIMIT;
    let mut pause = Duration::from_micros(100);
    let mut was_empty = false;
    let mut killed = BTreeSet::new();
    loop {
        let TreeSnapshot { live, is_certain: certain } = look();
        // A dying process loses its environment, and with it the marker, before it is gone.
        killed.extend(live);
        let live: Vec<i32> = killed.iter().copied().filter(|pid| procfs::is_live(*pid)).collect();
        if live.is_empty() && (certain || was_empty) || Instant::now() >= deadline {
            return;
        }
        was_empty = live.is_empty();
        for pid in live {
            send(pid, libc::SIGKILL);
        }
        if !was_empty {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

/// `roots` and all their descendants that are alive.
pub(crate) fn with_descendants(roots: Vec<i32>) -> Vec<i32> {
    let mut seen = BTreeSet::new();
    let mut open = roots;
    while let Some(pid) = open.pop() {
        if pid > 1 && seen.insert(pid) {
            open.extend(procfs::children(pid));
        }
    }
    seen.into_iter().filter(|pid| procfs::is_live(*pid)).collect()
}

/// Orphans that became our children and still run. Reaps those that ended; direct children are left to their handles.
pub(crate) fn strays() -> Vec<i32> {
    // The lock is held so that a child being spawned is not mistaken for a stray.
    let registry = registry::lock();
    registry.strays().into_iter().filter(|pid| !reap(*pid)).collect()
}

/// Returns true when `pid` is gone.
fn reap(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: `status` outlives the call; WNOHANG never blocks.
    let reaped = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
    reaped != 0
}

pub(crate) fn own_children() -> Vec<i32> {
    procfs::children(own_pid())
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

pub(crate) fn own_session() -> i32 {
    // SAFETY: getsid has no memory effects.
    unsafe { libc::getsid(0) }
}

pub(crate) fn send(pid: i32, signal: i32) {
    if pid > 1 {
        // SAFETY: kill has no memory effects; the pid names one process.
        unsafe {
            libc::kill(pid, signal);
        }
    }
}

pub(crate) fn send_group(group: i32, signal: i32) {
    if group > 1 {
        // SAFETY: kill has no memory effects; the group is ours and larger than 1.
        unsafe {
            libc::kill(-group, signal);
        }
    }
}
