//! Switching between conversations: the session picker, and what changes in the interface with the session.

use super::session::SessionDisplay;
use super::{App, AppEffect};
use crate::picker::{PickerOutcome, PickerRequest, PickerUpdate, SessionPicker};
use std::time::Duration;
use terminal::editor::Submission;
use terminal::keys::KeyPress;
use terminal::theme::ThemeToken;

impl App {
    /// Opens the picker with `query` typed into its search.
    pub fn open_picker(&mut self, query: &str) {
        self.menu = None;
        self.picker = Some(SessionPicker::new(query, self.session.id.clone()));
        self.send_picker_requests();
    }

    fn send_picker_requests(&mut self) {
        let requests = self.picker.as_mut().map(SessionPicker::take_requests).unwrap_or_default();
        self.effects.extend(requests.into_iter().map(AppEffect::Picker));
    }

    /// Whether the picker consumed the key.
    pub(super) fn picker_key(&mut self, key: KeyPress) -> bool {
        if key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l') {
            return false;
        }
        let Some(picker) = &mut self.picker else { return false };
        let chosen = match picker.key(key) {
            PickerOutcome::Stays => {
                self.send_picker_requests();
                return true;
            }
            PickerOutcome::Cancelled => None,
            PickerOutcome::Chosen(session) if self.session.id.as_ref() == Some(&session.id) => {
                self.hint("This conversation is open already", Duration::from_secs(4));
                None
            }
            PickerOutcome::Chosen(session) => Some(session),
        };
        self.picker = None;
        // A question of the engine that waited behind the picker becomes visible only now.
        self.after_dialog();
        self.effects.push(AppEffect::Chosen(chosen));
        true
    }

    /// Whether the picker consumed the paste.
    pub(super) fn picker_paste(&mut self, text: &str) -> bool {
        let Some(picker) = &mut self.picker else { return false };
        picker.paste(text);
        self.send_picker_requests();
        true
    }

    pub(super) fn update_picker(&mut self, news: PickerUpdate) {
        if let PickerUpdate::Earlier(said) = news {
            return self.transcript.prepend(&said);
        }
        if let Some(picker) = &mut self.picker {
            picker.apply_update(news);
            self.send_picker_requests();
        }
    }

    /// Records that a message of an earlier run was received; there may be more before it.
    pub(super) fn record_resumed(&mut self, session_id: &str) {
        if self.session.id.is_none() {
            self.session.id = Some(session_id.to_owned());
            self.has_earlier_messages = true;
        }
    }

    /// Requests the messages that the engine did not send from the session file, once.
    pub(super) fn load_earlier(&mut self) {
        if std::mem::take(&mut self.has_earlier_messages)
            && let Some(id) = self.session.id.clone()
        {
            self.effects.push(AppEffect::Picker(PickerRequest::Earlier(id)));
        }
    }

    /// `/resume`: opens the picker, unless a turn runs.
    pub(super) fn resume(&mut self, query: &str) {
        if self.is_busy() {
            self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
        } else {
            self.open_picker(query);
        }
    }

    /// Queues a prompt before all others.
    pub fn submit_first(&mut self, text: &str) {
        self.queue.hold_first(Submission::plain(text));
    }

    /// Resets the interface for a session that replaced the previous one.
    pub fn replace_session(&mut self, session: SessionDisplay) {
        self.transcript.clear();
        self.todos.clear();
        self.dialogs.clear();
        self.is_ready = false;
        self.has_earlier_messages = false;
        self.session = session;
        let text = format!("Another conversation, in {}.", self.session.shown_cwd);
        self.note(&text, ThemeToken::Inactive);
    }
}
