//! The result of a call. Lenient: a block of an unknown kind is kept as JSON, a missing list counts as empty.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub content: Vec<ResultPart>,
    pub structured: Option<Value>,
    pub is_error: bool,
    /// `_meta` as received.
    pub meta: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResultPart {
    Text(String),
    /// `data` is base64.
    Image {
        mime: String,
        data: String,
    },
    Audio {
        mime: String,
        data: String,
    },
    Resource {
        uri: String,
        mime: Option<String>,
        body: ResourceBody,
    },
    /// A resource that was not included.
    Link {
        uri: String,
        name: String,
        mime: Option<String>,
        description: Option<String>,
    },
    Other(Value),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    Text(String),
    /// Base64.
    Blob(String),
}

impl CallResult {
    pub(crate) fn read(value: Value) -> Self {
        let Value::Object(mut fields) = value else {
            return Self { content: vec![ResultPart::Other(value)], structured: None, is_error: false, meta: None };
        };
        let content = match fields.shift_remove("content") {
            Some(Value::Array(parts)) => parts.into_iter().map(ResultPart::read).collect(),
            Some(Value::String(text)) => vec![ResultPart::Text(text)],
            Some(other) => vec![ResultPart::Other(other)],
            None => Vec::new(),
        };
        // Servers older than the content list used `toolResult`.
        let structured = fields.shift_remove("structuredContent").or_else(|| fields.shift_remove("toolResult"));
        let is_error = fields.get("isError") == Some(&Value::Bool(true));
        let meta = fields.shift_remove("_meta").filter(Value::is_object);
        Self { content, structured: structured.filter(|value| !value.is_null()), is_error, meta }
    }
}

impl ResultPart {
    pub(crate) fn read(value: Value) -> Self {
        let Some(fields) = value.as_object() else { return Self::Other(value) };
        let read = match fields.get("type").and_then(Value::as_str) {
            Some("text") => text(fields, "text").map(Self::Text),
            Some("image") => media(fields).map(|(mime, data)| Self::Image { mime, data }),
            Some("audio") => media(fields).map(|(mime, data)| Self::Audio { mime, data }),
            Some("resource") => fields.get("resource").and_then(Value::as_object).and_then(resource),
            Some("resource_link") => link(fields),
            _ => None,
        };
        read.unwrap_or(Self::Other(value))
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::to_owned)
}

fn media(fields: &Map<String, Value>) -> Option<(String, String)> {
    Some((text(fields, "mimeType")?, text(fields, "data")?))
}

fn link(fields: &Map<String, Value>) -> Option<ResultPart> {
    let uri = text(fields, "uri")?;
    Some(ResultPart::Link {
        name: text(fields, "name").unwrap_or_else(|| uri.clone()),
        uri,
        mime: text(fields, "mimeType"),
        description: text(fields, "description"),
    })
}

/// Reads one entry of `contents`, or the inner object of a `resource` block.
pub(crate) fn resource(fields: &Map<String, Value>) -> Option<ResultPart> {
    let body = match (text(fields, "text"), text(fields, "blob")) {
        (Some(body), _) => ResourceBody::Text(body),
        (None, Some(blob)) => ResourceBody::Blob(blob),
        (None, None) => return None,
    };
    Some(ResultPart::Resource { uri: text(fields, "uri")?, mime: text(fields, "mimeType"), body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_block_is_read_and_unknown_ones_are_kept() {
        let read = CallResult::read(json!({
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "mimeType": "image/png", "data": "AA=="},
                {"type": "resource", "resource": {"uri": "f://x", "text": "t"}},
                {"type": "resource_link", "uri": "f://y", "name": "y"},
                {"type": "hologram", "x": 1},
            ],
            "structuredContent": {"n": 1},
            "isError": true,
        }));
        assert_eq!(read.content.len(), 5);
        assert_eq!(read.content[4], ResultPart::Other(json!({"type": "hologram", "x": 1})));
        assert_eq!((read.structured, read.is_error), (Some(json!({"n": 1})), true));
        assert_eq!(CallResult::read(json!({})).content, []);
    }
}
