//! MCP servers in a session: when they are connected, which of their tools a step offers, and what is sent to the
//! model about them. The `mcp` crate owns the connections.
//!
//! A step uses one frozen set of tools. What was sent never changes: tools and instructions that arrive later are
//! appended, and names of deferred tools are sent as additions.

mod adapter;
pub mod agents;
mod announce;
mod background;
mod continued;
mod control;
mod deferral;
mod deferred_tool;
mod hook;
mod late_tool;
pub mod mention;
pub mod outcome;
mod owner;
mod prompt_tool;
mod refusal;
pub mod resources;
mod restore;
mod search;
mod seldom_used;
mod slash;
mod start;
pub mod toolset;
mod vault;

pub use agents::{agent_toolset, with_server_tools};
pub use background::{SessionAudience, background_after};
pub use continued::ToldTools;
pub use control::{McpControl, ServerControl};
pub use deferral::ToolDeferral;
pub use late_tool::LateTool;
pub use owner::{McpSessionOwner, ServerCredentials};
pub use prompt_tool::{PromptToolRequest, judge as judge_by_tool};
pub use resources::{LIST_RESOURCES, READ_RESOURCE};
pub use restore::RestoredServers;
pub use search::TOOL_SEARCH;
pub use seldom_used::SeldomUsedChoice;
pub use slash::TypedServerPrompt;
pub use toolset::{McpToolset, ToolFilter};

use mcp::{McpHost, McpServerSpec, McpStatus, ServerSwitch, ServerView};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::sync::{Mutex, MutexGuard};
use wire::mcp::{McpConfigError, McpScope, McpTransport};

/// How long the first request waits for a server by default, in milliseconds; `MCP_CONNECT_TIMEOUT_MS` overrides it.
const BRIEF_WAIT_MS: u64 = 5_000;

/// All servers of a session, shared by the main thread and its agents.
pub struct SessionServers {
    pub host: McpHost,
    pub owner: Arc<McpSessionOwner>,
    pub policy: config::mcp::McpPolicy,
    pub deferral: ToolDeferral,
    pub settings: mcp::McpSettings,
    /// Invalid declarations, for `system/init`.
    pub errors: Vec<McpConfigError>,
    /// `MCP_CONNECTION_NONBLOCKING=0`: the first request waits for every server up to its connection timeout.
    waits_for_all: bool,
    /// Whether a person uses the session: a person is not kept waiting.
    audience: SessionAudience,
    /// `MCP_CONNECT_TIMEOUT_MS`
    brief_wait: Duration,
    /// Servers that did not connect in time. No request waits for them again.
    late_servers: Mutex<BTreeSet<String>>,
    /// Servers whose failure was reported.
    reported_failures: Mutex<BTreeSet<String>>,
    /// Declared servers that the user has not approved, as they are listed.
    unapproved: Vec<ServerView>,
    /// The host has already asked for the status of servers.
    is_status_requested: AtomicBool,
    /// After how long a running call of the main thread moves to the background by itself; `None` for never.
    background_after: Option<Duration>,
    /// Declared servers that were not started yet.
    unstarted: Mutex<Vec<(McpServerSpec, ServerSwitch)>>,
    /// Names of servers that the host declared while the session ran.
    host_declared: Mutex<BTreeSet<String>>,
    /// Tools that a resumed conversation needs.
    required_tools: Mutex<BTreeSet<String>>,
    /// Threads and the tools whose schema they were shown with a refusal.
    shown_schemas: Mutex<BTreeSet<(Option<String>, String)>>,
}

/// The parameters of `SessionServers::new`.
pub struct SessionServersParts {
    pub settings: mcp::McpSettings,
    pub owner: Arc<McpSessionOwner>,
    pub policy: config::mcp::McpPolicy,
    pub deferral: ToolDeferral,
    pub declared: Vec<(McpServerSpec, ServerSwitch)>,
    /// Declared servers that the user has not approved: each with how to allow it as its problem.
    pub unapproved: Vec<ServerView>,
    pub errors: Vec<McpConfigError>,
    pub audience: SessionAudience,
    pub background_after: Option<Duration>,
}

