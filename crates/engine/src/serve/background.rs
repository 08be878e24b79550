//! Background tasks: what their end starts, and the wait for them at the end of a run.

use crate::session::LiveSession;
use crate::session::tasks::send_event;
use crate::turn;
use crate::turn_state::TurnOpener;
use session_parts::command::{Event, ScreenEvent};
use session_parts::prompts;
use session_parts::tasks;
use std::sync::Arc;
use std::time::Duration;
use tools::tasks::TaskEvent;

/// How long a run without further input waits for its background tasks, in milliseconds.
const WAIT_CEILING_MS: u64 = 600_000;

impl LiveSession {
    /// Handles a task that ended while the session was idle: starts a turn to inform the model, unless a person stopped
    /// the task.
    pub(super) async fn handle_task_event(&mut self, event: TaskEvent) {
        match send_event(event, &self.io).await {
            Some(notice) if notice.wakes => {
                Box::pin(turn::run(self, TurnOpener::Notice(notice.text))).await;
            }
            Some(notice) => self.io.knowledge.pending_notices.push(notice.text),
            None => {}
        }
    }

    /// After the end of input: waits for background tasks, within a limit, and starts a turn for each that ends.
    /// Tasks that exceed the limit are stopped with the result of a last turn.
    pub(super) async fn await_background(&mut self) {
        let ceiling = self.io.env.number("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(WAIT_CEILING_MS);
        let ceiling = (ceiling > 0).then(|| Duration::from_millis(ceiling));
        let deadline = ceiling.map(|ceiling| tokio::time::Instant::now() + ceiling);
        let state = Arc::clone(&self.io.tooling.state);
        let mut announced = Vec::new();
        while self.has_pending_work() && !self.control.is_shut_down() {
            let running = self.awaited_tasks();
            let ids: Vec<String> = running.iter().map(|task| task.id.clone()).collect();
            if !ids.is_empty() && announced != ids {
                let line = tasks::waiting_message(&running, ceiling);
                self.io.output.host.event(Event::Aside(ScreenEvent::Waiting(line))).await;
                announced = ids;
            }
            let next = async {
                match deadline {
                    Some(deadline) => tokio::time::timeout_at(deadline, state.tasks.next_event(None)).await.ok(),
                    None => Some(state.tasks.next_event(None).await),
                }
            };
            self.control.begin_wait();
            match self.control.until_interrupted(next).await {
                Some(Some(event)) => self.handle_task_event(event).await,
                Some(None) => return self.run_last_turn().await,
                None if self.control.is_shut_down() || self.io.output.flags.has_screen => return,
                None => return turn::conclude_wait(self).await,
            }
        }
    }

    /// The tasks of the main thread that the run waits for. In a terminal session only agents.
    fn awaited_tasks(&self) -> Vec<tools::tasks::TaskRecord> {
        let mut running = self.io.tooling.state.tasks.running();
        running.retain(|task| task.owner.is_none() && (task.is_agent() || !self.io.output.flags.has_screen));
        running
    }

    fn has_pending_work(&self) -> bool {
        let tasks = &self.io.tooling.state.tasks;
        if self.io.output.flags.has_screen { tasks.has_pending_agents(None) } else { tasks.has_pending_events(None) }
    }

    /// Runs the last turn after the waiting time; tasks that still run are stopped with its result.
    async fn run_last_turn(&mut self) {
        let row = |task: tools::tasks::TaskRecord| (task.id, task.description, task.output.display().to_string());
        let text = prompts::still_running(&self.awaited_tasks().into_iter().map(row).collect::<Vec<_>>());
        self.io.output.flags.ends_after_turn = true;
        Box::pin(turn::run(self, TurnOpener::Notice(text))).await;
    }
}
