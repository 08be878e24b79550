//! Keys while a question is open, and what an answer sets off. What was typed for the prompt before the question could be
//! read stays with the prompt.

use super::dialog::{Choice, Dialog, Field, GUARD, PREVIEW, PlanOffers, Request};
use super::keys::edit;
use super::offer;
use super::panel::Awaited;
use super::{App, Effect};
use crate::editor::{Editor, Submission};
use crate::keys::bindings::{Action, Context, Match};
use crate::keys::{Code, Key};
use serde_json::{Value, json};
use std::time::Duration;

const HINT: Duration = Duration::from_secs(4);
/// Larger files are not read to show a change in them.
const MOST_BEFORE: usize = 1 << 20;

/// What is in the person's editor, when it is not the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Editing {
    /// The proposal of the question with this id.
    Proposal(String),
}

impl App {
    pub(super) fn open_dialog(&mut self, id: String, request: Request) {
        let offers = PlanOffers { clears: self.preferences.clears_on_plan, bypasses: self.session.may_bypass };
        let dialog = Dialog::new(id, request, self.now, offers);
        self.print_held();
        // What is longer than the dialog stays readable above it; a change to a file is printed when it is made.
        let changes = is_file_tool(&dialog.request.tool_name);
        let preview = dialog.preview(&self.session, &self.preferences.theme, self.size.columns);
        if preview.len() > PREVIEW && !changes {
            self.cell(preview);
        }
        if changes && let Some(path) = dialog.request.input.get("file_path").and_then(Value::as_str) {
            let request = json!({"subtype": "read_file", "path": path, "max_bytes": MOST_BEFORE});
            self.request(&request, Awaited::Before(dialog.id.clone()));
        }
        self.dialogs.push_back(dialog);
    }

    /// The file that a change is about, as it is now.
    pub(super) fn before_arrived(&mut self, id: &str, response: &Value) {
        let body = response.get("response").unwrap_or(&Value::Null);
        let whole = body.get("truncated").is_none() && body.get("lossy").is_none();
        let text = body.get("contents").and_then(Value::as_str).filter(|_| whole);
        if let (Some(text), Some(dialog)) = (text, self.dialogs.iter_mut().find(|dialog| dialog.id == id)) {
            dialog.before = Some(text.to_owned());
        }
    }

