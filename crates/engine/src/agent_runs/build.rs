//! Builds the session of an agent (history, transcript, tools, rules, read state) from the template that all agents
//! of a session share. Writes nothing and sends nothing.

use super::{AgentTool, SendMessage, tool};
use crate::agents::AgentTemplate;
use crate::agents::{AgentRefusal, AgentSpawner, AgentTable, builtin, toolset};
use crate::control::{ModeChoice, SessionControl};
use crate::session::{
    LiveSession, RulesParts, SessionIo, SessionKnowledge, SessionOutput, SessionProvider, SessionRules, SessionTooling,
    StartState,
};
use crate::skill_tool::SkillTool;
use crate::view::SessionView;
use crate::worktree_tools::{EnterWorktree, ExitWorktree};
use config::agents::{AgentDefinition, AgentMemory};
use model::{Fragment, Message, RequestIdentity};
use permission::Policy;
use session_parts::command::{COMMAND_QUEUE, CommandSender};
use session_parts::compaction_policy::CompactionPolicy;
use session_parts::context::ForkContext;
use session_parts::context::{ContextParts, ModelChain, ModelContext, Reminders, RequestSettings, TurnLimits};
use session_parts::grants::{BypassAvailability, ModeOwner};
use session_parts::history::HistoryPart;
use session_parts::hooks::HookJudge;
use session_parts::hooks::{AgentHookParams, HookAgent, InheritedHooks, SessionHooks};
use session_parts::host::HostFlags;
use session_parts::host::{AgentOutput, ForwardMode};
use session_parts::permission_prompt::PermissionChannel;
use session_parts::plan::PlanState;
use session_parts::prompts::{self, PromptEnvironment};
use session_parts::resume;
use session_parts::settings_watch::{InstructionScope, SettingsWatch};
use session_parts::side_requests::SideClient;
use session_parts::skills::SessionSkills;
use session_parts::transcript_writer::TranscriptWriter;
use session_parts::worktree::Worktree;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use store::Transcript;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::state::{SessionFacts, ToolState};
use tools::{ToolClass, ToolRegistry, Workspace};
use wire::entry::EntryTail;
use wire::mode::PermissionMode;
use wire::sdk::AgentStamp;

/// How much of an agent's `MEMORY.md` is put into its system prompt.
const NOTES_LINES: usize = 200;
const NOTES_BYTES: usize = 25 * 1024;

/// The parameters of one agent.
#[derive(Debug)]
pub(super) struct AgentSpec {
    pub(super) id: String,
    pub(super) definition: AgentDefinition,
    pub(super) description: String,
    pub(super) name: Option<String>,
    /// The call that started it.
    pub(super) tool_use_id: String,
    pub(super) model: String,
    pub(super) mode: PermissionMode,
    pub(super) effort: Option<String>,
    pub(super) background: bool,
    pub(super) depth: u32,
    /// The id of the agent that started it; `None` for the main thread.
    pub(super) parent: Option<String>,
    pub(super) project_dir: PathBuf,
    pub(super) worktree: Option<Worktree>,
    /// The hooks of the skill it runs.
    pub(super) hooks: Option<hooks::HookLayer>,
    pub(super) purpose: AgentPurpose,
}

/// What an agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentPurpose {
    Task,
    /// A hook asked for it. Its work is not shown to the host, and its own hooks run no model handlers.
    Judgement,
}

/// A session that waits for its first prompt.
pub(super) struct AgentSession {
    pub(super) session: LiveSession,
    pub(super) commands: CommandSender,
    pub(super) output: Arc<AgentOutput>,
}

