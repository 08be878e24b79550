//! What is asked of the engine or shown to the user when its time has come: the status line, the rows of agents,
//! notifications.

use super::agents::AgentEnd;
use super::alerts::Alert;
use super::dialog::Dialog;
use super::record::call::CallPhase;
use super::status::StatusInputs;
use super::{App, AppEffect};
use std::time::Duration;
use wire::control::{AgentStatusLine, HostRequest, NotifyRequest, StatusLine};

impl App {
    pub(super) fn status_inputs(&self) -> StatusInputs {
        StatusInputs { mode: self.session.mode, vim: self.prompt.vim_mode() }
    }

    pub(super) fn do_due_work(&mut self) {
        self.request_status();
        self.agents.drop_ended(self.now);
        self.request_agent_rows();
        self.alert_when_due();
    }

    /// Asks for the user's status line; a pending request is withdrawn.
    fn request_status(&mut self) {
        if !self.status.take_due(self.now) {
            return;
        }
        let withdrawn = self.status.take_request();
        self.effects.extend(withdrawn.map(AppEffect::Withdraw));
        let vim = self.prompt.vim_mode().map(|mode| mode.name().to_owned());
        let (columns, rows) = (self.size.columns as u64, self.size.rows as u64);
        let id = self.send_control_request(HostRequest::StatusLine(StatusLine { columns, rows, vim }));
        self.status.record_request(id);
    }

    /// Asks the user's command for the rows of agents.
    fn request_agent_rows(&mut self) {
        let Some(tasks) = self.agents.take_due(self.now) else { return };
        let (columns, rows) = (self.size.columns as u64, self.size.rows as u64);
        let id = self.send_control_request(HostRequest::AgentStatusLine(AgentStatusLine { columns, rows, tasks }));
        self.agents.record_request(id);
    }

    /// Records the end of an agent; `name` is its id or the id of its call.
    pub(super) fn end_agent(&mut self, name: &str, end: AgentEnd) {
        for call in self.agents.calls_of(&[name]) {
            // What it ran when it was stopped gets no result any more.
            self.transcript.end_open_calls(&CallPhase::Interrupted, |agent| agent == Some(&call));
        }
        let withdrawn = self.agents.record_end(name, end, self.now);
        self.effects.extend(withdrawn.map(AppEffect::Withdraw));
    }

    /// Drops agents when no turn runs, except background tasks and the agents these started.
    pub(super) fn keep_background_agents(&mut self) {
        if self.activity.turn.is_none() {
            let ids: Vec<&str> = self.session.background.iter().map(|task| task.id.as_str()).collect();
            let withdrawn = self.agents.keep(&ids);
            self.effects.extend(withdrawn.map(AppEffect::Withdraw));
        }
    }

    pub(super) fn next_alert(&self) -> Option<Duration> {
        self.alerts.next(self.layers.find::<Dialog>(), self.typed_at, self.preferences.alert_delays)
    }

    fn alert_when_due(&mut self) {
        let question = self.layers.find::<Dialog>();
        let due = self.alerts.take_due(question, self.typed_at, self.preferences.alert_delays, self.now);
        for alert in due {
            let text = alert.text();
            if alert == Alert::Idle {
                self.send_control_request(HostRequest::Notify(NotifyRequest {
                    notification_type: "idle_prompt".to_owned(),
                    message: text.clone(),
                }));
            }
            self.effects.push(AppEffect::Alert(text));
        }
    }
}
