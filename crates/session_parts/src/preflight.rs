//! The questions between starting the terminal and opening a session: which conversation to resume, whether the
//! folder is trusted, whether bypass mode is understood, which servers of the repository may run. They are asked
//! before anything in the folder runs; answers are recorded where sessions read them, and what is undecided is not
//! started.

use crate::options::{ForkTarget, SessionChoice, StartRequest};
use crate::start_error::{StartError, StartFailure};
use config::activation::{ActivationItem, ActivationKind};
use config::mcp::{McpApproval, McpAudience, McpChange, McpDecision, McpQuery};
use config::trust::{self, ApprovalOrigin};
use config::{ConfigLoader, ProjectConfig, TrustChoice};
use model::{CacheTtl, ModelCatalog, catalog};
use std::path::{Path, PathBuf};
use store::find::{self, LatestScope};
use store::resume::{self, ConversationWeight};
use store::{StoreError, StoreLayout};
use wire::mode::PermissionMode;
use wire::settings::SettingsSource;
use wire::usage::Usage;

/// A conversation that was idle for longer than this and is larger than `LARGE_TOKENS` is offered as a summary.
const SUMMARY_IDLE_MS: u64 = 3_600_000;
const LARGE_TOKENS: u64 = 100_000;
/// About how long a summary is, in tokens, and how large a conversation that begins with one.
const SUMMARY_TOKENS: u64 = 4_000;
const AFTER_SUMMARY: u64 = 20_000;

/// Answers that apply to this start only.
#[derive(Clone, Debug, Default)]
pub struct PreflightAnswers {
    /// Servers to ask about another time.
    pub postponed_servers: Vec<String>,
    /// Whether the question about a summary was answered.
    pub summary: bool,
}

#[derive(Clone, Debug)]
pub enum PreflightStep {
    /// Nothing more to ask.
    Open,
    /// The conversation is not clear: a person chooses one, starting from this search text.
    Pick(String),
    Ask(PreflightQuestion),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreflightQuestion {
    Trust(TrustQuestion),
    /// Bypass mode: no action will be asked about.
    Bypass,
    Server(ServerQuestion),
    Summary {
        tokens: u64,
        idle_ms: u64,
        /// `None` when the model has no known price.
        prices: Option<ResumePrices>,
    },
}

/// What both ways of going on with a large conversation cost, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePrices {
    pub whole: String,
    pub summary: String,
}

/// What a trust question covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustSubject {
    /// The folder and everything in it.
    Folder,
    /// Entries of settings files that were added to a trusted folder later.
    Entries,
}

/// Whether a folder may do what it declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustQuestion {
    pub about: TrustSubject,
    pub folder: PathBuf,
    /// Most important first; without the servers in `servers`.
    pub groups: Vec<TrustGroup>,
    /// The servers of the folder, each with a yes or no of its own.
    pub servers: Vec<TrustServer>,
    /// What was added or changed since the folder was last trusted.
    pub changes: Vec<String>,
    /// The entries accepted before that listed ones replace.
    pub replaced: Vec<String>,
    /// Hosts that requests and credentials would be sent to; each is confirmed separately.
    pub hosts: Vec<String>,
    items: Vec<ActivationItem>,
    is_home: bool,
}

/// What a folder declares of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustGroup {
    pub kind: ActivationKind,
    pub lines: Vec<String>,
}

/// What a group means for the person who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustSection {
    /// Programs run.
    Runs,
    /// Something is allowed, opened or sent elsewhere.
    Allows,
    /// Settings that only change what is shown and written.
    Text,
}

impl TrustGroup {
    pub fn section(&self) -> TrustSection {
        match self.kind {
            ActivationKind::Helper | ActivationKind::Hook | ActivationKind::Server => TrustSection::Runs,
            ActivationKind::Redirect
            | ActivationKind::Variable
            | ActivationKind::Rule
            | ActivationKind::Directory
            | ActivationKind::Sandbox => TrustSection::Allows,
            ActivationKind::Other => TrustSection::Text,
        }
    }
}

/// A server in a trust question: what would be started or reached, and whether it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustServer {
    pub name: String,
    /// Its name, command and arguments, and its file.
    pub text: String,
    pub is_allowed: bool,
    /// The person allowed it before.
    was_allowed: bool,
}

/// A server that the repository declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerQuestion {
    pub name: String,
    /// What would be started or reached.
    pub text: String,
    /// How many more servers wait for an answer.
    pub others: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAnswer {
    Approve,
    ApproveAll,
    Reject,
}