impl SessionServers {
    pub fn new(parts: SessionServersParts) -> Self {
        let env = parts.settings.env.clone();
        let waits_for_all = env.flag("MCP_CONNECTION_NONBLOCKING") == Some(false);
        let brief_wait = env.number("MCP_CONNECT_TIMEOUT_MS").unwrap_or(BRIEF_WAIT_MS);
        Self {
            host: McpHost::new(parts.settings.clone(), Arc::clone(&parts.owner) as Arc<dyn mcp::McpOwner>),
            owner: parts.owner,
            policy: parts.policy,
            deferral: parts.deferral,
            settings: parts.settings,
            errors: parts.errors,
            waits_for_all,
            audience: parts.audience,
            brief_wait: Duration::from_millis(brief_wait),
            late_servers: Mutex::default(),
            reported_failures: Mutex::default(),
            unapproved: parts.unapproved,
            is_status_requested: AtomicBool::new(false),
            background_after: parts.background_after,
            unstarted: Mutex::new(parts.declared),
            host_declared: Mutex::default(),
            required_tools: Mutex::default(),
            shown_schemas: Mutex::default(),
        }
    }

    /// Whether the thread of this agent (`None`: the main one) is refused an input of the tool for the first time.
    fn is_first_refusal(&self, agent: Option<&str>, tool: &str) -> bool {
        self.shown_schemas.lock().insert((agent.map(str::to_owned), tool.to_owned()))
    }

    /// Makes the next request wait once for the servers of these tools.
    fn require_tools(&self, tools: impl Iterator<Item = String>) {
        self.required_tools.lock().extend(tools);
    }

    fn is_required(&self, server: &str) -> bool {
        let wanted = self.required_tools.lock();
        !wanted.is_empty() && wanted.iter().any(|tool| tool.starts_with(&server_rule_name(server)))
    }

    fn unstarted(&self) -> MutexGuard<'_, Vec<(McpServerSpec, ServerSwitch)>> {
        self.unstarted.lock()
    }

    pub fn host_declared(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.host_declared.lock()
    }

    /// All servers with their state, including those not started yet, sorted by name.
    pub fn views(&self) -> Vec<ServerView> {
        let mut views = self.host.views();
        views.extend(self.unstarted().iter().map(|(declared, standing)| ServerView::of(declared, *standing)));
        sys::compact_sort::sort_by(&mut views, |a, b| a.name.cmp(&b.name));
        views
    }

    /// What a person sees: all servers, and those that are declared but not approved.
    pub fn listed_views(&self) -> Vec<ServerView> {
        let mut views = self.views();
        views.extend(self.unapproved.iter().cloned());
        sys::compact_sort::sort_by(&mut views, |a, b| a.name.cmp(&b.name));
        views
    }

    /// How an unapproved server can be allowed; `None` for other servers.
    pub fn approval_advice(&self, name: &str) -> Option<String> {
        let view = self.unapproved.iter().find(|view| view.name == name)?;
        view.problem.as_ref().map(|advice| format!("MCP server {name}: {advice}"))
    }

    /// Whether a person watches the session.
    pub fn is_watched(&self) -> bool {
        self.audience == SessionAudience::ByPerson
    }

    /// A line for each server that failed, once per session.
    pub fn new_failures(&self) -> Vec<String> {
        let mut reported = self.reported_failures.lock();
        let failed = self.host.views().into_iter().filter_map(|view| {
            let name = &view.name;
            let line = match &view.status {
                McpStatus::Failed(why) => {
                    format!(
                        "Warning: the MCP server {name} is not available: {why}. `gimlet mcp get {name}` checks it."
                    )
                }
                McpStatus::NeedsAuth => {
                    format!("Warning: the MCP server {name} needs authentication. `gimlet mcp login {name}` signs in.")
                }
                McpStatus::Pending | McpStatus::Connected | McpStatus::Disabled => return None,
            };
            reported.insert(name.clone()).then_some(line)
        });
        failed.collect()
    }

    /// `mcp_servers` of `system/init`.
    pub fn init_rows(&self) -> Vec<Value> {
        let row = |view: &ServerView| row(&view.name, view.status.as_str(), source(view.scope, &view.config));
        self.views().iter().map(row).collect()
    }
}

/// The prefix of the server's tools. A rule about the whole server covers it, rules about single tools do not.
fn server_rule_name(server: &str) -> String {
    format!("{}{}", mcp::exposed_server(server), mcp::SEPARATOR)
}

fn row(name: &str, status: &str, source: &str) -> Value {
    json!({"name": name, "status": status, "source": source})
}

fn source(scope: McpScope, config: &wire::mcp::ServerConfig) -> &'static str {
    match &config.transport {
        McpTransport::Sdk { .. } => "sdk",
        McpTransport::Stdio(_) | McpTransport::Http(_) | McpTransport::Sse(_) | McpTransport::Ws(_) => scope.name(),
    }
}
