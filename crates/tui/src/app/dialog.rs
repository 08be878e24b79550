//! Permission questions of the engine: may this call run? A dialog shows exactly what would run, part by part, why the
//! engine asks, and what an answer would save. The user can edit the rule before it is saved, and a proposed change
//! before it is accepted. Keys typed before the dialog could be read never answer it.

mod layout;
mod view;

use super::form::ElicitationForm;
use super::question::{QuestionProgress, QuestionTabs};
use super::rule_suggestions;
use super::session::SessionDisplay;
use engine::{ToolClass, tool_facts};
use serde_json::{Value, json};
use std::time::Duration;
use terminal::editor::Editor;
use terminal::keys::KeyPress;
use terminal::text;
use terminal::theme::Theme;
use wire::control::{CanUseTool, CommandPart, HostReply, MatchedRule, PermissionVerdict, SUMMARY_REVIEW};

#[cfg(test)]
pub(in crate::app) use layout::inside_margin;
pub use layout::{DialogLayout, PREVIEW_ROWS};

/// Keys within this time after the dialog appeared, or after the last typed key, go to the prompt.
pub const KEY_GUARD_TIME: Duration = Duration::from_millis(250);

/// What a dialog shows and changes of `can_use_tool`.
#[derive(Clone, Debug, Default)]
pub struct ToolPermissionRequest {
    pub tool_name: String,
    pub input: Value,
    pub description: Option<String>,
    pub permission_suggestions: Vec<Value>,
    pub blocked_path: Option<String>,
    pub decision_reason: Option<String>,
    /// No rule can answer this one.
    pub requires_user_interaction: bool,
    pub matched_ask_rule: Option<MatchedRule>,
    pub command_parts: Vec<CommandPart>,
    pub tool_use_id: String,
    pub agent_id: Option<String>,
}

impl From<CanUseTool> for ToolPermissionRequest {
    fn from(asked: CanUseTool) -> Self {
        Self {
            tool_name: asked.tool_name,
            input: serde_json::from_str(asked.input.get()).unwrap_or_default(),
            description: asked.description,
            permission_suggestions: asked.permission_suggestions,
            blocked_path: asked.blocked_path,
            decision_reason: asked.decision_reason,
            requires_user_interaction: asked.requires_user_interaction,
            matched_ask_rule: asked.matched_ask_rule,
            command_parts: asked.command_parts,
            tool_use_id: asked.tool_use_id,
            agent_id: asked.agent_id,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogChoice {
    Yes,
    YesAlways,
    /// Approves a plan and carries it out in a new conversation.
    PlanClearing,
    /// Approves a plan: with edits accepted, with permissions bypassed, or with every edit asked about.
    PlanAccepting,
    PlanBypassing,
    PlanAsking,
    No,
}

pub use wire::control::{KEEP_PLANNING_MESSAGE, PLAN_MOVED_MESSAGE, REFUSED_MESSAGE};
/// What the line of a call says in these cases, live and when a conversation is resumed.
pub const DENIED: &str = "denied";
pub const STILL_PLANNING: &str = "still planning";
pub const NOT_ANSWERED: &str = "not answered";

/// Optional ways to approve a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanOffers {
    pub clears: bool,
    pub bypasses: bool,
}

/// The field being typed in the dialog.
#[derive(Debug)]
pub enum DialogField {
    /// A comment sent with the answer.
    Comment(Editor),
    /// The rule with this index among those that would be saved.
    Rule(usize, Editor),
}

#[derive(Debug)]
pub struct Dialog {
    pub id: String,
    pub request: ToolPermissionRequest,
    pub shown_at: Duration,
    pub choices: Vec<DialogChoice>,
    pub chosen: usize,
    pub field: Option<DialogField>,
    /// Questions of the model, shown instead of the choices.
    pub questions: Option<QuestionTabs>,
    /// A form of an MCP server, shown instead of the choices.
    pub form: Option<ElicitationForm>,
    /// The current content of the file that would change; `None` until it was read.
    pub original: Option<String>,
    /// The user edited the input.
    pub is_edited: bool,
    pub explains: bool,
    /// The first visible row of the preview, once it was scrolled.
    pub top: Option<usize>,
    /// Why the call will not run, as a short label.
    pub refusal_text: Option<String>,
}

/// Where and how large a dialog is drawn.
#[derive(Clone, Copy, Debug)]
pub struct DialogArea<'a> {
    pub session: &'a SessionDisplay,
    pub theme: &'a Theme,
    pub columns: usize,
    pub rows: usize,
    /// How many further questions are queued.
    pub waiting: usize,
}

impl Dialog {
    pub fn new(id: String, request: ToolPermissionRequest, now: Duration, plan: PlanOffers) -> Self {
        let mut choices = Vec::new();
        if tool_facts(&request.tool_name).class == ToolClass::PlanExit {
            choices.extend(plan.clears.then_some(DialogChoice::PlanClearing));
            choices.push(if plan.bypasses { DialogChoice::PlanBypassing } else { DialogChoice::PlanAccepting });
            choices.push(DialogChoice::PlanAsking);
        } else {
            choices.push(DialogChoice::Yes);
            choices.extend(
                rule_suggestions::describe_scope(&request.permission_suggestions).map(|_| DialogChoice::YesAlways),
            );
        }
        choices.push(DialogChoice::No);
        let questions = QuestionTabs::read(&request.tool_name, &request.input, now);
        Self {
            id,
            request,
            shown_at: now,
            choices,
            chosen: 0,
            field: None,
            questions,
            form: None,
            original: None,
            is_edited: false,
            explains: false,
            top: None,
            refusal_text: None,
        }
    }

