//! Asks a server over plain HTTP whether it requires a sign-in, and reads its challenge. Some servers answer the
//! handshake without a token and refuse only the first real request, so both are sent.

use super::AuthError;
use super::challenge::AuthChallenge;
use super::exchange::send;
use bytes::Bytes;
use http::{Http, HttpMethod, HttpRequest, HttpResponse};
use serde_json::{Value, json};
use std::time::Duration;

/// The newest protocol revision with a handshake.
pub(super) const PROTOCOL: &str = "2025-11-25";
/// The protocol revision without a handshake.
const STATELESS: &str = "2026-07-28";
const TIMEOUT: Duration = Duration::from_secs(30);

/// The result of a probe.
#[derive(Debug)]
pub(super) enum ProbeFinding {
    /// The server answers.
    Open,
    Refused {
        status: u16,
        challenge: AuthChallenge,
    },
    /// The server answers with another HTTP status.
    Other(u16),
}

/// The server to probe.
pub(super) struct AuthProbe<'a> {
    pub(super) http: &'a Http,
    pub(super) url: &'a str,
    /// The configured headers, and the token.
    pub(super) headers: Vec<(String, String)>,
}

impl AuthProbe<'_> {
    pub(super) async fn run(&self) -> Result<ProbeFinding, AuthError> {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "gimlet", "version": "1"}}});
        let first = self.post(&hello, None).await?;
        match judge(&first) {
            Some(ProbeFinding::Other(400..500)) => return self.run_stateless().await,
            Some(finding) => return Ok(finding),
            None => {}
        }
        let session = first.header("mcp-session-id").map(str::to_owned);
        // Some streams stay open; the handshake is complete with their first bytes.
        drop(first);
        let session = session.as_deref();
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), session).await?;
        let list = self.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}), session).await?;
        Ok(judge(&list).unwrap_or(ProbeFinding::Open))
    }

    /// Probes a server of the revision without a handshake, which refuses `initialize`; every request identifies
    /// the client.
    async fn run_stateless(&self) -> Result<ProbeFinding, AuthError> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": {"name": "gimlet", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}});
        let more = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
        let answer = self.send(&list, &more).await?;
        Ok(judge(&answer).unwrap_or(ProbeFinding::Open))
    }

    async fn post(&self, message: &Value, session: Option<&str>) -> Result<HttpResponse, AuthError> {
        let mut more = vec![("mcp-protocol-version", PROTOCOL)];
        more.extend(session.map(|id| ("mcp-session-id", id)));
        self.send(message, &more).await
    }

    async fn send(&self, message: &Value, more: &[(&str, &str)]) -> Result<HttpResponse, AuthError> {
        let mut headers = vec![
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        headers.extend(self.headers.iter().cloned());
        let body = vec![Bytes::from(message.to_string())];
        let request =
            HttpRequest { method: HttpMethod::Post, url: self.url.to_owned(), headers, body, timeout: TIMEOUT };
        send(self.http, request).await
    }
}

/// `None` when the exchange may continue.
fn judge(response: &HttpResponse) -> Option<ProbeFinding> {
    match response.status() {
        status @ (401 | 403) => {
            let challenge = response.header("www-authenticate").map(AuthChallenge::parse).unwrap_or_default();
            Some(ProbeFinding::Refused { status, challenge })
        }
        200..300 => None,
        status => Some(ProbeFinding::Other(status)),
    }
}
