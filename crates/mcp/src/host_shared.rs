//! What the host and its connections share: settings, slots for connecting, the version of the table.

use crate::owner::McpOwner;
use crate::server::{ServerEntry, ServerSlot};
use crate::server_spec::McpManifest;
use crate::settings::McpSettings;
use http::Http;
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// What all connections of a session use together.
pub(crate) struct HostShared {
    pub(crate) settings: McpSettings,
    pub(crate) owner: Arc<dyn McpOwner>,
    pub(crate) http: Http,
    pub(crate) local_slots: Semaphore,
    pub(crate) remote_slots: Semaphore,
    manifests: Mutex<BTreeMap<String, McpManifest>>,
    pub(crate) version: watch::Sender<u64>,
    pub(crate) stop: CancellationToken,
}

impl HostShared {
    pub(crate) fn new(settings: McpSettings, owner: Arc<dyn McpOwner>) -> Self {
        Self {
            http: Http::new(settings.env.clone()),
            local_slots: Semaphore::new(settings.local_slots),
            remote_slots: Semaphore::new(settings.remote_slots),
            settings,
            owner,
            manifests: Mutex::default(),
            version: watch::Sender::new(0),
            stop: CancellationToken::new(),
        }
    }

    /// Changes the state of a server, unless a newer connection has replaced this one.
    pub(crate) fn set(&self, server: &ServerEntry, generation: u64, change: impl FnOnce(&mut ServerSlot)) {
        {
            let mut slot = server.slot();
            if slot.generation != generation {
                return;
            }
            change(&mut slot);
        }
        self.bump();
    }

    pub(crate) fn bump(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    pub(crate) fn take_manifest(&self, server: &str) -> Option<McpManifest> {
        self.manifests.lock().remove(server)
    }

    /// Keeps a manifest for the next handshake of a server.
    pub(crate) fn put_manifest(&self, server: &str, manifest: McpManifest) {
        self.manifests.lock().insert(server.to_owned(), manifest);
    }
}
