//! Makes the session an agent is: its own history, transcript, tools, rules and read state, from what all agents of the
//! session share. Nothing is written and nothing is sent here.

use super::voice::{Forward, Voice};
use super::{AgentTool, Agents, Live, Mind, Refused, SendMessage, Spawner, builtin, send_message, tool, toolset};
use crate::ask::Asker;
use crate::calls::interact;
use crate::command::{COMMAND_QUEUE, Commands};
use crate::context::{Context, Limits, Models, Parts, Reminders, RequestSettings};
use crate::control::{Control, ModeChoice};
use crate::grants::{Bypass, ModeOf};
use crate::history::Part;
use crate::hooks::{Agent, Fresh, Hooking, Seed};
use crate::host::Host;
use crate::ledger::Ledger;
use crate::lore::{self, Lore, Teaching};
use crate::pressure::{Pressure, Wishes};
use crate::prompts::{self, Environment};
use crate::reload::{Instructions, Watch};
use crate::resume;
use crate::scribe::Scribe;
use crate::session::{HostFlags, InitFacts, Io, Session, Start};
use crate::side::Side;
use crate::worktree::{EnterWorktree, ExitWorktree, Worktree};
use config::agents::{AgentMemory, Definition};
use model::catalog::Served;
use model::{Catalog, Fragment, Identity, Turn};
use permission::Policy;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Persist, Transcript};
use sys::Env;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::state::{SessionFacts, ToolState};
use tools::{Registry, Workspace};
use wire::entry::Tail;
use wire::mode::PermissionMode;
use wire::sdk::AgentStamp;

/// What of an agent's notes it is told at start.
const NOTES_LINES: usize = 200;
const NOTES_BYTES: usize = 25 * 1024;

/// What every agent of a session is made from.
#[derive(Clone)]
pub(crate) struct Kit {
    pub env: Env,
    /// The main thread's.
    pub host: Host,
    pub catalog: Arc<Catalog>,
    pub identity: Arc<Identity>,
    pub small_model: String,
    pub tail: Tail,
    pub persist: Persist,
    pub session_dir: PathBuf,
    pub state: Arc<ToolState>,
    pub directories: Workspace,
    /// Shares its totals with the main thread's.
    pub ledger: Ledger,
    pub request: RequestSettings,
    pub fallbacks: Vec<String>,
    /// When its conversation is shortened.
    pub wishes: Wishes,
    pub served: Served,
    /// The main thread's, as hooks are told of it.
    pub transcript: PathBuf,
    pub teaching: Teaching,
    /// Where skills are declared; `None` when nothing of the disk counts.
    pub roots: Option<config::roots::Roots>,
    /// Instruction files, without the notes of earlier sessions.
    pub memory: Vec<config::MemoryFile>,
    /// Names of the session's tools, those that start agents included.
    pub tools: Vec<String>,
    /// The session's MCP servers.
    pub servers: Arc<crate::mcp::Servers>,
    pub concurrency: usize,
    pub forward: Forward,
    /// `--append-subagent-system-prompt`
    pub append_prompt: Option<String>,
    pub max_budget_usd: Option<f64>,
    pub facts: InitFacts,
    /// Hears of every line of every transcript.
    pub mirror: Option<store::Tap>,
}

/// What one agent is.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) id: String,
    pub(super) definition: Definition,
    pub(super) description: String,
    pub(super) name: Option<String>,
    /// The call that started it.
    pub(super) tool_use_id: String,
    pub(super) model: String,
    pub(super) mode: PermissionMode,
    pub(super) effort: Option<String>,
    pub(super) background: bool,
    pub(super) depth: u32,
    /// The agent that started it.
    pub(super) parent: Option<String>,
    pub(super) place: PathBuf,
    pub(super) worktree: Option<Worktree>,
    /// Of the skill it carries out.
    pub(super) hooks: Option<hooks::Layer>,
    pub(super) purpose: Purpose,
}

/// What an agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Task,
    /// A hook asked it. The host hears nothing of its work, and no model is asked about it in turn.
    Judgement,
}

