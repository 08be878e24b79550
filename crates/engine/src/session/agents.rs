//! The view of a session for its calls and for agents that its hooks start, and what calls change in it.

use super::{Session, SessionIo};
use crate::agents::builtin;
use crate::context::ModelContext;
use crate::view::{CallEffect, SessionView};
use std::sync::Arc;
use store::StoreError;
use tools::contract::SessionEffect;

impl SessionIo {
    /// Applies what an ended call asked for. Skills are kept until the results of the batch are recorded.
    pub(crate) fn apply_effects(&mut self, effects: Vec<SessionEffect>) -> Result<(), StoreError> {
        for effect in effects {
            match CallEffect::read(effect) {
                Some(CallEffect::Move(place)) => self.apply_move(place)?,
                Some(CallEffect::LoadSkill(invocation)) => self.loaded_skills.push(*invocation),
                None => tracing::warn!("a tool asked for an effect that no session knows"),
            }
        }
        Ok(())
    }

    pub(crate) fn view(&self, context: &ModelContext) -> Arc<SessionView> {
        let forks = builtin::has_forks(&self.env) && !self.spawner.is_fork();
        Arc::new(SessionView {
            fork_context: forks.then(|| Arc::new(context.fork_context())),
            env: self.env.clone(),
            watch: self.watch.clone(),
            policy: Arc::clone(&self.policy),
            mode: self.mode,
            model: context.model().to_owned(),
            provider: self.provider.clone(),
            project_dir: self.directories.project.clone(),
            worktree_guard: self.worktree_guard.clone(),
            active_worktree: self.active_worktree.clone(),
            worktree_hooks: self.worktree_hooks(),
            hooks: self.hooks.inherit(),
            permission_channel: self.permission_channel.clone(),
            chosen_mode: self.chosen_mode.clone(),
            mode_owner: self.mode_owner,
            bypass: self.bypass,
            grants_seen: self.grants_seen,
            plan: self.plan.clone(),
            spawner: Arc::clone(&self.spawner),
        })
    }
}

impl Session {
    /// Shows the current state to agents that hooks may start.
    pub(crate) fn publish_for_hooks(&self) {
        if self.io.hooks.has_agent_handlers() {
            self.io.spawner.set_hook_view(self.io.view(&self.context));
        }
    }
}
