//! The few fields of a line that decide how it is handled. Reading is lenient: a field of an unexpected type is empty,
//! a repeated key takes its last value, and only a line that is not a JSON object is refused.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A string; `None` for any other JSON value.
#[derive(Clone, Debug, Default)]
pub(crate) struct LenientText<'a>(pub(crate) Option<Cow<'a, str>>);

impl LenientText<'_> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn boxed(&self) -> Option<Box<str>> {
        self.as_str().map(Into::into)
    }

    pub(crate) fn owned(&self) -> Option<String> {
        self.as_str().map(str::to_owned)
    }
}

/// True only for the JSON value `true`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LenientFlag(pub(crate) bool);

struct ScalarVisitor;

enum LenientScalar<'a> {
    Text(Cow<'a, str>),
    Bool(bool),
    Other,
}

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = LenientScalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(LenientScalar::Text(Cow::Borrowed(v)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(LenientScalar::Text(Cow::Owned(v.to_owned())))
    }

    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(LenientScalar::Bool(v))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LenientScalar::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(LenientScalar::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(LenientScalar::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(LenientScalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LenientScalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LenientScalar::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(ScalarVisitor)? {
            LenientScalar::Text(text) => Self(Some(text)),
            LenientScalar::Bool(_) | LenientScalar::Other => Self(None),
        })
    }
}

impl<'de> Deserialize<'de> for LenientFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(matches!(deserializer.deserialize_any(ScalarVisitor)?, LenientScalar::Bool(true))))
    }
}

