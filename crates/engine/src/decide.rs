//! Decides what a turn does next: one pure function over plain facts. Retries, fallbacks, overflow and limits are
//! facts, never nested loops or errors. Every way out of a turn is an [`EndReason`].

use session_parts::compaction_policy::{CompactionTrigger, OverflowRelief};
use std::time::Duration;

/// How many times a cut-off answer is continued before the turn fails.
pub(crate) const MAX_CONTINUATIONS: u32 = 3;

/// How many responses in a row may have unreadable calls before the turn fails. Weak models need many tries.
pub(crate) const MAX_MALFORMED: u32 = 12;

/// The result of the last phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PhaseResult {
    /// The prompt was accepted; nothing was sent yet.
    Prompt,
    Answered(ResponseSummary),
    Failed(RequestFailure),
    /// All calls of the last response have their results.
    CallsDone,
    /// A hook deferred the only call to a later run.
    Deferred,
    /// A pause before a retry is over.
    Waited,
    /// The history was summarised.
    Compacted,
    /// Compaction failed; the conversation is unchanged.
    NotCompacted(CompactionTrigger),
}

/// A response, complete or kept in part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResponseSummary {
    pub stop: StopKind,
    pub calls: usize,
    /// The stream broke after finished blocks; those were kept.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopKind {
    EndTurn,
    ToolUse,
    MaxTokens,
    PauseTurn,
    Refusal,
    ContextExceeded,
}

/// A request without a usable response, and what can be done about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestFailure {
    /// Worth another try after a pause.
    Transient { delay: Duration },
    /// The next request leaves out what was refused (thinking, a too large `max_tokens`, a stale key).
    Adjusted,
    /// Another model is configured and takes over for this turn.
    FallBack,
    /// The conversation does not fit.
    Overflow,
    /// A budget is used up; nothing was sent.
    Budget,
    /// A limit of the provider, which is lifted at that time (milliseconds since the epoch).
    Limited { until_ms: u64 },
    /// Nothing more to try.
    Fatal,
    /// The transcript can no longer be written; nothing may run unrecorded.
    Unrecorded,
}

#[derive(Clone, Debug)]
pub(crate) struct TurnFacts {
    pub last: PhaseResult,
    pub interrupted: bool,
    /// Requests answered in this turn.
    pub steps: u32,
    /// How often the results of calls were sent to the model.
    pub rounds: u32,
    pub max_turns: Option<u32>,
    pub over_budget: bool,
    pub continuations: u32,
    pub structured: StructuredState,
    /// Responses in a row whose calls all had unreadable input.
    pub malformed_in_a_row: u32,
    /// How often the model repeated the same call, once that is more than allowed.
    pub repeats: Option<usize>,
    /// The last overflow was about bytes (413), not tokens.
    pub oversized: bool,
    /// The next request would come too close to the end of the window.
    pub crowded: bool,
    pub relief: OverflowRelief,
}

