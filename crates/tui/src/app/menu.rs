//! Suggestions under the input: commands after `/`, files after `@`, and arguments of commands. They depend only on the
//! text and the cursor. Files come from an external index and may arrive late; answers to an older query are ignored.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::session::CommandSummary;
use super::spinner::faint;
use crate::completion::fuzzy;
use std::collections::BTreeMap;
use terminal::keys::bindings::{KeyAction, KeyContext};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Rows that are shown at once.
pub const ROWS: usize = 6;
/// The most that earlier use can add to the score of a match.
const HABIT_BONUS: i32 = 14;
/// From so many letters on, words of descriptions are searched too.
const DESCRIPTION_LETTERS: usize = 3;
/// A match in a description is below every match in a name.
const DESCRIPTION_SCORE: i32 = -1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionKind {
    Command,
    File,
    /// An argument of the command at the start of the prompt.
    Argument,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuItem {
    /// What replaces the typed word.
    pub text: String,
    pub note: String,
}

impl MenuItem {
    pub fn new(text: impl Into<String>, note: impl Into<String>) -> Self {
        Self { text: text.into(), note: note.into() }
    }
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
    /// The arguments of the command being typed and what it does.
    usage: Option<String>,
    /// The typed word is the name of a command that is not listed.
    is_named: bool,
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
    file_query(before).or_else(|| command_query(before)).or_else(|| argument_query(before))
}

fn file_query(before: &str) -> Option<SuggestionQuery> {
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

/// A command at the start of the prompt, or a word after a blank that begins with a slash and is no path.
fn command_query(before: &str) -> Option<SuggestionQuery> {
    let start =
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let query = before[start..].strip_prefix('/')?;
    let is_word = start == 0 || (!query.is_empty() && !query.contains('/') && !before.starts_with('!'));
    is_word.then(|| SuggestionQuery { kind: SuggestionKind::Command, query: query.to_owned(), start })
}

/// The word after the command at the start of the prompt.
fn argument_query(before: &str) -> Option<SuggestionQuery> {
    before.strip_prefix('/').filter(|rest| rest.contains(char::is_whitespace) && !rest.contains('\n'))?;
    let start = before.rfind(char::is_whitespace)? + 1;
    Some(SuggestionQuery { kind: SuggestionKind::Argument, query: before[start..].to_owned(), start })
}

/// The commands that match by name, alias or a word of their description, best first; frequently and recently used ones
/// come before equal matches.
pub fn commands(query: &str, known: &[CommandSummary], used: &BTreeMap<String, i32>) -> Vec<MenuItem> {
    let score = |command: &CommandSummary| {
        let habit = used.get(&command.name).copied().unwrap_or(0).min(HABIT_BONUS);
        let name = fuzzy::score(query, &command.name);
        let alias = command.aliases.iter().filter_map(|alias| fuzzy::score(query, alias)).max();
        let Some(best) = name.max(alias.map(|score| score - 3)) else {
            return described(query, &command.description).then_some(DESCRIPTION_SCORE + habit);
        };
        let is_called = |alias: &String| alias == query;
        let exact = if command.name == query || command.aliases.iter().any(is_called) { 100 } else { 0 };
        Some(best + exact + habit)
    };
    let mut scored: Vec<(i32, usize)> =
        known.iter().enumerate().filter_map(|(index, command)| Some((score(command)?, index))).collect();
    sys::compact_sort::sort_by_key(&mut scored, |(score, index)| (-score, *index));
    let item = |(_, index): &(i32, usize)| {
        let command = &known[*index];
        let hint = if command.argument_hint.is_empty() { String::new() } else { format!("{} ", command.argument_hint) };
        MenuItem::new(format!("/{}", command.name), format!("{hint}{}", command.description))
    };
    scored.iter().map(item).collect()
}

/// Whether a word of the description begins like the query.
fn described(query: &str, description: &str) -> bool {
    let query = query.to_lowercase();
    let mut words = description.split(|c: char| !c.is_alphanumeric());
    query.chars().count() >= DESCRIPTION_LETTERS && words.any(|word| word.to_lowercase().starts_with(&query))
}

/// The choices for an argument that match, best first.
pub fn choices(query: &str, known: impl IntoIterator<Item = MenuItem>) -> Vec<MenuItem> {
    let mut scored: Vec<(i32, MenuItem)> =
        known.into_iter().filter_map(|item| Some((fuzzy::score(query, &item.text)?, item))).collect();
    sys::compact_sort::sort_by_key(&mut scored, |(score, _)| -score);
    scored.into_iter().map(|(_, item)| item).collect()
}

/// How a file is mentioned in a prompt.
pub fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

impl Menu {
    pub fn new(wanted: SuggestionQuery, items: Vec<MenuItem>) -> Self {
        let SuggestionQuery { kind, query, start } = wanted;
        Self { kind, query, start, items, chosen: 0, has_moved: false, usage: None, is_named: false }
    }

    /// Shows how the command is used.
    #[must_use]
    pub fn with_usage(mut self, usage: Option<String>) -> Self {
        self.usage = usage;
        self
    }

    /// The typed word is a whole name already, although it is in no list: Enter does not take another one for it.
    #[must_use]
    pub fn named(mut self, is_named: bool) -> Self {
        self.is_named = is_named;
        self
    }

    /// Whether there is something to show.
    pub fn says_something(&self) -> bool {
        !self.items.is_empty() || self.usage.is_some()
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
        let means_it = match self.kind {
            SuggestionKind::File => true,
            SuggestionKind::Argument => false,
            // Within a prompt a slash is more often a slash.
            SuggestionKind::Command => {
                self.start == 0 && !self.is_named && (begins(name) || name.split([':', '_', '-']).any(begins))
            }
        };
        self.has_moved || means_it
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
        let is_directory = self.kind != SuggestionKind::Command && item.text.trim_end_matches('"').ends_with('/');
        // A quoted path stays open while completion goes on inside a directory.
        let written = if is_directory { item.text.trim_end_matches('"') } else { &item.text };
        let end = if is_directory { "" } else { " " };
        let text = format!("{written}{end}");
        let goes_on = is_directory || self.kind == SuggestionKind::Command;
        vec![LayerEffect::Close, LayerEffect::Complete { start: self.start, text, goes_on }]
    }

    /// Enter: `None` when the typed text is sent as it is, because the word is complete or nothing fits.
    fn submit(&self, typed: &str) -> Option<Vec<LayerEffect>> {
        let is_complete = !self.has_moved && self.items.iter().any(|item| item.text == typed);
        let is_chosen = self.current().is_some_and(|item| item.text == typed);
        if !self.enter_accepts() || is_complete || is_chosen {
            return None;
        }
        let mut effects = self.accept();
        let is_whole = match self.kind {
            SuggestionKind::Command => self.start == 0,
            SuggestionKind::Argument => !self.current().is_some_and(|item| item.text.ends_with('/')),
            SuggestionKind::File => false,
        };
        if is_whole {
            effects.push(LayerEffect::Perform(KeyAction::Submit));
        }
        Some(effects)
    }

    fn drawn_rows(&self, theme: &Theme, columns: usize) -> Vec<StyledLine> {
        let window = self.window();
        let widest = self.items[window.clone()].iter().map(|item| text::width(&item.text)).max().unwrap_or(0);
        let widest = widest.min(columns / 2).max(8);
        let row = |(index, item): (usize, &MenuItem)| {
            let is_chosen = index == self.chosen;
            let token = if is_chosen { ThemeToken::Suggestion } else { ThemeToken::Inactive };
            let style = theme.fg(token);
            let mut line = StyledLine::styled(if is_chosen { "❯ " } else { "  " }, style);
            let name = match self.kind {
                SuggestionKind::File => item.text.trim_start_matches('@').to_owned(),
                SuggestionKind::Command | SuggestionKind::Argument => text::truncate(&item.text, widest),
            };
            line.append(marked(&name, &self.query, style));
            if !item.note.is_empty() {
                let pad = widest.saturating_sub(text::width(&name));
                line.push(format!("{}  {}", " ".repeat(pad), item.note), style);
            }
            line.truncated(columns)
        };
        let usage = self.usage.iter().map(|usage| faint(format!("  {usage}"), theme).truncated(columns));
        let items = self.items.iter().enumerate().skip(window.start).take(window.len()).map(row);
        usage.chain(items).collect()
    }

    fn spoken_rows(&self) -> Vec<StyledLine> {
        let window = self.window();
        let usage = self.usage.iter().map(|usage| StyledLine::plain(usage.clone()));
        let row = |(index, item): (usize, &MenuItem)| {
            let chosen = if index == self.chosen { "selected: " } else { "" };
            let note = if item.note.is_empty() { String::new() } else { format!(", {}", item.note) };
            StyledLine::plain(format!("{}. {chosen}{}{note}", index + 1, item.text))
        };
        usage.chain(self.items.iter().enumerate().skip(window.start).take(window.len()).map(row)).collect()
    }
}

/// The text with the letters of the query set off.
fn marked(text: &str, query: &str, style: TextStyle) -> StyledLine {
    let found = fuzzy::matched(query, text);
    let mut line = StyledLine::new();
    let mut at = 0;
    for (start, c) in text.char_indices() {
        let end = start + c.len_utf8();
        if found.iter().any(|index| (start..end).contains(index)) {
            line.push(&text[at..start], style);
            line.push(&text[start..end], style.bold().underline());
            at = end;
        }
    }
    line.push(&text[at..], style);
    line
}

impl Layer for Menu {
    fn rank(&self) -> LayerRank {
        LayerRank::Completion
    }

    fn contexts(&self) -> &'static [KeyContext] {
        if self.items.is_empty() { &[] } else { &[KeyContext::Autocomplete] }
    }

    /// The prompt is edited while suggestions are shown.
    fn is_modal(&self) -> bool {
        false
    }

    fn action(&mut self, action: KeyAction, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        if self.items.is_empty() {
            return None;
        }
        match action {
            KeyAction::Accept => return Some(self.accept()),
            KeyAction::Submit => {
                let typed = view.editor.text().get(self.start..view.editor.cursor());
                return self.submit(typed.unwrap_or_default());
            }
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
        assert_eq!(at_end("/compact now"), Some((SuggestionKind::Argument, "now".into(), 9)));
        assert_eq!(at_end("/mcp enable x"), Some((SuggestionKind::Argument, "x".into(), 12)));
        assert_eq!(at_end("please /dep"), Some((SuggestionKind::Command, "dep".into(), 7)));
        for none in ["please /", "see /usr/b", "!ls /us", "1/2", "words"] {
            assert_eq!(at_end(none), None, "{none}");
        }
        assert_eq!(at_end("see @~/no"), Some((SuggestionKind::File, "~/no".into(), 4)));
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
            Menu::new(wanted, vec![MenuItem::new(format!("/{name}"), "")])
        };
        assert!(!menu("run", "run-tests").named(true).enter_accepts(), "a whole name is not taken for another");
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
        // A word of a description, after all names.
        let money = CommandSummary { description: "Cost of this session".into(), ..command("usage") };
        let cosy = command("cosy");
        let found = commands("cos", &[money, cosy], &none);
        assert_eq!(found.iter().map(|item| item.text.as_str()).collect::<Vec<_>>(), ["/cosy", "/usage"]);
    }

    #[test]
    fn the_typed_letters_are_marked_and_the_chosen_row_has_a_sign() {
        let wanted = SuggestionQuery { kind: SuggestionKind::Command, query: "cn".into(), start: 0 };
        let menu = Menu::new(wanted, vec![MenuItem::new("/context", "what fills it")]).with_usage(Some("usage".into()));
        let rows = menu.drawn_rows(&Theme::default(), 40);
        assert_eq!(rows.iter().map(StyledLine::text).collect::<Vec<_>>(), ["  usage", "❯ /context  what fills it"]);
        let strong = marked("/context", "cn", TextStyle::PLAIN);
        let strong: Vec<String> =
            strong.spans.iter().filter(|span| span.style.bold).map(|span| span.text.clone()).collect();
        assert_eq!(strong, ["c", "n"]);
    }
}
