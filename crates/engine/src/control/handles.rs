//! The parts of a session that requests act on directly, because they are shared or never change.

use super::mcp::McpControl;
use crate::agents::AgentTable;
use crate::hooks::{HookRestriction, HostHooks};
use crate::ledger::Ledger;
use crate::models::OfferedModels;
use crate::side_requests::SideClient;
use config::SettingsSelection;
use config::roots::DefinitionRoots;
use model::ModelCatalog;
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
    /// Requests may come: the host writes more than one prompt.
    pub accepts_requests: bool,
    pub session_id: String,
    pub cwd: PathBuf,
    /// Without the settings' own variables.
    pub base_env: Env,
    pub env: Env,
    pub selection: SettingsSelection,
    pub roots: Option<DefinitionRoots>,
    pub catalog: Arc<ModelCatalog>,
    /// As the session began with.
    pub settings: Arc<Settings>,
    pub skill_overrides: BTreeMap<String, String>,
    pub reduced: HookRestriction,
    /// Shares its totals with the session's.
    pub ledger: Ledger,
    /// When the session was put together.
    pub since: Instant,
    /// The model the session falls back to when the host unsets its own.
    pub default_model: String,
    pub account: Account,
    pub agents: Arc<AgentTable>,
    pub state: Arc<ToolState>,
    pub transcript: Transcript,
    pub mcp: Arc<dyn McpControl>,
    pub side: Arc<SideClient>,
    /// Models beyond those of the table.
    pub offered: OfferedModels,
    pub host_hooks: Arc<HostHooks>,
    /// Every tool the session began with.
    pub tools: Arc<ToolRegistry>,
}
