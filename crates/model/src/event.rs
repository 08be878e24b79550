//! One event of a Messages stream: its compact JSON, for hosts that want it unchanged, and its parsed content. Unknown
//! events and deltas are kept and passed on; they are not an error.

use crate::error::{ErrorKind, ModelError};
use crate::object::{self, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct ModelEvent {
    /// The event's compact JSON, otherwise as the server sent it.
    pub raw: Arc<RawValue>,
    pub kind: EventKind,
}

#[derive(Clone, Debug)]
pub enum EventKind {
    MessageStart {
        id: String,
        model: String,
        /// The `usage` object.
        usage: Option<Box<RawValue>>,
    },
    BlockStart {
        index: u32,
        /// The `content_block` object.
        block: Box<RawValue>,
    },
    Delta {
        index: u32,
        delta: BlockDelta,
    },
    BlockStop {
        index: u32,
    },
    MessageDelta(Box<MessageDelta>),
    MessageStop,
    Ping,
    Unknown,
}

#[derive(Clone, Debug)]
pub enum BlockDelta {
    Text(String),
    InputJson(String),
    Thinking {
        text: String,
        /// Sent while the text is omitted.
        estimated_tokens: Option<u64>,
    },
    Signature(String),
    Citation(Box<RawValue>),
    Compaction(String),
    Unknown,
}

#[derive(Clone, Debug, Default)]
pub struct MessageDelta {
    pub stop_reason: Option<String>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Box<RawValue>>,
    pub context_management: Option<Box<RawValue>>,
    /// Cumulative for the response.
    pub usage: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct EventEnvelope<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context_management: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageStartFields<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// How the most frequent event begins.
const DELTA_START: &str = r#"{"type":"content_block_delta","#;

/// The most frequent event, read in one pass.
#[derive(Deserialize)]
struct DeltaEnvelope<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow)]
    delta: RawDelta<'a>,
}

#[derive(Deserialize)]
struct RawDelta<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    estimated_tokens: Option<u64>,
    signature: Option<String>,
    #[serde(borrow, default)]
    citation: Option<&'a RawValue>,
    #[serde(default)]
    content: Option<String>,
}

#[derive(Deserialize)]
struct StopFields<'a> {
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    #[serde(borrow, default)]
    stop_details: Option<&'a RawValue>,
}

/// The start of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall {
    /// Empty when the server sent none.
    pub id: Box<str>,
}

impl ModelEvent {
    /// The call that this event starts; `None` when it starts none.
    pub fn started_call(&self) -> Option<StartedCall> {
        #[derive(Deserialize)]
        struct CallStartFields<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            #[serde(borrow, default)]
            id: Option<Cow<'a, str>>,
        }
        let EventKind::BlockStart { block, .. } = &self.kind else { return None };
        let start: CallStartFields<'_> = serde_json::from_str(block.get()).ok()?;
        (start.kind == "tool_use").then(|| StartedCall { id: start.id.unwrap_or_default().into() })
    }

    /// The same start of a call with another id.
    #[must_use]
    pub fn with_call_id(self, id: &str) -> Self {
        let EventKind::BlockStart { index, block } = &self.kind else { return self };
        let (Some(mut start), Some(mut whole)) = (RawObject::parse(block.get()), RawObject::parse(self.raw.get()))
        else {
            return self;
        };
        start.set("id", object::string(id));
        let block = start.to_raw();
        whole.set("content_block", block.clone());
        Self { raw: whole.to_raw().into(), kind: EventKind::BlockStart { index: *index, block } }
    }

    /// `name` is the SSE event name, which may be missing or wrong: the `type` in the JSON decides.
    pub fn parse(name: &str, data: &str) -> Result<Self, ModelError> {
        let raw = wire::raw::compact(data).map_err(|e| malformed(&e, data))?;
        if let Some(kind) = read_plain_delta(raw.get()) {
            return Ok(Self { raw: raw.into(), kind });
        }
        let envelope = match serde_json::from_str::<EventEnvelope<'_>>(raw.get()) {
            Ok(envelope) => envelope,
            // A future event may use known field names for other things.
            Err(_) if !is_known(raw.get()) => return Ok(Self { raw: raw.into(), kind: EventKind::Unknown }),
            Err(e) => return Err(malformed(&e, data)),
        };
        let kind = envelope.kind.as_deref().unwrap_or(name);
        if kind == "error" || (envelope.kind.is_none() && envelope.error.is_some()) {
            return Err(ModelError::from_event(raw.get()));
        }
        let kind = envelope.read(kind).map_err(|e| malformed(&e, data))?;
        Ok(Self { raw: raw.into(), kind })
    }
}

