//! How calls are named and what of their results is shown. Pure text work: nothing here knows whether a call runs.

use crate::diff::{self, Hunk, Sign};
use crate::style::{Line, Style};
use crate::text;
use crate::theme::{Theme, Token};
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;

use super::session::Session;

/// Lines of a result that are shown at once.
const PREVIEW: usize = 4;
const DIFF_ROWS: usize = 60;
/// Arguments are cut here; the whole input stands in the transcript view.
const ARGUMENT: usize = 400;

/// What a call is called in the list: `Bash(cargo test)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub argument: String,
}

impl Label {
    /// Name and argument in one.
    pub fn called(&self) -> String {
        if self.argument.is_empty() { self.name.clone() } else { format!("{}({})", self.name, self.argument) }
    }
}

/// Calls of one kind in a row are shown as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    Read,
    Search,
    /// Tools of one MCP server.
    Server(String),
}

pub fn group(tool: &str) -> Option<Group> {
    match tool {
        "Read" => Some(Group::Read),
        "Grep" | "Glob" | "LS" => Some(Group::Search),
        _ => mcp(tool).map(|(server, _)| Group::Server(server.to_owned())),
    }
}

fn field<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn label(tool: &str, input: &Value, session: &Session) -> Label {
    let path = |name: &str| session.short_path(field(input, name)).to_owned();
    let (name, argument) = match tool {
        "Bash" => ("Bash", field(input, "command").to_owned()),
        "Read" => ("Read", path("file_path")),
        "Edit" | "MultiEdit" => ("Update", path("file_path")),
        "Write" => ("Write", path("file_path")),
        "NotebookEdit" => ("Update", path("notebook_path")),
        "Glob" | "Grep" => ("Search", search_argument(input, session)),
        "WebFetch" => ("Fetch", field(input, "url").to_owned()),
        "WebSearch" => ("Web search", field(input, "query").to_owned()),
        "TodoWrite" => ("Update todos", String::new()),
        "ExitPlanMode" => ("Plan", String::new()),
        "AskUserQuestion" => ("Question", first_question(input)),
        "Skill" => ("Skill", field(input, "skill").to_owned()),
        "Agent" | "Task" => {
            let kind = field(input, "subagent_type");
            return Label {
                name: if kind.is_empty() { "Agent" } else { kind }.into(),
                argument: field(input, "description").into(),
            };
        }
        _ => return Label { name: other_name(tool), argument: shorten(&compact(input)) },
    };
    Label { name: name.to_owned(), argument: shorten(&argument) }
}

fn first_question(input: &Value) -> String {
    let first = input.get("questions").and_then(|questions| questions.get(0));
    first.map(|question| field(question, "question")).unwrap_or_default().to_owned()
}

fn mcp(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

fn other_name(tool: &str) -> String {
    match mcp(tool) {
        Some((server, tool)) => format!("{server} - {tool} (MCP)"),
        None => tool.to_owned(),
    }
}

fn search_argument(input: &Value, session: &Session) -> String {
    let mut text = format!("pattern: \"{}\"", field(input, "pattern"));
    for name in ["path", "glob", "type"] {
        let value = field(input, name);
        if !value.is_empty() {
            write!(text, ", {name}: \"{}\"", session.short_path(value)).ok();
        }
    }
    text
}

fn compact(input: &Value) -> String {
    match input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

fn shorten(argument: &str) -> String {
    match argument.char_indices().nth(ARGUMENT) {
        Some((at, _)) => format!("{}…", &argument[..at]),
        None => argument.to_owned(),
    }
}

/// How far a call is, by its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Running,
    Done,
    Failed,
}

/// The lines that name a call; a command of several lines is shown whole.
pub fn title(label: &Label, mood: Mood, theme: &Theme) -> Vec<Line> {
    let dot = match mood {
        Mood::Running => theme.fg(Token::Inactive),
        Mood::Done => theme.fg(Token::Success),
        Mood::Failed => theme.fg(Token::Error),
    };
    let mut line = Line::styled("● ", dot);
    line.push(text::clean(&label.name), Style::PLAIN.bold());
    if label.argument.is_empty() {
        return vec![line];
    }
    let argument = text::clean(&label.argument);
    let mut parts = argument.trim_end().split('\n');
    line.push(format!("({}", parts.next().unwrap_or_default()), Style::PLAIN);
    let mut lines = vec![line];
    lines.extend(parts.map(|part| Line::plain(format!("      {part}"))));
    if let Some(last) = lines.last_mut() {
        last.push(")", Style::PLAIN);
    }
    lines
}

/// A result as the engine tells it.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub text: String,
    pub is_error: bool,
    /// `tool_use_result`: an object, or a string for errors.
    pub detail: Value,
}

