//! Screens in place of the prompt: lists to choose from, pages to read, a line to fill in. They stand on each other; Esc
//! takes one away. A question of the engine goes before them, and what they know comes from control requests and errands:
//! nothing here reads or writes.

pub mod memory;
pub mod model;
pub mod pages;
pub mod rules;
pub mod servers;
pub mod settings;
pub mod tasks;

use super::select::{Item, Pressed, Select, Typing};
use super::spinner::faint;
use super::{App, Effect};
use crate::editor::Editor;
use crate::keys::bindings::{Action, Context, Match};
use crate::keys::{Code, Key};
use crate::style::{Line, Style};
use crate::surface::Caret;
use crate::text;
use crate::theme::Token;
use serde_json::Value;

/// Rows of a list that are shown at once, where there is room.
const ROWS: usize = 14;

/// What a list is about, with what its rows stand for.
#[derive(Debug)]
pub enum Subject {
    Agents,
    Aside,
    Commands(Vec<String>),
    Context,
    Diff,
    Doctor,
    Efforts(Vec<String>),
    Hooks,
    Memory(Vec<memory::Row>),
    Models(model::Models),
    Rules(Vec<rules::Rule>),
    RuleBehaviour,
    RulePlace(rules::NewRule),
    RuleText(rules::NewRule),
    RuleRemoval(rules::Rule),
    Server(servers::Server),
    Servers(Vec<servers::Server>),
    Setting(settings::Chosen),
    SettingPlace(settings::Chosen, Option<Value>),
    SettingValue(settings::Chosen),
    Settings(Vec<engine::screens::Setting>),
    Status,
    Styles(Vec<String>),
    Task(String),
    Tasks(Vec<String>),
    Themes(settings::Themes),
    Usage,
}

#[derive(Debug)]
pub enum Body {
    /// Asked for, not there yet.
    Waiting,
    List(Select),
    Page(Page),
    Entry(Entry),
}

/// A text that scrolls.
#[derive(Debug, Default)]
pub struct Page {
    pub lines: Vec<Line>,
    pub top: usize,
}

/// A line to fill in.
#[derive(Debug)]
pub struct Entry {
    pub label: String,
    pub editor: Editor,
}

#[derive(Debug)]
pub struct Panel {
    pub title: String,
    /// Keys that do something here.
    pub keys: String,
    pub body: Body,
    pub subject: Subject,
}

impl Panel {
    pub fn list(title: impl Into<String>, items: Vec<Item>, typing: Typing, subject: Subject) -> Self {
        let keys = "enter to choose · esc to close".into();
        Self { title: title.into(), keys, body: Body::List(Select::new(items, typing)), subject }
    }

    pub fn page(title: impl Into<String>, lines: Vec<Line>, subject: Subject) -> Self {
        let keys = "↑↓ space b g G to move · esc to close".into();
        Self { title: title.into(), keys, body: Body::Page(Page { lines, top: 0 }), subject }
    }

    pub fn entry(title: impl Into<String>, label: impl Into<String>, text: &str, subject: Subject) -> Self {
        let mut editor = Editor::new();
        editor.insert(text);
        let keys = "enter to go on · esc to go back".into();
        Self { title: title.into(), keys, body: Body::Entry(Entry { label: label.into(), editor }), subject }
    }

    pub fn waiting(title: impl Into<String>, subject: Subject) -> Self {
        Self { title: title.into(), keys: "esc to close".into(), body: Body::Waiting, subject }
    }

    #[must_use]
    pub fn keys(mut self, keys: impl Into<String>) -> Self {
        self.keys = keys.into();
        self
    }
}

/// What an answer of the engine is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The question on the side with this number.
    Aside(u64),
    /// The file that the question with this id is about.
    Before(String),
    Context,
    Hooks,
    Memory,
    Models,
    /// What the place the session moved to brings along.
    Place,
    Rules,
    Servers,
    Status,
    TaskOutput,
    Usage,
    /// Nothing is told when it worked.
    Quiet,
    /// Only whether it worked, told in these words.
    Done(String),
    /// The same, and the servers are to be listed again.
    ServersAgain(String),
}

