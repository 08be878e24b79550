//! All servers of a session. Adding one starts connecting it; everything else reads what is there or waits with a limit.
//!
//! The table is guarded by a lock that is never held across an await; every change bumps a version that can be awaited.

use crate::catalogue::{self, McpResource};
use crate::client::ProtocolEra;
use crate::connect::{self, ConnectCause};
use crate::error::CallError;
use crate::multi_round::CarriedInput;
use crate::owner::McpOwner;
use crate::result::{self, CallResult, ResultPart};
use crate::server::{McpStatus, ServerEntry, ServerSlot, ServerView};
use crate::settings::McpSettings;
use http::Http;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use wire::mcp::{McpScope, ServerConfig};

/// At the session's end, for all servers together.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

/// JSON-RPC.
const UNKNOWN_METHOD: i64 = -32_601;

/// A server somebody declared.
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
    /// Listed only.
    Disabled,
}

impl ServerSwitch {
    /// The status of a server that nothing was tried with yet.
    pub(crate) fn first_status(self) -> McpStatus {
        match self {
            Self::Enabled => McpStatus::Pending,
            Self::Disabled => McpStatus::Disabled,
        }
    }
}

/// What a host captured of its own server's handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct McpManifest {
    pub initialize: Value,
    pub tools: Option<Value>,
}

impl McpManifest {
    /// `{"initializeResult": …, "toolsListResult": …}`; `None` when it is not that.
    pub fn read(json: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        let initialize = value.get_mut("initializeResult").map(Value::take).filter(Value::is_object)?;
        Some(Self { initialize, tools: value.get_mut("toolsListResult").map(Value::take).filter(Value::is_object) })
    }
}

/// Cheap to clone; the last clone that goes ends every connection.
#[derive(Clone)]
pub struct McpHost {
    shared: Arc<HostShared>,
    table: Arc<ServerTable>,
}

struct ServerTable {
    servers: Mutex<BTreeMap<String, Arc<ServerEntry>>>,
    tasks: Mutex<JoinSet<()>>,
}

pub(crate) struct HostShared {
    pub(crate) settings: McpSettings,
    pub(crate) owner: Arc<dyn McpOwner>,
    pub(crate) http: Http,
    pub(crate) local_slots: Semaphore,
    pub(crate) remote_slots: Semaphore,
    manifests: Mutex<BTreeMap<String, McpManifest>>,
    version: watch::Sender<u64>,
    stop: CancellationToken,
}

impl HostShared {
    /// Changes what is known of a server, unless a newer connection has taken over.
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

    fn bump(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    pub(crate) fn take_manifest(&self, server: &str) -> Option<McpManifest> {
        self.manifests.lock().remove(server)
    }
}

impl McpHost {
    pub fn new(settings: McpSettings, owner: Arc<dyn McpOwner>) -> Self {
        let shared = HostShared {
            http: Http::new(settings.env.clone()),
            local_slots: Semaphore::new(settings.local_slots),
            remote_slots: Semaphore::new(settings.remote_slots),
            settings,
            owner,
            manifests: Mutex::default(),
            version: watch::Sender::new(0),
            stop: CancellationToken::new(),
        };
        let table = ServerTable { servers: Mutex::default(), tasks: Mutex::new(JoinSet::new()) };
        Self { shared: Arc::new(shared), table: Arc::new(table) }
    }

    /// Adds a server and begins to connect it. One of the same name is replaced.
    pub fn add(&self, declared: McpServerSpec, standing: ServerSwitch) {
        self.shared.owner.declared(&declared.config);
        let server = Arc::new(ServerEntry::new(declared, standing.first_status()));
        let replaced = self.servers().insert(server.name.clone(), Arc::clone(&server));
        if let Some(old) = replaced {
            old.slot().stop.cancel();
        }
        if standing == ServerSwitch::Enabled {
            self.start(&server, ConnectCause::Asked);
        } else {
            self.shared.bump();
        }
    }

    /// For servers inside the host: used once, by the next handshake.
    pub fn set_manifest(&self, server: &str, manifest: McpManifest) {
        self.shared.manifests.lock().insert(server.to_owned(), manifest);
    }

