//! Questions of the engine: may this call run? A dialog shows exactly what would run and what an answer would save. Keys
//! that were on their way before it appeared never answer it.

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
/// Rows of a preview inside the dialog; the whole stands above it when it is longer.
pub const PREVIEW: usize = 12;

/// `can_use_tool` as the engine sends it.
#[derive(Clone, Debug, Deserialize)]
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
    pub tool_use_id: String,
    #[serde(default)]
    pub agent_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Yes,
    YesAlways,
    /// A plan, with edits accepted from now on, or asked for one by one.
    PlanAccepting,
    PlanAsking,
    No,
}

const PLAN: &str = "ExitPlanMode";

#[derive(Debug)]
pub struct Dialog {
    pub id: String,
    pub request: Request,
    pub shown_at: Duration,
    pub choices: Vec<Choice>,
    pub chosen: usize,
    /// A remark that goes with the answer.
    pub comment: Option<Editor>,
    /// Questions of the model, in place of a choice.
    pub questions: Option<Questions>,
}

impl Dialog {
    pub fn new(id: String, request: Request, now: Duration) -> Self {
        let mut choices = match request.tool_name.as_str() {
            PLAN => vec![Choice::PlanAccepting, Choice::PlanAsking],
            _ => vec![Choice::Yes],
        };
        if request.tool_name != PLAN && scope(&request.permission_suggestions).is_some() {
            choices.push(Choice::YesAlways);
        }
        choices.push(Choice::No);
        let questions = Questions::read(&request.tool_name, &request.input);
        Self { id, request, shown_at: now, choices, chosen: 0, comment: None, questions }
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

    /// The `response` object for this choice.
    pub fn answer(&self, choice: Choice) -> String {
        let comment = self.comment.as_ref().map(Editor::expanded).filter(|text| !text.trim().is_empty());
        let verdict = match choice {
            Choice::Yes => json!({"behavior": "allow", "updatedInput": self.request.input}),
            Choice::YesAlways => json!({
                "behavior": "allow",
                "updatedInput": self.request.input,
                "updatedPermissions": self.request.permission_suggestions,
            }),
            Choice::PlanAccepting => self.plan_verdict("acceptEdits"),
            Choice::PlanAsking => self.plan_verdict("default"),
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
    pub fn question_key(&mut self, key: Key) -> Option<String> {
        match self.questions.as_mut()?.key(key, &self.request.input) {
            Progress::Goes => None,
            Progress::Refused => Some(self.answer(Choice::No)),
            Progress::Done(verdict) => {
                let verdict: Value = serde_json::from_str(&verdict).unwrap_or_default();
                Some(json!({"subtype": "success", "request_id": self.id, "response": verdict}).to_string())
            }
        }
    }

    /// What would run, in full.
    pub fn preview(&self, session: &Session, theme: &Theme, columns: usize) -> Vec<Line> {
        let input = &self.request.input;
        let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let look = |path| diff::Look { theme, columns, path, limit: usize::MAX };
        match self.request.tool_name.as_str() {
            // Spelled out by the engine: hidden characters are visible there.
            "Bash" => {
                let command = self.request.description.as_deref().unwrap_or_else(|| field("command"));
                text::clean(command).split('\n').map(Line::plain).collect()
            }
            "Edit" => {
                let path = field("file_path");
                diff::render(&diff::between(field("old_string"), field("new_string"), 1), &look(path))
            }
            "MultiEdit" => {
                let edits = input.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let part = |edit: &Value| {
                    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    diff::between(&text("old_string"), &text("new_string"), 1)
                };
                let hunks: Vec<diff::Hunk> = edits.iter().flat_map(part).collect();
                diff::render(&hunks, &look(field("file_path")))
            }
            PLAN => {
                let look = markdown::Look { theme, columns, syntax: markdown::Syntax::Coloured };
                markdown::render(field("plan"), &look)
            }
            "Write" => diff::render(&diff::between("", field("content"), 1), &look(field("file_path"))),
            tool => {
                let label = tools::label(tool, input, session);
                let mut lines = vec![Line::plain(text::clean(&label.argument))];
                if let Some(description) = &self.request.description {
                    lines.extend(text::clean(description).split('\n').map(Line::plain));
                }
                lines.retain(|line| !line.is_empty());
                lines
            }
        }
    }

    fn title(&self, session: &Session) -> String {
        let path = |name: &str| {
            let path = self.request.input.get(name).and_then(Value::as_str).unwrap_or_default();
            text::clean(session.short_path(path))
        };
        let title = match self.request.tool_name.as_str() {
            PLAN => "The plan is ready. Go on with it?".to_owned(),
            "Bash" => "Run a command".to_owned(),
            "Edit" | "MultiEdit" => format!("Edit {}", path("file_path")),
            "Write" => format!("Write {}", path("file_path")),
            "NotebookEdit" => format!("Edit {}", path("notebook_path")),
            "Read" => format!("Read {}", path("file_path")),
            tool => format!("Use {}", text::clean(&tools::label(tool, &self.request.input, session).name)),
        };
        match &self.request.agent_id {
            Some(agent) => format!("{title} · asked by agent {}", text::clean(agent)),
            None => title,
        }
    }

    /// The dialog in rows, and where the cursor is, when it is in the comment.
    pub fn rows(&self, session: &Session, theme: &Theme, columns: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        if let Some(questions) = &self.questions {
            return questions.rows(theme, columns);
        }
        let accent = theme.fg(Token::Permission);
        let faint = theme.fg(Token::Inactive);
        let mut rows =
            vec![Line::styled("─".repeat(columns), accent), Line::styled(self.title(session), accent.bold())];
        let preview = self.preview(session, theme, columns.saturating_sub(2));
        let cut = preview.len().saturating_sub(PREVIEW);
        for line in preview.iter().take(PREVIEW) {
            for part in line.wrapped(columns.saturating_sub(2), 0) {
                let mut row = Line::plain("  ");
                row.append(part);
                rows.push(row);
            }
        }
        if cut > 0 {
            rows.push(Line::styled(format!("  … +{cut} lines; all of it stands above"), faint));
        }
        if let Some(reason) = &self.request.decision_reason {
            rows.extend(Line::styled(text::clean(reason), faint).wrapped(columns, 0));
        }
        if let Some(path) = &self.request.blocked_path {
            rows.extend(
                Line::styled(format!("Outside the permitted places: {}", text::clean(path)), faint).wrapped(columns, 0),
            );
        }
        for (index, choice) in self.choices.iter().enumerate() {
            let chosen = index == self.chosen;
            let text = format!("{} {}. {}", if chosen { "❯" } else { " " }, index + 1, self.label(*choice));
            let style = if chosen { accent } else { Style::PLAIN };
            rows.extend(Line::styled(text, style).wrapped(columns, 5));
        }
        let caret = self.comment.as_ref().map(|comment| {
            let mut line = Line::styled("  comment: ", faint);
            line.push(comment.text(), Style::PLAIN);
            let column = 11 + text::width(&comment.text()[..comment.cursor()]);
            rows.push(line);
            (rows.len() - 1, column.min(columns.saturating_sub(1)))
        });
        rows.push(Line::styled("enter to choose · tab to add a comment · esc for no", faint));
        (rows, caret)
    }

    fn label(&self, choice: Choice) -> String {
        match choice {
            Choice::Yes => "Yes".into(),
            Choice::YesAlways => {
                let scope = scope(&self.request.permission_suggestions).unwrap_or_default();
                format!("Yes, and {scope}")
            }
            Choice::PlanAccepting => "Yes, and accept edits from now on".into(),
            Choice::PlanAsking => "Yes, and ask for each edit".into(),
            Choice::No if self.request.tool_name == PLAN => "No, keep planning".into(),
            Choice::No => "No".into(),
        }
    }
}

/// What the suggestions would change, in words; `None` when that cannot be said completely.
pub fn scope(suggestions: &[Value]) -> Option<String> {
    if suggestions.is_empty() {
        return None;
    }
    let parts: Option<Vec<String>> = suggestions.iter().map(suggestion).collect();
    parts.map(|parts| parts.join("; "))
}

fn suggestion(value: &Value) -> Option<String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let place = match text("destination").unwrap_or("session") {
        "session" => "for this session",
        "localSettings" => "in this project (only you)",
        "projectSettings" => "in this project (shared)",
        "userSettings" => "in all your projects",
        _ => return None,
    };
    match text("type")? {
        "addRules" if text("behavior") == Some("allow") => {
            let rules = value.get("rules")?.as_array()?;
            let names: Option<Vec<String>> = rules.iter().map(rule).collect();
            Some(format!("do not ask again for {} {place}", names?.join(", ")))
        }
        "addDirectories" => {
            let directories = value.get("directories")?.as_array()?;
            let names: Option<Vec<&str>> = directories.iter().map(Value::as_str).collect();
            Some(format!("work in {} too, {place}", text::clean(&names?.join(", "))))
        }
        "setMode" => match text("mode")? {
            "acceptEdits" => Some(format!("accept all edits {place}")),
            mode => Some(format!("change to {} mode {place}", text::clean(mode))),
        },
        _ => None,
    }
}

fn rule(value: &Value) -> Option<String> {
    let tool = value.get("toolName")?.as_str()?;
    Some(text::clean(&match value.get("ruleContent").and_then(Value::as_str) {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(value: Value) -> Dialog {
        Dialog::new("q1".into(), serde_json::from_value(value).unwrap(), Duration::ZERO)
    }

    fn texts(dialog: &Dialog) -> Vec<String> {
        let (rows, _) = dialog.rows(&Session::default(), &Theme::default(), 60);
        rows.iter().map(Line::text).collect()
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
        asked.comment = Some(comment);
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
}