/// A session that waits for its first prompt.
pub(super) struct Child {
    pub(super) session: Session,
    pub(super) commands: Commands,
    pub(super) voice: Arc<Voice>,
}

/// `past` is the conversation of an agent that is taken up again.
pub(super) fn build(
    spawner: &Spawner,
    live: Live,
    sheet: &Sheet,
    past: Option<store::Loaded>,
    scope: CancellationToken,
) -> Result<Child, Refused> {
    let agents = &spawner.agents;
    let kit = &agents.kit();
    let stamp = AgentStamp {
        agent_id: sheet.id.clone(),
        subagent_type: sheet.definition.name.clone(),
        task_description: sheet.description.clone(),
    };
    let forward = if sheet.purpose == Purpose::Judgement { Forward::Nothing } else { kit.forward };
    let voice = Arc::new(Voice::new(stamp, sheet.tool_use_id.clone(), forward));
    let host = kit.host.for_agent(Arc::clone(&voice));
    let forked = builtin::is_fork(&sheet.definition).then(|| live.mind.clone()).flatten();
    let own = match &forked {
        Some(_) => Spawner::for_fork(Arc::clone(agents), sheet.id.clone(), sheet.depth, scope.clone()),
        None => Spawner::new(Arc::clone(agents), Some(sheet.id.clone()), sheet.depth, scope.clone()),
    };
    let shape = toolset::Shape { background: sheet.background, may_nest: spawner.may_nest(), mode: sheet.mode };
    let names = names(kit, sheet, shape, forked.is_some())?;
    let mut watch = live.watch;
    if sheet.worktree.is_some() {
        watch.move_to(&sheet.place);
    }
    // Notes are the main thread's.
    watch.place.notes.clear();
    let omits = sheet.definition.omit_claude_md;
    watch.instructions = if omits { Instructions::None } else { Instructions::WithoutNotes };
    let plan = live.plan.for_agent(&sheet.id);
    watch.place.plan_file = Some(plan.file.clone());
    watch.place.readable.push(plan.file.clone());
    let policy = watch.policy(sheet.mode);
    let mut start = Start::default();
    let mut past = past;
    if let Some(loaded) = &past {
        start.owed = super::recover::owed(loaded, &kit.session_dir, Some(&sheet.id));
    }
    let leaf = past.as_ref().and_then(|loaded| loaded.leaf_uuid.as_deref().map(str::to_owned));
    let mut restored = past.as_mut().map(resume::restore);
    let remembered = restored.as_mut().map(|r| std::mem::take(&mut r.servers)).unwrap_or_default();
    let told = restored.as_ref().map(|r| r.told_skills.clone()).unwrap_or_default();
    let mut teaching = kit.teaching.clone();
    if sheet.definition.omit_claude_md {
        teaching.0.lazy = config::nested::Lazy::default();
    }
    let lore = teaching.begin(told);
    let mut registry = registry(&names, &own, &policy, &lore);
    if matches!(live.asker, Asker::Host(_)) {
        registry.offer(interact::EXIT);
    }
    let registry = Arc::new(registry);
    let identity = Arc::new(Identity {
        agent_id: Some(sheet.id.clone()),
        parent_agent_id: sheet.parent.clone(),
        ..(*kit.identity).clone()
    });
    let context = match &forked {
        Some(mind) => copied(kit, sheet, mind, Arc::clone(&identity)),
        None => context(kit, sheet, &registry, Arc::clone(&identity), restored)?,
    };
    let mcp = crate::mcp::of_agent(&kit.servers, &registry, &sheet.definition, move |definition, name| {
        toolset::choose(&[name.to_owned()], definition, shape).is_ok_and(|chosen| !chosen.is_empty())
    })
    .going_on(remembered);
    let (commands, receiver) = mpsc::channel(COMMAND_QUEUE);
    // A definition's own mode stays whatever the host chooses for the session, except for plan mode.
    let is_own = tool::is_own_mode(&sheet.definition, live.mode);
    let mode_of = if is_own { ModeOf::Definition } else { live.mode_of };
    let io = Io {
        hooks: hooking(kit, sheet, live.hooks, (&watch, &own)),
        chosen_mode: live.chosen_mode,
        mode_of,
        bypass: live.bypass,
        asker: live.asker,
        grants_seen: live.grants_seen,
        env: kit.env.clone(),
        scribe: scribe(kit, sheet, leaf),
        link: live.link,
        side: Arc::new(Side::new(identity, kit.small_model.clone())),
        policy: Arc::new(policy),
        watch,
        mode: sheet.mode,
        registry,
        state: Arc::new(tool_state(kit, sheet, plan.file.clone())),
        directories: directories(kit, sheet),
        structured: None,
        ledger: kit.ledger.for_agent(),
        denials: Vec::new(),
        concurrency: kit.concurrency,
        live: None,
        flags: HostFlags::default(),
        facts: kit.facts.clone(),
        results: 0,
        spawner: own,
        lore,
        mcp,
        fence: sheet.worktree.as_ref().map(Worktree::fence).or(live.fence),
        stay: None,
        owed: Vec::new(),
        plan,
        host,
    };
    // It asks the root's host, and only the root's host chooses modes.
    let modes = ModeChoice { chosen: watch::channel(None).0, bypass: Bypass::Closed };
    let control = Control::new(receiver, None, modes).within(scope);
    Ok(Child { session: Session { control, context, io, start, again: None }, commands, voice })
}

