//! An agent from its first prompt to its end: its turns, the messages it is sent meanwhile, the agents and commands it
//! started, and what is told and recorded when it is over. Its transcript is complete on disk before anyone hears of the
//! end.

use super::child::{Child, Sheet};
use super::report;
use super::voice::Voice;
use super::{Agents, Seat, builtin};
use crate::command::Prompt;
use crate::decide::EndReason;
use crate::session::Session;
use crate::tasks;
use crate::turn::{self, Ended, Opener};
use crate::worktree::Kept;
use serde_json::value::RawValue;
use std::sync::Arc;
use store::agents::{Outcome as Stored, Sidecar};
use tools::tasks::{AgentTask, End, Task, TaskStatus, Tasks};
use wire::sdk::{Message, SystemBody, TaskNotification, TaskPatch, TaskStarted, TaskUsage};
use wire::usage::Usage;

/// An agent that is ready to begin.
pub(super) struct Running {
    pub(super) agents: Arc<Agents>,
    pub(super) session: Session,
    pub(super) voice: Arc<Voice>,
    pub(super) sheet: Sheet,
    pub(super) sidecar: Sidecar,
    pub(super) seat: Seat,
}

/// Whether the conversation begins now; one that is taken up again has what hooks said at its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Yes,
    No,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) id: String,
    pub(super) agent_type: String,
    /// Nobody can continue it.
    pub(super) one_shot: bool,
    pub(super) status: TaskStatus,
    pub(super) report: String,
    pub(super) is_error: bool,
    /// Of its last request.
    pub(super) usage: Usage,
    pub(super) task_usage: TaskUsage,
    pub(super) model: String,
    pub(super) models: Vec<String>,
    pub(super) worktree: Option<Kept>,
}

impl Finished {
    pub(super) fn into_end(self) -> End {
        End { report: Some(self.report), usage: self.task_usage, ..End::new(self.status) }
    }
}

impl Running {
    pub(super) fn new(agents: Arc<Agents>, child: Child, sheet: Sheet, sidecar: Sidecar, seat: Seat) -> Self {
        Self { agents, session: child.session, voice: child.voice, sheet, sidecar, seat }
    }

    /// Before anything else is said of it.
    pub(super) async fn announce(&mut self, prompt: &str, first: First) {
        let started = TaskStarted {
            task_id: self.sheet.id.clone(),
            run_id: Some(self.voice.run_id().to_owned()),
            tool_use_id: Some(self.sheet.tool_use_id.clone()),
            description: self.sheet.description.clone(),
            subagent_type: Some(self.sheet.definition.name.clone()),
            is_backgrounded: self.sheet.background,
            spawn_depth: Some(self.sheet.depth),
            parent_task_id: self.sheet.parent.clone(),
            task_type: "local_agent",
            prompt: Some(prompt.to_owned()),
        };
        self.agents.kit().host.system(SystemBody::TaskStarted(Box::new(started))).await;
        let scope = self.session.control.scope().clone();
        let texts = self.session.io.subagent_start(&scope).await;
        if first == First::Yes {
            self.session.start.contexts = texts;
        }
    }

    /// The row of the table of background tasks.
    pub(super) fn task(&self) -> Task {
        let output = Tasks::output_path(&self.agents.kit().state.facts.tasks_dir, &self.sheet.id);
        let transcript = self.session.io.scribe.transcript().path().to_path_buf();
        Task {
            id: self.sheet.id.clone(),
            kind: "local_agent",
            command: self.sheet.description.clone(),
            description: self.sheet.description.clone(),
            tool_use_id: self.sheet.tool_use_id.clone(),
            output,
            status: TaskStatus::Running,
            exit_code: None,
            note: None,
            started_at_ms: sys::clock::now_ms(),
            ended_at_ms: None,
            owner: self.sheet.parent.clone(),
            agent: Some(Box::new(AgentTask {
                agent_type: self.sheet.definition.name.clone(),
                transcript,
                report: None,
                usage: TaskUsage::default(),
                stopped_by_user: false,
            })),
        }
    }

    pub(super) async fn finish(mut self: Box<Self>, content: Box<RawValue>) -> Finished {
        let first = Prompt::new(content);
        let ended = self.work(first).await;
        self.put_away().await;
        let hooks = self.session.io.worktree_hooks();
        let entered = self.session.io.stay.take();
        let worktree = match self.sheet.worktree.as_ref().or(entered.as_ref().map(|stay| &stay.worktree)) {
            Some(worktree) => worktree.settle(Some(&hooks)).await,
            None => None,
        };
        let verdict = report::judge(&ended, self.sheet.definition.max_turns);
        let kit = &self.agents.kit();
        let finished = Finished {
            id: self.sheet.id.clone(),
            agent_type: self.sheet.definition.name.clone(),
            one_shot: builtin::is_one_shot(&self.sheet.definition),
            status: verdict.status,
            report: report::bounded(&verdict.report, &kit.env, &kit.session_dir),
            is_error: verdict.is_error,
            usage: self.session.io.ledger.last_usage().clone(),
            task_usage: self.voice.usage(),
            model: self.sheet.model.clone(),
            models: self.session.io.ledger.models_used(),
            worktree,
        };
        self.agents.count_end(&self.sheet.id, finished.status, self.sheet.background);
        self.record_end(&finished).await;
        self.tell_end(&finished).await;
        let Self { seat, .. } = *self;
        drop(seat);
        finished
    }

