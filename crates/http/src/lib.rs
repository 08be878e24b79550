//! One lazily built HTTP client: proxies, root certificates, streaming bodies, timeouts. It knows nothing of providers
//! and repeats nothing but a request that met a connection its server had given up; the library underneath never shows in this surface. Proxies and certificates are taken from the
//! given [`Env`] alone, never from the process environment.

mod body;
mod client;
mod dial;
mod error;
pub mod filter;
mod proxy;
mod tls;
pub mod ws;

pub use error::HttpError;

pub mod guard;

use bytes::Bytes;
use client::HttpClients;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;

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
    /// Time until the response's headers are here.
    pub timeout: Duration,
}

/// What a request is to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    Answer,
    /// Another protocol on the same connection.
    Upgrade,
}

/// Cheap to clone; the client is built on first use. Redirects are never followed: a 3xx is a response like any other.
/// Dropping a request's future, or a response, closes its connection (HTTP/2: its stream).
#[derive(Clone, Debug)]
pub struct Http {
    clients: Arc<HttpClients>,
}

impl Http {
    pub fn new(env: Env) -> Self {
        Self { clients: Arc::new(HttpClients::new(env)) }
    }

    /// Whether the proxy variables make sense, without any other work: for a clear message at start.
    pub fn check(&self) -> Result<(), HttpError> {
        self.clients.check()
    }

    /// Builds the client that `url` needs ahead of its first request. Reading certificates takes milliseconds.
    pub async fn warm(&self, url: &str) -> Result<(), HttpError> {
        self.clients.client_for(&parse(url)?).await.map(drop)
    }

    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.exchange(request, RequestPurpose::Answer).await
    }

    /// As `send`. A request that dies before its answer on a connection that had served others is sent once more, on a
    /// new one: the server had closed it. Only for requests that may reach the server twice.
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

    /// The proxy that requests to `url` go through, without its credentials.
    pub fn proxy_of(&self, url: &str) -> Option<String> {
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

fn parse(url: &str) -> Result<reqwest::Url, HttpError> {
    // The text itself may carry a secret in its query, so it is not repeated.
    let parsed = reqwest::Url::parse(url).map_err(|e| HttpError::Invalid(format!("the URL cannot be read: {e}")))?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(parsed),
        other => Err(HttpError::Invalid(format!("{other} URLs are not supported, only http and https"))),
    }
}

/// Where a `location` header leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRedirect {
    pub url: String,
    /// Without credentials and query: may be shown.
    pub shown: String,
    /// Scheme, host and port are the same: a credential may go there.
    pub same_origin: bool,
}

/// Reads `location` as an answer to a request for `url`.
pub fn redirect(url: &str, location: &str) -> Option<HttpRedirect> {
    let from = parse(url).ok()?;
    let to = from.join(location).ok()?;
    Some(HttpRedirect { shown: display_url(&to), same_origin: to.origin() == from.origin(), url: to.into() })
}

/// Why `url` cannot be the address of a server.
pub fn check_url(url: &str) -> Result<(), HttpError> {
    parse(url).map(drop)
}

/// The host of an http or https URL, as the client would reach it: no user name, no port, in lower case.
pub fn host_of(url: &str) -> Option<String> {
    parse(url.trim()).ok()?.host_str().map(str::to_owned)
}

/// A URL without credentials, query and fragment.
pub(crate) fn display_url(url: &reqwest::Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Fails only for URLs that cannot have them.
    shown.set_username("").and_then(|()| shown.set_password(None)).ok();
    shown.as_str().trim_end_matches('/').to_owned()
}

/// What an error may say about the target.
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

    /// The connection itself, after the server agreed to another protocol (101).
    pub(crate) async fn upgrade(self) -> Result<reqwest::Upgraded, HttpError> {
        self.inner.upgrade().await.map_err(|source| error::classify(&source, &self.origin))
    }

    /// The next piece of the body, `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.inner.chunk().await.map_err(|source| error::classify(&source, &self.origin))
    }

    /// The body up to `limit` bytes, and whether there was more.
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
