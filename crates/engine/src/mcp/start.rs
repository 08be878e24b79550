//! When servers are connected, and who waits for them.
//!
//! Every enabled server is begun at the start of the session, beside it. A program's first request waits for them: briefly
//! for those of user, project and local scope, as long as the server may take for those of the command line and of the host.
//! Where their tools are deferred in any case it does not wait: the request names what is still connecting. A person is kept
//! waiting by `alwaysLoad` alone. A server that did not come in time is announced once and never waited for again.

use super::{SessionAudience, SessionServers, ToolDeferral};
use mcp::{McpServerSpec, McpStatus, ServerSwitch, ServerView};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::sync::MutexGuard;
use wire::mcp::{McpScope, McpTransport, ServerConfig};

/// The first picture of a terminal is drawn by then, or the request has left that waits for nobody.
const START_DELAY: Duration = Duration::from_millis(30);

/// How long a person who looks at servers waits for those that are being connected.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the first request waits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerWait {
    Never,
    /// `MCP_CONNECT_TIMEOUT_MS`
    Briefly,
    /// As long as the server has to connect.
    Fully,
}

impl SessionServers {
    /// Begins with every server. Those that the first request waits for come first; starting the programs of the others
    /// must not hold up the first picture or the first request.
    pub(crate) fn begin_at_start(self: &Arc<Self>) {
        self.begin_awaited();
        if self.unstarted().is_empty() {
            return;
        }
        let servers = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(START_DELAY).await;
            if let Some(servers) = servers.upgrade() {
                servers.begin_rest();
            }
        });
    }

    /// Waits for the servers that the next request must have. Costs nothing once that is done. The names of those that did
    /// not come in time, each once in a session.
    pub(crate) async fn wait_for_required(&self) -> Vec<String> {
        match self.audience {
            SessionAudience::ByPerson => self.begin_rest(),
            SessionAudience::ByProgram => self.begin_awaited(),
        }
        // A server inside the host that failed gets another chance with every turn.
        self.host.retry(|view| matches!(view.config.transport, McpTransport::Sdk { .. }));
        // A little longer than a server has, so that one which is late is told as failed.
        let full = self.host.connect_limit() + Duration::from_millis(250);
        let waits = |view: &ServerView| self.wait_kind(&view.name, view.scope, &view.config);
        tokio::join!(
            self.host.wait_until_connected(full, |view| waits(view) == ServerWait::Fully),
            self.host.wait_until_connected(self.brief_wait, |view| waits(view) == ServerWait::Briefly),
        );
        let is_late = |view: &ServerView| view.status == McpStatus::Pending && waits(view) != ServerWait::Never;
        let late: Vec<String> = self.host.views().into_iter().filter(is_late).map(|view| view.name).collect();
        self.late().extend(late.iter().cloned());
        self.required_tools.lock().clear();
        late
    }

    /// The line for a person who wonders why no request goes out.
    pub(super) fn waiting_message(&self) -> String {
        let pending = self.host.views().into_iter().filter(|view| view.status == McpStatus::Pending);
        let named: Vec<String> = pending.map(|view| view.name).collect();
        format!("Waiting for MCP servers to connect: {}. Ctrl+C ends the run.", named.join(", "))
    }

    /// Begins with the others; nobody waits for them.
    pub(crate) fn begin_rest(&self) {
        let rest = std::mem::take(&mut *self.unstarted());
        self.begin(rest);
    }

    /// Begins with every server and waits a moment for those that are being connected: people and programs that look at
    /// servers right after the start see what became of them.
    pub(crate) async fn wait_for_status(&self) {
        self.begin_rest();
        let limit = match self.audience {
            SessionAudience::ByPerson => STATUS_TIMEOUT,
            SessionAudience::ByProgram => self.brief_wait,
        };
        self.host.wait_until_connected(limit, |view| !self.is_late(&view.name)).await;
    }

    /// The same for a request that may come again and again: only the first one waits.
    pub(super) async fn wait_for_first_status(&self) {
        self.begin_rest();
        if !self.is_status_requested.swap(true, Ordering::Relaxed) {
            self.host.wait_until_connected(STATUS_TIMEOUT, |view| !self.is_late(&view.name)).await;
        }
    }

    pub(super) fn is_late(&self, server: &str) -> bool {
        self.late().contains(server)
    }

    pub(super) fn brief_wait(&self) -> Duration {
        self.brief_wait
    }

    fn begin_awaited(&self) {
        let is_awaited = |declared: &McpServerSpec| {
            self.wait_kind(&declared.name, declared.scope, &declared.config) != ServerWait::Never
        };
        let first: Vec<_> = self.unstarted().extract_if(.., |(declared, _)| is_awaited(declared)).collect();
        self.begin(first);
    }

    fn begin(&self, servers: Vec<(McpServerSpec, ServerSwitch)>) {
        for (declared, standing) in servers {
            self.host.add(declared, standing);
        }
    }

    fn wait_kind(&self, name: &str, scope: McpScope, config: &ServerConfig) -> ServerWait {
        if self.is_late(name) {
            return ServerWait::Never;
        }
        if self.waits_for_all {
            return ServerWait::Fully;
        }
        match (self.audience, scope) {
            (SessionAudience::ByPerson, _) if config.always_load => ServerWait::Briefly,
            (SessionAudience::ByPerson, _) => ServerWait::Never,
            (SessionAudience::ByProgram, McpScope::Flag | McpScope::Host | McpScope::Agent) => ServerWait::Fully,
            (SessionAudience::ByProgram, _) if config.always_load || self.is_required(name) => ServerWait::Briefly,
            (SessionAudience::ByProgram, _) if self.deferral.is_certain() => ServerWait::Never,
            (SessionAudience::ByProgram, _) => ServerWait::Briefly,
        }
    }

    fn late(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.late_servers.lock()
    }
}

impl ToolDeferral {
    /// Tools are deferred however few they are.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Self::Native { over: 0 } | Self::Emulated { over: 0 })
    }
}
