//! Calls that a hook deferred to a later run. The call stays without a result in the transcript, marked by an
//! attachment. When the conversation is resumed, the hooks run again for the same call before anything else; they may
//! defer it again.

use crate::decide::{EndReason, PhaseResult};
use crate::session::LiveSession;
use crate::turn;
use crate::turn_state::{TurnOpener, TurnState};
use serde::Deserialize;
use serde_json::value::RawValue;
use session_parts::tool_use::ToolUse;
use store::LoadedConversation;
use store::live_sessions::LiveStatus;
use store::resume::EntryKind;
use wire::sdk::DeferredToolUse;

/// The type of the attachment that marks a deferred call.
const KIND: &str = "x_deferred_tool_use";

/// Marks the call and ends the turn; the next turn resumes the call.
pub(crate) fn defer(session: &mut LiveSession, turn: &mut TurnState, used: ToolUse) {
    let call = as_result(&used);
    let line = serde_json::json!({"type": KIND, "toolUseId": call.id, "toolName": call.name, "toolInput": call.input});
    let written = wire::raw::to_raw(&line).map(|line| session.io.output.transcript.attachment(line));
    turn.facts.last = PhaseResult::Deferred;
    if let Ok(Err(error)) = written {
        turn.fail_unrecorded(&error);
    }
    turn.deferred = Some(call);
    session.start.deferred = Some(used);
}

/// Runs the hooks again, and the call if they allow it. Returns the reason to end the turn; `None` to go on.
pub(crate) async fn resume(session: &mut LiveSession, turn: &mut TurnState, used: ToolUse) -> Option<EndReason> {
    session.set_state("running", LiveStatus::Busy).await;
    session.announce().await;
    session.start.is_announced = true;
    if session.io.tooling.registry.find(&used.name).is_none() {
        turn.deferred = Some(as_result(&used));
        turn.text = format!("The tool {} of the call that was left is not there any more.", used.name);
        session.start.deferred = Some(used);
        return Some(EndReason::DeferredUnavailable);
    }
    turn.calls = vec![used];
    turn::run_calls(session, turn).await;
    match turn.facts.last {
        PhaseResult::Deferred => Some(EndReason::ToolDeferred),
        PhaseResult::Failed(_) => Some(EndReason::Unrecorded),
        _ => {
            turn.facts.last = PhaseResult::Prompt;
            None
        }
    }
}

/// Whether the prompt is empty: it only resumes the call.
pub(crate) fn is_empty(opener: &TurnOpener) -> bool {
    matches!(opener, TurnOpener::Prompt(prompt) if prompt.content.get() == "\"\"")
}

fn as_result(used: &ToolUse) -> DeferredToolUse {
    DeferredToolUse { id: used.id.clone(), name: used.name.clone(), input: used.input.clone() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeferredMark {
    #[serde(rename = "type")]
    kind: String,
    tool_use_id: String,
    tool_name: String,
    tool_input: Box<RawValue>,
}

/// The deferred call at the end of the conversation; `None` when there is none.
pub(crate) fn find(loaded: &LoadedConversation) -> Option<ToolUse> {
    let mut assistant = None;
    let mut left: Option<ToolUse> = None;
    for entry in &loaded.entries {
        match entry.kind {
            EntryKind::Assistant => assistant = Some(entry.uuid.to_string()),
            EntryKind::User => left = None,
            EntryKind::Attachment => {
                let mark = entry.body.as_deref().and_then(|body| serde_json::from_str::<DeferredMark>(body).ok());
                if let (Some(mark), Some(assistant)) = (mark.filter(|mark| mark.kind == KIND), &assistant) {
                    left = Some(use_of(mark, assistant.clone()));
                }
            }
            EntryKind::System => {}
        }
    }
    left
}

fn use_of(mark: DeferredMark, assistant_uuid: String) -> ToolUse {
    ToolUse { assistant_uuid, ..ToolUse::new(mark.tool_use_id, mark.tool_name, mark.tool_input) }
}
