//! Questions of the engine: may this call run? A dialog shows exactly what would run, part by part, why it is asked, and what
//! an answer would save; the rule can be changed before it is saved, and a change to a file before it is accepted. Keys
//! that were on their way before it appeared never answer it.

use super::form::Form;
use super::offer;
use super::question::{Progress, Questions};
use super::session::Session;
use super::tools;
use crate::diff;
use crate::editor::Editor;
use crate::keys::Key;
use crate::markdown;
use crate::style::{Line, Style};
use crate::text;
use crate::theme::{Theme, Token};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Keys within this time of the dialog's appearance, or of the last typed key, go on into the prompt.
pub const GUARD: Duration = Duration::from_millis(250);
/// Rows of a preview inside the dialog, where there is room; the rest scrolls.
pub const PREVIEW: usize = 12;

/// `can_use_tool` as the engine sends it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Request {
    pub tool_name: String,
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub permission_suggestions: Vec<Value>,
    #[serde(default)]
    pub blocked_path: Option<String>,
    #[serde(default)]
    pub decision_reason: Option<String>,
    #[serde(default)]
    pub matched_ask_rule: Option<Matched>,
    #[serde(default)]
    pub command_parts: Vec<Part>,
    #[serde(default)]
    pub tool_use_id: String,
    #[serde(default)]
    pub agent_id: Option<String>,
}

/// A simple command of a compound one, and what it needs.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    pub command: String,
    pub decision: String,
    #[serde(default)]
    pub reason: String,
}

/// The rule that asks.
#[derive(Clone, Debug, Deserialize)]
pub struct Matched {
    pub source: String,
    pub tool_name: String,
    #[serde(default)]
    pub rule_content: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Yes,
    YesAlways,
    /// A plan, in a conversation that begins anew with it.
    PlanClearing,
    /// A plan, with edits accepted from now on, or asked for one by one, or nothing asked at all.
    PlanAccepting,
    PlanBypassing,
    PlanAsking,
    No,
}

pub const PLAN: &str = "ExitPlanMode";

/// What a plan may be approved with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanOffers {
    pub clears: bool,
    pub bypasses: bool,
}

/// What is being typed in the dialog.
#[derive(Debug)]
pub enum Field {
    /// A remark that goes with the answer.
    Comment(Editor),
    /// The rule at this place among those that would be saved.
    Rule(usize, Editor),
}

#[derive(Debug)]
pub struct Dialog {
    pub id: String,
    pub request: Request,
    pub shown_at: Duration,
    pub choices: Vec<Choice>,
    pub chosen: usize,
    pub field: Option<Field>,
    /// Questions of the model, in place of a choice.
    pub questions: Option<Questions>,
    /// A form of an MCP server, in place of a choice.
    pub form: Option<Form>,
    /// The file as it is, for a change to it.
    pub before: Option<String>,
    /// The person changed the input.
    pub is_edited: bool,
    pub explains: bool,
    /// The first row of the preview that is shown.
    pub top: usize,
}

/// Where a dialog is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub session: &'a Session,
    pub theme: &'a Theme,
    pub columns: usize,
    pub rows: usize,
    /// Further questions that wait.
    pub waiting: usize,
}

impl Dialog {
    pub fn new(id: String, request: Request, now: Duration, plan: PlanOffers) -> Self {
        let mut choices = Vec::new();
        if request.tool_name == PLAN {
            choices.extend(plan.clears.then_some(Choice::PlanClearing));
            choices.push(if plan.bypasses { Choice::PlanBypassing } else { Choice::PlanAccepting });
            choices.push(Choice::PlanAsking);
        } else {
            choices.push(Choice::Yes);
            choices.extend(offer::scope(&request.permission_suggestions).map(|_| Choice::YesAlways));
        }
        choices.push(Choice::No);
        let questions = Questions::read(&request.tool_name, &request.input, now);
        Self {
            id,
            request,
            shown_at: now,
            choices,
            chosen: 0,
            field: None,
            questions,
            form: None,
            before: None,
            is_edited: false,
            explains: false,
            top: 0,
        }
    }

