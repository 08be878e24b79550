//! Background tasks as the session tells them: frames for the host, one notification for the model.

use crate::prompts::{TaskNotice, task_notice};
use crate::session::Io;
use std::time::Duration;
use tools::tasks::{Task, TaskEvent, TaskStatus};
use wire::sdk::{SystemBody, TaskNotification, TaskPatch, TaskStarted};

/// How long shells may go on after the last result of a run.
const GRACE: Duration = Duration::from_secs(5);

/// Tells the host what happened since the last call; returns a notification for each task that ended.
pub(crate) async fn settled(io: &mut Io) -> Vec<String> {
    let mut notices = Vec::new();
    let owner = io.host.agent_id().map(str::to_owned);
    for event in io.state.tasks.take_events(owner.as_deref()) {
        notices.extend(tell(event, io).await);
    }
    notices
}

/// Tells one event; the notification when a task ended.
pub(crate) async fn tell(event: TaskEvent, io: &Io) -> Option<String> {
    match event {
        TaskEvent::Started(task) => {
            io.host.system(started(&task)).await;
            None
        }
        TaskEvent::Settled(task) => {
            let patch = TaskPatch { status: task.status.as_str(), end_time: task.ended_at_ms };
            io.host.system(SystemBody::TaskUpdated { task_id: task.id.clone(), run_id: None, patch }).await;
            io.host.system(notification(&task)).await;
            Some(notice(&task))
        }
    }
}

/// After the last result: a short wait, then whatever still runs is killed.
pub(crate) async fn wait_briefly(io: &mut Io) {
    let deadline = tokio::time::Instant::now() + GRACE;
    while !io.state.tasks.running().is_empty() {
        let Ok(event) = tokio::time::timeout_at(deadline, io.state.tasks.next_event(None)).await else { break };
        tell(event, io).await;
    }
    io.state.tasks.stop_all().await;
    settled(io).await;
}

fn started(task: &Task) -> SystemBody {
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

fn notification(task: &Task) -> SystemBody {
    SystemBody::TaskNotification(Box::new(TaskNotification {
        task_id: task.id.clone(),
        run_id: None,
        tool_use_id: Some(task.tool_use_id.clone()),
        status: match task.status {
            TaskStatus::Running | TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Killed => "stopped",
        },
        output_file: task.output.display().to_string(),
        summary: summary(task),
        usage: None,
    }))
}

fn summary(task: &Task) -> String {
    let name = &task.description;
    let ending = match (task.status, task.exit_code, &task.note) {
        (TaskStatus::Killed, _, Some(note)) => format!("was stopped ({note})"),
        (TaskStatus::Killed, _, None) => "was stopped".into(),
        (_, Some(0), _) => "completed (exit code 0)".into(),
        (_, Some(code), _) => format!("failed (exit code {code})"),
        (_, None, _) => task.status.as_str().into(),
    };
    format!("Background command \"{name}\" {ending}")
}

fn notice(task: &Task) -> String {
    task_notice(&TaskNotice {
        task_id: &task.id,
        tool_use_id: &task.tool_use_id,
        output_file: &task.output.display().to_string(),
        status: task.status.as_str(),
        summary: &summary(task),
    })
}
