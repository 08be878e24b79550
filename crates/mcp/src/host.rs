//! All servers of a session. Adding a server starts its connection; all other methods read the current state or
//! wait with a limit.
//!
//! A lock guards the table and is never kept across an await; every change increments a version that can be
//! awaited.

use crate::catalogue::{self, McpResource};
use crate::client::ProtocolEra;
use crate::connect::{self, ConnectCause};
use crate::error::CallError;
use crate::host_shared::HostShared;
use crate::multi_round::CarriedInput;
use crate::owner::McpOwner;
use crate::result::{self, CallResult, ResultPart};
use crate::server::{ServerEntry, ServerView};
use crate::server_spec::{McpManifest, McpServerSpec, McpStatus, ServerSwitch};
use crate::settings::McpSettings;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Time limit for the shutdown of all servers together.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

/// JSON-RPC error code: method not found.
const UNKNOWN_METHOD: i64 = -32_601;

/// Cheap to clone; dropping the last clone ends every connection.
#[derive(Clone)]
pub struct McpHost {
    shared: Arc<HostShared>,
    table: Arc<ServerTable>,
}

struct ServerTable {
    servers: Mutex<BTreeMap<String, Arc<ServerEntry>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl McpHost {
    pub fn new(settings: McpSettings, owner: Arc<dyn McpOwner>) -> Self {
        let shared = HostShared::new(settings, owner);
        let table = ServerTable { servers: Mutex::default(), tasks: Mutex::new(JoinSet::new()) };
        Self { shared: Arc::new(shared), table: Arc::new(table) }
    }

    /// Adds a server and starts to connect it. A server of the same name is replaced.
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

    /// Sets the manifest of a server inside the host; the next handshake uses it once.
    pub fn set_manifest(&self, server: &str, manifest: McpManifest) {
        self.shared.put_manifest(server, manifest);
    }

    /// Ends a server and removes it; false when there is none.
    pub fn remove(&self, name: &str) -> bool {
        let Some(server) = self.servers().remove(name) else { return false };
        server.slot().stop.cancel();
        self.shared.bump();
        true
    }

    /// All servers, sorted by name.
    pub fn views(&self) -> Vec<ServerView> {
        self.servers().values().map(|server| server.view()).collect()
    }

    pub fn view(&self, name: &str) -> Option<ServerView> {
        self.servers().get(name).map(|server| server.view())
    }

    pub fn is_empty(&self) -> bool {
        self.servers().is_empty()
    }

    /// Increases with every change of any server.
    pub fn version(&self) -> u64 {
        *self.shared.version.borrow()
    }

    /// Waits until the version differs from `seen`.
    pub async fn changed(&self, seen: u64) {
        let mut versions = self.shared.version.subscribe();
        // The sender exists as long as `self`.
        versions.wait_for(|version| *version != seen).await.ok();
    }

    /// Waits until no server that `concerns` accepts is still connecting, at most `limit`.
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
        // A server that is not ready in time stays pending.
        tokio::time::timeout(limit, settled).await.ok();
    }

    /// Time limit for connecting one server.
    pub fn connect_limit(&self) -> Duration {
        self.shared.settings.connect
    }

    /// Connects a server again and waits for the result.
    pub async fn reconnect(&self, name: &str) -> Result<(), CallError> {
        let server = self.find(name)?;
        self.start(&server, ConnectCause::Asked);
        self.outcome(&server).await
    }

    /// Enables a server and waits for the connection, or disables it and ends the connection.
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

    /// Reconnects the failed servers that `concerns` accepts, without waiting.
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

    /// Calls a tool by the name the server uses.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<CallResult, CallError> {
        self.call_raw(server, tool, arguments, cancel).await.map(CallResult::read)
    }

    /// As [`Self::call`], with the unparsed result.
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
        // A server of the older revision answers so when the tool runs only as a task.
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

    /// Updates the connection after a failed call.
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

    /// Lists the resources of a server.
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

    /// Delivers a message that a server inside the host sends unprompted.
    pub fn deliver(&self, server: &str, message: Box<RawValue>) -> Result<(), CallError> {
        let server = self.find(server)?;
        let inbound = server.slot().inbound.clone();
        let Some(inbound) = inbound else { return server.link().map(drop) };
        inbound.try_send(message).map_err(|_| CallError::Failed {
            server: server.name.clone(),
            why: "it sends faster than its messages are handled".into(),
        })
    }

    /// Notifies every server that the directories changed.
    pub async fn roots_changed(&self) {
        let servers: Vec<Arc<ServerEntry>> = self.servers().values().cloned().collect();
        let told = servers.iter().filter_map(|server| server.link().ok()).map(|link| async move {
            link.roots_changed().await;
        });
        futures_util::future::join_all(told).await;
    }

    /// Ends every server: closes its input, then terminates it, then kills it.
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
