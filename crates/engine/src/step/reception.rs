//! A response while it arrives: what was sent to the host, what is recorded, and what still waits.

use crate::session::SessionIo;
use model::assembly::BlockKind;
use model::{BlockDelta, ClosedBlock, EventKind, Fragment, ModelEvent, ModelRequest, ResponseAssembly, RetryVerdict};
use serde_json::value::RawValue;
use session_parts::call_ids::CallIdClaim;
use session_parts::command::{Event, ScreenEvent};
use session_parts::tool_use::ToolUse;
use session_parts::transcript_writer::AssistantLine;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::block::BlockHead;
use wire::entry::{Attribution, BlockMarks};
use wire::sdk::{AbandonedBlocks, AssistantMessage, SdkMessage, StreamEvent as HostEvent, SystemBody, ToolUseMeta};

/// How long lines wait for the final usage before they are written with what is known.
const MAX_WRITE_DELAY: Duration = Duration::from_secs(5);

/// The request that the response answers.
pub(super) struct SentRequest {
    pub model: String,
    pub effort: Option<&'static str>,
    /// How much of the thinking was requested.
    pub display: Option<Arc<str>>,
    pub at: std::time::Instant,
    /// The shown blocks of an answer that this one replaces.
    pub instead_of: Option<AbandonedBlocks>,
}

pub(super) struct ResponseReception {
    pub assembly: ResponseAssembly,
    pub request_id: Option<String>,
    pub call_ids: CallIdClaim,
    /// Content of the answer was sent to the host.
    pub has_output_started: bool,
    asked: SentRequest,
    request: Arc<ModelRequest>,
    /// `assembly.id`, shared by all events.
    message_id: Option<Arc<str>>,
    /// Index and start time of each thinking block.
    thinking: Vec<(u32, Instant)>,
    blocks: Vec<ReceivedBlock>,
    /// How many of `blocks` are in the transcript.
    written: usize,
    deadline: Option<Instant>,
    /// The token of the turn, for hooks.
    token: CancellationToken,
}

struct ReceivedBlock {
    closed: ClosedBlock,
    uuid: String,
    timestamp: String,
    aborted: bool,
    /// How long a thinking block took, in milliseconds; `None` for other blocks.
    thought_ms: Option<u64>,
    /// Sent to the host. A call with unreadable input is held back until it is known whether the output limit cut it.
    is_sent: bool,
}

impl ResponseReception {
    pub(super) fn new(
        (asked, request): (SentRequest, Arc<ModelRequest>),
        token: CancellationToken,
        call_ids: CallIdClaim,
    ) -> Self {
        Self {
            request,
            assembly: ResponseAssembly::default(),
            request_id: None,
            call_ids,
            has_output_started: false,
            asked,
            message_id: None,
            thinking: Vec::new(),
            blocks: Vec::new(),
            written: 0,
            deadline: None,
            token,
        }
    }

    /// The request that this answers.
    pub(super) fn request(&self) -> &Arc<ModelRequest> {
        &self.request
    }

