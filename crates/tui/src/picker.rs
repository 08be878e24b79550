//! The session picker. Typing filters the rows immediately, while the content of the sessions is searched in the
//! background. This is the state and its keys, without I/O: requests (`PickerRequest`) go out and updates
//! (`PickerUpdate`) arrive later in any order. Updates for a replaced request are ignored.

pub(crate) mod fetch;
mod layer;
mod list;
mod view;

use engine::query::{SessionInfo, SessionScope, Speaker};
use list::{PickerList, Snippet};
use std::path::PathBuf;
use terminal::editor::Editor;
use terminal::keys::{KeyCode, KeyPress};
use wire::sdk::SdkMessage;

/// Shorter queries only filter the rows; the content of sessions is not searched.
const MIN_SEARCH_CHARS: usize = 3;

/// What the picker needs from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerRequest {
    List {
        round: u64,
        scope: SessionScope,
    },
    Search {
        round: u64,
        query: String,
        scope: SessionScope,
    },
    Preview(PathBuf),
    Rename {
        path: PathBuf,
        name: String,
    },
    /// Read the messages of this session that the engine did not send.
    Earlier(String),
    /// Cancel the running search.
    Nothing,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum PickerUpdate {
    Sessions {
        round: u64,
        sessions: Vec<SessionInfo>,
        /// The branch of the working directory.
        branch: Option<String>,
        is_all: bool,
    },
    Hit {
        round: u64,
        session: Box<SessionInfo>,
        snippet: String,
        place: std::ops::Range<usize>,
    },
    Searched {
        round: u64,
    },
    Preview {
        path: PathBuf,
        messages: Vec<(Speaker, String)>,
    },
    Renamed {
        path: PathBuf,
        name: Result<String, String>,
    },
    /// The messages from the session's file, oldest first.
    Earlier(Vec<SdkMessage>),
}

/// The outcome of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerOutcome {
    Stays,
    Cancelled,
    Chosen(Box<SessionInfo>),
}

#[derive(Debug)]
struct SessionPreview {
    path: PathBuf,
    /// `None` while the file is read.
    messages: Option<Vec<(Speaker, String)>>,
}

#[derive(Debug, Default)]
pub struct SessionPicker {
    list: PickerList,
    scope: SessionScope,
    query: Editor,
    chosen: usize,
    preview: Option<SessionPreview>,
    rename: Option<Editor>,
    problem: Option<String>,
    /// Numbers the list requests; answers with another number are ignored. `search_round` does the same for searches.
    list_round: u64,
    search_round: u64,
    is_searching: bool,
    requests: Vec<PickerRequest>,
}

impl SessionPicker {
    /// Opens with `query` typed; `current` is the session that is already open.
    pub fn new(query: &str, current: Option<String>) -> Self {
        let mut picker = Self { list: PickerList::new(current), ..Self::default() };
        picker.query.insert(query);
        picker.ask_list();
        picker.narrow();
        picker
    }

    /// Takes the pending requests.
    pub fn take_requests(&mut self) -> Vec<PickerRequest> {
        std::mem::take(&mut self.requests)
    }

    fn ask_list(&mut self) {
        self.list_round += 1;
        self.list.clear();
        self.chosen = 0;
        self.requests.push(PickerRequest::List { round: self.list_round, scope: self.scope });
    }

    /// Filters the rows after the query changed, and requests a search of the content.
    fn narrow(&mut self) {
        self.search_round += 1;
        self.list.narrow(self.query.text());
        self.chosen = 0;
        let query = self.query.text().trim().to_owned();
        self.is_searching = query.chars().count() >= MIN_SEARCH_CHARS;
        let round = self.search_round;
        self.requests.push(if self.is_searching {
            PickerRequest::Search { round, query, scope: self.scope }
        } else {
            PickerRequest::Nothing
        });
    }

