//! Subagents: sessions inside the session. Each has its own history, transcript, read state and tools, but no host:
//! the root session forwards its messages, marked with the agent, and its permission questions go to the root's host.
//! One table lists all agents of a session. An agent ends together with the session or agent that started it, and its
//! result is delivered exactly once.

pub(crate) mod builtin;
pub(crate) mod last_calls;
pub(crate) mod limits;
mod mention;
pub(crate) mod recover;
mod template;
pub(crate) mod toolset;

use crate::agents::limits::AgentLimits;
pub(crate) use template::AgentTemplate;

use crate::view::SessionView;
use config::agents::AgentDefinition;
use config::roots::DefinitionRoots;
use futures_util::future::BoxFuture;
use permission::Policy;
use session_parts::command::CommandSender;
use session_parts::hooks::HookJudge;
use session_parts::skills::invoke::ForkedSkill;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use tools::tasks::TaskStatus;
use tools::{CallContext, ModelText, ToolOutcome};
use wire::control::PermissionUpdate;
use wire::sdk::{PermissionDenial, SubagentStats};

/// The agent type of a call that names none.
pub(crate) const DEFAULT_TYPE: &str = "general-purpose";

/// The agents of one session and the template they are built from.
pub(crate) struct AgentTable {
    /// Replaced when another conversation starts.
    template: Mutex<Arc<AgentTemplate>>,
    runner: &'static dyn AgentRunner,
    pub(crate) limits: AgentLimits,
    definitions: Mutex<DefinitionCache>,
    entries: Mutex<Vec<AgentEntry>>,
    /// What the host granted to any agent or to the main thread; it applies to the whole session.
    grants: Mutex<Vec<PermissionUpdate>>,
    /// Calls of agents that were denied since the last result message.
    denials: Mutex<Vec<PermissionDenial>>,
    stats: Mutex<SubagentStats>,
}

/// Declared agent types, read again when their files change.
struct DefinitionCache {
    roots: Option<DefinitionRoots>,
    explicit: Vec<AgentDefinition>,
    declared: Arc<config::agents::AgentDefinitions>,
    listed_at: Instant,
}

/// How long a listing of agent types counts as just read.
const LISTING_MAX_AGE: Duration = Duration::from_millis(100);

/// One agent that was started in this process.
pub(crate) struct AgentEntry {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) agent_type: String,
    pub(crate) description: String,
    /// The command channel of a running agent; `None` when it has ended.
    pub(crate) commands: Option<CommandSender>,
    pub(crate) stop: CancellationToken,
    pub(crate) stopped_by_user: bool,
    /// The process ends, which also ends this agent.
    pub(crate) stopped_by_system: bool,
}

/// Runs agents. It is implemented above the session, because an agent is a session: the table knows only this.
pub(crate) trait AgentRunner: Send + Sync {
    /// The answer of an agent that judges `task` for a hook. `model` is `None` for the small model.
    fn judge(
        &self,
        spawner: Arc<AgentSpawner>,
        task: String,
        model: Option<String>,
    ) -> BoxFuture<'static, Result<String, AgentRefusal>>;

    /// Runs a skill as an agent, to its end.
    fn run_forked_skill(
        &self,
        spawner: Arc<AgentSpawner>,
        fork: ForkedSkill,
        policy: &Policy,
        cx: CallContext,
    ) -> BoxFuture<'static, Result<ToolOutcome, AgentRefusal>>;
}

impl HookJudge for AgentSpawner {
    fn judge(self: Arc<Self>, task: String, model: Option<String>) -> BoxFuture<'static, Result<String, String>> {
        let runner = self.agents.runner;
        let judging = runner.judge(self, task, model);
        Box::pin(async move { judging.await.map_err(String::from) })
    }
}

/// Why an agent is not started.
pub(crate) type AgentRefusal = ModelText;

