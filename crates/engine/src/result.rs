//! The messages that open and close a turn for the host: `system/init`, the synthetic error message, and the result.
//! The transcript is flushed before a result is sent.

use crate::decide::EndReason;
use crate::session::init::FAST_MODE;
use crate::session::tasks::stop_rest;
use crate::session::{LiveSession, SessionIo};
use crate::turn_state::{TurnError, TurnState};
use serde_json::value::RawValue;
use session_parts::budgets::ExhaustedBudget;
use session_parts::transcript_writer::{ApiErrorLine, AssistantLine};
use store::StoreError;
use store::live_sessions::LiveStatus;
use wire::entry::{Attribution, MetaEntry};
use wire::sdk::{AssistantMessage, ReportedBudget, SdkMessage, StoppedTask, SystemBody, TurnResult};
use wire::usage::Usage;

/// Records and sends an assistant message of our own with the reason why the turn failed. It is never part of the
/// history that is sent to the model.
pub(crate) async fn synthetic_error(
    session: &mut LiveSession,
    turn: &mut TurnState,
    reason: EndReason,
) -> Result<(), StoreError> {
    let error = turn.error.get_or_insert_with(|| default_error(reason)).clone();
    let message = synthetic_message(&error.text);
    let (uuid, timestamp) = (sys::id::uuid(), sys::clock::now_iso());
    let line = AssistantLine {
        message: message.clone(),
        block: None,
        attribution: Attribution::default(),
        uuid: uuid.clone(),
        timestamp: timestamp.clone(),
        request_id: None,
        effort: None,
        error: Some(ApiErrorLine {
            category: error.category,
            status: error.status,
            refusal: turn.refusal.clone().filter(|_| reason == EndReason::Refused),
        }),
        aborted: false,
    };
    session.io.output.transcript.assistant(vec![line])?;
    let frame = AssistantMessage {
        error: Some(error.category),
        is_api_error_message: true,
        api_error_status: error.status,
        api_error_type: error.api_type,
        ..AssistantMessage::new(message, session.io.output.host.session_id.clone(), uuid, timestamp)
    };
    session.io.output.host.send(SdkMessage::Assistant(Box::new(frame))).await;
    Ok(())
}

fn default_error(reason: EndReason) -> TurnError {
    let (text, category) = match reason {
        EndReason::MaxOutputTokens => (
            "API Error: the answer reached the output limit several times in a row. Ask for it in smaller parts, or \
             raise CLAUDE_CODE_MAX_OUTPUT_TOKENS.",
            "max_output_tokens",
        ),
        EndReason::PromptTooLong => (PROMPT_TOO_LONG, "invalid_request"),
        EndReason::RequestTooLarge => (REQUEST_TOO_LARGE, "invalid_request"),
        EndReason::RapidRefill => (RAPID_REFILL, "invalid_request"),
        _ => (
            "API Error: the answer broke off several times in a row: the connection broke in the middle of it, or a call \
             that it announced never came. Try again, or check the network and the gateway.",
            "unknown",
        ),
    };
    TurnError::own(text.into(), category)
}

/// The conversation no longer fits the model's window.
pub(crate) const PROMPT_TOO_LONG: &str = "Prompt is too long: the conversation no longer fits the model's context window. Start a new session, resume an \
     earlier point with --resume-session-at, or choose a model with a larger window (for example --model 'sonnet[1m]'). \
     Nothing was lost: the session can still be resumed.";

/// The request has more bytes than the server accepts.
pub(crate) const REQUEST_TOO_LARGE: &str = "Request too large: the conversation has more bytes than the server accepts, mostly because of images or documents in \
     it. Go back before the large one with --resume-session-at, use /compact, or send smaller images and fewer pages at a \
     time. Nothing was lost: the session can still be resumed.";

/// Compaction does not help: what is added right after it fills the window again.
const RAPID_REFILL: &str = "The conversation filled the context window again right after it was compacted, three times in a row, so the turn \
     was stopped. A single message, file or tool result is probably too large: ask for smaller pieces, or choose a model \
     with a larger window. Nothing was lost: the session can still be resumed.";

pub(crate) fn synthetic_message(text: &str) -> Box<RawValue> {
    own_message(text, "stop_sequence", Some(""))
}

/// The reply of a command as an assistant message.
pub(crate) fn command_message(text: &str) -> Box<RawValue> {
    own_message(text, "end_turn", None)
}