    pub fn apply_update(&mut self, update: PickerUpdate) {
        let chosen = self.list.get(self.chosen).map(|info| info.path.clone());
        match update {
            PickerUpdate::Sessions { round, sessions, branch, is_all } if round == self.list_round => {
                self.list.add(sessions, branch, is_all);
            }
            PickerUpdate::Hit { round, session, snippet, place } if round == self.search_round => {
                self.list.add_hit(*session, Snippet { text: snippet, place });
            }
            PickerUpdate::Searched { round } if round == self.search_round => self.is_searching = false,
            PickerUpdate::Preview { path, messages } => {
                if let Some(preview) = self.preview.as_mut().filter(|preview| preview.path == path) {
                    preview.messages = Some(messages);
                }
            }
            PickerUpdate::Renamed { path, name: Ok(name) } => self.list.rename(&path, &name),
            PickerUpdate::Renamed { name: Err(why), .. } => self.problem = Some(why),
            PickerUpdate::Sessions { .. }
            | PickerUpdate::Hit { .. }
            | PickerUpdate::Searched { .. }
            | PickerUpdate::Earlier(_) => return,
        }
        // The selection follows its row, unless it is the first row, which is only the default.
        if self.chosen > 0
            && let Some(at) = chosen.and_then(|path| self.list.position(&path))
        {
            self.chosen = at;
        }
    }

    pub fn press(&mut self, key: KeyPress) -> PickerOutcome {
        self.problem = None;
        if self.rename.is_some() {
            self.rename_key(key);
            return PickerOutcome::Stays;
        }
        match (key.code, key.mods.ctrl) {
            (KeyCode::Char('c'), true) => return PickerOutcome::Cancelled,
            (KeyCode::Escape, _) => {
                if self.preview.take().is_none() {
                    return PickerOutcome::Cancelled;
                }
            }
            (KeyCode::Enter, _) => {
                if let Some(info) = self.list.get(self.chosen) {
                    return PickerOutcome::Chosen(Box::new(info.clone()));
                }
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => self.go(self.chosen.saturating_sub(1)),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => self.go(self.chosen + 1),
            (KeyCode::PageUp, _) => self.go(self.chosen.saturating_sub(10)),
            (KeyCode::PageDown, _) => self.go(self.chosen + 10),
            (KeyCode::Char(' '), false) if self.query.is_empty() => self.toggle_preview(),
            (KeyCode::Tab, _) => self.toggle_preview(),
            (KeyCode::Char('r'), true) => self.start_rename(),
            (KeyCode::Char('a'), true) => self.show(SessionScope::Everywhere),
            (KeyCode::Char('w'), true) => self.show(SessionScope::Worktrees),
            (KeyCode::Char('b'), true) => {
                self.list.toggle_branch();
                self.chosen = 0;
            }
            _ => self.edit(key),
        }
        PickerOutcome::Stays
    }

    pub fn insert_paste(&mut self, text: &str) {
        let text = terminal::text::clean(text).replace('\n', " ");
        if let Some(name) = &mut self.rename {
            return name.insert(&text);
        }
        self.query.insert(&text);
        self.narrow();
    }

    /// Switches to a wider scope, or back to the folder.
    fn show(&mut self, scope: SessionScope) {
        self.scope = if self.scope == scope { SessionScope::Folder } else { scope };
        self.preview = None;
        self.ask_list();
        self.narrow();
    }

    fn go(&mut self, to: usize) {
        self.chosen = to.min(self.list.len().saturating_sub(1));
        if self.preview.take().is_some() {
            self.toggle_preview();
        }
    }

    fn toggle_preview(&mut self) {
        if self.preview.take().is_some() {
            return;
        }
        let Some(info) = self.list.get(self.chosen) else { return };
        let path = info.path.clone();
        self.requests.push(PickerRequest::Preview(path.clone()));
        self.preview = Some(SessionPreview { path, messages: None });
    }

    fn start_rename(&mut self) {
        let Some(info) = self.list.get(self.chosen) else { return };
        let mut editor = Editor::new();
        editor.insert(info.title.as_deref().unwrap_or_default());
        self.rename = Some(editor);
    }

    fn rename_key(&mut self, key: KeyPress) {
        match key.code {
            KeyCode::Escape => self.rename = None,
            KeyCode::Char('c') if key.mods.ctrl => self.rename = None,
            KeyCode::Enter => {
                let name = self.rename.take().map(|mut name| name.take().expanded).unwrap_or_default();
                let path = self.list.get(self.chosen).map(|info| info.path.clone());
                if let Some(path) = path.filter(|_| !name.trim().is_empty()) {
                    self.requests.push(PickerRequest::Rename { path, name });
                }
            }
            _ => {
                if let Some(name) = &mut self.rename {
                    crate::app::prompt::edit(name, key);
                }
            }
        }
    }

    fn edit(&mut self, key: KeyPress) {
        let before = self.query.text().to_owned();
        crate::app::prompt::edit(&mut self.query, key);
        if self.query.text() != before {
            self.preview = None;
            self.narrow();
        }
    }
}

#[cfg(test)]
#[path = "picker_tests.rs"]
mod tests;
