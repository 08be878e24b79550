//! Stored credentials: the Keychain on macOS, elsewhere a file that only the user can read. Unknown members are kept; a
//! failed write leaves the old file.

use crate::credential_kinds::{CredentialSecret, expiry_of};
use crate::layer::read_text;
use crate::state::{self, StateError, config_home, lock_file, write_private};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;
use sys::Env;

const MEMBER: &str = "gimletApiKey";
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// A stored key.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredKey {
    pub key: CredentialSecret,
    /// Milliseconds since the epoch; `None`: the key does not expire.
    pub expires_at: Option<u64>,
}

pub fn file(env: &Env) -> Option<PathBuf> {
    config_home(env).map(|home| home.join(".credentials.json"))
}

/// Everything that is stored, as JSON text. `None` when nothing is stored.
pub(crate) fn contents(env: &Env) -> Option<String> {
    #[cfg(target_os = "macos")]
    if let Some(text) = crate::keychain::KeychainItem::of(env).read() {
        return Some(text);
    }
    read_text(&file(env)?).ok()
}

/// Writes the file when the keychain cannot be used: over a remote login it is locked.
fn write_contents(env: &Env, path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    #[cfg(target_os = "macos")]
    if crate::keychain::KeychainItem::of(env).write(bytes).is_ok() {
        return if path.exists() { std::fs::remove_file(path) } else { Ok(()) };
    }
    #[cfg(not(target_os = "macos"))]
    let _ = env;
    write_private(path, bytes)
}

/// The key that `auth login` stored.
pub fn stored_key(env: &Env) -> Option<StoredKey> {
    let text = contents(env)?;
    let all: Map<String, Value> = serde_json::from_str(&text).ok()?;
    let entry = all.get(MEMBER)?;
    let key = entry.get("key")?.as_str().filter(|key| !key.is_empty())?;
    Some(StoredKey { key: CredentialSecret::new(key), expires_at: entry.get("expiresAt").and_then(expiry_of) })
}

/// Every stored credential with a name to show: ours, a login's, those of servers, and the key of a console login.
pub fn secrets(env: &Env) -> Vec<(String, CredentialSecret)> {
    let mut found = Vec::new();
    if let Some(text) = contents(env)
        && let Ok(all) = serde_json::from_str::<Value>(&text)
    {
        collect("credentials file", &all, &mut found);
    }
    if let Some(key) = state::GlobalState::read(env).primary_api_key() {
        found.push(("stored API key".to_owned(), CredentialSecret::new(key)));
    }
    found.extend(crate::legacy_credentials::secrets(env));
    found
}

fn collect(name: &str, value: &Value, found: &mut Vec<(String, CredentialSecret)>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| collect(name, value, found)),
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, found)),
        Value::String(text) => {
            let lower = name.to_ascii_lowercase();
            let holds = ["token", "secret", "key", "password"].iter().any(|word| lower.ends_with(word));
            if holds && text.len() >= 12 {
                found.push((format!("stored {name}"), CredentialSecret::new(text)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub fn store_key(env: &Env, key: &str, expires_at: Option<u64>) -> Result<PathBuf, StateError> {
    change(env, |all| {
        let mut entry = json!({"key": key});
        if let (Some(at), Some(entry)) = (expires_at, entry.as_object_mut()) {
            entry.insert("expiresAt".into(), at.into());
        }
        all.insert(MEMBER.into(), entry);
    })
}

/// Removes the stored key and login. Returns whether there was any.
pub fn forget(env: &Env) -> Result<bool, StateError> {
    let mut had = false;
    if contents(env).is_some() || file(env).is_some_and(|path| path.exists()) {
        change(env, |all| had = all.remove(MEMBER).is_some() | all.remove("claudeAiOauth").is_some())?;
    }
    if state::state_file(env).is_some_and(|path| path.exists()) {
        state::update(env, |all| had |= all.remove("primaryApiKey").is_some() | all.remove("oauthAccount").is_some())?;
    }
    Ok(had)
}

pub(crate) fn change(env: &Env, change: impl FnOnce(&mut Map<String, Value>)) -> Result<PathBuf, StateError> {
    let path = file(env).ok_or(StateError::NoHome)?;
    let shown = path.display().to_string();
    let failed = |error| StateError::Io { path: shown.clone(), error };
    let lock = lock_file(env, &path).map_err(failed)?;
    sys::fs::with_lock(&lock, LOCK_TIMEOUT, || {
        let bytes = contents(env).map_or_else(|| std::fs::read(&path).unwrap_or_default(), String::into_bytes);
        let mut all: Map<String, Value> = if bytes.trim_ascii().is_empty() {
            Map::new()
        } else {
            serde_json::from_slice(&bytes).map_err(|error| {
                failed(std::io::Error::other(format!("is not valid JSON, so it was not changed ({error})")))
            })?
        };
        change(&mut all);
        write_contents(env, &path, &serde_json::to_vec(&all).unwrap_or_default()).map_err(failed)
    })
    .map_err(failed)??;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn other_members_stay_and_the_file_is_private() {
        // [CLI-105] [CLI-107]
        let temp = tempfile::tempdir().unwrap();
        let env = Env::default().with([("CLAUDE_CONFIG_DIR", temp.path().join("c"))]);
        let path = store_key(&env, "sk-1", Some(5)).unwrap();
        std::fs::write(&path, r#"{"mcpOAuth": {"x": 1}, "claudeAiOauth": {"accessToken": "t"}}"#).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        store_key(&env, "sk-2", None).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(stored_key(&env).unwrap().key.reveal(), "sk-2");
        let all: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((&all["mcpOAuth"]["x"], &all["claudeAiOauth"]["accessToken"]), (&json!(1), &json!("t")));
        assert!(forget(&env).unwrap());
        assert!(!forget(&env).unwrap());
        let all: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(all, json!({"mcpOAuth": {"x": 1}}));
        std::fs::write(&path, "{broken").unwrap();
        assert!(store_key(&env, "sk-3", None).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{broken");
    }
}
