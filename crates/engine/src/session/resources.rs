//! Adds the MCP resources that a prompt mentions.

use super::resources::{self};
use crate::session::LiveSession;
use session_parts::mcp::mention::mentions;
use session_parts::mcp::outcome;
use session_parts::mcp::resources::host_of;
use session_parts::mcp::resources::readable;
use session_parts::messages::Attachment;
use session_parts::prompts;
use store::StoreError;
use tokio_util::sync::CancellationToken;

impl LiveSession {
    /// Attaches the resources that `prompt` names, each once.
    pub(crate) async fn attach_resources(&mut self, prompt: &str, token: &CancellationToken) -> Result<(), StoreError> {
        if !prompt.contains('@') {
            return Ok(());
        }
        for (server, uri) in mentions(prompt, &self.io.knowledge.mcp.servers().names()) {
            let text = tokio::select! {
                text = self.read_mentioned(&server, &uri) => text,
                () = token.cancelled() => return Ok(()),
            };
            let Some(text) = text else { return Ok(()) };
            let text = self.io.tooling.state.masking.mask().text(&text).into_owned();
            if let Some(note) = Attachment::note("x_mcp_resource", prompts::reminder(&text)) {
                self.attach(note)?;
            }
        }
        Ok(())
    }

    /// `None` when the turn is interrupted or the process is being stopped.
    async fn read_mentioned(&mut self, server: &str, uri: &str) -> Option<String> {
        let common = std::sync::Arc::clone(&self.io.knowledge.mcp.shared);
        if !common.may_read(server) {
            return Some(format!("The MCP resource {uri} is not attached: a rule denies the server {server}."));
        }
        common.servers.begin_rest();
        let host = host_of(&common, server).cloned()?;
        let limit = host.connect_limit();
        let read = async {
            host.wait_until_connected(limit, |view| view.name == server).await;
            tokio::time::timeout(limit, host.read_resource(server, uri)).await
        };
        let session_dir = self.io.tooling.state.facts.session_dir.clone();
        Some(match self.control.until_interrupted(Box::pin(read)).await? {
            Ok(Ok(parts)) => {
                let body = resources::readable(parts, &session_dir);
                let body = outcome::shortened(&body, tools::spill::GENERIC_LIMIT, &session_dir);
                format!("The MCP resource {uri} of the server {server}, which the user names:\n\n{body}")
            }
            Ok(Err(error)) => format!("The MCP resource {uri} of the server {server} could not be read: {error}"),
            Err(_) => format!("The MCP resource {uri} of the server {server} could not be read in time."),
        })
    }
}
