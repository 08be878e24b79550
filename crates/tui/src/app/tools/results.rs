//! What a finished call is told by: a few facts beside its label, and what is shown below it. The facts come from the
//! structured result; a conversation of another program may have only the text of it.

use super::{CallLabel, counted, field};
use crate::app::dialog::{DENIED, KEEP_PLANNING_MESSAGE, NOT_ANSWERED, REFUSED_MESSAGE, STILL_PLANNING};
use crate::app::record::told::without_model_text;
use crate::app::spinner::short_count;
use crate::diff::{self, DiffRowHunk, DiffSign};
use engine::{ToolClass, tool_facts};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use terminal::text;

/// The result the model receives for a call that an interrupt prevented.
const NOT_RUN: &str = "Not run: the user interrupted the turn.";

/// A result as the engine sends it.
#[derive(Clone, Debug, Default)]
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

    fn flag_at(&self, pointer: &str) -> bool {
        self.detail.pointer(pointer).and_then(Value::as_bool) == Some(true)
    }

    /// The text without what is written for the model.
    fn told(&self) -> String {
        without_model_text(strip_tags(&self.text))
    }
}

/// What is shown below a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallDetail {
    Nothing,
    /// An output, with the colours of the command.
    Output(String),
    /// A text that is too long for the stream and is no news there; shown where there are no limits.
    Whole(String),
    /// The output of a failed command.
    Failure(String),
    /// Why a call could not be carried out.
    Reason(String),
    /// A change of a file. `is_dim` for one that was refused.
    Change {
        path: String,
        hunks: Vec<DiffRowHunk>,
        is_dim: bool,
    },
    /// The text of an agent: Markdown.
    Report(String),
    /// A plan: Markdown. `is_dim` for one that was refused.
    Plan {
        text: String,
        is_dim: bool,
    },
    /// Questions with their answers.
    Answers(Vec<(String, String)>),
}

/// How a call ended, as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    Done,
    Failed,
    /// Interrupted or refused by a person: no error.
    Stopped,
}

/// A finished call as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTale {
    pub end: CallEnd,
    pub facts: Vec<String>,
    /// The call names its own time, or has none.
    pub is_timed: bool,
    pub detail: CallDetail,
}

impl CallTale {
    fn done(facts: Vec<String>, detail: CallDetail) -> Self {
        Self { end: CallEnd::Done, facts, is_timed: false, detail }
    }
}

/// Tells a finished call. `is_refused` for one that a person refused.
pub fn tale(tool: &str, input: &Value, label: &CallLabel, outcome: &CallOutcome, is_refused: bool) -> CallTale {
    if outcome.is_error || is_refused {
        return unsuccessful(tool, input, outcome, is_refused);
    }
    let whole = || CallDetail::Whole(outcome.told());
    match (tool_facts(tool).class, tool) {
        (ToolClass::Shell, _) => command(outcome),
        (ToolClass::Edit, _) => change(tool, input, outcome),
        (ToolClass::Read, _) => CallTale::done(vec![read_fact(outcome)], whole()),
        (ToolClass::Search, _) | (_, super::LISTING) => CallTale::done(vec![search_fact(outcome)], whole()),
        (ToolClass::PlanEntry, _) => CallTale::done(vec!["plan mode is on".into()], CallDetail::Nothing),
        (ToolClass::PlanExit, _) => approved_plan(input, outcome),
        (ToolClass::Question, _) => answers(outcome),
        (ToolClass::Agent, _) => agent(outcome),
        (ToolClass::Skill, _) => CallTale::done(Vec::new(), whole()),
        (_, "WebSearch") => CallTale::done(web_fact(outcome).into_iter().collect(), whole()),
        (ToolClass::ToolSearch, _) => {
            let found = outcome.detail.get("matches").and_then(Value::as_array);
            CallTale::done(found.map(|found| counted(found.len(), "tool")).into_iter().collect(), whole())
        }
        (ToolClass::Recall, _) => {
            let found = outcome.number_at("/matches").map(|found| counted(found as usize, "match"));
            CallTale::done(found.into_iter().collect(), whole())
        }
        (_, "TodoWrite") => CallTale::done(Vec::new(), CallDetail::Nothing),
        (_, "TaskOutput") => background_output(outcome),
        (_, "TaskStop") => CallTale::done(vec!["stopped".into()], CallDetail::Nothing),
        (ToolClass::TaskList | ToolClass::Message | ToolClass::Worktree, _) => {
            CallTale { is_timed: true, ..CallTale::done(Vec::new(), CallDetail::Output(outcome.told())) }
        }
        _ if label.name.is_empty() => CallTale::done(Vec::new(), CallDetail::Nothing),
        _ => shown_output(outcome.told()),
    }
}

