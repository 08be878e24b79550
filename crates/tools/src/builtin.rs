//! The built-in tools, in the order they stand in every request. One row per tool.

use crate::contract::Tool;
use std::sync::Arc;

/// A row of the table.
pub struct Builtin {
    pub tool: Arc<dyn Tool>,
    /// Listed in requests. The others run when called, so that older names and transcripts keep working.
    pub offered: bool,
}

fn offered(tool: impl Tool + 'static) -> Builtin {
    Builtin { tool: Arc::new(tool), offered: true }
}

fn callable(tool: impl Tool + 'static) -> Builtin {
    Builtin { tool: Arc::new(tool), offered: false }
}

/// Every built-in tool, in table order.
pub fn table() -> Vec<Builtin> {
    vec![
        // Shell and background tasks.
        offered(crate::bash::Bash),
        offered(crate::task_output::TaskOutput),
        offered(crate::task_stop::TaskStop),
        // Files.
        offered(crate::read::Read),
        offered(crate::edit::Edit),
        callable(crate::multi_edit::MultiEdit),
        offered(crate::write::Write),
        offered(crate::notebook_edit::NotebookEdit),
        // Search.
        offered(crate::glob::Glob),
        offered(crate::grep::Grep),
        // Web.
        offered(crate::web_fetch::WebFetch),
        offered(crate::web_search::WebSearch),
        // Lists.
        offered(crate::todo_write::TodoWrite),
        offered(crate::task_list::TaskCreate),
        offered(crate::task_list::TaskGet),
        offered(crate::task_list::TaskUpdate),
        offered(crate::task_list::TaskList),
        // The person: offered where somebody can answer.
        callable(crate::ask_user_question::AskUserQuestion),
        callable(crate::plan_mode::EnterPlanMode),
        callable(crate::plan_mode::ExitPlanMode),
    ]
}

/// The tools alone, in table order.
pub fn all() -> Vec<Arc<dyn Tool>> {
    table().into_iter().map(|row| row.tool).collect()
}
