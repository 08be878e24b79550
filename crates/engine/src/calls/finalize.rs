//! Turns the outcome of a call into its result: limits the size, records it, sends it to the host and adds it to the
//! report.

use super::BatchReport;
use super::prepare::CallVerdict;
use crate::repeats::{MAX_REPEATS, RepeatableCall};
use crate::session::SessionIo;
use crate::session::results::{failure, message};
use session_parts::structured;
use session_parts::tool_use::ToolUse;
use session_parts::transcript_writer::ResultLine;
use std::sync::Arc;
use store::StoreError;
use tools::ToolOutcome;
use tools::facts::{OutputBound, ToolClass};
use wire::block::{ContentBlock, MessageContent, tool_result};
use wire::entry::{CallMarks, RecordedDecision};
use wire::sdk::{ReportedDecision, SdkMessage, ToolResultMeta, UserMessage};

pub(super) async fn deliver(
    used: &ToolUse,
    outcome: ToolOutcome,
    judged: Option<CallVerdict>,
    io: &mut SessionIo,
    report: &mut BatchReport,
) -> Result<(), StoreError> {
    report.output_rejected |= outcome.is_error && used.name == structured::NAME;
    let content = with_note(bound(clean(outcome.content), used, io), used.form_note.as_deref());
    let structured = outcome.structured.unwrap_or_else(|| failure(&content));
    let repeated = repetition(used, &content, outcome.is_error, io);
    let content = with_note(content, repeated.as_deref());
    if !outcome.is_error && io.tooling.facts(&used.name).class == ToolClass::Edit {
        io.output.ledger.count_lines(&structured, io.output.host.agent_id());
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
    let written = io.output.transcript.result(line)?;
    let user = UserMessage {
        kind: "user",
        message,
        parent_tool_use_id: None,
        session_id: io.output.host.session_id.clone(),
        uuid: written.uuid.clone(),
        timestamp: written.timestamp,
        tool_use_result: Some(structured),
        tool_result_meta: judged.map(|judged| result_meta(&used.id, judged)).into_iter().collect(),
        is_replay: false,
        is_synthetic: false,
        agent: None,
    };
    io.output.host.send(SdkMessage::User(Box::new(user))).await;
    if judged.is_some_and(CallVerdict::is_by_person) {
        report.refused.push(used.id.clone());
    }
    report.lines.push(written.uuid);
    report.results.push(Arc::from(block));
    Ok(())
}

fn result_meta(id: &str, judged: CallVerdict) -> ToolResultMeta {
    let RecordedDecision { decision, source, reason_type } = judged.decision;
    ToolResultMeta {
        id: id.to_owned(),
        permission_decision: Some(ReportedDecision { decision, source, reason_type }),
        non_execution_kind: judged.denial,
    }
}

/// What the model is told about a call that repeats itself. Calls that did not run, that could not be read, that give
/// the answer, or that wait for background work do not count.
fn repetition(used: &ToolUse, content: &MessageContent, failed: bool, io: &mut SessionIo) -> Option<String> {
    let class = io.tooling.facts(&used.name).class;
    let text = content.text();
    let tasks_dir = io.tooling.state.facts.tasks_dir.display().to_string();
    let waits = class == ToolClass::Background || used.input.get().contains(&tasks_dir);
    if used.malformed.is_some() || class == ToolClass::Answer || waits || text.starts_with("Not run: ") {
        return None;
    }
    let max = io.rules.watch.loaded.settings.max_repeats.unwrap_or(MAX_REPEATS);
    let call = RepeatableCall { name: &used.name, class, input: &used.input, result: &text, failed };
    io.knowledge.repeats.note(&call, max)
}

/// Adds what the model is told about how its call was understood.
fn with_note(content: MessageContent, note: Option<&str>) -> MessageContent {
    let Some(note) = note else { return content };
    match content {
        MessageContent::Text(text) => MessageContent::Text(format!("{text}\n{note}")),
        MessageContent::Blocks(mut blocks) => {
            blocks.push(ContentBlock::Text { text: note.to_owned() });
            MessageContent::Blocks(blocks)
        }
    }
}

/// Removes NUL characters, which break readers.
fn clean(content: MessageContent) -> MessageContent {
    let strip = |text: String| if text.contains('\0') { text.replace('\0', "") } else { text };
    match content {
        MessageContent::Text(text) => MessageContent::Text(strip(text)),
        MessageContent::Blocks(blocks) => MessageContent::Blocks(
            blocks
                .into_iter()
                .map(|block| match block {
                    ContentBlock::Text { text } => ContentBlock::Text { text: strip(text) },
                    ContentBlock::Image { .. } | ContentBlock::Document { .. } | ContentBlock::ToolReference { .. } => {
                        block
                    }
                })
                .collect(),
        ),
    }
}

/// Moves a text that is too long for the context to a file; the model receives the beginning and the path.
fn bound(content: MessageContent, used: &ToolUse, io: &SessionIo) -> MessageContent {
    let MessageContent::Text(text) = content else { return content };
    if io.tooling.facts(&used.name).bounds.output == OutputBound::Limited {
        return MessageContent::Text(text);
    }
    match tools::spill::spill_if_large(&io.tooling.state.facts.session_dir, &text) {
        Ok(None) => MessageContent::Text(text),
        Ok(Some(spilled)) => MessageContent::Text(spilled.content),
        Err(error) => {
            tracing::warn!(%error, tool = used.name, "a large result could not be saved; it is cut instead");
            let cut: String = text.chars().take(tools::spill::GENERIC_LIMIT).collect();
            MessageContent::Text(format!("{cut}\n[The rest was cut: it could not be saved ({error}).]"))
        }
    }
}
