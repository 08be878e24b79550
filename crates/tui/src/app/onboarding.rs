//! The first start without credentials: a short choice in place of the prompt. An API key is typed without being shown
//! and passed out to be stored; it is neither kept nor shown here.

use super::AppEffect;
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::panel::PanelJob;
use super::session::SessionDisplay;
use terminal::editor::Editor;
use terminal::keys::bindings::KeyContext;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

const CHOICES: [&str; 3] =
    ["Enter an API key (stored for you alone)", "Use an endpoint of my own", "See a recorded demo first"];
const NO_CREDENTIALS_TEXT: &str = "No credentials were found. How do you want to go on?";
const ENDPOINT_ADVICE: &str = "Set ANTHROPIC_BASE_URL to the endpoint, and ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN if it wants one. \
                        Then start gimlet again.";
const DEMO_ADVICE: &str = "Run: gimlet demo --tui\nIt needs no key and no network. Then come back.";

#[derive(Debug, Default)]
pub struct Onboarding {
    /// Opened by `/login`.
    is_from_login: bool,
    chosen: usize,
    /// The key being typed.
    key: Option<Editor>,
}

impl Onboarding {
    /// `/login`: the same choice at any time.
    pub fn from_login() -> Self {
        Self { is_from_login: true, ..Self::default() }
    }

    fn drawn_rows(&self, theme: &Theme, columns: usize) -> (Vec<StyledLine>, Option<Caret>) {
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

impl Onboarding {
    /// Handles a key while the API key is typed.
    fn secret_key(&mut self, key: KeyPress, session: &SessionDisplay) -> Vec<LayerEffect> {
        let Some(typed) = &mut self.key else { return Vec::new() };
        match key.code {
            KeyCode::Escape => self.key = None,
            KeyCode::Enter => {
                let secret = typed.take().expanded.trim().to_owned();
                if !secret.is_empty() {
                    // A conversation that has begun continues.
                    let effect = match session.id {
                        Some(_) => LayerEffect::Job(PanelJob::SignIn(secret)),
                        None => LayerEffect::Outside(AppEffect::SignIn(secret)),
                    };
                    return vec![LayerEffect::Close, effect];
                }
            }
            _ => {
                super::prompt::edit(typed, key);
            }
        }
        Vec::new()
    }

    fn choice_key(&mut self, key: KeyPress) -> Vec<LayerEffect> {
        match (key.code, key.text().and_then(|c| c.to_digit(10))) {
            (_, Some(digit @ 1..=3)) => return self.choose(digit as usize - 1),
            (KeyCode::Enter, _) => return self.choose(self.chosen),
            (KeyCode::Up, _) => self.chosen = self.chosen.checked_sub(1).unwrap_or(CHOICES.len() - 1),
            (KeyCode::Down, _) => self.chosen = (self.chosen + 1) % CHOICES.len(),
            (KeyCode::Escape, _) => return vec![LayerEffect::Close],
            _ => {}
        }
        Vec::new()
    }

    fn choose(&mut self, choice: usize) -> Vec<LayerEffect> {
        let advice = match choice {
            0 => {
                self.key = Some(Editor::new());
                return Vec::new();
            }
            1 => ENDPOINT_ADVICE,
            _ => DEMO_ADVICE,
        };
        vec![LayerEffect::Close, LayerEffect::Note(advice.to_owned(), ThemeToken::Text)]
    }
}

impl Layer for Onboarding {
    fn rank(&self) -> LayerRank {
        LayerRank::Onboarding
    }

    /// Its keys are fixed.
    fn contexts(&self) -> &'static [KeyContext] {
        &[]
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        if key == KeyPress::ctrl('c') || key == KeyPress::ctrl('d') || key == KeyPress::ctrl('z') {
            return KeyOutcome::Passed;
        }
        KeyOutcome::Taken(match self.key {
            Some(_) => self.secret_key(key, view.session),
            None => self.choice_key(key),
        })
    }

    /// Inserts a pasted API key.
    fn paste(&mut self, pasted: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.key.as_mut()?.insert(text::clean(pasted).trim());
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (rows, caret) = self.drawn_rows(&view.preferences.theme, view.size.columns);
        LayerRows::InPlaceOfPrompt(rows, caret)
    }
}
