//! Opens a session: loads the configuration, chooses the conversation and builds the parts. Nothing is written and
//! nothing is sent before the first prompt.

mod agent;
mod cassette;
mod choice;
mod conversation;
mod handles;

mod initialize;
mod mcp;
mod prompt;
mod record;
mod relocate;
mod replay;
mod session_hooks;
mod skills;
pub(crate) mod toolbox;
mod watch;

use crate::agent_runs::SessionAgents;
use crate::agents::recover::{self, AgentRecovery};
use crate::agents::{AgentSpawner, AgentTable};
use crate::control::{HostConnection, ModeChoice, SessionControl};
use crate::deferred;
use crate::recall_tool::RecallTool;
use crate::session::builder::{
    ContextSource, ConversationParts, KnowledgeParts, NewSession, OutputParts, ToolingParts,
};
use crate::session::recall::RecallAccess;
use crate::session::{LiveSession, PlaceChange, RulesParts, SessionProvider, StartState};
use choice::{main_model, mode};
use config::agents::AgentDefinition;
use config::roots::DefinitionRoots;
use config::{ConfigLoader, Credential, CredentialOptions, NoCredential, ProjectConfig, SettingsSelection};
use conversation::{ConversationChoice, SessionPlace};
use model::catalog::ModelCatalog;
use model::{Fragment, ModelTransport, RequestIdentity};
use permission::KnownSecret;
use permission::Policy;
use session_parts::budgets::BudgetGate;
use session_parts::checkpoints::CheckpointScope;
use session_parts::command::{COMMAND_QUEUE, CommandSender, Event, EventReceiver, EventSenders, event_channel};
use session_parts::compaction_policy::CompactionPolicy;
use session_parts::context::{MainModel, ModelChain, TurnLimits};
use session_parts::grants::{BypassAvailability, ModeOwner};
use session_parts::hooks::{EnvFiles, HookCallers, HookRestriction, HostHooks, OwnHooks};
use session_parts::host::HostSender;
use session_parts::host::InitFacts;
use session_parts::host::{HostFlags, StateFrames};
use session_parts::ledger::Ledger;
use session_parts::options::selection;
use session_parts::options::{SessionChoice, SessionOptions, StartRequest};
use session_parts::permission_prompt::PermissionChannel;
use session_parts::plan::{self, PlanState};
use session_parts::project_facts::ProjectFacts;
use session_parts::prompt_recipe::DEFAULT_STYLE;
use session_parts::prompt_recipe::style_name;
use session_parts::prompts::PersonAttendance;
use session_parts::provider::ProviderConnection;
use session_parts::questions::HostQuestions;
use session_parts::resume;
use session_parts::sandbox::{SandboxInputs, SessionSandbox};
use session_parts::settings_watch::SettingsWatch;
use session_parts::side_requests::SideClient;
use session_parts::start_error::{StartError, StartFailure};
use session_parts::structured::StructuredOutput;
use session_parts::worktree::{self, ActiveWorktree};
use std::path::PathBuf;
use std::sync::Arc;
use store::StoreLayout;
use store::live_sessions::LiveRecord;
use sys::Env;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::Workspace;
use tools::masking::Masking;
use tools::state::{SessionFacts, ToolState};
use wire::control::InitializeRequest;
use wire::hooks::HookEventName;
use wire::mode::PermissionMode;

/// How many calls of one message may run at once; the environment may override it.
const CONCURRENCY: usize = 10;
const OUTPUT_RETRIES: u32 = 5;

/// Opens a session. Must be called inside the runtime. The session ends when the command channel is closed and all
/// work is done; then the event channel closes. The configuration is loaded and checked now; the session itself is
/// built with the first command, because that may be an `initialize` request with parameters for it.
pub async fn open(boot: StartRequest) -> Result<(CommandSender, EventReceiver), StartError> {
    let (commands, command_receiver) = mpsc::channel(COMMAND_QUEUE);
    let selection = selection(&boot.options);
    let (boot, active) = worktree::enter(boot, &selection).await?;
    let (out, events) = event_channel();
    let assembly = SessionAssembly::new(boot, selection, active)?;
    assembly.structured()?;
    for notice in assembly.notices() {
        // The queue is empty and far larger than the number of notices.
        out.stream.try_send(Event::Notice(notice)).ok();
    }
    tokio::spawn(assembly.serve(command_receiver, out));
    Ok((commands, events))
}

