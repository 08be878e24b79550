//! Small HTTP exchanges with authorization servers: limited in time and size, without cookies. Redirects are
//! followed only for documents, and only to addresses that pass the same check as the first.

use super::AuthError;
use bytes::Bytes;
use http::{Http, HttpMethod, HttpRequest, HttpResponse};
use serde_json::{Map, Value};
use std::time::Duration;
use url::Url;

const TIMEOUT: Duration = Duration::from_secs(15);
const MAX_BODY_BYTES: usize = 256 * 1024;
const MAX_REDIRECTS: usize = 3;

/// An answer of an authorization server.
pub(super) struct AuthAnswer {
    pub(super) status: u16,
    pub(super) body: Map<String, Value>,
}

impl AuthAnswer {
    /// The OAuth error as `error: description`. No other part of a body is repeated in messages.
    pub(super) fn error(&self) -> String {
        let text = |name: &str| self.body.get(name).and_then(Value::as_str);
        match (text("error"), text("error_description")) {
            (Some(error), Some(why)) => format!("{error}: {}", short(why)),
            (Some(error), None) => short(error),
            (None, _) => String::new(),
        }
    }
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Whether credentials may be sent to `url`. `plain` is true when the user configured an unencrypted server.
pub(super) fn check_safe(url: &Url, plain: bool) -> Result<(), AuthError> {
    let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let why = match url.scheme() {
        "https" => None,
        "http" if local || plain => None,
        "http" => Some("it is not encrypted"),
        _ => Some("it is not a web address"),
    };
    let why = why.or((!url.username().is_empty() || url.password().is_some()).then_some("it carries a user name"));
    why.map_or(Ok(()), |why| Err(AuthError::Address { url: origin(url), why }))
}

pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

pub(super) fn parse(text: &str) -> Result<Url, AuthError> {
    Url::parse(text).map_err(|_| AuthError::Address { url: short(text), why: "it is not a web address" })
}

/// Fetches a metadata document; `None` when there is none at that address.
pub(super) async fn document(http: &Http, url: &Url, plain: bool) -> Result<Option<Map<String, Value>>, AuthError> {
    let mut url = url.clone();
    for _ in 0..=MAX_REDIRECTS {
        check_safe(&url, plain)?;
        let headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("mcp-protocol-version".to_owned(), super::probe::PROTOCOL.to_owned()),
        ];
        let request =
            HttpRequest { method: HttpMethod::Get, url: url.to_string(), headers, body: Vec::new(), timeout: TIMEOUT };
        let response = send(http, request).await?;
        let status = response.status();
        if (300..400).contains(&status) {
            let Some(next) = response.header("location").and_then(|to| url.join(to).ok()) else { return Ok(None) };
            url = next;
            continue;
        }
        if status >= 500 {
            return Err(AuthError::Answered { what: origin(&url), status, detail: String::new() });
        }
        let answer = read(response, &origin(&url)).await?;
        return Ok(((200..300).contains(&status) && !answer.body.is_empty()).then_some(answer.body));
    }
    Ok(None)
}

/// Posts a form, as token endpoints require.
pub(super) async fn form(
    http: &Http,
    url: &Url,
    fields: &[(&str, &str)],
    authorization: Option<String>,
) -> Result<AuthAnswer, AuthError> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    post(http, url, ("application/x-www-form-urlencoded", body), authorization).await
}

pub(super) async fn json(http: &Http, url: &Url, value: &Value) -> Result<AuthAnswer, AuthError> {
    post(http, url, ("application/json", value.to_string()), None).await
}

async fn post(
    http: &Http,
    url: &Url,
    (kind, body): (&str, String),
    authorization: Option<String>,
) -> Result<AuthAnswer, AuthError> {
    let mut headers =
        vec![("accept".to_owned(), "application/json".to_owned()), ("content-type".to_owned(), kind.to_owned())];
    headers.extend(authorization.map(|value| ("authorization".to_owned(), value)));
    let body = vec![Bytes::from(body)];
    let request = HttpRequest { method: HttpMethod::Post, url: url.to_string(), headers, body, timeout: TIMEOUT };
    read(send(http, request).await?, &origin(url)).await
}

pub(super) async fn send(http: &Http, request: HttpRequest) -> Result<HttpResponse, AuthError> {
    let what = Url::parse(&request.url).map_or_else(|_| "the server".to_owned(), |url| origin(&url));
    http.send(request).await.map_err(|error| AuthError::Unreachable { what, error })
}

/// Reads the answer; a body that is not a JSON object counts as empty.
async fn read(response: HttpResponse, what: &str) -> Result<AuthAnswer, AuthError> {
    let status = response.status();
    let unreachable = |error| AuthError::Unreachable { what: what.to_owned(), error };
    let body = tokio::time::timeout(TIMEOUT, response.bytes(MAX_BODY_BYTES)).await;
    let (bytes, _) = body.map_err(|_| unreachable(http::HttpError::Timeout(TIMEOUT)))?.map_err(unreachable)?;
    Ok(AuthAnswer { status, body: serde_json::from_slice(&bytes).unwrap_or_default() })
}
