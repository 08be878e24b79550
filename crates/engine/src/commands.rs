//! Commands that arrive as prompts and are carried out here, not by the model. One row each.

use crate::command::Prompt;
use crate::compact::{Outcome, Trigger};
use crate::decide::EndReason;
use crate::prompts;
use crate::result;
use crate::scribe::PromptSource;
use crate::session::{Session, text_message};
use crate::turn::Turn;
use store::StoreError;
use store::registry::Status as LiveStatus;
use wire::control::SlashCommand;
use wire::sdk::{CompactResult, Message, SystemBody, User};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Compact { instructions: Option<String> },
}

/// As hosts list them.
pub(crate) fn listed() -> Vec<SlashCommand> {
    vec![SlashCommand {
        name: "compact".into(),
        description: "Summarise the conversation so far and go on from the summary".into(),
        argument_hint: "<optional instructions>".into(),
        aliases: Vec::new(),
        builtin: true,
    }]
}

/// The command a prompt is, if it is one of ours.
pub(crate) fn built_in(text: &str) -> Option<BuiltIn> {
    let (name, arguments) =
        text.trim().strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((&text.trim()[1..], ""));
    let arguments = Some(arguments.trim()).filter(|a| !a.is_empty()).map(str::to_owned);
    match name {
        "compact" => Some(BuiltIn::Compact { instructions: arguments }),
        _ => None,
    }
}

pub(crate) async fn run(session: &mut Session, command: BuiltIn, prompt: Prompt) {
    match command {
        BuiltIn::Compact { instructions } => compact(session, instructions, prompt).await,
    }
}

/// `/compact`: a turn without a question to the model, beside the summary itself.
async fn compact(session: &mut Session, instructions: Option<String>, prompt: Prompt) {
    let mut turn = Turn::new(session, prompt.uuid.clone());
    turn.local_command = Some("compact");
    session.io.ledger.start_turn();
    session.set_state("running", LiveStatus::Busy).await;
    let arguments = instructions.clone().unwrap_or_default();
    let refusal = if !session.context.pressure().is_manual_allowed() {
        Some("Compaction is switched off (DISABLE_COMPACT).")
    } else if session.context.history().is_empty() {
        Some("There is no conversation to compact yet.")
    } else {
        None
    };
    let outcome = match refusal {
        Some(why) => {
            session.io.host.system(SystemBody::compacting(None)).await;
            session.io.host.system(SystemBody::compacted(CompactResult::Failed, Some(why.to_owned()))).await;
            session.announce().await;
            Ok(Some(Outcome::Failed(why.to_owned())))
        }
        None => session.compact(&Trigger::Manual { instructions }, &turn.token).await,
    };
    let reason = match outcome {
        Ok(Some(Outcome::Done(_))) => {
            turn.text = "Compacted. The conversation goes on from its summary.".into();
            EndReason::Completed
        }
        Ok(Some(Outcome::Interrupted)) => EndReason::AbortedStreaming,
        Ok(Some(Outcome::Failed(why))) => {
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
    if let Err(error) = record(session, "compact", &arguments, &turn.text).await {
        tracing::warn!(%error, "a command could not be recorded");
    }
    result::conclude(session, turn, reason).await;
}

/// The command and what it printed, as readers of transcripts know them.
async fn record(session: &mut Session, name: &str, arguments: &str, output: &str) -> Result<(), StoreError> {
    session.inject(prompts::COMMAND_CAVEAT, PromptSource::Meta).await?;
    session.inject(&prompts::command(name, arguments), PromptSource::Local).await?;
    let output = format!("<local-command-stdout>{output}</local-command-stdout>");
    session.inject(&output, PromptSource::Local).await?;
    let user = User {
        kind: "user",
        message: text_message(&output),
        parent_tool_use_id: None,
        session_id: session.io.host.session_id.clone(),
        uuid: session.io.scribe.leaf().unwrap_or_default().to_owned(),
        timestamp: sys::clock::now_iso(),
        tool_use_result: None,
        is_replay: true,
        is_synthetic: false,
        agent: None,
    };
    session.io.host.send(Message::User(Box::new(user))).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_commands() {
        let compact = |text: Option<&str>| Some(BuiltIn::Compact { instructions: text.map(str::to_owned) });
        assert_eq!(built_in("/compact"), compact(None));
        assert_eq!(built_in("  /compact keep the API  "), compact(Some("keep the API")));
        for other in ["/compactor", "compact", "/", "", "/unknown x", "see /compact"] {
            assert_eq!(built_in(other), None, "{other:?}");
        }
    }
}
