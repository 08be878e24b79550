//! What this process knows about its own children: the run marker, which pids are waited for by their handle, and the
//! keeper. One lock; it is held while a child is being spawned, so that nobody mistakes a half-started child for a
//! stray, and never across an await.

use super::tree;
use crate::keeper::{Keeper, KeeperConfig};
use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Set in every child to the run of the gimlet process that started it (a chain, when gimlet runs inside gimlet).
pub(crate) const RUN_VARIABLE: &str = "GIMLET_RUN";
/// Set in every child to its own marker, likewise a chain.
pub(crate) const CHILD_VARIABLE: &str = "GIMLET_CHILD";

static REGISTRY: LazyLock<Mutex<ChildRegistry>> = LazyLock::new(|| Mutex::new(ChildRegistry::new()));

pub(crate) fn lock() -> MutexGuard<'static, ChildRegistry> {
    // The state stays meaningful whatever a panicking holder was doing: each change is a single insert or remove.
    REGISTRY.lock()
}

#[derive(Debug)]
pub(crate) struct ChildRegistry {
    run: String,
    started: u64,
    /// Children whose handle (or the runtime) will reap them.
    direct: BTreeSet<i32>,
    /// Children we had before we started any: inherited through `exec`, none of our business.
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

    /// Before each spawn: at the first one gimlet becomes a subreaper, and a keeper is up (again, if somebody ended it).
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

    /// Whether there can be anything to end: a run without children must not cost a look at all processes.
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

    /// The handle has reaped `pid` and nothing of its group is left.
    pub(crate) fn remove(&mut self, pid: i32) {
        self.direct.remove(&pid);
        if let Some(keeper) = &mut self.keeper {
            keeper.unguard(pid);
        }
    }

    /// The handle has reaped `pid`, but its group may live on.
    pub(crate) fn forget_leader(&mut self, pid: i32) {
        if cfg!(target_os = "linux") {
            self.direct.remove(&pid);
        }
    }

    pub(crate) fn direct(&self) -> impl Iterator<Item = i32> {
        self.direct.iter().copied()
    }

    /// Children of this process that are neither direct ones nor inherited: orphans that the kernel gave to us.
    pub(crate) fn strays(&self) -> Vec<i32> {
        let keeper = self.keeper.as_ref().map(Keeper::pid);
        tree::own_children()
            .into_iter()
            .filter(|pid| !self.direct.contains(pid) && !self.foreign.contains(pid) && Some(*pid) != keeper)
            .collect()
    }

    /// Whether an orphan without our marker can only be ours: as init, or after an `exec` that brought children along, it
    /// may be somebody else's.
    pub(crate) fn owns_unmarked(&self) -> bool {
        self.subreaper && self.foreign.is_empty() && std::process::id() != 1
    }

    /// Whether orphans come to us, so that walking down from ourselves finds everything.
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
