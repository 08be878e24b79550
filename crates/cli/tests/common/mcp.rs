//! A server for tests and how it is declared.

use super::EXE;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{ModelServer, Sandbox, ScriptedReply};

pub(crate) const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");

fn python() -> PathBuf {
    let places = ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from);
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| "python3".into())
}

pub(crate) fn server(options: &[&str]) -> Value {
    let args: Vec<&str> = [FIXTURE].iter().chain(options).copied().collect();
    json!({"command": python(), "args": args})
}

/// The same server over HTTP, until this is dropped.
pub(crate) struct HttpServer {
    child: std::process::Child,
    pub(crate) config: Value,
    _place: tempfile::TempDir,
}

impl HttpServer {
    #[expect(clippy::disallowed_methods, reason = "a server that is no child of gimlet")]
    pub(crate) fn start(options: &[&str]) -> Self {
        const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_http.py");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("port");
        let port = format!("http={}", file.display());
        let mut command = std::process::Command::new(python());
        command.arg("-B").arg(FIXTURE).args(options).arg(port).stdin(std::process::Stdio::null());
        let child = command.spawn().unwrap();
        wait_for_text(&file, "");
        let port = std::fs::read_to_string(&file).unwrap();
        let config = json!({"type": "http", "url": format!("http://127.0.0.1:{}/mcp", port.trim())});
        Self { child, config, _place: place }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// `--mcp-config` with one server named `fix`.
pub(crate) fn config(options: &[&str]) -> String {
    json!({"mcpServers": {"fix": server(options)}}).to_string()
}

pub(crate) fn scene(replies: impl IntoIterator<Item = ScriptedReply>) -> (ModelServer, Sandbox) {
    let model = ModelServer::script(replies.into_iter().collect::<Vec<_>>());
    let sandbox = Sandbox::with_server(EXE, &model);
    (model, sandbox)
}

/// Waits until the server has written `text` to its log.
pub(crate) fn wait_for_text(path: &std::path::Path, text: &str) {
    testkit::wait_until(text, || std::fs::read_to_string(path).is_ok_and(|log| log.contains(text)));
}
