//! Talks to a Messages endpoint. Guarantees: one request per call and no retries (the policy lives in `retry`); a
//! silent stream ends in an error; no error text holds a credential; dropping a stream closes its connection.

mod endpoint;
mod models;
mod reply;
mod stream;
mod whole;

pub use endpoint::{Auth, Endpoint, FIRST_PARTY, Secret, Timeouts, is_first_party};
pub use stream::Stream;

use crate::assembly::{Assembly, Closed};
use crate::cassette::{CallKind, Player, Recorder};
use crate::error::{ErrorKind, ModelError};
use crate::estimate;
use crate::fragment::Turn;
use crate::request::Request;
use bytes::Bytes;
use http::{Http, Method};
use reply::Reply;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where answers come from.
#[derive(Clone, Debug)]
pub enum Transport {
    Network,
    Record(Recorder),
    Replay(Player),
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    pub http: Http,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedModel {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A whole response.
#[derive(Debug)]
pub struct Completion {
    pub assembly: Assembly,
    pub blocks: Vec<Closed>,
    pub request_id: Option<String>,
}

/// What is sent, before credentials.
struct Outgoing<'a> {
    call: CallKind,
    method: Method,
    path: &'a str,
    headers: Vec<(String, String)>,
    body: Vec<Bytes>,
    messages: &'a [Turn],
    timeout: Duration,
}

const SMALL_ANSWER: usize = 8 * 1024 * 1024;
const COUNT_TIMEOUT: Duration = Duration::from_secs(30);

impl Client {
    pub fn new(http: Http, endpoint: Endpoint, timeouts: Timeouts, transport: Transport) -> Self {
        Self { http, endpoint, timeouts, transport }
    }

    /// Sends the request; returns when the response's headers are here and good.
    pub async fn stream(&self, request: &Request) -> Result<Stream, ModelError> {
        let outgoing = Outgoing {
            call: CallKind::Messages,
            method: Method::Post,
            path: "/v1/messages?beta=true",
            headers: base_headers(request, "text/event-stream"),
            body: request.body(),
            messages: &request.messages,
            timeout: self.timeouts.headers,
        };
        let reply = self.send(outgoing, &self.endpoint.auth).await?;
        Stream::open(reply, self.timeouts).await.map_err(|e| self.endpoint.scrub(e))
    }

    /// Sends the request and waits for the whole answer.
    pub async fn complete(&self, request: &Request) -> Result<Completion, ModelError> {
        let mut stream = self.stream(request).await?;
        let mut assembly = Assembly::default();
        let mut blocks = Vec::new();
        while let Some(event) = stream.next().await? {
            blocks.extend(assembly.push(&event));
        }
        let request_id = stream.request_id().map(str::to_owned);
        Ok(Completion { assembly, blocks, request_id })
    }

    /// Asks the server; where it cannot count, a local estimate. Never costs a paid request.
    pub async fn count_tokens(&self, request: &Request) -> Result<TokenCount, ModelError> {
        #[derive(Deserialize)]
        struct Counted {
            input_tokens: u64,
        }
        let outgoing = Outgoing {
            call: CallKind::CountTokens,
            method: Method::Post,
            path: "/v1/messages/count_tokens?beta=true",
            headers: base_headers(request, "application/json"),
            body: request.count_body(),
            messages: &request.messages,
            timeout: self.timeouts.headers.min(COUNT_TIMEOUT),
        };
        let mut reply = match self.send(outgoing, &self.endpoint.auth).await {
            Ok(reply) => reply,
            Err(e) if matches!(e.status, Some(404 | 405 | 501)) => {
                return Ok(TokenCount::Estimate(estimate::request(request)));
            }
            Err(e) => return Err(e),
        };
        let body = reply.body(SMALL_ANSWER).await.map_err(|e| self.endpoint.scrub(e))?;
        Ok(serde_json::from_slice::<Counted>(&body)
            .map_or_else(|_| TokenCount::Estimate(estimate::request(request)), |c| TokenCount::Exact(c.input_tokens)))
    }

    /// One exchange. Only a 2xx comes back as a reply.
    async fn send(&self, outgoing: Outgoing<'_>, auth: &Auth) -> Result<Reply, ModelError> {
        let reply = self.exchange(outgoing, auth).await.map_err(|e| self.endpoint.scrub(e))?;
        match reply.status() {
            200..300 => Ok(reply),
            _ => Err(reply.into_error().await),
        }
    }

    async fn exchange(&self, outgoing: Outgoing<'_>, auth: &Auth) -> Result<Reply, ModelError> {
        let tap = match &self.transport {
            Transport::Replay(player) => {
                let answer = player.answer(outgoing.call, outgoing.messages)?;
                return Ok(Reply::recorded(answer, self.endpoint.clone()));
            }
            Transport::Record(recorder) => {
                Some(recorder.begin(outgoing.call, outgoing.messages, &self.endpoint.secrets()))
            }
            Transport::Network => None,
        };
        let request = http::Request {
            method: outgoing.method,
            url: format!("{}{}", self.endpoint.base_url, outgoing.path),
            headers: self.endpoint.headers(outgoing.headers, auth)?,
            body: outgoing.body,
            timeout: outgoing.timeout,
        };
        let response = self.http.send(request).await?;
        Ok(Reply::network(response, tap, self.endpoint.clone()))
    }
}

fn base_headers(request: &Request, accept: &str) -> Vec<(String, String)> {
    let mut headers = request.headers();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers.push(("accept".to_owned(), accept.to_owned()));
    headers.push(("x-client-request-id".to_owned(), sys::id::uuid()));
    headers
}
