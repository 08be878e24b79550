//! What a connected server offers: tools, prompts, resources, its instructions. Lists are read to their last page;
//! an invalid entry is left out, the others are kept.

use crate::error::CallError;
use crate::link::ServerLink;
use crate::names;
use crate::schema;
use rmcp::model::{ClientRequest, ListPromptsRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest description and longest instructions, in bytes.
const TEXT_LIMIT: usize = 2048;
/// Most pages of a list; a server that never ends its list is cut off here.
const MAX_PAGES: usize = 200;
const MAX_ENTRIES: usize = 20_000;
/// Attempts to read a list before it counts as failed.
const MAX_TRIES: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct McpCatalogue {
    pub(crate) tools: Arc<[Arc<RemoteTool>]>,
    pub(crate) prompts: Arc<[RemotePrompt]>,
    pub(crate) instructions: Option<String>,
    pub(crate) info: Option<ServerInfo>,
    pub(crate) has_resources: bool,
    /// Why a list could not be read; `None` when all were read.
    pub(crate) problem: Option<String>,
}

/// Name and version as the server reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
}

/// One tool of one server.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteTool {
    pub server: String,
    /// The name the server uses.
    pub name: String,
    /// `mcp__server__tool`
    pub exposed: String,
    pub description: String,
    /// The input schema as compact JSON text.
    pub schema: String,
    pub annotations: ToolAnnotations,
    pub meta: ToolMeta,
    /// `_meta` as received.
    pub raw_meta: Option<Value>,
}

