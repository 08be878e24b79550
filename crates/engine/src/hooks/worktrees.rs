//! The session's hooks, for those who make and remove worktrees while a call runs.

use crate::session::Io;
use crate::worktree::WorktreeHooks;
use std::sync::Arc;
use wire::hooks::EventName;

impl Io {
    pub(crate) fn worktree_hooks(&self) -> WorktreeHooks {
        WorktreeHooks {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(EventName::WorktreeCreate),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.listener.clone()),
        }
    }
}
