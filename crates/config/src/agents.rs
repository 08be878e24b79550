//! Agent definitions: Markdown files whose front matter describes the agent and whose body is its system prompt, and
//! the JSON of `--agents`. The `name` field identifies an agent. A file that is not a valid agent is listed with the
//! reason. Hooks and servers from an untrusted folder are left out and reported.

mod json;
mod load;

pub use load::COLORS;

use crate::frontmatter::{self, FileFinding};
use crate::roots::{DefinitionRoots, DefinitionScope};
use crate::stamp::PathStamps;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use wire::mode::PermissionMode;

/// In bytes: the largest file with an agent's prompt.
const MAX_PROMPT: usize = 4 * 1024 * 1024;

/// Where an agent keeps its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMemory {
    /// `~/.claude/agent-memory/<name>/`
    User,
    /// `.claude/agent-memory/<name>/`
    Project,
    /// `.claude/agent-memory-local/<name>/`
    Local,
}

/// The working directory of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentIsolation {
    #[default]
    None,
    Worktree,
}

/// A server that an agent uses.
#[derive(Clone, Debug, PartialEq)]
pub enum McpReference {
    /// A server of the session.
    Named(String),
    /// A server of the agent only, started and stopped with it.
    Inline { name: String, config: Value },
}

/// The system prompt of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPrompt {
    Text(String),
    /// The body of this file, read when the agent starts.
    File(PathBuf),
}

impl AgentPrompt {
    pub fn read(&self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => {
                let shown = path.display();
                let bytes = sys::fs::read_whole(path, MAX_PROMPT)
                    .map_err(|error| format!("{shown} cannot be read: {error}"))?;
                Ok(frontmatter::body(&String::from_utf8_lossy(&bytes)).trim().to_owned())
            }
        }
    }
}

/// One agent type.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// The value of `subagent_type`.
    pub name: String,
    pub description: String,
    pub prompt: AgentPrompt,
    /// The tools of the agent; `None`: those of its parent.
    pub tools: Option<Vec<String>>,
    /// Tools removed from the list before `tools` applies.
    pub disallowed_tools: Vec<String>,
    /// An alias or id; `None`: the model of its parent.
    pub model: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    pub max_turns: Option<u32>,
    /// Skills whose bodies are loaded at the start.
    pub skills: Vec<String>,
    pub mcp_servers: Vec<McpReference>,
    pub hooks: Option<Value>,
    pub memory: Option<AgentMemory>,
    /// Always runs in the background.
    pub background: bool,
    /// A level, or a number from the SDK.
    pub effort: Option<String>,
    pub isolation: AgentIsolation,
    pub color: Option<&'static str>,
    /// The first prompt when the session itself runs as this agent.
    pub initial_prompt: Option<String>,
    /// The agent gets no instruction files.
    pub omit_claude_md: bool,
    pub scope: DefinitionScope,
    /// `None` for an agent given on the command line.
    pub path: Option<PathBuf>,
}

impl AgentDefinition {
    /// Creates a definition with default values.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        prompt: AgentPrompt,
        scope: DefinitionScope,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            prompt,
            tools: None,
            disallowed_tools: Vec::new(),
            model: None,
            permission_mode: None,
            max_turns: None,
            skills: Vec::new(),
            mcp_servers: Vec::new(),
            hooks: None,
            memory: None,
            background: false,
            effort: None,
            isolation: AgentIsolation::None,
            color: None,
            initial_prompt: None,
            omit_claude_md: false,
            scope,
            path: None,
        }
    }
}

/// A file that is not a valid agent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedAgent {
    pub path: PathBuf,
    pub line: usize,
    pub reason: String,
}

/// All declared agent types.
#[derive(Clone, Debug, Default)]
pub struct AgentDefinitions {
    /// Highest priority first; names are unique.
    pub all: Vec<Arc<AgentDefinition>>,
    pub skipped: Vec<SkippedAgent>,
    pub findings: Vec<FileFinding>,
    pub(crate) stamps: PathStamps,
}

impl AgentDefinitions {
    /// Reads all directories. `given` are the agents of the command line or the SDK (see [`from_json`]).
    pub fn load(roots: &DefinitionRoots, given: &[AgentDefinition]) -> Self {
        load::load(roots, given)
    }

    pub fn find(&self, name: &str) -> Option<&AgentDefinition> {
        self.all.iter().find(|agent| agent.name == name).map(Arc::as_ref)
    }

    /// True when nothing changed on disk since the definitions were read. Missing directories are checked too.
    pub fn are_current(&self) -> bool {
        self.stamps.are_unchanged()
    }
}

/// Parses `--agents`: a map from name to definition. An invalid definition is an error; unknown keys are ignored.
pub fn from_json(text: &str) -> Result<Vec<AgentDefinition>, String> {
    json::parse(text)
}

pub(crate) const MODES: &[&str] = &["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan", "manual"];

/// `manual` is another name for the default mode.
pub(crate) fn mode(text: &str) -> Option<PermissionMode> {
    if text == "manual" { Some(PermissionMode::Default) } else { PermissionMode::parse(text) }
}

/// Parses names of servers, or objects that declare them.
pub(crate) fn servers(value: &Value) -> Option<Vec<McpReference>> {
    let inline = |(name, config): (&String, &Value)| match config {
        Value::Null => McpReference::Named(name.clone()),
        config => McpReference::Inline { name: name.clone(), config: config.clone() },
    };
    match value {
        Value::String(names) => {
            Some(names.split(',').map(|name| McpReference::Named(name.trim().to_owned())).collect())
        }
        Value::Object(members) => Some(members.iter().map(inline).collect()),
        Value::Array(items) => {
            let mut found = Vec::new();
            for item in items {
                match item {
                    Value::String(name) => found.push(McpReference::Named(name.clone())),
                    Value::Object(members) => found.extend(members.iter().map(inline)),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
                }
            }
            Some(found)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
