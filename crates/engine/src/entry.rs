//! What stands between starting the terminal and a session: which conversation is meant, whether the folder is trusted,
//! whether bypassing is understood, which of a repository's servers may run. Asked before anything of the folder runs;
//! every answer is recorded where sessions look for it, and what cannot be decided is not started.

use crate::options::{Boot, Fork, SessionChoice, StartError};
use config::activation::{Item, Kind};
use config::mcp::{Audience, Change, Decision, Request, Standing};
use config::trust::{self, Approval};
use config::{Loaded, Project, TrustChoice};
use std::path::{Path, PathBuf};
use store::find::{self, LatestScope};
use store::resume::{self, Weight};
use store::{Layout, StoreError};
use wire::mode::PermissionMode;
use wire::settings::Source;

/// A conversation that was left for so long and is so large is offered as a summary.
const IDLE_MS: u64 = 3_600_000;
const LARGE_TOKENS: u64 = 100_000;

/// What was answered for this start only.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// Servers that are left for another time.
    pub later: Vec<String>,
    /// How a large conversation is continued.
    pub summary: bool,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Nothing more to ask.
    Open,
    /// It is not clear which conversation: a person chooses, beginning with this text.
    Pick(String),
    Ask(Question),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Trust(Trust),
    /// Everything will be done without asking.
    Bypass,
    Server(Server),
    Summary {
        tokens: u64,
        idle_ms: u64,
    },
}

/// What a question about trust covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The folder and everything in it.
    Folder,
    /// Entries of settings files that came later to a folder that is trusted.
    Entries,
}

/// Whether a folder may do what it declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    pub about: About,
    pub folder: PathBuf,
    /// Heading and lines, in the order of their weight.
    pub groups: Vec<(&'static str, Vec<String>)>,
    /// What is new or other than before, when it was trusted before.
    pub changes: Vec<String>,
    /// What was accepted before in place of something listed.
    pub replaced: Vec<String>,
    /// Where requests and credentials would go; each is confirmed by itself.
    pub hosts: Vec<String>,
    items: Vec<Item>,
    is_home: bool,
}

/// A server that comes with the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
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
pub fn next(boot: &mut Boot, answered: &Answered) -> Result<Step, StartError> {
    let target = match settle(boot)? {
        Settled::Pick(text) => return Ok(Step::Pick(text)),
        Settled::Continues(path) => Some(path),
        Settled::New => None,
    };
    let Ok(cwd) = boot.cwd.canonicalize() else { return Ok(Step::Open) };
    // What is wrong with settings is told where they are used.
    let Ok(loaded) = Project::open(&cwd, &boot.env, &crate::open::selection(&boot.options)) else {
        return Ok(Step::Open);
    };
    let question = ask_trust(boot, &cwd, &loaded)
        .or_else(|| ask_bypass(boot, &loaded))
        .or_else(|| ask_server(boot, &cwd, &loaded, &answered.later))
        .or_else(|| target.filter(|_| !answered.summary).and_then(|path| ask_summary(&path)));
    Ok(question.map_or(Step::Open, Step::Ask))
}

enum Settled {
    New,
    Continues(PathBuf),
    Pick(String),
}

fn settle(boot: &mut Boot) -> Result<Settled, StartError> {
    let layout = Layout::new(&boot.env);
    let Ok(cwd) = boot.cwd.canonicalize() else { return Ok(Settled::New) };
    let session = &mut boot.options.session;
    match session {
        SessionChoice::New { .. } => Ok(Settled::New),
        SessionChoice::Continue { fork } => {
            let fork = fork.take();
            let Some(path) = find::latest(&layout, &cwd, LatestScope::Interactive) else {
                *session = SessionChoice::New { id: fork.and_then(|Fork { id }| id) };
                return Ok(Settled::New);
            };
            *session = SessionChoice::Resume { target: path.display().to_string(), fork };
            Ok(Settled::Continues(path))
        }
        SessionChoice::Resume { target, .. } => {
            let is_path = Path::new(target).extension().is_some_and(|ending| ending == "jsonl");
            let is_exact = is_path || sys::id::is_uuid(target);
            if target.trim().is_empty() {
                return Ok(Settled::Pick(String::new()));
            }
            match find::target(&layout, &cwd, target) {
                Ok(path) => Ok(Settled::Continues(path)),
                Err(StoreError::NotFound { .. } | StoreError::Ambiguous { .. }) if !is_exact => {
                    Ok(Settled::Pick(target.clone()))
                }
                Err(error) => Err(StartError::new(error.to_string())),
            }
        }
    }
}

