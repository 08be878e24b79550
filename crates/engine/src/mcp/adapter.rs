//! A server's tool as one of ours. Its schema is the server's own: we check only that the input is an object, the server
//! checks the rest.

use super::{Servers, background};
use futures_util::future::BoxFuture;
use mcp::{Host, RemoteTool};
use permission::Access;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use tools::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};

pub(super) struct McpTool {
    spec: Spec,
    host: Host,
    remote: Arc<RemoteTool>,
    /// The declaration of its server wants every call asked about.
    always_asks: bool,
    servers: Arc<Servers>,
}

impl McpTool {
    pub(super) fn new(servers: &Arc<Servers>, (host, remote): (&Host, &Arc<RemoteTool>), always_asks: bool) -> Self {
        let spec = Spec {
            name: remote.exposed.clone().into(),
            description: remote.description.clone().into(),
            schema: remote.schema.clone().into(),
        };
        Self { spec, host: host.clone(), remote: Arc::clone(remote), always_asks, servers: Arc::clone(servers) }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn title(&self) -> Option<&str> {
        self.remote.annotations.title.as_deref()
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let arguments: Map<String, Value> = serde_json::from_str(input.get())
            .map_err(|_| InputError(format!("{}: the input must be a JSON object", self.spec.name)))?;
        Ok(Box::new(McpCall {
            host: self.host.clone(),
            remote: Arc::clone(&self.remote),
            arguments,
            insists: self.always_asks || self.remote.meta.requires_interaction,
            servers: Arc::clone(&self.servers),
        }))
    }
}

struct McpCall {
    host: Host,
    remote: Arc<RemoteTool>,
    arguments: Map<String, Value>,
    insists: bool,
    servers: Arc<Servers>,
}

impl Call for McpCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Use]
    }

    fn sharing(&self) -> Sharing {
        if self.remote.annotations.read_only == Some(true) { Sharing::Shared } else { Sharing::Exclusive }
    }

    fn insists(&self) -> bool {
        self.insists
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let Self { host, remote, arguments, servers, .. } = *self;
            background::run(&servers, (host, remote), arguments, cx).await
        })
    }
}