/// Something to be looked up or changed outside, for a screen.
#[derive(Debug, PartialEq)]
pub enum Errand {
    Settings,
    Change {
        file: &'static str,
        key: String,
        value: Option<Value>,
    },
    /// Edit the settings file of that name.
    EditSettings(&'static str),
    /// Edit the file of keys.
    EditKeys,
    EditFile(String),
    Themes,
    Doctor,
    Diff,
    SignIn(String),
    SignOut,
}

impl Eq for Errand {}

/// What an errand brought.
#[derive(Debug)]
pub enum Brought {
    Settings(Result<Vec<engine::screens::Setting>, String>),
    /// The key, its value, and the file or the reason.
    Changed {
        key: String,
        value: Option<Value>,
        outcome: Result<String, String>,
    },
    Themes(Vec<(String, String)>),
    /// Where the key is kept now.
    SignedIn(Result<String, String>),
    /// Whether there was one.
    SignedOut(Result<bool, String>),
    Doctor(String),
    Diff(Result<String, String>),
    /// A remark.
    Note(Result<String, String>),
}

impl App {
    pub(super) fn open_panel(&mut self, panel: Panel) {
        self.menu = None;
        self.overlay = None;
        self.panels.push(panel);
    }

    pub fn has_panel(&self) -> bool {
        !self.panels.is_empty()
    }

    /// Takes the topmost away, undoing what was only tried.
    fn close_panel(&mut self) {
        if let Some(panel) = self.panels.pop() {
            self.untry(&panel.subject);
        }
    }

    pub(super) fn close_panels(&mut self) {
        while self.has_panel() {
            self.close_panel();
        }
    }

    /// Asks the engine; the answer is routed by `what`.
    pub(super) fn request(&mut self, request: &Value, what: Awaited) {
        let id = self.control(request);
        self.awaited.insert(id, what);
    }

    pub(super) fn errand(&mut self, errand: Errand) {
        self.effects.push(Effect::Errand(errand));
    }

    /// Whether the key was meant for a screen.
    pub(super) fn panel_key(&mut self, key: Key) -> bool {
        let Some(panel) = self.panels.last_mut() else { return false };
        if key == Key::ctrl('c') {
            self.close_panels();
            return true;
        }
        if key == Key::ctrl('z') || key == Key::ctrl('l') {
            return false;
        }
        // A question that comes up meanwhile is not answered by what is typed here.
        self.typed_at = self.now;
        let bindings = &self.preferences.bindings;
        match &mut panel.body {
            Body::Waiting => {
                if key.code == Code::Escape {
                    self.close_panel();
                }
            }
            Body::List(list) => match list.key(key, bindings) {
                Pressed::Chose(item) => self.chose(item),
                Pressed::Cancelled => self.close_panel(),
                Pressed::Moved => self.moved(),
                Pressed::Unused => self.letter(key),
            },
            Body::Page(page) => {
                let room = page_room(self.size.rows);
                let wrapped = page_rows(page, self.size.columns).len();
                match bindings.find(&[Context::Scroll, Context::Select], &[key]) {
                    Match::Action(Action::SelectCancel | Action::SelectAccept) => self.close_panel(),
                    Match::Action(action) => page.scroll(action, room, wrapped),
                    Match::None if key == Key::char('q') => self.close_panel(),
                    Match::Prefix | Match::None => self.letter(key),
                }
            }
            Body::Entry(entry) => match key.code {
                Code::Escape => self.close_panel(),
                Code::Enter => {
                    let text = entry.editor.expanded().trim().to_owned();
                    if !text.is_empty() {
                        self.entered(text);
                    }
                }
                _ => {
                    super::keys::edit(&mut entry.editor, key);
                }
            },
        }
        true
    }

    pub(super) fn panel_paste(&mut self, pasted: &str) -> bool {
        match self.panels.last_mut().map(|panel| &mut panel.body) {
            Some(Body::List(list)) => list.paste(pasted),
            Some(Body::Entry(entry)) => entry.editor.insert(pasted.lines().next().unwrap_or_default()),
            Some(Body::Waiting | Body::Page(_)) => {}
            None => return false,
        }
        true
    }

