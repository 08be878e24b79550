//! One lazily built HTTP client: proxies, root certificates, streaming bodies, timeouts. It has no knowledge of
//! providers. It repeats a request only when the server had closed the reused connection. The underlying library is not
//! visible in this interface. Proxies and certificates come from the given [`Env`] alone, never from the process
//! environment.

mod body;
mod client;
mod dial;
mod error;
pub mod filter;
mod proxy;
mod tls;
pub mod ws;

pub use error::HttpError;
pub use tls::unusable_certificates;

pub mod guard;

use bytes::Bytes;
use client::HttpClients;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use sys::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    Get,
    Head,
    Post,
    Delete,
}

#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: HttpMethod,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Sent in order, without copying, with a `content-length`.
    pub body: Vec<Bytes>,
    /// Time limit until the response headers have arrived.
    pub timeout: Duration,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    Answer,
    /// A switch to another protocol on the same connection.
    Upgrade,
}

/// Cheap to clone; the client is built on first use. Redirects are never followed: a 3xx is returned like any other
/// response. Dropping a request's future, or a response, closes its connection (HTTP/2: its stream).
#[derive(Clone, Debug)]
pub struct Http {
    clients: Arc<HttpClients>,
}

impl Http {
    pub fn new(env: Env) -> Self {
        Self { clients: Arc::new(HttpClients::new(env)) }
    }

    /// Checks the proxy variables without any other work, for a clear error message at start.
    pub fn check(&self) -> Result<(), HttpError> {
        self.clients.check()
    }

    /// Builds the client for `url` before its first request. Reading certificates takes milliseconds.
    pub async fn warm(&self, url: &str) -> Result<(), HttpError> {
        self.clients.client_for(&parse(url)?).await.map(drop)
    }

    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.exchange(request, RequestPurpose::Answer).await
    }

    /// Like `send`, but a request that fails before its answer on a reused connection is sent once more on a new one,
    /// because the server had closed the old one. Only for requests that may reach the server twice.
    pub async fn send_repeatable(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let again = request.clone();
        match dial::with_dial_flag(self.exchange(request, RequestPurpose::Answer)).await {
            (Err(HttpError::Broken(why)), false) => {
                tracing::debug!(why, "a kept connection was closed; the request goes out on a new one");
                self.clients.renew(&parse(&again.url)?).await?;
                self.exchange(again, RequestPurpose::Answer).await
            }
            (outcome, _) => outcome,
        }
    }

    /// The proxy for requests to `url`, without its credentials; `None` when the connection is direct.
    pub fn proxy_of(&self, url: &str) -> Option<String> {
        if self.clients.is_direct() {
            return None;
        }
        self.clients.proxy_of(&parse(url).ok()?)
    }

    async fn exchange(&self, request: HttpRequest, purpose: RequestPurpose) -> Result<HttpResponse, HttpError> {
        let url = parse(&request.url)?;
        let origin = origin(&url);
        let proxy = self.clients.proxy_of(&url);
        let timeout = request.timeout;
        let exchange = async {
            let client = match purpose {
                RequestPurpose::Answer => self.clients.client_for(&url).await?,
                RequestPurpose::Upgrade => self.clients.upgrading(&url).await?,
            };
            let method = match request.method {
                HttpMethod::Get => reqwest::Method::GET,
                HttpMethod::Head => reqwest::Method::HEAD,
                HttpMethod::Post => reqwest::Method::POST,
                HttpMethod::Delete => reqwest::Method::DELETE,
            };
            let mut builder = client.request(method, url.clone());
            for (name, value) in &request.headers {
                builder = builder.header(name, value);
            }
            if !request.body.is_empty() {
                builder = builder.body(body::from_parts(request.body));
            }
            builder.send().await.map_err(|source| match &proxy {
                // Only the proxy was spoken to.
                Some(proxy) if source.is_connect() => {
                    error::classify(&source, &format!("the proxy {proxy}, on the way to {origin}"))
                }
                Some(_) | None => error::classify(&source, &origin),
            })
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(result) => Ok(HttpResponse { inner: result?, origin }),
            Err(_) => Err(HttpError::Timeout(timeout)),
        }
    }
}

/// The addresses that were read last: a session sends all its requests to one or two.
static READ_ADDRESSES: Mutex<Vec<(String, reqwest::Url)>> = Mutex::new(Vec::new());
const MAX_READ_ADDRESSES: usize = 4;

fn parse(url: &str) -> Result<reqwest::Url, HttpError> {
    let mut known = READ_ADDRESSES.lock();
    if let Some((_, read)) = known.iter().find(|(text, _)| text == url) {
        return Ok(read.clone());
    }
    let read = parse_anew(url)?;
    // A query may contain a secret, which is not kept.
    if url.contains('?') {
        return Ok(read);
    }
    if known.len() >= MAX_READ_ADDRESSES {
        known.remove(0);
    }
    known.push((url.to_owned(), read.clone()));
    Ok(read)
}

fn parse_anew(url: &str) -> Result<reqwest::Url, HttpError> {
    // The URL may contain a secret in its query, so the message does not repeat it.
    let parsed = reqwest::Url::parse(url).map_err(|e| HttpError::Invalid(format!("the URL cannot be read: {e}")))?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(parsed),
        other => Err(HttpError::Invalid(format!("{other} URLs are not supported, only http and https"))),
    }
}

/// The target of a `location` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRedirect {
    pub url: String,
    /// Without credentials and query, so that it may be shown.
    pub shown: String,
    /// Scheme, host and port are unchanged, so that credentials may be sent there.
    pub same_origin: bool,
}

/// Resolves the `location` header of a response to a request for `url`.
pub fn redirect(url: &str, location: &str) -> Option<HttpRedirect> {
    let from = parse(url).ok()?;
    let to = from.join(location).ok()?;
    Some(HttpRedirect { shown: display_url(&to), same_origin: to.origin() == from.origin(), url: to.into() })
}

/// Fails when `url` cannot be the address of a server.
pub fn check_url(url: &str) -> Result<(), HttpError> {
    parse(url).map(drop)
}

/// The host of an http or https URL as the client connects to it: no user name, no port, lower case.
pub fn host_of(url: &str) -> Option<String> {
    parse(url.trim()).ok()?.host_str().map(str::to_owned)
}

/// A URL without credentials, query and fragment.
pub(crate) fn display_url(url: &reqwest::Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Fails only for URLs that cannot contain them.
    shown.set_username("").and_then(|()| shown.set_password(None)).ok();
    shown.as_str().trim_end_matches('/').to_owned()
}

/// The part of the target that error messages may contain.
fn origin(url: &reqwest::Url) -> String {
    url.origin().ascii_serialization()
}

#[derive(Debug)]
pub struct HttpResponse {
    inner: reqwest::Response,
    origin: String,
}

impl HttpResponse {
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.headers().iter().filter_map(|(k, v)| Some((k.as_str(), v.to_str().ok()?)))
    }

    /// The raw connection, after the server agreed to another protocol (101).
    pub(crate) async fn upgrade(self) -> Result<reqwest::Upgraded, HttpError> {
        self.inner.upgrade().await.map_err(|source| error::classify(&source, &self.origin))
    }

    /// The next piece of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.inner.chunk().await.map_err(|source| error::classify(&source, &self.origin))
    }

    /// At most `limit` bytes of the body, and whether there were more.
    pub async fn bytes(mut self, limit: usize) -> Result<(Vec<u8>, bool), HttpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            let room = limit - body.len();
            if chunk.len() > room {
                body.extend_from_slice(&chunk[..room]);
                return Ok((body, true));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((body, false))
    }
}
