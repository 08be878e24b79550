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

/// Waits until a server has written that to its log.
pub(crate) fn wait_for_text(path: &std::path::Path, text: &str) {
    let begun = std::time::Instant::now();
    while !std::fs::read_to_string(path).is_ok_and(|log| log.contains(text)) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{text:?} is not in {}", path.display());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
