//! Which tools a session offers.

use super::Opening;
use crate::agents::{AgentTool, AgentTypes, SendMessage, Spawner};
use crate::calls::interact;
use crate::lore::{Lore, tool as skill_tool};
use crate::structured::StructuredOutput;
use crate::worktree::{EnterWorktree, ExitWorktree};
use config::agents::Definition;
use permission::Policy;
use std::sync::Arc;
use tools::Registry;
use tools::task_list::offer::Lists;

/// What `--bare` leaves.
const BARE: [&str; 3] = ["Bash", "Read", "Edit"];
/// Only worth offering when somebody is there.
const PERSON: [&str; 3] = ["AskUserQuestion", interact::ENTER, interact::EXIT];

/// Whether a question would reach a host.
fn can_ask(opening: &Opening) -> bool {
    match opening.options.permission_prompt_tool.as_deref() {
        Some("stdio") => opening.options.multi_turn,
        Some(_) => true,
        None => false,
    }
}

pub(super) fn registry(
    opening: &Opening,
    policy: &Policy,
    structured: Option<Arc<StructuredOutput>>,
    lore: &Lore,
) -> Registry {
    let lists = lists(opening);
    let wanted =
        |name: &str| is_wanted(name, opening, lists) && of_agent(opening.agent.as_ref(), name) && !policy.removes(name);
    let mut registry = Registry::new(wanted);
    if opening.has_skills() && wanted(skill_tool::NAME) {
        registry.add(lore.tool());
    }
    if can_ask(opening) {
        for name in PERSON {
            registry.offer(name);
        }
    }
    if let Some(tool) = structured {
        registry.add(tool);
    }
    registry
}

/// The tools that start agents and reach them, behind all others.
pub(super) fn add_agents(registry: &mut Registry, opening: &Opening, policy: &Policy, spawner: &Arc<Spawner>) {
    let wanted = |name: &str| is_wanted_beside(opening, name, policy);
    if wanted("Agent") {
        registry.add(Arc::new(AgentTool::new(Arc::clone(spawner), policy, AgentTypes::of(opening.agent.as_ref()))));
    }
    if wanted("SendMessage") && registry.find("Agent").is_some() {
        registry.add(Arc::new(SendMessage::new(Arc::clone(spawner))));
    }
}

/// The tools that move the session, where there is a repository to make worktrees of or a hook that makes them.
pub(super) fn add_worktrees(registry: &mut Registry, opening: &Opening, policy: &Policy, spawner: &Arc<Spawner>) {
    if !opening.has_worktrees || !is_wanted_beside(opening, EnterWorktree::NAME, policy) {
        return;
    }
    registry.add(Arc::new(EnterWorktree::new(Arc::clone(spawner))));
    if is_wanted_beside(opening, ExitWorktree::NAME, policy) {
        registry.add(Arc::new(ExitWorktree::new(Arc::clone(spawner))));
    }
}

/// Whether a tool that is none of the built-in table is offered.
fn is_wanted_beside(opening: &Opening, name: &str, policy: &Policy) -> bool {
    let listed = match chosen(opening) {
        Some(list) => names(list, name),
        None => !opening.options.bare,
    };
    listed && of_agent(opening.agent.as_ref(), name) && !policy.removes(name)
}

/// What the definition of the main thread leaves.
pub(crate) fn of_agent(agent: Option<&Definition>, name: &str) -> bool {
    let Some(agent) = agent else { return true };
    let names = |list: &[String]| {
        let tool = |entry: &str| entry.split_once('(').map_or(entry.trim(), |(tool, _)| tool.trim()).to_owned();
        list.iter().any(|entry| matches!(wire::names::canonical(&tool(entry)), n if n == name || n == "*"))
    };
    agent.tools.as_deref().is_none_or(names) && !names(&agent.disallowed_tools)
}

fn is_wanted(name: &str, opening: &Opening, lists: Lists) -> bool {
    match chosen(opening) {
        Some(list) => names(list, name),
        None if opening.options.bare => BARE.contains(&name),
        None => lists.keeps(name),
    }
}

/// `--tools`, unless it asks for the default.
fn chosen(opening: &Opening) -> Option<&[String]> {
    opening.options.tools.as_deref().filter(|list| !list.iter().any(|n| n == "default"))
}

fn lists(opening: &Opening) -> Lists {
    let newest = opening.catalog.lookup(&opening.model).hides_todo_tools;
    let options = &opening.options;
    let listed = options.tools.as_deref().unwrap_or_default();
    Lists::choose(newest, &opening.env, |name| names(&options.allowed_tools, name) || names(listed, name))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|n| wire::names::canonical(n) == name)
}
