//! The Agent tool: starts an agent in the background, or in the foreground and waits for its result.

use super::build::{self, AgentPurpose, AgentSpec};
use super::report;
use super::run::{self, AgentResult, AgentRun, FirstRun};
use crate::agents::{AgentEntry, AgentRefusal, AgentSpawner, AgentTable, DEFAULT_TYPE, SlotCheck, builtin};
use crate::tool_facts;
use crate::view::SessionView;
use config::agents::{AgentDefinition, AgentIsolation};
use config::roots::DefinitionScope;
use futures_util::future::BoxFuture;
use permission::{Access, PathFacts, PermissionDecision, PermissionQuery, Policy};
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::skills::invoke::ForkedSkill;
use session_parts::worktree::{Worktree, WorktreeHolder, WorktreeName, WorktreeRequest};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::agents::Sidecar;
use tokio_util::sync::CancellationToken;
use tools::input::ToolInput;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use wire::mode::PermissionMode;
use wire::settings::RuleText;

const DESCRIPTION: &str = include_str!("agent.md");
const SCHEMA: &str = include_str!("agent.schema.json");

/// A prompt with fewer characters can hardly say everything the agent has to know.
const SHORT_BRIEF: usize = 80;
const SHORT_BRIEF_NOTE: &str = "The brief was short; the agent saw nothing of this conversation.";

pub(crate) struct AgentTool {
    spec: ToolSpec,
    spawner: Arc<AgentSpawner>,
    types: AgentTypes,
}

/// The types a session may start: all, or those that its definition lists as `Agent(a, b)`.
#[derive(Clone, Debug)]
pub(crate) enum AgentTypes {
    All,
    Listed(Arc<[String]>),
}

impl AgentTypes {
    /// Reads the list from the definition of a main thread. Definitions of subagents cannot restrict types.
    pub(crate) fn of(definition: Option<&AgentDefinition>) -> Self {
        let entries = definition.and_then(|definition| definition.tools.as_deref()).unwrap_or_default();
        let lists = entries.iter().filter_map(|entry| {
            let (tool, types) = entry.trim().split_once('(')?;
            (wire::names::canonical(tool.trim()) == AgentTool::NAME).then(|| types.trim_end_matches(')'))
        });
        let names: Vec<String> = lists
            .flat_map(|list| list.split(','))
            .map(|name| name.trim().to_owned())
            .filter(|n| !n.is_empty())
            .collect();
        if names.is_empty() { Self::All } else { Self::Listed(names.into()) }
    }

    fn permit(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Listed(names) => names.iter().any(|listed| listed == name),
        }
    }
}

impl AgentTool {
    pub(crate) const NAME: &'static str = tool_facts::AGENT.0;

    /// Types that the rules deny are not listed.
    pub(crate) fn new(spawner: Arc<AgentSpawner>, policy: &Policy, types: AgentTypes) -> Self {
        let mut description = DESCRIPTION.trim_end().to_owned();
        // Most policies do not mention agents: then no type needs a decision.
        let judged = policy.names(Self::NAME);
        let offered = |name: &str| types.permit(name) && (!judged || is_allowed(policy, name));
        for definition in spawner.agents.all().iter().filter(|definition| offered(&definition.name)) {
            write!(description, "\n- {}: {}", definition.name, definition.description).ok();
        }
        let spec = ToolSpec {
            name: Self::NAME.into(),
            description: description.into(),
            schema: SCHEMA.trim_end().into(),
            facts: tool_facts::AGENT.1,
        };
        Self { spec, spawner, types }
    }
}

/// Whether the rules allow agents of this type to start.
fn is_allowed(policy: &Policy, agent_type: &str) -> bool {
    let input = json!({"subagent_type": agent_type}).to_string();
    let request = PermissionQuery::new(AgentTool::NAME, &[Access::Harmless]).with_input(&input);
    !matches!(policy.decide(&request, &PathFacts::default()), PermissionDecision::Deny(_))
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        if input.opt_string("isolation")?.is_some_and(|isolation| isolation == "remote") {
            return Err(input.refuse("isolation", "there are no hosted sessions; use worktree or leave it out"));
        }
        Ok(Box::new(AgentCall {
            description: input.string("description")?,
            prompt: input.string("prompt")?,
            agent_type: input.opt_string("subagent_type")?.filter(|kind| !kind.is_empty()),
            model: input.opt_string("model")?.filter(|model| !model.is_empty()),
            effort: input.opt_string("effort")?.filter(|effort| !effort.is_empty()),
            background: input.opt_bool("run_in_background")?,
            name: input.opt_string("name")?.filter(|name| !name.is_empty()),
            isolated: input.opt_choice("isolation", &["worktree"])?.is_some(),
            rules: Vec::new(),
            hooks: None,
            author: BriefAuthor::Model,
            spawner: Arc::clone(&self.spawner),
            types: self.types.clone(),
        }))
    }
}

