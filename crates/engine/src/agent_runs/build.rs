//! Builds the session of an agent (history, transcript, tools, rules, read state) from the template that all agents
//! of a session share. Writes nothing and sends nothing.

use super::{AgentTool, SendMessage, tool};
use crate::agents::AgentTemplate;
use crate::agents::{AgentRefusal, AgentSpawner, AgentTable, builtin, toolset};
use crate::control::{ModeChoice, SessionControl};
use crate::recall_tool::RecallTool;
use crate::session::builder::{
    ContextSource, ConversationParts, KnowledgeParts, NewSession, OutputParts, ToolingParts,
};
use crate::session::recall::RecallAccess;
use crate::session::{LiveSession, RulesParts, SessionProvider, StartState};
use crate::skill_tool::SkillTool;
use crate::view::SessionView;
use crate::worktree_tools::{EnterWorktree, ExitWorktree};
use config::agents::{AgentDefinition, AgentMemory};
use model::{Fragment, Message, RequestIdentity};
use permission::Policy;
use session_parts::checkpoints::CheckpointScope;
use session_parts::command::{COMMAND_QUEUE, CommandSender};
use session_parts::compaction_policy::CompactionPolicy;
use session_parts::context::ForkContext;
use session_parts::context::{ContextParts, ModelChain, Reminders, RequestSettings, TurnLimits};
use session_parts::grants::{BypassAvailability, ModeOwner};
use session_parts::history::HistoryPart;
use session_parts::hooks::HookJudge;
use session_parts::hooks::{AgentHookParams, HookAgent, InheritedHooks, SessionHooks};
use session_parts::host::{AgentOutput, ForwardMode, HostFlags, HostSender};
use session_parts::mcp::agents::covers;
use session_parts::mcp::{McpToolset, ToldTools};
use session_parts::permission_prompt::PermissionChannel;
use session_parts::plan::PlanState;
use session_parts::project_facts::{ProjectFacts, ToldFacts};
use session_parts::prompts::{self, PromptEnvironment};
use session_parts::recall::RecallPlace;
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
    view: SessionView,
    spec: &AgentSpec,
    past: Option<store::LoadedConversation>,
    scope: CancellationToken,
) -> Result<AgentSession, AgentRefusal> {
    let agents = &spawner.agents;
    let template = &agents.template();
    let stamp = AgentStamp {
        agent_id: spec.id.clone(),
        subagent_type: spec.definition.name.clone(),
        task_description: spec.description.clone(),
    };
    let forward = if spec.purpose == AgentPurpose::Judgement { ForwardMode::Nothing } else { template.forward };
    let agent_output = Arc::new(AgentOutput::new(stamp, spec.tool_use_id.clone(), forward));
    let host = template.host.for_agent(Arc::clone(&agent_output));
    let forked = builtin::is_fork(&spec.definition).then(|| view.fork_context.clone()).flatten();
    let own = match &forked {
        Some(_) => AgentSpawner::for_fork(Arc::clone(agents), spec.id.clone(), spec.depth, scope.clone()),
        None => AgentSpawner::new(Arc::clone(agents), Some(spec.id.clone()), spec.depth, scope.clone()),
    };
    let shape = toolset::ToolsetContext { background: spec.background, may_nest: spawner.may_nest(), mode: spec.mode };
    let names = tool_names(template, spec, shape, forked.is_some())?;
    let plan = view.plan.for_agent(&spec.id);
    let watch = settings_watch(view.watch, spec, &plan);
    let policy = watch.policy(spec.mode);
    let mut start = StartState::default();
    let mut past = past;
    if let Some(loaded) = &past {
        start.agent_recovery = crate::agents::recover::find_undelivered(loaded, &template.session_dir, Some(&spec.id));
    }
    let leaf = past.as_ref().and_then(|loaded| loaded.leaf_uuid.as_deref().map(str::to_owned));
    let mut restored = past.as_mut().map(resume::restore);
    let remembered = restored.as_mut().map(|r| std::mem::take(&mut r.servers)).unwrap_or_default();
    let sent_lines = restored.as_ref().map(|r| r.sent_skill_lines.clone()).unwrap_or_default();
    let mut skills_template = template.skills.clone();
    if spec.definition.omit_claude_md {
        skills_template.0.lazy = config::nested_memory::LazyMemory::default();
    }
    let skills = skills_template.build(sent_lines);
    let mut registry = registry(&names, &own, &policy, &skills);
    if matches!(view.permission_channel, PermissionChannel::Host(_)) {
        registry.offer(|class| class == ToolClass::PlanExit);
    }
    let registry = Arc::new(registry);
    let identity = Arc::new(RequestIdentity {
        agent_id: Some(spec.id.clone()),
        parent_agent_id: spec.parent.clone(),
        ..(*template.identity).clone()
    });
    let context = match &forked {
        Some(fork_context) => {
            ContextSource::Fork(Box::new(forked_context(template, spec, fork_context, Arc::clone(&identity))))
        }
        None => ContextSource::Conversation(Box::new(conversation(template, spec, Arc::clone(&identity), restored)?)),
    };
    let mcp =
        session_parts::mcp::agent_toolset(&template.servers, &registry, &spec.definition, move |definition, name| {
            toolset::select_tools(&[name.to_owned()], definition, shape).is_ok_and(|chosen| !chosen.is_empty())
        })
        .continue_from(remembered);
    let mcp = as_forked(mcp, forked.as_deref(), view.fork_tools);
    let (commands, receiver) = mpsc::channel(COMMAND_QUEUE);
    // The mode of a definition is kept when the host changes the mode of the session, except for plan mode.
    let is_own = tool::is_own_mode(&spec.definition, view.mode);
    let mode_owner = if is_own { ModeOwner::Definition } else { view.mode_owner };
    let builder = NewSession {
        env: template.env.clone(),
        hooks: session_hooks(template, spec, view.hooks, (&watch, &own)),
        output: output(template, host, transcript_writer(template, spec, leaf), view.checkpoints.for_agent()),
        rules: RulesParts {
            policy: Arc::new(policy),
            mode: spec.mode,
            watch,
            chosen_mode: view.chosen_mode,
            bypass: view.bypass,
            mode_owner,
            grants_seen: view.grants_seen,
            permission_channel: view.permission_channel,
        },
        provider: SessionProvider {
            connection: view.provider,
            side: Arc::new(SideClient::new(identity, template.small_model.clone())),
        },
        tooling: ToolingParts {
            registry,
            state: Arc::new(tool_state(template, spec, plan.file.clone())),
            directories: directories(template, spec),
            structured: None,
            concurrency: template.concurrency,
            spawner: own,
            worktree_guard: spec.worktree.as_ref().map(Worktree::guard).or(view.worktree_guard),
            active_worktree: None,
            recall: recall_access(spec, view.recall.filter(|_| forked.is_some())),
        },
        knowledge: KnowledgeParts { skills, mcp, plan },
        context,
    };
    let (io, context) = builder.build();
    // Its questions go to the root's host, and only the root's host chooses modes.
    let modes = ModeChoice { chosen: watch::channel(None).0, bypass: BypassAvailability::Closed };
    let control = SessionControl::new(receiver, None, modes).within(scope);
    Ok(AgentSession {
        session: LiveSession { control, context, io, start, recipe: None },
        commands,
        output: agent_output,
    })
}

