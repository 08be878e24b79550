//! The full content of this session for the transcript view. Its size is limited; the oldest entries are dropped first.
//! The height of an entry is computed once per width, and rows are rendered only where they are visible, so that long
//! conversations scroll as fast as short ones.

use engine::query::Speaker;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt::Write;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// The most bytes kept in total.
const LIMIT: usize = 8 * 1024 * 1024;
/// The most bytes kept of one entry.
const ENTRY_LIMIT: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptItemKind {
    Prompt,
    Reply,
    Thinking,
    Call,
    Result,
    Failure,
    Note,
}

#[derive(Debug)]
struct TranscriptItem {
    kind: TranscriptItemKind,
    text: String,
    /// When the entry was written and by which model, as shown.
    stamp: String,
    /// The call that started the agent that wrote the entry; `None` for the main conversation.
    agent: Option<String>,
    /// The number of rows (second) at a width in columns (first).
    height: Cell<(usize, usize)>,
}

#[derive(Debug, Default)]
pub struct TranscriptView {
    entries: VecDeque<TranscriptItem>,
    bytes: usize,
}

/// Which part of the conversation is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TranscriptFilter {
    #[default]
    All,
    /// Only the agent that this call started.
    Agent(String),
}

impl TranscriptFilter {
    fn shows(&self, entry: &TranscriptItem) -> bool {
        match self {
            Self::All => true,
            Self::Agent(call) => entry.agent.as_ref() == Some(call),
        }
    }
}

impl TranscriptView {
    pub fn add(&mut self, kind: TranscriptItemKind, text: &str) {
        self.add_stamped(kind, text, String::new(), None);
    }

    pub fn add_stamped(&mut self, kind: TranscriptItemKind, text: &str, stamp: String, agent: Option<&str>) {
        let end = text.floor_char_boundary(ENTRY_LIMIT);
        let mut kept = text::clean(&text[..end]);
        if end < text.len() {
            write!(kept, "\n… {} more bytes", text.len() - end).ok();
        }
        self.bytes += kept.len();
        let agent = agent.map(str::to_owned);
        self.entries.push_back(TranscriptItem { kind, text: kept, stamp, agent, height: Cell::default() });
        while self.bytes > LIMIT
            && let Some(gone) = self.entries.pop_front()
        {
            self.bytes -= gone.text.len();
        }
    }

    pub fn prompt(&mut self, text: &str) {
        self.add(TranscriptItemKind::Prompt, text);
    }

    pub fn note(&mut self, text: &str) {
        self.add(TranscriptItemKind::Note, text);
    }

    /// Adds the messages before the first prompt that is present. If there are too many, the oldest are dropped.
    pub fn prepend(&mut self, messages: &[(Speaker, String)]) {
        let first =
            self.entries.iter().find(|entry| entry.kind == TranscriptItemKind::Prompt).map(|entry| entry.text.clone());
        let known = |(speaker, text): &(Speaker, String)| {
            *speaker == Speaker::User && first.as_deref() == Some(text::clean(text).as_str())
        };
        let end = messages.iter().rposition(known).unwrap_or(0);
        let later = std::mem::take(self);
        for (speaker, text) in &messages[..end] {
            let kind = match speaker {
                Speaker::User => TranscriptItemKind::Prompt,
                Speaker::Assistant => TranscriptItemKind::Reply,
                Speaker::Call => TranscriptItemKind::Call,
                Speaker::Result => TranscriptItemKind::Result,
                Speaker::Summary => TranscriptItemKind::Note,
            };
            self.add(kind, text);
        }
        for entry in later.entries {
            self.add_stamped(entry.kind, &entry.text, entry.stamp, entry.agent.as_deref());
        }
    }

