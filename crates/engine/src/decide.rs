//! What a turn does next: one pure function over plain facts. Retries, fallbacks, overflow and limits are facts it
//! sees, never nested loops or thrown values. Every way out of a turn is an [`EndReason`].

use crate::compact::Trigger;
use std::time::Duration;

/// How many times a cut-off answer is continued before the turn fails.
pub(crate) const MAX_CONTINUATIONS: u32 = 3;

/// How many responses in a row may have unreadable calls before the turn fails. Weak models need many tries.
pub(crate) const MAX_MALFORMED: u32 = 12;

/// What the last phase came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Last {
    /// The prompt was accepted; nothing was sent yet.
    Prompt,
    Answered(Answer),
    Failed(Failure),
    /// All calls of the last response have their results.
    CallsDone,
    /// A hook left the only call for a later run.
    Deferred,
    /// A pause before a retry is over.
    Waited,
    /// The history was summarised.
    Compacted,
    /// It could not be; the conversation is as it was.
    NotCompacted(Trigger),
}

/// A response, whole or kept in part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub stop: Stop,
    pub calls: usize,
    /// The stream broke after finished blocks; they were kept.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    PauseTurn,
    Refusal,
    ContextExceeded,
}

/// A request that brought no usable response, and what may be done about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// Worth another try after a pause.
    Transient { delay: Duration },
    /// The next request leaves out what was refused (thinking, a too large `max_tokens`, a stale key).
    Adjusted,
    /// Another model is configured and takes over for this turn.
    FallBack,
    /// The conversation does not fit.
    Overflow,
    /// Nothing more to try.
    Fatal,
    /// The transcript can no longer be written; nothing may run unrecorded.
    Unrecorded,
}

#[derive(Clone, Debug)]
pub(crate) struct TurnFacts {
    pub last: Last,
    pub interrupted: bool,
    /// Requests answered in this turn.
    pub steps: u32,
    /// How often the results of calls were handed to the model.
    pub rounds: u32,
    pub max_turns: Option<u32>,
    pub over_budget: bool,
    pub continuations: u32,
    pub structured: Structured,
    /// Responses in a row whose only calls had unreadable input.
    pub malformed_in_a_row: u32,
    /// The last overflow was one of bytes (413), not of tokens.
    pub oversized: bool,
    /// The next request would come too near to the end of the window.
    pub crowded: bool,
    pub relief: Relief,
}

/// What can be done about a conversation that no longer fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relief {
    Compact,
    /// Switched off, or failed too often.
    None,
    /// It fills up again right after being summarised.
    Thrashing,
}

/// Where a turn that must end in structured output stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structured {
    NotAsked,
    /// `asked_again`: the model answered without it once and was told so.
    Missing {
        retries_left: u32,
        asked_again: bool,
    },
    Delivered,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    CallModel,
    Compact(Trigger),
    RunCalls,
    Wait(Duration),
    /// Tell the model to go on (cut-off answer) and call it again.
    Continue,
    /// Tell the model that its structured output is still missing, and call it again.
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
    /// The model refused twice, and no other may stand in for it.
    Refused,
    PromptTooLong,
    /// The body is larger than the server takes; mostly images.
    RequestTooLarge,
    RapidRefill,
    MaxOutputTokens,
    MalformedCalls,
    Unrecorded,
    AbortedStreaming,
    AbortedTools,
    /// A hook said `continue: false`, or refused the prompt.
    HookStopped,
    /// A Stop hook said `continue: false`.
    StopHookPrevented,
    /// A hook left a call for a later run.
    ToolDeferred,
    /// The tool of such a call is gone.
    DeferredUnavailable,
}

pub(crate) fn decide(facts: &TurnFacts) -> Next {
    match &facts.last {
        Last::Prompt | Last::Waited | Last::Compacted | Last::NotCompacted(_) if facts.interrupted => {
            Next::End(EndReason::AbortedStreaming)
        }
        Last::Prompt | Last::Compacted if facts.over_budget => Next::End(EndReason::Budget),
        Last::Prompt | Last::Waited => call_model(facts),
        // Still crowded or not: what more a summary could do is known after the next request.
        Last::Compacted | Last::NotCompacted(Trigger::Crowded) => Next::CallModel,
        Last::NotCompacted(Trigger::Overflow | Trigger::Manual { .. }) => Next::End(too_long(facts)),
        Last::Answered(answer) => after_answer(answer, facts),
        Last::Failed(Failure::Unrecorded) => Next::End(EndReason::Unrecorded),
        Last::Failed(_) if facts.interrupted => Next::End(EndReason::AbortedStreaming),
        Last::Failed(failure) => after_failure(failure, facts),
        Last::CallsDone => after_calls(facts),
        Last::Deferred => Next::End(EndReason::ToolDeferred),
    }
}

