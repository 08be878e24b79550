//! The view of a session for its calls and for agents that its hooks start, and what calls change in it.

use super::{LiveSession, SessionIo};
use crate::agents::builtin;
use crate::view::{CallEffect, SessionView};
use session_parts::context::ModelContext;
use std::sync::Arc;
use store::StoreError;
use tools::contract::SessionEffect;

impl SessionIo {
    /// Applies what an ended call asked for. Skills are kept until the results of the batch are recorded.
    pub(crate) fn apply_effects(&mut self, effects: Vec<SessionEffect>) -> Result<(), StoreError> {
        for effect in effects {
            match CallEffect::read(effect) {
                Some(CallEffect::Move(place)) => self.apply_move(place)?,
                Some(CallEffect::LoadSkill(invocation)) => self.knowledge.loaded_skills.push(*invocation),
                None => tracing::warn!("a tool asked for an effect that no session knows"),
            }
        }
        Ok(())
    }

    pub(crate) fn view(&self, context: &ModelContext) -> Arc<SessionView> {
        let forks = builtin::has_forks(&self.env) && !self.tooling.spawner.is_fork();
        Arc::new(SessionView {
            fork_context: forks.then(|| Arc::new(context.fork_context())),
            recall: self.recall_place(context),
            fork_tools: forks.then(|| self.knowledge.mcp.told()),
            env: self.env.clone(),
            watch: self.rules.watch.clone(),
            policy: Arc::clone(self.rules.policy()),
            mode: self.rules.mode(),
            model: context.model().to_owned(),
            provider: self.provider.connection.clone(),
            project_dir: self.tooling.directories.project.clone(),
            worktree_guard: self.tooling.worktree_guard.clone(),
            active_worktree: self.tooling.active_worktree.clone(),
            worktree_hooks: self.worktree_hooks(),
            hooks: self.hooks.inherit(),
            permission_channel: self.rules.permission_channel.clone(),
            chosen_mode: self.rules.chosen_mode.clone(),
            mode_owner: self.rules.mode_owner,
            bypass: self.rules.bypass,
            grants_seen: self.rules.grants_seen,
            plan: self.knowledge.plan.clone(),
            checkpoints: self.output.checkpoints.clone(),
            spawner: Arc::downgrade(&self.tooling.spawner),
        })
    }
}

impl LiveSession {
    /// Shows the current state to agents that hooks may start.
    pub(crate) fn publish_for_hooks(&self) {
        if self.io.hooks.has_agent_handlers() {
            self.io.tooling.spawner.set_hook_view(self.io.view(&self.context));
        }
    }
}
