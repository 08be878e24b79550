//! Runs an agent from its first prompt to its end: its turns, messages sent to it meanwhile, the agents and commands
//! it started, and what is sent and recorded at its end. Its transcript is closed before its end is announced.

use super::build::{AgentSession, AgentSpec};
use super::report;
use crate::agents::recover::neutralise;
use crate::agents::{AgentRefusal, AgentSlot, AgentTable, builtin};
use crate::decide::EndReason;
use crate::session::LiveSession;
use crate::session::tasks::send_event;
use crate::turn;
use crate::turn_state::{TurnEnd, TurnOpener};
use serde_json::value::RawValue;
use session_parts::command::Prompt;
use session_parts::host::AgentOutput;
use session_parts::tasks;
use session_parts::worktree::KeptWorktree;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::agents::{AgentOutcome as Stored, Sidecar};
use tools::tasks::{AgentTask, SessionTasks, TaskEnd, TaskRecord, TaskStatus};
use wire::sdk::{SdkMessage, SystemBody, TaskNotification, TaskPatch, TaskStarted, TaskUsage};
use wire::usage::Usage;

/// An agent that is ready to start.
pub(super) struct AgentRun {
    pub(super) agents: Arc<AgentTable>,
    pub(super) session: LiveSession,
    pub(super) output: Arc<AgentOutput>,
    pub(super) spec: AgentSpec,
    pub(super) sidecar: Sidecar,
    pub(super) slot: AgentSlot,
    /// It runs in the background, from its start or since a person moved it there.
    pub(super) in_background: Arc<AtomicBool>,
}

/// Whether the conversation is new; a resumed one already contains the output of its start hooks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstRun {
    Yes,
    No,
}

/// How an agent ended.
#[derive(Debug)]
pub(super) struct AgentResult {
    pub(super) id: String,
    pub(super) agent_type: String,
    /// The agent is a copy of the conversation and cannot be continued.
    pub(super) is_fork: bool,
    pub(super) status: TaskStatus,
    pub(super) report: String,
    pub(super) is_error: bool,
    /// The usage of its last request.
    pub(super) usage: Usage,
    pub(super) task_usage: TaskUsage,
    pub(super) model: String,
    pub(super) models: Vec<String>,
    pub(super) worktree: Option<KeptWorktree>,
}

impl AgentResult {
    pub(super) fn into_end(self) -> TaskEnd {
        TaskEnd { report: Some(self.report), usage: self.task_usage, ..TaskEnd::new(self.status) }
    }
}

impl AgentRun {
    pub(super) fn new(
        agents: Arc<AgentTable>,
        child: AgentSession,
        spec: AgentSpec,
        sidecar: Sidecar,
        slot: AgentSlot,
    ) -> Self {
        let in_background = Arc::new(AtomicBool::new(spec.background));
        Self { agents, session: child.session, output: child.output, spec, sidecar, slot, in_background }
    }

    /// Announces the agent to the host and runs its start hooks. Called before any other message of the agent.
    pub(super) async fn announce(&mut self, prompt: &str, first: FirstRun) {
        let started = TaskStarted {
            task_id: self.spec.id.clone(),
            run_id: Some(self.output.run_id().to_owned()),
            tool_use_id: Some(self.spec.tool_use_id.clone()),
            description: self.spec.description.clone(),
            subagent_type: Some(self.spec.definition.name.clone()),
            is_backgrounded: self.spec.background,
            spawn_depth: Some(self.spec.depth),
            parent_task_id: self.spec.parent.clone(),
            task_type: "local_agent",
            prompt: Some(prompt.to_owned()),
        };
        self.agents.template().host.system(SystemBody::TaskStarted(Box::new(started))).await;
        let scope = self.session.control.scope().clone();
        let texts = self.session.io.subagent_start(&scope).await;
        if first == FirstRun::Yes {
            self.session.start.contexts = texts;
        }
    }

