//! A reply of the server to one request, and how its bytes are sent.

use crate::gate::ReplyGate;
use crate::message::{ScriptedBlock, ScriptedEvent, ScriptedMessage};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ScriptedReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: ReplyBody,
    pub(crate) shape: ReplyShape,
}

#[derive(Clone, Debug)]
pub(crate) enum ReplyBody {
    /// Sent as SSE or as one object, depending on the request.
    Message(Box<ScriptedMessage>),
    Sse(Vec<ScriptedEvent>),
    Bytes {
        content_type: String,
        bytes: Vec<u8>,
    },
    /// The connection is reset before the first byte.
    Reset,
    /// The request is read and never answered.
    Hang,
}

/// Faults and timing. Byte counts refer to the body before chunking.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyShape {
    pub(crate) delay: Option<Duration>,
    pub(crate) split: Option<usize>,
    pub(crate) pause: Option<Duration>,
    pub(crate) cut: Option<ReplyCut>,
    pub(crate) end: CutEnd,
    pub(crate) corrupt: Vec<ReplyCorruption>,
    pub(crate) gate: Option<ReplyGate>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ReplyCut {
    Bytes(usize),
    Events(usize),
}

/// How a cut reply ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CutEnd {
    /// The connection is closed without the final chunk.
    #[default]
    Close,
    /// The connection is reset.
    Reset,
    /// The connection stays open and silent.
    Stall,
    /// The body ends like a complete one.
    Clean,
}

#[derive(Clone, Debug)]
pub(crate) enum ReplyCorruption {
    Byte(usize),
    Event(usize, String),
}

impl ScriptedReply {
    fn new(status: u16, body: ReplyBody) -> Self {
        Self { status, headers: Vec::new(), body, shape: ReplyShape::default() }
    }

    /// A message with one text block and stop reason `end_turn`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(vec![ScriptedBlock::text(text)])
    }

    /// A message with one tool call and stop reason `tool_use`.
    #[expect(clippy::needless_pass_by_value, reason = "reads as json!({..}) at the call site")]
    pub fn tool(name: &str, input: Value) -> Self {
        Self::message(vec![ScriptedBlock::tool(name, &input)])
    }

    /// A message with any blocks: parallel calls, thinking, text.
    pub fn message(blocks: Vec<ScriptedBlock>) -> Self {
        Self::new(200, ReplyBody::Message(Box::new(ScriptedMessage::new(blocks))))
    }

    /// Raw events, sent unchanged.
    pub fn sse(events: Vec<ScriptedEvent>) -> Self {
        Self::new(200, ReplyBody::Sse(events))
    }

    /// The events of a message, for tests that edit them.
    pub fn events(blocks: Vec<ScriptedBlock>) -> Vec<ScriptedEvent> {
        ScriptedMessage::new(blocks).events(0, "claude-test")
    }

    /// A status with an empty JSON object; add a body with `json` or `error`.
    pub fn status(status: u16) -> Self {
        Self::new(status, ReplyBody::Bytes { content_type: "application/json".into(), bytes: b"{}".to_vec() })
    }

    /// The API's error envelope.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::status(status).json(&json!({"type": "error", "error": {"type": kind, "message": message}}))
    }

    /// Resets the connection before the first byte.
    pub fn reset() -> Self {
        Self::new(200, ReplyBody::Reset)
    }

    /// Never answers; the connection stays open until the client closes it.
    pub fn hang() -> Self {
        Self::new(200, ReplyBody::Hang)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.body("application/json", value.to_string())
    }

    #[must_use]
    pub fn body(mut self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = ReplyBody::Bytes { content_type: content_type.to_owned(), bytes: bytes.into() };
        self
    }

    #[must_use]
    pub fn stop_reason(self, reason: &str) -> Self {
        self.edit(|m| m.stop_reason = Some(reason.to_owned()))
    }

    /// Sets the input and output tokens of this answer.
    #[must_use]
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.edit(|m| {
            m.usage["input_tokens"] = json!(input);
            m.final_usage = json!({"output_tokens": output});
        })
    }

    /// Sets the complete `usage` of `message_start`, and that of `message_delta`.
    #[must_use]
    pub fn usage(self, start: Value, last: Value) -> Self {
        self.edit(|m| {
            m.usage = start;
            m.final_usage = last;
        })
    }

    #[must_use]
    pub fn message_id(self, id: &str) -> Self {
        self.edit(|m| m.id = Some(id.to_owned()))
    }

    #[must_use]
    pub fn model(self, model: &str) -> Self {
        self.edit(|m| m.model = Some(model.to_owned()))
    }

    fn edit(mut self, change: impl FnOnce(&mut ScriptedMessage)) -> Self {
        let ReplyBody::Message(message) = &mut self.body else { panic!("only message replies have this property") };
        change(message);
        self
    }

    /// Ends the connection after this many body bytes.
    #[must_use]
    pub fn cut_after_bytes(mut self, bytes: usize) -> Self {
        self.shape.cut = Some(ReplyCut::Bytes(bytes));
        self
    }

    /// Ends the connection after this many events.
    #[must_use]
    pub fn cut_after_events(mut self, events: usize) -> Self {
        self.shape.cut = Some(ReplyCut::Events(events));
        self
    }

    /// Makes a cut reply reset the connection instead of closing it.
    #[must_use]
    pub fn cut_by_reset(mut self) -> Self {
        self.shape.end = CutEnd::Reset;
        self
    }

    /// Makes a cut reply stop sending with the connection open.
    #[must_use]
    pub fn cut_by_stall(mut self) -> Self {
        self.shape.end = CutEnd::Stall;
        self
    }

    /// Makes a cut reply end its body properly: only events are missing.
    #[must_use]
    pub fn cut_cleanly(mut self) -> Self {
        self.shape.end = CutEnd::Clean;
        self
    }

    /// Sends the body in writes of `bytes` bytes, even if they cut through characters or events.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.shape.split = Some(bytes.max(1));
        self
    }

    /// Sends one byte at a time.
    #[must_use]
    pub fn drip(self) -> Self {
        self.split_every(1)
    }

    /// Waits before the status line.
    #[must_use]
    pub fn delay(mut self, wait: Duration) -> Self {
        self.shape.delay = Some(wait);
        self
    }

    /// Waits between writes.
    #[must_use]
    pub fn pause(mut self, wait: Duration) -> Self {
        self.shape.pause = Some(wait);
        self
    }

    /// Flips the body byte at this offset.
    #[must_use]
    pub fn corrupt_byte(mut self, at: usize) -> Self {
        self.shape.corrupt.push(ReplyCorruption::Byte(at));
        self
    }

    /// Replaces the data of the event with this index.
    #[must_use]
    pub fn corrupt_event(mut self, index: usize, data: &str) -> Self {
        self.shape.corrupt.push(ReplyCorruption::Event(index, data.to_owned()));
        self
    }

    /// Makes each event (or, with `split_every`, each piece) wait for the gate. The status line does not wait.
    #[must_use]
    pub fn gate(mut self, gate: &ReplyGate) -> Self {
        self.shape.gate = Some(gate.clone());
        self
    }
}
