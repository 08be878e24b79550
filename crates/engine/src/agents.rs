//! Subagents: sessions inside the session. Each has its own history, transcript, read state and tools, and no host: what
//! it says goes up marked as its, what it asks goes to the root. One table knows all of them, whoever started them; an
//! agent ends with the one that started it, and its result is delivered exactly once.

mod builtin;
mod child;
mod judge;
mod limits;
mod mention;
pub(crate) mod recover;
mod report;
mod run;
mod send_message;
mod tool;
mod toolset;
pub(crate) mod voice;

pub(crate) use child::Kit;
pub(crate) use judge::judge;
pub(crate) use send_message::SendMessage;
pub(crate) use tool::{AgentTool, Fork, Types as AgentTypes, fork};
pub(crate) use toolset::covers;

use crate::ask::Asker;
use crate::command::Commands;
use crate::context::Context;
use crate::grants::{Bypass, ModeOf};
use crate::hooks::Seed;
use crate::link::Link;
use crate::reload::Watch;
use crate::session::Io;
use crate::worktree::{EnterWorktree, ExitWorktree, Fence, Move, Remote, Stay, WorktreeHooks};
use config::agents::Definition;
use config::roots::Roots;
use limits::Limits;
use model::{Fragment, Turn};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tools::tasks::TaskStatus;
use wire::control::PermissionUpdate;
use wire::mode::PermissionMode;
use wire::sdk::{PermissionDenial, SubagentStats};

/// What a call without a type gets.
pub(crate) const DEFAULT_TYPE: &str = "general-purpose";

/// The agents of one session, and what they are made from.
pub(crate) struct Agents {
    /// Replaced when another conversation begins.
    kit: Mutex<Arc<Kit>>,
    limits: Limits,
    definitions: Mutex<Definitions>,
    rows: Mutex<Vec<Row>>,
    /// What the host granted, whoever asked: it holds for the whole session.
    grants: Mutex<Vec<PermissionUpdate>>,
    /// What agents were denied, until a result names it.
    denials: Mutex<Vec<PermissionDenial>>,
    stats: Mutex<SubagentStats>,
}

/// Declared agent types, read again when their files change.
struct Definitions {
    roots: Option<Roots>,
    given: Vec<Definition>,
    declared: Arc<config::agents::Agents>,
    listed_at: Instant,
}

/// How long a listing of agent types counts as just read.
const MOMENT: Duration = Duration::from_millis(100);

/// One agent that was started in this process.
struct Row {
    id: String,
    name: Option<String>,
    agent_type: String,
    description: String,
    /// The way to a running one.
    commands: Option<Commands>,
    stop: CancellationToken,
    stopped_by_user: bool,
    /// The run ends, and this with it.
    stopped_by_system: bool,
}

/// Why no agent starts. The text goes to the model.
pub(crate) type Refused = String;

impl Agents {
    /// `roots` is `None` when nothing of the disk counts.
    pub(crate) fn new(kit: Kit, roots: Option<Roots>, given: Vec<Definition>) -> Self {
        let declared = match &roots {
            Some(roots) => config::agents::Agents::load(roots, &given),
            None => config::agents::Agents::load(&Roots::default(), &given),
        };
        let limits = Limits::from_env(&kit.env);
        let listed_at = Instant::now();
        let definitions = Mutex::new(Definitions { roots, given, declared: Arc::new(declared), listed_at });
        let kit = Mutex::new(Arc::new(kit));
        Self {
            kit,
            limits,
            definitions,
            rows: Mutex::default(),
            grants: Mutex::default(),
            denials: Mutex::default(),
            stats: Mutex::default(),
        }
    }

