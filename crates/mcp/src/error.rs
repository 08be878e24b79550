//! Why a request to a server failed.

use std::time::Duration;

/// Each text is fit for a tool result: it names the server, what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("MCP server \"{0}\" is not known")]
    UnknownServer(String),
    #[error("MCP server \"{server}\" is not connected: {why}")]
    NotConnected { server: String, why: String },
    #[error("MCP server \"{server}\" closed the connection{last_words}")]
    Closed { server: String, last_words: String },
    #[error("MCP server \"{server}\" did not answer within {} s", .after.as_secs_f64())]
    TimedOut { server: String, after: Duration },
    #[error("MCP server \"{server}\" needs authentication; run `gimlet mcp login {server}`")]
    NeedsAuth { server: String },
    /// A JSON-RPC error.
    #[error("MCP error {code}: {message}")]
    Refused { code: i64, message: String },
    #[error("MCP server \"{server}\": {why}")]
    Failed { server: String, why: String },
    #[error("The call was cancelled")]
    Cancelled,
}