/// A request, or room for it first.
fn call_model(facts: &TurnFacts) -> Next {
    if facts.crowded { relieve(facts, Trigger::Crowded, Next::CallModel) } else { Next::CallModel }
}

fn relieve(facts: &TurnFacts, trigger: Trigger, otherwise: Next) -> Next {
    match facts.relief {
        Relief::Compact => Next::Compact(trigger),
        Relief::None => otherwise,
        Relief::Thrashing => Next::End(EndReason::RapidRefill),
    }
}

fn after_answer(answer: &Answer, facts: &TurnFacts) -> Next {
    if facts.interrupted {
        return Next::End(EndReason::AbortedStreaming);
    }
    if facts.over_budget {
        return Next::End(EndReason::Budget);
    }
    if answer.calls > 0 {
        return Next::RunCalls;
    }
    match answer.stop {
        Stop::PauseTurn => call_model(facts),
        Stop::MaxTokens => continue_or(facts, EndReason::MaxOutputTokens),
        Stop::ContextExceeded => overflow(facts),
        Stop::Refusal => Next::End(EndReason::Refused),
        Stop::EndTurn | Stop::ToolUse if answer.cut => continue_or(facts, EndReason::ApiError),
        Stop::EndTurn | Stop::ToolUse => finish_or_demand(facts),
    }
}

fn continue_or(facts: &TurnFacts, otherwise: EndReason) -> Next {
    if facts.continuations >= MAX_CONTINUATIONS { Next::End(otherwise) } else { limited(facts, Next::Continue) }
}

fn finish_or_demand(facts: &TurnFacts) -> Next {
    match facts.structured {
        Structured::Missing { asked_again: false, .. } => limited(facts, Next::DemandOutput),
        // It was asked for once more; the words are all there is.
        Structured::NotAsked | Structured::Delivered | Structured::Missing { .. } => Next::StopHooks,
    }
}

fn overflow(facts: &TurnFacts) -> Next {
    relieve(facts, Trigger::Overflow, Next::End(too_long(facts)))
}

fn too_long(facts: &TurnFacts) -> EndReason {
    if facts.oversized { EndReason::RequestTooLarge } else { EndReason::PromptTooLong }
}

fn after_failure(failure: &Failure, facts: &TurnFacts) -> Next {
    match failure {
        Failure::Transient { delay } => Next::Wait(*delay),
        Failure::Adjusted | Failure::FallBack => Next::CallModel,
        Failure::Overflow => overflow(facts),
        Failure::Fatal => Next::End(EndReason::ApiError),
        Failure::Unrecorded => Next::End(EndReason::Unrecorded),
    }
}

fn after_calls(facts: &TurnFacts) -> Next {
    if facts.interrupted {
        return Next::End(EndReason::AbortedTools);
    }
    if facts.structured == Structured::Delivered {
        return Next::StopHooks;
    }
    // Agents may have spent it.
    if facts.over_budget {
        return Next::End(EndReason::Budget);
    }
    if let Structured::Missing { retries_left: 0, .. } = facts.structured {
        return Next::End(EndReason::StructuredRetries);
    }
    if facts.malformed_in_a_row >= MAX_MALFORMED {
        return Next::End(EndReason::MalformedCalls);
    }
    limited(facts, call_model(facts))
}

/// Another request only while the turn limit leaves room for it.
fn limited(facts: &TurnFacts, next: Next) -> Next {
    match facts.max_turns {
        Some(max) if facts.steps >= max => Next::End(EndReason::MaxTurns),
        Some(_) | None => next,
    }
}

