//! The host's control requests about MCP servers.

use super::{SessionAudience, SessionServers, source};
use crate::command::RequestRefusal;
use futures_util::future::BoxFuture;
use mcp::{McpServerSpec, McpStatus, ResourceBody, ResultPart, ServerSwitch, ServerView};
use permission::{Access, PathFacts, PermissionDecision, PermissionQuery, Policy};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wire::control::{CallMcpTool, McpRequest, ReadMcpResource, SetMcpServers};
use wire::mcp::{McpScope, McpTransport, ServerConfig};

/// Controls the MCP servers of a session for its host.
pub trait McpControl: Send + Sync {
    /// The `response` object. `policy` is the current policy.
    fn handle(
        &self,
        request: McpRequest,
        policy: Option<Arc<Policy>>,
    ) -> BoxFuture<'static, Result<Value, RequestRefusal>>;
}

pub struct ServerControl(pub Arc<SessionServers>);

impl McpControl for ServerControl {
    fn handle(
        &self,
        request: McpRequest,
        policy: Option<Arc<Policy>>,
    ) -> BoxFuture<'static, Result<Value, RequestRefusal>> {
        let servers = Arc::clone(&self.0);
        Box::pin(async move {
            let host = &servers.host;
            match request {
                McpRequest::Status => {
                    servers.wait_for_first_status().await;
                    Ok(json!({"mcpServers": servers.status_views().iter().map(status).collect::<Vec<_>>()}))
                }
                McpRequest::SetServers(asked) => Ok(servers.set(asked).await),
                McpRequest::Reconnect(asked) => {
                    servers.require_known(&asked.server_name)?;
                    host.reconnect(&asked.server_name).await.map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::Toggle(asked) => {
                    servers.require_known(&asked.server_name)?;
                    let switch = if asked.enabled { ServerSwitch::Enabled } else { ServerSwitch::Disabled };
                    host.set_switch(&asked.server_name, switch).await.map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::Message(asked) => {
                    host.deliver(&asked.server_name, asked.message).map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::ReadResource(asked) => servers.read(asked).await,
                McpRequest::Call(asked) => servers.call(asked, policy.as_deref()).await,
                McpRequest::SetPermissionModeOverride(asked) => Err(RequestRefusal::new(format!(
                    "permission modes per server are not supported ({})",
                    asked.server_name
                ))),
            }
        })
    }
}

fn refused(error: &mcp::CallError) -> RequestRefusal {
    RequestRefusal::new(error.to_string())
}

impl SessionServers {
    /// Programs get the servers of the session only.
    fn status_views(&self) -> Vec<ServerView> {
        match self.audience {
            SessionAudience::ByPerson => self.listed_views(),
            SessionAudience::ByProgram => self.views(),
        }
    }

    fn require_known(&self, name: &str) -> Result<(), RequestRefusal> {
        self.begin_rest();
        if self.host.view(name).is_some() {
            return Ok(());
        }
        let advice = self.approval_advice(name);
        Err(RequestRefusal::new(advice.unwrap_or_else(|| format!("Server not found: {name}"))))
    }

    /// Replaces the servers that earlier requests declared and those that the host serves itself; all others stay.
    async fn set(&self, asked: SetMcpServers) -> Value {
        let mut errors: Map<String, Value> = Map::new();
        let mut wanted: BTreeMap<String, ServerConfig> = BTreeMap::new();
        for (name, config) in asked.servers {
            match self.admit_server(&name, config.get()) {
                Ok(config) => drop(wanted.insert(name, config)),
                Err(why) => drop(errors.insert(name, Value::String(why))),
            }
        }
        let current: Vec<ServerView> = self.host.views().into_iter().filter(|view| self.is_replaceable(view)).collect();
        let mut removed = Vec::new();
        for view in &current {
            if !wanted.contains_key(&view.name) {
                self.host.remove(&view.name);
                removed.push(view.name.clone());
            }
        }
        let mut added = Vec::new();
        for (name, config) in &wanted {
            let same = current.iter().any(|view| view.name == *name && *view.config == *config);
            if !same {
                let declared = McpServerSpec { name: name.clone(), scope: McpScope::Host, config: config.clone() };
                self.host.add(declared, ServerSwitch::Enabled);
                added.push(name.clone());
            }
        }
        *self.host_declared() = wanted.into_keys().collect();
        let names = added.clone();
        self.host.wait_until_connected(self.host.connect_limit(), |view| names.contains(&view.name)).await;
        for name in &added {
            if let Some(McpStatus::Failed(why)) = self.host.view(name).map(|view| view.status) {
                errors.insert(name.clone(), Value::String(why));
            }
        }
        json!({"added": added, "removed": removed, "errors": errors})
    }

    fn admit_server(&self, name: &str, config: &str) -> Result<ServerConfig, String> {
        let value: Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
        let config = ServerConfig::parse(name, &value).map_err(|error| error.message)?;
        self.policy.admits(name, &config)?;
        let taken = self.host.view(name).is_some_and(|view| !self.is_replaceable(&view));
        if taken { Err("another declaration has this name".into()) } else { Ok(config) }
    }

    fn is_replaceable(&self, view: &ServerView) -> bool {
        matches!(view.config.transport, McpTransport::Sdk { .. }) || self.host_declared().contains(&view.name)
    }

    /// A call by the host itself, without the model. Deny rules apply; with `check_permissions`, calls that would
    /// need a question are refused too.
    async fn call(&self, asked: CallMcpTool, policy: Option<&Policy>) -> Result<Value, RequestRefusal> {
        self.begin_rest();
        let limit = asked.timeout_ms.map_or(self.host.connect_limit(), Duration::from_millis);
        self.host
            .wait_until_connected(self.host.connect_limit(), |view| {
                asked.tool.starts_with(&super::server_rule_name(&view.name))
            })
            .await;
        let views = self.views();
        let found = views.iter().flat_map(|view| view.tools.iter()).find(|tool| tool.exposed == asked.tool);
        let Some(tool) = found else { return Err(RequestRefusal::new(format!("Tool not found: {}", asked.tool))) };
        let arguments = asked.arguments.as_ref().map_or("{}", |given| given.get());
        check_call(&asked, arguments, policy)?;
        let arguments: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|_| RequestRefusal::new("arguments must be an object"))?;
        let cancel = CancellationToken::new();
        // When the host withdraws the request, this future is dropped; the spawned call runs on just long enough to
        // cancel at the server.
        let _told = cancel.clone().drop_guard();
        let (host, server, name) = (self.host.clone(), tool.server.clone(), tool.name.clone());
        let call = tokio::spawn(async move { host.call_raw(&server, &name, arguments, &cancel).await });
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(done)) => done.map_err(|error| refused(&error)),
            Ok(Err(error)) => Err(RequestRefusal::new(error.to_string())),
            Err(_) => {
                Err(RequestRefusal::new(format!("{} did not answer within {} ms", asked.tool, limit.as_millis())))
            }
        }
    }

    /// Reads `ui://` pages that a host shows. Other resources are only read by the model.
    async fn read(&self, asked: ReadMcpResource) -> Result<Value, RequestRefusal> {
        if !asked.uri.starts_with("ui://") {
            return Err(RequestRefusal::new("only ui:// resources can be read this way"));
        }
        let view = self.host.view(&asked.server_name);
        let Some(view) = view else {
            return Err(RequestRefusal::new(format!("Server not found: {}", asked.server_name)));
        };
        if matches!(view.config.transport, McpTransport::Sdk { .. }) {
            return Err(RequestRefusal::new("the host serves this server itself"));
        }
        let parts = self.host.read_resource(&asked.server_name, &asked.uri).await.map_err(|error| refused(&error))?;
        let contents: Vec<Value> = parts.into_iter().filter_map(content).collect();
        Ok(json!({"contents": contents}))
    }
}

