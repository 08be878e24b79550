//! The client of a Messages endpoint. Guarantees: one answered request per call and no retries of answered requests
//! (the policy is in `retry`); redirects are followed only within the origin that the credential is for; a silent
//! stream ends with an error; no error text contains a credential; dropping a stream closes its connection.

mod endpoint;
mod models;
mod reply;
mod stream;
mod whole_message;

pub use endpoint::{AuthSecret, Endpoint, FIRST_PARTY, ModelTimeouts, RequestAuth, is_first_party};
pub use stream::ResponseStream;

use crate::assembly::{ClosedBlock, ResponseAssembly};
use crate::cassette::{CallKind, CassettePlayer, CassetteRecorder};
use crate::error::{ErrorKind, ModelError};
use crate::estimate;
use crate::fragment::Message;
use crate::request::ModelRequest;
use crate::spending::{SpendingGate, SpendingMeter};
use bytes::Bytes;
use http::{Http, HttpMethod};
use reply::ModelReply;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The source of answers.
#[derive(Clone, Debug)]
pub enum ModelTransport {
    Network,
    Record(CassetteRecorder),
    Replay(CassettePlayer),
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct ModelClient {
    pub http: Http,
    pub endpoint: Endpoint,
    pub timeouts: ModelTimeouts,
    pub transport: ModelTransport,
    /// Asked before every paid request.
    pub gate: Option<Arc<dyn SpendingGate>>,
}

/// A number of tokens, counted by the server or estimated locally.
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

/// A complete response.
#[derive(Debug)]
pub struct Completion {
    pub assembly: ResponseAssembly,
    pub blocks: Vec<ClosedBlock>,
    pub request_id: Option<String>,
}

/// A request before credentials are added.
struct OutgoingRequest<'a> {
    call: CallKind,
    method: HttpMethod,
    path: &'a str,
    headers: Vec<(String, String)>,
    body: Vec<Bytes>,
    messages: &'a [Message],
    timeout: Duration,
}

/// Maximum number of redirects that are followed.
const REDIRECTS: usize = 5;
const SMALL_ANSWER: usize = 8 * 1024 * 1024;
const COUNT_TIMEOUT: Duration = Duration::from_secs(30);

impl ModelClient {
    pub fn new(http: Http, endpoint: Endpoint, timeouts: ModelTimeouts, transport: ModelTransport) -> Self {
        Self { http, endpoint, timeouts, transport, gate: None }
    }

    /// Asks `gate` before every paid request.
    #[must_use]
    pub fn guarded(self, gate: Arc<dyn SpendingGate>) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Sends the request; returns when the response headers have arrived with a success status.
    pub async fn stream(&self, request: &ModelRequest) -> Result<ResponseStream, ModelError> {
        let meter = SpendingMeter::admit(self.gate.as_ref(), request).await?;
        let outgoing = OutgoingRequest {
            call: CallKind::Messages,
            method: HttpMethod::Post,
            path: "/v1/messages?beta=true",
            headers: base_headers(request, "text/event-stream"),
            body: request.body(),
            messages: &request.messages,
            timeout: self.timeouts.headers,
        };
        let reply = self.send(outgoing, &self.endpoint.auth).await?;
        ResponseStream::open(reply, self.timeouts, meter).await.map_err(|e| self.endpoint.mask_secrets(e))
    }

    /// Sends the request and waits for the complete answer.
    pub async fn complete(&self, request: &ModelRequest) -> Result<Completion, ModelError> {
        let mut stream = self.stream(request).await?;
        let mut assembly = ResponseAssembly::default();
        let mut blocks = Vec::new();
        while let Some(event) = stream.next().await? {
            blocks.extend(assembly.push(&event));
        }
        let request_id = stream.request_id().map(str::to_owned);
        Ok(Completion { assembly, blocks, request_id })
    }

