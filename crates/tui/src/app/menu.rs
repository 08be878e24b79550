//! Suggestions under the input: commands after `/`, files after `@`. They depend only on the text and the cursor. Files
//! come from an external index and may arrive late; answers to an older query are ignored.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::session::CommandSummary;
use crate::completion::fuzzy;
use std::collections::BTreeMap;
use terminal::keys::bindings::{KeyAction, KeyContext};
use terminal::style::StyledLine;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Rows that are shown at once.
pub const ROWS: usize = 6;
/// The most that earlier use can add to the score of a match.
const HABIT_BONUS: i32 = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionKind {
    Command,
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuItem {
    /// What replaces the typed word.
    pub text: String,
    pub note: String,
}

#[derive(Clone, Debug)]
pub struct Menu {
    pub kind: SuggestionKind,
    pub query: String,
    /// The byte offset where the replaced text begins, at its prefix character.
    pub start: usize,
    pub items: Vec<MenuItem>,
    pub chosen: usize,
    /// The user has moved in the list.
    has_moved: bool,
}

/// The word being typed at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestionQuery {
    pub kind: SuggestionKind,
    pub query: String,
    pub start: usize,
}

/// The word at the cursor, when suggestions could help with it.
pub fn suggestion_query(text: &str, cursor: usize) -> Option<SuggestionQuery> {
    let before = &text[..cursor];
    if let Some(rest) = before.strip_prefix('/')
        && !rest.contains(char::is_whitespace)
    {
        return Some(SuggestionQuery { kind: SuggestionKind::Command, query: rest.to_owned(), start: 0 });
    }
    // A quoted path may contain spaces.
    let at = before.rfind('@')?;
    let preceded = before[..at].chars().next_back();
    if preceded.is_some_and(|c| !c.is_whitespace() && c != '(' && c != '"') {
        return None;
    }
    let word = &before[at + 1..];
    let query = match word.strip_prefix('"') {
        Some(quoted) if !quoted.contains('"') => quoted,
        Some(_) => return None,
        None if word.contains(char::is_whitespace) => return None,
        None => word,
    };
    Some(SuggestionQuery { kind: SuggestionKind::File, query: query.to_owned(), start: at })
}

/// The commands that match by name or alias, best first; frequently and recently used ones come before equal matches.
pub fn commands(query: &str, known: &[CommandSummary], used: &BTreeMap<String, i32>) -> Vec<MenuItem> {
    let score = |command: &CommandSummary| {
        let name = fuzzy::score(query, &command.name);
        let alias = command.aliases.iter().filter_map(|alias| fuzzy::score(query, alias)).max();
        let best = name.max(alias.map(|score| score - 3))?;
        let is_called = |alias: &String| alias == query;
        let exact = if command.name == query || command.aliases.iter().any(is_called) { 100 } else { 0 };
        Some(best + exact + used.get(&command.name).copied().unwrap_or(0).min(HABIT_BONUS))
    };
    let mut scored: Vec<(i32, usize)> =
        known.iter().enumerate().filter_map(|(index, command)| Some((score(command)?, index))).collect();
    scored.sort_by_key(|(score, index)| (-score, *index));
    let item = |(_, index): &(i32, usize)| {
        let command = &known[*index];
        let hint = if command.argument_hint.is_empty() { String::new() } else { format!("{} ", command.argument_hint) };
        MenuItem { text: format!("/{}", command.name), note: format!("{hint}{}", command.description) }
    };
    scored.iter().map(item).collect()
}

/// How a file is mentioned in a prompt.
pub fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

impl Menu {
    pub fn new(wanted: SuggestionQuery, items: Vec<MenuItem>) -> Self {
        Self { kind: wanted.kind, query: wanted.query, start: wanted.start, items, chosen: 0, has_moved: false }
    }

    pub fn next(&mut self) {
        self.has_moved = true;
        self.chosen = (self.chosen + 1) % self.items.len().max(1);
    }

    pub fn previous(&mut self) {
        self.has_moved = true;
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.items.len().saturating_sub(1));
    }

    /// Whether Enter accepts the chosen row instead of sending the typed text. Letters that only occur somewhere in a
    /// name may mean another command or be a typing error.
    pub fn enter_accepts(&self) -> bool {
        let Some(item) = self.current() else { return false };
        let name = item.text.trim_start_matches('/');
        let begins = |at: &str| at.to_lowercase().starts_with(&self.query.to_lowercase());
        self.has_moved || self.kind == SuggestionKind::File || begins(name) || name.split([':', '_', '-']).any(begins)
    }

    pub fn current(&self) -> Option<&MenuItem> {
        self.items.get(self.chosen)
    }

    /// The rows around the chosen one.
    pub fn window(&self) -> std::ops::Range<usize> {
        let start = self.chosen.saturating_sub(ROWS - 1).min(self.items.len().saturating_sub(ROWS));
        start..(start + ROWS).min(self.items.len())
    }
}

impl Menu {
    /// Puts the chosen item into the prompt. Completion continues inside a directory; everything else is complete.
    fn accept(&self) -> Vec<LayerEffect> {
        let Some(item) = self.current() else { return vec![LayerEffect::Close] };
        let is_directory = self.kind == SuggestionKind::File && item.text.trim_end_matches('"').ends_with('/');
        let end = if is_directory { "" } else { " " };
        let text = format!("{}{end}", item.text);
        vec![LayerEffect::Close, LayerEffect::Complete { start: self.start, text, goes_on: is_directory }]
    }

