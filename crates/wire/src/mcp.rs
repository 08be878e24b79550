//! MCP server declarations from all sources: `.mcp.json`, the user's state file, a flag, an agent file, or a host's
//! control request. Values are kept as written; the code that loads them expands `${VAR}`.
//!
//! Unknown keys are ignored. Fields that decide which program is started or which host is reached are checked strictly:
//! a declaration that cannot be understood is refused with a reason that says how to fix it.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Names of built-in servers of other products; a configuration may not use them.
pub const RESERVED_NAMES: [&str; 5] =
    ["workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"];

/// One server, ready to be connected after its placeholders are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    pub transport: McpTransport,
    /// Time limit of one call, in milliseconds. Values below 1000 are ignored when read; `None` means the default.
    pub timeout_ms: Option<u64>,
    /// True when its tools are never deferred and the first prompt waits briefly for the connection.
    pub always_load: bool,
    pub tools: Vec<ToolPolicy>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    Stdio(StdioConfig),
    Http(RemoteConfig),
    Sse(RemoteConfig),
    Ws(RemoteConfig),
    /// Served by the host through `mcp_message`.
    Sdk {
        name: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StdioConfig {
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteConfig {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// A shell command that prints further headers as a JSON object.
    pub headers_helper: Option<String>,
    pub oauth: Option<OAuth>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuth {
    pub client_id: Option<String>,
    pub callback_port: Option<u16>,
    pub auth_server_metadata_url: Option<String>,
    pub scopes: Vec<String>,
}

/// What a host declares about one tool of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPolicy {
    pub name: String,
    pub permission: Option<ToolPermission>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolPermission {
    Allow,
    Ask,
    Deny,
}

/// The source of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum McpScope {
    Managed,
    /// `--mcp-config`.
    Flag,
    /// A host: `sdkMcpServers` or `mcp_set_servers`.
    Host,
    Local,
    Project,
    User,
    Plugin,
    /// Front matter of an agent file.
    Agent,
}

impl McpScope {
    /// The name used in `mcp_status` and `system/init`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Flag | Self::Host => "dynamic",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin => "plugin",
            Self::Agent => "agent",
        }
    }
}

/// Why a declaration was refused; `kind` is what `mcp_server_errors` reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpConfigError {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: String,
}

impl ServerConfig {
    pub fn stdio(command: impl Into<String>, args: Vec<String>) -> Self {
        Self::over(McpTransport::Stdio(StdioConfig { command: command.into(), args, env: BTreeMap::new() }))
    }

    pub fn sdk(name: impl Into<String>) -> Self {
        Self::over(McpTransport::Sdk { name: name.into() })
    }

    pub fn over(transport: McpTransport) -> Self {
        Self { transport, timeout_ms: None, always_load: false, tools: Vec::new() }
    }

    /// The value of the `type` key.
    pub fn kind(&self) -> &'static str {
        match &self.transport {
            McpTransport::Stdio(_) => "stdio",
            McpTransport::Http(_) => "http",
            McpTransport::Sse(_) => "sse",
            McpTransport::Ws(_) => "ws",
            McpTransport::Sdk { .. } => "sdk",
        }
    }

    pub fn remote(&self) -> Option<&RemoteConfig> {
        match &self.transport {
            McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => Some(remote),
            McpTransport::Stdio(_) | McpTransport::Sdk { .. } => None,
        }
    }

    /// Reads the object under `mcpServers.<name>`.
    pub fn parse(name: &str, value: &Value) -> Result<Self, McpConfigError> {
        parse(name, value).map_err(|(kind, message)| McpConfigError { name: name.to_owned(), kind, message })
    }

    /// Writes the object under `mcpServers.<name>` with a fixed key order.
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        out.insert("type".into(), self.kind().into());
        match &self.transport {
            McpTransport::Stdio(stdio) => {
                out.insert("command".into(), json!(stdio.command));
                out.insert("args".into(), json!(stdio.args));
                out.insert("env".into(), json!(stdio.env));
            }
            McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
                write_remote(remote, &mut out);
            }
            McpTransport::Sdk { name } => {
                out.insert("name".into(), json!(name));
            }
        }
        if let Some(timeout) = self.timeout_ms {
            out.insert("timeout".into(), timeout.into());
        }
        if self.always_load {
            out.insert("alwaysLoad".into(), true.into());
        }
        Value::Object(out)
    }
}

