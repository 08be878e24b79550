//! A call of the record: its line, what came of it, and what is shown below.

use super::{MARGIN, RecordLook, bound_text, limited};
use crate::app::todos;
use crate::app::tools::{self, CallDetail, CallEnd, CallLabel, CallOutcome, CallTale, LEAST_TIME, duration_words};
use crate::diff::{self, DiffOptions};
use engine::{ToolClass, tool_facts};
use serde_json::{Value, json};
use std::time::Duration;
use terminal::markdown::{self, MarkdownOptions, ProseWrap};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Columns of the verb, so that the objects of calls stand below one another.
const VERB: usize = 8;
/// Columns before the object of a call.
pub const OBJECT: usize = 4 + VERB;
/// Columns before what is shown below a call.
pub const BODY: usize = 5;
/// Columns before a diff, whose line numbers are aligned to the right.
const DIFF: usize = 4;
/// A plan with more rows was printed with its question.
const PLAN_ROWS: usize = crate::app::dialog::PREVIEW_ROWS;

/// The state of a call, shown by its glyph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It waits for an answer of the person.
    Asked,
    Running,
    Done,
    Failed,
    /// Interrupted, refused or cut off: no error.
    Stopped,
}

impl CallState {
    pub fn glyph(self, theme: &Theme) -> StyledLine {
        let (glyph, token) = match self {
            Self::Asked => ("◇", ThemeToken::Warning),
            Self::Running => ("◌", ThemeToken::Inactive),
            Self::Done => ("◆", ThemeToken::Success),
            Self::Failed => ("✕", ThemeToken::Error),
            Self::Stopped => ("✕", ThemeToken::Inactive),
        };
        StyledLine::styled(glyph, theme.fg(token))
    }
}

/// How far a call is.
#[derive(Clone, Debug)]
pub enum CallPhase {
    Open,
    Ended(CallOutcome),
    /// The turn was interrupted while it ran.
    Interrupted,
    /// The program ended before the call did.
    CutOff,
}

#[derive(Clone, Debug)]
pub struct CallRecord {
    pub id: String,
    pub tool: String,
    pub input: Value,
    pub label: CallLabel,
    pub phase: CallPhase,
    /// How long it ran, when that is known.
    pub took: Option<Duration>,
    /// A person refused it.
    pub is_refused: bool,
    /// The answer of the person, when that is why the call did not run.
    pub refusal_text: Option<String>,
}

impl CallRecord {
    pub fn has_failed(&self) -> bool {
        matches!(&self.phase, CallPhase::Ended(outcome) if outcome.is_error)
    }

    /// The call did not run because a person said no.
    pub fn was_stopped(&self) -> bool {
        matches!(&self.phase, CallPhase::Ended(outcome) if outcome.is_error) && self.tale().end == CallEnd::Stopped
    }

    /// Calls of this tool wait for those before them.
    pub fn runs_alone(&self) -> bool {
        matches!(tool_facts(&self.tool).class, ToolClass::Shell | ToolClass::Edit)
    }

    pub fn changes_a_file(&self) -> bool {
        matches!(self.tale().detail, CallDetail::Change { .. })
    }

    /// The call as it is told.
    pub fn tale(&self) -> CallTale {
        let stopped = |fact: &str| CallTale {
            end: CallEnd::Stopped,
            facts: vec![fact.to_owned()],
            is_timed: true,
            detail: CallDetail::Nothing,
        };
        match &self.phase {
            CallPhase::Open => CallTale { facts: Vec::new(), ..stopped("") },
            CallPhase::Interrupted => stopped("interrupted"),
            CallPhase::CutOff => stopped("cut off"),
            CallPhase::Ended(outcome) => {
                let mut tale = tools::tale(&self.tool, &self.input, &self.label, outcome, self.is_refused);
                if let Some(said) = self.refusal_text.as_ref().filter(|_| outcome.is_error) {
                    tale.end = CallEnd::Stopped;
                    tale.facts = vec![said.clone()];
                }
                tale
            }
        }
    }

