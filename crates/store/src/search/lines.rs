//! The searchable texts of a line, and the text around a hit.

use super::query::SearchQuery;
use crate::head::LineHead;
use crate::narrative::{self, NarrativeItem};
use memchr::memmem::Finder;
use memchr::{memchr2_iter, memrchr, memrchr2};
use serde_json::Value;
use std::ops::Range;
use std::sync::LazyLock;

/// In bytes: how much text is shown around a hit.
const CHARS_BEFORE: usize = 48;
const CHARS_AFTER: usize = 160;

/// Who wrote the text, or where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
    /// The input of a call.
    Call,
    /// The result of a call.
    Result,
    /// A summary or the session's title.
    Summary,
}

/// One place where the query was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    pub speaker: Speaker,
    /// The uuid of the entry; empty for lines without one.
    pub uuid: String,
    pub timestamp: Option<String>,
    /// One line of text around the hit.
    pub snippet: String,
    /// The byte range of the word in the snippet.
    pub place: Range<usize>,
}

/// Searches the line for the first text that contains the query.
pub(super) fn hit(line: &[u8], needle: &SearchQuery) -> Option<SearchHit> {
    if !needle.is_spelled_in(searchable_part(line)) {
        return None;
    }
    let head = LineHead::read(line)?;
    let mut found = None;
    texts(&head, &mut |speaker, text| {
        if found.is_none()
            && let Some(place) = needle.find_in(text)
        {
            found = Some((speaker, snippet(text, place)));
        }
    });
    let (speaker, (snippet, place)) = found?;
    Some(SearchHit {
        speaker,
        uuid: head.uuid.owned().unwrap_or_default(),
        timestamp: head.timestamp.owned(),
        snippet,
        place,
    })
}

/// The part of a line that can contain text, found without parsing. Leaves out the plain fields before and after a
/// message, such as ids, times and paths, which are in every line. Returns the whole line when the part is unclear.
fn searchable_part(line: &[u8]) -> &[u8] {
    message_and_after(line).unwrap_or(line)
}

/// Built once: millions of lines are searched.
static MESSAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"message\":{"));
static KIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"type\":\""));

fn message_and_after(line: &[u8]) -> Option<&[u8]> {
    let start = MESSAGE.find(line)?;
    let before = &line[..start];
    // Only the bracket of the line itself: nothing before the message is nested.
    if memchr2_iter(b'{', b'[', before).count() != 1 {
        return None;
    }
    // Everything nested ends at the last bracket inside the object of the line.
    let end = memrchr2(b'}', b']', &line[..memrchr(b'}', line)?])? + 1;
    let after = line.get(end..)?;
    (is_said(before) || is_said(after)).then(|| &line[start.min(end)..end])
}

/// True when these fields mark the line as a message of the user or the assistant.
fn is_said(fields: &[u8]) -> bool {
    let kinds = KIND.find_iter(fields).map(|at| &fields[at + KIND.needle().len()..]);
    kinds.into_iter().any(|kind| kind.starts_with(b"user\"") || kind.starts_with(b"assistant\""))
}

fn texts(head: &LineHead<'_>, tell: &mut dyn FnMut(Speaker, &str)) {
    narrative::walk(head, &mut |moment| match moment {
        NarrativeItem::User(text) => tell(Speaker::User, text),
        NarrativeItem::Assistant(text) => tell(Speaker::Assistant, text),
        NarrativeItem::Call { input, .. } => strings(&serde_json::from_str(input).unwrap_or_default(), tell),
        NarrativeItem::Result { text, .. } => tell(Speaker::Result, text),
        NarrativeItem::Summary(text) => tell(Speaker::Summary, text),
        NarrativeItem::Image => {}
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

/// Returns one line of text around `place`, and the position of the word in it.
fn snippet(text: &str, place: Range<usize>) -> (String, Range<usize>) {
    // A word that ends inside a character was matched by its bytes; the whole character is shown.
    let (from, to) = (text.floor_char_boundary(place.start), text.ceil_char_boundary(place.end));
    let start = text.floor_char_boundary(from.saturating_sub(CHARS_BEFORE));
    let end = text.floor_char_boundary((to + CHARS_AFTER).min(text.len()));
    let mut line = String::with_capacity(end - start + 8);
    if start > 0 {
        line.push('…');
    }
    collapse_blanks(&text[start..from], &mut line);
    let first = line.len();
    collapse_blanks(&text[from..to], &mut line);
    let last = line.len();
    collapse_blanks(&text[to..end], &mut line);
    if end < text.len() {
        line.push('…');
    }
    (line, first..last)
}

/// Replaces each run of blanks, line breaks and control characters by one blank.
fn collapse_blanks(text: &str, line: &mut String) {
    for c in text.chars() {
        if !c.is_whitespace() && !c.is_control() {
            line.push(c);
        } else if !line.ends_with(' ') && !line.is_empty() {
            line.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_message_is_left_out_and_nothing_else() {
        let text = |line: &str| String::from_utf8(searchable_part(line.as_bytes()).to_vec()).unwrap();
        let message = r#""message":{"content":[{"type":"text","text":"a } b"}]}"#;
        let line = |before: &str, after: &str| format!("{{{before}{message}{after}}}");
        assert_eq!(text(&line(r#""type":"user","uuid":"x","#, r#","sessionId":"y""#)), message);
        assert_eq!(text(&line(r#""uuid":"x","#, r#","type":"assistant""#)), message);
        let result = r#","toolUseResult":{"stdout":"z"}"#;
        assert_eq!(text(&line(r#""type":"user","#, &format!(r#"{result},"uuid":"x""#))), format!("{message}{result}"));
        // The part is unclear: the whole line is returned.
        let odd = [
            line(r#""type":"user","cwd":"/a{b","#, ""),
            line(r#""type":"user","x":{"message":{}},"#, ""),
            line(r#""type":"summary","summary":"s","#, ""),
            r#"{"type":"custom-title","customTitle":"t"}"#.to_owned(),
            r#"{"type":"user","message":{"#.to_owned(),
            r#""message":{"#.to_owned(),
            "}".to_owned(),
            String::new(),
        ];
        for line in odd {
            assert_eq!(text(&line), line);
        }
    }
}
