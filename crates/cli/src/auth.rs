//! `auth status`: which credentials a session would use, never what they are.

use serde_json::{Map, Value, json};
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
    subscription: Option<String>,
}

impl Found {
    fn json(&self) -> String {
        let mut fields = Map::new();
        fields.insert("loggedIn".into(), json!(self.method.is_some()));
        fields.insert("authMethod".into(), json!(self.method.unwrap_or("none")));
        fields.insert("apiProvider".into(), json!(self.provider));
        if let Some(kind) = &self.subscription {
            fields.insert("subscriptionType".into(), json!(kind));
        }
        format!("{:#}", Value::Object(fields))
    }

    fn text(&self) -> String {
        match self.method {
            Some(_) => format!("Signed in: {}", self.source),
            None => "Not signed in. Set ANTHROPIC_API_KEY, or try `gimlet demo`, which needs no key.".into(),
        }
    }
}

/// First match wins, in the order a session looks.
fn discover(env: &Env) -> Found {
    let provider = provider(env);
    let found = |method, source| Found { method: Some(method), source, provider, subscription: None };
    if provider != "firstParty" {
        return found("third_party", "the cloud provider's own credentials");
    }
    // Some hosts set this to a blank to say that a gateway adds the credentials.
    if env.non_empty("ANTHROPIC_AUTH_TOKEN").is_some() {
        return found("auth_token", "ANTHROPIC_AUTH_TOKEN");
    }
    if env.non_empty("ANTHROPIC_API_KEY").is_some() {
        return found("api_key", "ANTHROPIC_API_KEY");
    }
    if user_settings(env).is_some_and(|s| s["apiKeyHelper"].is_string()) {
        return found("api_key_helper", "apiKeyHelper in the user settings");
    }
    if env.non_empty("CLAUDE_CODE_OAUTH_TOKEN").is_some() {
        return found("oauth_token", "CLAUDE_CODE_OAUTH_TOKEN");
    }
    Found { method: None, source: "", provider, subscription: None }
}

fn provider(env: &Env) -> &'static str {
    let switches = [
        ("CLAUDE_CODE_USE_BEDROCK", "bedrock"),
        ("CLAUDE_CODE_USE_VERTEX", "vertex"),
        ("CLAUDE_CODE_USE_FOUNDRY", "foundry"),
    ];
    switches.iter().find(|(name, _)| env.is_on(name)).map_or("firstParty", |(_, provider)| provider)
}

pub(crate) fn config_dir(env: &Env) -> Option<PathBuf> {
    env.non_empty("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(env.home()?.join(".claude")))
}

fn user_settings(env: &Env) -> Option<Value> {
    let text = std::fs::read_to_string(config_dir(env)?.join("settings.json")).ok()?;
    serde_json::from_str(&text).ok()
}
