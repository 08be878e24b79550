//! Chooses the credential of a session. The first match wins, in the documented order. Nothing here uses the network or
//! runs a helper. Values never appear in debug output.

use crate::legacy_credentials;
use crate::project::ProjectConfig;
use crate::state::GlobalState;
use serde::Deserialize;
use sys::Env;
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

#[derive(Clone, Copy, Debug, Default)]
pub struct CredentialOptions {
    /// `--bare`: no OAuth, no stored login, and a helper only from `--settings`.
    pub bare: bool,
    /// Milliseconds since the epoch, for the expiry of a stored login.
    pub now_ms: u64,
}

/// No usable credential was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCredential {
    #[error(
        "No API key was found. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a gateway), run `gimlet auth \
         login`, or name an apiKeyHelper in your settings. To see gimlet at work without a key, run `gimlet demo`."
    )]
    Missing,
    /// Names what was found and not used.
    #[error("{missing} {0}", missing = NoCredential::Missing)]
    Unusable(String),
    #[error(
        "The stored login has expired, and gimlet cannot renew it. Sign in again with the program that stored it, set \
         ANTHROPIC_API_KEY, or run `gimlet auth login` to store an API key."
    )]
    Expired,
    #[error("The stored API key has expired. Run `gimlet auth login` to store a new one.")]
    KeyExpired,
    #[error(
        "Your administrator requires a login ({0}), so keys and tokens of the environment or of a helper are not used. \
         Unset them, or ask your administrator."
    )]
    LoginRequired(&'static str),
}

/// Chooses the credential. `env` is the environment of the session, including the `env` of the settings.
pub fn resolve(env: &Env, loaded: &ProjectConfig, options: CredentialOptions) -> Result<Credential, NoCredential> {
    if let Some(key) = required_login(loaded)
        && (env.get("ANTHROPIC_AUTH_TOKEN").is_some()
            || env.non_empty("ANTHROPIC_API_KEY").is_some()
            || env.non_empty(legacy_credentials::VARIABLE).is_some()
            || loaded.helper.is_some())
    {
        return Err(NoCredential::LoginRequired(key));
    }
    // An empty token counts too: the user says that the gateway adds the credential.
    if let Some(token) = env.get("ANTHROPIC_AUTH_TOKEN") {
        return Ok(Credential::AuthToken(CredentialSecret::new(token)));
    }
    if let Some(key) = env.non_empty("ANTHROPIC_API_KEY") {
        return Ok(Credential::ApiKey(CredentialSecret::new(key)));
    }
    let from_flag = |source| matches!(source, SettingsSource::Flag | SettingsSource::Managed);
    if let Some(helper) = loaded.helper.as_ref().filter(|helper| !options.bare || from_flag(helper.source)) {
        return Ok(Credential::Helper { command: helper.command.clone(), source: helper.source });
    }
    if options.bare {
        return legacy_credentials::variable(env).ok_or(NoCredential::Missing);
    }
    if let Some(token) = env.non_empty("CLAUDE_CODE_OAUTH_TOKEN") {
        return Ok(Credential::OauthToken(CredentialSecret::new(token)));
    }
    stored(env, options.now_ms)
}

/// The policy key that requires a login.
fn required_login(loaded: &ProjectConfig) -> Option<&'static str> {
    let policy = |key: &&str| {
        loaded.layers.iter().any(|layer| layer.source == SettingsSource::Managed && layer.effective.contains_key(*key))
    };
    ["forceLoginOrgUUID", "forceLoginMethod"].into_iter().find(policy)
}

/// `ANTHROPIC_BASE_URL`, without a trailing slash.
pub fn base_url(env: &Env) -> Option<&str> {
    env.non_empty("ANTHROPIC_BASE_URL").map(|url| url.trim().trim_end_matches('/'))
}

fn stored(env: &Env, now_ms: u64) -> Result<Credential, NoCredential> {
    let login = stored_login(env);
    let expired = login.as_ref().is_some_and(|login| login.is_expired(now_ms));
    if let Some(login) = login.filter(|_| !expired) {
        return Ok(Credential::Login {
            access_token: CredentialSecret::new(login.access_token),
            expires_at: login.expires_at,
        });
    }
    let key = crate::credential_store::stored_key(env);
    let key_expired = key.as_ref().is_some_and(|key| key.expires_at.is_some_and(|at| at <= now_ms));
    if let Some(key) = key.filter(|_| !key_expired) {
        return Ok(Credential::StoredKey(key.key));
    }
    if let Some(key) = GlobalState::read(env).primary_api_key() {
        return Ok(Credential::StoredKey(CredentialSecret::new(key)));
    }
    let older = legacy_credentials::find(env, now_ms);
    match (older.credential, expired, key_expired) {
        (Some(credential), ..) => Ok(credential),
        (None, true, _) => Err(NoCredential::Expired),
        (None, false, true) => Err(NoCredential::KeyExpired),
        (None, false, false) => Err(older.unused.map_or(NoCredential::Missing, NoCredential::Unusable)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialsFile {
    claude_ai_oauth: Option<StoredLogin>,
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

fn stored_login(env: &Env) -> Option<StoredLogin> {
    let text = crate::credential_store::contents(env)?;
    let login = serde_json::from_str::<CredentialsFile>(&text).ok()?.claude_ai_oauth?;
    login.is_usable().then_some(login)
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
