//! `mcp add` and `mcp add-json`. Writes what was given, including placeholders; a client secret goes to the stored
//! credentials, never into a configuration file.

use super::args::{McpArgs, McpFlag};
use super::{McpCommand, error_text, vault};
use config::mcp::{ExpansionVariables, McpPolicy, check_name, expand};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use sys::Env;
use wire::mcp::{McpTransport, OAuth, RemoteConfig, ServerConfig, StdioConfig};

const USAGE: &str = "mcp add [options] <name> <url>, or gimlet mcp add [options] <name> -- <command> [args...]";
const OPTIONS: [McpFlag; 7] = [
    McpFlag::Scope,
    McpFlag::Transport,
    McpFlag::Env,
    McpFlag::Header,
    McpFlag::ClientId,
    McpFlag::ClientSecret,
    McpFlag::CallbackPort,
];

pub(super) fn run(rest: Vec<String>, env: &Env) -> Result<(String, u8), String> {
    let words = McpArgs::parse(rest, &OPTIONS)?;
    let (name, target) = target(&words)?;
    let config = config(&words, target)?;
    declare(&words, name, config.to_value(), env)
}

pub(super) fn run_json(rest: Vec<String>, env: &Env) -> Result<(String, u8), String> {
    let words = McpArgs::parse(rest, &[McpFlag::Scope, McpFlag::ClientSecret])?;
    let ([name, text], None) = (words.positional.as_slice(), &words.command) else {
        return Err("Usage: gimlet mcp add-json [options] <name> '<json>'".into());
    };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("Error: that is not JSON: {error}"))?;
    if value.get("type").and_then(Value::as_str) == Some("sdk") {
        return Err("Error: servers of type sdk live inside a host program and cannot be configured".into());
    }
    declare(&words, name, value, env)
}

/// The name of the server, and its command or URL.
fn target(words: &McpArgs) -> Result<(&str, Vec<String>), String> {
    let mut positional = words.positional.iter();
    let name = positional.next().ok_or_else(|| format!("Usage: gimlet {USAGE}"))?;
    let mut target: Vec<String> = positional.cloned().collect();
    target.extend(words.command.iter().flatten().cloned());
    if target.is_empty() {
        return Err(format!("error: an address, or a command after `--`, is missing\nUsage: gimlet {USAGE}"));
    }
    Ok((name, target))
}

fn config(words: &McpArgs, mut target: Vec<String>) -> Result<ServerConfig, String> {
    let first = target.remove(0);
    let is_url = first.starts_with("http://") || first.starts_with("https://");
    let transport = match words.last(McpFlag::Transport) {
        Some(given) => given,
        None if is_url && target.is_empty() => "http",
        None => "stdio",
    };
    if transport == "stdio" {
        return local(words, first, target).map(|stdio| ServerConfig::over(McpTransport::Stdio(stdio)));
    }
    if !target.is_empty() {
        return Err(format!("error: a {transport} server has an address and no arguments"));
    }
    if words.has(McpFlag::Env) {
        return Err("error: --env is for servers that are started here".into());
    }
    if !is_url && !first.starts_with("${") {
        return Err(format!("error: '{first}' is not an address; it must begin with http:// or https://"));
    }
    let remote = remote(words, first)?;
    match transport {
        "http" | "streamable-http" => Ok(ServerConfig::over(McpTransport::Http(remote))),
        "sse" => Ok(ServerConfig::over(McpTransport::Sse(remote))),
        other => Err(format!("error: transport '{other}' is not one of stdio, http, sse")),
    }
}

fn local(words: &McpArgs, command: String, args: Vec<String>) -> Result<StdioConfig, String> {
    for flag in [McpFlag::Header, McpFlag::ClientId, McpFlag::ClientSecret, McpFlag::CallbackPort] {
        if words.has(flag) {
            return Err("error: headers and clients are for remote servers; give an address".into());
        }
    }
    let mut env = BTreeMap::new();
    for pair in words.all(McpFlag::Env) {
        let (key, value) = pair
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| format!("error: --env '{pair}' is not KEY=value"))?;
        env.insert(key.to_owned(), value.to_owned());
    }
    Ok(StdioConfig { command, args, env })
}

