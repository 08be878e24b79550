//! From an outcome to its result: bounded, recorded, told to the host, kept for the history.

use super::prepare::Judged;
use super::{Report, ToolUse};
use crate::scribe::ResultLine;
use crate::session::Io;
use crate::structured;
use serde_json::value::RawValue;
use std::sync::Arc;
use store::StoreError;
use tools::Outcome;
use wire::block::{Block, Content, tool_result};
use wire::entry::{CallMarks, PermissionDecision};
use wire::sdk::{Message, ToldDecision, ToolResultMeta, User};

pub(super) async fn deliver(
    used: &ToolUse,
    outcome: Outcome,
    judged: Option<Judged>,
    io: &mut Io,
    report: &mut Report,
) -> Result<(), StoreError> {
    report.output_rejected |= outcome.is_error && used.name == structured::NAME;
    let content = bound(clean(outcome.content), used, io);
    let structured = outcome.structured.unwrap_or_else(|| failure(&content));
    if !outcome.is_error && matches!(wire::names::canonical(&used.name), "Edit" | "MultiEdit" | "Write") {
        io.ledger.count_lines(&structured);
    }
    let Ok(block) = tool_result(&used.id, &content, outcome.is_error) else {
        tracing::error!(tool = used.name, "a tool result could not be serialised");
        return Ok(());
    };
    let message = message(&block);
    let line = ResultLine {
        message: message.clone(),
        structured: structured.clone(),
        assistant_uuid: used.assistant_uuid.clone(),
        marks: CallMarks {
            permission_decision: judged.map(|judged| judged.decision),
            tool_denial_kind: judged.and_then(|judged| judged.denial),
            sandboxed: judged.is_some_and(|judged| judged.sandboxed),
        },
        mcp_meta: outcome.mcp_meta,
    };
    let written = io.scribe.result(line)?;
    let user = User {
        kind: "user",
        message,
        parent_tool_use_id: None,
        session_id: io.host.session_id.clone(),
        uuid: written.uuid.clone(),
        timestamp: written.timestamp,
        tool_use_result: Some(structured),
        tool_result_meta: judged.map(|judged| told(&used.id, judged)).into_iter().collect(),
        is_replay: false,
        is_synthetic: false,
        agent: None,
    };
    io.host.send(Message::User(Box::new(user))).await;
    report.lines.push(written.uuid);
    report.results.push(Arc::from(block));
    Ok(())
}

/// Only the line and the block; the block and the line's uuid.
pub(super) fn record(
    io: &mut Io,
    tool_use_id: &str,
    assistant_uuid: &str,
    outcome: Outcome,
) -> Result<Option<(Arc<RawValue>, String)>, StoreError> {
    let structured = outcome.structured.unwrap_or_else(|| failure(&outcome.content));
    let Ok(block) = tool_result(tool_use_id, &outcome.content, outcome.is_error) else { return Ok(None) };
    let line = ResultLine {
        message: message(&block),
        structured,
        assistant_uuid: assistant_uuid.to_owned(),
        marks: CallMarks::default(),
        mcp_meta: None,
    };
    let written = io.scribe.result(line)?;
    Ok(Some((Arc::from(block), written.uuid)))
}

fn told(id: &str, judged: Judged) -> ToolResultMeta {
    let PermissionDecision { decision, source, reason_type } = judged.decision;
    ToolResultMeta {
        id: id.to_owned(),
        permission_decision: Some(ToldDecision { decision, source, reason_type }),
        non_execution_kind: judged.denial,
    }
}

fn message(block: &RawValue) -> Box<RawValue> {
    let text = format!(r#"{{"role":"user","content":[{}]}}"#, block.get());
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A failed call stores what the model read, as a string.
fn failure(content: &Content) -> Box<RawValue> {
    wire::raw::to_raw(&format!("Error: {}", content.text())).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// NULs break readers; nothing else is touched.
fn clean(content: Content) -> Content {
    let strip = |text: String| if text.contains('\0') { text.replace('\0', "") } else { text };
    match content {
        Content::Text(text) => Content::Text(strip(text)),
        Content::Blocks(blocks) => Content::Blocks(
            blocks
                .into_iter()
                .map(|block| match block {
                    Block::Text { text } => Block::Text { text: strip(text) },
                    Block::Image { .. } | Block::Document { .. } | Block::ToolReference { .. } => block,
                })
                .collect(),
        ),
    }
}

/// Read pages by itself, within limits of its own; its text would only be read back from the spilled copy.
const PAGES_ITSELF: &str = "Read";

/// A text no context should carry whole goes to a file; the model gets its beginning and the way to the rest.
fn bound(content: Content, used: &ToolUse, io: &Io) -> Content {
    let Content::Text(text) = content else { return content };
    // Results of servers were bounded by what their tool may say at most.
    if wire::names::canonical(&used.name) == PAGES_ITSELF || used.name.starts_with("mcp__") {
        return Content::Text(text);
    }
    match tools::spill::bound(&io.state.facts.session_dir, &text) {
        Ok(None) => Content::Text(text),
        Ok(Some(spilled)) => Content::Text(spilled.content),
        Err(error) => {
            tracing::warn!(%error, tool = used.name, "a large result could not be saved; it is cut instead");
            let cut: String = text.chars().take(tools::spill::GENERIC_LIMIT).collect();
            Content::Text(format!("{cut}\n[The rest was cut: it could not be saved ({error}).]"))
        }
    }
}
