//! Why a server is not connected, read from the errors of the transports.

use crate::owner::McpOwner;
use crate::transport::SendError;
use crate::transport::remote::RemoteError;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use std::error::Error;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectFailure {
    NeedsAuth,
    /// Another attempt may succeed.
    Transient(String),
    Permanent(String),
}

impl ConnectFailure {
    /// The failure without credentials that the server, or its address, put into the text.
    pub(crate) fn hidden(self, owner: &dyn McpOwner) -> Self {
        match self {
            Self::Transient(why) => Self::Transient(owner.hide(&why)),
            Self::Permanent(why) => Self::Permanent(owner.hide(&why)),
            Self::NeedsAuth => Self::NeedsAuth,
        }
    }
}

/// Classifies a transport error.
pub(crate) fn classify(error: &(dyn Error + 'static)) -> ConnectFailure {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<StreamableHttpError<RemoteError>>() {
            match failed {
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                    return ConnectFailure::NeedsAuth;
                }
                StreamableHttpError::HttpStatus(status) => return by_status(status),
                StreamableHttpError::Client(unreached) => return ConnectFailure::Transient(unreached.to_string()),
                _ => {}
            }
        }
        if let Some(status) = current.downcast_ref::<HttpStatusError>() {
            return by_status(status);
        }
        match current.downcast_ref::<SendError>() {
            Some(SendError::Unauthorized) => return ConnectFailure::NeedsAuth,
            Some(SendError::Refused(why)) => return ConnectFailure::Transient(why.clone()),
            Some(SendError::Rejected(why)) => return ConnectFailure::Permanent(why.clone()),
            Some(SendError::Closed | SendError::Unwritable(_)) | None => {}
        }
        cause = current.source();
    }
    ConnectFailure::Permanent(error.to_string())
}

fn by_status(status: &HttpStatusError) -> ConnectFailure {
    ConnectFailure::Transient(format!("HTTP {}", status.status))
}
