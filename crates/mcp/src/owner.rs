//! What only the owner of a session knows: directories, people, credentials, the host's bridge.

use crate::elicit::{Elicitation, ElicitationAnswer};
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use std::path::PathBuf;
use wire::mcp::RemoteConfig;

/// Header names and values.
pub type Headers = Vec<(String, String)>;

/// Why headers are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderOccasion {
    /// A connection is being made.
    Connect,
    /// The server refused the last ones; `challenge` is its `WWW-Authenticate`.
    Refused { status: u16, challenge: Option<String> },
}

/// Supplied by the session.
pub trait McpOwner: Send + Sync {
    /// Directories a server is told of.
    fn roots(&self) -> Vec<PathBuf>;

    /// A server was declared; its settings may hold credentials that nobody must see.
    fn declared(&self, _config: &wire::mcp::ServerConfig) {}

    /// What a server printed, or said when it failed, without the credentials in it: it is shown, stored and logged.
    fn hide(&self, text: &str) -> String;

    /// A server wants something from the person. Without anybody to ask: a decline.
    fn elicit(&self, request: Elicitation) -> BoxFuture<'_, ElicitationAnswer>;

    /// What was asked for by URL is done.
    fn elicitation_completed(&self, server: &str, id: &str) -> BoxFuture<'_, ()>;

    /// Hands one JSON-RPC message to a server inside the host; the answer is a JSON-RPC message or why there is none.
    fn forward(&self, server: &str, message: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>>;

    /// Headers beside the configured ones (helper, token). `None` on a refusal: there is nothing else to try.
    fn headers(
        &self,
        server: &str,
        remote: &RemoteConfig,
        occasion: HeaderOccasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>>;
}
