//! Agents as JSON: `--agents` and the SDK's `agents`.

use super::{AgentDefinition, AgentIsolation, AgentMemory, AgentPrompt, mode, servers};
use crate::frontmatter::split_rules;
use crate::roots::DefinitionScope;
use serde_json::{Map, Value};

pub(super) fn parse(text: &str) -> Result<Vec<AgentDefinition>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("--agents is not valid JSON: {error}"))?;
    let Value::Object(members) = value else { return Err("--agents must be a JSON object of agents by name".into()) };
    members.iter().map(|(name, value)| agent(name, value)).collect()
}

fn agent(name: &str, value: &Value) -> Result<AgentDefinition, String> {
    let Value::Object(fields) = value else { return Err(format!("agent `{name}` in --agents must be an object")) };
    if name.is_empty() || name.starts_with('-') || name.contains(':') {
        return Err(format!("agent `{name}` in --agents: a name must not be empty, begin with `-` or hold `:`"));
    }
    let required = |key: &str| {
        text(fields, key).ok_or_else(|| format!("agent `{name}` in --agents needs `{key}`, a text that is not empty"))
    };
    let effort = match fields.get("effort") {
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => text(fields, "effort"),
    };
    Ok(AgentDefinition {
        tools: list(fields, "tools"),
        disallowed_tools: list(fields, "disallowedTools").unwrap_or_default(),
        model: text(fields, "model").filter(|model| model != "inherit"),
        permission_mode: text(fields, "permissionMode").as_deref().and_then(mode),
        max_turns: fields
            .get("maxTurns")
            .and_then(Value::as_u64)
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n > 0),
        skills: list(fields, "skills").unwrap_or_default(),
        mcp_servers: fields.get("mcpServers").and_then(servers).unwrap_or_default(),
        hooks: fields.get("hooks").filter(|hooks| hooks.is_object()).cloned(),
        memory: match text(fields, "memory").as_deref() {
            Some("user") => Some(AgentMemory::User),
            Some("project") => Some(AgentMemory::Project),
            Some("local") => Some(AgentMemory::Local),
            _ => None,
        },
        background: flag(fields, "background"),
        effort,
        isolation: match text(fields, "isolation").as_deref() {
            Some("worktree") => AgentIsolation::Worktree,
            _ => AgentIsolation::None,
        },
        initial_prompt: text(fields, "initialPrompt"),
        omit_claude_md: flag(fields, "omitClaudeMd"),
        ..AgentDefinition::new(
            name,
            required("description")?,
            AgentPrompt::Text(required("prompt")?),
            DefinitionScope::CommandLine,
        )
    })
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn flag(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn list(fields: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    match fields.get(key)? {
        Value::String(text) => Some(split_rules(text)),
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
