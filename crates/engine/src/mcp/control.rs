//! What a host asks about servers and wants of them.

use super::{Servers, source};
use crate::control::Refusal;
use crate::control::mcp::McpControl;
use futures_util::future::BoxFuture;
use mcp::{Declared, Part, ResourceBody, Standing, Status, View};
use permission::{Access, Decision, Facts, Policy, Request};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wire::control::{McpCall, McpRequest, McpResource, McpServers};
use wire::mcp::{Scope, ServerConfig, Transport};

pub(crate) struct ServerControl(pub(crate) Arc<Servers>);

impl McpControl for ServerControl {
    fn handle(&self, request: McpRequest, policy: Option<Arc<Policy>>) -> BoxFuture<'static, Result<Value, Refusal>> {
        let servers = Arc::clone(&self.0);
        Box::pin(async move {
            let host = &servers.host;
            match request {
                McpRequest::Status => {
                    servers.settle_for_first_look().await;
                    Ok(json!({"mcpServers": servers.views().iter().map(status).collect::<Vec<_>>()}))
                }
                McpRequest::SetServers(asked) => Ok(servers.set(asked).await),
                McpRequest::Reconnect(asked) => {
                    servers.known(&asked.server_name)?;
                    host.reconnect(&asked.server_name).await.map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::Toggle(asked) => {
                    servers.known(&asked.server_name)?;
                    let standing = if asked.enabled { Standing::Enabled } else { Standing::Disabled };
                    host.set_standing(&asked.server_name, standing).await.map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::Message(asked) => {
                    host.deliver(&asked.server_name, asked.message).map_err(|error| refused(&error))?;
                    Ok(json!({}))
                }
                McpRequest::ReadResource(asked) => servers.read(asked).await,
                McpRequest::Call(asked) => servers.call(asked, policy.as_deref()).await,
                McpRequest::SetPermissionModeOverride(asked) => {
                    Err(Refusal::new(format!("permission modes per server are not supported ({})", asked.server_name)))
                }
            }
        })
    }
}

fn refused(error: &mcp::CallError) -> Refusal {
    Refusal::new(error.to_string())
}

impl Servers {
    fn known(&self, name: &str) -> Result<(), Refusal> {
        self.begin_rest();
        match self.host.view(name) {
            Some(_) => Ok(()),
            None => Err(Refusal::new(format!("Server not found: {name}"))),
        }
    }

