//! What was said in a line, and the words around a hit in it.

use super::needle::Needle;
use crate::head::Head;
use crate::story::{self, Moment};
use serde_json::Value;
use std::ops::Range;

/// Bytes shown around a hit.
const BEFORE: usize = 48;
const AFTER: usize = 160;

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
    /// What a call was to do.
    Call,
    /// What came of it.
    Result,
    /// A summary or the session's title.
    Summary,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub speaker: Speaker,
    /// The entry; empty for lines without one.
    pub uuid: String,
    pub timestamp: Option<String>,
    /// One line of text around it.
    pub snippet: String,
    /// The word in the snippet.
    pub place: Range<usize>,
}

/// The first text of the line that holds the query.
pub(super) fn hit(line: &[u8], needle: &Needle) -> Option<Hit> {
    let head = Head::read(line)?;
    let mut found = None;
    texts(&head, &mut |speaker, text| {
        if found.is_none()
            && let Some(place) = needle.find_in(text)
        {
            found = Some((speaker, snippet(text, place)));
        }
    });
    let (speaker, (snippet, place)) = found?;
    Some(Hit {
        speaker,
        uuid: head.uuid.owned().unwrap_or_default(),
        timestamp: head.timestamp.owned(),
        snippet,
        place,
    })
}

fn texts(head: &Head<'_>, tell: &mut dyn FnMut(Speaker, &str)) {
    story::walk(head, &mut |moment| match moment {
        Moment::User(text) => tell(Speaker::User, text),
        Moment::Assistant(text) => tell(Speaker::Assistant, text),
        Moment::Call { input, .. } => strings(&serde_json::from_str(input).unwrap_or_default(), tell),
        Moment::Result { text, .. } => tell(Speaker::Result, text),
        Moment::Summary(text) => tell(Speaker::Summary, text),
        Moment::Image => {}
    });
}

fn strings(value: &Value, tell: &mut dyn FnMut(Speaker, &str)) {
    match value {
        Value::String(text) => tell(Speaker::Call, text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, tell)),
        Value::Object(members) => members.values().for_each(|value| strings(value, tell)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A line of text around `place`, and where the word is in it.
fn snippet(text: &str, place: Range<usize>) -> (String, Range<usize>) {
    // A word that ends inside a character was matched by its bytes; it is shown whole.
    let (from, to) = (text.floor_char_boundary(place.start), text.ceil_char_boundary(place.end));
    let start = text.floor_char_boundary(from.saturating_sub(BEFORE));
    let end = text.floor_char_boundary((to + AFTER).min(text.len()));
    let mut line = String::with_capacity(end - start + 8);
    if start > 0 {
        line.push('…');
    }
    flat(&text[start..from], &mut line);
    let first = line.len();
    flat(&text[from..to], &mut line);
    let last = line.len();
    flat(&text[to..end], &mut line);
    if end < text.len() {
        line.push('…');
    }
    (line, first..last)
}

/// Blanks, line breaks and control characters become one blank.
fn flat(text: &str, line: &mut String) {
    for c in text.chars() {
        if !c.is_whitespace() && !c.is_control() {
            line.push(c);
        } else if !line.ends_with(' ') && !line.is_empty() {
            line.push(' ');
        }
    }
}
