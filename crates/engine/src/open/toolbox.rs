//! Which tools a session offers.

use super::Opening;
use crate::structured::StructuredOutput;
use permission::Policy;
use std::sync::Arc;
use tools::Registry;

/// What `--bare` leaves.
const BARE: [&str; 3] = ["Bash", "Read", "Edit"];
const TASK_LIST: [&str; 4] = ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"];
const TODO: &str = "TodoWrite";

pub(super) fn registry(opening: &Opening, policy: &Policy, structured: Option<Arc<StructuredOutput>>) -> Registry {
    let mut registry = Registry::new(|name| is_wanted(name, opening) && !policy.removes(name));
    if let Some(tool) = structured {
        registry.add(tool);
    }
    registry
}

fn is_wanted(name: &str, opening: &Opening) -> bool {
    let named = |list: &[String]| list.iter().any(|n| wire::names::canonical(n) == name);
    match &opening.options.tools {
        Some(list) if !list.iter().any(|n| n == "default") => return named(list),
        Some(_) | None => {}
    }
    if opening.options.bare {
        return BARE.contains(&name);
    }
    let is_list = TASK_LIST.contains(&name) || name == TODO;
    if is_list && !named(&opening.options.allowed_tools) {
        return offers_list(name, opening);
    }
    true
}

/// The newest models keep their own lists; the others get the task tools, or the older one tool instead.
fn offers_list(name: &str, opening: &Opening) -> bool {
    let facts = opening.catalog.lookup(&opening.model);
    if facts.hides_todo_tools && !opening.env.is_on("CLAUDE_CODE_ENABLE_TODO_TOOLS") {
        return false;
    }
    let older = opening.env.flag("CLAUDE_CODE_ENABLE_TASKS") == Some(false);
    if older { name == TODO } else { name != TODO }
}
