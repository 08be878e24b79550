//! MCP servers of agents: those of the session that the definition allows, and those the definition declares, which
//! run as long as the agent.

use super::{McpToolset, SessionServers, ToolFilter};
use config::agents::{AgentDefinition, McpReference};
use mcp::{McpHost, McpServerSpec, ServerSwitch};
use std::sync::Arc;
use tools::ToolRegistry;
use wire::mcp::{McpScope, ServerConfig};

/// `base` plus the tools that servers have now, plus a placeholder for each server that may still connect.
pub fn with_server_tools(base: &[String], servers: &SessionServers, definition: &AgentDefinition) -> Vec<String> {
    let views = servers.views();
    let known = views.iter().flat_map(|view| view.tools.iter().map(|tool| tool.exposed.clone()));
    let inline = definition.mcp_servers.iter().filter_map(|server| match server {
        McpReference::Inline { name, .. } => Some(name.clone()),
        McpReference::Named(_) => None,
    });
    let coming = views.iter().map(|view| view.name.clone()).chain(inline);
    base.iter().cloned().chain(known).chain(coming.map(|name| super::server_rule_name(&name))).collect()
}

/// The MCP tools of an agent. `may_have` decides about each tool.
pub fn agent_toolset(
    servers: &Arc<SessionServers>,
    registry: &Arc<ToolRegistry>,
    definition: &AgentDefinition,
    may_have: impl Fn(&AgentDefinition, &str) -> bool + Send + Sync + 'static,
) -> McpToolset {
    let own = own_host(servers, definition);
    let whose = definition.clone();
    let filter: ToolFilter = Box::new(move |name| may_have(&whose, name));
    let entries = definition.tools.clone().unwrap_or_default();
    let named: ToolFilter = Box::new(move |name| {
        entries.iter().filter(|entry| entry.trim_start().starts_with("mcp__")).any(|entry| covers(entry, name))
    });
    McpToolset::for_agent(Arc::clone(servers), own, Arc::clone(registry), (filter, named))
}

/// The connections of this agent alone; `None` when its definition declares no servers.
fn own_host(servers: &SessionServers, definition: &AgentDefinition) -> Option<McpHost> {
    let declared: Vec<McpServerSpec> = definition
        .mcp_servers
        .iter()
        .filter_map(|server| match server {
            McpReference::Inline { name, config } => declared(servers, definition, name, config),
            McpReference::Named(_) => None,
        })
        .collect();
    if declared.is_empty() {
        return None;
    }
    let host = McpHost::new(servers.settings.clone(), Arc::clone(&servers.owner) as Arc<dyn mcp::McpOwner>);
    for server in declared {
        host.add(server, ServerSwitch::Enabled);
    }
    Some(host)
}

fn declared(
    servers: &SessionServers,
    definition: &AgentDefinition,
    name: &str,
    config: &serde_json::Value,
) -> Option<McpServerSpec> {
    let parsed = ServerConfig::parse(name, config).map_err(|error| error.message);
    match parsed.and_then(|config| servers.policy.admits(name, &config).map(|()| config)) {
        Ok(config) => Some(McpServerSpec { name: name.to_owned(), scope: McpScope::Agent, config }),
        Err(why) => {
            tracing::warn!(agent = definition.name, server = name, why, "a server of the agent is not used");
            None
        }
    }
}

/// Whether `entry` matches the tool `name`. Entries are `Read`, `Task`, `Bash(git *)`, `mcp__server`,
/// `mcp__server__*` or `*`.
pub fn covers(entry: &str, name: &str) -> bool {
    let entry = entry.trim();
    let entry = entry.split_once('(').map_or(entry, |(tool, _)| tool.trim_end());
    if entry == "*" || wire::names::canonical(entry) == name {
        return true;
    }
    match entry.strip_suffix('*') {
        Some(prefix) => prefix.starts_with("mcp__") && name.starts_with(prefix),
        None => entry.starts_with("mcp__") && name.strip_prefix(entry).is_some_and(|rest| rest.starts_with("__")),
    }
}
