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
mod telling;
mod vault;

pub(crate) use agents::{of_agent, with_server_tools};
pub(crate) use background::{Watched, patience};
pub(crate) use control::ServerControl;
pub(crate) use deferral::Deferral;
pub(crate) use owner::{Credentials, SessionOwner, credentials};
pub(crate) use prompt_tool::{Asked, judge as judge_by_tool};
pub(crate) use remembered::{Remembered, references};
pub(crate) use shelf::{Filter, Shelf};
pub(crate) use slash::Typed;

use mcp::{Declared, Host, Standing, Status, View};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::mcp::{ConfigError, Scope, Transport};

/// How long `alwaysLoad` holds the first prompt, unless the environment says otherwise.
const ALWAYS_LOAD_MS: u64 = 5_000;

/// A request has left by then.
const AFTER_REQUEST: Duration = Duration::from_millis(30);

/// All servers of a session, shared by the main thread and its agents.
pub(crate) struct Servers {
    pub(crate) host: Host,
    pub(crate) owner: Arc<SessionOwner>,
    pub(crate) policy: config::mcp::Policy,
    pub(crate) deferral: Deferral,
    pub(crate) settings: mcp::Settings,
    /// Declarations that could not be used, for `system/init`.
    pub(crate) errors: Vec<ConfigError>,
    /// The first request waits for every server.
    waits_for_all: bool,
    always_load: Duration,
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
    pub(crate) patience: Option<Duration>,
}

impl Servers {
    pub(crate) fn new(parts: Parts) -> Self {
        let env = parts.settings.env.clone();
        // Where all schemas are sent, a tool that comes late would cost the cached prefix.
        let waits_for_all = parts.deferral == Deferral::Off || env.flag("MCP_CONNECTION_NONBLOCKING") == Some(false);
        let always_load = env.number("MCP_CONNECT_TIMEOUT_MS").unwrap_or(ALWAYS_LOAD_MS);
        Self {
            host: Host::new(parts.settings.clone(), Arc::clone(&parts.owner) as Arc<dyn mcp::Owner>),
            owner: parts.owner,
            policy: parts.policy,
            deferral: parts.deferral,
            settings: parts.settings,
            errors: parts.errors,
            waits_for_all,
            always_load: Duration::from_millis(always_load),
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

    /// Begins with the servers the first request waits for, and waits for them. Costs nothing once that is done.
    pub(crate) async fn ready(&self) {
        let first: Vec<_> = self.waiting().extract_if(.., |(declared, _)| self.is_awaited(declared)).collect();
        // A server inside the host that failed gets another chance with every turn.
        self.host.retry(|view| matches!(view.config.transport, Transport::Sdk { .. }));
        self.begin(first);
        // A little longer than a server has, so that one which is late is told as failed.
        let (all, limit) = (self.waits_for_all, self.host.connect_limit() + Duration::from_millis(250));
        let is_given = |view: &View| all || matches!(view.scope, Scope::Flag | Scope::Host | Scope::Agent);
        self.host.settle(limit, is_given).await;
        self.host.settle(self.always_load, |view| view.config.always_load || self.is_wanted(&view.name)).await;
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn is_awaited(&self, declared: &Declared) -> bool {
        let given = matches!(declared.scope, Scope::Flag | Scope::Host | Scope::Agent);
        self.waits_for_all || given || declared.config.always_load || self.is_wanted(&declared.name)
    }

    /// Begins with the others a little later: starting programs would hold up the request that is about to be sent, and
    /// an answer that comes at once needs none of them.
    pub(crate) fn begin_rest_soon(self: &Arc<Self>) {
        if self.waiting().is_empty() {
            return;
        }
        let servers = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(AFTER_REQUEST).await;
            if let Some(servers) = servers.upgrade() {
                servers.begin_rest();
            }
        });
    }

    /// Begins with the others; nobody waits for them.
    pub(crate) fn begin_rest(&self) {
        let rest = std::mem::take(&mut *self.waiting());
        self.begin(rest);
    }

    fn begin(&self, servers: Vec<(Declared, Standing)>) {
        for (declared, standing) in servers {
            self.host.add(declared, standing);
        }
    }

    /// Every server with what is known of it, those not begun included.
    pub(crate) fn views(&self) -> Vec<View> {
        self.host.views()
    }

    /// `mcp_servers` of `system/init`.
    pub(crate) fn listed(&self) -> Vec<Value> {
        let mut rows: Vec<(String, Value)> = self
            .views()
            .iter()
            .map(|view| (view.name.clone(), row(&view.name, view.status.as_str(), source(view.scope, &view.config))))
            .collect();
        rows.extend(self.waiting().iter().map(|(declared, standing)| {
            let status = match standing {
                Standing::Enabled => Status::Pending,
                Standing::Disabled => Status::Disabled,
            };
            let source = source(declared.scope, &declared.config);
            (declared.name.clone(), row(&declared.name, status.as_str(), source))
        }));
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.into_iter().map(|(_, row)| row).collect()
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
