//! User messages as they are recorded and sent: the content bytes are not changed.

pub mod attachment;

pub use attachment::Attachment;

use crate::command::Prompt;
use crate::host::HostSender;
use crate::transcript_writer::WrittenLine;
use serde_json::value::RawValue;
use wire::sdk::UserMessage;

/// `{"role":"user","content":…}` around unchanged content bytes.
pub fn user_message(content: &RawValue) -> Box<RawValue> {
    let text = format!(r#"{{"role":"user","content":{}}}"#, content.get());
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// `{"role":"user","content":"…"}`
pub fn text_message(text: &str) -> Box<RawValue> {
    wire::raw::to_raw(text).map_or_else(|_| RawValue::NULL.to_owned(), |content| user_message(&content))
}

/// `content` with a text before it.
pub fn with_prefix(words: &str, content: &RawValue) -> Option<Box<RawValue>> {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return wire::raw::to_raw(&format!("{words}\n\n{text}")).ok();
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let first = wire::raw::to_raw(&serde_json::json!({"type": "text", "text": words})).ok()?;
    let all: Vec<&RawValue> = std::iter::once(&*first).chain(blocks).collect();
    wire::raw::to_raw(&all).ok()
}

/// The text of a prompt, for titles and queues.
pub fn plain_text(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text;
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let texts: Vec<String> = blocks
        .iter()
        .filter_map(|block| match wire::block::BlockHead::read(block)? {
            wire::block::BlockHead::Text(text) => Some(text.into_owned()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// Maximum length of a session name, in characters.
const NAME_LIMIT: usize = 200;

/// `text` as a session name: one line, no control characters, cut at the maximum length.
pub fn session_name(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_LIMIT).collect()
}

/// The message for the host that corresponds to a user message of our own.
pub fn synthetic(message: Box<RawValue>, written: WrittenLine, host: &HostSender) -> UserMessage {
    UserMessage {
        kind: "user",
        message,
        parent_tool_use_id: None,
        session_id: host.session_id.clone(),
        uuid: written.uuid,
        timestamp: written.timestamp,
        tool_use_result: None,
        tool_result_meta: Vec::new(),
        is_replay: false,
        is_synthetic: true,
        agent: None,
    }
}

pub fn echo(prompt: &Prompt, written: &WrittenLine, host: &HostSender) -> UserMessage {
    UserMessage {
        kind: "user",
        message: user_message(&prompt.content),
        parent_tool_use_id: None,
        session_id: host.session_id.clone(),
        uuid: written.uuid.clone(),
        timestamp: written.timestamp.clone(),
        tool_use_result: None,
        tool_result_meta: Vec::new(),
        is_replay: true,
        is_synthetic: false,
        agent: None,
    }
}
