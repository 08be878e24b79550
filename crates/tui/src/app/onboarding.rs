//! The first start without credentials: a short choice in place of the prompt. An API key is typed without being shown
//! and passed out to be stored; it is neither kept nor shown here.

use super::panel::PanelJob;
use super::{App, AppEffect};
use terminal::editor::Editor;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::control::HostRequest;

const CHOICES: [&str; 3] =
    ["Enter an API key (stored for you alone)", "Use an endpoint of my own", "See a recorded demo first"];
const NO_CREDENTIALS_TEXT: &str = "No credentials were found. How do you want to go on?";
const ENDPOINT_ADVICE: &str = "Set ANTHROPIC_BASE_URL to the endpoint, and ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN if it wants one. \
                        Then start gimlet again.";
/// How the engine names a stored key as a credential source.
const STORED_KEY_SOURCE: &str = "/login managed key";
const DEMO_ADVICE: &str = "Run: gimlet demo\nIt needs no key and no network. Then come back.";

#[derive(Debug, Default)]
pub struct Onboarding {
    /// Opened by `/login`.
    is_from_login: bool,
    chosen: usize,
    /// The key being typed.
    key: Option<Editor>,
}

impl Onboarding {
    pub(super) fn rows(&self, theme: &Theme, columns: usize) -> (Vec<StyledLine>, Option<Caret>) {
        let accent = theme.fg(ThemeToken::Permission);
        let faint = theme.fg(ThemeToken::Inactive);
        let mut rows = vec![
            StyledLine::styled("─".repeat(columns), accent),
            StyledLine::styled(if self.is_from_login { "Sign in" } else { NO_CREDENTIALS_TEXT }, accent.bold()),
        ];
        if let Some(key) = &self.key {
            let label = "API key: ";
            let hidden = "•".repeat(key.text().chars().count().min(columns.saturating_sub(label.len() + 2)));
            let column = label.len() + text::width(&hidden);
            rows.push(StyledLine::styled(label, faint).and(hidden, TextStyle::PLAIN));
            let caret = Caret { row: rows.len() - 1, column };
            rows.push(StyledLine::styled("enter to store it · esc to go back", faint));
            return (rows, Some(caret));
        }
        for (index, choice) in CHOICES.iter().enumerate() {
            let chosen = index == self.chosen;
            let mark = if chosen { "❯" } else { " " };
            rows.push(StyledLine::styled(
                format!("{mark} {}. {choice}", index + 1),
                if chosen { accent } else { TextStyle::PLAIN },
            ));
        }
        rows.push(StyledLine::styled("enter to choose · esc to go on without", faint));
        (rows, None)
    }
}

impl App {
    /// `/login`: the same choice at any time.
    pub(super) fn open_login(&mut self) {
        self.onboarding = Some(Onboarding { is_from_login: true, ..Onboarding::default() });
    }

    /// Applies a key stored during a conversation: the next request uses it, unless other credentials take precedence.
    pub(super) fn receive_sign_in(&mut self, outcome: Result<String, String>) {
        let place = match outcome {
            Ok(place) => place,
            Err(why) => return self.note(&why, ThemeToken::Error),
        };
        self.send_control_request(HostRequest::RenewCredentials);
        let used = match self.session.account.as_str() {
            "none" | "" | STORED_KEY_SOURCE => {
                STORED_KEY_SOURCE.clone_into(&mut self.session.account);
                "It is used from the next request on.".to_owned()
            }
            other => format!("This session goes on with {other}, which goes before it."),
        };
        self.note(&format!("The key is stored in {place}. {used}"), ThemeToken::Success);
    }

    pub(super) fn receive_sign_out(&mut self, outcome: Result<bool, String>) {
        match outcome {
            Ok(true) => {
                self.send_control_request(HostRequest::RenewCredentials);
                if self.session.account == STORED_KEY_SOURCE {
                    "none".clone_into(&mut self.session.account);
                }
                self.note("The stored key is gone.", ThemeToken::Inactive);
            }
            Ok(false) => self.note("No key was stored.", ThemeToken::Inactive),
            Err(why) => self.note(&why, ThemeToken::Error),
        }
    }

    /// Whether the choice consumed the key.
    pub(super) fn onboarding_key(&mut self, key: KeyPress) -> bool {
        let Some(open) = &mut self.onboarding else { return false };
        if key == KeyPress::ctrl('c') || key == KeyPress::ctrl('d') || key == KeyPress::ctrl('z') {
            return false;
        }
        if let Some(typed) = &mut open.key {
            match key.code {
                KeyCode::Escape => open.key = None,
                KeyCode::Enter => {
                    let secret = typed.take().expanded.trim().to_owned();
                    if !secret.is_empty() {
                        self.onboarding = None;
                        // A conversation that has begun continues.
                        let effect = match self.session.id {
                            Some(_) => AppEffect::Errand(PanelJob::SignIn(secret)),
                            None => AppEffect::SignIn(secret),
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
            (_, Some(digit @ 1..=3)) => self.choose_option(digit as usize - 1),
            (KeyCode::Enter, _) => {
                let chosen = open.chosen;
                self.choose_option(chosen);
            }
            (KeyCode::Up, _) => open.chosen = open.chosen.checked_sub(1).unwrap_or(CHOICES.len() - 1),
            (KeyCode::Down, _) => open.chosen = (open.chosen + 1) % CHOICES.len(),
            (KeyCode::Escape, _) => self.onboarding = None,
            _ => {}
        }
        true
    }

    fn choose_option(&mut self, way: usize) {
        let Some(open) = &mut self.onboarding else { return };
        match way {
            0 => open.key = Some(Editor::new()),
            1 => self.end_onboarding(ENDPOINT_ADVICE),
            _ => self.end_onboarding(DEMO_ADVICE),
        }
    }

    fn end_onboarding(&mut self, advice: &str) {
        self.onboarding = None;
        self.note(advice, ThemeToken::Text);
    }

    /// Inserts a pasted API key; `false` when none is being typed.
    pub(super) fn onboarding_paste(&mut self, pasted: &str) -> bool {
        let Some(typed) = self.onboarding.as_mut().and_then(|open| open.key.as_mut()) else { return false };
        typed.insert(text::clean(pasted).trim());
        true
    }

    /// Opens the choice when the engine reports that it has no credentials.
    pub(super) fn receive_account(&mut self, account: &serde_json::Value) {
        let has = |name: &str| account.get(name).is_some_and(|value| !value.is_null());
        if !has("apiKeySource") && !has("tokenSource") && !self.is_busy() {
            self.onboarding = Some(Onboarding::default());
        }
    }
}
