//! Errors of model requests, grouped by what can be done about them. Messages contain the API's text and never a
//! credential.

use crate::limits::RateLimits;
use serde::Deserialize;
use std::time::Duration;

/// One failed request or stream.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ErrorKind,
    /// HTTP status; for an `error` event in the stream, the status that corresponds to its type.
    pub status: Option<u16>,
    /// The API's text if there is one.
    pub message: String,
    /// The API's `error.type`.
    pub api_type: Option<Box<str>>,
    pub request_id: Option<Box<str>>,
    pub retry_after: Option<Duration>,
    /// `x-should-retry`: overrides the default decision.
    pub should_retry: Option<bool>,
    /// What the response said about the limits of the account.
    pub limits: Option<Box<RateLimits>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Authentication,
    /// 403 and similar: a retry does not help.
    Forbidden,
    Billing,
    /// A budget of the user is used up: the request was not sent.
    Budget,
    /// Too many requests: waiting helps.
    RateLimit,
    /// A spending limit or plan quota: a short wait does not help. `resets_at` is `None` when unknown.
    Quota {
        resets_at: Option<String>,
    },
    Overloaded,
    ModelNotFound,
    InvalidRequest,
    /// The conversation does not fit into the context window, or the body is too large for the endpoint.
    ContextOverflow,
    /// The input fits, but not together with the requested output. All counts are in tokens.
    OutputRoom {
        input: u64,
        max_tokens: u64,
        limit: u64,
    },
    Capability(Capability),
    Server,
    /// No connection was made.
    Connect,
    Certificate,
    /// The connection or the stream ended early.
    Dropped,
    /// Nothing arrived for this time.
    Stalled(Duration),
    /// The endpoint sent something that does not follow the protocol.
    Malformed,
    /// A success response that is not from the API: a sign-in page, a proxy, an empty body.
    Foreign,
    /// The request cannot be sent: bad URL, bad header, or a body that cannot be made small enough.
    Unsendable,
    /// A replayed conversation differs from the recorded one, or the cassette cannot be used.
    Cassette,
}

/// A feature that a server refused by name; it is disabled for the rest of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    Thinking,
    Effort,
    ContextManagement,
    CacheTtl,
    MidConversationSystem,
    StructuredOutput,
}

/// Status and headers of a failed response.
#[derive(Clone, Debug, Default)]
pub struct ResponseFacts {
    pub status: u16,
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
    pub limits: Option<Box<RateLimits>>,
    pub should_retry: Option<bool>,
    /// Set when plan-quota headers say that the quota is used up; the inner value is the reset time, if known.
    pub quota: Option<Option<String>>,
}

#[derive(Deserialize, Default)]
struct ErrorBody {
    #[serde(default)]
    error: serde_json::Value,
    request_id: Option<String>,
    message: Option<String>,
}

