//! Turns events of the engine into state and finished lines. The interface uses the same protocol as any host: typed
//! messages, and control lines as text.

/// Like `App::markdown_options`, but borrows only the fields it needs, so that others can be changed meanwhile.
macro_rules! look {
    ($app:expr) => {
        terminal::markdown::MarkdownOptions {
            theme: &$app.preferences.theme,
            // Zero columns: tables become `header: value` lines, without rules.
            columns: if $app.preferences.screen_reader.is_some() { 0 } else { $app.size.columns },
            syntax: $app.preferences.syntax,
            wrap: if $app.preferences.screen_reader.is_some() {
                terminal::markdown::ProseWrap::Terminal
            } else {
                $app.preferences.wrap
            },
        }
    };
}

/// How the record is drawn while it is printed; borrows only the fields it needs.
macro_rules! record_look {
    ($app:expr) => {
        crate::app::record::RecordLook {
            theme: &$app.preferences.theme,
            // A screen reader gets whole lines.
            columns: if $app.preferences.screen_reader.is_some() { usize::MAX } else { $app.size.columns },
            syntax: $app.preferences.syntax,
            wrap: $app.preferences.wrap,
            limits: $app.preferences.view.limits(),
        }
    };
}
pub(in crate::app) use record_look;

pub(in crate::app) mod api_event;
mod calls;
mod control;
mod reply;
mod user;

use super::agents::AgentEnd;
use super::panel::PanelNews;
use super::record::call::CallPhase;
use super::session::{BackgroundTaskRow, CommandSummary};
use super::spinner::TurnWait;
use super::{App, AppEffect, PendingResponse};
use engine::{Event, ScreenEvent};
use std::time::Duration;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, ReloadPlugins};
use wire::mode::PermissionMode;
use wire::sdk::{InitMessage, SdkMessage, SystemBody, TurnResult};

impl App {
    pub(super) fn event(&mut self, event: Event) {
        if let Some(turn) = &mut self.activity.turn {
            turn.last_event_at = self.now;
        }
        match event {
            Event::Message(message) => self.message(message),
            Event::Ask { id, question } => self.handle_question(id, question),
            Event::AskWithdrawn { id } => self.withdraw_question(&id),
            Event::Response(response) => self.receive_control_response(response),
            Event::Notice(text) => self.note(&text, ThemeToken::Warning),
            Event::Fault(text) => self.note(&text, ThemeToken::Error),
            Event::Refused(error) => {
                self.note(&error.to_string(), ThemeToken::Error);
                self.effects.push(super::AppEffect::Exit);
            }
            Event::Aside(aside) => self.aside(aside),
            Event::Mirror(_) | Event::Dropped(_) => {}
        }
    }

    fn aside(&mut self, aside: ScreenEvent) {
        match aside {
            ScreenEvent::Doing { id, text } => {
                self.activity.hook_statuses.push((id, terminal::text::clean(&text).replace('\n', " ")));
            }
            ScreenEvent::Done { id } => self.activity.hook_statuses.retain(|(known, _)| *known != id),
            ScreenEvent::Display(text) => self.activity.replacement_text = Some(text),
            ScreenEvent::Worktree(path) => self.enter_worktree(&path),
            ScreenEvent::ServerFailed(text) => self.note(&text, ThemeToken::Warning),
            // Only headless prints it; the screen shows what a turn waits for.
            ScreenEvent::Waiting(_) => {}
            ScreenEvent::CallStarted { id } => self.start_call(&id),
            ScreenEvent::CallOutput { id, output } => self.show_output(&id, output),
            ScreenEvent::Sequence(sequence) => self.effects.push(super::AppEffect::Sequence(sequence)),
        }
    }

    fn message(&mut self, message: SdkMessage) {
        match message {
            SdkMessage::Init(init) => self.init(&init),
            SdkMessage::StreamEvent(event) => self.stream(&event),
            SdkMessage::Assistant(message) => {
                self.assistant(message);
                self.status.schedule_if_configured(self.now);
            }
            SdkMessage::User(message) => self.user(message),
            SdkMessage::Result(result) => self.result(&result),
            SdkMessage::System(system) => self.system(system.body),
            SdkMessage::ToolProgress(_) | SdkMessage::RateLimit(_) => {}
            SdkMessage::Reset(_) => self.reset(),
        }
    }

    fn init(&mut self, init: &InitMessage) {
        self.session.id = Some(init.session_id.clone());
        self.record_prompts();
        self.session.model = Some(init.model.clone());
        // The first `init` confirms the working directory; a later one with another directory is a move.
        let was_placed = std::mem::replace(&mut self.session.has_engine_cwd, true);
        if was_placed && self.session.cwd != init.cwd {
            self.effects.push(AppEffect::Moved { session: init.session_id.clone(), cwd: init.cwd.clone() });
            self.refresh_after_move();
        }
        if let Some(mode) = PermissionMode::parse(init.permission_mode) {
            self.session.mode = mode;
        }
        self.session.cwd.clone_from(&init.cwd);
        let server = |server: &serde_json::Value| server.get("name")?.as_str().map(str::to_owned);
        self.session.servers = init.mcp_servers.iter().filter_map(server).collect();
        if self.session.commands.is_empty() {
            let command = |name: &String| CommandSummary { name: name.clone(), ..CommandSummary::default() };
            self.session.commands =
                super::local_commands::merge_local_commands(init.slash_commands.iter().map(command).collect());
        }
    }

    /// Asks for the commands, agents and settings of the new directory.
    fn refresh_after_move(&mut self) {
        self.request(HostRequest::ReloadPlugins(ReloadPlugins::default()), PendingResponse::Place);
        self.request_settings();
        self.status.schedule_if_configured(self.now);
    }

