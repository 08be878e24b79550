//! `auth status`: which credentials a session would use, never what they are.

use config::{Credential, CredentialOptions, NoCredential, Project, Selection};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use sys::Env;

/// The text to print and the exit code; an error is a wrong command line.
pub(crate) fn status(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let mut as_text = false;
    let Some((word, flags)) = rest.split_first() else {
        return Err("Usage: gimlet auth status [--json|--text]".into());
    };
    if word != "status" {
        return Err(format!(
            "Error: `gimlet auth {}` is not available in this build; set ANTHROPIC_API_KEY",
            word.to_string_lossy()
        ));
    }
    for flag in flags {
        match flag.to_str() {
            Some("--json") => as_text = false,
            Some("--text") => as_text = true,
            _ => return Err(format!("error: unknown option '{}'", flag.to_string_lossy())),
        }
    }
    let found = discover(env);
    let text = if as_text { found.text() } else { found.json() };
    Ok((text, u8::from(found.method.is_none())))
}

struct Found {
    /// As hosts know it; `None` = not signed in.
    method: Option<&'static str>,
    /// Where it comes from, for people.
    source: &'static str,
    provider: &'static str,
}

impl Found {
    fn json(&self) -> String {
        let method = self.method.unwrap_or("none");
        json!({"loggedIn": self.method.is_some(), "authMethod": method, "apiProvider": self.provider}).to_string()
    }

    fn text(&self) -> String {
        match self.method {
            Some(_) => format!("Signed in: {}", self.source),
            None => "Not signed in. Set ANTHROPIC_API_KEY, or try `gimlet demo`, which needs no key.".into(),
        }
    }
}

fn discover(env: &Env) -> Found {
    let provider = provider(env);
    if provider != "firstParty" {
        return Found { method: Some("third_party"), source: "the cloud provider's own credentials", provider };
    }
    let (method, source) = match credential(env) {
        Ok(Credential::AuthToken(_)) => (Some("auth_token"), "ANTHROPIC_AUTH_TOKEN"),
        Ok(Credential::ApiKey(_)) => (Some("api_key"), "ANTHROPIC_API_KEY"),
        Ok(Credential::Helper { .. }) => (Some("api_key_helper"), "apiKeyHelper of the settings"),
        Ok(Credential::OauthToken(_)) => (Some("oauth_token"), "CLAUDE_CODE_OAUTH_TOKEN"),
        Ok(Credential::Login { .. }) => (Some("claude.ai"), "the stored login"),
        Ok(Credential::StoredKey(_)) => (Some("api_key"), "the stored key"),
        Err(NoCredential::Expired | NoCredential::Missing) => (None, ""),
    };
    Found { method, source, provider }
}

/// What a session started here would use. A working directory that is gone leaves the user's own settings.
fn credential(env: &Env) -> Result<Credential, NoCredential> {
    let cwd = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
    let loaded = Project::open(&cwd, env, &Selection::default()).map_err(|_| NoCredential::Missing)?;
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
