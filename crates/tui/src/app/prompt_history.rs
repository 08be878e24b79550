//! Earlier prompts: recalling them without losing the text being written, and searching in them.

use engine::prompt_history::EarlierPrompt;
use std::collections::{BTreeMap, HashSet};
use terminal::editor::Editor;

/// The oldest prompts are dropped beyond this number.
const LIMIT: usize = 100_000;
/// The most prompts that a search lists.
pub const MOST_FOUND: usize = 100;

/// Where a prompt was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PromptPlace {
    Session,
    Project,
    Elsewhere,
}

#[derive(Debug)]
struct PastPrompt {
    text: String,
    place: PromptPlace,
}

/// Which prompts a search looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchScope {
    Session,
    #[default]
    Project,
    All,
}

impl SearchScope {
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Project => Self::All,
            Self::All => Self::Session,
            Self::Session => Self::Project,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "this session",
            Self::Project => "this project",
            Self::All => "all projects",
        }
    }

    fn has(self, place: PromptPlace) -> bool {
        match self {
            Self::Session => place == PromptPlace::Session,
            Self::Project => place <= PromptPlace::Project,
            Self::All => true,
        }
    }
}

#[derive(Debug, Default)]
pub struct PromptHistory {
    /// Newest first.
    prompts: Vec<PastPrompt>,
    has_loaded: bool,
    /// An older prompt was requested before the history was loaded.
    is_awaited: bool,
    /// The index of the prompt that is shown; `None` shows the draft.
    at: Option<usize>,
    /// The text in the editor before the first recall; `edited` holds changed recalled prompts by index.
    draft: String,
    edited: BTreeMap<usize, String>,
}

impl PromptHistory {
    /// Whether the prompts of earlier sessions were loaded.
    pub fn is_loaded(&self) -> bool {
        self.has_loaded
    }

    /// Adds prompts of earlier times; those of `session` count as typed in this one.
    pub fn load(&mut self, older: Vec<EarlierPrompt>, session: Option<&str>) {
        self.has_loaded = true;
        for EarlierPrompt { text, is_here, session_id } in older {
            let is_own = session.is_some_and(|session| session == session_id);
            let place = match is_here {
                _ if is_own => PromptPlace::Session,
                true => PromptPlace::Project,
                false => PromptPlace::Elsewhere,
            };
            if self.prompts.len() < LIMIT && self.prompts.last().is_none_or(|last| last.text != text) {
                self.prompts.push(PastPrompt { text, place });
            }
        }
    }

    /// Shows the prompt that was requested before loading, unless something was typed meanwhile.
    pub fn show_awaited(&mut self, editor: &mut Editor) {
        if std::mem::take(&mut self.is_awaited) && editor.is_empty() {
            self.older(editor);
        }
    }

    pub fn add(&mut self, prompt: &str) {
        self.reset();
        if self.prompts.first().is_none_or(|first| first.text != prompt) {
            self.prompts.insert(0, PastPrompt { text: prompt.to_owned(), place: PromptPlace::Session });
        }
    }

    /// A score for each command among the newest prompts, by how often and how recently it was used.
    pub fn commands(&self) -> BTreeMap<String, i32> {
        let mut used = BTreeMap::new();
        for (age, prompt) in self.prompts.iter().take(500).enumerate() {
            let Some(rest) = prompt.text.strip_prefix('/') else { continue };
            let name = rest.split(char::is_whitespace).next().unwrap_or_default();
            let weight = match age {
                0..10 => 6,
                10..50 => 3,
                _ => 1,
            };
            *used.entry(name.to_owned()).or_insert(0) += weight;
        }
        used
    }

    pub fn reset(&mut self) {
        self.at = None;
        self.draft.clear();
        self.edited.clear();
    }

    fn shown(&self, at: usize) -> &str {
        self.edited.get(&at).map_or(&self.prompts[at].text, String::as_str)
    }

    fn store_edit(&mut self, editor: &Editor) {
        let text = editor.expanded();
        match self.at {
            None => self.draft = text,
            Some(at) if self.shown(at) != text => {
                self.edited.insert(at, text);
            }
            Some(_) => {}
        }
    }

    /// Shows the next older prompt; `false` when there is none.
    pub fn older(&mut self, editor: &mut Editor) -> bool {
        let next = self.at.map_or(0, |at| at + 1);
        if next >= self.prompts.len() {
            self.is_awaited = !self.has_loaded;
            return false;
        }
        self.store_edit(editor);
        self.at = Some(next);
        editor.set(self.shown(next).to_owned());
        true
    }

    /// Whether no earlier prompt is shown.
    pub fn is_newest(&self) -> bool {
        self.at.is_none()
    }

    pub fn newer(&mut self, editor: &mut Editor) -> bool {
        let Some(at) = self.at else { return false };
        self.store_edit(editor);
        self.at = at.checked_sub(1);
        let text = self.at.map_or(self.draft.clone(), |at| self.shown(at).to_owned());
        editor.set(text);
        true
    }

    /// The newest prompts that contain `query`, ignoring case, each text once.
    fn find(&self, query: &str, scope: SearchScope) -> Vec<usize> {
        let query = query.to_lowercase();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (at, prompt) in self.prompts.iter().enumerate() {
            let fits = scope.has(prompt.place) && prompt.text.to_lowercase().contains(&query);
            if fits && seen.insert(prompt.text.as_str()) {
                found.push(at);
            }
            if found.len() == MOST_FOUND {
                break;
            }
        }
        found
    }
}