/// Builds a session that serves no turns. Also returns notices for the person who started it.
pub(crate) fn open_idle(
    boot: StartRequest,
    commands: mpsc::Receiver<crate::Command>,
    out: EventSenders,
) -> Result<(LiveSession, Vec<String>), StartError> {
    let selection = selection(&boot.options);
    let assembly = SessionAssembly::new(boot, selection, None)?;
    let notices = assembly.notices();
    Ok((assembly.build(commands, out)?, notices))
}

/// Whether the conversation that `boot` resumes ends with a call that a hook deferred: then there is work without a
/// prompt.
pub fn awaits_call(boot: &StartRequest) -> bool {
    let Ok(cwd) = boot.cwd.canonicalize() else { return false };
    let conversation = match boot.options.conversation.choice {
        SessionChoice::New { .. } => return false,
        SessionChoice::Continue { .. } | SessionChoice::Resume { .. } => {
            ConversationChoice::choose(&boot.options, &StoreLayout::new(&boot.env), &cwd)
        }
    };
    conversation.is_ok_and(|chosen| !chosen.is_fork && chosen.loaded.as_ref().and_then(deferred::find).is_some())
}

/// What is sent to the model besides new messages.
struct PromptInputs {
    restored: Option<resume::RestoredConversation>,
    files: Vec<config::MemoryFile>,
    system: Vec<Fragment>,
    facts: Option<Arc<ProjectFacts>>,
}

/// Everything known before the parts are built.
struct SessionAssembly {
    options: SessionOptions,
    env: Env,
    /// The environment without the variables that settings set.
    base_env: Env,
    cwd: PathBuf,
    /// The directory as the user named it, with symlinks unresolved.
    named_cwd: PathBuf,
    loaded: ProjectConfig,
    selection: SettingsSelection,
    layout: StoreLayout,
    conversation: ConversationChoice,
    mode: PermissionMode,
    /// The mode `auto` was requested, which is not available.
    lacks_auto: bool,
    catalog: Arc<ModelCatalog>,
    model: MainModel,
    credential: Result<Credential, NoCredential>,
    /// Where agents and skills are declared; `None` when definitions on disk are ignored.
    roots: Option<DefinitionRoots>,
    /// The definition the main thread runs as.
    agent: Option<AgentDefinition>,
    /// A notice about it, shown first.
    agent_notice: Option<String>,
    sandbox: Option<Arc<SessionSandbox>>,
    /// MCP servers of every scope.
    declared_servers: config::mcp::DeclaredMcpServers,
    /// The worktree the session works in, and the change to record in the transcript.
    active_worktree: Option<Arc<ActiveWorktree>>,
    place_change: Option<PlaceChange>,
    /// Worktrees can be created here.
    has_worktrees: bool,
    /// The agent of `--agent` does not exist; the host may still declare it.
    missing_agent: Option<StartError>,
    /// The system prompt that the host sent.
    system_blocks: Option<Vec<String>>,
    /// The other fields of the `initialize` request.
    initialize: InitializeRequest,
    /// Receives every line of every transcript.
    mirror: Option<store::LineObserver>,
    /// Set when the conversation moves to another directory in the same process.
    carried_state: Option<relocate::CarriedState>,
}

impl SessionAssembly {
    fn new(
        boot: StartRequest,
        selection: SettingsSelection,
        active: Option<Arc<ActiveWorktree>>,
    ) -> Result<Self, StartError> {
        let cwd = boot.cwd.canonicalize().map_err(|e| {
            let message = format!("The current directory cannot be used: {}: {e}", boot.cwd.display());
            StartError::new(StartFailure::Directory, message)
        })?;
        config::state::check(&boot.env).map_err(|e| StartError::of(StartFailure::Configuration, e))?;
        let conversation = ConversationChoice::choose(&boot.options, &StoreLayout::new(&boot.env), &cwd)?;
        Self::for_conversation(boot, selection, (cwd, active), conversation)
    }

