//! Which tools a session offers.

use super::SessionAssembly;
use crate::SessionOptions;
use crate::agent_runs::{AgentTool, AgentTypes, SendMessage};
use crate::agents::AgentSpawner;
use crate::agents::toolset::of_agent;
use crate::skill_tool::SkillTool;
use crate::tool_facts::{self, tool_facts};
use crate::worktree_tools::{EnterWorktree, ExitWorktree};
use permission::Policy;
use session_parts::skills::SessionSkills;
use session_parts::structured::StructuredOutput;
use std::sync::Arc;
use tools::task_list::offer::TaskListKind;
use tools::{ToolClass, ToolRegistry};

/// Whether a question would reach somebody.
fn can_ask(opening: &SessionAssembly) -> bool {
    match opening.options.permission_prompt_tool.as_deref() {
        Some("stdio") => opening.options.multi_turn,
        Some(_) => true,
        None => false,
    }
}

pub(super) fn registry(
    opening: &SessionAssembly,
    policy: &Policy,
    structured: Option<Arc<StructuredOutput>>,
    lore: &SessionSkills,
) -> ToolRegistry {
    let lists = lists(opening);
    let wanted =
        |name: &str| is_wanted(name, opening, lists) && of_agent(opening.agent.as_ref(), name) && !policy.removes(name);
    let mut registry = ToolRegistry::new(wanted);
    if opening.has_skills() && wanted(SkillTool::NAME) {
        registry.add(Arc::new(SkillTool::new(lore)));
    }
    if can_ask(opening) {
        registry.offer(ToolClass::needs_answer);
    }
    if let Some(tool) = structured {
        registry.add(tool);
    }
    registry
}

/// Adds the tools that start agents and send messages to them, after all others.
pub(super) fn add_agents(
    registry: &mut ToolRegistry,
    opening: &SessionAssembly,
    policy: &Policy,
    spawner: &Arc<AgentSpawner>,
) {
    let wanted = |name: &str| is_extra_wanted(opening, name, policy);
    if wanted(AgentTool::NAME) {
        registry.add(Arc::new(AgentTool::new(Arc::clone(spawner), policy, AgentTypes::of(opening.agent.as_ref()))));
    }
    if wanted(SendMessage::NAME) && registry.of_class(ToolClass::Agent).is_some() {
        registry.add(Arc::new(SendMessage::new(Arc::clone(spawner))));
    }
}

/// Adds the worktree tools, when there is a repository or a hook that creates worktrees.
pub(super) fn add_worktrees(registry: &mut ToolRegistry, opening: &SessionAssembly, policy: &Policy) {
    if !opening.has_worktrees || !is_extra_wanted(opening, EnterWorktree::NAME, policy) {
        return;
    }
    registry.add(Arc::new(EnterWorktree::new()));
    if is_extra_wanted(opening, ExitWorktree::NAME, policy) {
        registry.add(Arc::new(ExitWorktree::new()));
    }
}

/// Whether a tool outside the built-in table is offered.
fn is_extra_wanted(opening: &SessionAssembly, name: &str, policy: &Policy) -> bool {
    let listed = match chosen(opening) {
        Some(list) => names(list, name),
        None => !opening.options.bare,
    };
    listed && of_agent(opening.agent.as_ref(), name) && !policy.removes(name)
}

fn is_wanted(name: &str, opening: &SessionAssembly, lists: TaskListKind) -> bool {
    match chosen(opening) {
        Some(list) => names(list, name),
        None if opening.options.bare => tool_facts(name).is_basic,
        None => lists.keeps(name),
    }
}

/// The list of `--tools`; `None` when it asks for the default.
fn chosen(opening: &SessionAssembly) -> Option<&[String]> {
    opening.options.tools.as_deref().filter(|list| !list.iter().any(|n| n == "default"))
}

/// A line about names in `--tools` that are no built-in tool.
pub(super) fn unknown_tools_notice(options: &SessionOptions) -> Option<String> {
    let listed = options.tools.as_deref().unwrap_or_default().iter().map(String::as_str);
    let mut unknown = listed.filter(|name| !matches!(*name, "default" | "")).peekable();
    unknown.peek()?;
    let known: Vec<&str> = tool_facts::names().collect();
    let unknown: Vec<&str> = unknown.filter(|name| !known.contains(&wire::names::canonical(name))).collect();
    if unknown.is_empty() {
        return None;
    }
    Some(format!(
        "Warning: --tools: no built-in tool is named {}; it adds nothing. The built-in tools are {}. Tools of MCP \
         servers are not chosen here.",
        unknown.join(" or "),
        known.join(", ")
    ))
}

fn lists(opening: &SessionAssembly) -> TaskListKind {
    let newest = opening.catalog.lookup(&opening.model.id).hides_todo_tools;
    let options = &opening.options;
    let listed = options.tools.as_deref().unwrap_or_default();
    TaskListKind::choose(newest, &opening.env, |name| names(&options.allowed_tools, name) || names(listed, name))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|n| wire::names::canonical(n) == name)
}
