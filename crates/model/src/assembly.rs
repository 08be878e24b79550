//! Assembles the events of one response into content blocks. A block becomes one compact fragment when it closes; its
//! keys keep the order of its start event. Parts that did not change are not serialised again.

use crate::error::{ErrorKind, ModelError};
use crate::event::{BlockDelta, EventKind, MessageDelta, ModelEvent};
use crate::object::{self, RawObject};
use crate::retry::ResponseProgress;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use wire::usage::Usage;

/// A finished block.
#[derive(Clone, Debug)]
pub struct ClosedBlock {
    pub index: u32,
    pub block: Box<RawValue>,
    pub kind: BlockKind,
    /// The input text of a tool call that is not a JSON object; the block then contains `{}` as input.
    pub malformed: Option<String>,
    /// A tool call without any input text: either complete, or cut off before its input began.
    bare_call: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    ServerToolUse,
    Other,
}

/// A block that has not ended yet.
#[derive(Debug)]
struct OpenBlock {
    index: u32,
    kind: BlockKind,
    start: RawObject,
    /// Text, thinking or compaction content so far.
    text: String,
    signature: String,
    input: String,
    citations: Vec<Box<RawValue>>,
    /// Which of the fields above were changed by a delta.
    touched: TouchedParts,
}

#[derive(Debug, Default)]
struct TouchedParts {
    text: bool,
    thinking: bool,
    compaction: bool,
    input: bool,
}

/// A response that is being received.
#[derive(Debug, Default)]
pub struct ResponseAssembly {
    pub id: String,
    pub model: String,
    pub usage: Usage,
    /// Usage as `message_start` reported it; assistant messages sent during the response contain it.
    pub start_usage: Option<Box<RawValue>>,
    pub stop_reason: Option<String>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Box<RawValue>>,
    pub context_management: Option<Box<RawValue>>,
    /// `message_stop` was seen.
    pub finished: bool,
    open: Vec<OpenBlock>,
    done: Vec<BlockRecord>,
}

/// Facts kept about a closed block.
#[derive(Clone, Copy, Debug)]
struct BlockRecord {
    index: u32,
    kind: BlockKind,
    suspect: bool,
}

impl ResponseAssembly {
    /// Adds one event; returns the block it closes, if any. Events for blocks that were never opened are ignored.
    pub fn push(&mut self, event: &ModelEvent) -> Option<ClosedBlock> {
        match &event.kind {
            EventKind::MessageStart { id, model, usage } => {
                self.id.clone_from(id);
                self.model.clone_from(model);
                if let Some(usage) = usage {
                    self.usage.absorb(usage);
                }
                self.start_usage.clone_from(usage);
                None
            }
            EventKind::BlockStart { index, block } => {
                self.open.retain(|o| o.index != *index);
                self.open.push(OpenBlock::new(*index, block));
                None
            }
            EventKind::Delta { index, delta } => {
                if let Some(open) = self.open.iter_mut().find(|o| o.index == *index) {
                    open.grow(delta);
                }
                None
            }
            EventKind::BlockStop { index } => {
                let at = self.open.iter().position(|o| o.index == *index)?;
                let open = self.open.remove(at);
                Some(self.close(open))
            }
            EventKind::MessageDelta(delta) => {
                self.stop(delta);
                None
            }
            EventKind::MessageStop => {
                self.finished = true;
                None
            }
            EventKind::Ping | EventKind::Unknown => None,
        }
    }

    /// The error if adding `event` now would lose a part of the answer; `None` when the event is acceptable.
    pub fn fault(&self, event: &ModelEvent) -> Option<ModelError> {
        let malformed = |message: String| Some(ModelError::new(ErrorKind::Malformed, message));
        match &event.kind {
            EventKind::Delta { delta: BlockDelta::Unknown, .. } => None,
            EventKind::Delta { index, .. } if !self.knows(*index) => {
                malformed(format!("the stream continued block {index} of the answer, which never began"))
            }
            EventKind::MessageDelta(delta) if delta.stop_reason.as_deref() == Some("tool_use") && !self.may_call() => {
                malformed("the answer ends with a call of a tool, and holds none".to_owned())
            }
            _ => None,
        }
    }

