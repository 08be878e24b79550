//! What every tool is: static facts, and a parsed call that declares its accesses and runs.

use crate::state::ToolState;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wire::block::MessageContent;

/// Facts that never change within a session: they are part of the cached request prefix.
#[derive(Debug)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    /// Model-facing text.
    pub description: Cow<'static, str>,
    /// JSON schema of the input, as the exact bytes that are sent.
    pub schema: Cow<'static, str>,
}

impl ToolSpec {
    /// A built-in's facts from its files: `ToolSpec::of("Read", include_str!("read.md"), include_str!("read.schema.json"))`.
    pub const fn of(name: &'static str, description: &'static str, schema: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            description: Cow::Borrowed(description.trim_ascii()),
            schema: Cow::Borrowed(schema.trim_ascii()),
        }
    }
}

/// Whether a call may run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallConcurrency {
    /// Read-only: runs together with other shared calls.
    Shared,
    /// Changes something: runs alone, in the order the model listed.
    Exclusive,
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;
    /// Its name for people, when that is not the one the model uses.
    fn title(&self) -> Option<&str> {
        None
    }
    /// Checks and reads the input. Lenient as specified: numeric strings, `"true"`, unknown keys.
    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError>;
}

pub trait ToolCall: Send + Sync {
    /// Pure: what this call would do.
    fn access(&self, at: &Workspace) -> Vec<Access>;
    fn concurrency(&self) -> CallConcurrency;
    /// A person must agree, whatever rules and modes say.
    fn needs_person(&self) -> bool {
        false
    }
    /// What the call would be refused with before it changed anything: asked before a person is, so that nobody agrees to
    /// what cannot be done. Reads only the files the call names; may block.
    fn check(&self, _cx: &CallContext) -> Option<ToolOutcome> {
        None
    }
    /// Runs to its end. Cancelled calls return a normal outcome that says so.
    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome>;
}

/// The input did not fit the schema. The text names the tool and the field.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InputError(pub String);

/// The directories a session works in. All absolute; `roots` are resolved through symlinks.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Where the shell stands now; relative paths start here.
    pub cwd: PathBuf,
    /// Where the session was started.
    pub project: PathBuf,
    /// `--add-dir` and settings.
    pub additional: Vec<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Workspace {
    /// `path` made absolute (`~/` too) and lexically normalised. Does not touch the disk.
    pub fn absolute(&self, path: &str) -> PathBuf {
        let joined = match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.cwd.join(path),
        };
        permission::normalise(&joined)
    }
}

/// Everything a running call may use.
#[derive(Clone)]
pub struct CallContext {
    /// The `tool_use` id.
    pub id: String,
    pub workspace: Workspace,
    pub state: Arc<ToolState>,
    pub cancel: CancellationToken,
    /// Model calls for WebFetch and WebSearch.
    pub model: Arc<dyn SideModel>,
    pub may_read: MayRead,
    /// The sandbox a command must run in.
    pub sandbox: Option<Arc<crate::sandbox::CommandSandbox>>,
    /// The person changed the input before agreeing to it.
    pub changed_by_user: bool,
    /// Git calls of a command that run with powerless configuration.
    pub git_guard: Option<permission::GitGuard>,
}

/// Whether rules let the model see this path; search results leave the others out.
pub type MayRead = Arc<dyn Fn(&Path, PathDiscovery) -> bool + Send + Sync>;

/// How a tool came to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathDiscovery {
    /// By its name, which may lead anywhere.
    Named,
    /// On a walk that follows no links, as a file that is none itself: only its folder needs to be looked at.
    Walked,
    /// About to be changed: it must still lead where it led when the change was allowed.
    Changed,
}

/// What a call came to. There is no Rust error: failures are outcomes the model reads.
#[derive(Debug)]
pub struct ToolOutcome {
    pub content: MessageContent,
    pub is_error: bool,
    /// The structured twin of `content` (`toolUseResult`). `None` on failure: the engine then stores `"Error: …"`.
    pub structured: Option<Box<RawValue>>,
    /// What an MCP server sent beside the content, for the transcript.
    pub mcp_meta: Option<Box<RawValue>>,
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>, structured: Option<Box<RawValue>>) -> Self {
        Self { content: MessageContent::Text(text.into()), is_error: false, structured, mcp_meta: None }
    }

    /// A failure while running: the text reaches the model as it is.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { content: MessageContent::Text(text.into()), is_error: true, structured: None, mcp_meta: None }
    }

    /// A failed check before anything ran: wrapped the way models and readers know it.
    pub fn invalid(text: impl AsRef<str>) -> Self {
        Self::failed(format!("<tool_use_error>{}</tool_use_error>", text.as_ref()))
    }
}

/// A small model request made by a tool: the session's credentials, no history.
#[derive(Clone, Debug)]
pub struct SideRequest {
    pub purpose: SidePurpose,
    pub prompt: String,
    pub system: Option<String>,
    /// JSON of server tools to declare (`web_search`), empty for none.
    pub server_tools: Vec<Box<RawValue>>,
    pub max_tokens: u32,
    pub timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SidePurpose {
    /// Extraction from a page: the small fast model.
    Small,
    /// Needs the main model's server tools.
    Main,
}

#[derive(Clone, Debug)]
pub struct SideReply {
    /// All text blocks, joined.
    pub text: String,
    /// Every content block as it came.
    pub blocks: Vec<Box<RawValue>>,
}

pub trait SideModel: Send + Sync {
    /// Fails with a message fit for the tool result.
    fn ask(&self, request: SideRequest) -> BoxFuture<'_, Result<SideReply, String>>;
}
