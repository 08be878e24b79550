//! The built-in agent types. A declared type of the same name replaces one.

use crate::tool_facts;
use config::agents::{AgentDefinition, AgentPrompt};
use config::roots::DefinitionScope;
use sys::Env;
use tools::ToolClass;

/// A copy of the session with its whole conversation.
pub(crate) const FORK: &str = "fork";

pub(super) fn all(env: &Env) -> Vec<AgentDefinition> {
    if env.is_on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS") {
        return Vec::new();
    }
    let mut all = vec![general()];
    if !env.is_on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS") {
        all.extend([explore(), plan()]);
    }
    if has_forks(env) {
        all.push(fork());
    }
    all
}

/// Offered only where forks are switched on.
pub(super) fn fork() -> AgentDefinition {
    built_in(
        FORK,
        "A copy of yourself with this whole conversation, for a side task that needs what you already know. It runs in the \
         background and cannot fork again.",
        "",
    )
}

/// Forks cannot be continued: their own record holds only what they did, not the conversation they are copies of.
pub(crate) fn is_fork(definition: &AgentDefinition) -> bool {
    definition.path.is_none() && definition.scope == DefinitionScope::Managed && definition.name == FORK
}

/// `CLAUDE_CODE_FORK_SUBAGENT`: off by default.
pub(crate) fn has_forks(env: &Env) -> bool {
    env.is_on("CLAUDE_CODE_FORK_SUBAGENT")
}

fn built_in(name: &str, description: &str, prompt: &str) -> AgentDefinition {
    // Built-in types have the most trusted scope: no file and no argument declares them.
    AgentDefinition::new(name, description, AgentPrompt::Text(prompt.trim_end().to_owned()), DefinitionScope::Managed)
}

fn general() -> AgentDefinition {
    built_in(
        super::DEFAULT_TYPE,
        "Researches questions and carries out tasks of several steps. Use it when a search may take many attempts, or \
         for a piece of work that can be described completely.",
        include_str!("prompts/general.md"),
    )
}

fn read_only(definition: AgentDefinition) -> AgentDefinition {
    // Commands, files and searches: all that it takes to look around.
    let is_needed = |name: &&str| {
        matches!(tool_facts::tool_facts(name).class, ToolClass::Shell | ToolClass::Read | ToolClass::Search)
    };
    let tools = tools::builtin::names().filter(is_needed).map(str::to_owned).collect();
    AgentDefinition { tools: Some(tools), omit_claude_md: true, ..definition }
}

fn explore() -> AgentDefinition {
    read_only(built_in(
        "Explore",
        "Finds files, code and answers in a code base quickly, without changing anything. Say how thorough it should \
         be: quick, medium or very thorough.",
        include_str!("prompts/explore.md"),
    ))
}

fn plan() -> AgentDefinition {
    read_only(built_in(
        "Plan",
        "Works out how to make a change: reads the code and returns a plan with steps, files and risks. Changes nothing.",
        include_str!("prompts/plan.md"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_types_can_be_switched_off() {
        let names = |pairs: &[(&str, &str)]| {
            let env = Env::default().with(pairs.iter().copied());
            all(&env).into_iter().map(|d| d.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["general-purpose", "Explore", "Plan"]);
        assert_eq!(names(&[("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS", "1")]), ["general-purpose"]);
        assert_eq!(names(&[("CLAUDE_CODE_FORK_SUBAGENT", "1")]).last().map(String::as_str), Some("fork"));
        assert!(names(&[("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1")]).is_empty());
    }

    #[test]
    fn read_only_types_have_no_tool_that_changes_files() {
        for definition in [explore(), plan()] {
            assert_eq!(definition.tools.unwrap(), ["Bash", "Read", "Glob", "Grep"], "{}", definition.name);
        }
    }
}