fn output(
    template: &AgentTemplate,
    host: HostSender,
    transcript: TranscriptWriter,
    checkpoints: CheckpointScope,
) -> OutputParts {
    OutputParts {
        host,
        transcript,
        checkpoints,
        ledger: template.ledger.for_agent(),
        live_record: None,
        flags: HostFlags::default(),
        facts: template.facts.clone(),
    }
}

/// Every agent may recall its own past, unless its definition says otherwise.
fn recall_access(spec: &AgentSpec, inherited: Option<RecallPlace>) -> RecallAccess {
    let is_wanted = !spec.definition.disallowed_tools.iter().any(|entry| covers(entry, RecallTool::NAME));
    RecallAccess { is_wanted, inherited }
}

/// The configuration of the agent: settings of its directory, instruction files as its definition asks, its plan
/// file.
fn settings_watch(mut watch: SettingsWatch, spec: &AgentSpec, plan: &PlanState) -> SettingsWatch {
    if spec.worktree.is_some() {
        watch.move_to(&spec.project_dir);
    }
    // Only the main thread has notes.
    watch.place.notes.clear();
    let omits = spec.definition.omit_claude_md;
    watch.instructions = if omits { InstructionScope::None } else { InstructionScope::WithoutNotes };
    watch.place.plan_file = Some(plan.file.clone());
    watch.place.readable.push(plan.file.clone());
    watch
}

