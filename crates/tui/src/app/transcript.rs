//! Everything that was said in this session, in full, for the transcript view. Bounded: the oldest entries go first.

use crate::style::{Line, Style};
use crate::text;
use crate::theme::{Theme, Token};
use engine::query::Speaker;
use std::collections::VecDeque;
use std::fmt::Write;

/// Bytes that are kept.
const LIMIT: usize = 8 * 1024 * 1024;
/// Of one entry.
const ENTRY_LIMIT: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Reply,
    Thinking,
    Call,
    Result,
    Failure,
    Note,
}

#[derive(Debug)]
struct Entry {
    kind: Kind,
    text: String,
}

#[derive(Debug, Default)]
pub struct Transcript {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Transcript {
    pub fn add(&mut self, kind: Kind, text: &str) {
        let mut end = text.len().min(ENTRY_LIMIT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut kept = text::clean(&text[..end]);
        if end < text.len() {
            write!(kept, "\n… {} more bytes", text.len() - end).ok();
        }
        self.bytes += kept.len();
        self.entries.push_back(Entry { kind, text: kept });
        while self.bytes > LIMIT
            && let Some(gone) = self.entries.pop_front()
        {
            self.bytes -= gone.text.len();
        }
    }

    pub fn prompt(&mut self, text: &str) {
        self.add(Kind::Prompt, text);
    }

    pub fn note(&mut self, text: &str) {
        self.add(Kind::Note, text);
    }

    /// Adds what was said before the first prompt that is here. What does not fit is left out, oldest first.
    pub fn put_before(&mut self, said: &[(Speaker, String)]) {
        let first = self.entries.iter().find(|entry| entry.kind == Kind::Prompt).map(|entry| entry.text.clone());
        let known = |(speaker, text): &(Speaker, String)| {
            *speaker == Speaker::User && first.as_deref() == Some(text::clean(text).as_str())
        };
        let end = said.iter().rposition(known).unwrap_or(0);
        let later = std::mem::take(self);
        for (speaker, text) in &said[..end] {
            let kind = match speaker {
                Speaker::User => Kind::Prompt,
                Speaker::Assistant => Kind::Reply,
                Speaker::Call => Kind::Call,
                Speaker::Result => Kind::Result,
                Speaker::Summary => Kind::Note,
            };
            self.add(kind, text);
        }
        for entry in later.entries {
            self.add(entry.kind, &entry.text);
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// All of it, in rows for this width.
    pub fn rows(&self, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut rows = Vec::new();
        for entry in &self.entries {
            let (mark, style) = match entry.kind {
                Kind::Prompt => ("> ", Style::PLAIN.bold()),
                Kind::Reply => ("● ", Style::PLAIN),
                Kind::Thinking => ("∴ ", theme.fg(Token::Inactive).italic()),
                Kind::Call => ("● ", Style::PLAIN.bold()),
                Kind::Result => ("  ⎿ ", Style::PLAIN),
                Kind::Failure => ("  ⎿ ", theme.fg(Token::Error)),
                Kind::Note => ("", theme.fg(Token::Inactive)),
            };
            if !rows.is_empty() && !matches!(entry.kind, Kind::Result | Kind::Failure) {
                rows.push(Line::new());
            }
            let hang = text::width(mark);
            for (index, text) in entry.text.trim_end().split('\n').enumerate() {
                let lead = if index == 0 { mark.to_owned() } else { " ".repeat(hang) };
                rows.extend(Line::styled(format!("{lead}{text}"), style).wrapped(columns, hang));
            }
        }
        rows
    }
}

/// Where the view of the transcript is: the last row shown, counted from the end while it follows.
#[derive(Debug, Default)]
pub struct Pager {
    /// Rows below the window; 0 follows what is new.
    pub below: usize,
    pub search: Option<String>,
}
