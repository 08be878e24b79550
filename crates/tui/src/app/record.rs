//! What a turn leaves: items that are drawn from data, at any width, with limits while they stream and without limits in
//! the transcript view. A live turn, a resumed conversation and the transcript view draw the same items with the same
//! functions.

pub mod build;
pub mod call;
pub mod told;

use super::reply::reply_lines;
use super::tools::{RecordLimits, duration_words, more_line};
use crate::ansi;
use crate::screen_reader::SpeakerLabel;
use call::CallRecord;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use terminal::markdown::{MarkdownOptions, ProseWrap, SyntaxColouring};
use terminal::style::{StyledLine, TextStyle, lines_of};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Columns before everything but the prompt.
const MARGIN: &str = "  ";
/// Costs from half a cent on are shown.
const LEAST_COST: f64 = 0.005;

/// How items are drawn.
#[derive(Clone, Copy, Debug)]
pub struct RecordLook<'a> {
    pub theme: &'a Theme,
    pub columns: usize,
    pub syntax: SyntaxColouring,
    pub wrap: ProseWrap,
    pub limits: RecordLimits,
}

impl<'a> RecordLook<'a> {
    pub fn markdown(&self) -> MarkdownOptions<'a> {
        // Whole lines have no width: tables become `header: value` lines, without rules.
        let columns = if self.columns == usize::MAX { 0 } else { self.columns };
        let wrap = if columns == 0 { ProseWrap::Terminal } else { self.wrap };
        MarkdownOptions { theme: self.theme, columns, syntax: self.syntax, wrap }
    }

    /// The columns of words between the margins; no limit where the terminal wraps them.
    fn prose_columns(&self) -> usize {
        match self.wrap {
            ProseWrap::Words if self.columns < usize::MAX => self.columns.saturating_sub(4).clamp(8, 100),
            ProseWrap::Words | ProseWrap::Terminal => usize::MAX,
        }
    }

    /// The blanks before a line: none where lines are read out.
    pub fn indent(&self, columns: usize) -> usize {
        if self.columns == usize::MAX { 0 } else { columns }
    }

    fn faint(&self) -> TextStyle {
        self.theme.fg(ThemeToken::Inactive)
    }
}

/// One item of the record.
#[derive(Clone, Debug)]
pub enum RecordItem {
    Prompt(String),
    /// A shell command of the person.
    Shell(String),
    /// Markdown of the model.
    Reply(String),
    Thinking {
        text: String,
        took: Option<Duration>,
    },
    Call(Box<CallRecord>),
    /// The output of a command of the person.
    Output {
        text: String,
        is_failure: bool,
    },
    /// A remark of the interface, in the colour of the token.
    Note {
        text: String,
        token: ThemeToken,
    },
    /// A turn has ended.
    TurnEnd {
        took: Duration,
        cost_usd: f64,
    },
}

impl RecordItem {
    /// The item as it is drawn, without a blank row before it.
    pub fn lines(&self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        match self {
            Self::Prompt(text) => prompt_lines(&folded_prompt(text, look.limits), look),
            Self::Shell(command) => prompt_lines(&format!("! {}", folded_prompt(command, look.limits)), look),
            Self::Reply(text) => reply_lines(text, &look.markdown()),
            Self::Thinking { text, took } => thinking_lines(text, *took, look),
            Self::Call(call) => call.lines(look),
            Self::Output { text, is_failure } => local_output_lines(text, *is_failure, look),
            Self::Note { text, token } => note_lines(text, look.theme.fg(*token), look),
            Self::TurnEnd { took, cost_usd } => vec![turn_line(*took, *cost_usd, look)],
        }
    }

    /// Thinking and calls stand together without blank rows.
    pub fn is_activity(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::Call(_))
    }

    /// The item belongs below the one before it.
    pub fn continues(&self) -> bool {
        matches!(self, Self::Output { .. })
    }

    /// Who or what is named to a screen reader.
    pub fn speaker(&self) -> SpeakerLabel {
        match self {
            Self::Prompt(_) | Self::Shell(_) => SpeakerLabel::You,
            Self::Reply(_) => SpeakerLabel::Claude,
            Self::Thinking { .. } => SpeakerLabel::Thinking,
            Self::Call(call) if call.has_failed() => SpeakerLabel::ToolError,
            Self::Call(_) | Self::Output { .. } => SpeakerLabel::Tool,
            Self::Note { token: ThemeToken::Error, .. } => SpeakerLabel::Error,
            Self::Note { token: ThemeToken::Warning, .. } => SpeakerLabel::Warning,
            Self::Note { .. } | Self::TurnEnd { .. } => SpeakerLabel::None,
        }
    }

    /// The item as JSON, in the form of the content blocks of a message.
    pub fn raw(&self) -> Value {
        match self {
            Self::Prompt(text) => json!({"role": "user", "type": "text", "text": text}),
            Self::Shell(command) => json!({"role": "user", "type": "shell", "command": command}),
            Self::Reply(text) => json!({"role": "assistant", "type": "text", "text": text}),
            Self::Thinking { text, .. } => json!({"role": "assistant", "type": "thinking", "thinking": text}),
            Self::Call(call) => call.raw(),
            Self::Output { text, .. } => json!({"type": "output", "text": text}),
            Self::Note { text, .. } => json!({"type": "note", "text": text}),
            Self::TurnEnd { took, cost_usd } => {
                json!({"type": "turn_end", "durationMs": took.as_millis() as u64, "costUsd": cost_usd})
            }
        }
    }

    /// About how many bytes the item takes.
    pub fn size(&self) -> usize {
        match self {
            Self::Prompt(text)
            | Self::Shell(text)
            | Self::Reply(text)
            | Self::Thinking { text, .. }
            | Self::Output { text, .. }
            | Self::Note { text, .. } => text.len(),
            Self::Call(call) => call.size(),
            Self::TurnEnd { .. } => 0,
        }
    }

    /// Cuts texts that are longer than `limit` bytes.
    pub fn bound(&mut self, limit: usize) {
        match self {
            Self::Prompt(text)
            | Self::Shell(text)
            | Self::Reply(text)
            | Self::Thinking { text, .. }
            | Self::Output { text, .. }
            | Self::Note { text, .. } => bound_text(text, limit),
            Self::Call(call) => call.bound(limit),
            Self::TurnEnd { .. } => {}
        }
    }
}

