//! TaskStop: ends a background task and everything it started.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::task_output::unknown_task_message;
use crate::tasks::TaskStatus;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;

pub struct TaskStopTool;

const FACTS: ToolFacts = ToolFacts { changes: true, agents: AgentUse::Always, ..ToolFacts::of(ToolClass::Background) };

static SPEC: ToolSpec =
    ToolSpec::of("TaskStop", include_str!("task_stop.md"), include_str!("task_stop.schema.json"), FACTS);

impl Tool for TaskStopTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("TaskStop", input)?;
        let id = match input.opt_string("task_id")? {
            Some(id) => id,
            None => input.opt_string("shell_id")?.ok_or_else(|| input.missing("task_id"))?,
        };
        Ok(Box::new(TaskStopCall { id }))
    }
}

struct TaskStopCall {
    id: String,
}

#[derive(Serialize)]
struct TaskStopOutput<'a> {
    message: &'a str,
    task_id: &'a str,
    task_type: &'a str,
    command: &'a str,
}

impl ToolCall for TaskStopCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let tasks = &cx.state.tasks;
            let Some(before) = tasks.get(&self.id) else {
                return ToolOutcome::failed(unknown_task_message(&self.id, tasks));
            };
            if before.status != TaskStatus::Running {
                return ToolOutcome::failed(format!(
                    "Task {} is not running: it is {}.",
                    self.id,
                    before.status.as_str()
                ));
            }
            let Some(task) = tasks.stop(&self.id).await else {
                return ToolOutcome::failed(unknown_task_message(&self.id, tasks));
            };
            let message = match task.status {
                TaskStatus::Running => format!("Task {} was told to end but still runs: {}", task.id, task.command),
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Killed => {
                    format!("Stopped task {}: {}", task.id, task.command)
                }
            };
            let structured =
                TaskStopOutput { message: &message, task_id: &task.id, task_type: task.kind, command: &task.command };
            let structured = wire::raw::to_raw(&structured).ok();
            ToolOutcome::text(message, structured)
        })
    }
}
