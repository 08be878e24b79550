//! The state of tools within one session. Each part has its own lock; no lock is kept across an await.

use crate::masking::Masking;
use crate::read_state::ReadState;
use crate::search_counter::SearchCounter;
use crate::shell::SessionShell;
use crate::task_folder::TaskFolders;
use crate::tasks::SessionTasks;
use crate::todo_items::TodoItems;
use crate::web_cache::WebCache;
use std::path::PathBuf;
use std::sync::Arc;
use sys::sync::Mutex;

pub use crate::session_facts::SessionFacts;

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
    pub folders: Arc<TaskFolders>,
    /// The model's checklist.
    pub todos: TodoItems,
    /// Cached pages, and the client that fetches them.
    pub web: Arc<WebCache>,
    pub searches: Arc<SearchCounter>,
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
            todos: TodoItems::default(),
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