struct AgentCall {
    description: String,
    prompt: String,
    agent_type: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    background: Option<bool>,
    name: Option<String>,
    isolated: bool,
    /// Rules that apply to this agent in addition to the session's.
    rules: Vec<RuleText>,
    /// Hooks that run for this agent in addition to the session's.
    hooks: Option<hooks::HookLayer>,
    author: BriefAuthor,
    spawner: Arc<AgentSpawner>,
    types: AgentTypes,
}

/// Who wrote the prompt of an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BriefAuthor {
    Model,
    Skill,
}

/// Runs `fork` to its end. The limits and rules of the Agent tool apply. Boxed, because a turn can contain a fork and
/// a fork runs turns.
pub(super) fn run_forked_skill(
    spawner: Arc<AgentSpawner>,
    fork: ForkedSkill,
    policy: &Policy,
    cx: CallContext,
) -> BoxFuture<'static, Result<ToolOutcome, AgentRefusal>> {
    let agent_type = fork.agent_type.as_deref().unwrap_or(DEFAULT_TYPE);
    let refused = if !is_allowed(policy, agent_type) {
        Some(AgentRefusal::from(format!("The rules do not allow agents of the type {agent_type}.")))
    } else if spawner.depth >= spawner.agents.limits.depth {
        Some(spawner.too_deep())
    } else {
        None
    };
    let call = AgentCall {
        description: fork.description,
        prompt: fork.prompt,
        agent_type: fork.agent_type,
        model: fork.model,
        effort: fork.effort,
        background: Some(false),
        name: None,
        isolated: false,
        rules: fork.rules,
        hooks: fork.hooks,
        author: BriefAuthor::Skill,
        spawner,
        types: AgentTypes::All,
    };
    Box::pin(async move {
        match refused {
            Some(why) => Err(why),
            None => call.start(cx).await,
        }
    })
}

impl ToolCall for AgentCall {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.start(cx).await.unwrap_or_else(ToolOutcome::failed) })
    }
}

impl AgentCall {
    async fn start(&self, cx: CallContext) -> Result<ToolOutcome, AgentRefusal> {
        let spawner = &self.spawner;
        spawner.agents.count(|stats| match self.background {
            Some(true) => stats.requested.background += 1,
            Some(false) => stats.requested.foreground += 1,
            None => stats.requested.unset += 1,
        });
        let mut view = SessionView::clone(&*SessionView::of(&cx)?);
        view.watch.granted_rules.extend(self.rules.iter().cloned());
        let definition = self.definition()?;
        if spawner.agents.is_over_budget() {
            spawner.agents.count(|stats| stats.refused.budget += 1);
            return Err("Budget limit reached: no further agent is started.".into());
        }
        let background = self.is_background(&definition);
        let scope = spawner.scope.child_token();
        let spec = self.build_spec(&cx, &view, definition, background).await?;
        let sidecar = sidecar_of(&spec);
        let candidate =
            AgentCandidate { spec, sidecar, scope: scope.clone(), slot_check: SlotCheck::Needed, restored: None };
        let running = admit(spawner, view, candidate);
        let mut running = match running {
            AdmissionResult::Running(running) => running,
            AdmissionResult::Refused(worktree, why) => {
                if let Some(worktree) = worktree {
                    worktree.remove_if_unchanged(None).await;
                }
                return Err(why);
            }
        };
        spawner.agents.count(|stats| {
            stats.spawned += 1;
            stats.started_in_background += u64::from(background);
            stats.spawned_by_subagents += u64::from(spawner.id.is_some());
            stats.max_depth = stats.max_depth.max(running.spec.depth);
            *stats.by_type.entry(running.spec.definition.name.clone()).or_default() += 1;
        });
        run::write_sidecar(&spawner.agents, &running.spec.id, running.sidecar.clone()).await;
        if background {
            running.announce(&self.prompt, FirstRun::Yes).await;
            return Ok(self.detach(running, &scope, &cx).await);
        }
        following(&cx.cancel, &scope, running.announce(&self.prompt, FirstRun::Yes)).await;
        Ok(self.wait(running, &scope, &cx).await)
    }