fn remote(words: &McpArgs, url: String) -> Result<RemoteConfig, String> {
    let mut headers = BTreeMap::new();
    for header in words.all(McpFlag::Header) {
        let (name, value) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
            format!("error: --header '{}' is not \"Name: value\"", header.split(' ').next().unwrap_or(""))
        })?;
        headers.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    let callback_port = match words.last(McpFlag::CallbackPort) {
        None => None,
        Some(text) => match text.parse::<u16>() {
            Ok(port) if port > 0 => Some(port),
            Ok(_) | Err(_) => return Err(format!("error: --callback-port '{text}' is not a port number")),
        },
    };
    let client_id = words.last(McpFlag::ClientId).map(str::to_owned);
    if words.has(McpFlag::ClientSecret) && client_id.is_none() {
        return Err("error: --client-secret needs --client-id".into());
    }
    let oauth = (client_id.is_some() || callback_port.is_some()).then(|| OAuth {
        client_id,
        callback_port,
        ..OAuth::default()
    });
    Ok(RemoteConfig { url, headers, headers_helper: None, oauth })
}

fn declare(words: &McpArgs, name: &str, value: Value, env: &Env) -> Result<(String, u8), String> {
    check_name(name).map_err(error_text)?;
    let written = ServerConfig::parse(name, &value).map_err(|refused| format!("Error: {}", refused.message))?;
    let scope = words.scope()?.unwrap_or_default();
    let here = McpCommand::open(env)?;
    if here.servers.exclusive {
        return Err(
            "Error: cannot add MCP server: enterprise MCP configuration is active and has exclusive control over \
                    MCP servers"
                .into(),
        );
    }
    let variables = ExpansionVariables { hidden: &[], project: here.loaded.trust_key.clone() };
    let expanded = expand(&written, &here.loaded.env, variables);
    let policy = McpPolicy::of(&here.loaded, env);
    policy.admits(name, &expanded.config).map_err(|why| format!("Error: cannot add MCP server {name}: {why}"))?;
    let secret = if words.has(McpFlag::ClientSecret) { Some(client_secret(env)?) } else { None };
    let file = here.change().add(scope, name, value).map_err(|error| error.to_string())?;
    if let (Some(secret), Some(remote)) = (secret, expanded.config.remote()) {
        let vault = vault::StoredTokens::new(env.clone());
        mcp::auth::store_client_secret(&vault, name, remote, &secret)
            .map_err(|error| format!("Error: the server was added, but its secret could not be stored: {error}"))?;
    }
    let mut text =
        format!("Added {} MCP server {name} to {} config\n{}", written.kind(), scope.name(), summary(&written));
    write!(text, "\nFile modified: {}", file.display()).ok();
    for warning in &expanded.warnings {
        write!(text, "\nWarning: {warning}").ok();
    }
    Ok((text, 0))
}

fn summary(config: &ServerConfig) -> String {
    super::show::target(config).map_or_else(String::new, |target| format!("  {target}"))
}

/// Reads the secret from the environment or a terminal without echo: an argument would be visible in the process list.
fn client_secret(env: &Env) -> Result<String, String> {
    if let Some(secret) = env.non_empty("MCP_CLIENT_SECRET") {
        return Ok(secret.to_owned());
    }
    if !std::io::stdin().is_terminal() {
        return Err("Error: no terminal to ask for the client secret; set MCP_CLIENT_SECRET".into());
    }
    let secret = sys::terminal::read_secret("Client secret (not shown): ")
        .map_err(|error| format!("Error: the terminal could not be read: {error}"))?;
    if secret.is_empty() { Err("Error: no client secret was given".into()) } else { Ok(secret) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(line: &str) -> Result<Value, String> {
        let words = McpArgs::parse(line.split(' ').map(str::to_owned).collect(), &OPTIONS)?;
        let (_, target) = target(&words)?;
        config(&words, target).map(|config| config.to_value())
    }

    #[test]
    fn command_lines_become_declarations() {
        // [CLI-57]
        let value = made("-e A=1 B=2 srv -- npx -y pkg --scope x").unwrap();
        assert_eq!(
            value,
            serde_json::json!({"type": "stdio", "command": "npx", "args": ["-y", "pkg", "--scope", "x"],
            "env": {"A": "1", "B": "2"}})
        );
        assert_eq!(made("srv https://h/mcp").unwrap()["type"], "http");
        assert_eq!(made("-t sse srv https://h/mcp").unwrap()["type"], "sse");
        let value = made("srv https://h --client-id c --callback-port 8123 -H X:1").unwrap();
        assert_eq!((&value["oauth"]["callbackPort"], &value["headers"]["X"]), (&8123.into(), &"1".into()));
        for bad in [
            "srv",
            "-t ws srv https://h",
            "-t http srv npx",
            "-e x srv -- c",
            "srv https://h --callback-port 0",
            "srv https://h --client-secret",
            "-H X:1 srv -- c",
            "-e A=1 srv https://h",
        ] {
            assert!(made(bad).is_err(), "{bad}");
        }
    }
}