    fn knows(&self, index: u32) -> bool {
        self.open.iter().any(|o| o.index == index) || self.done.iter().any(|d| d.index == index)
    }

    /// True when some block is a call, or of a kind that may be one.
    fn may_call(&self) -> bool {
        let mut kinds = self.open.iter().map(|o| o.kind).chain(self.done.iter().map(|d| d.kind));
        kinds.any(|kind| !matches!(kind, BlockKind::Text | BlockKind::Thinking | BlockKind::RedactedThinking))
    }

    fn close(&mut self, open: OpenBlock) -> ClosedBlock {
        let closed = open.close();
        let suspect = closed.malformed.is_some() || closed.bare_call;
        self.done.push(BlockRecord { index: closed.index, kind: closed.kind, suspect });
        closed
    }

    fn stop(&mut self, delta: &MessageDelta) {
        fn take<T: Clone>(slot: &mut Option<T>, value: Option<&T>) {
            if let Some(value) = value {
                *slot = Some(value.clone());
            }
        }
        take(&mut self.stop_reason, delta.stop_reason.as_ref());
        take(&mut self.stop_sequence, delta.stop_sequence.as_ref());
        take(&mut self.stop_details, delta.stop_details.as_ref());
        take(&mut self.context_management, delta.context_management.as_ref());
        if let Some(usage) = &delta.usage {
            self.usage.absorb(usage);
        }
    }

    /// True when the open block with this index is the model's thinking.
    pub fn thinks(&self, index: u32) -> bool {
        let thinking = |kind| matches!(kind, BlockKind::Thinking | BlockKind::RedactedThinking);
        self.open.iter().any(|open| open.index == index && thinking(open.kind))
    }

    /// Index of the first block that has not ended yet.
    pub fn first_open(&self) -> Option<u32> {
        self.open.iter().map(|open| open.index).min()
    }

    /// Index of the first block that has begun.
    pub fn first_seen(&self) -> Option<u32> {
        self.done.iter().map(|done| done.index).chain(self.first_open()).min()
    }

    /// The text received so far of an unfinished text block; `None` when there is none.
    pub fn open_text(&self) -> Option<&str> {
        self.open.iter().find(|o| o.kind == BlockKind::Text).map(|o| o.text.as_str()).filter(|t| !t.is_empty())
    }

    /// Called after an interrupt or a broken stream: closes unfinished text with the content received so far.
    /// Unfinished thinking has no signature and unfinished calls have no complete input, so both are dropped.
    pub fn close_partial(&mut self) -> Vec<ClosedBlock> {
        let open = std::mem::take(&mut self.open);
        let kept = open.into_iter().filter(|o| o.kind == BlockKind::Text && !o.text.trim().is_empty());
        kept.map(|o| self.close(o)).collect()
    }

    /// Indices of calls that the output limit cut off; they must be discarded, never run. Empty unless the stop reason
    /// is `max_tokens`.
    pub fn cut_calls(&self) -> Vec<u32> {
        if self.stop_reason.as_deref() != Some("max_tokens") {
            return Vec::new();
        }
        // Only the last block can have been cut off; an earlier malformed one is a mistake of the model.
        let last = self.done.last().filter(|d| d.kind == BlockKind::ToolUse && d.suspect);
        last.map(|d| d.index).into_iter().collect()
    }

    /// How far the response had come, for the retry policy.
    pub fn progress(&self) -> ResponseProgress {
        if self.finished || self.stop_reason.is_some() {
            return ResponseProgress::Stopped;
        }
        let thinking = |kind: BlockKind| matches!(kind, BlockKind::Thinking | BlockKind::RedactedThinking);
        if self.done.iter().any(|d| !thinking(d.kind)) {
            return ResponseProgress::Completed;
        }
        if self.open.iter().any(|o| !thinking(o.kind)) {
            return ResponseProgress::Partial;
        }
        if !self.done.is_empty() || !self.open.is_empty() {
            return ResponseProgress::ThinkingOnly;
        }
        ResponseProgress::Nothing
    }
}

