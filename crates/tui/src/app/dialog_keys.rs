//! Keys while a permission dialog is open, and the effects of an answer. Text typed for the prompt before the question
//! could be read stays in the prompt.

use super::dialog::{
    Dialog, DialogChoice, DialogField, KEY_GUARD_TIME, PREVIEW_ROWS, PlanOffers, ToolPermissionRequest,
};
use super::keys::edit;
use super::panel::PendingResponse;
use super::rule_suggestions;
use super::{App, AppEffect};
use serde_json::Value;
use std::time::Duration;
use terminal::editor::{Editor, Submission};
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use wire::control::{HostReply, HostRequest, ReadFile, SetPermissionMode};

const HINT_DURATION: Duration = Duration::from_secs(4);
/// Larger files are not read to show a change in context.
const MAX_ORIGINAL_BYTES: usize = 1 << 20;

/// What is open in the external editor, when it is not the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalEdit {
    /// The proposed text of the dialog with this id.
    Proposal(String),
}

impl App {
    pub(super) fn open_dialog(&mut self, id: String, request: ToolPermissionRequest) {
        let offers = PlanOffers { clears: self.preferences.clears_on_plan, bypasses: self.session.may_bypass };
        let dialog = Dialog::new(id, request, self.now, offers);
        self.print_held_calls();
        // A preview longer than the dialog is printed above it. A file change is printed when it is made.
        let changes = is_file_tool(&dialog.request.tool_name);
        let preview = dialog.preview(&self.session, &self.preferences.theme, self.size.columns);
        if preview.len() > PREVIEW_ROWS && !changes {
            self.print_block(preview);
        }
        if changes && let Some(path) = dialog.request.input.get("file_path").and_then(Value::as_str) {
            let request =
                ReadFile { path: path.to_owned(), max_bytes: Some(MAX_ORIGINAL_BYTES as u64), encoding: None };
            self.request(HostRequest::ReadFile(request), PendingResponse::Before(dialog.id.clone()));
        }
        self.dialogs.push_back(dialog);
    }

    /// The file that a change is about, as it is now.
    pub(super) fn receive_original_file(&mut self, id: &str, body: &Value) {
        let whole = body.get("truncated").is_none() && body.get("lossy").is_none();
        let text = body.get("contents").and_then(Value::as_str).filter(|_| whole);
        if let (Some(text), Some(dialog)) = (text, self.dialogs.iter_mut().find(|dialog| dialog.id == id)) {
            dialog.original = Some(text.to_owned());
        }
    }

    pub(super) fn dialog_key(&mut self, key: KeyPress) {
        let now = self.now;
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let shown = now.saturating_sub(dialog.shown_at) >= KEY_GUARD_TIME;
        let rested = now.saturating_sub(self.typed_at) >= KEY_GUARD_TIME;
        if key == KeyPress::ctrl('c') {
            return self.interrupt();
        }
        if !(shown && rested) && dialog.field.is_none() {
            // The key was typed for a panel or the prompt, before the question could be read.
            if self.panel_key(key) {
                return;
            }
            if key.text().is_some() || key.code == KeyCode::Backspace {
                edit(&mut self.editor, key);
                self.typed_at = now;
            }
            return;
        }
        if dialog.questions.is_some() {
            if let Some(answer) = dialog.question_key(key, now) {
                self.answer_front(answer);
            }
            return;
        }
        if let Some(form) = &mut dialog.form {
            if let Some(response) = form.key(key) {
                let reply = HostReply::success(dialog.id.clone(), &response);
                self.answer_front(reply);
            }
            return;
        }
        if dialog.field.is_some() {
            return self.field_key(key);
        }
        if let Some(digit) = key.text().and_then(|c| c.to_digit(10)) {
            if let Some(choice) = (digit as usize).checked_sub(1).and_then(|at| dialog.choices.get(at)).copied() {
                self.decide(choice);
            }
            return;
        }
        if !self.scroll_key(key) && !self.offer_key(key) {
            self.confirm_key(key);
        }
    }

