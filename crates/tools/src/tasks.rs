//! Background tasks of one session: what runs, how it ended, where its output is. The table owns the tasks:
//! dropping it kills those that still run. Each task settles exactly once, and each event is delivered exactly
//! once, to the first receiver that takes it.

use crate::shell::running::{RunningCommand, WaitEnd, remove_scratch};
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::sync::{Mutex, MutexGuard};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::sdk::TaskUsage;

/// Whether background tasks are allowed.
pub fn may_background(env: &sys::Env) -> bool {
    !env.is_on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    Running,
    /// Exit code 0.
    Completed,
    Failed,
    /// Stopped by gimlet: on request, at its deadline, or because it printed too much.
    Killed,
}

impl TaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }
}

/// A snapshot of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    pub id: String,
    /// `local_bash`, `local_agent` or `mcp_task`.
    pub kind: &'static str,
    pub command: String,
    pub description: String,
    /// The call that started it.
    pub tool_use_id: String,
    pub output: PathBuf,
    pub status: TaskStatus,
    pub exit_code: Option<i32>,
    /// Why the task was killed, or why its output is incomplete.
    pub note: Option<String>,
    pub started_at_ms: u64,
    pub ended_at_ms: Option<u64>,
    /// The agent that started the task and gets its events; `None` for the main thread.
    pub owner: Option<String>,
    /// Set only for a task that is an agent.
    pub agent: Option<Box<AgentTask>>,
}

/// Additional facts about a task that is an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTask {
    pub agent_type: String,
    pub transcript: PathBuf,
    /// Its report, once it has ended.
    pub report: Option<String>,
    pub usage: TaskUsage,
    /// The user ended it, not the model.
    pub stopped_by_user: bool,
}

impl TaskRecord {
    pub fn is_agent(&self) -> bool {
        self.agent.is_some()
    }
}

/// How a task ended.
#[derive(Debug)]
pub struct TaskEnd {
    pub status: TaskStatus,
    pub exit_code: Option<i32>,
    pub note: Option<String>,
    /// The report of an agent; `None` for other tasks.
    pub report: Option<String>,
    pub usage: TaskUsage,
}