fn shown_output(text: String) -> CallTale {
    let facts = if text.trim().is_empty() { vec!["no output".to_owned()] } else { Vec::new() };
    CallTale::done(facts, CallDetail::Output(text))
}

/// A call that failed, was refused or was interrupted.
fn unsuccessful(tool: &str, input: &Value, outcome: &CallOutcome, is_refused: bool) -> CallTale {
    let text = outcome.told();
    let text = text.trim();
    let stopped =
        |facts: &str, detail| CallTale { end: CallEnd::Stopped, facts: vec![facts.to_owned()], is_timed: true, detail };
    // What was refused is kept: its question is closed.
    let refused = || match tool_facts(tool).class {
        ToolClass::Edit => proposed_change(tool, input),
        ToolClass::PlanExit => CallDetail::Plan { text: field(input, "plan").to_owned(), is_dim: true },
        _ => CallDetail::Nothing,
    };
    match text {
        NOT_RUN => return stopped("interrupted", CallDetail::Nothing),
        KEEP_PLANNING_MESSAGE => return stopped(STILL_PLANNING, refused()),
        REFUSED_MESSAGE if tool_facts(tool).class == ToolClass::Question => {
            return stopped(NOT_ANSWERED, CallDetail::Nothing);
        }
        REFUSED_MESSAGE => return stopped(DENIED, refused()),
        words if is_refused => {
            let words = text::clean(words).replace('\n', " ");
            return stopped(&format!("{DENIED}: {words}"), refused());
        }
        _ => {}
    }
    if tool_facts(tool).class == ToolClass::Shell {
        return failed_command(text, outcome);
    }
    let (facts, detail) = (Vec::new(), CallDetail::Reason(text.to_owned()));
    CallTale { end: CallEnd::Failed, facts, is_timed: false, detail }
}

fn failed_command(text: &str, outcome: &CallOutcome) -> CallTale {
    if outcome.flag_at("/interrupted") {
        let time = outcome.number_at("/timedOutAfterMs").map(|ms| duration_words(Duration::from_millis(ms)));
        let (end, fact) = match time {
            Some(time) => (CallEnd::Failed, format!("stopped after {time}")),
            None => (CallEnd::Stopped, "interrupted".to_owned()),
        };
        let detail = CallDetail::Output(outcome.text_at("/stdout").to_owned());
        return CallTale { end, facts: vec![fact], is_timed: false, detail };
    }
    let code = text.strip_prefix("Exit code ").and_then(|rest| rest.split('\n').next());
    let Some(code) = code.filter(|code| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit())) else {
        let detail = CallDetail::Reason(text.to_owned());
        return CallTale { end: CallEnd::Failed, facts: Vec::new(), is_timed: false, detail };
    };
    let output = text.split_once('\n').map_or("", |(_, output)| output);
    let (facts, detail) = (vec![format!("exit {code}")], CallDetail::Failure(output.to_owned()));
    CallTale { end: CallEnd::Failed, facts, is_timed: false, detail }
}

