//! `allowedMcpServers` and `deniedMcpServers`. A denial always wins; an allow list that cannot be parsed allows
//! nothing. Anybody can choose a name, so names in the allow list count for commands (or for URLs) only while the list
//! has no entry for commands (or for URLs).

use super::expand::{ExpansionVariables, expand};
use crate::project::ProjectConfig;
use serde_json::Value;
use sys::Env;
use wire::mcp::{McpTransport, ServerConfig};
use wire::settings::SettingsSource;

/// Which servers may be used. Checked again whenever a server is added or connected.
#[derive(Clone, Debug, Default)]
pub struct McpPolicy {
    /// `None`: everything that is not denied.
    allowed: Option<Vec<McpPolicyEntry>>,
    denied: Vec<McpPolicyEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum McpPolicyEntry {
    Name(String),
    Command(Vec<String>),
    Url(String),
}

impl McpPolicy {
    pub fn of(loaded: &ProjectConfig, env: &Env) -> Self {
        let settings = &loaded.settings;
        let allowed = if settings.allow_managed_mcp_servers_only == Some(true) {
            Some(managed(loaded))
        } else {
            settings.allowed_mcp_servers.clone()
        };
        let read = |entry: &Value| McpPolicyEntry::read(entry, env);
        // A bare word denies the server of that name; it allows nothing.
        let refused = |entry: &Value| match entry {
            Value::String(name) => Some(McpPolicyEntry::Name(name.clone())),
            _ => read(entry),
        };
        Self {
            allowed: allowed.map(|entries| entries.iter().filter_map(read).collect()),
            denied: settings.denied_mcp_servers.iter().filter_map(refused).collect(),
        }
    }

    /// Returns an error with the reason when the server is forbidden.
    pub fn admits(&self, name: &str, config: &ServerConfig) -> Result<(), String> {
        if self.denied.iter().any(|entry| entry.matches(name, config)) {
            return Err("it is on the list of denied MCP servers".into());
        }
        let Some(allowed) = &self.allowed else { return Ok(()) };
        let of_kind = |entry: &&McpPolicyEntry| match entry {
            McpPolicyEntry::Name(_) => false,
            McpPolicyEntry::Command(_) => matches!(config.transport, McpTransport::Stdio(_)),
            McpPolicyEntry::Url(_) => config.remote().is_some(),
        };
        let specific: Vec<&McpPolicyEntry> = allowed.iter().filter(of_kind).collect();
        let admitted = if specific.is_empty() {
            allowed.iter().any(|entry| matches!(entry, McpPolicyEntry::Name(allowed) if allowed == name))
        } else {
            specific.iter().any(|entry| entry.matches(name, config))
        };
        if admitted { Ok(()) } else { Err("it is not on the list of allowed MCP servers".into()) }
    }
}

/// The allow list of the administrator only; without one nothing is allowed.
fn managed(loaded: &ProjectConfig) -> Vec<Value> {
    let layers = loaded.layers.iter().filter(|layer| layer.source == SettingsSource::Managed);
    let lists = layers.filter_map(|layer| layer.effective.get("allowedMcpServers")?.as_array());
    lists.flatten().cloned().collect()
}

impl McpPolicyEntry {
    fn read(value: &Value, env: &Env) -> Option<Self> {
        let fill = |text: &str| {
            let config = ServerConfig::stdio(text, Vec::new());
            match expand(&config, env, ExpansionVariables::default()).config.transport {
                McpTransport::Stdio(stdio) => stdio.command,
                McpTransport::Http(_) | McpTransport::Sse(_) | McpTransport::Ws(_) | McpTransport::Sdk { .. } => {
                    text.to_owned()
                }
            }
        };
        if let Some(name) = value.get("serverName") {
            return name.as_str().map(|name| Self::Name(name.to_owned()));
        }
        if let Some(command) = value.get("serverCommand") {
            let words = command.as_array()?.iter().map(|word| word.as_str().map(fill));
            return words.collect::<Option<Vec<_>>>().map(Self::Command);
        }
        value.get("serverUrl")?.as_str().map(|url| Self::Url(fill(url)))
    }

