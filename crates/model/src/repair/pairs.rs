//! Calls and results: every call is answered in the very next user turn, once, before anything else there; nothing
//! else is answered.

use crate::fragment::{Fragment, Head, Role, Turn};
use std::collections::HashSet;

const NO_RESULT: &str = "No result: the call was interrupted before it finished, and may or may not have taken effect.";

/// Turns alternate already and have no empty ones; so they do afterwards.
pub(super) fn pair(turns: Vec<Turn>, notes: &mut Vec<String>) -> Vec<Turn> {
    let mut seen = HashSet::new();
    let mut open: Vec<Box<str>> = Vec::new();
    let mut out: Vec<Turn> = Vec::with_capacity(turns.len());
    let last = turns.len().saturating_sub(1);
    for (i, mut turn) in turns.into_iter().enumerate() {
        match turn.role {
            Role::User => answer(&mut turn, &std::mem::take(&mut open), notes),
            Role::Assistant => {
                let unanswered = std::mem::take(&mut open);
                if !unanswered.is_empty() {
                    push(&mut out, answers(&unanswered, notes));
                }
                drop_repeated(&mut turn, &mut seen, notes);
                if i < last {
                    drop_unfinished_server_calls(&mut turn, notes);
                }
            }
        }
        push(&mut out, turn);
        // Also after turns that were joined: what the last assistant turn asked is what must be answered now.
        open = out.last().filter(|t| t.role == Role::Assistant).map(calls).unwrap_or_default();
    }
    if !open.is_empty() {
        push(&mut out, answers(&open, notes));
    }
    out
}

fn push(out: &mut Vec<Turn>, turn: Turn) {
    if turn.blocks.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.role == turn.role => last.blocks.extend(turn.blocks),
        _ => out.push(turn),
    }
}

fn calls(turn: &Turn) -> Vec<Box<str>> {
    let id = |block: &Fragment| match block.head() {
        Head::ToolUse { id } => Some(id.clone()),
        _ => None,
    };
    turn.blocks.iter().filter_map(id).collect()
}

fn answers(open: &[Box<str>], notes: &mut Vec<String>) -> Turn {
    notes.push(format!("answered {} calls that had no result", open.len()));
    Turn::user(open.iter().map(|id| Fragment::error_result(id, NO_RESULT)).collect())
}

/// Results first, those missing added, those nobody asked for dropped.
fn answer(turn: &mut Turn, open: &[Box<str>], notes: &mut Vec<String>) {
    let is_result = |block: &Fragment| matches!(block.head(), Head::ToolResult { .. });
    if open.is_empty() && !turn.blocks.iter().any(is_result) {
        return;
    }
    let mut missing: Vec<&str> = open.iter().map(|id| &**id).collect();
    let mut results = Vec::with_capacity(open.len());
    let mut others = Vec::new();
    let mut out_of_order = false;
    for block in turn.blocks.drain(..) {
        let Head::ToolResult { id } = block.head() else {
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

/// Call ids are unique in a conversation; a copied line would repeat one.
fn drop_repeated(turn: &mut Turn, seen: &mut HashSet<Box<str>>, notes: &mut Vec<String>) {
    turn.blocks.retain(|block| {
        let Head::ToolUse { id } = block.head() else { return true };
        let new = seen.insert(id.clone());
        if !new {
            notes.push("dropped a call that stood there twice".to_owned());
        }
        new
    });
}

/// A provider's own call that was cut off can only be continued when it stands last.
fn drop_unfinished_server_calls(turn: &mut Turn, notes: &mut Vec<String>) {
    if !turn.blocks.iter().any(|b| matches!(b.head(), Head::ServerToolUse { .. } | Head::ServerToolResult { .. })) {
        return;
    }
    let ids = |want: fn(&Head) -> Option<&str>| -> HashSet<String> {
        turn.blocks.iter().filter_map(|b| want(b.head())).map(str::to_owned).collect()
    };
    let asked = ids(|head| match head {
        Head::ServerToolUse { id } => Some(id),
        _ => None,
    });
    let answered = ids(|head| match head {
        Head::ServerToolResult { id } => Some(id),
        _ => None,
    });
    turn.blocks.retain(|block| {
        let keep = match block.head() {
            Head::ServerToolUse { id } => answered.contains(&**id),
            Head::ServerToolResult { id } => asked.contains(&**id),
            _ => true,
        };
        if !keep {
            notes.push("dropped half of a provider's own call".to_owned());
        }
        keep
    });
}