/// Cuts a text that is longer than `limit` bytes, and says so in it.
pub(super) fn bound_text(text: &mut String, limit: usize) {
    if text.len() > limit {
        let end = text.floor_char_boundary(limit);
        let cut = text.len() - end;
        text.truncate(end);
        write!(text, "\n… {cut} more bytes").ok();
    }
}

/// A long prompt is probably a paste: its beginning.
fn folded_prompt(text: &str, limits: RecordLimits) -> String {
    let lines = text.lines().count();
    if lines <= limits.prompt.saturating_add(1) {
        return text.to_owned();
    }
    let first: Vec<&str> = text.lines().take(limits.prompt).collect();
    format!("{}\n… {} more lines · ctrl+o", first.join("\n"), lines - limits.prompt)
}

/// A message of the person, with a colour behind it up to the edge.
fn prompt_lines(shown: &str, look: &RecordLook<'_>) -> Vec<StyledLine> {
    let theme = look.theme;
    let fill = theme.colour(ThemeToken::UserMessageBackground);
    let on_fill = |style: TextStyle| fill.map_or(style, |fill| theme.readable(style, fill));
    let mut rows = Vec::new();
    for line in text::clean(shown).split('\n') {
        for part in StyledLine::styled(line, on_fill(TextStyle::PLAIN)).wrapped(look.prose_columns(), 0) {
            // The bar is a mark and no text, so it keeps its colour.
            let mut row = StyledLine::styled("▌ ", theme.fg(ThemeToken::Accent).on(fill));
            row.append(part);
            row.fill = fill;
            rows.push(row);
        }
    }
    rows
}

/// One dim line; where there are no limits, also the text.
fn thinking_lines(thought: &str, took: Option<Duration>, look: &RecordLook<'_>) -> Vec<StyledLine> {
    let has_text = !thought.trim().is_empty();
    let mut words = match took {
        // A thought takes at least a second.
        Some(took) if took < Duration::from_secs(10) => {
            format!("thought for {} s", took.as_millis().div_ceil(1_000).max(1))
        }
        Some(took) => format!("thought for {}", duration_words(took)),
        None => "thought".to_owned(),
    };
    if has_text && !look.limits.is_whole() {
        words.push_str(" · ctrl+o");
    }
    let mut lines = vec![StyledLine::styled(format!("{MARGIN}∴ {words}"), look.faint())];
    if has_text && look.limits.is_whole() {
        let style = look.faint().italic();
        for line in text::clean(thought.trim()).split('\n') {
            lines.extend(StyledLine::styled(format!("{MARGIN}  {line}"), style).wrapped(look.columns, 4));
        }
    }
    lines
}

/// The output of a command of the person: whole, because it was asked for.
fn local_output_lines(output: &str, is_failure: bool, look: &RecordLook<'_>) -> Vec<StyledLine> {
    let error = look.theme.fg(ThemeToken::Error);
    let style = if is_failure { error } else { TextStyle::PLAIN };
    let line = |(index, line): (usize, StyledLine)| {
        let is_code = index == 0 && line.text().starts_with("Exit code ");
        let line = line.over(if is_code { error } else { style });
        line.indented(look.indent(call::BODY))
    };
    let lines = ansi::output_lines(output.trim_end()).into_iter().enumerate().map(line);
    lines.flat_map(|line| line.wrapped(look.columns, call::BODY)).collect()
}

/// Words of the interface, after a margin.
fn note_lines(note: &str, style: TextStyle, look: &RecordLook<'_>) -> Vec<StyledLine> {
    let lines = lines_of(text::clean(note).trim_end(), style);
    let rows = lines.into_iter().flat_map(|line| line.wrapped(look.prose_columns(), 0));
    rows.map(|row| if row.is_empty() { row } else { row.indented(look.indent(MARGIN.len())) }).collect()
}

/// How long a turn took and what it cost.
fn turn_line(took: Duration, cost_usd: f64, look: &RecordLook<'_>) -> StyledLine {
    let mut text = format!("{MARGIN}✻ {}", duration_words(took));
    if cost_usd >= LEAST_COST {
        write!(text, " · ${cost_usd:.2}").ok();
    }
    StyledLine::styled(text, look.faint())
}

/// Rows in at most `limit`, and how many more there are.
pub(super) fn limited(mut rows: Vec<StyledLine>, limit: usize, theme: &Theme) -> Vec<StyledLine> {
    if rows.len() > limit.saturating_add(1) {
        let more = rows.len() - limit;
        rows.truncate(limit);
        rows.push(more_line(more, theme));
    }
    rows
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
