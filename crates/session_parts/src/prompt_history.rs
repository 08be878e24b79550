//! What a terminal keeps between sessions: prompts that people typed, for the up key, and the API key of the user.
//! Blocking; call it on threads that may wait.

use std::path::Path;
use store::{StoreLayout, history};
use sys::Env;

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