    /// Loads the configuration of the directory the conversation will run in.
    fn for_conversation(
        boot: StartRequest,
        selection: SettingsSelection,
        (mut cwd, active): (PathBuf, Option<Arc<ActiveWorktree>>),
        conversation: ConversationChoice,
    ) -> Result<Self, StartError> {
        let (options, layout) = (boot.options, StoreLayout::new(&boot.env));
        let temp_notice = layout.prepare_temp();
        let SessionPlace { active_worktree: active, place_change: placed, notice } =
            conversation.session_place(active, &mut cwd, &boot.env)?;
        let mut loaded = ConfigLoader::open(&cwd, &boot.env, &selection)
            .map_err(|e| StartError::of(StartFailure::Configuration, e))?;
        loaded.notices.extend(notice.into_iter().chain(temp_notice));
        let env = loaded.env.clone();
        let roots = agent::roots(&options, &cwd, &env, &selection, &loaded);
        let (main, missing_agent) = match agent::main(&options, &loaded, &conversation, roots.as_ref()) {
            Ok(main) => (main, None),
            Err(error) if options.host.multi_turn => (agent::MainAgent::default(), Some(error)),
            Err(error) => return Err(error),
        };
        let wanted = mode(&options, &loaded, &conversation, main.definition.as_ref(), &env)?;
        // There is no classifier, so the user is asked instead.
        let mode = if wanted == PermissionMode::Auto { PermissionMode::Default } else { wanted };
        let declared = mcp::declared(&options, (&cwd, &boot.env), &loaded, &selection)?;
        let catalog = Arc::new(ModelCatalog::default());
        let (model, notice) = main_model(&options, &loaded, &conversation, main.definition.as_ref(), (&catalog, &env));
        loaded.notices.extend(notice);
        let wanted_credential = CredentialOptions { bare: options.configuration.bare, now_ms: sys::clock::now_ms() };
        let credential = config::credentials::resolve(&env, &loaded, wanted_credential);
        let mut assembly = Self {
            options,
            env,
            base_env: boot.env,
            cwd,
            named_cwd: boot.cwd,
            loaded,
            selection,
            layout,
            conversation,
            mode,
            lacks_auto: wanted == PermissionMode::Auto,
            catalog,
            model,
            credential,
            roots,
            agent: main.definition,
            agent_notice: main.notice,
            sandbox: None,
            declared_servers: declared,
            active_worktree: active,
            place_change: placed,
            has_worktrees: false,
            missing_agent,
            system_blocks: None,
            initialize: InitializeRequest::default(),
            mirror: None,
            carried_state: None,
        };
        assembly.sandbox = assembly.open_sandbox()?;
        Ok(assembly)
    }

    /// The sandbox, when settings enable one. Fails when a required sandbox is not available.
    fn open_sandbox(&self) -> Result<Option<Arc<SessionSandbox>>, StartError> {
        if self.loaded.settings.sandbox.enabled != Some(true) {
            return Ok(None);
        }
        let tasks = self.layout.create_tasks_dir(&self.cwd, &self.conversation.session_id);
        let tasks = tasks.map_err(|e| StartError::of(StartFailure::Sandbox, e))?;
        let inputs = SandboxInputs {
            cwd: self.cwd.clone(),
            additional: self
                .options
                .permissions
                .directories
                .iter()
                .map(|dir| self.cwd.join(dir))
                .chain(self.loaded.additional_directories.iter().cloned())
                .collect(),
            env: self.env.clone(),
            base_env: self.base_env.clone(),
            scratch: tasks.parent().unwrap_or(&tasks).to_path_buf(),
        };
        let confinement = SessionSandbox::always_on(&self.loaded, inputs);
        match confinement.unavailable() {
            Some(why) if confinement.is_required() => Err(StartError::of(
                StartFailure::Sandbox,
                format!("{why} sandbox.failIfUnavailable is set, so nothing is run."),
            )
            .with_hint("See `gimlet sandbox status`.")),
            Some(_) | None => Ok(Some(Arc::new(confinement))),
        }
    }

    fn notices(&self) -> Vec<String> {
        let broken = self.loaded.diagnostics.iter().map(|d| format!("Warning: {d}"));
        let mut all: Vec<String> =
            self.loaded.notices.iter().map(|line| permission::masked_formats(line)).chain(broken).collect();
        all.extend(self.agent_notice.clone());
        all.extend(self.conversation.loaded.as_ref().and_then(store::LoadedConversation::unreadable_lines));
        all.extend(self.conversation.shared_notice(&self.layout));
        all.extend(self.declared_servers.notices.iter().cloned());
        all.extend(self.declared_servers.diagnostics.iter().map(|d| format!("Warning: {d}")));
        all.extend(self.broken_rules());
        all.extend(self.loaded.without_effect_line());
        all.extend(config::environment::unusable_values(&self.env));
        all.extend(http::unusable_certificates(&self.env));
        all.extend(toolbox::unknown_tools_notice(&self.options));
        if self.lacks_auto {
            all.push(
                "Warning: permission mode auto is not available: there is no classifier. The mode is default".into(),
            );
        }
        if let Some(why) = self.sandbox.as_ref().and_then(|confinement| confinement.unavailable()) {
            all.push(format!("Warning: {why} Commands run without it and are asked about as usual."));
        }
        if !self.catalog.lookup(&self.model.id).known {
            let model = wire::raw::to_line(&self.model.id).unwrap_or_default();
            all.push(format!("[claude-code:unrecognized_model] {{\"model\":{model}}}"));
            all.extend(self.assumed_window_notice());
        }
        all
    }

