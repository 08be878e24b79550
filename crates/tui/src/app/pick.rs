//! Going from one conversation to another: the picker, and what changes when the session behind the interface does.

use super::session::Session;
use super::{App, Effect};
use crate::editor::Submission;
use crate::keys::Key;
use crate::picker::{News, Outcome, Picker, Request};
use crate::theme::Token;
use std::time::Duration;

impl App {
    /// Opens the picker with `query` typed.
    pub fn pick(&mut self, query: &str) {
        self.menu = None;
        self.picker = Some(Picker::new(query, self.session.id.clone()));
        self.ask_for_picker();
    }

    fn ask_for_picker(&mut self) {
        let requests = self.picker.as_mut().map(Picker::take_requests).unwrap_or_default();
        self.effects.extend(requests.into_iter().map(Effect::Picker));
    }

    /// Whether the key was meant for the picker.
    pub(super) fn picker_key(&mut self, key: Key) -> bool {
        if key == Key::ctrl('z') || key == Key::ctrl('l') {
            return false;
        }
        let Some(picker) = &mut self.picker else { return false };
        let chosen = match picker.key(key) {
            Outcome::Stays => {
                self.ask_for_picker();
                return true;
            }
            Outcome::Cancelled => None,
            Outcome::Chosen(session) if self.session.id.as_ref() == Some(&session.id) => {
                self.hint("This conversation is open already", Duration::from_secs(4));
                None
            }
            Outcome::Chosen(session) => Some(session),
        };
        self.picker = None;
        // A question of the engine that waited behind it is seen only now.
        self.after_dialog();
        self.effects.push(Effect::Chosen(chosen));
        true
    }

    /// Whether the text was pasted into the picker.
    pub(super) fn picker_paste(&mut self, text: &str) -> bool {
        let Some(picker) = &mut self.picker else { return false };
        picker.paste(text);
        self.ask_for_picker();
        true
    }

    pub(super) fn picker_news(&mut self, news: News) {
        if let News::Earlier(said) = news {
            return self.transcript.put_before(&said);
        }
        if let Some(picker) = &mut self.picker {
            picker.news(news);
            self.ask_for_picker();
        }
    }

    /// A message of an earlier run was told: there may be more before it.
    pub(super) fn resumed(&mut self, session_id: &str) {
        if self.session.id.is_none() {
            self.session.id = Some(session_id.to_owned());
            self.has_earlier = true;
        }
    }

    /// The whole conversation is wanted: what was not told is read from its file, once.
    pub(super) fn want_earlier(&mut self) {
        if std::mem::take(&mut self.has_earlier)
            && let Some(id) = self.session.id.clone()
        {
            self.effects.push(Effect::Picker(Request::Earlier(id)));
        }
    }

    /// `/resume`
    pub(super) fn resume(&mut self, query: &str) {
        if self.is_busy() {
            self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
        } else {
            self.pick(query);
        }
    }

    /// Said before everything that waits.
    pub fn submit_first(&mut self, text: &str) {
        self.queue.hold_first(Submission::plain(text));
    }

    /// Another session has taken the place of the one before.
    pub fn switched(&mut self, session: Session) {
        self.transcript.clear();
        self.todos.clear();
        self.dialogs.clear();
        self.is_ready = false;
        self.has_earlier = false;
        self.session = session;
        let text = format!("Another conversation, in {}.", self.session.place);
        self.note(&text, Token::Inactive);
    }
}
