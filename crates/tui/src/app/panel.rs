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

use super::help::PromptHelp;
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::menu::Menu;
use super::pager::Pager;
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

/// What a key in a panel comes to.
#[derive(Debug)]
pub enum PanelEvent {
    /// A row was chosen with Enter or its digit.
    Chose(usize),
    /// The selection moved.
    Moved,
    /// The list or page did not use the key.
    Key(KeyPress),
    /// A line was written.
    Line(String),
}

impl Layer for Panel {
    fn rank(&self) -> LayerRank {
        LayerRank::Panel
    }

    fn contexts(&self) -> &'static [KeyContext] {
        match self.body {
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
        match &mut self.body {
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

    /// Reverts what was only shown as a preview.
    fn dismissed(&mut self) -> Vec<LayerEffect> {
        match &self.subject {
            PanelSubject::Themes(themes) => vec![LayerEffect::ShowTheme(themes.before.clone())],
            _ => Vec::new(),
        }
    }
}

impl Panel {
    fn close(&mut self) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        effects.extend(self.dismissed());
        effects
    }

    fn body_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let contexts = self.contexts();
        let bindings = &view.preferences.bindings;
        let event = match &mut self.body {
            PanelBody::Waiting if key.code == KeyCode::Escape => return self.close(),
            PanelBody::Waiting => return Vec::new(),
            PanelBody::List(list) => match list.key(key, bindings) {
                SelectOutcome::Chose(item) => PanelEvent::Chose(item),
                SelectOutcome::Cancelled => return self.close(),
                SelectOutcome::Moved => PanelEvent::Moved,
                SelectOutcome::Unused => PanelEvent::Key(key),
            },
            PanelBody::Page(page) => match bindings.find(contexts, &[key]) {
                BindingMatch::KeyAction(KeyAction::SelectCancel | KeyAction::SelectAccept) => return self.close(),
                BindingMatch::KeyAction(action) => {
                    let wrapped = page_rows(page, view.size.columns).len();
                    page.scroll(action, page_room(view.size.rows), wrapped);
                    return Vec::new();
                }
                BindingMatch::None if key == KeyPress::char('q') => return self.close(),
                BindingMatch::Prefix | BindingMatch::None => PanelEvent::Key(key),
            },
            PanelBody::Entry(entry) => match key.code {
                KeyCode::Escape => return self.close(),
                KeyCode::Enter => {
                    let text = entry.editor.expanded().trim().to_owned();
                    if text.is_empty() {
                        return Vec::new();
                    }
                    PanelEvent::Line(text)
                }
                _ => {
                    super::keys::edit(&mut entry.editor, key);
                    return Vec::new();
                }
            },
        };
        vec![LayerEffect::Panel(event)]
    }

    /// The rows, and the caret.
    fn drawn_rows(&self, view: &LayerView<'_>) -> (Vec<StyledLine>, Option<Caret>) {
        let theme = &view.preferences.theme;
        let (columns, height) = (view.size.columns, view.size.rows);
        let accent = theme.fg(ThemeToken::Suggestion);
        let mut rows = Vec::new();
        if height > 4 {
            rows.push(StyledLine::styled("─".repeat(columns), accent));
        }
        rows.push(StyledLine::styled(self.title.clone(), accent.bold()).truncated(columns));
        let room = height.saturating_sub(rows.len() + 2).max(1);
        let mut caret = None;
        match &self.body {
            PanelBody::Waiting => rows.push(faint("  …", theme)),
            PanelBody::List(list) => {
                let about = row_details(&self.subject, list.chosen(), view);
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
                let about = row_details(&self.subject, None, view);
                rows.extend(about.iter().flat_map(|line| line.wrapped(columns, 2)));
            }
        }
        if height > 4 {
            rows.push(faint(self.keys.clone(), theme).truncated(columns));
        }
        (rows, caret)
    }
}

