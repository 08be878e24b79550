//! Moves a session into a worktree and back, and records it.

use crate::session::SessionIo;
use session_parts::worktree::WorktreeMove;
use std::path::Path;
use store::StoreError;
use wire::entry::{MetaEntry, WorktreeSession};

impl SessionIo {
    /// Continues in another directory.
    pub(super) fn apply_move(&mut self, place: WorktreeMove) -> Result<(), StoreError> {
        match place {
            WorktreeMove::Into(active) => {
                self.relocate(&active.worktree.path);
                self.tooling.worktree_guard = Some(active.guard());
                self.record_worktree(Some(active.record()))?;
                self.tooling.active_worktree = Some(active);
                Ok(())
            }
            WorktreeMove::Back(to) => {
                self.relocate(&to);
                self.tooling.worktree_guard = None;
                self.tooling.active_worktree = None;
                self.record_worktree(None)
            }
        }
    }

    /// Agents are resumed from their sidecars, not from this line.
    pub(crate) fn record_worktree(&mut self, worktree_session: Option<WorktreeSession>) -> Result<(), StoreError> {
        if self.output.host.agent_id().is_some() {
            return Ok(());
        }
        let session_id = self.output.host.session_id.clone();
        let named = |active: WorktreeSession| WorktreeSession {
            original_branch: Some(sys::git::branch(Path::new(&active.original_cwd))).filter(|name| !name.is_empty()),
            session_id: Some(session_id.clone()),
            ..active
        };
        let worktree_session = worktree_session.map(named);
        let worktree_session = worktree_session.map(Box::new);
        self.output.transcript.meta(MetaEntry::WorktreeState { worktree_session, session_id })
    }

    fn relocate(&mut self, to: &Path) {
        to.clone_into(&mut self.tooling.state.cwd.lock());
        to.clone_into(&mut self.tooling.directories.cwd);
        to.clone_into(&mut self.tooling.directories.project);
        self.rules.watch.move_to(to);
        let policy = self.rules.watch.policy(self.rules.mode());
        self.rules.set_policy(policy);
        self.output.transcript.move_to(to);
        self.output.facts.cwd = to.display().to_string();
    }
}
