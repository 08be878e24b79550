//! Signs in to servers with OAuth 2.1, as the MCP authorization specification defines it: discovery, registration,
//! a code with PKCE for exactly one resource, refresh. Endpoints must be encrypted unless they are on this machine
//! or the user configured an unencrypted server. Tokens are stored in the [`TokenVault`] and sent in one header; no
//! message contains them.

mod challenge;
mod client;
mod discovery;
mod exchange;
mod helper;
mod keyring;
mod login;
mod probe;
mod redirect;
mod stored;

pub use helper::HelperPlace;
pub use keyring::Keyring;
pub use login::{LoginOutcome, McpLogin};
pub use stored::{TokenVault, forget, identity, store_client_secret};

use http::HttpError;
use std::time::Duration;

/// Why a sign-in failed. Each text says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("{url} cannot be used: {why}")]
    Address { url: String, why: &'static str },
    #[error("could not reach {what}: {error}")]
    Unreachable { what: String, error: HttpError },
    #[error("{what} answered {status}{}", detail_suffix(.detail))]
    Answered { what: String, status: u16, detail: String },
    #[error("{what} is not what the specification asks for: {why}")]
    Malformed { what: String, why: String },
    #[error(
        "the server says it is {claimed:?}, which is not the address {configured:?} you configured; its authorization is \
         not used"
    )]
    OtherResource { claimed: String, configured: String },
    #[error("the authorization server calls itself {claimed:?}, but it was expected to be {expected:?}")]
    OtherIssuer { claimed: String, expected: String },
    #[error("the authorization server does not offer PKCE with S256, without which a sign-in is not safe")]
    NoPkce,
    #[error(
        "the authorization server does not register clients by itself; register one there, then add the server again \
         with --client-id (and --client-secret)"
    )]
    NoRegistration,
    #[error("the callback port {port} cannot be used: {error}")]
    Port { port: u16, error: std::io::Error },
    #[error("the authorization server refused: {0}")]
    Refused(String),
    #[error("nobody signed in within {} minutes", .0.as_secs() / 60)]
    TimedOut(Duration),
    #[error("the pasted address does not belong to this sign-in; copy the whole address the browser was sent to")]
    Pasted,
    #[error(
        "the server still asks for {0:?} although that was granted; signing in again will not help, ask its operator"
    )]
    StepUp(String),
    #[error("signing in worked, but the server still refuses the token ({0})")]
    StillRefused(u16),
    #[error("its configured Authorization header is used instead of signing in; remove the header first")]
    StaticHeader,
    #[error("only http and sse servers can be signed in to")]
    NotRemote,
    #[error("credentials could not be stored: {0}")]
    Store(#[from] std::io::Error),
}

fn detail_suffix(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}