/// Defines a struct that is read from a JSON object: known keys by name, all others skipped.
macro_rules! lenient {
    ($(#[$doc:meta])* $name:ident { $($field:ident : $type:ty = $key:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<'a> { $(pub(crate) $field: $type,)+ }

        impl<'de: 'a, 'a> Deserialize<'de> for $name<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> Visitor<'de> for Fields {
                    type Value = $name<'de>;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut out = $name::default();
                        while let Some(key) = map.next_key::<LenientText<'de>>()? {
                            match key.as_str() {
                                $(Some($key) => out.$field = map.next_value()?,)+
                                _ => { map.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}

lenient! {
    /// The fields of any line.
    LineHead {
        kind: LenientText<'a> = "type",
        subtype: LenientText<'a> = "subtype",
        uuid: LenientText<'a> = "uuid",
        parent: LenientText<'a> = "parentUuid",
        logical_parent: LenientText<'a> = "logicalParentUuid",
        session_id: LenientText<'a> = "sessionId",
        timestamp: LenientText<'a> = "timestamp",
        cwd: LenientText<'a> = "cwd",
        from: LenientText<'a> = "from",
        entrypoint: LenientText<'a> = "entrypoint",
        prompt_id: LenientText<'a> = "promptId",
        permission_mode: LenientText<'a> = "permissionMode",
        denial: LenientText<'a> = "toolDenialKind",
        session_kind: LenientText<'a> = "sessionKind",
        team_name: LenientText<'a> = "teamName",
        leaf_uuid: LenientText<'a> = "leafUuid",
        last_prompt: LenientText<'a> = "lastPrompt",
        custom_title: LenientText<'a> = "customTitle",
        ai_title: LenientText<'a> = "aiTitle",
        tag: LenientText<'a> = "tag",
        summary: LenientText<'a> = "summary",
        branch: LenientText<'a> = "gitBranch",
        slug: LenientText<'a> = "slug",
        is_sidechain: LenientFlag = "isSidechain",
        is_meta: LenientFlag = "isMeta",
        is_compact_summary: LenientFlag = "isCompactSummary",
        is_api_error: LenientFlag = "isApiErrorMessage",
        message: Option<&'a RawValue> = "message",
        attachment: Option<&'a RawValue> = "attachment",
        compact_metadata: Option<&'a RawValue> = "compactMetadata",
        boundary_uuid: LenientText<'a> = "boundaryUuid",
        replacements: Option<&'a RawValue> = "replacements",
        uuids: Option<&'a RawValue> = "uuids",
        forked_from: Option<&'a RawValue> = "forkedFrom",
        pr_url: LenientText<'a> = "prUrl",
    }
}

lenient! {
    /// The API message of a line, with unparsed content.
    LineMessageHead {
        content: Option<&'a RawValue> = "content",
    }
}

lenient! {
    /// The text fields of a content block or an attachment.
    LinePart {
        kind: LenientText<'a> = "type",
        text: LenientText<'a> = "text",
        content: Option<&'a RawValue> = "content",
        input: Option<&'a RawValue> = "input",
        prompt: Option<&'a RawValue> = "prompt",
        name: LenientText<'a> = "name",
        is_error: LenientFlag = "is_error",
    }
}

lenient! {
    /// The value of `forkedFrom`.
    ForkOrigin {
        session_id: LenientText<'a> = "sessionId",
    }
}

lenient! {
    /// The API message of a line.
    LineMessage {
        id: LenientText<'a> = "id",
        model: LenientText<'a> = "model",
        content: ContentBlocks<'a> = "content",
    }
}

lenient! {
    /// A content block.
    LineBlock {
        kind: LenientText<'a> = "type",
        id: LenientText<'a> = "id",
        tool_use_id: LenientText<'a> = "tool_use_id",
        text: LenientText<'a> = "text",
    }
}

lenient! {
    /// The value of `compactMetadata`.
    CompactFields {
        segment: Option<PreservedSegment> = "preservedSegment",
        messages: Option<PreservedList> = "preservedMessages",
        // Unused; gives the struct the lifetime that the macro expects.
        trigger: LenientText<'a> = "trigger",
    }
}

lenient! {
    /// The values that are replaced when a line is copied to another session.
    SessionFields {
        session_id: Option<&'a RawValue> = "sessionId",
        other_session_id: Option<&'a RawValue> = "session_id",
        parent: Option<&'a RawValue> = "parentUuid",
        forked_from: Option<&'a RawValue> = "forkedFrom",
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreservedSegment {
    pub(crate) head_uuid: String,
    pub(crate) anchor_uuid: String,
    pub(crate) tail_uuid: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreservedList {
    pub(crate) anchor_uuid: String,
    pub(crate) uuids: Vec<String>,
}

/// Message content: a plain string or blocks.
#[derive(Debug, Default)]
pub(crate) struct ContentBlocks<'a> {
    pub(crate) blocks: Vec<LineBlock<'a>>,
    pub(crate) text: Option<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentBlocks<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = ContentBlocks<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("message content")
            }

            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(ContentBlocks { blocks: Vec::new(), text: Some(Cow::Borrowed(v)) })
            }

            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(ContentBlocks { blocks: Vec::new(), text: Some(Cow::Owned(v.to_owned())) })
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(ContentBlocks::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(ContentBlocks { blocks, text: None })
            }
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

impl<'a> LineHead<'a> {
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        serde_json::from_str(text).ok()
    }

    /// A line of the conversation tree.
    pub(crate) fn is_node(&self) -> bool {
        let known = matches!(self.kind.as_str(), Some("user" | "assistant" | "system" | "attachment" | "progress"));
        known && self.uuid.as_str().is_some_and(|u| !u.is_empty())
    }

    /// Whether the line belongs to a conversation but nothing of it can be used: it has no kind, or it is a message
    /// without an id or without content.
    pub(crate) fn is_damaged(&self) -> bool {
        match self.kind.as_str() {
            None => true,
            Some("user" | "assistant") => !self.is_node() || !self.message.is_some_and(has_content),
            Some("attachment") => !self.is_node() || self.attachment.is_none(),
            Some(_) => false,
        }
    }

    /// A message of the user or the model in the main conversation.
    pub(crate) fn is_message(&self) -> bool {
        let said = matches!(self.kind.as_str(), Some("user" | "assistant"));
        said && self.message.is_some() && !self.is_sidechain.0 && !self.is_meta.0
    }
}

/// Whether the content of a message is a text or a list. Messages are most of a transcript's bytes, so the usual form
/// is recognised without parsing.
fn has_content(message: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct AnyContent<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    const KEY: &[u8] = b"\"content\":";
    let bytes = message.get().as_bytes();
    let value = memchr::memmem::find(bytes, KEY).and_then(|at| bytes.get(at + KEY.len()));
    let is_content = |first: Option<&u8>| matches!(first, Some(b'"' | b'['));
    bytes.first() == Some(&b'{')
        && (is_content(value)
            || serde_json::from_str(message.get())
                .is_ok_and(|found: AnyContent<'_>| is_content(found.content.get().as_bytes().first())))
}

/// Parses the message of a line; empty when it is not an object.
pub(crate) fn message(raw: &RawValue) -> LineMessage<'_> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_empty_one_field_only() {
        let line = br#"{"type":"user","uuid":"u","uuid":"v","cwd":null,"tag":{"a":[1]},"isMeta":1,"isSidechain":true,"sessionId":7,"session_id":"S","message":"odd"}"#;
        let head = LineHead::read(line).unwrap();
        assert_eq!(head.uuid.as_str(), Some("v"));
        assert!(head.cwd.as_str().is_none() && head.session_id.as_str().is_none());
        assert!(head.is_sidechain.0 && !head.is_meta.0);
        assert!(message(head.message.unwrap()).id.as_str().is_none());
        assert!(LineHead::read(b"[]").is_none());
        assert!(LineHead::read(b"{\"type\":").is_none());
    }
}
