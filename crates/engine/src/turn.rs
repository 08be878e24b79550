//! One turn: from accepting a prompt until the session is idle again. The loop asks `decide` and carries out its
//! answer; every exit goes through `finish`, with a result for every started call.

pub(crate) mod opening;

use crate::calls::BatchReport;
use crate::calls::{self};
use crate::compact;
use crate::decide::StructuredState;
use crate::decide::{EndReason, NextAction, PhaseResult, ResponseSummary, decide};
use crate::deferred;
use crate::result;
use crate::session::LiveSession;
use crate::session::checks::TurnChecks;
use crate::session::compaction_pause::PauseChoice;
use crate::session::hooks::{SettingsCheckTime, StopState, StopVerdict};
use crate::session::spending::PriceChoice;
use crate::step;
use crate::turn::opening::TurnOpening;
use crate::turn_state::MARKER_STREAM;
use crate::turn_state::MARKER_TOOLS;
use crate::turn_state::TurnEnd;
use crate::turn_state::TurnOpener;
use crate::turn_state::TurnState;
use session_parts::compaction_policy::CompactionTrigger;
use session_parts::prompts;
use session_parts::skills;
use session_parts::tool_use::ToolUse;
use session_parts::transcript_writer::PromptSource;
use store::StoreError;
use tools::ToolClass;
use wire::sdk::{SystemBody, TurnOrigin};

/// Runs a turn. Its result has been sent to the host when this returns.
pub(crate) async fn run(session: &mut LiveSession, opener: TurnOpener) -> TurnEnd {
    let (prompt_uuid, origin) = match &opener {
        TurnOpener::Prompt(prompt) => (prompt.uuid.clone(), prompt.by_human.then_some(TurnOrigin { kind: "human" })),
        TurnOpener::Notice(_) => (None, Some(TurnOrigin { kind: "task-notification" })),
        TurnOpener::Hook(_) => (None, None),
    };
    session.begin_budgets();
    let mut turn = TurnState { origin, ..TurnState::new(session, prompt_uuid) };
    if !matches!(opener, TurnOpener::Prompt(_)) {
        session.io.output.transcript.count_turn();
    }
    session.io.output.ledger.start_turn();
    session.io.rules.denials.clear();
    session.io.knowledge.repeats.forget();
    // All turns of an agent are one task.
    if session.io.output.host.agent_id().is_none() {
        session.io.knowledge.checks = TurnChecks::default();
    }
    session.io.hooks.stop = None;
    let token = turn.token.clone();
    let mut opener = Some(opener);
    if let Some(used) = session.start.deferred.take() {
        if let Some(reason) = deferred::resume(session, &mut turn, used).await {
            return finish(session, turn, reason).await;
        }
        opener = opener.filter(|opener| !deferred::is_empty(opener));
    }
    let opened = match session.open_turn(opener.as_ref(), &token).await {
        Ok(TurnOpening::Accepted(plan)) => session.load_typed(plan, &token).await,
        Ok(TurnOpening::Refused(why)) => {
            turn.text = why;
            return finish(session, turn, EndReason::HookStopped).await;
        }
        Err(error) => Err(error),
    };
    match opened {
        Ok(Ok(())) => {}
        Ok(Err(why)) => {
            turn.text = why;
            turn.command_failed = true;
            return finish(session, turn, EndReason::Completed).await;
        }
        Err(error) => turn.fail_unrecorded(&error),
    }
    loop {
        turn.facts.interrupted = session.control.is_interrupted();
        turn.facts.crowded = session.context.is_crowded();
        turn.facts.relief = session.context.relief();
        if session.control.is_shut_down() {
            abandon(session).await;
            return TurnEnd { reason: None, text: turn.text, error: None };
        }
        if let Some(reason) = session.io.hooks.stop.take().filter(|_| !turn.facts.interrupted) {
            return end_by_hook(session, turn, reason).await;
        }
        match decide(&turn.facts) {
            NextAction::CallModel => call_model(session, &mut turn).await,
            NextAction::Compact(trigger) => Box::pin(make_room(session, &mut turn, trigger)).await,
            NextAction::RunCalls => {
                session.check_changes(SettingsCheckTime::Quiet, &token).await;
                run_calls(session, &mut turn).await;
            }
            NextAction::Wait(delay) => wait(session, &mut turn, delay).await,
            NextAction::WaitForLimit { until_ms } => session.wait_for_limit(&mut turn, until_ms).await,
            NextAction::Continue => {
                turn.facts.continuations += 1;
                continue_with(session, &mut turn, prompts::CONTINUE).await;
            }
            NextAction::DemandOutput => {
                turn.ask_for_output_again();
                continue_with(session, &mut turn, prompts::DEMAND_OUTPUT).await;
            }
            NextAction::StopHooks if must_verify(session, &turn) => {
                turn.is_asked_to_verify = true;
                continue_with(session, &mut turn, prompts::VERIFY).await;
            }
            NextAction::StopHooks => {
                if let Some(reason) = stop(session, &mut turn).await {
                    return finish(session, turn, reason).await;
                }
            }
            NextAction::End(EndReason::Budget) if session.offer_budget(&mut turn).await => {}
            NextAction::End(reason) => return finish(session, turn, reason).await,
        }
    }
}

