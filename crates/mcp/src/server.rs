//! One server: its state, and its connection when there is one.

use crate::catalogue::{McpCatalogue, RemotePrompt, RemoteTool, ServerInfo};
use crate::client::ProtocolEra;
use crate::error::CallError;
use crate::link::ServerLink;
use crate::server_spec::{McpServerSpec, McpStatus, ServerSwitch};
use serde_json::value::RawValue;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::mcp::{McpScope, ServerConfig};

/// A snapshot of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerView {
    pub name: String,
    pub scope: McpScope,
    pub config: Arc<ServerConfig>,
    pub status: McpStatus,
    pub info: Option<ServerInfo>,
    /// In the order of the server.
    pub tools: Arc<[Arc<RemoteTool>]>,
    pub prompts: Arc<[RemotePrompt]>,
    /// Cut to 2 KB.
    pub instructions: Option<String>,
    pub has_resources: bool,
    /// Set when the server is connected but a list could not be read.
    pub problem: Option<String>,
}

impl ServerView {
    /// The view of a declared server that was not started.
    pub fn of(declared: &McpServerSpec, standing: ServerSwitch) -> Self {
        Self {
            name: declared.name.clone(),
            scope: declared.scope,
            config: Arc::new(declared.config.clone()),
            status: standing.first_status(),
            info: None,
            tools: Arc::default(),
            prompts: Arc::default(),
            instructions: None,
            has_resources: false,
            problem: None,
        }
    }
}

pub(crate) struct ServerEntry {
    pub(crate) name: String,
    pub(crate) scope: McpScope,
    pub(crate) config: Arc<ServerConfig>,
    /// How the last connection began; `None` before the first.
    pub(crate) era: Mutex<Option<ProtocolEra>>,
    slot: Mutex<ServerSlot>,
}

pub(crate) struct ServerSlot {
    pub(crate) status: McpStatus,
    pub(crate) catalogue: McpCatalogue,
    pub(crate) link: Option<Arc<ServerLink>>,
    /// Receives messages that a server inside the host sends unprompted.
    pub(crate) inbound: Option<mpsc::Sender<Box<RawValue>>>,
    pub(crate) stop: CancellationToken,
    /// Counts connections, so that an old connection cannot change the state of a new one.
    pub(crate) generation: u64,
}

impl ServerEntry {
    pub(crate) fn new(declared: McpServerSpec, status: McpStatus) -> Self {
        Self {
            name: declared.name,
            scope: declared.scope,
            config: Arc::new(declared.config),
            era: Mutex::default(),
            slot: Mutex::new(ServerSlot {
                status,
                catalogue: McpCatalogue::default(),
                link: None,
                inbound: None,
                stop: CancellationToken::new(),
                generation: 0,
            }),
        }
    }

    pub(crate) fn slot(&self) -> MutexGuard<'_, ServerSlot> {
        self.slot.lock()
    }

    pub(crate) fn view(&self) -> ServerView {
        let slot = self.slot();
        let catalogue = slot.catalogue.clone();
        ServerView {
            name: self.name.clone(),
            scope: self.scope,
            config: Arc::clone(&self.config),
            status: slot.status.clone(),
            info: catalogue.info,
            tools: catalogue.tools,
            prompts: catalogue.prompts,
            instructions: catalogue.instructions,
            has_resources: catalogue.has_resources,
            problem: catalogue.problem,
        }
    }

    /// The connection, or the reason why there is none.
    pub(crate) fn link(&self) -> Result<Arc<ServerLink>, CallError> {
        let slot = self.slot();
        let server = self.name.clone();
        match (&slot.link, &slot.status) {
            (Some(link), _) => Ok(Arc::clone(link)),
            (None, McpStatus::NeedsAuth) => Err(CallError::NeedsAuth { server }),
            (None, McpStatus::Failed(why)) => Err(CallError::NotConnected { server, why: why.clone() }),
            (None, McpStatus::Disabled) => Err(CallError::NotConnected { server, why: "it is disabled".into() }),
            (None, McpStatus::Pending | McpStatus::Connected) => {
                Err(CallError::NotConnected { server, why: "it is still connecting".into() })
            }
        }
    }
}
