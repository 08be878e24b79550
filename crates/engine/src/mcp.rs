//! MCP servers in a session: when they are connected, which of their tools a step offers, and what the model is told of
//! them. Connections belong to the `mcp` crate; here stands only their place in the conversation.
//!
//! A step sees one frozen set of tools. What was sent stays as it was: tools and instructions that come later are added
//! behind the others, and names of deferred tools are told as additions.

mod adapter;
mod agents;
mod background;
mod control;
mod deferral;
mod hook;
mod mention;
mod outcome;
mod owner;
mod prompt_tool;
mod remembered;
mod resources;
mod search;
mod session;
mod shelf;
mod slash;
mod start;
mod telling;
mod vault;

pub(crate) use agents::{of_agent, with_server_tools};
pub(crate) use background::{Watched, patience};
pub(crate) use control::ServerControl;
pub(crate) use deferral::Deferral;
pub(crate) use owner::{Credentials, SessionOwner};
pub(crate) use prompt_tool::{Asked, judge as judge_by_tool};
pub(crate) use remembered::{Remembered, references};
pub(crate) use shelf::{Filter, Shelf};
pub(crate) use slash::Typed;

use mcp::{Declared, Host, Standing, View};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::mcp::{ConfigError, Scope, Transport};

/// How long the first request waits for a server, unless `MCP_CONNECT_TIMEOUT_MS` says otherwise.
const BRIEF_WAIT_MS: u64 = 5_000;

/// All servers of a session, shared by the main thread and its agents.
pub(crate) struct Servers {
    pub(crate) host: Host,
    pub(crate) owner: Arc<SessionOwner>,
    pub(crate) policy: config::mcp::Policy,
    pub(crate) deferral: Deferral,
    pub(crate) settings: mcp::Settings,
    /// Declarations that could not be used, for `system/init`.
    pub(crate) errors: Vec<ConfigError>,
    /// `MCP_CONNECTION_NONBLOCKING=0`: the first request waits for every server as long as the server may take.
    waits_for_all: bool,
    /// Whether somebody sits in front of the session: a person is not kept waiting.
    watched: Watched,
    /// `MCP_CONNECT_TIMEOUT_MS`
    brief_wait: Duration,
    /// Servers that were waited for and did not come in time. They are not waited for again.
    late: Mutex<BTreeSet<String>>,
    /// The host asked for the states of servers.
    was_looked_at: AtomicBool,
    /// How long calls of the main thread are waited for.
    patience: Option<Duration>,
    /// Declared and not begun.
    waiting: Mutex<Vec<(Declared, Standing)>>,
    /// Names that a host declared while the session ran.
    hosted: Mutex<BTreeSet<String>>,
    /// Tools that a resumed conversation goes on with.
    wanted: Mutex<BTreeSet<String>>,
}

/// What `Servers::new` is made of.
pub(crate) struct Parts {
    pub(crate) settings: mcp::Settings,
    pub(crate) owner: Arc<SessionOwner>,
    pub(crate) policy: config::mcp::Policy,
    pub(crate) deferral: Deferral,
    pub(crate) declared: Vec<(Declared, Standing)>,
    pub(crate) errors: Vec<ConfigError>,
    pub(crate) watched: Watched,
    pub(crate) patience: Option<Duration>,
}

impl Servers {
    pub(crate) fn new(parts: Parts) -> Self {
        let env = parts.settings.env.clone();
        let waits_for_all = env.flag("MCP_CONNECTION_NONBLOCKING") == Some(false);
        let brief_wait = env.number("MCP_CONNECT_TIMEOUT_MS").unwrap_or(BRIEF_WAIT_MS);
        Self {
            host: Host::new(parts.settings.clone(), Arc::clone(&parts.owner) as Arc<dyn mcp::Owner>),
            owner: parts.owner,
            policy: parts.policy,
            deferral: parts.deferral,
            settings: parts.settings,
            errors: parts.errors,
            waits_for_all,
            watched: parts.watched,
            brief_wait: Duration::from_millis(brief_wait),
            late: Mutex::default(),
            was_looked_at: AtomicBool::new(false),
            patience: parts.patience,
            waiting: Mutex::new(parts.declared),
            hosted: Mutex::default(),
            wanted: Mutex::default(),
        }
    }

    /// The servers of these tools are waited for once, before the next request.
    fn want(&self, tools: impl Iterator<Item = String>) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).extend(tools);
    }

    fn is_wanted(&self, server: &str) -> bool {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        !wanted.is_empty() && wanted.iter().any(|tool| tool.starts_with(&whole(server)))
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(Declared, Standing)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hosted(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every server with what is known of it, those not begun included, by name.
    pub(crate) fn views(&self) -> Vec<View> {
        let mut views = self.host.views();
        views.extend(self.waiting().iter().map(|(declared, standing)| View::of(declared, *standing)));
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// `mcp_servers` of `system/init`.
    pub(crate) fn listed(&self) -> Vec<Value> {
        let row = |view: &View| row(&view.name, view.status.as_str(), source(view.scope, &view.config));
        self.views().iter().map(row).collect()
    }
}

/// The name that rules about a whole server cover, and rules about single tools do not.
fn whole(server: &str) -> String {
    format!("{}{}", mcp::exposed_server(server), mcp::SEPARATOR)
}

fn row(name: &str, status: &str, source: &str) -> Value {
    json!({"name": name, "status": status, "source": source})
}

fn source(scope: Scope, config: &wire::mcp::ServerConfig) -> &'static str {
    match &config.transport {
        Transport::Sdk { .. } => "sdk",
        Transport::Stdio(_) | Transport::Http(_) | Transport::Sse(_) | Transport::Ws(_) => scope.name(),
    }
}