/// Hints from the server, which may be false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    pub title: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// Fields of `_meta` that clients such as gimlet understand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolMeta {
    pub max_result_chars: Option<u64>,
    pub always_load: bool,
    pub requires_interaction: bool,
    pub search_hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePrompt {
    pub server: String,
    pub name: String,
    /// `mcp__server__prompt`
    pub exposed: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResource {
    pub server: String,
    pub uri: String,
    pub name: String,
    pub mime: Option<String>,
    pub description: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpListKind {
    Tools,
    Prompts,
    Resources,
}

impl McpListKind {
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        match self {
            Self::Tools => ListToolsRequest { params, ..Default::default() }.into(),
            Self::Prompts => ListPromptsRequest { params, ..Default::default() }.into(),
            Self::Resources => ListResourcesRequest { params, ..Default::default() }.into(),
        }
    }
}

/// Reads all pages of a list.
pub(crate) async fn entries(link: &ServerLink, what: McpListKind) -> Result<Vec<Map<String, Value>>, CallError> {
    let mut all = Vec::new();
    let mut cursor = None;
    let mut seen = BTreeSet::new();
    for _ in 0..MAX_PAGES {
        let mut page = link.ask(what.request(cursor.take()), link.list_limit).await?;
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if let Some(Value::Array(list)) = page.get_mut(what.key()).map(Value::take) {
            all.extend(list.into_iter().filter_map(|entry| match entry {
                Value::Object(fields) => Some(fields),
                _ => None,
            }));
        }
        match next.filter(|next| !next.is_empty() && all.len() < MAX_ENTRIES) {
            // A repeated cursor would never end.
            Some(next) if seen.insert(next.clone()) => cursor = Some(next),
            _ => break,
        }
    }
    all.truncate(MAX_ENTRIES);
    Ok(all)
}

async fn entries_with_retries(link: &ServerLink, what: McpListKind) -> Result<Vec<Map<String, Value>>, CallError> {
    let mut tries = 1;
    loop {
        match entries(link, what).await {
            Err(error) if tries < MAX_TRIES && is_transient(&error) => {
                tracing::debug!(server = link.server, %error, list = what.key(), "a list is asked for again");
                tries += 1;
            }
            done => return done,
        }
    }
}

fn is_transient(error: &CallError) -> bool {
    matches!(error, CallError::Failed { .. } | CallError::TimedOut { .. })
}

pub(crate) async fn tools(link: &ServerLink) -> Result<Arc<[Arc<RemoteTool>]>, CallError> {
    let mut taken = BTreeSet::new();
    let mut tools = Vec::new();
    for fields in entries_with_retries(link, McpListKind::Tools).await? {
        let name = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(tool) = tool(&link.server, fields, &taken) else {
            tracing::warn!(server = link.server, tool = name, "the tool is left out: its schema is no object");
            continue;
        };
        taken.insert(tool.exposed.clone());
        tools.push(Arc::new(tool));
    }
    Ok(tools.into())
}

pub(crate) fn tool(server: &str, mut fields: Map<String, Value>, taken: &BTreeSet<String>) -> Option<RemoteTool> {
    let name = fields.get("name")?.as_str().filter(|name| !name.is_empty())?.to_owned();
    let Some(Value::Object(schema)) = fields.shift_remove("inputSchema") else { return None };
    let adapted = schema::adapt(schema)?;
    let mut description = fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(remark) = adapted.remark {
        description = if description.is_empty() { remark } else { format!("{description}\n\n{remark}") };
    }
    let raw_meta = fields.shift_remove("_meta").filter(Value::is_object);
    let mut annotations = annotations(fields.get("annotations"));
    if let Some(title) = fields.get("title").and_then(Value::as_str) {
        annotations.title = Some(title.to_owned());
    }
    Some(RemoteTool {
        server: server.to_owned(),
        exposed: names::exposed_tool(server, &name, |name| taken.contains(name)),
        name,
        description: truncate(&description),
        schema: wire::raw::to_line(&adapted.schema).ok()?,
        annotations,
        meta: meta(raw_meta.as_ref()),
        raw_meta,
    })
}

fn annotations(value: Option<&Value>) -> ToolAnnotations {
    let hint = |name: &str| value.and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    ToolAnnotations {
        title: value.and_then(|hints| hints.get("title")).and_then(Value::as_str).map(str::to_owned),
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

fn meta(value: Option<&Value>) -> ToolMeta {
    let get = |name: &str| value.and_then(|meta| meta.get(name));
    ToolMeta {
        max_result_chars: get("anthropic/maxResultSizeChars").and_then(Value::as_u64),
        always_load: get("anthropic/alwaysLoad") == Some(&Value::Bool(true)),
        requires_interaction: get("anthropic/requiresUserInteraction") == Some(&Value::Bool(true)),
        search_hint: get("anthropic/searchHint").and_then(Value::as_str).map(truncate),
    }
}

pub(crate) async fn prompts(link: &ServerLink) -> Result<Arc<[RemotePrompt]>, CallError> {
    let mut taken = BTreeSet::new();
    let mut prompts = Vec::new();
    for fields in entries_with_retries(link, McpListKind::Prompts).await? {
        let Some(name) = fields.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else { continue };
        let exposed = names::exposed_tool(&link.server, name, |name| taken.contains(name));
        taken.insert(exposed.clone());
        prompts.push(RemotePrompt {
            server: link.server.clone(),
            name: name.to_owned(),
            exposed,
            description: truncate(fields.get("description").and_then(Value::as_str).unwrap_or_default()),
            arguments: arguments(fields.get("arguments")),
        });
    }
    Ok(prompts.into())
}

fn arguments(value: Option<&Value>) -> Vec<PromptArgument> {
    let one = |argument: &Value| {
        Some(PromptArgument {
            name: argument.get("name")?.as_str()?.to_owned(),
            required: argument.get("required") == Some(&Value::Bool(true)),
        })
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(one).collect()
}

pub(crate) async fn resources(link: &ServerLink) -> Result<Vec<McpResource>, CallError> {
    let read = |fields: Map<String, Value>| {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let uri = text("uri")?;
        Some(McpResource {
            server: link.server.clone(),
            name: text("name").unwrap_or_else(|| uri.clone()),
            uri,
            mime: text("mimeType"),
            description: text("description"),
        })
    };
    Ok(entries(link, McpListKind::Resources).await?.into_iter().filter_map(read).collect())
}

/// The beginning of a text that is too long, cut between characters.
pub(crate) fn truncate(text: &str) -> String {
    if text.len() <= TEXT_LIMIT {
        return text.to_owned();
    }
    let end = (0..=TEXT_LIMIT - '…'.len_utf8()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Option<RemoteTool> {
        let Value::Object(fields) = value else { return None };
        tool("srv", fields, &BTreeSet::new())
    }

    #[test]
    fn a_tool_is_read_with_its_hints() {
        let tool = read(json!({
            "name": "look", "description": "d".repeat(5000), "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": true, "title": "Look"},
            "_meta": {"anthropic/maxResultSizeChars": 200_000, "anthropic/alwaysLoad": true,
                "anthropic/requiresUserInteraction": "true"},
        }))
        .unwrap();
        assert_eq!((tool.exposed.as_str(), tool.description.len()), ("mcp__srv__look", TEXT_LIMIT));
        assert_eq!(tool.schema, r#"{"type":"object","properties":{}}"#);
        assert_eq!((tool.annotations.read_only, tool.annotations.destructive), (Some(true), None));
        assert_eq!((tool.meta.max_result_chars, tool.meta.always_load), (Some(200_000), true));
        // Only JSON `true` counts.
        assert!(!tool.meta.requires_interaction);
    }

    // [TST-217]
    #[test]
    fn a_tool_without_a_usable_schema_is_left_out() {
        assert!(read(json!({"name": "x", "inputSchema": {"type": "array"}})).is_none());
        assert!(read(json!({"name": "x"})).is_none());
        assert!(read(json!({"name": "", "inputSchema": {"type": "object"}})).is_none());
    }
}