    /// The call with what is shown below it.
    pub fn lines(&self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        if let CallPhase::Open = self.phase {
            return title(&self.label, CallState::Running, &[], look);
        }
        let tale = self.tale();
        let state = match tale.end {
            CallEnd::Done => CallState::Done,
            CallEnd::Failed => CallState::Failed,
            CallEnd::Stopped => CallState::Stopped,
        };
        let mut facts = tale.facts;
        let took = self.took.filter(|took| !tale.is_timed && *took >= LEAST_TIME);
        facts.extend(took.map(duration_words));
        let mut lines = title(&self.label, state, &facts, look);
        lines.extend(self.list_of_tasks(look));
        lines.extend(detail_lines(&tale.detail, look));
        lines
    }

    /// The list that the call wrote; in the stream the list at the prompt shows it.
    fn list_of_tasks(&self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        let todos = todos::written_list(&self.tool, &self.input);
        let Some(todos) = todos.filter(|_| look.limits.is_whole()) else { return Vec::new() };
        let row = |todo: &Value| {
            let text_of = |name: &str| todo.get(name).and_then(Value::as_str).unwrap_or_default();
            let (glyph, style) = match text_of("status") {
                "completed" => ("☑", look.faint()),
                "in_progress" => ("◧", TextStyle::PLAIN.bold()),
                _ => ("☐", TextStyle::PLAIN),
            };
            let words = text::clean(text_of("content")).replace('\n', " ");
            StyledLine::styled(format!("{glyph} {words}"), style).indented(BODY)
        };
        todos.iter().map(row).flat_map(|line| line.wrapped(look.columns, BODY + 2)).collect()
    }

    pub fn raw(&self) -> Value {
        let mut raw = json!({"type": "tool_use", "id": self.id, "name": self.tool, "input": self.input});
        if let CallPhase::Ended(outcome) = &self.phase {
            raw["result"] = json!({"content": outcome.text, "is_error": outcome.is_error});
            raw["toolUseResult"] = outcome.detail.clone();
        }
        raw
    }

    pub fn size(&self) -> usize {
        let result = match &self.phase {
            CallPhase::Ended(outcome) => outcome.text.len() + value_size(&outcome.detail),
            CallPhase::Open | CallPhase::Interrupted | CallPhase::CutOff => 0,
        };
        self.id.len() + self.tool.len() + self.label.argument.len() + value_size(&self.input) + result
    }

    /// Drops what is never drawn and cuts long texts.
    pub fn bound(&mut self, limit: usize) {
        bound_value(&mut self.input, limit);
        bound_text(&mut self.label.argument, limit);
        if let CallPhase::Ended(outcome) = &mut self.phase {
            bound_text(&mut outcome.text, limit);
            drop_unused(&mut outcome.detail);
            bound_value(&mut outcome.detail, limit);
            if outcome.detail.get("stdout").is_some() && !outcome.is_error {
                outcome.text.clear();
            }
        }
    }
}

/// Whole files in structured results are drawn from elsewhere or not at all.
fn drop_unused(detail: &mut Value) {
    let Some(fields) = detail.as_object_mut() else { return };
    for name in ["originalFile", "oldString", "newString"] {
        fields.remove(name);
    }
    fields.retain(|name, value| name != "content" || !value.is_string());
    if let Some(file) = fields.get_mut("file").filter(|file| file.get("content").is_some()) {
        let text = file.get("content").and_then(Value::as_str).unwrap_or_default();
        let counted = file.get("numLines").and_then(Value::as_u64).unwrap_or_default();
        let counts_the_end = text.ends_with('\n') && counted > text.lines().count() as u64;
        file["content"] = Value::from(if counts_the_end { "\n" } else { "" });
    }
    if let Some(data) = fields.get_mut("file").and_then(|file| file.get_mut("base64")) {
        *data = Value::Null;
    }
}

/// About how many bytes a value takes.
fn value_size(value: &Value) -> usize {
    const NODE: usize = 48;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(value_size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| NODE + name.len() + value_size(value)).sum(),
    }
}

fn bound_value(value: &mut Value, limit: usize) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => bound_text(text, limit),
        Value::Array(values) => values.iter_mut().for_each(|value| bound_value(value, limit)),
        Value::Object(fields) => fields.values_mut().for_each(|value| bound_value(value, limit)),
    }
}

