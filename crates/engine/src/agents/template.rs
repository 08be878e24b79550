//! The parts that every agent of a session is built from.

use model::catalog::ServingParty;
use model::{ModelCatalog, RequestIdentity};
use session_parts::compaction_policy::CompactionSettings;
use session_parts::context::RequestSettings;
use session_parts::host::ForwardMode;
use session_parts::host::HostSender;
use session_parts::host::InitFacts;
use session_parts::ledger::Ledger;
use session_parts::project_facts::ProjectFacts;
use session_parts::skills::SkillsTemplate;
use std::path::PathBuf;
use std::sync::Arc;
use store::Persistence;
use sys::Env;
use tools::Workspace;
use tools::state::ToolState;
use wire::entry::EntryTail;

/// The parts every agent of a session is built from.
#[derive(Clone)]
pub(crate) struct AgentTemplate {
    pub env: Env,
    /// The main thread's host connection.
    pub host: HostSender,
    pub catalog: Arc<ModelCatalog>,
    pub identity: Arc<RequestIdentity>,
    pub small_model: String,
    pub tail: EntryTail,
    pub persist: Persistence,
    pub session_dir: PathBuf,
    pub state: Arc<ToolState>,
    pub directories: Workspace,
    /// Adds to the totals of the main thread.
    pub ledger: Ledger,
    pub request: RequestSettings,
    pub fallbacks: Vec<String>,
    /// When an agent's conversation is compacted.
    pub compaction: CompactionSettings,
    pub served: ServingParty,
    /// The main thread's transcript, as hooks receive it.
    pub transcript: PathBuf,
    pub skills: SkillsTemplate,
    /// Where skills are declared; `None` when definitions on disk are ignored.
    pub roots: Option<config::roots::DefinitionRoots>,
    /// Instruction files, without the notes of earlier sessions.
    pub memory: Vec<config::MemoryFile>,
    /// Names of the session's tools, including those that start agents.
    pub tools: Vec<String>,
    /// The session's MCP servers.
    pub servers: Arc<session_parts::mcp::SessionServers>,
    pub concurrency: usize,
    pub forward: ForwardMode,
    /// `--append-subagent-system-prompt`
    pub append_prompt: Option<String>,
    /// What the sandbox of commands allows in the session's directory; `None` without one.
    pub sandbox: Option<String>,
    /// Facts about the project, which are put before an agent's task; `None` when they are not sent.
    pub project_facts: Option<Arc<ProjectFacts>>,
    pub facts: InitFacts,
    /// Receives every line of every transcript.
    pub mirror: Option<store::LineObserver>,
}
