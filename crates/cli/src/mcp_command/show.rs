//! `mcp list` and `mcp get`. Declarations are shown as they were written: a placeholder stays a placeholder, values of
//! variables and headers are hidden, an address loses its user name and query.

use super::health::{Health, check};
use super::words::Words;
use super::{Here, block_on};
use config::mcp::{Server, Servers, Standing};
use std::fmt::Write;
use wire::mcp::{Scope, ServerConfig, Transport};

impl Here {
    pub(super) fn list(&self, words: &Words) -> Result<(String, u8), String> {
        words.none("mcp list")?;
        // As scripts that read this list expect it; `get` shows them.
        let shown: Vec<&Server> =
            self.servers.servers.iter().filter(|s| !matches!(s.config.transport, Transport::Ws(_))).collect();
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

    pub(super) fn get(&self, words: &Words) -> Result<(String, u8), String> {
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

    fn health(&self, servers: &[&Server]) -> Result<Vec<Health>, String> {
        block_on(check(servers, &self.cwd, (&self.loaded.env, &self.env)))
    }
}

fn problems(servers: &Servers, text: &mut String) {
    for diagnostic in &servers.diagnostics {
        write!(text, "\nWarning: {diagnostic}").ok();
    }
}

fn status(server: &Server, health: &Health) -> String {
    match (&server.standing, health) {
        (Standing::Pending, _) => "⏸ Pending approval".into(),
        (Standing::Rejected, _) => "✘ Rejected".into(),
        (Standing::Disabled, _) => "⊘ Disabled".into(),
        (Standing::Forbidden(why), _) => format!("✘ Rejected: {why}"),
        (Standing::Approved, Health::Connected) => "✔ Connected".into(),
        (Standing::Approved, Health::ListFailed(why)) => format!("! Connected · tools fetch failed: {why}"),
        (Standing::Approved, Health::NeedsAuth) => {
            format!("! Needs authentication (gimlet mcp login {})", server.name)
        }
        (Standing::Approved, Health::Failed(why)) => format!("✘ Failed to connect: {why}"),
        (Standing::Approved, Health::Unchecked) => "✘ Failed to connect".into(),
    }
}

/// What a server is reached by, without anything secret.
pub(super) fn target(config: &ServerConfig) -> Option<String> {
    match &config.transport {
        Transport::Stdio(stdio) => {
            let words: Vec<&str> =
                std::iter::once(stdio.command.as_str()).chain(stdio.args.iter().map(String::as_str)).collect();
            Some(words.join(" "))
        }
        Transport::Http(remote) => Some(format!("{} (HTTP)", address(&remote.url))),
        Transport::Sse(remote) => Some(format!("{} (SSE)", address(&remote.url))),
        Transport::Ws(remote) => Some(format!("{} (WS)", address(&remote.url))),
        Transport::Sdk { .. } => None,
    }
}

/// Without user name, password, query and fragment.
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

/// A placeholder names its variable; anything else may be the secret itself.
fn value(text: &str) -> &str {
    if text.contains("${") { text } else { "(hidden)" }
}

fn details(config: &ServerConfig, text: &mut String) {
    match &config.transport {
        Transport::Stdio(stdio) => {
            writeln!(text, "  Command: {}", stdio.command).ok();
            writeln!(text, "  Args: {}", stdio.args.join(" ")).ok();
            pairs("Environment", &stdio.env, "=", text);
        }
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            writeln!(text, "  URL: {}", address(&remote.url)).ok();
            pairs("Headers", &remote.headers, ": ", text);
            if let Some(helper) = &remote.headers_helper {
                writeln!(text, "  Headers helper: {helper}").ok();
            }
            if let Some(id) = remote.oauth.as_ref().and_then(|oauth| oauth.client_id.as_ref()) {
                writeln!(text, "  OAuth client: {id}").ok();
            }
        }
        Transport::Sdk { .. } => {}
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

fn scope(server: &Server) -> String {
    let words = match server.scope {
        Scope::Local => "Local config (private to you in this project)",
        Scope::Project => "Project config (shared via .mcp.json)",
        Scope::User => "User config (available in all your projects)",
        Scope::Managed => "Managed config (set by your administrator)",
        Scope::Flag | Scope::Host | Scope::Plugin | Scope::Agent => server.scope.name(),
    };
    words.to_owned()
}

fn removable(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::Local | Scope::Project | Scope::User => Some(scope.name()),
        Scope::Managed | Scope::Flag | Scope::Host | Scope::Plugin | Scope::Agent => None,
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
