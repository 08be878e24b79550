//! Converts a message that arrived in one piece into the events of a stream.

use crate::error::{ErrorKind, ModelError};
use crate::object::{self, RawObject};
use crate::sse::SseFrame;
use serde_json::value::RawValue;

pub(super) fn frames(body: &[u8]) -> Result<Vec<SseFrame>, ModelError> {
    let bad = || ModelError::new(ErrorKind::Malformed, "the server answered with something that is not a message");
    let text = std::str::from_utf8(body).map_err(|_| bad())?;
    let mut message = RawObject::parse(text).ok_or_else(bad)?;
    if let Some(error) = message.get("error").filter(|e| e.get() != "null") {
        return Err(ModelError::from_event(&format!(r#"{{"error":{}}}"#, error.get())));
    }
    let content = message.get("content").ok_or_else(bad)?;
    let blocks: Vec<Box<RawValue>> = serde_json::from_str(content.get()).map_err(|_| bad())?;
    message.set("content", object::raw("[]".to_owned()));
    let field = |key: &str| message.get(key).map_or("null", RawValue::get).to_owned();
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":{},"stop_sequence":{}}},"usage":{}}}"#,
        field("stop_reason"),
        field("stop_sequence"),
        field("usage")
    );
    let mut out = vec![frame(format!(r#"{{"type":"message_start","message":{}}}"#, message.to_text()))];
    for (index, block) in blocks.iter().enumerate() {
        let block = block.get();
        out.push(frame(format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)));
        out.push(frame(format!(r#"{{"type":"content_block_stop","index":{index}}}"#)));
    }
    out.push(frame(delta));
    out.push(frame(r#"{"type":"message_stop"}"#.to_owned()));
    Ok(out)
}

fn frame(data: String) -> SseFrame {
    SseFrame { event: String::new(), data }
}