/// Whether the model is asked once to check what it changed.
fn must_verify(session: &LiveSession, turn: &TurnState) -> bool {
    let settings = &session.io.rules.watch.loaded.settings;
    let may_go_on = turn.facts.max_turns.is_none_or(|max| turn.facts.steps < max);
    settings.verify_before_end.as_deref() == Some("remind")
        && !turn.is_asked_to_verify
        && may_go_on
        && session.io.knowledge.checks.lacks_run()
        && session.io.tooling.registry.specs().any(|spec| spec.facts.class == ToolClass::Shell)
}

impl TurnState {
    pub(crate) fn after_calls(&mut self, report: &BatchReport, delivered: bool) {
        self.facts.rounds += 1;
        self.facts.malformed_in_a_row = if report.all_malformed { self.facts.malformed_in_a_row + 1 } else { 0 };
        if delivered {
            self.facts.structured = StructuredState::Delivered;
        } else if report.output_rejected {
            self.spend_output_retry();
        }
        self.facts.last = PhaseResult::CallsDone;
    }
}

async fn call_model(session: &mut LiveSession, turn: &mut TurnState) {
    session.apply_changes().await;
    session.send_notices().await;
    if matches!(turn.facts.last, PhaseResult::CallsDone)
        && let Err(error) = session.join_queued(&turn.token).await
    {
        return turn.fail_unrecorded(&error);
    }
    if let Err(error) = session.send_reminders().await {
        return turn.fail_unrecorded(&error);
    }
    match session.weigh_price(turn).await {
        PriceChoice::Send => {}
        PriceChoice::Compact => return compact(session, turn, CompactionTrigger::Crowded).await,
        PriceChoice::Cancel => return turn.token.cancel(),
    }
    let LiveSession { control, context, io, .. } = session;
    let phase = Box::pin(step::run(context, io, turn));
    match control.during(phase).await {
        Some(Ok(last)) => turn.facts.last = last,
        Some(Err(error)) => turn.fail_unrecorded(&error),
        None => return,
    }
    session.report_disk().await;
    session.report_failed_servers().await;
    session.report_budgets().await;
    turn.facts.over_budget = session.is_over_budget();
    if let PhaseResult::Answered(ResponseSummary { .. }) = turn.facts.last {
        turn.facts.steps += 1;
        session.publish_usage();
    }
}

/// Makes room by itself: with a summary, or by clearing old results where that is enough.
async fn make_room(session: &mut LiveSession, turn: &mut TurnState, trigger: CompactionTrigger) {
    match session.clear_old_results().await {
        Ok(true) => return turn.facts.last = PhaseResult::Compacted,
        Ok(false) => {}
        Err(error) => return turn.fail_unrecorded(&error),
    }
    match session.ask_before_compaction(&trigger, turn).await {
        PauseChoice::Compact => compact(session, turn, trigger).await,
        PauseChoice::GoOn => turn.facts.last = PhaseResult::NotCompacted(trigger),
        PauseChoice::Stop => turn.token.cancel(),
    }
}

async fn compact(session: &mut LiveSession, turn: &mut TurnState, trigger: CompactionTrigger) {
    turn.facts.last = match session.compact(&trigger, &turn.token).await {
        Ok(Some(compact::CompactionOutcome::Done(_))) => PhaseResult::Compacted,
        Ok(Some(compact::CompactionOutcome::Interrupted | compact::CompactionOutcome::Failed(_))) => {
            PhaseResult::NotCompacted(trigger)
        }
        Ok(None) => return,
        Err(error) => return turn.fail_unrecorded(&error),
    };
    turn.facts.over_budget = session.is_over_budget();
}

