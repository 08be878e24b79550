//! Requests to a remote server: with the configured headers and those of a helper or a sign-in, and one more
//! attempt when they are refused.

use super::MAX_MESSAGE;
use crate::owner::{HeaderOccasion, Headers, McpOwner};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http::{Http, HttpError, HttpMethod, HttpRequest, HttpResponse};
use sse_stream::{Sse, SseStream};
use std::sync::Arc;
use std::time::Duration;
use sys::sync::Mutex;
use wire::mcp::RemoteConfig as Address;

/// A remote server. Cheap to clone; all clones share the current credentials.
#[derive(Clone)]
pub(crate) struct RemoteEndpoint {
    pub(crate) server: Arc<str>,
    pub(crate) address: Arc<Address>,
    pub(crate) http: Http,
    pub(crate) owner: Arc<dyn McpOwner>,
    pub(crate) first_byte: Duration,
    extra: Arc<Mutex<Option<Headers>>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    #[error("{0}")]
    Http(#[from] HttpError),
    #[error("{0}")]
    Headers(String),
}

/// One HTTP request to the server.
pub(crate) struct RemoteRequest {
    pub(crate) method: HttpMethod,
    pub(crate) url: String,
    pub(crate) headers: Headers,
    pub(crate) body: Option<Bytes>,
    pub(crate) manner: RequestManner,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestManner {
    #[default]
    Plain,
    /// The connection switches to another protocol afterwards.
    Upgrade,
}

impl RemoteEndpoint {
    pub(crate) fn new(
        server: &str,
        address: &Address,
        http: Http,
        owner: Arc<dyn McpOwner>,
        first_byte: Duration,
    ) -> Self {
        Self {
            server: server.into(),
            address: Arc::new(address.clone()),
            http,
            owner,
            first_byte,
            extra: Arc::default(),
        }
    }

    /// Sends the request, and once more with other headers when these are refused and others are available.
    pub(crate) async fn send(&self, ask: &RemoteRequest) -> Result<HttpResponse, RemoteError> {
        let extra = self.extra().await?;
        let response = self.attempt(ask, &extra).await?;
        let status = response.status();
        if status != 401 && status != 403 {
            return Ok(response);
        }
        let challenge = response.header("www-authenticate").map(str::to_owned);
        let occasion = HeaderOccasion::Refused { status, challenge };
        let renewed = self.owner.headers(&self.server, &self.address, occasion).await.map_err(RemoteError::Headers)?;
        match renewed {
            Some(headers) => {
                self.remember(headers.clone());
                Ok(self.attempt(ask, &headers).await?)
            }
            None => Ok(response),
        }
    }

    async fn extra(&self) -> Result<Headers, RemoteError> {
        let known = self.extra.lock().clone();
        if let Some(headers) = known {
            return Ok(headers);
        }
        let made = self.owner.headers(&self.server, &self.address, HeaderOccasion::Connect).await;
        let made = made.map_err(RemoteError::Headers)?.unwrap_or_default();
        self.remember(made.clone());
        Ok(made)
    }

    fn remember(&self, headers: Headers) {
        *self.extra.lock() = Some(headers);
    }

    async fn attempt(&self, ask: &RemoteRequest, extra: &Headers) -> Result<HttpResponse, HttpError> {
        let mut headers = ask.headers.clone();
        for (name, value) in self.address.headers.iter().map(|(n, v)| (n.clone(), v.clone())).chain(extra.clone()) {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
        let request = HttpRequest {
            method: ask.method,
            url: ask.url.clone(),
            headers,
            body: ask.body.clone().into_iter().collect(),
            timeout: self.first_byte,
        };
        match ask.manner {
            RequestManner::Plain => self.http.send(request).await,
            RequestManner::Upgrade => self.http.send_upgrading(request).await,
        }
    }
}

/// The events of a body. An event larger than `limit` bytes ends the stream with an error.
pub(crate) fn events(response: HttpResponse, limit: usize) -> BoxStream<'static, Result<Sse, sse_stream::Error>> {
    let chunks =
        stream::unfold((response, EventLimit::new(limit), false), |(mut response, mut bounded, failed)| async move {
            if failed {
                return None;
            }
            let (item, failed) = match response.chunk().await {
                Ok(Some(chunk)) if bounded.admits(&chunk) => (Ok(chunk), false),
                Ok(Some(_)) => (Err(std::io::Error::other("an event is too large")), true),
                Ok(None) => return None,
                Err(error) => (Err(std::io::Error::other(error.to_string())), true),
            };
            Some((item, (response, bounded, failed)))
        });
    SseStream::from_bytes_stream(chunks.boxed()).boxed()
}

/// Counts the bytes of the event that is being read.
struct EventLimit {
    size: usize,
    limit: usize,
    at_line_start: bool,
}

impl EventLimit {
    fn new(limit: usize) -> Self {
        Self { size: 0, limit: limit.min(MAX_MESSAGE), at_line_start: true }
    }

    fn admits(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            match byte {
                b'\r' => {}
                b'\n' if self.at_line_start => self.size = 0,
                b'\n' => self.at_line_start = true,
                _ => {
                    self.at_line_start = false;
                    self.size += 1;
                }
            }
            if self.size > self.limit {
                return false;
            }
        }
        true
    }
}

/// Whether the `content-type` header begins with `kind`.
pub(crate) fn is_kind(response: &HttpResponse, kind: &str) -> bool {
    response.header("content-type").is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-224]
    #[test]
    fn an_event_is_bounded_and_a_stream_is_not() {
        let mut bounded = EventLimit::new(10);
        assert!((0..100).all(|_| bounded.admits(b"data: 1\n\n")));
        assert!((0..100).all(|_| bounded.admits(b"data: 1\r\n\r\n")));
        assert!(bounded.admits(b"data: ") && !bounded.admits(b"12345678"));
    }
}