/// The lines under a finished call.
pub fn result(tool: &str, input: &Value, outcome: &Outcome, theme: &Theme, columns: usize) -> Vec<Line> {
    if outcome.is_error {
        return hung(preview(strip_tags(&outcome.text), theme.fg(Token::Error), theme), theme);
    }
    match tool {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => changed(tool, input, outcome, theme, columns),
        "Read" => hung(vec![Line::plain(read_summary(outcome))], theme),
        "Glob" | "Grep" => hung(vec![Line::plain(search_summary(outcome))], theme),
        "TodoWrite" => Vec::new(),
        _ => hung(preview(&outcome.text, Style::PLAIN, theme), theme),
    }
}

/// Errors of validation come wrapped in a tag meant for the model.
fn strip_tags(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

pub fn read_summary(outcome: &Outcome) -> String {
    match outcome.detail.pointer("/file/numLines").and_then(Value::as_u64) {
        Some(1) => "Read 1 line".into(),
        Some(lines) => format!("Read {lines} lines"),
        None if outcome.detail.get("type").and_then(Value::as_str) == Some("image") => "Read image".into(),
        None => "Read".into(),
    }
}

fn search_summary(outcome: &Outcome) -> String {
    let count = |name: &str| outcome.detail.get(name).and_then(Value::as_u64);
    match (count("numLines"), count("numFiles").or_else(|| count("totalFiles"))) {
        (Some(lines), _) if lines > 0 => format!("Found {lines} lines"),
        (_, Some(1)) => "Found 1 file".into(),
        (_, Some(files)) => format!("Found {files} files"),
        (_, None) => "Searched".into(),
    }
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

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn session() -> Session {
        Session { cwd: "/project".into(), ..Session::default() }
    }

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn calls_have_one_legible_line() {
        let shown = |tool: &str, input: Value| {
            let lines = title(&label(tool, &input, &session()), Mood::Done, &Theme::default());
            texts(&lines).join("\n")
        };
        assert_eq!(shown("Read", json!({"file_path": "/project/src/a.rs"})), "● Read(src/a.rs)");
        assert_eq!(shown("Read", json!({"file_path": "/projector/a.rs"})), "● Read(/projector/a.rs)");
        assert_eq!(shown("Bash", json!({"command": "# note\nrm -rf x"})), "● Bash(# note\n      rm -rf x)");
        assert_eq!(
            shown("Grep", json!({"pattern": "x", "path": "/project/src"})),
            "● Search(pattern: \"x\", path: \"src\")"
        );
        assert_eq!(shown("mcp__slack__send", json!({"to": "a"})), "● slack - send (MCP)(to: \"a\")");
        assert_eq!(shown("TodoWrite", json!({"todos": []})), "● Update todos");
        assert_eq!(shown("Bash", json!({"command": "a\u{1b}[2Jb"})), "● Bash(ab)");
    }

    #[test]
    fn results_are_cut_with_a_count() {
        let outcome = |text: &str, is_error| Outcome { text: text.into(), is_error, detail: Value::Null };
        let shown = |outcome: &Outcome| texts(&result("Bash", &json!({}), outcome, &Theme::default(), 80));
        assert_eq!(shown(&outcome("a\nb\n", false)), ["  ⎿ a", "    b"]);
        assert_eq!(shown(&outcome("", false)), ["  ⎿ (no output)"]);
        let long = "line\n".repeat(9);
        assert_eq!(shown(&outcome(&long, false))[4], "    … +5 lines (ctrl+o to expand)");
        assert_eq!(shown(&outcome("<tool_use_error>bad</tool_use_error>", true)), ["  ⎿ bad"]);
    }

    #[test]
    fn an_edit_shows_its_patch() {
        let detail = json!({"structuredPatch": [{"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2,
            "lines": [" same", "-let a = 1;", "+let b = 1;"]}]});
        let outcome = Outcome { text: "ok".into(), is_error: false, detail };
        let lines = result("Edit", &json!({"file_path": "/project/a.rs"}), &outcome, &Theme::default(), 60);
        assert_eq!(
            texts(&lines),
            ["  ⎿ 1 addition and 1 removal", "      7   same", "      8 - let a = 1;", "      8 + let b = 1;"]
        );
    }
}