    /// Its record in the table of background tasks.
    pub(super) fn task(&self) -> TaskRecord {
        let output = SessionTasks::output_path(&self.agents.template().state.facts.tasks_dir, &self.spec.id);
        let transcript = self.session.io.output.transcript.transcript().path().to_path_buf();
        TaskRecord {
            id: self.spec.id.clone(),
            kind: "local_agent",
            command: self.spec.description.clone(),
            description: self.spec.description.clone(),
            tool_use_id: self.spec.tool_use_id.clone(),
            output,
            status: TaskStatus::Running,
            exit_code: None,
            note: None,
            started_at_ms: sys::clock::now_ms(),
            ended_at_ms: None,
            owner: self.spec.parent.clone(),
            agent: Some(Box::new(AgentTask {
                agent_type: self.spec.definition.name.clone(),
                transcript,
                report: None,
                usage: TaskUsage::default(),
                stopped_by_user: false,
            })),
        }
    }

    pub(super) async fn finish(mut self: Box<Self>, content: Box<RawValue>) -> AgentResult {
        let first = Prompt::new(content);
        let ended = self.run_turns(first).await;
        self.shut_down().await;
        let hooks = self.session.io.worktree_hooks();
        let entered = self.session.io.tooling.active_worktree.take();
        let worktree = match self.spec.worktree.as_ref().or(entered.as_ref().map(|active| &active.worktree)) {
            Some(worktree) => worktree.remove_if_unchanged(Some(&hooks)).await,
            None => None,
        };
        let mut verdict = report::judge(&ended, self.spec.definition.max_turns);
        if verdict.is_empty {
            verdict.report = report::without_words(self.session.context.history().turns());
        }
        if let Some(checks) = self.session.io.knowledge.checks.describe() {
            verdict.report = format!("{}\n\n[{}]", verdict.report, neutralise(&checks));
        }
        let template = &self.agents.template();
        let finished = AgentResult {
            id: self.spec.id.clone(),
            agent_type: self.spec.definition.name.clone(),
            is_fork: builtin::is_fork(&self.spec.definition),
            status: verdict.status,
            report: report::bounded(&verdict.report, &template.env, &template.session_dir),
            is_error: verdict.is_error,
            usage: self.session.io.output.ledger.last_usage().clone(),
            task_usage: self.output.usage(),
            model: self.spec.model.clone(),
            models: self.session.io.output.ledger.models_used(),
            worktree,
        };
        self.agents.count_end(&self.spec.id, finished.status, self.is_in_background());
        self.record_end(&finished).await;
        self.send_end(&finished).await;
        let Self { slot, .. } = *self;
        drop(slot);
        finished
    }

    /// Runs the agent for a hook and returns its last text. No end is sent and no sidecar is written.
    pub(super) async fn answer(mut self: Box<Self>, content: Box<RawValue>) -> Result<String, AgentRefusal> {
        let ended = self.run_turns(Prompt::new(content)).await;
        self.shut_down().await;
        let verdict = report::judge(&ended, self.spec.definition.max_turns);
        if verdict.is_error || ended.text.trim().is_empty() { Err(verdict.report.into()) } else { Ok(ended.text) }
    }

    /// Runs turns until no message is queued and no background agent it started is unfinished or unreported.
    async fn run_turns(&mut self, first: Prompt) -> TurnEnd {
        let mut ended = Box::pin(turn::run(&mut self.session, TurnOpener::Prompt(first))).await;
        while ended.reason == Some(EndReason::Completed) {
            let Some(opener) = self.next_opener().await else { break };
            ended = Box::pin(turn::run(&mut self.session, opener)).await;
        }
        ended
    }

