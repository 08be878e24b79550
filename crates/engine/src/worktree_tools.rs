//! EnterWorktree and ExitWorktree. The calls create, check and remove worktrees; the session moves when the call has
//! ended. Work is discarded only when the call asks for it, and then it is saved to a reference first.

use crate::tool_facts;
use crate::view::{CallEffect, SessionView};
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::worktree::active::{WorktreeRight, removal_objection};
use session_parts::worktree::{
    ActiveWorktree, Worktree, WorktreeHolder, WorktreeMove, WorktreeName, WorktreeRequest, verify,
};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use tools::input::ToolInput;
use tools::{CallConcurrency, CallContext, InputError, ModelText, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};

pub(crate) struct EnterWorktree {
    spec: ToolSpec,
}

pub(crate) struct ExitWorktree {
    spec: ToolSpec,
}

impl EnterWorktree {
    pub(crate) const NAME: &'static str = tool_facts::ENTER_WORKTREE.0;

    pub(crate) fn new() -> Self {
        let spec = ToolSpec::of(
            Self::NAME,
            include_str!("worktree_tools/enter.md"),
            include_str!("worktree_tools/enter.schema.json"),
            tool_facts::ENTER_WORKTREE.1,
        );
        Self { spec }
    }
}

impl ExitWorktree {
    pub(crate) const NAME: &'static str = tool_facts::EXIT_WORKTREE.0;

    pub(crate) fn new() -> Self {
        let spec = ToolSpec::of(
            Self::NAME,
            include_str!("worktree_tools/exit.md"),
            include_str!("worktree_tools/exit.schema.json"),
            tool_facts::EXIT_WORKTREE.1,
        );
        Self { spec }
    }
}

impl Tool for EnterWorktree {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        let name = input.opt_string("name")?.filter(|name| !name.is_empty());
        let path = input.opt_string("path")?.filter(|path| !path.is_empty());
        if name.is_some() && path.is_some() {
            return Err(input.refuse("path", "give either a name or a path"));
        }
        let target = match path {
            Some(path) => EnterTarget::Existing(path),
            None => EnterTarget::Named(
                WorktreeName::parse(&name.unwrap_or_default())
                    .ok()
                    .filter(|name| name.request.is_none())
                    .ok_or_else(|| input.refuse("name", "use letters, digits, dots, dashes, underscores and /"))?,
            ),
        };
        Ok(Box::new(EnterWorktreeCall { target }))
    }
}

impl Tool for ExitWorktree {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        let action = input.opt_choice("action", &["keep", "remove"])?.ok_or_else(|| input.missing("action"))?;
        let discards = input.opt_bool("discard_changes")?.unwrap_or(false);
        let action = match (action, discards) {
            ("remove", true) => ExitAction::Discard,
            ("remove", false) => ExitAction::Remove,
            _ => ExitAction::Keep,
        };
        Ok(Box::new(ExitWorktreeCall { action }))
    }
}

enum EnterTarget {
    Named(WorktreeName),
    Existing(String),
}

struct EnterWorktreeCall {
    target: EnterTarget,
}

impl ToolCall for EnterWorktreeCall {
    /// A path outside our folder of worktrees belongs to somebody else and needs permission.
    fn access(&self, at: &Workspace) -> Vec<Access> {
        let harmless = match &self.target {
            EnterTarget::Named(_) => true,
            EnterTarget::Existing(path) => is_ours(&at.absolute(path), &at.project),
        };
        vec![if harmless { Access::Harmless } else { Access::Use }]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.enter(&cx).await.unwrap_or_else(ToolOutcome::failed) })
    }
}

fn is_ours(path: &Path, project: &Path) -> bool {
    project.ancestors().any(|dir| {
        let folder = dir.join(".claude/worktrees");
        path != folder && path.starts_with(folder)
    })
}

impl EnterWorktreeCall {
    async fn enter(self, cx: &CallContext) -> Result<ToolOutcome, ModelText> {
        let view = SessionView::of(cx)?;
        if view.worktree_guard.is_some() {
            return Err("A worktree is already in use here. Leave it with ExitWorktree first.".into());
        }
        let active = match self.target {
            EnterTarget::Named(name) => create_new(&view, name, cx).await?,
            EnterTarget::Existing(path) => open_path(&view, &cx.workspace.absolute(&path), cx)?,
        };
        let (path, branch) = (active.worktree.path.clone(), active.worktree.branch.clone());
        let on = branch.as_ref().map(|branch| format!(" on branch {branch}")).unwrap_or_default();
        let message = format!(
            "The session works in the worktree {}{on} now, started from {}. Paths and commands belong to it; the main \
             checkout cannot be changed. Leave with ExitWorktree.",
            path.display(),
            active.worktree.started_from()
        );
        let mut structured = json!({"worktreePath": path.display().to_string()});
        if let Some(branch) = branch {
            structured["worktreeBranch"] = branch.into();
        }
        structured["message"] = message.clone().into();
        let effects = vec![CallEffect::Move(WorktreeMove::Into(Arc::new(active))).boxed()];
        Ok(ToolOutcome { effects, ..ToolOutcome::text(message, wire::raw::to_raw(&structured).ok()) })
    }
}

async fn create_new(view: &SessionView, name: WorktreeName, cx: &CallContext) -> Result<ActiveWorktree, ModelText> {
    let request = WorktreeRequest {
        project: &view.project_dir,
        name,
        holder: WorktreeHolder::Session(&cx.state.facts.session_id),
        settings: &view.watch.loaded.settings.worktree,
        remote: view.remote(),
        env: &view.env,
        hooks: Some(&view.worktree_hooks),
    };
    let worktree = Worktree::create(request).await?;
    Ok(ActiveWorktree { worktree, previous_dir: view.project_dir.clone(), right: WorktreeRight::Made })
}

