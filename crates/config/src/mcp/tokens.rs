//! Tokens obtained by signing in to servers, stored beside the other credentials: one entry for each server.

use crate::credential_store;
use crate::state::{StateError, lock_file};
use serde_json::{Map, Value};
use std::time::Duration;
use sys::Env;
use sys::fs::FileLock;

/// The member in which the reference stores them.
const MEMBER: &str = "mcpOAuth";
/// Long, because another process may hold the lock while it waits for a slow authorization server.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);

/// The stored entries of one user.
#[derive(Clone, Debug)]
pub struct TokenFile {
    env: Env,
}

impl TokenFile {
    pub fn new(env: Env) -> Self {
        Self { env }
    }

    /// The entry as JSON text; `None` when there is none.
    pub fn read(&self, key: &str) -> Option<String> {
        let all: Map<String, Value> = serde_json::from_str(&credential_store::contents(&self.env)?).ok()?;
        all.get(MEMBER)?.get(key).map(Value::to_string)
    }

    /// Replaces an entry; `None` removes it.
    pub fn write(&self, key: &str, entry: Option<&str>) -> Result<(), StateError> {
        let entry = match entry.map(serde_json::from_str::<Value>) {
            None => None,
            Some(Ok(entry)) => Some(entry),
            Some(Err(error)) => {
                let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
                return Err(StateError::Io { path: key.to_owned(), error });
            }
        };
        credential_store::change(&self.env, |all| {
            let entries = crate::state::object(all, MEMBER);
            match entry {
                Some(entry) => drop(entries.insert(key.to_owned(), entry)),
                None => drop(entries.remove(key)),
            }
            if entries.is_empty() {
                all.remove(MEMBER);
            }
        })
        .map(drop)
    }

    /// Keeps other processes from refreshing the same tokens. Blocking.
    pub fn lock(&self, key: &str) -> std::io::Result<FileLock> {
        let name = std::path::Path::new("/mcp-oauth").join(key.replace('/', "_"));
        sys::fs::lock(&lock_file(&self.env, &name)?, LOCK_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_other_credentials_alone() {
        let temp = tempfile::tempdir().unwrap();
        let env = Env::default().with([("CLAUDE_CONFIG_DIR", temp.path())]);
        credential_store::store_key(&env, "sk-1", None).unwrap();
        let file = TokenFile::new(env.clone());
        file.write("s|1", Some(r#"{"accessToken":"t"}"#)).unwrap();
        assert_eq!((file.read("s|1").as_deref(), file.read("s|2")), (Some(r#"{"accessToken":"t"}"#), None));
        drop(file.lock("s|1").unwrap());
        file.write("s|1", None).unwrap();
        assert_eq!(file.read("s|1"), None);
        assert_eq!(credential_store::stored_key(&env).unwrap().key.reveal(), "sk-1");
    }
}
