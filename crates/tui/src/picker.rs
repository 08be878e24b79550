//! Choosing a conversation: rows that a few letters narrow down at once, while everything said in them is searched beside it.
//! The state and its keys, without I/O: what is needed is asked for (`Request`) and comes in later (`News`), in any
//! order; news of a question that was replaced meanwhile change nothing.

pub(crate) mod fetch;
mod list;
mod view;

use crate::editor::Editor;
use crate::keys::{Code, Key};
use engine::query::{Scope, SessionInfo, Speaker};
use list::{List, Snippet};
use std::path::PathBuf;

/// Shorter texts are looked for in titles only.
const SEARCHABLE: usize = 3;

/// What the picker wants to know or have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    List {
        round: u64,
        scope: Scope,
    },
    Search {
        round: u64,
        query: String,
        scope: Scope,
    },
    Preview(PathBuf),
    Rename {
        path: PathBuf,
        name: String,
    },
    /// What was said before the end of this session that was told.
    Earlier(String),
    /// Nobody waits any more.
    Nothing,
}

/// What comes back.
#[derive(Clone, Debug)]
pub enum News {
    Sessions {
        round: u64,
        sessions: Vec<SessionInfo>,
        /// Of the working directory.
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
        said: Vec<(Speaker, String)>,
    },
    Renamed {
        path: PathBuf,
        name: Result<String, String>,
    },
    /// From the session's file, oldest first.
    Earlier(Vec<(Speaker, String)>),
}

/// What a key has led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Stays,
    Cancelled,
    Chosen(Box<SessionInfo>),
}

#[derive(Debug)]
struct Preview {
    path: PathBuf,
    /// `None` while it is read.
    said: Option<Vec<(Speaker, String)>>,
}

#[derive(Debug, Default)]
pub struct Picker {
    list: List,
    scope: Scope,
    query: Editor,
    chosen: usize,
    preview: Option<Preview>,
    rename: Option<Editor>,
    problem: Option<String>,
    /// Counts questions: answers to older ones are not wanted.
    list_round: u64,
    search_round: u64,
    is_searching: bool,
    requests: Vec<Request>,
}

impl Picker {
    /// Opens with `query` typed; `current` is the session that is open already.
    pub fn new(query: &str, current: Option<String>) -> Self {
        let mut picker = Self { list: List::new(current), ..Self::default() };
        picker.query.insert(query);
        picker.ask_list();
        picker.narrow();
        picker
    }

    /// What is to be asked outside.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    fn ask_list(&mut self) {
        self.list_round += 1;
        self.list.clear();
        self.chosen = 0;
        self.requests.push(Request::List { round: self.list_round, scope: self.scope });
    }

    /// The query has changed: titles at once, words later.
    fn narrow(&mut self) {
        self.search_round += 1;
        self.list.narrow(self.query.text());
        self.chosen = 0;
        let query = self.query.text().trim().to_owned();
        self.is_searching = query.chars().count() >= SEARCHABLE;
        let round = self.search_round;
        self.requests.push(if self.is_searching {
            Request::Search { round, query, scope: self.scope }
        } else {
            Request::Nothing
        });
    }

    pub fn news(&mut self, news: News) {
        let chosen = self.list.get(self.chosen).map(|info| info.path.clone());
        match news {
            News::Sessions { round, sessions, branch, is_all } if round == self.list_round => {
                self.list.add(sessions, branch, is_all);
            }
            News::Hit { round, session, snippet, place } if round == self.search_round => {
                self.list.add_hit(*session, Snippet { text: snippet, place });
            }
            News::Searched { round } if round == self.search_round => self.is_searching = false,
            News::Preview { path, said } => {
                if let Some(preview) = self.preview.as_mut().filter(|preview| preview.path == path) {
                    preview.said = Some(said);
                }
            }
            News::Renamed { path, name: Ok(name) } => self.list.rename(&path, &name),
            News::Renamed { name: Err(why), .. } => self.problem = Some(why),
            News::Sessions { .. } | News::Hit { .. } | News::Searched { .. } | News::Earlier(_) => return,
        }
        // What was chosen stays chosen, wherever it has moved. The first row is nobody's choice.
        if self.chosen > 0
            && let Some(at) = chosen.and_then(|path| self.list.position(&path))
        {
            self.chosen = at;
        }
    }

    pub fn key(&mut self, key: Key) -> Outcome {
        self.problem = None;
        if self.rename.is_some() {
            self.rename_key(key);
            return Outcome::Stays;
        }
        match (key.code, key.mods.ctrl) {
            (Code::Char('c'), true) => return Outcome::Cancelled,
            (Code::Escape, _) => {
                if self.preview.take().is_none() {
                    return Outcome::Cancelled;
                }
            }
            (Code::Enter, _) => {
                if let Some(info) = self.list.get(self.chosen) {
                    return Outcome::Chosen(Box::new(info.clone()));
                }
            }
            (Code::Up, _) | (Code::Char('p'), true) => self.go(self.chosen.saturating_sub(1)),
            (Code::Down, _) | (Code::Char('n'), true) => self.go(self.chosen + 1),
            (Code::PageUp, _) => self.go(self.chosen.saturating_sub(10)),
            (Code::PageDown, _) => self.go(self.chosen + 10),
            (Code::Char(' '), false) if self.query.is_empty() => self.toggle_preview(),
            (Code::Tab, _) => self.toggle_preview(),
            (Code::Char('r'), true) => self.start_rename(),
            (Code::Char('a'), true) => self.show(Scope::Everywhere),
            (Code::Char('w'), true) => self.show(Scope::Worktrees),
            (Code::Char('b'), true) => {
                self.list.toggle_branch();
                self.chosen = 0;
            }
            _ => self.edit(key),
        }
        Outcome::Stays
    }

    pub fn paste(&mut self, text: &str) {
        let text = crate::text::clean(text).replace('\n', " ");
        if let Some(name) = &mut self.rename {
            return name.insert(&text);
        }
        self.query.insert(&text);
        self.narrow();
    }

    /// Switches a wider scope on, or back to the directory.
    fn show(&mut self, scope: Scope) {
        self.scope = if self.scope == scope { Scope::Folder } else { scope };
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
        self.requests.push(Request::Preview(path.clone()));
        self.preview = Some(Preview { path, said: None });
    }

    fn start_rename(&mut self) {
        let Some(info) = self.list.get(self.chosen) else { return };
        let mut editor = Editor::new();
        editor.insert(info.title.as_deref().unwrap_or_default());
        self.rename = Some(editor);
    }

    fn rename_key(&mut self, key: Key) {
        match key.code {
            Code::Escape => self.rename = None,
            Code::Char('c') if key.mods.ctrl => self.rename = None,
            Code::Enter => {
                let name = self.rename.take().map(|mut name| name.take().expanded).unwrap_or_default();
                let path = self.list.get(self.chosen).map(|info| info.path.clone());
                if let Some(path) = path.filter(|_| !name.trim().is_empty()) {
                    self.requests.push(Request::Rename { path, name });
                }
            }
            _ => {
                if let Some(name) = &mut self.rename {
                    crate::app::keys::edit(name, key);
                }
            }
        }
    }

    fn edit(&mut self, key: Key) {
        let before = self.query.text().to_owned();
        crate::app::keys::edit(&mut self.query, key);
        if self.query.text() != before {
            self.preview = None;
            self.narrow();
        }
    }
}

#[cfg(test)]
#[path = "picker_tests.rs"]
mod tests;
