//! Servers of agents: those of the session as far as the definition lets them through, and those the definition brings
//! along, which live as long as the agent does.

use super::{Filter, Servers, Shelf};
use crate::agents::covers;
use config::agents::{Definition, McpReference};
use mcp::{Declared, Host, Standing};
use std::sync::Arc;
use tools::Registry;
use wire::mcp::{Scope, ServerConfig};

/// `base` with the tools that servers have now, and a stand-in for each server that is still to come.
pub(crate) fn with_server_tools(base: &[String], servers: &Servers, definition: &Definition) -> Vec<String> {
    let views = servers.views();
    let known = views.iter().flat_map(|view| view.tools.iter().map(|tool| tool.exposed.clone()));
    let inline = definition.mcp_servers.iter().filter_map(|server| match server {
        McpReference::Inline { name, .. } => Some(name.clone()),
        McpReference::Named(_) => None,
    });
    let coming = views.iter().map(|view| view.name.clone()).chain(inline);
    base.iter().cloned().chain(known).chain(coming.map(|name| super::whole(&name))).collect()
}

/// An agent's share. `may_have` is the rule for every tool of an agent.
pub(crate) fn of_agent(
    servers: &Arc<Servers>,
    registry: &Arc<Registry>,
    definition: &Definition,
    may_have: impl Fn(&Definition, &str) -> bool + Send + Sync + 'static,
) -> Shelf {
    let own = own_host(servers, definition);
    let whose = definition.clone();
    let filter: Filter = Box::new(move |name| may_have(&whose, name));
    let entries = definition.tools.clone().unwrap_or_default();
    let named: Filter = Box::new(move |name| {
        entries.iter().filter(|entry| entry.trim_start().starts_with("mcp__")).any(|entry| covers(entry, name))
    });
    Shelf::for_agent(Arc::clone(servers), own, Arc::clone(registry), (filter, named))
}

/// Connections of the agent alone; `None` when its definition declares no servers.
fn own_host(servers: &Servers, definition: &Definition) -> Option<Host> {
    let declared: Vec<Declared> = definition
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
    let host = Host::new(servers.settings.clone(), Arc::clone(&servers.owner) as Arc<dyn mcp::Owner>);
    for server in declared {
        host.add(server, Standing::Enabled);
    }
    Some(host)
}

fn declared(servers: &Servers, definition: &Definition, name: &str, config: &serde_json::Value) -> Option<Declared> {
    let parsed = ServerConfig::parse(name, config).map_err(|error| error.message);
    match parsed.and_then(|config| servers.policy.admits(name, &config).map(|()| config)) {
        Ok(config) => Some(Declared { name: name.to_owned(), scope: Scope::Agent, config }),
        Err(why) => {
            tracing::warn!(agent = definition.name, server = name, why, "a server of the agent is not used");
            None
        }
    }
}