    fn confirm_key(&mut self, key: KeyPress) {
        let Some(dialog) = self.dialogs.front_mut() else { return };
        if self.preferences.bindings.find(&[KeyContext::Chat], &[key])
            == BindingMatch::KeyAction(KeyAction::ExternalEditor)
        {
            return self.edit_proposal();
        }
        match self.preferences.bindings.find(&[KeyContext::Confirmation, KeyContext::Global], &[key]) {
            BindingMatch::KeyAction(KeyAction::ConfirmYes) if key.code == KeyCode::Enter => {
                let choice = dialog.choice();
                self.decide(choice);
            }
            BindingMatch::KeyAction(KeyAction::ConfirmYes) => {
                let first = dialog.choices[0];
                self.decide(first);
            }
            BindingMatch::KeyAction(KeyAction::ConfirmNo) => self.decide(DialogChoice::No),
            BindingMatch::KeyAction(KeyAction::ConfirmPrevious) => dialog.previous(),
            BindingMatch::KeyAction(KeyAction::ConfirmNext) => dialog.next(),
            BindingMatch::KeyAction(KeyAction::ConfirmNextField) => {
                dialog.field = Some(DialogField::Comment(Editor::new()));
            }
            BindingMatch::KeyAction(KeyAction::ToggleExplanation | KeyAction::PermissionDebug) => {
                dialog.explains = !dialog.explains;
            }
            BindingMatch::KeyAction(KeyAction::ConfirmCycleMode) => {
                if dialog.choices.contains(&DialogChoice::YesAlways) && is_file_tool(&dialog.request.tool_name) {
                    self.decide(DialogChoice::YesAlways);
                }
            }
            BindingMatch::KeyAction(
                action
                @ (KeyAction::Redraw | KeyAction::ToggleTranscript | KeyAction::ToggleTodos | KeyAction::Suspend),
            ) => {
                self.perform(action);
            }
            BindingMatch::KeyAction(_) | BindingMatch::Prefix | BindingMatch::None => {}
        }
    }

