//! One provider request and its response. Blocks are sent to the host as they close; their transcript lines wait for
//! the final usage. A response that broke off is either kept as far as that is safe, or requested again, never both.

mod cache;
mod failure;
mod reception;
mod refusal;

use crate::decide::{PhaseResult, RequestFailure, ResponseSummary, StopKind};
use crate::session::SessionIo;
use crate::turn_state::{TurnError, TurnState};
use model::{ErrorKind, ModelError, RateLimits, RetryVerdict, catalog};
use reception::{ResponseReception, SentRequest};
use session_parts::context::{ConversationTooLarge, ModelContext};
use session_parts::provider::ProviderConnectionError;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::StoreError;
use wire::mode::PermissionMode;
use wire::sdk::{RateLimitEvent, SdkMessage, SystemBody};

/// How receiving ended.
enum ReceiveEnd {
    Whole,
    Interrupted,
    Broken(ModelError),
}

pub(crate) async fn run(
    context: &mut ModelContext,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<PhaseResult, StoreError> {
    let token = turn.token.clone();
    let connected = tokio::select! {
        biased;
        // As a request that was interrupted before its answer.
        () = token.cancelled() => return Ok(PhaseResult::Prompt),
        connected = io.connect() => connected,
    };
    let client = match connected {
        Ok(client) => client,
        Err(error) => return Ok(no_credential(turn, &error)),
    };
    context.set_planning(io.rules.mode() == PermissionMode::Plan);
    io.provider.side.set(client.clone(), context.model());
    let request = match context.request() {
        Ok(request) => Arc::new(request),
        Err(error) => return Ok(too_large(turn, error)),
    };
    io.provider.side.set_last_request(&request);
    if io.output.flags.partial_messages {
        io.output.host.system(SystemBody::requesting()).await;
    }
    let sent_at = Instant::now();
    turn.times.time_to_request_ms.get_or_insert_with(|| millis(turn.started.elapsed()));
    io.output.ledger.call_ids.add_history(context.history().turns());
    let asked = SentRequest {
        model: request.model.clone(),
        effort: context.effort(),
        display: request.thinking.as_ref().and_then(|thinking| thinking.display()).map(Arc::from),
        at: sent_at,
        instead_of: turn.abandoned.take(),
    };
    let mut reception =
        ResponseReception::new((asked, Arc::clone(&request)), turn.token.clone(), io.output.ledger.call_ids.claim());
    let received = receive(&client, &request, &mut reception, io, turn).await?;
    let took_ms = millis(sent_at.elapsed());
    io.output.ledger.api_ms += took_ms;
    if matches!(received, ReceiveEnd::Whole) {
        io.output.ledger.answered_ms += took_ms;
    }
    match received {
        ReceiveEnd::Whole => record_response(reception, ResponseCut::No, context, io, turn).await,
        ReceiveEnd::Interrupted => {
            reception.close_partial(io).await;
            record_response(reception, ResponseCut::No, context, io, turn).await
        }
        ReceiveEnd::Broken(error) => handle_failure(&error, reception, context, io, turn).await,
    }
}

async fn receive(
    client: &model::ModelClient,
    request: &model::ModelRequest,
    reception: &mut ResponseReception,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<ReceiveEnd, StoreError> {
    let token = turn.token.clone();
    let opened = tokio::select! {
        biased;
        () = token.cancelled() => return Ok(ReceiveEnd::Interrupted),
        opened = client.stream(request) => opened,
    };
    let mut stream = match opened {
        Ok(stream) => stream,
        Err(error) => return Ok(ReceiveEnd::Broken(error)),
    };
    reception.request_id = stream.request_id().map(str::to_owned);
    report_limits(stream.rate_limits(), io).await;
    loop {
        let event = tokio::select! {
            biased;
            () = token.cancelled() => return Ok(ReceiveEnd::Interrupted),
            () = reception.overdue() => {
                reception.write(io)?;
                continue;
            }
            event = stream.next() => event,
        };
        match event {
            Ok(Some(event)) => {
                if let Some(fault) = reception.assembly.fault(&event) {
                    return Ok(ReceiveEnd::Broken(fault));
                }
                let event = reception.call_ids.admit(event);
                let since = || millis(turn.started.elapsed());
                turn.times.ttft_stream_ms.get_or_insert_with(since);
                if reception::has_content(&event) {
                    turn.times.ttft_ms.get_or_insert_with(since);
                }
                reception.take(&event, io).await?;
                if reception.has_output_started {
                    turn.times.first_content_frame_ms.get_or_insert_with(since);
                }
            }
            Ok(None) if reception.assembly.stop_reason.is_some() => return Ok(ReceiveEnd::Whole),
            Ok(None) => return Ok(ReceiveEnd::Broken(ModelError::dropped("the stream ended before the answer did"))),
            Err(error) => return Ok(ReceiveEnd::Broken(error)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseCut {
    No,
    Yes,
}

/// Records the response and gives its calls to the turn.
async fn record_response(
    mut reception: ResponseReception,
    cut: ResponseCut,
    context: &mut ModelContext,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<PhaseResult, StoreError> {
    turn.attempts.reset();
    reception.call_ids.commit();
    reception.finish(io).await?;
    let model = reception.model(context.model());
    io.output.ledger.record_main(&catalog::counted_as(context.model(), &model), &reception.assembly.usage);
    io.output.host.count(&reception.assembly.usage);
    let stop = stop_of(reception.assembly.stop_reason.as_deref());
    let tokens = reception.assembly.usage.total_input() + reception.assembly.usage.output_tokens;
    turn.stop_reason.clone_from(&reception.assembly.stop_reason);
    let text = reception.text();
    if !text.is_empty() {
        turn.text = text;
    }
    cache::account(reception.request(), &reception.assembly.usage, context, io).await?;
    turn.calls = reception.calls();
    // From here on the call has the tool's real name, also for rules and hooks; the recorded block is unchanged.
    for call in &mut turn.calls {
        if let Some(meant) = io.output.facts.tool_aliases.get(&call.name) {
            call.name.clone_from(meant);
        }
    }
    if stop == StopKind::Refusal {
        return refusal::handle(&reception, context, io, turn).await;
    }
    let calls = turn.calls.len();
    let lines = reception.line_uuids();
    context.push_assistant(&model, reception.into_blocks(), lines);
    context.record_answer(tokens);
    Ok(PhaseResult::Answered(ResponseSummary { stop, calls, cut: cut == ResponseCut::Yes }))
}

fn stop_of(reason: Option<&str>) -> StopKind {
    match reason {
        Some("tool_use") => StopKind::ToolUse,
        Some("max_tokens") => StopKind::MaxTokens,
        Some("pause_turn") => StopKind::PauseTurn,
        Some("refusal") => StopKind::Refusal,
        Some("model_context_window_exceeded") => StopKind::ContextExceeded,
        // `end_turn`, `stop_sequence`, reasons of newer servers, and an interrupted stream without a reason.
        Some(_) | None => StopKind::EndTurn,
    }
}

/// Asks the retry policy about a failure and applies its verdict.
async fn handle_failure(
    error: &ModelError,
    reception: ResponseReception,
    context: &mut ModelContext,
    io: &mut SessionIo,
    turn: &mut TurnState,
) -> Result<PhaseResult, StoreError> {
    tracing::debug!(%error, kind = ?error.kind, "the request failed");
    report_limits(error.limits.as_deref().cloned(), io).await;
    let mut verdict = turn.attempts.policy.next(error, reception.assembly.progress());
    if verdict == RetryVerdict::Reauthenticate && !io.provider.connection.has_helper() {
        verdict = turn.attempts.policy.keep_key(error);
    }
    turn.abandoned = reception.abandoned(&verdict, io);
    Ok(PhaseResult::Failed(match verdict {
        RetryVerdict::Complete => return record_response(reception, ResponseCut::No, context, io, turn).await,
        RetryVerdict::KeepCompleted => return record_response(reception, ResponseCut::Yes, context, io, turn).await,
        RetryVerdict::Retry { delay, attempt } => {
            if error.kind == ErrorKind::Authentication {
                io.provider.connection.forget_key();
            }
            send_retry(error, delay, attempt, io, turn).await?;
            RequestFailure::Transient { delay }
        }
        RetryVerdict::Reissue => RequestFailure::Adjusted,
        RetryVerdict::LowerMaxTokens(limit) => {
            context.limit_output(limit);
            RequestFailure::Adjusted
        }
        RetryVerdict::Disable(capability) => {
            context.disable(capability);
            RequestFailure::Adjusted
        }
        RetryVerdict::Reauthenticate => {
            io.provider.connection.forget_key();
            RequestFailure::Adjusted
        }
        RetryVerdict::Compact => overflow(error, turn),
        RetryVerdict::GiveUp => give_up(error, context, io, turn),
    }))
}

/// Tells the host what changed about the limits of the account.
async fn report_limits(limits: Option<RateLimits>, io: &SessionIo) {
    let Some(info) = limits.and_then(|limits| io.provider.connection.limits().take(limits)) else { return };
    let session_id = io.output.host.session_id.clone();
    let event = RateLimitEvent::new(info, session_id, sys::id::uuid());
    io.output.host.send(SdkMessage::RateLimit(Box::new(event))).await;
}

fn overflow(error: &ModelError, turn: &mut TurnState) -> RequestFailure {
    turn.facts.oversized = error.status == Some(413);
    let why = if turn.facts.oversized { crate::result::REQUEST_TOO_LARGE } else { crate::result::PROMPT_TOO_LONG };
    let text = format!("{why} (The API said: {})", error.message);
    turn.error = Some(TurnError::of_api(text, "invalid_request", error));
    RequestFailure::Overflow
}

fn give_up(error: &ModelError, context: &mut ModelContext, io: &SessionIo, turn: &mut TurnState) -> RequestFailure {
    if error.kind == ErrorKind::Budget {
        turn.error = Some(TurnError::own(error.message.clone(), error.category()));
        return RequestFailure::Budget;
    }
    if error.is_unavailable() && context.fall_back() {
        tracing::debug!(model = context.model(), "falling back to another model for this turn");
        turn.attempts.reset();
        return RequestFailure::FallBack;
    }
    let text = failure::text(error, context, &io.provider.connection);
    turn.error = Some(TurnError::of_api(text, error.category(), error));
    turn.limit_resets_at = error.limit_resets_at(sys::clock::now_ms());
    match turn.limit_resets_at {
        Some(until_ms) => RequestFailure::Limited { until_ms },
        None => RequestFailure::Fatal,
    }
}

/// Sends nothing, because the server would refuse the request.
fn too_large(turn: &mut TurnState, error: ConversationTooLarge) -> PhaseResult {
    turn.facts.oversized = false;
    let text = format!("{} ({error}.)", crate::result::PROMPT_TOO_LONG);
    turn.error = Some(TurnError::own(text, "invalid_request"));
    PhaseResult::Failed(RequestFailure::Overflow)
}

fn no_credential(turn: &mut TurnState, error: &ProviderConnectionError) -> PhaseResult {
    turn.error = Some(TurnError::own(error.to_string(), "authentication_failed"));
    PhaseResult::Failed(RequestFailure::Fatal)
}

/// Reports a retry to the host before the pause, and records it.
async fn send_retry(
    error: &ModelError,
    delay: Duration,
    attempt: u32,
    io: &mut SessionIo,
    turn: &TurnState,
) -> Result<(), StoreError> {
    let retry_delay_ms = millis(delay);
    let max_retries = turn.attempts.policy.max_retries;
    let body = SystemBody::ApiRetry {
        attempt,
        max_retries,
        retry_delay_ms,
        error_status: error.status,
        error: error.category(),
        reason: error.reason(),
    };
    io.output.host.system(body).await;
    let mut fields = serde_json::Map::new();
    fields.insert("level".into(), "error".into());
    let mut inner = serde_json::Map::new();
    if let Some(status) = error.status {
        inner.insert("status".into(), status.into());
    }
    inner.insert("message".into(), error.message.clone().into());
    fields.insert("error".into(), inner.into());
    fields.insert("retryInMs".into(), retry_delay_ms.into());
    fields.insert("retryAttempt".into(), attempt.into());
    fields.insert("maxRetries".into(), max_retries.into());
    io.output.transcript.system("api_error", fields)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
