//! One turn: from a prompt being accepted to the session going idle again. The loop only asks `decide` and carries out
//! its answer; every exit leaves through `finish`, with every started call answered.

use crate::agents;
use crate::calls::{self, Report, ToolUse};
use crate::command::Prompt;
use crate::compact::{self, Trigger};
use crate::decide::{Answer, EndReason, Failure, Last, Next, Structured, TurnFacts, decide};
use crate::deferred;
use crate::hooks::{Moment, StopSays, StopState};
use crate::lore;
use crate::prompts;
use crate::result;
use crate::scribe::{PromptSource, RefusalMark, SAVE_ELSEWHERE};
use crate::session::{Opened, Session};
use crate::step;
use std::time::Instant;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::sdk::{AbandonedBlocks, DeferredToolUse, FirstTimes, Origin, SystemBody};

pub(crate) const MARKER_STREAM: &str = "[Request interrupted by user]";
const MARKER_TOOLS: &str = "[Request interrupted by user for tool use]";

/// What a turn begins with.
pub(crate) enum Opener {
    Prompt(Prompt),
    /// A background task ended while the session was idle.
    Notice(String),
    /// A hook beside the session wants the model's attention.
    Hook(crate::hooks::Beside),
}

/// What a turn has gathered for its decisions and its result.
pub(crate) struct Turn {
    pub facts: TurnFacts,
    pub started: Instant,
    pub token: CancellationToken,
    /// Calls of the last response that have no result yet.
    pub calls: Vec<ToolUse>,
    /// Text of the last response that had any.
    pub text: String,
    pub stop_reason: Option<String>,
    pub times: FirstTimes,
    /// What was shown of an answer that broke off and is asked for again.
    pub abandoned: Option<AbandonedBlocks>,
    /// Why the turn failed, in the user's words.
    pub error: Option<TurnError>,
    /// The host's id for the prompt.
    pub prompt_uuid: Option<String>,
    pub origin: Option<Origin>,
    pub attempts: step::Attempts,
    /// The command this turn carried out instead of asking the model.
    pub local_command: Option<&'static str>,
    /// A typed command could not be loaded; nothing was sent.
    pub command_failed: bool,
    /// How often Stop hooks kept the turn going without a call in between.
    pub stop_continued: u32,
    /// They did so at least once.
    pub stop_active: bool,
    /// A hook left this call for a later run.
    pub deferred: Option<DeferredToolUse>,
    /// What the model refused to say when it last did.
    pub refusal: Option<RefusalMark>,
}

#[derive(Clone, Debug)]
pub(crate) struct TurnError {
    pub text: String,
    pub category: &'static str,
    pub status: Option<u16>,
    /// The API's own name for it.
    pub api_type: Option<String>,
}

impl TurnError {
    /// One that the API did not send.
    pub(crate) fn own(text: String, category: &'static str) -> Self {
        Self { text, category, status: None, api_type: None }
    }

    /// One that the API sent, in our words.
    pub(crate) fn told(text: String, category: &'static str, error: &model::ModelError) -> Self {
        Self { text, category, status: error.status, api_type: error.api_type.as_deref().map(str::to_owned) }
    }
}

/// How a turn went, for whoever started it.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` when the process is being stopped.
    pub reason: Option<EndReason>,
    /// Text of the last response that had any.
    pub text: String,
    /// Why it failed, in the user's words.
    pub error: Option<String>,
}

impl Turn {
    pub(crate) fn new(session: &mut Session, prompt_uuid: Option<String>) -> Self {
        let structured = match &session.io.structured {
            Some(_) => Structured::Missing { retries_left: session.context.output_retries + 1, asked_again: false },
            None => Structured::NotAsked,
        };
        Self {
            facts: TurnFacts {
                last: Last::Prompt,
                interrupted: false,
                steps: 0,
                rounds: 0,
                max_turns: session.context.max_turns,
                over_budget: session.is_over_budget(),
                continuations: 0,
                structured,
                malformed_in_a_row: 0,
                oversized: false,
                crowded: false,
                relief: session.context.relief(),
            },
            started: Instant::now(),
            token: session.control.begin_turn(),
            calls: Vec::new(),
            text: String::new(),
            stop_reason: None,
            times: FirstTimes::default(),
            abandoned: None,
            error: None,
            prompt_uuid,
            origin: None,
            attempts: step::Attempts::new(&session.io.env),
            local_command: None,
            command_failed: false,
            stop_continued: 0,
            stop_active: false,
            deferred: None,
            refusal: None,
        }
    }

