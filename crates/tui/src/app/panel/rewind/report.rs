//! What a rewind of the files would change or has changed, in words and as a diff.

use crate::app::layers::LayerView;
use crate::app::panel::{Panel, PanelFrame, PlainPage};
use crate::app::session::SessionDisplay;
use crate::app::spinner::faint;
use crate::app::tools::{counted, patch_hunks};
use crate::diff::{self, DiffOptions};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;

/// Names in one line; the rest is counted.
const MAX_NAMES: usize = 5;
/// Files listed before a choice.
const MAX_FILES: usize = 6;
/// Rows of the diff of one file.
const MAX_DIFF_ROWS: usize = 400;

/// The report of the engine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RewindReport {
    files: Vec<ChangedFile>,
    insertions: u64,
    deletions: u64,
    pub(super) kept: Vec<PathBuf>,
    kept_changes: Vec<ChangedFile>,
    problems: Vec<PathProblem>,
    skipped_links: usize,
    not_covered: Vec<UncoveredCommand>,
    outside: Vec<PathBuf>,
    id: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ChangedFile {
    path: PathBuf,
    change: FileFate,
    insertions: u64,
    deletions: u64,
    hunks: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileFate {
    #[default]
    Restored,
    Removed,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PathProblem {
    path: PathBuf,
    why: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct UncoveredCommand {
    what: String,
    why: String,
}

impl RewindReport {
    pub(super) fn has_changes(&self) -> bool {
        !self.files.is_empty() || !self.kept.is_empty()
    }

    /// What would change, before it is chosen.
    pub(super) fn summary(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let mut lines = Vec::new();
        if !self.files.is_empty() {
            let count = counted(self.files.len(), "file");
            let counts = format!("  {count} would change: +{} −{}", self.insertions, self.deletions);
            lines.push(StyledLine::styled(counts, TextStyle::PLAIN.bold()));
        }
        if !self.kept.is_empty() {
            let text = format!("  Changed by somebody else since: {}", names(&self.kept, view.session));
            lines.push(StyledLine::styled(text, theme.fg(ThemeToken::Warning)));
        }
        let left = self.left_alone(view.session).into_iter();
        lines.extend(left.map(|text| StyledLine::styled(format!("  {text}"), theme.fg(ThemeToken::Warning))));
        for file in self.files.iter().take(MAX_FILES) {
            lines.push(faint(format!("    {}", file.words(view.session)), theme));
        }
        if let Some(more) = self.files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
            lines.push(faint(format!("    … {more} more · d shows all"), theme));
        }
        lines
    }

    /// What is not brought back, and why.
    fn left_alone(&self, session: &SessionDisplay) -> Vec<String> {
        let mut told = Vec::new();
        if self.skipped_links > 0 {
            told.push(format!("Skipped: {}, because no link is followed", counted(self.skipped_links, "link")));
        }
        if !self.outside.is_empty() {
            told.push(format!("Outside of this session's folders, left alone: {}", names(&self.outside, session)));
        }
        for UncoveredCommand { what, why } in self.not_covered.iter().take(MAX_NAMES) {
            let what = text::clean(what).replace('\n', " ");
            told.push(format!("Not covered: {what} ({})", text::clean(why)));
        }
        if let Some(more) = self.not_covered.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            told.push(format!("Not covered: {more} more"));
        }
        told
    }
}

impl ChangedFile {
    fn words(&self, session: &SessionDisplay) -> String {
        let path = shown(&self.path, session);
        match self.change {
            FileFate::Restored if self.insertions + self.deletions == 0 => format!("{path}  restored"),
            FileFate::Restored => format!("{path}  +{} −{}", self.insertions, self.deletions),
            FileFate::Removed if self.deletions == 0 => format!("{path}  removed"),
            FileFate::Removed => format!("{path}  removed, −{}", self.deletions),
        }
    }

    fn diff_lines(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let path = self.path.display().to_string();
        let mut lines = vec![StyledLine::styled(self.words(view.session), TextStyle::PLAIN.bold())];
        let hunks = patch_hunks(&self.hunks);
        let columns = view.size.columns.saturating_sub(4);
        let look = DiffOptions { theme, columns, path: &path, limit: MAX_DIFF_ROWS };
        if hunks.is_empty() {
            lines.push(faint("(nothing to compare line by line)", theme));
        }
        lines.extend(diff::render(&hunks, &look));
        lines.push(StyledLine::new());
        lines
    }
}

/// The difference of each file that would change.
pub(super) fn diff_page(report: &RewindReport, title: &str, view: &LayerView<'_>) -> Panel {
    let mut lines: Vec<StyledLine> = report.files.iter().flat_map(|file| file.diff_lines(view)).collect();
    if !report.kept_changes.is_empty() {
        let words = "Changed by somebody else since; overwriting these would change:";
        lines.push(StyledLine::styled(words, view.preferences.theme.fg(ThemeToken::Warning)));
        lines.push(StyledLine::new());
        lines.extend(report.kept_changes.iter().flat_map(|file| file.diff_lines(view)));
    }
    lines.truncate(lines.len().saturating_sub(1));
    PanelFrame::page(title, lines).keys("↑↓ space b g G to move · esc to go back").with(PlainPage)
}

/// What was done to the files, line by line; the flag is set for what needs attention.
pub fn report_words(report: &Value, session: &SessionDisplay) -> Vec<(String, bool)> {
    let report = RewindReport::deserialize(report).unwrap_or_default();
    let of = |fate| report.files.iter().filter(|file| file.change == fate).count();
    let mut done = Vec::new();
    for (count, what) in [(of(FileFate::Restored), "restored"), (of(FileFate::Removed), "removed")] {
        done.extend((count > 0).then(|| format!("{} {what}", counted(count, "file"))));
    }
    let mut told = Vec::new();
    if done.is_empty() {
        told.push(("No file was changed.".to_owned(), false));
    } else {
        let counts = format!("{} (+{} −{}).", done.join(", "), report.insertions, report.deletions);
        told.push((counts, false));
    }
    if !report.kept.is_empty() {
        let kept = names(&report.kept, session);
        told.push((format!("Kept, because somebody else changed it since: {kept}"), true));
    }
    for PathProblem { path, why } in report.problems.iter().take(MAX_NAMES) {
        told.push((format!("Not restored: {}: {}", shown(path, session), text::clean(why)), true));
    }
    told.extend(report.left_alone(session).into_iter().map(|text| (text, true)));
    if let Some(id) = &report.id {
        told.push((format!("gimlet undo --to {id} takes that back."), false));
    }
    told
}

fn shown(path: &Path, session: &SessionDisplay) -> String {
    text::clean(session.short_path(&path.display().to_string())).replace('\n', " ")
}

/// A few names, and how many more there are.
fn names(paths: &[PathBuf], session: &SessionDisplay) -> String {
    let mut names: Vec<String> = paths.iter().take(MAX_NAMES).map(|path| shown(path, session)).collect();
    if let Some(more) = paths.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
