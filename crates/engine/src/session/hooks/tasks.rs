//! TaskCreated and TaskCompleted: hooks may revert a change of the task list; the model receives the reason.

use crate::session::SessionIo;
use session_parts::hooks::HookScope;
use session_parts::tool_use::ToolUse;
use tokio_util::sync::CancellationToken;
use tools::ToolOutcome;
use tools::task_list::{ListChange, ListChangeKind};
use wire::hooks::{HookEventName, TaskCompleted, TaskCreated};

impl SessionIo {
    /// Runs after a call of the task list. It cannot end the turn.
    pub(crate) async fn after_list_change(
        &mut self,
        used: &ToolUse,
        outcome: &mut ToolOutcome,
        cancel: &CancellationToken,
    ) {
        let listens =
            self.hooks.listens(HookEventName::TaskCreated) || self.hooks.listens(HookEventName::TaskCompleted);
        if !listens || outcome.is_error {
            return;
        }
        let tool = wire::names::canonical(&used.name);
        let Some(change) = ListChange::of(tool, outcome, &self.tooling.state.facts) else { return };
        let (task_id, task_subject) = (change.id.clone(), change.subject.clone());
        let task_description = Some(change.description.clone()).filter(|text| !text.is_empty());
        let stop = self.hooks.stop.clone();
        let merged = match change.kind {
            ListChangeKind::Created => {
                self.fire(&TaskCreated { task_id, task_subject, task_description }, HookScope::new(cancel)).await
            }
            ListChangeKind::Completed => {
                self.fire(&TaskCompleted { task_id, task_subject, task_description }, HookScope::new(cancel)).await
            }
        };
        self.hooks.stop = stop;
        let Some(why) = merged.blocked() else { return };
        *outcome = match change.revert(&self.tooling.state.facts) {
            Ok(()) => ToolOutcome::failed(why),
            Err(error) => ToolOutcome::failed(format!("{why}\n(The change could not be taken back: {error})")),
        };
    }
}
