//! `/compact`: a turn whose only request to the model is the summary.

use super::compactions::CompactionRequest;
use super::{begin, stdout};
use crate::compact::CompactionOutcome;
use crate::decide::EndReason;
use crate::result;
use crate::session::LiveSession;
use session_parts::command::Prompt;
use session_parts::compaction_policy::CompactionTrigger;
use session_parts::messages::text_message;
use session_parts::prompts;
use session_parts::transcript_writer::PromptSource;
use store::StoreError;
use wire::sdk::{CompactResult, SdkMessage, SystemBody, UserMessage};

pub(super) async fn run(session: &mut LiveSession, instructions: Option<String>, prompt: Prompt) {
    let mut turn = begin(session, "compact", &prompt).await;
    let arguments = instructions.clone().unwrap_or_default();
    let edited = CompactionRequest::read(&arguments).filter(|(request, _)| *request == CompactionRequest::Edit);
    let instructions = match &edited {
        Some((_, rest)) => Some((*rest).to_owned()).filter(|rest| !rest.is_empty()),
        None => instructions,
    };
    let refusal = if !session.context.compaction().is_manual_allowed() {
        Some("Compaction is disabled (DISABLE_COMPACT).")
    } else if session.context.history().is_empty() {
        Some("Nothing to compact yet.")
    } else if edited.is_some() && !session.has_person() {
        Some("/compact edit needs the terminal.")
    } else {
        None
    };
    session.io.knowledge.reviews_next_summary = edited.is_some() && refusal.is_none();
    let outcome = match refusal {
        Some(why) => {
            session.io.output.host.system(SystemBody::compacting(None)).await;
            session.io.output.host.system(SystemBody::compacted(CompactResult::Failed, Some(why.to_owned()))).await;
            session.announce().await;
            Ok(Some(CompactionOutcome::Failed(why.to_owned())))
        }
        None => session.compact(&CompactionTrigger::Manual { instructions }, &turn.token).await,
    };
    let reason = match outcome {
        Ok(Some(CompactionOutcome::Done(_))) => {
            turn.text = "Compacted. The session continues from the summary.".into();
            EndReason::Completed
        }
        Ok(Some(CompactionOutcome::Interrupted)) => EndReason::AbortedStreaming,
        Ok(Some(CompactionOutcome::Failed(why))) => {
            turn.text = format!("Not compacted: {why}");
            EndReason::Completed
        }
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "a compaction could not be recorded");
            turn.text = format!("Not compacted: {error}");
            EndReason::Unrecorded
        }
    };
    if let Err(error) = record(session, &arguments, &turn.text).await {
        tracing::warn!(%error, "a command could not be recorded");
    }
    result::conclude(session, turn, reason).await;
}

/// Records the command and its output in the format that readers of transcripts expect.
async fn record(session: &mut LiveSession, arguments: &str, output: &str) -> Result<(), StoreError> {
    session.inject(prompts::COMMAND_CAVEAT, PromptSource::Meta).await?;
    session.inject(&prompts::command("compact", arguments), PromptSource::Local).await?;
    let output = stdout(output);
    session.inject(&output, PromptSource::Local).await?;
    let user = UserMessage {
        kind: "user",
        message: text_message(&output),
        parent_tool_use_id: None,
        session_id: session.io.output.host.session_id.clone(),
        uuid: session.io.output.transcript.leaf().unwrap_or_default().to_owned(),
        timestamp: sys::clock::now_iso(),
        tool_use_result: None,
        tool_result_meta: Vec::new(),
        is_replay: true,
        is_synthetic: false,
        agent: None,
    };
    session.io.output.host.send(SdkMessage::User(Box::new(user))).await;
    Ok(())
}
