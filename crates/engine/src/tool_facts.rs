//! The facts of every tool of ours by name, for code that has no registry at hand: frontends, definitions of agents,
//! `--tools`.

use session_parts::{mcp, structured};
use tools::builtin;
use tools::facts::{AgentUse, ToolClass, ToolConfinement, ToolDemand, ToolFacts};

/// Name and facts of the tools of this crate.
pub(crate) const AGENT: (&str, ToolFacts) =
    ("Agent", ToolFacts { agents: AgentUse::Nested, reads_session: true, ..ToolFacts::of(ToolClass::Agent) });
pub(crate) const SEND_MESSAGE: (&str, ToolFacts) =
    ("SendMessage", ToolFacts { demand: ToolDemand::Seldom, ..for_all_agents(ToolClass::Message) });
pub(crate) const SKILL: (&str, ToolFacts) = ("Skill", SKILL_FACTS);
pub(crate) const RECALL: (&str, ToolFacts) = ("Recall", for_all_agents(ToolClass::Recall));
pub(crate) const ENTER_WORKTREE: (&str, ToolFacts) = ("EnterWorktree", WORKTREE_FACTS);
pub(crate) const EXIT_WORKTREE: (&str, ToolFacts) = ("ExitWorktree", WORKTREE_FACTS);

const SKILL_FACTS: ToolFacts = ToolFacts {
    confinement: ToolConfinement::LoadedCommands,
    agents: AgentUse::Always,
    reads_session: true,
    ..ToolFacts::of(ToolClass::Skill)
};
const WORKTREE_FACTS: ToolFacts = ToolFacts { demand: ToolDemand::Seldom, ..for_all_agents(ToolClass::Worktree) };

/// The facts of a tool that reads the session and that every agent may have.
const fn for_all_agents(class: ToolClass) -> ToolFacts {
    ToolFacts { agents: AgentUse::Always, reads_session: true, ..ToolFacts::of(class) }
}

/// Tools outside of the table of the crate `tools`, because they need the session.
const SESSION_TOOLS: [(&str, ToolFacts); 10] = [
    AGENT,
    SEND_MESSAGE,
    SKILL,
    RECALL,
    (structured::NAME, structured::FACTS),
    ENTER_WORKTREE,
    EXIT_WORKTREE,
    mcp::TOOL_SEARCH,
    mcp::LIST_RESOURCES,
    mcp::READ_RESOURCE,
];

/// The facts of a tool, by its current or an older name. A name that no tool of ours has gets those of
/// [`ToolClass::Other`].
pub fn tool_facts(name: &str) -> ToolFacts {
    let name = wire::names::canonical(name);
    if wire::names::mcp_parts(name).is_some() {
        return ToolFacts::MCP;
    }
    let own = || SESSION_TOOLS.iter().find(|(own, _)| *own == name).map(|(_, facts)| *facts);
    builtin::facts_of(name).or_else(own).unwrap_or(ToolFacts::of(ToolClass::Other))
}

/// The names of all tools of ours: those of the table first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    builtin::names().chain(SESSION_TOOLS.iter().map(|(name, _)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tools::facts::{FileContact, MaskedInput, OutputBound, SiblingFailure, TimeBound};

    /// The facts that follow from the class of a tool.
    fn assert_facts(name: &str, facts: ToolFacts) {
        let ToolFacts { class, confinement, file, sibling_failure, bounds, masked_input, agents, .. } = facts;
        assert_ne!(class, ToolClass::Other, "{name} has no class");
        let is_command = confinement == ToolConfinement::Command;
        assert_eq!(is_command, class == ToolClass::Shell, "{name}: commands run in the sandbox");
        assert_eq!(sibling_failure == SiblingFailure::CancelsLater, is_command, "{name}");
        assert_eq!(confinement == ToolConfinement::LoadedCommands, class == ToolClass::Skill, "{name}");
        let contact = file.map(|file| file.contact);
        assert_eq!(contact == Some(FileContact::Write), class == ToolClass::Edit, "{name} names the file it changes");
        assert_eq!(contact == Some(FileContact::Read), class == ToolClass::Read, "{name} names the file it reads");
        let stores = matches!(class, ToolClass::Edit | ToolClass::Shell | ToolClass::Mcp);
        assert_eq!(matches!(masked_input, MaskedInput::Refused(_)), stores, "{name}: a mask must not be written");
        let limits = matches!(class, ToolClass::Read | ToolClass::Mcp);
        assert!(limits || bounds.output == OutputBound::Spilled, "{name}");
        let waits = matches!(class, ToolClass::Shell | ToolClass::Web);
        assert!(!waits || bounds.time != TimeBound::Work, "{name} waits for others and has no time limit");
        assert!(!class.needs_answer() || matches!(agents, AgentUse::Never | AgentUse::InPlanMode), "{name}");
        assert!(!facts.is_basic || agents == AgentUse::Always, "{name}");
    }

    #[test]
    fn every_tool_has_its_facts() {
        let mut seen = BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} twice");
            assert_facts(name, tool_facts(name));
        }
        assert_facts("mcp__server__tool", tool_facts("mcp__server__tool"));
        assert_eq!(seen.len(), builtin::table().len() + SESSION_TOOLS.len());
    }

    #[test]
    fn the_field_of_the_file_is_in_the_schema() {
        for row in builtin::table() {
            let spec = row.tool.spec();
            let schema: serde_json::Value = serde_json::from_str(&spec.schema).unwrap();
            if let Some(file) = spec.facts.file {
                assert_eq!(schema["properties"][file.name]["type"], "string", "{}", spec.name);
                let input = serde_json::value::to_raw_value(&serde_json::json!({ file.name: "a/b" })).unwrap();
                assert_eq!(file.path_in(&input).as_deref(), Some("a/b"), "{}", spec.name);
            }
        }
    }

    #[test]
    fn older_and_unknown_names_are_found() {
        assert_eq!(tool_facts("Task"), AGENT.1);
        assert_eq!(tool_facts("KillShell").class, ToolClass::Background);
        assert_eq!(tool_facts("Nope").class, ToolClass::Other);
    }
}
