//! The input of a call that its server refused: with the first refusal the model gets the schema of the tool.

use super::SessionServers;
use mcp::{CallError, RemoteTool};
use tools::{CallContext, ToolOutcome};
use wire::block::{ContentBlock, MessageContent};

/// The most bytes of a schema.
const SCHEMA_BYTES: usize = 2_048;
/// The JSON-RPC error for a wrong input.
const INVALID_PARAMS: i64 = -32_602;
/// How servers word in a result that they refuse the input.
const WORDINGS: [&str; 7] = [
    "-32602",
    "validation error",
    "invalid argument",
    "invalid input",
    "invalid param",
    "missing required",
    "is a required property",
];

/// Whether the server refused the input, by the error of the protocol.
pub(super) fn is_refused(error: &CallError) -> bool {
    matches!(error, CallError::Refused { code: INVALID_PARAMS, .. })
}

/// Whether the result is about the input.
pub(super) fn is_about_input(outcome: &ToolOutcome) -> bool {
    let text = outcome.content.text().to_ascii_lowercase();
    outcome.is_error && WORDINGS.iter().any(|wording| text.contains(wording))
}

/// Adds the schema of the tool when this thread was not shown it before.
pub(super) fn with_schema(
    mut outcome: ToolOutcome,
    remote: &RemoteTool,
    servers: &SessionServers,
    cx: &CallContext,
) -> ToolOutcome {
    if !servers.is_first_refusal(cx.state.facts.agent_id.as_deref(), &remote.exposed) {
        return outcome;
    }
    let note = format!("The tool takes: {}", shortened(&remote.schema));
    match &mut outcome.content {
        MessageContent::Text(text) => {
            text.push('\n');
            text.push_str(&note);
        }
        MessageContent::Blocks(blocks) => blocks.push(ContentBlock::text(note)),
    }
    outcome
}

fn shortened(schema: &str) -> String {
    if schema.len() <= SCHEMA_BYTES {
        return schema.to_owned();
    }
    let end = schema.floor_char_boundary(SCHEMA_BYTES - "…".len());
    format!("{}…", &schema[..end])
}
