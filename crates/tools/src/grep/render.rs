//! The answer as text for the model, and its structured form.

use super::collect::GrepMatches;
use super::{GrepMode, GrepQuery};
use crate::contract::{ToolOutcome, Workspace};
use crate::walk::{self, WalkEnd};
use serde::Serialize;
use wire::counting::counted;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct GrepOutput {
    mode: &'static str,
    num_files: u64,
    filenames: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_matches: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied_limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied_offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
}

/// Most characters of entries that the model gets; with the closing line they stay within 20,000.
const MAX_CHARS: usize = 19_800;

/// The page of entries the query asks for.
struct GrepPage {
    shown: Vec<String>,
    /// How many of them the model gets.
    fitting: usize,
    /// The limit, when it left entries out.
    limit: Option<usize>,
    total: u64,
}

impl GrepPage {
    fn of(query: &GrepQuery, entries: impl Iterator<Item = String>, total: u64) -> Self {
        let shown: Vec<String> = entries.skip(query.offset).take(query.limit.unwrap_or(usize::MAX)).collect();
        let more = (query.offset + shown.len()) as u64;
        let limit = query.limit.filter(|_| more < total);
        let fitting = fitting(&shown);
        Self { shown, fitting, limit, total }
    }

    fn text(&self) -> String {
        self.shown[..self.fitting].join("\n")
    }

    /// A note such as `(showing 250 of 400 files; limit: 250, offset: 10)`; `None` when everything is shown.
    fn note(&self, query: &GrepQuery, unit: &str) -> Option<String> {
        if self.fitting < self.shown.len() {
            return Some(format!(
                "(showing {} of {} {unit}; {MAX_CHARS} characters at most. Narrow the search with `path`, `glob` or a longer \
                 pattern, or go on with `offset` {}.)",
                self.fitting,
                self.total,
                query.offset + self.fitting
            ));
        }
        let bounds = match (self.limit, query.offset) {
            (None, 0) if self.shown.len() as u64 == self.total => return None,
            (None, 0) => "size limit reached".to_owned(),
            (Some(limit), 0) => format!("limit: {limit}"),
            (None, offset) => format!("offset: {offset}"),
            (Some(limit), offset) => format!("limit: {limit}, offset: {offset}"),
        };
        Some(format!("(showing {} of {} {unit}; {bounds})", self.shown.len(), self.total))
    }
}

/// The result with `notes` at its end.
pub(super) fn outcome(
    query: &GrepQuery,
    found: GrepMatches,
    at: &Workspace,
    notes: &[String],
    ended: WalkEnd,
) -> ToolOutcome {
    let (files, lines, matches) = (found.files, found.lines, found.matches);
    let mut report = GrepOutput { timed_out: (ended == WalkEnd::TimedOut).then_some(true), ..GrepOutput::default() };
    report.applied_offset = (query.offset > 0).then_some(query.offset);
    let text = match query.mode {
        GrepMode::Files => {
            let names = found.into_files().into_iter().map(|path| walk::display_path(&path, at));
            let page = GrepPage::of(query, names, files);
            report.files(query, page)
        }
        GrepMode::Content => {
            let page = GrepPage::of(query, found.into_lines().into_iter(), lines);
            report.content(query, &page, files)
        }
        GrepMode::Count => {
            let page = GrepPage::of(query, found.into_lines().into_iter(), files);
            report.count(query, &page, matches)
        }
    };
    let text = std::iter::once(text.as_str()).chain(notes.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    ToolOutcome::text(text, wire::raw::to_raw(&report).ok())
}

impl GrepOutput {
    fn files(&mut self, query: &GrepQuery, page: GrepPage) -> String {
        (self.mode, self.applied_limit) = ("files_with_matches", page.limit);
        (self.num_files, self.total_files) = (page.shown.len() as u64, Some(page.total));
        let text = if page.shown.is_empty() {
            empty_page_text(page.total, "No files found")
        } else {
            let note = page.note(query, "files").map_or_else(String::new, |note| format!(" {note}"));
            format!("Found {}{note}\n{}", counted(page.total, "file"), page.text())
        };
        self.filenames = page.shown;
        text
    }

    fn content(&mut self, query: &GrepQuery, page: &GrepPage, files: u64) -> String {
        (self.mode, self.applied_limit, self.num_files) = ("content", page.limit, files);
        (self.num_lines, self.total_lines) = (Some(page.shown.len() as u64), Some(page.total));
        let content = page.shown.join("\n");
        self.content = Some(content.clone());
        if page.shown.is_empty() {
            return empty_page_text(page.total, "No matches found");
        }
        match page.note(query, "lines") {
            Some(note) => format!("{}\n\n{note}", page.text()),
            None => content,
        }
    }

    fn count(&mut self, query: &GrepQuery, page: &GrepPage, matches: u64) -> String {
        (self.mode, self.applied_limit) = ("count", page.limit);
        (self.num_files, self.num_matches) = (page.total, Some(matches));
        self.content = Some(page.shown.join("\n"));
        if page.shown.is_empty() {
            return empty_page_text(page.total, "No matches found");
        }
        let note = page.note(query, "files").map_or_else(String::new, |note| format!(" {note}"));
        let (matches, files) = (counted(matches, "match"), counted(page.total, "file"));
        format!("{}\n\nFound {matches} in {files}{note}", page.text())
    }
}

/// How many entries fit into the space for them; one in any case.
fn fitting(entries: &[String]) -> usize {
    let mut size = 0;
    let fit = entries.iter().take_while(|entry| {
        size += entry.chars().count() + 1;
        size <= MAX_CHARS
    });
    fit.count().max(1).min(entries.len())
}

/// The text of an empty page: nothing matched at all, or the offset is past the end.
fn empty_page_text(total: u64, none: &str) -> String {
    if total == 0 { none.to_owned() } else { "No entries at this offset".to_owned() }
}
