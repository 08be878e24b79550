//! The search in earlier prompts, in place of the prompt.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::prompt_history::HistorySearch;
use super::prompt_view::{prompt_limit, rule};
use super::spinner::faint;
use terminal::keys::bindings::{KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle, lines_of};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::ThemeToken;

impl HistorySearch {
    /// Closes the search and puts the match into the prompt.
    fn accept(&self, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        effects.extend(self.text(view.history).map(|text| LayerEffect::SetPrompt(text.to_owned())));
        effects
    }

    /// Closes the search and puts back what was typed before it.
    fn cancel(&self) -> Vec<LayerEffect> {
        let (text, cursor) = self.before();
        vec![LayerEffect::Close, LayerEffect::RestorePrompt(text.to_owned(), cursor)]
    }
}

impl Layer for HistorySearch {
    fn rank(&self) -> LayerRank {
        LayerRank::HistorySearch
    }

    fn contexts(&self) -> &'static [KeyContext] {
        &[KeyContext::HistorySearch, KeyContext::Global]
    }

    fn action(&mut self, action: KeyAction, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match action {
            KeyAction::SearchNext => {
                self.next(view.history);
                Some(Vec::new())
            }
            KeyAction::SearchAccept => Some(self.accept(view)),
            KeyAction::SearchCancel | KeyAction::Interrupt => Some(self.cancel()),
            KeyAction::SearchExecute => {
                let mut effects = self.accept(view);
                effects.push(LayerEffect::Perform(KeyAction::Submit));
                Some(effects)
            }
            _ => None,
        }
    }

    fn unbound_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match (key.text(), key.code) {
            (Some(c), _) => self.type_char(c, view.history),
            (None, KeyCode::Backspace) => self.backspace(view.history),
            (None, _) => {
                let mut effects = self.accept(view);
                effects.push(LayerEffect::PassUnbound(key));
                return Some(effects);
            }
        }
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (theme, columns) = (&view.preferences.theme, view.size.columns);
        let border = rule(theme, columns, ThemeToken::Suggestion);
        let mut lines = vec![border.clone()];
        let shown = match self.text(view.history) {
            Some(text) => text::clean(text),
            None if self.query.is_empty() => String::new(),
            None => "(nothing found)".into(),
        };
        let found = lines_of(&shown, TextStyle::PLAIN);
        lines.extend(found.iter().flat_map(|line| line.wrapped(columns, 0)).take(prompt_limit(view.size)));
        lines.push(border);
        let label = "search prompts: ";
        let query = text::clean(&self.query);
        let column = text::width(label) + text::width(&query);
        lines.push(StyledLine::styled(label, theme.fg(ThemeToken::Inactive)).and(query, TextStyle::PLAIN));
        let caret = Caret { row: lines.len() - 1, column };
        lines.push(faint("ctrl+r next · enter send · tab take · ctrl+c back", theme));
        LayerRows::InPlaceOfPrompt(lines, Some(caret))
    }
}