    /// The agent's first prompt. For a fork it explains that it is one.
    fn task(&self) -> Cow<'_, str> {
        if self.agent_type.as_deref() != Some(builtin::FORK)
            || self.spawner.agents.current_definitions().find(builtin::FORK).is_some()
        {
            return Cow::Borrowed(&self.prompt);
        }
        Cow::Owned(format!(
            "You are a copy of this conversation, started for one task; the conversation itself goes on elsewhere. Do only \
             this task, then report what came of it in your last message.\n\n{}",
            self.prompt
        ))
    }

    /// What the model is told when it gave an agent that knows nothing very little to go by.
    fn brief_note(&self) -> Option<&'static str> {
        let is_fork = self.agent_type.as_deref() == Some(builtin::FORK);
        let is_short = self.prompt.trim().chars().nth(SHORT_BRIEF - 1).is_none();
        (self.author == BriefAuthor::Model && !is_fork && is_short).then_some(SHORT_BRIEF_NOTE)
    }

    fn definition(&self) -> Result<AgentDefinition, AgentRefusal> {
        let agents = &self.spawner.agents;
        let named = self.agent_type.as_deref().unwrap_or(DEFAULT_TYPE);
        if let AgentTypes::Listed(names) = &self.types
            && !self.types.permit(named)
        {
            return Err(
                format!("Agent type '{named}' may not be started here. Allowed are: {}", names.join(", ")).into()
            );
        }
        match &self.agent_type {
            Some(name) if name == builtin::FORK => self.spawner.fork_definition(),
            Some(name) => agents.find(name).ok_or_else(|| agents.unknown_type_message(name)),
            None => agents.find(DEFAULT_TYPE).ok_or_else(|| "subagent_type is required".into()),
        }
    }

    fn is_background(&self, definition: &AgentDefinition) -> bool {
        if self.spawner.agents.template().env.is_on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") {
            return false;
        }
        builtin::is_fork(definition) || definition.background || self.background.unwrap_or(true)
    }

    async fn build_spec(
        &self,
        cx: &CallContext,
        view: &SessionView,
        definition: AgentDefinition,
        background: bool,
    ) -> Result<AgentSpec, AgentRefusal> {
        let template = &self.spawner.agents.template();
        let id = store::agents::new_id();
        let isolated = self.isolated || definition.isolation == AgentIsolation::Worktree;
        let worktree = if isolated {
            let request = WorktreeRequest {
                project: &view.project_dir,
                name: WorktreeName::of_agent(&id),
                holder: WorktreeHolder::Agent(&id),
                settings: &view.watch.loaded.settings.worktree,
                remote: view.remote(),
                env: &template.env,
                hooks: Some(&view.worktree_hooks),
            };
            Some(Worktree::create(request).await?)
        } else {
            None
        };
        let (model, blocked) = model_of(self.model.as_deref(), &definition, view, template);
        if let Some(blocked) = blocked {
            let text = format!("Warning: model {blocked} is not among availableModels; the agent uses {model}");
            template.host.notice(text).await;
        }
        Ok(AgentSpec {
            mode: mode_of(&definition, view, &template.env),
            effort: self.effort.clone().or_else(|| definition.effort.clone()),
            project_dir: worktree.as_ref().map_or_else(|| view.project_dir.clone(), |worktree| worktree.path.clone()),
            description: self.description.clone(),
            name: self.name.clone(),
            tool_use_id: cx.id.clone(),
            depth: self.spawner.depth + 1,
            parent: self.spawner.id.clone(),
            id,
            definition,
            model,
            background,
            worktree,
            hooks: self.hooks.clone(),
            purpose: AgentPurpose::Task,
        })
    }

    /// Waits for the end of the agent, unless a person moves it to the background meanwhile.
    async fn wait(&self, running: Box<AgentRun>, scope: &CancellationToken, cx: &CallContext) -> ToolOutcome {
        let Ok(content) = wire::raw::to_raw(&self.task()) else {
            return ToolOutcome::failed("The prompt is not text.");
        };
        let moving = MovableAgent::of(&running);
        let mut work: BoxFuture<'static, AgentResult> = Box::pin(running.finish(content));
        let place = cx.state.tasks.foreground.enter(&cx.id, cx.state.facts.agent_id.as_deref());
        let ended = tokio::select! {
            biased;
            ended = following(&cx.cancel, scope, &mut work) => ended,
            () = place.released() => {
                drop(place);
                let task = moving.go_on(work, scope, cx).await;
                return self.launched(&task, "The user moved the agent to the background, where it goes on.");
            }
        };
        report::outcome(&ended, &self.prompt, self.brief_note())
    }

    async fn detach(&self, running: Box<AgentRun>, scope: &CancellationToken, cx: &CallContext) -> ToolOutcome {
        let Ok(content) = wire::raw::to_raw(&self.task()) else {
            return ToolOutcome::failed("The prompt is not text.");
        };
        let task = launch(running, scope, content, cx).await;
        self.launched(&task, "The agent runs in the background.")
    }

    /// What the model is told about an agent whose end it does not wait for.
    fn launched(&self, task: &tools::tasks::TaskRecord, what: &str) -> ToolOutcome {
        let id = &task.id;
        let output = task.output.display().to_string();
        let mut text = format!(
            "{what}\nagentId: {id} (to tell it something, use SendMessage with to: \
             \"{id}\")\noutput_file: {output}\nYou will be told when it has ended. Do not wait for it and do not report \
             its result before that; go on with other work or end your turn."
        );
        if let Some(note) = self.brief_note() {
            write!(text, "\n{note}").ok();
        }
        let structured = json!({
            "isAsync": true,
            "status": "async_launched",
            "agentId": id,
            "description": self.description,
            "prompt": self.prompt,
            "outputFile": output,
            "canReadOutputFile": true,
        });
        ToolOutcome::text(text, wire::raw::to_raw(&structured).ok())
    }
}

