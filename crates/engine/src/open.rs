//! Opens a session: reads what was declared, chooses the conversation, puts the parts together. Nothing is written and
//! nothing is sent before the first prompt.

mod cassette;
mod conversation;
mod prompt;
mod toolbox;

use crate::ask::{Asker, QUESTION_QUEUE, Question};
use crate::command::{COMMAND_QUEUE, Commands, EVENT_QUEUE, Event, Events};
use crate::context::{Context, Limits, Models, Parts, Reminders, RequestSettings};
use crate::control::{Control, Lanes, ModeChoice};
use crate::grants::Bypass;
use crate::hooks::{self, EnvFiles, HookCallers, Hooking, Parts as HookParts, Reduced};
use crate::host::Host;
use crate::ledger::Ledger;
use crate::link::Link;
use crate::options::{BYPASS_ROOT, Boot, Options, SettingSource, StartError, Thinking, is_sandboxed};
use crate::reload::Watch;
use crate::resume;
use crate::scribe::Scribe;
use crate::session::{HostFlags, InitFacts, Io, Session, Start, StateFrames};
use crate::side::Side;
use crate::structured::StructuredOutput;
use ::hooks::Surroundings;
use config::trust::Approval;
use config::{Credential, CredentialOptions, Loaded, NoCredential, Project, Selection};
use conversation::Conversation;
use model::catalog::{Catalog, Served};
use model::request::Choice;
use model::{Fragment, Identity, Transport};
use permission::Place;
use std::path::PathBuf;
use std::sync::Arc;
use store::registry::{Facts as LiveFacts, LiveRecord};
use store::{Layout, Persist, Transcript};
use sys::Env;
use tokio::sync::mpsc;
use tools::Workspace;
use tools::state::{SessionFacts, ToolState};
use wire::entry::Tail;
use wire::mode::PermissionMode;
use wire::settings::{Behaviour, RuleText, Source};

/// The calls of one message that may run at once, unless the environment says otherwise.
const CONCURRENCY: usize = 10;
const OUTPUT_RETRIES: u32 = 5;
const DEFAULT_STYLE: &str = "default";

/// Opens a session. Must be called inside the runtime; the session ends when the commands side is closed and all work
/// is done, which closes the events side.
pub async fn open(boot: Boot) -> Result<(Commands, Events), StartError> {
    let (commands, command_receiver) = mpsc::channel(COMMAND_QUEUE);
    let (event_sender, events) = mpsc::channel(EVENT_QUEUE);
    let opening = Opening::new(boot)?;
    for notice in opening.notices() {
        // The queue is empty and far larger than the few lines settings can cause.
        event_sender.try_send(Event::Notice(notice)).ok();
    }
    let session = opening.build(command_receiver, event_sender)?;
    tokio::spawn(session.serve());
    Ok((commands, events))
}

/// Everything known before the parts are made.
struct Opening {
    options: Options,
    env: Env,
    /// Without the settings' own variables.
    base_env: Env,
    cwd: PathBuf,
    /// As the user came to it: perhaps through links.
    named_cwd: PathBuf,
    loaded: Loaded,
    selection: Selection,
    layout: Layout,
    conversation: Conversation,
    mode: PermissionMode,
    /// `auto` was asked for.
    lacks_auto: bool,
    catalog: Arc<Catalog>,
    model: String,
    credential: Result<Credential, NoCredential>,
}

impl Opening {
    fn new(boot: Boot) -> Result<Self, StartError> {
        let cwd = boot.cwd.canonicalize().map_err(|e| StartError {
            message: format!("The current directory cannot be used: {}: {e}", boot.cwd.display()),
            reason: Some("cwd_unavailable"),
        })?;
        let options = boot.options;
        let selection = selection(&options);
        config::state::check(&boot.env).map_err(|e| StartError::new(format!("Error: {e}")))?;
        let loaded = Project::open(&cwd, &boot.env, &selection).map_err(|e| StartError::new(format!("Error: {e}")))?;
        let env = loaded.env.clone();
        let layout = Layout::new(&boot.env);
        let conversation = Conversation::choose(&options, &layout, &cwd)?;
        let wanted = mode(&options, &loaded, &conversation, &env)?;
        // There is no classifier to decide in our place: people are asked.
        let mode = if wanted == PermissionMode::Auto { PermissionMode::Default } else { wanted };
        let catalog = Arc::new(Catalog::default());
        let model = main_model(&options, &loaded, &conversation, &catalog, &env);
        let wanted_credential = CredentialOptions { bare: options.bare, now_ms: sys::clock::now_ms() };
        let credential = config::credentials::resolve(&env, &loaded, wanted_credential);
        Ok(Self {
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
        })
    }

