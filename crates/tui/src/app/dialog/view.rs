//! Draws a permission dialog: the title, exactly what would run, why the engine asks, and what each choice would save.

use super::layout::indent;
use super::{Dialog, DialogArea, DialogChoice, DialogField, DialogLayout};
use crate::app::panel::rules;
use crate::app::session::SessionDisplay;
use crate::app::{rule_suggestions, tools};
use crate::diff;
use engine::ToolClass;
use serde_json::Value;
use terminal::markdown;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

impl Dialog {
    /// The full content of what would run.
    pub fn preview(&self, session: &SessionDisplay, theme: &Theme, columns: usize) -> Vec<StyledLine> {
        let look = |path| diff::DiffOptions { theme, columns, path, limit: usize::MAX };
        match self.request.tool_name.as_str() {
            // The engine's description makes hidden characters visible.
            "Bash" => {
                let command = self.request.description.as_deref().unwrap_or_else(|| self.field_text("command"));
                text::clean(command).split('\n').map(StyledLine::plain).collect()
            }
            "Edit" => diff::render(&self.edit_hunks(), &look(self.field_text("file_path"))),
            "MultiEdit" => {
                let edits = self.request.input.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let part = |edit: &Value| {
                    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    diff::diff_texts(&text("old_string"), &text("new_string"), 1)
                };
                let hunks: Vec<diff::DiffRowHunk> = edits.iter().flat_map(part).collect();
                diff::render(&hunks, &look(self.field_text("file_path")))
            }
            _ if self.is_plan() || self.is_summary() => {
                let look = markdown::MarkdownOptions {
                    theme,
                    columns,
                    syntax: markdown::SyntaxColouring::Coloured,
                    wrap: markdown::ProseWrap::Terminal,
                };
                markdown::render(self.field_text(if self.is_plan() { "plan" } else { "summary" }), &look)
            }
            "Write" => {
                let before = self.original.as_deref().unwrap_or_default();
                diff::render(
                    &diff::diff_texts(before, self.field_text("content"), 1),
                    &look(self.field_text("file_path")),
                )
            }
            tool => {
                let label = tools::label(tool, &self.request.input, session);
                let mut lines = vec![StyledLine::plain(text::clean(&text::reveal(&label.argument)))];
                if let Some(description) = &self.request.description {
                    lines.extend(text::clean(description).split('\n').map(StyledLine::plain));
                }
                lines.dedup_by_key(|line| line.text());
                // The question names the file already.
                let path = self.field_text("file_path");
                let named = [path, session.short_path(path)].map(|path| text::clean(&text::reveal(path)));
                lines.retain(|line| !(line.is_empty() || tool == "Read" && named.contains(&line.text())));
                lines
            }
        }
    }

    /// The change with the surrounding lines of the file, when the file is known and contains the old text.
    fn edit_hunks(&self) -> Vec<diff::DiffRowHunk> {
        let (old, new) = (self.field_text("old_string"), self.field_text("new_string"));
        match self.original.as_deref().filter(|before| !old.is_empty() && before.contains(old)) {
            Some(before) if self.request.input.get("replace_all") == Some(&Value::Bool(true)) => {
                diff::diff_texts(before, &before.replace(old, new), 1)
            }
            Some(before) => diff::diff_texts(before, &before.replacen(old, new, 1), 1),
            None => diff::diff_texts(old, new, 1),
        }
    }

    /// The question in a few words: what is done with what. The end of a path says more than its beginning.
    fn short_title(&self, place: &DialogArea<'_>) -> String {
        let (verb, object) = match self.request.tool_name.as_str() {
            _ if self.is_plan() => ("Carry out this plan", String::new()),
            "Bash" => ("Run this", String::new()),
            "Write" if self.original.is_some() => ("Overwrite ", self.shown_path(place, "file_path")),
            "Write" => ("Create ", self.shown_path(place, "file_path")),
            "NotebookEdit" => ("Edit ", self.shown_path(place, "notebook_path")),
            "Edit" | "MultiEdit" => ("Edit ", self.shown_path(place, "file_path")),
            "Read" => ("Read ", self.shown_path(place, "file_path")),
            tool => ("Use ", text::clean(&tools::label(tool, &self.request.input, place.session).name)),
        };
        let room = place.columns.saturating_sub(text::width(verb) + 1);
        format!("{verb}{}?", text::truncate_start(&object, room))
    }

