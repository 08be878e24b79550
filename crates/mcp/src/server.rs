//! One server: its state, and its connection when there is one.

use crate::catalogue::{McpCatalogue, RemotePrompt, RemoteTool};
use crate::client::ProtocolEra;
use crate::connect;
use crate::error::CallError;
use crate::host::{McpServerSpec, ServerSwitch};
use crate::owner::McpOwner;
use crate::settings::CallLimits;
use crate::transport::stdio::LastWords;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, RequestId, RootsListChangedNotification,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::{Mutex, MutexGuard};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::mcp::{McpScope, ServerConfig};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpStatus {
    /// Connecting, or waiting for a connection slot.
    Pending,
    Connected,
    Failed(String),
    NeedsAuth,
    Disabled,
}

impl McpStatus {
    /// The status as named in the protocol.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
        }
    }
}

/// Name and version as the server reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
}

/// A snapshot of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerView {
    pub name: String,
    pub scope: McpScope,
    pub config: Arc<ServerConfig>,
    pub status: McpStatus,
    pub info: Option<ServerInfo>,
    /// In the order of the server.
    pub tools: Arc<[Arc<RemoteTool>]>,
    pub prompts: Arc<[RemotePrompt]>,
    /// Cut to 2 KB.
    pub instructions: Option<String>,
    pub has_resources: bool,
    /// Set when the server is connected but a list could not be read.
    pub problem: Option<String>,
}

impl ServerView {
    /// The view of a declared server that was not started.
    pub fn of(declared: &McpServerSpec, standing: ServerSwitch) -> Self {
        Self {
            name: declared.name.clone(),
            scope: declared.scope,
            config: Arc::new(declared.config.clone()),
            status: standing.first_status(),
            info: None,
            tools: Arc::default(),
            prompts: Arc::default(),
            instructions: None,
            has_resources: false,
            problem: None,
        }
    }
}

pub(crate) struct ServerEntry {
    pub(crate) name: String,
    pub(crate) scope: McpScope,
    pub(crate) config: Arc<ServerConfig>,
    /// How the last connection began; `None` before the first.
    pub(crate) era: Mutex<Option<ProtocolEra>>,
    slot: Mutex<ServerSlot>,
}

pub(crate) struct ServerSlot {
    pub(crate) status: McpStatus,
    pub(crate) catalogue: McpCatalogue,
    pub(crate) link: Option<Arc<ServerLink>>,
    /// Receives messages that a server inside the host sends unprompted.
    pub(crate) inbound: Option<mpsc::Sender<Box<RawValue>>>,
    pub(crate) stop: CancellationToken,
    /// Counts connections, so that an old connection cannot change the state of a new one.
    pub(crate) generation: u64,
}

impl ServerEntry {
    pub(crate) fn new(declared: McpServerSpec, status: McpStatus) -> Self {
        Self {
            name: declared.name,
            scope: declared.scope,
            config: Arc::new(declared.config),
            era: Mutex::default(),
            slot: Mutex::new(ServerSlot {
                status,
                catalogue: McpCatalogue::default(),
                link: None,
                inbound: None,
                stop: CancellationToken::new(),
                generation: 0,
            }),
        }
    }

    pub(crate) fn slot(&self) -> MutexGuard<'_, ServerSlot> {
        self.slot.lock()
    }

    pub(crate) fn view(&self) -> ServerView {
        let slot = self.slot();
        let catalogue = slot.catalogue.clone();
        ServerView {
            name: self.name.clone(),
            scope: self.scope,
            config: Arc::clone(&self.config),
            status: slot.status.clone(),
            info: catalogue.info,
            tools: catalogue.tools,
            prompts: catalogue.prompts,
            instructions: catalogue.instructions,
            has_resources: catalogue.has_resources,
            problem: catalogue.problem,
        }
    }

    /// The connection, or the reason why there is none.
    pub(crate) fn link(&self) -> Result<Arc<ServerLink>, CallError> {
        let slot = self.slot();
        let server = self.name.clone();
        match (&slot.link, &slot.status) {
            (Some(link), _) => Ok(Arc::clone(link)),
            (None, McpStatus::NeedsAuth) => Err(CallError::NeedsAuth { server }),
            (None, McpStatus::Failed(why)) => Err(CallError::NotConnected { server, why: why.clone() }),
            (None, McpStatus::Disabled) => Err(CallError::NotConnected { server, why: "it is disabled".into() }),
            (None, McpStatus::Pending | McpStatus::Connected) => {
                Err(CallError::NotConnected { server, why: "it is still connecting".into() })
            }
        }
    }
}

