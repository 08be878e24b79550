//! The messages of a transcript, line by line, for reading and searching. Side chains, notes of the program, ids,
//! signatures and image data are left out. Files of any size are read in pieces.

use crate::backward::BackwardLines;
use crate::error::StoreError;
use crate::head::{LineHead, LineMessageHead, LinePart};
use crate::resume::{EntryKind, LoadedEntry};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// In bytes. Longer lines are skipped.
const LINE_LIMIT: usize = 64 << 20;
/// How many bytes from the end are searched for the last items.
const TAIL: usize = 4 << 20;

/// A message, a call or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NarrativeItem<'a> {
    User(&'a str),
    Assistant(&'a str),
    /// The tool and its input as JSON.
    Call {
        tool: &'a str,
        input: &'a str,
    },
    Result {
        text: &'a str,
        is_error: bool,
    },
    Image,
    /// A summary or the session's title.
    Summary(&'a str),
}

/// Passes the items of a line to `tell`, in order.
pub(crate) fn walk(head: &LineHead<'_>, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    match head.kind.as_str() {
        Some("user" | "assistant") if head.is_meta.0 || head.is_sidechain.0 => {}
        Some("user") if head.is_compact_summary.0 => message(head.message, &mut |moment| {
            if let NarrativeItem::User(text) = moment {
                tell(NarrativeItem::Summary(text));
            }
        }),
        Some("user") => message(head.message, tell),
        Some("assistant") => message(head.message, &mut |moment| {
            tell(match moment {
                NarrativeItem::User(text) => NarrativeItem::Assistant(text),
                other => other,
            });
        }),
        Some("attachment") => {
            if let Some(raw) = head.attachment {
                attached(raw, tell);
            }
        }
        Some("summary") => emit_text(head.summary.as_str(), tell),
        Some("custom-title") => emit_text(head.custom_title.as_str(), tell),
        Some("ai-title") => emit_text(head.ai_title.as_str(), tell),
        _ => {}
    }
}

/// Passes what a person, the model or a tool said in an entry to `tell`, in order. Notes of the program are left out.
pub fn of_entry(entry: &LoadedEntry, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    let Some(body) = entry.body.as_deref().and_then(|body| serde_json::from_str::<&RawValue>(body).ok()) else {
        return;
    };
    match entry.kind {
        _ if entry.is_meta || entry.is_api_error => {}
        EntryKind::User if entry.is_compact_summary => message(Some(body), &mut |moment| {
            if let NarrativeItem::User(text) = moment {
                tell(NarrativeItem::Summary(text));
            }
        }),
        EntryKind::User => message(Some(body), tell),
        EntryKind::Assistant => message(Some(body), &mut |moment| {
            tell(match moment {
                NarrativeItem::User(text) => NarrativeItem::Assistant(text),
                other => other,
            });
        }),
        EntryKind::Attachment => attached(body, tell),
        EntryKind::System => {}
    }
}

/// A prompt that was typed while a turn ran.
fn attached(raw: &RawValue, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    let queued = serde_json::from_str::<LinePart<'_>>(raw.get()).ok();
    if let Some(queued) = queued.filter(|part| part.kind.as_str() == Some("queued_command")) {
        content(queued.prompt, tell);
    }
}

fn emit_text(text: Option<&str>, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    if let Some(text) = text {
        tell(NarrativeItem::Summary(text));
    }
}

fn message(raw: Option<&RawValue>, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    let said = raw.and_then(|raw| serde_json::from_str::<LineMessageHead<'_>>(raw.get()).ok());
    content(said.and_then(|said| said.content), tell);
}

/// Parses content: a string, or blocks of text, calls and results.
fn content(raw: Option<&RawValue>, tell: &mut dyn FnMut(NarrativeItem<'_>)) {
    let Some(raw) = raw else { return };
    if raw.get().starts_with('"') {
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            tell(NarrativeItem::User(&text));
        }
        return;
    }
    let Ok(parts) = serde_json::from_str::<Vec<LinePart<'_>>>(raw.get()) else { return };
    for part in parts {
        match part.kind.as_str() {
            Some("text") => {
                if let Some(text) = part.text.as_str() {
                    tell(NarrativeItem::User(text));
                }
            }
            Some("image") => tell(NarrativeItem::Image),
            Some("tool_result") => content(part.content, &mut |moment| {
                tell(match moment {
                    NarrativeItem::User(text) => NarrativeItem::Result { text, is_error: part.is_error.0 },
                    other => other,
                });
            }),
            Some("tool_use") => {
                let tool = part.name.as_str().unwrap_or_default();
                tell(NarrativeItem::Call { tool, input: part.input.map_or("{}", RawValue::get) });
            }
            _ => {}
        }
    }
}

/// One line of the file, unchanged.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptLine<'a> {
    pub raw: &'a str,
    pub timestamp: Option<&'a str>,
}

/// Reads a whole transcript in file order. `line` is called for each line before `tell` gets its items.
pub fn read(
    path: &Path,
    line: &mut dyn FnMut(TranscriptLine<'_>) -> std::io::Result<()>,
    tell: &mut dyn FnMut(NarrativeItem<'_>),
) -> Result<(), StoreError> {
    let fail = |e| StoreError::read(path, e);
    let mut file = BufReader::with_capacity(256 << 10, File::open(path).map_err(fail)?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(fail)? == 0 {
            return Ok(());
        }
        let raw = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if raw.len() > LINE_LIMIT {
            continue;
        }
        let (Some(head), Ok(raw)) = (LineHead::read(raw), std::str::from_utf8(raw)) else { continue };
        line(TranscriptLine { raw, timestamp: head.timestamp.as_str() }).map_err(fail)?;
        walk(&head, tell);
    }
}

/// The last `count` items of a conversation, oldest first. Items for which `pick` returns `None` are left out.
pub fn last<T>(path: &Path, count: usize, pick: impl Fn(NarrativeItem<'_>) -> Option<T>) -> Result<Vec<T>, StoreError> {
    let fail = |e| StoreError::read(path, e);
    let file = File::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut lines = BackwardLines::new(&file, length);
    let (mut kept, mut seen) = (Vec::new(), 0);
    while kept.len() < count
        && seen < TAIL
        && let Some((_, line)) = lines.next_line().map_err(fail)?
    {
        seen += line.len();
        let Some(head) = LineHead::read(line) else { continue };
        let mut here = Vec::new();
        walk(&head, &mut |moment| here.extend(pick(moment)));
        kept.extend(here.into_iter().rev());
    }
    kept.truncate(count);
    kept.reverse();
    Ok(kept)
}

/// The last lines of a transcript, oldest first: as many as `bytes` bytes of the file have. Lines that are not text are
/// left out.
pub fn end_lines(path: &Path, bytes: usize) -> Result<Vec<String>, StoreError> {
    let fail = |e| StoreError::read(path, e);
    let file = File::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut lines = BackwardLines::new(&file, length);
    let (mut kept, mut seen) = (Vec::new(), 0);
    while let Some((_, line)) = lines.next_line().map_err(fail)? {
        seen += line.len();
        if seen > bytes {
            break;
        }
        kept.extend(std::str::from_utf8(line).map(str::to_owned));
    }
    kept.reverse();
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"type":"mode","mode":"normal"}
{"type":"user","timestamp":"T1","message":{"role":"user","content":"hello"}}
{"type":"user","isMeta":true,"message":{"role":"user","content":"note"}}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{}}]}]}}
{"type":"user","isCompactSummary":true,"message":{"content":"so far"}}
torn {"type":"us
"#;

    fn shown(moment: NarrativeItem<'_>) -> String {
        match moment {
            NarrativeItem::User(text) => format!("> {text}"),
            NarrativeItem::Assistant(text) => text.to_owned(),
            NarrativeItem::Call { tool, input } => format!("{tool} {input}"),
            NarrativeItem::Result { text, is_error } => format!("{text} {is_error}"),
            NarrativeItem::Image => "image".into(),
            NarrativeItem::Summary(text) => format!("= {text}"),
        }
    }

    #[test]
    fn a_transcript_is_told_forwards_and_from_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, LINES).unwrap();
        let all = ["> hello", "hi", r#"Bash {"command":"ls"}"#, "no true", "image", "= so far"];
        let (mut told, mut lines) = (Vec::new(), 0);
        let mut count = |_: TranscriptLine<'_>| {
            lines += 1;
            Ok(())
        };
        read(&path, &mut count, &mut |moment| told.push(shown(moment))).unwrap();
        assert_eq!(told, all);
        assert_eq!(lines, 6, "what is no line is left out");
        assert_eq!(last(&path, 100, |moment| Some(shown(moment))).unwrap(), all);
        assert_eq!(last(&path, 2, |moment| Some(shown(moment))).unwrap(), all[4..]);
    }
}