    /// Asks the server for a count; falls back to a local estimate if the server cannot count. Never makes a paid
    /// request.
    pub async fn count_tokens(&self, request: &ModelRequest) -> Result<TokenCount, ModelError> {
        #[derive(Deserialize)]
        struct CountedTokens {
            input_tokens: u64,
        }
        let outgoing = OutgoingRequest {
            call: CallKind::CountTokens,
            method: HttpMethod::Post,
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
        let body = reply.body(SMALL_ANSWER).await.map_err(|e| self.endpoint.mask_secrets(e))?;
        Ok(serde_json::from_slice::<CountedTokens>(&body)
            .map_or_else(|_| TokenCount::Estimate(estimate::request(request)), |c| TokenCount::Exact(c.input_tokens)))
    }

    /// One exchange. Returns only 2xx responses; all others are errors.
    async fn send(&self, outgoing: OutgoingRequest<'_>, auth: &RequestAuth) -> Result<ModelReply, ModelError> {
        let reply = self.exchange(outgoing, auth).await.map_err(|e| self.endpoint.mask_secrets(e))?;
        match reply.status() {
            200..300 => Ok(reply),
            _ => Err(reply.into_error().await),
        }
    }

    async fn exchange(&self, outgoing: OutgoingRequest<'_>, auth: &RequestAuth) -> Result<ModelReply, ModelError> {
        let tap = match &self.transport {
            ModelTransport::Replay(player) => {
                let answer = player.answer(outgoing.call, outgoing.messages)?;
                return Ok(ModelReply::recorded(answer, self.endpoint.clone()));
            }
            ModelTransport::Record(recorder) => {
                Some(recorder.begin(outgoing.call, outgoing.messages, &self.endpoint.secrets()))
            }
            ModelTransport::Network => None,
        };
        self.endpoint.check()?;
        let headers = self.endpoint.headers(outgoing.headers, auth)?;
        let mut url = format!("{}{}", self.endpoint.base_url, outgoing.path);
        for _ in 0..REDIRECTS {
            let response = self
                .http
                .send_repeatable(http::HttpRequest {
                    method: outgoing.method,
                    url: url.clone(),
                    headers: headers.clone(),
                    body: outgoing.body.clone(),
                    timeout: outgoing.timeout,
                })
                .await?;
            let leads = if outgoing.call == CallKind::Models { None } else { redirect(&url, &response)? };
            let Some(next) = leads else {
                let proxy = self.http.proxy_of(&url);
                return Ok(ModelReply::network(response, tap, self.endpoint.clone(), proxy));
            };
            url = next;
        }
        Err(ModelError::new(
            ErrorKind::InvalidRequest,
            format!("{url} redirects without an end; check ANTHROPIC_BASE_URL and the proxy on the way"),
        ))
    }
}

/// The target of a redirect that may be followed; `None` when `response` is no redirect. A redirect to another origin
/// is an error that names the target, because the credential is only for the origin of `url`.
fn redirect(url: &str, response: &http::HttpResponse) -> Result<Option<String>, ModelError> {
    let status = response.status();
    let location = response.header("location").filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
    let Some(location) = location else { return Ok(None) };
    let failed = |message| ModelError { status: Some(status), ..ModelError::new(ErrorKind::InvalidRequest, message) };
    match http::redirect(url, location) {
        Some(next) if next.same_origin => Ok(Some(next.url)),
        Some(next) => Err(failed(format!(
            "the server redirects to {}, which is another server, so the request and its key were not sent there. If \
             that is the right address, set ANTHROPIC_BASE_URL to it; otherwise a proxy or sign-in page answered",
            next.shown
        ))),
        None => Err(failed("the server redirects to an address that cannot be read".to_owned())),
    }
}

fn base_headers(request: &ModelRequest, accept: &str) -> Vec<(String, String)> {
    let mut headers = request.headers();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers.push(("accept".to_owned(), accept.to_owned()));
    headers.push(("x-client-request-id".to_owned(), sys::id::uuid()));
    headers
}
