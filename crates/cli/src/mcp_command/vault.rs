//! Adapts the stored sign-ins to the interface of the MCP client.

use config::mcp::TokenFile;
use std::io;
use sys::Env;

pub(super) struct StoredTokens(TokenFile);

impl StoredTokens {
    pub(super) fn new(env: Env) -> Self {
        Self(TokenFile::new(env))
    }
}

impl mcp::auth::TokenVault for StoredTokens {
    fn read(&self, key: &str) -> Option<String> {
        self.0.read(key)
    }

    fn write(&self, key: &str, entry: Option<&str>) -> io::Result<()> {
        self.0.write(key, entry).map_err(io::Error::other)
    }

    fn lock(&self, key: &str) -> io::Result<Box<dyn Send>> {
        self.0.lock(key).map(|lock| Box::new(lock) as Box<dyn Send>)
    }
}
