//! The tool contract: static facts about a tool, and a parsed call that declares its accesses and runs.

use crate::facts::ToolFacts;
use crate::state::ToolState;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::value::RawValue;
use std::any::Any;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wire::block::MessageContent;

/// What never changes within a session: name, description and schema are part of the cached request prefix.
#[derive(Debug)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    /// The text for the model.
    pub description: Cow<'static, str>,
    /// JSON schema of the input, as the exact bytes that are sent.
    pub schema: Cow<'static, str>,
    /// What the session knows about its calls.
    pub facts: ToolFacts,
}

impl ToolSpec {
    /// The spec of a built-in tool from its files: `ToolSpec::of("Read", include_str!("read.md"),
    /// include_str!("read.schema.json"), ToolFacts::of(ToolClass::Read))`.
    pub const fn of(name: &'static str, description: &'static str, schema: &'static str, facts: ToolFacts) -> Self {
        Self {
            name: Cow::Borrowed(name),
            description: Cow::Borrowed(description.trim_ascii()),
            schema: Cow::Borrowed(schema.trim_ascii()),
            facts,
        }
    }
}

/// Whether a call may run at the same time as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallConcurrency {
    /// Read-only: runs together with other shared calls.
    Shared,
    /// Changes something: runs alone, in the order the model listed.
    Exclusive,
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;
    /// The name shown to people; `None` when it is the name the model uses.
    fn title(&self) -> Option<&str> {
        None
    }
    /// Parses and checks the input. Accepts numeric strings, `"true"` and unknown keys.
    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError>;
}

pub trait ToolCall: Send + Sync {
    /// What this call would access. Has no side effects.
    fn access(&self, at: &Workspace) -> Vec<Access>;
    fn concurrency(&self) -> CallConcurrency;
    /// True when a person must approve the call, whatever rules and modes say.
    fn needs_person(&self) -> bool {
        false
    }
    /// The refusal this call would end in before it changed anything; `None` when it could run. Called before a
    /// person is asked, so that nobody approves what cannot be done. Reads only the files the call names; may
    /// block.
    fn check(&self, _cx: &CallContext) -> Option<ToolOutcome> {
        None
    }
    /// The input in the form the call means, when that is certain but differs from what was sent: `None` otherwise.
    /// Called before hooks and rules see the call, and only when rules let the model read the files it names; may block.
    fn normalise(&self, _cx: &CallContext) -> Option<NormalisedInput> {
        None
    }
    /// Runs to its end. A cancelled call returns a normal outcome that says so.
    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome>;
}

/// An input in the form that hooks, rules and the tool take.
#[derive(Debug)]
pub struct NormalisedInput {
    pub input: Box<RawValue>,
    /// One line for the model about the difference; it goes into the result.
    pub note: String,
}

/// The input does not fit the schema. The text names the tool and the field.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InputError(pub String);

/// The directories a session works in. All are absolute.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The shell's current directory; relative paths start here.
    pub cwd: PathBuf,
    /// The directory the session was started in.
    pub project: PathBuf,
    /// Directories from `--add-dir` and settings.
    pub additional: Vec<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Workspace {
    /// `path` made absolute (`~/` too) and lexically normalised. Does not access the file system.
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
    /// Makes model requests for WebFetch and WebSearch.
    pub model: Arc<dyn SideModel>,
    pub may_read: MayRead,
    /// The sandbox a command must run in; `None` when it runs without one.
    pub sandbox: Option<Arc<crate::sandbox::CommandSandbox>>,
    /// The person changed the input before approving it.
    pub changed_by_user: bool,
    /// How the input was understood, when it did not fit as it was sent; the tool adds it to its result.
    pub input_note: Option<String>,
    /// Git calls of a command that must run with a neutral configuration.
    pub git_guard: Option<permission::GitGuard>,
    /// The state of the session, for tools of the engine; `None` when no call of the batch needs it.
    pub session: Option<Arc<dyn Any + Send + Sync>>,
}

/// Whether permission rules let the model see a path; search results omit paths they do not.
pub type MayRead = Arc<dyn Fn(&Path, PathDiscovery) -> bool + Send + Sync>;

/// How a tool found a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathDiscovery {
    /// By its name, which may be or pass through a symlink.
    Named,
    /// By a walk that follows no links, as a file that is not a link: only its folder needs a check.
    Walked,
    /// As a file about to be changed: the path must still lead to the same file as when the change was allowed.
    Changed,
}

/// A text that was written for the model: what went wrong, and what it can do. Texts for people are `String`s.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelText(String);

impl From<String> for ModelText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for ModelText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<ModelText> for String {
    fn from(text: ModelText) -> Self {
        text.0
    }
}

/// The outcome of a call. There is no Rust error: failures are outcomes that the model reads.
#[derive(Debug)]
pub struct ToolOutcome {
    pub content: MessageContent,
    pub is_error: bool,
    /// The structured form of `content` (`toolUseResult`). `None` on failure: the engine then stores `"Error: …"`.
    pub structured: Option<Box<RawValue>>,
    /// Metadata an MCP server sent with the content, for the transcript.
    pub mcp_meta: Option<Box<RawValue>>,
    /// What the session does once the call has ended.
    pub effects: Vec<SessionEffect>,
}

/// A change of the session that a call asks for. The engine, whose tools ask, defines them and applies them.
pub struct SessionEffect(pub Box<dyn Any + Send + Sync>);

impl std::fmt::Debug for SessionEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionEffect")
    }
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>, structured: Option<Box<RawValue>>) -> Self {
        Self {
            content: MessageContent::Text(text.into()),
            is_error: false,
            structured,
            mcp_meta: None,
            effects: Vec::new(),
        }
    }

    /// A failure while running: the model gets the text unchanged.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            content: MessageContent::Text(text.into()),
            is_error: true,
            structured: None,
            mcp_meta: None,
            effects: Vec::new(),
        }
    }

    /// A failed check before anything ran: the text is wrapped in the tags that models and readers know.
    pub fn invalid(text: impl AsRef<str>) -> Self {
        Self::failed(format!("<tool_use_error>{}</tool_use_error>", text.as_ref()))
    }
}

/// A small model request made by a tool, with the session's credentials and without its history.
#[derive(Clone, Debug)]
pub struct SideRequest {
    pub purpose: SidePurpose,
    pub prompt: String,
    pub system: Option<String>,
    /// JSON of server tools to declare (`web_search`); empty for none.
    pub server_tools: Vec<Box<RawValue>>,
    pub max_tokens: u32,
    pub timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SidePurpose {
    /// Extraction from a page, with the small fast model.
    Small,
    /// A request that needs the server tools of the main model.
    Main,
}

#[derive(Clone, Debug)]
pub struct SideReply {
    /// All text blocks, joined.
    pub text: String,
    /// Every content block as received.
    pub blocks: Vec<Box<RawValue>>,
}

pub trait SideModel: Send + Sync {
    /// Sends the request. The error is a message fit for the tool result.
    fn ask(&self, request: SideRequest) -> BoxFuture<'_, Result<SideReply, String>>;
}
