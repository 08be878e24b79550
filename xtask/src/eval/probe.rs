//! One scripted session, to look at what its requests hold.

use anyhow::{Result, ensure};
use serde_json::Value;
use std::path::Path;
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

pub(super) const STREAM: [&str; 4] = ["-p", "--output-format", "stream-json", "--verbose"];
const ALLOWED: [&str; 4] = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"];

pub(super) struct Probe {
    pub(super) sandbox: Sandbox,
    server: ModelServer,
}

/// A call of the script, under an id by which its result is found.
pub(super) fn call(id: &str, tool: &str, input: &Value) -> ScriptedReply {
    ScriptedReply::message(vec![ScriptedBlock::tool_with_id(id, tool, input)])
}

impl Probe {
    pub(super) fn new(binary: &Path) -> Self {
        let server = ModelServer::start();
        let sandbox = Sandbox::with_server(binary, &server);
        Self { sandbox, server }
    }

    /// A path in the workspace, as a careful model sends it.
    pub(super) fn path(&self, relative: &str) -> String {
        self.sandbox.project().join(relative).display().to_string()
    }

    /// Runs the script as one headless turn; returns the requests.
    pub(super) fn run(&self, script: Vec<ScriptedReply>, args: &[&str]) -> Result<Vec<CapturedRequest>> {
        let wanted = script.len() + 1;
        for reply in script {
            self.server.push(reply);
        }
        self.server.push(ScriptedReply::text("Done."));
        let words = [&STREAM[..], &["go"], &ALLOWED, args].concat();
        let done = self.sandbox.gimlet(&words).run();
        let requests = self.server.requests();
        ensure!(requests.len() >= wanted, "the session ended after {} requests: {}", requests.len(), done.stderr);
        Ok(requests)
    }

    /// One turn with a person at the other end of the streams.
    pub(super) fn run_with_person(&self) -> Vec<CapturedRequest> {
        self.server.push(ScriptedReply::text("Done."));
        let words = [&STREAM[..], &["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]].concat();
        let message = serde_json::json!({"type": "user", "message": {"role": "user", "content": "go"}});
        self.sandbox.gimlet(&words).stdin(format!("{message}\n")).run();
        self.server.requests()
    }
}
