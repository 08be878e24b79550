//! The fields of API events and messages that the interface uses.

use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The fields of an API event that the interface uses.
#[derive(Deserialize)]
pub(super) struct ApiEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) delta: Option<ApiDelta<'a>>,
    #[serde(borrow, default)]
    pub(super) content_block: Option<ApiBlockStart<'a>>,
    #[serde(default)]
    pub(super) usage: Option<OutputUsage>,
    #[serde(default)]
    pub(super) message: Option<ApiMessageStart>,
}

#[derive(Deserialize)]
pub(super) struct ApiDelta<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct ApiBlockStart<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct OutputUsage {
    #[serde(default)]
    pub(super) output_tokens: u64,
}

#[derive(Deserialize)]
pub(super) struct ApiMessageStart {
    #[serde(default)]
    pub(super) usage: InputUsage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InputUsage {
    pub(super) input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
}

#[derive(Deserialize)]
pub(in crate::app) struct EventBody {
    #[serde(default)]
    pub(in crate::app) content: EventContent,
    #[serde(default)]
    pub(in crate::app) model: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::app) enum EventContent {
    Text(String),
    Blocks(Vec<EventBlock>),
}

impl Default for EventContent {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
pub(in crate::app) struct EventBlock {
    #[serde(rename = "type")]
    pub(in crate::app) kind: String,
    #[serde(default)]
    pub(in crate::app) text: String,
    #[serde(default)]
    pub(in crate::app) thinking: String,
    #[serde(default)]
    pub(in crate::app) id: String,
    #[serde(default)]
    pub(in crate::app) name: String,
    #[serde(default)]
    pub(in crate::app) input: Value,
    #[serde(default)]
    pub(in crate::app) tool_use_id: String,
    #[serde(default)]
    pub(in crate::app) content: Value,
    #[serde(default)]
    pub(in crate::app) is_error: bool,
}

/// The text of a tool result: a string, or its blocks, with `[kind]` for blocks that are not text.
pub(in crate::app) fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let parts = blocks.iter().map(|block| match block.get("type").and_then(Value::as_str) {
                Some("text") => block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
                Some(kind) => format!("[{kind}]"),
                None => String::new(),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
