//! TaskCreated and TaskCompleted: hooks may take a change of the task list back, and the model reads why.

use super::Scope;
use crate::calls::ToolUse;
use crate::session::Io;
use tokio_util::sync::CancellationToken;
use tools::Outcome;
use tools::task_list::{ListChange, ListChangeKind};
use wire::hooks::{EventName, TaskCompleted, TaskCreated};

impl Io {
    /// After a call of the task list. It cannot end the turn.
    pub(crate) async fn after_list_change(
        &mut self,
        used: &ToolUse,
        outcome: &mut Outcome,
        cancel: &CancellationToken,
    ) {
        let heard = self.hooks.listens(EventName::TaskCreated) || self.hooks.listens(EventName::TaskCompleted);
        if !heard || outcome.is_error {
            return;
        }
        let tool = wire::names::canonical(&used.name);
        let Some(change) = ListChange::of(tool, outcome, &self.state.facts) else { return };
        let (task_id, task_subject) = (change.id.clone(), change.subject.clone());
        let task_description = Some(change.description.clone()).filter(|text| !text.is_empty());
        let stop = self.hooks.stop.clone();
        let merged = match change.kind {
            ListChangeKind::Created => {
                self.fire(&TaskCreated { task_id, task_subject, task_description }, Scope::new(cancel)).await
            }
            ListChangeKind::Completed => {
                self.fire(&TaskCompleted { task_id, task_subject, task_description }, Scope::new(cancel)).await
            }
        };
        self.hooks.stop = stop;
        let Some(why) = merged.blocked() else { return };
        *outcome = match change.take_back(&self.state.facts) {
            Ok(()) => Outcome::failed(why),
            Err(error) => Outcome::failed(format!("{why}\n(The change could not be taken back: {error})")),
        };
    }
}
