//! Makes a history acceptable to the API after crashes, interrupts, lines of other programs, or other models. It works
//! on a copy for the request; the history itself is never changed.
//!
//! The result is deterministic, and its beginning is stable: adding messages does not change the repair of earlier
//! ones, except where the API's rules depend on what follows (a missing result has arrived; the body became too large).
//! When nothing is wrong, no block is parsed beyond its cached head.

mod media;
mod pairs;

use crate::catalog::canonical;
use crate::fragment::{Fragment, FragmentHead, Message, Role};
use crate::object::string;

/// The request that the history is repaired for.
#[derive(Clone, Copy, Debug)]
pub struct RepairNeeds<'a> {
    /// The model that will receive the history.
    pub model: &'a str,
    pub thinking: KeepThinking,
    pub limits: RepairLimits,
}

impl<'a> RepairNeeds<'a> {
    pub fn new(model: &'a str) -> Self {
        Self { model, thinking: KeepThinking::default(), limits: RepairLimits::default() }
    }
}

/// `Drop` is used after the server refused thinking in this conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepThinking {
    #[default]
    Keep,
    Drop,
}

#[derive(Clone, Copy, Debug)]
pub struct RepairLimits {
    /// Longest base64 text of one image, in bytes.
    pub image: usize,
    /// Maximum size of the conversation plus `fixed`, in bytes.
    pub body: usize,
    /// Bytes of the body that are not conversation: tools and system prompt.
    pub fixed: usize,
}

impl Default for RepairLimits {
    fn default() -> Self {
        Self { image: 5 * 1024 * 1024, body: 32 * 1000 * 1000, fixed: 0 }
    }
}

/// A history that the API accepts.
#[derive(Clone, Debug, Default)]
pub struct RepairedHistory {
    pub messages: Vec<Message>,
    /// The changes made, for the debug log.
    pub notes: Vec<String>,
    /// The size in bytes if the conversation is too large even without media and cannot be sent; otherwise `None`.
    pub oversize: Option<usize>,
}

/// Replaces a lost first message of a history.
const LOST_START: &str = "(The beginning of this conversation is missing.)";

pub fn repair(turns: &[Message], needs: &RepairNeeds<'_>) -> RepairedHistory {
    let mut notes = Vec::new();
    let cleaned: Vec<Message> = turns.iter().enumerate().map(|(i, t)| clean(i, t, needs, &mut notes)).collect();
    let mut merged = merge(cleaned);
    pairs::drop_repeated(&mut merged, &mut notes);
    pairs::drop_half_calls(&mut merged, &mut notes);
    drop_thinking_only(&mut merged, &mut notes);
    let mut paired = pairs::pair(merge(merged), &mut notes);
    start_with_user(&mut paired, &mut notes);
    end_cleanly(&mut paired, &mut notes);
    let oversize = media::strip_to_fit(&mut paired, needs.limits, &mut notes);
    RepairedHistory { messages: paired, notes, oversize }
}

/// Drops blocks that may not be sent at all.
fn clean(index: usize, turn: &Message, needs: &RepairNeeds<'_>, notes: &mut Vec<String>) -> Message {
    let is_foreign = |made_by: &str| made_by != needs.model && canonical(made_by) != canonical(needs.model);
    let foreign = turn.model.as_deref().is_some_and(is_foreign);
    let drop_thinking = foreign || needs.thinking == KeepThinking::Drop;
    let mut note = |what: &str| notes.push(format!("turn {index}: {what}"));
    let mut blocks = Vec::with_capacity(turn.blocks.len());
    for block in &turn.blocks {
        match block.head() {
            FragmentHead::Invalid => note("dropped a block that is not one"),
            FragmentHead::Text { blank: true } => note("dropped an empty text"),
            FragmentHead::Thinking | FragmentHead::RedactedThinking if drop_thinking || turn.role == Role::User => {
                note("dropped thinking that this model did not sign");
            }
            FragmentHead::ToolUse { .. } if turn.role == Role::User => note("dropped a call in a user turn"),
            FragmentHead::ToolResult { .. } if turn.role == Role::Assistant => {
                note("dropped a result in an assistant turn");
            }
            FragmentHead::Image | FragmentHead::Document | FragmentHead::ToolResult { .. } => {
                let checked = media::without_large_images(block, needs.limits.image);
                if !checked.is_same(block) {
                    note("replaced an image that is too large");
                }
                blocks.push(unmarked(&checked));
            }
            FragmentHead::Text { blank: false }
            | FragmentHead::Thinking
            | FragmentHead::RedactedThinking
            | FragmentHead::ToolUse { .. }
            | FragmentHead::ServerToolUse { .. }
            | FragmentHead::ServerToolResult { .. }
            | FragmentHead::Other => blocks.push(unmarked(block)),
        }
    }
    Message { role: turn.role, blocks, model: turn.model.clone() }
}

/// Removes cache markers: gimlet places its own, and those of a host would exceed the four allowed.
fn unmarked(block: &Fragment) -> Fragment {
    if !block.has_marker() {
        return block.clone();
    }
    let Some(mut object) = block.object() else { return block.clone() };
    match object.remove("cache_control") {
        Some(_) => Fragment::new(object.to_raw()),
        None => block.clone(),
    }
}

/// Joins adjacent messages of one role; removes empty messages.
fn merge(turns: Vec<Message>) -> Vec<Message> {
    let mut out = Vec::with_capacity(turns.len());
    for turn in turns {
        push(&mut out, turn);
    }
    out
}

fn push(out: &mut Vec<Message>, turn: Message) {
    if turn.blocks.is_empty() {
        return;
    }
    let Some(last) = out.last_mut().filter(|last| last.role == turn.role) else { return out.push(turn) };
    // The models differ, so none is recorded; blocks that may not be sent to this model are already dropped.
    if last.model != turn.model {
        last.model = None;
    }
    last.blocks.extend(turn.blocks);
}

/// Drops answers that contain only thinking, because they were interrupted: the API refuses them.
fn drop_thinking_only(turns: &mut Vec<Message>, notes: &mut Vec<String>) {
    let before = turns.len();
    turns.retain(|turn| turn.role == Role::User || !turn.blocks.iter().all(|b| b.head().is_thinking()));
    let dropped = before - turns.len();
    if dropped > 0 {
        notes.push(format!("dropped {dropped} answers that only had thinking"));
    }
}

fn start_with_user(turns: &mut Vec<Message>, notes: &mut Vec<String>) {
    if turns.first().is_some_and(|turn| turn.role == Role::Assistant) {
        notes.push("added a first user turn".to_owned());
        turns.insert(0, Message::user_text(LOST_START));
    }
}

/// Removes trailing white space from the last text of a final assistant message (a paused answer), as the API requires.
fn end_cleanly(turns: &mut [Message], notes: &mut Vec<String>) {
    let Some(last) = turns.last_mut().filter(|turn| turn.role == Role::Assistant) else { return };
    let Some(block) = last.blocks.last_mut().filter(|b| matches!(b.head(), FragmentHead::Text { .. })) else { return };
    let Some(mut object) = block.object() else { return };
    let text = object.get("text").and_then(|t| serde_json::from_str::<String>(t.get()).ok()).unwrap_or_default();
    let trimmed = text.trim_end();
    if trimmed.len() == text.len() || trimmed.is_empty() {
        return;
    }
    object.set("text", string(trimmed));
    *block = Fragment::new(object.to_raw());
    notes.push("trimmed the last text".to_owned());
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