/// Starts an agent as a background task of the session.
pub(super) async fn launch(
    running: Box<AgentRun>,
    scope: &CancellationToken,
    content: Box<RawValue>,
    cx: &CallContext,
) -> tools::tasks::TaskRecord {
    let moving = MovableAgent::of(&running);
    moving.go_on(Box::pin(running.finish(content)), scope, cx).await
}

/// What is needed to make a background task of an agent that runs.
struct MovableAgent {
    task: tools::tasks::TaskRecord,
    agents: Arc<AgentTable>,
    scope: CancellationToken,
    sidecar: Sidecar,
    in_background: Arc<AtomicBool>,
}

impl MovableAgent {
    fn of(running: &AgentRun) -> Self {
        Self {
            task: running.task(),
            agents: Arc::clone(&running.agents),
            scope: running.session.control.scope().clone(),
            sidecar: running.sidecar.clone(),
            in_background: Arc::clone(&running.in_background),
        }
    }

    async fn go_on(
        self,
        mut work: BoxFuture<'static, AgentResult>,
        scope: &CancellationToken,
        cx: &CallContext,
    ) -> tools::tasks::TaskRecord {
        let Self { task, agents, scope: scope_of_agent, sidecar, in_background } = self;
        if !in_background.swap(true, Ordering::Relaxed) {
            run::write_sidecar(&agents, &task.id, Sidecar { is_backgrounded: true, ..sidecar }).await;
        }
        run::link_output(&task).await;
        let shown = task.clone();
        // The task's token is a child of `scope`; stopping the task must cancel the agent's scope too.
        cx.state.tasks.spawn(task, scope, move |stop| {
            Box::pin(async move { following(&stop, &scope_of_agent, &mut work).await.into_end() })
        });
        session_parts::tasks::send_running(&agents.template().host, &cx.state.tasks).await;
        shown
    }
}

/// Waits for `work`, and cancels `scope` when `cancel` is cancelled meanwhile.
async fn following<T>(cancel: &CancellationToken, scope: &CancellationToken, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => done,
        () = cancel.cancelled() => {
            scope.cancel();
            work.await
        }
    }
}

/// Either the agent has a slot, or it was refused and its worktree is returned for removal.
pub(super) enum AdmissionResult {
    Running(Box<AgentRun>),
    Refused(Option<Worktree>, AgentRefusal),
}

/// An agent that asks for a slot.
pub(super) struct AgentCandidate {
    pub(super) spec: AgentSpec,
    pub(super) sidecar: Sidecar,
    pub(super) scope: CancellationToken,
    pub(super) slot_check: SlotCheck,
    /// The conversation of an agent that is resumed; `None` for a new one.
    pub(super) restored: Option<store::LoadedConversation>,
}

