//! What is declared about a server, and the status it can have.

use serde_json::Value;
use wire::mcp::{McpScope, ServerConfig};

/// A declared server.
#[derive(Clone, Debug)]
pub struct McpServerSpec {
    pub name: String,
    pub scope: McpScope,
    pub config: ServerConfig,
}

/// Whether a server is to be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSwitch {
    Enabled,
    /// Listed only, not connected.
    Disabled,
}

impl ServerSwitch {
    /// The status before the first connection attempt.
    pub(crate) fn first_status(self) -> McpStatus {
        match self {
            Self::Enabled => McpStatus::Pending,
            Self::Disabled => McpStatus::Disabled,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpStatus {
    /// Connecting, or waiting for a connection slot.
    Pending,
    Connected,
    Failed(String),
    NeedsAuth,
    Disabled,
}

impl McpStatus {
    /// The status as named in the protocol.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
        }
    }
}

/// The handshake results of a server inside the host, captured by the host.
#[derive(Clone, Debug, PartialEq)]
pub struct McpManifest {
    pub initialize: Value,
    pub tools: Option<Value>,
}

impl McpManifest {
    /// Parses `{"initializeResult": …, "toolsListResult": …}`; `None` when the text is something else.
    pub fn read(json: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        let initialize = value.get_mut("initializeResult").map(Value::take).filter(Value::is_object)?;
        Some(Self { initialize, tools: value.get_mut("toolsListResult").map(Value::take).filter(Value::is_object) })
    }
}