/// A command that ended by itself, or goes on in the background.
fn command(outcome: &CallOutcome) -> CallTale {
    let known = outcome.detail.get("stdout").is_some();
    let streams = [outcome.text_at("/stdout"), outcome.text_at("/stderr")];
    let output = if known {
        streams.iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join("\n")
    } else {
        outcome.told()
    };
    if outcome.flag_at("/isImage") {
        return CallTale::done(vec!["an image".into()], CallDetail::Nothing);
    }
    if !outcome.text_at("/backgroundTaskId").is_empty() {
        let moved = outcome.flag_at("/backgroundedByUser") || outcome.number_at("/timedOutAfterMs").is_some();
        let fact = if moved { "moved to the background" } else { "in the background" };
        let facts = vec![fact.to_owned(), "/tasks shows it".to_owned()];
        return CallTale { is_timed: true, ..CallTale::done(facts, CallDetail::Output(output)) };
    }
    let meaning = outcome.text_at("/returnCodeInterpretation");
    let mut tale = shown_output(output);
    if !meaning.is_empty() {
        tale.facts = vec![text::clean(meaning)];
    }
    tale
}

/// Removes the tag for the model that wraps validation errors.
fn strip_tags(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("<tool_use_error>").and_then(|rest| rest.strip_suffix("</tool_use_error>"));
    inner.unwrap_or(text)
}

fn read_fact(outcome: &CallOutcome) -> String {
    // Some results count the empty line after a final line break as well.
    let content = outcome.text_at("/file/content");
    let told = outcome.number_at("/file/numLines").unwrap_or_default();
    let over = match content {
        "" => 0,
        // All that a call on the screen keeps of a text whose last, empty line is counted.
        "\n" => 1,
        text => told.saturating_sub(text.lines().count() as u64),
    };
    let count = |pointer| outcome.number_at(pointer).map(|lines: u64| lines.saturating_sub(over));
    let shown = count("/file/numLines").or_else(|| outcome.detail.is_null().then(|| lines_in(&outcome.told())));
    match (outcome.text_at("/type"), shown, count("/file/totalLines")) {
        ("image", ..) => "an image".into(),
        ("pdf" | "parts", ..) => "a document".into(),
        (_, Some(lines), Some(all)) if lines < all => format!("{lines} of {}", counted(all as usize, "line")),
        (_, Some(lines), _) => counted(lines as usize, "line"),
        (_, None, _) => "read".into(),
    }
}

fn lines_in(text: &str) -> u64 {
    text.trim_end().lines().count() as u64
}

fn search_fact(outcome: &CallOutcome) -> String {
    let files = outcome.number_at("/numFiles").or_else(|| outcome.number_at("/totalFiles"));
    match (outcome.number_at("/numLines"), files) {
        (Some(lines), _) if lines > 0 => counted(lines as usize, "line"),
        (_, Some(0)) => "nothing found".into(),
        (_, Some(files)) => counted(files as usize, "file"),
        (_, None) if outcome.detail.is_null() => counted(lines_in(&outcome.told()) as usize, "line"),
        (_, None) => "searched".into(),
    }
}

fn web_fact(outcome: &CallOutcome) -> Option<String> {
    let pieces = outcome.detail.get("results").and_then(Value::as_array)?;
    let links = pieces.iter().filter_map(|piece| piece.get("content").and_then(Value::as_array));
    Some(counted(links.map(Vec::len).sum(), "result"))
}

fn background_output(outcome: &CallOutcome) -> CallTale {
    let status = outcome.text_at("/task/status");
    if status.is_empty() {
        return shown_output(outcome.told());
    }
    CallTale::done(vec![status.to_owned()], CallDetail::Output(outcome.text_at("/task/output").to_owned()))
}

/// The questions with the answers of the user.
fn answers(outcome: &CallOutcome) -> CallTale {
    let answers = outcome.detail.get("answers").and_then(Value::as_object).filter(|answers| !answers.is_empty());
    let Some(answers) = answers else { return shown_output(outcome.told()) };
    let pair =
        |(question, answer): (&String, &Value)| (one_line(question), one_line(answer.as_str().unwrap_or_default()));
    let detail = CallDetail::Answers(answers.iter().map(pair).collect());
    CallTale { is_timed: true, ..CallTale::done(Vec::new(), detail) }
}

