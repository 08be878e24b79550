//! The HTTP transport of 2024: one stream that first names the address for messages, then carries the answers.

use super::remote::{RemoteEndpoint, RemoteRequest, RequestManner, events, is_kind};
use super::{MAX_MESSAGE, SendError};
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use http::HttpMethod;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::Sse;
use std::sync::Arc;

type SseEvents = BoxStream<'static, Result<Sse, sse_stream::Error>>;

pub(crate) struct LegacySse {
    remote: RemoteEndpoint,
    endpoint: Arc<str>,
    events: Option<SseEvents>,
}

/// Opens the stream and waits for the address for messages.
pub(crate) async fn open(remote: RemoteEndpoint) -> Result<LegacySse, SendError> {
    let headers = vec![("accept".into(), "text/event-stream".into())];
    let url = remote.address.url.clone();
    let ask = RemoteRequest { method: HttpMethod::Get, url, headers, body: None, manner: RequestManner::Plain };
    let response = remote.send(&ask).await.map_err(|error| SendError::Refused(error.to_string()))?;
    match response.status() {
        200..=299 if is_kind(&response, "text/event-stream") => {}
        status => return Err(SendError::by_status(status, " instead of an event stream")),
    }
    let mut events = events(response, MAX_MESSAGE);
    while let Some(Ok(event)) = events.next().await {
        if event.event.as_deref() == Some("endpoint") {
            let endpoint = resolve(&remote.address.url, event.data.as_deref().unwrap_or_default())?;
            return Ok(LegacySse { remote, endpoint, events: Some(events) });
        }
    }
    Err(SendError::Refused("the stream ended before it named an address for messages".into()))
}

/// Resolves the address for messages. It must be on the server's origin, because credentials are sent to it.
fn resolve(base: &str, endpoint: &str) -> Result<Arc<str>, SendError> {
    let refused = |why: &str| SendError::Refused(format!("the address for messages cannot be used: {why}"));
    let base = url::Url::parse(base).map_err(|error| refused(&error.to_string()))?;
    let full = base.join(endpoint.trim()).map_err(|error| refused(&error.to_string()))?;
    if full.origin() != base.origin() {
        return Err(refused("it belongs to another server"));
    }
    Ok(full.as_str().into())
}

impl Transport<RoleClient> for LegacySse {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let (remote, endpoint) = (self.remote.clone(), Arc::clone(&self.endpoint));
        let body = serde_json::to_vec(&item);
        async move {
            let headers = vec![("content-type".into(), "application/json".into())];
            let (url, body) = (endpoint.to_string(), Some(Bytes::from(body?)));
            let ask = RemoteRequest { method: HttpMethod::Post, url, headers, body, manner: RequestManner::Plain };
            let response = remote.send(&ask).await.map_err(|error| SendError::Refused(error.to_string()))?;
            match response.status() {
                200..=299 => Ok(()),
                status => Err(SendError::by_status(status, "")),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let events = self.events.as_mut()?;
        while let Some(Ok(event)) = events.next().await {
            let Some(data) = event.data.filter(|_| event.event.as_deref().is_none_or(|kind| kind == "message")) else {
                continue;
            };
            match serde_json::from_str(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event is no message; it is skipped"),
            }
        }
        self.events = None;
        None
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.events = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_with_the_server() {
        assert_eq!(&*resolve("http://h:1/sse", "/messages?id=2").unwrap(), "http://h:1/messages?id=2");
        assert_eq!(&*resolve("http://h:1/a/sse", "post").unwrap(), "http://h:1/a/post");
        assert!(resolve("http://h:1/sse", "http://evil/messages").is_err());
    }
}
