//! The built-in tools, in the order they have in every request. One row per tool.

use crate::contract::Tool;
use crate::facts::ToolFacts;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// A row of the table.
pub struct BuiltinTool {
    pub tool: Arc<dyn Tool>,
    /// Listed in requests. The others run when called, so that older names and transcripts keep working.
    pub is_offered: bool,
}

fn offered(tool: impl Tool + 'static) -> BuiltinTool {
    BuiltinTool { tool: Arc::new(tool), is_offered: true }
}

fn callable(tool: impl Tool + 'static) -> BuiltinTool {
    BuiltinTool { tool: Arc::new(tool), is_offered: false }
}

/// Every built-in tool, in table order.
pub fn table() -> Vec<BuiltinTool> {
    vec![
        // Shell and background tasks.
        offered(crate::bash::BashTool),
        offered(crate::task_output::TaskOutputTool),
        offered(crate::task_stop::TaskStopTool),
        // Files.
        offered(crate::read::ReadTool),
        offered(crate::edit::EditTool),
        callable(crate::multi_edit::MultiEditTool),
        offered(crate::write::WriteTool),
        offered(crate::notebook_edit::NotebookEditTool),
        // Search.
        offered(crate::glob::GlobTool),
        offered(crate::grep::GrepTool),
        // Web.
        offered(crate::web_fetch::WebFetchTool),
        offered(crate::web_search::WebSearchTool),
        // Lists.
        offered(crate::todo_write::TodoWriteTool),
        offered(crate::task_list::TaskCreateTool),
        offered(crate::task_list::TaskGetTool),
        offered(crate::task_list::TaskUpdateTool),
        offered(crate::task_list::TaskListTool),
        // Tools that involve the person; the session offers them where somebody can answer.
        callable(crate::ask_user_question::AskUserQuestionTool),
        callable(crate::plan_mode::EnterPlanModeTool),
        callable(crate::plan_mode::ExitPlanModeTool),
    ]
}

/// The tools alone, in table order.
pub fn all() -> Vec<Arc<dyn Tool>> {
    table().into_iter().map(|row| row.tool).collect()
}

/// Names and facts, in table order.
static FACTS: LazyLock<Vec<(String, ToolFacts)>> = LazyLock::new(|| {
    table().iter().map(|row| row.tool.spec()).map(|spec| (spec.name.to_string(), spec.facts)).collect()
});

static FACTS_BY_NAME: LazyLock<HashMap<&'static str, ToolFacts>> =
    LazyLock::new(|| FACTS.iter().map(|(name, facts)| (name.as_str(), *facts)).collect());

/// The names of the tools, in table order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FACTS.iter().map(|(name, _)| name.as_str())
}

/// The facts of a tool of the table, by its current name.
pub fn facts_of(name: &str) -> Option<ToolFacts> {
    FACTS_BY_NAME.get(name).copied()
}
