//! Decides whether and when to retry. Pure: no clock, no sleeping; the source of random numbers is a parameter.

use crate::error::{Capability, ErrorKind, ModelError};
use std::time::Duration;
use sys::Env;

/// How far the failed response had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseProgress {
    /// No content at all.
    Nothing,
    /// Thinking, finished or not, and nothing else.
    ThinkingOnly,
    /// A text or call had begun, but none was complete.
    Partial,
    /// At least one text or call was complete.
    Completed,
    /// The stop reason was known; only the end of the stream was missing.
    Stopped,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RetryVerdict {
    /// Wait, then send the same request. `attempt` counts from 1 and is reported to the host.
    Retry { delay: Duration, attempt: u32 },
    /// Send the same request at once; not counted as an attempt.
    Reissue,
    /// Keep the completed blocks, run the completed calls, and continue.
    KeepCompleted,
    /// The response was complete: treat it as success.
    Complete,
    /// The conversation must become shorter first.
    Compact,
    /// Request at most this many output tokens.
    LowerMaxTokens(u64),
    /// Disable the feature for the conversation, then send again.
    Disable(Capability),
    /// Get a new credential, then send again. Returned at most once per step.
    Reauthenticate,
    /// Report the error (or use the next model, if `ModelError::is_unavailable`).
    GiveUp,
}

/// The state of the attempts of one step. Create a new one for each step.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Reported to hosts as `max_retries`.
    pub max_retries: u32,
    /// `CLAUDE_CODE_RETRY_WATCHDOG`: unattended runs wait until an overload ends.
    pub outwaits_overload: bool,
    /// Base of the waits, in seconds.
    unit: f64,
    random: fn() -> f64,
    attempts: u32,
    /// Sum of all waits of this request so far.
    waited: Duration,
    reissues: u32,
    stalls: u32,
    reauthenticated: bool,
    /// There is no way to get another key, so a refused one is tried only a few more times.
    fixed_key: bool,
    disabled: Vec<Capability>,
    lowered: bool,
}

const DEFAULT_RETRIES: u32 = 10;
const MOST_RETRIES: u32 = 15;
const PATIENT_RETRIES: u32 = 300;
/// A gateway may need a moment to recognise a key; a wrong key stays wrong.
const FIXED_KEY_RETRIES: u32 = 2;
/// A sign-in page or a proxy that answers instead of the API rarely disappears by itself.
const FOREIGN_RETRIES: u32 = 2;
/// The longest total wait of one request over all its retries. A policy with `outwaits_overload` has no such limit.
pub const LONGEST_WAIT: Duration = Duration::from_mins(5);
const THINKING_REISSUES: u32 = 2;
const STALL_REISSUES: u32 = 1;
/// Wait before the first retry, in seconds.
const UNIT: f64 = 0.5;
/// Shortens the waits; for tests only. In milliseconds.
const UNIT_VARIABLE: &str = "GIMLET_RETRY_BASE_MS";
/// Waits before attempt 1, 2, … in multiples of the unit; the last value repeats.
const BACKOFF: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 32.0, 64.0];
const PATIENT_CEILING: f64 = 300.0;
/// Tokens kept free when the output limit is lowered to fit.
const ROOM_MARGIN: u64 = 1_000;
/// A limit below this many output tokens is not worth a request.
const LEAST_OUTPUT: u64 = 3_000;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: DEFAULT_RETRIES,
            outwaits_overload: false,
            unit: UNIT,
            random: fastrand::f64,
            attempts: 0,
            waited: Duration::ZERO,
            reissues: 0,
            stalls: 0,
            reauthenticated: false,
            fixed_key: false,
            disabled: Vec::new(),
            lowered: false,
        }
    }
}

impl RetryPolicy {
    pub fn from_env(env: &Env) -> Self {
        let patient = env.is_on("CLAUDE_CODE_RETRY_WATCHDOG");
        let wanted = env.number::<u32>("CLAUDE_CODE_MAX_RETRIES").unwrap_or(DEFAULT_RETRIES).min(MOST_RETRIES);
        let max_retries = if patient { PATIENT_RETRIES } else { wanted };
        let unit = env.number::<u32>(UNIT_VARIABLE).map_or(UNIT, |ms| f64::from(ms) / 1000.0).min(UNIT);
        Self { max_retries, outwaits_overload: patient, unit, ..Self::default() }
    }

    /// `random` returns numbers from 0 to 1.
    #[must_use]
    pub fn with_random(mut self, random: fn() -> f64) -> Self {
        self.random = random;
        self
    }