/// A running search in the history.
#[derive(Debug)]
pub struct HistorySearch {
    pub query: String,
    pub scope: SearchScope,
    /// The matches, newest first.
    found: Vec<usize>,
    chosen: usize,
    /// Text and cursor to restore when the search is cancelled.
    before: (String, usize),
}

impl HistorySearch {
    pub fn new(editor: &Editor, recall: &PromptHistory) -> Self {
        let before = (editor.text().to_owned(), editor.cursor());
        let scope = SearchScope::default();
        Self { query: String::new(), scope, found: recall.find("", scope), chosen: 0, before }
    }

    pub fn type_char(&mut self, c: char, recall: &PromptHistory) {
        self.query.push(c);
        self.search(recall);
    }

    pub fn backspace(&mut self, recall: &PromptHistory) {
        self.query.pop();
        self.search(recall);
    }

    /// Looks again, also when prompts were loaded meanwhile.
    pub fn search(&mut self, recall: &PromptHistory) {
        self.found = recall.find(&self.query, self.scope);
        self.chosen = 0;
    }

    pub fn cycle_scope(&mut self, recall: &PromptHistory) {
        self.scope = self.scope.next();
        self.search(recall);
    }

    pub fn older(&mut self) {
        self.chosen = (self.chosen + 1).min(self.found.len().saturating_sub(1));
    }

    pub fn newer(&mut self) {
        self.chosen = self.chosen.saturating_sub(1);
    }

    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// The texts of the matches, newest first.
    pub fn matches<'a>(&'a self, recall: &'a PromptHistory) -> impl ExactSizeIterator<Item = &'a str> {
        self.found.iter().map(|at| recall.prompts.get(*at).map_or("", |prompt| prompt.text.as_str()))
    }

    /// The chosen match.
    pub fn text<'a>(&'a self, recall: &'a PromptHistory) -> Option<&'a str> {
        self.matches(recall).nth(self.chosen)
    }

    pub fn before(&self) -> (&str, usize) {
        (&self.before.0, self.before.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earlier(text: &str, is_here: bool, session: &str) -> EarlierPrompt {
        EarlierPrompt { text: text.into(), is_here, session_id: session.into() }
    }

    fn recall() -> PromptHistory {
        let mut recall = PromptHistory::default();
        recall.load(["new", "mid", "old"].map(|text| earlier(text, true, "s")).to_vec(), None);
        recall
    }

    fn found(search: &HistorySearch, recall: &PromptHistory) -> Vec<String> {
        search.matches(recall).map(str::to_owned).collect()
    }

    #[test]
    fn edits_to_recalled_prompts_and_the_draft_are_kept_while_walking() {
        let (mut recall, mut editor) = (recall(), Editor::new());
        editor.set("draft");
        assert!(recall.older(&mut editor) && recall.older(&mut editor));
        assert_eq!(editor.text(), "mid");
        editor.insert("dle");
        assert!(recall.older(&mut editor));
        assert!(!recall.older(&mut editor));
        assert!(recall.newer(&mut editor));
        assert_eq!(editor.text(), "middle");
        assert!(recall.newer(&mut editor) && recall.newer(&mut editor));
        assert_eq!(editor.text(), "draft");
        assert!(!recall.newer(&mut editor));
    }

    #[test]
    fn search_finds_newest_first_and_goes_on() {
        // [TST-239]
        let mut recall = recall();
        recall.add("Old town");
        let mut search = HistorySearch::new(&Editor::new(), &recall);
        assert_eq!(found(&search, &recall), ["Old town", "new", "mid", "old"], "all, before a letter is typed");
        for c in "old".chars() {
            search.type_char(c, &recall);
        }
        assert_eq!(search.text(&recall), Some("Old town"));
        search.older();
        assert_eq!(search.text(&recall), Some("old"));
        search.older();
        assert_eq!(search.text(&recall), Some("old"));
        search.newer();
        assert_eq!(search.text(&recall), Some("Old town"));
        search.type_char('x', &recall);
        assert_eq!(search.text(&recall), None);
    }

    /// [TST-239] The scope is the project, then everything, then this session.
    #[test]
    fn a_search_looks_where_it_is_told_to() {
        let mut recall = PromptHistory::default();
        let prompts = [("here", true, "s"), ("other session", true, "t"), ("far", false, "u"), ("here", true, "t")];
        recall.load(prompts.map(|(text, is_here, session)| earlier(text, is_here, session)).to_vec(), Some("s"));
        let mut search = HistorySearch::new(&Editor::new(), &recall);
        assert_eq!(found(&search, &recall), ["here", "other session"], "each text once");
        search.cycle_scope(&recall);
        assert_eq!(found(&search, &recall), ["here", "other session", "far"]);
        search.cycle_scope(&recall);
        assert_eq!(found(&search, &recall), ["here"]);
        search.cycle_scope(&recall);
        assert_eq!(search.scope, SearchScope::Project);
    }

    #[test]
    fn a_hundred_thousand_prompts_are_searched_at_once() {
        // [TST-239]
        let mut recall = PromptHistory::default();
        recall.load((0..100_000).map(|n| earlier(&format!("prompt number {n}"), true, "s")).collect(), None);
        let mut search = HistorySearch::new(&Editor::new(), &recall);
        for c in "number 99999".chars() {
            search.type_char(c, &recall);
        }
        assert_eq!(search.text(&recall), Some("prompt number 99999"));
    }
}
