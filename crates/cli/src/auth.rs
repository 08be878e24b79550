//! `auth login|logout|status`: stores, removes and shows the credentials a session would use. Never prints one, and
//! reads one only from a terminal without echo or from standard input, where no process list shows it.

use config::{
    ConfigLoader, Credential, CredentialOptions, GlobalState, NoCredential, SettingsSelection, credential_store,
};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use sys::Env;

const USAGE: &str = "Usage: gimlet auth login [--expires-in-days N]   store an API key (typed, or on standard input)
       gimlet auth logout                        delete stored credentials
       gimlet auth status [--json|--text]        show which credentials are used";
const MAX_KEY: u64 = 16_384;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Returns the text to print and the exit code; an error is a wrong command line or a failure to store.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let words: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["status", flags @ ..] => status(flags, env),
        ["logout"] => match credential_store::forget(env) {
            Ok(true) => Ok(("Stored credentials deleted.".into(), 0)),
            Ok(false) => Ok(("No credentials were stored.".into(), 0)),
            Err(error) => Err(format!("Error: {error}")),
        },
        ["login", flags @ ..] => login(flags, env),
        _ => Err(USAGE.into()),
    }
}

fn login(flags: &[&str], env: &Env) -> Result<(String, u8), String> {
    let mut expires_at = None;
    match flags {
        [] | ["--console"] => {}
        ["--expires-in-days", days] => {
            let days: u64 = days.parse().map_err(|_| USAGE.to_owned())?;
            expires_at = Some(sys::clock::now_ms().saturating_add(days.saturating_mul(DAY_MS)));
        }
        ["--sso" | "--email", ..] => {
            return Err("Error: gimlet stores API keys only; run `gimlet auth login` and paste one".into());
        }
        _ => return Err(USAGE.into()),
    }
    let key = read_key()?;
    let usable = !key.is_empty() && key.len() as u64 <= MAX_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
    if !usable {
        return Err("Error: that is not an API key: one line of printable ASCII is expected. Nothing was stored".into());
    }
    let file = credential_store::store_key(env, &key, expires_at).map_err(|error| format!("Error: {error}"))?;
    let mut text = format!("Key saved in {}, readable only by you.", file.display());
    for name in ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"] {
        if env.get(name).is_some() {
            write!(text, "\nNote: {name} is set and is used instead of it.").ok();
        }
    }
    Ok((text, 0))
}

fn read_key() -> Result<String, String> {
    if std::io::stdin().is_terminal() {
        return sys::terminal::read_secret("API key (not shown): ")
            .map_err(|error| format!("Error: the terminal could not be read: {error}"));
    }
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_KEY + 2)
        .read_to_string(&mut text)
        .map_err(|error| format!("Error: standard input could not be read: {error}"))?;
    Ok(text.trim().to_owned())
}

fn status(flags: &[&str], env: &Env) -> Result<(String, u8), String> {
    let mut as_text = false;
    for flag in flags {
        match *flag {
            "--json" => as_text = false,
            "--text" => as_text = true,
            _ => return Err(format!("error: unknown option '{flag}'")),
        }
    }
    let found = discover(env);
    let text = if as_text { found.text() } else { found.json(env) };
    Ok((text, u8::from(found.method.is_none())))
}

struct AuthStatus {
    /// The name in the JSON output; `None`: not signed in.
    method: Option<&'static str>,
    /// Where the credential comes from, for people.
    source: &'static str,
    provider: &'static str,
    expires_at: Option<u64>,
    /// Why there is no credential, or what may surprise the user.
    note: Option<String>,
}

impl AuthStatus {
    fn json(&self, env: &Env) -> String {
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
        put("loggedIn", self.method.is_some().into());
        put("authMethod", self.method.unwrap_or("none").into());
        put("apiProvider", self.provider.into());
        put("apiKeySource", self.key_source().into());
        let layout = store::StoreLayout::new(env);
        put("configDirectory", layout.home().display().to_string().into());
        put("projectsDirectory", layout.projects().display().to_string().into());
        // gimlet sends no analytics.
        put("analyticsDisabled", true.into());
        let state = GlobalState::read(env);
        if self.method == Some("claude.ai") {
            let names = [("email", "emailAddress"), ("orgId", "organizationUuid"), ("orgName", "organizationName")];
            for (name, stored) in names {
                if let Some(value) = state.account(stored) {
                    put(name, value.into());
                }
            }
        }
        if let Some(at) = self.expires_at {
            put("expiresAt", at.into());
            put("loginExpiresAt", at.into());
        }
        if let Some(note) = &self.note {
            put("note", note.as_str().into());
        }
        Value::Object(out).to_string()
    }

