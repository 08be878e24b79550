//! What servers offer to read: listing and reading resources. Neither needs leave: both only read what a server of the
//! user's own choice hands out.

use super::outcome;
use super::shelf::Common;
use futures_util::future::BoxFuture;
use mcp::{CallError, Host, Part, ResourceBody};
use permission::Access;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use tools::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};

pub(super) struct ListResources {
    spec: Spec,
    common: Arc<Common>,
}

impl ListResources {
    pub(super) fn new(common: Arc<Common>) -> Self {
        let schema = r#"{"type":"object","properties":{"server":{"type":"string","description":"Only this server's"}},"additionalProperties":false}"#;
        let description = "Lists the resources that connected MCP servers offer, each with its server and uri. Read one with \
                           ReadMcpResourceTool.";
        Self { spec: Spec::of("ListMcpResourcesTool", description, schema), common }
    }
}

#[derive(Deserialize)]
struct ListInput {
    #[serde(default)]
    server: Option<String>,
}

impl Tool for ListResources {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input: ListInput =
            serde_json::from_str(input.get()).map_err(|error| InputError(format!("ListMcpResourcesTool: {error}")))?;
        Ok(Box::new(List { common: Arc::clone(&self.common), server: input.server }))
    }
}

struct List {
    common: Arc<Common>,
    server: Option<String>,
}

impl Call for List {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Shared
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            tokio::select! {
                outcome = self.list() => outcome,
                () = cx.cancel.cancelled() => Outcome::failed("The call was interrupted by the user."),
            }
        })
    }
}

impl List {
    async fn list(&self) -> Outcome {
        let mut rows = Vec::new();
        for host in hosts(&self.common, self.server.as_deref()) {
            match host.resources(self.server.as_deref()).await {
                Ok(found) => rows.extend(found),
                Err(error) => return Outcome::failed(error.to_string()),
            }
        }
        if let Some(server) = self.server.as_ref().filter(|server| host_of(&self.common, server).is_none()) {
            return Outcome::failed(unknown(&self.common, server));
        }
        let rows: Vec<Value> = rows
            .into_iter()
            .map(|resource| {
                let mut row = json!({"uri": resource.uri, "name": resource.name});
                if let Some(mime) = resource.mime {
                    row["mimeType"] = json!(mime);
                }
                if let Some(description) = resource.description {
                    row["description"] = json!(description);
                }
                row["server"] = json!(resource.server);
                row
            })
            .collect();
        let structured = wire::raw::to_raw(&rows).ok();
        if rows.is_empty() {
            return Outcome::text("No resources found.", structured);
        }
        Outcome::text(serde_json::to_string(&rows).unwrap_or_default(), structured)
    }
}

fn hosts<'a>(common: &'a Common, server: Option<&str>) -> Vec<&'a Host> {
    match server {
        Some(server) => host_of(common, server).into_iter().collect(),
        None => common.hosts.iter().collect(),
    }
}

/// The one that has this server; an agent's own ones first.
pub(super) fn host_of<'a>(common: &'a Common, server: &str) -> Option<&'a Host> {
    common.hosts.iter().rev().find(|host| host.view(server).is_some())
}

fn unknown(common: &Common, server: &str) -> String {
    let names: Vec<String> = common.views().into_iter().map(|view| view.name).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("Server \"{server}\" not found. Available servers: {known}")
}

pub(super) struct ReadResource {
    spec: Spec,
    common: Arc<Common>,
}

impl ReadResource {
    pub(super) fn new(common: Arc<Common>) -> Self {
        let schema = r#"{"type":"object","properties":{"server":{"type":"string","description":"The server that offers it"},"uri":{"type":"string","description":"As listed"}},"required":["server","uri"],"additionalProperties":false}"#;
        let description =
            "Reads one resource of an MCP server by its uri. Binary contents are saved to a file, which is named.";
        Self { spec: Spec::of("ReadMcpResourceTool", description, schema), common }
    }
}

#[derive(Deserialize)]
struct ReadInput {
    server: String,
    uri: String,
}

impl Tool for ReadResource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input: ReadInput =
            serde_json::from_str(input.get()).map_err(|error| InputError(format!("ReadMcpResourceTool: {error}")))?;
        Ok(Box::new(Reading { common: Arc::clone(&self.common), input }))
    }
}

struct Reading {
    common: Arc<Common>,
    input: ReadInput,
}

impl Call for Reading {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Shared
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let Some(host) = host_of(&self.common, &self.input.server) else {
                return Outcome::failed(unknown(&self.common, &self.input.server));
            };
            let read = tokio::select! {
                read = host.read_resource(&self.input.server, &self.input.uri) => read,
                () = cx.cancel.cancelled() => Err(CallError::Cancelled),
            };
            match read {
                Ok(parts) => contents(parts, &cx),
                Err(error) => Outcome::failed(error.to_string()),
            }
        })
    }
}

fn contents(parts: Vec<Part>, cx: &CallCx) -> Outcome {
    let session_dir = &cx.state.facts.session_dir;
    let entries: Vec<Value> = parts.into_iter().filter_map(|part| entry(part, session_dir)).collect();
    let body = json!({"contents": entries});
    let structured = wire::raw::to_raw(&body).ok();
    Outcome::text(body.to_string(), structured)
}

fn entry(part: Part, session_dir: &std::path::Path) -> Option<Value> {
    let Part::Resource { uri, mime, body } = part else { return None };
    let mut entry = json!({"uri": uri});
    if let Some(mime) = &mime {
        entry["mimeType"] = json!(mime);
    }
    match body {
        ResourceBody::Text(text) => entry["text"] = json!(text),
        ResourceBody::Blob(data) => {
            let mime = mime.as_deref().unwrap_or("application/octet-stream");
            match outcome::save(mime, &data, session_dir) {
                Ok((path, _)) => entry["blobSavedTo"] = json!(path.display().to_string()),
                Err(error) => entry["text"] = json!(format!("[it could not be saved: {error}]")),
            }
        }
    }
    Some(entry)
}
