//! EnterWorktree and ExitWorktree. The calls make, check and remove; the session itself moves once the call has ended. Work
//! is thrown away only when the call says so, and then it is kept aside first.

use super::stay::{Right, objection};
use super::{Holder, Move, Name, Order, Stay, Worktree, verify};
use crate::agents::{Spawner, Standing};
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use tools::input::Input;
use tools::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};

pub(crate) struct EnterWorktree {
    spec: Spec,
    spawner: Arc<Spawner>,
}

pub(crate) struct ExitWorktree {
    spec: Spec,
    spawner: Arc<Spawner>,
}

impl EnterWorktree {
    pub(crate) const NAME: &'static str = "EnterWorktree";

    pub(crate) fn new(spawner: Arc<Spawner>) -> Self {
        let spec = Spec::of(Self::NAME, include_str!("enter.md"), include_str!("enter.schema.json"));
        Self { spec, spawner }
    }
}

impl ExitWorktree {
    pub(crate) const NAME: &'static str = "ExitWorktree";

    pub(crate) fn new(spawner: Arc<Spawner>) -> Self {
        let spec = Spec::of(Self::NAME, include_str!("exit.md"), include_str!("exit.schema.json"));
        Self { spec, spawner }
    }
}

impl Tool for EnterWorktree {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of(Self::NAME, input)?;
        let name = input.opt_string("name")?.filter(|name| !name.is_empty());
        let path = input.opt_string("path")?.filter(|path| !path.is_empty());
        if name.is_some() && path.is_some() {
            return Err(input.refuse("path", "give either a name or a path"));
        }
        let target = match path {
            Some(path) => Target::Existing(path),
            None => Target::Named(
                Name::parse(&name.unwrap_or_default())
                    .ok()
                    .filter(|name| name.request.is_none())
                    .ok_or_else(|| input.refuse("name", "use letters, digits, dots, dashes, underscores and /"))?,
            ),
        };
        Ok(Box::new(Enter { target, spawner: Arc::clone(&self.spawner) }))
    }
}

impl Tool for ExitWorktree {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of(Self::NAME, input)?;
        let action = input.opt_choice("action", &["keep", "remove"])?.ok_or_else(|| input.missing("action"))?;
        let discards = input.opt_bool("discard_changes")?.unwrap_or(false);
        let fate = match (action, discards) {
            ("remove", true) => Fate::Discard,
            ("remove", false) => Fate::Remove,
            _ => Fate::Keep,
        };
        Ok(Box::new(Exit { fate, spawner: Arc::clone(&self.spawner) }))
    }
}

enum Target {
    Named(Name),
    Existing(String),
}

struct Enter {
    target: Target,
    spawner: Arc<Spawner>,
}

impl Call for Enter {
    /// Whatever lies outside our own folder of worktrees is somebody else's, and asked about.
    fn access(&self, at: &Workspace) -> Vec<Access> {
        let harmless = match &self.target {
            Target::Named(_) => true,
            Target::Existing(path) => is_ours(&at.absolute(path), &at.project),
        };
        vec![if harmless { Access::Harmless } else { Access::Use }]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { self.enter(&cx).await.unwrap_or_else(Outcome::failed) })
    }
}

fn is_ours(path: &Path, project: &Path) -> bool {
    project.ancestors().any(|dir| {
        let folder = dir.join(".claude/worktrees");
        path != folder && path.starts_with(folder)
    })
}

impl Enter {
    async fn enter(self, cx: &CallCx) -> Result<Outcome, String> {
        let standing = self.spawner.standing()?;
        if standing.fenced {
            return Err("A worktree is already in use here. Leave it with ExitWorktree first.".into());
        }
        let stay = match self.target {
            Target::Named(name) => made(&standing, name, cx).await?,
            Target::Existing(path) => existing(&standing, &cx.workspace.absolute(&path), cx)?,
        };
        let (path, branch) = (stay.worktree.path.clone(), stay.worktree.branch.clone());
        let on = branch.as_ref().map(|branch| format!(" on branch {branch}")).unwrap_or_default();
        let message = format!(
            "The session works in the worktree {}{on} now, started from {}. Paths and commands belong to it; the main \
             checkout cannot be changed. Leave with ExitWorktree.",
            path.display(),
            stay.worktree.started_from()
        );
        let mut structured = json!({"worktreePath": path.display().to_string()});
        if let Some(branch) = branch {
            structured["worktreeBranch"] = branch.into();
        }
        structured["message"] = message.clone().into();
        self.spawner.decide_move(Move::Into(Arc::new(stay)));
        Ok(Outcome::text(message, wire::raw::to_raw(&structured).ok()))
    }
}

