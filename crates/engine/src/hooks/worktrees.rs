//! The session's hooks for creating and removing worktrees while a call runs.

use super::callers::{HookCaller, HookCallers};
use crate::hooks::HookTrigger;
use crate::session::SessionIo;
use crate::worktree::WorktreeHooks;
use std::sync::{Arc, Weak};
use wire::hooks::HookEventName;

/// Runs handlers before there is a session; handlers that need one fail.
pub(crate) fn runner_without_session(callers: HookCallers) -> Arc<dyn hooks::HandlerRunner> {
    Arc::new(HookCaller { shared: Arc::new(callers), spawner: Weak::new() })
}

impl SessionIo {
    pub(crate) fn worktree_hooks(&self) -> WorktreeHooks {
        WorktreeHooks(HookTrigger {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(HookEventName::WorktreeCreate),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.reporter.clone()),
        })
    }
}
