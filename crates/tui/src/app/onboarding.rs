//! The first start without credentials: a short choice in place of the prompt, then an API key, or the address, the key
//! and the model of an endpoint. A key is typed without being shown and passed out to be stored; it is neither kept nor
//! shown here.

use super::AppEffect;
use super::dialog::{DialogArea, DialogLayout};
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
use terminal::theme::ThemeToken;

const CHOICES: [&str; 3] =
    ["Enter an API key (only you can read it)", "Use an endpoint of my own", "See a recorded demo first"];
const NO_CREDENTIALS_TEXT: &str = "No credentials found. How do you want to continue?";
const DEMO_ADVICE: &str = "Run: gimlet demo --tui\nIt needs no key and no network. Then come back.";

/// What is stored where no key is needed: requests go out with some key in any case.
const NO_KEY: &str = "none";

/// What was typed, to be stored.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInEntry {
    pub key: String,
    pub endpoint: Option<engine::prompt_history::OwnEndpoint>,
}

impl std::fmt::Debug for SignInEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInEntry").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// The text being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignInField {
    Key,
    Address,
    EndpointKey,
    Model,
}

impl SignInField {
    fn label(self) -> &'static str {
        match self {
            Self::Key => "API key: ",
            Self::Address => "Address: ",
            Self::EndpointKey => "Key: ",
            Self::Model => "Model: ",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Key => "",
            Self::Address => "The address of its Messages API, for example http://localhost:8080",
            Self::EndpointKey => "Leave it empty if it needs none.",
            Self::Model => "The model's name at this endpoint. Leave it empty for the default.",
        }
    }

    fn is_secret(self) -> bool {
        matches!(self, Self::Key | Self::EndpointKey)
    }

    fn before(self) -> Option<Self> {
        match self {
            Self::Key | Self::Address => None,
            Self::EndpointKey => Some(Self::Address),
            Self::Model => Some(Self::EndpointKey),
        }
    }
}

#[derive(Debug, Default)]
pub struct Onboarding {
    /// Opened by `/login`.
    is_from_login: bool,
    chosen: usize,
    typed: Option<(SignInField, Editor)>,
    address: String,
    endpoint_key: String,
    problem: Option<&'static str>,
}

impl Onboarding {
    /// `/login`: the same choice at any time.
    pub fn from_login() -> Self {
        Self { is_from_login: true, ..Self::default() }
    }

    fn drawn_rows(&self, place: &DialogArea<'_>) -> (Vec<StyledLine>, Option<Caret>) {
        let inner = &place.inner();
        let accent = place.theme.fg(ThemeToken::Permission);
        let title = match &self.typed {
            Some((SignInField::Key, _)) => "Enter an API key",
            Some(_) => "An endpoint of your own",
            None if self.is_from_login => "Sign in",
            None => NO_CREDENTIALS_TEXT,
        };
        let head = StyledLine::styled(title, accent.bold()).wrapped(inner.columns, 0);
        let Some((field, editor)) = &self.typed else {
            let choices = CHOICES.iter().enumerate();
            let choices = choices.flat_map(|(index, choice)| inner.option(index, choice, index == self.chosen));
            let hint = "enter to choose · esc to continue without".into();
            let layout =
                DialogLayout { head, choices: choices.collect(), chosen: self.chosen, hint, ..DialogLayout::default() };
            return (layout.rows(place, 0, None).0, None);
        };
        let shown =
            if field.is_secret() { "•".repeat(editor.text().chars().count()) } else { editor.text().to_owned() };
        let column = text::width(field.label()) + text::width(&shown);
        let column = column.min(inner.columns.saturating_sub(1));
        let faint = place.theme.fg(ThemeToken::Inactive);
        let line = StyledLine::styled(field.label(), faint).and(shown, TextStyle::PLAIN);
        let hint = match field {
            SignInField::Key | SignInField::Model => "enter to store it · esc to go back",
            SignInField::Address | SignInField::EndpointKey => "enter to continue · esc to go back",
        };
        let layout = DialogLayout {
            head,
            info: self.explanation(*field, inner),
            choices: vec![line.truncated(inner.columns)],
            hint: hint.into(),
            ..DialogLayout::default()
        };
        let (rows, caret) = layout.rows(place, 0, Some((0, column)));
        (rows, caret.map(|(row, column)| Caret { row, column }))
    }