    /// The screen in rows, and the cursor in it.
    pub(super) fn panel_rows(&self) -> Option<(Vec<Line>, Option<Caret>)> {
        let panel = self.panels.last()?;
        let theme = &self.preferences.theme;
        let (columns, height) = (self.size.columns, self.size.rows);
        let accent = theme.fg(Token::Suggestion);
        let mut rows = Vec::new();
        if height > 4 {
            rows.push(Line::styled("─".repeat(columns), accent));
        }
        rows.push(Line::styled(panel.title.clone(), accent.bold()).truncated(columns));
        let room = height.saturating_sub(rows.len() + 2).max(1);
        let mut caret = None;
        match &panel.body {
            Body::Waiting => rows.push(faint("  …", theme)),
            Body::List(list) => {
                let about = self.about(&panel.subject, list.chosen());
                let about: Vec<Line> = about.iter().flat_map(|line| line.wrapped(columns, 2)).collect();
                let room = room.min(ROWS);
                let shown = about.len().min(room.saturating_sub(3));
                let (lines, at) = list.rows(theme, columns, room - shown);
                caret = at.map(|(row, column)| Caret { row: rows.len() + row, column });
                rows.extend(lines);
                rows.extend(about.into_iter().take(shown));
            }
            Body::Page(page) => {
                let lines = page_rows(page, columns);
                let room = page_room(height);
                let top = page.top.min(lines.len().saturating_sub(room));
                let more = lines.len().saturating_sub(top + room);
                rows.extend(lines.into_iter().skip(top).take(room));
                if more > 0 {
                    rows.push(faint(format!("  … {more} more rows"), theme));
                }
            }
            Body::Entry(entry) => {
                let lead = format!("  {}: ", entry.label);
                let column = text::width(&lead) + text::width(&entry.editor.text()[..entry.editor.cursor()]);
                caret = Some(Caret { row: rows.len(), column: column.min(columns.saturating_sub(1)) });
                rows.push(faint(lead, theme).and(entry.editor.text(), Style::PLAIN));
                rows.extend(self.about(&panel.subject, None).iter().flat_map(|line| line.wrapped(columns, 2)));
            }
        }
        if height > 4 {
            rows.push(faint(panel.keys.clone(), theme).truncated(columns));
        }
        Some((rows, caret))
    }

    /// A row was chosen with Enter or its digit.
    fn chose(&mut self, item: usize) {
        let Some(panel) = self.panels.last() else { return };
        match &panel.subject {
            Subject::Commands(names) => {
                let text = names.get(item).map(|name| format!("/{name} "));
                self.close_panels();
                self.editor.set(text.unwrap_or_default());
            }
            Subject::Efforts(_) => self.effort_chosen(item),
            Subject::Memory(_) => self.memory_chosen(item),
            Subject::Models(_) => self.model_chosen(item, model::Lasts::Saved),
            Subject::Rules(_) => self.rule_chosen(item),
            Subject::RuleBehaviour => self.rule_behaviour(item),
            Subject::RulePlace(_) => self.rule_place(item),
            Subject::RuleRemoval(_) => self.rule_removed(item),
            Subject::Server(_) => self.server_does(item),
            Subject::Servers(_) => self.server_chosen(item),
            Subject::Setting(_) => self.setting_value_chosen(item),
            Subject::SettingPlace(..) => self.setting_placed(item),
            Subject::Settings(_) => self.setting_chosen(item),
            Subject::Styles(_) => self.style_chosen(item),
            Subject::Task(_) => self.task_does(item),
            Subject::Tasks(_) => self.task_chosen(item),
            Subject::Themes(_) => self.theme_chosen(item),
            // Only to be read.
            Subject::Agents
            | Subject::Aside
            | Subject::Context
            | Subject::Diff
            | Subject::Doctor
            | Subject::Hooks
            | Subject::RuleText(_)
            | Subject::SettingValue(_)
            | Subject::Status
            | Subject::Usage => {}
        }
    }

    /// Another row is pointed at.
    fn moved(&mut self) {
        if let Some(Panel { subject: Subject::Themes(_), .. }) = self.panels.last() {
            self.theme_tried();
        }
    }

    /// A key that the list or page has no use for.
    fn letter(&mut self, key: Key) {
        match self.panels.last().map(|panel| &panel.subject) {
            Some(Subject::Aside) => self.aside_key(key),
            Some(Subject::Models(_)) => self.model_key(key),
            Some(Subject::Tasks(_)) => self.tasks_key(key),
            Some(Subject::Themes(_)) => self.theme_key(key),
            Some(_) | None => {}
        }
    }

    /// A line was filled in.
    fn entered(&mut self, text: String) {
        match self.panels.last().map(|panel| &panel.subject) {
            Some(Subject::RuleText(_)) => self.rule_written(text),
            Some(Subject::SettingValue(_)) => self.setting_written(&text),
            Some(Subject::Models(_)) => self.model_named(&text, model::Lasts::Saved),
            Some(_) | None => {}
        }
    }

    /// What is only shown while a row is pointed at.
    fn untry(&mut self, subject: &Subject) {
        if let Subject::Themes(themes) = subject {
            self.preferences.theme = themes.before.clone();
        }
    }

    /// More about the row that is pointed at.
    fn about(&self, subject: &Subject, item: Option<usize>) -> Vec<Line> {
        match subject {
            Subject::Settings(rows) => item.and_then(|item| rows.get(item)).map(|row| self.setting_about(row)),
            Subject::SettingValue(chosen) => {
                Some(vec![faint(format!("  {}", chosen.setting.about.trim()), &self.preferences.theme)])
            }
            Subject::Themes(_) => Some(self.theme_sample()),
            Subject::Models(models) => Some(self.model_about(models, item)),
            Subject::RuleText(_) => Some(rules::examples(&self.preferences.theme)),
            _ => None,
        }
        .unwrap_or_default()
    }

