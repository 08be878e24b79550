//! When the user is notified: a question is unanswered for some time, or a turn ended some time ago. Typing postpones
//! it, and each event is notified once. A timer runs only while something is pending.

use super::dialog::Dialog;
use engine::{ToolClass, tool_facts};
use std::time::Duration;

/// How long something waits before the user is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertDelays {
    pub question: Duration,
    pub idle: Duration,
}

impl Default for AlertDelays {
    fn default() -> Self {
        Self { question: Duration::from_secs(6), idle: Duration::from_mins(1) }
    }
}

#[derive(Debug, Default)]
pub struct AlertTimers {
    /// The id of the question the user was notified about.
    alerted_question: Option<String>,
    /// When the last turn ended; `None` once the user was notified or has typed.
    idle_since: Option<Duration>,
}

impl AlertTimers {
    /// Starts the idle timer: a turn has ended and nothing else runs.
    pub fn start_idle(&mut self, now: Duration) {
        self.idle_since = Some(now);
    }

    /// Stops the idle timer: the user is active.
    pub fn clear_idle(&mut self) {
        self.idle_since = None;
    }

    /// The question the user must be notified about, and when.
    fn question_due<'a>(
        &self,
        question: Option<&'a Dialog>,
        typed_at: Duration,
        delays: AlertDelays,
    ) -> Option<(Duration, &'a Dialog)> {
        let question = question.filter(|question| self.alerted_question.as_ref() != Some(&question.id))?;
        Some((question.shown_at.max(typed_at) + delays.question, question))
    }

    fn idle_due(&self, delays: AlertDelays) -> Option<Duration> {
        Some(self.idle_since? + delays.idle)
    }

    /// When the next notification is due.
    pub fn next(&self, question: Option<&Dialog>, typed_at: Duration, delays: AlertDelays) -> Option<Duration> {
        let question = self.question_due(question, typed_at, delays).map(|(due, _)| due);
        question.into_iter().chain(self.idle_due(delays)).min()
    }

    /// Takes the notifications that are due.
    pub fn take_due(
        &mut self,
        question: Option<&Dialog>,
        typed_at: Duration,
        delays: AlertDelays,
        now: Duration,
    ) -> Vec<Alert> {
        let mut alerts = Vec::new();
        if let Some((_, question)) = self.question_due(question, typed_at, delays).filter(|(due, _)| *due <= now) {
            alerts.push(Alert::Question { tool: question.request.tool_name.clone() });
            self.alerted_question = Some(question.id.clone());
        }
        if self.idle_due(delays).is_some_and(|due| due <= now) {
            self.idle_since = None;
            alerts.push(Alert::Idle);
        }
        alerts
    }
}

/// Something the user is notified about.
#[derive(Debug, PartialEq, Eq)]
pub enum Alert {
    Question { tool: String },
    Idle,
}

impl Alert {
    pub fn text(&self) -> String {
        match self {
            Self::Question { tool } if tool_facts(tool).class == ToolClass::Question => {
                "gimlet has a question for you".to_owned()
            }
            Self::Question { tool } => format!("gimlet needs your permission to use {tool}"),
            Self::Idle => "gimlet is waiting for your input".to_owned(),
        }
    }
}