impl TaskEnd {
    pub fn new(status: TaskStatus) -> Self {
        Self { status, exit_code: None, note: None, report: None, usage: TaskUsage::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    Started(TaskRecord),
    /// Sent once per task.
    Settled(TaskRecord),
}

impl TaskEvent {
    pub fn task(&self) -> &TaskRecord {
        match self {
            Self::Started(task) | Self::Settled(task) => task,
        }
    }

    fn is_for(&self, owner: Option<&str>) -> bool {
        self.task().owner.as_deref() == owner
    }
}

/// The facts about a command that becomes a task.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) description: String,
    pub(crate) tool_use_id: String,
    pub(crate) output: PathBuf,
    pub(crate) deadline: Duration,
    pub(crate) owner: Option<String>,
    /// Why the output is not kept; `None` when it is.
    pub(crate) note: Option<String>,
}

#[derive(Debug, Default)]
pub struct SessionTasks {
    /// Calls that are waited for and could move to the background.
    pub foreground: crate::foreground::ForegroundCalls,
    shared: Arc<TasksShared>,
    /// Supervisors of running tasks, and readers of pipes that outlived their command.
    work: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
struct TasksShared {
    table: Mutex<TaskTable>,
    /// Counts changes; waiters then read the table again.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct TaskTable {
    rows: Vec<TaskRow>,
    /// Events that nobody has taken yet. At most two per task.
    events: VecDeque<TaskEvent>,
}

#[derive(Debug)]
struct TaskRow {
    task: TaskRecord,
    stop: CancellationToken,
}

impl Default for TasksShared {
    fn default() -> Self {
        Self { table: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl TasksShared {
    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.table.lock()
    }

    fn change<T>(&self, change: impl FnOnce(&mut TaskTable) -> T) -> T {
        let out = change(&mut self.lock());
        self.changed.send_modify(|n| *n += 1);
        out
    }

    fn record_end(&self, id: &str, end: TaskEnd) {
        self.change(|table| {
            let Some(row) = table.rows.iter_mut().find(|row| row.task.id == id) else { return };
            if row.task.status != TaskStatus::Running {
                return;
            }
            row.task.status = end.status;
            row.task.exit_code = end.exit_code;
            row.task.note = end.note;
            if let Some(agent) = &mut row.task.agent {
                agent.report = end.report;
                agent.usage = end.usage;
            }
            row.task.ended_at_ms = Some(sys::clock::now_ms());
            let settled = TaskEvent::Settled(row.task.clone());
            table.events.push_back(settled);
        });
    }
}

/// Settles a task whose future was dropped without an end: after a panic, or when the process ends.
struct SettleGuard {
    shared: Arc<TasksShared>,
    id: String,
    end: Option<TaskEnd>,
}

impl Drop for SettleGuard {
    fn drop(&mut self) {
        let lost = || TaskEnd { note: Some("an internal error".into()), ..TaskEnd::new(TaskStatus::Failed) };
        self.shared.record_end(&self.id, self.end.take().unwrap_or_else(lost));
    }
}

impl SessionTasks {
    /// A new task id: `b` and 8 characters of base 36.
    pub fn new_id() -> String {
        format!("b{}", sys::id::base36(8))
    }

    /// Takes over a running command as a task. Its output file already exists.
    pub(crate) fn adopt(&self, new: NewTask, running: RunningCommand) -> TaskRecord {
        let task = TaskRecord {
            id: new.id.clone(),
            kind: "local_bash",
            command: new.command,
            description: new.description,
            tool_use_id: new.tool_use_id,
            output: new.output,
            status: TaskStatus::Running,
            exit_code: None,
            note: new.note,
            started_at_ms: sys::clock::now_ms(),
            ended_at_ms: None,
            owner: new.owner,
            agent: None,
        };
        let stop = CancellationToken::new();
        self.shared.change(|table| {
            table.rows.push(TaskRow { task: task.clone(), stop: stop.clone() });
            table.events.push_back(TaskEvent::Started(task.clone()));
        });
        let shared = Arc::clone(&self.shared);
        let deadline = Instant::now() + new.deadline;
        self.work().spawn(async move {
            let end = supervise(running, &stop, deadline).await;
            shared.record_end(&new.id, end);
        });
        task
    }

    /// Runs an agent as a task. Cancelling `scope`, or `stop`, cancels its token; the agent then ends by itself.
    pub fn spawn(
        &self,
        task: TaskRecord,
        scope: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> BoxFuture<'static, TaskEnd>,
    ) {
        let stop = scope.child_token();
        let mut settle = SettleGuard { shared: Arc::clone(&self.shared), id: task.id.clone(), end: None };
        self.shared.change(|table| {
            // A resumed agent keeps its id.
            table.rows.retain(|row| row.task.id != task.id);
            table.rows.push(TaskRow { task, stop: stop.clone() });
        });
        let work = work(stop);
        self.work().spawn(async move {
            settle.end = Some(work.await);
            drop(settle);
        });
    }

    /// Continues a call as a task; its start and its end are sent as events, as for a command.
    pub fn take_over(&self, task: TaskRecord, work: impl FnOnce(CancellationToken) -> BoxFuture<'static, TaskEnd>) {
        let started = TaskEvent::Started(task.clone());
        self.shared.change(|table| table.events.push_back(started));
        self.spawn(task, &CancellationToken::new(), work);
    }

    /// Cancels the task at the user's request, without waiting for its end; false when no such task runs.
    pub fn cancel_for_user(&self, id: &str) -> bool {
        let mut table = self.shared.lock();
        let running = |row: &&mut TaskRow| row.task.id == id && row.task.status == TaskStatus::Running;
        let Some(row) = table.rows.iter_mut().find(running) else { return false };
        if let Some(agent) = &mut row.task.agent {
            agent.stopped_by_user = true;
        }
        row.stop.cancel();
        true
    }

    /// Ends the running tasks that `which` selects, and waits for their end.
    pub async fn stop_where(&self, which: impl Fn(&TaskRecord) -> bool) {
        for task in self.running().into_iter().filter(which) {
            self.stop(&task.id).await;
        }
    }

    /// Reads and discards what a descendant prints after its command has ended.
    pub(crate) fn drain_pipe(&self, mut pipe: pipe::Receiver) {
        self.work().spawn(async move {
            let mut buffer = vec![0; 4096];
            while matches!(pipe.read(&mut buffer).await, Ok(1..)) {}
        });
    }

    fn work(&self) -> MutexGuard<'_, JoinSet<()>> {
        let mut work = self.work.lock();
        while work.try_join_next().is_some() {}
        work
    }

    pub fn get(&self, id: &str) -> Option<TaskRecord> {
        self.shared.lock().rows.iter().find(|row| row.task.id == id).map(|row| row.task.clone())
    }

    /// All tasks of the session, oldest first.
    pub fn all(&self) -> Vec<TaskRecord> {
        self.shared.lock().rows.iter().map(|row| row.task.clone()).collect()
    }

    pub fn running(&self) -> Vec<TaskRecord> {
        let mut all = self.all();
        all.retain(|task| task.status == TaskStatus::Running);
        all
    }

    /// How many tasks have ended.
    pub fn ended(&self) -> usize {
        self.all().iter().filter(|task| task.status != TaskStatus::Running).count()
    }

    /// Waits until the task has settled, at most `timeout`, and returns its record; `None` when there is no such task.
    pub async fn wait(&self, id: &str, timeout: Duration) -> Option<TaskRecord> {
        let mut changed = self.shared.changed.subscribe();
        let settled = changed.wait_for(|_| self.get(id).is_none_or(|task| task.status != TaskStatus::Running));
        // On a timeout the current record is returned too.
        drop(tokio::time::timeout(timeout, settled).await);
        self.get(id)
    }

    /// Ends the task's whole process tree and waits for that. `None` when there is no such task.
    pub async fn stop(&self, id: &str) -> Option<TaskRecord> {
        let stop = self.shared.lock().rows.iter().find(|row| row.task.id == id).map(|row| row.stop.clone())?;
        stop.cancel();
        self.wait(id, STOP_TIMEOUT).await
    }

    /// Ends all tasks; none of them runs when this returns.
    pub async fn stop_all(&self) {
        for row in &self.shared.lock().rows {
            row.stop.cancel();
        }
        let mut changed = self.shared.changed.subscribe();
        let quiet = changed.wait_for(|_| self.running().is_empty());
        drop(tokio::time::timeout(STOP_TIMEOUT, quiet).await);
        let mut work = std::mem::take(&mut *self.work.lock());
        work.shutdown().await;
    }

    /// Removes and returns the events of `owner`'s tasks, oldest first.
    pub fn take_events(&self, owner: Option<&str>) -> Vec<TaskEvent> {
        let mut table = self.shared.lock();
        let (mine, others) = table.events.drain(..).partition(|event: &TaskEvent| event.is_for(owner));
        table.events = others;
        Vec::from(mine)
    }

    /// Whether events for `owner` may still come: a task runs, or an event was not taken yet.
    pub fn has_pending_events(&self, owner: Option<&str>) -> bool {
        let table = self.shared.lock();
        let runs = |row: &TaskRow| row.task.status == TaskStatus::Running && row.task.owner.as_deref() == owner;
        table.rows.iter().any(runs) || table.events.iter().any(|event| event.is_for(owner))
    }

    /// As [`Self::has_pending_events`], for agents only.
    pub fn has_pending_agents(&self, owner: Option<&str>) -> bool {
        let table = self.shared.lock();
        let runs = |row: &TaskRow| {
            row.task.is_agent() && row.task.status == TaskStatus::Running && row.task.owner.as_deref() == owner
        };
        table.rows.iter().any(runs) || table.events.iter().any(|event| event.is_for(owner) && event.task().is_agent())
    }

    /// Waits for the next event of `owner`'s tasks that nobody has taken. Cancel-safe.
    pub async fn next_event(&self, owner: Option<&str>) -> TaskEvent {
        let mut changed = self.shared.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let next = {
                let mut table = self.shared.lock();
                let at = table.events.iter().position(|event| event.is_for(owner));
                at.and_then(|at| table.events.remove(at))
            };
            if let Some(event) = next {
                return event;
            }
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The output file of a task.
    pub fn output_path(tasks_dir: &Path, id: &str) -> PathBuf {
        tasks_dir.join(format!("{id}.output"))
    }
}

/// Longer than SIGTERM, grace, SIGKILL and reading the last bytes take together.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);

async fn supervise(mut running: RunningCommand, stop: &CancellationToken, deadline: Instant) -> TaskEnd {
    let pause = running.wait_until(stop, deadline).await;
    let (status, exit_code, note) = match pause {
        Ok(WaitEnd::Exited(exit)) => {
            running.drain().await;
            // Death by a signal is reported as 1, as for foreground commands.
            let code = exit.code.unwrap_or(1);
            (if code == 0 { TaskStatus::Completed } else { TaskStatus::Failed }, Some(code), None)
        }
        Ok(WaitEnd::Cancelled) => (TaskStatus::Killed, None, None),
        Ok(WaitEnd::Deadline) => (TaskStatus::Killed, None, Some("its time limit was reached".to_owned())),
        Ok(WaitEnd::Excess) => (TaskStatus::Killed, None, Some("it printed more than 5 GB".to_owned())),
        Err(error) => (TaskStatus::Failed, None, Some(format!("waiting for it failed: {error}"))),
    };
    if status == TaskStatus::Killed {
        running.kill().await.ok();
    }
    let note = note.or_else(|| running.capture.incomplete());
    remove_scratch(std::mem::take(&mut running.scratch)).await;
    TaskEnd { exit_code, note, ..TaskEnd::new(status) }
}