    fn notices(&self) -> Vec<String> {
        let broken = self.loaded.diagnostics.iter().map(|d| format!("Warning: {d}"));
        let mut all: Vec<String> = self.loaded.notices.iter().cloned().chain(broken).collect();
        if self.lacks_auto {
            all.push(
                "Warning: permission mode auto is not available: there is no classifier. The mode is default".into(),
            );
        }
        if !self.catalog.lookup(&self.model).known {
            let model = wire::raw::to_line(&self.model).unwrap_or_default();
            all.push(format!("[claude-code:unrecognized_model] {{\"model\":{model}}}"));
        }
        all
    }

    fn build(
        mut self,
        commands: mpsc::Receiver<crate::Command>,
        events: mpsc::Sender<Event>,
    ) -> Result<Session, StartError> {
        let session_id = self.conversation.session_id.clone();
        let reduced = Reduced::from((self.options.bare, self.options.safe_mode));
        let (catalogue, limits) = hooks::catalogue(&self.loaded, reduced);
        let env_files = self.env_files(&catalogue);
        let host = Host::new(events, session_id.clone());
        self.adopt_trust();
        let watch = self.watch();
        let policy = Arc::new(watch.policy(self.mode));
        let (questions, posed) = mpsc::channel(QUESTION_QUEUE);
        let (chosen, chosen_mode) = tokio::sync::watch::channel(None);
        let modes = ModeChoice { chosen, bypass: self.bypass() };
        let structured = self.structured()?;
        let registry = Arc::new(toolbox::registry(&self, &policy, structured.clone()));
        let identity = Arc::new(Identity::new(&session_id, &self.options.entrypoint, &self.env));
        let transport = cassette::transport(&self)?;
        let side = Arc::new(Side::new(Arc::clone(&identity), self.small_model()));
        let callers = HookCallers::new(self.env.clone(), Arc::clone(&side), limits);
        let io = Io {
            scribe: self.scribe(),
            link: self.link(transport),
            side,
            mode: self.mode,
            state: Arc::new(self.tool_state(env_files.as_ref())),
            hooks: self.hooking(catalogue, callers, host.clone(), env_files),
            directories: self.workspace(&watch),
            chosen_mode,
            bypass: self.bypass(),
            asker: self.asker(questions),
            ledger: Ledger::new(Arc::clone(&self.catalog), self.env.clone(), self.served()),
            denials: Vec::new(),
            concurrency: self.env.number("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY").unwrap_or(CONCURRENCY).max(1),
            live: self.live_record(),
            flags: self.host_flags(),
            facts: self.init_facts(),
            results: 0,
            env: self.env.clone(),
            host: host.clone(),
            policy,
            watch,
            registry: Arc::clone(&registry),
            structured,
        };
        let context = self.context(identity, registry.tool_fragments().into_iter().map(Fragment::new).collect());
        let (setup, only_hooks) = (self.options.setup, self.options.init_only);
        let start = Start { setup, only_hooks, ..self.conversation.start(self.options.name, self.mode) };
        let lanes = Lanes { commands, questions: posed };
        Ok(Session { control: Control::new(lanes, host, modes), context, io, start })
    }

