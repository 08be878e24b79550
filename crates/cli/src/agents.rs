//! `gimlet agents`: the sessions of a directory and the tree of agents of each, from live records and transcripts.
//! Changes nothing.

use model::catalog::{self, ModelCatalog};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use store::StoreLayout;
use store::agents::{AgentOutcome, AgentSummary, StoredAgent, list, summarise};
use store::live_sessions::{LiveOwner, live};
use sys::Env;

const USAGE: &str = "Usage: gimlet agents [--json] [--all] [--cwd DIR] [--session ID]

Lists live sessions and the last session of this directory that had agents, each with its agents: their parent, state,
tokens, cost and transcript.
  --all         every session of the directory that had agents
  --session ID  only this session
  --cwd DIR     another directory
  --json        one array";

#[derive(Default)]
struct AgentsArgs {
    json: bool,
    all: bool,
    cwd: Option<PathBuf>,
    session: Option<String>,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let asked = parse(rest)?;
    let start = sys::launch::cwd(env).map_err(|e| format!("Error: the current directory is not available ({e})"))?;
    let cwd = start.join(asked.cwd.clone().unwrap_or_default());
    let cwd = std::fs::canonicalize(&cwd).map_err(|e| format!("Error: {}: {e}", cwd.display()))?;
    let sessions = sessions(&asked, &cwd, &StoreLayout::new(env));
    if asked.json {
        return serde_json::to_string_pretty(&sessions).map(|text| (text, 0)).map_err(|e| format!("Error: {e}"));
    }
    if sessions.is_empty() {
        return Ok(("No session is running, and no session of this directory had agents.".into(), 0));
    }
    Ok((sessions.iter().map(show).collect::<Vec<_>>().join("\n\n"), 0))
}

fn parse(rest: &[OsString]) -> Result<AgentsArgs, String> {
    let mut asked = AgentsArgs::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--json") => asked.json = true,
            Some("--all") => asked.all = true,
            Some("--cwd") => asked.cwd = Some(words.next().ok_or(USAGE)?.into()),
            Some("--session") => asked.session = Some(words.next().ok_or(USAGE)?.to_string_lossy().into_owned()),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(asked)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionAgents {
    cwd: String,
    kind: String,
    started_at: u64,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    agents: Vec<AgentListing>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentListing {
    id: String,
    agent_type: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    tool_use_id: String,
    /// `working`, `done`, `failed` or `stopped`.
    state: &'static str,
    background: bool,
    tokens: u64,
    tool_uses: u64,
    #[serde(rename = "costUSD", skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<u64>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<PathBuf>,
    transcript: PathBuf,
}

fn sessions(asked: &AgentsArgs, cwd: &Path, layout: &StoreLayout) -> Vec<SessionAgents> {
    let owners = live(layout);
    let mut found: Vec<SessionAgents> = owners.iter().map(|owner| session_of_owner(owner, layout)).collect();
    let mut stored = stored_sessions(&layout.project_dir(cwd));
    stored.retain(|(id, _)| !found.iter().any(|session| session.session_id == *id));
    if !asked.all && asked.session.is_none() {
        stored.truncate(1);
    }
    found.extend(stored.into_iter().map(|(id, dir)| session_of_directory(id, &dir, cwd)));
    if let Some(wanted) = &asked.session {
        found.retain(|session| session.session_id == *wanted);
    }
    found
}

/// Sessions with agents, newest first.
fn stored_sessions(project: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(project).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let dir = entry.path();
            let changed = std::fs::metadata(store::agents::folder(&dir)).and_then(|meta| meta.modified()).ok()?;
            Some((changed, entry.file_name().into_string().ok()?, dir))
        })
        .collect();
    sys::compact_sort::sort_by_key(&mut found, |(changed, ..)| std::cmp::Reverse(*changed));
    found.into_iter().map(|(_, id, dir)| (id, dir)).collect()
}

fn session_of_owner(owner: &LiveOwner, layout: &StoreLayout) -> SessionAgents {
    let dir = layout.session_dir(Path::new(&owner.cwd), &owner.session_id);
    SessionAgents {
        cwd: owner.cwd.clone(),
        kind: owner.kind.clone(),
        started_at: owner.started_at,
        session_id: owner.session_id.clone(),
        name: owner.name.clone(),
        pid: Some(owner.pid),
        status: owner.status.clone(),
        agents: agents(&dir, OwnerLiveness::Yes),
    }
}