    /// What was typed before, what is wanted now, and what was wrong with it.
    fn explanation(&self, field: SignInField, inner: &DialogArea<'_>) -> Vec<StyledLine> {
        let faint = inner.theme.fg(ThemeToken::Inactive);
        let mut lines = Vec::new();
        if !self.address.is_empty() && field.before().is_some() {
            lines.push(StyledLine::plain(format!("Address: {}", text::clean(&self.address))));
        }
        lines.push(StyledLine::styled(field.advice(), faint));
        lines.extend(self.problem.map(|problem| StyledLine::styled(problem, inner.theme.fg(ThemeToken::Error))));
        lines.retain(|line| !line.is_empty());
        lines.iter().flat_map(|line| line.wrapped(inner.columns, 0)).collect()
    }
}

impl Onboarding {
    /// Handles a key while a text is typed.
    fn text_key(&mut self, key: KeyPress, session: &SessionDisplay) -> Vec<LayerEffect> {
        let Some((field, editor)) = &mut self.typed else { return Vec::new() };
        match key.code {
            KeyCode::Escape => {
                self.problem = None;
                self.typed = field.before().map(|before| (before, self.editor_for(before)));
            }
            KeyCode::Enter => {
                let (field, text) = (*field, editor.take().expanded.trim().to_owned());
                return self.take(field, text, session);
            }
            _ => {
                super::prompt::edit(editor, key);
            }
        }
        Vec::new()
    }

    /// An editor with what was typed before.
    fn editor_for(&self, field: SignInField) -> Editor {
        let mut editor = Editor::new();
        match field {
            SignInField::Address => editor.insert(&self.address),
            SignInField::EndpointKey => editor.insert(&self.endpoint_key),
            SignInField::Key | SignInField::Model => {}
        }
        editor
    }

    fn take(&mut self, field: SignInField, text: String, session: &SessionDisplay) -> Vec<LayerEffect> {
        self.problem = None;
        match field {
            SignInField::Key if text.is_empty() => {}
            SignInField::Key => return store(SignInEntry { key: text, endpoint: None }, session),
            SignInField::Address => {
                if let Some(address) = engine::prompt_history::endpoint_address(&text) {
                    self.address = address;
                    self.typed = Some((SignInField::EndpointKey, self.editor_for(SignInField::EndpointKey)));
                } else {
                    self.problem = Some("Not an address: it must begin with http:// or https:// and name a host");
                    if let Some((_, editor)) = &mut self.typed {
                        editor.insert(&text);
                    }
                }
            }
            SignInField::EndpointKey => {
                self.endpoint_key = text;
                self.typed = Some((SignInField::Model, Editor::new()));
            }
            SignInField::Model => {
                let url = std::mem::take(&mut self.address);
                let key = match std::mem::take(&mut self.endpoint_key) {
                    key if key.is_empty() => NO_KEY.to_owned(),
                    key => key,
                };
                let model = Some(text).filter(|model| !model.is_empty());
                let endpoint = Some(engine::prompt_history::OwnEndpoint { url, model });
                return store(SignInEntry { key, endpoint }, session);
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
        let field = match choice {
            0 => SignInField::Key,
            1 => SignInField::Address,
            _ => return vec![LayerEffect::Close, LayerEffect::Note(DEMO_ADVICE.to_owned(), ThemeToken::Text)],
        };
        self.typed = Some((field, self.editor_for(field)));
        Vec::new()
    }
}

/// Closes and has the entry stored. A conversation that has begun continues.
fn store(entry: SignInEntry, session: &SessionDisplay) -> Vec<LayerEffect> {
    let effect = match session.id {
        Some(_) => LayerEffect::Job(PanelJob::SignIn(entry)),
        None => LayerEffect::Outside(AppEffect::SignIn(entry)),
    };
    vec![LayerEffect::Close, effect]
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
        KeyOutcome::Taken(match self.typed {
            Some(_) => self.text_key(key, view.session),
            None => self.choice_key(key),
        })
    }

    /// Inserts a pasted text.
    fn paste(&mut self, pasted: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.typed.as_mut()?.1.insert(text::clean(pasted).trim());
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (rows, caret) = self.drawn_rows(&DialogArea::of(view));
        LayerRows::InPlaceOfPrompt(rows, caret)
    }
}