/// The tools it may use. A fork gets exactly the tools of its session, so that its request starts with the same
/// bytes.
fn tool_names(
    template: &AgentTemplate,
    spec: &AgentSpec,
    shape: toolset::ToolsetContext,
    is_fork: bool,
) -> Result<BTreeSet<String>, AgentRefusal> {
    if is_fork {
        return Ok(template.tools.iter().cloned().collect());
    }
    let base = session_parts::mcp::with_server_tools(&template.tools, &template.servers, &spec.definition);
    Ok(toolset::select_tools(&base, &spec.definition, shape)?)
}

/// The session's hooks and those of the definition; a `Stop` hook of the definition becomes `SubagentStop`.
fn session_hooks(
    template: &AgentTemplate,
    spec: &AgentSpec,
    seed: InheritedHooks,
    (watch, spawner): (&SettingsWatch, &Arc<AgentSpawner>),
) -> SessionHooks {
    let definition = &spec.definition;
    let agent =
        HookAgent { id: spec.id.clone(), kind: definition.name.clone(), transcript: template.transcript.clone() };
    let declared = definition.hooks.as_ref().and_then(serde_json::Value::as_object);
    let own = declared.map(|declared| {
        let stop = |event: &str| if event == "Stop" { "SubagentStop".to_owned() } else { event.to_owned() };
        let hooks = declared.iter().map(|(event, groups)| (stop(event), groups.clone())).collect();
        hooks::HookLayer { origin: hooks::HookOrigin::Agent { name: definition.name.clone() }, hooks }
    });
    let layers = own.into_iter().chain(spec.hooks.clone()).collect();
    let mut hooks = seed.for_agent(AgentHookParams {
        agent,
        cwd: spec.project_dir.clone(),
        layers,
        watch,
        judge: Arc::downgrade(spawner) as Weak<dyn HookJudge>,
    });
    if spec.purpose == AgentPurpose::Judgement {
        hooks.disable_model_handlers(watch);
    }
    hooks
}