fn session_of_directory(session_id: String, dir: &Path, cwd: &Path) -> SessionAgents {
    let agents = agents(dir, OwnerLiveness::No);
    SessionAgents {
        cwd: cwd.display().to_string(),
        kind: "interactive".into(),
        started_at: agents.iter().filter_map(|agent| agent.started_at).min().unwrap_or_default(),
        session_id,
        name: None,
        pid: None,
        status: None,
        agents,
    }
}

/// Whether the process of the session still runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerLiveness {
    Yes,
    No,
}

/// Parents before children, in the order in which they were started.
fn agents(session_dir: &Path, alive: OwnerLiveness) -> Vec<AgentListing> {
    let catalog = ModelCatalog::default();
    // The key of agents of the main thread is empty.
    let mut by_parent: BTreeMap<String, Vec<AgentListing>> = BTreeMap::new();
    for stored in list(session_dir) {
        let agent = agent(stored, alive, &catalog);
        by_parent.entry(agent.parent.clone().unwrap_or_default()).or_default().push(agent);
    }
    for siblings in by_parent.values_mut() {
        sys::compact_sort::sort_by_key(siblings, |agent| agent.started_at);
    }
    let mut ordered = Vec::new();
    gather("", &mut by_parent, &mut ordered);
    // Children of an agent whose sidecar is missing.
    for (_, rest) in std::mem::take(&mut by_parent) {
        ordered.extend(rest);
    }
    ordered
}

fn gather(parent: &str, by_parent: &mut BTreeMap<String, Vec<AgentListing>>, out: &mut Vec<AgentListing>) {
    for agent in by_parent.remove(parent).unwrap_or_default() {
        let id = agent.id.clone();
        out.push(agent);
        gather(&id, by_parent, out);
    }
}

fn agent(stored: StoredAgent, alive: OwnerLiveness, catalog: &ModelCatalog) -> AgentListing {
    let summary = summarise(&stored.transcript).unwrap_or_default();
    let sidecar = stored.sidecar;
    let usage: u64 = summary.models.values().map(|used| used.total_input() + used.output_tokens).sum();
    AgentListing {
        state: state(sidecar.status, &summary, alive),
        tokens: usage,
        cost_usd: cost(&summary, catalog),
        tool_uses: summary.tool_uses,
        started_at: summary.started_at_ms,
        duration_ms: summary.duration_ms(),
        id: stored.id,
        agent_type: sidecar.agent_type,
        description: sidecar.description,
        parent: sidecar.parent_agent_id,
        tool_use_id: sidecar.tool_use_id,
        background: sidecar.is_backgrounded,
        worktree: sidecar.worktree_path,
        transcript: stored.transcript,
    }
}

fn state(status: Option<AgentOutcome>, summary: &AgentSummary, alive: OwnerLiveness) -> &'static str {
    match (status, alive) {
        (Some(AgentOutcome::Completed), _) => "done",
        (Some(AgentOutcome::Failed), _) => "failed",
        (None, OwnerLiveness::Yes) => "working",
        (None, OwnerLiveness::No) if summary.is_final && !summary.is_api_error => "done",
        (Some(AgentOutcome::Stopped), _) | (None, OwnerLiveness::No) => "stopped",
    }
}

/// The cost in US dollars; `None` when a model has no price.
fn cost(summary: &AgentSummary, catalog: &ModelCatalog) -> Option<f64> {
    summary.models.iter().map(|(model, usage)| catalog::cost(usage, &catalog.lookup(model))).sum()
}

fn show(session: &SessionAgents) -> String {
    let mut text = format!("{}  {}", session.session_id, session.cwd);
    if let Some(pid) = session.pid {
        let status = session.status.as_deref().unwrap_or("running");
        write!(text, "  ({status}, process {pid})").ok();
    }
    if session.agents.is_empty() {
        text.push_str("\n  no agents");
    }
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    for agent in &session.agents {
        let depth = agent.parent.as_deref().and_then(|parent| depths.get(parent)).map_or(1, |depth| depth + 1);
        depths.insert(&agent.id, depth);
        let cost = agent.cost_usd.map_or_else(|| "cost unknown".to_owned(), |cost| format!("${cost:.4}"));
        let indent = "  ".repeat(depth);
        write!(
            text,
            "\n{indent}{}  {}  {}: {}  ({} tokens, {} calls, {cost}, {:.1} s)",
            agent.id,
            agent.state,
            agent.agent_type,
            agent.description,
            agent.tokens,
            agent.tool_uses,
            agent.duration_ms as f64 / 1000.0,
        )
        .ok();
    }
    text
}