    /// Scrolls long previews and plans.
    fn scroll_key(&mut self, key: KeyPress) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        let lines = dialog.preview(&self.session, &self.preferences.theme, self.size.columns).len();
        let page = (self.size.rows / 3).max(1);
        dialog.top = match key.code {
            KeyCode::PageUp => dialog.top.saturating_sub(page),
            KeyCode::PageDown => (dialog.top + page).min(lines.saturating_sub(1)),
            KeyCode::Home => 0,
            KeyCode::End => lines.saturating_sub(page),
            _ => return false,
        };
        true
    }

    /// Changes the rule that would be saved, or where it is saved.
    fn offer_key(&mut self, key: KeyPress) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        let suggestions = &mut dialog.request.permission_suggestions;
        if dialog.choices[dialog.chosen] != DialogChoice::YesAlways || rule_suggestions::count(suggestions) == 0 {
            return false;
        }
        match (key.code, key.mods.is_none()) {
            (KeyCode::Left, true) => rule_suggestions::shift_place(suggestions, -1),
            (KeyCode::Right, true) => rule_suggestions::shift_place(suggestions, 1),
            (KeyCode::Char('e'), true) => dialog.open_rule(0),
            _ => return false,
        }
        true
    }

    fn field_key(&mut self, key: KeyPress) {
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let is_comment = matches!(dialog.field, Some(DialogField::Comment(_)));
        match key.code {
            KeyCode::Escape => dialog.field = None,
            KeyCode::Tab if is_comment && key.mods.is_none() => dialog.field = None,
            KeyCode::Enter if is_comment => {
                let choice = dialog.choice();
                self.decide(choice);
            }
            KeyCode::Enter => {
                if !dialog.take_rule() {
                    self.hint("That is no rule: Tool, or Tool(what)", HINT_DURATION);
                }
            }
            KeyCode::Up if is_comment => dialog.previous(),
            KeyCode::Down if is_comment => dialog.next(),
            _ => {
                if let Some(DialogField::Comment(editor) | DialogField::Rule(_, editor)) = &mut dialog.field {
                    edit(editor, key);
                }
            }
        }
    }

    /// Whether a dialog consumed the paste.
    pub(super) fn dialog_paste(&mut self, text: &str) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        match &mut dialog.field {
            Some(DialogField::Comment(editor)) => editor.paste(text),
            Some(DialogField::Rule(_, editor)) => editor.insert(text.lines().next().unwrap_or_default()),
            None => {
                if let Some(questions) = &mut dialog.questions {
                    questions.paste(text);
                } else if let Some(form) = &mut dialog.form {
                    form.paste(text);
                }
            }
        }
        true
    }

    /// Ctrl+G: opens the proposed text in the external editor.
    fn edit_proposal(&mut self) {
        let Some(dialog) = self.dialogs.front() else { return };
        let Some((_, text)) = dialog.editable() else { return };
        self.effects.push(AppEffect::ExternalEditor(text.to_owned()));
        self.external_edit = Some(ExternalEdit::Proposal(dialog.id.clone()));
    }

    /// Applies the text from the external editor.
    pub(super) fn apply_external_edit(&mut self, text: String) {
        match self.external_edit.take() {
            None => self.editor.set(text),
            Some(ExternalEdit::Proposal(id)) => {
                if let Some(dialog) = self.dialogs.iter_mut().find(|dialog| dialog.id == id) {
                    dialog.edit(text);
                    // Keys typed in the editor must not answer the question.
                    dialog.shown_at = self.now;
                }
            }
        }
    }

    fn decide(&mut self, choice: DialogChoice) {
        let Some(mut dialog) = self.dialogs.pop_front() else { return };
        self.effects.push(AppEffect::Reply(dialog.answer(choice)));
        dialog.refusal_text = dialog.refusal(choice);
        self.record_refusal_text(&mut dialog);
        // An approval has no field for a comment, so the comment becomes the next prompt.
        if choice != DialogChoice::No
            && let Some(comment) = dialog.comment()
        {
            self.submit(Submission::plain(comment));
        }
        if choice == DialogChoice::PlanClearing {
            self.start_conversation_with_plan(&dialog);
        }
        self.after_dialog();
    }

    /// Starts a new conversation with the plan and accepts edits in it.
    fn start_conversation_with_plan(&mut self, dialog: &Dialog) {
        let plan = dialog.request.input.get("plan").and_then(Value::as_str).unwrap_or_default();
        self.send_control_request(HostRequest::SetPermissionMode(SetPermissionMode { mode: "acceptEdits".into() }));
        self.next_submission = Some(Submission::plain(format!("Carry out this plan:\n\n{plan}")));
        self.submit(Submission::plain("/clear"));
    }

    fn answer_front(&mut self, answer: HostReply) {
        if let Some(mut dialog) = self.dialogs.pop_front() {
            self.record_refusal_text(&mut dialog);
        }
        self.effects.push(AppEffect::Reply(answer));
        self.after_dialog();
    }

    /// Records the refusal so that the row of the call shows it.
    fn record_refusal_text(&mut self, dialog: &mut Dialog) {
        if let Some(call) = self.calls.get_mut(&dialog.request.tool_use_id) {
            call.refusal_text = dialog.refusal_text.take();
        }
    }

    /// Answers questions with the current choices once `question_timeout` has passed without a key.
    pub(super) fn expire_questions(&mut self) {
        let (now, limit) = (self.now, self.preferences.question_timeout);
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let (Some(questions), Some(limit)) = (&mut dialog.questions, limit) else { return };
        if now < questions.touched_at() + limit {
            return;
        }
        let progress = questions.answer_unattended(limit);
        if let Some(answer) = dialog.progress(progress) {
            self.answer_front(answer);
        }
    }

    /// When `expire_questions` will answer; `None` without questions or without a timeout.
    pub(super) fn questions_expire_at(&self) -> Option<Duration> {
        let questions = self.dialogs.front()?.questions.as_ref()?;
        Some(questions.touched_at() + self.preferences.question_timeout?)
    }
}

impl Dialog {
    fn open_rule(&mut self, at: usize) {
        self.field = rule_suggestions::rule_at(&self.request.permission_suggestions, at).map(|rule| {
            let mut editor = Editor::new();
            editor.insert(&rule);
            DialogField::Rule(at, editor)
        });
    }

    /// Stores the typed rule and opens the next one; `false` when the text is not a rule.
    fn take_rule(&mut self) -> bool {
        let Some(DialogField::Rule(at, editor)) = &self.field else { return true };
        let (at, text) = (*at, editor.expanded());
        if !rule_suggestions::set_rule(&mut self.request.permission_suggestions, at, &text) {
            return false;
        }
        self.open_rule(at + 1);
        true
    }
}

fn is_file_tool(tool: &str) -> bool {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

#[cfg(test)]
#[path = "dialog_keys_tests.rs"]
mod tests;