    /// What an MCP server asks.
    pub fn of_form(id: String, form: Form, now: Duration) -> Self {
        let dialog = Self::new(id, Request::default(), now, PlanOffers::default());
        Self { form: Some(form), ..dialog }
    }

    pub fn choice(&self) -> Choice {
        self.choices[self.chosen]
    }

    pub fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.choices.len();
    }

    pub fn previous(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.choices.len() - 1);
    }

    pub fn comment(&self) -> Option<String> {
        match &self.field {
            Some(Field::Comment(comment)) => Some(comment.expanded()).filter(|text| !text.trim().is_empty()),
            Some(Field::Rule(..)) | None => None,
        }
    }

    /// The `response` object for this choice.
    pub fn answer(&self, choice: Choice) -> String {
        let comment = self.comment();
        let verdict = match choice {
            Choice::Yes => json!({"behavior": "allow", "updatedInput": self.request.input}),
            Choice::YesAlways => json!({
                "behavior": "allow",
                "updatedInput": self.request.input,
                "updatedPermissions": self.request.permission_suggestions,
            }),
            Choice::PlanAccepting => self.plan_verdict("acceptEdits"),
            Choice::PlanBypassing => self.plan_verdict("bypassPermissions"),
            Choice::PlanAsking => self.plan_verdict("default"),
            Choice::PlanClearing => json!({
                "behavior": "deny", "interrupt": true,
                "message": "The user approved the plan and carries it out in a new conversation.",
            }),
            // Without a word the model goes on planning.
            Choice::No if comment.is_none() && self.request.tool_name == PLAN => {
                json!({"behavior": "deny", "message": "The user wants to keep planning."})
            }
            Choice::No => match comment {
                Some(comment) => json!({"behavior": "deny", "message": comment}),
                // Without a word the turn ends, so that it can be said what to do; an agent's own turn goes on.
                None => json!({
                    "behavior": "deny",
                    "message": "The user refused this call. Stop and wait for what they say.",
                    "interrupt": self.request.agent_id.is_none(),
                }),
            },
        };
        json!({"subtype": "success", "request_id": self.id, "response": verdict}).to_string()
    }

    fn plan_verdict(&self, mode: &str) -> Value {
        json!({
            "behavior": "allow",
            "updatedInput": self.request.input,
            "updatedPermissions": [{"type": "setMode", "mode": mode, "destination": "session"}],
        })
    }

    /// A key for the questions; the whole answer once there is one, or a refusal.
    pub fn question_key(&mut self, key: Key, now: Duration) -> Option<String> {
        let progress = self.questions.as_mut()?.key(key, now);
        self.progress(progress)
    }

    /// What the questions came to.
    pub fn progress(&self, progress: Progress) -> Option<String> {
        match progress {
            Progress::Goes => None,
            Progress::Refused => Some(self.answer(Choice::No)),
            Progress::Done(fields) => {
                let mut input = self.request.input.clone();
                if let Value::Object(input) = &mut input {
                    input.extend(fields);
                }
                let verdict = json!({"behavior": "allow", "updatedInput": input});
                Some(json!({"subtype": "success", "request_id": self.id, "response": verdict}).to_string())
            }
        }
    }

    /// The text that can be changed before it is accepted, and the name of its field.
    pub fn editable(&self) -> Option<(&'static str, &str)> {
        let name = match self.request.tool_name.as_str() {
            "Edit" => "new_string",
            "Write" => "content",
            PLAN => "plan",
            _ => return None,
        };
        Some((name, self.field_text(name)))
    }

    /// What came back from the editor. A last line break stays as it was: editors add one.
    pub fn edit(&mut self, mut text: String) {
        let Some((name, before)) = self.editable() else { return };
        if before.ends_with('\n') && !text.ends_with('\n') {
            text.push('\n');
        }
        if text == before {
            return;
        }
        self.request.input[name] = Value::String(text);
        self.is_edited = true;
    }

    fn field_text(&self, name: &str) -> &str {
        self.request.input.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// What would run, in full.
    pub fn preview(&self, session: &Session, theme: &Theme, columns: usize) -> Vec<Line> {
        let look = |path| diff::Look { theme, columns, path, limit: usize::MAX };
        match self.request.tool_name.as_str() {
            // Spelled out by the engine: hidden characters are visible there.
            "Bash" => {
                let command = self.request.description.as_deref().unwrap_or_else(|| self.field_text("command"));
                text::clean(command).split('\n').map(Line::plain).collect()
            }
            "Edit" => diff::render(&self.edit_hunks(), &look(self.field_text("file_path"))),
            "MultiEdit" => {
                let edits = self.request.input.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let part = |edit: &Value| {
                    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    diff::between(&text("old_string"), &text("new_string"), 1)
                };
                let hunks: Vec<diff::Hunk> = edits.iter().flat_map(part).collect();
                diff::render(&hunks, &look(self.field_text("file_path")))
            }
            PLAN => {
                let look = markdown::Look { theme, columns, syntax: markdown::Syntax::Coloured };
                markdown::render(self.field_text("plan"), &look)
            }
            "Write" => {
                let before = self.before.as_deref().unwrap_or_default();
                diff::render(&diff::between(before, self.field_text("content"), 1), &look(self.field_text("file_path")))
            }
            tool => {
                let label = tools::label(tool, &self.request.input, session);
                let mut lines = vec![Line::plain(text::clean(&label.argument))];
                if let Some(description) = &self.request.description {
                    lines.extend(text::clean(description).split('\n').map(Line::plain));
                }
                lines.retain(|line| !line.is_empty());
                lines
            }
        }
    }

    /// With the file's own lines around it, when the file is known and has the text.
    fn edit_hunks(&self) -> Vec<diff::Hunk> {
        let (old, new) = (self.field_text("old_string"), self.field_text("new_string"));
        match self.before.as_deref().filter(|before| !old.is_empty() && before.contains(old)) {
            Some(before) if self.request.input.get("replace_all") == Some(&Value::Bool(true)) => {
                diff::between(before, &before.replace(old, new), 1)
            }
            Some(before) => diff::between(before, &before.replacen(old, new, 1), 1),
            None => diff::between(old, new, 1),
        }
    }

    fn title(&self, place: &Place<'_>) -> String {
        let path = |name: &str| text::clean(place.session.short_path(self.field_text(name)));
        let title = match self.request.tool_name.as_str() {
            PLAN => "The plan is ready. Go on with it?".to_owned(),
            "Bash" => "Run a command".to_owned(),
            "Edit" | "MultiEdit" => format!("Edit {}", path("file_path")),
            "Write" if self.before.is_some() => format!("Overwrite {}", path("file_path")),
            "Write" => format!("Write {}", path("file_path")),
            "NotebookEdit" => format!("Edit {}", path("notebook_path")),
            "Read" => format!("Read {}", path("file_path")),
            tool => format!("Use {}", text::clean(&tools::label(tool, &self.request.input, place.session).name)),
        };
        let mut facts = vec![title];
        if self.is_edited {
            facts.push("changed by you".into());
        }
        if let Some(agent) = &self.request.agent_id {
            facts.push(format!("asked by agent {}", text::clean(place.session.agent_name(agent))));
        }
        match place.waiting {
            0 => {}
            1 => facts.push("1 more question".into()),
            more => facts.push(format!("{more} more questions")),
        }
        facts.join(" · ")
    }

    /// The dialog in at most `place.rows` rows, and where the cursor is, when something is typed.
    pub fn rows(&self, place: &Place<'_>) -> (Vec<Line>, Option<(usize, usize)>) {
        if let Some(questions) = &self.questions {
            return questions.rows(place);
        }
        if let Some(form) = &self.form {
            return form.rows(place);
        }
        let (theme, columns) = (place.theme, place.columns);
        let accent = theme.fg(Token::Permission);
        let mut choices = Vec::new();
        let mut chosen = 0;
        for (index, choice) in self.choices.iter().enumerate() {
            let here = index == self.chosen;
            let text = format!("{} {}. {}", if here { "❯" } else { " " }, index + 1, self.label(*choice));
            chosen = if here { choices.len() } else { chosen };
            choices.extend(Line::styled(text, if here { accent } else { Style::PLAIN }).wrapped(columns, 5));
        }
        let mut caret = None;
        if let Some(field) = &self.field {
            let (lead, editor) = match field {
                Field::Comment(editor) => ("  comment: ", editor),
                Field::Rule(_, editor) => ("  rule: ", editor),
            };
            let column = text::width(lead) + text::width(&editor.text()[..editor.cursor()]);
            chosen = choices.len();
            caret = Some((chosen, column.min(columns.saturating_sub(1))));
            choices.push(Line::styled(lead, theme.fg(Token::Inactive)).and(editor.text(), Style::PLAIN));
        }
        let head = Line::styled(self.title(place), accent.bold()).wrapped(columns, 2);
        let sheet =
            Sheet { head, middle: self.middle(place), info: self.info(place), choices, chosen, hint: self.hint() };
        sheet.rows(place, self.top, caret)
    }

    /// The preview, and what belongs to it.
    fn middle(&self, place: &Place<'_>) -> Vec<Line> {
        let columns = place.columns.saturating_sub(2).max(1);
        let preview = self.preview(place.session, place.theme, columns);
        let wrapped = preview.iter().flat_map(|line| line.wrapped(columns, 0));
        let indented = wrapped.map(|line| {
            let mut row = Line::plain("  ");
            row.fill = line.fill;
            row.append(line);
            row
        });
        indented.collect()
    }

    /// Parts, reasons, places: what a person needs to decide.
    fn info(&self, place: &Place<'_>) -> Vec<Line> {
        let (theme, columns) = (place.theme, place.columns);
        let faint = theme.fg(Token::Inactive);
        let mut rows = Vec::new();
        for part in &self.request.command_parts {
            let (sign, token) = match part.decision.as_str() {
                "allow" => ("✔", Token::Success),
                "deny" => ("✘", Token::Error),
                _ => ("?", Token::Warning),
            };
            let command =
                text::truncate(&text::clean(&part.command).replace('\n', " "), columns.saturating_sub(8).max(8));
            let mut line = Line::styled(format!("  {sign} "), theme.fg(token)).and(command, Style::PLAIN);
            if self.explains && !part.reason.is_empty() {
                line.push(format!("  {}", text::clean(&part.reason)), faint);
            }
            rows.extend(line.wrapped(columns, 4));
        }
        if let Some(reason) = &self.request.decision_reason {
            rows.extend(Line::styled(text::clean(reason), faint).wrapped(columns, 0));
        }
        if let Some(path) = &self.request.blocked_path {
            let text = format!("Outside the permitted places: {}", text::clean(path));
            rows.extend(Line::styled(text, faint).wrapped(columns, 0));
        }
        if let Some(path) = self.request.input.get("planFilePath").and_then(Value::as_str) {
            rows.extend(Line::styled(format!("Plan file: {}", text::clean(path)), faint).wrapped(columns, 0));
        }
        if self.explains {
            rows.extend(
                self.explanation(place).iter().flat_map(|text| Line::styled(text.clone(), faint).wrapped(columns, 2)),
            );
        }
        rows
    }

    /// What Ctrl+E adds: only what the permission engine knows, nobody is asked.
    fn explanation(&self, place: &Place<'_>) -> Vec<String> {
        let mut lines = vec![format!("Works in {}", text::clean(&place.session.cwd))];
        if let Some(rule) = &self.request.matched_ask_rule {
            let content = rule.rule_content.as_ref().map(|content| format!("({content})")).unwrap_or_default();
            let from = super::panel::rules::place_name(&rule.source);
            lines.push(format!("The rule {}{content} of {from} asks for it", text::clean(&rule.tool_name)));
        }
        if let Some(purpose) = self.request.input.get("description").and_then(Value::as_str) {
            lines.push(format!("The model says: {}", text::clean(purpose)));
        }
        let needs = self.request.command_parts.iter().filter(|part| part.decision != "allow").count();
        lines.push(match (self.request.tool_name.as_str(), self.request.command_parts.len()) {
            ("Bash", 0) => "One command; it is in no list of harmless ones, and no rule allows it".into(),
            ("Bash", all) => format!("{needs} of {all} parts need your leave"),
            ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", _) => {
                "The file is saved before it changes: `gimlet undo` brings it back".into()
            }
            _ => "No rule allows it".into(),
        });
        lines
    }

    fn hint(&self) -> String {
        let mut keys = vec!["enter to choose"];
        match &self.field {
            Some(Field::Comment(_)) => return "enter to answer · esc to take the comment away".into(),
            Some(Field::Rule(..)) => return "enter to take this rule · esc to leave it".into(),
            None => keys.push("tab to comment"),
        }
        if self.editable().is_some() {
            keys.push("ctrl+g to edit");
        }
        if self.choice() == Choice::YesAlways && offer::count(&self.request.permission_suggestions) > 0 {
            keys.push("e to edit the rule");
            keys.push("←→ where");
        }
        if self.request.tool_name != PLAN {
            keys.push("ctrl+e why");
        }
        keys.push("esc for no");
        keys.join(" · ")
    }

    fn label(&self, choice: Choice) -> String {
        match choice {
            Choice::Yes => "Yes".into(),
            Choice::YesAlways => {
                let scope = offer::scope(&self.request.permission_suggestions).unwrap_or_default();
                format!("Yes, and {scope}")
            }
            Choice::PlanClearing => "Yes, clear the conversation and accept edits".into(),
            Choice::PlanAccepting => "Yes, and accept edits from now on".into(),
            Choice::PlanBypassing => "Yes, and bypass all permissions".into(),
            Choice::PlanAsking => "Yes, and ask for each edit".into(),
            Choice::No if self.request.tool_name == PLAN => "No, keep planning".into(),
            Choice::No => "No".into(),
        }
    }
}

