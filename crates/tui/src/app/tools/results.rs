//! How much of a result is shown: a one-line summary where that is enough, the diff where a file changed, otherwise the
//! first lines. The transcript view has the whole result. Resumed conversations only have the text of a result.

use super::{field, plural, shorten};
use crate::app::dialog::{KEEP_PLANNING_MESSAGE, REFUSED_LABEL, REFUSED_MESSAGE, STILL_PLANNING_LABEL};
use crate::app::spinner::{elapsed, short_count};
use crate::diff::{self, DiffRowHunk, DiffSign};
use engine::{ToolClass, tool_facts};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use terminal::markdown;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Lines of a result that are shown.
const PREVIEW_LINES: usize = 4;
const DIFF_ROWS: usize = 60;
/// The result the model receives for a call that an interrupt prevented; `INTERRUPTED` is shown to the user instead.
const NOT_RUN: &str = "Not run: the user interrupted the turn.";
pub const INTERRUPTED: &str = "Interrupted";

/// A result as the engine sends it.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    pub text: String,
    pub is_error: bool,
    /// `tool_use_result`: an object, or a string for errors.
    pub detail: Value,
}

impl CallOutcome {
    fn number_at(&self, pointer: &str) -> Option<u64> {
        self.detail.pointer(pointer).and_then(Value::as_u64)
    }