fn write_remote(remote: &RemoteConfig, out: &mut Map<String, Value>) {
    out.insert("url".into(), json!(remote.url));
    if !remote.headers.is_empty() {
        out.insert("headers".into(), json!(remote.headers));
    }
    if let Some(helper) = &remote.headers_helper {
        out.insert("headersHelper".into(), json!(helper));
    }
    if let Some(oauth) = &remote.oauth {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Option<Value>| value.map(|value| fields.insert(key.into(), value));
        put("clientId", oauth.client_id.as_ref().map(|id| json!(id)));
        put("callbackPort", oauth.callback_port.map(Value::from));
        put("authServerMetadataUrl", oauth.auth_server_metadata_url.as_ref().map(|url| json!(url)));
        put("scopes", (!oauth.scopes.is_empty()).then(|| json!(oauth.scopes.join(" "))));
        out.insert("oauth".into(), Value::Object(fields));
    }
}

type ConfigRefusal = (&'static str, String);

fn parse(name: &str, value: &Value) -> Result<ServerConfig, ConfigRefusal> {
    if RESERVED_NAMES.contains(&name) {
        return Err(("reserved_name", format!("\"{name}\" is a reserved server name; choose another one")));
    }
    let fields = value.as_object().ok_or_else(|| invalid("the entry must be a JSON object"))?;
    Ok(ServerConfig {
        transport: transport(name, fields)?,
        timeout_ms: timeout(fields),
        always_load: fields.get("alwaysLoad") == Some(&Value::Bool(true)),
        tools: fields.get("tools").and_then(Value::as_array).map(|list| policies(list)).unwrap_or_default(),
    })
}

fn transport(name: &str, fields: &Map<String, Value>) -> Result<McpTransport, ConfigRefusal> {
    let kind = match fields.get("type") {
        None | Some(Value::Null) if fields.contains_key("url") && !fields.contains_key("command") => {
            let fix = "add \"type\": \"http\" (or \"sse\") beside \"url\"";
            return Err(("url_missing_type", format!("it has a \"url\" but no \"type\"; {fix}")));
        }
        None | Some(Value::Null) => "stdio",
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => return Err(invalid("\"type\" must be a string")),
    };
    match kind {
        "stdio" => stdio(fields).map(McpTransport::Stdio),
        "http" | "streamable-http" => remote(fields).map(McpTransport::Http),
        "sse" => remote(fields).map(McpTransport::Sse),
        "ws" => remote(fields).map(McpTransport::Ws),
        "sdk" => Ok(McpTransport::Sdk { name: text(fields, "name")?.unwrap_or_else(|| name.to_owned()) }),
        other => Err(("unknown_type", format!("\"type\" is \"{other}\"; use stdio, http, sse, ws or sdk"))),
    }
}

fn stdio(fields: &Map<String, Value>) -> Result<StdioConfig, ConfigRefusal> {
    let command = text(fields, "command")?.filter(|command| !command.is_empty());
    let args = match fields.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| invalid("\"args\" must be a list of strings"))?,
        Some(_) => return Err(invalid("\"args\" must be a list of strings")),
    };
    Ok(StdioConfig {
        command: command.ok_or_else(|| invalid("\"command\" is missing"))?,
        args,
        env: strings(fields, "env")?,
    })
}

fn remote(fields: &Map<String, Value>) -> Result<RemoteConfig, ConfigRefusal> {
    let url = text(fields, "url")?.ok_or_else(|| invalid("\"url\" is missing"))?;
    if url.is_empty() {
        return Err(invalid("\"url\" is empty: the server is not configured"));
    }
    Ok(RemoteConfig {
        url,
        headers: strings(fields, "headers")?,
        headers_helper: text(fields, "headersHelper")?,
        oauth: oauth(fields)?,
    })
}

