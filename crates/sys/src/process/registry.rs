//! What this process knows about its children: the run marker, which pids their handles wait for, and the keeper. One
//! lock protects it. The lock is held while a child is being spawned, so that a half-started child is not mistaken for
//! a stray, and never across an await.

use super::tree;
use crate::keeper::{Keeper, KeeperConfig};
use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Set in every child to the run id of the gimlet process that started it (a chain when gimlet runs inside gimlet).
pub(crate) const RUN_VARIABLE: &str = "GIMLET_RUN";
/// Set in every child to the marker of the child, likewise a chain.
pub(crate) const CHILD_VARIABLE: &str = "GIMLET_CHILD";

static REGISTRY: LazyLock<Mutex<ChildRegistry>> = LazyLock::new(|| Mutex::new(ChildRegistry::new()));

pub(crate) fn lock() -> MutexGuard<'static, ChildRegistry> {
    // The state is valid even after a panic of a lock holder: each change is a single insert or remove.
    REGISTRY.lock()
}

#[derive(Debug)]
pub(crate) struct ChildRegistry {
    run: String,
    started: u64,
    /// Children that their handle (or the runtime) will reap.
    direct: BTreeSet<i32>,
    /// Children that existed before the first spawn: inherited through `exec`, and left alone.
    foreign: BTreeSet<i32>,
    keeper: Option<Keeper>,
    config: KeeperConfig,
    prepared: bool,
    subreaper: bool,
}

impl ChildRegistry {
    fn new() -> Self {
        Self {
            run: crate::id::uuid().replace('-', ""),
            started: 0,
            direct: BTreeSet::new(),
            foreign: BTreeSet::new(),
            keeper: None,
            config: KeeperConfig::Off,
            prepared: false,
            subreaper: false,
        }
    }

    pub(crate) fn configure(&mut self, config: KeeperConfig) {
        self.config = config;
    }

    /// Called before each spawn. The first call makes gimlet a subreaper. Starts a keeper when none is running.
    pub(crate) fn prepare(&mut self) {
        if !self.prepared {
            self.foreign = tree::own_children().into_iter().collect();
            self.subreaper = become_subreaper();
            self.prepared = true;
        }
        if self.keeper.as_mut().is_some_and(Keeper::is_gone) {
            self.keeper = None;
        }
        if self.keeper.is_none() {
            self.keeper = Keeper::start(&self.config, &self.run);
            for group in &self.direct {
                self.keeper.iter_mut().for_each(|keeper| keeper.guard(*group));
            }
        }
    }

    pub(crate) fn next_marker(&mut self) -> String {
        self.started += 1;
        format!("{}.{}", self.run, self.started)
    }

    /// True when there can be processes to end: a run without children must not scan all processes.
    pub(crate) fn has_started_any(&self) -> bool {
        self.started > 0
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    pub(crate) fn insert(&mut self, pid: i32) {
        self.direct.insert(pid);
        if let Some(keeper) = &mut self.keeper {
            keeper.guard(pid);
        }
    }

    /// Called when the handle has reaped `pid` and its group is empty.
    pub(crate) fn remove(&mut self, pid: i32) {
        self.direct.remove(&pid);
        if let Some(keeper) = &mut self.keeper {
            keeper.unguard(pid);
        }
    }

    /// Called when the handle has reaped `pid` but its group may live on.
    pub(crate) fn forget_leader(&mut self, pid: i32) {
        if cfg!(target_os = "linux") {
            self.direct.remove(&pid);
        }
    }

    pub(crate) fn direct(&self) -> impl Iterator<Item = i32> {
        self.direct.iter().copied()
    }

    /// Children of this process that are neither direct nor inherited: orphans that the kernel gave to us.
    pub(crate) fn strays(&self) -> Vec<i32> {
        let keeper = self.keeper.as_ref().map(Keeper::pid);
        tree::own_children()
            .into_iter()
            .filter(|pid| !self.direct.contains(pid) && !self.foreign.contains(pid) && Some(*pid) != keeper)
            .collect()
    }

    /// True when an orphan without our marker can only be ours. As init, or after an `exec` with existing children, it
    /// may belong to others.
    pub(crate) fn owns_unmarked(&self) -> bool {
        self.subreaper && self.foreign.is_empty() && std::process::id() != 1
    }

    /// True when orphans become our children, so that all descendants are found below this process.
    pub(crate) fn is_subreaper(&self) -> bool {
        self.subreaper
    }
}

#[cfg(target_os = "linux")]
fn become_subreaper() -> bool {
    let (on, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: prctl with this option only sets a flag of our own process; the unused arguments are zero.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, on, unused, unused, unused) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() -> bool {
    false
}