    fn matches(&self, name: &str, config: &ServerConfig) -> bool {
        match (self, &config.transport) {
            (Self::Name(listed), _) => listed == name,
            (Self::Command(words), McpTransport::Stdio(stdio)) => {
                words.split_first().is_some_and(|(command, args)| *command == stdio.command && args == stdio.args)
            }
            (Self::Url(pattern), McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote)) => {
                url_matches(pattern, &remote.url)
            }
            (Self::Command(_) | Self::Url(_), _) => false,
        }
    }
}

/// `*` matches any characters, but in the host no slash: `https://*.example.com/*` must not match
/// `https://evil.net/x.example.com/`. Hosts are compared case-insensitively.
fn url_matches(pattern: &str, url: &str) -> bool {
    let (pattern_origin, pattern_path) = split(pattern);
    let (origin, path) = split(url);
    let whole = pattern == "*";
    let (wanted, given) = (pattern_origin.to_ascii_lowercase(), origin.to_ascii_lowercase());
    // A user name before the host can disguise the host.
    let plain = !given.contains('@');
    whole || (plain && wild(wanted.as_bytes(), given.as_bytes()) && path_matches(pattern_path, path))
}

fn path_matches(pattern: &str, path: &str) -> bool {
    let bare = |path: &str| path.is_empty() || path == "/";
    (bare(pattern) && bare(path)) || wild(pattern.as_bytes(), path.as_bytes())
}

/// Splits into the scheme with host and port, and the rest. A backslash ends the host, as it does for the client.
fn split(url: &str) -> (&str, &str) {
    let host_at = url.find("://").map_or(0, |at| at + 3);
    let end = url[host_at..].find(['/', '\\', '?', '#']).map_or(url.len(), |at| host_at + at);
    url.split_at(end)
}

fn wild(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            back = Some((at, seen));
            at += 1;
        } else if pattern.get(at) == Some(&text[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((star, from)) = back {
            at = star + 1;
            seen = from + 1;
            back = Some((star, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(allowed: Option<&Value>, denied: &Value) -> McpPolicy {
        let env = Env::default().with([("HOST", "corp.example")]);
        let read =
            |list: &Value| list.as_array().unwrap().iter().filter_map(|e| McpPolicyEntry::read(e, &env)).collect();
        McpPolicy { allowed: allowed.map(read), denied: read(denied) }
    }

    #[test]
    fn the_matching_matrix() {
        // [TST-222]
        let npx = ServerConfig::stdio("npx", vec!["-y".into(), "pkg".into()]);
        let other = ServerConfig::stdio("npx", vec!["-y".into(), "evil".into()]);
        let web = |url: &str| ServerConfig::parse("s", &json!({"type": "http", "url": url})).unwrap();
        let none = json!([]);
        assert!(policy(None, &none).admits("x", &npx).is_ok());
        assert!(policy(Some(&none), &none).admits("x", &npx).is_err(), "an empty list allows nothing");
        let by_name = json!([{"serverName": "x"}]);
        assert!(policy(Some(&by_name), &none).admits("x", &npx).is_ok());
        assert!(policy(Some(&by_name), &none).admits("y", &npx).is_err());
        assert!(policy(Some(&by_name), &by_name).admits("x", &npx).is_err(), "deny wins");
        let by_command = json!([{"serverName": "x"}, {"serverCommand": ["npx", "-y", "pkg"]}]);
        assert!(policy(Some(&by_command), &none).admits("any", &npx).is_ok());
        assert!(
            policy(Some(&by_command), &none).admits("x", &other).is_err(),
            "a name does not stand in for a command"
        );
        assert!(
            policy(Some(&by_command), &none).admits("x", &web("https://a")).is_ok(),
            "no address entry, so names count"
        );
        let by_url = json!([{"serverUrl": "https://*.${HOST}/*"}, {"serverName": "x"}]);
        let urls = policy(Some(&by_url), &none);
        assert!(urls.admits("y", &web("https://API.Corp.Example/mcp")).is_ok());
        for evil in [
            "https://evil.net/a.corp.example/x",
            "http://a.corp.example/x",
            "https://a.corp.example@evil.net/x",
            "https://a.corp.example.evil.net/",
            "https://evil.net\\.corp.example/",
        ] {
            assert!(urls.admits("x", &web(evil)).is_err(), "{evil}");
        }
        assert!(urls.admits("x", &npx).is_ok());
        assert!(
            policy(None, &json!([{"serverUrl": "https://a.b"}, {"bad": 1}])).admits("x", &web("https://a.b/")).is_err()
        );
    }
}