    /// Ends a server and forgets it; `false` when there is none.
    pub fn remove(&self, name: &str) -> bool {
        let Some(server) = self.servers().remove(name) else { return false };
        server.slot().stop.cancel();
        self.shared.bump();
        true
    }

    /// Every server, by name.
    pub fn views(&self) -> Vec<ServerView> {
        self.servers().values().map(|server| server.view()).collect()
    }

    pub fn view(&self, name: &str) -> Option<ServerView> {
        self.servers().get(name).map(|server| server.view())
    }

    pub fn is_empty(&self) -> bool {
        self.servers().is_empty()
    }

    /// Grows with every change of any server.
    pub fn version(&self) -> u64 {
        *self.shared.version.borrow()
    }

    /// Waits for a change after `seen`.
    pub async fn changed(&self, seen: u64) {
        let mut versions = self.shared.version.subscribe();
        // The sender lives as long as we do.
        versions.wait_for(|version| *version != seen).await.ok();
    }

    /// Waits until no server that `concerns` is still connecting, at most `limit`.
    pub async fn wait_until_connected(&self, limit: Duration, concerns: impl Fn(&ServerView) -> bool) {
        let settled = async {
            let mut versions = self.shared.version.subscribe();
            loop {
                versions.borrow_and_update();
                if !self.views().iter().any(|view| view.status == McpStatus::Pending && concerns(view)) {
                    return;
                }
                if versions.changed().await.is_err() {
                    return;
                }
            }
        };
        // Whoever is late stays pending.
        tokio::time::timeout(limit, settled).await.ok();
    }

    /// For a server to be connected.
    pub fn connect_limit(&self) -> Duration {
        self.shared.settings.connect
    }

    /// Connects a server anew and waits for what comes of it.
    pub async fn reconnect(&self, name: &str) -> Result<(), CallError> {
        let server = self.find(name)?;
        self.start(&server, ConnectCause::Asked);
        self.outcome(&server).await
    }

    /// Connects a server that was switched off, or ends it.
    pub async fn set_switch(&self, name: &str, standing: ServerSwitch) -> Result<(), CallError> {
        let server = self.find(name)?;
        let is_off = server.slot().status == McpStatus::Disabled;
        match standing {
            ServerSwitch::Enabled if is_off => {
                self.start(&server, ConnectCause::Asked);
                self.outcome(&server).await
            }
            ServerSwitch::Enabled => Ok(()),
            ServerSwitch::Disabled => {
                let fresh = ServerEntry::new(
                    McpServerSpec { name: server.name.clone(), scope: server.scope, config: (*server.config).clone() },
                    McpStatus::Disabled,
                );
                self.servers().insert(server.name.clone(), Arc::new(fresh));
                server.slot().stop.cancel();
                self.shared.bump();
                Ok(())
            }
        }
    }

    async fn outcome(&self, server: &ServerEntry) -> Result<(), CallError> {
        let limit = self.shared.settings.connect + Duration::from_secs(1);
        self.wait_until_connected(limit, |view| view.name == server.name).await;
        server.link().map(drop)
    }

    /// Tries those again that failed and `concerns`, without waiting.
    pub fn retry(&self, concerns: impl Fn(&ServerView) -> bool) {
        let failed: Vec<Arc<ServerEntry>> = {
            let servers = self.servers();
            servers
                .values()
                .filter(|server| matches!(server.slot().status, McpStatus::Failed(_)) && concerns(&server.view()))
                .cloned()
                .collect()
        };
        for server in failed {
            self.start(&server, ConnectCause::Asked);
        }
    }

    /// Runs a tool under the server's own name for it.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<CallResult, CallError> {
        self.call_raw(server, tool, arguments, cancel).await.map(CallResult::read)
    }