pub(crate) async fn run_calls(session: &mut LiveSession, turn: &mut TurnState) {
    let mut uses = std::mem::take(&mut turn.calls);
    for used in &mut uses {
        used.unreadable_before = turn.facts.malformed_in_a_row;
    }
    let token = turn.token.clone();
    let touching = skills::named_files(&uses);
    session.io.knowledge.mcp.servers().owner.set_hook_trigger(session.io.hook_trigger());
    let LiveSession { control, context, io, .. } = session;
    let reads_session =
        |used: &ToolUse| io.tooling.registry.find(&used.name).is_some_and(|tool| tool.spec().facts.reads_session);
    let (for_calls, for_hooks) = (uses.iter().any(reads_session), io.hooks.has_agent_handlers());
    io.tooling.view = (for_calls || for_hooks).then(|| io.view(context));
    if let Some(view) = io.tooling.view.clone().filter(|_| for_hooks) {
        io.tooling.spawner.set_hook_view(view);
    }
    let phase = async {
        // The lines with the calls are in the file before any call has an effect.
        io.output.transcript.barrier().await?;
        calls::run(uses, io, &token).await
    };
    match control.during(phase).await {
        Some(Ok(report)) => {
            if let Some(used) = report.deferred {
                return deferred::defer(session, turn, used);
            }
            let delivered = io.tooling.structured.as_ref().is_some_and(|s| s.is_delivered());
            turn.after_calls(&report, delivered);
            turn.facts.repeats = io.knowledge.repeats.exceeded();
            let touched = skills::touched_files(touching, &report.results, &io.workspace());
            context.note_refused(report.refused);
            context.push_results(report.results, report.lines);
            if let Err(error) = session.after_calls(&touched).await {
                turn.fail_unrecorded(&error);
            }
        }
        Some(Err(error)) => turn.fail_unrecorded(&error),
        None => return,
    }
    if let Err(error) = session.add_batch_texts() {
        turn.fail_unrecorded(&error);
    }
    turn.facts.over_budget = session.is_over_budget();
    turn.stop_continued = 0;
    session.check_changes(SettingsCheckTime::AfterCalls, &token).await;
}

/// Runs the Stop hooks. Returns the reason to end; `None` when they keep the turn going.
async fn stop(session: &mut LiveSession, turn: &mut TurnState) -> Option<EndReason> {
    let state =
        StopState { active: turn.stop_active, continued: turn.stop_continued, text: &turn.text, token: &turn.token };
    match session.stop_hooks(state).await {
        Ok(StopVerdict::End) => Some(EndReason::Completed),
        Ok(StopVerdict::Prevented) => Some(EndReason::StopHookPrevented),
        Ok(StopVerdict::GoOn(text)) => {
            turn.stop_continued += 1;
            turn.stop_active = true;
            if turn.facts.max_turns.is_some_and(|max| turn.facts.steps >= max) {
                return Some(EndReason::MaxTurns);
            }
            continue_with(session, turn, &text).await;
            None
        }
        Err(error) => {
            turn.fail_unrecorded(&error);
            None
        }
    }
}

/// Ends the turn because a hook returned `continue: false`: shows and records the reason.
async fn end_by_hook(session: &mut LiveSession, turn: TurnState, reason: String) -> TurnEnd {
    let reason = if reason.is_empty() { "Execution stopped by a hook".to_owned() } else { reason };
    let body = SystemBody::Informational { content: reason.clone(), level: "warning" };
    session.io.output.host.system(body).await;
    let mut turn = turn;
    if let Err(error) = refuse_open(session, &mut turn, "Not run: a hook stopped the turn.").await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    if let Err(error) = session.inject(&format!("[Stopped by a hook: {reason}]"), PromptSource::Meta).await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    finish(session, turn, EndReason::HookStopped).await
}

async fn wait(session: &mut LiveSession, turn: &mut TurnState, delay: std::time::Duration) {
    let token = turn.token.clone();
    let pause = async {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = token.cancelled() => {}
        }
    };
    session.control.during(pause).await;
    turn.facts.last = PhaseResult::Waited;
}

