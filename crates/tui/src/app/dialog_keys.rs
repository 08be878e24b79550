//! Keys of a question of the engine, and the effects of an answer. Text typed for the prompt before the question could
//! be read stays in the prompt.

use super::dialog::{Dialog, DialogArea, DialogChoice, DialogField, KEY_GUARD_TIME};
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::prompt::edit;
use super::rule_suggestions;
use crate::screen_reader::SpeakerLabel;
use serde_json::Value;
use std::time::Duration;
use terminal::editor::{Editor, Submission};
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::surface::Caret;
use wire::control::{HostReply, HostRequest, SetPermissionMode};

const HINT_DURATION: Duration = Duration::from_secs(4);

/// Windows with fewer rows show a change from its first line that differs.
const SMALL: usize = 16;

impl Layer for Dialog {
    fn rank(&self) -> LayerRank {
        LayerRank::Question
    }

    fn contexts(&self) -> &'static [KeyContext] {
        if self.has_choices() { &[KeyContext::Confirmation, KeyContext::Global] } else { &[] }
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        if key == KeyPress::ctrl('c') {
            return KeyOutcome::Taken(vec![LayerEffect::Interrupt]);
        }
        let is_read = view.is_past(self.shown_at, KEY_GUARD_TIME) && view.is_past(view.typed_at, KEY_GUARD_TIME);
        if !is_read && self.field.is_none() {
            return KeyOutcome::Early;
        }
        KeyOutcome::Taken(self.read_key(key, view))
    }

    fn paste(&mut self, text: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match &mut self.field {
            Some(DialogField::Comment(editor)) => editor.paste(text),
            Some(DialogField::Rule(_, editor)) => editor.insert(text.lines().next().unwrap_or_default()),
            None => {
                if let Some(questions) = &mut self.questions {
                    questions.paste(text);
                } else if let Some(form) = &mut self.form {
                    form.paste(text);
                }
            }
        }
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (rows, caret) = self.rows_in(&DialogArea::of(view));
        LayerRows::InPlaceOfPrompt(rows, caret.map(|(row, column)| Caret { row, column }))
    }

    fn speaker(&self) -> SpeakerLabel {
        if self.has_choices() { SpeakerLabel::Permission } else { SpeakerLabel::None }
    }

    /// A question that waited behind another layer can be read only from now on.
    fn uncovered(&mut self, now: Duration) {
        self.shown_at = now;
    }

    /// Questions without a key for `question_timeout` are answered with the current choices.
    fn next_tick(&self, view: &LayerView<'_>) -> Option<Duration> {
        Some(self.questions.as_ref()?.touched_at() + view.preferences.question_timeout?)
    }

    fn tick(&mut self, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let (Some(questions), Some(limit)) = (&mut self.questions, view.preferences.question_timeout) else {
            return Vec::new();
        };
        let progress = questions.answer_unattended(limit);
        self.progress(progress).map(|reply| self.close_with(reply)).unwrap_or_default()
    }
}

impl<'a> DialogArea<'a> {
    /// The whole screen.
    pub(in crate::app) fn of(view: &LayerView<'a>) -> Self {
        Self {
            session: view.session,
            theme: &view.preferences.theme,
            columns: view.size.columns,
            rows: view.size.rows,
            waiting: view.waiting,
        }
    }
}

impl Dialog {
    /// Whether the dialog is neither a list of questions nor a form.
    fn has_choices(&self) -> bool {
        self.questions.is_none() && self.form.is_none()
    }

