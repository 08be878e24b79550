//! TaskOutput: the status of a background task and the end of its output. A slow task is no error: the result then
//! says that the task still runs.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, CallBounds, OutputBound, TimeBound, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::shell::capture::read_end;
use crate::tasks::{SessionTasks, TaskRecord, TaskStatus};
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

pub struct TaskOutputTool;

/// How long a call waits for the end of a task unless it says otherwise, and at most.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
const MAX_WAIT: Duration = Duration::from_mins(10);

const FACTS: ToolFacts = ToolFacts {
    bounds: CallBounds {
        time: TimeBound::Requested { default: DEFAULT_WAIT, max: MAX_WAIT },
        output: OutputBound::Spilled,
    },
    agents: AgentUse::Never,
    ..ToolFacts::of(ToolClass::Background)
};

static SPEC: ToolSpec =
    ToolSpec::of("TaskOutput", include_str!("task_output.md"), include_str!("task_output.schema.json"), FACTS);

impl Tool for TaskOutputTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("TaskOutput", input)?;
        // Older versions of the tool called it `bash_id`.
        let id = match input.opt_string("bash_id")? {
            Some(id) if input.raw("task_id").is_none() => id,
            _ => input.string("task_id")?,
        };
        let timeout = input.opt_number("timeout")?.map_or(DEFAULT_WAIT, Duration::from_millis).min(MAX_WAIT);
        let block = input.opt_bool("block")?.unwrap_or(true);
        Ok(Box::new(TaskOutputCall { id, timeout: block.then_some(timeout) }))
    }
}

struct TaskOutputCall {
    id: String,
    /// How long to wait for the end of the task; `None` means not at all.
    timeout: Option<Duration>,
}

impl ToolCall for TaskOutputCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let tasks = &cx.state.tasks;
            let task = match self.timeout {
                None => tasks.get(&self.id),
                Some(timeout) => tokio::select! {
                    task = tasks.wait(&self.id, timeout) => task,
                    () = cx.cancel.cancelled() => tasks.get(&self.id),
                },
            };
            match task {
                Some(task) => self.report(&cx, task).await,
                None => ToolOutcome::failed(unknown_task_message(&self.id, tasks)),
            }
        })
    }
}

#[derive(Serialize)]
struct TaskOutputResult<'a> {
    retrieval_status: &'static str,
    task: TaskReport<'a>,
}

#[derive(Serialize)]
struct TaskReport<'a> {
    task_id: &'a str,
    task_type: &'a str,
    status: &'a str,
    description: &'a str,
    output: &'a str,
    #[serde(rename = "exitCode", skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

impl TaskOutputCall {
    async fn report(&self, cx: &CallContext, task: TaskRecord) -> ToolOutcome {
        let retrieval = match (task.status, self.timeout) {
            (TaskStatus::Running, Some(_)) => "timeout",
            (TaskStatus::Running, None) => "not_ready",
            (TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Killed, _) => "success",
        };
        let limit = cx.state.facts.env.number("TASK_MAX_OUTPUT_LENGTH").unwrap_or(32_000).min(160_000);
        let output = end_of_output(&task, limit).await;
        let exit_code = task.exit_code.map_or_else(String::new, |code| format!("<exit_code>{code}</exit_code>\n\n"));
        let note = task.note.as_ref().map_or_else(String::new, |note| format!("<note>{note}</note>\n\n"));
        let text = format!(
            "<retrieval_status>{retrieval}</retrieval_status>\n\n<task_id>{}</task_id>\n\n<task_type>{}</task_type>\n\n\
             <status>{}</status>\n\n{exit_code}{note}<output>\n{output}\n</output>",
            task.id,
            task.kind,
            task.status.as_str(),
        );
        let shown = TaskReport {
            task_id: &task.id,
            task_type: task.kind,
            status: task.status.as_str(),
            description: &task.description,
            output: &output,
            exit_code: task.exit_code,
        };
        ToolOutcome::text(text, wire::raw::to_raw(&TaskOutputResult { retrieval_status: retrieval, task: shown }).ok())
    }
}

async fn end_of_output(task: &TaskRecord, limit: usize) -> String {
    let path = task.output.clone();
    let read = tokio::task::spawn_blocking(move || read_end(&path, limit as u64 * 4)).await;
    let (bytes, len) = match read {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return format!("[{}: {error}]", task.output.display()),
        Err(error) => return format!("[{error}]"),
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(limit.saturating_sub(1)).map_or(0, |(at, _)| at);
    if start == 0 && bytes.len() as u64 == len {
        return text.to_owned();
    }
    format!("[Truncated. Full output: {}]\n\n{}", task.output.display(), &text[start..])
}

/// The message for an unknown id; lists the running tasks.
pub(crate) fn unknown_task_message(id: &str, tasks: &SessionTasks) -> String {
    let running = tasks.running();
    if running.is_empty() {
        return format!("There is no background task with the id {id}, and none is running.");
    }
    let list: Vec<String> = running.iter().map(|task| format!("- {}: {}", task.id, task.description)).collect();
    format!("There is no background task with the id {id}. Running now:\n{}", list.join("\n"))
}
