//! Parts of a conversation: immutable, serialised content blocks, and the messages that contain them. The kind of a
//! block is read once and cached, so that checking a long history needs no parsing.

use crate::object::{self, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// One serialised content block (or tool definition). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fragment(Arc<FragmentInner>);

#[derive(Debug)]
struct FragmentInner {
    raw: Box<RawValue>,
    head: OnceLock<FragmentHead>,
    marked: OnceLock<bool>,
}

/// The facts about a block that repair and cache marking need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FragmentHead {
    Text {
        blank: bool,
    },
    Thinking,
    RedactedThinking,
    ToolUse {
        id: Box<str>,
    },
    ToolResult {
        id: Box<str>,
    },
    ServerToolUse {
        id: Box<str>,
    },
    /// `web_search_tool_result` and similar: the provider's result of a `server_tool_use`.
    ServerToolResult {
        id: Box<str>,
    },
    Image,
    Document,
    Other,
    /// Not an object with a `type`, or without a field that its kind requires.
    Invalid,
}

#[derive(Deserialize)]
struct FragmentHeadFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
}

impl FragmentHead {
    fn read(json: &str) -> Self {
        let Ok(f) = serde_json::from_str::<FragmentHeadFields<'_>>(json) else { return Self::Invalid };
        let named = |id: Option<Cow<'_, str>>, make: fn(Box<str>) -> Self| match id {
            Some(id) if !id.is_empty() => make(id.into()),
            _ => Self::Invalid,
        };
        match &*f.kind {
            "text" => match f.text.map(RawValue::get) {
                Some(text) if text.starts_with('"') => Self::Text { blank: is_blank(text) },
                _ => Self::Invalid,
            },
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" => named(f.id, |id| Self::ToolUse { id }),
            "tool_result" => named(f.tool_use_id, |id| Self::ToolResult { id }),
            "server_tool_use" => named(f.id, |id| Self::ServerToolUse { id }),
            "image" => Self::Image,
            "document" => Self::Document,
            kind if kind.ends_with("_tool_result") => named(f.tool_use_id, |id| Self::ServerToolResult { id }),
            _ => Self::Other,
        }
    }

    pub fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking | Self::RedactedThinking)
    }
}

/// `json` is a JSON string with its quotes.
fn is_blank(json: &str) -> bool {
    // A long string without escapes needs no decoding.
    if json.len() > 256 && !json.contains('\\') {
        return json[1..json.len() - 1].trim().is_empty();
    }
    serde_json::from_str::<Cow<'_, str>>(json).is_ok_and(|text| text.trim().is_empty())
}

impl Fragment {
    pub fn new(raw: Box<RawValue>) -> Self {
        Self(Arc::new(FragmentInner { raw, head: OnceLock::new(), marked: OnceLock::new() }))
    }

    /// `{"type":"text","text":…}`
    pub fn text(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 32);
        out.push_str(r#"{"type":"text","text":"#);
        object::push_string(&mut out, text);
        out.push('}');
        Self::new(object::raw(out))
    }

    /// A failed `tool_result`, with the key order of failures.
    pub fn error_result(tool_use_id: &str, message: &str) -> Self {
        let mut out = String::from(r#"{"type":"tool_result","content":"#);
        object::push_string(&mut out, message);
        out.push_str(r#","is_error":true,"tool_use_id":"#);
        object::push_string(&mut out, tool_use_id);
        out.push('}');
        Self::new(object::raw(out))
    }

    pub fn raw(&self) -> &RawValue {
        &self.0.raw
    }

    pub fn get(&self) -> &str {
        self.0.raw.get()
    }

    pub fn len(&self) -> usize {
        self.get().len()
    }

    pub fn is_empty(&self) -> bool {
        self.get().is_empty()
    }

    /// Parsed on the first call, then cached.
    pub fn head(&self) -> &FragmentHead {
        self.0.head.get_or_init(|| FragmentHead::read(self.get()))
    }

    /// True when the block already contains a cache marker. Searched once, then cached.
    pub(crate) fn has_marker(&self) -> bool {
        let find = || memchr::memmem::find(self.get().as_bytes(), br#""cache_control""#).is_some();
        *self.0.marked.get_or_init(find)
    }

    /// True when both share one allocation, so the block is unchanged.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn object(&self) -> Option<RawObject> {
        RawObject::parse(self.get())
    }
}

impl From<Box<RawValue>> for Fragment {
    fn from(raw: Box<RawValue>) -> Self {
        Self::new(raw)
    }
}

impl AsRef<[u8]> for Fragment {
    fn as_ref(&self) -> &[u8] {
        self.get().as_bytes()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of the history.
#[derive(Clone, Debug)]
pub struct Message {
    pub role: Role,
    pub blocks: Vec<Fragment>,
    /// The model that wrote an assistant message: its thinking is only sent back to the same model.
    pub model: Option<Arc<str>>,
}

impl Message {
    pub fn user(blocks: Vec<Fragment>) -> Self {
        Self { role: Role::User, blocks, model: None }
    }

    pub fn user_text(text: &str) -> Self {
        Self::user(vec![Fragment::text(text)])
    }

    pub fn assistant(model: impl Into<Arc<str>>, blocks: Vec<Fragment>) -> Self {
        Self { role: Role::Assistant, blocks, model: Some(model.into()) }
    }

    /// Creates a message from API content: a string becomes one text block, an array its elements (compacted, otherwise
    /// unchanged). Anything else is kept as one block, which repair will drop.
    pub fn from_content(role: Role, content: &RawValue) -> Self {
        let json = content.get().trim_start();
        let blocks = if json.starts_with('"') {
            let text = wire::raw::compact(json).ok().and_then(|c| serde_json::from_str::<String>(c.get()).ok());
            vec![Fragment::text(&text.unwrap_or_default())]
        } else if json.starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            items.into_iter().filter_map(|item| wire::raw::compact(item.get()).ok()).map(Fragment::new).collect()
        } else {
            vec![Fragment::new(content.to_owned())]
        };
        Self { role, blocks, model: None }
    }
}
