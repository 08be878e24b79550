//! Transports to a server. Each implements the library's transport trait; bytes that are not protocol messages
//! never reach the library.

pub(crate) mod boxed;
pub(crate) mod bridge;
pub(crate) mod remote;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod streamable;
pub(crate) mod ws;

/// Longest single message, in bytes.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("the connection is closed")]
    Closed,
    #[error("the message cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// Another attempt may succeed.
    #[error("{0}")]
    Refused(String),
    /// Another attempt would be refused again.
    #[error("{0}")]
    Rejected(String),
    #[error("authentication is needed")]
    Unauthorized,
}

impl SendError {
    /// The error for an HTTP status that is no success.
    pub(crate) fn by_status(status: u16, what: &str) -> Self {
        match status {
            401 | 403 => Self::Unauthorized,
            408 | 429 | 500.. => Self::Refused(format!("HTTP {status}{what}")),
            _ => Self::Rejected(format!("HTTP {status}{what}")),
        }
    }
}