/// The next question. Also resolves in `boot` which conversation to resume. Blocking; reads a few small files.
pub fn next_step(boot: &mut StartRequest, answered: &PreflightAnswers) -> Result<PreflightStep, StartError> {
    let target = match resolve_conversation(boot)? {
        ConversationTarget::Pick(text) => return Ok(PreflightStep::Pick(text)),
        ConversationTarget::Continues(path) => Some(path),
        ConversationTarget::New => None,
    };
    let Ok(cwd) = boot.cwd.canonicalize() else { return Ok(PreflightStep::Open) };
    // Errors in settings are reported where the settings are used.
    let Ok(loaded) = ConfigLoader::open(&cwd, &boot.env, &crate::options::selection(&boot.options)) else {
        return Ok(PreflightStep::Open);
    };
    let question = ask_trust(boot, &cwd, &loaded)
        .or_else(|| ask_bypass(boot, &loaded))
        .or_else(|| ask_server(boot, &cwd, &loaded, &answered.postponed_servers))
        .or_else(|| target.filter(|_| !answered.summary).and_then(|path| ask_summary(boot, &path)));
    Ok(question.map_or(PreflightStep::Open, PreflightStep::Ask))
}

enum ConversationTarget {
    New,
    Continues(PathBuf),
    Pick(String),
}

fn resolve_conversation(boot: &mut StartRequest) -> Result<ConversationTarget, StartError> {
    let layout = StoreLayout::new(&boot.env);
    let Ok(cwd) = boot.cwd.canonicalize() else { return Ok(ConversationTarget::New) };
    let session = &mut boot.options.conversation.choice;
    match session {
        SessionChoice::New { .. } => Ok(ConversationTarget::New),
        SessionChoice::Continue { fork } => {
            let fork = fork.take();
            let Some(path) = find::latest(&layout, &cwd, LatestScope::Interactive) else {
                *session = SessionChoice::New { id: fork.and_then(|ForkTarget { id }| id) };
                return Ok(ConversationTarget::New);
            };
            *session = SessionChoice::Resume { target: path.display().to_string(), fork };
            Ok(ConversationTarget::Continues(path))
        }
        SessionChoice::Resume { target, .. } => {
            let is_path = Path::new(target).extension().is_some_and(|ending| ending == "jsonl");
            let is_exact = is_path || sys::id::is_uuid(target);
            if target.trim().is_empty() {
                return Ok(ConversationTarget::Pick(String::new()));
            }
            match find::target(&layout, &cwd, target) {
                Ok(path) => Ok(ConversationTarget::Continues(path)),
                Err(StoreError::NotFound { .. } | StoreError::Ambiguous { .. }) if !is_exact => {
                    Ok(ConversationTarget::Pick(target.clone()))
                }
                Err(error) => Err(StartError::new(StartFailure::Conversation, error.to_string())),
            }
        }
    }
}

/// No question for a folder that would neither run nor grant anything. In a trusted folder, only pending entries are
/// asked about, once.
fn ask_trust(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig) -> Option<PreflightQuestion> {
    if boot.options.configuration.trust == TrustChoice::StoredOrRefuse {
        return None;
    }
    let open = || loaded.waiting.iter().filter(|waiting| !waiting.refused);
    let (about, items): (TrustSubject, Vec<ActivationItem>) = if loaded.trusted {
        (TrustSubject::Entries, open().map(|waiting| waiting.item.clone()).collect())
    } else {
        (TrustSubject::Folder, trust::activations(cwd, loaded))
    };
    if items.is_empty() {
        return None;
    }
    let servers = match about {
        TrustSubject::Folder => trust_servers(boot, cwd, loaded, &items),
        TrustSubject::Entries => Vec::new(),
    };
    let is_asked_apart = |item: &&ActivationItem| {
        item.kind == ActivationKind::Server && servers.iter().any(|server| declares(item, &server.name))
    };
    let together: Vec<&ActivationItem> = items.iter().filter(|item| !is_asked_apart(item)).collect();
    let replaced = open().filter_map(|w| Some(without_secrets(w.item.kind, w.before.as_ref()?))).collect();
    Some(PreflightQuestion::Trust(TrustQuestion {
        about,
        folder: loaded.trust_key.clone(),
        groups: groups(cwd, &together),
        servers,
        changes: loaded.trust_changes.iter().map(|change| without_secrets(change.kind, &change.now)).collect(),
        replaced,
        hosts: items.iter().filter_map(|item| item.host.clone()).collect(),
        is_home: boot.env.home().and_then(|home| home.canonicalize().ok()).as_deref() == Some(cwd),
        items,
    }))
}

/// The description of something that a folder would activate, without the credentials in it. Commands for a shell are
/// shown up to what has the format of a secret, because the value of an option could be code.
pub fn without_secrets(kind: ActivationKind, text: &str) -> String {
    if kind == ActivationKind::Server { permission::masked_line(text) } else { permission::masked_formats(text) }
}

