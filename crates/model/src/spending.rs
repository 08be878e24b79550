//! What a paid request needs before it is sent, and what it reports when it has ended. Every paid request of a session
//! goes through one client, so a gate there sees all of them: turns, agents, compaction, side questions, hooks.

use crate::error::ModelError;
use crate::event::{EventKind, ModelEvent};
use crate::request::ModelRequest;
use std::pin::Pin;
use std::sync::Arc;
use wire::usage::Usage;

pub type AdmissionFuture<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn SpendingPermit>, ModelError>> + Send + 'a>>;

/// Decides whether a request may be sent.
pub trait SpendingGate: Send + Sync + std::fmt::Debug {
    /// Reserves what the request may cost; waits while other requests may use up what is left. The error says which
    /// limit is reached.
    fn admit<'a>(&'a self, request: &'a ModelRequest) -> AdmissionFuture<'a>;
}

/// What one request may spend. Dropping it gives back what was not spent.
pub trait SpendingPermit: Send + std::fmt::Debug {
    /// What has certainly been spent so far; later reports replace earlier ones.
    fn spent(&mut self, model: &str, usage: &Usage);
}

/// Reads usage off the events of a response.
#[derive(Debug)]
pub(crate) struct SpendingMeter {
    permit: Box<dyn SpendingPermit>,
    model: String,
    usage: Usage,
}

impl SpendingMeter {
    pub(crate) async fn admit(
        gate: Option<&Arc<dyn SpendingGate>>,
        request: &ModelRequest,
    ) -> Result<Option<Self>, ModelError> {
        let Some(gate) = gate else { return Ok(None) };
        let permit = gate.admit(request).await?;
        Ok(Some(Self { permit, model: request.model.clone(), usage: Usage::default() }))
    }

    pub(crate) fn take(&mut self, event: &ModelEvent) {
        let reported = match &event.kind {
            EventKind::MessageStart { model, usage, .. } => {
                if !model.is_empty() {
                    self.model = crate::catalog::counted_as(&self.model, model);
                }
                usage.as_ref()
            }
            EventKind::MessageDelta(delta) => delta.usage.as_ref(),
            EventKind::BlockStart { .. }
            | EventKind::Delta { .. }
            | EventKind::BlockStop { .. }
            | EventKind::MessageStop
            | EventKind::Ping
            | EventKind::Unknown => None,
        };
        if let Some(reported) = reported {
            self.usage.absorb(reported);
            self.permit.spent(&self.model, &self.usage);
        }
    }
}
