//! Content blocks of the Messages API. Received blocks are kept as raw bytes; this module reads the few fields that
//! gimlet routes on, and builds the blocks that gimlet writes.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The kind and main fields of a block, borrowed from its JSON. Unknown kinds become `Other` and are passed on
/// unchanged.
#[derive(Debug)]
pub enum BlockHead<'a> {
    Text(Cow<'a, str>),
    Thinking,
    RedactedThinking,
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: &'a RawValue },
    ToolResult { tool_use_id: Cow<'a, str> },
    Image,
    Document,
    Other(Cow<'a, str>),
}

#[derive(Deserialize)]
struct BlockFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
}

impl<'a> BlockHead<'a> {
    /// `None` when the JSON is not an object with a `type`, or lacks a field its kind needs.
    pub fn read(block: &'a RawValue) -> Option<Self> {
        let f: BlockFields<'a> = serde_json::from_str(block.get()).ok()?;
        Some(match &*f.kind {
            "text" => Self::Text(f.text?),
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" => Self::ToolUse { id: f.id?, name: f.name?, input: f.input? },
            "tool_result" => Self::ToolResult { tool_use_id: f.tool_use_id? },
            "image" => Self::Image,
            "document" => Self::Document,
            _ => Self::Other(f.kind),
        })
    }
}

/// Blocks that gimlet writes.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Image {
        source: MediaSource,
    },
    Document {
        source: MediaSource,
    },
    /// Asks the API to load a deferred tool.
    ToolReference {
        tool_name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct MediaSource {
    #[serde(rename = "type")]
    pub kind: String,
    pub media_type: String,
    pub data: String,
}

impl MediaSource {
    pub fn base64(media_type: &str, data: String) -> Self {
        Self { kind: "base64".into(), media_type: media_type.into(), data }
    }
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Message or tool-result content: the API accepts a string or an array, and the given form is kept.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

impl MessageContent {
    /// All text in order, for display and size checks.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => blocks
                .iter()
                .filter_map(|b| match b {
                    ContentBlock::Text { text } => Some(text.as_str()),
                    ContentBlock::Image { .. } | ContentBlock::Document { .. } | ContentBlock::ToolReference { .. } => {
                        None
                    }
                })
                .collect::<Vec<_>>()
                .join("\n")
                .into(),
        }
    }
}

#[derive(Serialize)]
struct SucceededResult<'a> {
    tool_use_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a MessageContent,
}

#[derive(Serialize)]
struct FailedResult<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a MessageContent,
    is_error: bool,
    tool_use_id: &'a str,
}

/// A `tool_result` block. Success and failure use the two key orders that existing readers expect; only failures carry
/// `is_error`.
pub fn tool_result(
    tool_use_id: &str,
    content: &MessageContent,
    is_error: bool,
) -> Result<Box<RawValue>, serde_json::Error> {
    let kind = "tool_result";
    if is_error {
        return crate::raw::to_raw(&FailedResult { kind, content, is_error, tool_use_id });
    }
    crate::raw::to_raw(&SucceededResult { tool_use_id, kind, content })
}
