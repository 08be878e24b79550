//! Model answers as data, rendered in the form of the Messages API: a list of SSE events, or one JSON object for
//! requests that do not stream.

use serde_json::{Value, json};

/// One server-sent event. `data` is sent unchanged, so that it may be malformed.
#[derive(Clone, Debug)]
pub struct ScriptedEvent {
    pub name: Option<String>,
    pub data: String,
}

impl ScriptedEvent {
    /// An event named after the `type` of the value, as the API does it.
    pub fn json(value: &Value) -> Self {
        Self { name: value["type"].as_str().map(str::to_owned), data: value.to_string() }
    }

    pub fn raw(name: &str, data: &str) -> Self {
        Self { name: Some(name.to_owned()), data: data.to_owned() }
    }

    /// An error event inside a stream.
    pub fn error(kind: &str, message: &str) -> Self {
        Self::json(&json!({"type": "error", "error": {"type": kind, "message": message}}))
    }

    pub fn ping() -> Self {
        Self::json(&json!({"type": "ping"}))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let name = self.name.as_ref().map(|n| format!("event: {n}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data.replace('\n', "\ndata: ")).into_bytes()
    }
}

/// One content block of an answer.
#[derive(Clone, Debug)]
pub enum ScriptedBlock {
    Text(String),
    /// Streamed in the given pieces.
    TextPieces(Vec<String>),
    Thinking {
        text: String,
        signature: String,
    },
    Tool {
        id: Option<String>,
        name: String,
        /// Sent as the concatenated `input_json_delta`s; need not be valid JSON.
        input: String,
    },
    /// Any other block, sent complete in its `content_block_start`.
    Whole(Value),
}

impl ScriptedBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn tool(name: &str, input: &Value) -> Self {
        Self::Tool { id: None, name: name.to_owned(), input: input.to_string() }
    }

    pub fn tool_with_id(id: &str, name: &str, input: &Value) -> Self {
        Self::Tool { id: Some(id.to_owned()), name: name.to_owned(), input: input.to_string() }
    }

    pub fn thinking(text: &str, signature: &str) -> Self {
        Self::Thinking { text: text.to_owned(), signature: signature.to_owned() }
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct ScriptedMessage {
    pub id: Option<String>,
    pub model: Option<String>,
    pub blocks: Vec<ScriptedBlock>,
    /// `None`: `tool_use` if there is a tool block, otherwise `end_turn`.
    pub stop_reason: Option<String>,
    /// The `usage` of `message_start`; `message_delta` sends `output_tokens` again with its final value.
    pub usage: Value,
    pub final_usage: Value,
    /// Sends a `ping` after `message_start`, as the API does.
    pub ping: bool,
}

impl ScriptedMessage {
    pub fn new(blocks: Vec<ScriptedBlock>) -> Self {
        Self {
            id: None,
            model: None,
            blocks,
            stop_reason: None,
            usage: json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                          "output_tokens": 1, "service_tier": "standard"}),
            final_usage: json!({"output_tokens": 5}),
            ping: true,
        }
    }

    fn stop_reason(&self) -> &str {
        let has_tool = self.blocks.iter().any(|b| matches!(b, ScriptedBlock::Tool { .. }));
        self.stop_reason.as_deref().unwrap_or(if has_tool { "tool_use" } else { "end_turn" })
    }

    fn head(&self, number: usize, model: &str) -> Value {
        let id = self.id.clone().unwrap_or_else(|| format!("msg_test_{number:04}"));
        json!({"id": id, "type": "message", "role": "assistant", "model": self.model.as_deref().unwrap_or(model),
               "content": [], "stop_reason": null, "stop_sequence": null, "usage": self.usage})
    }

    /// The answer as stream events; `number` makes ids unique within a server.
    pub(crate) fn events(&self, number: usize, model: &str) -> Vec<ScriptedEvent> {
        let mut events =
            vec![ScriptedEvent::json(&json!({"type": "message_start", "message": self.head(number, model)}))];
        if self.ping {
            events.push(ScriptedEvent::ping());
        }
        for (index, block) in self.blocks.iter().enumerate() {
            block_events(block, index, &call_id(number, index), &mut events);
        }
        events.push(ScriptedEvent::json(&json!({"type": "message_delta",
            "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null}, "usage": self.final_usage})));
        events.push(ScriptedEvent::json(&json!({"type": "message_stop"})));
        events
    }

    /// The answer to a request without `stream`.
    pub(crate) fn whole(&self, number: usize, model: &str) -> Value {
        let mut message = self.head(number, model);
        let blocks = self.blocks.iter().enumerate().map(|(index, b)| whole_block(b, &call_id(number, index)));
        message["content"] = blocks.collect();
        message["stop_reason"] = json!(self.stop_reason());
        for (key, value) in self.final_usage.as_object().into_iter().flatten() {
            message["usage"][key] = value.clone();
        }
        message
    }
}

fn call_id(number: usize, index: usize) -> String {
    format!("toolu_test_{number:04}_{index}")
}

fn block_events(block: &ScriptedBlock, index: usize, call_id: &str, out: &mut Vec<ScriptedEvent>) {
    let delta = |kind: &str, key: &str, value: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: value}});
    let (start, deltas) = match block {
        ScriptedBlock::Text(text) => (json!({"type": "text", "text": ""}), vec![delta("text_delta", "text", text)]),
        ScriptedBlock::TextPieces(pieces) => {
            let deltas = pieces.iter().map(|p| delta("text_delta", "text", p)).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        ScriptedBlock::Thinking { text, signature } => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![delta("thinking_delta", "thinking", text), delta("signature_delta", "signature", signature)],
        ),
        ScriptedBlock::Tool { id, name, input } => {
            let id = id.as_deref().unwrap_or(call_id);
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            let (head, tail) = halves(input);
            let pieces = ["", head, tail];
            (start, pieces.iter().map(|p| delta("input_json_delta", "partial_json", p)).collect())
        }
        ScriptedBlock::Whole(value) => (value.clone(), Vec::new()),
    };
    out.push(ScriptedEvent::json(&json!({"type": "content_block_start", "index": index, "content_block": start})));
    out.extend(deltas.iter().map(ScriptedEvent::json));
    out.push(ScriptedEvent::json(&json!({"type": "content_block_stop", "index": index})));
}

/// Tool input is sent in pieces; two are enough to find a reader that parses too early.
fn halves(text: &str) -> (&str, &str) {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.split_at(middle)
}

fn whole_block(block: &ScriptedBlock, call_id: &str) -> Value {
    match block {
        ScriptedBlock::Text(text) => json!({"type": "text", "text": text}),
        ScriptedBlock::TextPieces(pieces) => json!({"type": "text", "text": pieces.concat()}),
        ScriptedBlock::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        ScriptedBlock::Tool { id, name, input } => {
            let input = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": id.as_deref().unwrap_or(call_id), "name": name, "input": input})
        }
        ScriptedBlock::Whole(value) => value.clone(),
    }
}
