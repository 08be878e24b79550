//! What the calls of one batch may know of their session, and what they may ask it to change. The view is built once
//! before the calls run; the session applies the effects at one place, after each call has ended.

use crate::agents::AgentSpawner;
use permission::Policy;
use session_parts::checkpoints::CheckpointScope;
use session_parts::context::ForkContext;
use session_parts::grants::{BypassAvailability, ModeOwner};
use session_parts::hooks::InheritedHooks;
use session_parts::mcp::ToldTools;
use session_parts::permission_prompt::PermissionChannel;
use session_parts::plan::PlanState;
use session_parts::provider::ProviderConnection;
use session_parts::recall::RecallPlace;
use session_parts::settings_watch::SettingsWatch;
use session_parts::skills::invoke::SkillInvocation;
use session_parts::worktree::{ActiveWorktree, RemoteAccess, WorktreeGuard, WorktreeHooks, WorktreeMove};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use sys::Env;
use tokio::sync::watch;
use tools::contract::SessionEffect;
use tools::{CallContext, ModelText};
use wire::mode::PermissionMode;

/// The state of a session when a batch of calls begins. Agents start from it.
#[derive(Clone)]
pub(crate) struct SessionView {
    pub env: Env,
    pub watch: SettingsWatch,
    pub policy: Arc<Policy>,
    pub mode: PermissionMode,
    pub model: String,
    pub provider: ProviderConnection,
    /// The directory its agents start in.
    pub project_dir: PathBuf,
    pub worktree_guard: Option<Arc<WorktreeGuard>>,
    pub active_worktree: Option<Arc<ActiveWorktree>>,
    pub worktree_hooks: WorktreeHooks,
    pub hooks: InheritedHooks,
    /// The channel of the root session.
    pub permission_channel: PermissionChannel,
    pub chosen_mode: watch::Receiver<Option<PermissionMode>>,
    pub mode_owner: ModeOwner,
    pub bypass: BypassAvailability,
    pub grants_seen: usize,
    pub plan: PlanState,
    /// What agents change belongs to the prompt of this moment.
    pub checkpoints: CheckpointScope,
    /// Starts agents for this session. Weak, because it keeps a view for its hooks.
    pub spawner: Weak<AgentSpawner>,
    /// The context a fork starts with; `None` where forks are switched off.
    pub fork_context: Option<Arc<ForkContext>>,
    /// Where the dropped part of the conversation is; `None` when it holds everything.
    pub recall: Option<RecallPlace>,
    /// What the context of a fork was told about tools.
    pub fork_tools: Option<ToldTools>,
}

impl SessionView {
    /// The view that a call was given; the error is a text for the model.
    pub(crate) fn of(cx: &CallContext) -> Result<Arc<Self>, ModelText> {
        let view = cx.session.clone().and_then(|session| session.downcast::<Self>().ok());
        view.ok_or_else(|| "This call cannot run outside of a session's turn.".into())
    }

    pub(crate) fn remote(&self) -> RemoteAccess {
        if self.watch.loaded.trusted { RemoteAccess::MayBeAsked } else { RemoteAccess::AsLastSeen }
    }
}

/// What a call asks its session to do once it has ended.
pub(crate) enum CallEffect {
    /// Continue in another directory.
    Move(WorktreeMove),
    /// Add the text of a skill, its rules and its hooks.
    LoadSkill(Box<SkillInvocation>),
}

impl CallEffect {
    pub(crate) fn boxed(self) -> SessionEffect {
        SessionEffect(Box::new(self))
    }

    /// `None` for an effect that is not of this engine.
    pub(crate) fn read(effect: SessionEffect) -> Option<Self> {
        effect.0.downcast::<Self>().ok().map(|effect| *effect)
    }
}
