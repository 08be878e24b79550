//! Waiting until a limit of the provider is lifted.

use super::LiveSession;
use super::choice::ChoiceQuestion;
use crate::decide::{PhaseResult, RequestFailure};
use crate::turn_state::TurnState;
use session_parts::provider_limits::{LimitWait, SystemClock};
use std::sync::Arc;
use wire::sdk::SystemBody;

impl LiveSession {
    /// Sets whether turns of this session and its agents wait for limits.
    pub(crate) fn set_limit_wait(&self) {
        let Some(recipe) = &self.recipe else { return };
        let by_setting = self.io.rules.watch.loaded.settings.limit_wait.as_deref().and_then(LimitWait::parse);
        let usual = if self.io.output.flags.has_screen { LimitWait::Ask } else { LimitWait::Never };
        let policy =
            if recipe.origin.options.limits.wait_for_limits { LimitWait::Auto } else { by_setting.unwrap_or(usual) };
        self.io.provider.connection.limits().set_policy(policy);
    }

    /// Waits, if that is wanted, and sends the request again; otherwise the failure is final.
    pub(crate) async fn wait_for_limit(&mut self, turn: &mut TurnState, until_ms: u64) {
        if !self.wants_to_wait(turn, until_ms).await {
            turn.facts.last = PhaseResult::Failed(RequestFailure::Fatal);
            return;
        }
        let body = SystemBody::ApiRetry {
            attempt: 1,
            max_retries: 1,
            retry_delay_ms: until_ms.saturating_sub(sys::clock::now_ms()),
            error_status: Some(429),
            error: "rate_limit",
            reason: "the limit of the account is reached".into(),
        };
        self.io.output.host.system(body).await;
        let (limits, token) = (Arc::clone(self.io.provider.connection.limits()), turn.token.clone());
        let pause = async move {
            tokio::select! {
                () = limits.wait(until_ms, &SystemClock) => {}
                () = token.cancelled() => {}
            }
        };
        self.control.during(pause).await;
        turn.attempts.reset();
        (turn.error, turn.limit_resets_at) = (None, None);
        turn.facts.last = PhaseResult::Waited;
    }

    async fn wants_to_wait(&mut self, turn: &TurnState, until_ms: u64) -> bool {
        match self.io.provider.connection.limits().policy() {
            LimitWait::Auto => true,
            LimitWait::Never => false,
            LimitWait::Ask if !self.has_person() => false,
            LimitWait::Ask => {
                let time = sys::clock::iso(until_ms);
                let asked = ChoiceQuestion {
                    header: "Limit",
                    question: format!(
                        "A limit of the provider is reached until {} {} UTC. Wait?",
                        &time[..10],
                        &time[11..16]
                    ),
                    answers: vec![
                        ("Wait".into(), "Continue automatically then; Esc stops the wait".into()),
                        ("Stop".into(), "End the turn now".into()),
                    ],
                };
                self.choose(&asked, &turn.token).await == Some(0)
            }
        }
    }
}
