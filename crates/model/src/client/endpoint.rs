//! The address of requests, their credential, and time limits.

use crate::error::{ErrorKind, ModelError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;

/// A credential. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthSecret(Arc<str>);

impl AuthSecret {
    pub fn new(value: &str) -> Self {
        Self(value.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AuthSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Clone, Debug)]
pub enum RequestAuth {
    /// `x-api-key`
    ApiKey(AuthSecret),
    /// `Authorization: Bearer`
    Bearer(AuthSecret),
    /// The token of a login: `Authorization: Bearer` and the beta header it needs.
    Oauth(AuthSecret),
    /// The value of a helper command: sent in both headers.
    Both(AuthSecret),
    None,
}

impl RequestAuth {
    pub fn secret(&self) -> Option<&AuthSecret> {
        match self {
            Self::ApiKey(secret) | Self::Bearer(secret) | Self::Oauth(secret) | Self::Both(secret) => Some(secret),
            Self::None => None,
        }
    }

    fn headers(&self) -> Vec<(String, String)> {
        let key = |s: &AuthSecret| ("x-api-key".to_owned(), s.expose().to_owned());
        let bearer = |s: &AuthSecret| ("authorization".to_owned(), format!("Bearer {}", s.expose()));
        match self {
            Self::ApiKey(secret) => vec![key(secret)],
            Self::Bearer(secret) | Self::Oauth(secret) => vec![bearer(secret)],
            Self::Both(secret) => vec![key(secret), bearer(secret)],
            Self::None => Vec::new(),
        }
    }
}

#[derive(Clone)]
pub struct Endpoint {
    /// Without a trailing slash.
    pub base_url: String,
    pub auth: RequestAuth,
    /// Added to every request; they replace headers of the same name.
    pub custom_headers: Vec<(String, String)>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.custom_headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("base_url", &without_userinfo(&self.base_url))
            .field("auth", &self.auth)
            .field("custom_headers", &names)
            .finish()
    }
}

const BETA_HEADER: &str = "anthropic-beta";
/// Required in requests with the token of a login.
const OAUTH_BETA: &str = "oauth-2025-04-20";
/// Shorter values, in bytes, are not treated as secrets; real keys are much longer.
const SHORTEST_SECRET: usize = 8;
pub const FIRST_PARTY: &str = "https://api.anthropic.com";

const FIRST_PARTY_HOST: &str = "api.anthropic.com";

/// True when the host of this address is exactly the first party's, not a name that contains it.
pub fn is_first_party(base_url: &str) -> bool {
    http::host_of(base_url).is_some_and(|host| host == FIRST_PARTY_HOST)
}

impl Endpoint {
    /// `ANTHROPIC_BASE_URL` and `ANTHROPIC_CUSTOM_HEADERS`.
    pub fn from_env(env: &Env, auth: RequestAuth) -> Self {
        let base_url = env.non_empty("ANTHROPIC_BASE_URL").unwrap_or(FIRST_PARTY).trim().trim_end_matches('/');
        let custom = env.get("ANTHROPIC_CUSTOM_HEADERS").unwrap_or_default();
        Self { base_url: base_url.to_owned(), auth, custom_headers: custom_headers(custom) }
    }

    /// Fails when the base URL is not the address of a server.
    pub fn check(&self) -> Result<(), ModelError> {
        let url = &self.base_url;
        // A query may contain a secret.
        let shown = url.split(['?', '#']).next().unwrap_or(url);
        let why = match http::check_url(url) {
            Ok(()) if url.contains(['?', '#']) => "it has a query or a fragment".to_owned(),
            Ok(()) => return Ok(()),
            Err(http::HttpError::Invalid(why)) => why,
            Err(other) => other.to_string(),
        };
        let local = ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|name| url.starts_with(name));
        let advice = if url.contains("://") || url.starts_with("http") {
            "Use an address such as https://gateway.example.com.".to_owned()
        } else {
            format!("Did you mean {}://{shown}?", if local { "http" } else { "https" })
        };
        Err(ModelError::new(
            ErrorKind::Unsendable,
            format!("ANTHROPIC_BASE_URL is not the address of a server: {shown} ({why}). {advice}"),
        ))
    }

    pub fn is_first_party(&self) -> bool {
        is_first_party(&self.base_url)
    }

    /// All headers: `base` first, then the credential, then the user's custom headers.
    pub(super) fn headers(
        &self,
        base: Vec<(String, String)>,
        auth: &RequestAuth,
    ) -> Result<Vec<(String, String)>, ModelError> {
        let mut all = base;
        all.extend(auth.headers());
        if matches!(auth, RequestAuth::Oauth(_)) {
            add_beta(&mut all, OAUTH_BETA);
        }
        for (name, value) in &self.custom_headers {
            all.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
            all.push((name.clone(), value.clone()));
        }
        match all.iter().find(|(name, value)| !is_token(name) || !value.bytes().all(sendable)) {
            Some((name, _)) => Err(ModelError::new(
                ErrorKind::Unsendable,
                format!(
                    "the header `{name}` has characters that cannot be sent; check the credential or ANTHROPIC_CUSTOM_HEADERS"
                ),
            )),
            None => Ok(all),
        }
    }

    /// The credential for the model list: exactly one header.
    pub(super) fn single_auth(&self) -> RequestAuth {
        match &self.auth {
            RequestAuth::Both(secret) => RequestAuth::ApiKey(secret.clone()),
            other => other.clone(),
        }
    }

    /// Values that must never be shown. Very short values are excluded, because masking them would remove those letters
    /// from every text.
    pub fn secrets(&self) -> Vec<AuthSecret> {
        let custom = self.custom_headers.iter().map(|(_, v)| AuthSecret::new(v));
        let all = self.auth.secret().cloned().into_iter().chain(custom);
        all.filter(|secret| secret.expose().len() >= SHORTEST_SECRET).collect()
    }

    /// Removes secrets from an error message that may quote them.
    pub(super) fn mask_secrets(&self, mut error: ModelError) -> ModelError {
        for secret in self.secrets() {
            if error.message.contains(secret.expose()) {
                error.message = error.message.replace(secret.expose(), "[redacted]");
            }
        }
        error.message = without_userinfo(&error.message);
        error
    }
}