fn oauth(fields: &Map<String, Value>) -> Result<Option<OAuth>, ConfigRefusal> {
    let fields = match fields.get("oauth") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(invalid("\"oauth\" must be an object")),
    };
    let scopes = match fields.get("scopes") {
        Some(Value::String(all)) => all.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(Some(OAuth {
        client_id: text(fields, "clientId")?,
        callback_port: fields.get("callbackPort").and_then(Value::as_u64).and_then(|port| port.try_into().ok()),
        auth_server_metadata_url: text(fields, "authServerMetadataUrl")?,
        scopes,
    }))
}

fn timeout(fields: &Map<String, Value>) -> Option<u64> {
    const SHORTEST_MS: u64 = 1000;
    let given = fields.get("timeout").or_else(|| fields.get("request_timeout_ms"))?;
    given.as_u64().filter(|ms| *ms >= SHORTEST_MS)
}

fn policies(list: &[Value]) -> Vec<ToolPolicy> {
    let one = |item: &Value| {
        let permission = match item.get("permission_policy").and_then(Value::as_str) {
            Some("always_allow") => Some(ToolPermission::Allow),
            Some("always_ask") => Some(ToolPermission::Ask),
            Some("always_deny") => Some(ToolPermission::Deny),
            _ => None,
        };
        // The organisation's maximum can only make the permission stricter.
        let permission = match item.get("org_max_permission").and_then(Value::as_str) {
            Some("blocked") => Some(ToolPermission::Deny),
            Some("ask") if permission != Some(ToolPermission::Deny) => Some(ToolPermission::Ask),
            _ => permission,
        };
        Some(ToolPolicy { name: item.get("name")?.as_str()?.to_owned(), permission })
    };
    list.iter().filter_map(one).collect()
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, ConfigRefusal> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(&format!("\"{key}\" must be a string"))),
    }
}

fn strings(fields: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, ConfigRefusal> {
    let refused = || invalid(&format!("\"{key}\" must be an object of strings"));
    match fields.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, value)| value.as_str().map(|value| (name.clone(), value.to_owned())))
            .collect::<Option<_>>()
            .ok_or_else(refused),
        Some(_) => Err(refused()),
    }
}

fn invalid(message: &str) -> ConfigRefusal {
    ("invalid_config", message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(value: &Value) -> Result<&'static str, &'static str> {
        ServerConfig::parse("s", value).map(|config| config.kind()).map_err(|error| error.kind)
    }

    #[test]
    fn every_transport_is_read_and_its_aliases() {
        // [TST-205]
        assert_eq!(kind(&json!({"command": "x"})), Ok("stdio"));
        assert_eq!(kind(&json!({"type": "streamable-http", "url": "http://h"})), Ok("http"));
        assert_eq!(kind(&json!({"type": "sse", "url": "http://h"})), Ok("sse"));
        assert_eq!(kind(&json!({"type": "sdk"})), Ok("sdk"));
        assert_eq!(kind(&json!({"url": "http://h"})), Err("url_missing_type"));
        assert_eq!(kind(&json!({"type": "carrier-pigeon"})), Err("unknown_type"));
        assert_eq!(kind(&json!({"command": "x", "args": [1]})), Err("invalid_config"));
        assert_eq!(kind(&json!({"type": "http", "url": ""})), Err("invalid_config"));
        assert_eq!(ServerConfig::parse("workspace", &json!({"command": "x"})).unwrap_err().kind, "reserved_name");
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let value = json!({"type": "http", "url": "http://h", "headers": {"A": "b"}, "headersHelper": "h",
            "oauth": {"clientId": "c", "callbackPort": 1234, "scopes": "a b"}, "timeout": 2000, "alwaysLoad": true});
        let config = ServerConfig::parse("s", &value).unwrap();
        assert_eq!(config.to_value(), value);
        let short = ServerConfig::parse("s", &json!({"command": "x", "timeout": 10})).unwrap();
        assert_eq!(short.timeout_ms, None);
    }
}