    /// What agents are made from now.
    pub(crate) fn kit(&self) -> Arc<Kit> {
        Arc::clone(&self.kit.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another conversation begins: its agents are new, and made from what `change` makes of the kit.
    pub(crate) fn begin_session(&self, change: impl FnOnce(&mut Kit)) {
        let mut kit = Kit::clone(&self.kit());
        change(&mut kit);
        *self.kit.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(kit);
        self.rows().clear();
        self.count(|stats| *stats = SubagentStats::default());
    }

    /// What became of agents so far.
    pub(crate) fn stats(&self) -> SubagentStats {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, change: impl FnOnce(&mut SubagentStats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was granted just now. What others were granted since `seen`, which then covers everything.
    pub(crate) fn grant(&self, updates: &[PermissionUpdate], seen: &mut usize) -> Vec<PermissionUpdate> {
        let mut all = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        let news = all.get(*seen..).map(<[_]>::to_vec).unwrap_or_default();
        all.extend_from_slice(updates);
        *seen = all.len();
        news
    }

    pub(crate) fn note_denial(&self, denial: PermissionDenial) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).push(denial);
    }

    /// What agents were denied since the last result.
    pub(crate) fn take_denials(&self) -> Vec<PermissionDenial> {
        std::mem::take(&mut *self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is declared now.
    fn declared(&self) -> Arc<config::agents::Agents> {
        let mut known = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roots) = &known.roots
            && !known.declared.are_current()
        {
            let fresh = config::agents::Agents::load(roots, &known.given);
            known.declared = Arc::new(fresh);
            known.listed_at = Instant::now();
        }
        Arc::clone(&known.declared)
    }

    /// What is declared, for a listing: what was read a moment ago is not looked at again.
    fn listed(&self) -> Arc<config::agents::Agents> {
        let known = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if known.listed_at.elapsed() < MOMENT {
            return Arc::clone(&known.declared);
        }
        drop(known);
        self.declared()
    }

    /// The type of that name: a declared one goes before a built-in one.
    pub(crate) fn find(&self, name: &str) -> Option<Definition> {
        let declared = self.declared();
        declared.find(name).cloned().or_else(|| builtin::all(&self.kit().env).into_iter().find(|d| d.name == name))
    }

    /// Every type, built-in ones first.
    pub(crate) fn all(&self) -> Vec<Arc<Definition>> {
        let declared = self.listed();
        let own = builtin::all(&self.kit().env).into_iter().filter(|built_in| declared.find(&built_in.name).is_none());
        own.map(Arc::new).chain(declared.all.iter().cloned()).collect()
    }

    /// What the listing of agents weighs in the tool that starts them.
    pub(crate) fn weights(&self) -> Vec<(String, &'static str, u64)> {
        let weigh = |agent: &Definition| model::estimate::text(agent.name.len() + agent.description.len());
        self.declared().all.iter().map(|agent| (agent.name.clone(), agent.scope.name(), weigh(agent))).collect()
    }

    /// Types of the user and the project.
    pub(crate) fn declared_types(&self) -> Vec<Arc<Definition>> {
        self.declared().all.clone()
    }

    /// What to say about a type nobody declared.
    fn unknown(&self, name: &str) -> Refused {
        let names: Vec<String> = self.all().iter().map(|d| d.name.clone()).collect();
        let mut text = format!("Agent type '{name}' not found. Available agents: {}", names.join(", "));
        for skipped in &self.declared().skipped {
            write!(text, "\nNot loaded: {}:{}: {}", skipped.path.display(), skipped.line, skipped.reason).ok();
        }
        text
    }

    /// Takes a place among the running ones.
    fn admit(self: &Arc<Self>, row: Row, room: Room) -> Result<Seat, Refused> {
        let mut rows = self.rows();
        let running = rows.iter().filter(|row| row.commands.is_some()).count();
        if room == Room::Needed && running >= self.limits.concurrent {
            self.count(|stats| stats.refused.concurrency_limit += 1);
            return Err(format!(
                "Concurrent subagent limit reached ({running} of {} are running). Do not retry; wait until one has \
                 finished, or do the work yourself.",
                self.limits.concurrent
            ));
        }
        let id = row.id.clone();
        rows.retain(|known| known.id != id);
        rows.push(row);
        Ok(Seat { agents: Arc::clone(self), id })
    }

    /// Ends a task, an agent with everything it started, because a person wants it to. `false` when none of that id runs.
    pub(crate) fn stop_for_user(&self, id: &str) -> bool {
        let in_background = self.kit().state.tasks.cancel_for_user(id);
        let mut rows = self.rows();
        let Some(row) = rows.iter_mut().find(|row| row.id == id && row.commands.is_some()) else {
            return in_background;
        };
        row.stopped_by_user = true;
        row.stop.cancel();
        true
    }

    /// An interrupt ends the agents in the background too.
    pub(crate) async fn stop_all_for_user(&self) {
        let tasks = Arc::clone(&self.kit().state.tasks);
        for task in tasks.running().into_iter().filter(tools::tasks::Task::is_agent) {
            self.stop_for_user(&task.id);
            tasks.stop(&task.id).await;
        }
    }

    /// The same without waiting for their ends.
    pub(crate) fn cancel_all_for_user(&self) {
        for task in self.kit().state.tasks.running().into_iter().filter(tools::tasks::Task::is_agent) {
            self.stop_for_user(&task.id);
        }
    }

    /// The host declares these from now on, besides those of the command line.
    pub(crate) fn declare(&self, given: Vec<Definition>) {
        let mut known = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        known.given.retain(|old| !given.iter().any(|new| new.name == old.name));
        known.given.extend(given);
        let roots = known.roots.clone().unwrap_or_default();
        known.declared = Arc::new(config::agents::Agents::load(&roots, &known.given));
    }

    /// The run ends: what still runs is not ended by anybody's wish.
    pub(crate) fn end_with_run(&self) {
        for row in self.rows().iter_mut().filter(|row| row.commands.is_some()) {
            row.stopped_by_system = true;
        }
    }

    /// Counts how an agent ended. One that its own call waited for ends before its time only with the turn.
    fn count_end(&self, id: &str, status: TaskStatus, is_background: bool) {
        let stopped =
            self.rows().iter().find(|row| row.id == id).map(|row| (row.stopped_by_user, row.stopped_by_system));
        self.count(|stats| match (status, stopped) {
            (TaskStatus::Completed | TaskStatus::Running, _) => stats.completed += 1,
            (TaskStatus::Failed, _) => stats.failed += 1,
            (TaskStatus::Killed, Some((true, _))) => stats.killed.user += 1,
            (TaskStatus::Killed, Some((false, true))) => stats.killed.system += 1,
            (TaskStatus::Killed, _) if is_background => stats.killed.parent += 1,
            (TaskStatus::Killed, _) => stats.killed.user += 1,
        });
    }

    fn is_stopped_by_user(&self, id: &str) -> bool {
        self.rows().iter().any(|row| row.id == id && row.stopped_by_user)
    }
}

/// Whether a limit holds for a new agent; one that is taken up again is let in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Needed,
    Granted,
}

/// A running agent's place; given back when dropped.
struct Seat {
    agents: Arc<Agents>,
    id: String,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(row) = self.agents.rows().iter_mut().find(|row| row.id == self.id) {
            row.commands = None;
        }
    }
}

/// One session's side of it: the main thread or an agent, as the one who starts agents.
pub(crate) struct Spawner {
    pub(crate) agents: Arc<Agents>,
    /// The agent this session is; `None` for the main thread.
    id: Option<String>,
    depth: u32,
    /// What its background agents end with.
    scope: CancellationToken,
    live: Mutex<Option<Live>>,
    /// Where the session goes once the call that decided it has ended.
    next_place: Mutex<Option<Move>>,
    /// This session is a copy of another.
    is_fork: bool,
}

/// How the session stands when a call is made.
#[derive(Clone)]
struct Live {
    watch: Watch,
    mode: PermissionMode,
    model: String,
    link: Link,
    /// Where its agents start.
    place: PathBuf,
    fence: Option<Arc<Fence>>,
    stay: Option<Arc<Stay>>,
    worktree_hooks: WorktreeHooks,
    hooks: Seed,
    /// The root's.
    asker: Asker,
    chosen_mode: watch::Receiver<Option<PermissionMode>>,
    mode_of: ModeOf,
    bypass: Bypass,
    grants_seen: usize,
    plan: crate::plan::Planning,
    /// What a fork begins with, where forks are switched on.
    mind: Option<Arc<Mind>>,
}

/// The conversation of a session at one moment, as it is sent.
pub(crate) struct Mind {
    pub(crate) system: Arc<[Fragment]>,
    pub(crate) tools: Arc<[Fragment]>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) told_date: Option<String>,
}