    /// An answer of the engine that a screen waits for.
    pub(super) fn arrived(&mut self, what: Awaited, response: &Value) {
        // A file that is not there, or may not be read, is no news.
        if let Awaited::Before(id) = &what {
            return self.before_arrived(id, response);
        }
        if let Awaited::Aside(number) = what {
            return self.aside_arrived(number, response);
        }
        if let Some(error) = response.get("error").and_then(Value::as_str) {
            if let Some(Panel { body: Body::Waiting, .. }) = self.panels.last() {
                self.panels.pop();
            }
            return self.note(error, Token::Error);
        }
        let body = response.get("response").unwrap_or(&Value::Null);
        match what {
            Awaited::Context => self.context_arrived(body),
            Awaited::Hooks => self.hooks_arrived(body),
            Awaited::Memory => self.memory_arrived(body),
            Awaited::Models => self.models_arrived(body),
            Awaited::Place => {
                self.session.learn(body);
                // A command that is being typed may be one of them.
                if self.editor.text().starts_with('/') {
                    self.suggest();
                }
            }
            Awaited::Rules => self.rules_arrived(body),
            Awaited::Servers => self.servers_arrived(body),
            Awaited::Status => self.status_arrived(body),
            Awaited::TaskOutput => self.task_output_arrived(body),
            Awaited::Usage => self.usage_arrived(body),
            Awaited::Quiet | Awaited::Aside(_) | Awaited::Before(_) => {}
            Awaited::Done(words) => self.note(&words, Token::Inactive),
            Awaited::ServersAgain(words) => {
                self.note(&words, Token::Inactive);
                self.request_servers();
            }
        }
    }

    /// What an errand brought.
    pub(super) fn brought(&mut self, brought: Brought) {
        match brought {
            Brought::Settings(Ok(rows)) => self.settings_arrived(rows),
            Brought::Settings(Err(why)) | Brought::Note(Err(why)) => {
                self.close_panels();
                self.note(&why, Token::Error);
            }
            Brought::Changed { key, value, outcome } => self.setting_changed(&key, value.as_ref(), outcome),
            Brought::Themes(files) => self.themes_arrived(files),
            Brought::Doctor(report) => self.fill(|subject| matches!(subject, Subject::Doctor), pages::plain(&report)),
            Brought::Diff(diff) => self.diff_arrived(diff),
            Brought::Note(Ok(text)) => self.note(&text, Token::Inactive),
            Brought::SignedIn(outcome) => self.signed_in(outcome),
            Brought::SignedOut(outcome) => self.signed_out(outcome),
        }
    }

    /// Puts a page into the screen that waits for it, if it is still there.
    fn fill(&mut self, is_it: impl Fn(&Subject) -> bool, lines: Vec<Line>) {
        if let Some(panel) = self.panels.iter_mut().find(|panel| is_it(&panel.subject)) {
            panel.body = Body::Page(Page { lines, top: 0 });
            panel.keys = "↑↓ space b g G to move · esc to close".into();
        }
    }

    /// Puts a list into the screen that waits for it, or renews the one that is there.
    fn fill_list(&mut self, is_it: impl Fn(&Subject) -> bool, filled: Panel) {
        let Some(panel) = self.panels.iter_mut().find(|panel| is_it(&panel.subject)) else { return };
        match (&mut panel.body, filled.body) {
            (Body::List(old), Body::List(new)) => old.renew(new),
            (old, new) => *old = new,
        }
        panel.title = filled.title;
        panel.keys = filled.keys;
        panel.subject = filled.subject;
    }
}

fn page_room(height: usize) -> usize {
    height.saturating_sub(if height > 4 { 5 } else { 2 }).max(1)
}

fn page_rows(page: &Page, columns: usize) -> Vec<Line> {
    page.lines.iter().flat_map(|line| line.wrapped(columns, 4)).collect()
}

impl Page {
    fn scroll(&mut self, action: Action, room: usize, all: usize) {
        let last = all.saturating_sub(room);
        self.top = match action {
            Action::ScrollLineUp => self.top.saturating_sub(1),
            Action::ScrollLineDown => self.top + 1,
            Action::ScrollHalfUp => self.top.saturating_sub(room / 2),
            Action::ScrollHalfDown => self.top + room / 2,
            Action::ScrollPageUp | Action::ScrollFullUp => self.top.saturating_sub(room),
            Action::ScrollPageDown | Action::ScrollFullDown => self.top + room,
            Action::ScrollTop => 0,
            Action::ScrollBottom => last,
            _ => self.top,
        }
        .min(last);
    }
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