    /// Resolves when the waiting lines must be written; never while there are none.
    pub(super) async fn overdue(&self) {
        match self.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    pub(super) async fn take(&mut self, event: &ModelEvent, io: &mut SessionIo) -> Result<(), StoreError> {
        if let Some(closed) = self.assembly.push(event) {
            self.close(closed, BlockAborted::No, io).await;
        }
        match event.kind {
            EventKind::MessageStart { .. } => self.message_id = Some(Arc::from(self.assembly.id.as_str())),
            EventKind::BlockStart { index, .. } if self.assembly.thinks(index) => {
                self.thinking.push((index, Instant::now()));
            }
            _ => {}
        }
        let is_text = matches!(event.kind, EventKind::Delta { delta: BlockDelta::Text(_), .. });
        let waits = io.output.flags.has_screen && is_text && io.watches_display();
        if io.output.flags.partial_messages && !waits && !matches!(event.kind, EventKind::Ping) {
            self.has_output_started |= matches!(event.kind, EventKind::BlockStart { .. } | EventKind::Delta { .. });
            let told = self.host_event(event, io);
            io.output.host.send(SdkMessage::StreamEvent(told)).await;
        }
        // The stop reason arrives with the final usage: the lines can be written.
        if matches!(event.kind, EventKind::MessageDelta(_)) && self.assembly.stop_reason.is_some() {
            self.finish(io).await?;
        }
        Ok(())
    }

    /// Handles a closed block: it is sent to the host between its last delta and its stop event.
    async fn close(&mut self, closed: ClosedBlock, aborted: BlockAborted, io: &SessionIo) {
        if closed.kind == BlockKind::Thinking {
            let estimated = (closed.block.get().len() / 4) as u64;
            let body = SystemBody::ThinkingTokens { estimated_tokens: estimated, estimated_tokens_delta: estimated };
            io.output.host.system(body).await;
        }
        let told = closed.malformed.is_none();
        let began = self.thinking.iter().find(|(index, _)| *index == closed.index);
        let received = ReceivedBlock {
            thought_ms: began.map(|(_, at)| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            closed,
            uuid: sys::id::uuid(),
            timestamp: sys::clock::now_iso(),
            aborted: aborted == BlockAborted::Yes,
            is_sent: told,
        };
        if told {
            self.display(&received, io).await;
            self.send_block(&received, io).await;
            self.has_output_started = true;
        }
        self.blocks.push(received);
        self.deadline.get_or_insert_with(|| Instant::now() + MAX_WRITE_DELAY);
    }

    /// Closes the unfinished text of an interrupted response.
    pub(super) async fn close_partial(&mut self, io: &SessionIo) {
        for closed in self.assembly.close_partial() {
            self.close(closed, BlockAborted::Yes, io).await;
        }
    }

    /// Hooks may replace the displayed text; the transcript and the model keep the original.
    async fn display(&self, received: &ReceivedBlock, io: &SessionIo) {
        let Some(BlockHead::Text(text)) = BlockHead::read(&received.closed.block) else { return };
        if let Some(shown) = io.replace_display(&received.uuid, &text, &self.token).await
            && io.output.flags.has_screen
        {
            io.output.host.event(Event::Aside(ScreenEvent::Display(shown))).await;
        }
    }

    async fn send_block(&self, received: &ReceivedBlock, io: &SessionIo) {
        let usage = self.assembly.start_usage.as_deref().map_or("{}", RawValue::get);
        let message = self.message(&received.closed.block, None, usage);
        let (session_id, uuid) = (io.output.host.session_id.clone(), received.uuid.clone());
        let frame = AssistantMessage {
            request_id: self.request_id.clone(),
            aborted: received.aborted,
            thinking_duration_ms: received.thought_ms,
            thinking_display: received.thought_ms.and(self.asked.display.clone()),
            tool_use_meta: shown_calls(received, io),
            ..AssistantMessage::new(message, session_id, uuid, received.timestamp.clone())
        };
        io.output.host.send(SdkMessage::Assistant(Box::new(frame))).await;
    }

    /// Drops calls that the output limit cut, sends blocks that were held back, and writes the remaining lines.
    pub(super) async fn finish(&mut self, io: &mut SessionIo) -> Result<(), StoreError> {
        let cut = self.assembly.cut_calls();
        self.blocks.retain(|b| !cut.contains(&b.closed.index) || b.is_sent);
        for i in 0..self.blocks.len() {
            if !self.blocks[i].is_sent {
                self.send_block(&self.blocks[i], io).await;
                self.blocks[i].is_sent = true;
            }
        }
        self.write(io)
    }

    /// Writes all waiting lines at once, with the usage known now.
    pub(super) fn write(&mut self, io: &mut SessionIo) -> Result<(), StoreError> {
        self.deadline = None;
        let usage = wire::raw::to_line(&self.assembly.usage).unwrap_or_else(|_| "{}".into());
        let last = self.blocks.len().saturating_sub(1);
        let lines: Vec<AssistantLine> = self.blocks[self.written..]
            .iter()
            .enumerate()
            .map(|(i, block)| {
                let stop = (self.written + i == last).then_some(self.assembly.stop_reason.as_deref()).flatten();
                self.line(block, stop, &usage, io)
            })
            .collect();
        self.written = self.blocks.len();
        if lines.is_empty() { Ok(()) } else { io.output.transcript.assistant(lines) }
    }

    fn line(&self, received: &ReceivedBlock, stop: Option<&str>, usage: &str, io: &SessionIo) -> AssistantLine {
        let called = called(received);
        let server = called.as_ref().and_then(|(_, name)| wire::names::mcp_parts(name));
        AssistantLine {
            block: Some(BlockMarks {
                api_block_index: received.closed.index,
                requested_model: self.asked.model.clone(),
                thinking_duration_ms: received.thought_ms,
            }),
            attribution: Attribution {
                skill: io.knowledge.skills.active().map(str::to_owned),
                agent: io.hooks.speaks_as(),
                mcp_server: server.map(|(server, _)| server.to_owned()),
                mcp_tool: server.map(|(_, tool)| tool.to_owned()),
            },
            message: self.message(&received.closed.block, stop, usage),
            uuid: received.uuid.clone(),
            timestamp: received.timestamp.clone(),
            request_id: self.request_id.clone(),
            effort: self.asked.effort,
            error: None,
            aborted: received.aborted,
        }
    }

    /// The API message with this one block. The block has the bytes that later requests will contain.
    fn message(&self, block: &RawValue, stop: Option<&str>, usage: &str) -> Box<RawValue> {
        let quote = |text: &str| wire::raw::to_line(text).unwrap_or_else(|_| "\"\"".into());
        let optional = |text: Option<&str>| text.map_or("null".into(), quote);
        let sequence = stop.and(self.assembly.stop_sequence.as_deref());
        let raw =
            |value: &Option<Box<RawValue>>| value.as_ref().map_or_else(|| "null".to_owned(), |v| v.get().to_owned());
        let details = stop.and(self.assembly.stop_details.as_ref());
        let details = details.map_or_else(String::new, |details| format!(r#","stop_details":{}"#, details.get()));
        let text = format!(
            r#"{{"id":{},"type":"message","role":"assistant","model":{},"content":[{}],"stop_reason":{},"stop_sequence":{}{details},"usage":{usage},"context_management":{}}}"#,
            quote(&self.assembly.id),
            quote(&self.assembly.model),
            block.get(),
            optional(stop),
            optional(sequence),
            raw(&self.assembly.context_management),
        );
        RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// The blocks that the host was shown and that the next answer replaces; `None` when there are none.
    pub(super) fn abandoned(&self, verdict: &RetryVerdict, io: &SessionIo) -> Option<AbandonedBlocks> {
        let api_message_id = self.message_id.clone().filter(|_| io.output.flags.partial_messages)?;
        let from_block_index = match verdict {
            RetryVerdict::Complete => return None,
            RetryVerdict::KeepCompleted => self.assembly.first_open()?,
            _ => self.assembly.first_seen()?,
        };
        Some(AbandonedBlocks { api_message_id, from_block_index })
    }

    fn host_event(&mut self, event: &ModelEvent, io: &SessionIo) -> HostEvent {
        let is_first = matches!(event.kind, EventKind::MessageStart { .. });
        HostEvent {
            kind: "stream_event",
            event: Arc::clone(&event.raw),
            session_id: io.output.host.session_id.clone(),
            parent_tool_use_id: None,
            uuid: sys::id::uuid(),
            ttft_ms: is_first.then(|| u64::try_from(self.asked.at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            api_message_id: self.message_id.clone(),
            thinking_display: self.asked.display.clone().filter(|_| is_first),
            abandoned_blocks: if is_first { self.asked.instead_of.take() } else { None },
        }
    }

    /// The model that answered; `asked` when the response does not name one.
    pub(super) fn model(&self, asked: &str) -> String {
        if self.assembly.model.is_empty() { asked.to_owned() } else { self.assembly.model.clone() }
    }

    /// All text of the response.
    pub(super) fn text(&self) -> String {
        let texts: Vec<String> = self
            .blocks
            .iter()
            .filter_map(|b| match BlockHead::read(&b.closed.block)? {
                BlockHead::Text(text) => Some(text.into_owned()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    pub(super) fn calls(&self) -> Vec<ToolUse> {
        self.blocks.iter().filter(|b| b.closed.kind == BlockKind::ToolUse).filter_map(call).collect()
    }

    /// The uuids of the transcript lines of the blocks.
    pub(super) fn line_uuids(&self) -> Vec<String> {
        self.blocks.iter().map(|b| b.uuid.clone()).collect()
    }

    pub(super) fn into_blocks(self) -> Vec<Fragment> {
        self.blocks.into_iter().map(|b| Fragment::new(b.closed.block)).collect()
    }
}

/// Whether the event contains content, for the time to the first token.
pub(super) fn has_content(event: &ModelEvent) -> bool {
    matches!(event.kind, EventKind::Delta { .. })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockAborted {
    No,
    Yes,
}

fn call(received: &ReceivedBlock) -> Option<ToolUse> {
    let BlockHead::ToolUse { id, name, input } = BlockHead::read(&received.closed.block)? else { return None };
    Some(ToolUse {
        assistant_uuid: received.uuid.clone(),
        malformed: received.closed.malformed.clone(),
        ..ToolUse::new(id, name, input.to_owned())
    })
}

/// Id and name of the call in a block.
fn called(received: &ReceivedBlock) -> Option<(String, String)> {
    if received.closed.kind != BlockKind::ToolUse {
        return None;
    }
    match BlockHead::read(&received.closed.block)? {
        BlockHead::ToolUse { id, name, .. } => Some((id.into_owned(), name.into_owned())),
        _ => None,
    }
}

fn shown_calls(received: &ReceivedBlock, io: &SessionIo) -> Vec<ToolUseMeta> {
    let Some((id, tool_name)) = called(received) else { return Vec::new() };
    let tool = io.tooling.registry.find(&tool_name);
    let title = tool.and_then(|tool| tool.title().map(str::to_owned));
    let server = wire::names::mcp_parts(&tool_name);
    let display_name = title.unwrap_or_else(|| server.map_or_else(|| tool_name.clone(), |(_, tool)| titled(tool)));
    vec![ToolUseMeta { id, display_name, server_display_name: server.map(|(server, _)| server.to_owned()), tool_name }]
}

/// `send_email` becomes `Send Email`.
fn titled(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    name.split(['_', '-', '.']).filter(|part| !part.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}