    /// The value that `system/init` reports.
    fn key_source(&self) -> &'static str {
        match (self.method, self.source) {
            (Some("api_key"), "ANTHROPIC_API_KEY") => "ANTHROPIC_API_KEY",
            (Some("api_key_helper"), _) => "apiKeyHelper",
            (Some("api_key"), _) => "/login managed key",
            _ => "none",
        }
    }

    fn text(&self) -> String {
        let mut text = match self.method {
            Some(_) => format!("Signed in: {}", self.source),
            None => {
                "Not signed in. Set ANTHROPIC_API_KEY, run `gimlet auth login`, or try `gimlet demo`, which needs no \
                     key."
                    .into()
            }
        };
        if let Some(at) = self.expires_at {
            write!(text, "\nValid until {}", sys::clock::iso(at)).ok();
        }
        if let Some(note) = &self.note {
            write!(text, "\nNote: {note}").ok();
        }
        text
    }
}

fn discover(env: &Env) -> AuthStatus {
    let provider = provider(env);
    let mut found = AuthStatus { method: None, source: "", provider, expires_at: None, note: None };
    if provider != "firstParty" {
        (found.method, found.source) = (Some("third_party"), "the cloud provider's own credentials");
        return found;
    }
    match credential(env) {
        Ok(Credential::AuthToken(_)) => (found.method, found.source) = (Some("auth_token"), "ANTHROPIC_AUTH_TOKEN"),
        Ok(Credential::ApiKey(_)) => (found.method, found.source) = (Some("api_key"), "ANTHROPIC_API_KEY"),
        Ok(Credential::Helper { .. }) => {
            (found.method, found.source) = (Some("api_key_helper"), "apiKeyHelper of the settings");
        }
        Ok(Credential::OauthToken(_)) => {
            (found.method, found.source) = (Some("oauth_token"), "CLAUDE_CODE_OAUTH_TOKEN");
        }
        Ok(Credential::Login { expires_at, .. }) => {
            (found.method, found.source, found.expires_at) = (Some("claude.ai"), "the stored login", expires_at);
        }
        Ok(Credential::StoredKey(_)) => {
            (found.method, found.source) = (Some("api_key"), "the stored key");
            found.expires_at = credential_store::stored_key(env).and_then(|key| key.expires_at);
        }
        Ok(Credential::OlderKey { source, .. }) => (found.method, found.source) = (Some("api_key"), source),
        Err(NoCredential::Missing) => {}
        Err(NoCredential::Unusable(why)) => found.note = Some(why),
        Err(why @ (NoCredential::Expired | NoCredential::KeyExpired | NoCredential::LoginRequired(_))) => {
            found.note = Some(why.to_string());
        }
    }
    if matches!(found.source, "ANTHROPIC_API_KEY" | "ANTHROPIC_AUTH_TOKEN")
        && credential_store::stored_key(env).is_some()
    {
        found.note = Some(format!("{} takes precedence over the stored key", found.source));
    }
    found
}

/// The credential of a session started here. Without a working directory only the user's settings apply.
fn credential(env: &Env) -> Result<Credential, NoCredential> {
    let cwd = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
    let loaded = ConfigLoader::open(&cwd, env, &SettingsSelection::default()).map_err(|_| NoCredential::Missing)?;
    let options = CredentialOptions { bare: false, now_ms: sys::clock::now_ms() };
    config::credentials::resolve(&loaded.env, &loaded, options)
}

fn provider(env: &Env) -> &'static str {
    let switches = [
        ("CLAUDE_CODE_USE_BEDROCK", "bedrock"),
        ("CLAUDE_CODE_USE_VERTEX", "vertex"),
        ("CLAUDE_CODE_USE_FOUNDRY", "foundry"),
    ];
    switches.iter().find(|(name, _)| env.is_on(name)).map_or("firstParty", |(_, provider)| provider)
}
