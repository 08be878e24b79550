//! What a host asks about servers and wants of them.

use super::{Servers, source};
use crate::control::Refusal;
use crate::control::mcp::McpControl;
use futures_util::future::BoxFuture;
use mcp::{Declared, Part, ResourceBody, Standing, Status, View};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::control::{McpRequest, McpResource, McpServers};
use wire::mcp::{Scope, ServerConfig, Transport};

pub(crate) struct ServerControl(pub(crate) Arc<Servers>);

impl McpControl for ServerControl {
    fn handle(&self, request: McpRequest) -> BoxFuture<'static, Result<Value, Refusal>> {
        let servers = Arc::clone(&self.0);
        Box::pin(async move {
            let host = &servers.host;
            match request {
                McpRequest::Status => {
                    servers.begin_rest();
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
                McpRequest::Call(asked) => Err(Refusal::new(format!("mcp_call is not supported ({})", asked.tool))),
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
