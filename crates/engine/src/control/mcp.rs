//! What hosts ask about MCP servers, and who answers.

use super::dispatch::RequestRefusal;
use futures_util::future::BoxFuture;
use permission::Policy;
use serde_json::Value;
use std::sync::Arc;
use wire::control::McpRequest;

/// The servers of a session, as its host controls them.
pub(crate) trait McpControl: Send + Sync {
    /// The `response` object. `policy` is what holds now.
    fn handle(
        &self,
        request: McpRequest,
        policy: Option<Arc<Policy>>,
    ) -> BoxFuture<'static, Result<Value, RequestRefusal>>;
}