async fn made(standing: &Standing, name: Name, cx: &CallCx) -> Result<Stay, String> {
    let order = Order {
        project: &standing.place,
        name,
        holder: Holder::Session(&cx.state.facts.session_id),
        settings: &standing.settings,
        remote: standing.remote,
        env: &standing.env,
        hooks: Some(&standing.hooks),
    };
    let worktree = Worktree::create(order).await?;
    Ok(Stay { worktree, from: standing.place.clone(), right: Right::Made })
}

fn existing(standing: &Standing, path: &Path, cx: &CallCx) -> Result<Stay, String> {
    let refused = |why: &str| format!("Refusing to use {} as an isolation worktree: {why}.", path.display());
    let root = sys::git::root(&standing.place).ok_or_else(|| refused("this session is in no repository"))?;
    let main = sys::git::main_checkout(&root).unwrap_or_else(|| root.clone());
    if sys::real::path(path) != path {
        return Err(refused("a link leads to it"));
    }
    verify(path, &main).map_err(|why| refused(&why))?;
    let branch = sys::git::branch(path);
    let branch = Some(branch).filter(|branch| !matches!(branch.as_str(), "" | "HEAD"));
    let worktree = Worktree::reopen(path.to_path_buf(), branch, String::new(), &standing.env);
    let worktree = worktree.ok_or_else(|| refused("the repository does not list it as a worktree"))?;
    worktree.hold(Holder::Session(&cx.state.facts.session_id))?;
    Ok(Stay { worktree, from: standing.place.clone(), right: Right::Lent })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Remove,
    Discard,
}

struct Exit {
    fate: Fate,
    spawner: Arc<Spawner>,
}

impl Call for Exit {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, _cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { self.leave().await.unwrap_or_else(Outcome::failed) })
    }
}

impl Exit {
    async fn leave(self) -> Result<Outcome, String> {
        let standing = self.spawner.standing()?;
        let Some(stay) = &standing.stay else {
            return Err("No worktree was entered here with EnterWorktree, so there is none to leave.".into());
        };
        let path = stay.worktree.path.display().to_string();
        let from = if stay.from.is_dir() { stay.from.clone() } else { sys::real::path(Path::new("/")) };
        let gone = match self.fate {
            Fate::Keep => {
                stay.worktree.let_go();
                None
            }
            Fate::Remove | Fate::Discard => Some(self.remove(stay, &standing).await?),
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
        self.spawner.decide_move(Move::Back(from.clone()));
        Ok(Outcome::text(
            message.clone(),
            wire::raw::to_raw(&self.structured(stay, &from, gone.as_ref(), &message)).ok(),
        ))
    }

    fn structured(&self, stay: &Stay, from: &Path, gone: Option<&Gone>, message: &str) -> serde_json::Value {
        let mut fields = json!({
            "action": if self.fate == Fate::Keep { "keep" } else { "remove" },
            "originalCwd": from.display().to_string(),
            "worktreePath": stay.worktree.path.display().to_string(),
        });
        if let Some(branch) = &stay.worktree.branch {
            fields["worktreeBranch"] = branch.clone().into();
        }
        if let Some(gone) = gone.filter(|gone| gone.reference.is_some()) {
            fields["discardedFiles"] = gone.work.files.into();
            fields["discardedCommits"] = gone.work.commits.into();
        }
        fields["message"] = message.into();
        fields
    }

    async fn remove(&self, stay: &Stay, standing: &Standing) -> Result<Gone, String> {
        let path = stay.worktree.path.display();
        if stay.right == Right::Lent {
            return Err(format!(
                "The worktree {path} was not made by this session, so it is not removed. Leave it with action keep."
            ));
        }
        let work = stay.worktree.work().await;
        let objection = objection(&work);
        let mut reference = None;
        match (objection, self.fate) {
            (Some(why), Fate::Remove | Fate::Keep) => {
                return Err(format!(
                    "The worktree {path} is not removed: {why}. Commit and merge or push it, leave it with action keep, or \
                     ask the user whether it may be lost and then set discard_changes."
                ));
            }
            (Some(_), Fate::Discard) => {
                let kept = stay.worktree.keep_aside().await;
                reference = Some(kept.map_err(|why| format!("The worktree {path} is not removed: {why}."))?);
            }
            (None, _) => {}
        }
        stay.worktree.remove(Some(&standing.hooks)).await?;
        Ok(Gone { work: work.unwrap_or_default(), reference })
    }
}

/// What was removed.
struct Gone {
    work: super::work::Work,
    /// Where it is kept.
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