    /// The rows of the question, and the short one.
    fn short_head(&self, place: &DialogArea<'_>) -> (usize, StyledLine) {
        let style = place.theme.fg(ThemeToken::Permission).bold();
        let rows = StyledLine::styled(self.title(place), style).wrapped(place.columns, 2).len();
        (rows, StyledLine::styled(self.short_title(place), style))
    }

    fn shown_path(&self, place: &DialogArea<'_>, name: &str) -> String {
        text::clean(&text::reveal(place.session.short_path(self.field_text(name))))
    }

    fn title(&self, place: &DialogArea<'_>) -> String {
        let path = |name: &str| self.shown_path(place, name);
        match self.request.tool_name.as_str() {
            _ if self.is_plan() => "The plan is ready. Do you want to carry it out?".to_owned(),
            _ if self.is_summary() => "The conversation is summarised. Do you want to continue from this?".to_owned(),
            "Bash" => "Do you want to run this command?".to_owned(),
            "Edit" | "MultiEdit" => format!("Do you want to edit {}?", path("file_path")),
            "Write" if self.original.is_some() => format!("Do you want to overwrite {}?", path("file_path")),
            "Write" => format!("Do you want to create {}?", path("file_path")),
            "NotebookEdit" => format!("Do you want to edit {}?", path("notebook_path")),
            "Read" => format!("Do you want to read {}?", path("file_path")),
            tool => {
                let name = tools::label(tool, &self.request.input, place.session).name;
                format!("Do you want to use {}?", text::clean(&name))
            }
        }
    }

    /// The question in bold; below it what the model says about the call, and what else there is to know about it.
    fn head(&self, place: &DialogArea<'_>) -> Vec<StyledLine> {
        let (accent, faint) = (place.theme.fg(ThemeToken::Permission), place.theme.fg(ThemeToken::Inactive));
        let mut head = StyledLine::styled(self.title(place), accent.bold()).wrapped(place.columns, 2);
        let mut facts = Vec::new();
        if self.is_edited {
            facts.push("changed by you".to_owned());
        }
        if let Some(agent) = &self.request.agent_id {
            facts.push(format!("asked by agent {}", text::clean(place.session.agent_name(agent))));
        }
        let purpose = self.request.input.get("description").and_then(Value::as_str).map(text::clean);
        facts.extend(purpose.map(|purpose| purpose.trim().replace('\n', " ")).filter(|purpose| !purpose.is_empty()));
        if !facts.is_empty() {
            head.extend(StyledLine::styled(facts.join(" · "), faint).wrapped(place.columns, 2));
        }
        head
    }