    /// Enter: `None` when the typed text is sent as it is.
    fn submit(&self, typed: &str) -> Option<Vec<LayerEffect>> {
        let is_complete = self.current().is_some_and(|item| item.text == typed);
        if !self.enter_accepts() || is_complete {
            return None;
        }
        let mut effects = self.accept();
        if self.kind == SuggestionKind::Command {
            effects.push(LayerEffect::Perform(KeyAction::Submit));
        }
        Some(effects)
    }

    fn drawn_rows(&self, theme: &Theme, columns: usize) -> Vec<StyledLine> {
        let window = self.window();
        let widest = self.items[window.clone()].iter().map(|item| text::width(&item.text)).max().unwrap_or(0);
        let widest = widest.min(columns / 2).max(8);
        let row = |(index, item): (usize, &MenuItem)| {
            let style =
                if index == self.chosen { theme.fg(ThemeToken::Suggestion) } else { theme.fg(ThemeToken::Inactive) };
            match self.kind {
                SuggestionKind::File => StyledLine::styled(format!("  {}", item.text.trim_start_matches('@')), style),
                SuggestionKind::Command => {
                    let name = text::truncate(&item.text, widest);
                    let pad = widest - text::width(&name);
                    StyledLine::styled(format!("  {name}{}  {}", " ".repeat(pad), item.note), style).truncated(columns)
                }
            }
        };
        self.items.iter().enumerate().skip(window.start).take(window.len()).map(row).collect()
    }

    fn spoken_rows(&self) -> Vec<StyledLine> {
        let window = self.window();
        let row = |(index, item): (usize, &MenuItem)| {
            let chosen = if index == self.chosen { "selected: " } else { "" };
            let note = if item.note.is_empty() { String::new() } else { format!(", {}", item.note) };
            StyledLine::plain(format!("{}. {chosen}{}{note}", index + 1, item.text))
        };
        self.items.iter().enumerate().skip(window.start).take(window.len()).map(row).collect()
    }
}

impl Layer for Menu {
    fn rank(&self) -> LayerRank {
        LayerRank::Completion
    }

    fn contexts(&self) -> &'static [KeyContext] {
        &[KeyContext::Autocomplete]
    }

    /// The prompt is edited while suggestions are shown.
    fn is_modal(&self) -> bool {
        false
    }

    fn action(&mut self, action: KeyAction, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match action {
            KeyAction::Accept => return Some(self.accept()),
            KeyAction::Submit => return self.submit(view.editor.text()),
            KeyAction::Dismiss => return Some(vec![LayerEffect::Close]),
            KeyAction::CompletionPrevious => self.previous(),
            KeyAction::CompletionNext => self.next(),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        LayerRows::BelowPrompt(if view.has_screen_reader() {
            self.spoken_rows()
        } else {
            self.drawn_rows(&view.preferences.theme, view.size.columns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(text: &str) -> Option<(SuggestionKind, String, usize)> {
        suggestion_query(text, text.len()).map(|wanted| (wanted.kind, wanted.query, wanted.start))
    }

    #[test]
    fn suggestions_follow_the_word_at_the_cursor() {
        // [TST-237]
        assert_eq!(at_end("/co"), Some((SuggestionKind::Command, "co".into(), 0)));
        assert_eq!(at_end("/compact now"), None);
        assert_eq!(at_end("see @src/ma"), Some((SuggestionKind::File, "src/ma".into(), 4)));
        assert_eq!(at_end("see @\"my fi"), Some((SuggestionKind::File, "my fi".into(), 4)));
        assert_eq!(at_end("a@b"), None);
        assert_eq!(at_end("see @a b"), None);
        assert_eq!(mention("a b.txt"), "@\"a b.txt\"");
    }

    #[test]
    fn enter_takes_what_begins_like_it_or_was_pointed_at() {
        let menu = |query: &str, name: &str| {
            let wanted = SuggestionQuery { kind: SuggestionKind::Command, query: query.into(), start: 0 };
            Menu::new(wanted, vec![MenuItem { text: format!("/{name}"), note: String::new() }])
        };
        assert!(menu("mod", "model").enter_accepts() && menu("style", "output-style").enter_accepts());
        assert!(!menu("tui", "statusline").enter_accepts());
        let mut pointed = menu("tui", "statusline");
        pointed.next();
        assert!(pointed.enter_accepts());
    }

    #[test]
    fn commands_match_fuzzily_and_best_first() {
        let command =
            |name: &str| CommandSummary { name: name.into(), description: "d".into(), ..CommandSummary::default() };
        let known = [command("context"), command("compact"), command("help")];
        let none = BTreeMap::new();
        let names: Vec<String> = commands("cpt", &known, &none).into_iter().map(|item| item.text).collect();
        assert_eq!(names, ["/compact"]);
        assert_eq!(commands("", &known, &none).len(), 3);
        assert_eq!(commands("con", &known, &none)[0].text, "/context");
        // Earlier use orders equal matches; an alias leads to its command.
        let used = BTreeMap::from([("compact".to_owned(), 12)]);
        assert_eq!(commands("", &known, &used)[0].text, "/compact");
        assert_eq!(commands("co", &known, &used)[0].text, "/compact");
        let aliased = [CommandSummary { aliases: vec!["cost".into()], ..command("usage") }];
        assert_eq!(commands("cost", &aliased, &none)[0].text, "/usage");
    }
}