/// The parts of a dialog, to be fitted into a height: the choices matter most, then the title, then the preview.
pub struct Sheet {
    pub head: Vec<Line>,
    pub middle: Vec<Line>,
    pub info: Vec<Line>,
    pub choices: Vec<Line>,
    /// The row of the choices that must be seen.
    pub chosen: usize,
    pub hint: String,
}

impl Sheet {
    /// `top` is the first row of the middle; `caret` counts in the choices.
    pub fn rows(
        self,
        place: &Place<'_>,
        top: usize,
        caret: Option<(usize, usize)>,
    ) -> (Vec<Line>, Option<(usize, usize)>) {
        let (theme, rows, columns) = (place.theme, place.rows.max(2), place.columns);
        let faint = theme.fg(Token::Inactive);
        let mut hint: Vec<Line> = Line::styled(self.hint, faint).wrapped(columns, 0);
        hint.truncate(rows / 6);
        let rule =
            if rows > 8 { vec![Line::styled("─".repeat(columns), theme.fg(Token::Permission))] } else { Vec::new() };
        let mut head = self.head;
        head.truncate((rows / 6).max(1));
        let mut choices = self.choices;
        let most = rows - rule.len() - head.len() - hint.len();
        let skipped =
            if choices.len() > most { self.chosen.saturating_sub(most - 1).min(choices.len() - most) } else { 0 };
        choices.drain(..skipped);
        choices.truncate(most);
        let left = most - choices.len();
        let mut info = self.info;
        info.truncate(left.saturating_sub(self.middle.len().min(PREVIEW)).max(left / 3));
        let room = left - info.len().min(left);
        let mut out = rule;
        out.append(&mut head);
        out.extend(window(self.middle, top, room.min(PREVIEW.max(rows / 2)), faint));
        out.append(&mut info);
        let caret = caret.map(|(row, column)| (out.len() + row.saturating_sub(skipped), column));
        out.append(&mut choices);
        out.append(&mut hint);
        (out, caret)
    }
}

