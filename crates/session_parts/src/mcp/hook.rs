//! Lets hooks call MCP tools.

use super::SessionServers;
use crate::hooks::{ConnectWait, ServerToolCall, ServerTools};
use futures_util::future::BoxFuture;
use mcp::ResultPart;
use tokio_util::sync::CancellationToken;

impl ServerTools for SessionServers {
    fn call(&self, call: ServerToolCall) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let ServerToolCall { server, tool, input, connect_wait: timeout } = call;
            self.begin_rest();
            match timeout {
                ConnectWait::Waits => {
                    self.host.wait_until_connected(self.host.connect_limit(), |view| view.name == server).await;
                }
                ConnectWait::None => {}
            }
            // The caller enforces the timeout by dropping this future, which cancels the call at the server.
            let done = self.host.call(&server, &tool, input, &CancellationToken::new()).await;
            let result = done.map_err(|error| error.to_string())?;
            let texts = result.content.iter().filter_map(|part| match part {
                ResultPart::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let body = texts.collect::<Vec<_>>().join("\n");
            if result.is_error { Err(body) } else { Ok(body) }
        })
    }
}
