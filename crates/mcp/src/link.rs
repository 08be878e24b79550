//! An established connection to a server: its requests, with their limits, and their failures.

use crate::client::ProtocolEra;
use crate::connect_failure::{ConnectFailure, classify};
use crate::error::CallError;
use crate::last_words::LastWords;
use crate::owner::McpOwner;
use crate::settings::CallLimits;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, RequestId, RootsListChangedNotification,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

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
            ServiceError::TransportSend(error) => match classify(&*error.error) {
                ConnectFailure::NeedsAuth => CallError::NeedsAuth { server },
                ConnectFailure::Transient(why) | ConnectFailure::Permanent(why) => CallError::Failed { server, why },
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
