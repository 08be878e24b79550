//! The calls that involve the person: AskUserQuestion, EnterPlanMode and ExitPlanMode. Completes their input with
//! fields that only the program or the person may set, and switches the mode when such a call is admitted. The model
//! cannot answer its own questions.

use crate::session::SessionIo;
use crate::tool_facts::tool_facts;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use session_parts::permission_prompt::PermissionChannel;
use session_parts::tool_use::ToolUse;
use tools::ask_user_question::ANSWER_FIELDS;
use tools::{ToolClass, ToolOutcome};
use wire::control::PermissionUpdate;
use wire::mode::PermissionMode;

/// Who wrote an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputAuthor {
    Model,
    /// A hook or the host, on behalf of the person.
    Person,
}

/// The input as hooks, host and tool receive it; `None` when it is unchanged.
pub(super) fn complete_input(
    name: &str,
    input: &RawValue,
    author: InputAuthor,
    io: &SessionIo,
) -> Option<Box<RawValue>> {
    let class = io.tooling.facts(name).class;
    if class != ToolClass::PlanExit && (class != ToolClass::Question || author == InputAuthor::Person) {
        return None;
    }
    let mut fields: Map<String, Value> = serde_json::from_str(input.get()).ok()?;
    if class == ToolClass::Question {
        let before = fields.len();
        fields.retain(|field, _| !ANSWER_FIELDS.contains(&field.as_str()));
        return (fields.len() < before).then(|| wire::raw::to_raw(&fields).ok()).flatten();
    }
    let has_plan = fields.get("plan").and_then(Value::as_str).is_some_and(|plan| !plan.trim().is_empty());
    // The plan file is the plan, unless the person sent a changed text.
    if !(has_plan && author == InputAuthor::Person)
        && let Some(plan) = io.knowledge.plan.text()
    {
        fields.insert("plan".into(), plan.into());
    }
    fields.insert("planFilePath".into(), io.knowledge.plan.file.display().to_string().into());
    wire::raw::to_raw(&fields).ok()
}

/// The refusal of a call that is not possible in the current mode; `None` when it is possible.
pub(super) fn refuse_in_mode(used: &ToolUse, io: &SessionIo) -> Option<ToolOutcome> {
    let planning = io.rules.mode() == PermissionMode::Plan;
    let refusal = match io.tooling.facts(&used.name).class {
        ToolClass::PlanEntry if planning => "Plan mode is already on.".into(),
        ToolClass::PlanEntry
            if matches!(io.rules.permission_channel, PermissionChannel::Nobody | PermissionChannel::Tool(_)) =>
        {
            "Plan mode cannot be entered here: nobody could approve the plan. Go on without it.".into()
        }
        ToolClass::PlanExit if !planning => {
            "ExitPlanMode is for plan mode, which is not on. If your plan was approved before, carry it out.".into()
        }
        ToolClass::PlanExit if !has_plan(&used.input) => {
            format!(
                "There is no plan yet. Write it to {} first, then call ExitPlanMode.",
                io.knowledge.plan.file.display()
            )
        }
        _ => return None,
    };
    Some(ToolOutcome::invalid(refusal))
}

fn has_plan(input: &RawValue) -> bool {
    field(input, "plan").is_some_and(|plan| matches!(plan, Value::String(text) if !text.trim().is_empty()))
}

fn field(input: &RawValue, name: &str) -> Option<Value> {
    let mut fields: Map<String, Value> = serde_json::from_str(input.get()).ok()?;
    fields.remove(name)
}

/// Whether a hook that allows the call with this input has answered on behalf of the person.
pub(super) fn answers_for_person(used: &ToolUse, input: &RawValue) -> bool {
    match tool_facts(&used.name).class {
        ToolClass::Question => {
            field(input, "answers").is_some_and(|answers| answers.is_object()) || field(input, "response").is_some()
        }
        ToolClass::PlanExit => true,
        _ => false,
    }
}

/// Switches the mode for an admitted EnterPlanMode or ExitPlanMode call.
pub(super) async fn apply_mode(used: &ToolUse, input: &RawValue, io: &mut SessionIo) {
    match io.tooling.facts(&used.name).class {
        ToolClass::PlanEntry => io.set_mode(PermissionMode::Plan).await,
        ToolClass::PlanExit => {
            // The result of the call tells the model that plan mode has ended.
            io.knowledge.plan.reset_announced();
            if io.rules.mode() == PermissionMode::Plan {
                io.set_mode(io.knowledge.plan.previous_mode()).await;
            }
            grant_allowed_prompts(input, io).await;
        }
        _ => {}
    }
}

/// Allows for the session the commands that were shown together with the plan.
async fn grant_allowed_prompts(input: &RawValue, io: &mut SessionIo) {
    let rules = wire::control::allowed_prompts(field(input, "allowedPrompts").as_ref());
    if !rules.is_empty() && !io.rules.watch.loaded.managed_rules_only {
        io.grant(vec![PermissionUpdate::allow_for_session(rules)]).await;
    }
}
