//! The state of tools within one session. Each part has its own lock; no lock is kept across an await.

use crate::bash::shell::SessionShell;
use crate::masking::Masking;
use crate::read_state::ReadState;
use crate::tasks::SessionTasks;
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;

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

/// Shared by all calls of a session.
pub struct ToolState {
    pub facts: SessionFacts,
    /// The shell's directory; persists between Bash calls.
    pub cwd: Mutex<PathBuf>,
    /// The secrets to hide in results.
    pub masking: Arc<Masking>,
    /// Which files the model has seen.
    pub reads: ReadState,
    /// Background tasks.
    pub tasks: Arc<SessionTasks>,
    pub shell: Arc<SessionShell>,
    /// The locked folders for files of running commands.
    pub folders: Arc<crate::task_folder::TaskFolders>,
    /// The model's checklist.
    pub todos: crate::todo_write::TodoItems,
    /// Cached pages, and the client that fetches them.
    pub web: Arc<crate::web_fetch::WebCache>,
    pub searches: Arc<crate::web_search::SearchCounter>,
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
            searches: Arc::default(),
        }
    }

    /// The state for an agent of the same session. The agent has its own read records, checklist and directory;
    /// background tasks, the shell's snapshot, fetched pages, the count of searches and secrets are shared.
    #[must_use]
    pub fn for_agent(&self, facts: SessionFacts, cwd: PathBuf) -> Self {
        Self {
            tasks: Arc::clone(&self.tasks),
            shell: Arc::clone(&self.shell),
            folders: Arc::clone(&self.folders),
            web: Arc::clone(&self.web),
            searches: Arc::clone(&self.searches),
            masking: Arc::clone(&self.masking),
            ..Self::new(facts, cwd)
        }
    }

    /// Continues the conversation of `before` in another place: its read records and checklist move here;
    /// background tasks, shell, folders, fetched pages and the count of searches are shared.
    #[must_use]
    pub fn continue_from(self, before: &Self) -> Self {
        self.reads.take_over(&before.reads);
        self.todos.take_over(&before.todos);
        Self {
            tasks: Arc::clone(&before.tasks),
            shell: Arc::clone(&before.shell),
            folders: Arc::clone(&before.folders),
            web: Arc::clone(&before.web),
            searches: Arc::clone(&before.searches),
            ..self
        }
    }

    /// Ends background tasks and removes files that only this session needs. Must be called once, at the end of the
    /// session.
    pub async fn shutdown(&self) {
        self.tasks.stop_all().await;
        self.shell.shutdown();
        self.folders.release();
        // The sandbox may have created the folder without a command.
        if std::fs::remove_dir(&self.facts.tasks_dir).is_ok()
            && let Some(session) = self.facts.tasks_dir.parent()
        {
            std::fs::remove_dir(session).ok();
        }
    }
}