impl Live {
    fn remote(&self) -> Remote {
        if self.watch.loaded.trusted { Remote::MayBeAsked } else { Remote::AsLastSeen }
    }
}

/// Where a session works, for the calls that move it.
pub(crate) struct Standing {
    pub(crate) place: PathBuf,
    pub(crate) stay: Option<Arc<Stay>>,
    /// It is kept inside a worktree.
    pub(crate) fenced: bool,
    pub(crate) settings: wire::settings::Worktree,
    pub(crate) remote: Remote,
    pub(crate) hooks: WorktreeHooks,
    pub(crate) env: sys::Env,
}

impl Spawner {
    pub(crate) fn new(agents: Arc<Agents>, id: Option<String>, depth: u32, scope: CancellationToken) -> Arc<Self> {
        Arc::new(Self::made(agents, id, depth, scope))
    }

    fn made(agents: Arc<Agents>, id: Option<String>, depth: u32, scope: CancellationToken) -> Self {
        Self { agents, id, depth, scope, live: Mutex::default(), next_place: Mutex::default(), is_fork: false }
    }

    /// As `new`, for a fork.
    fn for_fork(agents: Arc<Agents>, id: String, depth: u32, scope: CancellationToken) -> Arc<Self> {
        Arc::new(Self { is_fork: true, ..Self::made(agents, Some(id), depth, scope) })
    }