/// An established connection.
pub(crate) struct ServerLink {
    pub(crate) server: String,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) owner: Arc<dyn McpOwner>,
    pub(crate) era: ProtocolEra,
    pub(crate) is_local: bool,
    /// Time limit for one page of a list.
    pub(crate) list_limit: Duration,
    pub(crate) limits: CallLimits,
    pub(crate) last_words: Option<Arc<LastWords>>,
}

impl ServerLink {
    /// Sends a request and waits at most `limit`.
    pub(crate) async fn ask(&self, request: ClientRequest, limit: Duration) -> Result<Value, CallError> {
        let options = PeerRequestOptions::with_timeout(limit);
        let handle = self.peer.send_request_with_option(request, options).await.map_err(|e| self.explain(e))?;
        handle.await_response().await.map_err(|e| self.explain(e)).map(value)
    }

    /// Sends a tool call: with the call limits, which progress extends, and cancelled by `cancel`.
    pub(crate) async fn call(&self, request: ClientRequest, cancel: &CancellationToken) -> Result<Value, CallError> {
        let idle = if self.is_local { self.limits.idle_local } else { self.limits.idle_remote };
        let mut options = PeerRequestOptions::no_options().with_max_total_timeout(self.limits.total);
        if let Some(idle) = idle {
            options.timeout = Some(idle);
            options = options.reset_timeout_on_progress();
        }
        let handle = self.peer.send_request_with_option(request, options).await.map_err(|e| self.explain(e))?;
        let id = handle.id.clone();
        let answer = handle.await_response();
        tokio::select! {
            answer = answer => answer.map_err(|e| self.explain(e)).map(value),
            () = cancel.cancelled() => {
                self.cancel(id).await;
                Err(CallError::Cancelled)
            }
        }
    }

    async fn cancel(&self, id: RequestId) {
        let why = Some("the user interrupted the call".to_owned());
        let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), why));
        let told = self.peer.send_notification(notification.into());
        // A server that does not read must not delay an interrupt.
        if tokio::time::timeout(Duration::from_millis(200), told).await.is_err() {
            tracing::debug!(server = self.server, "the server does not take the cancellation");
        }
    }

    pub(crate) async fn roots_changed(&self) {
        // Servers without a handshake ask for the roots when they need them.
        if self.era == ProtocolEra::Stateless {
            return;
        }
        let changed = RootsListChangedNotification::default();
        let told = self.peer.send_notification(changed.into());
        if !matches!(tokio::time::timeout(Duration::from_secs(2), told).await, Ok(Ok(()))) {
            tracing::debug!(server = self.server, "the server could not be told of new directories");
        }
    }

    pub(crate) fn closed(&self) -> CallError {
        let last_words = self.last_words.as_ref().map(|words| words.describe()).unwrap_or_default();
        CallError::Closed { server: self.server.clone(), last_words }
    }

    fn explain(&self, error: ServiceError) -> CallError {
        let server = self.server.clone();
        match error {
            ServiceError::McpError(error) => {
                CallError::Refused { code: i64::from(error.code.0), message: error.message.into_owned() }
            }
            ServiceError::TransportClosed => self.closed(),
            ServiceError::Timeout { timeout } => CallError::TimedOut { server, after: timeout },
            ServiceError::Cancelled { .. } => CallError::Cancelled,
            ServiceError::TransportSend(error) => match connect::classify(&*error.error) {
                connect::ConnectFailure::NeedsAuth => CallError::NeedsAuth { server },
                connect::ConnectFailure::Transient(why) | connect::ConnectFailure::Permanent(why) => {
                    CallError::Failed { server, why }
                }
            },
            other => CallError::Failed { server, why: other.to_string() },
        }
    }
}

/// The answer as plain JSON: results known to the library are serialised again, others are returned as received.
fn value(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(custom) => custom.0,
        known => serde_json::to_value(&known).unwrap_or_default(),
    }
}
