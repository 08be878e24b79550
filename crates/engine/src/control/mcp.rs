//! What hosts ask about MCP servers, and who answers.

use super::dispatch::Refusal;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wire::control::McpRequest;

/// The servers of a session, as its host controls them.
pub(crate) trait McpControl: Send + Sync {
    /// The `response` object.
    fn handle(&self, request: McpRequest) -> BoxFuture<'static, Result<Value, Refusal>>;
}

/// A session without servers.
pub(crate) struct NoServers;

impl McpControl for NoServers {
    fn handle(&self, request: McpRequest) -> BoxFuture<'static, Result<Value, Refusal>> {
        let unknown = |name: &str| Err(Refusal::new(format!("Server not found: {name}")));
        let answer = match request {
            McpRequest::Status => Ok(json!({"mcpServers": []})),
            McpRequest::SetServers(asked) => {
                let refused = |name: String| (name, json!("MCP servers are not available in this session"));
                let errors: serde_json::Map<String, Value> = asked.servers.into_keys().map(refused).collect();
                Ok(json!({"added": [], "removed": [], "errors": errors}))
            }
            McpRequest::Reconnect(asked) => unknown(&asked.server_name),
            McpRequest::Toggle(asked) => unknown(&asked.server_name),
            McpRequest::Message(asked) => unknown(&asked.server_name),
            McpRequest::ReadResource(asked) => unknown(&asked.server_name),
            McpRequest::Call(asked) => Err(Refusal::new(format!("Tool not found: {}", asked.tool))),
            McpRequest::SetPermissionModeOverride(asked) => unknown(&asked.server_name),
        };
        Box::pin(std::future::ready(answer))
    }
}