fn check_call(asked: &CallMcpTool, arguments: &str, policy: Option<&Policy>) -> Result<(), RequestRefusal> {
    let Some(policy) = policy else { return Err(RequestRefusal::new("The session is not ready")) };
    let accesses = [Access::Use];
    let request = PermissionQuery::new(&asked.tool, &accesses).with_input(arguments);
    match policy.decide(&request, &PathFacts::default()) {
        PermissionDecision::Ask(refusal) if asked.check_permissions == Some(true) => {
            Err(RequestRefusal::new(refusal.message))
        }
        PermissionDecision::Allow(_) | PermissionDecision::Ask(_) => Ok(()),
        PermissionDecision::Deny(refusal) => Err(RequestRefusal::new(refusal.message)),
    }
}

fn content(part: ResultPart) -> Option<Value> {
    let ResultPart::Resource { uri, mime, body } = part else { return None };
    let mut content = json!({"uri": uri});
    if let Some(mime) = mime {
        content["mimeType"] = json!(mime);
    }
    match body {
        ResourceBody::Text(text) => content["text"] = json!(text),
        ResourceBody::Blob(blob) => content["blob"] = json!(blob),
    }
    Some(content)
}

/// One row of `mcp_status`.
fn status(view: &ServerView) -> Value {
    let mut row = json!({"name": view.name, "status": view.status.as_str()});
    if let Some(info) = &view.info {
        row["serverInfo"] = json!({"name": info.name, "version": info.version});
    }
    if let McpStatus::Failed(why) = &view.status {
        row["error"] = json!(why);
    } else if let Some(problem) = &view.problem {
        row["error"] = json!(problem);
    }
    row["config"] = shown(&view.config);
    row["scope"] = json!(view.scope.name());
    row["source"] = json!(source(view.scope, &view.config));
    if view.status == McpStatus::Connected {
        row["tools"] = view.tools.iter().map(|tool| described(tool)).collect();
    }
    row
}

/// The configuration without fields that may contain secrets; secrets in arguments and in the address are masked.
fn shown(config: &ServerConfig) -> Value {
    let mut value = config.to_value();
    let Some(fields) = value.as_object_mut() else { return value };
    for key in ["env", "headers", "headersHelper"] {
        fields.shift_remove(key);
    }
    if let McpTransport::Stdio(stdio) = &config.transport {
        fields["command"] = json!(permission::masked_formats(&stdio.command));
        fields["args"] = json!(permission::masked_arguments(stdio.args.iter().map(String::as_str)));
    }
    if let Some(remote) = config.remote() {
        fields["url"] = json!(permission::masked_address(&remote.url));
    }
    value
}

fn described(tool: &mcp::RemoteTool) -> Value {
    let mut row = json!({"name": tool.name, "description": tool.description});
    let mut hints = Map::new();
    for (name, hint) in [
        ("readOnly", tool.annotations.read_only),
        ("destructive", tool.annotations.destructive),
        ("openWorld", tool.annotations.open_world),
    ] {
        if let Some(hint) = hint {
            hints.insert(name.into(), hint.into());
        }
    }
    row["annotations"] = Value::Object(hints);
    if let Some(meta) = &tool.raw_meta {
        row["_meta"] = meta.clone();
    }
    row
}