/// The line of a call: glyph, verb, object, and what came of it. All lines of a multi-line command are shown.
pub fn title(label: &CallLabel, state: CallState, facts: &[String], look: &RecordLook<'_>) -> Vec<StyledLine> {
    let mut line = StyledLine::plain(MARGIN).and_line(state.glyph(look.theme));
    line.push(" ", TextStyle::PLAIN);
    let name = text::clean(&label.name).replace('\n', " ");
    // Whole lines are read out and need no columns.
    let verb = if look.columns == usize::MAX { 0 } else { VERB };
    let missing = verb.saturating_sub(text::width(&name)).max(1);
    line.push(name, TextStyle::PLAIN.bold());
    line.push(" ".repeat(missing), TextStyle::PLAIN);
    let object = text::clean(&shortened(&label.argument, look.limits.object));
    let mut parts = object.trim_end().split('\n');
    line.push(parts.next().unwrap_or_default(), TextStyle::PLAIN);
    let mut lines = vec![line];
    lines.extend(parts.map(|part| StyledLine::plain(part).indented(look.indent(OBJECT))));
    if let Some(last) = lines.last_mut() {
        for (index, fact) in facts.iter().enumerate() {
            let dot = if index == 0 && object.trim().is_empty() { "" } else { " · " };
            last.push(format!("{dot}{}", text::clean(fact).replace('\n', " ")), look.faint());
        }
    }
    lines.into_iter().flat_map(|line| line.wrapped(look.columns, OBJECT)).collect()
}

fn shortened(argument: &str, characters: usize) -> String {
    match argument.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &argument[..at]),
        None => argument.to_owned(),
    }
}

/// What is shown below a call.
fn detail_lines(detail: &CallDetail, look: &RecordLook<'_>) -> Vec<StyledLine> {
    let (theme, limits) = (look.theme, look.limits);
    let columns = look.columns.saturating_sub(BODY);
    let body = |rows: Vec<StyledLine>| rows.into_iter().map(|row| row.indented(look.indent(BODY))).collect();
    let output = |text: &str| tools::output::beginning(text, limits.output, columns, TextStyle::PLAIN, theme);
    let markdown = || MarkdownOptions {
        columns: look.markdown().columns.saturating_sub(BODY),
        wrap: ProseWrap::Terminal,
        ..look.markdown()
    };
    match detail {
        CallDetail::Output(text) => body(output(text)),
        CallDetail::Whole(text) if limits.is_whole() => body(output(text)),
        CallDetail::Nothing | CallDetail::Whole(_) => Vec::new(),
        CallDetail::Failure(text) => {
            body(tools::output::causes(text, limits.failure, columns, TextStyle::PLAIN, theme))
        }
        CallDetail::Reason(text) => {
            let error = theme.fg(ThemeToken::Error);
            body(tools::output::beginning(text, limits.failure, columns, error, theme))
        }
        CallDetail::Change { path, hunks, is_dim } => {
            let options = DiffOptions { theme, columns: look.columns.saturating_sub(DIFF), path, limit: limits.diff };
            let rows = diff::render(hunks, &options).into_iter().map(|row| row.indented(look.indent(DIFF)));
            rows.map(|row| if *is_dim { dimmed(&row, look.faint()) } else { row }).collect()
        }
        CallDetail::Report(text) if limits.is_whole() => body(wrapped(markdown::render(text, &markdown()), columns)),
        CallDetail::Report(text) => {
            let rows = wrapped(markdown::render(text, &markdown()), columns);
            body(limited(rows.into_iter().filter(|row| !row.is_empty()).collect(), limits.output, theme))
        }
        CallDetail::Plan(text) => {
            let rows = wrapped(markdown::render(text, &markdown()), columns);
            let limit = if limits.is_whole() || rows.len() <= PLAN_ROWS { usize::MAX } else { 0 };
            body(limited(rows, limit, theme))
        }
        CallDetail::Answers(pairs) => {
            let row = |(question, answer): &(String, String)| {
                StyledLine::styled(format!("{question} "), look.faint()).and(format!("→ {answer}"), TextStyle::PLAIN)
            };
            body(pairs.iter().map(row).flat_map(|line| line.wrapped(columns, 2)).collect())
        }
    }
}

fn wrapped(lines: Vec<StyledLine>, columns: usize) -> Vec<StyledLine> {
    lines.into_iter().flat_map(|line| line.wrapped(columns.max(8), 0)).collect()
}

/// A row without its colours.
fn dimmed(row: &StyledLine, style: TextStyle) -> StyledLine {
    StyledLine::styled(row.text(), style)
}