impl AgentTable {
    /// `roots` is `None` when agent definitions on disk are ignored.
    pub(crate) fn new(
        template: AgentTemplate,
        runner: &'static dyn AgentRunner,
        roots: Option<DefinitionRoots>,
        given: Vec<AgentDefinition>,
    ) -> Self {
        let declared = match &roots {
            Some(roots) => config::agents::AgentDefinitions::load(roots, &given),
            None => config::agents::AgentDefinitions::load(&DefinitionRoots::default(), &given),
        };
        let limits = AgentLimits::from_env(&template.env);
        let listed_at = Instant::now();
        let definitions =
            Mutex::new(DefinitionCache { roots, explicit: given, declared: Arc::new(declared), listed_at });
        let template = Mutex::new(Arc::new(template));
        Self {
            template,
            runner,
            limits,
            definitions,
            entries: Mutex::default(),
            grants: Mutex::default(),
            denials: Mutex::default(),
            stats: Mutex::default(),
        }
    }

    /// The template for agents that start now.
    pub(crate) fn template(&self) -> Arc<AgentTemplate> {
        Arc::clone(&self.template.lock())
    }

    /// Resets the table for a new conversation; `change` adjusts the template for it.
    pub(crate) fn begin_session(&self, change: impl FnOnce(&mut AgentTemplate)) {
        let mut template = AgentTemplate::clone(&self.template());
        change(&mut template);
        *self.template.lock() = Arc::new(template);
        self.entries().clear();
        self.count(|stats| *stats = SubagentStats::default());
    }

