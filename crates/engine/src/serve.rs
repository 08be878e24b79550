//! Drives a session: waits for prompts and events, runs commands and turns, and closes it at the end.

mod background;

use crate::commands;
use crate::control::WakeReason;
use crate::result;
use crate::session::LiveSession;
use crate::session::tasks::wait_briefly;
use crate::turn;
use crate::turn_state::TurnOpener;
use session_parts::command::{Event, Prompt, ScreenEvent};
use session_parts::messages::with_prefix;
use std::sync::Arc;

/// Events that wake an idle session, besides commands of its host.
enum IdleEvent {
    Task(tools::tasks::TaskEvent),
    Hook(session_parts::hooks::HookText),
    /// An MCP server connected, disconnected or changed.
    Servers,
}

impl LiveSession {
    /// Serves turns until the host sends no more, then closes the session.
    pub(crate) async fn serve(mut self) {
        self.context.start_facts();
        self.finish_rewind().await;
        let state = Arc::clone(&self.io.tooling.state);
        let mut chores = tokio::task::JoinSet::new();
        if let Some(chore) = crate::session::housekeeping::cleanup(&self.io) {
            chores.spawn(chore);
        }
        chores.spawn(crate::session::housekeeping::remove_dead_records(&self.io));
        if let Some(offered) = self.control.offered_models() {
            chores.spawn(offered.refresh_later());
        }
        self.io.knowledge.mcp.servers().begin_at_start();
        if let Some(stay) = &self.io.tooling.active_worktree {
            self.io.output.host.aside(ScreenEvent::Worktree(stay.worktree.path.clone())).await;
        }
        self.start_hooks().await;
        let mut seen = 0;
        loop {
            let servers = Arc::clone(self.io.knowledge.mcp.servers());
            let hooks = &mut self.io.hooks;
            let news = async {
                tokio::select! {
                    event = state.tasks.next_event(None) => IdleEvent::Task(event),
                    beside = hooks.next_wake() => IdleEvent::Hook(beside),
                    () = servers.host.changed(seen) => IdleEvent::Servers,
                }
            };
            match self.control.next_wake(news).await {
                WakeReason::Prompt(prompt) if prompt.query => self.accept(prompt).await,
                WakeReason::Prompt(prompt) => {
                    if let Err(error) = self.record_prompt(&prompt) {
                        tracing::warn!(%error, "a prompt could not be recorded");
                    }
                }
                WakeReason::Part(request_id, asked) => {
                    Box::pin(self.answer_compact_part(request_id, &asked)).await;
                }
                WakeReason::Changes => self.apply_changes().await,
                WakeReason::Event(IdleEvent::Hook(beside)) => {
                    Box::pin(turn::run(&mut self, TurnOpener::Hook(beside))).await;
                }
                WakeReason::Event(IdleEvent::Task(event)) => {
                    self.handle_task_event(event).await;
                }
                WakeReason::Event(IdleEvent::Servers) => {
                    seen = servers.host.version();
                    self.refresh_servers().await;
                }
                WakeReason::Closed => break,
            }
        }
        self.await_background().await;
        self.close().await;
    }

    /// Runs a prompt as a command or as a turn.
    async fn accept(&mut self, mut prompt: Prompt) {
        if let Some(content) =
            self.start.initial_prompt.take().and_then(|initial| with_prefix(&initial, &prompt.content))
        {
            prompt.content = content;
        }
        commands::accept(self, prompt).await;
    }

    pub(crate) async fn close(&mut self) {
        if !self.control.is_shut_down() {
            wait_briefly(&mut self.io).await;
            if let Some(rest) = self.io.provider.connection.unplayed_notice() {
                self.io.output.host.event(Event::Fault(format!("Error: {rest}"))).await;
            }
        }
        self.end_hooks("other").await;
        self.io.hooks.end().await;
        self.io.knowledge.mcp.close().await;
        self.io.tooling.state.shutdown().await;
        self.leave_worktree().await;
        if let Some(files) = &self.io.hooks.env_files {
            files.remove();
        }
        self.io.output.live_record = None;
        if let Err(error) = self.io.output.transcript.transcript().close().await {
            tracing::warn!(%error, "the transcript could not be closed");
            result::report_lost_writes(&self.io, &error).await;
        }
    }
}
