//! Panels in place of the prompt: lists to choose from, pages to read, a line to fill in. A panel opened from another
//! one is above it, and Esc closes the top one. `Panel` draws and handles keys; what the rows mean is up to its
//! `PanelContent`. The data comes from control requests and panel jobs; this module does no I/O.

pub mod agents;
pub mod commands;
pub mod content;
pub mod jobs;
pub mod memory;
pub mod model;
pub mod pages;
pub mod rewind;
pub mod rules;
pub mod servers;
pub mod setting_names;
pub mod settings;
pub mod tasks;
pub mod themes;

pub use content::{PanelContent, PanelNews, PanelReaction, PanelSource, PlainPage};
pub use jobs::{PanelJob, PanelJobResult, StoredSignIn};

use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::select::{ListCount, SelectItem, SelectList, SelectOutcome, TypingMode};
use super::spinner::faint;
use super::tools;
use std::any::Any;
use std::time::Duration;
use terminal::editor::Editor;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Windows with more rows than this get empty rows between the parts of a panel.
const SPACIOUS: usize = 14;
/// The left margin.
const MARGIN: &str = "  ";

#[derive(Debug)]
pub enum PanelBody {
    /// The data was requested and has not arrived yet.
    Waiting,
    List(SelectList),
    Page(TextPage),
    Entry(InputLine),
}

/// A scrollable text.
#[derive(Debug, Default)]
pub struct TextPage {
    pub lines: Vec<StyledLine>,
    pub top: usize,
}

/// A labelled input line.
#[derive(Debug)]
pub struct InputLine {
    pub label: String,
    pub editor: Editor,
}

/// What a panel shows.
#[derive(Debug)]
pub struct PanelFrame {
    title: String,
    /// What the rows of the list are, in the singular; the title then says how many there are.
    counted: Option<&'static str>,
    /// The hint that lists the keys.
    keys: String,
    body: PanelBody,
}

impl PanelFrame {
    pub fn list(title: impl Into<String>, items: Vec<SelectItem>, typing: TypingMode) -> Self {
        let keys = "enter to choose · esc to close".into();
        Self { title: title.into(), counted: None, keys, body: PanelBody::List(SelectList::new(items, typing)) }
    }

    pub fn page(title: impl Into<String>, lines: Vec<StyledLine>) -> Self {
        let keys = "↑↓ space b g G to move · esc to close".into();
        Self { title: title.into(), counted: None, keys, body: PanelBody::Page(TextPage { lines, top: 0 }) }
    }

    pub fn entry(title: impl Into<String>, label: impl Into<String>, text: &str) -> Self {
        let mut editor = Editor::new();
        editor.insert(text);
        let keys = "enter to continue · esc to go back".into();
        Self {
            title: title.into(),
            counted: None,
            keys,
            body: PanelBody::Entry(InputLine { label: label.into(), editor }),
        }
    }

    pub fn waiting(title: impl Into<String>) -> Self {
        Self { title: title.into(), counted: None, keys: "esc to close".into(), body: PanelBody::Waiting }
    }

    #[must_use]
    pub fn keys(mut self, keys: impl Into<String>) -> Self {
        self.keys = keys.into();
        self
    }

    /// The title says how many of these there are.
    #[must_use]
    pub fn counted(mut self, one: &'static str) -> Self {
        self.counted = Some(one);
        self
    }

    /// The row of the list that is chosen first.
    #[must_use]
    pub fn chosen(mut self, item: usize) -> Self {
        if let PanelBody::List(list) = &mut self.body {
            list.choose(item);
        }
        self
    }

    #[must_use]
    pub fn with(self, content: impl PanelContent) -> Panel {
        Panel { frame: self, content: Box::new(content) }
    }
}

#[derive(Debug)]
pub struct Panel {
    frame: PanelFrame,
    content: Box<dyn PanelContent>,
}

impl Panel {
    /// Where the data of the panel comes from.
    pub fn source(&self) -> Option<PanelSource> {
        self.content.source()
    }

