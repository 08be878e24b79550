//! The parts of a session that requests act on directly, because they are shared or never change.

use super::mcp::McpControl;
use crate::agents::Agents;
use crate::hooks::HostHooks;
use config::Selection;
use config::roots::Roots;
use model::Catalog;
use std::path::PathBuf;
use std::sync::Arc;
use store::Transcript;
use sys::Env;
use tools::state::ToolState;
use wire::control::Account;

#[allow(dead_code, reason = "requests are added one by one")]
pub(crate) struct Reach {
    pub session_id: String,
    pub cwd: PathBuf,
    /// Without the settings' own variables.
    pub base_env: Env,
    pub env: Env,
    pub selection: Selection,
    pub roots: Option<Roots>,
    pub catalog: Arc<Catalog>,
    /// `availableModels`
    pub allowed_models: Option<Vec<String>>,
    /// The model the session falls back to when the host unsets its own.
    pub default_model: String,
    pub account: Account,
    pub agents: Arc<Agents>,
    pub state: Arc<ToolState>,
    pub transcript: Transcript,
    pub mcp: Arc<dyn McpControl>,
    pub host_hooks: Arc<HostHooks>,
}