/// `past` is the conversation of an agent that is resumed.
pub(super) fn build(
    spawner: &AgentSpawner,
    live: SessionView,
    sheet: &AgentSpec,
    past: Option<store::LoadedConversation>,
    scope: CancellationToken,
) -> Result<AgentSession, AgentRefusal> {
    let agents = &spawner.agents;
    let kit = &agents.template();
    let stamp = AgentStamp {
        agent_id: sheet.id.clone(),
        subagent_type: sheet.definition.name.clone(),
        task_description: sheet.description.clone(),
    };
    let forward = if sheet.purpose == AgentPurpose::Judgement { ForwardMode::Nothing } else { kit.forward };
    let voice = Arc::new(AgentOutput::new(stamp, sheet.tool_use_id.clone(), forward));
    let host = kit.host.for_agent(Arc::clone(&voice));
    let forked = builtin::is_fork(&sheet.definition).then(|| live.fork_context.clone()).flatten();
    let own = match &forked {
        Some(_) => AgentSpawner::for_fork(Arc::clone(agents), sheet.id.clone(), sheet.depth, scope.clone()),
        None => AgentSpawner::new(Arc::clone(agents), Some(sheet.id.clone()), sheet.depth, scope.clone()),
    };
    let shape =
        toolset::ToolsetContext { background: sheet.background, may_nest: spawner.may_nest(), mode: sheet.mode };
    let names = tool_names(kit, sheet, shape, forked.is_some())?;
    let plan = live.plan.for_agent(&sheet.id);
    let watch = settings_watch(live.watch, sheet, &plan);
    let policy = watch.policy(sheet.mode);
    let mut start = StartState::default();
    let mut past = past;
    if let Some(loaded) = &past {
        start.agent_recovery = crate::agents::recover::find_undelivered(loaded, &kit.session_dir, Some(&sheet.id));
    }
    let leaf = past.as_ref().and_then(|loaded| loaded.leaf_uuid.as_deref().map(str::to_owned));
    let mut restored = past.as_mut().map(resume::restore);
    let remembered = restored.as_mut().map(|r| std::mem::take(&mut r.servers)).unwrap_or_default();
    let told = restored.as_ref().map(|r| r.sent_skill_lines.clone()).unwrap_or_default();
    let mut teaching = kit.skills.clone();
    if sheet.definition.omit_claude_md {
        teaching.0.lazy = config::nested_memory::LazyMemory::default();
    }
    let lore = teaching.build(told);
    let mut registry = registry(&names, &own, &policy, &lore);
    if matches!(live.permission_channel, PermissionChannel::Host(_)) {
        registry.offer(|class| class == ToolClass::PlanExit);
    }
    let registry = Arc::new(registry);
    let identity = Arc::new(RequestIdentity {
        agent_id: Some(sheet.id.clone()),
        parent_agent_id: sheet.parent.clone(),
        ..(*kit.identity).clone()
    });
    let context = match &forked {
        Some(mind) => forked_context(kit, sheet, mind, Arc::clone(&identity)),
        None => context(kit, sheet, &registry, Arc::clone(&identity), restored)?,
    };
    let mcp = session_parts::mcp::agent_toolset(&kit.servers, &registry, &sheet.definition, move |definition, name| {
        toolset::select_tools(&[name.to_owned()], definition, shape).is_ok_and(|chosen| !chosen.is_empty())
    })
    .continue_from(remembered);
    let (commands, receiver) = mpsc::channel(COMMAND_QUEUE);
    // The mode of a definition is kept when the host changes the mode of the session, except for plan mode.
    let is_own = tool::is_own_mode(&sheet.definition, live.mode);
    let mode_of = if is_own { ModeOwner::Definition } else { live.mode_owner };
    let io = SessionIo {
        env: kit.env.clone(),
        hooks: session_hooks(kit, sheet, live.hooks, (&watch, &own)),
        output: SessionOutput {
            host,
            transcript: transcript_writer(kit, sheet, leaf),
            ledger: kit.ledger.for_agent(),
            live_record: None,
            flags: HostFlags::default(),
            facts: kit.facts.clone(),
            results: 0,
        },
        rules: SessionRules::new(RulesParts {
            policy: Arc::new(policy),
            mode: sheet.mode,
            watch,
            chosen_mode: live.chosen_mode,
            bypass: live.bypass,
            mode_owner: mode_of,
            grants_seen: live.grants_seen,
            permission_channel: live.permission_channel,
        }),
        provider: SessionProvider {
            connection: live.provider,
            side: Arc::new(SideClient::new(identity, kit.small_model.clone())),
        },
        tooling: SessionTooling {
            registry,
            state: Arc::new(tool_state(kit, sheet, plan.file.clone())),
            directories: directories(kit, sheet),
            structured: None,
            concurrency: kit.concurrency,
            spawner: own,
            worktree_guard: sheet.worktree.as_ref().map(Worktree::guard).or(live.worktree_guard),
            active_worktree: None,
            view: None,
        },
        knowledge: SessionKnowledge { skills: lore, mcp, plan, pending_notices: Vec::new(), loaded_skills: Vec::new() },
    };
    // Its questions go to the root's host, and only the root's host chooses modes.
    let modes = ModeChoice { chosen: watch::channel(None).0, bypass: BypassAvailability::Closed };
    let control = SessionControl::new(receiver, None, modes).within(scope);
    Ok(AgentSession { session: LiveSession { control, context, io, start, recipe: None }, commands, output: voice })
}

/// The configuration of the agent: settings of its directory, instruction files as its definition asks, its plan
/// file.
fn settings_watch(mut watch: SettingsWatch, sheet: &AgentSpec, plan: &PlanState) -> SettingsWatch {
    if sheet.worktree.is_some() {
        watch.move_to(&sheet.project_dir);
    }
    // Only the main thread has notes.
    watch.place.notes.clear();
    let omits = sheet.definition.omit_claude_md;
    watch.instructions = if omits { InstructionScope::None } else { InstructionScope::WithoutNotes };
    watch.place.plan_file = Some(plan.file.clone());
    watch.place.readable.push(plan.file.clone());
    watch
}

