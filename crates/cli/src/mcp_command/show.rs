//! `mcp list` and `mcp get`. Declarations are shown as they were written: a placeholder stays a placeholder, values of
//! variables and headers and credentials in arguments are hidden, an address loses its user name and query.

use super::args::McpArgs;
use super::health::{ServerHealth, check};
use super::{McpCommand, block_on};
use config::mcp::{DeclaredMcpServer, DeclaredMcpServers, McpApproval};
use std::fmt::Write;
use wire::mcp::{McpScope, McpTransport, ServerConfig};

impl McpCommand {
    pub(super) fn list(&self, words: &McpArgs) -> Result<(String, u8), String> {
        words.none("mcp list")?;
        // Scripts that read this list do not expect WebSocket servers; `get` shows them.
        let shown: Vec<&DeclaredMcpServer> =
            self.servers.servers.iter().filter(|s| !matches!(s.config.transport, McpTransport::Ws(_))).collect();
        if shown.is_empty() {
            let mut text = "No MCP servers configured. Use `gimlet mcp add` to add a server.".to_owned();
            problems(&self.servers, &mut text);
            return Ok((text, 0));
        }
        let health = self.health(&shown)?;
        let mut text = String::new();
        for (server, health) in shown.iter().zip(health) {
            let target = target(&server.written).unwrap_or_default();
            writeln!(text, "{}: {target} - {}", server.name, status(server, &health)).ok();
        }
        text.truncate(text.trim_end().len());
        problems(&self.servers, &mut text);
        Ok((text, 0))
    }

    pub(super) fn get(&self, words: &McpArgs) -> Result<(String, u8), String> {
        let server = self.server(words.one("mcp get <name>")?)?;
        let health = self.health(&[server])?;
        let mut text = format!("{}:\n  Scope: {}\n", server.name, scope(server));
        writeln!(text, "  Status: {}", health.first().map(|health| status(server, health)).unwrap_or_default()).ok();
        writeln!(text, "  Type: {}", server.written.kind()).ok();
        details(&server.written, &mut text);
        for warning in &server.warnings {
            writeln!(text, "  Warning: {warning}").ok();
        }
        if let Some(place) = removable(server.scope) {
            write!(text, "\nTo remove this server, run: gimlet mcp remove {} -s {place}", server.name).ok();
        }
        Ok((text.trim_end().to_owned(), 0))
    }

    fn health(&self, servers: &[&DeclaredMcpServer]) -> Result<Vec<ServerHealth>, String> {
        block_on(check(servers, &self.cwd, (&self.loaded.env, &self.env)))
    }
}

fn problems(servers: &DeclaredMcpServers, text: &mut String) {
    for diagnostic in &servers.diagnostics {
        write!(text, "\nWarning: {diagnostic}").ok();
    }
}

fn status(server: &DeclaredMcpServer, health: &ServerHealth) -> String {
    match (&server.approval, health) {
        (McpApproval::Pending, _) => "⏸ Pending approval".into(),
        (McpApproval::Rejected, _) => "✘ Rejected".into(),
        (McpApproval::Disabled, _) => "⊘ Disabled".into(),
        (McpApproval::Forbidden(why), _) => format!("✘ Rejected: {why}"),
        (McpApproval::Approved, ServerHealth::Connected) => "✔ Connected".into(),
        (McpApproval::Approved, ServerHealth::ListFailed(why)) => format!("! Connected · tools fetch failed: {why}"),
        (McpApproval::Approved, ServerHealth::NeedsAuth) => {
            format!("! Needs authentication (gimlet mcp login {})", server.name)
        }
        (McpApproval::Approved, ServerHealth::Failed(why)) => format!("✘ Failed to connect: {why}"),
        (McpApproval::Approved, ServerHealth::Unchecked) => "✘ Failed to connect".into(),
    }
}

/// The command or URL of a server, without secrets.
pub(super) fn target(config: &ServerConfig) -> Option<String> {
    match &config.transport {
        McpTransport::Stdio(stdio) => {
            let words = std::iter::once(stdio.command.as_str()).chain(stdio.args.iter().map(String::as_str));
            Some(permission::masked_arguments(words).join(" "))
        }
        McpTransport::Http(remote) => Some(format!("{} (HTTP)", address(&remote.url))),
        McpTransport::Sse(remote) => Some(format!("{} (SSE)", address(&remote.url))),
        McpTransport::Ws(remote) => Some(format!("{} (WS)", address(&remote.url))),
        McpTransport::Sdk { .. } => None,
    }
}

/// The URL without user name, password, query and fragment.
fn address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = &url[..end];
    let Some(at) = url.find("://").map(|at| at + 3) else { return url.to_owned() };
    let (scheme, rest) = url.split_at(at);
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(sign) => format!("{scheme}{}", &rest[sign + 1..]),
        None => url.to_owned(),
    }
}

/// A value with a placeholder is shown; any other may be the secret itself.
fn value(text: &str) -> &str {
    if text.contains("${") { text } else { "(hidden)" }
}

fn details(config: &ServerConfig, text: &mut String) {
    match &config.transport {
        McpTransport::Stdio(stdio) => {
            writeln!(text, "  Command: {}", stdio.command).ok();
            let args = permission::masked_arguments(stdio.args.iter().map(String::as_str));
            writeln!(text, "  Args: {}", args.join(" ")).ok();
            pairs("Environment", &stdio.env, "=", text);
        }
        McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
            writeln!(text, "  URL: {}", address(&remote.url)).ok();
            pairs("Headers", &remote.headers, ": ", text);
            if let Some(helper) = &remote.headers_helper {
                writeln!(text, "  Headers helper: {helper}").ok();
            }
            if let Some(id) = remote.oauth.as_ref().and_then(|oauth| oauth.client_id.as_ref()) {
                writeln!(text, "  OAuth client: {id}").ok();
            }
        }
        McpTransport::Sdk { .. } => {}
    }
}

fn pairs(title: &str, all: &std::collections::BTreeMap<String, String>, between: &str, text: &mut String) {
    if all.is_empty() {
        return;
    }
    writeln!(text, "  {title}:").ok();
    for (name, given) in all {
        writeln!(text, "    {name}{between}{}", value(given)).ok();
    }
}

fn scope(server: &DeclaredMcpServer) -> String {
    let words = match server.scope {
        McpScope::Local => "Local config (private to you in this project)",
        McpScope::Project => "Project config (shared via .mcp.json)",
        McpScope::User => "User config (available in all your projects)",
        McpScope::Managed => "Managed config (set by your administrator)",
        McpScope::Flag | McpScope::Host | McpScope::Plugin | McpScope::Agent => server.scope.name(),
    };
    words.to_owned()
}

fn removable(scope: McpScope) -> Option<&'static str> {
    match scope {
        McpScope::Local | McpScope::Project | McpScope::User => Some(scope.name()),
        McpScope::Managed | McpScope::Flag | McpScope::Host | McpScope::Plugin | McpScope::Agent => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_may_be_secret() {
        // SC-G04
        assert_eq!(address("https://user:pw@h.example/mcp?key=k#f"), "https://h.example/mcp");
        assert_eq!(address("https://h.example/a@b"), "https://h.example/a@b");
        assert_eq!(address("${URL}/mcp?k=${KEY}"), "${URL}/mcp");
        assert_eq!((value("Bearer ${T}"), value("sk-123")), ("Bearer ${T}", "(hidden)"));
    }
}
