//! Messages of the engine for the tests of the interface.

use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use wire::sdk::{SdkMessage, StreamEvent};

/// A piece of a reply as it streams.
pub(crate) fn stream_event(event: &Value) -> SdkMessage {
    let event = RawValue::from_string(event.to_string()).expect("a value is JSON");
    SdkMessage::StreamEvent(StreamEvent {
        kind: "stream_event",
        event: Arc::from(event),
        session_id: "s".into(),
        parent_tool_use_id: None,
        uuid: "u".into(),
        ttft_ms: None,
        api_message_id: None,
        thinking_display: None,
        abandoned_blocks: None,
    })
}
