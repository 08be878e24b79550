//! The first start without credentials: a short choice in place of the prompt. A key is typed unseen and handed out to be
//! stored; nothing of it is kept or shown.

use super::panel::Errand;
use super::{App, Effect};
use crate::editor::Editor;
use crate::keys::{Code, Key};
use crate::style::{Line, Style};
use crate::surface::Caret;
use crate::text;
use crate::theme::{Theme, Token};
use serde_json::json;

const CHOICES: [&str; 3] =
    ["Enter an API key (stored for you alone)", "Use an endpoint of my own", "See a recorded demo first"];
const NOTHING: &str = "No credentials were found. How do you want to go on?";
const ENDPOINT: &str = "Set ANTHROPIC_BASE_URL to the endpoint, and ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN if it wants one. \
                        Then start gimlet again.";
/// How a stored key is called by the engine.
const STORED: &str = "/login managed key";
const DEMO: &str = "Run: gimlet demo\nIt needs no key and no network. Then come back.";

#[derive(Debug, Default)]
pub struct Onboarding {
    /// Opened by `/login`.
    asked: bool,
    chosen: usize,
    /// The key being typed.
    key: Option<Editor>,
}

impl Onboarding {
    pub(super) fn rows(&self, theme: &Theme, columns: usize) -> (Vec<Line>, Option<Caret>) {
        let accent = theme.fg(Token::Permission);
        let faint = theme.fg(Token::Inactive);
        let mut rows = vec![
            Line::styled("─".repeat(columns), accent),
            Line::styled(if self.asked { "Sign in" } else { NOTHING }, accent.bold()),
        ];
        if let Some(key) = &self.key {
            let label = "API key: ";
            let hidden = "•".repeat(key.text().chars().count().min(columns.saturating_sub(label.len() + 2)));
            let column = label.len() + text::width(&hidden);
            rows.push(Line::styled(label, faint).and(hidden, Style::PLAIN));
            let caret = Caret { row: rows.len() - 1, column };
            rows.push(Line::styled("enter to store it · esc to go back", faint));
            return (rows, Some(caret));
        }
        for (index, choice) in CHOICES.iter().enumerate() {
            let chosen = index == self.chosen;
            let mark = if chosen { "❯" } else { " " };
            rows.push(Line::styled(
                format!("{mark} {}. {choice}", index + 1),
                if chosen { accent } else { Style::PLAIN },
            ));
        }
        rows.push(Line::styled("enter to choose · esc to go on without", faint));
        (rows, None)
    }
}

impl App {
    /// `/login`: the same choice at any time.
    pub(super) fn open_login(&mut self) {
        self.onboarding = Some(Onboarding { asked: true, ..Onboarding::default() });
    }

    /// A key was stored while a conversation stands: its next request is sent with it, unless something else goes first.
    pub(super) fn signed_in(&mut self, outcome: Result<String, String>) {
        let place = match outcome {
            Ok(place) => place,
            Err(why) => return self.note(&why, Token::Error),
        };
        self.control(&json!({"subtype": "x_renew_credentials"}));
        let used = match self.session.account.as_str() {
            "none" | "" | STORED => {
                STORED.clone_into(&mut self.session.account);
                "It is used from the next request on.".to_owned()
            }
            other => format!("This session goes on with {other}, which goes before it."),
        };
        self.note(&format!("The key is stored in {place}. {used}"), Token::Success);
    }

    pub(super) fn signed_out(&mut self, outcome: Result<bool, String>) {
        match outcome {
            Ok(true) => {
                self.control(&json!({"subtype": "x_renew_credentials"}));
                if self.session.account == STORED {
                    "none".clone_into(&mut self.session.account);
                }
                self.note("The stored key is gone.", Token::Inactive);
            }
            Ok(false) => self.note("No key was stored.", Token::Inactive),
            Err(why) => self.note(&why, Token::Error),
        }
    }

    /// Whether the key was meant for the choice.
    pub(super) fn onboarding_key(&mut self, key: Key) -> bool {
        let Some(open) = &mut self.onboarding else { return false };
        if key == Key::ctrl('c') || key == Key::ctrl('d') || key == Key::ctrl('z') {
            return false;
        }
        if let Some(typed) = &mut open.key {
            match key.code {
                Code::Escape => open.key = None,
                Code::Enter => {
                    let secret = typed.take().expanded.trim().to_owned();
                    if !secret.is_empty() {
                        self.onboarding = None;
                        // A conversation that has begun goes on as it is.
                        let effect = match self.session.id {
                            Some(_) => Effect::Errand(Errand::SignIn(secret)),
                            None => Effect::SignIn(secret),
                        };
                        self.effects.push(effect);
                    }
                }
                _ => {
                    super::keys::edit(typed, key);
                }
            }
            return true;
        }
        match (key.code, key.text().and_then(|c| c.to_digit(10))) {
            (_, Some(digit @ 1..=3)) => self.choose_way(digit as usize - 1),
            (Code::Enter, _) => {
                let chosen = open.chosen;
                self.choose_way(chosen);
            }
            (Code::Up, _) => open.chosen = open.chosen.checked_sub(1).unwrap_or(CHOICES.len() - 1),
            (Code::Down, _) => open.chosen = (open.chosen + 1) % CHOICES.len(),
            (Code::Escape, _) => self.onboarding = None,
            _ => {}
        }
        true
    }

    fn choose_way(&mut self, way: usize) {
        let Some(open) = &mut self.onboarding else { return };
        match way {
            0 => open.key = Some(Editor::new()),
            1 => self.end_onboarding(ENDPOINT),
            _ => self.end_onboarding(DEMO),
        }
    }

    fn end_onboarding(&mut self, advice: &str) {
        self.onboarding = None;
        self.note(advice, Token::Text);
    }

    /// A pasted key; `false` when no key is being typed.
    pub(super) fn onboarding_paste(&mut self, pasted: &str) -> bool {
        let Some(typed) = self.onboarding.as_mut().and_then(|open| open.key.as_mut()) else { return false };
        typed.insert(text::clean(pasted).trim());
        true
    }

    /// The engine has said which credentials it uses.
    pub(super) fn met(&mut self, account: &serde_json::Value) {
        let has = |name: &str| account.get(name).is_some_and(|value| !value.is_null());
        if !has("apiKeySource") && !has("tokenSource") && !self.is_busy() {
            self.onboarding = Some(Onboarding::default());
        }
    }
}
