//! Panels in place of the prompt: lists to choose from, pages to read, a line to fill in. They form a stack, and Esc
//! closes the top one. A question of the engine takes precedence. Panels get their data from control requests and panel
//! jobs; this module does no I/O.

pub mod memory;
pub mod model;
pub mod pages;
pub mod rules;
pub mod servers;
pub mod settings;
pub mod tasks;

use super::select::{SelectItem, SelectList, SelectOutcome, TypingMode};
use super::spinner::faint;
use super::{App, AppEffect};
use serde_json::Value;
use terminal::editor::Editor;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::ThemeToken;
use wire::control::{ControlResponse, HostRequest};

/// Rows of a list that are shown at once, where there is room.
const ROWS: usize = 14;

/// What a panel shows, with the data behind its rows.
#[derive(Debug)]
pub enum PanelSubject {
    Agents,
    Aside,
    Commands(Vec<String>),
    Context,
    Diff,
    Doctor,
    Efforts(Vec<String>),
    Hooks,
    Memory(Vec<memory::MemoryRow>),
    Models(model::ModelList),
    Rules(Vec<rules::RuleRow>),
    RuleBehaviour,
    RulePlace(rules::NewRule),
    RuleText(rules::NewRule),
    RuleRemoval(rules::RuleRow),
    Server(servers::McpServerRow),
    Servers(Vec<servers::McpServerRow>),
    Setting(settings::SettingEdit),
    SettingPlace(settings::SettingEdit, Option<Value>),
    SettingValue(settings::SettingEdit),
    Settings(Vec<engine::screens::SettingRow>),
    Status,
    Styles(Vec<String>),
    Task(String),
    Tasks(Vec<String>),
    Themes(settings::ThemeList),
    Usage,
}

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

#[derive(Debug)]
pub struct Panel {
    pub title: String,
    /// The hint that lists the keys.
    pub keys: String,
    pub body: PanelBody,
    pub subject: PanelSubject,
}

impl Panel {
    pub fn list(title: impl Into<String>, items: Vec<SelectItem>, typing: TypingMode, subject: PanelSubject) -> Self {
        let keys = "enter to choose · esc to close".into();
        Self { title: title.into(), keys, body: PanelBody::List(SelectList::new(items, typing)), subject }
    }

    pub fn page(title: impl Into<String>, lines: Vec<StyledLine>, subject: PanelSubject) -> Self {
        let keys = "↑↓ space b g G to move · esc to close".into();
        Self { title: title.into(), keys, body: PanelBody::Page(TextPage { lines, top: 0 }), subject }
    }

    pub fn entry(title: impl Into<String>, label: impl Into<String>, text: &str, subject: PanelSubject) -> Self {
        let mut editor = Editor::new();
        editor.insert(text);
        let keys = "enter to go on · esc to go back".into();
        Self { title: title.into(), keys, body: PanelBody::Entry(InputLine { label: label.into(), editor }), subject }
    }

    pub fn waiting(title: impl Into<String>, subject: PanelSubject) -> Self {
        Self { title: title.into(), keys: "esc to close".into(), body: PanelBody::Waiting, subject }
    }

    #[must_use]
    pub fn keys(mut self, keys: impl Into<String>) -> Self {
        self.keys = keys.into();
        self
    }
}

/// What the answer to a control request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingResponse {
    /// The side question with this number.
    Aside(u64),
    /// The original file for the dialog with this id.
    Before(String),
    Context,
    Hooks,
    Memory,
    Models,
    /// The commands and agents of the directory the session moved to.
    Place,
    Rules,
    Servers,
    Status,
    TaskOutput,
    Usage,
    /// Success is not shown.
    Quiet,
    /// Success is shown with this text.
    Done(String),
    /// Like `Done`, and the servers are listed again.
    ServersAgain(String),
}

/// Work outside the interface that a panel needs.
#[derive(Debug, PartialEq)]
pub enum PanelJob {
    Settings,
    Change {
        file: &'static str,
        key: String,
        value: Option<Value>,
    },
    /// Edit the settings file of this name.
    EditSettings(&'static str),
    /// Edit the key bindings file.
    EditKeys,
    EditFile(String),
    Themes,
    Doctor,
    Diff,
    SignIn(String),
    SignOut,
}

impl Eq for PanelJob {}

/// The result of a panel job.
#[derive(Debug)]
pub enum PanelJobResult {
    Settings(Result<Vec<engine::screens::SettingRow>, String>),
    /// `outcome` is the path of the file, or why it was not changed.
    Changed {
        key: String,
        value: Option<Value>,
        outcome: Result<String, String>,
    },
    Themes(Vec<(String, String)>),
    /// Where the key is stored now.
    SignedIn(Result<String, String>),
    /// Whether a stored key existed.
    SignedOut(Result<bool, String>),
    Doctor(String),
    Diff(Result<String, String>),
    /// A note to show.
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

