//! Results of calls as they are recorded.

use crate::agents::recover::RecoveredResult;
use crate::session::SessionIo;
use serde_json::value::RawValue;
use session_parts::transcript_writer::ResultLine;
use std::sync::Arc;
use store::StoreError;
use tools::ToolOutcome;
use wire::block::{MessageContent, tool_result};
use wire::entry::CallMarks;

/// Records the result of a call that another process started. Returns the block for the history and the uuid of its
/// line. Nothing is sent: the host never saw the call.
pub(crate) fn record_recovered(
    io: &mut SessionIo,
    recovered: RecoveredResult,
) -> Result<Option<(Arc<RawValue>, String)>, StoreError> {
    record(io, &recovered.tool_use_id, &recovered.assistant_uuid, recovered.outcome)
}

/// Records a result without sending it. Returns the block and the uuid of its line.
fn record(
    io: &mut SessionIo,
    tool_use_id: &str,
    assistant_uuid: &str,
    outcome: ToolOutcome,
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
    let written = io.output.transcript.result(line)?;
    Ok(Some((Arc::from(block), written.uuid)))
}

pub(crate) fn message(block: &RawValue) -> Box<RawValue> {
    let text = format!(r#"{{"role":"user","content":[{}]}}"#, block.get());
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The structured form of a failed call: the text that the model receives, as a string.
pub(crate) fn failure(content: &MessageContent) -> Box<RawValue> {
    wire::raw::to_raw(&format!("Error: {}", content.text())).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