    /// What to do about `error`, which ended a response with this `progress`.
    pub fn next(&mut self, error: &ModelError, progress: ResponseProgress) -> RetryVerdict {
        match progress {
            ResponseProgress::Stopped => return RetryVerdict::Complete,
            ResponseProgress::Completed => return RetryVerdict::KeepCompleted,
            ResponseProgress::Nothing | ResponseProgress::ThinkingOnly | ResponseProgress::Partial => {}
        }
        if let Some(verdict) = self.remedy(error) {
            return verdict;
        }
        if !error.is_retryable() {
            return RetryVerdict::GiveUp;
        }
        let stalled = matches!(error.kind, ErrorKind::Stalled(_));
        if stalled && progress != ResponseProgress::Partial && self.stalls < STALL_REISSUES {
            self.stalls += 1;
            return RetryVerdict::Reissue;
        }
        if progress == ResponseProgress::ThinkingOnly {
            return self.reissue_thinking();
        }
        self.back_off(error)
    }

    /// The verdict for failures that need a specific remedy; `None` for others.
    fn remedy(&mut self, error: &ModelError) -> Option<RetryVerdict> {
        match &error.kind {
            ErrorKind::ContextOverflow => Some(RetryVerdict::Compact),
            ErrorKind::OutputRoom { input, limit, .. } => {
                let room = limit.saturating_sub(input + ROOM_MARGIN);
                let again = std::mem::replace(&mut self.lowered, true);
                Some(if again || room < LEAST_OUTPUT {
                    RetryVerdict::Compact
                } else {
                    RetryVerdict::LowerMaxTokens(room)
                })
            }
            ErrorKind::Capability(capability) => Some(if self.disabled.contains(capability) {
                RetryVerdict::GiveUp
            } else {
                self.disabled.push(*capability);
                RetryVerdict::Disable(*capability)
            }),
            ErrorKind::Authentication if error.should_retry == Some(false) => Some(RetryVerdict::GiveUp),
            ErrorKind::Authentication => {
                let again = std::mem::replace(&mut self.reauthenticated, true);
                Some(if again { self.back_off(error) } else { RetryVerdict::Reauthenticate })
            }
            ErrorKind::Quota { .. } => (error.should_retry != Some(true)).then_some(RetryVerdict::GiveUp),
            ErrorKind::Forbidden
            | ErrorKind::Billing
            | ErrorKind::Budget
            | ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::ModelNotFound
            | ErrorKind::InvalidRequest
            | ErrorKind::Server
            | ErrorKind::Connect
            | ErrorKind::Certificate
            | ErrorKind::Dropped
            | ErrorKind::Stalled(_)
            | ErrorKind::Malformed
            | ErrorKind::Foreign
            | ErrorKind::Unsendable
            | ErrorKind::Cassette => None,
        }
    }

    /// Called after `RetryVerdict::Reauthenticate` if there is no way to get another key: the same key is tried a few
    /// more times.
    pub fn keep_key(&mut self, error: &ModelError) -> RetryVerdict {
        self.fixed_key = true;
        self.back_off(error)
    }

    fn reissue_thinking(&mut self) -> RetryVerdict {
        if self.reissues >= THINKING_REISSUES {
            return RetryVerdict::GiveUp;
        }
        self.reissues += 1;
        RetryVerdict::Reissue
    }

    fn back_off(&mut self, error: &ModelError) -> RetryVerdict {
        let forever = self.outwaits_overload && matches!(error.kind, ErrorKind::RateLimit | ErrorKind::Overloaded);
        let limit = match error.kind {
            ErrorKind::Foreign => self.max_retries.min(FOREIGN_RETRIES),
            ErrorKind::Authentication if self.fixed_key => self.max_retries.min(FIXED_KEY_RETRIES),
            _ => self.max_retries,
        };
        if self.attempts >= limit && !forever {
            return RetryVerdict::GiveUp;
        }
        let Some(delay) = self.delay(error.retry_after.unwrap_or_default()) else { return RetryVerdict::GiveUp };
        self.waited = self.waited.saturating_add(delay);
        self.attempts += 1;
        RetryVerdict::Retry { delay, attempt: self.attempts }
    }

    /// The wait, at least `asked`; `None` when this request may not wait that long any more.
    fn delay(&self, asked: Duration) -> Option<Duration> {
        let jittered = (self.base_delay() * (0.75 + 0.5 * (self.random)().clamp(0.0, 1.0))).min(PATIENT_CEILING);
        let own = Duration::from_secs_f64(jittered);
        if self.outwaits_overload {
            return Some(own.max(asked));
        }
        let left = LONGEST_WAIT.saturating_sub(self.waited);
        (asked <= left && !left.is_zero()).then(|| own.min(left).max(asked))
    }

    fn base_delay(&self) -> f64 {
        let at = self.attempts as usize;
        if self.outwaits_overload {
            return (self.unit * 2f64.powi(self.attempts.min(20) as i32)).min(PATIENT_CEILING);
        }
        self.unit * BACKOFF[at.min(BACKOFF.len() - 1)]
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
