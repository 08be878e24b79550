//! The OAuth client: one the user registered, a document at a known address, or one registered dynamically; and how
//! the client authenticates at the token endpoint.

use super::AuthError;
use super::discovery::{AuthEndpoints, DiscoveredAuth};
use super::exchange::{AuthAnswer, form, json, origin};
use super::stored::TokenEntry;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Http;
use serde_json::{Value, json};
use url::Url;

#[derive(Clone, Debug)]
pub(super) struct OauthClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: ClientAuthMethod,
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuthMethod {
    None,
    Basic,
    Post,
}

impl ClientAuthMethod {
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

    /// The method to use with or without a secret; `offered` lists the methods of the server, empty means unknown.
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

/// The client settings of the user.
pub(super) struct ConfiguredClient<'a> {
    pub(super) client_id: Option<&'a str>,
    pub(super) client_secret: Option<&'a str>,
    /// The address of a client metadata document.
    pub(super) document: Option<&'a str>,
}

impl OauthClient {
    pub(super) async fn obtain(
        http: &Http,
        found: &DiscoveredAuth,
        configured: &ConfiguredClient<'_>,
        redirect: &str,
    ) -> Result<Self, AuthError> {
        let offered = &found.server.methods;
        if let Some(id) = configured.client_id {
            let secret = configured.client_secret.map(str::to_owned);
            let method = ClientAuthMethod::choose(offered, secret.is_some());
            return Ok(Self { id: id.to_owned(), secret, method });
        }
        if let Some(document) = configured.document.filter(|_| found.server.takes_documents) {
            return Ok(Self { id: document.to_owned(), secret: None, method: ClientAuthMethod::None });
        }
        register(http, &found.server, redirect).await
    }

    pub(super) fn from_entry(entry: &TokenEntry) -> Option<Self> {
        let secret = entry.client_secret.clone().or_else(|| entry.own_client_secret.clone());
        let method = entry.auth_method.as_deref().and_then(ClientAuthMethod::parse).unwrap_or(ClientAuthMethod::None);
        Some(Self { id: entry.client_id.clone()?, secret, method })
    }

    /// Sends a request to the token endpoint.
    pub(super) async fn token(
        &self,
        http: &Http,
        endpoint: &Url,
        fields: &[(&str, &str)],
    ) -> Result<AuthAnswer, AuthError> {
        let mut fields = fields.to_vec();
        let mut authorization = None;
        match (self.method, self.secret.as_deref()) {
            (ClientAuthMethod::Basic, Some(secret)) => {
                let pair = format!("{}:{}", encode(&self.id), encode(secret));
                authorization = Some(format!("Basic {}", STANDARD.encode(pair)));
            }
            (ClientAuthMethod::Post, Some(secret)) => {
                fields.extend([("client_id", self.id.as_str()), ("client_secret", secret)]);
            }
            (ClientAuthMethod::None | ClientAuthMethod::Basic | ClientAuthMethod::Post, _) => {
                fields.push(("client_id", &self.id));
            }
        }
        form(http, endpoint, &fields, authorization).await
    }
}

/// RFC 6749 requires id and secret to be form-encoded before they are joined.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn register(http: &Http, server: &AuthEndpoints, redirect: &str) -> Result<OauthClient, AuthError> {
    let Some(endpoint) = &server.registration else { return Err(AuthError::NoRegistration) };
    let offers =
        |method: ClientAuthMethod| server.methods.is_empty() || server.methods.iter().any(|name| name == method.name());
    let wanted = [ClientAuthMethod::None, ClientAuthMethod::Basic, ClientAuthMethod::Post]
        .into_iter()
        .find(|m| offers(*m))
        .unwrap_or(ClientAuthMethod::None);
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
    let told = text("token_endpoint_auth_method").as_deref().and_then(ClientAuthMethod::parse);
    let method = told.unwrap_or_else(|| ClientAuthMethod::choose(&server.methods, secret.is_some()));
    Ok(OauthClient { id, secret, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_used_the_way_that_is_offered() {
        let offered = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        for (names, has_secret, method) in [
            (&[][..], true, ClientAuthMethod::Basic),
            (&["client_secret_post"], true, ClientAuthMethod::Post),
            (&["client_secret_post", "client_secret_basic"], true, ClientAuthMethod::Basic),
            (&["none"], true, ClientAuthMethod::None),
            (&["client_secret_basic"], false, ClientAuthMethod::None),
        ] {
            assert_eq!(ClientAuthMethod::choose(&offered(names), has_secret), method, "{names:?}");
        }
        assert_eq!(encode("a b:c/ü"), "a+b%3Ac%2F%C3%BC");
    }
}
