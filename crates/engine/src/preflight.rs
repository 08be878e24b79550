//! What stands between starting the terminal and a session: which conversation is meant, whether the folder is trusted,
//! whether bypassing is understood, which of a repository's servers may run. Asked before anything of the folder runs;
//! every answer is recorded where sessions look for it, and what cannot be decided is not started.

use crate::options::{ForkTarget, SessionChoice, StartError, StartRequest};
use config::activation::{ActivationItem, ActivationKind};
use config::mcp::{McpApproval, McpAudience, McpChange, McpDecision, McpQuery};
use config::trust::{self, ApprovalOrigin};
use config::{ConfigLoader, ProjectConfig, TrustChoice};
use std::path::{Path, PathBuf};
use store::find::{self, LatestScope};
use store::resume::{self, ConversationWeight};
use store::{StoreError, StoreLayout};
use wire::mode::PermissionMode;
use wire::settings::SettingsSource;

/// A conversation that was left for so long and is so large is offered as a summary.
const SUMMARY_IDLE_MS: u64 = 3_600_000;
const LARGE_TOKENS: u64 = 100_000;

/// What was answered for this start only.
#[derive(Clone, Debug, Default)]
pub struct PreflightAnswers {
    /// Servers that are left for another time.
    pub postponed_servers: Vec<String>,
    /// How a large conversation is continued.
    pub summary: bool,
}

#[derive(Clone, Debug)]
pub enum PreflightStep {
    /// Nothing more to ask.
    Open,
    /// It is not clear which conversation: a person chooses, beginning with this text.
    Pick(String),
    Ask(PreflightQuestion),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreflightQuestion {
    Trust(TrustQuestion),
    /// Everything will be done without asking.
    Bypass,
    Server(ServerQuestion),
    Summary {
        tokens: u64,
        idle_ms: u64,
    },
}

/// What a question about trust covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustSubject {
    /// The folder and everything in it.
    Folder,
    /// Entries of settings files that came later to a folder that is trusted.
    Entries,
}

/// Whether a folder may do what it declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustQuestion {
    pub about: TrustSubject,
    pub folder: PathBuf,
    /// Heading and lines, in the order of their weight.
    pub groups: Vec<(&'static str, Vec<String>)>,
    /// What is new or other than before, when it was trusted before.
    pub changes: Vec<String>,
    /// What was accepted before in place of something listed.
    pub replaced: Vec<String>,
    /// Where requests and credentials would go; each is confirmed by itself.
    pub hosts: Vec<String>,
    items: Vec<ActivationItem>,
    is_home: bool,
}

/// A server that comes with the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerQuestion {
    pub name: String,
    /// What would be started or reached.
    pub text: String,
    /// How many more there are.
    pub others: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAnswer {
    Approve,
    ApproveAll,
    Reject,
}

/// The next thing to ask. Settles in `boot` which conversation is meant. Blocking, a few small files.
pub fn next_step(boot: &mut StartRequest, answered: &PreflightAnswers) -> Result<PreflightStep, StartError> {
    let target = match resolve_conversation(boot)? {
        ConversationTarget::Pick(text) => return Ok(PreflightStep::Pick(text)),
        ConversationTarget::Continues(path) => Some(path),
        ConversationTarget::New => None,
    };
    let Ok(cwd) = boot.cwd.canonicalize() else { return Ok(PreflightStep::Open) };
    // What is wrong with settings is told where they are used.
    let Ok(loaded) = ConfigLoader::open(&cwd, &boot.env, &crate::open::selection(&boot.options)) else {
        return Ok(PreflightStep::Open);
    };
    let question = ask_trust(boot, &cwd, &loaded)
        .or_else(|| ask_bypass(boot, &loaded))
        .or_else(|| ask_server(boot, &cwd, &loaded, &answered.postponed_servers))
        .or_else(|| target.filter(|_| !answered.summary).and_then(|path| ask_summary(&path)));
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
    let session = &mut boot.options.session;
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
                Err(error) => Err(StartError::new(error.to_string())),
            }
        }
    }
}