impl ModelError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            api_type: None,
            request_id: None,
            retry_after: None,
            should_retry: None,
            limits: None,
        }
    }

    /// The error for a response with an error status and any kind of body.
    pub fn from_response(facts: ResponseFacts, body: &[u8]) -> Self {
        let said = ErrorText::read(body);
        let message = said.message.unwrap_or_else(|| plain(body, facts.status));
        let kind = match facts.quota {
            Some(resets_at) if facts.status == 429 => ErrorKind::Quota { resets_at },
            _ => classify(facts.status, said.kind.as_deref(), &message),
        };
        Self {
            kind,
            status: Some(facts.status),
            message,
            api_type: said.kind.map(Into::into),
            request_id: facts.request_id.or(said.request_id).map(Into::into),
            retry_after: facts.retry_after,
            should_retry: facts.should_retry,
            limits: facts.limits,
        }
    }

    /// The error for the data of an `error` event inside a stream.
    pub fn from_event(data: &str) -> Self {
        let said = ErrorText::read(data.as_bytes());
        let status = said.kind.as_deref().and_then(status_of);
        let message = said.message.unwrap_or_else(|| plain(data.as_bytes(), status.unwrap_or(0)));
        let kind = classify(status.unwrap_or(500), said.kind.as_deref(), &message);
        let (api_type, request_id) = (said.kind.map(Into::into), said.request_id.map(Into::into));
        Self { status, api_type, request_id, ..Self::new(kind, message) }
    }

    pub fn dropped(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Dropped, what)
    }

    /// The error category used in SDK messages.
    pub fn category(&self) -> &'static str {
        match &self.kind {
            ErrorKind::Authentication | ErrorKind::Forbidden => "authentication_failed",
            ErrorKind::Billing | ErrorKind::Budget => "billing_error",
            ErrorKind::RateLimit | ErrorKind::Quota { .. } => "rate_limit",
            ErrorKind::Overloaded => "overloaded",
            ErrorKind::ModelNotFound => "model_not_found",
            ErrorKind::InvalidRequest
            | ErrorKind::ContextOverflow
            | ErrorKind::OutputRoom { .. }
            | ErrorKind::Capability(_)
            | ErrorKind::Unsendable => "invalid_request",
            ErrorKind::Server => "server_error",
            ErrorKind::Connect
            | ErrorKind::Certificate
            | ErrorKind::Dropped
            | ErrorKind::Stalled(_)
            | ErrorKind::Malformed
            | ErrorKind::Foreign
            | ErrorKind::Cassette => "unknown",
        }
    }

    /// What happened, in a few words, for a line that says why a request is made again.
    pub fn reason(&self) -> String {
        let status = self.status.map(|status| format!(", status {status}")).unwrap_or_default();
        match &self.kind {
            ErrorKind::Authentication | ErrorKind::Forbidden => format!("the key was refused{status}"),
            ErrorKind::RateLimit | ErrorKind::Quota { .. } => format!("too many requests{status}"),
            ErrorKind::Overloaded => format!("the service is overloaded{status}"),
            ErrorKind::Server => format!("the server has a fault{status}"),
            ErrorKind::Stalled(after) => format!("nothing arrived for {} s", after.as_secs()),
            ErrorKind::Malformed | ErrorKind::Foreign => "the answer cannot be read".into(),
            ErrorKind::Connect | ErrorKind::Certificate | ErrorKind::Dropped => {
                self.message.split_once("://").map_or(&*self.message, |(_, rest)| rest).to_owned()
            }
            ErrorKind::Billing
            | ErrorKind::ModelNotFound
            | ErrorKind::InvalidRequest
            | ErrorKind::ContextOverflow
            | ErrorKind::OutputRoom { .. }
            | ErrorKind::Capability(_)
            | ErrorKind::Unsendable
            | ErrorKind::Budget
            | ErrorKind::Cassette => self.message.clone(),
        }
    }

    /// True when the same request may succeed a little later. `x-should-retry` overrides the default, except where a
    /// retry cannot help.
    pub fn is_retryable(&self) -> bool {
        let usual = match &self.kind {
            ErrorKind::Certificate | ErrorKind::Cassette | ErrorKind::Unsendable | ErrorKind::Budget => return false,
            ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::Server
            | ErrorKind::Connect
            | ErrorKind::Dropped
            | ErrorKind::Stalled(_)
            | ErrorKind::Malformed
            | ErrorKind::Foreign => true,
            ErrorKind::InvalidRequest => matches!(self.status, Some(408 | 409)),
            ErrorKind::Authentication
            | ErrorKind::Forbidden
            | ErrorKind::Billing
            | ErrorKind::Quota { .. }
            | ErrorKind::ModelNotFound
            | ErrorKind::ContextOverflow
            | ErrorKind::OutputRoom { .. }
            | ErrorKind::Capability(_) => false,
        };
        self.should_retry.unwrap_or(usual)
    }

    /// True when the conversation must become shorter before it can be sent.
    pub fn is_context_overflow(&self) -> bool {
        self.kind == ErrorKind::ContextOverflow
    }

    pub fn capability_rejected(&self) -> Option<Capability> {
        match self.kind {
            ErrorKind::Capability(capability) => Some(capability),
            _ => None,
        }
    }

    /// True when the model or the service is down or missing, so that the next model of a fallback chain may answer.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind, ErrorKind::Overloaded | ErrorKind::Server | ErrorKind::ModelNotFound)
    }

    /// When the limit that refused the request is lifted, in milliseconds since the epoch; `None` when that is not known,
    /// or when a request waits so long by itself.
    pub fn limit_resets_at(&self, now_ms: u64) -> Option<u64> {
        let after = self.retry_after.filter(|after| *after > crate::retry::LONGEST_WAIT / 5);
        let by_header =
            || after.map(|after| now_ms.saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)));
        match &self.kind {
            ErrorKind::Quota { resets_at } => {
                let told = resets_at.as_deref().and_then(crate::limits::seconds);
                told.map(|seconds| seconds.saturating_mul(1_000)).or_else(by_header)
            }
            ErrorKind::RateLimit => by_header(),
            _ => None,
        }
    }

    /// True when the server did not answer: the failure is in the connection.
    pub fn is_transport(&self) -> bool {
        matches!(self.kind, ErrorKind::Connect | ErrorKind::Certificate | ErrorKind::Dropped | ErrorKind::Stalled(_))
    }
}

impl From<http::HttpError> for ModelError {
    fn from(error: http::HttpError) -> Self {
        let kind = match &error {
            http::HttpError::Connect(_) => ErrorKind::Connect,
            http::HttpError::Certificate(_) => ErrorKind::Certificate,
            http::HttpError::Broken(_) => ErrorKind::Dropped,
            http::HttpError::Timeout(after) => ErrorKind::Stalled(*after),
            http::HttpError::Invalid(_) => ErrorKind::Unsendable,
        };
        Self::new(kind, error.to_string())
    }
}