/// Builds the session of an agent and takes a slot for it.
pub(super) fn admit(spawner: &AgentSpawner, view: SessionView, candidate: AgentCandidate) -> AdmissionResult {
    let AgentCandidate { spec, sidecar, scope, slot_check, restored: past } = candidate;
    let child = match build::build(spawner, view, &spec, past, scope.clone()) {
        Ok(child) => child,
        Err(why) => return AdmissionResult::Refused(spec.worktree, why),
    };
    let row = AgentEntry {
        id: spec.id.clone(),
        name: spec.name.clone(),
        agent_type: spec.definition.name.clone(),
        description: spec.description.clone(),
        commands: Some(child.commands.clone()),
        stop: scope,
        stopped_by_user: false,
        stopped_by_system: false,
    };
    match spawner.agents.admit(row, slot_check) {
        Ok(slot) => {
            let agents = Arc::clone(&spawner.agents);
            AdmissionResult::Running(Box::new(AgentRun::new(agents, child, spec, sidecar, slot)))
        }
        Err(why) => AdmissionResult::Refused(spec.worktree, why),
    }
}

pub(super) fn sidecar_of(spec: &AgentSpec) -> Sidecar {
    let worktree = spec.worktree.as_ref();
    let mut other = serde_json::Map::new();
    if let Some(worktree) = worktree {
        other.insert("worktreeBaseCommit".into(), worktree.commit().into());
    }
    Sidecar {
        agent_type: spec.definition.name.clone(),
        description: spec.description.clone(),
        tool_use_id: spec.tool_use_id.clone(),
        parent_agent_id: spec.parent.clone(),
        name: spec.name.clone(),
        spawn_depth: Some(spec.depth),
        worktree_path: worktree.map(|w| w.path.clone()),
        worktree_branch: worktree.and_then(|w| w.branch.clone()),
        color: spec.definition.color.map(str::to_owned),
        model: Some(spec.model.clone()),
        permission_mode: Some(spec.mode.as_str().to_owned()),
        is_backgrounded: spec.background,
        status: None,
        stopped_by_user: false,
        other,
    }
}

/// The agent's model from the environment, the call, the definition or the parent, in this order. The second value is
/// a model that `availableModels` refused.
fn model_of(
    asked: Option<&str>,
    definition: &AgentDefinition,
    view: &SessionView,
    template: &crate::agents::AgentTemplate,
) -> (String, Option<String>) {
    let forced = template.env.non_empty("CLAUDE_CODE_SUBAGENT_MODEL").filter(|name| *name != "inherit");
    let named = forced.or(asked).or(definition.model.as_deref()).filter(|name| *name != "inherit");
    let Some(named) = named else { return (view.model.clone(), None) };
    let id = template.catalog.resolve(named, &template.env);
    let permitted = |list: &Vec<String>| {
        list.iter().any(|entry| {
            entry == named || template.catalog.resolve(entry, &template.env) == id || id.starts_with(entry)
        })
    };
    match &view.watch.loaded.settings.available_models {
        Some(list) if !permitted(list) => (view.model.clone(), Some(named.to_owned())),
        Some(_) | None => (id, None),
    }
}

/// The permission mode of an agent. A parent in a more permissive mode or in plan mode passes its mode on; otherwise
/// the definition chooses, within what policy allows.
pub(super) fn mode_of(definition: &AgentDefinition, view: &SessionView, env: &sys::Env) -> PermissionMode {
    use PermissionMode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
    match (view.mode, definition.permission_mode) {
        (AcceptEdits | Auto | BypassPermissions | Plan, _) | (Default | DontAsk, None) => view.mode,
        (Default | DontAsk, Some(BypassPermissions)) => {
            let loaded = &view.watch.loaded;
            let is_trusted = match definition.scope {
                DefinitionScope::Managed | DefinitionScope::CommandLine | DefinitionScope::User => true,
                DefinitionScope::Project | DefinitionScope::Added | DefinitionScope::Nested => loaded.trusted,
            };
            let root = sys::is_root() && !env.is_on("IS_SANDBOX");
            if is_trusted && !loaded.bypass_disabled && !root { BypassPermissions } else { view.mode }
        }
        (Default | DontAsk, Some(chosen)) => chosen,
    }
}

/// Whether the mode comes from the definition when the parent's mode is `parent`.
pub(super) fn is_own_mode(definition: &AgentDefinition, parent: PermissionMode) -> bool {
    use PermissionMode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
    match parent {
        AcceptEdits | Auto | BypassPermissions | Plan => false,
        Default | DontAsk => definition.permission_mode.is_some(),
    }
}

/// Whether agents of this type can be continued.
pub(super) fn is_continuable(definition: &AgentDefinition) -> bool {
    !builtin::is_fork(definition)
}