    /// The type of a fork, where one can be made.
    fn forkable(&self) -> Result<Definition, Refused> {
        if let Some(declared) = self.agents.declared().find(builtin::FORK) {
            return Ok(declared.clone());
        }
        match (builtin::has_forks(&self.agents.kit().env), self.is_fork) {
            (true, false) if self.depth < self.agents.limits.depth => Ok(builtin::fork()),
            (true, false) => Err(self.too_deep()),
            (true, true) => {
                Err("A fork cannot fork again. Do the work here, or start an agent of another type.".into())
            }
            (false, _) => Err(self.agents.unknown(builtin::FORK)),
        }
    }

    /// What is said instead of starting an agent below the last layer.
    fn too_deep(&self) -> Refused {
        self.agents.count(|stats| stats.refused.depth_limit += 1);
        "Agents cannot be nested deeper than this one.".into()
    }

    /// Told before calls run, so that an agent starts from what holds now.
    pub(crate) fn publish(&self, io: &Io, context: &Context) {
        let forks = builtin::has_forks(&io.env) && !self.is_fork;
        let live = Live {
            mind: forks.then(|| Arc::new(context.mind())),
            watch: io.watch.clone(),
            mode: io.mode,
            model: context.model().to_owned(),
            link: io.link.clone(),
            place: io.directories.project.clone(),
            fence: io.fence.clone(),
            stay: io.stay.clone(),
            worktree_hooks: io.worktree_hooks(),
            hooks: io.hooks.seed(),
            asker: io.asker.clone(),
            chosen_mode: io.chosen_mode.clone(),
            mode_of: io.mode_of,
            bypass: io.bypass,
            grants_seen: io.grants_seen,
            plan: io.plan.clone(),
        };
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
    }

    fn live(&self) -> Result<Live, Refused> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
        live.ok_or_else(|| "No agent can be started before the first request was made.".into())
    }

    pub(crate) fn standing(&self) -> Result<Standing, Refused> {
        let live = self.live()?;
        Ok(Standing {
            remote: live.remote(),
            settings: live.watch.loaded.settings.worktree.clone(),
            fenced: live.fence.is_some(),
            place: live.place,
            stay: live.stay,
            hooks: live.worktree_hooks,
            env: self.agents.kit().env.clone(),
        })
    }

    /// Carried out by the session when the call has ended.
    pub(crate) fn decide_move(&self, place: Move) {
        *self.next_place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    pub(crate) fn take_move(&self) -> Option<Move> {
        self.next_place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether an agent of this session could start agents itself.
    fn may_nest(&self) -> bool {
        self.depth + 1 < self.agents.limits.depth
    }
}

/// Whether a batch of calls needs `Spawner::publish`.
pub(crate) fn are_concerned<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|name| {
        let moves = [EnterWorktree::NAME, ExitWorktree::NAME];
        let name = wire::names::canonical(name);
        matches!(name, tool::NAME | send_message::NAME | "Skill") || moves.contains(&name)
    })
}
