//! The library's streamable HTTP transport over our HTTP client: proxies, certificates and limits are those of
//! every other request.

use super::remote::{RemoteEndpoint, RemoteError, RemoteRequest, RequestManner, events, is_kind};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{HttpMethod, HttpResponse};
use http_types::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;

const SESSION: &str = "mcp-session-id";
const ACCEPT: &str = "application/json, text/event-stream";
/// Most bytes read of an error body.
const ERROR_BODY: usize = 64 * 1024;
/// How often an interrupted stream is resumed.
const RESUMPTIONS: usize = 5;

type StreamableError = StreamableHttpError<RemoteError>;
type CustomHeaders = HashMap<HeaderName, HeaderValue>;

/// A transport to `remote`; nothing is sent before it is used.
pub(crate) fn open(remote: RemoteEndpoint) -> StreamableHttpClientTransport<RemoteEndpoint> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(remote.address.url.as_str())
        .max_sse_event_size(super::MAX_MESSAGE)
        .reinit_on_expired_session(true);
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(RESUMPTIONS);
    config.retry_config = Arc::new(retries);
    StreamableHttpClientTransport::with_client(remote, config)
}

fn build_request(method: HttpMethod, uri: &str, session: Option<&str>, custom: &CustomHeaders) -> RemoteRequest {
    let mut headers: Vec<(String, String)> = vec![("accept".into(), ACCEPT.into())];
    if let Some(session) = session {
        headers.push((SESSION.into(), session.into()));
    }
    for (name, value) in sorted(custom) {
        headers.push((name, value));
    }
    RemoteRequest { method, url: uri.to_owned(), headers, body: None, manner: RequestManner::Plain }
}

fn sorted(custom: &CustomHeaders) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
    let mut all: Vec<_> = custom.iter().filter_map(text).collect();
    all.sort_unstable();
    all
}

/// The library's error for 401 and 403; `None` for other statuses.
fn refusal(response: &HttpResponse) -> Option<StreamableError> {
    let challenge = || response.header("www-authenticate").unwrap_or_default().to_owned();
    match response.status() {
        401 => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge()))),
        403 if response.header("www-authenticate").is_some() => {
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge(), None)))
        }
        _ => None,
    }
}

async fn status_error(response: HttpResponse) -> StreamableError {
    let status = response.status();
    let retry_after = response.header("retry-after").map(str::to_owned);
    if status == 429 || status >= 500 {
        return HttpStatusError::new(status, retry_after).into();
    }
    let body = response.bytes(512).await.map(|(body, _)| body).unwrap_or_default();
    let shown: String = String::from_utf8_lossy(&body).chars().take(256).collect();
    StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {shown}").into())
}

impl StreamableHttpClient for RemoteEndpoint {
    type Error = RemoteError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: CustomHeaders,
    ) -> Result<StreamableHttpPostResponse, StreamableError> {
        let mut ask = build_request(HttpMethod::Post, &uri, session_id.as_deref(), &custom_headers);
        ask.headers.push(("content-type".into(), "application/json".into()));
        ask.body = Some(Bytes::from(serde_json::to_vec(&message)?));
        let response = self.send(&ask).await.map_err(StreamableHttpError::Client)?;
        if let Some(refused) = refusal(&response) {
            return Err(refused);
        }
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        let session = response.header(SESSION).map(str::to_owned);
        match response.status() {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if session_id.is_some() => Err(StreamableHttpError::SessionExpired),
            200..=299 if is_kind(&response, "text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(events(response, super::MAX_MESSAGE), session))
            }
            200..=299 => answer(response, session, wants_answer).await,
            _ => failure(response, session).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: CustomHeaders,
    ) -> Result<(), StreamableError> {
        let ask = build_request(HttpMethod::Delete, &uri, Some(&session_id), &custom_headers);
        let response = self.send(&ask).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            // 405: the server does not let clients end sessions.
            200..=299 | 404 | 405 => Ok(()),
            _ => Err(status_error(response).await),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: CustomHeaders,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableError> {
        let mut ask = build_request(HttpMethod::Get, &uri, session_id.as_deref(), &custom_headers);
        if let Some(id) = last_event_id {
            ask.headers.push(("last-event-id".into(), id));
        }
        let response = self.send(&ask).await.map_err(StreamableHttpError::Client)?;
        if let Some(refused) = refusal(&response) {
            return Err(refused);
        }
        match response.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200..=299 if is_kind(&response, "text/event-stream") => Ok(events(response, super::MAX_MESSAGE)),
            200..=299 => {
                let kind = response.header("content-type").map(str::to_owned);
                Err(StreamableHttpError::UnexpectedContentType(kind))
            }
            _ => Err(status_error(response).await),
        }
    }
}

/// Reads a JSON body. Only a request needs a valid one.
async fn answer(
    response: HttpResponse,
    session: Option<String>,
    wants_answer: bool,
) -> Result<StreamableHttpPostResponse, StreamableError> {
    let kind = response.header("content-type").map(str::to_owned);
    let is_json = is_kind(&response, "application/json");
    if !wants_answer {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !is_json {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let (body, cut) = response.bytes(super::MAX_MESSAGE).await.map_err(|e| StreamableHttpError::Client(e.into()))?;
    if cut {
        return Err(StreamableHttpError::UnexpectedServerResponse("the answer is too large".into()));
    }
    let message: ServerJsonRpcMessage = serde_json::from_slice(&body)?;
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// An error status may carry a JSON-RPC error, which is more precise.
async fn failure(
    response: HttpResponse,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, StreamableError> {
    let status = response.status();
    if status == 429 || !is_kind(&response, "application/json") {
        return Err(status_error(response).await);
    }
    let (body, _) = response.bytes(ERROR_BODY).await.map_err(|e| StreamableHttpError::Client(e.into()))?;
    match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(message @ JsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(message, session)),
        _ if status >= 500 => Err(HttpStatusError::new(status, None).into()),
        _ => {
            let shown: String = String::from_utf8_lossy(&body).chars().take(256).collect();
            Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {shown}").into()))
        }
    }
}