fn groups(cwd: &Path, items: &[&ActivationItem]) -> Vec<TrustGroup> {
    let mut groups: Vec<TrustGroup> = Vec::new();
    for item in items {
        let line = line_of(cwd, item);
        match groups.iter_mut().find(|group| group.kind == item.kind) {
            Some(group) => group.lines.push(line),
            None => groups.push(TrustGroup { kind: item.kind, lines: vec![line] }),
        }
    }
    groups
}

/// The description of an item and its file.
fn line_of(cwd: &Path, item: &ActivationItem) -> String {
    let file = item.file.strip_prefix(cwd).unwrap_or(&item.file);
    format!("{}  ({})", without_secrets(item.kind, &item.text), file.display())
}

/// Whether the item is the declaration of this server.
fn declares(item: &ActivationItem, server: &str) -> bool {
    item.id.strip_suffix(server).is_some_and(|rest| rest.ends_with(".mcp.json#"))
}

/// The servers of the folder that wait for a yes or no. In a folder that was trusted before, those that are new or
/// changed since: what was said of the others still holds.
fn trust_servers(
    boot: &StartRequest,
    cwd: &Path,
    loaded: &ProjectConfig,
    items: &[ActivationItem],
) -> Vec<TrustServer> {
    // As the servers would stand after a yes.
    let mut trusted = loaded.clone();
    trusted.trusted = true;
    let is_changed = |item: &ActivationItem| {
        loaded.trust_changes.is_empty() || loaded.trust_changes.iter().any(|change| change.id == item.id)
    };
    let server = |declared: &config::mcp::DeclaredMcpServer| {
        let was_allowed = match declared.approval {
            McpApproval::Approved => true,
            McpApproval::Pending => false,
            McpApproval::Rejected | McpApproval::Disabled | McpApproval::Forbidden(_) => return None,
        };
        let item = items.iter().find(|item| item.kind == ActivationKind::Server && declares(item, &declared.name))?;
        // What was allowed before it changed is asked about as if it were new.
        let is_allowed = was_allowed && loaded.trust_changes.is_empty();
        let text = line_of(cwd, item);
        is_changed(item).then_some(TrustServer { name: declared.name.clone(), text, is_allowed, was_allowed })
    };
    let declared = declared_servers(boot, cwd, &trusted);
    declared.iter().filter(|server| server.scope == wire::mcp::McpScope::Project).filter_map(server).collect()
}

