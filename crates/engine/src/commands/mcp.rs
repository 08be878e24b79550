//! `/mcp`: lists the MCP servers of the session, reconnects one, or switches one on or off. A switch is saved for the
//! folder and applies to later sessions too.

use super::CommandReply;
use crate::session::LiveSession;
use mcp::{McpStatus, ServerSwitch, ServerView};
use std::fmt::Write;
use tokio_util::sync::CancellationToken;
use wire::counting::counted;

const USAGE: &str = "Usage: /mcp [reconnect <server> | enable <server> | disable <server>]";

pub(super) async fn run(session: &mut LiveSession, arguments: &str, token: &CancellationToken) -> Option<CommandReply> {
    let (verb, name) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let name = name.trim();
    let servers = std::sync::Arc::clone(session.io.knowledge.mcp.servers());
    servers.begin_rest();
    let switch = match verb {
        "" | "status" | "list" => {
            session.wait_for_servers(token).await?;
            return Some(CommandReply::for_user(listed(&session.io.knowledge.mcp.servers().listed_views())));
        }
        "reconnect" => None,
        "enable" => Some(ServerSwitch::Enabled),
        "disable" => Some(ServerSwitch::Disabled),
        _ => return Some(CommandReply::refused(USAGE)),
    };
    let Some(view) = servers.host.view(name) else {
        let advice = servers.approval_advice(name);
        return Some(CommandReply::refused(advice.unwrap_or_else(|| unknown(name, &servers.views()))));
    };
    let change = async {
        match switch {
            None => servers.host.reconnect(&view.name).await,
            Some(switch) => servers.host.set_switch(&view.name, switch).await,
        }
    };
    let changed = wait(session, change, token).await?;
    let kept = match switch {
        Some(switch) => save_choice(session, &view, switch).await,
        None => None,
    };
    session.refresh_tools();
    let text = match (changed, servers.host.view(name)) {
        (Ok(()), Some(view)) => row(&view),
        (Ok(()), None) => String::new(),
        (Err(error), _) => error.to_string(),
    };
    let text = kept.map_or(text.clone(), |why| format!("{text}\n{why}"));
    Some(CommandReply::for_user(text.trim_start().to_owned()))
}

/// `None` when the process is being stopped or the user interrupts.
async fn wait<T>(session: &mut LiveSession, work: impl Future<Output = T>, token: &CancellationToken) -> Option<T> {
    tokio::select! {
        done = session.control.during(work) => done,
        () = token.cancelled() => None,
    }
}

/// Saves the choice for this folder; returns a message when it could not be saved. Servers of a host, an agent or the
/// command line are not saved.
async fn save_choice(session: &LiveSession, view: &ServerView, switch: ServerSwitch) -> Option<String> {
    use wire::mcp::McpScope;
    if matches!(view.scope, McpScope::Flag | McpScope::Host | McpScope::Agent) {
        return None;
    }
    let (env, folder, name) =
        (session.io.env.clone(), session.io.tooling.directories.project.clone(), view.name.clone());
    let choice = match switch {
        ServerSwitch::Enabled => config::mcp::McpSwitch::On,
        ServerSwitch::Disabled => config::mcp::McpSwitch::Off,
    };
    let written = tokio::task::spawn_blocking(move || config::mcp::switch(&env, &folder, &name, choice)).await;
    match written {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("This applies to this session only: {error}")),
        Err(error) => Some(format!("This applies to this session only: {error}")),
    }
}

fn listed(views: &[ServerView]) -> String {
    if views.is_empty() {
        return "No MCP servers are configured. `gimlet mcp add` adds one.".into();
    }
    let mut text = String::from("MCP servers:");
    for view in views {
        write!(text, "\n{}", row(view)).ok();
    }
    write!(text, "\n\n{USAGE}").ok();
    text
}

fn row(view: &ServerView) -> String {
    let state = match &view.status {
        McpStatus::Connected => {
            let mut parts = vec!["connected".to_owned(), counted(view.tools.len(), "tool")];
            if !view.prompts.is_empty() {
                parts.push(counted(view.prompts.len(), "prompt"));
            }
            if view.has_resources {
                parts.push("resources".into());
            }
            let problem = view.problem.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{}{problem}", parts.join(", "))
        }
        McpStatus::Pending => "connecting".into(),
        McpStatus::Failed(why) => format!("failed: {why}"),
        McpStatus::NeedsAuth => format!("needs authentication; run `gimlet mcp login {}`", view.name),
        McpStatus::Disabled => view.problem.clone().unwrap_or_else(|| "disabled".into()),
    };
    format!("  {} [{}] {state}", view.name, view.scope.name())
}

fn unknown(name: &str, views: &[ServerView]) -> String {
    let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
    match (name, names.is_empty()) {
        (_, true) => "No MCP servers are configured. `gimlet mcp add` adds one.".into(),
        ("", false) => format!("Which server? {}. {USAGE}", names.join(", ")),
        (name, false) => format!("There is no MCP server {name:?}; there are: {}.", names.join(", ")),
    }
}
