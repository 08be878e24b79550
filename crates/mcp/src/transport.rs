//! Ways to a server. Each is a transport of the library; bytes that are no protocol never reach it.

pub(crate) mod bridge;
pub(crate) mod remote;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod streamable;
pub(crate) mod ws;

/// The longest single message that is read.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// A message could not be handed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("the connection is closed")]
    Closed,
    #[error("the message cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// Worth another try.
    #[error("{0}")]
    Refused(String),
    /// The same again would be refused again.
    #[error("{0}")]
    Rejected(String),
    #[error("authentication is needed")]
    Unauthorized,
}

impl SendError {
    /// What an HTTP status that is no success comes to.
    pub(crate) fn by_status(status: u16, what: &str) -> Self {
        match status {
            401 | 403 => Self::Unauthorized,
            408 | 429 | 500.. => Self::Refused(format!("HTTP {status}{what}")),
            _ => Self::Rejected(format!("HTTP {status}{what}")),
        }
    }
}