fn registry(
    names: &BTreeSet<String>,
    own: &Arc<AgentSpawner>,
    policy: &Policy,
    skills: &SessionSkills,
) -> ToolRegistry {
    let mut registry = ToolRegistry::new(|name| names.contains(name) && !policy.removes(name));
    if names.contains(SkillTool::NAME) && !policy.removes(SkillTool::NAME) {
        registry.add(Arc::new(SkillTool::new(skills)));
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

fn transcript_writer(template: &AgentTemplate, spec: &AgentSpec, leaf: Option<String>) -> TranscriptWriter {
    let path = store::agents::transcript_path(&template.session_dir, &spec.id);
    let tail = EntryTail { cwd: spec.project_dir.display().to_string(), ..template.tail.clone() };
    let transcript = Transcript::open(path, template.persist).with_observer(template.mirror.clone());
    TranscriptWriter::new(transcript, template.persist, tail, leaf).for_agent(&spec.id)
}

fn tool_state(template: &AgentTemplate, spec: &AgentSpec, plan_file: PathBuf) -> ToolState {
    let facts = template.catalog.lookup(&spec.model);
    let session = SessionFacts {
        agent_id: Some(spec.id.clone()),
        plan_file: Some(plan_file),
        read_before_edit: facts.read_before_edit,
        documents: facts.known,
        effort: spec.effort.clone().or_else(|| template.state.facts.effort.clone()),
        ..template.state.facts.clone()
    };
    template.state.for_agent(session, spec.project_dir.clone())
}

fn directories(template: &AgentTemplate, spec: &AgentSpec) -> Workspace {
    Workspace { cwd: spec.project_dir.clone(), project: spec.project_dir.clone(), ..template.directories.clone() }
}

fn conversation(
    template: &AgentTemplate,
    spec: &AgentSpec,
    identity: Arc<RequestIdentity>,
    restored: Option<resume::RestoredConversation>,
) -> Result<ConversationParts, AgentRefusal> {
    let files = if spec.definition.omit_claude_md { Vec::new() } else { template.memory.clone() };
    let fallbacks = template.fallbacks.iter().filter(|name| **name != spec.model).cloned().collect();
    Ok(ConversationParts {
        catalog: Arc::clone(&template.catalog),
        restored,
        compaction: CompactionPolicy::new(template.compaction, &template.env, template.served),
        models: ModelChain::new(spec.model.clone(), fallbacks),
        settings: RequestSettings {
            effort: spec.effort.clone().or_else(|| template.request.effort.clone()),
            identity,
            ..template.request.clone()
        },
        system: system(template, spec)?.iter().map(|text| Fragment::text(text)).collect(),
        files,
        notes: None,
        facts: project_facts(template, spec),
        limits: TurnLimits { max_turns: spec.definition.max_turns, output_retries: 0 },
    })
}

/// The session's facts, where the agent works in the same place on a task of its own.
fn project_facts(template: &AgentTemplate, spec: &AgentSpec) -> Option<Arc<ProjectFacts>> {
    let is_told = spec.worktree.is_none() && spec.purpose == AgentPurpose::Task;
    template.project_facts.clone().filter(|_| is_told)
}

/// A fork starts with what its session has already sent, so that the provider's prompt cache covers it.
fn forked_context(
    template: &AgentTemplate,
    spec: &AgentSpec,
    fork_context: &ForkContext,
    identity: Arc<RequestIdentity>,
) -> ContextParts {
    let as_sent = |turn: &Message| (turn.clone(), HistoryPart::Other, String::new());
    let history: Vec<(Message, HistoryPart, String)> = fork_context.turns.iter().map(as_sent).collect();
    let fallbacks = template.fallbacks.iter().filter(|name| **name != spec.model).cloned().collect();
    ContextParts {
        catalog: Arc::clone(&template.catalog),
        history: history.into(),
        compaction: CompactionPolicy::new(template.compaction, &template.env, template.served),
        carried: fork_context.carried.clone(),
        refused: BTreeSet::new(),
        models: ModelChain::new(spec.model.clone(), fallbacks),
        settings: RequestSettings { identity, ..template.request.clone() },
        tools: fork_context.tools.to_vec(),
        system: fork_context.system.to_vec(),
        reminders: Reminders {
            files: Vec::new(),
            notes: None,
            sent_date: fork_context.sent_date.clone(),
            is_context_sent: true,
            facts: ToldFacts::default(),
        },
        limits: TurnLimits { max_turns: None, output_retries: 0 },
        resumed: None,
    }
}

/// A fork knows the tools that its session was told of and has loaded.
fn as_forked(tools: McpToolset, fork: Option<&ForkContext>, told: Option<ToldTools>) -> McpToolset {
    match (fork, told) {
        (Some(fork), Some(told)) => tools.forked(told, &fork.tools),
        _ => tools,
    }
}

/// The system prompt: the definition's prompt, the environment, skills, notes, and the text appended for every agent.
fn system(template: &AgentTemplate, spec: &AgentSpec) -> Result<Vec<String>, AgentRefusal> {
    let prompt = spec.definition.prompt.read()?;
    let mut parts = vec![prompt, environment(template, spec)];
    parts.extend(skills(template, &spec.definition));
    parts.extend(spec.definition.memory.map(|memory| notes(template, spec, memory)));
    parts.extend(template.append_prompt.clone());
    parts.retain(|text| !text.trim().is_empty());
    Ok(parts)
}

fn environment(template: &AgentTemplate, spec: &AgentSpec) -> String {
    let additional: Vec<String> = template.directories.additional.iter().map(|d| d.display().to_string()).collect();
    let shell = template.env.non_empty("SHELL").unwrap_or("bash");
    let sandbox = template.sandbox.as_ref().filter(|_| spec.worktree.is_none());
    let mut text = prompts::environment(&PromptEnvironment {
        cwd: &spec.project_dir.display().to_string(),
        additional: &additional,
        platform: std::env::consts::OS,
        os: sys::machine::os_version(),
        shell: shell.rsplit('/').next().unwrap_or(shell),
        model: &spec.model,
        sandbox: sandbox.map(String::as_str),
        attendance: None,
    });
    text.push_str("\n- Every shell command starts in the working directory: use absolute paths instead of cd.");
    if let Some(worktree) = &spec.worktree {
        text.push_str(&worktree.describe());
    }
    text
}

/// The bodies of the skills the definition names. A missing skill is only logged.
fn skills(template: &AgentTemplate, definition: &AgentDefinition) -> Vec<String> {
    if definition.skills.is_empty() {
        return Vec::new();
    }
    let Some(known) = template.skills() else { return Vec::new() };
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
fn notes(template: &AgentTemplate, spec: &AgentSpec, memory: AgentMemory) -> String {
    let project = &template.directories.project;
    let (base, folder) = match memory {
        AgentMemory::User => (template.state.facts.config_home.clone(), "agent-memory"),
        AgentMemory::Project => (project.join(".claude"), "agent-memory"),
        AgentMemory::Local => (project.join(".claude"), "agent-memory-local"),
    };
    let dir = base.join(folder).join(&spec.definition.name);
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
        self.template().ledger.budgets().exhausted().is_some()
    }
}