/// A folder that would run or grant nothing is not asked about: there is nothing to say yes to. In a folder that is trusted
/// only entries that wait are asked about, once.
fn ask_trust(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig) -> Option<PreflightQuestion> {
    if boot.options.trust == TrustChoice::StoredOrRefuse {
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
    let replaced = open().filter_map(|waiting| waiting.before.clone()).collect();
    Some(PreflightQuestion::Trust(TrustQuestion {
        about,
        folder: loaded.trust_key.clone(),
        groups: groups(cwd, &items),
        changes: loaded.trust_changes.iter().map(|change| change.now.clone()).collect(),
        replaced,
        hosts: items.iter().filter_map(|item| item.host.clone()).collect(),
        is_home: boot.env.home().and_then(|home| home.canonicalize().ok()).as_deref() == Some(cwd),
        items,
    }))
}

fn groups(cwd: &Path, items: &[ActivationItem]) -> Vec<(&'static str, Vec<String>)> {
    let mut groups: Vec<(&'static str, Vec<String>)> = Vec::new();
    for item in items {
        let file = item.file.strip_prefix(cwd).unwrap_or(&item.file);
        let line = format!("{}  ({})", item.text, file.display());
        match groups.iter_mut().find(|(title, _)| *title == item.kind.title()) {
            Some((_, lines)) => lines.push(line),
            None => groups.push((item.kind.title(), vec![line])),
        }
    }
    groups
}

/// Vouches for exactly what was asked about. The home directory is trusted for this start only; entries of its local settings
/// file are accepted for good.
pub fn trust(boot: &mut StartRequest, asked: &TrustQuestion) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let recorded = if asked.is_home {
        boot.options.trust = TrustChoice::Granted;
        let local: Vec<ActivationItem> = asked.items.iter().filter(|item| item.is_local).cloned().collect();
        trust::approve_entries(&cwd, &boot.env, &local)
    } else if asked.about == TrustSubject::Entries {
        trust::approve_entries(&cwd, &boot.env, &asked.items)
    } else {
        trust::approve(&cwd, &boot.env, &asked.items, ApprovalOrigin::Asked)
    };
    recorded.map_err(|error| error.to_string())
}

/// Goes on without what was asked about: of a folder that is not trusted nothing runs, and entries of one that is are not
/// asked about again.
pub fn distrust(boot: &mut StartRequest, asked: &TrustQuestion) -> Result<(), String> {
    boot.options.trust = TrustChoice::StoredOrRefuse;
    if asked.about == TrustSubject::Folder {
        return Ok(());
    }
    trust::refuse_entries(&boot.env, &asked.items).map_err(|error| error.to_string())
}

fn ask_bypass(boot: &StartRequest, loaded: &ProjectConfig) -> Option<PreflightQuestion> {
    let mode = boot.options.permission_mode.or(loaded.default_mode);
    let known = loaded.settings.skip_dangerous_mode_permission_prompt == Some(true);
    (mode == Some(PermissionMode::BypassPermissions) && !known && !loaded.bypass_disabled)
        .then_some(PreflightQuestion::Bypass)
}

/// Remembers that bypassing was understood.
pub fn accept_bypass(boot: &StartRequest) -> Result<(), String> {
    let target = config::edit::SettingsTarget { source: SettingsSource::User, cwd: &boot.cwd, env: &boot.env };
    let written = target.change(&["skipDangerousModePermissionPrompt"], &config::edit::SettingsEdit::Set(true.into()));
    written.map(drop).map_err(|error| error.to_string())
}

fn ask_server(boot: &StartRequest, cwd: &Path, loaded: &ProjectConfig, later: &[String]) -> Option<PreflightQuestion> {
    if !loaded.trusted || boot.options.bare || boot.options.safe_mode {
        return None;
    }
    let request = McpQuery {
        cwd,
        env: &boot.env,
        loaded,
        selection: &crate::open::selection(&boot.options),
        flags: &boot.options.mcp_config,
        strict: boot.options.strict_mcp_config,
        audience: McpAudience::Person,
    };
    let servers = config::mcp::effective(&request).ok()?.servers;
    let mut waiting =
        servers.iter().filter(|server| server.approval == McpApproval::Pending && !later.contains(&server.name));
    let first = waiting.next()?;
    let ending = format!("#{}", first.name);
    let items = trust::activations(cwd, loaded);
    let known = items.iter().find(|item| item.kind == ActivationKind::Server && item.id.ends_with(&ending));
    let text = known.map_or_else(|| first.name.clone(), |item| item.text.clone());
    Some(PreflightQuestion::Server(ServerQuestion { name: first.name.clone(), text, others: waiting.count() }))
}

/// Remembers an answer in the user's own settings of this folder.
pub fn decide_server(boot: &StartRequest, server: &ServerQuestion, answer: ServerAnswer) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let selection = crate::open::selection(&boot.options);
    let loaded = ConfigLoader::open(&cwd, &boot.env, &selection).map_err(|error| error.to_string())?;
    let decision = match answer {
        ServerAnswer::Approve => McpDecision::Approve(server.name.clone()),
        ServerAnswer::ApproveAll => McpDecision::ApproveAll,
        ServerAnswer::Reject => McpDecision::Reject(server.name.clone()),
    };
    McpChange { cwd: &cwd, env: &boot.env, loaded: &loaded }.decide(&decision).map_err(|error| error.to_string())
}

fn ask_summary(path: &Path) -> Option<PreflightQuestion> {
    let ConversationWeight { tokens, last_at } = resume::weight(path)?;
    let idle_ms = sys::clock::now_ms().saturating_sub(last_at);
    (tokens > LARGE_TOKENS && idle_ms > SUMMARY_IDLE_MS).then_some(PreflightQuestion::Summary { tokens, idle_ms })
}
