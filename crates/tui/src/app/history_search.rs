//! The search in earlier prompts, in place of the prompt.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::prompt_history::{HistorySearch, MOST_FOUND};
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
            KeyAction::SearchNext => self.older(),
            KeyAction::SearchScope => self.cycle_scope(view.history),
            KeyAction::SearchAccept => return Some(self.accept(view)),
            KeyAction::SearchCancel | KeyAction::Interrupt => return Some(self.cancel()),
            KeyAction::SearchExecute => {
                let mut effects = self.accept(view);
                effects.push(LayerEffect::Perform(KeyAction::Submit));
                return Some(effects);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn unbound_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match (key.text(), key.code) {
            (Some(c), _) => self.type_char(c, view.history),
            (None, KeyCode::Backspace) => self.backspace(view.history),
            (None, KeyCode::Down) => self.older(),
            (None, KeyCode::Up) => self.newer(),
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
        let border = rule(columns, theme.fg(ThemeToken::Suggestion));
        let mut lines = vec![border.clone()];
        if view.has_screen_reader() {
            let shown = self.text(view.history).map_or_else(|| NOTHING.to_owned(), text::clean);
            lines.extend(lines_of(&shown, TextStyle::PLAIN));
        } else {
            lines.extend(self.list(view));
            lines.extend(self.preview(view));
        }
        lines.push(border);
        let label = "  search prompts: ";
        let query = text::clean(&self.query);
        let column = text::width(label) + text::width(&query);
        let count = match self.matches(view.history).len() {
            0 => NOTHING.to_owned(),
            MOST_FOUND => format!("{MOST_FOUND} or more"),
            some => format!("{some} found"),
        };
        let typed = StyledLine::styled(label, theme.fg(ThemeToken::Inactive)).and(query, TextStyle::PLAIN);
        let aside = format!("   {} · {count}", self.scope.name());
        lines.push(typed.and(aside, theme.fg(ThemeToken::Inactive)).truncated(columns));
        let caret = Caret { row: lines.len() - 1, column };
        lines.push(faint(format!("  {}", keys(view, columns.saturating_sub(2))), theme).truncated(columns));
        LayerRows::InPlaceOfPrompt(lines, Some(caret))
    }
}

const NOTHING: &str = "nothing found";
/// The most rows of the list, and of the chosen prompt below it.
const LIST_ROWS: usize = 6;
const PREVIEW_ROWS: usize = 5;

impl HistorySearch {
    /// The matches around the chosen one, a row each.
    fn list(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let room = LIST_ROWS.min(prompt_limit(view.size));
        let start = self.chosen().saturating_sub(room - 1);
        let row = |(index, prompt): (usize, &str)| {
            let is_chosen = index == self.chosen();
            let style = theme.fg(if is_chosen { ThemeToken::Suggestion } else { ThemeToken::Inactive });
            let mut line = StyledLine::styled(if is_chosen { "  ❯ " } else { "    " }, style);
            line.append(with_match(&one_line(prompt), &self.query, style));
            line.truncated(view.size.columns)
        };
        self.matches(view.history).enumerate().skip(start).take(room).map(row).collect()
    }

    /// The chosen prompt in full, when its row does not show all of it.
    fn preview(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        let columns = view.size.columns;
        let Some(prompt) = self.text(view.history).map(text::clean) else { return Vec::new() };
        let is_whole = !prompt.trim_end().contains('\n') && text::width(&prompt) + 4 <= columns;
        let room = prompt_limit(view.size).saturating_sub(LIST_ROWS).min(PREVIEW_ROWS);
        if is_whole || room < 2 {
            return Vec::new();
        }
        let indented = |line: StyledLine| StyledLine::plain("      ").and_line(line);
        let lines = lines_of(prompt.trim_end(), TextStyle::PLAIN);
        let mut rows: Vec<StyledLine> =
            lines.iter().flat_map(|line| line.wrapped(columns.saturating_sub(6).max(1), 0)).map(indented).collect();
        if rows.len() > room {
            rows.truncate(room - 1);
            rows.push(faint("      …", &view.preferences.theme));
        }
        rows
    }
}

/// The keys of the search, as they are bound.
fn keys(view: &LayerView<'_>, columns: usize) -> String {
    let actions = [
        (KeyAction::SearchAccept, "take", 0),
        (KeyAction::SearchNext, "older", 2),
        (KeyAction::SearchScope, "scope", 3),
        (KeyAction::SearchCancel, "back", 1),
    ];
    let named = |(action, what, rank): (KeyAction, &str, u8)| {
        Some((format!("{} {what}", view.preferences.bindings.keys_of(action)?), rank))
    };
    let named: Vec<(String, u8)> = actions.into_iter().filter_map(named).collect();
    let named: Vec<(&str, u8)> = named.iter().map(|(text, rank)| (text.as_str(), *rank)).collect();
    text::keys_within(&named, columns)
}

fn one_line(prompt: &str) -> String {
    text::clean(prompt).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with the first place of the query set off.
fn with_match(text: &str, query: &str, style: TextStyle) -> StyledLine {
    let found = text.to_lowercase().find(&query.to_lowercase()).filter(|_| !query.is_empty());
    let parts =
        found.and_then(|at| Some((text.get(..at)?, text.get(at..at + query.len())?, text.get(at + query.len()..)?)));
    let Some((before, found, after)) = parts else { return StyledLine::styled(text, style) };
    StyledLine::styled(before, style).and(found, style.bold().underline()).and(after, style)
}
