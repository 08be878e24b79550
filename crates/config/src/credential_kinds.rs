//! The kinds of credentials, and a login as programs store it. Values never appear in debug output.

use serde::Deserialize;
use wire::settings::SettingsSource;

/// A credential value. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialSecret(String);

impl CredentialSecret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself: only for a request header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for CredentialSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What to send, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `ANTHROPIC_AUTH_TOKEN`: `Authorization: Bearer` only.
    AuthToken(CredentialSecret),
    /// `ANTHROPIC_API_KEY`: `x-api-key` only.
    ApiKey(CredentialSecret),
    /// `apiKeyHelper`: run it, send its output as both headers.
    Helper { command: String, source: SettingsSource },
    /// `CLAUDE_CODE_OAUTH_TOKEN`: bearer and the OAuth beta; never replaced on a 401.
    OauthToken(CredentialSecret),
    /// A stored subscription login: bearer and the OAuth beta.
    Login { access_token: CredentialSecret, expires_at: Option<u64> },
    /// A stored console key: `x-api-key`.
    StoredKey(CredentialSecret),
    /// A key that another program stored, and where: `x-api-key`.
    OlderKey { key: CredentialSecret, source: &'static str },
}

impl Credential {
    /// Whether it belongs to a subscription, which includes the long life of the prompt cache.
    pub fn is_subscription(&self) -> bool {
        matches!(self, Self::Login { .. } | Self::OauthToken(_))
    }

    /// `apiKeySource` of `system/init`.
    pub fn api_key_source(&self) -> &'static str {
        match self {
            Self::ApiKey(_) => "ANTHROPIC_API_KEY",
            Self::Helper { .. } => "apiKeyHelper",
            Self::StoredKey(_) => "/login managed key",
            Self::OlderKey { source, .. } => source,
            Self::AuthToken(_) | Self::OauthToken(_) | Self::Login { .. } => "none",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredLogin {
    pub(crate) access_token: String,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "expiry")]
    pub(crate) expires_at: Option<u64>,
    #[serde(default)]
    scopes: Option<LoginScopes>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LoginScopes {
    List(Vec<String>),
    /// Separated by spaces, as token servers send them.
    Text(String),
}

impl StoredLogin {
    /// True when the token may be used for model requests. A token without scopes may.
    pub(crate) fn is_usable(&self) -> bool {
        let may = match &self.scopes {
            None => true,
            Some(LoginScopes::List(scopes)) => scopes.iter().any(|scope| scope == INFERENCE_SCOPE),
            Some(LoginScopes::Text(scopes)) => scopes.split_whitespace().any(|scope| scope == INFERENCE_SCOPE),
        };
        may && !self.access_token.is_empty()
    }

    pub(crate) fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at.is_some_and(|at| at <= now_ms)
    }
}

const INFERENCE_SCOPE: &str = "user:inference";

/// Milliseconds or an ISO date; `None` for anything else.
fn expiry<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(from)?;
    Ok(value.as_ref().and_then(expiry_of))
}

/// The expiry as other programs write it: milliseconds, or an ISO date with or without a time.
pub(crate) fn expiry_of(value: &serde_json::Value) -> Option<u64> {
    if let Some(ms) = value.as_u64() {
        return Some(ms);
    }
    if let Some(ms) = value.as_f64().filter(|ms| *ms >= 0.0) {
        return Some(ms as u64);
    }
    let text = value.as_str()?.trim();
    let ms = text.parse::<u64>().ok();
    ms.or_else(|| sys::clock::parse_iso(text)).or_else(|| sys::clock::parse_iso(&format!("{text}T00:00:00Z")))
}
