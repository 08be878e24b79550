//! Chooses the credential of a session. The first match wins, in the documented order. Nothing here uses the network or
//! runs a helper. Values never appear in debug output.

use crate::credential_kinds::StoredLogin;
use crate::legacy_credentials;
use crate::project::ProjectConfig;
use crate::state::GlobalState;
use serde::Deserialize;
use sys::Env;
use wire::settings::SettingsSource;

pub use crate::credential_kinds::{Credential, CredentialSecret};

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
         login`, or name an apiKeyHelper in your settings. To try gimlet without a key, run `gimlet demo`."
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

fn stored_login(env: &Env) -> Option<StoredLogin> {
    let text = crate::credential_store::contents(env)?;
    let login = serde_json::from_str::<CredentialsFile>(&text).ok()?.claude_ai_oauth?;
    login.is_usable().then_some(login)
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
