//! Sends the end of a resumed conversation to a host that shows conversations. Limited to the newest messages, which fit
//! into the empty queue.

use crate::{deferred, past_messages};
use serde::Deserialize;
use serde_json::value::RawValue;
use session_parts::command::Event;
use session_parts::messages::plain_text;
use std::collections::VecDeque;
use store::{LoadedConversation, LoadedEntry};
use tokio::sync::mpsc;
use wire::block::BlockHead;
use wire::sdk::{SdkMessage, SystemBody, SystemMessage};

/// Maximum number of messages that are sent.
const MAX_MESSAGES: usize = 60;
const EARLIER_HINT: &str = "… earlier: ctrl+o";
const CUT_OFF: &str = "The last turn was cut off: gimlet ended before it was done.";

pub(super) fn send_history(loaded: &LoadedConversation, stream: &mpsc::Sender<Event>, session_id: &str) {
    let mut messages: VecDeque<SdkMessage> = VecDeque::new();
    let mut entries = loaded.entries.iter().rev().filter(|entry| !entry.is_retracted);
    for entry in entries.by_ref() {
        if let Some(message) = message(loaded, entry, session_id) {
            messages.push_front(message);
            if messages.len() == MAX_MESSAGES {
                break;
            }
        }
    }
    let is_cut = entries.next().is_some();
    if is_cut {
        // Begin with a prompt.
        let first = messages.iter().position(is_prompt).unwrap_or(0);
        messages.drain(..first);
    }
    let is_unfinished = deferred::find(loaded).is_none() && is_unfinished(&messages);
    if is_cut || loaded.boundary.is_some() {
        send(remark(EARLIER_HINT, session_id), stream);
    }
    for message in messages {
        send(message, stream);
    }
    if is_unfinished {
        send(remark(CUT_OFF, session_id), stream);
    }
}

fn send(message: SdkMessage, stream: &mpsc::Sender<Event>) {
    stream.try_send(Event::Message(message)).ok();
}

fn remark(text: &str, session_id: &str) -> SdkMessage {
    let body = SystemBody::Informational { content: text.into(), level: "info" };
    SdkMessage::System(SystemMessage { kind: "system", body, session_id: session_id.to_owned(), uuid: sys::id::uuid() })
}

/// The message of an entry, read again from its line: the entry itself has no structured results.
fn message(loaded: &LoadedConversation, entry: &LoadedEntry, session_id: &str) -> Option<SdkMessage> {
    match loaded.raw_line(entry) {
        Ok(line) => past_messages::of_line(&line, session_id),
        Err(error) => {
            tracing::debug!(%error, "a line of the conversation could not be read again");
            None
        }
    }
}

#[derive(Deserialize)]
struct MessageContent<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

fn is_prompt(message: &SdkMessage) -> bool {
    let SdkMessage::User(said) = message else { return false };
    said.tool_use_result.is_none() && prompt_text(&said.message).is_some_and(|text| !text.starts_with('<'))
}

fn prompt_text(message: &RawValue) -> Option<String> {
    let text = plain_text(serde_json::from_str::<MessageContent<'_>>(message.get()).ok()?.content);
    Some(text).filter(|text| !text.is_empty())
}

/// Whether the conversation ends within a turn: with a prompt or a result that the model did not answer, or with a call
/// that has no result.
fn is_unfinished(messages: &VecDeque<SdkMessage>) -> bool {
    match messages.back() {
        Some(SdkMessage::Assistant(said)) => calls_a_tool(&said.message),
        Some(SdkMessage::User(said)) => {
            let text = prompt_text(&said.message);
            text.is_none_or(|text| !text.starts_with('<') && !text.starts_with("[Request interrupted"))
        }
        Some(_) | None => false,
    }
}

fn calls_a_tool(message: &RawValue) -> bool {
    let said = serde_json::from_str::<MessageContent<'_>>(message.get());
    let blocks = said.ok().and_then(|said| serde_json::from_str::<Vec<&RawValue>>(said.content.get()).ok());
    blocks.into_iter().flatten().any(|block| matches!(BlockHead::read(block), Some(BlockHead::ToolUse { .. })))
}