    /// The transcript is gone: whatever was planned, the turn ends.
    pub(crate) fn unrecorded(&mut self, error: &StoreError) {
        let text = format!(
            "The session could not be saved any more, so the turn was stopped: {error}. What is in its file can be \
             resumed when there is room again. {SAVE_ELSEWHERE}"
        );
        self.error = Some(TurnError::own(text, "unknown"));
        self.facts.last = Last::Failed(Failure::Unrecorded);
    }

    fn after_calls(&mut self, report: &Report, delivered: bool) {
        self.facts.rounds += 1;
        self.facts.malformed_in_a_row = if report.all_malformed { self.facts.malformed_in_a_row + 1 } else { 0 };
        if delivered {
            self.facts.structured = Structured::Delivered;
        } else if report.output_rejected {
            self.spend_output_retry();
        }
        self.facts.last = Last::CallsDone;
    }

    fn spend_output_retry(&mut self) {
        if let Structured::Missing { retries_left, .. } = &mut self.facts.structured {
            *retries_left = retries_left.saturating_sub(1);
        }
    }

    fn ask_for_output_again(&mut self) {
        if let Structured::Missing { asked_again, .. } = &mut self.facts.structured {
            *asked_again = true;
        }
    }
}

/// Runs a turn. The host has its result when this returns.
pub(crate) async fn run(session: &mut Session, opener: Opener) -> Ended {
    let (prompt_uuid, origin) = match &opener {
        Opener::Prompt(prompt) => (prompt.uuid.clone(), prompt.by_human.then_some(Origin { kind: "human" })),
        Opener::Notice(_) => (None, Some(Origin { kind: "task-notification" })),
        Opener::Hook(_) => (None, None),
    };
    let mut turn = Turn { origin, ..Turn::new(session, prompt_uuid) };
    if !matches!(opener, Opener::Prompt(_)) {
        session.io.scribe.count_turn();
    }
    session.io.ledger.start_turn();
    session.io.denials.clear();
    session.io.hooks.stop = None;
    let token = turn.token.clone();
    let mut opener = Some(opener);
    if let Some(used) = session.start.deferred.take() {
        if let Some(reason) = deferred::take_up(session, &mut turn, used).await {
            return finish(session, turn, reason).await;
        }
        opener = opener.filter(|opener| !deferred::is_empty(opener));
    }
    let opened = match session.open_turn(opener.as_ref(), &token).await {
        Ok(Opened::Accepted(plan)) => session.load_typed(plan, &token).await,
        Ok(Opened::Refused(why)) => {
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
        Err(error) => turn.unrecorded(&error),
    }
    loop {
        turn.facts.interrupted = session.control.is_interrupted();
        turn.facts.crowded = session.context.is_crowded();
        turn.facts.relief = session.context.relief();
        if session.control.is_shut_down() {
            abandon(session).await;
            return Ended { reason: None, text: turn.text, error: None };
        }
        if let Some(reason) = session.io.hooks.stop.take().filter(|_| !turn.facts.interrupted) {
            return stopped(session, turn, reason).await;
        }
        match decide(&turn.facts) {
            Next::CallModel => call_model(session, &mut turn).await,
            Next::Compact(trigger) => compact(session, &mut turn, trigger).await,
            Next::RunCalls => {
                session.look(Moment::Quiet, &token).await;
                run_calls(session, &mut turn).await;
            }
            Next::Wait(delay) => wait(session, &mut turn, delay).await,
            Next::Continue => {
                turn.facts.continuations += 1;
                nudge(session, &mut turn, prompts::CONTINUE).await;
            }
            Next::DemandOutput => {
                turn.ask_for_output_again();
                nudge(session, &mut turn, prompts::DEMAND_OUTPUT).await;
            }
            Next::StopHooks => {
                if let Some(reason) = stop(session, &mut turn).await {
                    return finish(session, turn, reason).await;
                }
            }
            Next::End(reason) => return finish(session, turn, reason).await,
        }
    }
}

async fn call_model(session: &mut Session, turn: &mut Turn) {
    session.adopt_wishes().await;
    session.deliver_notices().await;
    if matches!(turn.facts.last, Last::CallsDone)
        && let Err(error) = session.join_waiting(&turn.token).await
    {
        return turn.unrecorded(&error);
    }
    if let Err(error) = session.tell_lore().await {
        return turn.unrecorded(&error);
    }
    if let Err(error) = session.tell_plan_mode() {
        return turn.unrecorded(&error);
    }
    if let Err(error) = session.tell_servers() {
        return turn.unrecorded(&error);
    }
    let Session { control, context, io, .. } = session;
    let phase = step::run(context, io, turn);
    match control.during(phase).await {
        Some(Ok(last)) => turn.facts.last = last,
        Some(Err(error)) => turn.unrecorded(&error),
        None => return,
    }
    session.tell_disk().await;
    turn.facts.over_budget = session.is_over_budget();
    if let Last::Answered(Answer { .. }) = turn.facts.last {
        turn.facts.steps += 1;
        session.post_usage();
    }
}

async fn compact(session: &mut Session, turn: &mut Turn, trigger: Trigger) {
    turn.facts.last = match session.compact(&trigger, &turn.token).await {
        Ok(Some(compact::Outcome::Done(_))) => Last::Compacted,
        Ok(Some(compact::Outcome::Interrupted | compact::Outcome::Failed(_))) => Last::NotCompacted(trigger),
        Ok(None) => return,
        Err(error) => return turn.unrecorded(&error),
    };
    turn.facts.over_budget = session.is_over_budget();
}

pub(crate) async fn run_calls(session: &mut Session, turn: &mut Turn) {
    let mut uses = std::mem::take(&mut turn.calls);
    for used in &mut uses {
        used.unreadable_before = turn.facts.malformed_in_a_row;
    }
    let token = turn.token.clone();
    let touching = lore::touching(&uses);
    session.io.mcp.servers().owner.set_bell(session.io.bell());
    session.io.lore.share(&session.io.policy, &session.io.spawner);
    let Session { control, context, io, .. } = session;
    if io.hooks.ask_agents() || agents::are_concerned(uses.iter().map(|used| used.name.as_str())) {
        io.spawner.publish(io, context);
    }
    let phase = async {
        // The lines that ask for an effect are in the file before the effect starts.
        io.scribe.barrier().await?;
        Box::pin(calls::run(uses, io, &token)).await
    };
    match control.during(phase).await {
        Some(Ok(report)) => {
            if let Some(used) = report.deferred {
                return deferred::leave(session, turn, used);
            }
            let delivered = io.structured.as_ref().is_some_and(|s| s.is_delivered());
            turn.after_calls(&report, delivered);
            let touched = lore::touched(touching, &report.results, &io.workspace());
            context.push_results(report.results, report.lines);
            if let Err(error) = session.after_calls(&touched).await {
                turn.unrecorded(&error);
            }
        }
        Some(Err(error)) => turn.unrecorded(&error),
        None => return,
    }
    if let Err(error) = session.place_beside() {
        turn.unrecorded(&error);
    }
    turn.facts.over_budget = session.is_over_budget();
    turn.stop_continued = 0;
    session.look(Moment::AfterCalls, &token).await;
}

/// Asks the Stop hooks; the reason to end, or none when they keep the turn going.
async fn stop(session: &mut Session, turn: &mut Turn) -> Option<EndReason> {
    let state =
        StopState { active: turn.stop_active, continued: turn.stop_continued, text: &turn.text, token: &turn.token };
    match session.stop_hooks(state).await {
        Ok(StopSays::End) => Some(EndReason::Completed),
        Ok(StopSays::Prevented) => Some(EndReason::StopHookPrevented),
        Ok(StopSays::GoOn(text)) => {
            turn.stop_continued += 1;
            turn.stop_active = true;
            if turn.facts.max_turns.is_some_and(|max| turn.facts.steps >= max) {
                return Some(EndReason::MaxTurns);
            }
            nudge(session, turn, &text).await;
            None
        }
        Err(error) => {
            turn.unrecorded(&error);
            None
        }
    }
}

/// A hook said `continue: false`: the user hears why, and the conversation keeps it.
async fn stopped(session: &mut Session, turn: Turn, reason: String) -> Ended {
    let reason = if reason.is_empty() { "Execution stopped by a hook".to_owned() } else { reason };
    let body = SystemBody::Informational { content: reason.clone(), level: "warning" };
    session.io.host.system(body).await;
    let mut turn = turn;
    if let Err(error) = refuse_open(session, &mut turn, "Not run: a hook stopped the turn.").await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    if let Err(error) = session.inject(&format!("[Stopped by a hook: {reason}]"), PromptSource::Meta).await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    finish(session, turn, EndReason::HookStopped).await
}

async fn wait(session: &mut Session, turn: &mut Turn, delay: std::time::Duration) {
    let token = turn.token.clone();
    let pause = async {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = token.cancelled() => {}
        }
    };
    session.control.during(pause).await;
    turn.facts.last = Last::Waited;
}

