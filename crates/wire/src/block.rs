//! Content blocks of the Messages API. A block is kept as the bytes it arrived in; this module reads the few fields
//! we route on, and builds the blocks that are ours.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a block is, borrowed from its JSON. Unknown kinds are `Other` and pass through untouched.
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
struct Fields<'a> {
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
        let f: Fields<'a> = serde_json::from_str(block.get()).ok()?;
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

/// Blocks we author.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Image {
        source: Source,
    },
    Document {
        source: Source,
    },
    /// A deferred tool that the API is to load.
    ToolReference {
        tool_name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Source {
    #[serde(rename = "type")]
    pub kind: String,
    pub media_type: String,
    pub data: String,
}

impl Source {
    pub fn base64(media_type: &str, data: String) -> Self {
        Self { kind: "base64".into(), media_type: media_type.into(), data }
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Message or tool-result content: the API takes a string or an array, and we keep the form we were given.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl Content {
    /// All text in order, for display and size checks.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => blocks
                .iter()
                .filter_map(|b| match b {
                    Block::Text { text } => Some(text.as_str()),
                    Block::Image { .. } | Block::Document { .. } | Block::ToolReference { .. } => None,
                })
                .collect::<Vec<_>>()
                .join("\n")
                .into(),
        }
    }
}

#[derive(Serialize)]
struct Succeeded<'a> {
    tool_use_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a Content,
}

#[derive(Serialize)]
struct Failed<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a Content,
    is_error: bool,
    tool_use_id: &'a str,
}

/// A `tool_result` block. The two key orders are those readers have met; `is_error` stands on failures only.
pub fn tool_result(tool_use_id: &str, content: &Content, is_error: bool) -> Result<Box<RawValue>, serde_json::Error> {
    let kind = "tool_result";
    if is_error {
        return crate::raw::to_raw(&Failed { kind, content, is_error, tool_use_id });
    }
    crate::raw::to_raw(&Succeeded { tool_use_id, kind, content })
}
