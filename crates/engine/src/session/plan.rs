//! Reminds the model of plan mode and of the plan.

use crate::session::{LiveSession, SessionIo};
use serde_json::json;
use session_parts::messages::Attachment;
use session_parts::plan::texts;
use session_parts::prompts;
use store::StoreError;
use tools::ToolClass;
use wire::mode::PermissionMode;

impl LiveSession {
    /// Before a request: tells the model that plan mode is on, still on, or over.
    pub(crate) fn send_plan_mode(&mut self) -> Result<(), StoreError> {
        let planning = self.io.rules.mode() == PermissionMode::Plan;
        let plan = &mut self.io.knowledge.plan;
        let prompted = std::mem::take(&mut plan.has_new_prompt);
        let due = match (planning, plan.is_announced) {
            (true, false) => Some(PlanReminder::Full),
            (true, true) => prompted.then_some(PlanReminder::Brief),
            (false, true) => Some(PlanReminder::Over),
            (false, false) => None,
        };
        plan.is_announced = planning;
        let Some(due) = due else { return Ok(()) };
        if planning {
            self.io.output.transcript.set_slug(&self.io.knowledge.plan.slug);
        }
        match attachment(due, &self.io) {
            Some(attachment) => self.attach(attachment),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanReminder {
    Full,
    Brief,
    Over,
}

fn attachment(due: PlanReminder, io: &SessionIo) -> Option<Attachment> {
    let file = io.knowledge.plan.file.display().to_string();
    let exists = io.knowledge.plan.file.is_file();
    let is_agent = io.output.host.agent_id().is_some();
    let may_exit = io.tooling.registry.specs().any(|spec| spec.facts.class == ToolClass::PlanExit);
    let method = io.knowledge.plan.method.as_deref();
    let facts = texts::PlanModeFacts { file: &file, exists, is_agent, may_exit, method };
    let (text, line) = match due {
        PlanReminder::Full => (texts::full(&facts), json!({"type": "plan_mode", "reminderType": "full"})),
        PlanReminder::Brief => (texts::brief(&facts), json!({"type": "plan_mode", "reminderType": "sparse"})),
        PlanReminder::Over => (texts::over(&facts), json!({"type": "plan_mode_exit"})),
    };
    let text = prompts::reminder(&text);
    let mut line = line;
    if due != PlanReminder::Over {
        line["isSubAgent"] = is_agent.into();
    }
    line["planFilePath"] = file.into();
    line["planExists"] = exists.into();
    line["content"] = text.clone().into();
    Some(Attachment { line: wire::raw::to_raw(&line).ok()?, text })
}

/// After a compaction: attaches the current plan.
pub(crate) fn plan_attachment(io: &mut SessionIo) -> Option<Attachment> {
    io.knowledge.plan.reset_announced();
    let plan = io.knowledge.plan.text()?;
    let file = io.knowledge.plan.file.display().to_string();
    let text = prompts::reminder(&texts::existing_plan(&file, &plan));
    let line = json!({"type": "plan_file_reference", "planFilePath": file, "planContent": plan, "content": text});
    Some(Attachment { line: wire::raw::to_raw(&line).ok()?, text })
}
