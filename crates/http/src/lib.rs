//! One lazily built HTTP client: proxies, root certificates, streaming bodies, timeouts. It knows nothing of providers
//! and retries nothing; the library underneath never shows in this surface.

pub mod guard;

use bytes::Bytes;
use futures_util::StreamExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::Env;

/// What went wrong, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection was made: refused, unreachable, DNS, handshake timeout. Worth another try.
    #[error("could not connect: {0}")]
    Connect(String),
    /// The certificate was not accepted. Trying again will not help.
    #[error("TLS certificate not accepted: {0}")]
    Certificate(String),
    /// The connection broke after it was made. Worth another try if nothing was consumed.
    #[error("connection broke: {0}")]
    Broken(String),
    #[error("timed out after {0:?}")]
    Timeout(Duration),
    /// The request or the client's configuration cannot work.
    #[error("invalid request: {0}")]
    Invalid(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Sent in order, without copying.
    pub body: Vec<Bytes>,
    /// Time until the response's headers are here.
    pub timeout: Duration,
}

/// Cheap to clone; the client is built on first use. Redirects are never followed: a 3xx is a response like any other.
#[derive(Clone, Debug)]
pub struct Http {
    env: Env,
    client: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

impl Http {
    pub fn new(env: Env) -> Self {
        Self { env, client: Arc::default() }
    }

    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let client =
            self.client.get_or_init(|| build(&self.env)).as_ref().map_err(|e| HttpError::Invalid(e.clone()))?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
        };
        let mut builder = client.request(method, &request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if !request.body.is_empty() {
            builder = builder.body(whole(request.body));
        }
        let sent = tokio::time::timeout(request.timeout, builder.send()).await;
        let response = sent.map_err(|_| HttpError::Timeout(request.timeout))?.map_err(classify)?;
        Ok(Response { inner: response })
    }
}

fn whole(parts: Vec<Bytes>) -> reqwest::Body {
    // A sized body keeps content-length, which some gateways insist on.
    reqwest::Body::from(parts.concat())
}

fn build(env: &Env) -> Result<reqwest::Client, String> {
    builder(env).build().map_err(|e| e.to_string())
}

fn builder(_env: &Env) -> reqwest::ClientBuilder {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).connect_timeout(Duration::from_secs(30))
}

fn classify(error: reqwest::Error) -> HttpError {
    if error.is_builder() {
        return HttpError::Invalid(error.to_string());
    }
    if error.is_connect() { HttpError::Connect(error.to_string()) } else { HttpError::Broken(error.to_string()) }
}

#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.headers().iter().filter_map(|(k, v)| Some((k.as_str(), v.to_str().ok()?)))
    }

    /// The next piece of the body, `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.inner.chunk().await.map_err(classify)
    }

    /// The body up to `limit` bytes, and whether there was more.
    pub async fn bytes(self, limit: usize) -> Result<(Vec<u8>, bool), HttpError> {
        let mut body = Vec::new();
        let mut stream = self.inner.bytes_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(classify)?;
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
