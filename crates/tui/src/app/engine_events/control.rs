//! Control lines of the engine: its requests to the user, and its answers to our requests. Every request is answered.

use crate::app::dialog::{Dialog, ToolPermissionRequest};
use crate::app::form::ElicitationForm;
use crate::app::spinner::TurnWait;
use crate::app::{App, AppEffect};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use wire::mode::PermissionMode;

/// A control line with the fields used here.
#[derive(Deserialize)]
struct EngineControlLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    request_id: String,
    #[serde(default)]
    request: Value,
    #[serde(default)]
    response: Value,
}

impl App {
    pub(super) fn control_line(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<EngineControlLine>(line) else { return };
        match line.kind.as_str() {
            "control_request" => self.handle_question(line.request_id, line.request),
            "control_cancel_request" => {
                self.dialogs.retain(|dialog| dialog.id != line.request_id);
                self.after_dialog();
            }
            "control_response" => self.receive_control_response(&line.response),
            _ => {}
        }
    }

    fn handle_question(&mut self, id: String, request: Value) {
        let subtype = request.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
        if subtype == "elicitation" {
            let form = ElicitationForm::read(&request);
            self.dialogs.push_back(Dialog::of_form(id, form, self.now));
            return self.show_permission_wait();
        }
        match serde_json::from_value::<ToolPermissionRequest>(request) {
            Ok(request) if subtype == "can_use_tool" => {
                self.open_dialog(id, request);
                self.show_permission_wait();
            }
            // Unknown requests get an error, so that the engine does not wait for ever.
            Ok(_) | Err(_) => {
                let error = format!("the terminal does not know {subtype}");
                let response = serde_json::json!({"subtype": "error", "request_id": id, "error": error});
                self.effects.push(AppEffect::Answer(response.to_string()));
            }
        }
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

    fn receive_control_response(&mut self, response: &Value) {
        if response.get("request_id").and_then(Value::as_str) == self.initialize_request.as_deref() {
            self.initialize_request = None;
            self.is_ready = true;
            self.request_settings();
        }
        let id = response.get("request_id").and_then(Value::as_str).unwrap_or_default();
        if let Some(what) = self.pending_responses.remove(id) {
            return self.receive_panel_response(what, response);
        }
        if let Some(error) = response.get("error").and_then(Value::as_str) {
            // Requests the engine does not support fail silently; every other error is shown.
            if response.get("error_code").and_then(Value::as_str) != Some("unsupported_request") {
                self.hint(error.to_owned(), Duration::from_secs(6));
            }
            return;
        }
        let Some(body) = response.get("response") else { return };
        let id = response.get("request_id").and_then(Value::as_str).unwrap_or_default();
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
