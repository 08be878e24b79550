//! Keeps every stdout line within the limit of clients. A line that is too long first loses copies (parts of
//! `tool_use_result` that the message repeats), then base64 data, then the ends of its longest texts. The
//! transcript keeps everything.

use serde_json::{Map, Value, json};

/// Longest line, in characters. Clients buffer 1,048,576 characters; the rest is for their framing.
pub(crate) const LIMIT: usize = 1_000_000;

/// Returns `line` unchanged when it fits, else a shorter line of the same shape.
pub(crate) fn fit(line: String) -> String {
    if is_short(&line) {
        return line;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&line) else { return line };
    drop(line);
    if let Some(record) = value.get_mut("tool_use_result") {
        drop_copies(record);
    }
    for step in [ShrinkStep::Media, ShrinkStep::Texts] {
        if let Some(done) = render_if_short(&value) {
            return done;
        }
        match step {
            ShrinkStep::Media => drop_media(&mut value),
            ShrinkStep::Texts => cut_texts(&mut value),
        }
    }
    render_if_short(&value).unwrap_or_else(|| skeleton(&value))
}

#[derive(Clone, Copy)]
enum ShrinkStep {
    Media,
    Texts,
}

fn is_short(line: &str) -> bool {
    line.len() <= LIMIT || line.chars().count() <= LIMIT
}

fn render_if_short(value: &Value) -> Option<String> {
    // Avoids rendering a value of tens of megabytes that is certainly too long.
    if least_length(value) > LIMIT {
        return None;
    }
    wire::raw::to_line(value).ok().filter(|line| is_short(line))
}

/// A lower bound for the rendered length, in characters: the sum of all strings.
fn least_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Object(fields) => fields.values().map(least_length).sum(),
        Value::Array(items) => items.iter().map(least_length).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Removes parts of the structured tool result that the message repeats or that clients do not need.
fn drop_copies(record: &mut Value) {
    match record {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                match key.as_str() {
                    "originalFile" => *field = Value::Null,
                    "base64" => *field = json!(""),
                    "cells" => *field = json!([]),
                    _ => drop_copies(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_copies),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces image and document blocks, which cannot be shown from a part of their bytes, with a text block that
/// says so.
fn drop_media(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(note) = media_note(fields) {
                *value = json!({"type": "text", "text": note});
                return;
            }
            fields.values_mut().for_each(drop_media);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_media),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn media_note(fields: &Map<String, Value>) -> Option<String> {
    let data = fields.get("source")?.get("data")?.as_str()?;
    let kind = fields.get("type")?.as_str()?;
    Some(format!("[{kind} of {} base64 characters left out of this line; the transcript has it]", data.len()))
}

/// Shortens the longest strings until the line fits or no string has more than about 2,000 bytes.
fn cut_texts(value: &mut Value) {
    let mut share = LIMIT / 2;
    while share > 1024 && render_if_short(value).is_none() {
        cut_to(value, share);
        share /= 2;
    }
}

fn cut_to(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) if text.len() > limit => {
            let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let left_out = text.len() - end;
            let kept = &text[..end];
            *text = format!("{kept}\n[{left_out} more bytes left out of this line; the transcript has them]");
        }
        Value::Object(fields) => fields.values_mut().for_each(|v| cut_to(v, limit)),
        Value::Array(items) => items.iter_mut().for_each(|v| cut_to(v, limit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The last resort for hundreds of thousands of small values: keeps only the routing fields.
fn skeleton(value: &Value) -> String {
    let keep = ["type", "subtype", "is_error", "session_id", "uuid", "parent_tool_use_id"];
    let mut kept: Map<String, Value> =
        keep.iter().filter_map(|k| value.get(k).map(|v| ((*k).to_owned(), v.clone()))).collect();
    kept.insert("truncated".into(), json!(true));
    Value::Object(kept).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(value: &Value) -> Value {
        let line = fit(value.to_string());
        assert!(line.chars().count() <= LIMIT, "{}", line.len());
        serde_json::from_str(&line).unwrap()
    }

    // [SDK-33]
    #[test]
    fn short_lines_are_untouched() {
        let line = r#"{"type":"user", "odd":  1}"#.to_owned();
        assert_eq!(fit(line.clone()), line);
        let wide = format!(r#"{{"x":"{}"}}"#, "é".repeat(900_000));
        assert_eq!(fit(wide.clone()), wide, "the limit counts characters, not bytes");
    }

    #[test]
    fn an_edit_of_a_large_file_loses_only_the_copy() {
        let out = fitted(&json!({"type": "user", "message": {"content": "ok"},
            "tool_use_result": {"filePath": "/x", "originalFile": "y".repeat(1_200_000), "userModified": false}}));
        assert_eq!(out["tool_use_result"]["filePath"], "/x");
        assert_eq!(out["tool_use_result"]["originalFile"], Value::Null);
        assert_eq!(out["message"]["content"], "ok");
    }

    #[test]
    fn a_large_image_becomes_a_note() {
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(1_100_000)}});
        let out = fitted(&json!({"type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]},
            "tool_use_result": {"type": "image", "file": {"base64": "A".repeat(1_100_000), "type": "image/png"}}}));
        let block = &out["message"]["content"][0]["content"][0];
        assert_eq!(block["type"], "text");
        assert!(block["text"].as_str().unwrap().contains("1100000"));
        assert_eq!(out["tool_use_result"]["file"]["type"], "image/png");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let out = fitted(&json!({"type": "result", "result": "é\n".repeat(500_000), "uuid": "u"}));
        assert!(out["result"].as_str().unwrap().ends_with("the transcript has them]"));
        assert_eq!(out["uuid"], "u");
    }

    #[test]
    fn a_swarm_of_small_values_keeps_its_head() {
        let out = fitted(&json!({"type": "user", "uuid": "u", "message": vec!["abcdefgh"; 200_000]}));
        assert_eq!((&out["type"], &out["truncated"]), (&json!("user"), &json!(true)));
    }
}
