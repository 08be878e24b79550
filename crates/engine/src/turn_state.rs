//! The state of one turn: what opened it, what it has done so far, and how it ended.

use crate::decide::{EndReason, PhaseResult, RequestFailure, StructuredState, TurnFacts};
use crate::session::LiveSession;
use model::RetryPolicy;
use session_parts::command::Prompt;
use session_parts::tool_use::ToolUse;
use session_parts::transcript_writer::{RefusalMark, SAVE_HINT};
use std::time::Instant;
use store::StoreError;
use sys::Env;
use tokio_util::sync::CancellationToken;
use wire::sdk::{AbandonedBlocks, DeferredToolUse, FirstTimes, TurnOrigin};

pub(crate) const MARKER_STREAM: &str = "[Request interrupted by user]";
pub(crate) const MARKER_TOOLS: &str = "[Request interrupted by user for tool use]";

/// What a turn starts with.
pub(crate) enum TurnOpener {
    Prompt(Prompt),
    /// A background task ended while the session was idle.
    Notice(String),
    /// A background hook wants to wake the model.
    Hook(session_parts::hooks::HookText),
}

/// What a turn has gathered for its decisions and its result.
pub(crate) struct TurnState {
    pub facts: TurnFacts,
    pub started: Instant,
    pub token: CancellationToken,
    /// Calls of the last response that have no result yet.
    pub calls: Vec<ToolUse>,
    /// Text of the last response that had any.
    pub text: String,
    pub stop_reason: Option<String>,
    pub times: FirstTimes,
    /// The shown blocks of an answer that broke off and is requested again.
    pub abandoned: Option<AbandonedBlocks>,
    /// Why the turn failed, as text for the user.
    pub error: Option<TurnError>,
    /// When the limit that ended the turn is lifted, in milliseconds since the epoch.
    pub limit_resets_at: Option<u64>,
    /// Warnings for the result.
    pub warnings: Vec<String>,
    /// The price of the first request was weighed.
    pub is_price_weighed: bool,
    /// The host's id for the prompt.
    pub prompt_uuid: Option<String>,
    pub origin: Option<TurnOrigin>,
    pub attempts: StepAttempts,
    /// The command this turn carried out instead of calling the model.
    pub local_command: Option<&'static str>,
    /// A typed command could not be loaded; nothing was sent.
    pub command_failed: bool,
    /// How often Stop hooks kept the turn going without a call in between.
    pub stop_continued: u32,
    /// Stop hooks kept the turn going at least once.
    pub stop_active: bool,
    /// The call that a hook deferred to a later run.
    pub deferred: Option<DeferredToolUse>,
    /// The last refusal of the model.
    pub refusal: Option<RefusalMark>,
    /// The model was asked to check its work.
    pub is_asked_to_verify: bool,
    /// The person does not want a summary in this turn.
    pub declines_summary: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct TurnError {
    pub text: String,
    pub category: &'static str,
    pub status: Option<u16>,
    /// The error type that the API sent.
    pub api_type: Option<String>,
}

impl TurnError {
    /// An error that did not come from the API.
    pub(crate) fn own(text: String, category: &'static str) -> Self {
        Self { text, category, status: None, api_type: None }
    }

    /// An error of the API, with our text.
    pub(crate) fn of_api(text: String, category: &'static str, error: &model::ModelError) -> Self {
        Self { text, category, status: error.status, api_type: error.api_type.as_deref().map(str::to_owned) }
    }
}

/// How a turn ended, for its caller.
#[derive(Debug)]
pub(crate) struct TurnEnd {
    /// `None` when the process is being stopped.
    pub reason: Option<EndReason>,
    /// Text of the last response that had any.
    pub text: String,
    /// Why it failed, as text for the user.
    pub error: Option<String>,
}

impl TurnState {
    pub(crate) fn new(session: &mut LiveSession, prompt_uuid: Option<String>) -> Self {
        let structured = match &session.io.tooling.structured {
            Some(_) => {
                StructuredState::Missing { retries_left: session.context.output_retries + 1, asked_again: false }
            }
            None => StructuredState::NotAsked,
        };
        Self {
            facts: TurnFacts {
                last: PhaseResult::Prompt,
                interrupted: false,
                steps: 0,
                rounds: 0,
                max_turns: session.context.max_turns,
                over_budget: session.is_over_budget(),
                continuations: 0,
                structured,
                malformed_in_a_row: 0,
                repeats: None,
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
            limit_resets_at: None,
            warnings: Vec::new(),
            is_price_weighed: false,
            prompt_uuid,
            origin: None,
            attempts: StepAttempts::new(&session.io.env),
            local_command: None,
            command_failed: false,
            stop_continued: 0,
            stop_active: false,
            deferred: None,
            refusal: None,
            is_asked_to_verify: false,
            declines_summary: false,
        }
    }

    /// Ends the turn because the transcript cannot be written.
    pub(crate) fn fail_unrecorded(&mut self, error: &StoreError) {
        let text = format!(
            "The session could not be saved any more, so the turn was stopped: {error}. What is in its file can be \
             resumed when there is room again. {SAVE_HINT}"
        );
        self.error = Some(TurnError::own(text, "unknown"));
        self.facts.last = PhaseResult::Failed(RequestFailure::Unrecorded);
    }

    pub(crate) fn spend_output_retry(&mut self) {
        if let StructuredState::Missing { retries_left, .. } = &mut self.facts.structured {
            *retries_left = retries_left.saturating_sub(1);
        }
    }

    pub(crate) fn ask_for_output_again(&mut self) {
        if let StructuredState::Missing { asked_again, .. } = &mut self.facts.structured {
            *asked_again = true;
        }
    }
}

/// The retries of the current step. A response that was kept resets them.
pub(crate) struct StepAttempts {
    pub(crate) initial_policy: RetryPolicy,
    pub(crate) policy: RetryPolicy,
}

impl StepAttempts {
    pub(crate) fn new(env: &Env) -> Self {
        let fresh = RetryPolicy::from_env(env);
        Self { policy: fresh.clone(), initial_policy: fresh }
    }

    pub(crate) fn reset(&mut self) {
        self.policy = self.initial_policy.clone();
    }
}