    /// Whether a failure to get its data is no news.
    pub fn is_quiet(&self) -> bool {
        self.content.is_quiet()
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.frame.body, PanelBody::Waiting)
    }

    /// Whether this is what the panel is about.
    pub fn is_about<C: PanelContent>(&self) -> bool {
        let content: &dyn Any = self.content.as_ref();
        content.is::<C>()
    }

    /// Shows something else. A list keeps its filter and position.
    pub fn show(&mut self, frame: PanelFrame) {
        self.frame.title = frame.title;
        self.frame.counted = frame.counted;
        self.frame.keys = frame.keys;
        match (&mut self.frame.body, frame.body) {
            (PanelBody::List(old), PanelBody::List(new)) => old.renew(new),
            (old, new) => *old = new,
        }
    }

    /// Passes news to the content; `None` when they do not concern it.
    pub fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match self.content.receive(news, view) {
            PanelReaction::Ignored => return None,
            PanelReaction::Show(frame) => self.show(*frame),
            PanelReaction::AskAgain => return Some(vec![LayerEffect::AskPanelSource]),
        }
        Some(Vec::new())
    }

    fn close(&mut self) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        effects.extend(self.dismissed());
        effects
    }

    fn body_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let contexts = self.contexts();
        let bindings = &view.preferences.bindings;
        match &mut self.frame.body {
            PanelBody::Waiting if key.code == KeyCode::Escape => self.close(),
            PanelBody::Waiting => Vec::new(),
            PanelBody::List(list) => match list.key(key, bindings) {
                SelectOutcome::Chose(item) => self.content.choose(item, view),
                SelectOutcome::Cancelled => self.close(),
                SelectOutcome::Moved => self.content.moved(list.chosen()),
                SelectOutcome::Unused => self.content.key(key, list.chosen(), view),
            },
            PanelBody::Page(page) => match bindings.find(contexts, &[key]) {
                BindingMatch::KeyAction(KeyAction::SelectCancel | KeyAction::SelectAccept) => self.close(),
                BindingMatch::KeyAction(action) => {
                    let wrapped = page_rows(page, view.size.columns).len();
                    page.scroll(action, page_room(view.size.rows), wrapped);
                    Vec::new()
                }
                BindingMatch::None if key == KeyPress::char('q') => self.close(),
                BindingMatch::Prefix | BindingMatch::None => self.content.key(key, None, view),
            },
            PanelBody::Entry(entry) => match key.code {
                KeyCode::Escape => self.close(),
                KeyCode::Enter => match entry.editor.expanded().trim() {
                    "" => Vec::new(),
                    text => self.content.submit(text, view),
                },
                _ => {
                    super::prompt::edit(&mut entry.editor, key);
                    Vec::new()
                }
            },
        }
    }

    /// The title, and how many rows there are.
    fn title_row(&self, theme: &Theme, columns: usize) -> StyledLine {
        let accent = theme.fg(ThemeToken::Suggestion);
        let title = StyledLine::styled(format!("{MARGIN}{}", self.frame.title), accent.bold());
        let (Some(one), PanelBody::List(list)) = (self.frame.counted, &self.frame.body) else {
            return title.truncated(columns);
        };
        let ListCount { shown, all } = list.count();
        let count = if shown == all { all.to_string() } else { format!("{shown} of {all}") };
        let count = format!("  {count} {}", tools::plural(all, one));
        title.and(count, theme.fg(ThemeToken::Inactive)).truncated(columns)
    }

    /// The rows, and the caret.
    fn drawn_rows(&self, view: &LayerView<'_>) -> (Vec<StyledLine>, Option<Caret>) {
        let theme = &view.preferences.theme;
        let (columns, height) = (view.size.columns, view.size.rows);
        let mut rows = Vec::new();
        if height > 4 {
            rows.push(StyledLine::styled("─".repeat(columns), theme.fg(ThemeToken::Suggestion)));
        }
        rows.push(self.title_row(theme, columns));
        let is_spacious = height > SPACIOUS;
        if is_spacious {
            rows.push(StyledLine::new());
        }
        let room = height.saturating_sub(rows.len() + if is_spacious { 3 } else { 2 }).max(1);
        let (lines, caret) = self.body_rows(view, room);
        let caret = caret.map(|caret| Caret { row: caret.row + rows.len(), ..caret });
        rows.extend(lines);
        if is_spacious {
            rows.push(StyledLine::new());
        }
        if height > 4 {
            let keys = if let Some(hint) = view.hint {
                StyledLine::styled(format!("{MARGIN}{hint}"), theme.fg(ThemeToken::Warning))
            } else {
                let room = columns.saturating_sub(text::width(MARGIN));
                faint(format!("{MARGIN}{}", keys_within(&self.frame.keys, room)), theme)
            };
            rows.push(keys.truncated(columns));
        }
        (rows, caret)
    }

    /// The rows between title and keys, at most `room`, and the caret in them.
    fn body_rows(&self, view: &LayerView<'_>, room: usize) -> (Vec<StyledLine>, Option<Caret>) {
        let theme = &view.preferences.theme;
        let columns = view.size.columns;
        let details = |item| -> Vec<StyledLine> {
            self.content.details(item, view).iter().flat_map(|line| line.wrapped(columns, 2)).collect()
        };
        match &self.frame.body {
            PanelBody::Waiting => (vec![faint(format!("{MARGIN}…"), theme)], None),
            PanelBody::List(list) => {
                let about = details(list.chosen());
                let shown = about.len().min(room.saturating_sub(3));
                let gap = usize::from(shown > 0 && room > shown + 6);
                let (mut rows, at) = list.rows(theme, columns, room - shown - gap);
                rows.extend(std::iter::repeat_n(StyledLine::new(), gap));
                rows.extend(about.into_iter().take(shown));
                (rows, at.map(|(row, column)| Caret { row, column }))
            }
            PanelBody::Page(page) => {
                let all = page_rows(page, columns);
                let room = room.saturating_sub(1).max(1);
                let top = page.top.min(all.len().saturating_sub(room));
                let more = all.len().saturating_sub(top + room);
                let mut rows: Vec<StyledLine> = all.into_iter().skip(top).take(room).collect();
                if more > 0 {
                    rows.push(faint(format!("{MARGIN}… {more} more {}", tools::plural(more, "row")), theme));
                }
                (rows, None)
            }
            PanelBody::Entry(entry) => {
                let lead = format!("{MARGIN}{}: ", entry.label);
                let column = text::width(&lead) + text::width(&entry.editor.text()[..entry.editor.cursor()]);
                let caret = Caret { row: 0, column: column.min(columns.saturating_sub(1)) };
                let mut rows = vec![faint(lead, theme).and(entry.editor.text(), TextStyle::PLAIN)];
                rows.extend(details(None));
                (rows, Some(caret))
            }
        }
    }
}

