//! `--worktree`, and the return to the worktree of a resumed session. Both happen before the session opens: it starts
//! in the worktree or not at all.

use super::active::WorktreeRight;
use super::{
    ActiveWorktree, RemoteAccess, Worktree, WorktreeHolder, WorktreeHooks, WorktreeMaker, WorktreeName, WorktreeRequest,
};
use crate::hooks::HookTrigger;
use crate::hooks::{self, HookCallers, HookRestriction, HostHooks};
use crate::host::HostSender;
use crate::options::{StartRequest, WorktreeChoice};
use crate::questions::HostQuestions;
use crate::side_requests::SideClient;
use crate::start_error::{StartError, StartFailure};
use ::hooks::{HandlerEnvironment, Hooks, SilentProgress};
use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use model::RequestIdentity;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::entry::WorktreeSession;
use wire::hooks::HookBase;

/// The state of the worktree that a session was in.
pub enum WorktreeReturn {
    Inside(Arc<ActiveWorktree>),
    /// It no longer exists; the text is a notice.
    Gone(String),
}

/// Where the worktree that the command line asks for will be, unless a hook chooses another place. A name that would be
/// made up is made up here.
pub fn planned_path(boot: &mut StartRequest) -> Option<PathBuf> {
    let choice = boot.options.conversation.worktree.as_mut()?;
    let name = WorktreeName::parse(choice.name()).ok()?;
    if choice.name().trim().is_empty() {
        *choice = choice.named(name.text.clone());
    }
    let root = sys::git::root(&boot.cwd.canonicalize().ok()?)?;
    let main = sys::git::main_checkout(&root).unwrap_or(root);
    Some(main.join(super::WORKTREES).join(name.text))
}

/// Creates or opens the worktree that the command line asks for, and moves the start there.
pub async fn enter(
    mut boot: StartRequest,
    selection: &SettingsSelection,
) -> Result<(StartRequest, Option<Arc<ActiveWorktree>>), StartError> {
    let Some(choice) = boot.options.conversation.worktree.take() else { return Ok((boot, None)) };
    let failed = |why: String| StartError::of(StartFailure::NewWorktree, why);
    let cwd = boot.cwd.canonicalize().map_err(|e| failed(format!("{}: {e}", boot.cwd.display())))?;
    let loaded = ConfigLoader::open(&cwd, &boot.env, selection).map_err(|e| failed(e.to_string()))?;
    if matches!(choice, WorktreeChoice::WhereTrusted(_)) && !loaded.trusted {
        return Err(failed("--worktree needs a trusted folder: start gimlet here once without it and accept.".into()));
    }
    let name = WorktreeName::parse(choice.name()).map_err(failed)?;
    let hooks = hooks_before(&boot, &cwd, &loaded);
    let request = WorktreeRequest {
        project: &cwd,
        holder: WorktreeHolder::Session(&name.text.clone()),
        name,
        settings: &loaded.settings.worktree,
        remote: if loaded.trusted { RemoteAccess::MayBeAsked } else { RemoteAccess::AsLastSeen },
        env: &loaded.env,
        hooks: Some(&hooks),
    };
    let worktree = Worktree::create(request).await.map_err(failed)?;
    tracing::info!(path = %worktree.path.display(), from = worktree.started_from(), "the session starts in a worktree");
    boot.cwd.clone_from(&worktree.path);
    let active = Arc::new(ActiveWorktree { worktree, previous_dir: cwd, right: WorktreeRight::Lent });
    Ok((boot, Some(active)))
}

/// The hooks of the current folder, run before there is a session.
fn hooks_before(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig) -> WorktreeHooks {
    let reduced = HookRestriction::from((boot.options.configuration.bare, boot.options.configuration.safe_mode));
    let (catalogue, limits) = hooks::catalogue(loaded, reduced);
    let marks = [("CLAUDECODE", "1".to_owned()), ("CLAUDE_PID", sys::pid().to_string())];
    let environment = HandlerEnvironment::new(&loaded.env, cwd, config::environment::SECRET_VARIABLES, &marks);
    let identity = Arc::new(RequestIdentity::new("", &boot.options.host.entrypoint, &loaded.env));
    let side = Arc::new(SideClient::new(identity, String::new()));
    // No host is connected yet.
    let nobody = HostSender::new(tokio::sync::mpsc::channel(1).0, String::new());
    let functions = Arc::new(HostHooks::new(HostQuestions::new(nobody, None), BTreeMap::default()));
    let runner = hooks::runner_without_session(HookCallers::new(loaded.env.clone(), side, limits, functions));
    let program = sys::process::own_binary().unwrap_or_default();
    let base = HookBase { cwd: cwd.display().to_string(), transcript_path: String::new(), ..HookBase::default() };
    WorktreeHooks(HookTrigger {
        hooks: Arc::new(Hooks::new(catalogue, environment, runner, program)),
        base,
        cwd: cwd.to_path_buf(),
        progress: Arc::new(SilentProgress),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorktreeStateLine {
    #[serde(rename = "type")]
    kind: String,
    worktree_session: Option<WorktreeSession>,
}

/// The worktree a conversation was left in; `None` when it was in none.
pub fn recorded(loaded: &store::LoadedConversation) -> Option<WorktreeSession> {
    let line = loaded.sticky.iter().rev().find(|line| line.starts_with(r#"{"type":"worktree-state""#))?;
    let state: WorktreeStateLine = serde_json::from_str(line).ok()?;
    state.worktree_session.filter(|_| state.kind == "worktree-state")
}

/// Returns to the worktree, after checking that it is still the same.
pub fn reenter(session: &WorktreeSession, cwd: &Path, env: &Env) -> Result<WorktreeReturn, StartError> {
    let path = PathBuf::from(&session.worktree_path);
    if std::fs::symlink_metadata(&path).is_err() {
        let text = format!(
            "Warning: the worktree {} of this session is gone; it continues in {}",
            path.display(),
            cwd.display()
        );
        return Ok(WorktreeReturn::Gone(text));
    }
    let refused = |why: &str| {
        let message = format!("this session works in the worktree {}, which cannot be used: {why}.", path.display());
        StartError::of(StartFailure::Worktree, message)
            .with_hint(format!("Repair it, or remove the folder to continue in {}.", cwd.display()))
    };
    let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
    if !is_folder || sys::real_path::path(&path) != path {
        return Err(refused("a link leads to it, or it is no folder"));
    }
    let commit = session.original_head_commit.clone().unwrap_or_default();
    let known = Worktree::reopen(path.clone(), session.worktree_branch.clone(), commit, env);
    let worktree = match known {
        Some(worktree) if session.hook_based => Worktree { maker: WorktreeMaker::Hooks, ..worktree },
        Some(worktree) => worktree,
        None if session.hook_based => Worktree::outside_git(path.clone(), &session.original_cwd, env),
        None => return Err(refused("its repository does not list it as a worktree")),
    };
    worktree.lock(WorktreeHolder::Session(&session.worktree_name)).map_err(|why| refused(&why))?;
    let from = PathBuf::from(&session.original_cwd);
    Ok(WorktreeReturn::Inside(Arc::new(ActiveWorktree { worktree, previous_dir: from, right: WorktreeRight::Lent })))
}