    async fn next_opener(&mut self) -> Option<TurnOpener> {
        let LiveSession { control, io, .. } = &mut self.session;
        let tasks = Arc::clone(&io.tooling.state.tasks);
        let id = self.spec.id.as_str();
        loop {
            if let Some(prompt) = control.next_queued().await {
                return Some(TurnOpener::Prompt(prompt));
            }
            if !tasks.has_pending_agents(Some(id)) {
                // A message that arrives from now on resumes the ended agent.
                control.close_commands();
                return control.next_queued().await.map(TurnOpener::Prompt);
            }
            let scope = control.scope().clone();
            let event = tokio::select! {
                event = control.during(tasks.next_event(Some(id))) => event?,
                () = scope.cancelled() => return None,
            };
            if let Some(notice) = send_event(event, io).await {
                return Some(TurnOpener::Notice(notice.text));
            }
        }
    }

    /// Stops the commands it left running and closes its transcript.
    async fn shut_down(&mut self) {
        let io = &mut self.session.io;
        let id = self.spec.id.as_str();
        io.tooling.state.tasks.stop_where(|task| task.owner.as_deref() == Some(id)).await;
        for event in io.tooling.state.tasks.take_events(Some(id)) {
            send_event(event, io).await;
        }
        io.hooks.end().await;
        io.knowledge.mcp.close().await;
        io.provider.side.drain_usage(&mut io.output.ledger);
        if let Err(error) = io.output.transcript.transcript().close().await {
            tracing::warn!(%error, agent = id, "the agent's transcript could not be closed");
        }
    }

    fn is_in_background(&self) -> bool {
        self.in_background.load(Ordering::Relaxed)
    }

    async fn record_end(&mut self, finished: &AgentResult) {
        let mut sidecar = Sidecar { is_backgrounded: self.is_in_background(), ..self.sidecar.clone() };
        sidecar.status = Some(match finished.status {
            TaskStatus::Completed | TaskStatus::Running => Stored::Completed,
            TaskStatus::Failed => Stored::Failed,
            TaskStatus::Killed => Stored::Stopped,
        });
        sidecar.stopped_by_user = self.agents.is_stopped_by_user(&self.spec.id);
        if finished.worktree.is_none() {
            sidecar.worktree_path = None;
            sidecar.worktree_branch = None;
        }
        write_sidecar(&self.agents, &self.spec.id, sidecar).await;
    }

    async fn send_end(&self, finished: &AgentResult) {
        let host = &self.agents.template().host.clone();
        if let Some(said) = self.output.take_last_words().filter(|_| self.is_in_background()) {
            host.send(SdkMessage::Assistant(said)).await;
        }
        let (task_id, run_id) = (self.spec.id.clone(), Some(self.output.run_id().to_owned()));
        let patch = TaskPatch { status: finished.status.as_str(), end_time: Some(sys::clock::now_ms()) };
        host.system(SystemBody::TaskUpdated { task_id: task_id.clone(), run_id: run_id.clone(), patch }).await;
        let notification = TaskNotification {
            task_id,
            run_id,
            tool_use_id: Some(self.spec.tool_use_id.clone()),
            status: tasks::protocol_status(finished.status),
            output_file: self.task().output.display().to_string(),
            summary: tasks::agent_summary(&self.spec.description, finished.status),
            usage: Some(finished.task_usage),
        };
        host.system(SystemBody::TaskNotification(Box::new(notification))).await;
    }
}

/// Failures are only logged: the sidecar helps to find the agent, but the agent does not need it.
pub(super) async fn write_sidecar(agents: &AgentTable, id: &str, sidecar: Sidecar) {
    if agents.template().persist == store::Persistence::No {
        return;
    }
    let template = agents.template();
    if let Some(tap) = template.mirror.clone() {
        session_parts::mirror::mirror_sidecar(tap, store::agents::transcript_path(&template.session_dir, id), &sidecar)
            .await;
    }
    let (dir, id) = (template.session_dir.clone(), id.to_owned());
    let written = tokio::task::spawn_blocking(move || sidecar.write(&dir, &id)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "an agent's sidecar could not be written");
    }
}

/// Makes the output file of a background agent a link to its transcript.
pub(super) async fn link_output(task: &TaskRecord) {
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