/// A message of our own that keeps the turn going.
async fn nudge(session: &mut Session, turn: &mut Turn, text: &str) {
    match session.inject(text, PromptSource::Nudge).await {
        Ok(()) => turn.facts.last = Last::Prompt,
        Err(error) => turn.unrecorded(&error),
    }
    turn.facts.over_budget = false;
}

/// Leaves a consistent transcript behind, then tells the host.
async fn finish(session: &mut Session, mut turn: Turn, reason: EndReason) -> Ended {
    if let Err(error) = settle(session, &mut turn, reason).await {
        tracing::warn!(%error, "the end of the turn could not be recorded");
    }
    let interrupted = matches!(reason, EndReason::AbortedStreaming | EndReason::AbortedTools);
    if interrupted && session.io.host.agent_id().is_none() && !session.control.spares_agents() {
        session.io.spawner.agents.stop_all_for_user().await;
    }
    let (text, error) = (turn.text.clone(), turn.error.as_ref().map(|error| error.text.clone()));
    result::conclude(session, turn, reason).await;
    Ended { reason: Some(reason), text, error }
}

/// Answers what is still open and writes the closing lines of an interrupted or failed turn.
async fn settle(session: &mut Session, turn: &mut Turn, reason: EndReason) -> Result<(), StoreError> {
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
                // What the API last said is not what the user can act on.
                turn.error = None;
            }
            if !matches!(reason, EndReason::Refused | EndReason::MaxOutputTokens) {
                // As the message that tells of it.
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
            session.io.scribe.attachment(line).map(drop)
        }
        EndReason::Completed
        | EndReason::HookStopped
        | EndReason::StopHookPrevented
        | EndReason::ToolDeferred
        | EndReason::DeferredUnavailable
        | EndReason::Budget
        | EndReason::StructuredRetries
        | EndReason::MalformedCalls
        | EndReason::Unrecorded => Ok(()),
    }
}

async fn refuse_open(session: &mut Session, turn: &mut Turn, why: &str) -> Result<(), StoreError> {
    let open = std::mem::take(&mut turn.calls);
    if open.is_empty() {
        return Ok(());
    }
    let report = calls::refuse(open, &mut session.io, why).await?;
    session.context.push_results(report.results, report.lines);
    Ok(())
}

/// The process is being stopped: record what can be recorded, say nothing more.
async fn abandon(session: &mut Session) {
    if let Err(error) = session.io.scribe.flush().await {
        tracing::warn!(%error, "the transcript could not be flushed before the stop");
    }
}
