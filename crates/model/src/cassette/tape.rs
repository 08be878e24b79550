//! Converts recorded answers: from the bytes of a stream to readable events, and back to bytes.

use super::RecordedAnswer;
use crate::sse::{SseFrame, SseParser};
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Deltas are stored joined and replayed in pieces of about this size.
const PIECE: usize = 48;

/// Fields of deltas that are pieces of one text.
const PIECES: &[(&str, &str)] =
    &[("text_delta", "text"), ("input_json_delta", "partial_json"), ("thinking_delta", "thinking")];

/// The events of a stream with adjacent pieces joined (a path may be split between two); `None` when the bytes are not
/// events with JSON data.
pub(super) fn events(bytes: &[u8], clean: impl Fn(&str) -> String) -> Option<Vec<Box<RawValue>>> {
    let mut frames = Vec::new();
    let mut parser = SseParser::default();
    parser.push(bytes, &mut frames).ok()?;
    parser.finish(&mut frames).ok()?;
    let mut joined: Vec<Value> = Vec::new();
    for SseFrame { data, .. } in &frames {
        let event: Value = serde_json::from_str(data).ok()?;
        if event["type"] == "ping" {
            continue;
        }
        if !joined.last_mut().is_some_and(|last| join(last, &event)) {
            joined.push(event);
        }
    }
    if joined.is_empty() {
        return None;
    }
    joined.iter().map(|event| wire::raw::compact(&clean(&event.to_string())).ok()).collect()
}

fn piece_field(event: &Value) -> Option<&'static str> {
    let kind = event["delta"]["type"].as_str()?;
    let plain = event["delta"].as_object().is_some_and(|delta| delta.len() == 2);
    PIECES.iter().find(|(name, _)| *name == kind && plain).map(|(_, field)| *field)
}

fn join(last: &mut Value, event: &Value) -> bool {
    let (Some(field), Some(same)) = (piece_field(last), piece_field(event)) else { return false };
    if field != same || last["index"] != event["index"] {
        return false;
    }
    let Some(more) = event["delta"][field].as_str() else { return false };
    match &mut last["delta"][field] {
        Value::String(text) => text.push_str(more),
        _ => return false,
    }
    true
}

/// The body in chunks; `reveal` inserts this machine's paths and this run's names into JSON text.
pub(super) fn chunks(answer: &RecordedAnswer, reveal: impl Fn(&str) -> String) -> Vec<Bytes> {
    if let Some(body) = &answer.body {
        return vec![Bytes::from(reveal(body))];
    }
    let mut out = Vec::new();
    for event in &answer.events {
        let json = reveal(event.get());
        let Ok(event) = serde_json::from_str::<Value>(&json) else { continue };
        for part in split(&event) {
            let name = part["type"].as_str().unwrap_or_default();
            out.push(Bytes::from(format!("event: {name}\ndata: {part}\n\n")));
        }
    }
    out
}

fn split(event: &Value) -> Vec<Value> {
    let whole = || vec![event.clone()];
    let Some(field) = piece_field(event) else { return whole() };
    let Some(text) = event["delta"][field].as_str().filter(|t| t.len() > PIECE) else { return whole() };
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (PIECE..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        let mut part = event.clone();
        part["delta"][field] = json!(piece);
        parts.push(part);
        rest = after;
    }
    parts
}
