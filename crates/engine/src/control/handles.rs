//! The parts of a session that requests act on directly, because they are shared or never change.

use crate::agents::AgentTable;
use config::SettingsSelection;
use config::roots::DefinitionRoots;
use model::ModelCatalog;
use session_parts::hooks::{HookRestriction, HostHooks};
use session_parts::ledger::Ledger;
use session_parts::mcp::McpControl;
use session_parts::models::OfferedModels;
use session_parts::side_requests::SideClient;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use store::Transcript;
use sys::Env;
use tools::ToolRegistry;
use tools::state::ToolState;
use wire::control::Account;
use wire::settings::Settings;

pub(crate) struct SessionHandles {
    /// True when the host uses stream-json input and may send control requests.
    pub accepts_requests: bool,
    pub session_id: String,
    pub cwd: PathBuf,
    /// The environment without the variables that settings set.
    pub base_env: Env,
    pub env: Env,
    pub selection: SettingsSelection,
    pub roots: Option<DefinitionRoots>,
    pub catalog: Arc<ModelCatalog>,
    /// The settings at the start of the session.
    pub settings: Arc<Settings>,
    pub skill_overrides: BTreeMap<String, String>,
    pub reduced: HookRestriction,
    /// Shares its totals with the session's ledger.
    pub ledger: Ledger,
    /// When the session was built.
    pub since: Instant,
    /// The model used when the host resets its choice.
    pub default_model: String,
    pub account: Account,
    pub agents: Arc<AgentTable>,
    pub state: Arc<ToolState>,
    pub transcript: Transcript,
    pub mcp: Arc<dyn McpControl>,
    pub side: Arc<SideClient>,
    /// Models that the endpoint offers in addition to the built-in table.
    pub offered: OfferedModels,
    pub host_hooks: Arc<HostHooks>,
    /// Every tool the session started with.
    pub tools: Arc<ToolRegistry>,
}