    /// A notice about an unknown model whose context window is not configured.
    fn assumed_window_notice(&self) -> Option<String> {
        let facts = self.catalog.lookup(&self.model.id);
        let is_known = self.env.non_empty("CLAUDE_CODE_MAX_CONTEXT_TOKENS").is_some() || facts.long_window_requested;
        (!is_known).then(|| {
            format!(
                "Note: gimlet does not know the model {}. A context window of {} tokens is assumed; \
                 CLAUDE_CODE_MAX_CONTEXT_TOKENS=N sets another one.",
                self.model.id,
                wire::counting::thousands(facts.context_window)
            )
        })
    }

    fn build(mut self, commands: mpsc::Receiver<crate::Command>, out: EventSenders) -> Result<LiveSession, StartError> {
        let session_id = self.conversation.session_id.clone();
        let reduced = HookRestriction::from((self.options.configuration.bare, self.options.configuration.safe_mode));
        let host = HostSender::new(out.stream.clone(), session_id.clone());
        self.mirror = self.options.host.session_mirror.then(|| session_parts::mirror::tap(host.stream()));
        let (live, questions) = self.host_questions(&host);
        let host_hooks = Arc::new(HostHooks::new(questions.clone(), self.initialize.hooks.clone().unwrap_or_default()));
        let own_hooks = OwnHooks { host: host_hooks.layer(), ..self.own_hooks() };
        let (catalogue, limits) = session_parts::hooks::with_own(&self.loaded, reduced, &own_hooks);
        let env_files = self.env_files(&catalogue);
        self.has_worktrees =
            sys::git::root(&self.cwd).is_some() || !catalogue.of(HookEventName::WorktreeCreate).is_empty();
        self.record_first_sight();
        let watch = self.settings_watch();
        let policy = Arc::new(watch.policy(self.mode));
        let facts = self.project_facts(&policy);
        if let Some(facts) = facts.as_ref().filter(|_| self.conversation.loaded.is_none()) {
            facts.begin();
        }
        let (chosen, chosen_mode) = tokio::sync::watch::channel(None);
        let modes = ModeChoice { chosen, bypass: self.bypass() };
        let structured = self.structured()?;
        let agent_recovery = self.agent_recovery();
        let deferred =
            self.conversation.loaded.as_ref().filter(|_| !self.conversation.is_fork).and_then(deferred::find);
        let (restored, remembered) = self.restored(&out, &session_id);
        let mut memory = watch.memory();
        let files = std::mem::take(&mut memory.files);
        let roots = self.roots();
        let recipe = self.prompt_recipe(roots.clone());
        let skills_template = self.skills_template(roots, memory.lazy);
        let skills = skills_template.build(restored.as_ref().map(|r| r.sent_skill_lines.clone()).unwrap_or_default());
        let mut registry = toolbox::registry(&self, &policy, structured.clone(), &skills);
        let identity = Arc::new(RequestIdentity::new(&session_id, &self.options.host.entrypoint, &self.env));
        let transport = cassette::transport(&self)?;
        let side = Arc::new(SideClient::new(Arc::clone(&identity), self.small_model()));
        let servers = self.servers(&host, &questions, &watch);
        let callers = HookCallers::new(self.env.clone(), Arc::clone(&side), limits, Arc::clone(&host_hooks))
            .with_servers(Arc::clone(&servers) as Arc<dyn session_parts::hooks::ServerTools>);
        let state = Arc::new(self.tool_state(env_files.as_ref()));
        servers.owner.mask_with(Arc::clone(&state.masking));
        let ledger = self.ledger();
        let gate = BudgetGate(Arc::clone(ledger.budgets()));
        let template = agent::template(
            &self,
            &registry,
            agent::AgentTemplateParts {
                host: &host,
                identity: &identity,
                state: &state,
                ledger: &ledger,
                files: &files,
                skills: skills_template,
                watch: &watch,
                servers: &servers,
                project_facts: facts.as_ref(),
            },
        );
        let agents = Arc::new(AgentTable::new(
            template,
            &SessionAgents,
            self.roots.clone(),
            self.options.agents.definitions.clone(),
        ));
        let spawner = AgentSpawner::new(agents, None, 0, CancellationToken::new());
        toolbox::add_agents(&mut registry, &self, &policy, &spawner);
        toolbox::add_worktrees(&mut registry, &self, &policy);
        let registry = Arc::new(registry);
        let mcp = self.toolset((servers, &registry, &policy), restored.as_ref(), remembered);
        let hooks = self.session_hooks(catalogue, (callers, own_hooks), host.clone(), (env_files, &spawner));
        let output = self.session_output(host.clone(), ledger, live);
        let rules = self.session_rules(watch, policy, chosen_mode, &questions);
        let provider = SessionProvider { connection: self.provider(transport, Arc::clone(&state), gate), side };
        let tooling = ToolingParts {
            registry: Arc::clone(&registry),
            directories: self.workspace(&rules.watch),
            state,
            structured,
            concurrency: self.concurrency(),
            spawner,
            worktree_guard: self.active_worktree.as_ref().map(|active| active.guard()),
            active_worktree: self.active_worktree.clone(),
            recall: RecallAccess {
                is_wanted: toolbox::is_extra_wanted(&self, RecallTool::NAME, &rules.policy),
                inherited: None,
            },
        };
        let knowledge = KnowledgeParts { skills, mcp, plan: self.planning() };
        let system = recipe.system(&self.loaded, &self.model.id);
        let context = self.context(identity, PromptInputs { restored, files, system, facts });
        let env = self.env.clone();
        let builder = NewSession { env, output, rules, tooling, knowledge, provider, hooks, context };
        let (io, context) = builder.build();
        let handles = self.session_handles(&io, host_hooks, registry);
        let host_connection = HostConnection { replies: out.replies, questions, handles };
        let mut control = self.session_control(SessionControl::new(commands, Some(host_connection), modes));
        control.view.rules = io.rules.published();
        let start = StartState { agent_recovery, deferred, ..self.start_state() };
        Ok(LiveSession { control, context, io, start, recipe: Some(recipe) })
    }