    /// Another conversation begins in the same session channel.
    fn reset(&mut self) {
        self.transcript.clear();
        self.todos.clear();
        self.agents = super::agents::AgentTracker::default();
        self.status.schedule_if_configured(self.now);
        self.session.cost_usd = 0.0;
        self.session.context_used = 0;
        // It has neither the name nor the colour of the one before.
        self.interface_settings.are_outdated = true;
        self.effects.push(AppEffect::ClearScreen);
        self.note("New session.", ThemeToken::Inactive);
        if let Some(carried) = self.next_submission.take() {
            self.submit(carried);
        }
    }

    fn result(&mut self, result: &TurnResult) {
        self.end_open_calls(&CallPhase::Interrupted);
        self.print_digest();
        let look = look!(self);
        if !self.activity.reply.is_empty()
            && let Some(part) = self.activity.reply.abandon(&look)
        {
            self.reply_part(part);
        }
        let cost = result.total_cost_usd - self.session.cost_usd;
        self.session.cost_usd = result.total_cost_usd;
        self.session.is_unsaved = !result.warnings.is_empty();
        if let Some(usage) = self.session.model.as_ref().and_then(|model| result.model_usage.get(model)) {
            self.session.context_window = usage.context_window;
        }
        // An interruption was already shown where it happened.
        let is_shown_already = matches!(result.terminal_reason, Some("aborted_streaming" | "aborted_tools"));
        for error in result.errors.iter().flatten().filter(|_| !is_shown_already) {
            self.note(error, ThemeToken::Error);
        }
        if let Some(mut turn) = self.activity.turn.take() {
            if turn.waits == TurnWait::Interrupting {
                self.return_prompt(&mut turn);
            }
            if turn.has_output {
                self.print_turn_line(self.now.saturating_sub(turn.started), cost);
            }
        }
        self.print_tasks_left();
        self.offer_as_text(result.local_command.as_deref());
        if std::mem::take(&mut self.interface_settings.are_outdated) {
            self.request_settings();
        }
        self.keep_background_agents();
        self.status.schedule_always(self.now);
        self.activity.hook_statuses.clear();
        self.alerts.start_idle(self.now);
        self.mark(super::ScreenReaderMark::Over);
        self.ring_bell();
        self.continue_queue(result.user_message_uuid.as_deref());
    }

    fn system(&mut self, body: SystemBody) {
        match body {
            SystemBody::Status { status, permission_mode, compact_result: _, compact_error, .. } => {
                if let Some(mode) = permission_mode.and_then(PermissionMode::parse) {
                    self.session.mode = mode;
                }
                if let Some(error) = compact_error {
                    self.note(&error, ThemeToken::Error);
                }
                if let Some(turn) = &mut self.activity.turn {
                    turn.wait_for(match status {
                        Some("compacting") => TurnWait::Compacting,
                        Some(_) | None => TurnWait::Model,
                    });
                }
            }
            SystemBody::ApiRetry { attempt, max_retries, retry_delay_ms, reason, .. } => {
                let until = self.now + Duration::from_millis(retry_delay_ms);
                if let Some(turn) = &mut self.activity.turn {
                    turn.wait_for(TurnWait::Retry { until, attempt, of: max_retries, reason });
                }
            }
            SystemBody::CompactBoundary { .. } => {
                self.status.schedule_if_configured(self.now);
                self.note("Conversation compacted.", ThemeToken::Inactive);
            }
            SystemBody::TaskStarted(started) => {
                self.agents.record_start(&started, self.now);
                let name = match started.subagent_type {
                    Some(kind) => format!("{kind}: {}", started.description),
                    None => started.description,
                };
                self.session.agent_names.insert(started.task_id, name);
            }
            SystemBody::TaskProgress(progress) => self.agents.record_progress(&progress),
            SystemBody::TaskUpdated { task_id, patch, .. } if patch.end_time.is_some() => {
                self.end_agent(&task_id, AgentEnd::parse(patch.status));
            }
            SystemBody::BackgroundTasksChanged { tasks } => {
                let rows = tasks.into_iter().map(BackgroundTaskRow::of).collect();
                self.session.learn_background(rows, self.now);
                self.update_panels(&PanelNews::TasksChanged);
                self.keep_background_agents();
            }
            SystemBody::TaskNotification(done) => {
                self.end_agent(&done.task_id, AgentEnd::parse(done.status));
                // The result of a call that is waited for says the same.
                let call = done.tool_use_id.as_ref().and_then(|call| self.activity.calls.get_mut(call));
                let is_shown = call.is_some();
                if let Some(call) = call {
                    call.has_ended = true;
                }
                if self.agents.is_news(&done.task_id, is_shown) {
                    self.note(&done.summary, ThemeToken::Inactive);
                }
            }
            // The name is among what the settings answer says.
            SystemBody::SessionTitleChanged { .. } => self.request_settings(),
            SystemBody::LocalCommandOutput { content } => self.local_output(&content),
            SystemBody::CommandsChanged { commands } => self.session.learn_commands(commands),
            SystemBody::Informational { content, level } => {
                if self.activity.turn.is_none() {
                    // A resumed conversation ended within a turn.
                    self.end_open_calls(&CallPhase::CutOff);
                }
                let token =
                    if level == "warning" || level == "error" { ThemeToken::Warning } else { ThemeToken::Inactive };
                self.note(&content, token);
            }
            SystemBody::SessionWritesLost { error_code, .. } => {
                let text = format!("The transcript cannot be written ({error_code}). From now on nothing is saved.");
                self.note(&text, ThemeToken::Error);
            }
            // Shown by what follows them: a result, a state change or a hook's message.
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "engine_events_tests.rs"]
mod tests;