/// The tools it may use. A fork is offered what its session is offered, byte for byte.
fn names(kit: &Kit, sheet: &Sheet, shape: toolset::Shape, is_fork: bool) -> Result<BTreeSet<String>, Refused> {
    if is_fork {
        return Ok(kit.tools.iter().cloned().collect());
    }
    let base = crate::mcp::with_server_tools(&kit.tools, &kit.servers, &sheet.definition);
    toolset::choose(&base, &sheet.definition, shape)
}

/// The session's hooks and those of the definition, whose Stop is the agent's.
fn hooking(kit: &Kit, sheet: &Sheet, seed: Seed, (watch, spawner): (&Watch, &Arc<Spawner>)) -> Hooking {
    let definition = &sheet.definition;
    let agent = Agent { id: sheet.id.clone(), kind: definition.name.clone(), transcript: kit.transcript.clone() };
    let declared = definition.hooks.as_ref().and_then(serde_json::Value::as_object);
    let own = declared.map(|declared| {
        let stop = |event: &str| if event == "Stop" { "SubagentStop".to_owned() } else { event.to_owned() };
        let hooks = declared.iter().map(|(event, groups)| (stop(event), groups.clone())).collect();
        hooks::Layer { origin: hooks::Origin::Agent { name: definition.name.clone() }, hooks }
    });
    let layers = own.into_iter().chain(sheet.hooks.clone()).collect();
    let mut hooking = seed.for_agent(Fresh { agent, cwd: sheet.place.clone(), layers, watch, spawner });
    if sheet.purpose == Purpose::Judgement {
        hooking.leave_out_models(watch);
    }
    hooking
}

fn registry(names: &BTreeSet<String>, own: &Arc<Spawner>, policy: &Policy, lore: &Lore) -> Registry {
    let mut registry = Registry::new(|name| names.contains(name) && !policy.removes(name));
    if names.contains(lore::tool::NAME) && !policy.removes(lore::tool::NAME) {
        registry.add(lore.tool());
    }
    if names.contains(tool::NAME) {
        registry.add(Arc::new(AgentTool::new(Arc::clone(own), policy, tool::Types::All)));
    }
    if names.contains(send_message::NAME) {
        registry.add(Arc::new(SendMessage::new(Arc::clone(own))));
    }
    if names.contains(EnterWorktree::NAME) && !policy.removes(EnterWorktree::NAME) {
        registry.add(Arc::new(EnterWorktree::new(Arc::clone(own))));
        registry.add(Arc::new(ExitWorktree::new(Arc::clone(own))));
    }
    registry
}