    /// What the view begins with: what the host asked for, name and colour of the conversation.
    fn session_control(&self, mut control: SessionControl) -> SessionControl {
        control.view.apply_initialize(&self.initialize);
        (control.view.name, control.view.colour) = (self.conversation.name(), self.conversation.colour());
        control
    }

    fn session_output(&self, host: HostSender, ledger: Ledger, live_record: Option<Arc<LiveRecord>>) -> OutputParts {
        let (transcript, flags, facts) = (self.transcript_writer(), self.host_flags(), self.init_facts());
        let id = &self.conversation.session_id;
        let checkpoints = CheckpointScope::new(transcript.transcript(), self.layout.home(), id, &self.cwd);
        OutputParts { host, transcript, checkpoints, ledger, live_record, flags, facts }
    }

    fn session_rules(
        &self,
        watch: SettingsWatch,
        policy: Arc<Policy>,
        chosen_mode: tokio::sync::watch::Receiver<Option<PermissionMode>>,
        questions: &HostQuestions,
    ) -> RulesParts {
        RulesParts {
            policy,
            mode: self.mode,
            watch,
            chosen_mode,
            bypass: self.bypass(),
            mode_owner: ModeOwner::Session,
            grants_seen: 0,
            permission_channel: self.permission_channel(questions),
        }
    }

    /// The conversation that is resumed; hosts that show conversations are sent its end.
    fn restored(
        &mut self,
        out: &EventSenders,
        session_id: &str,
    ) -> (Option<resume::RestoredConversation>, session_parts::mcp::RestoredServers) {
        if let Some(loaded) = self.conversation.loaded.as_ref().filter(|_| self.options.host.replay_history) {
            replay::send_history(loaded, &out.stream, session_id);
        }
        let mut restored = self.conversation.loaded.as_mut().map(resume::restore);
        let remembered = restored.as_mut().map(|r| std::mem::take(&mut r.servers)).unwrap_or_default();
        (restored, remembered)
    }

