//! What a call would do, as permission sees it.

use std::path::PathBuf;

/// One effect of a call, declared from its parsed input before anything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read a file (Read), or search below a directory (Glob, Grep). Absolute, lexically normalised.
    ReadPath(PathBuf),
    /// Create or change a file (Write, Edit, NotebookEdit). Absolute, lexically normalised.
    WritePath(PathBuf),
    /// Run a shell command (Bash).
    Run(String),
    /// Reach a host (WebFetch).
    Reach { host: String },
    /// Use a tool that is judged by its name alone (WebSearch, MCP tools).
    Use,
    /// Nothing that needs permission (todo lists, task output).
    Harmless,
    /// Get an answer of the person: no rule and no mode gives it in their place (AskUserQuestion, ExitPlanMode).
    Interact,
}
