//! When the user is notified: a question is unanswered for some time, or a turn ended some time ago. Typing postpones
//! it, and each event is notified once. A timer runs only while something is pending.

use super::dialog::Dialog;
use super::{App, AppEffect};
use std::time::Duration;
use wire::control::{HostRequest, NotifyRequest};

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
}

impl App {
    fn question_due(&self) -> Option<(Duration, &str)> {
        let dialog = self.layers.find::<Dialog>()?;
        let due = dialog.shown_at.max(self.typed_at) + self.preferences.alert_delays.question;
        (self.alerts.alerted_question.as_ref() != Some(&dialog.id)).then_some((due, dialog.id.as_str()))
    }

    fn idle_due(&self) -> Option<Duration> {
        Some(self.alerts.idle_since? + self.preferences.alert_delays.idle)
    }

    pub(super) fn next_alert(&self) -> Option<Duration> {
        self.question_due().map(|(due, _)| due).into_iter().chain(self.idle_due()).min()
    }

    pub(super) fn alert_when_due(&mut self) {
        if let Some((due, id)) = self.question_due()
            && due <= self.now
        {
            let id = id.to_owned();
            let what = self.layers.find::<Dialog>().map(|dialog| dialog.request.tool_name.clone()).unwrap_or_default();
            let text = match what.as_str() {
                "AskUserQuestion" => "gimlet has a question for you".to_owned(),
                tool => format!("gimlet needs your permission to use {tool}"),
            };
            self.effects.push(AppEffect::Alert(text));
            self.alerts.alerted_question = Some(id);
        }
        if self.idle_due().is_some_and(|due| due <= self.now) {
            self.alerts.idle_since = None;
            let message = "gimlet is waiting for your input";
            self.send_control_request(HostRequest::Notify(NotifyRequest {
                notification_type: "idle_prompt".to_owned(),
                message: message.to_owned(),
            }));
            self.effects.push(AppEffect::Alert(message.to_owned()));
        }
    }
}
