//! Going from one conversation to another: the picker, and what changes when the session behind the interface does.

use super::session::Session;
use super::{App, Effect};
use crate::keys::Key;
use crate::picker::{News, Outcome, Picker};
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
        match picker.key(key) {
            Outcome::Stays => self.ask_for_picker(),
            Outcome::Cancelled => {
                self.picker = None;
                self.effects.push(Effect::Chosen(None));
            }
            Outcome::Chosen(session) if self.session.id.as_ref() == Some(&session.id) => {
                self.picker = None;
                self.hint("This conversation is open already", Duration::from_secs(4));
            }
            Outcome::Chosen(session) => {
                self.picker = None;
                self.effects.push(Effect::Chosen(Some(session)));
            }
        }
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
        if let Some(picker) = &mut self.picker {
            picker.news(news);
            self.ask_for_picker();
        }
    }

    /// `/resume`; `false` for every other text.
    pub(super) fn session_command(&mut self, text: &str) -> bool {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if !matches!(name, "/resume" | "/continue") {
            return false;
        }
        if self.is_busy() {
            self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
        } else {
            self.pick(rest.trim());
        }
        true
    }

    /// Another session has taken the place of the one before.
    pub fn switched(&mut self, session: Session) {
        self.transcript.clear();
        self.todos.clear();
        self.queue.clear();
        self.dialogs.clear();
        self.is_ready = false;
        self.session = session;
        let text = format!("Another conversation, in {}.", self.session.place);
        self.note(&text, Token::Inactive);
    }
}