/// The state of a turn that must end with structured output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StructuredState {
    NotAsked,
    /// `asked_again`: the model answered without it once and was reminded.
    Missing {
        retries_left: u32,
        asked_again: bool,
    },
    Delivered,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextAction {
    CallModel,
    Compact(CompactionTrigger),
    RunCalls,
    Wait(Duration),
    /// Wait until a limit of the provider is lifted, if the user wants that.
    WaitForLimit {
        until_ms: u64,
    },
    /// Tell the model to continue its cut-off answer and call it again.
    Continue,
    /// Tell the model that its structured output is missing and call it again.
    DemandOutput,
    StopHooks,
    End(EndReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndReason {
    Completed,
    MaxTurns,
    Budget,
    StructuredRetries,
    ApiError,
    /// The model refused again and no fallback is left.
    Refused,
    PromptTooLong,
    /// The body is larger than the server accepts; mostly because of images.
    RequestTooLarge,
    RapidRefill,
    MaxOutputTokens,
    MalformedCalls,
    /// The model only repeated the same calls.
    RepeatedCalls,
    Unrecorded,
    AbortedStreaming,
    AbortedTools,
    /// The turn was over; the wait for what it left in the background was interrupted.
    AbortedWait,
    /// A hook said `continue: false`, or refused the prompt.
    HookStopped,
    /// A Stop hook returned `continue: false`.
    StopHookPrevented,
    /// A hook deferred a call to a later run.
    ToolDeferred,
    /// The tool of a deferred call no longer exists.
    DeferredUnavailable,
}

pub(crate) fn decide(facts: &TurnFacts) -> NextAction {
    match &facts.last {
        PhaseResult::Prompt | PhaseResult::Waited | PhaseResult::Compacted | PhaseResult::NotCompacted(_)
            if facts.interrupted =>
        {
            NextAction::End(EndReason::AbortedStreaming)
        }
        PhaseResult::Prompt | PhaseResult::Compacted if facts.over_budget => NextAction::End(EndReason::Budget),
        PhaseResult::Prompt | PhaseResult::Waited => call_model(facts),
        // Do not compact again now, even if the conversation is still crowded: the next request shows whether it
        // fits.
        PhaseResult::Compacted | PhaseResult::NotCompacted(CompactionTrigger::Crowded) => NextAction::CallModel,
        PhaseResult::NotCompacted(
            CompactionTrigger::Overflow | CompactionTrigger::Manual { .. } | CompactionTrigger::Part(_),
        ) => NextAction::End(too_long(facts)),
        PhaseResult::Answered(answer) => after_answer(answer, facts),
        PhaseResult::Failed(RequestFailure::Unrecorded) => NextAction::End(EndReason::Unrecorded),
        PhaseResult::Failed(_) if facts.interrupted => NextAction::End(EndReason::AbortedStreaming),
        PhaseResult::Failed(failure) => after_failure(failure, facts),
        PhaseResult::CallsDone => after_calls(facts),
        PhaseResult::Deferred => NextAction::End(EndReason::ToolDeferred),
    }
}

/// Calls the model, after a compaction if the window is nearly full.
fn call_model(facts: &TurnFacts) -> NextAction {
    if facts.crowded {
        compact_or(facts, CompactionTrigger::Crowded, NextAction::CallModel)
    } else {
        NextAction::CallModel
    }
}

fn compact_or(facts: &TurnFacts, trigger: CompactionTrigger, otherwise: NextAction) -> NextAction {
    match facts.relief {
        OverflowRelief::Compact => NextAction::Compact(trigger),
        OverflowRelief::None => otherwise,
        OverflowRelief::Thrashing => NextAction::End(EndReason::RapidRefill),
    }
}

fn after_answer(answer: &ResponseSummary, facts: &TurnFacts) -> NextAction {
    if facts.interrupted {
        return NextAction::End(EndReason::AbortedStreaming);
    }
    if facts.over_budget {
        return NextAction::End(EndReason::Budget);
    }
    if answer.calls > 0 {
        return NextAction::RunCalls;
    }
    match answer.stop {
        StopKind::PauseTurn => call_model(facts),
        StopKind::MaxTokens => continue_or(facts, EndReason::MaxOutputTokens),
        StopKind::ContextExceeded => overflow(facts),
        StopKind::Refusal => NextAction::End(EndReason::Refused),
        StopKind::EndTurn | StopKind::ToolUse if answer.cut => continue_or(facts, EndReason::ApiError),
        StopKind::EndTurn | StopKind::ToolUse => finish_or_demand(facts),
    }
}

fn continue_or(facts: &TurnFacts, otherwise: EndReason) -> NextAction {
    if facts.continuations >= MAX_CONTINUATIONS {
        NextAction::End(otherwise)
    } else {
        within_turn_limit(facts, NextAction::Continue)
    }
}

fn finish_or_demand(facts: &TurnFacts) -> NextAction {
    match facts.structured {
        StructuredState::Missing { asked_again: false, .. } => within_turn_limit(facts, NextAction::DemandOutput),
        // The model was reminded once already: accept the text without it.
        StructuredState::NotAsked | StructuredState::Delivered | StructuredState::Missing { .. } => {
            NextAction::StopHooks
        }
    }
}

fn overflow(facts: &TurnFacts) -> NextAction {
    compact_or(facts, CompactionTrigger::Overflow, NextAction::End(too_long(facts)))
}

fn too_long(facts: &TurnFacts) -> EndReason {
    if facts.oversized { EndReason::RequestTooLarge } else { EndReason::PromptTooLong }
}

fn after_failure(failure: &RequestFailure, facts: &TurnFacts) -> NextAction {
    match failure {
        RequestFailure::Transient { delay } => NextAction::Wait(*delay),
        RequestFailure::Adjusted | RequestFailure::FallBack => NextAction::CallModel,
        RequestFailure::Overflow => overflow(facts),
        RequestFailure::Limited { until_ms } => NextAction::WaitForLimit { until_ms: *until_ms },
        RequestFailure::Budget => NextAction::End(EndReason::Budget),
        RequestFailure::Fatal => NextAction::End(EndReason::ApiError),
        RequestFailure::Unrecorded => NextAction::End(EndReason::Unrecorded),
    }
}

fn after_calls(facts: &TurnFacts) -> NextAction {
    if facts.interrupted {
        return NextAction::End(EndReason::AbortedTools);
    }
    if facts.structured == StructuredState::Delivered {
        return NextAction::StopHooks;
    }
    // Agents may have spent the budget.
    if facts.over_budget {
        return NextAction::End(EndReason::Budget);
    }
    if let StructuredState::Missing { retries_left: 0, .. } = facts.structured {
        return NextAction::End(EndReason::StructuredRetries);
    }
    if facts.malformed_in_a_row >= MAX_MALFORMED {
        return NextAction::End(EndReason::MalformedCalls);
    }
    if facts.repeats.is_some() {
        return NextAction::End(EndReason::RepeatedCalls);
    }
    within_turn_limit(facts, call_model(facts))
}

/// Another request only within the turn limit.
fn within_turn_limit(facts: &TurnFacts, next: NextAction) -> NextAction {
    match facts.max_turns {
        Some(max) if facts.steps >= max => NextAction::End(EndReason::MaxTurns),
        Some(_) | None => next,
    }
}

impl EndReason {
    /// The user interrupted it.
    pub(crate) fn is_interrupt(self) -> bool {
        matches!(self, Self::AbortedStreaming | Self::AbortedTools | Self::AbortedWait)
    }

    /// `terminal_reason` of the result.
    pub(crate) fn terminal(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget_exhausted",
            Self::StructuredRetries => "structured_output_retry_exhausted",
            Self::ApiError | Self::Refused | Self::MaxOutputTokens => "api_error",
            Self::Unrecorded => "turn_setup_failed",
            Self::PromptTooLong => "prompt_too_long",
            Self::RequestTooLarge => "image_error",
            Self::RapidRefill => "rapid_refill_breaker",
            Self::MalformedCalls => "malformed_tool_use_exhausted",
            Self::RepeatedCalls => "repeated_calls_exhausted",
            Self::AbortedStreaming => "aborted_streaming",
            Self::AbortedTools | Self::AbortedWait => "aborted_tools",
            Self::HookStopped => "hook_stopped",
            Self::StopHookPrevented => "stop_hook_prevented",
            Self::ToolDeferred => "tool_deferred",
            Self::DeferredUnavailable => "tool_deferred_unavailable",
        }
    }

    /// `subtype` of the result.
    pub(crate) fn subtype(self) -> &'static str {
        match self {
            Self::Completed
            | Self::ApiError
            | Self::Refused
            | Self::PromptTooLong
            | Self::RequestTooLarge
            | Self::RapidRefill
            | Self::MaxOutputTokens
            | Self::HookStopped
            | Self::StopHookPrevented
            | Self::ToolDeferred
            | Self::DeferredUnavailable => "success",
            Self::MaxTurns => "error_max_turns",
            Self::Budget => "error_max_budget_usd",
            Self::StructuredRetries => "error_max_structured_output_retries",
            Self::MalformedCalls
            | Self::RepeatedCalls
            | Self::Unrecorded
            | Self::AbortedStreaming
            | Self::AbortedTools
            | Self::AbortedWait => "error_during_execution",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(last: PhaseResult) -> TurnFacts {
        TurnFacts {
            last,
            interrupted: false,
            steps: 1,
            rounds: 0,
            max_turns: None,
            over_budget: false,
            continuations: 0,
            structured: StructuredState::NotAsked,
            malformed_in_a_row: 0,
            repeats: None,
            oversized: false,
            crowded: false,
            relief: OverflowRelief::Compact,
        }
    }

    #[test]
    fn a_crowded_conversation_is_shortened_once_before_it_is_sent() {
        let crowded = |last| TurnFacts { crowded: true, ..facts(last) };
        assert_eq!(decide(&crowded(PhaseResult::Prompt)), NextAction::Compact(CompactionTrigger::Crowded));
        assert_eq!(decide(&crowded(PhaseResult::CallsDone)), NextAction::Compact(CompactionTrigger::Crowded));
        assert_eq!(decide(&crowded(PhaseResult::Compacted)), NextAction::CallModel);
        assert_eq!(decide(&crowded(PhaseResult::NotCompacted(CompactionTrigger::Crowded))), NextAction::CallModel);
        let off = TurnFacts { relief: OverflowRelief::None, ..crowded(PhaseResult::Prompt) };
        assert_eq!(decide(&off), NextAction::CallModel);
    }

    #[test]
    fn an_overflow_is_relieved_or_ends_the_turn() {
        // [TST-106]
        for last in [PhaseResult::Failed(RequestFailure::Overflow), answered(StopKind::ContextExceeded, 0)] {
            let with = |relief| decide(&TurnFacts { relief, ..facts(last.clone()) });
            assert_eq!(with(OverflowRelief::Compact), NextAction::Compact(CompactionTrigger::Overflow));
            assert_eq!(with(OverflowRelief::None), NextAction::End(EndReason::PromptTooLong));
            assert_eq!(with(OverflowRelief::Thrashing), NextAction::End(EndReason::RapidRefill));
        }
        let failed = PhaseResult::NotCompacted(CompactionTrigger::Overflow);
        assert_eq!(decide(&facts(failed)), NextAction::End(EndReason::PromptTooLong));
    }

    fn answered(stop: StopKind, calls: usize) -> PhaseResult {
        PhaseResult::Answered(ResponseSummary { stop, calls, cut: false })
    }

    #[test]
    fn calls_of_the_last_allowed_step_run_then_the_turn_ends() {
        let at_limit = |last| TurnFacts { max_turns: Some(1), ..facts(last) };
        assert_eq!(decide(&at_limit(answered(StopKind::ToolUse, 1))), NextAction::RunCalls);
        assert_eq!(decide(&at_limit(PhaseResult::CallsDone)), NextAction::End(EndReason::MaxTurns));
        assert_eq!(decide(&at_limit(answered(StopKind::EndTurn, 0))), NextAction::StopHooks);
    }

    #[test]
    fn budget_ends_before_calls_run() {
        let over = TurnFacts { over_budget: true, ..facts(answered(StopKind::ToolUse, 1)) };
        assert_eq!(decide(&over), NextAction::End(EndReason::Budget));
    }

    #[test]
    fn pause_resends_and_max_tokens_continues_a_few_times() {
        assert_eq!(decide(&facts(answered(StopKind::PauseTurn, 0))), NextAction::CallModel);
        assert_eq!(decide(&facts(answered(StopKind::MaxTokens, 0))), NextAction::Continue);
        let exhausted = TurnFacts { continuations: MAX_CONTINUATIONS, ..facts(answered(StopKind::MaxTokens, 0)) };
        assert_eq!(decide(&exhausted), NextAction::End(EndReason::MaxOutputTokens));
    }

    #[test]
    fn structured_output_is_demanded_once_and_rejected_until_retries_run_out() {
        let missing = |last, retries_left, asked_again| TurnFacts {
            structured: StructuredState::Missing { retries_left, asked_again },
            ..facts(last)
        };
        assert_eq!(decide(&missing(answered(StopKind::EndTurn, 0), 2, false)), NextAction::DemandOutput);
        assert_eq!(decide(&missing(answered(StopKind::EndTurn, 0), 2, true)), NextAction::StopHooks);
        assert_eq!(decide(&missing(PhaseResult::CallsDone, 1, false)), NextAction::CallModel);
        assert_eq!(decide(&missing(PhaseResult::CallsDone, 0, false)), NextAction::End(EndReason::StructuredRetries));
        let delivered = TurnFacts { structured: StructuredState::Delivered, ..facts(PhaseResult::CallsDone) };
        assert_eq!(decide(&delivered), NextAction::StopHooks);
    }

    #[test]
    fn no_call_is_ever_left_without_a_decision() {
        // Property over the small product of facts: an answer with calls either runs them or ends the turn.
        for stop in [
            StopKind::EndTurn,
            StopKind::ToolUse,
            StopKind::MaxTokens,
            StopKind::PauseTurn,
            StopKind::Refusal,
            StopKind::ContextExceeded,
        ] {
            for (interrupted, over_budget) in [(false, false), (true, false), (false, true)] {
                let f = TurnFacts { interrupted, over_budget, ..facts(answered(stop, 2)) };
                assert!(matches!(decide(&f), NextAction::RunCalls | NextAction::End(_)), "{f:?}");
            }
        }
    }

    #[test]
    fn unreadable_calls_end_the_turn_at_their_limit() {
        let after = |malformed_in_a_row| decide(&TurnFacts { malformed_in_a_row, ..facts(PhaseResult::CallsDone) });
        assert_eq!(after(MAX_MALFORMED - 1), NextAction::CallModel);
        assert_eq!(after(MAX_MALFORMED), NextAction::End(EndReason::MalformedCalls));
    }

    #[test]
    fn the_turn_limit_counts_answered_requests() {
        let after = |steps| decide(&TurnFacts { steps, max_turns: Some(3), ..facts(PhaseResult::CallsDone) });
        assert_eq!((after(2), after(3)), (NextAction::CallModel, NextAction::End(EndReason::MaxTurns)));
    }

    #[test]
    fn hosts_read_how_a_turn_ended() {
        for (reason, terminal, subtype, interrupted) in [
            (EndReason::Completed, "completed", "success", false),
            (EndReason::MaxTurns, "max_turns", "error_max_turns", false),
            (EndReason::Budget, "budget_exhausted", "error_max_budget_usd", false),
            (
                EndReason::StructuredRetries,
                "structured_output_retry_exhausted",
                "error_max_structured_output_retries",
                false,
            ),
            (EndReason::ApiError, "api_error", "success", false),
            (EndReason::Refused, "api_error", "success", false),
            (EndReason::PromptTooLong, "prompt_too_long", "success", false),
            (EndReason::RequestTooLarge, "image_error", "success", false),
            (EndReason::RapidRefill, "rapid_refill_breaker", "success", false),
            (EndReason::MaxOutputTokens, "api_error", "success", false),
            (EndReason::MalformedCalls, "malformed_tool_use_exhausted", "error_during_execution", false),
            (EndReason::Unrecorded, "turn_setup_failed", "error_during_execution", false),
            (EndReason::AbortedStreaming, "aborted_streaming", "error_during_execution", true),
            (EndReason::AbortedTools, "aborted_tools", "error_during_execution", true),
            (EndReason::AbortedWait, "aborted_tools", "error_during_execution", true),
            (EndReason::HookStopped, "hook_stopped", "success", false),
            (EndReason::StopHookPrevented, "stop_hook_prevented", "success", false),
            (EndReason::ToolDeferred, "tool_deferred", "success", false),
            (EndReason::DeferredUnavailable, "tool_deferred_unavailable", "success", false),
        ] {
            assert_eq!((reason.terminal(), reason.subtype(), reason.is_interrupt()), (terminal, subtype, interrupted));
        }
    }

    #[test]
    fn an_interrupt_ends_every_phase() {
        let delay = Duration::from_secs(1);
        let streaming = [
            PhaseResult::Prompt,
            PhaseResult::Waited,
            PhaseResult::Compacted,
            PhaseResult::NotCompacted(CompactionTrigger::Crowded),
            PhaseResult::NotCompacted(CompactionTrigger::Overflow),
            answered(StopKind::EndTurn, 0),
            answered(StopKind::ToolUse, 1),
            PhaseResult::Failed(RequestFailure::Transient { delay }),
            PhaseResult::Failed(RequestFailure::Adjusted),
            PhaseResult::Failed(RequestFailure::FallBack),
            PhaseResult::Failed(RequestFailure::Overflow),
            PhaseResult::Failed(RequestFailure::Fatal),
        ];
        let interrupted = |last| decide(&TurnFacts { interrupted: true, over_budget: true, ..facts(last) });
        for last in streaming {
            assert_eq!(interrupted(last.clone()), NextAction::End(EndReason::AbortedStreaming), "{last:?}");
            assert_ne!(decide(&facts(last.clone())), NextAction::End(EndReason::AbortedStreaming), "{last:?}");
        }
        assert_eq!(interrupted(PhaseResult::CallsDone), NextAction::End(EndReason::AbortedTools));
        // What cannot be recorded is the graver end.
        let unrecorded = PhaseResult::Failed(RequestFailure::Unrecorded);
        assert_eq!(interrupted(unrecorded.clone()), NextAction::End(EndReason::Unrecorded));
        assert_eq!(decide(&facts(unrecorded)), NextAction::End(EndReason::Unrecorded));
    }

    #[test]
    fn nothing_is_sent_over_the_budget() {
        let over = |last| decide(&TurnFacts { over_budget: true, ..facts(last) });
        let sending = [PhaseResult::Prompt, PhaseResult::Compacted, PhaseResult::CallsDone];
        for last in sending.into_iter().chain([answered(StopKind::PauseTurn, 0), answered(StopKind::EndTurn, 0)]) {
            assert_eq!(over(last.clone()), NextAction::End(EndReason::Budget), "{last:?}");
            assert_ne!(decide(&facts(last.clone())), NextAction::End(EndReason::Budget), "{last:?}");
        }
        // A delivered output is the result, even when the last call spent the budget.
        let delivered =
            TurnFacts { over_budget: true, structured: StructuredState::Delivered, ..facts(PhaseResult::CallsDone) };
        assert_eq!(decide(&delivered), NextAction::StopHooks);
    }

    #[test]
    fn a_failed_request_is_tried_again_where_that_can_help() {
        let after = |failure| decide(&facts(PhaseResult::Failed(failure)));
        let delay = Duration::from_millis(1_500);
        assert_eq!(after(RequestFailure::Transient { delay }), NextAction::Wait(delay));
        assert_eq!(decide(&facts(PhaseResult::Waited)), NextAction::CallModel);
        assert_eq!(after(RequestFailure::Adjusted), NextAction::CallModel);
        assert_eq!(after(RequestFailure::FallBack), NextAction::CallModel);
        assert_eq!(after(RequestFailure::Fatal), NextAction::End(EndReason::ApiError));
        assert_eq!(decide(&facts(answered(StopKind::Refusal, 0))), NextAction::End(EndReason::Refused));
    }

    #[test]
    fn an_answer_whose_stream_broke_is_continued_within_the_limits() {
        let cut = |stop| PhaseResult::Answered(ResponseSummary { stop, calls: 0, cut: true });
        for stop in [StopKind::EndTurn, StopKind::ToolUse] {
            assert_eq!(decide(&facts(cut(stop))), NextAction::Continue);
            assert_eq!(decide(&facts(answered(stop, 0))), NextAction::StopHooks);
            let with = |continuations| decide(&TurnFacts { continuations, ..facts(cut(stop)) });
            assert_eq!(with(MAX_CONTINUATIONS - 1), NextAction::Continue);
            assert_eq!(with(MAX_CONTINUATIONS), NextAction::End(EndReason::ApiError));
            let at_limit = TurnFacts { max_turns: Some(1), ..facts(cut(stop)) };
            assert_eq!(decide(&at_limit), NextAction::End(EndReason::MaxTurns));
        }
    }

    #[test]
    fn a_request_too_large_in_bytes_is_named_so() {
        for last in
            [PhaseResult::Failed(RequestFailure::Overflow), PhaseResult::NotCompacted(CompactionTrigger::Overflow)]
        {
            let with =
                |oversized| decide(&TurnFacts { oversized, relief: OverflowRelief::None, ..facts(last.clone()) });
            assert_eq!(with(true), NextAction::End(EndReason::RequestTooLarge));
            assert_eq!(with(false), NextAction::End(EndReason::PromptTooLong));
        }
    }

    #[test]
    fn a_reminder_about_the_output_counts_as_a_request() {
        let structured = StructuredState::Missing { retries_left: 2, asked_again: false };
        let after = |steps| {
            let last = answered(StopKind::EndTurn, 0);
            decide(&TurnFacts { steps, max_turns: Some(2), structured, ..facts(last) })
        };
        assert_eq!((after(1), after(2)), (NextAction::DemandOutput, NextAction::End(EndReason::MaxTurns)));
    }
}
