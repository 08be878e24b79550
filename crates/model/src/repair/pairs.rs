//! Calls and results: every call has exactly one result, at the beginning of the next user message; there are no other
//! results.

use super::push;
use crate::fragment::{Fragment, FragmentHead, Message, Role};
use std::collections::HashSet;

const NO_RESULT: &str = "No result: the call was interrupted before it finished, and may or may not have taken effect.";

/// Messages already alternate and are not empty; this also applies to the result.
pub(super) fn pair(turns: Vec<Message>, notes: &mut Vec<String>) -> Vec<Message> {
    let mut open: Vec<Box<str>> = Vec::new();
    let mut out: Vec<Message> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        let asked = std::mem::take(&mut open);
        match turn.role {
            Role::User => answer(&mut turn, &asked, notes),
            Role::Assistant if !asked.is_empty() => push(&mut out, answers(&asked, notes)),
            Role::Assistant => {}
        }
        push(&mut out, turn);
        // Computed after joining: the calls of the last assistant message must be answered next.
        open = out.last().filter(|t| t.role == Role::Assistant).map(calls).unwrap_or_default();
    }
    if !open.is_empty() {
        push(&mut out, answers(&open, notes));
    }
    out
}

fn calls(turn: &Message) -> Vec<Box<str>> {
    let id = |block: &Fragment| match block.head() {
        FragmentHead::ToolUse { id } => Some(id.clone()),
        _ => None,
    };
    turn.blocks.iter().filter_map(id).collect()
}

fn answers(open: &[Box<str>], notes: &mut Vec<String>) -> Message {
    notes.push(format!("answered {} calls that had no result", open.len()));
    Message::user(open.iter().map(|id| Fragment::error_result(id, NO_RESULT)).collect())
}

/// Puts results first, adds missing ones, and drops results without a call.
fn answer(turn: &mut Message, open: &[Box<str>], notes: &mut Vec<String>) {
    let is_result = |block: &Fragment| matches!(block.head(), FragmentHead::ToolResult { .. });
    if open.is_empty() && !turn.blocks.iter().any(is_result) {
        return;
    }
    let mut missing: Vec<&str> = open.iter().map(|id| &**id).collect();
    let mut results = Vec::with_capacity(open.len());
    let mut others = Vec::new();
    let mut out_of_order = false;
    for block in turn.blocks.drain(..) {
        let FragmentHead::ToolResult { id } = block.head() else {
            others.push(block);
            continue;
        };
        match missing.iter().position(|m| **m == **id) {
            Some(at) => {
                missing.remove(at);
                out_of_order |= !others.is_empty();
                results.push(block);
            }
            None => notes.push("dropped a result that no call asked for".to_owned()),
        }
    }
    if out_of_order {
        notes.push("moved results to the front of their turn".to_owned());
    }
    if !missing.is_empty() {
        notes.push(format!("answered {} calls that had no result", missing.len()));
        results.extend(missing.iter().map(|id| Fragment::error_result(id, NO_RESULT)));
    }
    results.append(&mut others);
    turn.blocks = results;
}

/// Drops repeated call ids, which a copied line could cause: ids are unique in a conversation.
pub(super) fn drop_repeated(turns: &mut [Message], notes: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for turn in turns {
        turn.blocks.retain(|block| {
            let FragmentHead::ToolUse { id } = block.head() else { return true };
            let new = seen.insert(id.clone());
            if !new {
                notes.push("dropped a call that stood there twice".to_owned());
            }
            new
        });
    }
}

/// Drops server tool calls without a result, and results without a call. A call is kept where the provider will still
/// give the result: in the last message, or next to calls that are being answered now.
pub(super) fn drop_half_calls(turns: &mut [Message], notes: &mut Vec<String>) {
    let heads = || turns.iter().flat_map(|t| &t.blocks).map(Fragment::head);
    let mut asked = HashSet::new();
    let mut answered = HashSet::new();
    for head in heads() {
        match head {
            FragmentHead::ServerToolUse { id } => drop(asked.insert(id.clone())),
            FragmentHead::ServerToolResult { id } => drop(answered.insert(id.clone())),
            _ => {}
        }
    }
    if asked == answered {
        return;
    }
    let last = turns.len() - 1;
    let last_assistant = turns.iter().rposition(|t| t.role == Role::Assistant);
    for (i, turn) in turns.iter_mut().enumerate() {
        let running = i == last || (Some(i) == last_assistant && !calls(turn).is_empty());
        turn.blocks.retain(|block| {
            let keep = match block.head() {
                FragmentHead::ServerToolUse { id } => running || answered.contains(id),
                FragmentHead::ServerToolResult { id } => asked.contains(id),
                _ => true,
            };
            if !keep {
                notes.push("dropped half of a provider's own call".to_owned());
            }
            keep
        });
    }
}
