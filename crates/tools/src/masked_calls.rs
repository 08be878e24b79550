//! Calls without secrets. Every call runs through [`run`], which masks its outcome. A call that would write a mask is
//! refused, because the mask would replace the secret.

use crate::contract::{CallContext, ToolCall, ToolOutcome};
use crate::facts::{MaskedInput, ToolFacts};
use crate::masking::Masking;
use permission::Mask;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use wire::block::{ContentBlock, MessageContent};

/// Runs a call and hides secrets in its outcome.
pub async fn run(call: Box<dyn ToolCall>, cx: CallContext) -> ToolOutcome {
    let state = Arc::clone(&cx.state);
    let outcome = call.run(cx).await;
    hide(outcome, &state.masking.mask())
}

fn hide(outcome: ToolOutcome, mask: &Mask) -> ToolOutcome {
    if mask.is_disabled() {
        return outcome;
    }
    let ToolOutcome { content, is_error, structured, mcp_meta, effects } = outcome;
    let content = match content {
        MessageContent::Text(text) => MessageContent::Text(hide_text(text, mask)),
        MessageContent::Blocks(blocks) => MessageContent::Blocks(
            blocks
                .into_iter()
                .map(|block| match block {
                    ContentBlock::Text { text } => ContentBlock::Text { text: hide_text(text, mask) },
                    ContentBlock::Image { .. } | ContentBlock::Document { .. } | ContentBlock::ToolReference { .. } => {
                        block
                    }
                })
                .collect(),
        ),
    };
    let hidden = |raw: Box<RawValue>| mask.json(&raw).unwrap_or(raw);
    ToolOutcome { content, is_error, structured: structured.map(hidden), mcp_meta: mcp_meta.map(hidden), effects }
}

fn hide_text(text: String, mask: &Mask) -> String {
    match mask.text(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}

/// The refusal of a call whose input contains a mask that would be written somewhere; `None` when it may run.
pub fn refusal(masking: &Masking, facts: &ToolFacts, input: &RawValue) -> Option<ToolOutcome> {
    let MaskedInput::Refused(advice) = facts.masked_input else { return None };
    if !input.get().contains("hidden by gimlet") && !input.get().contains("\\u") {
        return None;
    }
    let mask = masking.mask().find_mask_in_input(input)?;
    Some(ToolOutcome::invalid(format!(
        "Nothing was done: the input contains {mask}, which stands for a secret that is not shown to you. Writing it \
         would destroy the secret. {advice}"
    )))
}