impl OpenBlock {
    fn new(index: u32, block: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct BlockStart<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        let kind = match serde_json::from_str::<BlockStart<'_>>(block.get()) {
            Ok(start) => match &*start.kind {
                "text" => BlockKind::Text,
                "thinking" => BlockKind::Thinking,
                "redacted_thinking" => BlockKind::RedactedThinking,
                "tool_use" => BlockKind::ToolUse,
                "server_tool_use" => BlockKind::ServerToolUse,
                _ => BlockKind::Other,
            },
            Err(_) => BlockKind::Other,
        };
        let start = RawObject::parse(block.get()).unwrap_or_default();
        let held = |key: &str| start.get(key).and_then(|v| serde_json::from_str::<String>(v.get()).ok());
        let text = match kind {
            BlockKind::Text => held("text"),
            BlockKind::Thinking => held("thinking"),
            _ => held("content"),
        };
        Self {
            index,
            kind,
            text: text.unwrap_or_default(),
            signature: held("signature").unwrap_or_default(),
            input: String::new(),
            citations: Vec::new(),
            touched: TouchedParts::default(),
            start,
        }
    }

    fn grow(&mut self, delta: &BlockDelta) {
        match delta {
            BlockDelta::Text(text) => {
                self.touched.text = true;
                self.text.push_str(text);
            }
            BlockDelta::Thinking { text, estimated_tokens: _ } => {
                self.touched.thinking = true;
                self.text.push_str(text);
            }
            BlockDelta::Compaction(text) => {
                self.touched.compaction = true;
                self.text.push_str(text);
            }
            BlockDelta::InputJson(text) => {
                self.touched.input = true;
                self.input.push_str(text);
            }
            BlockDelta::Signature(text) => self.signature.push_str(text),
            BlockDelta::Citation(citation) => self.citations.push(citation.clone()),
            BlockDelta::Unknown => {}
        }
    }

    fn close(mut self) -> ClosedBlock {
        let mut malformed = None;
        let mut bare_call = false;
        match self.kind {
            BlockKind::Text => self.start.set("text", object::string(&self.text)),
            BlockKind::Thinking => {
                // Omitted thinking is an empty but present text, and is sent back with its signature.
                self.start.set("thinking", object::string(&self.text));
                self.start.set("signature", object::string(&self.signature));
            }
            BlockKind::ToolUse | BlockKind::ServerToolUse => {
                bare_call = self.input.trim().is_empty();
                malformed = self.set_input();
            }
            BlockKind::RedactedThinking => {}
            BlockKind::Other => self.close_other(),
        }
        self.set_citations();
        ClosedBlock { index: self.index, block: self.start.to_raw(), kind: self.kind, malformed, bare_call }
    }

    /// Closes a block of an unknown kind: its start with all known deltas applied.
    fn close_other(&mut self) {
        if self.touched.text {
            self.start.set("text", object::string(&self.text));
        }
        if self.touched.thinking {
            self.start.set("thinking", object::string(&self.text));
        }
        if self.touched.compaction {
            self.start.set("content", object::string(&self.text));
        }
        if self.touched.input && self.set_input().is_some() {
            self.start.remove("input");
        }
    }

    /// Sets the `input` of the block; returns the input text when it is not a JSON object.
    fn set_input(&mut self) -> Option<String> {
        let empty = || object::raw("{}".to_owned());
        if self.input.trim().is_empty() {
            // Some servers send the complete input with the start.
            let sent = self.start.get("input").is_some_and(|v| v.get().starts_with('{'));
            if !sent {
                self.start.set("input", empty());
            }
            return None;
        }
        match wire::raw::compact(&self.input) {
            Ok(input) if input.get().starts_with('{') => {
                self.start.set("input", input);
                None
            }
            _ => {
                self.start.set("input", empty());
                Some(std::mem::take(&mut self.input))
            }
        }
    }

    fn set_citations(&mut self) {
        if self.start.get("citations").is_some_and(|v| v.get() == "null") {
            self.start.remove("citations");
        }
        if self.citations.is_empty() {
            return;
        }
        let held = self.start.get("citations").and_then(|v| serde_json::from_str::<Vec<Box<RawValue>>>(v.get()).ok());
        let mut all = held.unwrap_or_default();
        all.append(&mut self.citations);
        let list = all.iter().map(|c| c.get()).collect::<Vec<_>>().join(",");
        self.start.set("citations", object::raw(format!("[{list}]")));
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