/// The tools it may use. A fork gets exactly the tools of its session, so that its request starts with the same
/// bytes.
fn tool_names(
    kit: &AgentTemplate,
    sheet: &AgentSpec,
    shape: toolset::ToolsetContext,
    is_fork: bool,
) -> Result<BTreeSet<String>, AgentRefusal> {
    if is_fork {
        return Ok(kit.tools.iter().cloned().collect());
    }
    let base = session_parts::mcp::with_server_tools(&kit.tools, &kit.servers, &sheet.definition);
    Ok(toolset::select_tools(&base, &sheet.definition, shape)?)
}

/// The session's hooks and those of the definition; a `Stop` hook of the definition becomes `SubagentStop`.
fn session_hooks(
    kit: &AgentTemplate,
    sheet: &AgentSpec,
    seed: InheritedHooks,
    (watch, spawner): (&SettingsWatch, &Arc<AgentSpawner>),
) -> SessionHooks {
    let definition = &sheet.definition;
    let agent = HookAgent { id: sheet.id.clone(), kind: definition.name.clone(), transcript: kit.transcript.clone() };
    let declared = definition.hooks.as_ref().and_then(serde_json::Value::as_object);
    let own = declared.map(|declared| {
        let stop = |event: &str| if event == "Stop" { "SubagentStop".to_owned() } else { event.to_owned() };
        let hooks = declared.iter().map(|(event, groups)| (stop(event), groups.clone())).collect();
        hooks::HookLayer { origin: hooks::HookOrigin::Agent { name: definition.name.clone() }, hooks }
    });
    let layers = own.into_iter().chain(sheet.hooks.clone()).collect();
    let mut hooking = seed.for_agent(AgentHookParams {
        agent,
        cwd: sheet.project_dir.clone(),
        layers,
        watch,
        judge: Arc::downgrade(spawner) as Weak<dyn HookJudge>,
    });
    if sheet.purpose == AgentPurpose::Judgement {
        hooking.disable_model_handlers(watch);
    }
    hooking
}

fn registry(names: &BTreeSet<String>, own: &Arc<AgentSpawner>, policy: &Policy, lore: &SessionSkills) -> ToolRegistry {
    let mut registry = ToolRegistry::new(|name| names.contains(name) && !policy.removes(name));
    if names.contains(SkillTool::NAME) && !policy.removes(SkillTool::NAME) {
        registry.add(Arc::new(SkillTool::new(lore)));
    }
    if names.contains(AgentTool::NAME) {
        registry.add(Arc::new(AgentTool::new(Arc::clone(own), policy, tool::AgentTypes::All)));
    }
    if names.contains(SendMessage::NAME) {
        registry.add(Arc::new(SendMessage::new(Arc::clone(own))));
    }
    if names.contains(EnterWorktree::NAME) && !policy.removes(EnterWorktree::NAME) {
        registry.add(Arc::new(EnterWorktree::new()));
        registry.add(Arc::new(ExitWorktree::new()));
    }
    registry
}

fn transcript_writer(kit: &AgentTemplate, sheet: &AgentSpec, leaf: Option<String>) -> TranscriptWriter {
    let path = store::agents::transcript_path(&kit.session_dir, &sheet.id);
    let tail = EntryTail { cwd: sheet.project_dir.display().to_string(), ..kit.tail.clone() };
    let transcript = Transcript::open(path, kit.persist).with_observer(kit.mirror.clone());
    TranscriptWriter::new(transcript, kit.persist, tail, leaf).for_agent(&sheet.id)
}

fn tool_state(kit: &AgentTemplate, sheet: &AgentSpec, plan_file: PathBuf) -> ToolState {
    let facts = kit.catalog.lookup(&sheet.model);
    let session = SessionFacts {
        agent_id: Some(sheet.id.clone()),
        plan_file: Some(plan_file),
        read_before_edit: facts.read_before_edit,
        documents: facts.known,
        effort: sheet.effort.clone().or_else(|| kit.state.facts.effort.clone()),
        ..kit.state.facts.clone()
    };
    kit.state.for_agent(session, sheet.project_dir.clone())
}

fn directories(kit: &AgentTemplate, sheet: &AgentSpec) -> Workspace {
    Workspace { cwd: sheet.project_dir.clone(), project: sheet.project_dir.clone(), ..kit.directories.clone() }
}