/// Adds a message of our own that keeps the turn going.
async fn continue_with(session: &mut LiveSession, turn: &mut TurnState, text: &str) {
    match session.inject(text, PromptSource::Nudge).await {
        Ok(()) => turn.facts.last = PhaseResult::Prompt,
        Err(error) => turn.fail_unrecorded(&error),
    }
    turn.facts.over_budget = false;
}

/// Completes the transcript, then sends the result.
async fn finish(session: &mut LiveSession, mut turn: TurnState, reason: EndReason) -> TurnEnd {
    if let Err(error) = close_open_calls(session, &mut turn, reason).await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    if reason.is_interrupt()
        && session.io.output.host.agent_id().is_none()
        && !session.control.keeps_agents_on_interrupt()
    {
        session.io.tooling.spawner.agents.stop_all_for_user().await;
    }
    session.context.last_answer.clone_from(&turn.text);
    let (text, error) = (turn.text.clone(), turn.error.as_ref().map(|error| error.text.clone()));
    result::conclude(session, turn, reason).await;
    TurnEnd { reason: Some(reason), text, error }
}

/// An interrupt ended the wait for background work: its result repeats the answer and names what was stopped.
pub(crate) async fn conclude_wait(session: &mut LiveSession) {
    let mut turn = TurnState::new(session, None);
    turn.text = std::mem::take(&mut session.context.last_answer);
    session.io.output.ledger.start_turn();
    session.io.rules.denials.clear();
    result::conclude(session, turn, EndReason::AbortedWait).await;
}

/// Answers what is still open and writes the closing lines of an interrupted or failed turn.
async fn close_open_calls(
    session: &mut LiveSession,
    turn: &mut TurnState,
    reason: EndReason,
) -> Result<(), StoreError> {
    match reason {
        EndReason::AbortedStreaming => {
            refuse_open(session, turn, "Not run: the user interrupted the turn.").await?;
            session.inject(MARKER_STREAM, PromptSource::Marker).await
        }
        EndReason::AbortedTools => session.inject(MARKER_TOOLS, PromptSource::Marker).await,
        EndReason::ApiError
        | EndReason::Refused
        | EndReason::PromptTooLong
        | EndReason::RequestTooLarge
        | EndReason::RapidRefill
        | EndReason::MaxOutputTokens => {
            refuse_open(session, turn, "Not run: the turn ended on an API error.").await?;
            if reason == EndReason::RapidRefill {
                // The API's last error does not help the user here.
                turn.error = None;
            }
            if !matches!(reason, EndReason::Refused | EndReason::MaxOutputTokens) {
                // Like that of the synthetic error message.
                turn.stop_reason = Some("stop_sequence".into());
            }
            result::synthetic_error(session, turn, reason).await?;
            if let Some(error) = turn.error.clone() {
                session.stop_failure_hooks(error.category, &error.text).await;
            }
            Ok(())
        }
        EndReason::MaxTurns => {
            let line = serde_json::json!({
                "type": "max_turns_reached", "maxTurns": turn.facts.max_turns, "turnCount": turn.facts.rounds + 1,
            });
            let Ok(line) = wire::raw::to_raw(&line) else { return Ok(()) };
            session.io.output.transcript.attachment(line).map(drop)
        }
        EndReason::Completed
        | EndReason::AbortedWait
        | EndReason::HookStopped
        | EndReason::StopHookPrevented
        | EndReason::ToolDeferred
        | EndReason::DeferredUnavailable
        | EndReason::Budget
        | EndReason::StructuredRetries
        | EndReason::MalformedCalls
        | EndReason::RepeatedCalls
        | EndReason::Unrecorded => Ok(()),
    }
}

async fn refuse_open(session: &mut LiveSession, turn: &mut TurnState, why: &str) -> Result<(), StoreError> {
    let open = std::mem::take(&mut turn.calls);
    if open.is_empty() {
        return Ok(());
    }
    let report = calls::refuse(open, &mut session.io, why).await?;
    session.context.push_results(report.results, report.lines);
    Ok(())
}

/// The process is being stopped: flushes the transcript and sends nothing.
async fn abandon(session: &mut LiveSession) {
    if let Err(error) = session.io.output.transcript.flush().await {
        tracing::warn!(%error, "the transcript could not be flushed before the stop");
    }
}