    /// A folder the reference trusts is trusted for what is there now; a failure to record that only means asking later.
    fn adopt_trust(&self) {
        if !self.loaded.adopts_trust {
            return;
        }
        let (cwd, env) = (self.cwd.clone(), self.base_env.clone());
        let items = config::trust::activations(&cwd, &self.loaded);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = config::trust::approve(&cwd, &env, &items, Approval::Adopted) {
                tracing::warn!(%error, "what a trusted folder holds could not be recorded");
            }
        });
    }

    fn watch(&self) -> Watch {
        let given = |texts: &[String], behaviour| {
            let rule = |text: &String| RuleText {
                behaviour,
                source: Source::CommandLine,
                text: text.clone(),
                root: self.cwd.clone(),
            };
            texts.iter().map(rule).collect::<Vec<_>>()
        };
        let allowed: &[String] = if self.loaded.managed_rules_only { &[] } else { &self.options.allowed_tools };
        let mut rules = given(allowed, Behaviour::Allow);
        rules.extend(given(&self.options.disallowed_tools, Behaviour::Deny));
        let place = Place {
            cwd: self.cwd.clone(),
            home: self.env.home(),
            roots: vec![self.cwd.clone()],
            readable: vec![self.session_dir().join("tool-results"), self.tasks_dir()],
            plan_file: None,
            remotes: Some(sys::git::remotes(&self.cwd)),
        };
        Watch {
            cwd: self.cwd.clone(),
            env: self.base_env.clone(),
            selection: self.selection.clone(),
            loaded: self.loaded.clone(),
            given: rules,
            granted: Vec::new(),
            given_directories: self.options.add_dirs.iter().map(|dir| self.cwd.join(dir)).collect(),
            granted_directories: Vec::new(),
            place,
            reduced: Reduced::from((self.options.bare, self.options.safe_mode)),
        }
    }

    fn additional(&self) -> Vec<PathBuf> {
        let given = self.options.add_dirs.iter().map(|d| self.cwd.join(d));
        given.chain(self.loaded.additional_directories.iter().cloned()).collect()
    }

    /// Bypass can be switched to later only when the launch said so.
    fn bypass(&self) -> Bypass {
        let launched = self.options.allow_bypass || self.mode == PermissionMode::BypassPermissions;
        if launched && !self.loaded.bypass_disabled { Bypass::Available } else { Bypass::Closed }
    }

    /// A host can be asked only when it both reads our lines and can write its own.
    fn asker(&self, questions: mpsc::Sender<Question>) -> Asker {
        match self.options.permission_prompt_tool.as_deref() {
            Some("stdio") if self.options.multi_turn => Asker::Host(questions),
            Some("stdio") | None => Asker::Nobody,
            Some(tool) => Asker::Missing(tool.to_owned()),
        }
    }

    fn workspace(&self, watch: &Watch) -> Workspace {
        Workspace {
            cwd: self.cwd.clone(),
            project: self.cwd.clone(),
            additional: watch.additional(),
            home: self.env.home(),
        }
    }

    fn session_dir(&self) -> PathBuf {
        self.layout.session_dir(&self.cwd, &self.conversation.session_id)
    }

    fn tasks_dir(&self) -> PathBuf {
        self.layout.tasks_dir(&self.cwd, &self.conversation.session_id)
    }

    /// Only when there is a hook that may write to one.
    fn env_files(&self, catalogue: &::hooks::Catalogue) -> Option<EnvFiles> {
        let wanted = catalogue.iter().any(|entry| entry.event.facts().env_file);
        let (home, id) = (self.layout.home(), &self.conversation.session_id);
        wanted.then(|| EnvFiles::create(home, id, self.env.non_empty("CLAUDE_ENV_FILE"))).flatten()
    }

    fn hooking(
        &self,
        catalogue: ::hooks::Catalogue,
        callers: HookCallers,
        host: Host,
        env_files: Option<EnvFiles>,
    ) -> Hooking {
        let effort = self.options.effort.clone().or_else(|| self.default_effort());
        let mut marks = vec![
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_CHILD_SESSION", "1".to_owned()),
            ("CLAUDE_CODE_SESSION_ID", self.conversation.session_id.clone()),
            ("CLAUDE_PID", sys::pid().to_string()),
        ];
        marks.extend(effort.map(|effort| ("CLAUDE_EFFORT", effort)));
        let around = Surroundings::new(&self.env, &self.cwd, config::environment::SECRET_VARIABLES, &marks);
        let all_events = self.options.hook_events;
        Hooking::new(HookParts { catalogue, around, callers, host, all_events, env_files, cwd: self.cwd.clone() })
    }

    fn default_effort(&self) -> Option<String> {
        self.catalog.lookup(&self.model).default_effort.map(|e| e.name().to_owned())
    }

    fn tool_state(&self, env_files: Option<&EnvFiles>) -> ToolState {
        let facts = self.catalog.lookup(&self.model);
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
            effort: self.options.effort.clone().or(effort),
            secret_vars: config::environment::SECRET_VARIABLES.iter().map(|s| (*s).to_owned()).collect(),
            documents: facts.known,
        };
        ToolState::new(session, self.cwd.clone())
    }

    fn structured(&self) -> Result<Option<Arc<StructuredOutput>>, StartError> {
        let Some(schema) = &self.options.json_schema else { return Ok(None) };
        let tool = StructuredOutput::new(schema).map_err(|e| StartError::new(format!("Error: {e}")))?;
        Ok(Some(Arc::new(tool)))
    }

    fn scribe(&self) -> Scribe {
        let path = self.layout.transcript(&self.cwd, &self.conversation.session_id);
        let path = self.conversation.path.clone().unwrap_or(path);
        let skip = self.env.is_on("CLAUDE_CODE_SKIP_PROMPT_HISTORY");
        let persist = if self.options.persist && !skip { Persist::Yes } else { Persist::No };
        let transcript = Transcript::open(path, persist);
        if let Some(loaded) = &self.conversation.loaded {
            transcript.remember(&loaded.sticky);
        }
        let tail = Tail {
            user_type: "external",
            entrypoint: self.options.entrypoint.clone(),
            cwd: self.cwd.display().to_string(),
            session_id: self.conversation.session_id.clone(),
            version: wire::version::COMPAT,
            git_branch: recorded_branch(&self.cwd),
        };
        Scribe::new(transcript, persist, tail, self.conversation.leaf())
    }

    fn link(&self, transport: Transport) -> Link {
        Link::new(self.env.clone(), self.cwd.clone(), transport, self.credential.clone())
    }

    fn served(&self) -> Served {
        match self.env.non_empty("ANTHROPIC_BASE_URL") {
            Some(url) if !url.contains("api.anthropic.com") => Served::Gateway,
            Some(_) | None => Served::FirstParty,
        }
    }

    fn small_model(&self) -> String {
        let named = self.env.non_empty("ANTHROPIC_SMALL_FAST_MODEL");
        named.map_or_else(|| self.catalog.resolve("haiku", &self.env), str::to_owned)
    }

    fn live_record(&self) -> Option<LiveRecord> {
        let facts = LiveFacts {
            session_id: self.conversation.session_id.clone(),
            cwd: self.cwd.display().to_string(),
            version: wire::version::COMPAT,
            kind: "interactive",
            entrypoint: self.options.entrypoint.clone(),
            name: self.options.name.clone(),
        };
        LiveRecord::register(&self.layout, facts)
            .inspect_err(|error| tracing::debug!(%error, "this process could not be registered"))
            .ok()
    }

    fn host_flags(&self) -> HostFlags {
        let open = self.env.is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        let sdk = self.env.is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        HostFlags {
            partial_messages: self.options.partial_messages,
            replay_user_messages: self.options.replay_user_messages,
            session_state: match (open, sdk) {
                (true, _) => Some(StateFrames::Open),
                (false, true) => Some(StateFrames::SdkOnly),
                (false, false) => None,
            },
        }
    }

    fn init_facts(&self) -> InitFacts {
        InitFacts {
            cwd: self.cwd.display().to_string(),
            api_key_source: self.credential.as_ref().map_or("none", |c| c.api_key_source()),
            output_style: self.loaded.settings.output_style.clone().unwrap_or_else(|| DEFAULT_STYLE.into()),
            betas: self.options.betas.clone(),
        }
    }

    fn context(&mut self, identity: Arc<Identity>, tools: Vec<Fragment>) -> Context {
        let restored = self.conversation.loaded.as_mut().map(resume::restore);
        let (history, told_date, context_told) =
            restored.map_or((Vec::new(), None, false), |r| (r.history, r.told_date, r.context_told));
        let files = if self.options.bare || self.options.safe_mode {
            Vec::new()
        } else {
            config::memory::discover(&self.cwd, &self.env, &self.selection, &self.loaded)
        };
        let fallbacks = if self.options.fallback_models.is_empty() {
            self.loaded.settings.fallback_model.clone().unwrap_or_default()
        } else {
            self.options.fallback_models.clone()
        };
        Context::new(Parts {
            catalog: Arc::clone(&self.catalog),
            history,
            models: Models::new(self.model.clone(), self.fallbacks(fallbacks)),
            settings: RequestSettings {
                env: self.env.clone(),
                effort: self.options.effort.clone().or_else(|| self.loaded.settings.effort_level.clone()),
                thinking: thinking(self.options.thinking),
                thinking_display: self.options.thinking_display.clone(),
                task_budget: self.options.task_budget,
                betas: self.options.betas.clone(),
                identity,
                user_id: None,
            },
            tools,
            system: prompt::system(self),
            reminders: Reminders { files, told_date, context_told },
            limits: Limits {
                max_turns: self.options.max_turns,
                max_budget_usd: self.options.max_budget_usd,
                output_retries: self.env.number("MAX_STRUCTURED_OUTPUT_RETRIES").unwrap_or(OUTPUT_RETRIES),
            },
        })
    }

    /// At most three distinct ones, none of them the main model.
    fn fallbacks(&self, named: Vec<String>) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        for name in named {
            let id = self.catalog.resolve(&name, &self.env);
            if id != self.model && !chain.contains(&id) && chain.len() < 3 {
                chain.push(id);
            }
        }
        chain
    }
}