    /// Closes the top panel and reverts its preview.
    fn close_panel(&mut self) {
        if let Some(panel) = self.panels.pop() {
            self.revert_preview(&panel.subject);
        }
    }

    pub(super) fn close_panels(&mut self) {
        while self.has_panel() {
            self.close_panel();
        }
    }

    /// Asks the engine; the answer is routed by `what`.
    pub(super) fn request(&mut self, request: HostRequest, what: PendingResponse) {
        let id = self.send_control_request(request);
        self.pending_responses.insert(id, what);
    }

    pub(super) fn start_panel_job(&mut self, errand: PanelJob) {
        self.effects.push(AppEffect::Errand(errand));
    }

    /// Whether a panel consumed the key.
    pub(super) fn panel_key(&mut self, key: KeyPress) -> bool {
        let Some(panel) = self.panels.last_mut() else { return false };
        if key == KeyPress::ctrl('c') {
            self.close_panels();
            return true;
        }
        if key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l') {
            return false;
        }
        // Keys typed here must not answer a question that appears meanwhile.
        self.typed_at = self.now;
        let bindings = &self.preferences.bindings;
        match &mut panel.body {
            PanelBody::Waiting => {
                if key.code == KeyCode::Escape {
                    self.close_panel();
                }
            }
            PanelBody::List(list) => match list.key(key, bindings) {
                SelectOutcome::Chose(item) => self.choose_row(item),
                SelectOutcome::Cancelled => self.close_panel(),
                SelectOutcome::Moved => self.follow_selection(),
                SelectOutcome::Unused => self.letter_key(key),
            },
            PanelBody::Page(page) => {
                let room = page_room(self.size.rows);
                let wrapped = page_rows(page, self.size.columns).len();
                match bindings.find(&[KeyContext::Scroll, KeyContext::Select], &[key]) {
                    BindingMatch::KeyAction(KeyAction::SelectCancel | KeyAction::SelectAccept) => self.close_panel(),
                    BindingMatch::KeyAction(action) => page.scroll(action, room, wrapped),
                    BindingMatch::None if key == KeyPress::char('q') => self.close_panel(),
                    BindingMatch::Prefix | BindingMatch::None => self.letter_key(key),
                }
            }
            PanelBody::Entry(entry) => match key.code {
                KeyCode::Escape => self.close_panel(),
                KeyCode::Enter => {
                    let text = entry.editor.expanded().trim().to_owned();
                    if !text.is_empty() {
                        self.submit_line(text);
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
            Some(PanelBody::List(list)) => list.paste(pasted),
            Some(PanelBody::Entry(entry)) => entry.editor.insert(pasted.lines().next().unwrap_or_default()),
            Some(PanelBody::Waiting | PanelBody::Page(_)) => {}
            None => return false,
        }
        true
    }

    /// The rows of the top panel, and its caret.
    pub(super) fn panel_rows(&self) -> Option<(Vec<StyledLine>, Option<Caret>)> {
        let panel = self.panels.last()?;
        let theme = &self.preferences.theme;
        let (columns, height) = (self.size.columns, self.size.rows);
        let accent = theme.fg(ThemeToken::Suggestion);
        let mut rows = Vec::new();
        if height > 4 {
            rows.push(StyledLine::styled("─".repeat(columns), accent));
        }
        rows.push(StyledLine::styled(panel.title.clone(), accent.bold()).truncated(columns));
        let room = height.saturating_sub(rows.len() + 2).max(1);
        let mut caret = None;
        match &panel.body {
            PanelBody::Waiting => rows.push(faint("  …", theme)),
            PanelBody::List(list) => {
                let about = self.row_details(&panel.subject, list.chosen());
                let about: Vec<StyledLine> = about.iter().flat_map(|line| line.wrapped(columns, 2)).collect();
                let room = room.min(ROWS);
                let shown = about.len().min(room.saturating_sub(3));
                let (lines, at) = list.rows(theme, columns, room - shown);
                caret = at.map(|(row, column)| Caret { row: rows.len() + row, column });
                rows.extend(lines);
                rows.extend(about.into_iter().take(shown));
            }
            PanelBody::Page(page) => {
                let lines = page_rows(page, columns);
                let room = page_room(height);
                let top = page.top.min(lines.len().saturating_sub(room));
                let more = lines.len().saturating_sub(top + room);
                rows.extend(lines.into_iter().skip(top).take(room));
                if more > 0 {
                    rows.push(faint(format!("  … {more} more rows"), theme));
                }
            }
            PanelBody::Entry(entry) => {
                let lead = format!("  {}: ", entry.label);
                let column = text::width(&lead) + text::width(&entry.editor.text()[..entry.editor.cursor()]);
                caret = Some(Caret { row: rows.len(), column: column.min(columns.saturating_sub(1)) });
                rows.push(faint(lead, theme).and(entry.editor.text(), TextStyle::PLAIN));
                rows.extend(self.row_details(&panel.subject, None).iter().flat_map(|line| line.wrapped(columns, 2)));
            }
        }
        if height > 4 {
            rows.push(faint(panel.keys.clone(), theme).truncated(columns));
        }
        Some((rows, caret))
    }

    /// Handles a row chosen with Enter or its digit.
    fn choose_row(&mut self, item: usize) {
        let Some(panel) = self.panels.last() else { return };
        match &panel.subject {
            PanelSubject::Commands(names) => {
                let text = names.get(item).map(|name| format!("/{name} "));
                self.close_panels();
                self.editor.set(text.unwrap_or_default());
            }
            PanelSubject::Efforts(_) => self.effort_chosen(item),
            PanelSubject::Memory(_) => self.memory_chosen(item),
            PanelSubject::Models(_) => self.model_chosen(item, model::ChoiceScope::Saved),
            PanelSubject::Rules(_) => self.rule_chosen(item),
            PanelSubject::RuleBehaviour => self.rule_behaviour(item),
            PanelSubject::RulePlace(_) => self.rule_place(item),
            PanelSubject::RuleRemoval(_) => self.rule_removed(item),
            PanelSubject::Server(_) => self.perform_server_action(item),
            PanelSubject::Servers(_) => self.server_chosen(item),
            PanelSubject::Setting(_) => self.setting_value_chosen(item),
            PanelSubject::SettingPlace(..) => self.setting_file_chosen(item),
            PanelSubject::Settings(_) => self.setting_chosen(item),
            PanelSubject::Styles(_) => self.style_chosen(item),
            PanelSubject::Task(_) => self.perform_task_action(item),
            PanelSubject::Tasks(_) => self.task_chosen(item),
            PanelSubject::Themes(_) => self.theme_chosen(item),
            // These panels have no rows to choose.
            PanelSubject::Agents
            | PanelSubject::Aside
            | PanelSubject::Context
            | PanelSubject::Diff
            | PanelSubject::Doctor
            | PanelSubject::Hooks
            | PanelSubject::RuleText(_)
            | PanelSubject::SettingValue(_)
            | PanelSubject::Status
            | PanelSubject::Usage => {}
        }
    }

    /// Previews the row the selection moved to.
    fn follow_selection(&mut self) {
        if let Some(Panel { subject: PanelSubject::Themes(_), .. }) = self.panels.last() {
            self.preview_theme();
        }
    }

    /// Handles a key that the list or page did not use.
    fn letter_key(&mut self, key: KeyPress) {
        match self.panels.last().map(|panel| &panel.subject) {
            Some(PanelSubject::Aside) => self.side_question_key(key),
            Some(PanelSubject::Models(_)) => self.model_key(key),
            Some(PanelSubject::Tasks(_)) => self.tasks_key(key),
            Some(PanelSubject::Themes(_)) => self.theme_key(key),
            Some(_) | None => {}
        }
    }

    /// Handles a submitted input line.
    fn submit_line(&mut self, text: String) {
        match self.panels.last().map(|panel| &panel.subject) {
            Some(PanelSubject::RuleText(_)) => self.rule_written(text),
            Some(PanelSubject::SettingValue(_)) => self.setting_written(&text),
            Some(PanelSubject::Models(_)) => self.model_named(&text, model::ChoiceScope::Saved),
            Some(_) | None => {}
        }
    }

    /// Reverts what was only shown as a preview.
    fn revert_preview(&mut self, subject: &PanelSubject) {
        if let PanelSubject::Themes(themes) = subject {
            self.preferences.theme = themes.before.clone();
        }
    }

    /// Details about the selected row.
    fn row_details(&self, subject: &PanelSubject, item: Option<usize>) -> Vec<StyledLine> {
        match subject {
            PanelSubject::Settings(rows) => item.and_then(|item| rows.get(item)).map(|row| self.setting_about(row)),
            PanelSubject::SettingValue(chosen) => {
                Some(vec![faint(format!("  {}", chosen.setting.about.trim()), &self.preferences.theme)])
            }
            PanelSubject::Themes(_) => Some(self.theme_sample()),
            PanelSubject::Models(models) => Some(self.model_about(models, item)),
            PanelSubject::RuleText(_) => Some(rules::examples(&self.preferences.theme)),
            _ => None,
        }
        .unwrap_or_default()
    }

    /// An answer of the engine that a screen waits for.
    pub(super) fn receive_panel_response(&mut self, what: PendingResponse, response: ControlResponse) {
        let outcome = response.into_result();
        // A file that is not there, or may not be read, is no news.
        if let PendingResponse::Before(id) = &what {
            return self.receive_original_file(id, &outcome.unwrap_or_default());
        }
        if let PendingResponse::Aside(number) = what {
            return self.side_question_arrived(number, outcome);
        }
        let body = match &outcome {
            Ok(body) => body,
            Err(error) => {
                if let Some(Panel { body: PanelBody::Waiting, .. }) = self.panels.last() {
                    self.panels.pop();
                }
                return self.note(error, ThemeToken::Error);
            }
        };
        match what {
            PendingResponse::Context => self.context_arrived(body),
            PendingResponse::Hooks => self.hooks_arrived(body),
            PendingResponse::Memory => self.memory_arrived(body),
            PendingResponse::Models => self.models_arrived(body),
            PendingResponse::Place => {
                self.session.apply_initialize(body);
                // The command being typed may be one of the new ones.
                if self.editor.text().starts_with('/') {
                    self.suggest();
                }
            }
            PendingResponse::Rules => self.rules_arrived(body),
            PendingResponse::Servers => self.servers_arrived(body),
            PendingResponse::Status => self.status_arrived(body),
            PendingResponse::TaskOutput => self.task_output_arrived(body),
            PendingResponse::Usage => self.usage_arrived(body),
            PendingResponse::Quiet | PendingResponse::Aside(_) | PendingResponse::Before(_) => {}
            PendingResponse::Done(words) => self.note(&words, ThemeToken::Inactive),
            PendingResponse::ServersAgain(words) => {
                self.note(&words, ThemeToken::Inactive);
                self.request_servers();
            }
        }
    }

    /// Handles the result of a panel job.
    pub(super) fn receive_panel_job(&mut self, brought: PanelJobResult) {
        match brought {
            PanelJobResult::Settings(Ok(rows)) => self.settings_arrived(rows),
            PanelJobResult::Settings(Err(why)) | PanelJobResult::Note(Err(why)) => {
                self.close_panels();
                self.note(&why, ThemeToken::Error);
            }
            PanelJobResult::Changed { key, value, outcome } => self.setting_changed(&key, value.as_ref(), outcome),
            PanelJobResult::Themes(files) => self.themes_arrived(files),
            PanelJobResult::Doctor(report) => {
                self.fill(|subject| matches!(subject, PanelSubject::Doctor), pages::plain(&report));
            }
            PanelJobResult::Diff(diff) => self.diff_arrived(diff),
            PanelJobResult::Note(Ok(text)) => self.note(&text, ThemeToken::Inactive),
            PanelJobResult::SignedIn(outcome) => self.receive_sign_in(outcome),
            PanelJobResult::SignedOut(outcome) => self.receive_sign_out(outcome),
        }
    }

    /// Shows a page in the panel that waits for it, if it is still open.
    fn fill(&mut self, is_it: impl Fn(&PanelSubject) -> bool, lines: Vec<StyledLine>) {
        if let Some(panel) = self.panels.iter_mut().find(|panel| is_it(&panel.subject)) {
            panel.body = PanelBody::Page(TextPage { lines, top: 0 });
            panel.keys = "↑↓ space b g G to move · esc to close".into();
        }
    }

    /// Shows a list in the panel that waits for it, or updates the existing list.
    fn fill_list(&mut self, is_it: impl Fn(&PanelSubject) -> bool, filled: Panel) {
        let Some(panel) = self.panels.iter_mut().find(|panel| is_it(&panel.subject)) else { return };
        match (&mut panel.body, filled.body) {
            (PanelBody::List(old), PanelBody::List(new)) => old.renew(new),
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

fn page_rows(page: &TextPage, columns: usize) -> Vec<StyledLine> {
    page.lines.iter().flat_map(|line| line.wrapped(columns, 4)).collect()
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