impl EndReason {
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
            Self::AbortedStreaming => "aborted_streaming",
            Self::AbortedTools => "aborted_tools",
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
            Self::MalformedCalls | Self::Unrecorded | Self::AbortedStreaming | Self::AbortedTools => {
                "error_during_execution"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(last: Last) -> TurnFacts {
        TurnFacts {
            last,
            interrupted: false,
            steps: 1,
            rounds: 0,
            max_turns: None,
            over_budget: false,
            continuations: 0,
            structured: Structured::NotAsked,
            malformed_in_a_row: 0,
            oversized: false,
            crowded: false,
            relief: Relief::Compact,
        }
    }

    #[test]
    fn a_crowded_conversation_is_shortened_once_before_it_is_sent() {
        let crowded = |last| TurnFacts { crowded: true, ..facts(last) };
        assert_eq!(decide(&crowded(Last::Prompt)), Next::Compact(Trigger::Crowded));
        assert_eq!(decide(&crowded(Last::CallsDone)), Next::Compact(Trigger::Crowded));
        assert_eq!(decide(&crowded(Last::Compacted)), Next::CallModel);
        assert_eq!(decide(&crowded(Last::NotCompacted(Trigger::Crowded))), Next::CallModel);
        let off = TurnFacts { relief: Relief::None, ..crowded(Last::Prompt) };
        assert_eq!(decide(&off), Next::CallModel);
    }

    #[test]
    fn an_overflow_is_relieved_or_ends_the_turn() {
        // [TST-106]
        for last in [Last::Failed(Failure::Overflow), answered(Stop::ContextExceeded, 0)] {
            let with = |relief| decide(&TurnFacts { relief, ..facts(last.clone()) });
            assert_eq!(with(Relief::Compact), Next::Compact(Trigger::Overflow));
            assert_eq!(with(Relief::None), Next::End(EndReason::PromptTooLong));
            assert_eq!(with(Relief::Thrashing), Next::End(EndReason::RapidRefill));
        }
        let failed = Last::NotCompacted(Trigger::Overflow);
        assert_eq!(decide(&facts(failed)), Next::End(EndReason::PromptTooLong));
    }

    fn answered(stop: Stop, calls: usize) -> Last {
        Last::Answered(Answer { stop, calls, cut: false })
    }

    #[test]
    fn calls_of_the_last_allowed_step_run_then_the_turn_ends() {
        let at_limit = |last| TurnFacts { max_turns: Some(1), ..facts(last) };
        assert_eq!(decide(&at_limit(answered(Stop::ToolUse, 1))), Next::RunCalls);
        assert_eq!(decide(&at_limit(Last::CallsDone)), Next::End(EndReason::MaxTurns));
        assert_eq!(decide(&at_limit(answered(Stop::EndTurn, 0))), Next::StopHooks);
    }

    #[test]
    fn budget_ends_before_calls_run() {
        let over = TurnFacts { over_budget: true, ..facts(answered(Stop::ToolUse, 1)) };
        assert_eq!(decide(&over), Next::End(EndReason::Budget));
    }

    #[test]
    fn pause_resends_and_max_tokens_continues_a_few_times() {
        assert_eq!(decide(&facts(answered(Stop::PauseTurn, 0))), Next::CallModel);
        assert_eq!(decide(&facts(answered(Stop::MaxTokens, 0))), Next::Continue);
        let tired = TurnFacts { continuations: MAX_CONTINUATIONS, ..facts(answered(Stop::MaxTokens, 0)) };
        assert_eq!(decide(&tired), Next::End(EndReason::MaxOutputTokens));
    }

    #[test]
    fn structured_output_is_demanded_once_and_rejected_until_retries_run_out() {
        let missing = |last, retries_left, asked_again| TurnFacts {
            structured: Structured::Missing { retries_left, asked_again },
            ..facts(last)
        };
        assert_eq!(decide(&missing(answered(Stop::EndTurn, 0), 2, false)), Next::DemandOutput);
        assert_eq!(decide(&missing(answered(Stop::EndTurn, 0), 2, true)), Next::StopHooks);
        assert_eq!(decide(&missing(Last::CallsDone, 1, false)), Next::CallModel);
        assert_eq!(decide(&missing(Last::CallsDone, 0, false)), Next::End(EndReason::StructuredRetries));
        let delivered = TurnFacts { structured: Structured::Delivered, ..facts(Last::CallsDone) };
        assert_eq!(decide(&delivered), Next::StopHooks);
    }

    #[test]
    fn no_call_is_ever_left_without_a_decision() {
        // Property over the small product of facts: an answer with calls either runs them or ends the turn.
        for stop in
            [Stop::EndTurn, Stop::ToolUse, Stop::MaxTokens, Stop::PauseTurn, Stop::Refusal, Stop::ContextExceeded]
        {
            for (interrupted, over_budget) in [(false, false), (true, false), (false, true)] {
                let f = TurnFacts { interrupted, over_budget, ..facts(answered(stop, 2)) };
                assert!(matches!(decide(&f), Next::RunCalls | Next::End(_)), "{f:?}");
            }
        }
    }
}
