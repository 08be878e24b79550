//! Sends the starts and ends of background tasks to the host and the model.

use crate::session::SessionIo;
use session_parts::tasks::send_running;
use session_parts::tasks::{SHELL_GRACE, TaskEndNotice, notice, notification, started};
use tools::tasks::{TaskEvent, TaskRecord};
use wire::sdk::{StoppedTask, SystemBody, TaskPatch};

/// Sends the task events since the last call to the host; returns a notification for each task that ended.
pub(crate) async fn send_events(io: &mut SessionIo) -> Vec<String> {
    let owner = io.output.host.agent_id().map(str::to_owned);
    let mut notices = Vec::new();
    for event in io.tooling.state.tasks.take_events(owner.as_deref()) {
        notices.extend(send_event(event, io).await.map(|notice| notice.text));
    }
    notices
}

/// Sends one event; returns the notification when a task ended.
pub(crate) async fn send_event(event: TaskEvent, io: &SessionIo) -> Option<TaskEndNotice> {
    let notice = match event {
        TaskEvent::Started(task) => {
            io.output.host.system(started(&task)).await;
            None
        }
        TaskEvent::Settled(task) => {
            if !task.is_agent() {
                let patch = TaskPatch { status: task.status.as_str(), end_time: task.ended_at_ms };
                io.output.host.system(SystemBody::TaskUpdated { task_id: task.id.clone(), run_id: None, patch }).await;
                io.output.host.system(notification(&task)).await;
            }
            let wakes = !task.agent.as_ref().is_some_and(|agent| agent.stopped_by_user);
            Some(TaskEndNotice { text: notice(&task), wakes })
        }
    };
    send_running(&io.output.host, &io.tooling.state.tasks).await;
    notice
}

/// After the last result: waits briefly, then kills the tasks that still run.
pub(crate) async fn wait_briefly(io: &mut SessionIo) {
    let deadline = tokio::time::Instant::now() + SHELL_GRACE;
    while io.tooling.state.tasks.running().iter().any(|task| !task.is_agent()) {
        let Ok(event) = tokio::time::timeout_at(deadline, io.tooling.state.tasks.next_event(None)).await else { break };
        send_event(event, io).await;
    }
    io.tooling.state.tasks.stop_all().await;
    send_events(io).await;
}

/// Stops the tasks that still run at the end of the run, and returns them.
pub(crate) async fn stop_rest(io: &mut SessionIo) -> Vec<StoppedTask> {
    let named = |task: TaskRecord| StoppedTask { task_id: task.id, description: task.description };
    let stopped = io.tooling.state.tasks.running().into_iter().map(named).collect();
    io.tooling.spawner.agents.end_with_run();
    io.tooling.state.tasks.stop_all().await;
    send_events(io).await;
    stopped
}