    /// A dialog for the form of an MCP server.
    pub fn of_form(id: String, form: ElicitationForm, now: Duration) -> Self {
        let dialog = Self::new(id, ToolPermissionRequest::default(), now, PlanOffers::default());
        Self { form: Some(form), ..dialog }
    }

    /// Whether the call would change a file.
    pub fn is_file_change(&self) -> bool {
        self.class() == ToolClass::Edit
    }

    /// Whether the call presents a plan.
    pub fn is_plan(&self) -> bool {
        self.class() == ToolClass::PlanExit
    }

    /// Whether it is about the summary of a compaction.
    pub fn is_summary(&self) -> bool {
        self.request.tool_name == SUMMARY_REVIEW
    }

    fn class(&self) -> ToolClass {
        tool_facts(&self.request.tool_name).class
    }

    pub fn choice(&self) -> DialogChoice {
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
            Some(DialogField::Comment(comment)) => Some(comment.expanded()).filter(|text| !text.trim().is_empty()),
            Some(DialogField::Rule(..)) | None => None,
        }
    }

    /// The answer to the question for this choice.
    pub fn answer(&self, choice: DialogChoice) -> HostReply {
        let comment = self.comment();
        let verdict = match choice {
            DialogChoice::Yes => PermissionVerdict::allow(self.request.input.clone()),
            DialogChoice::YesAlways => PermissionVerdict::allow(self.request.input.clone())
                .with_updates(self.request.permission_suggestions.clone()),
            DialogChoice::PlanAccepting => self.plan_verdict("acceptEdits"),
            DialogChoice::PlanBypassing => self.plan_verdict("bypassPermissions"),
            DialogChoice::PlanAsking => self.plan_verdict("default"),
            DialogChoice::PlanClearing => PermissionVerdict::deny(PLAN_MOVED_MESSAGE).interrupting(true),
            // Without a word the model goes on planning.
            DialogChoice::No if comment.is_none() && self.is_plan() => PermissionVerdict::deny(KEEP_PLANNING_MESSAGE),
            DialogChoice::No => match comment {
                Some(comment) => PermissionVerdict::deny(comment),
                // Without a word the turn ends, so that it can be said what to do; an agent's own turn goes on.
                None => PermissionVerdict::deny(REFUSED_MESSAGE).interrupting(self.request.agent_id.is_none()),
            },
        };
        HostReply::success(self.id.clone(), &verdict)
    }

    /// The label of the call's row when this choice prevents the call; `None` when the call runs.
    pub fn refusal(&self, choice: DialogChoice) -> Option<String> {
        let label = match choice {
            DialogChoice::No if self.is_plan() => STILL_PLANNING,
            DialogChoice::No => DENIED,
            DialogChoice::PlanClearing => "approved for a new session",
            DialogChoice::Yes
            | DialogChoice::YesAlways
            | DialogChoice::PlanAccepting
            | DialogChoice::PlanBypassing
            | DialogChoice::PlanAsking => {
                return None;
            }
        };
        Some(match self.comment().filter(|_| choice == DialogChoice::No) {
            Some(comment) => format!("{DENIED}: {}", text::clean(&comment)),
            None => label.to_owned(),
        })
    }

    fn plan_verdict(&self, mode: &str) -> PermissionVerdict {
        let update = json!({"type": "setMode", "mode": mode, "destination": "session"});
        PermissionVerdict::allow(self.request.input.clone()).with_updates(vec![update])
    }

    /// A key for the questions; the whole answer once there is one, or a refusal.
    pub fn question_key(&mut self, key: KeyPress, now: Duration) -> Option<HostReply> {
        let progress = self.questions.as_mut()?.key(key, now);
        self.progress(progress)
    }

    /// What the questions came to.
    pub fn progress(&mut self, progress: QuestionProgress) -> Option<HostReply> {
        match progress {
            QuestionProgress::Goes => None,
            QuestionProgress::Refused => {
                self.refusal_text = Some(NOT_ANSWERED.into());
                Some(self.answer(DialogChoice::No))
            }
            QuestionProgress::Done(fields) => {
                let mut input = self.request.input.clone();
                if let Value::Object(input) = &mut input {
                    input.extend(fields);
                }
                Some(HostReply::success(self.id.clone(), &PermissionVerdict::allow(input)))
            }
        }
    }

    /// The field of the input that the user may edit before accepting, and its text.
    pub fn editable(&self) -> Option<(&'static str, &str)> {
        let name = match self.request.tool_name.as_str() {
            "Edit" => "new_string",
            "Write" => "content",
            _ if self.is_plan() => "plan",
            SUMMARY_REVIEW => "summary",
            _ => return None,
        };
        Some((name, self.field_text(name)))
    }

    /// Applies the text from the editor. A final line break is restored when the original had one.
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
}

#[cfg(test)]
#[path = "dialog_tests.rs"]
mod tests;
