//! The sessions of a picker and which of them are shown: newest first, with the forks of one session grouped. With a
//! query, first those whose title, prompt, branch, folder or pull request contains it, then those whose content does.

use engine::query::{self, SessionInfo};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The text around a search hit.
#[derive(Clone, Debug)]
pub(super) struct Snippet {
    pub(super) text: String,
    pub(super) place: std::ops::Range<usize>,
}

#[derive(Debug)]
struct PickerEntry {
    info: SessionInfo,
    /// The text that the query is compared with, in lower case.
    key: String,
    hit: Option<Snippet>,
}

impl PickerEntry {
    fn new(info: SessionInfo) -> Self {
        let parts = [
            Some(query::label(&info)),
            info.first_prompt.as_deref(),
            info.branch.as_deref(),
            info.cwd.as_deref(),
            info.pr_url.as_deref(),
            info.tag.as_deref(),
            Some(info.id.as_str()),
        ];
        let key = parts.into_iter().flatten().collect::<Vec<_>>().join("\n").to_lowercase();
        Self { info, key, hit: None }
    }
}

/// How a session is related to the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForkRelation {
    Alone,
    /// Of the same fork family as the row above.
    Fork,
}

#[derive(Debug, Default)]
pub(super) struct PickerList {
    entries: Vec<PickerEntry>,
    known: HashMap<String, usize>,
    current: Option<String>,
    branch: Option<String>,
    only_branch: bool,
    is_all: bool,
    query: String,
    shown: Vec<(usize, ForkRelation)>,
}

impl PickerList {
    pub(super) fn new(current: Option<String>) -> Self {
        Self { current, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.known.clear();
        self.is_all = false;
        self.refresh();
    }

    pub(super) fn add(&mut self, sessions: Vec<SessionInfo>, branch: Option<String>, is_all: bool) {
        for info in sessions.into_iter().filter(|info| !info.archived) {
            self.insert(info);
        }
        self.branch = branch;
        self.is_all = is_all;
        self.refresh();
    }

    fn insert(&mut self, info: SessionInfo) -> usize {
        if let Some(at) = self.known.get(&info.id) {
            return *at;
        }
        self.known.insert(info.id.clone(), self.entries.len());
        self.entries.push(PickerEntry::new(info));
        self.entries.len() - 1
    }

    pub(super) fn add_hit(&mut self, info: SessionInfo, hit: Snippet) {
        let at = self.insert(info);
        self.entries[at].hit = Some(hit);
        self.refresh();
    }

    pub(super) fn narrow(&mut self, query: &str) {
        self.query = query.to_lowercase();
        for entry in &mut self.entries {
            entry.hit = None;
        }
        self.refresh();
    }

    pub(super) fn toggle_branch(&mut self) {
        self.only_branch = !self.only_branch;
        self.refresh();
    }

    pub(super) fn rename(&mut self, path: &Path, name: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry.info.path == path) {
            let hit = entry.hit.take();
            entry.info.title = Some(name.to_owned());
            *entry = PickerEntry { hit, ..PickerEntry::new(entry.info.clone()) };
        }
        self.refresh();
    }

    fn refresh(&mut self) {
        let words: Vec<&str> = self.query.split_whitespace().collect();
        let on_branch = |entry: &PickerEntry| !self.only_branch || entry.info.branch == self.branch;
        let mut named: Vec<usize> = Vec::new();
        let mut found_in_content: Vec<usize> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| on_branch(entry)) {
            if words.iter().all(|word| entry.key.contains(word)) {
                named.push(at);
            } else if entry.hit.is_some() {
                found_in_content.push(at);
            }
        }
        let newest = |at: &usize| std::cmp::Reverse(self.entries[*at].info.modified_at);
        sys::compact_sort::sort_by_key(&mut named, newest);
        sys::compact_sort::sort_by_key(&mut found_in_content, newest);
        self.shown = if words.is_empty() {
            self.grouped(&named)
        } else {
            named.into_iter().chain(found_in_content).map(|at| (at, ForkRelation::Alone)).collect()
        };
    }

    /// Groups forks of one session at the position of their newest member.
    fn grouped(&self, newest_first: &[usize]) -> Vec<(usize, ForkRelation)> {
        let mut families: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in newest_first {
            families.entry(self.root(*at)).or_default().push(*at);
        }
        let mut rows = Vec::with_capacity(newest_first.len());
        for at in newest_first {
            for (place, member) in families.remove(self.root(*at)).into_iter().flatten().enumerate() {
                rows.push((member, if place == 0 { ForkRelation::Alone } else { ForkRelation::Fork }));
            }
        }
        rows
    }

    /// The id of the oldest recorded ancestor, which may not be in the list.
    fn root(&self, at: usize) -> &str {
        let mut info = &self.entries[at].info;
        let mut seen = HashSet::new();
        while let Some(parent) = &info.forked_from {
            match self.known.get(parent) {
                Some(next) if seen.insert(*next) => info = &self.entries[*next].info,
                Some(_) => break,
                None => return parent,
            }
        }
        &info.id
    }

    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// The number of sessions, shown or not, and whether the list is complete.
    pub(super) fn total(&self) -> (usize, bool) {
        (self.entries.len(), self.is_all)
    }

    /// The branch to which the rows are restricted; `None` shows all.
    pub(super) fn only_branch(&self) -> Option<&str> {
        self.branch.as_deref().filter(|_| self.only_branch)
    }

    pub(super) fn get(&self, row: usize) -> Option<&SessionInfo> {
        self.shown.get(row).map(|(at, _)| &self.entries[*at].info)
    }

    pub(super) fn row(&self, row: usize) -> Option<PickerRow<'_>> {
        let (at, kinship) = self.shown.get(row)?;
        let entry = &self.entries[*at];
        let is_current = self.current.as_ref() == Some(&entry.info.id);
        Some(PickerRow { info: &entry.info, relation: *kinship, hit: entry.hit.as_ref(), is_current })
    }

    pub(super) fn position(&self, path: &Path) -> Option<usize> {
        self.shown.iter().position(|(at, _)| self.entries[*at].info.path == path)
    }
}

/// What a row shows.
pub(super) struct PickerRow<'a> {
    pub(super) info: &'a SessionInfo,
    pub(super) relation: ForkRelation,
    pub(super) hit: Option<&'a Snippet>,
    pub(super) is_current: bool,
}