fn open_path(view: &SessionView, path: &Path, cx: &CallContext) -> Result<ActiveWorktree, ModelText> {
    let refused =
        |why: &str| ModelText::from(format!("Refusing to use {} as an isolation worktree: {why}.", path.display()));
    let root = sys::git::root(&view.project_dir).ok_or_else(|| refused("this session is in no repository"))?;
    let main = sys::git::main_checkout(&root).unwrap_or_else(|| root.clone());
    if sys::real_path::path(path) != path {
        return Err(refused("a link leads to it"));
    }
    verify(path, &main).map_err(|why| refused(&why))?;
    let branch = sys::git::branch(path);
    let branch = Some(branch).filter(|branch| !matches!(branch.as_str(), "" | "HEAD"));
    let worktree = Worktree::reopen(path.to_path_buf(), branch, String::new(), &view.env);
    let worktree = worktree.ok_or_else(|| refused("the repository does not list it as a worktree"))?;
    worktree.lock(WorktreeHolder::Session(&cx.state.facts.session_id))?;
    Ok(ActiveWorktree { worktree, previous_dir: view.project_dir.clone(), right: WorktreeRight::Lent })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExitAction {
    Keep,
    Remove,
    Discard,
}

struct ExitWorktreeCall {
    action: ExitAction,
}

impl ToolCall for ExitWorktreeCall {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.leave(&cx).await.unwrap_or_else(ToolOutcome::failed) })
    }
}

impl ExitWorktreeCall {
    async fn leave(self, cx: &CallContext) -> Result<ToolOutcome, ModelText> {
        let view = SessionView::of(cx)?;
        let Some(active) = &view.active_worktree else {
            return Err("No worktree was entered here with EnterWorktree, so there is none to leave.".into());
        };
        let path = active.worktree.path.display().to_string();
        let from = if active.previous_dir.is_dir() {
            active.previous_dir.clone()
        } else {
            sys::real_path::path(Path::new("/"))
        };
        let gone = match self.action {
            ExitAction::Keep => {
                active.worktree.unlock();
                None
            }
            ExitAction::Remove | ExitAction::Discard => Some(self.remove(active, &view).await?),
        };
        let mut message = match &gone {
            None => format!("Left the worktree {path}; it stays as it is."),
            Some(_) => format!("Removed the worktree {path}."),
        };
        if let Some(reference) = gone.as_ref().and_then(|gone| gone.reference.as_ref()) {
            write!(
                message,
                " What it held is kept as {reference} (git worktree add <path> {reference} brings it back)."
            )
            .ok();
        }
        write!(message, " The session works in {} again.", from.display()).ok();
        let structured = wire::raw::to_raw(&self.structured(active, &from, gone.as_ref(), &message)).ok();
        let effects = vec![CallEffect::Move(WorktreeMove::Back(from)).boxed()];
        Ok(ToolOutcome { effects, ..ToolOutcome::text(message, structured) })
    }

    fn structured(
        &self,
        active: &ActiveWorktree,
        from: &Path,
        gone: Option<&RemovedWorktree>,
        message: &str,
    ) -> serde_json::Value {
        let mut fields = json!({
            "action": if self.action == ExitAction::Keep { "keep" } else { "remove" },
            "originalCwd": from.display().to_string(),
            "worktreePath": active.worktree.path.display().to_string(),
        });
        if let Some(branch) = &active.worktree.branch {
            fields["worktreeBranch"] = branch.clone().into();
        }
        if let Some(gone) = gone.filter(|gone| gone.reference.is_some()) {
            fields["discardedFiles"] = gone.work.files.into();
            fields["discardedCommits"] = gone.work.commits.into();
        }
        fields["message"] = message.into();
        fields
    }

    async fn remove(&self, active: &ActiveWorktree, view: &SessionView) -> Result<RemovedWorktree, ModelText> {
        let path = active.worktree.path.display();
        if active.right == WorktreeRight::Lent {
            return Err(format!(
                "The worktree {path} was not made by this session, so it is not removed. Leave it with action keep."
            )
            .into());
        }
        let work = active.worktree.unsaved_work().await;
        let objection = removal_objection(&work);
        let mut reference = None;
        match (objection, self.action) {
            (Some(why), ExitAction::Remove | ExitAction::Keep) => {
                return Err(format!(
                    "The worktree {path} is not removed: {why}. Commit and merge or push it, leave it with action keep, or \
                     ask the user whether it may be lost and then set discard_changes."
                ).into());
            }
            (Some(_), ExitAction::Discard) => {
                let kept = active.worktree.save_to_reference().await;
                reference = Some(kept.map_err(|why| format!("The worktree {path} is not removed: {why}."))?);
            }
            (None, _) => {}
        }
        active.worktree.remove(Some(&view.worktree_hooks)).await?;
        Ok(RemovedWorktree { work: work.unwrap_or_default(), reference })
    }
}

/// What was removed.
struct RemovedWorktree {
    work: session_parts::worktree::unsaved_work::UnsavedWork,
    /// The reference that keeps the discarded work; `None` when there was none.
    reference: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn only_our_own_folder_is_entered_unasked() {
        let project = PathBuf::from("/r/sub");
        for (path, ours) in [
            ("/r/.claude/worktrees/a", true),
            ("/r/sub/.claude/worktrees/a", true),
            ("/r/.claude/worktrees", false),
            ("/elsewhere/.claude/worktrees/a", false),
            ("/r/tree", false),
        ] {
            assert_eq!(is_ours(Path::new(path), &project), ours, "{path}");
        }
    }
}