/// The keys of a screen: where there is no room for all, those before the last one fall away.
fn keys_within(keys: &str, columns: usize) -> String {
    let parts: Vec<&str> = keys.split(" · ").collect();
    let last = parts.len() - 1;
    let rank = |at: usize| if at == last { 1 } else { u8::try_from(at * 2).unwrap_or(u8::MAX) };
    let ranked: Vec<(&str, u8)> = parts.into_iter().enumerate().map(|(at, part)| (part, rank(at))).collect();
    text::keys_within(&ranked, columns)
}

impl Layer for Panel {
    fn rank(&self) -> LayerRank {
        LayerRank::Panel
    }

    fn contexts(&self) -> &'static [KeyContext] {
        match self.frame.body {
            PanelBody::List(_) => &[KeyContext::Select],
            PanelBody::Page(_) => &[KeyContext::Scroll, KeyContext::Select],
            PanelBody::Waiting | PanelBody::Entry(_) => &[],
        }
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        if key == KeyPress::ctrl('c') {
            return KeyOutcome::Taken(vec![LayerEffect::Dismiss(LayerRank::Panel)]);
        }
        if key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l') {
            return KeyOutcome::Passed;
        }
        // Keys typed here must not answer a question that appears meanwhile.
        let mut effects = vec![LayerEffect::Typed];
        effects.extend(self.body_key(key, view));
        KeyOutcome::Taken(effects)
    }

    fn early_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match self.key(key, view) {
            KeyOutcome::Taken(effects) => Some(effects),
            KeyOutcome::Passed | KeyOutcome::Bindings | KeyOutcome::Early => None,
        }
    }

    fn paste(&mut self, pasted: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match &mut self.frame.body {
            PanelBody::List(list) => list.paste(pasted),
            PanelBody::Entry(entry) => entry.editor.insert(pasted.lines().next().unwrap_or_default()),
            PanelBody::Waiting | PanelBody::Page(_) => {}
        }
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (rows, caret) = self.drawn_rows(view);
        LayerRows::InPlaceOfPrompt(rows, caret)
    }

    fn next_tick(&self, _: &LayerView<'_>) -> Option<Duration> {
        self.content.refresh_at()
    }

    fn tick(&mut self, view: &LayerView<'_>) -> Vec<LayerEffect> {
        self.content.stop_refresh();
        let mut effects = vec![LayerEffect::AskPanelSource];
        effects.extend(self.receive(&PanelNews::Refresh, view).unwrap_or_default());
        effects
    }

    fn dismissed(&mut self) -> Vec<LayerEffect> {
        self.content.dismissed()
    }
}

/// Rows of a page that a window of this height shows.
fn page_room(height: usize) -> usize {
    height.saturating_sub(if height > SPACIOUS { 7 } else { 5 }).max(1)
}

fn page_rows(page: &TextPage, columns: usize) -> Vec<StyledLine> {
    let indented = |line: &StyledLine| {
        let mut row = StyledLine::plain(MARGIN).and_line(line.clone());
        row.fill = line.fill;
        row
    };
    page.lines.iter().flat_map(|line| indented(line).wrapped(columns, 4)).collect()
}

impl TextPage {
    fn scroll(&mut self, action: KeyAction, room: usize, all: usize) {
        let last = all.saturating_sub(room);
        self.top = match action {
            KeyAction::ScrollLineUp => self.top.saturating_sub(1),
            KeyAction::ScrollLineDown => self.top + 1,
            KeyAction::ScrollHalfUp => self.top.saturating_sub(room / 2),
            KeyAction::ScrollHalfDown => self.top + room / 2,
            KeyAction::ScrollPageUp | KeyAction::ScrollFullUp => self.top.saturating_sub(room),
            KeyAction::ScrollPageDown | KeyAction::ScrollFullDown => self.top + room,
            KeyAction::ScrollTop => 0,
            KeyAction::ScrollBottom => last,
            _ => self.top,
        }
        .min(last);
    }
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