    /// How many agents were started and how they ended.
    pub(crate) fn stats(&self) -> SubagentStats {
        self.stats.lock().clone()
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut SubagentStats)) {
        change(&mut self.stats.lock());
    }

    pub(crate) fn entries(&self) -> MutexGuard<'_, Vec<AgentEntry>> {
        self.entries.lock()
    }

    /// Records `updates` as granted. Returns what others were granted since `seen`, and advances `seen` to the end.
    pub(crate) fn grant(&self, updates: &[PermissionUpdate], seen: &mut usize) -> Vec<PermissionUpdate> {
        let mut all = self.grants.lock();
        let news = all.get(*seen..).map(<[_]>::to_vec).unwrap_or_default();
        all.extend_from_slice(updates);
        *seen = all.len();
        news
    }

    pub(crate) fn record_denial(&self, denial: PermissionDenial) {
        self.denials.lock().push(denial);
    }

    /// Returns and removes the calls of agents that were denied since the last result.
    pub(crate) fn take_denials(&self) -> Vec<PermissionDenial> {
        std::mem::take(&mut *self.denials.lock())
    }

    /// The declared types, read again when their files have changed.
    pub(crate) fn current_definitions(&self) -> Arc<config::agents::AgentDefinitions> {
        let mut known = self.definitions.lock();
        if let Some(roots) = &known.roots
            && !known.declared.are_current()
        {
            let fresh = config::agents::AgentDefinitions::load(roots, &known.explicit);
            known.declared = Arc::new(fresh);
            known.listed_at = Instant::now();
        }
        Arc::clone(&known.declared)
    }

    /// The declared types for a listing: files are not checked again within `LISTING_MAX_AGE`.
    fn recent_definitions(&self) -> Arc<config::agents::AgentDefinitions> {
        let known = self.definitions.lock();
        if known.listed_at.elapsed() < LISTING_MAX_AGE {
            return Arc::clone(&known.declared);
        }
        drop(known);
        self.current_definitions()
    }

    /// The type with that name; a declared one takes precedence over a built-in one.
    pub(crate) fn find(&self, name: &str) -> Option<AgentDefinition> {
        let declared = self.current_definitions();
        declared.find(name).cloned().or_else(|| builtin::all(&self.template().env).into_iter().find(|d| d.name == name))
    }

    /// Every type, built-in ones first.
    pub(crate) fn all(&self) -> Vec<Arc<AgentDefinition>> {
        let declared = self.recent_definitions();
        let own =
            builtin::all(&self.template().env).into_iter().filter(|built_in| declared.find(&built_in.name).is_none());
        own.map(Arc::new).chain(declared.all.iter().cloned()).collect()
    }

    /// Name, scope and estimated tokens of each declared type in the description of the Agent tool.
    pub(crate) fn listing_tokens(&self) -> Vec<(String, &'static str, u64)> {
        let tokens_of = |agent: &AgentDefinition| model::estimate::text(agent.name.len() + agent.description.len());
        self.current_definitions()
            .all
            .iter()
            .map(|agent| (agent.name.clone(), agent.scope.name(), tokens_of(agent)))
            .collect()
    }

    /// The types that the user, the project or the command line declares.
    pub(crate) fn declared_types(&self) -> Vec<Arc<AgentDefinition>> {
        self.current_definitions().all.clone()
    }

    /// The error for an unknown type; it lists the known ones and the files that could not be loaded.
    pub(crate) fn unknown_type_message(&self, name: &str) -> AgentRefusal {
        let names: Vec<String> = self.all().iter().map(|d| d.name.clone()).collect();
        let mut text = format!("Agent type '{name}' not found. Available agents: {}", names.join(", "));
        for skipped in &self.current_definitions().skipped {
            write!(text, "\nNot loaded: {}:{}: {}", skipped.path.display(), skipped.line, skipped.reason).ok();
        }
        text.into()
    }

    /// Adds an agent to the table as running.
    pub(crate) fn admit(self: &Arc<Self>, row: AgentEntry, slot_check: SlotCheck) -> Result<AgentSlot, AgentRefusal> {
        let mut rows = self.entries();
        let running = rows.iter().filter(|row| row.commands.is_some()).count();
        if slot_check == SlotCheck::Needed && running >= self.limits.concurrent {
            self.count(|stats| stats.refused.concurrency_limit += 1);
            return Err(format!(
                "Concurrent subagent limit reached ({running} of {} are running). Do not retry; wait until one has \
                 finished, or do the work yourself.",
                self.limits.concurrent
            )
            .into());
        }
        let id = row.id.clone();
        rows.retain(|known| known.id != id);
        rows.push(row);
        Ok(AgentSlot { agents: Arc::clone(self), id })
    }

    /// Stops a task on behalf of the user; an agent stops together with everything it started. `false` when no task
    /// with that id runs.
    pub(crate) fn stop_for_user(&self, id: &str) -> bool {
        let in_background = self.template().state.tasks.cancel_for_user(id);
        let mut rows = self.entries();
        let Some(row) = rows.iter_mut().find(|row| row.id == id && row.commands.is_some()) else {
            return in_background;
        };
        row.stopped_by_user = true;
        row.stop.cancel();
        true
    }

    /// The command channel of an agent that runs.
    pub(crate) fn channel(&self, id: &str) -> Option<CommandSender> {
        self.entries().iter().find(|row| row.id == id)?.commands.clone()
    }

    /// Stops all background agents on behalf of the user and waits until they have ended.
    pub(crate) async fn stop_all_for_user(&self) {
        let tasks = Arc::clone(&self.template().state.tasks);
        for task in tasks.running().into_iter().filter(tools::tasks::TaskRecord::is_agent) {
            self.stop_for_user(&task.id);
            tasks.stop(&task.id).await;
        }
    }

    /// Like `stop_all_for_user`, but does not wait.
    pub(crate) fn cancel_all_for_user(&self) {
        for task in self.template().state.tasks.running().into_iter().filter(tools::tasks::TaskRecord::is_agent) {
            self.stop_for_user(&task.id);
        }
    }

    /// Adds the definitions the host sent to those of the command line; a new one replaces an old one of the same
    /// name.
    pub(crate) fn declare(&self, given: Vec<AgentDefinition>) {
        let mut known = self.definitions.lock();
        known.explicit.retain(|old| !given.iter().any(|new| new.name == old.name));
        known.explicit.extend(given);
        let roots = known.roots.clone().unwrap_or_default();
        known.declared = Arc::new(config::agents::AgentDefinitions::load(&roots, &known.explicit));
    }

    /// The process ends: agents that still run are counted as stopped by the system, not by the user.
    pub(crate) fn end_with_run(&self) {
        for row in self.entries().iter_mut().filter(|row| row.commands.is_some()) {
            row.stopped_by_system = true;
        }
    }

    /// Counts how an agent ended. A foreground agent is killed only when its turn is interrupted, so that counts as
    /// the user.
    pub(crate) fn count_end(&self, id: &str, status: TaskStatus, is_background: bool) {
        let stopped =
            self.entries().iter().find(|row| row.id == id).map(|row| (row.stopped_by_user, row.stopped_by_system));
        self.count(|stats| match (status, stopped) {
            (TaskStatus::Completed | TaskStatus::Running, _) => stats.completed += 1,
            (TaskStatus::Failed, _) => stats.failed += 1,
            (TaskStatus::Killed, Some((true, _))) => stats.killed.user += 1,
            (TaskStatus::Killed, Some((false, true))) => stats.killed.system += 1,
            (TaskStatus::Killed, _) if is_background => stats.killed.parent += 1,
            (TaskStatus::Killed, _) => stats.killed.user += 1,
        });
    }

    pub(crate) fn is_stopped_by_user(&self, id: &str) -> bool {
        self.entries().iter().any(|row| row.id == id && row.stopped_by_user)
    }
}

