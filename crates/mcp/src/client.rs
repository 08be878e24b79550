//! The client side of a connection: answers requests of a server and handles its notifications.

#![expect(deprecated, reason = "roots and logging still stand in the revision that servers speak")]

use crate::elicit::{self, ElicitAction, Elicitation, ElicitationAnswer};
use crate::owner::McpOwner;
use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientConfig, CustomNotification, ElicitRequestParams, ElicitResult, LoggingLevel, LoggingMessageNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A list that the server reports as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListChanged {
    Tools,
    Prompts,
    Resources,
}

pub(crate) struct ClientFace {
    pub(crate) server: String,
    pub(crate) owner: Arc<dyn McpOwner>,
    pub(crate) changes: mpsc::Sender<ListChanged>,
    pub(crate) version: String,
    pub(crate) era: ProtocolEra,
}

/// Answers requests of a server, however they are sent.
pub(crate) struct Answerer<'a> {
    pub(crate) server: &'a str,
    pub(crate) owner: &'a Arc<dyn McpOwner>,
}

impl Answerer<'_> {
    /// The result of `roots/list`.
    pub(crate) fn roots(&self) -> Value {
        let root = |path: &std::path::PathBuf| {
            let uri = url::Url::from_directory_path(path).ok()?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            Some(json!({"uri": uri.as_str().trim_end_matches('/'), "name": name.unwrap_or_default()}))
        };
        json!({"roots": self.owner.roots().iter().filter_map(root).collect::<Vec<Value>>()})
    }

    /// The result of `elicitation/create` with these parameters.
    pub(crate) async fn elicit(&self, asked: &Value, cancelled: impl Future<Output = ()>) -> Value {
        let text = |key: &str| asked.get(key).and_then(Value::as_str).map(str::to_owned);
        let question = Elicitation {
            server: self.server.to_owned(),
            message: text("message").unwrap_or_default(),
            schema: asked.get("requestedSchema").cloned(),
            url: text("url"),
            id: text("elicitationId"),
        };
        let answer = if is_allowed_address(&question) {
            tokio::select! {
                answer = self.owner.elicit(question) => answer,
                () = cancelled => ElicitationAnswer { action: ElicitAction::Cancel, content: None },
            }
        } else {
            tracing::warn!(server = self.server, "an elicitation with an address that is not https is declined");
            ElicitationAnswer::DECLINED
        };
        match answer.action {
            ElicitAction::Accept => match elicit::with_defaults(answer.content, asked.get("requestedSchema")) {
                Some(content) => json!({"action": "accept", "content": content}),
                None => json!({"action": "accept"}),
            },
            ElicitAction::Decline => json!({"action": "decline"}),
            ElicitAction::Cancel => json!({"action": "cancel"}),
        }
    }
}

impl ClientFace {
    fn answerer(&self) -> Answerer<'_> {
        Answerer { server: &self.server, owner: &self.owner }
    }

    fn changed(&self, what: ListChanged) {
        // When the queue is full, a refresh is already pending.
        self.changes.try_send(what).ok();
    }
}

/// The revision requested in the handshake; servers may answer with an older one.
pub(crate) const PROTOCOL: ProtocolVersion = ProtocolVersion::V_2025_11_25;
/// The revision without a handshake.
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;
/// Extension of the revision without a handshake: a server may answer a call with a task.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolEra {
    /// `initialize`
    Handshake,
    /// `server/discover`; every request identifies the client.
    Stateless,
}

impl ClientHandler for ClientFace {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.era {
            ProtocolEra::Handshake => json!({"roots": {"listChanged": true}, "elicitation": {"form": {}, "url": {}}}),
            ProtocolEra::Stateless => {
                json!({"roots": {}, "elicitation": {"form": {}, "url": {}}, "extensions": {TASKS: {}}})
            }
        };
        let info = json!({
            "protocolVersion": PROTOCOL.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "gimlet", "title": "gimlet", "version": self.version},
        });
        serde_json::from_value(info).unwrap_or_default()
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        serde_json::from_value(self.answerer().roots()).map_err(|error| internal(&error))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).map_err(|error| internal(&error))?;
        let answer = self.answerer().elicit(&asked, context.ct.cancelled()).await;
        serde_json::from_value(answer).map_err(|error| internal(&error))
    }

    async fn on_logging_message(&self, said: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let server = &self.server;
        match said.level {
            LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice => {
                tracing::debug!(server, data = %said.data, "the server says");
            }
            _ => tracing::warn!(server, data = %said.data, "the server warns"),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListChanged::Tools);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListChanged::Prompts);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListChanged::Resources);
    }

    async fn on_custom_notification(&self, said: CustomNotification, _: NotificationContext<RoleClient>) {
        if said.method != "notifications/elicitation/complete" {
            return;
        }
        if let Some(id) = said.params.as_ref().and_then(|params| params.get("elicitationId")).and_then(Value::as_str) {
            self.owner.elicitation_completed(&self.server, id).await;
        }
    }
}

/// People open this address: only https, or http on this machine, is allowed.
fn is_allowed_address(question: &Elicitation) -> bool {
    let Some(address) = &question.url else { return true };
    let Ok(url) = url::Url::parse(address) else { return false };
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

fn internal(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_proper_addresses_reach_people() {
        let of = |url: &str| Elicitation {
            server: "s".into(),
            message: String::new(),
            schema: None,
            url: Some(url.into()),
            id: None,
        };
        assert!(is_allowed_address(&of("https://example.com/x")) && is_allowed_address(&of("http://localhost:1/")));
        assert!(!is_allowed_address(&of("http://example.com")) && !is_allowed_address(&of("file:///etc/passwd")));
        assert!(!is_allowed_address(&of("javascript:alert(1)")));
    }
}