/// A part of the lines, with what is hidden counted.
fn window(lines: Vec<Line>, top: usize, room: usize, faint: Style) -> Vec<Line> {
    if lines.len() <= room {
        return lines;
    }
    if room == 0 {
        return Vec::new();
    }
    let all = lines.len();
    let shown = room - 1;
    let top = top.min(all - shown);
    let mut out: Vec<Line> = lines.into_iter().skip(top).take(shown).collect();
    let (above, below) = (top, all - top - shown);
    out.push(Line::styled(format!("  … {above} rows above, {below} below (pgup, pgdn)"), faint));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(value: Value) -> Dialog {
        Dialog::new("q1".into(), serde_json::from_value(value).unwrap(), Duration::ZERO, PlanOffers::default())
    }

    fn texts(dialog: &Dialog) -> Vec<String> {
        sized(dialog, 60, 24)
    }

    fn sized(dialog: &Dialog, columns: usize, rows: usize) -> Vec<String> {
        let (session, theme) = (Session::default(), Theme::default());
        let place = Place { session: &session, theme: &theme, columns, rows, waiting: 0 };
        dialog.rows(&place).0.iter().map(Line::text).collect()
    }

    #[test]
    fn the_rule_that_would_be_saved_is_shown_in_full() {
        // [TST-240]
        let suggestions = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "cargo test:*"}],
                                  "behavior": "allow", "destination": "localSettings"}]);
        let dialog = dialog(
            json!({"tool_name": "Bash", "input": {"command": "cargo test"}, "permission_suggestions": suggestions}),
        );
        let rows = texts(&dialog);
        assert!(rows.contains(&"  cargo test".to_owned()), "{rows:?}");
        let all = rows.join(" ");
        assert!(all.contains("2. Yes, and do not ask again for Bash(cargo test:*)"), "{rows:?}");
        assert!(dialog.answer(Choice::YesAlways).contains("localSettings"));
    }

    #[test]
    fn a_scope_that_cannot_be_told_is_not_offered() {
        // [TST-240]
        for suggestion in [
            json!({"type": "novel"}),
            json!({"type": "addRules", "behavior": "allow", "destination": "moon", "rules": []}),
        ] {
            let dialog = dialog(json!({"tool_name": "Bash", "permission_suggestions": [suggestion]}));
            assert_eq!(dialog.choices, [Choice::Yes, Choice::No]);
        }
    }

    #[test]
    fn no_ends_the_turn_unless_something_was_said_or_an_agent_asked() {
        let mut asked = dialog(json!({"tool_name": "Bash", "input": {"command": "x"}}));
        assert!(asked.answer(Choice::No).contains("\"interrupt\":true"));
        let mut comment = Editor::new();
        comment.insert("use make");
        asked.field = Some(Field::Comment(comment));
        let answer = asked.answer(Choice::No);
        assert!(answer.contains("use make") && !answer.contains("interrupt"));
        let agent = dialog(json!({"tool_name": "Bash", "agent_id": "a1"}));
        assert!(agent.answer(Choice::No).contains("\"interrupt\":false"));
        assert!(texts(&agent)[1].contains("asked by agent a1"));
    }

    #[test]
    fn a_plan_is_shown_rendered_and_its_approval_sets_the_mode() {
        // [TST-241]
        let plan = dialog(json!({"tool_name": "ExitPlanMode", "input": {"plan": "# Steps\n\n1. look\n2. leap"}}));
        let rows = texts(&plan);
        assert!(rows.contains(&"  1. look".to_owned()) && rows.contains(&"  Steps".to_owned()), "{rows:?}");
        assert_eq!(plan.choices, [Choice::PlanAccepting, Choice::PlanAsking, Choice::No]);
        assert!(plan.answer(Choice::PlanAccepting).contains("\"mode\":\"acceptEdits\""));
        let refused = plan.answer(Choice::No);
        assert!(refused.contains("keep planning") && !refused.contains("interrupt"));
    }

    #[test]
    fn an_edit_is_shown_as_its_diff() {
        let dialog = dialog(json!({"tool_name": "Edit",
            "input": {"file_path": "a.rs", "old_string": "let a = 1;\n", "new_string": "let b = 1;\n"}}));
        let rows = texts(&dialog);
        assert_eq!(rows[1], "Edit a.rs");
        assert!(rows[2].ends_with("- let a = 1;") && rows[3].ends_with("+ let b = 1;"));
    }

    #[test]
    fn parts_of_a_command_are_told_with_what_each_needs() {
        // [TST-240]
        let parts = json!([{"command": "cd src", "decision": "allow", "reason": "read-only"},
                           {"command": "rm x", "decision": "ask", "reason": "no rule allows it"}]);
        let mut dialog =
            dialog(json!({"tool_name": "Bash", "input": {"command": "cd src && rm x"}, "command_parts": parts}));
        let rows = texts(&dialog);
        assert!(rows.contains(&"  ✔ cd src".to_owned()) && rows.contains(&"  ? rm x".to_owned()), "{rows:?}");
        dialog.explains = true;
        let rows = texts(&dialog);
        assert!(rows.iter().any(|row| row.contains("no rule allows it")), "{rows:?}");
        assert!(rows.contains(&"1 of 2 parts need your leave".to_owned()), "{rows:?}");
    }

    #[test]
    fn the_chosen_answer_is_seen_at_every_size_and_previews_scroll() {
        // [TST-240] [TST-247]
        let command: Vec<String> = (0..60).map(|n| format!("echo {n}")).collect();
        let mut dialog = dialog(json!({"tool_name": "Bash", "input": {"command": command.join("\n")},
            "decision_reason": "a reason that is long enough to wrap in a narrow window"}));
        for (columns, rows) in [(20, 5), (40, 8), (80, 24), (200, 60)] {
            for chosen in 0..2 {
                dialog.chosen = chosen;
                let shown = sized(&dialog, columns, rows);
                assert!(shown.len() <= rows, "{columns}x{rows}");
                assert!(shown.iter().any(|row| row.starts_with('❯')), "{columns}x{rows}: {shown:?}");
            }
        }
        dialog.top = 30;
        assert!(texts(&dialog).contains(&"  echo 30".to_owned()));
    }

    #[test]
    fn a_change_is_shown_in_its_file_and_can_be_edited() {
        // [TST-44]
        let mut dialog = dialog(json!({"tool_name": "Edit",
            "input": {"file_path": "a.rs", "old_string": "two\n", "new_string": "zwei\n"}}));
        dialog.before = Some("one\ntwo\nthree\n".into());
        let rows = texts(&dialog);
        assert!(
            rows.iter().any(|row| row.ends_with("2 - two")) && rows.iter().any(|row| row.ends_with("  three")),
            "{rows:?}"
        );
        // Editors end the last line, or ours took it off.
        dialog.edit("deux".into());
        assert!(dialog.is_edited);
        let answer = dialog.answer(Choice::Yes);
        assert!(answer.contains(r#""new_string":"deux\n""#), "{answer}");
        assert!(texts(&dialog).iter().any(|row| row.contains("changed by you")));
    }

    #[test]
    fn a_plan_offers_what_the_session_may() {
        // [TST-241]
        let request = || serde_json::from_value(json!({"tool_name": "ExitPlanMode", "input": {"plan": "x"}})).unwrap();
        let offers = PlanOffers { clears: true, bypasses: true };
        let plan = Dialog::new("q".into(), request(), Duration::ZERO, offers);
        assert_eq!(plan.choices, [Choice::PlanClearing, Choice::PlanBypassing, Choice::PlanAsking, Choice::No]);
        assert!(plan.answer(Choice::PlanClearing).contains("\"interrupt\":true"));
    }
}