fn scribe(kit: &Kit, sheet: &Sheet, leaf: Option<String>) -> Scribe {
    let path = store::agents::transcript_path(&kit.session_dir, &sheet.id);
    let tail = Tail { cwd: sheet.place.display().to_string(), ..kit.tail.clone() };
    let transcript = Transcript::open(path, kit.persist).tapped(kit.mirror.clone());
    Scribe::new(transcript, kit.persist, tail, leaf).for_agent(&sheet.id)
}

fn tool_state(kit: &Kit, sheet: &Sheet, plan_file: PathBuf) -> ToolState {
    let facts = kit.catalog.lookup(&sheet.model);
    let session = SessionFacts {
        agent_id: Some(sheet.id.clone()),
        plan_file: Some(plan_file),
        read_before_edit: facts.read_before_edit,
        documents: facts.known,
        effort: sheet.effort.clone().or_else(|| kit.state.facts.effort.clone()),
        ..kit.state.facts.clone()
    };
    kit.state.for_agent(session, sheet.place.clone())
}

fn directories(kit: &Kit, sheet: &Sheet) -> Workspace {
    Workspace { cwd: sheet.place.clone(), project: sheet.place.clone(), ..kit.directories.clone() }
}

fn context(
    kit: &Kit,
    sheet: &Sheet,
    registry: &Registry,
    identity: Arc<Identity>,
    restored: Option<resume::Restored>,
) -> Result<Context, Refused> {
    let (history, told_date, context_told) =
        restored.map_or((Vec::new(), None, false), |r| (r.history, r.told_date, r.context_told));
    let files = if sheet.definition.omit_claude_md { Vec::new() } else { kit.memory.clone() };
    let fallbacks = kit.fallbacks.iter().filter(|name| **name != sheet.model).cloned().collect();
    Ok(Context::new(Parts {
        catalog: Arc::clone(&kit.catalog),
        history: history.into(),
        pressure: Pressure::new(kit.wishes, &kit.env, kit.served),
        models: Models::new(sheet.model.clone(), fallbacks),
        settings: RequestSettings {
            effort: sheet.effort.clone().or_else(|| kit.request.effort.clone()),
            identity,
            ..kit.request.clone()
        },
        tools: registry.tool_fragments().into_iter().map(Fragment::new).collect(),
        system: system(kit, sheet)?.iter().map(|text| Fragment::text(text)).collect(),
        reminders: Reminders { files, told_date, context_told, notes: None },
        limits: Limits { max_turns: sheet.definition.max_turns, max_budget_usd: kit.max_budget_usd, output_retries: 0 },
    }))
}

/// A fork begins with what its session was sent, so that the prefix of its requests is already known to the server.
fn copied(kit: &Kit, sheet: &Sheet, mind: &Mind, identity: Arc<Identity>) -> Context {
    let as_sent = |turn: &Turn| (turn.clone(), Part::Other, String::new());
    let history: Vec<(Turn, Part, String)> = mind.turns.iter().map(as_sent).collect();
    let fallbacks = kit.fallbacks.iter().filter(|name| **name != sheet.model).cloned().collect();
    Context::new(Parts {
        catalog: Arc::clone(&kit.catalog),
        history: history.into(),
        pressure: Pressure::new(kit.wishes, &kit.env, kit.served),
        models: Models::new(sheet.model.clone(), fallbacks),
        settings: RequestSettings { identity, ..kit.request.clone() },
        tools: mind.tools.to_vec(),
        system: mind.system.to_vec(),
        reminders: Reminders { files: Vec::new(), notes: None, told_date: mind.told_date.clone(), context_told: true },
        limits: Limits { max_turns: None, max_budget_usd: kit.max_budget_usd, output_retries: 0 },
    })
}

