//! What of a call's result is shown: one line where one says it, the change where a file changed, else the first lines. The
//! whole result stands in the transcript view. A resumed conversation has the text of a result only.

use super::{field, plural, shorten};
use crate::app::dialog::{KEEPS_PLANNING, NOT_YET, REFUSED, SAID_NO};
use crate::app::spinner::{elapsed, short_count};
use crate::diff::{self, Hunk, Sign};
use crate::markdown;
use crate::style::{Line, Style};
use crate::text;
use crate::theme::{Theme, Token};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// Lines of a result that are shown at once.
const PREVIEW: usize = 4;
const DIFF_ROWS: usize = 60;
/// What the model is told of a call that an interrupt kept from running, and what the person is.
const NOT_RUN: &str = "Not run: the user interrupted the turn.";
pub const INTERRUPTED: &str = "Interrupted";

/// A result as the engine tells it.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub text: String,
    pub is_error: bool,
    /// `tool_use_result`: an object, or a string for errors.
    pub detail: Value,
}

impl Outcome {
    fn number(&self, pointer: &str) -> Option<u64> {
        self.detail.pointer(pointer).and_then(Value::as_u64)
    }

    fn word(&self, pointer: &str) -> &str {
        self.detail.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The lines under a finished call.
pub fn result(tool: &str, input: &Value, outcome: &Outcome, theme: &Theme, columns: usize) -> Vec<Line> {
    if outcome.is_error {
        let (text, token) = match strip_tags(&outcome.text) {
            NOT_RUN => (INTERRUPTED, Token::Error),
            // Of a resumed conversation: the model's words are all that is left.
            REFUSED => (SAID_NO, Token::Inactive),
            KEEPS_PLANNING => (NOT_YET, Token::Inactive),
            text => (text, Token::Error),
        };
        return hung(preview(text, theme.fg(token), theme), theme);
    }
    if let Some(summary) = summary(tool, outcome) {
        return hung(vec![Line::plain(summary)], theme);
    }
    match tool {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => changed(tool, input, outcome, theme, columns),
        "TodoWrite" => Vec::new(),
        "ExitPlanMode" => approved(input, outcome, theme, columns),
        "AskUserQuestion" => hung(answers(outcome, theme), theme),
        "Agent" | "Task" => hung(reported(outcome, theme), theme),
        "TaskOutput" => {
            let mut lines = vec![Line::plain(outcome.word("/task/status").to_owned())];
            lines.extend(preview(outcome.word("/task/output"), Style::PLAIN, theme));
            hung(if lines[0].is_empty() { preview(&outcome.text, Style::PLAIN, theme) } else { lines }, theme)
        }
        _ => hung(preview(&outcome.text, Style::PLAIN, theme), theme),
    }
}

/// The result in a few words, for the tools where these say it.
pub fn summary(tool: &str, outcome: &Outcome) -> Option<String> {
    match tool {
        "Read" => Some(read_summary(outcome)),
        "Glob" | "Grep" | "LS" => Some(search_summary(outcome)),
        "WebSearch" => {
            let pieces = outcome.detail.get("results").and_then(Value::as_array)?;
            let links = pieces.iter().filter_map(|piece| piece.get("content").and_then(Value::as_array));
            Some(counted(links.map(Vec::len).sum(), "result"))
        }
        "ToolSearch" => {
            let found = outcome.detail.get("matches").and_then(Value::as_array)?;
            Some(counted(found.len(), "tool"))
        }
        "EnterPlanMode" => Some("Plan mode is on".into()),
        "Agent" | "Task" if outcome.word("/status") == "async_launched" => Some("Runs in the background".into()),
        _ => None,
    }
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

/// Errors of validation come wrapped in a tag meant for the model.
fn strip_tags(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

fn read_summary(outcome: &Outcome) -> String {
    // The end of the last line is numbered as well, for the model.
    let over = u64::from(outcome.word("/file/content").ends_with('\n'));
    let told = |pointer| outcome.number(pointer).map(|lines: u64| lines.saturating_sub(over));
    let shown = told("/file/numLines").or_else(|| outcome.detail.is_null().then(|| lines_in(&outcome.text)));
    match (outcome.word("/type"), shown, told("/file/totalLines")) {
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

fn search_summary(outcome: &Outcome) -> String {
    let files = outcome.number("/numFiles").or_else(|| outcome.number("/totalFiles"));
    match (outcome.number("/numLines"), files) {
        (Some(lines), _) if lines > 0 => counted(lines as usize, "line"),
        (_, Some(files)) => counted(files as usize, "file"),
        (_, None) if outcome.detail.is_null() => counted(lines_in(&outcome.text) as usize, "line"),
        (_, None) => "searched".into(),
    }
}

/// What the person answered, question by question.
fn answers(outcome: &Outcome, theme: &Theme) -> Vec<Line> {
    let answers = outcome.detail.get("answers").and_then(Value::as_object).filter(|answers| !answers.is_empty());
    let Some(answers) = answers else { return preview(&outcome.text, Style::PLAIN, theme) };
    let row = |(question, answer): (&String, &Value)| {
        let question = text::clean(question).replace('\n', " ");
        let answer = text::clean(answer.as_str().unwrap_or_default()).replace('\n', " ");
        Line::styled(format!("{question} "), theme.fg(Token::Inactive)).and(format!("→ {answer}"), Style::PLAIN)
    };
    answers.iter().map(row).collect()
}

/// What an agent did, and the beginning of what it says.
fn reported(outcome: &Outcome, theme: &Theme) -> Vec<Line> {
    let report = outcome.detail.pointer("/content/0/text").and_then(Value::as_str).unwrap_or(&outcome.text);
    let mut lines = Vec::new();
    if let Some(uses) = outcome.number("/totalToolUseCount") {
        let tokens = short_count(outcome.number("/totalTokens").unwrap_or(0));
        let took = elapsed(Duration::from_millis(outcome.number("/totalDurationMs").unwrap_or(0)));
        let facts = format!("Done ({} · {tokens} tokens · {took})", counted(uses as usize, "tool use"));
        lines.push(Line::plain(facts));
    }
    lines.extend(preview(report, theme.fg(Token::Inactive), theme));
    lines
}

/// A plan that was approved stays readable: the question that showed it is gone. A long one was printed above it.
fn approved(input: &Value, outcome: &Outcome, theme: &Theme, columns: usize) -> Vec<Line> {
    let plan = Some(outcome.word("/plan")).filter(|plan| !plan.is_empty()).unwrap_or_else(|| field(input, "plan"));
    let look = |columns| markdown::Look { theme, columns, syntax: markdown::Syntax::Coloured };
    let mut lines = vec![Line::styled("Approved", theme.fg(Token::Success))];
    if markdown::render(plan, &look(columns)).len() <= crate::app::dialog::PREVIEW {
        lines.extend(markdown::render(plan, &look(columns.saturating_sub(4))));
    }
    hung(lines, theme)
}

/// The first lines, and how many more there are.
fn preview(text: &str, style: Style, theme: &Theme) -> Vec<Line> {
    let clean = text::clean(text);
    let all: Vec<&str> = clean.trim_end().split('\n').collect();
    if all.len() == 1 && all[0].is_empty() {
        return vec![Line::styled("(no output)", theme.fg(Token::Inactive))];
    }
    let shown = if all.len() <= PREVIEW + 1 { all.len() } else { PREVIEW };
    let mut lines: Vec<Line> = all[..shown].iter().map(|line| Line::styled(shorten(line), style)).collect();
    if shown < all.len() {
        let more = format!("… +{} lines (ctrl+o to expand)", all.len() - shown);
        lines.push(Line::styled(more, theme.fg(Token::Inactive)));
    }
    lines
}

/// Puts the corner before the first line and aligns the others.
pub fn hung(lines: Vec<Line>, theme: &Theme) -> Vec<Line> {
    let hang = |(index, line): (usize, Line)| {
        let mut out = Line::styled(if index == 0 { "  ⎿ " } else { "    " }, theme.fg(Token::Inactive));
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
pub fn hunks_of(detail: &Value) -> Vec<Hunk> {
    let patch = detail.get("structuredPatch").and_then(|patch| Vec::<PatchHunk>::deserialize(patch).ok());
    let read = |hunk: PatchHunk| {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let mut rows: Hunk = Vec::new();
        for line in &hunk.lines {
            let (sign, number) = match line.as_bytes().first() {
                Some(b'+') => (Sign::Added, new),
                Some(b'-') => (Sign::Removed, old),
                Some(b'\\') => continue,
                Some(_) | None => (Sign::Same, new),
            };
            new += usize::from(sign != Sign::Removed);
            old += usize::from(sign != Sign::Added);
            rows.push(diff::Row {
                sign,
                number,
                text: line.get(1..).unwrap_or_default().to_owned(),
                marks: Vec::new(),
            });
        }
        diff::mark_words(&mut rows);
        rows
    };
    patch.into_iter().flatten().map(read).collect()
}

fn changed(tool: &str, input: &Value, outcome: &Outcome, theme: &Theme, columns: usize) -> Vec<Line> {
    let path = field(input, "file_path");
    let look = diff::Look { theme, columns: columns.saturating_sub(4), path, limit: DIFF_ROWS };
    let hunks = hunks_of(&outcome.detail);
    if hunks.is_empty() {
        let content = field(input, "content");
        if tool == "Write" && !content.is_empty() {
            let created = diff::between("", content, 1);
            let count = content.lines().count();
            let mut lines = vec![Line::plain(format!("Wrote {count} {}", plural(count, "line")))];
            lines.extend(diff::render(&created, &diff::Look { limit: 12, ..look }));
            return hung(lines, theme);
        }
        return hung(preview(&outcome.text, Style::PLAIN, theme), theme);
    }
    let (added, removed) = diff::counts(&hunks);
    let summary = format!(
        "{added} {} and {removed} {}",
        if added == 1 { "addition" } else { "additions" },
        if removed == 1 { "removal" } else { "removals" }
    );
    let mut lines = vec![Line::plain(summary)];
    lines.extend(diff::render(&hunks, &look));
    hung(lines, theme)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
