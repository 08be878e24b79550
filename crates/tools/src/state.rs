//! What tools remember within one session. Each part guards itself; no lock is held across an await.

use crate::bash::shell::SessionShell;
use crate::masking::Masking;
use crate::read_state::ReadState;
use crate::tasks::SessionTasks;
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;

/// Facts the engine sets once per session.
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
    /// Effort level to tell children, when the model takes one.
    pub effort: Option<String>,
    /// Variables holding credentials that children must not inherit.
    pub secret_vars: Vec<String>,
    /// Whether the provider accepts PDF `document` blocks.
    pub documents: bool,
    /// Where the plan of plan mode is kept.
    pub plan_file: Option<PathBuf>,
    /// The agent whose calls these are; `None` for the main thread.
    pub agent_id: Option<String>,
}

/// Shared by all calls of a session.
pub struct ToolState {
    pub facts: SessionFacts,
    /// The shell's directory; persists between Bash calls.
    pub cwd: Mutex<PathBuf>,
    /// What is hidden in results.
    pub masking: Arc<Masking>,
    /// What the model has seen of which file.
    pub reads: ReadState,
    /// Background tasks.
    pub tasks: Arc<SessionTasks>,
    pub shell: Arc<SessionShell>,
    /// The folders its files lie in while commands run.
    pub folders: Arc<crate::task_folder::TaskFolders>,
    /// The model's checklist.
    pub todos: crate::todo_write::TodoItems,
    /// Pages seen, and the client that fetches them.
    pub web: Arc<crate::web_fetch::WebCache>,
    pub searches: crate::web_search::SearchCounter,
}

impl ToolState {
    pub fn new(facts: SessionFacts, cwd: PathBuf) -> Self {
        Self {
            masking: Arc::new(Masking::new(facts.env.clone())),
            facts,
            cwd: Mutex::new(cwd),
            reads: ReadState::default(),
            tasks: Arc::default(),
            shell: Arc::default(),
            folders: Arc::default(),
            todos: crate::todo_write::TodoItems::default(),
            web: Arc::default(),
            searches: crate::web_search::SearchCounter::default(),
        }
    }

    /// For an agent of the same session: what it has read and done is its own; background tasks, the shell's
    /// snapshot, fetched pages and what is hidden are shared.
    #[must_use]
    pub fn for_agent(&self, facts: SessionFacts, cwd: PathBuf) -> Self {
        Self {
            tasks: Arc::clone(&self.tasks),
            shell: Arc::clone(&self.shell),
            folders: Arc::clone(&self.folders),
            web: Arc::clone(&self.web),
            masking: Arc::clone(&self.masking),
            ..Self::new(facts, cwd)
        }
    }

    /// The same conversation in another place: what was read, listed and started before still counts.
    #[must_use]
    pub fn continue_from(self, before: &Self) -> Self {
        self.reads.take_over(&before.reads);
        self.todos.take_over(&before.todos);
        Self {
            tasks: Arc::clone(&before.tasks),
            shell: Arc::clone(&before.shell),
            folders: Arc::clone(&before.folders),
            web: Arc::clone(&before.web),
            ..self
        }
    }

    /// Ends background tasks and removes what only this session needs. Call it once, at the session's end.
    pub async fn shutdown(&self) {
        self.tasks.stop_all().await;
        self.shell.shutdown();
        self.folders.release();
        // The sandbox may have made it without a command.
        if std::fs::remove_dir(&self.facts.tasks_dir).is_ok()
            && let Some(session) = self.facts.tasks_dir.parent()
        {
            std::fs::remove_dir(session).ok();
        }
    }
}