fn context(
    kit: &AgentTemplate,
    sheet: &AgentSpec,
    registry: &ToolRegistry,
    identity: Arc<RequestIdentity>,
    restored: Option<resume::RestoredConversation>,
) -> Result<ModelContext, AgentRefusal> {
    let (history, told_date, context_told) =
        restored.map_or((Vec::new(), None, false), |r| (r.history, r.sent_date, r.is_context_sent));
    let files = if sheet.definition.omit_claude_md { Vec::new() } else { kit.memory.clone() };
    let fallbacks = kit.fallbacks.iter().filter(|name| **name != sheet.model).cloned().collect();
    Ok(ModelContext::new(ContextParts {
        catalog: Arc::clone(&kit.catalog),
        history: history.into(),
        compaction: CompactionPolicy::new(kit.compaction, &kit.env, kit.served),
        models: ModelChain::new(sheet.model.clone(), fallbacks),
        settings: RequestSettings {
            effort: sheet.effort.clone().or_else(|| kit.request.effort.clone()),
            identity,
            ..kit.request.clone()
        },
        tools: registry.tool_fragments().into_iter().map(Fragment::new).collect(),
        system: system(kit, sheet)?.iter().map(|text| Fragment::text(text)).collect(),
        reminders: Reminders { files, sent_date: told_date, is_context_sent: context_told, notes: None },
        limits: TurnLimits {
            max_turns: sheet.definition.max_turns,
            max_budget_usd: kit.max_budget_usd,
            output_retries: 0,
        },
    }))
}

/// A fork starts with what its session has already sent, so that the provider's prompt cache covers it.
fn forked_context(
    kit: &AgentTemplate,
    sheet: &AgentSpec,
    mind: &ForkContext,
    identity: Arc<RequestIdentity>,
) -> ModelContext {
    let as_sent = |turn: &Message| (turn.clone(), HistoryPart::Other, String::new());
    let history: Vec<(Message, HistoryPart, String)> = mind.turns.iter().map(as_sent).collect();
    let fallbacks = kit.fallbacks.iter().filter(|name| **name != sheet.model).cloned().collect();
    ModelContext::new(ContextParts {
        catalog: Arc::clone(&kit.catalog),
        history: history.into(),
        compaction: CompactionPolicy::new(kit.compaction, &kit.env, kit.served),
        models: ModelChain::new(sheet.model.clone(), fallbacks),
        settings: RequestSettings { identity, ..kit.request.clone() },
        tools: mind.tools.to_vec(),
        system: mind.system.to_vec(),
        reminders: Reminders {
            files: Vec::new(),
            notes: None,
            sent_date: mind.sent_date.clone(),
            is_context_sent: true,
        },
        limits: TurnLimits { max_turns: None, max_budget_usd: kit.max_budget_usd, output_retries: 0 },
    })
}

/// The system prompt: the definition's prompt, the environment, skills, notes, and the text appended for every agent.
fn system(kit: &AgentTemplate, sheet: &AgentSpec) -> Result<Vec<String>, AgentRefusal> {
    let prompt = sheet.definition.prompt.read()?;
    let mut parts = vec![prompt, environment(kit, sheet)];
    parts.extend(skills(kit, &sheet.definition));
    parts.extend(sheet.definition.memory.map(|memory| notes(kit, sheet, memory)));
    parts.extend(kit.append_prompt.clone());
    parts.retain(|text| !text.trim().is_empty());
    Ok(parts)
}

fn environment(kit: &AgentTemplate, sheet: &AgentSpec) -> String {
    let additional: Vec<String> = kit.directories.additional.iter().map(|d| d.display().to_string()).collect();
    let shell = kit.env.non_empty("SHELL").unwrap_or("bash");
    let branch = sys::git::branch(&sheet.project_dir);
    let mut text = prompts::environment(&PromptEnvironment {
        cwd: &sheet.project_dir.display().to_string(),
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

/// The bodies of the skills the definition names. A missing skill is only logged.
fn skills(kit: &AgentTemplate, definition: &AgentDefinition) -> Vec<String> {
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

impl AgentTemplate {
    fn skills(&self) -> Option<config::skills::Skills> {
        let roots = self.roots.as_ref()?;
        Some(config::skills::Skills::load(roots, &[], &std::collections::BTreeMap::new()))
    }
}

/// The folder of the agent's notes and the first lines of its `MEMORY.md`.
fn notes(kit: &AgentTemplate, sheet: &AgentSpec, memory: AgentMemory) -> String {
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

impl AgentTable {
    /// Whether the session has spent its budget.
    pub(super) fn is_over_budget(&self) -> bool {
        let kit = self.template();
        kit.max_budget_usd.is_some_and(|max| kit.ledger.cost() >= max)
    }
}