/// Details about the selected row.
fn row_details(subject: &PanelSubject, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
    let theme = &view.preferences.theme;
    match subject {
        PanelSubject::Settings(rows) => {
            item.and_then(|item| rows.get(item)).map(|row| settings::setting_about(row, theme)).unwrap_or_default()
        }
        PanelSubject::SettingValue(chosen) => vec![faint(format!("  {}", chosen.setting.about.trim()), theme)],
        PanelSubject::Themes(_) => settings::theme_sample(theme, view.size.columns),
        PanelSubject::Models(models) => models.about(item, theme),
        PanelSubject::RuleText(_) => rules::examples(theme),
        _ => Vec::new(),
    }
}

impl App {
    pub(super) fn open_panel(&mut self, panel: Panel) {
        self.close_layer::<Menu>();
        self.close_layer::<PromptHelp>();
        self.close_layer::<Pager>();
        self.open_layer(panel);
    }

    pub fn has_panel(&self) -> bool {
        self.layers.has(LayerRank::Panel)
    }

    fn panel(&self) -> Option<&Panel> {
        self.layers.find()
    }

    /// Takes the top panel away without reverting a preview.
    fn pop_panel(&mut self) -> Option<PanelSubject> {
        let id = self.layers.id_of::<Panel>()?;
        let layer: Box<dyn std::any::Any> = self.remove_layer(id)?;
        layer.downcast::<Panel>().ok().map(|panel| panel.subject)
    }

    pub(super) fn close_panels(&mut self) {
        self.dismiss(LayerRank::Panel);
    }

    /// Asks the engine; the answer is routed by `what`.
    pub(super) fn request(&mut self, request: HostRequest, what: PendingResponse) {
        let id = self.send_control_request(request);
        self.pending_responses.insert(id, what);
    }

    pub(super) fn start_panel_job(&mut self, job: PanelJob) {
        self.effects.push(AppEffect::RunPanelJob(job));
    }

    pub(super) fn panel_event(&mut self, event: PanelEvent) {
        match event {
            PanelEvent::Chose(item) => self.choose_row(item),
            PanelEvent::Moved => self.follow_selection(),
            PanelEvent::Key(key) => self.letter_key(key),
            PanelEvent::Line(text) => self.submit_line(text),
        }
    }

    /// Handles a row chosen with Enter or its digit.
    fn choose_row(&mut self, item: usize) {
        let Some(panel) = self.panel() else { return };
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
        if let Some(Panel { subject: PanelSubject::Themes(_), .. }) = self.panel() {
            self.preview_theme();
        }
    }

    /// Handles a key that the list or page did not use.
    fn letter_key(&mut self, key: KeyPress) {
        match self.panel().map(|panel| &panel.subject) {
            Some(PanelSubject::Aside) => self.side_question_key(key),
            Some(PanelSubject::Models(_)) => self.model_key(key),
            Some(PanelSubject::Tasks(_)) => self.tasks_key(key),
            Some(PanelSubject::Themes(_)) => self.theme_key(key),
            Some(_) | None => {}
        }
    }

    /// Handles a submitted input line.
    fn submit_line(&mut self, text: String) {
        match self.panel().map(|panel| &panel.subject) {
            Some(PanelSubject::RuleText(_)) => self.rule_written(text),
            Some(PanelSubject::SettingValue(_)) => self.setting_written(&text),
            Some(PanelSubject::Models(_)) => self.model_named(&text, model::ChoiceScope::Saved),
            Some(_) | None => {}
        }
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
                if let Some(Panel { body: PanelBody::Waiting, .. }) = self.panel() {
                    self.pop_panel();
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
    pub(super) fn receive_panel_job(&mut self, result: PanelJobResult) {
        match result {
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
        if let Some(panel) = self.layers.all_mut::<Panel>().find(|panel| is_it(&panel.subject)) {
            panel.body = PanelBody::Page(TextPage { lines, top: 0 });
            panel.keys = "↑↓ space b g G to move · esc to close".into();
        }
    }

    /// Shows a list in the panel that waits for it, or updates the existing list.
    fn fill_list(&mut self, is_it: impl Fn(&PanelSubject) -> bool, filled: Panel) {
        let Some(panel) = self.layers.all_mut::<Panel>().find(|panel| is_it(&panel.subject)) else { return };
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
