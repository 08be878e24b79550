//! The tools that list and read MCP resources. They need no permission: they only read what a server the user
//! configured offers. A rule that denies a whole server also denies its resources.

use super::outcome;
use super::toolset::SharedToolset;
use futures_util::future::BoxFuture;
use mcp::{CallError, McpHost, McpResource, ResourceBody, ResultPart};
use permission::Access;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use tools::facts::{ToolClass, ToolFacts};
use tools::foreign_text::defused;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};

/// Name and facts of the tools for resources.
pub const LIST_RESOURCES: (&str, ToolFacts) = ("ListMcpResourcesTool", ToolFacts::of(ToolClass::Resource));
pub const READ_RESOURCE: (&str, ToolFacts) = ("ReadMcpResourceTool", ToolFacts::of(ToolClass::Resource));

pub(super) struct ListResources {
    spec: ToolSpec,
    common: Arc<SharedToolset>,
}

impl ListResources {
    pub(super) fn new(common: Arc<SharedToolset>) -> Self {
        let schema = r#"{"type":"object","properties":{"server":{"type":"string","description":"Only this server's"}},"additionalProperties":false}"#;
        let description = "Lists the resources that connected MCP servers offer, each with its server and uri. Read one with \
                           ReadMcpResourceTool.";
        Self { spec: ToolSpec::of(LIST_RESOURCES.0, description, schema, LIST_RESOURCES.1), common }
    }
}

#[derive(Deserialize)]
struct ListResourcesInput {
    #[serde(default)]
    server: Option<String>,
}

impl Tool for ListResources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input: ListResourcesInput =
            serde_json::from_str(input.get()).map_err(|error| InputError(format!("ListMcpResourcesTool: {error}")))?;
        Ok(Box::new(ListResourcesCall { common: Arc::clone(&self.common), server: input.server }))
    }
}

struct ListResourcesCall {
    common: Arc<SharedToolset>,
    server: Option<String>,
}

impl ToolCall for ListResourcesCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            tokio::select! {
                outcome = self.list() => outcome,
                () = cx.cancel.cancelled() => ToolOutcome::failed("The call was interrupted by the user."),
            }
        })
    }
}

impl ListResourcesCall {
    async fn list(&self) -> ToolOutcome {
        let rows = match &self.server {
            Some(server) => match reachable(&self.common, server) {
                Ok(host) => host.resources(server).await.map_err(|error| error.to_string()),
                Err(why) => Err(why),
            },
            None => Ok(list_all(&self.common).await),
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(why) => return ToolOutcome::failed(why),
        };
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
            return ToolOutcome::text("No resources found.", structured);
        }
        ToolOutcome::text(serde_json::to_string(&rows).unwrap_or_default(), structured)
    }
}

/// The resources of all permitted servers; a server that fails is left out.
async fn list_all(common: &SharedToolset) -> Vec<McpResource> {
    let asked = common.hosts.iter().flat_map(|host| host.views().into_iter().map(move |view| (host, view)));
    let asked = asked.filter(|(_, view)| view.has_resources && common.may_read(&view.name));
    let lists = asked.map(|(host, view)| async move {
        let listed = host.resources(&view.name).await;
        listed.inspect_err(|error| tracing::warn!(server = view.name, %error, "no resources")).unwrap_or_default()
    });
    futures_util::future::join_all(lists).await.into_iter().flatten().collect()
}

/// The connection that has this server, or why it cannot be used.
fn reachable<'a>(common: &'a SharedToolset, server: &str) -> Result<&'a McpHost, String> {
    if !common.may_read(server) {
        return Err(format!("A permission rule denies the MCP server \"{server}\" and with it its resources."));
    }
    host_of(common, server).ok_or_else(|| unknown(common, server))
}

/// The connection that has this server; an agent's own servers take precedence.
pub fn host_of<'a>(common: &'a SharedToolset, server: &str) -> Option<&'a McpHost> {
    common.hosts.iter().rev().find(|host| host.view(server).is_some())
}

fn unknown(common: &SharedToolset, server: &str) -> String {
    let views = common.views().into_iter().filter(|view| common.may_read(&view.name));
    let names: Vec<String> = views.map(|view| view.name).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("Server \"{server}\" not found. Available servers: {known}")
}

pub(super) struct ReadResource {
    spec: ToolSpec,
    common: Arc<SharedToolset>,
}

impl ReadResource {
    pub(super) fn new(common: Arc<SharedToolset>) -> Self {
        let schema = r#"{"type":"object","properties":{"server":{"type":"string","description":"The server that offers it"},"uri":{"type":"string","description":"As listed"}},"required":["server","uri"],"additionalProperties":false}"#;
        let description =
            "Reads one resource of an MCP server by its uri. Binary contents are saved to a file, which is named.";
        Self { spec: ToolSpec::of(READ_RESOURCE.0, description, schema, READ_RESOURCE.1), common }
    }
}

#[derive(Deserialize)]
struct ReadResourceInput {
    server: String,
    uri: String,
}

impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input: ReadResourceInput =
            serde_json::from_str(input.get()).map_err(|error| InputError(format!("ReadMcpResourceTool: {error}")))?;
        Ok(Box::new(ReadResourceCall { common: Arc::clone(&self.common), input }))
    }
}

struct ReadResourceCall {
    common: Arc<SharedToolset>,
    input: ReadResourceInput,
}

impl ToolCall for ReadResourceCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let host = match reachable(&self.common, &self.input.server) {
                Ok(host) => host,
                Err(why) => return ToolOutcome::failed(why),
            };
            let read = tokio::select! {
                read = host.read_resource(&self.input.server, &self.input.uri) => read,
                () = cx.cancel.cancelled() => Err(CallError::Cancelled),
            };
            match read {
                Ok(parts) => contents(parts, &cx),
                Err(error) => ToolOutcome::failed(error.to_string()),
            }
        })
    }
}

fn contents(parts: Vec<ResultPart>, cx: &CallContext) -> ToolOutcome {
    let session_dir = &cx.state.facts.session_dir;
    let entries: Vec<Value> = parts.into_iter().filter_map(|part| entry(part, session_dir)).collect();
    let body = json!({"contents": entries});
    let structured = wire::raw::to_raw(&body).ok();
    ToolOutcome::text(body.to_string(), structured)
}

/// The contents as plain text; binary data is saved to a file whose path is given.
pub fn readable(parts: Vec<ResultPart>, session_dir: &std::path::Path) -> String {
    let text = |part| {
        let entry = entry(part, session_dir)?;
        let text = entry.get("text").and_then(Value::as_str).map(str::to_owned);
        text.or_else(|| Some(format!("[saved to {}]", entry.get("blobSavedTo")?.as_str()?)))
    };
    let texts: Vec<String> = parts.into_iter().filter_map(text).collect();
    if texts.is_empty() { "(it is empty)".into() } else { texts.join("\n\n") }
}

fn entry(part: ResultPart, session_dir: &std::path::Path) -> Option<Value> {
    let ResultPart::Resource { uri, mime, body } = part else { return None };
    let mut entry = json!({"uri": uri});
    if let Some(mime) = &mime {
        entry["mimeType"] = json!(mime);
    }
    match body {
        ResourceBody::Text(text) => entry["text"] = json!(defused(text)),
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
