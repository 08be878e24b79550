//! The compactions of a conversation for people: what each cost and kept, its summary, and the steps it dropped.

use crate::resume::local_commands;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use store::compactions::{self, CompactionRecord, line_numbers};
use store::narrative::{self, NarrativeItem};
use store::resume::LoadOptions;
use store::{LoadedEntry, StoreError};
use wire::counting::{counted, thousands};

/// How much of a step is shown, in characters.
const STEP_CHARS: usize = 100;

/// One compaction, oldest is number 1.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReport {
    pub number: usize,
    pub at: Option<String>,
    /// `manual` or `auto`.
    pub trigger: String,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    /// Messages that stayed as they were.
    pub kept: usize,
    pub summary: String,
    pub dropped: Vec<DroppedStep>,
    /// The uuid of its line.
    pub boundary: String,
}

/// A prompt, an answer or a call that the summary replaced.
#[derive(Clone, Debug, Serialize)]
pub struct DroppedStep {
    /// The line of the transcript.
    pub line: u64,
    /// `user`, `assistant` or the name of the tool.
    pub who: String,
    pub text: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BoundaryNumbers {
    trigger: Option<String>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
}

/// The compactions behind the conversation that `options` chooses, oldest first. Blocking.
pub fn list(transcript: &Path, options: &LoadOptions) -> Result<Vec<CompactionReport>, StoreError> {
    let mut reports = Vec::new();
    let mut failed = None;
    compactions::walk(transcript, options, &mut |record| match report(record) {
        Ok(report) => {
            reports.push(report);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    reports.reverse();
    for (at, report) in reports.iter_mut().enumerate() {
        report.number = at + 1;
    }
    Ok(reports)
}

fn report(record: &CompactionRecord) -> Result<CompactionReport, StoreError> {
    let numbers: BoundaryNumbers =
        record.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut summary = String::new();
    if let Some(entry) = &record.summary {
        narrative::of_entry(entry, &mut |item| {
            if let NarrativeItem::Summary(text) = item {
                summary.push_str(text);
            }
        });
    }
    let kept = record.before.entries.iter().filter(|entry| is_message(entry) && record.kept.contains(&entry.uuid));
    Ok(CompactionReport {
        number: 0,
        at: record.boundary.timestamp.as_deref().map(str::to_owned),
        trigger: numbers.trigger.unwrap_or_default(),
        tokens_before: numbers.pre_tokens,
        tokens_after: numbers.post_tokens,
        kept: kept.count(),
        summary,
        dropped: steps(record)?,
        boundary: record.boundary.uuid.to_string(),
    })
}

fn is_message(entry: &LoadedEntry) -> bool {
    !entry.is_meta && entry.message().is_some()
}

fn steps(record: &CompactionRecord) -> Result<Vec<DroppedStep>, StoreError> {
    let local = local_commands(&record.before.entries);
    let mut steps: Vec<(u64, DroppedStep)> = Vec::new();
    for (at, entry) in record.before.entries.iter().enumerate() {
        if entry.is_compact_summary || entry.is_retracted || local.contains(&at) || record.kept.contains(&entry.uuid) {
            continue;
        }
        narrative::of_entry(entry, &mut |item| {
            let (who, text) = match item {
                NarrativeItem::User(text) => ("user".to_owned(), one_line(text)),
                NarrativeItem::Assistant(text) => ("assistant".to_owned(), one_line(text)),
                NarrativeItem::Call { tool, input } => (tool.to_owned(), one_line(&of_input(input))),
                NarrativeItem::Result { .. } | NarrativeItem::Image | NarrativeItem::Summary(_) => return,
            };
            steps.push((entry.offset(), DroppedStep { line: 0, who, text }));
        });
    }
    steps.sort_by_key(|(offset, _)| *offset);
    let offsets: Vec<u64> = steps.iter().map(|(offset, _)| *offset).collect();
    let numbers = line_numbers(&record.before.path, &offsets)?;
    Ok(steps.into_iter().zip(numbers).map(|((_, step), line)| DroppedStep { line, ..step }).collect())
}

/// The values of a call's input.
fn of_input(input: &str) -> String {
    match serde_json::from_str(input) {
        Ok(Value::Object(fields)) => {
            let shown = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.into_iter().map(|(_, value)| shown(value)).collect::<Vec<_>>().join(" ")
        }
        _ => input.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((at, _)) = line.char_indices().nth(STEP_CHARS) {
            line.truncate(at);
            line.push('…');
            break;
        }
    }
    line
}

/// The reports as text; of each at most so many dropped steps. `all` is how many compactions the conversation has.
pub fn as_text(reports: &[CompactionReport], all: usize, most_steps: usize) -> String {
    let texts: Vec<String> = reports.iter().map(|report| described(report, all, most_steps)).collect();
    texts.join("\n\n")
}

fn described(report: &CompactionReport, all: usize, most_steps: usize) -> String {
    let how = match report.trigger.as_str() {
        "auto" => "automatic",
        "manual" => "by command",
        other => other,
    };
    let number = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), thousands);
    let time = report.at.as_deref().and_then(|at| Some(format!("{} {}", at.get(..10)?, at.get(11..16)?)));
    let mut text = format!(
        "Compaction {} of {all} · {} · {how} · {} → {} tokens\nKept: {} · dropped: {}\n\nSummary:\n",
        report.number,
        time.unwrap_or_default(),
        number(report.tokens_before),
        number(report.tokens_after),
        counted(report.kept, "message"),
        counted(report.dropped.len(), "step"),
    );
    for line in report.summary.lines() {
        writeln!(text, "  {line}").ok();
    }
    text.push_str("\nDropped:\n");
    for step in report.dropped.iter().take(most_steps) {
        writeln!(text, "  {:>6}  {:<10} {}", step.line, step.who, step.text).ok();
    }
    let rest = report.dropped.len().saturating_sub(most_steps);
    if rest > 0 {
        writeln!(text, "  … and {rest} more").ok();
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_line() {
        assert_eq!(one_line("a\n  b\tc"), "a b c");
        let long = one_line(&"word ".repeat(100));
        assert_eq!(long.chars().count(), STEP_CHARS + 1);
        assert_eq!(of_input(r#"{"command":"ls -l","timeout":5}"#), "ls -l 5");
    }
}