/// Trusts exactly what was asked about. The home directory is trusted for this start only, but entries of its local
/// settings file are accepted permanently.
pub fn trust(boot: &mut StartRequest, asked: &TrustQuestion) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let recorded = if asked.is_home {
        boot.options.configuration.trust = TrustChoice::Granted;
        let local: Vec<ActivationItem> = asked.items.iter().filter(|item| item.is_local).cloned().collect();
        trust::approve_entries(&cwd, &boot.env, &local)
    } else if asked.about == TrustSubject::Entries {
        trust::approve_entries(&cwd, &boot.env, &asked.items)
    } else {
        trust::approve(&cwd, &boot.env, &asked.items, ApprovalOrigin::Asked)
    };
    recorded.map_err(|error| error.to_string())?;
    let loaded = ConfigLoader::open(&cwd, &boot.env, &crate::options::selection(&boot.options));
    let loaded = loaded.map_err(|error| error.to_string())?;
    let change = McpChange { cwd: &cwd, env: &boot.env, loaded: &loaded };
    for server in &asked.servers {
        let decision = match (server.is_allowed, server.was_allowed) {
            (true, true) => continue,
            (true, false) => McpDecision::Approve(server.name.clone()),
            (false, _) => McpDecision::Reject(server.name.clone()),
        };
        change.decide(&decision).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Continues without what was asked about: nothing of an untrusted folder runs, and refused entries of a trusted
/// folder are not asked about again.
pub fn distrust(boot: &mut StartRequest, asked: &TrustQuestion) -> Result<(), String> {
    boot.options.configuration.trust = TrustChoice::StoredOrRefuse;
    if asked.about == TrustSubject::Folder {
        return Ok(());
    }
    trust::refuse_entries(&boot.env, &asked.items).map_err(|error| error.to_string())
}

fn ask_bypass(boot: &StartRequest, loaded: &ProjectConfig) -> Option<PreflightQuestion> {
    let mode = boot.options.permissions.mode.or(loaded.default_mode);
    let known = loaded.settings.skip_dangerous_mode_permission_prompt == Some(true);
    (mode == Some(PermissionMode::BypassPermissions) && !known && !loaded.bypass_disabled)
        .then_some(PreflightQuestion::Bypass)
}

/// Records that bypass mode was understood.
pub fn accept_bypass(boot: &StartRequest) -> Result<(), String> {
    let target = config::edit::SettingsTarget { source: SettingsSource::User, cwd: &boot.cwd, env: &boot.env };
    let written = target.change(&["skipDangerousModePermissionPrompt"], &config::edit::SettingsEdit::Set(true.into()));
    written.map(drop).map_err(|error| error.to_string())
}

fn ask_server(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig, later: &[String]) -> Option<PreflightQuestion> {
    if !loaded.trusted {
        return None;
    }
    let servers = declared_servers(boot, cwd, loaded);
    let mut waiting =
        servers.iter().filter(|server| server.approval == McpApproval::Pending && !later.contains(&server.name));
    let first = waiting.next()?;
    let items = trust::activations(cwd, loaded);
    let known = items.iter().find(|item| item.kind == ActivationKind::Server && declares(item, &first.name));
    let text = known.map_or_else(|| first.name.clone(), |item| without_secrets(item.kind, &item.text));
    Some(PreflightQuestion::Server(ServerQuestion { name: first.name.clone(), text, others: waiting.count() }))
}

/// The servers a session would have; none where no server of a repository is used.
fn declared_servers(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig) -> Vec<config::mcp::DeclaredMcpServer> {
    if boot.options.configuration.bare || boot.options.configuration.safe_mode {
        return Vec::new();
    }
    let request = McpQuery {
        cwd,
        env: &boot.env,
        loaded,
        selection: &crate::options::selection(&boot.options),
        flags: &boot.options.servers.declared,
        strict: boot.options.servers.is_strict,
        audience: McpAudience::Person,
    };
    config::mcp::effective(&request).map(|found| found.servers).unwrap_or_default()
}

/// Records the answer in the user's settings for this folder.
pub fn decide_server(boot: &StartRequest, server: &ServerQuestion, answer: ServerAnswer) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let selection = crate::options::selection(&boot.options);
    let loaded = ConfigLoader::open(&cwd, &boot.env, &selection).map_err(|error| error.to_string())?;
    let decision = match answer {
        ServerAnswer::Approve => McpDecision::Approve(server.name.clone()),
        ServerAnswer::ApproveAll => McpDecision::ApproveAll,
        ServerAnswer::Reject => McpDecision::Reject(server.name.clone()),
    };
    McpChange { cwd: &cwd, env: &boot.env, loaded: &loaded }.decide(&decision).map_err(|error| error.to_string())
}

fn ask_summary(boot: &StartRequest, path: &Path) -> Option<PreflightQuestion> {
    let ConversationWeight { tokens, last_at, model } = resume::weight(path)?;
    let idle_ms = sys::clock::now_ms().saturating_sub(last_at);
    if tokens <= LARGE_TOKENS || idle_ms <= SUMMARY_IDLE_MS {
        return None;
    }
    let chosen = boot.options.model.name.clone().or(model);
    let prices = chosen.and_then(|model| resume_prices(boot, &model, tokens));
    Some(PreflightQuestion::Summary { tokens, idle_ms, prices })
}

/// Both ways begin with a request whose input is not in the provider's cache any more.
fn resume_prices(boot: &StartRequest, model: &str, tokens: u64) -> Option<ResumePrices> {
    let catalog = ModelCatalog::default();
    let model = catalog.resolve(model, &boot.env);
    let facts = catalog.lookup(&model);
    let price = |usage: Usage| catalog::cost(&usage, &facts);
    let sent_anew = |tokens| match CacheTtl::from_env(&boot.env, &model, false) {
        Some(CacheTtl::FiveMinutes) => Usage { cache_creation_input_tokens: tokens, ..Usage::default() },
        Some(CacheTtl::Hour) => {
            let mut usage = Usage { cache_creation_input_tokens: tokens, ..Usage::default() };
            usage.cache_creation.ephemeral_1h_input_tokens = tokens;
            usage
        }
        None => Usage { input_tokens: tokens, ..Usage::default() },
    };
    let sent_again = |tokens| match CacheTtl::from_env(&boot.env, &model, false) {
        Some(_) => Usage { cache_read_input_tokens: tokens, ..Usage::default() },
        None => Usage { input_tokens: tokens, ..Usage::default() },
    };
    let summary = price(Usage { output_tokens: SUMMARY_TOKENS, ..Usage::default() })?;
    let words = |now: f64, later: f64| format!("about ${now:.2} now, then about ${later:.2} for each request");
    let first = price(sent_anew(tokens))?;
    Some(ResumePrices {
        whole: words(first, price(sent_again(tokens))?),
        summary: words(first + summary + price(sent_anew(AFTER_SUMMARY))?, price(sent_again(AFTER_SUMMARY))?),
    })
}
