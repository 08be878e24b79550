//! Tools of servers for hooks.

use super::Servers;
use crate::hooks::{Patience, ServerTools, ToolCall};
use futures_util::future::BoxFuture;
use mcp::Part;
use tokio_util::sync::CancellationToken;

impl ServerTools for Servers {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let ToolCall { server, tool, input, patience } = call;
            self.begin_rest();
            match patience {
                Patience::Waits => self.host.settle(self.host.connect_limit(), |view| view.name == server).await,
                Patience::None => {}
            }
            // The caller keeps the time and drops this future, which tells the server.
            let done = self.host.call(&server, &tool, input, &CancellationToken::new()).await;
            let result = done.map_err(|error| error.to_string())?;
            let texts = result.content.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let body = texts.collect::<Vec<_>>().join("\n");
            if result.is_error { Err(body) } else { Ok(body) }
        })
    }
}
