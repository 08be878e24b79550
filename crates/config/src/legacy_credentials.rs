//! Credentials that other programs left behind: an older variable, and files in the home folder. They are used only
//! when nothing else was found. A value in a file counts only when it begins like an Anthropic key: the key of another
//! service is reported and never sent.

use crate::credential_kinds::{Credential, CredentialSecret, StoredLogin};
use crate::layer::read_text;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use sys::Env;

/// The variable of older programs.
pub(crate) const VARIABLE: &str = "CLAUDE_API_KEY";
const PREFIX: &str = "sk-ant-";
/// The beginning of the access token of a login; it is sent differently from a key.
const TOKEN_PREFIX: &str = "sk-ant-oat";
/// The files to search, in this order, as they are shown.
const KEY_FILES: [&str; 2] = ["~/.claude.json.api", "~/.claude.json"];
const LOGIN_FILE: &str = "~/.claude-oauth-credentials.json";
/// The members that may contain a key, in this order.
const MEMBERS: [&str; 4] = ["primaryApiKey", "apiKey", "anthropicApiKey", "customApiKey"];

/// The credentials that were found.
#[derive(Debug, Default)]
pub(crate) struct LegacyCredentials {
    pub(crate) credential: Option<Credential>,
    /// Describes what was found and is not used.
    pub(crate) unused: Option<String>,
}

/// The value of the variable, which is sent without checks.
pub(crate) fn variable(env: &Env) -> Option<Credential> {
    let key = env.non_empty(VARIABLE)?;
    Some(Credential::OlderKey { key: CredentialSecret::new(key), source: VARIABLE })
}

/// The first usable credential.
pub(crate) fn find(env: &Env, now_ms: u64) -> LegacyCredentials {
    if let Some(credential) = variable(env) {
        return LegacyCredentials { credential: Some(credential), unused: None };
    }
    let mut unused = Vec::new();
    for source in KEY_FILES {
        for (member, value) in keys(env, source) {
            if value.starts_with(PREFIX) {
                return LegacyCredentials { credential: Some(credential(&value, source)), unused: None };
            }
            unused.push(format!("{member} in {source}"));
        }
    }
    if let Some(login) = login(env) {
        let is_ours = login.access_token.starts_with(PREFIX);
        if is_ours && login.is_usable() && !login.is_expired(now_ms) {
            let (access_token, expires_at) = (CredentialSecret::new(login.access_token), login.expires_at);
            return LegacyCredentials {
                credential: Some(Credential::Login { access_token, expires_at }),
                unused: None,
            };
        }
        if !is_ours {
            unused.push(format!("accessToken in {LOGIN_FILE}"));
        }
    }
    let named = unused.join(", ");
    let text = format!("Found and not used, because it does not begin with {PREFIX}: {named}.");
    LegacyCredentials { credential: None, unused: (!unused.is_empty()).then_some(text) }
}

/// Every value in these places, with a name to show. None of them may be printed, whatever its purpose.
pub(crate) fn secrets(env: &Env) -> Vec<(String, CredentialSecret)> {
    let mut found: Vec<(String, CredentialSecret)> = Vec::new();
    for source in KEY_FILES {
        found.extend(
            keys(env, source)
                .into_iter()
                .map(|(member, value)| (format!("stored {member}"), CredentialSecret::new(value))),
        );
    }
    found.extend(login(env).map(|login| ("stored accessToken".to_owned(), CredentialSecret::new(login.access_token))));
    found
}

fn credential(value: &str, source: &'static str) -> Credential {
    if value.starts_with(TOKEN_PREFIX) {
        return Credential::Login { access_token: CredentialSecret::new(value), expires_at: None };
    }
    Credential::OlderKey { key: CredentialSecret::new(value), source }
}

/// The non-empty members of the file, or the whole file when it is a single word instead of JSON.
fn keys(env: &Env, source: &str) -> Vec<(&'static str, String)> {
    let Some(text) = leftover_path(env, source).and_then(|path| text_of(&path)) else { return Vec::new() };
    let Ok(all) = serde_json::from_str::<Map<String, Value>>(&text) else {
        let word = text.trim();
        let is_key = word.starts_with(PREFIX) && word.bytes().all(|byte| byte.is_ascii_graphic());
        return if is_key { vec![("key", word.to_owned())] } else { Vec::new() };
    };
    MEMBERS
        .into_iter()
        .filter_map(|member| Some((member, all.get(member)?.as_str()?.trim().to_owned())))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// The login that an older program stored: as in today's file, or without the outer member.
fn login(env: &Env) -> Option<StoredLogin> {
    let text = text_of(&leftover_path(env, LOGIN_FILE)?)?;
    let mut all: Map<String, Value> = serde_json::from_str(&text).ok()?;
    let inner = all.remove("claudeAiOauth").unwrap_or(Value::Object(all));
    serde_json::from_value(inner).ok()
}

fn leftover_path(env: &Env, shown: &str) -> Option<PathBuf> {
    Some(env.home()?.join(shown.strip_prefix("~/")?))
}

fn text_of(path: &Path) -> Option<String> {
    read_text(path).ok()
}
