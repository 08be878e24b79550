//! stub
use crate::assembly::{Assembly, Closed};
use crate::cassette::{Player, Recorder};
use crate::error::{ErrorKind, ModelError};
use crate::event::StreamEvent;
use crate::request::Request;
use http::Http;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;

/// A credential. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    pub fn new(value: &str) -> Self {
        Self(value.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Clone, Debug)]
pub enum Auth {
    /// `x-api-key`
    ApiKey(Secret),
    /// `Authorization: Bearer`
    Bearer(Secret),
    /// A helper's value: both headers.
    Both(Secret),
    None,
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Without a trailing slash.
    pub base_url: String,
    pub auth: Auth,
    pub custom_headers: Vec<(String, String)>,
}

pub const FIRST_PARTY: &str = "https://api.anthropic.com";

impl Endpoint {
    /// `ANTHROPIC_BASE_URL` and `ANTHROPIC_CUSTOM_HEADERS`.
    pub fn from_env(env: &Env, auth: Auth) -> Self {
        let base_url = env.non_empty("ANTHROPIC_BASE_URL").unwrap_or(FIRST_PARTY).trim_end_matches('/').to_owned();
        Self { base_url, auth, custom_headers: Vec::new() }
    }

    pub fn is_first_party(&self) -> bool {
        false
    }
}

/// How long to wait for what. `None` = for ever.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until the response's headers.
    pub headers: Duration,
    /// Between bytes; pings count.
    pub bytes: Option<Duration>,
    /// Between events; pings do not count.
    pub events: Option<Duration>,
}

impl Timeouts {
    pub fn from_env(_env: &Env, _first_party: bool) -> Self {
        Self { headers: Duration::from_secs(600), bytes: None, events: None }
    }
}

/// Where answers come from.
#[derive(Clone, Debug)]
pub enum Transport {
    Network,
    Record(Recorder),
    Replay(Player),
}

#[derive(Clone, Debug)]
pub struct Client {
    #[expect(dead_code)]
    http: Http,
    pub endpoint: Endpoint,
    pub timeouts: Timeouts,
    pub transport: Transport,
}

/// A number of tokens, and whether the server or we counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCount {
    Exact(u64),
    Estimate(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    pub display_name: Option<String>,
}

/// A whole response.
#[derive(Debug)]
pub struct Completion {
    pub assembly: Assembly,
    pub blocks: Vec<Closed>,
    pub request_id: Option<String>,
}

impl Client {
    pub fn new(http: Http, endpoint: Endpoint, timeouts: Timeouts, transport: Transport) -> Self {
        Self { http, endpoint, timeouts, transport }
    }

    /// Sends the request; returns when the response's headers are here and good.
    pub async fn stream(&self, _request: &Request) -> Result<Stream, ModelError> {
        Err(ModelError::new(ErrorKind::Connect, "stub"))
    }

    /// Sends the request and waits for the whole answer.
    pub async fn complete(&self, _request: &Request) -> Result<Completion, ModelError> {
        Err(ModelError::new(ErrorKind::Connect, "stub"))
    }

    pub async fn count_tokens(&self, _request: &Request) -> Result<TokenCount, ModelError> {
        Err(ModelError::new(ErrorKind::Connect, "stub"))
    }

    pub async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        Err(ModelError::new(ErrorKind::Connect, "stub"))
    }
}

/// A response being received. Dropping it closes the connection.
#[derive(Debug)]
pub struct Stream {
    request_id: Option<String>,
    rate_limits: Vec<(String, String)>,
}

impl Stream {
    /// The next event, `None` at the end. A stream that breaks after its stop reason ends normally.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, ModelError> {
        Ok(None)
    }

    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// `anthropic-ratelimit-*` headers, lower case.
    pub fn rate_limits(&self) -> &[(String, String)] {
        &self.rate_limits
    }
}
