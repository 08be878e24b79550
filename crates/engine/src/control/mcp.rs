//! The interface for the host's requests about MCP servers.

use super::dispatch::RequestRefusal;
use futures_util::future::BoxFuture;
use permission::Policy;
use serde_json::Value;
use std::sync::Arc;
use wire::control::McpRequest;

/// Controls the MCP servers of a session for its host.
pub(crate) trait McpControl: Send + Sync {
    /// The `response` object. `policy` is the current policy.
    fn handle(
        &self,
        request: McpRequest,
        policy: Option<Arc<Policy>>,
    ) -> BoxFuture<'static, Result<Value, RequestRefusal>>;
}
