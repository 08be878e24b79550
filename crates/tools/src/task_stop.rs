//! TaskStop: ends a background task and everything it started.

use crate::contract::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};
use crate::input::Input;
use crate::task_output::unknown;
use crate::tasks::TaskStatus;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;

pub struct TaskStop;

static SPEC: Spec = Spec::of("TaskStop", include_str!("task_stop.md"), include_str!("task_stop.schema.json"));

impl Tool for TaskStop {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("TaskStop", input)?;
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
struct Structured<'a> {
    message: &'a str,
    task_id: &'a str,
    task_type: &'a str,
    command: &'a str,
}

impl Call for TaskStopCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let tasks = &cx.state.tasks;
            let Some(before) = tasks.get(&self.id) else { return Outcome::failed(unknown(&self.id, tasks)) };
            if before.status != TaskStatus::Running {
                return Outcome::failed(format!("Task {} is not running: it is {}.", self.id, before.status.as_str()));
            }
            let Some(task) = tasks.stop(&self.id).await else { return Outcome::failed(unknown(&self.id, tasks)) };
            let message = match task.status {
                TaskStatus::Running => format!("Task {} was told to end but still runs: {}", task.id, task.command),
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Killed => {
                    format!("Stopped task {}: {}", task.id, task.command)
                }
            };
            let structured =
                Structured { message: &message, task_id: &task.id, task_type: task.kind, command: &task.command };
            let structured = wire::raw::to_raw(&structured).ok();
            Outcome::text(message, structured)
        })
    }
}
