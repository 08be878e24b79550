//! What only the owner of a session can supply: directories, answers of people, credentials, the host's bridge.

use crate::elicit::{Elicitation, ElicitationAnswer};
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use std::path::PathBuf;
use wire::mcp::RemoteConfig;

/// Header names and values.
pub type Headers = Vec<(String, String)>;

/// Why headers are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderOccasion {
    /// A connection is being made.
    Connect,
    /// The server refused the last headers; `challenge` is its `WWW-Authenticate`.
    Refused { status: u16, challenge: Option<String> },
}

/// Implemented by the session.
pub trait McpOwner: Send + Sync {
    /// Directories that servers are informed of.
    fn roots(&self) -> Vec<PathBuf>;

    /// Called for each declared server; its settings may contain credentials that must be masked.
    fn declared(&self, _config: &wire::mcp::ServerConfig) {}

    /// Removes credentials from output or errors of a server, because such text is shown, stored and logged.
    fn hide(&self, text: &str) -> String;

    /// Asks the person on behalf of a server. Declines when there is nobody to ask.
    fn elicit(&self, request: Elicitation) -> BoxFuture<'_, ElicitationAnswer>;

    /// Called when the server reports that the visit to a URL is complete.
    fn elicitation_completed(&self, server: &str, id: &str) -> BoxFuture<'_, ()>;

    /// Forwards one JSON-RPC message to a server inside the host; returns its JSON-RPC answer or an error text.
    fn forward(&self, server: &str, message: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>>;

    /// Headers in addition to the configured ones (helper, token). `None` after a refusal: there is nothing else to
    /// try.
    fn headers(
        &self,
        server: &str,
        remote: &RemoteConfig,
        occasion: HeaderOccasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>>;
}