    /// The reply with this number; 1 is the latest.
    pub fn reply(&self, number: usize) -> Option<String> {
        let own = |entry: &&TranscriptItem| entry.kind == TranscriptItemKind::Reply && entry.agent.is_none();
        self.entries.iter().rev().filter(own).nth(number.saturating_sub(1)).map(|entry| entry.text.clone())
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// The calls whose agents have entries, in order.
    pub fn agents(&self) -> Vec<String> {
        let mut calls: Vec<String> = Vec::new();
        for call in self.entries.iter().filter_map(|entry| entry.agent.as_ref()) {
            if !calls.contains(call) {
                calls.push(call.clone());
            }
        }
        calls
    }

    /// How many rows the part has at this width.
    pub fn height(&self, part: &TranscriptFilter, columns: usize, theme: &Theme) -> usize {
        self.entries.iter().filter(|entry| part.shows(entry)).map(|entry| entry.height(columns, theme)).sum()
    }

    /// The rows in `range`.
    pub fn window(
        &self,
        part: &TranscriptFilter,
        range: std::ops::Range<usize>,
        columns: usize,
        theme: &Theme,
    ) -> Vec<StyledLine> {
        let mut shown = Vec::with_capacity(range.len());
        let mut at = 0;
        for entry in self.entries.iter().filter(|entry| part.shows(entry)) {
            let end = at + entry.height(columns, theme);
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from < to {
                shown.extend_from_slice(&entry.render(columns, theme)[from - at..to - at]);
            }
            at = end;
        }
        shown
    }

    /// The rows that contain `query`, ignoring case.
    pub fn find(&self, part: &TranscriptFilter, query: &str, columns: usize, theme: &Theme) -> Vec<usize> {
        let query = query.to_lowercase();
        let mut found = Vec::new();
        let mut at = 0;
        self.each(part, columns, theme, |_, rows| {
            let hits = rows.iter().enumerate().filter(|(_, row)| row.text().to_lowercase().contains(&query));
            found.extend(hits.map(|(index, _)| at + index));
            at += rows.len();
        });
        found
    }

    /// The rows at which prompts begin.
    pub fn prompts(&self, part: &TranscriptFilter, columns: usize, theme: &Theme) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = 0;
        self.each(part, columns, theme, |entry, rows| {
            if entry.kind == TranscriptItemKind::Prompt {
                found.push(at + rows.iter().position(|row| !row.is_empty()).unwrap_or(0));
            }
            at += rows.len();
        });
        found
    }

    /// The whole part as unwrapped lines, for the scrollback or an editor.
    pub fn lines(&self, part: &TranscriptFilter, theme: &Theme) -> Vec<StyledLine> {
        let shown = self.entries.iter().filter(|entry| part.shows(entry));
        shown.flat_map(|entry| entry.render(usize::MAX, theme)).collect()
    }

    fn each(
        &self,
        part: &TranscriptFilter,
        columns: usize,
        theme: &Theme,
        mut visit: impl FnMut(&TranscriptItem, &[StyledLine]),
    ) {
        for entry in self.entries.iter().filter(|entry| part.shows(entry)) {
            visit(entry, &entry.render(columns, theme));
        }
    }
}

impl TranscriptItem {
    fn height(&self, columns: usize, theme: &Theme) -> usize {
        let (width, rows) = self.height.get();
        if width == columns && rows > 0 {
            return rows;
        }
        let rows = self.render(columns, theme).len();
        self.height.set((columns, rows));
        rows
    }

    fn render(&self, columns: usize, theme: &Theme) -> Vec<StyledLine> {
        let (mark, style) = match self.kind {
            TranscriptItemKind::Prompt => ("> ", TextStyle::PLAIN.bold()),
            TranscriptItemKind::Reply => ("  ", TextStyle::PLAIN),
            TranscriptItemKind::Thinking => ("∴ ", theme.fg(ThemeToken::Inactive).italic()),
            TranscriptItemKind::Call => ("● ", TextStyle::PLAIN.bold()),
            TranscriptItemKind::Result => ("  ⎿ ", TextStyle::PLAIN),
            TranscriptItemKind::Failure => ("  ⎿ ", theme.fg(ThemeToken::Error)),
            TranscriptItemKind::Note => ("", theme.fg(ThemeToken::Inactive)),
        };
        let mark = if self.agent.is_some() { format!("    {mark}") } else { mark.to_owned() };
        let mut rows = Vec::new();
        if !matches!(self.kind, TranscriptItemKind::Result | TranscriptItemKind::Failure) {
            rows.push(StyledLine::new());
        }
        if !self.stamp.is_empty() {
            rows.push(StyledLine::styled(self.stamp.clone(), theme.fg(ThemeToken::Inactive)));
        }
        let hang = text::width(&mark);
        for (index, text) in self.text.trim_end().split('\n').enumerate() {
            let lead = if index == 0 { mark.clone() } else { " ".repeat(hang) };
            rows.extend(StyledLine::styled(format!("{lead}{text}"), style).wrapped(columns, hang));
        }
        rows
    }
}