    pub(super) fn dialog_key(&mut self, key: Key) {
        let now = self.now;
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let shown = now.saturating_sub(dialog.shown_at) >= GUARD;
        let rested = now.saturating_sub(self.typed_at) >= GUARD;
        if key == Key::ctrl('c') {
            return self.interrupt();
        }
        if !(shown && rested) && dialog.field.is_none() {
            // Typed for a screen or the prompt, before the question could be read.
            if self.panel_key(key) {
                return;
            }
            if key.text().is_some() || key.code == Code::Backspace {
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
                let answer = json!({"subtype": "success", "request_id": dialog.id, "response": response});
                self.answer_front(answer.to_string());
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

    fn confirm_key(&mut self, key: Key) {
        let Some(dialog) = self.dialogs.front_mut() else { return };
        if self.preferences.bindings.find(&[Context::Chat], &[key]) == Match::Action(Action::ExternalEditor) {
            return self.edit_proposal();
        }
        match self.preferences.bindings.find(&[Context::Confirmation, Context::Global], &[key]) {
            Match::Action(Action::ConfirmYes) if key.code == Code::Enter => {
                let choice = dialog.choice();
                self.decide(choice);
            }
            Match::Action(Action::ConfirmYes) => {
                let first = dialog.choices[0];
                self.decide(first);
            }
            Match::Action(Action::ConfirmNo) => self.decide(Choice::No),
            Match::Action(Action::ConfirmPrevious) => dialog.previous(),
            Match::Action(Action::ConfirmNext) => dialog.next(),
            Match::Action(Action::ConfirmNextField) => dialog.field = Some(Field::Comment(Editor::new())),
            Match::Action(Action::ToggleExplanation | Action::PermissionDebug) => dialog.explains = !dialog.explains,
            Match::Action(Action::ConfirmCycleMode) => {
                if dialog.choices.contains(&Choice::YesAlways) && is_file_tool(&dialog.request.tool_name) {
                    self.decide(Choice::YesAlways);
                }
            }
            Match::Action(
                action @ (Action::Redraw | Action::ToggleTranscript | Action::ToggleTodos | Action::Suspend),
            ) => {
                self.act(action);
            }
            Match::Action(_) | Match::Prefix | Match::None => {}
        }
    }

    /// Long previews and plans move.
    fn scroll_key(&mut self, key: Key) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        let lines = dialog.preview(&self.session, &self.preferences.theme, self.size.columns).len();
        let page = (self.size.rows / 3).max(1);
        dialog.top = match key.code {
            Code::PageUp => dialog.top.saturating_sub(page),
            Code::PageDown => (dialog.top + page).min(lines.saturating_sub(1)),
            Code::Home => 0,
            Code::End => lines.saturating_sub(page),
            _ => return false,
        };
        true
    }

    /// The rule that would be saved, and where.
    fn offer_key(&mut self, key: Key) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        let suggestions = &mut dialog.request.permission_suggestions;
        if dialog.choices[dialog.chosen] != Choice::YesAlways || offer::count(suggestions) == 0 {
            return false;
        }
        match (key.code, key.mods.is_none()) {
            (Code::Left, true) => offer::shift_place(suggestions, -1),
            (Code::Right, true) => offer::shift_place(suggestions, 1),
            (Code::Char('e'), true) => dialog.open_rule(0),
            _ => return false,
        }
        true
    }

    fn field_key(&mut self, key: Key) {
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let is_comment = matches!(dialog.field, Some(Field::Comment(_)));
        match key.code {
            Code::Escape => dialog.field = None,
            Code::Tab if is_comment && key.mods.is_none() => dialog.field = None,
            Code::Enter if is_comment => {
                let choice = dialog.choice();
                self.decide(choice);
            }
            Code::Enter => {
                if !dialog.take_rule() {
                    self.hint("That is no rule: Tool, or Tool(what)", HINT);
                }
            }
            Code::Up if is_comment => dialog.previous(),
            Code::Down if is_comment => dialog.next(),
            _ => {
                if let Some(Field::Comment(editor) | Field::Rule(_, editor)) = &mut dialog.field {
                    edit(editor, key);
                }
            }
        }
    }

    /// Whether a question took the paste.
    pub(super) fn dialog_paste(&mut self, text: &str) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        match &mut dialog.field {
            Some(Field::Comment(editor)) => editor.paste(text),
            Some(Field::Rule(_, editor)) => editor.insert(text.lines().next().unwrap_or_default()),
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

    /// Ctrl+G: what is proposed can be changed before it is accepted.
    fn edit_proposal(&mut self) {
        let Some(dialog) = self.dialogs.front() else { return };
        let Some((_, text)) = dialog.editable() else { return };
        self.effects.push(Effect::ExternalEditor(text.to_owned()));
        self.editing = Some(Editing::Proposal(dialog.id.clone()));
    }

    /// A text came back from the person's editor.
    pub(super) fn edited(&mut self, text: String) {
        match self.editing.take() {
            None => self.editor.set(text),
            Some(Editing::Proposal(id)) => {
                if let Some(dialog) = self.dialogs.iter_mut().find(|dialog| dialog.id == id) {
                    dialog.edit(text);
                    // Keys typed in the editor are not answers.
                    dialog.shown_at = self.now;
                }
            }
        }
    }

    fn decide(&mut self, choice: Choice) {
        let Some(mut dialog) = self.dialogs.pop_front() else { return };
        self.effects.push(Effect::Answer(dialog.answer(choice)));
        dialog.said = dialog.refusal(choice);
        self.keep_word(&mut dialog);
        // A remark on a yes has no place in the answer: it is the next thing said.
        if choice != Choice::No
            && let Some(comment) = dialog.comment()
        {
            self.submit(Submission::plain(comment));
        }
        if choice == Choice::PlanClearing {
            self.begin_anew(&dialog);
        }
        self.after_dialog();
    }

    /// The plan goes into a conversation of its own, with edits accepted.
    fn begin_anew(&mut self, dialog: &Dialog) {
        let plan = dialog.request.input.get("plan").and_then(Value::as_str).unwrap_or_default();
        self.control(&json!({"subtype": "set_permission_mode", "mode": "acceptEdits"}));
        self.carried = Some(Submission::plain(format!("Carry out this plan:\n\n{plan}")));
        self.submit(Submission::plain("/clear"));
    }

    fn answer_front(&mut self, answer: String) {
        if let Some(mut dialog) = self.dialogs.pop_front() {
            self.keep_word(&mut dialog);
        }
        self.effects.push(Effect::Answer(answer));
        self.after_dialog();
    }

    /// The call's row says what the person said to it.
    fn keep_word(&mut self, dialog: &mut Dialog) {
        if let Some(call) = self.calls.get_mut(&dialog.request.tool_use_id) {
            call.said = dialog.said.take();
        }
    }

    /// Questions that nobody answers for long are answered with what is chosen.
    pub(super) fn expire_questions(&mut self) {
        let (now, limit) = (self.now, self.preferences.question_timeout);
        let Some(dialog) = self.dialogs.front_mut() else { return };
        let (Some(questions), Some(limit)) = (&mut dialog.questions, limit) else { return };
        if now < questions.touched_at() + limit {
            return;
        }
        let progress = questions.give_up(limit);
        if let Some(answer) = dialog.progress(progress) {
            self.answer_front(answer);
        }
    }

    /// When that will be.
    pub(super) fn questions_expire_at(&self) -> Option<Duration> {
        let questions = self.dialogs.front()?.questions.as_ref()?;
        Some(questions.touched_at() + self.preferences.question_timeout?)
    }
}

impl Dialog {
    fn open_rule(&mut self, at: usize) {
        self.field = offer::rule_at(&self.request.permission_suggestions, at).map(|rule| {
            let mut editor = Editor::new();
            editor.insert(&rule);
            Field::Rule(at, editor)
        });
    }

    /// Takes the rule as typed and goes to the next one; `false` when it is none.
    fn take_rule(&mut self) -> bool {
        let Some(Field::Rule(at, editor)) = &self.field else { return true };
        let (at, text) = (*at, editor.expanded());
        if !offer::set_rule(&mut self.request.permission_suggestions, at, &text) {
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
#[path = "answer_tests.rs"]
mod tests;
