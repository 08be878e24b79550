//! Control lines of the engine: its questions to the person, and its answers to what was asked of it. No question is left
//! without an answer.

use crate::app::dialog::{Dialog, Request};
use crate::app::form::Form;
use crate::app::spinner::Waits;
use crate::app::{App, Effect};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use wire::mode::PermissionMode;

/// A control line, read far enough.
#[derive(Deserialize)]
struct ControlLine {
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
        let Ok(line) = serde_json::from_str::<ControlLine>(line) else { return };
        match line.kind.as_str() {
            "control_request" => self.asked(line.request_id, line.request),
            "control_cancel_request" => {
                self.dialogs.retain(|dialog| dialog.id != line.request_id);
                self.after_dialog();
            }
            "control_response" => self.answered(&line.response),
            _ => {}
        }
    }

    fn asked(&mut self, id: String, request: Value) {
        let subtype = request.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
        if subtype == "elicitation" {
            let form = Form::read(&request);
            self.dialogs.push_back(Dialog::of_form(id, form, self.now));
            return self.waits_for_answer();
        }
        match serde_json::from_value::<Request>(request) {
            Ok(request) if subtype == "can_use_tool" => {
                self.open_dialog(id, request);
                self.waits_for_answer();
            }
            // Nothing may wait for us for ever.
            Ok(_) | Err(_) => {
                let error = format!("the terminal does not know {subtype}");
                let response = serde_json::json!({"subtype": "error", "request_id": id, "error": error});
                self.effects.push(Effect::Answer(response.to_string()));
            }
        }
    }

    fn waits_for_answer(&mut self) {
        self.ring();
        if let Some(turn) = &mut self.turn {
            turn.wait_for(Waits::Permission);
        }
    }

    /// A dialog has gone: the turn goes on, or the next question comes up.
    pub(in crate::app) fn after_dialog(&mut self) {
        if let Some(next) = self.dialogs.front_mut() {
            next.shown_at = self.now;
            return;
        }
        let running = self.calls.running().map(str::to_owned);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.waits == Waits::Permission) {
            turn.wait_for(running.map_or(Waits::Model, Waits::Tool));
        }
    }

    fn answered(&mut self, response: &Value) {
        if response.get("request_id").and_then(Value::as_str) == self.greeting.as_deref() {
            self.greeting = None;
            self.is_ready = true;
            self.ask_settings();
        }
        let id = response.get("request_id").and_then(Value::as_str).unwrap_or_default();
        if let Some(what) = self.awaited.remove(id) {
            return self.arrived(what, response);
        }
        if let Some(error) = response.get("error").and_then(Value::as_str) {
            // What an engine does not know is not offered; everything else is worth telling.
            if response.get("error_code").and_then(Value::as_str) != Some("unsupported_request") {
                self.hint(error.to_owned(), Duration::from_secs(6));
            }
            return;
        }
        let Some(body) = response.get("response") else { return };
        let id = response.get("request_id").and_then(Value::as_str).unwrap_or_default();
        if self.given_back(id, body)
            || self.status_told(id, body)
            || self.agents_told(id, body)
            || self.settings_told(id, body)
        {
            return;
        }
        if let Some(account) = body.get("account").filter(|_| self.session.needs_credentials) {
            self.met(account);
        }
        if let Some(mode) = body.get("mode").and_then(Value::as_str).and_then(PermissionMode::parse) {
            self.session.mode = mode;
        }
        self.session.learn(body);
    }
}