fn one_line(text: &str) -> String {
    text::clean(text).replace('\n', " ")
}

/// The statistics of an agent and its report.
fn agent(outcome: &CallOutcome) -> CallTale {
    if outcome.text_at("/status") == "async_launched" {
        let facts = vec!["in the background".to_owned()];
        return CallTale { is_timed: true, ..CallTale::done(facts, CallDetail::Nothing) };
    }
    let report = outcome.detail.pointer("/content/0/text").and_then(Value::as_str);
    let mut facts = Vec::new();
    if let Some(uses) = outcome.number_at("/totalToolUseCount") {
        facts.push(counted(uses as usize, "call"));
        facts.push(format!("{} tokens", short_count(outcome.number_at("/totalTokens").unwrap_or(0))));
    }
    let took = Duration::from_millis(outcome.number_at("/totalDurationMs").unwrap_or(0));
    facts.extend((took >= LEAST_TIME).then(|| duration_words(took)));
    let is_timed = outcome.number_at("/totalDurationMs").is_some();
    let detail = CallDetail::Report(report.map_or_else(|| outcome.told(), without_model_text));
    CallTale { is_timed, ..CallTale::done(facts, detail) }
}

/// An approved plan, because the dialog that showed it is closed.
fn approved_plan(input: &Value, outcome: &CallOutcome) -> CallTale {
    let plan = Some(outcome.text_at("/plan")).filter(|plan| !plan.is_empty()).unwrap_or_else(|| field(input, "plan"));
    let detail = CallDetail::Plan { text: plan.to_owned(), is_dim: false };
    CallTale { is_timed: true, ..CallTale::done(vec!["approved".into()], detail) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatchHunk {
    old_start: usize,
    new_start: usize,
    lines: Vec<String>,
}

fn hunks_of(detail: &Value) -> Vec<DiffRowHunk> {
    detail.get("structuredPatch").map(patch_hunks).unwrap_or_default()
}

/// The hunks of a `structuredPatch`.
pub fn patch_hunks(patch: &Value) -> Vec<DiffRowHunk> {
    let patch = Vec::<PatchHunk>::deserialize(patch);
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

fn change(tool: &str, input: &Value, outcome: &CallOutcome) -> CallTale {
    let hunks = hunks_of(&outcome.detail);
    let path = field(input, "file_path").to_owned();
    if hunks.is_empty() {
        let content = field(input, "content");
        if tool != "Write" || content.is_empty() {
            let told = one_line(outcome.told().lines().next().unwrap_or_default());
            let facts = if tool == "NotebookEdit" { vec![told] } else { Vec::new() };
            return CallTale::done(facts, CallDetail::Nothing);
        }
        let facts = vec![counted(content.lines().count(), "line")];
        let detail = CallDetail::Change { path, hunks: diff::diff_texts("", content, 1), is_dim: false };
        return CallTale::done(facts, detail);
    }
    let (added, removed) = diff::counts(&hunks);
    CallTale::done(vec![format!("+{added} −{removed}")], CallDetail::Change { path, hunks, is_dim: false })
}

/// The change of an edit that was not made. Its place in the file is not known.
fn proposed_change(tool: &str, input: &Value) -> CallDetail {
    let path = field(input, "file_path").to_owned();
    let edits = input.get("edits").and_then(Value::as_array).map_or(std::slice::from_ref(input), Vec::as_slice);
    let part = |edit: &Value| diff::diff_texts(field(edit, "old_string"), field(edit, "new_string"), 1);
    let hunks = if tool == "Write" {
        diff::diff_texts("", field(input, "content"), 1)
    } else {
        edits.iter().flat_map(part).collect()
    };
    if hunks.is_empty() { CallDetail::Nothing } else { CallDetail::Change { path, hunks, is_dim: true } }
}

/// Shorter times are not told.
pub const LEAST_TIME: Duration = Duration::from_secs(1);

/// A time as it is told: `2.1 s`, `12 s`, `1 min 5 s`.
pub fn duration_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