    /// Replaces what earlier requests and the host itself declared; everything else stays.
    async fn set(&self, asked: McpServers) -> Value {
        let mut errors: Map<String, Value> = Map::new();
        let mut wanted: BTreeMap<String, ServerConfig> = BTreeMap::new();
        for (name, config) in asked.servers {
            match self.admitted(&name, config.get()) {
                Ok(config) => drop(wanted.insert(name, config)),
                Err(why) => drop(errors.insert(name, Value::String(why))),
            }
        }
        let current: Vec<View> = self.host.views().into_iter().filter(|view| self.is_replaceable(view)).collect();
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
                let declared = Declared { name: name.clone(), scope: Scope::Host, config: config.clone() };
                self.host.add(declared, Standing::Enabled);
                added.push(name.clone());
            }
        }
        *self.hosted() = wanted.into_keys().collect();
        let names = added.clone();
        self.host.settle(self.host.connect_limit(), |view| names.contains(&view.name)).await;
        for name in &added {
            if let Some(Status::Failed(why)) = self.host.view(name).map(|view| view.status) {
                errors.insert(name.clone(), Value::String(why));
            }
        }
        json!({"added": added, "removed": removed, "errors": errors})
    }

    fn admitted(&self, name: &str, config: &str) -> Result<ServerConfig, String> {
        let value: Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
        let config = ServerConfig::parse(name, &value).map_err(|error| error.message)?;
        self.policy.admits(name, &config)?;
        let taken = self.host.view(name).is_some_and(|view| !self.is_replaceable(&view));
        if taken { Err("another declaration has this name".into()) } else { Ok(config) }
    }

    fn is_replaceable(&self, view: &View) -> bool {
        matches!(view.config.transport, Transport::Sdk { .. }) || self.hosted().contains(&view.name)
    }

    /// A call that the host makes itself, without the model. What a rule denies it cannot have either; with
    /// `check_permissions` it may only make calls that need no question.
    async fn call(&self, asked: McpCall, policy: Option<&Policy>) -> Result<Value, Refusal> {
        self.begin_rest();
        let limit = asked.timeout_ms.map_or(self.host.connect_limit(), Duration::from_millis);
        self.host.settle(self.host.connect_limit(), |view| asked.tool.starts_with(&super::whole(&view.name))).await;
        let views = self.views();
        let found = views.iter().flat_map(|view| view.tools.iter()).find(|tool| tool.exposed == asked.tool);
        let Some(tool) = found else { return Err(Refusal::new(format!("Tool not found: {}", asked.tool))) };
        let arguments = asked.arguments.as_ref().map_or("{}", |given| given.get());
        judged(&asked, arguments, policy)?;
        let arguments: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|_| Refusal::new("arguments must be an object"))?;
        let cancel = CancellationToken::new();
        // Whoever takes the request back drops this future; the call goes on just long enough to tell the server.
        let _told = cancel.clone().drop_guard();
        let (host, server, name) = (self.host.clone(), tool.server.clone(), tool.name.clone());
        let call = tokio::spawn(async move { host.call_raw(&server, &name, arguments, &cancel).await });
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(done)) => done.map_err(|error| refused(&error)),
            Ok(Err(error)) => Err(Refusal::new(error.to_string())),
            Err(_) => Err(Refusal::new(format!("{} did not answer within {} ms", asked.tool, limit.as_millis()))),
        }
    }

    /// Pages a host shows: nothing else is read without the model.
    async fn read(&self, asked: McpResource) -> Result<Value, Refusal> {
        if !asked.uri.starts_with("ui://") {
            return Err(Refusal::new("only ui:// resources can be read this way"));
        }
        let view = self.host.view(&asked.server_name);
        let Some(view) = view else { return Err(Refusal::new(format!("Server not found: {}", asked.server_name))) };
        if matches!(view.config.transport, Transport::Sdk { .. }) {
            return Err(Refusal::new("the host serves this server itself"));
        }
        let parts = self.host.read_resource(&asked.server_name, &asked.uri).await.map_err(|error| refused(&error))?;
        let contents: Vec<Value> = parts.into_iter().filter_map(content).collect();
        Ok(json!({"contents": contents}))
    }
}

fn judged(asked: &McpCall, arguments: &str, policy: Option<&Policy>) -> Result<(), Refusal> {
    let Some(policy) = policy else { return Err(Refusal::new("The session is not ready")) };
    let accesses = [Access::Use];
    let request = Request::new(&asked.tool, &accesses).with_input(arguments);
    match policy.decide(&request, &Facts::default()) {
        Decision::Ask(refusal) if asked.check_permissions == Some(true) => Err(Refusal::new(refusal.message)),
        Decision::Allow(_) | Decision::Ask(_) => Ok(()),
        Decision::Deny(refusal) => Err(Refusal::new(refusal.message)),
    }
}

fn content(part: Part) -> Option<Value> {
    let Part::Resource { uri, mime, body } = part else { return None };
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
fn status(view: &View) -> Value {
    let mut row = json!({"name": view.name, "status": view.status.as_str()});
    if let Some(info) = &view.info {
        row["serverInfo"] = json!({"name": info.name, "version": info.version});
    }
    if let Status::Failed(why) = &view.status {
        row["error"] = json!(why);
    } else if let Some(problem) = &view.problem {
        row["error"] = json!(problem);
    }
    row["config"] = shown(&view.config);
    row["scope"] = json!(view.scope.name());
    row["source"] = json!(source(view.scope, &view.config));
    if view.status == Status::Connected {
        row["tools"] = view.tools.iter().map(|tool| described(tool)).collect();
    }
    row
}

/// Without what may be secret.
fn shown(config: &ServerConfig) -> Value {
    let mut value = config.to_value();
    for key in ["env", "headers", "headersHelper"] {
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove(key);
        }
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