    /// The state for the first turn.
    fn start_state(self) -> StartState {
        let agent = self.agent.as_ref().map(|agent| agent.name.clone());
        let (setup, only_hooks) = (self.options.configuration.setup, self.options.configuration.init_only);
        let is_new = self.conversation.loaded.is_none();
        let initial = self.agent.as_ref().filter(|_| is_new).and_then(|agent| agent.initial_prompt.clone());
        let conversation = self.conversation.start(self.options.conversation.name, self.mode);
        StartState {
            setup,
            only_hooks,
            agent,
            initial_prompt: initial,
            place_change: self.place_change,
            is_price_accepted: self.options.conversation.is_price_accepted,
            ..conversation
        }
    }

    /// Records the content of a folder at first sight. A folder that the reference implementation trusts is trusted
    /// with its current content; when recording fails, the user is asked later. The content of an untrusted folder is
    /// not accepted by a later approval. It is written before anything else happens: a run that ends early must not leave
    /// the folder unseen.
    fn record_first_sight(&self) {
        if !config::trust::is_first_sight(&self.loaded) {
            return;
        }
        if let Err(error) = config::trust::record_first_sight(&self.cwd, &self.base_env, &self.loaded) {
            tracing::warn!(%error, "what a folder held when it was first seen could not be recorded");
        }
    }

    fn additional(&self) -> Vec<PathBuf> {
        let given = self.options.permissions.directories.iter().map(|d| self.cwd.join(d));
        given.chain(self.loaded.additional_directories.iter().cloned()).collect()
    }

    /// Bypass mode can be chosen later only when the launch allowed it.
    fn bypass(&self) -> BypassAvailability {
        let launched = self.options.permissions.allow_bypass || self.mode == PermissionMode::BypassPermissions;
        if launched && !self.loaded.bypass_disabled {
            BypassAvailability::Available
        } else {
            BypassAvailability::Closed
        }
    }

    /// A host can be asked only when it reads our output and sends stream-json input.
    fn permission_channel(&self, questions: &HostQuestions) -> PermissionChannel {
        match self.options.permissions.prompt_tool.as_deref() {
            _ if self.options.permissions.no_prompts => PermissionChannel::Nobody,
            Some("stdio") if self.options.host.multi_turn => PermissionChannel::Host(questions.clone()),
            Some("stdio") | None => PermissionChannel::Nobody,
            Some(tool) => PermissionChannel::Tool(tool.to_owned()),
        }
    }

    /// Who can answer questions, decided as in `permission_channel`.
    fn attendance(&self) -> PersonAttendance {
        match self.options.permissions.prompt_tool.as_deref() {
            _ if self.options.permissions.no_prompts => PersonAttendance::Absent,
            Some("stdio") if self.options.host.multi_turn => PersonAttendance::Present,
            Some("stdio") | None => PersonAttendance::Absent,
            Some(_) => PersonAttendance::Program,
        }
    }

    fn workspace(&self, watch: &SettingsWatch) -> Workspace {
        Workspace {
            cwd: self.cwd.clone(),
            project: self.cwd.clone(),
            additional: watch.additional(),
            home: self.env.home(),
        }
    }

    fn planning(&self) -> PlanState {
        let dir = self.loaded.settings.plans_directory.as_deref();
        let dir = plan::directory(dir, &self.cwd, self.layout.home());
        let method = self.initialize.plan_mode_instructions.clone().filter(|text| !text.trim().is_empty());
        PlanState::new(&dir, &self.conversation.session_id).with_method(method)
    }

    fn tool_state(&self, env_files: Option<&EnvFiles>) -> ToolState {
        let facts = self.catalog.lookup(&self.model.id);
        let effort = facts.default_effort.map(|e| e.name().to_owned());
        let session = SessionFacts {
            session_id: self.conversation.session_id.clone(),
            env: match env_files {
                Some(files) => self.env.with([("CLAUDE_ENV_FILE", files.entry())]),
                None => self.env.clone(),
            },
            session_dir: self.session_dir(),
            tasks_dir: self.tasks_dir(),
            config_home: self.layout.home().to_path_buf(),
            read_before_edit: facts.read_before_edit,
            effort: self.options.model.effort.clone().or(effort),
            secret_vars: config::environment::SECRET_VARIABLES.iter().map(|s| (*s).to_owned()).collect(),
            documents: facts.known,
            plan_file: Some(self.planning().file),
            agent_id: None,
        };
        let state = ToolState { masking: Arc::new(self.masking()), ..ToolState::new(session, self.cwd.clone()) };
        match &self.carried_state {
            Some(carried) => state.continue_from(&carried.state),
            None => state,
        }
    }

