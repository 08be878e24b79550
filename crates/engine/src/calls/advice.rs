//! What the model is told to do about a call that was refused, beyond what the refusal itself says.

use crate::session::SessionIo;
use permission::{DecisionReason, PermissionRefusal};
use session_parts::tool_use::ToolUse;
use tools::ToolClass;
use wire::mode::PermissionMode;

/// What to do about a call that nobody can allow or answer.
pub(super) fn nobody_advice(class: ToolClass, io: &SessionIo) -> String {
    match class {
        ToolClass::Question => "Nobody can answer: choose, say which and why.".to_owned(),
        ToolClass::PlanExit => {
            let file = io.knowledge.plan.file.display();
            format!("Nobody can approve a plan in this run. It is kept in {file}: end with the plan as your answer.")
        }
        _ => "Nobody can grant this in this run. Do what is possible without it and say what is missing.".to_owned(),
    }
}

/// What to do about a call that was refused, beyond what the refusal says.
pub(super) fn refusal_advice(used: &ToolUse, refusal: &PermissionRefusal, io: &SessionIo) -> Option<String> {
    match refusal.reason {
        DecisionReason::Mode(PermissionMode::Plan) => {
            Some(format!("The only file that may be written now is the plan, {}.", io.knowledge.plan.file.display()))
        }
        DecisionReason::Rule { .. } | DecisionReason::Hook(_) => None,
        _ if io.rules.mode() == PermissionMode::DontAsk => Some(nobody_advice(io.tooling.facts(&used.name).class, io)),
        _ => None,
    }
}
