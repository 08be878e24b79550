//! A session in a worktree: what changes when it enters, and what is restored when it leaves. Its transcript and its
//! settings stay where they are.

use super::{Worktree, WorktreeGuard, unsaved_work::UnsavedWork};
use std::path::PathBuf;
use std::sync::Arc;
use wire::entry::WorktreeSession;

#[derive(Debug)]
pub struct ActiveWorktree {
    pub worktree: Worktree,
    /// The directory the session was in before.
    pub previous_dir: PathBuf,
    pub right: WorktreeRight,
}

/// What the session may do with the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeRight {
    /// The session created it, so it may remove it.
    Made,
    /// The user created it or started the session in it.
    Lent,
}

/// A move that a call decided; the session carries it out when the call has ended.
#[derive(Debug)]
pub enum WorktreeMove {
    Into(Arc<ActiveWorktree>),
    Back(PathBuf),
}

impl ActiveWorktree {
    /// The record from which a resumed session returns to the worktree.
    pub fn record(&self) -> WorktreeSession {
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

    pub fn guard(&self) -> Arc<WorktreeGuard> {
        self.worktree.guard()
    }

    /// The notice when it held nothing new and was removed.
    pub fn removal_notice(&self) -> String {
        format!("The worktree {} held nothing new and was removed.", self.worktree.path.display())
    }

    /// The notice when a session ends and nobody can be asked.
    pub async fn exit_notice(&self) -> String {
        let path = self.worktree.path.display();
        let branch = self.worktree.branch.as_ref().map(|branch| format!(" on branch {branch}")).unwrap_or_default();
        let holds = match self.worktree.unsaved_work().await {
            Ok(work) if work.is_none() => "nothing new".to_owned(),
            Ok(work) => work.to_string(),
            Err(_) => "what could not be checked".to_owned(),
        };
        format!(
            "The worktree {path}{branch} is left in place; it holds {holds}. Remove it with: git worktree remove {path}"
        )
    }
}

/// Why `work` prevents a removal; `None` when it does not.
pub fn removal_objection(work: &Result<UnsavedWork, String>) -> Option<String> {
    match work {
        Ok(work) if work.is_none() => None,
        Ok(work) => Some(format!("it holds {work}")),
        Err(why) => Some(format!("what it holds is not known ({why})")),
    }
}