    /// Handles a key that was pressed after the dialog could be read.
    fn read_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        if let Some(action) = self.action_on_screen(key, view) {
            return vec![LayerEffect::Perform(action)];
        }
        if self.questions.is_some() {
            let reply = self.question_key(key, view.now);
            return reply.map(|reply| self.close_with(reply)).unwrap_or_default();
        }
        if let Some(form) = &mut self.form {
            let response = form.key(key);
            let reply = response.map(|response| HostReply::success(self.id.clone(), &response));
            return reply.map(|reply| self.close_with(reply)).unwrap_or_default();
        }
        if self.field.is_some() {
            return self.field_key(key);
        }
        if let Some(digit) = key.text().and_then(|c| c.to_digit(10)) {
            let choice = (digit as usize).checked_sub(1).and_then(|at| self.choices.get(at)).copied();
            return choice.map(|choice| self.choose(choice)).unwrap_or_default();
        }
        if self.scroll_key(key, view) || self.offer_key(key) {
            return Vec::new();
        }
        self.confirm_key(key, view)
    }

    /// Keys for the screen as a whole that count in questions of the model and in forms too: the conversation may be covered.
    fn action_on_screen(&self, key: KeyPress, view: &LayerView<'_>) -> Option<KeyAction> {
        let is_plain = key.mods.is_none();
        match view.preferences.bindings.find(&[KeyContext::Global], &[key]) {
            BindingMatch::KeyAction(action @ (KeyAction::ToggleTranscript | KeyAction::Redraw)) => {
                Some(action).filter(|_| !self.has_choices() && !is_plain)
            }
            _ => None,
        }
    }

    fn confirm_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let bindings = &view.preferences.bindings;
        if bindings.find(&[KeyContext::Chat], &[key]) == BindingMatch::KeyAction(KeyAction::ExternalEditor) {
            return self.edit_proposal();
        }
        let BindingMatch::KeyAction(action) = bindings.find(self.contexts(), &[key]) else { return Vec::new() };
        match action {
            KeyAction::ConfirmYes if key.code == KeyCode::Enter => return self.choose(self.choice()),
            KeyAction::ConfirmYes => return self.decide(self.choices[0]),
            // Esc says no without a word.
            KeyAction::ConfirmNo if key.code == KeyCode::Escape => return self.decide(DialogChoice::No),
            KeyAction::ConfirmNo => return self.choose(DialogChoice::No),
            KeyAction::ConfirmPrevious => self.previous(),
            KeyAction::ConfirmNext => self.next(),
            KeyAction::ConfirmNextField => self.field = Some(DialogField::Comment(Editor::new())),
            KeyAction::ToggleExplanation | KeyAction::PermissionDebug => self.explains = !self.explains,
            KeyAction::ConfirmCycleMode if self.choices.contains(&DialogChoice::YesAlways) && self.is_file_change() => {
                return self.decide(DialogChoice::YesAlways);
            }
            KeyAction::Redraw | KeyAction::ToggleTranscript | KeyAction::ToggleTodos | KeyAction::Suspend => {
                return vec![LayerEffect::Perform(action)];
            }
            _ => {}
        }
        Vec::new()
    }

    /// How many rows the whole preview has.
    fn preview_rows(&self, view: &LayerView<'_>) -> usize {
        self.middle(&DialogArea::of(view).inner()).len()
    }

    /// The first visible row of a preview that was not scrolled.
    fn first_row(&self, view: &LayerView<'_>) -> usize {
        if view.size.rows < SMALL { self.anchor(&DialogArea::of(view).inner()) } else { 0 }
    }

    /// Scrolls long previews and plans.
    fn scroll_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> bool {
        let lines = self.preview_rows(view);
        let page = (view.size.rows / 3).max(1);
        let top = self.top.unwrap_or_else(|| self.first_row(view));
        self.top = Some(match key.code {
            KeyCode::PageUp => top.saturating_sub(page),
            KeyCode::PageDown => (top + page).min(lines.saturating_sub(1)),
            KeyCode::Home => 0,
            KeyCode::End => lines.saturating_sub(page),
            _ => return false,
        });
        true
    }

    /// Changes the rule that would be saved, or where it is saved.
    fn offer_key(&mut self, key: KeyPress) -> bool {
        let suggestions = &mut self.request.permission_suggestions;
        if self.choices[self.chosen] != DialogChoice::YesAlways || rule_suggestions::count(suggestions) == 0 {
            return false;
        }
        match (key.code, key.mods.is_none()) {
            (KeyCode::Left, true) => rule_suggestions::shift_place(suggestions, -1),
            (KeyCode::Right, true) => rule_suggestions::shift_place(suggestions, 1),
            (KeyCode::Char('e'), true) => self.open_rule(0),
            _ => return false,
        }
        true
    }

    fn field_key(&mut self, key: KeyPress) -> Vec<LayerEffect> {
        let is_comment = matches!(self.field, Some(DialogField::Comment(_)));
        match key.code {
            KeyCode::Escape => self.field = None,
            KeyCode::Tab if is_comment && key.mods.is_none() => self.field = None,
            KeyCode::Enter if is_comment => return self.decide(self.choice()),
            KeyCode::Enter => {
                if !self.take_rule() {
                    return vec![LayerEffect::Hint("Not a rule: write Tool, or Tool(what)".into(), HINT_DURATION)];
                }
            }
            KeyCode::Up if is_comment => self.previous(),
            KeyCode::Down if is_comment => self.next(),
            _ => {
                if let Some(DialogField::Comment(editor) | DialogField::Rule(_, editor)) = &mut self.field {
                    edit(editor, key);
                }
            }
        }
        Vec::new()
    }

    /// Ctrl+G: opens the proposed text in the external editor.
    fn edit_proposal(&self) -> Vec<LayerEffect> {
        let proposal = self
            .editable()
            .map(|(_, text)| LayerEffect::EditProposal { question: self.id.clone(), text: text.to_owned() });
        proposal.into_iter().collect()
    }

    /// Takes an answer. A no is completed by what to do instead, or by Enter alone.
    fn choose(&mut self, choice: DialogChoice) -> Vec<LayerEffect> {
        if choice != DialogChoice::No || self.is_summary() {
            return self.decide(choice);
        }
        self.chosen = self.choices.iter().position(|known| *known == choice).unwrap_or(self.chosen);
        self.field = Some(DialogField::Comment(Editor::new()));
        Vec::new()
    }

    fn decide(&mut self, choice: DialogChoice) -> Vec<LayerEffect> {
        self.refusal_text = self.refusal(choice);
        let mut effects = self.close_with(self.answer(choice));
        // An approval has no field for a comment, so the comment becomes the next prompt.
        if choice != DialogChoice::No
            && let Some(comment) = self.comment()
        {
            effects.push(LayerEffect::Submit(Submission::plain(comment)));
        }
        if choice == DialogChoice::PlanClearing {
            // The plan is carried out in a new conversation that accepts edits.
            let plan = self.request.input.get("plan").and_then(Value::as_str).unwrap_or_default();
            let mode = HostRequest::SetPermissionMode(SetPermissionMode { mode: "acceptEdits".into() });
            let prompt = Submission::plain(format!("Carry out this plan:\n\n{plan}"));
            effects.extend([LayerEffect::Control(mode), LayerEffect::BeginConversation(prompt)]);
        }
        effects
    }

    /// Sends the answer and shows in the row of the call why it will not run.
    fn close_with(&mut self, answer: HostReply) -> Vec<LayerEffect> {
        let (call, text) = (self.request.tool_use_id.clone(), self.refusal_text.take());
        vec![LayerEffect::Close, LayerEffect::Reply(answer), LayerEffect::RefuseCall { call, text }]
    }

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

#[cfg(test)]
#[path = "dialog_keys_tests.rs"]
mod tests;