    /// Its last words, for a question that no call asked: nothing is told and no sidecar is kept.
    pub(super) async fn answer(mut self: Box<Self>, content: Box<RawValue>) -> Result<String, String> {
        let ended = self.work(Prompt::new(content)).await;
        self.put_away().await;
        let verdict = report::judge(&ended, self.sheet.definition.max_turns);
        if verdict.is_error || ended.text.trim().is_empty() { Err(verdict.report) } else { Ok(ended.text) }
    }

    /// Turns until there is nothing more to do: no message waits, and no agent it started is still owed.
    async fn work(&mut self, first: Prompt) -> Ended {
        let mut ended = Box::pin(turn::run(&mut self.session, Opener::Prompt(first))).await;
        while ended.reason == Some(EndReason::Completed) {
            let Some(opener) = self.next_opener().await else { break };
            ended = Box::pin(turn::run(&mut self.session, opener)).await;
        }
        ended
    }

    async fn next_opener(&mut self) -> Option<Opener> {
        let Session { control, io, .. } = &mut self.session;
        let tasks = Arc::clone(&io.state.tasks);
        let id = self.sheet.id.as_str();
        loop {
            if let Some(prompt) = control.next_queued().await {
                return Some(Opener::Prompt(prompt));
            }
            if !tasks.owes_agents(Some(id)) {
                // From here on a message finds the agent finished and takes it up again.
                control.hang_up();
                return control.next_queued().await.map(Opener::Prompt);
            }
            let scope = control.scope().clone();
            let event = tokio::select! {
                event = control.during(tasks.next_event(Some(id))) => event?,
                () = scope.cancelled() => return None,
            };
            if let Some(notice) = tasks::tell(event, io).await {
                return Some(Opener::Notice(notice.text));
            }
        }
    }

    /// Ends the commands it left behind and closes its file.
    async fn put_away(&mut self) {
        let io = &mut self.session.io;
        let id = self.sheet.id.as_str();
        io.state.tasks.stop_where(|task| task.owner.as_deref() == Some(id)).await;
        for event in io.state.tasks.take_events(Some(id)) {
            tasks::tell(event, io).await;
        }
        io.hooks.end().await;
        io.mcp.close().await;
        io.side.drain_usage(&mut io.ledger);
        if let Err(error) = io.scribe.transcript().close().await {
            tracing::warn!(%error, agent = id, "the agent's transcript could not be closed");
        }
    }

    async fn record_end(&mut self, finished: &Finished) {
        let mut sidecar = self.sidecar.clone();
        sidecar.status = Some(match finished.status {
            TaskStatus::Completed | TaskStatus::Running => Stored::Completed,
            TaskStatus::Failed => Stored::Failed,
            TaskStatus::Killed => Stored::Stopped,
        });
        sidecar.stopped_by_user = self.agents.is_stopped_by_user(&self.sheet.id);
        if finished.worktree.is_none() {
            sidecar.worktree_path = None;
            sidecar.worktree_branch = None;
        }
        write_sidecar(&self.agents, &self.sheet.id, sidecar).await;
    }

    async fn tell_end(&self, finished: &Finished) {
        let host = &self.agents.kit().host.clone();
        if let Some(said) = self.voice.take_last_words().filter(|_| self.sheet.background) {
            host.send(Message::Assistant(said)).await;
        }
        let (task_id, run_id) = (self.sheet.id.clone(), Some(self.voice.run_id().to_owned()));
        let patch = TaskPatch { status: finished.status.as_str(), end_time: Some(sys::clock::now_ms()) };
        host.system(SystemBody::TaskUpdated { task_id: task_id.clone(), run_id: run_id.clone(), patch }).await;
        let notification = TaskNotification {
            task_id,
            run_id,
            tool_use_id: Some(self.sheet.tool_use_id.clone()),
            status: tasks::told_status(finished.status),
            output_file: self.task().output.display().to_string(),
            summary: tasks::agent_summary(&self.sheet.description, finished.status),
            usage: Some(finished.task_usage),
        };
        host.system(SystemBody::TaskNotification(Box::new(notification))).await;
    }
}

/// A failure is logged only: the sidecar helps others to find the agent, it does not need it itself.
pub(super) async fn write_sidecar(agents: &Agents, id: &str, sidecar: Sidecar) {
    if agents.kit().persist == store::Persist::No {
        return;
    }
    let kit = agents.kit();
    if let Some(tap) = kit.mirror.clone() {
        crate::mirror::tell_sidecar(tap, store::agents::transcript_path(&kit.session_dir, id), &sidecar).await;
    }
    let (dir, id) = (kit.session_dir.clone(), id.to_owned());
    let written = tokio::task::spawn_blocking(move || sidecar.write(&dir, &id)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "an agent's sidecar could not be written");
    }
}

/// The output file of a background agent leads to its transcript.
pub(super) async fn link_output(task: &Task) {
    let Some(agent) = &task.agent else { return };
    let (target, link) = (agent.transcript.clone(), task.output.clone());
    let linked = tokio::task::spawn_blocking(move || {
        if let Some(dir) = link.parent() {
            std::fs::DirBuilder::new().recursive(true).create(dir)?;
        }
        match std::os::unix::fs::symlink(&target, &link) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    if let Ok(Err(error)) = linked.await {
        tracing::debug!(%error, "an agent has no output file");
    }
}