/// A delta whose fields are as expected. Any other event is `None` and read step by step.
fn read_plain_delta(json: &str) -> Option<EventKind> {
    if !json.starts_with(DELTA_START) {
        return None;
    }
    let envelope: DeltaEnvelope<'_> = serde_json::from_str(json).ok()?;
    Some(EventKind::Delta { index: envelope.index.unwrap_or(0), delta: BlockDelta::of(envelope.delta) })
}

impl EventEnvelope<'_> {
    fn read(&self, kind: &str) -> Result<EventKind, serde_json::Error> {
        let index = self.index.unwrap_or(0);
        Ok(match kind {
            "content_block_delta" => match self.delta {
                Some(delta) => EventKind::Delta { index, delta: BlockDelta::read(delta)? },
                None => EventKind::Unknown,
            },
            "content_block_start" => match self.content_block {
                Some(block) => EventKind::BlockStart { index, block: block.to_owned() },
                None => EventKind::Unknown,
            },
            "content_block_stop" => EventKind::BlockStop { index },
            "message_start" => self.started()?,
            "message_delta" => EventKind::MessageDelta(Box::new(self.stopped()?)),
            "message_stop" => EventKind::MessageStop,
            "ping" => EventKind::Ping,
            _ => EventKind::Unknown,
        })
    }

    fn started(&self) -> Result<EventKind, serde_json::Error> {
        let Some(message) = self.message else { return Ok(EventKind::Unknown) };
        let s: MessageStartFields<'_> = serde_json::from_str(message.get())?;
        Ok(EventKind::MessageStart {
            id: s.id.unwrap_or_default(),
            model: s.model.unwrap_or_default(),
            usage: s.usage.map(ToOwned::to_owned),
        })
    }

    fn stopped(&self) -> Result<MessageDelta, serde_json::Error> {
        let mut out = MessageDelta {
            usage: present(self.usage),
            context_management: present(self.context_management),
            ..MessageDelta::default()
        };
        if let Some(delta) = self.delta {
            let s: StopFields<'_> = serde_json::from_str(delta.get())?;
            out.stop_reason = s.stop_reason;
            out.stop_sequence = s.stop_sequence;
            out.stop_details = present(s.stop_details);
        }
        Ok(out)
    }
}

fn present(value: Option<&RawValue>) -> Option<Box<RawValue>> {
    value.filter(|v| v.get() != "null").map(ToOwned::to_owned)
}

impl BlockDelta {
    fn read(delta: &RawValue) -> Result<Self, serde_json::Error> {
        match serde_json::from_str(delta.get()) {
            Ok(fields) => Ok(Self::of(fields)),
            Err(_) if !is_known(delta.get()) => Ok(Self::Unknown),
            Err(e) => Err(e),
        }
    }

    fn of(d: RawDelta<'_>) -> Self {
        match &*d.kind {
            "text_delta" => Self::Text(d.text.unwrap_or_default()),
            "input_json_delta" => Self::InputJson(d.partial_json.unwrap_or_default()),
            "thinking_delta" => {
                Self::Thinking { text: d.thinking.unwrap_or_default(), estimated_tokens: d.estimated_tokens }
            }
            "signature_delta" => Self::Signature(d.signature.unwrap_or_default()),
            "citations_delta" => d.citation.map_or(Self::Unknown, |citation| Self::Citation(citation.to_owned())),
            "compaction_delta" => Self::Compaction(d.content.unwrap_or_default()),
            _ => Self::Unknown,
        }
    }
}

/// True when the JSON's `type` is one whose fields are used here.
fn is_known(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    const KNOWN: &[&str] = &[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "text_delta",
        "input_json_delta",
        "thinking_delta",
        "signature_delta",
        "citations_delta",
        "compaction_delta",
    ];
    serde_json::from_str::<Kind<'_>>(json).is_ok_and(|k| KNOWN.contains(&&*k.kind))
}

fn malformed(error: &serde_json::Error, data: &str) -> ModelError {
    let shown: String = data.chars().take(120).collect();
    ModelError::new(ErrorKind::Malformed, format!("the stream sent an event that is not valid ({error}): {shown}"))
}