/// Transcript readers expect a name on every line: `HEAD` where there is no branch.
fn recorded_branch(cwd: &std::path::Path) -> String {
    let branch = sys::git::branch(cwd);
    if branch.is_empty() { "HEAD".into() } else { branch }
}

fn thinking(choice: Thinking) -> Choice {
    match choice {
        Thinking::Auto => Choice::Auto,
        Thinking::Adaptive => Choice::Adaptive,
        Thinking::Disabled => Choice::Disabled,
        Thinking::Budget(tokens) => Choice::Budget(tokens),
    }
}

fn selection(options: &Options) -> Selection {
    let source = |s: &SettingSource| match s {
        SettingSource::User => Source::User,
        SettingSource::Project => Source::Project,
        SettingSource::Local => Source::Local,
    };
    Selection {
        settings: options.settings.clone(),
        sources: options.setting_sources.as_ref().map(|list| list.iter().map(source).collect()),
        bare: options.bare,
        safe_mode: options.safe_mode,
        managed_dir: None,
        trust: options.trust,
    }
}

/// The mode a session starts in. Plan and bypass never come back by resuming.
fn mode(
    options: &Options,
    loaded: &Loaded,
    conversation: &Conversation,
    env: &Env,
) -> Result<PermissionMode, StartError> {
    let resumed = conversation
        .loaded
        .as_ref()
        .and_then(|l| PermissionMode::parse(l.permission_mode.as_deref()?))
        .filter(|m| !matches!(m, PermissionMode::Plan | PermissionMode::BypassPermissions));
    let mode = options.permission_mode.or(resumed).or(loaded.default_mode).unwrap_or_default();
    if mode != PermissionMode::BypassPermissions {
        return Ok(mode);
    }
    if loaded.bypass_disabled {
        return Err(StartError::new(
            "Error: bypassPermissions mode is disabled by settings (permissions.disableBypassPermissionsMode)",
        ));
    }
    if sys::is_root() && !is_sandboxed(env) {
        return Err(StartError { message: BYPASS_ROOT.into(), reason: Some("bypass_root") });
    }
    Ok(mode)
}

/// `--model`, `ANTHROPIC_MODEL`, the resumed conversation's, settings, `ANTHROPIC_DEFAULT_MODEL`, the default.
fn main_model(options: &Options, loaded: &Loaded, conversation: &Conversation, catalog: &Catalog, env: &Env) -> String {
    let launched = options.model.as_deref().or_else(|| env.non_empty("ANTHROPIC_MODEL"));
    let resumed = conversation.loaded.as_ref().and_then(|l| l.model.as_deref());
    let name = launched
        .or(resumed)
        .or(loaded.settings.model.as_deref())
        .or_else(|| env.non_empty("ANTHROPIC_DEFAULT_MODEL"))
        .unwrap_or("default");
    catalog.resolve(name, env)
}
