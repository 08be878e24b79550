//! A server for tests and how it is declared.

use super::EXE;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{ModelServer, Reply, Sandbox};

pub(crate) const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");

fn python() -> PathBuf {
    let places = ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from);
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| "python3".into())
}

pub(crate) fn server(options: &[&str]) -> Value {
    let args: Vec<&str> = [FIXTURE].iter().chain(options).copied().collect();
    json!({"command": python(), "args": args})
}

/// `--mcp-config` with one server named `fix`.
pub(crate) fn config(options: &[&str]) -> String {
    json!({"mcpServers": {"fix": server(options)}}).to_string()
}

pub(crate) fn scene(replies: impl IntoIterator<Item = Reply>) -> (ModelServer, Sandbox) {
    let model = ModelServer::script(replies.into_iter().collect::<Vec<_>>());
    let sandbox = Sandbox::with_server(EXE, &model);
    (model, sandbox)
}