    fn masking(&self) -> Masking {
        if self.loaded.settings.mask_secrets == Some(false) {
            return Masking::off();
        }
        let env = self.base_env.clone();
        let stored = move || {
            let known =
                |(name, value): (String, config::CredentialSecret)| KnownSecret { name, value: value.reveal().into() };
            config::credential_store::secrets(&env).into_iter().map(known).collect()
        };
        let masking = Masking::with_stored(self.env.clone(), Box::new(stored));
        // Includes servers that are not approved, because their declaration may be displayed.
        let servers = self.declared_servers.servers.iter();
        masking.learn_all(servers.flat_map(|server| permission::mask::of_server(&server.config)).collect());
        masking
    }

    fn structured(&self) -> Result<Option<Arc<StructuredOutput>>, StartError> {
        let Some(schema) = &self.options.tools.output_schema else { return Ok(None) };
        let tool = StructuredOutput::new(schema).map_err(|e| StartError::of(StartFailure::Configuration, e))?;
        Ok(Some(Arc::new(tool)))
    }

    fn concurrency(&self) -> usize {
        self.env.number("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY").unwrap_or(CONCURRENCY).max(1)
    }

    /// Undelivered results of agents of a resumed conversation. A fork has none.
    fn agent_recovery(&self) -> AgentRecovery {
        match &self.conversation.loaded {
            Some(loaded) if !self.conversation.is_fork => recover::find_undelivered(loaded, &self.session_dir(), None),
            Some(_) | None => AgentRecovery::default(),
        }
    }

    fn provider(&self, transport: ModelTransport, state: Arc<ToolState>, gate: BudgetGate) -> ProviderConnection {
        ProviderConnection::new(self.env.clone(), self.cwd.clone(), (transport, gate), self.credential.clone(), state)
    }

    fn host_flags(&self) -> HostFlags {
        let open = self.env.is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        let sdk = self.env.is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        HostFlags {
            partial_messages: self.options.host.partial_messages,
            replay_user_messages: self.options.host.replay_user_messages,
            has_screen: self.options.host.replay_history,
            cache_events: self.options.host.cache_events,
            keeps_checkpoints: self.keeps_checkpoints(),
            ends_after_turn: false,
            session_state: match (open, sdk) {
                (true, _) => Some(StateFrames::Open),
                (false, true) => Some(StateFrames::SdkOnly),
                (false, false) => None,
            },
        }
    }

    /// Whether checkpoints are kept where no setting says otherwise. Without a transcript there is nothing to go back in.
    fn keeps_checkpoints(&self) -> bool {
        let asked = self.env.is_on("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING");
        let refused = self.env.is_on("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING");
        self.persist() == store::Persistence::Yes && !refused && (asked || !self.options.host.checkpoints_on_request)
    }

    fn init_facts(&self) -> InitFacts {
        InitFacts {
            cwd: self.cwd.display().to_string(),
            api_key_source: self.credential.as_ref().map_or("none", |c| c.api_key_source()),
            output_style: style_name(&self.loaded),
            output_styles: self.roots.as_ref().map_or_else(|| vec![DEFAULT_STYLE.into()], config::styles::names),
            betas: self.options.model.betas.clone(),
            has_commands: !self.options.configuration.disable_slash_commands,
            tool_aliases: self.initialize.tool_aliases.clone().unwrap_or_default(),
        }
    }

    fn context(&self, identity: Arc<RequestIdentity>, inputs: PromptInputs) -> ContextSource {
        let PromptInputs { restored, files, system, facts } = inputs;
        ContextSource::Conversation(Box::new(ConversationParts {
            catalog: Arc::clone(&self.catalog),
            restored,
            compaction: CompactionPolicy::new(self.compaction_settings(), &self.env, self.served()),
            models: ModelChain::new(self.model.clone(), self.fallback_chain()),
            settings: self.request_settings(identity),
            system,
            files,
            notes: self.notes_dir(),
            facts,
            limits: TurnLimits {
                max_turns: self.options.limits.max_turns.or_else(|| self.agent.as_ref()?.max_turns),
                output_retries: self.env.number("MAX_STRUCTURED_OUTPUT_RETRIES").unwrap_or(OUTPUT_RETRIES),
            },
        }))
    }
}