/// A folder that would run or grant nothing is not asked about: there is nothing to say yes to. In a folder that is trusted
/// only entries that wait are asked about, once.
fn ask_trust(boot: &Boot, cwd: &Path, loaded: &Loaded) -> Option<Question> {
    if boot.options.trust == TrustChoice::StoredOrRefuse {
        return None;
    }
    let open = || loaded.waiting.iter().filter(|waiting| !waiting.refused);
    let (about, items): (About, Vec<Item>) = if loaded.trusted {
        (About::Entries, open().map(|waiting| waiting.item.clone()).collect())
    } else {
        (About::Folder, trust::activations(cwd, loaded))
    };
    if items.is_empty() {
        return None;
    }
    let replaced = open().filter_map(|waiting| waiting.before.clone()).collect();
    Some(Question::Trust(Trust {
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

fn groups(cwd: &Path, items: &[Item]) -> Vec<(&'static str, Vec<String>)> {
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
pub fn trust(boot: &mut Boot, asked: &Trust) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let recorded = if asked.is_home {
        boot.options.trust = TrustChoice::Granted;
        let local: Vec<Item> = asked.items.iter().filter(|item| item.is_local).cloned().collect();
        trust::approve_entries(&cwd, &boot.env, &local)
    } else if asked.about == About::Entries {
        trust::approve_entries(&cwd, &boot.env, &asked.items)
    } else {
        trust::approve(&cwd, &boot.env, &asked.items, Approval::Asked)
    };
    recorded.map_err(|error| error.to_string())
}

/// Goes on without what was asked about: of a folder that is not trusted nothing runs, and entries of one that is are not
/// asked about again.
pub fn distrust(boot: &mut Boot, asked: &Trust) -> Result<(), String> {
    boot.options.trust = TrustChoice::StoredOrRefuse;
    if asked.about == About::Folder {
        return Ok(());
    }
    trust::refuse_entries(&boot.env, &asked.items).map_err(|error| error.to_string())
}

fn ask_bypass(boot: &Boot, loaded: &Loaded) -> Option<Question> {
    let mode = boot.options.permission_mode.or(loaded.default_mode);
    let known = loaded.settings.skip_dangerous_mode_permission_prompt == Some(true);
    (mode == Some(PermissionMode::BypassPermissions) && !known && !loaded.bypass_disabled).then_some(Question::Bypass)
}

/// Remembers that bypassing was understood.
pub fn accept_bypass(boot: &Boot) -> Result<(), String> {
    let target = config::edit::Target { source: Source::User, cwd: &boot.cwd, env: &boot.env };
    let written = target.change(&["skipDangerousModePermissionPrompt"], &config::edit::Edit::Set(true.into()));
    written.map(drop).map_err(|error| error.to_string())
}

fn ask_server(boot: &Boot, cwd: &Path, loaded: &Loaded, later: &[String]) -> Option<Question> {
    if !loaded.trusted || boot.options.bare || boot.options.safe_mode {
        return None;
    }
    let request = Request {
        cwd,
        env: &boot.env,
        loaded,
        selection: &crate::open::selection(&boot.options),
        flags: &boot.options.mcp_config,
        strict: boot.options.strict_mcp_config,
        audience: Audience::Person,
    };
    let servers = config::mcp::effective(&request).ok()?.servers;
    let mut waiting =
        servers.iter().filter(|server| server.standing == Standing::Pending && !later.contains(&server.name));
    let first = waiting.next()?;
    let ending = format!("#{}", first.name);
    let items = trust::activations(cwd, loaded);
    let known = items.iter().find(|item| item.kind == Kind::Server && item.id.ends_with(&ending));
    let text = known.map_or_else(|| first.name.clone(), |item| item.text.clone());
    Some(Question::Server(Server { name: first.name.clone(), text, others: waiting.count() }))
}

/// Remembers an answer in the user's own settings of this folder.
pub fn decide_server(boot: &Boot, server: &Server, answer: ServerAnswer) -> Result<(), String> {
    let cwd = boot.cwd.canonicalize().map_err(|error| error.to_string())?;
    let selection = crate::open::selection(&boot.options);
    let loaded = Project::open(&cwd, &boot.env, &selection).map_err(|error| error.to_string())?;
    let decision = match answer {
        ServerAnswer::Approve => Decision::Approve(server.name.clone()),
        ServerAnswer::ApproveAll => Decision::ApproveAll,
        ServerAnswer::Reject => Decision::Reject(server.name.clone()),
    };
    Change { cwd: &cwd, env: &boot.env, loaded: &loaded }.decide(&decision).map_err(|error| error.to_string())
}

fn ask_summary(path: &Path) -> Option<Question> {
    let Weight { tokens, last_at } = resume::weight(path)?;
    let idle_ms = sys::clock::now_ms().saturating_sub(last_at);
    (tokens > LARGE_TOKENS && idle_ms > IDLE_MS).then_some(Question::Summary { tokens, idle_ms })
}
