//! Makes a tool of an MCP server a tool of the session. Only checks that the input is an object; the server checks it
//! against its schema.

use super::{SessionServers, background};
use futures_util::future::BoxFuture;
use mcp::{McpHost, RemoteTool};
use permission::Access;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use tools::facts::ToolFacts;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};

pub(super) struct McpToolAdapter {
    spec: ToolSpec,
    host: McpHost,
    remote: Arc<RemoteTool>,
    /// The declaration of the server requires a question for every call.
    always_asks: bool,
    servers: Arc<SessionServers>,
}

impl McpToolAdapter {
    pub(super) fn new(
        servers: &Arc<SessionServers>,
        (host, remote): (&McpHost, &Arc<RemoteTool>),
        always_asks: bool,
    ) -> Self {
        let spec = ToolSpec {
            name: remote.exposed.clone().into(),
            description: remote.description.clone().into(),
            schema: remote.schema.clone().into(),
            facts: ToolFacts { changes: remote.annotations.read_only != Some(true), ..ToolFacts::MCP },
        };
        Self { spec, host: host.clone(), remote: Arc::clone(remote), always_asks, servers: Arc::clone(servers) }
    }
}

impl Tool for McpToolAdapter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self) -> Option<&str> {
        self.remote.annotations.title.as_deref()
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let arguments: Map<String, Value> = serde_json::from_str(input.get())
            .map_err(|_| InputError(format!("{}: the input must be a JSON object", self.spec.name)))?;
        Ok(Box::new(McpToolCall {
            host: self.host.clone(),
            remote: Arc::clone(&self.remote),
            arguments,
            always_asks: self.always_asks || self.remote.meta.requires_interaction,
            servers: Arc::clone(&self.servers),
        }))
    }
}

struct McpToolCall {
    host: McpHost,
    remote: Arc<RemoteTool>,
    arguments: Map<String, Value>,
    always_asks: bool,
    servers: Arc<SessionServers>,
}

impl ToolCall for McpToolCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Use]
    }

    fn concurrency(&self) -> CallConcurrency {
        if self.remote.annotations.read_only == Some(true) {
            CallConcurrency::Shared
        } else {
            CallConcurrency::Exclusive
        }
    }

    fn needs_person(&self) -> bool {
        self.always_asks
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let Self { host, remote, arguments, servers, .. } = *self;
            background::run(&servers, (host, remote), arguments, cx).await
        })
    }
}