    /// The same, with the result as the server gave it.
    pub async fn call_raw(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, CallError> {
        let server = self.find(server)?;
        let link = server.link()?;
        let mut answer = link.complete(|carried| call_request(tool, arguments.clone(), carried), cancel).await;
        // So says a server of the older revision whose tool runs as a task only.
        if link.era == ProtocolEra::Handshake && matches!(answer, Err(CallError::Refused { code: UNKNOWN_METHOD, .. }))
        {
            let params = json!({"name": tool, "arguments": arguments, "task": {}});
            answer = link.complete(|carried| with_carried("tools/call", params.clone(), carried), cancel).await;
        }
        if let Err(error) = &answer {
            self.react(&server, error);
        }
        answer
    }

    /// What a failed call says about the connection.
    fn react(&self, server: &Arc<ServerEntry>, error: &CallError) {
        match error {
            CallError::NeedsAuth { .. } => {
                let generation = server.slot().generation;
                self.shared.set(server, generation, |slot| slot.status = McpStatus::NeedsAuth);
            }
            CallError::Failed { .. } if server.config.remote().is_some() => self.start(server, ConnectCause::Lost),
            _ => {}
        }
    }

    /// What a server has to read.
    pub async fn resources(&self, server: &str) -> Result<Vec<McpResource>, CallError> {
        let link = self.find(server)?.link()?;
        catalogue::resources(&link).await
    }

    /// Reads one resource.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<ResultPart>, CallError> {
        let link = self.find(server)?.link()?;
        let make = |carried| with_carried("resources/read", json!({"uri": uri}), carried);
        let answer = link.complete(make, &CancellationToken::new()).await?;
        let contents = answer.get("contents").and_then(Value::as_array);
        Ok(contents.into_iter().flatten().filter_map(|entry| result::resource(entry.as_object()?)).collect())
    }

    /// The messages of a prompt, as `(role, part)`.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(String, ResultPart)>, CallError> {
        let link = self.find(server)?.link()?;
        let params = json!({"name": name, "arguments": arguments});
        let make = |carried| with_carried("prompts/get", params.clone(), carried);
        let answer = link.complete(make, &CancellationToken::new()).await?;
        let messages = answer.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        let read = |message: Value| {
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
            Some((role, ResultPart::read(message.get("content")?.clone())))
        };
        Ok(messages.into_iter().filter_map(read).collect())
    }

    /// A message a server inside the host sends on its own.
    pub fn deliver(&self, server: &str, message: Box<RawValue>) -> Result<(), CallError> {
        let server = self.find(server)?;
        let inbound = server.slot().inbound.clone();
        let Some(inbound) = inbound else { return server.link().map(drop) };
        inbound.try_send(message).map_err(|_| CallError::Failed {
            server: server.name.clone(),
            why: "it sends faster than its messages are handled".into(),
        })
    }

    /// Tells every server that the directories changed.
    pub async fn roots_changed(&self) {
        let servers: Vec<Arc<ServerEntry>> = self.servers().values().cloned().collect();
        let told = servers.iter().filter_map(|server| server.link().ok()).map(|link| async move {
            link.roots_changed().await;
        });
        futures_util::future::join_all(told).await;
    }

    /// Ends every server: their input is closed, then they are asked, then killed.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        let mut tasks = std::mem::take(&mut *self.table.tasks.lock());
        let gone = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, gone).await.is_err() {
            tracing::debug!("some MCP servers did not end in time; they are killed");
        }
    }

    fn start(&self, server: &Arc<ServerEntry>, cause: ConnectCause) {
        let stop = self.shared.stop.child_token();
        let generation = {
            let mut slot = server.slot();
            std::mem::replace(&mut slot.stop, stop.clone()).cancel();
            slot.generation += 1;
            slot.status = McpStatus::Pending;
            slot.link = None;
            slot.generation
        };
        let kept = connect::keep_connected(Arc::clone(server), Arc::clone(&self.shared), (stop, generation), cause);
        let mut tasks = self.table.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(kept);
        drop(tasks);
        self.shared.bump();
    }

    fn find(&self, name: &str) -> Result<Arc<ServerEntry>, CallError> {
        self.servers().get(name).cloned().ok_or_else(|| CallError::UnknownServer(name.to_owned()))
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ServerEntry>>> {
        self.table.servers.lock()
    }
}

fn call_request(tool: &str, arguments: Map<String, Value>, carried: CarriedInput) -> ClientRequest {
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    params.input_responses = carried.responses;
    params.request_state = carried.state;
    CallToolRequest::new(params).into()
}

fn with_carried(method: &str, mut params: Value, carried: CarriedInput) -> ClientRequest {
    if let Some(responses) = carried.responses {
        params["inputResponses"] = json!(responses);
    }
    if let Some(state) = carried.state {
        params["requestState"] = state.into();
    }
    CustomRequest::new(method, Some(params)).into()
}
