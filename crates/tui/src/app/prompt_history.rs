//! Earlier prompts: recalling them without losing the text being written, and searching in them.

use std::collections::BTreeMap;
use terminal::editor::Editor;

/// The oldest prompts are dropped beyond this number.
const LIMIT: usize = 100_000;

#[derive(Debug, Default)]
pub struct PromptHistory {
    /// Newest first.
    prompts: Vec<String>,
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

    pub fn load(&mut self, older: Vec<String>) {
        self.has_loaded = true;
        for prompt in older {
            if self.prompts.len() < LIMIT && self.prompts.last() != Some(&prompt) {
                self.prompts.push(prompt);
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
        if self.prompts.first().map(String::as_str) != Some(prompt) {
            self.prompts.insert(0, prompt.to_owned());
        }
    }

    /// A score for each command among the newest prompts, by how often and how recently it was used.
    pub fn commands(&self) -> BTreeMap<String, i32> {
        let mut used = BTreeMap::new();
        for (age, prompt) in self.prompts.iter().take(500).enumerate() {
            let Some(rest) = prompt.strip_prefix('/') else { continue };
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
        self.edited.get(&at).unwrap_or(&self.prompts[at])
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

    /// The newest prompt at or after index `from` that contains `query`, ignoring case.
    fn find(&self, query: &str, from: usize) -> Option<usize> {
        let query = query.to_lowercase();
        (from..self.prompts.len()).find(|at| self.prompts[*at].to_lowercase().contains(&query))
    }
}

/// A running search in the history.
#[derive(Debug)]
pub struct HistorySearch {
    pub query: String,
    pub found: Option<usize>,
    /// Text and cursor to restore when the search is cancelled.
    before: (String, usize),
}

impl HistorySearch {
    pub fn new(editor: &Editor) -> Self {
        Self { query: String::new(), found: None, before: (editor.text().to_owned(), editor.cursor()) }
    }

    pub fn type_char(&mut self, c: char, recall: &PromptHistory) {
        self.query.push(c);
        self.found = recall.find(&self.query, 0);
    }

    pub fn backspace(&mut self, recall: &PromptHistory) {
        self.query.pop();
        self.found = if self.query.is_empty() { None } else { recall.find(&self.query, 0) };
    }

    pub fn next(&mut self, recall: &PromptHistory) {
        if let Some(next) = self.found.and_then(|at| recall.find(&self.query, at + 1)) {
            self.found = Some(next);
        }
    }

    pub fn text<'a>(&self, recall: &'a PromptHistory) -> Option<&'a str> {
        self.found.map(|at| recall.prompts[at].as_str())
    }

    pub fn before(&self) -> (&str, usize) {
        (&self.before.0, self.before.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recall() -> PromptHistory {
        let mut recall = PromptHistory::default();
        recall.load(vec!["new".into(), "mid".into(), "old".into()]);
        recall
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
        let mut search = HistorySearch::new(&Editor::new());
        for c in "old".chars() {
            search.type_char(c, &recall);
        }
        assert_eq!(search.text(&recall), Some("Old town"));
        search.next(&recall);
        assert_eq!(search.text(&recall), Some("old"));
        search.next(&recall);
        assert_eq!(search.text(&recall), Some("old"));
    }

    #[test]
    fn a_hundred_thousand_prompts_are_searched_at_once() {
        // [TST-239]
        let mut recall = PromptHistory::default();
        recall.load((0..100_000).map(|n| format!("prompt number {n}")).collect());
        let mut search = HistorySearch::new(&Editor::new());
        for c in "number 99999".chars() {
            search.type_char(c, &recall);
        }
        assert_eq!(search.text(&recall), Some("prompt number 99999"));
    }
}