    fn text_at(&self, pointer: &str) -> &str {
        self.detail.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The lines under a finished call.
pub fn result(tool: &str, input: &Value, outcome: &CallOutcome, theme: &Theme, columns: usize) -> Vec<StyledLine> {
    if outcome.is_error {
        let (text, token) = match strip_tags(&outcome.text) {
            NOT_RUN => (INTERRUPTED, ThemeToken::Inactive),
            // For a resumed conversation only the message to the model is known.
            REFUSED_MESSAGE => (REFUSED_LABEL, ThemeToken::Inactive),
            KEEP_PLANNING_MESSAGE => (STILL_PLANNING_LABEL, ThemeToken::Inactive),
            text => (text, ThemeToken::Error),
        };
        return with_corner(preview(text, theme.fg(token), theme), theme);
    }
    if let Some(summary) = summary(tool, outcome) {
        return with_corner(vec![StyledLine::plain(summary)], theme);
    }
    match (tool_facts(tool).class, tool) {
        (ToolClass::Edit, _) => change_lines(tool, input, outcome, theme, columns),
        (ToolClass::PlanExit, _) => approved_plan(input, outcome, theme, columns),
        (ToolClass::Question, _) => with_corner(answers(outcome, theme), theme),
        (ToolClass::Agent, _) => with_corner(agent_report(outcome, theme), theme),
        (_, "TodoWrite") => Vec::new(),
        (_, "TaskOutput") => {
            let mut lines = vec![StyledLine::plain(outcome.text_at("/task/status").to_owned())];
            lines.extend(preview(outcome.text_at("/task/output"), TextStyle::PLAIN, theme));
            with_corner(
                if lines[0].is_empty() { preview(&outcome.text, TextStyle::PLAIN, theme) } else { lines },
                theme,
            )
        }
        _ => with_corner(preview(&outcome.text, TextStyle::PLAIN, theme), theme),
    }
}

/// A short summary of the result; `None` for tools whose result is shown in another way.
pub fn summary(tool: &str, outcome: &CallOutcome) -> Option<String> {
    match (tool_facts(tool).class, tool) {
        (ToolClass::Read, _) => Some(read_summary(outcome)),
        (ToolClass::Search, _) | (_, super::LISTING) => Some(search_summary(outcome)),
        (_, "WebSearch") => {
            let pieces = outcome.detail.get("results").and_then(Value::as_array)?;
            let links = pieces.iter().filter_map(|piece| piece.get("content").and_then(Value::as_array));
            Some(counted(links.map(Vec::len).sum(), "result"))
        }
        (ToolClass::ToolSearch, _) => {
            let found = outcome.detail.get("matches").and_then(Value::as_array)?;
            Some(counted(found.len(), "tool"))
        }
        (ToolClass::PlanEntry, _) => Some("Plan mode is on".into()),
        (ToolClass::Agent, _) if outcome.text_at("/status") == "async_launched" => {
            Some("Runs in the background".into())
        }
        _ => None,
    }
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

/// Removes the tag for the model that wraps validation errors.
fn strip_tags(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

fn read_summary(outcome: &CallOutcome) -> String {
    // The result counts the empty line after a final line break as well.
    let over = u64::from(outcome.text_at("/file/content").ends_with('\n'));
    let count = |pointer| outcome.number_at(pointer).map(|lines: u64| lines.saturating_sub(over));
    let shown = count("/file/numLines").or_else(|| outcome.detail.is_null().then(|| lines_in(&outcome.text)));
    match (outcome.text_at("/type"), shown, count("/file/totalLines")) {
        ("image", ..) => "an image".into(),
        ("pdf" | "parts", ..) => "a document".into(),
        (_, Some(lines), Some(all)) if lines < all => format!("{lines} of {}", counted(all as usize, "line")),
        (_, Some(lines), _) => counted(lines as usize, "line"),
        (_, None, _) => "read".into(),
    }
}

fn lines_in(text: &str) -> u64 {
    text.lines().count() as u64
}

fn search_summary(outcome: &CallOutcome) -> String {
    let files = outcome.number_at("/numFiles").or_else(|| outcome.number_at("/totalFiles"));
    match (outcome.number_at("/numLines"), files) {
        (Some(lines), _) if lines > 0 => counted(lines as usize, "line"),
        (_, Some(files)) => counted(files as usize, "file"),
        (_, None) if outcome.detail.is_null() => counted(lines_in(&outcome.text) as usize, "line"),
        (_, None) => "searched".into(),
    }
}

/// The questions with the answers of the user.
fn answers(outcome: &CallOutcome, theme: &Theme) -> Vec<StyledLine> {
    let answers = outcome.detail.get("answers").and_then(Value::as_object).filter(|answers| !answers.is_empty());
    let Some(answers) = answers else { return preview(&outcome.text, TextStyle::PLAIN, theme) };
    let row = |(question, answer): (&String, &Value)| {
        let question = text::clean(question).replace('\n', " ");
        let answer = text::clean(answer.as_str().unwrap_or_default()).replace('\n', " ");
        StyledLine::styled(format!("{question} "), theme.fg(ThemeToken::Inactive))
            .and(format!("→ {answer}"), TextStyle::PLAIN)
    };
    answers.iter().map(row).collect()
}

/// The statistics of an agent and the beginning of its report.
fn agent_report(outcome: &CallOutcome, theme: &Theme) -> Vec<StyledLine> {
    let report = outcome.detail.pointer("/content/0/text").and_then(Value::as_str).unwrap_or(&outcome.text);
    let mut lines = Vec::new();
    if let Some(uses) = outcome.number_at("/totalToolUseCount") {
        let tokens = short_count(outcome.number_at("/totalTokens").unwrap_or(0));
        let took = elapsed(Duration::from_millis(outcome.number_at("/totalDurationMs").unwrap_or(0)));
        let facts = format!("Done ({} · {tokens} tokens · {took})", counted(uses as usize, "tool use"));
        lines.push(StyledLine::plain(facts));
    }
    lines.extend(preview(report, theme.fg(ThemeToken::Inactive), theme));
    lines
}

/// An approved plan, because the dialog that showed it is closed. A long plan was already printed above the dialog.
fn approved_plan(input: &Value, outcome: &CallOutcome, theme: &Theme, columns: usize) -> Vec<StyledLine> {
    let plan = Some(outcome.text_at("/plan")).filter(|plan| !plan.is_empty()).unwrap_or_else(|| field(input, "plan"));
    let look = |columns| markdown::MarkdownOptions {
        theme,
        columns,
        syntax: markdown::SyntaxColouring::Coloured,
        wrap: markdown::ProseWrap::Terminal,
    };
    let mut lines = vec![StyledLine::styled("Approved", theme.fg(ThemeToken::Success))];
    if markdown::render(plan, &look(columns)).len() <= crate::app::dialog::PREVIEW_ROWS {
        lines.extend(markdown::render(plan, &look(columns.saturating_sub(4))));
    }
    with_corner(lines, theme)
}

/// The first lines, and the number of further ones.
fn preview(text: &str, style: TextStyle, theme: &Theme) -> Vec<StyledLine> {
    let clean = text::clean(text);
    let all: Vec<&str> = clean.trim_end().split('\n').collect();
    if all.len() == 1 && all[0].is_empty() {
        return vec![StyledLine::styled("(no output)", theme.fg(ThemeToken::Inactive))];
    }
    let shown = if all.len() <= PREVIEW_LINES + 1 { all.len() } else { PREVIEW_LINES };
    let mut lines: Vec<StyledLine> = all[..shown].iter().map(|line| StyledLine::styled(shorten(line), style)).collect();
    if shown < all.len() {
        let more = format!("… +{} lines (ctrl+o to expand)", all.len() - shown);
        lines.push(StyledLine::styled(more, theme.fg(ThemeToken::Inactive)));
    }
    lines
}

/// Puts the corner glyph before the first line and indents the others.
pub fn with_corner(lines: Vec<StyledLine>, theme: &Theme) -> Vec<StyledLine> {
    let hang = |(index, line): (usize, StyledLine)| {
        let mut out = StyledLine::styled(if index == 0 { "  ⎿ " } else { "    " }, theme.fg(ThemeToken::Inactive));
        out.fill = line.fill;
        out.append(line);
        out
    };
    lines.into_iter().enumerate().map(hang).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatchHunk {
    old_start: usize,
    new_start: usize,
    lines: Vec<String>,
}

/// The hunks of a `structuredPatch`.
pub fn hunks_of(detail: &Value) -> Vec<DiffRowHunk> {
    let patch = detail.get("structuredPatch").and_then(|patch| Vec::<PatchHunk>::deserialize(patch).ok());
    let read = |hunk: PatchHunk| {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let mut rows: DiffRowHunk = Vec::new();
        for line in &hunk.lines {
            let (sign, number) = match line.as_bytes().first() {
                Some(b'+') => (DiffSign::Added, new),
                Some(b'-') => (DiffSign::Removed, old),
                Some(b'\\') => continue,
                Some(_) | None => (DiffSign::Same, new),
            };
            new += usize::from(sign != DiffSign::Removed);
            old += usize::from(sign != DiffSign::Added);
            rows.push(diff::DiffRow {
                sign,
                number,
                text: text::reveal(line.get(1..).unwrap_or_default().trim_end_matches('\r')),
                marks: Vec::new(),
            });
        }
        diff::mark_words(&mut rows);
        rows
    };
    patch.into_iter().flatten().map(read).collect()
}

fn change_lines(tool: &str, input: &Value, outcome: &CallOutcome, theme: &Theme, columns: usize) -> Vec<StyledLine> {
    let path = field(input, "file_path");
    let look = diff::DiffOptions { theme, columns: columns.saturating_sub(4), path, limit: DIFF_ROWS };
    let hunks = hunks_of(&outcome.detail);
    if hunks.is_empty() {
        let content = field(input, "content");
        if tool == "Write" && !content.is_empty() {
            let created = diff::diff_texts("", content, 1);
            let count = content.lines().count();
            let mut lines = vec![StyledLine::plain(format!("Wrote {count} {}", plural(count, "line")))];
            lines.extend(diff::render(&created, &diff::DiffOptions { limit: 12, ..look }));
            return with_corner(lines, theme);
        }
        return with_corner(preview(&outcome.text, TextStyle::PLAIN, theme), theme);
    }
    let (added, removed) = diff::counts(&hunks);
    let summary = format!(
        "{added} {} and {removed} {}",
        if added == 1 { "addition" } else { "additions" },
        if removed == 1 { "removal" } else { "removals" }
    );
    let mut lines = vec![StyledLine::plain(summary)];
    lines.extend(diff::render(&hunks, &look));
    with_corner(lines, theme)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
