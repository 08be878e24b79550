//! The stored data of a sign-in. An entry belongs to a server's name and address together, so that a server whose
//! address was changed does not get the old one's tokens.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io;
use wire::mcp::RemoteConfig;

/// The storage of entries. All methods may block.
pub trait TokenVault: Send + Sync {
    /// Reads an entry as JSON; `None` when there is none.
    fn read(&self, key: &str) -> Option<String>;

    /// Replaces an entry; `None` removes it.
    fn write(&self, key: &str, entry: Option<&str>) -> io::Result<()>;

    /// Prevents other processes from refreshing the same entry until the guard is dropped.
    fn lock(&self, key: &str) -> io::Result<Box<dyn Send>>;
}

/// The key of a server's entry.
pub fn identity(name: &str, remote: &RemoteConfig) -> String {
    let digest = Sha256::digest(remote.url.as_bytes());
    digest.iter().take(8).fold(format!("{name}|"), |mut key, byte| {
        write!(key, "{byte:02x}").ok();
        key
    })
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TokenEntry {
    pub(super) server_name: String,
    pub(super) server_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) access_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// Milliseconds since 1970; `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// Given by the user; kept after a sign-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) own_client_secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auth_method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redirect_port: Option<u16>,
    /// Scopes the server asked for after the last sign-in; the next sign-in requests them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wanted_scope: Option<String>,
}

impl TokenEntry {
    pub(super) fn read(vault: &dyn TokenVault, key: &str) -> Option<Self> {
        serde_json::from_str(&vault.read(key)?).ok()
    }

    pub(super) fn write(&self, vault: &dyn TokenVault, key: &str) -> io::Result<()> {
        vault.write(key, Some(&serde_json::to_string(self)?))
    }

    /// The entry after a sign-out; `None` when nothing is left to keep.
    pub(super) fn signed_out(&self) -> Option<Self> {
        self.own_client_secret.as_ref()?;
        let (server_name, server_url) = (self.server_name.clone(), self.server_url.clone());
        Some(Self { server_name, server_url, own_client_secret: self.own_client_secret.clone(), ..Self::default() })
    }
}

/// Signs out: removes tokens and registration, and keeps a client secret the user gave. Returns whether there was a
/// token.
pub fn forget(vault: &dyn TokenVault, key: &str) -> io::Result<bool> {
    let Some(entry) = TokenEntry::read(vault, key) else { return Ok(false) };
    match entry.signed_out() {
        Some(rest) => rest.write(vault, key)?,
        None => vault.write(key, None)?,
    }
    Ok(entry.access_token.is_some())
}

/// Stores the secret of a client that the user registered.
pub fn store_client_secret(vault: &dyn TokenVault, name: &str, remote: &RemoteConfig, secret: &str) -> io::Result<()> {
    let entry = TokenEntry {
        server_name: name.to_owned(),
        server_url: remote.url.clone(),
        own_client_secret: Some(secret.to_owned()),
        ..TokenEntry::default()
    };
    entry.write(vault, &identity(name, remote))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use sys::sync::Mutex;

    #[derive(Default)]
    pub(crate) struct Memory(pub(crate) Mutex<BTreeMap<String, String>>);

    impl TokenVault for Memory {
        fn read(&self, key: &str) -> Option<String> {
            self.0.lock().get(key).cloned()
        }

        fn write(&self, key: &str, entry: Option<&str>) -> io::Result<()> {
            let mut all = self.0.lock();
            match entry {
                Some(entry) => drop(all.insert(key.into(), entry.into())),
                None => drop(all.remove(key)),
            }
            Ok(())
        }

        fn lock(&self, _: &str) -> io::Result<Box<dyn Send>> {
            Ok(Box::new(()))
        }
    }

    #[test]
    fn entries_follow_the_address_and_a_given_secret_stays() {
        let at = |url: &str| RemoteConfig { url: url.into(), ..RemoteConfig::default() };
        assert_ne!(identity("s", &at("https://a")), identity("s", &at("https://b")));
        let vault = Memory::default();
        store_client_secret(&vault, "s", &at("https://a"), "hush").unwrap();
        let key = identity("s", &at("https://a"));
        let mut entry = TokenEntry::read(&vault, &key).unwrap();
        entry.access_token = Some("t".into());
        entry.write(&vault, &key).unwrap();
        assert!(forget(&vault, &key).unwrap());
        let left = TokenEntry::read(&vault, &key).unwrap();
        assert_eq!((left.access_token, left.own_client_secret.as_deref()), (None, Some("hush")));
        assert!(!forget(&vault, &key).unwrap());
    }
}