fn own_message(text: &str, stop_reason: &str, stop_sequence: Option<&str>) -> Box<RawValue> {
    let value = serde_json::json!({
        "id": sys::id::uuid(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": stop_sequence,
        "usage": Usage { service_tier: "standard".into(), ..Usage::default() },
    });
    wire::raw::to_raw(&value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Records the leaf, flushes the transcript and sends the result.
pub(crate) async fn conclude(session: &mut LiveSession, turn: TurnState, reason: EndReason) {
    if session.io.output.host.agent_id().is_some() {
        return conclude_agent(session).await;
    }
    let meta = MetaEntry::LastPrompt {
        last_prompt: Some(shorten(&session.context.last_prompt)).filter(|prompt| !prompt.is_empty()),
        leaf_uuid: session.io.output.transcript.leaf().map(str::to_owned),
        session_id: session.io.output.host.session_id.clone(),
    };
    session.io.provider.side.drain_usage(&mut session.io.output.ledger);
    let cost = MetaEntry::CostState {
        session_id: session.io.output.host.session_id.clone(),
        state: Box::new(session.io.output.ledger.state()),
    };
    // A conversation without lines needs no file.
    let noted = if session.io.output.transcript.leaf().is_some() {
        let recorded = session.record_queue().and_then(|()| session.io.output.transcript.meta(meta));
        let recorded = recorded.and_then(|()| session.io.output.transcript.note_kind());
        recorded.and_then(|()| session.io.output.transcript.meta(cost))
    } else {
        Ok(())
    };
    let recorded = match noted {
        Ok(()) => session.io.output.transcript.flush().await,
        Err(error) => Err(error),
    };
    if let Err(error) = recorded {
        tracing::warn!(%error, "the turn is not on disk");
    }
    session.report_disk().await;
    let stopped = if ends_run(session, reason) { stop_rest(&mut session.io).await } else { Vec::new() };
    let result = build(session, turn, reason, stopped);
    session.io.output.results += 1;
    session.io.output.host.send(SdkMessage::Result(Box::new(result))).await;
    session.control.view.api_ms += session.io.output.ledger.api_ms;
    session.context.end_turn();
    session.io.provider.side.clear_last_request();
    session.control.end_turn();
    // The session is idle only when no background agent is unfinished and no prompt is queued.
    if !session.io.tooling.state.tasks.has_pending_agents(None) && session.control.backlog() == 0 {
        session.set_state("idle", LiveStatus::Idle).await;
    }
    session.publish_view().await;
}

/// Nothing may go on behind the result of this turn. Who interrupts the last turn of a run wants its end.
fn ends_run(session: &LiveSession, reason: EndReason) -> bool {
    let flags = &session.io.output.flags;
    flags.ends_after_turn || (reason.is_interrupt() && session.control.is_last_turn() && !flags.has_screen)
}

/// An agent's turn has no result: whoever started it reads its end.
async fn conclude_agent(session: &mut LiveSession) {
    if let Err(error) = session.io.output.transcript.flush().await {
        tracing::warn!(%error, "the agent's turn is not on disk");
    }
    session.report_disk().await;
    session.context.end_turn();
    session.io.provider.side.clear_last_request();
    session.control.end_turn();
}

/// One line of the prompt, for listings.
fn shorten(prompt: &str) -> String {
    const MAX_PROMPT_CHARS: usize = 200;
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_PROMPT_CHARS {
        line
    } else {
        line.chars().take(MAX_PROMPT_CHARS).collect::<String>() + "…"
    }
}

fn build(session: &mut LiveSession, turn: TurnState, reason: EndReason, stopped: Vec<StoppedTask>) -> TurnResult {
    let is_success = reason.subtype() == "success";
    let io = &mut session.io;
    io.provider.side.drain_usage(&mut io.output.ledger);
    let failed = turn.error.as_ref().filter(|_| reason != EndReason::Completed);
    let structured_output = io.tooling.structured.as_ref().and_then(|s| s.take());
    let said = match (&structured_output, failed) {
        (_, Some(error)) => error.text.clone(),
        (Some(value), None) => value.get().to_owned(),
        (None, None) if reason == EndReason::AbortedWait => turn.text.clone(),
        (None, None) => with_stopped(turn.text.clone(), &stopped),
    };
    // The answer was finished before the interrupt.
    let result = (is_success || reason == EndReason::AbortedWait).then_some(said);
    let budget = (reason == EndReason::Budget).then(|| io.output.ledger.budgets().stopped_by()).flatten();
    let mut errors = vec![explain(&turn, reason, budget.as_ref())];
    errors.extend(if reason.is_interrupt() { stopped_with_run(&stopped) } else { stopped_notice(&stopped) });
    let mut permission_denials = std::mem::take(&mut io.rules.denials);
    permission_denials.extend(io.tooling.spawner.agents.take_denials());
    TurnResult {
        kind: "result",
        subtype: reason.subtype(),
        is_error: is_error(reason) || turn.command_failed,
        api_error_status: failed.and_then(|e| e.status),
        api_error_type: failed.and_then(|e| e.api_type.clone()),
        duration_ms: millis(turn.started),
        duration_api_ms: io.output.ledger.api_ms,
        times: turn.times,
        num_turns: u64::from(turn.facts.rounds) + u64::from(turn.local_command.is_none()),
        result,
        errors: (!is_success).then_some(errors),
        stop_reason: if turn.deferred.is_some() { Some(reason.terminal().to_owned()) } else { turn.stop_reason },
        session_id: io.output.host.session_id.clone(),
        total_cost_usd: io.output.ledger.cost(),
        usage: io.output.ledger.turn_usage(),
        model_usage: io.output.ledger.models(),
        model_usage_since_last_result: Some(io.output.ledger.take_news()),
        permission_denials,
        structured_output,
        background_tasks_stopped: stopped,
        deferred_tool_use: turn.deferred,
        warnings: io.output.transcript.unsaved().into_iter().collect(),
        // A command of ours has no terminal reason, unless it failed.
        terminal_reason: (turn.local_command.is_none() || reason != EndReason::Completed).then(|| reason.terminal()),
        startup_failure_reason: None,
        user_message_uuid: turn.prompt_uuid,
        local_command: turn.local_command.map(str::to_owned),
        origin: turn.origin,
        queued_turn_count: session.control.backlog(),
        result_index: io.output.results,
        fast_mode_state: FAST_MODE,
        subagent_stats: io.tooling.spawner.agents.stats(),
        x_checks: io.knowledge.checks.report(),
        x_resets_at: turn.limit_resets_at.map(sys::clock::iso),
        x_warnings: turn.warnings,
        x_budget: budget.map(reported_budget),
        uuid: sys::id::uuid(),
    }
}

fn reported_budget(budget: ExhaustedBudget) -> ReportedBudget {
    let ExhaustedBudget { scope, limit, spent } = budget;
    ReportedBudget { scope: scope.name(), unit: limit.unit.name(), limit: limit.amount, spent }
}

/// An interrupted turn counts as an error, because the request was not completed.
fn is_error(reason: EndReason) -> bool {
    !matches!(
        reason,
        EndReason::Completed | EndReason::HookStopped | EndReason::StopHookPrevented | EndReason::ToolDeferred
    )
}

/// The answer, followed by a notice about tasks that were stopped because the run ends.
fn with_stopped(text: String, stopped: &[StoppedTask]) -> String {
    match stopped_notice(stopped) {
        Some(words) if text.is_empty() => words,
        Some(words) => format!("{text}\n\n{words}"),
        None => text,
    }
}

fn stopped_notice(stopped: &[StoppedTask]) -> Option<String> {
    stopped_with_run(stopped)
        .map(|words| format!("{words} CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS sets how long a run waits."))
}

fn stopped_with_run(stopped: &[StoppedTask]) -> Option<String> {
    let named: Vec<String> =
        stopped.iter().map(|task| format!("\"{}\" ({})", task.description, task.task_id)).collect();
    (!named.is_empty())
        .then(|| format!("Stopped because the run ended while it was still going: {}.", named.join(", ")))
}

fn explain(turn: &TurnState, reason: EndReason, budget: Option<&ExhaustedBudget>) -> String {
    match reason {
        EndReason::Budget => {
            let why = budget.map(|budget| format!(". {budget}")).unwrap_or_default();
            format!("Reached maximum budget{why}")
        }
        EndReason::MaxTurns => {
            format!("Reached maximum number of turns ({})", turn.facts.max_turns.unwrap_or_default())
        }
        EndReason::StructuredRetries => {
            "The model did not deliver output that fits the schema within the allowed retries".into()
        }
        EndReason::MalformedCalls => "The model sent unreadable tool calls several times in a row".into(),
        EndReason::RepeatedCalls => {
            let times = turn.facts.repeats.unwrap_or_default();
            format!(
                "The model repeated the same call with the same result {times} times, so the turn was ended (setting maxRepeats)"
            )
        }
        EndReason::AbortedStreaming | EndReason::AbortedTools => "Interrupted by the user".into(),
        EndReason::AbortedWait => "Interrupted by the user while waiting for work in the background".into(),
        EndReason::Completed
        | EndReason::HookStopped
        | EndReason::StopHookPrevented
        | EndReason::ToolDeferred
        | EndReason::DeferredUnavailable
        | EndReason::ApiError
        | EndReason::Refused
        | EndReason::PromptTooLong
        | EndReason::RequestTooLarge
        | EndReason::RapidRefill
        | EndReason::MaxOutputTokens
        | EndReason::Unrecorded => turn.error.as_ref().map(|e| e.text.clone()).unwrap_or_default(),
    }
}

fn millis(since: std::time::Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Reports once, at the end, that lines were not written to disk.
pub(crate) async fn report_lost_writes(io: &SessionIo, error: &StoreError) {
    let StoreError::Failing { failure, .. } = error else { return };
    let body = SystemBody::SessionWritesLost {
        error_code: failure.code.clone(),
        lost: vec!["transcript"],
        transcript_session_ids: vec![io.output.host.session_id.clone()],
    };
    io.output.host.system(body).await;
}
