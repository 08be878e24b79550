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
fn can_ask(assembly: &SessionAssembly) -> bool {
    match assembly.options.permissions.prompt_tool.as_deref() {
        Some("stdio") => assembly.options.host.multi_turn,
        Some(_) => true,
        None => false,
    }
}

pub(super) fn registry(
    assembly: &SessionAssembly,
    policy: &Policy,
    structured: Option<Arc<StructuredOutput>>,
    skills: &SessionSkills,
) -> ToolRegistry {
    let lists = lists(assembly);
    let wanted = |name: &str| {
        is_wanted(name, assembly, lists) && of_agent(assembly.agent.as_ref(), name) && !policy.removes(name)
    };
    let mut registry = ToolRegistry::new(wanted);
    if assembly.has_skills() && wanted(SkillTool::NAME) {
        registry.add(Arc::new(SkillTool::new(skills)));
    }
    if can_ask(assembly) {
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
    assembly: &SessionAssembly,
    policy: &Policy,
    spawner: &Arc<AgentSpawner>,
) {
    let wanted = |name: &str| is_extra_wanted(assembly, name, policy);
    if wanted(AgentTool::NAME) {
        registry.add(Arc::new(AgentTool::new(Arc::clone(spawner), policy, AgentTypes::of(assembly.agent.as_ref()))));
    }
    if wanted(SendMessage::NAME) && registry.of_class(ToolClass::Agent).is_some() {
        registry.add(Arc::new(SendMessage::new(Arc::clone(spawner))));
    }
}

/// Adds the worktree tools, when there is a repository or a hook that creates worktrees.
pub(super) fn add_worktrees(registry: &mut ToolRegistry, assembly: &SessionAssembly, policy: &Policy) {
    if !assembly.has_worktrees || !is_extra_wanted(assembly, EnterWorktree::NAME, policy) {
        return;
    }
    registry.add(Arc::new(EnterWorktree::new()));
    if is_extra_wanted(assembly, ExitWorktree::NAME, policy) {
        registry.add(Arc::new(ExitWorktree::new()));
    }
}

/// Whether a tool outside the built-in table is offered.
pub(super) fn is_extra_wanted(assembly: &SessionAssembly, name: &str, policy: &Policy) -> bool {
    let listed = match chosen(assembly) {
        Some(list) => names(list, name),
        None => !assembly.options.configuration.bare,
    };
    listed && of_agent(assembly.agent.as_ref(), name) && !policy.removes(name)
}

fn is_wanted(name: &str, assembly: &SessionAssembly, lists: TaskListKind) -> bool {
    match chosen(assembly) {
        Some(list) => names(list, name),
        None if assembly.options.configuration.bare => tool_facts(name).is_basic,
        None => lists.keeps(name),
    }
}

/// The list of `--tools`; `None` when it asks for the default.
fn chosen(assembly: &SessionAssembly) -> Option<&[String]> {
    assembly.options.tools.offered.as_deref().filter(|list| !list.iter().any(|n| n == "default"))
}

/// A line about names in `--tools` that are no built-in tool.
pub(super) fn unknown_tools_notice(options: &SessionOptions) -> Option<String> {
    let listed = options.tools.offered.as_deref().unwrap_or_default().iter().map(String::as_str);
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

fn lists(assembly: &SessionAssembly) -> TaskListKind {
    let newest = assembly.catalog.lookup(&assembly.model.id).hides_todo_tools;
    let options = &assembly.options;
    let listed = options.tools.offered.as_deref().unwrap_or_default();
    TaskListKind::choose(newest, &assembly.env, |name| names(&options.permissions.allowed, name) || names(listed, name))
}

/// Whether the user asked for the tool by its name: with `--tools`, `--allowedTools`, or the definition that the main
/// thread runs as.
pub(super) fn is_named(assembly: &SessionAssembly, name: &str) -> bool {
    let options = &assembly.options;
    let listed = options.tools.offered.as_deref().unwrap_or_default();
    let of_agent = assembly.agent.as_ref().and_then(|agent| agent.tools.as_deref()).unwrap_or_default();
    [&options.permissions.allowed, listed, of_agent].iter().any(|list| names(list, name))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|n| wire::names::canonical(n) == name)
}