    /// The dialog in at most `place.rows` rows, and the caret while a text is typed.
    pub fn rows_in(&self, place: &DialogArea<'_>) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        if let Some(questions) = &self.questions {
            return questions.rows(place);
        }
        if let Some(form) = &self.form {
            return form.rows(place);
        }
        let inner = &place.inner();
        let mut choices = Vec::new();
        let mut chosen = 0;
        for (index, choice) in self.choices.iter().enumerate() {
            let here = index == self.chosen;
            chosen = if here { choices.len() } else { chosen };
            choices.extend(inner.option(index, &self.label(*choice), here));
        }
        let mut caret = None;
        if let Some(field) = &self.field {
            let (lead, editor) = match field {
                DialogField::Comment(editor) => (self.comment_lead(), editor),
                DialogField::Rule(_, editor) => ("     rule: ", editor),
            };
            let column = text::width(lead) + text::width(&editor.text()[..editor.cursor()]);
            chosen = choices.len();
            caret = Some((chosen, column.min(inner.columns.saturating_sub(1))));
            let faint = place.theme.fg(ThemeToken::Inactive);
            choices.push(StyledLine::styled(lead, faint).and(editor.text(), TextStyle::PLAIN));
        }
        let sheet = DialogLayout {
            head: self.head(inner),
            short_head: Some(self.short_head(inner)),
            middle: self.middle(inner),
            anchor: self.anchor(inner),
            info: self.info(inner),
            choices,
            chosen,
            hint: self.hint(),
        };
        sheet.rows(place, self.top, caret)
    }

    /// What is typed below the answers.
    fn comment_lead(&self) -> &'static str {
        match self.choice() {
            DialogChoice::No if self.is_plan() => "     what to change: ",
            DialogChoice::No => "     what to do instead: ",
            _ => "     note: ",
        }
    }

    /// The preview, indented and wrapped.
    pub(in crate::app) fn middle(&self, place: &DialogArea<'_>) -> Vec<StyledLine> {
        let columns = place.columns.saturating_sub(2).max(1);
        let preview = self.preview(place.session, place.theme, columns);
        let wrapped = preview.iter().flat_map(|line| line.wrapped(columns, 0));
        wrapped.map(|line| indent(line, 2)).collect()
    }

    /// The row of the preview at which a change begins: the lines before it are context.
    pub(in crate::app) fn anchor(&self, place: &DialogArea<'_>) -> usize {
        if self.request.tool_name != "Edit" {
            return 0;
        }
        let columns = place.columns.saturating_sub(2).max(1);
        let options = diff::DiffOptions { theme: place.theme, columns, path: "", limit: usize::MAX };
        diff::context_rows(&self.edit_hunks(), &options)
    }

    /// The parts of the command, reasons and places that the user needs to decide.
    fn info(&self, place: &DialogArea<'_>) -> Vec<StyledLine> {
        let (theme, columns) = (place.theme, place.columns);
        let faint = theme.fg(ThemeToken::Inactive);
        let mut rows = Vec::new();
        let parts = &self.request.command_parts;
        for part in parts.iter().filter(|_| parts.len() > 1) {
            let (sign, token) = match &*part.decision {
                "allow" => ("✔", ThemeToken::Success),
                "deny" => ("✘", ThemeToken::Error),
                _ => ("?", ThemeToken::Warning),
            };
            let command =
                text::truncate(&text::clean(&part.command).replace('\n', " "), columns.saturating_sub(8).max(8));
            let mut line = StyledLine::styled(format!("  {sign} "), theme.fg(token)).and(command, TextStyle::PLAIN);
            if self.explains && !part.reason.is_empty() {
                line.push(format!("  {}", text::clean(&part.reason)), faint);
            }
            rows.extend(line.wrapped(columns, 4));
        }
        if let Some(reason) = self.reason() {
            let style = theme.fg(ThemeToken::Warning);
            rows.extend(StyledLine::styled(sentence(&reason), style).wrapped(columns, 0));
        }
        let reason = self.request.decision_reason.as_deref().unwrap_or_default();
        if let Some(path) = self.request.blocked_path.as_deref().filter(|path| !reason.contains(path)) {
            let text = format!("Path: {}", text::clean(path));
            rows.extend(StyledLine::styled(text, faint).wrapped(columns, 0));
        }
        if let Some(path) = self.request.input.get("planFilePath").and_then(Value::as_str) {
            rows.extend(
                StyledLine::styled(format!("Plan file: {}", text::clean(&place.session.shown_path(path))), faint)
                    .wrapped(columns, 0),
            );
        }
        for wish in self.requested_commands() {
            let text = format!("Allowed with the plan, for this session: {}", text::clean(&wish));
            rows.extend(StyledLine::styled(text, faint).wrapped(columns, 2));
        }
        if self.explains {
            rows.extend(
                self.explanation(place)
                    .iter()
                    .flat_map(|text| StyledLine::styled(text.clone(), faint).wrapped(columns, 2)),
            );
        }
        rows
    }

    /// Commands that an approved plan may run without further questions.
    fn requested_commands(&self) -> Vec<String> {
        if !self.is_plan() {
            return Vec::new();
        }
        let requested = wire::control::allowed_prompts(self.request.input.get("allowedPrompts"));
        requested.iter().map(wire::control::UpdatedRule::text).collect()
    }

    /// Why the engine asks. A plan always needs an answer, so it gives no reason.
    fn reason(&self) -> Option<String> {
        match self.request.requires_user_interaction {
            true if self.is_plan() || self.is_summary() => None,
            true => Some("This tool asks every time.".into()),
            false => self.request.decision_reason.as_deref().filter(|reason| !reason.is_empty()).map(text::clean),
        }
    }

    /// What Ctrl+E adds: only what the request contains; no model is asked.
    fn explanation(&self, place: &DialogArea<'_>) -> Vec<String> {
        let mut lines = vec![format!("Works in {}", text::clean(&place.session.cwd))];
        if let Some(rule) = &self.request.matched_ask_rule {
            let content = rule.rule_content.as_ref().map(|content| format!("({content})")).unwrap_or_default();
            let from = rules::place_name(&rule.source);
            lines.push(format!("The rule {}{content} of {from} asks for it", text::clean(&rule.tool_name)));
        }
        let needs = self.request.command_parts.iter().filter(|part| part.decision != "allow").count();
        lines.push(match (self.class(), self.request.command_parts.len()) {
            (ToolClass::Shell, 0) => "No rule allows this command, and it is not known to be harmless".into(),
            (ToolClass::Shell, all) => format!("{needs} of {all} parts need your permission"),
            (ToolClass::Edit, _) => "The file is saved before it changes: `gimlet undo` brings it back".into(),
            _ => "No rule allows it".into(),
        });
        lines
    }

    /// Programs that watch the screen look for "esc to cancel", so it comes first and is not cut off.
    fn hint(&self) -> String {
        match &self.field {
            Some(DialogField::Comment(_)) if self.choice() == DialogChoice::No => {
                return "enter to send · esc to cancel what you type".into();
            }
            Some(DialogField::Comment(_)) => return "enter to answer · esc to cancel the note".into(),
            Some(DialogField::Rule(..)) => return "enter to take this rule · esc to cancel the change".into(),
            None => {}
        }
        let mut keys = vec!["esc to cancel", "tab adds a note"];
        if self.editable().is_some() {
            keys.push("ctrl+g edits");
        }
        if self.choice() == DialogChoice::YesAlways && rule_suggestions::count(&self.request.permission_suggestions) > 0
        {
            keys.push("e edits the rule");
            keys.push("←→ where");
        }
        if !self.is_plan() && !self.is_summary() {
            keys.push("ctrl+e why it asks");
        }
        keys.join(" · ")
    }

    fn label(&self, choice: DialogChoice) -> String {
        match choice {
            DialogChoice::Yes => "Yes".into(),
            DialogChoice::YesAlways => {
                let scope = rule_suggestions::describe_scope(&self.request.permission_suggestions).unwrap_or_default();
                format!("Yes, and {scope}")
            }
            DialogChoice::PlanClearing => "Yes, clear the conversation and accept edits".into(),
            DialogChoice::PlanAccepting => "Yes, and accept edits from now on".into(),
            DialogChoice::PlanBypassing => "Yes, and bypass all permissions".into(),
            DialogChoice::PlanAsking => "Yes, and ask for each edit".into(),
            DialogChoice::No if self.is_plan() => "No, keep planning".into(),
            DialogChoice::No if self.is_summary() => "No, keep the conversation as it is".into(),
            DialogChoice::No => "No, and say what to do instead".into(),
        }
    }
}

/// The text with a capital letter in front.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
