//! Questions of the engine to the person, and its answers to requests of the terminal. Every question gets an answer.

use crate::app::dialog::Dialog;
use crate::app::form::ElicitationForm;
use crate::app::spinner::TurnWait;
use crate::app::{App, AppEffect};
use serde_json::Value;
use std::time::Duration;
use wire::control::{ControlResponse, HostQuestion, HostReply};
use wire::mode::PermissionMode;

impl App {
    pub(super) fn handle_question(&mut self, id: String, question: HostQuestion) {
        match question {
            HostQuestion::CanUseTool(asked) => self.open_dialog(id, (*asked).into()),
            HostQuestion::Elicitation(asked) => {
                self.dialogs.push_back(Dialog::of_form(id, ElicitationForm::new(asked), self.now));
            }
            // Nothing may wait for us for ever.
            other @ (HostQuestion::HookCallback(_) | HostQuestion::McpMessage(_) | HostQuestion::Unknown(_)) => {
                let error = format!("the terminal does not know {}", other.subtype());
                self.effects.push(AppEffect::Reply(HostReply::error(id, error)));
                return;
            }
        }
        self.show_permission_wait();
    }

    fn show_permission_wait(&mut self) {
        self.ring_bell();
        if let Some(turn) = &mut self.turn {
            turn.wait_for(TurnWait::Permission);
        }
    }

    /// A dialog was closed: shows the next one, or what the turn waits for.
    pub(in crate::app) fn after_dialog(&mut self) {
        if let Some(next) = self.dialogs.front_mut() {
            next.shown_at = self.now;
            return;
        }
        let running = self.calls.running().map(str::to_owned);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.waits == TurnWait::Permission) {
            turn.wait_for(running.map_or(TurnWait::Model, TurnWait::Tool));
        }
    }

    pub(super) fn receive_control_response(&mut self, response: ControlResponse) {
        let id = response.request_id().to_owned();
        if self.initialize_request.as_ref() == Some(&id) {
            self.initialize_request = None;
            self.is_ready = true;
            self.request_settings();
        }
        if let Some(what) = self.pending_responses.remove(&id) {
            return self.receive_panel_response(what, response);
        }
        let is_unsupported = response.is_unsupported();
        let body = &match response.into_result() {
            Ok(body) => body,
            // What an engine does not know is not offered; every other error is shown.
            Err(_) if is_unsupported => return,
            Err(error) => return self.hint(error, Duration::from_secs(6)),
        };
        let id = id.as_str();
        if self.receive_recalled(id, body)
            || self.receive_status(id, body)
            || self.receive_agent_rows(id, body)
            || self.receive_settings(id, body)
        {
            return;
        }
        if let Some(account) = body.get("account").filter(|_| self.session.needs_credentials) {
            self.receive_account(account);
        }
        if let Some(mode) = body.get("mode").and_then(Value::as_str).and_then(PermissionMode::parse) {
            self.session.mode = mode;
        }
        self.session.apply_initialize(body);
    }
}
