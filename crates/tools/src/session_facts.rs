//! What the tools know about a session.

use std::path::PathBuf;
use sys::Env;

/// Facts that the engine sets once per session.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    pub session_id: String,
    pub env: Env,
    /// `<project dir>/<session id>`: spilled output goes to `tool-results/` below it.
    pub session_dir: PathBuf,
    /// `<tmp>/claude-<uid>/<project>/<session>/tasks`: output of background tasks.
    pub tasks_dir: PathBuf,
    /// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
    pub config_home: PathBuf,
    /// Older models must read a file before they may change it.
    pub read_before_edit: bool,
    /// Effort level to pass to children; `None` when the model has none.
    pub effort: Option<String>,
    /// Variables with credentials that children must not inherit.
    pub secret_vars: Vec<String>,
    /// Whether the provider accepts PDF `document` blocks.
    pub documents: bool,
    /// The file of the plan in plan mode.
    pub plan_file: Option<PathBuf>,
    /// The agent that makes the calls; `None` for the main thread.
    pub agent_id: Option<String>,
}

/// Whether structured results have the form of the observed reference where ours differs (`GIMLET_COMPAT_OUTPUT`).
pub(crate) fn is_compatible_output(env: &Env) -> bool {
    env.is_on("GIMLET_COMPAT_OUTPUT")
}
