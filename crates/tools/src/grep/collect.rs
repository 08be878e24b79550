//! The matches found so far, in the order they will be shown. Threads finish in any order; the entries kept are
//! always the first of the full answer, so the result is the same every time.

use super::GrepQuery;
use crate::contract::Workspace;
use crate::walk::{self, SmallestItems};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Most bytes of all kept lines; later lines are only counted.
const MAX_BYTES: usize = 16 << 20;
/// Most files that are named as not searched.
const MAX_NAMED: usize = 3;

#[derive(Debug)]
pub(super) struct GrepMatches {
    /// Files, newest first, then by path.
    newest: SmallestItems<(Reverse<SystemTime>, PathBuf)>,
    /// Content and count entries by path.
    entries: BTreeMap<PathBuf, Vec<String>>,
    kept: usize,
    bytes: usize,
    /// Most entries that can be shown.
    window: usize,
    /// Entries from this path on are not kept; `None` means no limit.
    kept_until: Option<PathBuf>,
    separators: bool,
    pub(super) files: u64,
    pub(super) lines: u64,
    pub(super) matches: u64,
    /// Files that were searched, with and without matches.
    pub(super) searched: u64,
    /// Files that could not be searched to their end, with the reason: the first by path.
    pub(super) unsearched: SmallestItems<(PathBuf, String)>,
    /// Why the pattern was taken as literal text.
    pub(super) literal: Option<String>,
}

impl GrepMatches {
    pub(super) fn new(query: &GrepQuery) -> Self {
        Self {
            newest: SmallestItems::new(query.window()),
            entries: BTreeMap::new(),
            kept: 0,
            bytes: 0,
            window: query.window(),
            kept_until: None,
            separators: query.has_context(),
            files: 0,
            lines: 0,
            matches: 0,
            searched: 0,
            unsearched: SmallestItems::new(MAX_NAMED),
            literal: None,
        }
    }

    pub(super) fn add_file(&mut self, path: &Path, modified: SystemTime) {
        self.files += 1;
        self.newest.add((Reverse(modified), path.to_path_buf()));
    }

    pub(super) fn add_unsearched(&mut self, path: &Path, why: String) {
        self.unsearched.add((path.to_path_buf(), why));
    }

    pub(super) fn add_count(&mut self, path: &Path, matches: u64, at: &Workspace) {
        self.files += 1;
        self.matches += matches;
        self.keep(path, vec![format!("{}:{matches}", walk::display_path(path, at))]);
    }

    pub(super) fn add_lines(&mut self, path: &Path, kept: Vec<String>, total: u64) {
        self.lines += total + u64::from(self.separators && self.files > 0);
        self.files += 1;
        self.keep(path, kept);
    }

    /// How many entries of this file are worth keeping.
    pub(super) fn room(&self, path: &Path) -> usize {
        let beyond = self.kept_until.as_ref().is_some_and(|h| path >= h.as_path());
        let after_all = self.kept >= self.window && self.entries.last_key_value().is_some_and(|(last, _)| path > last);
        if beyond || after_all { 0 } else { self.window }
    }

    fn keep(&mut self, path: &Path, lines: Vec<String>) {
        // The limit may have moved since the file was opened.
        if lines.is_empty() || self.room(path) == 0 {
            return;
        }
        self.kept += lines.len();
        self.bytes += size(&lines);
        self.entries.insert(path.to_path_buf(), lines);
        while let Some((_, last)) = self.entries.last_key_value() {
            let spare = self.kept - last.len() >= self.window;
            if !spare && (self.bytes <= MAX_BYTES || self.entries.len() == 1) {
                break;
            }
            if let Some((path, lines)) = self.entries.pop_last() {
                self.kept -= lines.len();
                self.bytes -= size(&lines);
                self.kept_until = Some(path);
            }
        }
    }

    pub(super) fn into_files(self) -> Vec<PathBuf> {
        self.newest.into_sorted().into_iter().map(|(_, path)| path).collect()
    }

    /// All kept entries in path order; entries with context are separated by `--`.
    pub(super) fn into_lines(self) -> Vec<String> {
        let mut all = Vec::with_capacity(self.kept + self.entries.len());
        for lines in self.entries.into_values() {
            if self.separators && !all.is_empty() {
                all.push("--".to_owned());
            }
            all.extend(lines);
        }
        all
    }
}

fn size(lines: &[String]) -> usize {
    lines.iter().map(|line| line.len() + 24).sum()
}
