//! Handles an answer with the stop reason `refusal`. It was shown and is recorded, but never sent again, not even
//! when the conversation is resumed. Another model takes over, or the same one is asked once more, or the turn ends.

use super::reception::ResponseReception;
use crate::decide::{PhaseResult, RequestFailure, ResponseSummary, StopKind};
use crate::session::SessionIo;
use crate::turn_state::{TurnError, TurnState};
use serde::Deserialize;
use session_parts::context::ModelContext;
use session_parts::transcript_writer::RefusalMark;
use store::StoreError;
use wire::entry::MetaEntry;
use wire::sdk::{ModelRefusal, SystemBody};

pub(super) async fn handle(
    reception: &ResponseReception,
    context: &mut ModelContext,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<PhaseResult, StoreError> {
    turn.calls.clear();
    let refusing = reception.model(context.model());
    let mark = RefusalMark { refused_message_id: reception.assembly.id.clone(), refusing_model: refusing.clone() };
    let asked_before = turn.refusal.replace(mark.clone()).is_some();
    let lines = reception.line_uuids();
    if context.fall_back() {
        retract(lines.clone(), io)?;
        let content = format!("{refusing} refused to answer; {} was asked instead.", context.model());
        let body = SystemBody::ModelRefusalFallback {
            trigger: "refusal",
            direction: "retry",
            fallback_model: context.model().to_owned(),
            retracted_message_uuids: lines,
            refusal: Box::new(describe(reception, turn, refusing, content)),
        };
        io.output.host.system(body).await;
        return Ok(PhaseResult::Failed(RequestFailure::FallBack));
    }
    if !asked_before {
        retract(lines, io)?;
        return Ok(PhaseResult::Failed(RequestFailure::Adjusted));
    }
    give_up(reception, lines, mark, context, io, turn).await
}

/// Ends the turn and removes its prompt, so that the conversation can go on without it.
async fn give_up(
    reception: &ResponseReception,
    mut lines: Vec<String>,
    mark: RefusalMark,
    context: &mut ModelContext,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<PhaseResult, StoreError> {
    let refusing = mark.refusing_model.clone();
    let content = format!(
        "API Error: {refusing} refused to answer this request, also when it was asked again. Say it in other words, or \
         choose another model."
    );
    let refusal = describe(reception, turn, refusing, content);
    record(&refusal, mark, io)?;
    let text = match &refusal.api_refusal_explanation {
        Some(why) => format!("{} (The API said: {why})", refusal.content),
        None => refusal.content.clone(),
    };
    io.output.host.system(SystemBody::ModelRefusalNoFallback(Box::new(refusal))).await;
    turn.error = Some(TurnError::own(text, "invalid_request"));
    lines.extend(context.retract_prompt());
    retract(lines, io)?;
    Ok(PhaseResult::Answered(ResponseSummary { stop: StopKind::Refusal, calls: 0, cut: false }))
}

/// Marks lines that are left out when the conversation is resumed.
fn retract(uuids: Vec<String>, io: &mut SessionIo) -> Result<(), StoreError> {
    if uuids.is_empty() {
        return Ok(());
    }
    let session_id = io.output.host.session_id.clone();
    io.output.transcript.meta(MetaEntry::XRetracted { uuids, session_id })
}

fn record(refusal: &ModelRefusal, mark: RefusalMark, io: &mut SessionIo) -> Result<(), StoreError> {
    let mut fields = serde_json::Map::new();
    fields.insert("content".into(), refusal.content.clone().into());
    fields.insert("level".into(), "warning".into());
    fields.insert("isMeta".into(), false.into());
    fields.insert("originalModel".into(), refusal.original_model.clone().into());
    fields.insert("refusedMessageId".into(), mark.refused_message_id.into());
    fields.insert("refusingModel".into(), mark.refusing_model.into());
    let optional = [
        ("requestId", &refusal.request_id),
        ("apiRefusalCategory", &refusal.api_refusal_category),
        ("apiRefusalExplanation", &refusal.api_refusal_explanation),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            fields.insert(name.into(), value.clone().into());
        }
    }
    io.output.transcript.system("model_refusal_no_fallback", fields)
}

/// The reasons that the API sent.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RefusalDetails {
    category: Option<String>,
    explanation: Option<String>,
}

fn describe(reception: &ResponseReception, turn: &TurnState, original_model: String, content: String) -> ModelRefusal {
    let details = reception.assembly.stop_details.as_deref();
    let details: RefusalDetails = details.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    ModelRefusal {
        original_model,
        request_id: reception.request_id.clone(),
        api_refusal_category: details.category,
        api_refusal_explanation: details.explanation,
        refused_user_message_uuid: turn.prompt_uuid.clone(),
        content,
    }
}
