//! When servers are connected, and who waits for them.
//!
//! Every enabled server is begun at the start of the session, beside it. A program's first request waits for them: briefly
//! for those of user, project and local scope, as long as the server may take for those of the command line and of the host.
//! Where their tools are deferred in any case it does not wait: the request names what is still connecting. A person is kept
//! waiting by `alwaysLoad` alone. A server that did not come in time is announced once and never waited for again.

use super::{Deferral, Servers, Watched};
use mcp::{Declared, Standing, Status, View};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use wire::mcp::{Scope, ServerConfig, Transport};

/// The first picture of a terminal is drawn by then, or the request has left that waits for nobody.
const AFTER_START: Duration = Duration::from_millis(30);

/// How long a person who looks at servers waits for those that are being connected.
const MOMENT: Duration = Duration::from_secs(2);

/// How long the first request waits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Never,
    /// `MCP_CONNECT_TIMEOUT_MS`
    Briefly,
    /// As long as the server has to connect.
    Fully,
}

impl Servers {
    /// Begins with every server. Those that the first request waits for come first; starting the programs of the others
    /// must not hold up the first picture or the first request.
    pub(crate) fn begin_at_start(self: &Arc<Self>) {
        self.begin_awaited();
        if self.waiting().is_empty() {
            return;
        }
        let servers = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(AFTER_START).await;
            if let Some(servers) = servers.upgrade() {
                servers.begin_rest();
            }
        });
    }

    /// Waits for the servers that the next request must have. Costs nothing once that is done. The names of those that did
    /// not come in time, each once in a session.
    pub(crate) async fn ready(&self) -> Vec<String> {
        match self.watched {
            Watched::ByPerson => self.begin_rest(),
            Watched::ByProgram => self.begin_awaited(),
        }
        // A server inside the host that failed gets another chance with every turn.
        self.host.retry(|view| matches!(view.config.transport, Transport::Sdk { .. }));
        // A little longer than a server has, so that one which is late is told as failed.
        let full = self.host.connect_limit() + Duration::from_millis(250);
        let waits = |view: &View| self.waits(&view.name, view.scope, &view.config);
        tokio::join!(
            self.host.settle(full, |view| waits(view) == Waits::Fully),
            self.host.settle(self.brief_wait, |view| waits(view) == Waits::Briefly),
        );
        let is_late = |view: &View| view.status == Status::Pending && waits(view) != Waits::Never;
        let late: Vec<String> = self.host.views().into_iter().filter(is_late).map(|view| view.name).collect();
        self.late().extend(late.iter().cloned());
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clear();
        late
    }

    /// Begins with the others; nobody waits for them.
    pub(crate) fn begin_rest(&self) {
        let rest = std::mem::take(&mut *self.waiting());
        self.begin(rest);
    }

    /// Begins with every server and waits a moment for those that are being connected: people and programs that look at
    /// servers right after the start see what became of them.
    pub(crate) async fn settle_for_show(&self) {
        self.begin_rest();
        let limit = match self.watched {
            Watched::ByPerson => MOMENT,
            Watched::ByProgram => self.brief_wait,
        };
        self.host.settle(limit, |view| !self.is_late(&view.name)).await;
    }

    /// The same for a request that may come again and again: only the first one waits.
    pub(super) async fn settle_for_first_look(&self) {
        self.begin_rest();
        if !self.was_looked_at.swap(true, Ordering::Relaxed) {
            self.host.settle(MOMENT, |view| !self.is_late(&view.name)).await;
        }
    }

    pub(super) fn is_late(&self, server: &str) -> bool {
        self.late().contains(server)
    }

    pub(super) fn brief_wait(&self) -> Duration {
        self.brief_wait
    }

    fn begin_awaited(&self) {
        let is_awaited =
            |declared: &Declared| self.waits(&declared.name, declared.scope, &declared.config) != Waits::Never;
        let first: Vec<_> = self.waiting().extract_if(.., |(declared, _)| is_awaited(declared)).collect();
        self.begin(first);
    }

    fn begin(&self, servers: Vec<(Declared, Standing)>) {
        for (declared, standing) in servers {
            self.host.add(declared, standing);
        }
    }

    fn waits(&self, name: &str, scope: Scope, config: &ServerConfig) -> Waits {
        if self.is_late(name) {
            return Waits::Never;
        }
        if self.waits_for_all {
            return Waits::Fully;
        }
        match (self.watched, scope) {
            (Watched::ByPerson, _) if config.always_load => Waits::Briefly,
            (Watched::ByPerson, _) => Waits::Never,
            (Watched::ByProgram, Scope::Flag | Scope::Host | Scope::Agent) => Waits::Fully,
            (Watched::ByProgram, _) if config.always_load || self.is_wanted(name) => Waits::Briefly,
            (Watched::ByProgram, _) if self.deferral.is_certain() => Waits::Never,
            (Watched::ByProgram, _) => Waits::Briefly,
        }
    }

    fn late(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deferral {
    /// Tools are deferred however few they are.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Self::Native { over: 0 } | Self::Emulated { over: 0 })
    }
}
