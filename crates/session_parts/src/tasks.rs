//! Reports background tasks: messages for the host, one notification for the model. Agents send their own messages to
//! the host; here only the model is informed of their end.

use crate::host::HostSender;
use crate::prompts::{TaskNotice, task_notice};
use std::time::Duration;
use tools::tasks::{SessionTasks, TaskRecord, TaskStatus};
use wire::sdk::{BackgroundTask, SystemBody, TaskNotification, TaskStarted};

/// How long shell commands may go on after the last result of a run.
pub const SHELL_GRACE: Duration = Duration::from_secs(5);

/// The notification for the model about a task that ended.
pub struct TaskEndNotice {
    pub text: String,
    /// Starts a turn. The end of a task that a person stopped waits for the next turn.
    pub wakes: bool,
}

/// Sends the list of running background tasks, which replaces the previous one.
pub async fn send_running(host: &HostSender, tasks: &SessionTasks) {
    let row = |task: TaskRecord| BackgroundTask {
        task_id: task.id,
        task_type: task.kind,
        description: task.description,
        subagent_type: task.agent.map(|agent| agent.agent_type),
        parent_task_id: task.owner,
    };
    let tasks = tasks.running().into_iter().map(row).collect();
    host.system(SystemBody::BackgroundTasksChanged { tasks }).await;
}

/// The line that tells a person why a run does not end.
pub fn waiting_message(running: &[TaskRecord], ceiling: Option<Duration>) -> String {
    let named: Vec<String> = running.iter().map(|task| format!("\"{}\" ({})", task.description, task.id)).collect();
    let limit = ceiling.map_or_else(String::new, |ceiling| format!(", at most {}", span(ceiling)));
    format!("Waiting for work in the background{limit}: {}. Ctrl+C ends it.", named.join(", "))
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{} s", time.as_secs_f64().ceil()),
        seconds => format!("{} min", seconds / 60),
    }
}

pub fn started(task: &TaskRecord) -> SystemBody {
    SystemBody::TaskStarted(Box::new(TaskStarted {
        task_id: task.id.clone(),
        run_id: None,
        tool_use_id: Some(task.tool_use_id.clone()),
        description: task.description.clone(),
        subagent_type: None,
        is_backgrounded: true,
        spawn_depth: None,
        parent_task_id: task.owner.clone(),
        task_type: task.kind,
        prompt: None,
    }))
}

/// The status of an ended task in the protocol.
pub fn protocol_status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Running | TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Killed => "stopped",
    }
}

pub fn agent_summary(description: &str, status: TaskStatus) -> String {
    let ending = match status {
        TaskStatus::Running | TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Killed => "was stopped",
    };
    format!("Agent \"{description}\" {ending}")
}

pub fn notification(task: &TaskRecord) -> SystemBody {
    SystemBody::TaskNotification(Box::new(TaskNotification {
        task_id: task.id.clone(),
        run_id: None,
        tool_use_id: Some(task.tool_use_id.clone()),
        status: protocol_status(task.status),
        output_file: task.output.display().to_string(),
        summary: summary(task),
        usage: None,
    }))
}

fn summary(task: &TaskRecord) -> String {
    if task.is_agent() {
        return agent_summary(&task.description, task.status);
    }
    let name = &task.description;
    if task.kind == "mcp_task" {
        let ending = match task.status {
            TaskStatus::Running | TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Killed => "was stopped",
        };
        return format!("MCP call \"{name}\" {ending}");
    }
    let ending = match (task.status, task.exit_code, &task.note) {
        (TaskStatus::Killed, _, Some(note)) => format!("was stopped ({note})"),
        (TaskStatus::Killed, _, None) => "was stopped".into(),
        (_, Some(0), _) => "completed (exit code 0)".into(),
        (_, Some(code), _) => format!("failed (exit code {code})"),
        (_, None, _) => task.status.as_str().into(),
    };
    let aside = match (task.status, &task.note) {
        (TaskStatus::Running | TaskStatus::Killed, _) | (_, None) => String::new(),
        (TaskStatus::Completed | TaskStatus::Failed, Some(note)) => format!("; {note}"),
    };
    format!("Background command \"{name}\" {ending}{aside}")
}

pub fn notice(task: &TaskRecord) -> String {
    let agent = task.agent.as_deref();
    let transcript = agent.map(|agent| agent.transcript.display().to_string());
    task_notice(&TaskNotice {
        task_id: &task.id,
        tool_use_id: &task.tool_use_id,
        output_file: &task.output.display().to_string(),
        status: task.status.as_str(),
        summary: &summary(task),
        result: agent.and_then(|agent| agent.report.as_deref().or(task.note.as_deref())),
        usage: agent.map(|agent| agent.usage),
        transcript: transcript.as_deref(),
    })
}
