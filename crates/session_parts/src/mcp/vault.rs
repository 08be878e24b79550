//! The stored sign-ins, for the MCP client.

use config::mcp::TokenFile;
use mcp::auth::TokenVault;
use std::io;
use sys::Env;

pub(super) struct McpTokenVault(TokenFile);

impl McpTokenVault {
    pub(super) fn new(env: Env) -> Self {
        Self(TokenFile::new(env))
    }
}

impl TokenVault for McpTokenVault {
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
