//! Who we are to an authorization server: a client the user registered, a document at a known address, or one registered on
//! the spot; and how that client proves itself at the token endpoint.

use super::AuthError;
use super::discovery::{Discovered, Endpoints};
use super::exchange::{Answer, form, json, origin};
use super::stored::Entry;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Http;
use serde_json::{Value, json};
use url::Url;

#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: Method,
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    None,
    Basic,
    Post,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post].into_iter().find(|method| method.name() == text)
    }

    /// What to use with a secret, or without one, where these are offered.
    fn choose(offered: &[String], has_secret: bool) -> Self {
        let offers = |method: Self| offered.iter().any(|name| name == method.name());
        if !has_secret {
            return Self::None;
        }
        if offered.is_empty() || offers(Self::Basic) {
            return Self::Basic;
        }
        if offers(Self::Post) { Self::Post } else { Self::None }
    }
}

/// What the user configured about clients.
pub(super) struct Configured<'a> {
    pub(super) client_id: Option<&'a str>,
    pub(super) client_secret: Option<&'a str>,
    /// The address of a client document.
    pub(super) document: Option<&'a str>,
}

impl Client {
    pub(super) async fn obtain(
        http: &Http,
        found: &Discovered,
        configured: &Configured<'_>,
        redirect: &str,
    ) -> Result<Self, AuthError> {
        let offered = &found.server.methods;
        if let Some(id) = configured.client_id {
            let secret = configured.client_secret.map(str::to_owned);
            let method = Method::choose(offered, secret.is_some());
            return Ok(Self { id: id.to_owned(), secret, method });
        }
        if let Some(document) = configured.document.filter(|_| found.server.takes_documents) {
            return Ok(Self { id: document.to_owned(), secret: None, method: Method::None });
        }
        register(http, &found.server, redirect).await
    }

    pub(super) fn from_entry(entry: &Entry) -> Option<Self> {
        let secret = entry.client_secret.clone().or_else(|| entry.own_client_secret.clone());
        let method = entry.auth_method.as_deref().and_then(Method::parse).unwrap_or(Method::None);
        Some(Self { id: entry.client_id.clone()?, secret, method })
    }

    /// A request to the token endpoint.
    pub(super) async fn token(
        &self,
        http: &Http,
        endpoint: &Url,
        fields: &[(&str, &str)],
    ) -> Result<Answer, AuthError> {
        let mut fields = fields.to_vec();
        let mut authorization = None;
        match (self.method, self.secret.as_deref()) {
            (Method::Basic, Some(secret)) => {
                let pair = format!("{}:{}", encode(&self.id), encode(secret));
                authorization = Some(format!("Basic {}", STANDARD.encode(pair)));
            }
            (Method::Post, Some(secret)) => fields.extend([("client_id", self.id.as_str()), ("client_secret", secret)]),
            (Method::None | Method::Basic | Method::Post, _) => fields.push(("client_id", &self.id)),
        }
        form(http, endpoint, &fields, authorization).await
    }
}

/// As RFC 6749 wants both halves before they are joined.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn register(http: &Http, server: &Endpoints, redirect: &str) -> Result<Client, AuthError> {
    let Some(endpoint) = &server.registration else { return Err(AuthError::NoRegistration) };
    let offers = |method: Method| server.methods.is_empty() || server.methods.iter().any(|name| name == method.name());
    let wanted = [Method::None, Method::Basic, Method::Post].into_iter().find(|m| offers(*m)).unwrap_or(Method::None);
    let request = json!({
        "client_name": "gimlet",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.name(),
        "application_type": "native",
    });
    let answer = json(http, endpoint, &request).await?;
    let what = || format!("registration at {}", origin(endpoint));
    if !(200..300).contains(&answer.status) {
        return Err(AuthError::Answered { what: what(), status: answer.status, detail: answer.error() });
    }
    let text = |name: &str| answer.body.get(name).and_then(Value::as_str).map(str::to_owned);
    let id =
        text("client_id").ok_or_else(|| AuthError::Malformed { what: what(), why: "client_id is missing".into() })?;
    let secret = text("client_secret").filter(|secret| !secret.is_empty());
    let told = text("token_endpoint_auth_method").as_deref().and_then(Method::parse);
    let method = told.unwrap_or_else(|| Method::choose(&server.methods, secret.is_some()));
    Ok(Client { id, secret, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_used_the_way_that_is_offered() {
        let offered = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        for (names, has_secret, method) in [
            (&[][..], true, Method::Basic),
            (&["client_secret_post"], true, Method::Post),
            (&["client_secret_post", "client_secret_basic"], true, Method::Basic),
            (&["none"], true, Method::None),
            (&["client_secret_basic"], false, Method::None),
        ] {
            assert_eq!(Method::choose(&offered(names), has_secret), method, "{names:?}");
        }
        assert_eq!(encode("a b:c/ü"), "a+b%3Ac%2F%C3%BC");
    }
}
