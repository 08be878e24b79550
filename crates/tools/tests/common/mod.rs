//! A real temporary directory, a stub model and a `CallContext` with them, for tests that call tools through the
//! contract. Each test binary uses a part of this.
#![allow(dead_code, unreachable_pub, reason = "shared by several test binaries")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use sys::Env;
use tokio_util::sync::CancellationToken;
use tools::state::{SessionFacts, ToolState};
use tools::{
    CallContext, InputError, MayRead, SideModel, SideReply, SideRequest, ToolOutcome, ToolRegistry, Workspace,
};

/// The environment of a test's calls. Change the public fields before the first call.
pub struct Bench {
    temp: tempfile::TempDir,
    /// The working directory, with symlinks resolved.
    pub dir: PathBuf,
    pub facts: SessionFacts,
    pub registry: ToolRegistry,
    pub model: Arc<dyn SideModel>,
    pub may_read: MayRead,
    pub cancel: CancellationToken,
    state: Mutex<Option<Arc<ToolState>>>,
}

impl Bench {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let dir = root.join("work");
        std::fs::create_dir(&dir).unwrap();
        let facts = SessionFacts {
            session_id: "00000000-0000-4000-8000-000000000000".into(),
            env: Env::snapshot(),
            session_dir: root.join("session"),
            tasks_dir: root.join("tasks"),
            config_home: root.join("config"),
            read_before_edit: false,
            effort: None,
            secret_vars: Vec::new(),
            documents: true,
            plan_file: None,
            agent_id: None,
        };
        Self {
            temp,
            dir,
            facts,
            registry: ToolRegistry::new(|_| true),
            model: Arc::new(NoModel),
            may_read: Arc::new(|_, _| true),
            cancel: CancellationToken::new(),
            state: Mutex::new(None),
        }
    }

    /// Writes a file below the working directory; returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.join(name)).unwrap()
    }

    pub fn state(&self) -> Arc<ToolState> {
        let mut slot = self.state.lock().unwrap();
        slot.get_or_insert_with(|| Arc::new(ToolState::new(self.facts.clone(), self.dir.clone()))).clone()
    }

    pub fn cx(&self) -> CallContext {
        let state = self.state();
        let cwd = state.cwd.lock().clone();
        CallContext {
            session: None,
            id: "toolu_test".into(),
            workspace: Workspace {
                cwd,
                project: self.dir.clone(),
                additional: Vec::new(),
                home: Some(self.temp.path().to_path_buf()),
            },
            state,
            cancel: self.cancel.clone(),
            model: Arc::clone(&self.model),
            may_read: Arc::clone(&self.may_read),
            sandbox: None,
            changed_by_user: false,
            input_note: None,
            git_guard: None,
        }
    }

    /// Parses the input and runs the call.
    pub async fn try_call(&self, tool: &str, input: Value) -> Result<ToolOutcome, InputError> {
        let raw = RawValue::from_string(input.to_string()).unwrap();
        let call = self.registry.find(tool).expect("tool exists").parse(&raw)?;
        Ok(call.run(self.cx()).await)
    }

    pub async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        self.try_call(tool, input).await.expect("input is valid")
    }

    /// Runs a call that must succeed; returns its text and its structured result.
    pub async fn ok(&self, tool: &str, input: Value) -> (String, Value) {
        let outcome = self.call(tool, input).await;
        assert!(!outcome.is_error, "unexpected failure: {}", outcome.content.text());
        let structured = outcome.structured.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap());
        (outcome.content.text().into_owned(), structured)
    }

    /// Runs a call that must fail; returns the text for the model.
    pub async fn fails(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        assert!(outcome.is_error, "unexpected success: {}", outcome.content.text());
        assert!(outcome.structured.is_none());
        outcome.content.text().into_owned()
    }
}

/// Answers every side request with an error.
pub struct NoModel;

impl SideModel for NoModel {
    fn ask(&self, _: SideRequest) -> BoxFuture<'_, Result<SideReply, String>> {
        async { Err("no model in this test".to_owned()) }.boxed()
    }
}
