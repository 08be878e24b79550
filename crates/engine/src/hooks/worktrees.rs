//! The session's hooks, for those who make and remove worktrees while a call runs.

use super::callers::{Caller, Callers};
use crate::hooks::Bell;
use crate::session::Io;
use crate::worktree::WorktreeHooks;
use std::sync::{Arc, Weak};
use wire::hooks::EventName;

/// Runs handlers before there is a session; those that need one say so.
pub(crate) fn runner_before(callers: Callers) -> Arc<dyn hooks::Runner> {
    Arc::new(Caller { shared: Arc::new(callers), spawner: Weak::new() })
}

impl Io {
    pub(crate) fn worktree_hooks(&self) -> WorktreeHooks {
        WorktreeHooks(Bell {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(EventName::WorktreeCreate),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.listener.clone()),
        })
    }
}
