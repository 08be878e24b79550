//! A session in a worktree: what changes when it enters, and what is restored when it leaves. Its transcript and its
//! settings stay where they are.

use super::{Worktree, WorktreeGuard, unsaved_work::UnsavedWork};
use crate::session::SessionIo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::StoreError;
use wire::entry::{MetaEntry, WorktreeSession};

#[derive(Debug)]
pub(crate) struct ActiveWorktree {
    pub(crate) worktree: Worktree,
    /// The directory the session was in before.
    pub(crate) previous_dir: PathBuf,
    pub(crate) right: WorktreeRight,
}

/// What the session may do with the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorktreeRight {
    /// The session created it, so it may remove it.
    Made,
    /// The user created it or started the session in it.
    Lent,
}

/// A move that a call decided; the session carries it out when the call has ended.
#[derive(Debug)]
pub(crate) enum WorktreeMove {
    Into(Arc<ActiveWorktree>),
    Back(PathBuf),
}

impl ActiveWorktree {
    /// The record from which a resumed session returns to the worktree.
    pub(crate) fn record(&self) -> WorktreeSession {
        WorktreeSession {
            original_cwd: self.previous_dir.display().to_string(),
            worktree_path: self.worktree.path.display().to_string(),
            worktree_name: self.worktree.name.clone(),
            worktree_branch: self.worktree.branch.clone(),
            original_branch: None,
            original_head_commit: Some(self.worktree.commit().to_owned()).filter(|commit| !commit.is_empty()),
            pre_enter_original_cwd: Some(self.previous_dir.display().to_string()),
            session_id: None,
            hook_based: self.worktree.maker == super::WorktreeMaker::Hooks,
        }
    }

    pub(crate) fn guard(&self) -> Arc<WorktreeGuard> {
        self.worktree.guard()
    }

    /// The notice when a session ends and nobody can be asked.
    pub(crate) async fn exit_notice(&self) -> String {
        let path = self.worktree.path.display();
        let branch = self.worktree.branch.as_ref().map(|branch| format!(" on branch {branch}")).unwrap_or_default();
        let holds = match self.worktree.unsaved_work().await {
            Ok(work) if work.is_none() => "nothing new".to_owned(),
            Ok(work) => work.to_string(),
            Err(_) => "what could not be looked at".to_owned(),
        };
        format!(
            "The worktree {path}{branch} is left in place; it holds {holds}. Remove it with: git worktree remove {path}"
        )
    }
}

impl SessionIo {
    /// Carries out the move that the last call decided.
    pub(crate) fn apply_move(&mut self) -> Result<(), StoreError> {
        match self.spawner.take_move() {
            None => Ok(()),
            Some(WorktreeMove::Into(stay)) => {
                self.relocate(&stay.worktree.path);
                self.worktree_guard = Some(stay.guard());
                self.record_worktree(Some(stay.record()))?;
                self.active_worktree = Some(stay);
                Ok(())
            }
            Some(WorktreeMove::Back(to)) => {
                self.relocate(&to);
                self.worktree_guard = None;
                self.active_worktree = None;
                self.record_worktree(None)
            }
        }
    }

    /// Agents are resumed from their sidecars, not from this line.
    pub(crate) fn record_worktree(&mut self, worktree_session: Option<WorktreeSession>) -> Result<(), StoreError> {
        if self.host.agent_id().is_some() {
            return Ok(());
        }
        let session_id = self.host.session_id.clone();
        let named = |stay: WorktreeSession| WorktreeSession {
            original_branch: Some(sys::git::branch(Path::new(&stay.original_cwd))).filter(|name| !name.is_empty()),
            session_id: Some(session_id.clone()),
            ..stay
        };
        let worktree_session = worktree_session.map(named);
        let worktree_session = worktree_session.map(Box::new);
        self.transcript.meta(MetaEntry::WorktreeState { worktree_session, session_id })
    }

    fn relocate(&mut self, to: &Path) {
        to.clone_into(&mut self.state.cwd.lock());
        to.clone_into(&mut self.directories.cwd);
        to.clone_into(&mut self.directories.project);
        self.watch.move_to(to);
        self.policy = Arc::new(self.watch.policy(self.mode));
        self.transcript.move_to(to);
        self.facts.cwd = to.display().to_string();
    }
}

/// Why `work` prevents a removal; `None` when it does not.
pub(super) fn removal_objection(work: &Result<UnsavedWork, String>) -> Option<String> {
    match work {
        Ok(work) if work.is_none() => None,
        Ok(work) => Some(format!("it holds {work}")),
        Err(why) => Some(format!("what it holds cannot be told ({why})")),
    }
}
