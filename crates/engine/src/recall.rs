//! What a terminal keeps between sessions: prompts that people typed, offered again with the up key, and the key they
//! sign in with. Blocking; for threads that may wait.

use std::path::Path;
use store::{Layout, history};
use sys::Env;

/// The newest prompts, newest first, those of this project before those of others.
pub fn newest(env: &Env, cwd: &Path, limit: usize) -> Vec<String> {
    let layout = Layout::new(env);
    let project = cwd.to_string_lossy();
    let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
    for prompt in history::newest(&layout).take(limit) {
        if prompt.project == project { here.push(prompt.display) } else { elsewhere.push(prompt.display) }
    }
    here.append(&mut elsewhere);
    here
}

/// Stores an API key where sessions look for one; says where, or why not.
pub fn store_key(env: &Env, key: &str) -> Result<String, String> {
    let stored = config::vault::store_key(env, key, None);
    stored.map(|path| path.display().to_string()).map_err(|error| format!("The key could not be stored: {error}"))
}

/// Records a prompt. A failure is only logged: nobody should lose a turn over it.
pub fn remember(env: &Env, cwd: &Path, session_id: &str, text: &str) {
    let prompt = history::Prompt {
        display: text.to_owned(),
        pasted_contents: history::nothing_pasted(),
        timestamp: sys::clock::now_ms(),
        project: cwd.to_string_lossy().into_owned(),
        session_id: session_id.to_owned(),
    };
    if let Err(error) = history::append(&Layout::new(env), &prompt) {
        tracing::warn!(%error, "a prompt was not recorded in the history");
    }
}
