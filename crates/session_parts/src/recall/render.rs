//! How matches are written for the model. Every line of an excerpt begins with `| `, so that no recalled text can be
//! taken for a heading of ours.

use super::{RecallAnswer, RecallKind, RecallMatch, RecallQuery};
use serde_json::Value;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use store::StoreError;
use store::compactions::line_numbers;
use wire::counting::{counted, thousands};

/// How much of a text is shown, in bytes.
const EXCERPT: usize = 1_500;
/// The same when only this text was found.
const WHOLE: usize = 8_000;
/// A cut is moved to the border of a line when one is as near as this, in bytes.
const LINE_REACH: usize = 200;
/// How much of the query is repeated, in characters.
const QUERY_CHARS: usize = 80;

pub(super) struct RecallSummary<'a> {
    pub(super) transcript: &'a Path,
    pub(super) query: &'a RecallQuery,
    /// All matches; fewer are shown.
    pub(super) total: usize,
    /// Texts that were searched.
    pub(super) dropped: usize,
    /// No text has every word.
    pub(super) is_partial: bool,
}

pub(super) fn shown(chosen: &[&RecallMatch], summary: &RecallSummary<'_>) -> Result<RecallAnswer, StoreError> {
    let mut text = heading(chosen.len(), summary);
    let most = if chosen.len() == 1 { WHOLE } else { EXCERPT };
    for (found, line) in chosen.iter().zip(numbered(chosen)?) {
        text.push_str("\n\n");
        write!(text, "Line {line}, {}", described(found)).ok();
        if found.file != *summary.transcript {
            write!(text, ", in {}", found.file.display()).ok();
        }
        text.push(':');
        quote(&found.text, found.place.clone(), most, &mut text);
    }
    Ok(RecallAnswer { text, found: summary.total })
}

/// The line numbers of matches, which are in the order of their files.
fn numbered(chosen: &[&RecallMatch]) -> Result<Vec<u64>, StoreError> {
    let mut numbers = Vec::with_capacity(chosen.len());
    for group in chosen.chunk_by(|a, b| a.file == b.file) {
        let offsets: Vec<u64> = group.iter().map(|found| found.offset).collect();
        numbers.extend(line_numbers(&group[0].file, &offsets)?);
    }
    Ok(numbers)
}

fn heading(shown: usize, summary: &RecallSummary<'_>) -> String {
    let RecallSummary { transcript, query, total, dropped, is_partial } = summary;
    let words: String = query.words.trim().chars().take(QUERY_CHARS).collect();
    if *dropped == 0 {
        return "Nothing that was said before the summary is in the transcript.".to_owned();
    }
    if shown == 0 {
        let texts = counted(*dropped, "text");
        return format!(
            "Nothing that was dropped fits \"{words}\" ({texts} searched). Try one rare word, leave out kind, or list the \
             user's messages with an empty query and kind \"prompt\"."
        );
    }
    let mut text = format!("{} in what was dropped from {}.", counted(*total, "match"), transcript.display());
    if *is_partial {
        text.push_str(" No text has all the words; these have most of them.");
    }
    let rest = total - shown;
    if rest > 0 && words.is_empty() {
        write!(text, " The first {shown} are shown; around with a line number shows what stands near it.").ok();
    } else if rest > 0 {
        write!(text, " The newest {shown} are shown; more words or a kind find fewer.").ok();
    }
    text
}

fn described(found: &RecallMatch) -> String {
    let mut text = match found.kind {
        RecallKind::Prompt => "the user".to_owned(),
        RecallKind::Answer => "you".to_owned(),
        RecallKind::Call => format!("call of {}", found.tool),
        RecallKind::Result if found.tool.is_empty() => "result".to_owned(),
        RecallKind::Result => format!("result of {}", found.tool),
    };
    if found.is_error {
        text.push_str(" (failed)");
    }
    if let (Some(day), Some(time)) = (found.timestamp.get(..10), found.timestamp.get(11..16)) {
        write!(text, ", {day} {time}").ok();
    }
    text
}

fn quote(text: &str, place: Range<usize>, most: usize, out: &mut String) {
    let part = around(text, place, most);
    if part.start > 0 {
        write!(out, "\n({} characters before)", thousands(text[..part.start].chars().count() as u64)).ok();
    }
    for line in text[part.clone()].trim_end().lines() {
        write!(out, "\n| {line}").ok();
    }
    if part.end < text.len() {
        write!(out, "\n({} more characters)", thousands(text[part.end..].chars().count() as u64)).ok();
    }
}

/// The part of a text that is shown: all of a short one, else what stands around the place, on borders of lines where
/// they are near.
fn around(text: &str, place: Range<usize>, most: usize) -> Range<usize> {
    if text.len() <= most {
        return 0..text.len();
    }
    let start = place.start.saturating_sub(most / 3).min(text.len() - most);
    let start = text.floor_char_boundary(start);
    let end = text.floor_char_boundary((start + most).max(place.end).min(text.len()));
    let after_break =
        text[start..].find('\n').map(|at| start + at + 1).filter(|at| at - start <= LINE_REACH && *at <= place.start);
    let before_break = text[..end].rfind('\n').filter(|at| end - at <= LINE_REACH && *at >= place.end);
    let start = if start == 0 { 0 } else { after_break.unwrap_or(start) };
    let end = if end == text.len() { end } else { before_break.unwrap_or(end) };
    start..end
}

/// The input of a call as text: each field with its value, texts as they are.
pub(super) fn input_text(input: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(input) else { return input.to_owned() };
    let mut text = String::new();
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let gap = if value.contains('\n') { "\n" } else { " " };
        writeln!(text, "{name}:{gap}{value}").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_around_the_place_on_borders_of_lines() {
        let lines: Vec<String> = (0..400).map(|n| format!("line {n} of the log")).collect();
        let text = lines.join("\n");
        let at = text.find("line 200 ").unwrap();
        let part = around(&text, at..at + 8, 1_000);
        let shown = &text[part.clone()];
        assert!(
            shown.starts_with("line ") && shown.ends_with("log") && shown.contains("line 200 of the log"),
            "{shown}"
        );
        assert!(part.len() <= 1_000);
        assert_eq!(around("short", 0..1, 1_000), 0..5);
        let one = "é".repeat(3_000);
        let part = around(&one, 4_000..4_002, 999);
        assert!(one.is_char_boundary(part.start) && one.is_char_boundary(part.end) && part.contains(&4_000));
    }

    #[test]
    fn every_line_of_an_excerpt_is_marked() {
        let mut out = String::new();
        quote("one\nLine 3, the user:\nthree\n", 0..0, 100, &mut out);
        assert_eq!(out, "\n| one\n| Line 3, the user:\n| three");
        assert_eq!(input_text(r#"{"command":"ls\nwc","timeout":3}"#), "command:\nls\nwc\ntimeout: 3\n");
    }
}
