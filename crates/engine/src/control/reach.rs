//! The parts of a session that requests act on directly, because they are shared or never change.

use super::mcp::McpControl;
use crate::agents::Agents;
use crate::hooks::{HostHooks, Reduced};
use crate::ledger::Ledger;
use crate::models::Offered;
use crate::side::Side;
use config::Selection;
use config::roots::Roots;
use model::Catalog;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use store::Transcript;
use sys::Env;
use tools::Registry;
use tools::state::ToolState;
use wire::control::Account;
use wire::settings::Settings;

pub(crate) struct Reach {
    /// Requests may come: the host writes more than one prompt.
    pub asks: bool,
    pub session_id: String,
    pub cwd: PathBuf,
    /// Without the settings' own variables.
    pub base_env: Env,
    pub env: Env,
    pub selection: Selection,
    pub roots: Option<Roots>,
    pub catalog: Arc<Catalog>,
    /// As the session began with.
    pub settings: Arc<Settings>,
    pub skill_overrides: BTreeMap<String, String>,
    pub reduced: Reduced,
    /// Shares its totals with the session's.
    pub ledger: Ledger,
    /// When the session was put together.
    pub since: Instant,
    /// The model the session falls back to when the host unsets its own.
    pub default_model: String,
    pub account: Account,
    pub agents: Arc<Agents>,
    pub state: Arc<ToolState>,
    pub transcript: Transcript,
    pub mcp: Arc<dyn McpControl>,
    pub side: Arc<Side>,
    /// Models beyond those of the table.
    pub offered: Offered,
    pub host_hooks: Arc<HostHooks>,
    /// Every tool the session began with.
    pub tools: Arc<Registry>,
}
