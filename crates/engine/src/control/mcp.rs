//! What hosts ask about MCP servers, and who answers.

use super::dispatch::Refusal;
use futures_util::future::BoxFuture;
use serde_json::Value;
use wire::control::McpRequest;

/// The servers of a session, as its host controls them.
pub(crate) trait McpControl: Send + Sync {
    /// The `response` object.
    fn handle(&self, request: McpRequest) -> BoxFuture<'static, Result<Value, Refusal>>;
}
