//! Connects servers with the turn: before it starts, before each step, and when a server prompt is typed.

use crate::session::{LiveSession, SessionIo};
use mcp::ResultPart;
use serde_json::{Map, Value};
use session_parts::command::ScreenEvent;
use session_parts::context::usage::ServerToolUsage;
use session_parts::mcp::SessionServers;
use session_parts::mcp::ToolDeferral;
use session_parts::transcript_writer::PromptSource;
use std::sync::Arc;
use store::StoreError;
use tokio_util::sync::CancellationToken;

impl SessionIo {
    /// The MCP tools with their estimated tokens.
    pub(crate) fn server_tools(&self) -> Vec<ServerToolUsage> {
        let tokens_of = |found: session_parts::mcp::toolset::AvailableTool| {
            let tool = &found.tool;
            ServerToolUsage {
                name: tool.exposed.clone(),
                server: tool.server.clone(),
                tokens: model::estimate::text(tool.exposed.len() + tool.description.len() + tool.schema.len()),
                is_loaded: self.tooling.registry.is_offered(&tool.exposed),
            }
        };
        self.knowledge.mcp.shared.tools().into_iter().map(tokens_of).collect()
    }
}

impl LiveSession {
    /// Updates tools and view after a server changed while the session was idle.
    pub(crate) async fn refresh_servers(&mut self) {
        self.refresh_tools();
        self.publish_view().await;
        self.report_failed_servers().await;
    }

    /// Waits briefly for servers that are connecting, before their state is shown. `None` when the process is being
    /// stopped or the user interrupts.
    pub(crate) async fn wait_for_servers(&mut self, token: &CancellationToken) -> Option<()> {
        let servers = Arc::clone(self.io.knowledge.mcp.servers());
        tokio::select! {
            settled = self.control.during(servers.wait_for_status()) => settled?,
            () = token.cancelled() => return None,
        }
        self.refresh_tools();
        Some(())
    }

    /// Before a turn starts: waits for required servers, within their time limits.
    pub(crate) async fn connect_servers(&mut self) {
        if self.io.output.host.agent_id().is_none() {
            let servers = Arc::clone(self.io.knowledge.mcp.servers());
            self.send_roots(&servers).await;
            let host = self.io.output.host.clone();
            let waiting = host.explain_wait(|| servers.waiting_message(), servers.wait_for_required());
            let late = self.control.until_interrupted(Box::pin(waiting)).await.unwrap_or_default();
            for name in late {
                self.io.output.host.notice(late_notice(&name, servers.brief_wait())).await;
            }
            self.report_failed_servers().await;
        } else {
            let common = Arc::clone(&self.io.knowledge.mcp.shared);
            let own = async {
                for host in common.hosts.iter().skip(1) {
                    host.wait_until_connected(host.connect_limit(), |_| true).await;
                }
            };
            self.control.until_interrupted(own).await;
        }
        self.refresh_tools();
    }

    /// Names servers that failed, for those who see no list of servers.
    pub(crate) async fn report_failed_servers(&self) {
        if self.io.output.host.agent_id().is_some() {
            return;
        }
        for line in self.io.knowledge.mcp.servers().new_failures() {
            self.io.output.host.aside(ScreenEvent::ServerFailed(line)).await;
        }
    }

    /// Sends changed working directories to the servers.
    async fn send_roots(&mut self, servers: &SessionServers) {
        let mut roots = vec![self.io.tooling.directories.project.clone()];
        roots.extend(self.io.rules.watch.additional());
        if servers.owner.set_roots(roots) {
            self.control.until_interrupted(servers.host.roots_changed()).await;
        }
    }

    /// Before a step: updates the tools.
    pub(crate) fn refresh_tools(&mut self) {
        let is_native = matches!(self.io.knowledge.mcp.servers().deferral, ToolDeferral::Native { .. });
        self.io.knowledge.mcp.resolve_references(&mut self.context, is_native);
        self.offer_recall();
        let window = self.context.facts().context_window;
        if let Some(offer) = self.io.knowledge.mcp.offer(self.io.rules.policy(), window) {
            self.io.tooling.registry = offer.registry;
            self.context.set_tools(offer.fragments, offer.uses_references);
        }
    }

    /// Before a step: adds what changed about servers to the conversation.
    pub(crate) fn announce_servers(&mut self) -> Result<(), StoreError> {
        self.refresh_tools();
        let common = Arc::clone(&self.io.knowledge.mcp.shared);
        for attachment in self.io.knowledge.mcp.announced.take_due(&common) {
            self.attach(attachment)?;
        }
        if let Some(line) = self.io.knowledge.mcp.unrecorded() {
            self.io.output.transcript.attachment(line)?;
        }
        Ok(())
    }

    /// Adds the messages of a typed server prompt. The inner error is why there are none.
    pub(crate) async fn load_prompt(&mut self) -> Result<Result<(), String>, StoreError> {
        let Some(typed) = self.io.knowledge.mcp.typed_prompt.take() else { return Ok(Ok(())) };
        let arguments: Map<String, Value> = typed.arguments.into_iter().map(|(k, v)| (k, Value::String(v))).collect();
        let asked = typed.host.prompt(&typed.server, &typed.name, arguments);
        let messages = match self.control.until_interrupted(Box::pin(asked)).await {
            Some(Ok(messages)) => messages,
            Some(Err(error)) => {
                let text = format!("<local-command-stderr>{error}</local-command-stderr>");
                self.inject(&text, PromptSource::Marker).await?;
                return Ok(Err(error.to_string()));
            }
            None => return Ok(Ok(())),
        };
        let texts: Vec<String> = messages.into_iter().map(|(_, part)| plain(part)).collect();
        self.inject(&texts.join("\n\n"), PromptSource::Meta).await?;
        Ok(Ok(()))
    }
}

fn late_notice(server: &str, limit: std::time::Duration) -> String {
    format!(
        "MCP server {server} did not connect within {} s; continuing without it; its tools become available when it \
         connects. /mcp shows its state; MCP_CONNECT_TIMEOUT_MS sets the wait.",
        limit.as_secs_f64()
    )
}

fn plain(part: ResultPart) -> String {
    match part {
        ResultPart::Text(text) => text,
        ResultPart::Resource { uri, body: mcp::ResourceBody::Text(text), .. } => format!("[{uri}]\n{text}"),
        ResultPart::Link { uri, name, .. } => format!("[Resource link: {name}] {uri}"),
        ResultPart::Image { mime, .. } | ResultPart::Audio { mime, .. } => format!("[{mime}]"),
        ResultPart::Resource { uri, .. } => format!("[{uri}]"),
        ResultPart::Other(value) => value.to_string(),
    }
}