/// Whether the limit of concurrent agents is checked; it is not for a resumed agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotCheck {
    Needed,
    Granted,
}

/// A running agent's entry in the table; the agent counts as ended when this is dropped.
pub(crate) struct AgentSlot {
    agents: Arc<AgentTable>,
    id: String,
}

impl Drop for AgentSlot {
    fn drop(&mut self) {
        if let Some(row) = self.agents.entries().iter_mut().find(|row| row.id == self.id) {
            row.commands = None;
        }
    }
}

/// The access of one session (the main thread or an agent) to the table, as the parent of the agents it starts.
pub(crate) struct AgentSpawner {
    pub(crate) agents: Arc<AgentTable>,
    /// The id of the agent this session is; `None` for the main thread.
    pub(crate) id: Option<String>,
    pub(crate) depth: u32,
    /// Cancels the background agents of this session.
    pub(crate) scope: CancellationToken,
    /// The state of the session, for agents that hooks start; `None` before the first turn.
    hook_view: Mutex<Option<Arc<SessionView>>>,
    /// This session is a fork of another.
    is_fork: bool,
}

impl AgentSpawner {
    pub(crate) fn new(agents: Arc<AgentTable>, id: Option<String>, depth: u32, scope: CancellationToken) -> Arc<Self> {
        Arc::new(Self::with_depth(agents, id, depth, scope))
    }

    fn with_depth(agents: Arc<AgentTable>, id: Option<String>, depth: u32, scope: CancellationToken) -> Self {
        Self { agents, id, depth, scope, hook_view: Mutex::default(), is_fork: false }
    }

    /// Like `new`, for a fork.
    pub(crate) fn for_fork(agents: Arc<AgentTable>, id: String, depth: u32, scope: CancellationToken) -> Arc<Self> {
        Arc::new(Self { is_fork: true, ..Self::with_depth(agents, Some(id), depth, scope) })
    }

    /// This session is a fork of another.
    pub(crate) fn is_fork(&self) -> bool {
        self.is_fork
    }

    /// The definition of a fork, or why this session cannot fork.
    pub(crate) fn fork_definition(&self) -> Result<AgentDefinition, AgentRefusal> {
        if let Some(declared) = self.agents.current_definitions().find(builtin::FORK) {
            return Ok(declared.clone());
        }
        match (builtin::has_forks(&self.agents.template().env), self.is_fork) {
            (true, false) if self.depth < self.agents.limits.depth => Ok(builtin::fork()),
            (true, false) => Err(self.too_deep()),
            (true, true) => {
                Err("A fork cannot fork again. Do the work here, or start an agent of another type.".into())
            }
            (false, _) => Err(self.agents.unknown_type_message(builtin::FORK)),
        }
    }

    /// The refusal for an agent below the deepest allowed level.
    pub(crate) fn too_deep(&self) -> AgentRefusal {
        self.agents.count(|stats| stats.refused.depth_limit += 1);
        "Agents cannot be nested deeper than this one.".into()
    }

    /// Remembers the state of the session for agents that hooks start.
    pub(crate) fn set_hook_view(&self, view: Arc<SessionView>) {
        *self.hook_view.lock() = Some(view);
    }

    pub(crate) fn hook_view(&self) -> Result<Arc<SessionView>, AgentRefusal> {
        self.hook_view.lock().clone().ok_or_else(|| "No agent can be started before the first request was made.".into())
    }

    /// Runs a skill as an agent, to its end.
    pub(crate) fn run_forked_skill(
        self: &Arc<Self>,
        fork: ForkedSkill,
        policy: &Policy,
        cx: CallContext,
    ) -> BoxFuture<'static, Result<ToolOutcome, AgentRefusal>> {
        self.agents.runner.run_forked_skill(Arc::clone(self), fork, policy, cx)
    }

    /// Whether an agent of this session could start agents itself.
    pub(crate) fn may_nest(&self) -> bool {
        self.depth + 1 < self.agents.limits.depth
    }
}
