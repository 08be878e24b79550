//! What a terminal keeps between sessions: prompts that people typed, for the up key, and the API key and the
//! endpoint of the user.
//! Blocking; call it on threads that may wait.

use config::edit::{SettingsEdit, SettingsTarget};
use std::path::Path;
use store::{StoreLayout, history};
use sys::Env;
use wire::settings::SettingsSource;

/// A prompt of an earlier time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierPrompt {
    pub text: String,
    /// It was typed in this project.
    pub is_here: bool,
    pub session_id: String,
}

/// The newest prompts, newest first; those of this project come before those of others.
pub fn newest(env: &Env, cwd: &Path, limit: usize) -> Vec<EarlierPrompt> {
    let layout = StoreLayout::new(env);
    let project = cwd.to_string_lossy();
    let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
    for prompt in history::newest(&layout).take(limit) {
        let text = store::pastes::expand(&layout, &prompt.display, &prompt.pasted_contents);
        let is_here = prompt.project == project;
        let found = EarlierPrompt { text, is_here, session_id: prompt.session_id };
        if is_here { here.push(found) } else { elsewhere.push(found) }
    }
    here.append(&mut elsewhere);
    here
}

/// Stores an API key where sessions look for one; returns the path or an error.
pub fn store_key(env: &Env, key: &str) -> Result<String, String> {
    let stored = config::credential_store::store_key(env, key, None);
    stored.map(|path| path.display().to_string()).map_err(|error| format!("The key could not be stored: {error}"))
}

/// An endpoint that somebody runs themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnEndpoint {
    /// As `endpoint_address` gives it.
    pub url: String,
    /// `None`: the usual model.
    pub model: Option<String>,
}

/// The address of an endpoint, without the path that requests add. `None` when it is no address.
pub fn endpoint_address(typed: &str) -> Option<String> {
    let rest = typed.strip_prefix("http://").or_else(|| typed.strip_prefix("https://"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || typed.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let mut address = typed.trim_end_matches('/');
    for path in ["/messages", "/v1"] {
        address = address.strip_suffix(path).unwrap_or(address);
    }
    Some(address.to_owned())
}

/// Stores the address and the model in the user's settings; returns the path of the file.
pub fn store_endpoint(env: &Env, cwd: &Path, endpoint: &OwnEndpoint) -> Result<String, String> {
    let target = SettingsTarget { source: SettingsSource::User, cwd, env };
    let write = |keys: &[&str], value: &str| {
        let written = target.change(keys, &SettingsEdit::Set(value.into()));
        written.map_err(|error| format!("The endpoint could not be stored: {error}"))
    };
    let path = write(&["env", "ANTHROPIC_BASE_URL"], &endpoint.url)?.path;
    if let Some(model) = &endpoint.model {
        write(&["model"], model)?;
    }
    Ok(path.display().to_string())
}

/// A prompt as displayed, and the texts that its paste labels stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedPrompt {
    pub shown: String,
    pub pasted: Vec<(String, String)>,
}

/// Records a prompt. A failure is only logged, so that no turn is lost.
pub fn remember(env: &Env, cwd: &Path, session_id: &str, typed: &TypedPrompt) {
    let layout = StoreLayout::new(env);
    let pasted = store::pastes::store_pastes(&layout, &typed.pasted);
    let pasted = pasted.inspect_err(|error| tracing::warn!(%error, "a paste was not kept for the history"));
    let prompt = history::HistoryPrompt {
        display: typed.shown.clone(),
        pasted_contents: pasted.unwrap_or_else(|_| history::nothing_pasted()),
        timestamp: sys::clock::now_ms(),
        project: cwd.to_string_lossy().into_owned(),
        session_id: session_id.to_owned(),
    };
    if let Err(error) = history::append(&layout, &prompt) {
        tracing::warn!(%error, "a prompt was not recorded in the history");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_without_the_path_of_requests() {
        for (typed, expected) in [
            ("http://localhost:8080", Some("http://localhost:8080")),
            ("https://models.example/", Some("https://models.example")),
            ("https://models.example/v1", Some("https://models.example")),
            ("https://models.example/proxy/v1/messages", Some("https://models.example/proxy")),
            ("models.example", None),
            ("http://", None),
            ("http:///v1", None),
            ("http://a b", None),
            ("ftp://models.example", None),
            ("", None),
        ] {
            assert_eq!(endpoint_address(typed).as_deref(), expected, "{typed}");
        }
    }
}
