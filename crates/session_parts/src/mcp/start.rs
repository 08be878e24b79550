//! When servers are connected, and who waits for them.
//!
//! Every enabled server is started at the start of the session, in the background. A program's first request waits
//! for them: briefly for servers of user, project and local scope, up to the connection timeout for those of the
//! command line and the host. When their tools are deferred in any case, it does not wait and lists the servers that
//! are still connecting. A person waits only for servers with `alwaysLoad`. A server that did not connect in time is
//! announced once and never waited for again.

use super::{SessionAudience, SessionServers, ToolDeferral};
use mcp::{McpServerSpec, McpStatus, ServerSwitch, ServerView};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::sync::MutexGuard;
use wire::mcp::{McpScope, McpTransport, ServerConfig};

/// By then a terminal has drawn its first frame, or a request that waits for no server has been sent.
const START_DELAY: Duration = Duration::from_millis(30);

/// How long a person who lists servers waits for those that are connecting.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the first request waits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerWait {
    Never,
    /// `MCP_CONNECT_TIMEOUT_MS`
    Briefly,
    /// Up to the connection timeout of the server.
    Fully,
}

impl SessionServers {
    /// Starts every server: first those that the first request waits for, the others after `START_DELAY`, so that
    /// they delay neither the first frame nor the first request.
    pub fn begin_at_start(self: &Arc<Self>) {
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

    /// Waits for the servers that the next request needs; returns at once when that was done. Returns the names of
    /// those that did not connect in time, each once per session.
    pub async fn wait_for_required(&self) -> Vec<String> {
        match self.audience {
            SessionAudience::ByPerson => self.begin_rest(),
            SessionAudience::ByProgram => self.begin_awaited(),
        }
        // Retry servers of the host that failed, in every turn.
        self.host.retry(|view| matches!(view.config.transport, McpTransport::Sdk { .. }));
        // Slightly longer than the timeout of a server, so that a late one is already reported as failed.
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
    pub fn waiting_message(&self) -> String {
        let pending = self.host.views().into_iter().filter(|view| view.status == McpStatus::Pending);
        let named: Vec<String> = pending.map(|view| view.name).collect();
        format!("Waiting for MCP servers to connect: {}. Ctrl+C ends the run.", named.join(", "))
    }

    /// Begins with the others; nobody waits for them.
    pub fn begin_rest(&self) {
        let rest = std::mem::take(&mut *self.unstarted());
        self.begin(rest);
    }

    /// Starts every server and waits briefly for those that are connecting, so that a status query right after the
    /// start shows their result.
    pub async fn wait_for_status(&self) {
        self.begin_rest();
        let limit = match self.audience {
            SessionAudience::ByPerson => STATUS_TIMEOUT,
            SessionAudience::ByProgram => self.brief_wait,
        };
        self.host.wait_until_connected(limit, |view| !self.is_late(&view.name)).await;
    }

    /// Like `wait_for_status`, for repeated requests: only the first one waits.
    pub(super) async fn wait_for_first_status(&self) {
        self.begin_rest();
        if !self.is_status_requested.swap(true, Ordering::Relaxed) {
            self.host.wait_until_connected(STATUS_TIMEOUT, |view| !self.is_late(&view.name)).await;
        }
    }

    pub(super) fn is_late(&self, server: &str) -> bool {
        self.late().contains(server)
    }

    pub fn brief_wait(&self) -> Duration {
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
    /// Tools are deferred even if there are few.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Self::Native { over: 0 } | Self::Emulated { over: 0 })
    }
}
