//! Opening and leaving conversations: questions before a start, the session picker, and what changes in the interface
//! with the session.

use super::confirm::{ConfirmDialog, LeaveGoal};
use super::layers::LayerRank;
use super::session::SessionDisplay;
use super::transcript::TranscriptView;
use super::{App, AppEffect, PendingResponse};
use crate::picker::{PickerRequest, PickerUpdate, SessionPicker};
use engine::preflight::PreflightQuestion;
use std::time::Duration;
use terminal::editor::Submission;
use terminal::theme::ThemeToken;
use wire::control::{GetContextUsage, HostRequest};

impl App {
    /// Asks a question that must be answered before a session starts.
    pub fn ask_before_start(&mut self, question: PreflightQuestion) {
        self.open_confirm(ConfirmDialog::before_start(question, self.now));
    }

    /// Exits, or asks first when background tasks would be stopped.
    pub(super) fn request_exit(&mut self) {
        self.leave(LeaveGoal::Exit);
    }

    /// Leaves this session, or asks first when background tasks would be stopped.
    pub(super) fn leave(&mut self, goal: LeaveGoal) {
        if self.session.background.is_empty() {
            if let Some(note) = goal.note() {
                self.note(note, ThemeToken::Inactive);
            }
            self.effects.push(goal.effect());
        } else {
            self.open_confirm(ConfirmDialog::leave(goal, self.now));
        }
    }

    fn open_confirm(&mut self, dialog: ConfirmDialog) {
        if let Some(lines) = dialog.long_text(self.session.background.len()) {
            self.print_block(lines);
        }
        self.open_layer(dialog);
    }

    /// Opens the picker with `query` typed into its search.
    pub fn open_picker(&mut self, query: &str) {
        self.show_menu(None);
        self.close_layer::<SessionPicker>();
        let mut picker = SessionPicker::new(query, self.session.id.clone());
        let requests = picker.take_requests();
        self.open_layer(picker);
        self.effects.extend(requests.into_iter().map(AppEffect::Picker));
    }

    pub(super) fn update_picker(&mut self, update: PickerUpdate) {
        if self.session_choices.receive(&update) {
            return self.suggest_again();
        }
        if let PickerUpdate::Earlier(messages) = update {
            let mut earlier = TranscriptView::default();
            for message in &messages {
                earlier.absorb(message, &self.session);
            }
            return self.transcript.prepend(earlier);
        }
        if let Some(picker) = self.layers.find_mut::<SessionPicker>() {
            picker.apply_update(update);
            let requests = picker.take_requests();
            self.effects.extend(requests.into_iter().map(AppEffect::Picker));
        }
    }

    /// Records that a message of an earlier run was received; there may be more before it.
    pub(super) fn record_resumed(&mut self, session_id: &str) {
        if self.session.id.is_none() {
            self.session.id = Some(session_id.to_owned());
            self.has_earlier_messages = true;
            self.ask_context_use();
        }
    }

    /// Asks how much of the context is used, where no request of the model says it yet.
    pub(super) fn ask_context_use(&mut self) {
        self.request(HostRequest::GetContextUsage(GetContextUsage::default()), PendingResponse::ContextUse);
    }

    /// Requests the messages that the engine did not send from the session file, once.
    pub(super) fn load_earlier(&mut self) {
        // Colours may have changed since the view was open.
        self.transcript.redraw();
        if std::mem::take(&mut self.has_earlier_messages)
            && let Some(id) = self.session.id.clone()
        {
            self.effects.push(AppEffect::Picker(PickerRequest::Earlier(id)));
        }
    }

    /// The session works in a worktree; said when the banner could not know its path.
    pub(super) fn enter_worktree(&mut self, path: &std::path::Path) {
        let cwd = path.to_string_lossy().into_owned();
        if self.session.cwd == cwd {
            return;
        }
        let home = self.preferences.home.as_ref().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
        let below_home = cwd.strip_prefix(&home).filter(|rest| !home.is_empty() && rest.starts_with('/'));
        self.session.shown_cwd = below_home.map_or_else(|| cwd.clone(), |rest| format!("~{rest}"));
        self.session.cwd = cwd;
        let text = format!("Working in the worktree {}.", self.session.shown_cwd);
        self.note(&text, ThemeToken::Inactive);
    }

    /// `/resume`: opens the conversation that is named, or the picker, unless a turn runs.
    pub(super) fn resume(&mut self, query: &str) {
        if self.is_busy() {
            self.prompt.put_back(vec![Submission::plain(format!("/resume {query}").trim_end().to_owned())]);
            self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
            return;
        }
        match self.session_choices.named(query, self.session.id.as_deref()) {
            Some(session) => self.leave(LeaveGoal::Another(Box::new(session.clone()))),
            None => self.open_picker(query),
        }
    }

    /// Queues a prompt before all others.
    pub fn submit_first(&mut self, text: &str) {
        if !text.is_empty() {
            self.queue.hold_first(Submission::plain(text));
        }
    }

    /// Resets the interface for a session that replaced the previous one.
    pub fn replace_session(&mut self, session: SessionDisplay) {
        self.transcript.clear();
        self.todos.clear();
        self.dismiss(LayerRank::Question);
        self.unopened_questions.clear();
        self.is_ready = false;
        self.has_earlier_messages = false;
        self.session = session;
        let text = format!("Session in {}.", self.session.shown_cwd);
        self.note(&text, ThemeToken::Inactive);
    }
}