/// Adds a beta to the header, which is created if it does not exist.
fn add_beta(headers: &mut Vec<(String, String)>, beta: &str) {
    match headers.iter_mut().find(|(name, _)| name == BETA_HEADER) {
        Some((_, named)) if named.split(',').any(|name| name.trim() == beta) => {}
        Some((_, named)) => *named = format!("{named},{beta}"),
        None => headers.push((BETA_HEADER.to_owned(), beta.to_owned())),
    }
}

/// Parses lines of the form `Name: value`.
fn custom_headers(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn sendable(byte: u8) -> bool {
    byte == b'\t' || (b' '..=b'~').contains(&byte)
}

/// Replaces `scheme://user:password@host` with `scheme://host` everywhere in the text.
fn without_userinfo(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("://");
        let authority = part.find(['/', ' ', '?', ')', '"']).unwrap_or(part.len());
        let host = part[..authority].rfind('@').map_or(0, |at| at + 1);
        out.push_str(&part[host..]);
    }
    out
}

/// Time limits. `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Until the response headers have arrived.
    pub headers: Duration,
    /// Between bytes; pings count as bytes.
    pub bytes: Option<Duration>,
    /// Between events; pings are not counted.
    pub events: Option<Duration>,
}

const EVENT_SILENCE_MS: u64 = 300_000;
/// Shortens both stream limits below the user's minimum; for tests only.
const SILENCE_VARIABLE: &str = "GIMLET_STREAM_SILENCE_MS";

impl ModelTimeouts {
    pub fn from_env(env: &Env, endpoint: &Endpoint) -> Self {
        let ms = Duration::from_millis;
        let headers = env.number::<u64>("API_TIMEOUT_MS").filter(|n| *n > 0).unwrap_or(600_000).min(2_147_483_647);
        let both = env.number::<u64>("CLAUDE_STREAM_IDLE_TIMEOUT_MS").map(|n| n.max(EVENT_SILENCE_MS));
        let default_bytes = if endpoint.is_first_party() { 180_000 } else { 300_000 };
        let named = env.number::<u64>("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS").map(|n| n.clamp(10_000, 1_800_000));
        let on = |name: &str| env.flag(name) != Some(false);
        let short = env.number::<u64>(SILENCE_VARIABLE).unwrap_or(u64::MAX);
        let bytes = named.or(both).unwrap_or(default_bytes).min(short);
        let events = both.unwrap_or(EVENT_SILENCE_MS).min(short);
        Self {
            headers: ms(headers),
            bytes: on("CLAUDE_ENABLE_BYTE_WATCHDOG").then(|| ms(bytes)),
            events: on("CLAUDE_ENABLE_STREAM_WATCHDOG").then(|| ms(events)),
        }
    }
}
