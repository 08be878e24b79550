//! Ways to a server. Each is a transport of the library; bytes that are no protocol never reach it.

pub(crate) mod bridge;
pub(crate) mod remote;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod streamable;

/// The longest single message that is read.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// A message could not be handed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undelivered {
    #[error("the connection is closed")]
    Closed,
    #[error("the message cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    #[error("{0}")]
    Refused(String),
    #[error("authentication is needed")]
    Unauthorized,
}
