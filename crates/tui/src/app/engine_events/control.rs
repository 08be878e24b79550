//! Questions of the engine to the person, and its answers to requests of the terminal. Every question gets an answer.

use crate::app::dialog::{Dialog, PREVIEW_ROWS, PlanOffers, ToolPermissionRequest};
use crate::app::form::ElicitationForm;
use crate::app::layers::LayerRank;
use crate::app::spinner::TurnWait;
use crate::app::{App, AppEffect, ExternalEdit, PendingResponse};
use serde_json::Value;
use std::time::Duration;
use wire::control::{ControlResponse, HostQuestion, HostReply, HostRequest, ReadFile};
use wire::mode::PermissionMode;

/// Larger files are not read to show a change in context.
const MAX_ORIGINAL_BYTES: u64 = 1 << 20;

impl App {
    pub(super) fn handle_question(&mut self, id: String, question: HostQuestion) {
        match question {
            HostQuestion::CanUseTool(asked) => self.prepare_dialog(id, (*asked).into()),
            HostQuestion::Elicitation(asked) => {
                self.show_question(Dialog::of_form(id, ElicitationForm::new(asked), self.now));
            }
            // Nothing may wait for us for ever.
            other @ (HostQuestion::HookCallback(_) | HostQuestion::McpMessage(_) | HostQuestion::Unknown(_)) => {
                let error = format!("the terminal does not know {}", other.subtype());
                self.effects.push(AppEffect::Reply(HostReply::error(id, error)));
            }
        }
    }

    fn show_question(&mut self, dialog: Dialog) {
        self.open_layer(dialog);
        self.ring_bell();
        if let Some(turn) = &mut self.activity.turn {
            turn.wait_for(TurnWait::Permission);
        }
    }

    /// A question about a change of a file is shown when the file is read: its place in the file is part of the question.
    fn prepare_dialog(&mut self, id: String, request: ToolPermissionRequest) {
        let offers = PlanOffers { clears: self.preferences.clears_on_plan, bypasses: self.session.may_bypass };
        let dialog = Dialog::new(id, request, self.now, offers);
        self.print_held_calls();
        let is_change = dialog.is_file_change();
        let path = dialog.request.input.get("file_path").and_then(Value::as_str).filter(|_| is_change);
        if let Some(path) = path {
            let request = ReadFile { path: path.to_owned(), max_bytes: Some(MAX_ORIGINAL_BYTES), encoding: None };
            self.request(HostRequest::ReadFile(request), PendingResponse::OriginalFile(dialog.id.clone()));
            self.unopened_questions.push(dialog);
            return;
        }
        // A preview longer than the dialog is printed above it. A file change is printed when it is made.
        let preview = dialog.preview(&self.session, &self.preferences.theme, self.size.columns);
        if preview.len() > PREVIEW_ROWS && !is_change {
            self.print_block(preview);
        }
        let opens_editor = dialog.is_summary() && dialog.request.input.get("openEditor") == Some(&Value::Bool(true));
        let proposal = dialog.editable().filter(|_| opens_editor).map(|(_, text)| (dialog.id.clone(), text.to_owned()));
        self.show_question(dialog);
        if let Some((question, text)) = proposal {
            self.effects.push(AppEffect::ExternalEditor(text));
            self.external_edit = Some(ExternalEdit::Proposal(question));
        }
    }

    pub(super) fn withdraw_question(&mut self, id: &str) {
        self.unopened_questions.retain(|dialog| dialog.id != id);
        for layer in self.layers.ids(LayerRank::Question) {
            if self.layers.get::<Dialog>(layer).is_some_and(|dialog| dialog.id == id) {
                self.remove_layer(layer);
            }
        }
    }

    /// The file that a change is about, as it is now: its question can be shown.
    pub(in crate::app) fn receive_original_file(&mut self, id: &str, body: &Value) {
        let Some(at) = self.unopened_questions.iter().position(|dialog| dialog.id == id) else { return };
        let mut dialog = self.unopened_questions.remove(at);
        let is_whole = body.get("truncated").is_none() && body.get("lossy").is_none();
        dialog.original = body.get("contents").and_then(Value::as_str).filter(|_| is_whole).map(str::to_owned);
        dialog.shown_at = self.now;
        self.show_question(dialog);
    }

    /// Applies the text from the external editor.
    pub(in crate::app) fn apply_external_edit(&mut self, text: String) {
        let now = self.now;
        match self.external_edit.take() {
            None => self.prompt.editor.set(text),
            Some(ExternalEdit::Proposal(id)) => {
                if let Some(dialog) = self.dialog_mut(&id) {
                    dialog.edit(text);
                    // Keys typed in the editor must not answer the question.
                    dialog.shown_at = now;
                }
            }
        }
    }

    fn dialog_mut(&mut self, id: &str) -> Option<&mut Dialog> {
        self.layers.all_mut::<Dialog>().find(|dialog| dialog.id == id)
    }

    pub(super) fn receive_control_response(&mut self, response: ControlResponse) {
        let id = response.request_id().to_owned();
        if self.initialize_request.as_ref() == Some(&id) {
            self.initialize_request = None;
            self.is_ready = true;
            self.request_settings();
            self.effects.push(AppEffect::LookAtRepository);
        }
        if let Some(what) = self.pending_responses.remove(&id) {
            return self.receive_response(what, response);
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
            || self.status.receive(id, body, self.now)
            || self.agents.receive(id, body, self.now)
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
        self.suggest_again();
    }
}
