//! Selects the tools of an agent: the session's tools, minus those no agent may have, minus those its definition
//! disallows; of the rest, those its definition lists.

use crate::tool_facts::tool_facts;
use config::agents::AgentDefinition;
use session_parts::mcp::agents::covers;
use std::collections::BTreeSet;
use tools::facts::AgentUse;
use wire::mode::PermissionMode;

/// The facts about an agent that its tools depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolsetContext {
    pub(crate) background: bool,
    pub(crate) may_nest: bool,
    pub(crate) mode: PermissionMode,
}

/// The names of the agent's tools. The error lists the entries of `tools` when none of them matches a tool.
pub(crate) fn select_tools(
    base: &[String],
    definition: &AgentDefinition,
    shape: ToolsetContext,
) -> Result<BTreeSet<String>, String> {
    let mut left: BTreeSet<&str> = base.iter().map(String::as_str).filter(|name| may_have(name, shape)).collect();
    for entry in &definition.disallowed_tools {
        left.retain(|name| !covers(entry, name));
    }
    let Some(entries) = &definition.tools else { return Ok(to_owned_set(left)) };
    let named = |name: &&str| entries.iter().any(|entry| covers(entry, name));
    let mut chosen: BTreeSet<&str> = left.iter().copied().filter(named).collect();
    if chosen.is_empty() && !entries.is_empty() {
        return Err(format!(
            "Agent '{}' has no tools: none of its `tools` entries leads to one ({}). Correct the definition or leave \
             `tools` out.",
            definition.name,
            entries.join(", ")
        ));
    }
    if definition.memory.is_some() {
        chosen.extend(left.iter().copied().filter(|name| keeps_notes(name)));
    }
    Ok(to_owned_set(chosen))
}

fn to_owned_set(names: BTreeSet<&str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Whether an agent with notes needs the tool: it reads or writes text files.
fn keeps_notes(name: &str) -> bool {
    tool_facts(name).file.is_some_and(|file| file.name == "file_path")
}

fn may_have(name: &str, shape: ToolsetContext) -> bool {
    match tool_facts(name).agents {
        AgentUse::Never => false,
        AgentUse::InPlanMode => shape.mode == PermissionMode::Plan,
        AgentUse::Foreground => !shape.background,
        AgentUse::Nested => shape.may_nest,
        AgentUse::Always => true,
    }
}

/// Whether the definition of the main thread allows the tool.
pub(crate) fn of_agent(agent: Option<&AgentDefinition>, name: &str) -> bool {
    let Some(agent) = agent else { return true };
    let names = |list: &[String]| {
        let tool = |entry: &str| entry.split_once('(').map_or(entry.trim(), |(tool, _)| tool.trim()).to_owned();
        list.iter().any(|entry| matches!(wire::names::canonical(&tool(entry)), n if n == name || n == "*"))
    };
    agent.tools.as_deref().is_none_or(names) && !names(&agent.disallowed_tools)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::agents::AgentPrompt;
    use config::roots::DefinitionScope;

    const FOREGROUND: ToolsetContext =
        ToolsetContext { background: false, may_nest: true, mode: PermissionMode::Default };

    fn definition(tools: Option<&[&str]>, disallowed: &[&str]) -> AgentDefinition {
        AgentDefinition {
            tools: tools.map(|list| list.iter().map(|t| (*t).to_owned()).collect()),
            disallowed_tools: disallowed.iter().map(|t| (*t).to_owned()).collect(),
            ..AgentDefinition::new("a", "d", AgentPrompt::Text("p".into()), DefinitionScope::User)
        }
    }

    fn chosen(definition: &AgentDefinition, shape: ToolsetContext) -> Vec<String> {
        let base: Vec<String> =
            ["Agent", "Bash", "Read", "TaskCreate", "TaskOutput", "Write", "mcp__s__t"].map(str::to_owned).into();
        select_tools(&base, definition, shape).unwrap().into_iter().collect()
    }

    // [EXT-160] [TST-91]
    #[test]
    fn what_is_taken_away_goes_first() {
        let all = ["Agent", "Bash", "Read", "TaskCreate", "Write", "mcp__s__t"];
        assert_eq!(chosen(&definition(None, &[]), FOREGROUND), all);
        assert_eq!(chosen(&definition(Some(&["Read", "Write", "Nope"]), &["Write"]), FOREGROUND), ["Read"]);
        assert_eq!(
            chosen(&definition(Some(&["Bash(git *)", "Task", "mcp__s"]), &[]), FOREGROUND),
            ["Agent", "Bash", "mcp__s__t"]
        );
        assert_eq!(
            chosen(&definition(Some(&["*"]), &["mcp__*", "Bash"]), FOREGROUND),
            ["Agent", "Read", "TaskCreate", "Write"]
        );
        let background = ToolsetContext { background: true, may_nest: false, ..FOREGROUND };
        assert_eq!(chosen(&definition(None, &[]), background), ["Bash", "Read", "Write", "mcp__s__t"]);
    }

    // [EXT-161]
    #[test]
    fn a_list_that_leads_nowhere_is_an_error() {
        let lost = select_tools(&["Read".to_owned()], &definition(Some(&["Reed", "LS"]), &[]), FOREGROUND).unwrap_err();
        assert!(lost.contains("Reed, LS"), "{lost}");
        assert!(select_tools(&["Read".to_owned()], &definition(Some(&[]), &[]), FOREGROUND).unwrap().is_empty());
    }
}