/// The content of an error body in any known form: the API's envelope, the same without a top-level `type`, a bare
/// `error` string, a bare `message`.
#[derive(Default)]
struct ErrorText {
    kind: Option<String>,
    message: Option<String>,
    request_id: Option<String>,
}

impl ErrorText {
    fn read(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<ErrorBody>(body) else { return Self::default() };
        let text = |key: &str| body.error.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let message = text("message").or_else(|| body.error.as_str().map(str::to_owned)).or(body.message);
        Self { kind: text("type"), message: message.filter(|m| !m.trim().is_empty()), request_id: body.request_id }
    }
}

/// What a body that is not JSON says, as one line: the title of a web page, or the beginning of a text.
fn plain(body: &[u8], status: u16) -> String {
    const KEPT: usize = 300;
    let text = String::from_utf8_lossy(&body[..body.len().min(16 * KEPT)]);
    let one_line =
        |text: &str| -> String { text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(KEPT).collect() };
    if is_web_page(&text) {
        let title = page_title(&text).map(one_line).filter(|title| !title.is_empty());
        let title = title.or_else(|| Some(one_line(&page_text(&text))).filter(|text| !text.is_empty()));
        let title = title.map(|title| format!(" (\"{title}\")")).unwrap_or_default();
        return format!("the server sent a web page{title} in place of an answer");
    }
    let short = one_line(&text);
    if short.is_empty() { format!("the server answered with status {status} and no explanation") } else { short }
}

fn is_web_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(200).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.contains("<html")
}

/// The beginning of a page's text, without its tags.
fn page_text(text: &str) -> String {
    const KEPT: usize = 80;
    let parts = text.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ").trim().chars().take(KEPT).collect()
}

fn page_title(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower[start..].find("</title>")?;
    text.get(start..end)
}

fn status_of(api_type: &str) -> Option<u16> {
    Some(match api_type {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

fn classify(status: u16, api_type: Option<&str>, message: &str) -> ErrorKind {
    let lower = message.to_ascii_lowercase();
    match (status, api_type) {
        (_, Some("overloaded_error")) | (529, _) => ErrorKind::Overloaded,
        (_, Some("exceed_context_size_error")) | (413, _) => ErrorKind::ContextOverflow,
        (_, Some("billing_error")) | (402, _) => ErrorKind::Billing,
        (401, _) => ErrorKind::Authentication,
        (403, _) => ErrorKind::Forbidden,
        (429, _) if is_quota(&lower) => ErrorKind::Quota { resets_at: None },
        (429, _) => ErrorKind::RateLimit,
        (404, _) => ErrorKind::ModelNotFound,
        (400 | 422, _) => bad_request(&lower),
        (500.., _) => ErrorKind::Server,
        _ => ErrorKind::InvalidRequest,
    }
}

fn is_quota(lower: &str) -> bool {
    ["spend limit", "spending limit", "usage limit", "out of credits", "credit balance", "out of extra usage"]
        .iter()
        .any(|words| lower.contains(words))
}

fn bad_request(lower: &str) -> ErrorKind {
    if lower.contains("credit balance") {
        return ErrorKind::Billing;
    }
    if let Some(room) = output_room(lower) {
        return room;
    }
    if ["prompt is too long", "exceeds the available context size", "maximum context length"]
        .iter()
        .any(|words| lower.contains(words))
    {
        return ErrorKind::ContextOverflow;
    }
    capability(lower).map_or(ErrorKind::InvalidRequest, ErrorKind::Capability)
}

/// Parses `input length and max_tokens exceed context limit: 188240 + 21333 > 200000, …`.
fn output_room(lower: &str) -> Option<ErrorKind> {
    let (_, rest) = lower.split_once("exceed context limit")?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    Some(ErrorKind::OutputRoom { input: next()?, max_tokens: next()?, limit: next()? })
}

fn capability(lower: &str) -> Option<Capability> {
    let named = lower.split_once("capability_rejected:").map(|(_, rest)| rest.trim_start());
    let subject = named.unwrap_or(lower);
    const WORDS: &[(&str, Capability)] = &[
        ("thinking", Capability::Thinking),
        ("signature", Capability::Thinking),
        ("role 'system'", Capability::MidConversationSystem),
        ("mid-conversation system", Capability::MidConversationSystem),
        ("mid_conversation_system", Capability::MidConversationSystem),
        ("context_management", Capability::ContextManagement),
        ("cache_control.ttl", Capability::CacheTtl),
        ("cache_ttl", Capability::CacheTtl),
        ("output_config.format", Capability::StructuredOutput),
        ("structured_output", Capability::StructuredOutput),
        ("effort", Capability::Effort),
        ("output_config", Capability::Effort),
    ];
    WORDS.iter().find(|(word, _)| subject.contains(word)).map(|(_, capability)| *capability)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