/// Its own prompt, what it needs to know of the machine, its skills and notes, and what is appended to every agent's.
fn system(kit: &Kit, sheet: &Sheet) -> Result<Vec<String>, Refused> {
    let prompt = sheet.definition.prompt.read()?;
    let mut parts = vec![prompt, environment(kit, sheet)];
    parts.extend(skills(kit, &sheet.definition));
    parts.extend(sheet.definition.memory.map(|memory| notes(kit, sheet, memory)));
    parts.extend(kit.append_prompt.clone());
    parts.retain(|text| !text.trim().is_empty());
    Ok(parts)
}

fn environment(kit: &Kit, sheet: &Sheet) -> String {
    let additional: Vec<String> = kit.directories.additional.iter().map(|d| d.display().to_string()).collect();
    let shell = kit.env.non_empty("SHELL").unwrap_or("bash");
    let branch = sys::git::branch(&sheet.place);
    let mut text = prompts::environment(&Environment {
        cwd: &sheet.place.display().to_string(),
        additional: &additional,
        branch: Some(branch.as_str()).filter(|b| !b.is_empty()),
        platform: std::env::consts::OS,
        os: sys::machine::os_version(),
        shell: shell.rsplit('/').next().unwrap_or(shell),
        model: &sheet.model,
    });
    text.push_str("\n- Every shell command starts in the working directory: use absolute paths instead of cd.");
    if let Some(worktree) = &sheet.worktree {
        text.push_str(&worktree.describe());
    }
    text
}

/// The bodies of the skills the definition names. One that does not exist is only logged.
fn skills(kit: &Kit, definition: &Definition) -> Vec<String> {
    if definition.skills.is_empty() {
        return Vec::new();
    }
    let Some(known) = kit.skills() else { return Vec::new() };
    let body = |name: &String| {
        let Some(skill) = known.find(name) else {
            tracing::warn!(skill = name, agent = definition.name, "the agent names a skill that does not exist");
            return None;
        };
        match skill.body() {
            Ok(body) => Some(format!("# Skill: {name}\nIts files are in {}.\n\n{body}", skill.dir.display())),
            Err(error) => {
                tracing::warn!(%error, agent = definition.name, "a skill of the agent cannot be read");
                None
            }
        }
    };
    definition.skills.iter().filter_map(body).collect()
}

impl Kit {
    fn skills(&self) -> Option<config::skills::Skills> {
        let roots = self.roots.as_ref()?;
        Some(config::skills::Skills::load(roots, &[], &std::collections::BTreeMap::new()))
    }
}

/// Where the agent keeps notes, and the beginning of those it has.
fn notes(kit: &Kit, sheet: &Sheet, memory: AgentMemory) -> String {
    let project = &kit.directories.project;
    let (base, folder) = match memory {
        AgentMemory::User => (kit.state.facts.config_home.clone(), "agent-memory"),
        AgentMemory::Project => (project.join(".claude"), "agent-memory"),
        AgentMemory::Local => (project.join(".claude"), "agent-memory-local"),
    };
    let dir = base.join(folder).join(&sheet.definition.name);
    if let Err(error) = std::fs::create_dir_all(&dir) {
        tracing::warn!(%error, dir = %dir.display(), "the agent's notes have no folder");
    }
    let index = dir.join("MEMORY.md");
    let read = sys::fs::read_limited(&index, NOTES_BYTES).ok();
    let text = read.map(|read| String::from_utf8_lossy(&read.bytes).into_owned()).unwrap_or_default();
    let kept: String = text.split_inclusive('\n').take(NOTES_LINES).collect();
    format!(
        "# Your notes\nYou keep notes between tasks in {}. Put what is worth knowing next time into files there and list \
         them in MEMORY.md; correct what turned out wrong.\n\nMEMORY.md now:\n{}",
        dir.display(),
        if kept.trim().is_empty() { "(empty)" } else { kept.trim_end() }
    )
}

impl Agents {
    /// Whether the session has spent what it may.
    pub(super) fn is_over_budget(&self) -> bool {
        let kit = self.kit();
        kit.max_budget_usd.is_some_and(|max| kit.ledger.cost() >= max)
    }
}
