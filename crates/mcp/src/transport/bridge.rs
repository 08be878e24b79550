//! A server inside the host: every message goes through a control request. The host's answer to a notification is
//! ignored. A manifest of the right revision answers the handshake without asking the host.

use super::SendError;
use crate::client::PROTOCOL;
use crate::owner::McpOwner;
use crate::server_spec::McpManifest;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Most answers and messages of the server that wait to be read.
const QUEUE: usize = 64;

pub(crate) struct HostBridge {
    server: Arc<str>,
    owner: Arc<dyn McpOwner>,
    manifest: Option<McpManifest>,
    skips_initialized: bool,
    answers: mpsc::Sender<Box<RawValue>>,
    incoming: mpsc::Receiver<Box<RawValue>>,
}

/// Opens the bridge; the sender delivers messages that the server sends unprompted.
pub(crate) fn open(
    server: &str,
    owner: Arc<dyn McpOwner>,
    manifest: Option<McpManifest>,
) -> (HostBridge, mpsc::Sender<Box<RawValue>>) {
    let (answers, incoming) = mpsc::channel(QUEUE);
    let manifest = manifest.filter(McpManifest::fits);
    let bridge = HostBridge {
        server: server.into(),
        owner,
        manifest,
        skips_initialized: false,
        answers: answers.clone(),
        incoming,
    };
    (bridge, answers)
}

impl McpManifest {
    /// True when the manifest was made for the revision we would request.
    pub fn fits(&self) -> bool {
        self.initialize.get("protocolVersion").and_then(Value::as_str) == Some(PROTOCOL.as_str())
    }
}

impl HostBridge {
    /// The manifest's answer to this request; `None` when it has none. Each part is used once.
    fn known(&mut self, method: &str, id: &Value) -> Option<Value> {
        let result = match method {
            "initialize" => {
                let result = self.manifest.as_mut()?.initialize.take();
                self.skips_initialized = true;
                result
            }
            "tools/list" => self.manifest.as_mut()?.tools.take()?,
            _ => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}

impl Transport<RoleClient> for HostBridge {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let is_request = matches!(item, JsonRpcMessage::Request(_));
        let message = serde_json::to_value(&item);
        let method = message.as_ref().ok().and_then(|m| m.get("method")?.as_str()).unwrap_or_default().to_owned();
        let id = message.as_ref().ok().and_then(|m| m.get("id").cloned()).unwrap_or_default();
        let known = if is_request { self.known(&method, &id) } else { None };
        let skipped = method == "notifications/initialized" && self.skips_initialized;
        let (owner, server, answers) = (Arc::clone(&self.owner), Arc::clone(&self.server), self.answers.clone());
        async move {
            if skipped {
                return Ok(());
            }
            let answer = if let Some(answer) = known {
                wire::raw::to_raw(&answer)?
            } else {
                let message = wire::raw::to_raw(&message?)?;
                owner.forward(&server, message).await.map_err(SendError::Refused)?
            };
            if is_request {
                answers.send(answer).await.map_err(|_| SendError::Closed)?;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.incoming.recv().await?;
            match serde_json::from_str(message.get()) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "a message of the host is no JSON-RPC; it is skipped"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.incoming.close();
        Ok(())
    }
}
