//! stream-json input: one JSON object per line, of any length. A line that is not a JSON object ends the run; an
//! object of an unknown type is ignored.

use crate::turns::TurnCounter;
use engine::{Command, CommandSender, Prompt, PromptPriority};
use serde_json::value::RawValue;
use std::io::BufRead;
use std::sync::Arc;
use tokio::sync::oneshot;
use wire::control::{ControlResponse, HostReply, HostRequest, InboundLine, codec};

/// An invalid input line, which ends the run. It records the kind of error and the length in bytes, never the content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub(crate) kind: &'static str,
    pub(crate) length: usize,
}

impl std::fmt::Display for BadLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, length } = self;
        write!(
            f,
            "Error: a line on stdin is not a JSON object ({kind}, {length} bytes); stream-json input needs one object per line"
        )
    }
}

/// The meaning of one input line.
#[derive(Debug)]
pub(crate) enum InputFrame {
    Prompt(Prompt),
    Request {
        id: String,
        request: HostRequest,
    },
    /// The host answers a question of the session.
    Reply(HostReply),
    /// The host withdraws a request.
    Withdraw {
        id: String,
    },
    /// A control request with an id but without a `request` object; it is answered with an error at once.
    Malformed {
        request_id: String,
    },
    Nothing,
}

pub(crate) fn read_frame(line: &[u8]) -> Result<InputFrame, BadLine> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(InputFrame::Nothing);
    }
    let bad = |kind| BadLine { kind, length: line.len() };
    let text = std::str::from_utf8(line).map_err(|_| bad("not UTF-8"))?;
    let Ok(inbound) = serde_json::from_str::<InboundLine<'_>>(text) else {
        // A valid object with a field of an unexpected type is ignored; it is not a syntax error.
        return match serde_json::from_str::<&RawValue>(text) {
            Ok(_) if text.starts_with('{') => Ok(InputFrame::Nothing),
            Ok(_) => Err(bad("not an object")),
            Err(_) => Err(bad("syntax error")),
        };
    };
    if !text.starts_with('{') {
        return Err(bad("not an object"));
    }
    Ok(frame(inbound))
}

fn frame(inbound: InboundLine<'_>) -> InputFrame {
    match (inbound.kind.as_str(), inbound.request_id, inbound.request) {
        ("control_request", Some(request_id), Some(request)) => {
            InputFrame::Request { id: request_id, request: HostRequest::read(request.get()) }
        }
        ("control_request", Some(request_id), None) => InputFrame::Malformed { request_id },
        ("control_response", request_id, _) => {
            let reply = inbound.response.and_then(|response| HostReply::read(response, request_id));
            reply.map_or(InputFrame::Nothing, InputFrame::Reply)
        }
        ("control_cancel_request", Some(id), _) => InputFrame::Withdraw { id },
        ("user", _, _) => {
            let content = inbound.message.and_then(content_of).filter(|c| !is_blank(c));
            content.map_or(InputFrame::Nothing, |content| {
                InputFrame::Prompt(Prompt {
                    uuid: inbound.uuid,
                    query: inbound.should_query.unwrap_or(true),
                    priority: priority(inbound.priority.as_deref()),
                    verbatim: inbound.client_composed == Some(true),
                    by_human: inbound.origin.is_some_and(is_human),
                    ..Prompt::new(content)
                })
            })
        }
        (other, _, _) => {
            tracing::debug!(kind = other, "stdin frame ignored");
            InputFrame::Nothing
        }
    }
}

fn priority(name: Option<&str>) -> PromptPriority {
    match name {
        Some("now") => PromptPriority::Now,
        Some("later") => PromptPriority::Later,
        _ => PromptPriority::Next,
    }
}

/// True when the host declares a human origin, the only origin a host may declare.
fn is_human(origin: &RawValue) -> bool {
    serde_json::from_str::<serde_json::Value>(origin.get()).is_ok_and(|origin| origin["kind"] == "human")
}

fn content_of(message: &RawValue) -> Option<Box<RawValue>> {
    let fields: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(message.get()).ok()?;
    fields.get("content").map(|c| (*c).to_owned())
}

/// True when the prompt has nothing the API would accept: no blocks, or only white space.
pub(crate) fn is_blank(content: &RawValue) -> bool {
    if let Ok(text) = serde_json::from_str::<std::borrow::Cow<'_, str>>(content.get()) {
        return text.trim().is_empty();
    }
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content.get()) else { return true };
    blocks.iter().all(|b| match wire::block::BlockHead::read(b) {
        Some(wire::block::BlockHead::Text(text)) => text.trim().is_empty(),
        Some(_) | None => false,
    })
}

/// The error answer to a control request without a `request`.
pub(crate) fn malformed_reply(request_id: &str) -> Option<String> {
    let error = "Malformed control request: no `request` object";
    codec::response_line(&ControlResponse::refused(request_id, error, None)).ok()
}

/// The channels the reader uses besides the command channel.
pub(crate) struct ReaderChannels {
    pub(crate) turns: Arc<TurnCounter>,
    pub(crate) replies: tokio::sync::mpsc::Sender<String>,
    pub(crate) failed: oneshot::Sender<BadLine>,
}

/// Reads `source` to its end, then closes the session's input. Runs on a separate thread.
pub(crate) fn read_commands(mut source: impl BufRead, commands: &CommandSender, side: ReaderChannels) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match source.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let command = match read_frame(&line) {
            Ok(InputFrame::Nothing) => continue,
            Ok(InputFrame::Prompt(prompt)) => {
                if prompt.query {
                    side.turns.submit();
                }
                Command::Submit(prompt)
            }
            Ok(InputFrame::Request { id, request }) => Command::Request { id, request },
            Ok(InputFrame::Reply(reply)) => Command::Reply(reply),
            Ok(InputFrame::Withdraw { id }) => Command::Withdraw { id },
            Ok(InputFrame::Malformed { request_id }) => {
                if let Some(reply) = malformed_reply(&request_id) {
                    side.replies.blocking_send(reply).ok();
                }
                continue;
            }
            Err(bad) => {
                side.failed.send(bad).ok();
                return;
            }
        };
        if commands.blocking_send(command).is_err() {
            return;
        }
        // Frees the memory of a very long line.
        line.shrink_to(1 << 20);
    }
    commands.blocking_send(Command::Close).ok();
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
