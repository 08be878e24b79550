//! The MCP servers of a session: every declaration of every scope, one winner per name, and why a server may not start.
//! Reads files and starts nothing. Values of variables appear only in `DeclaredMcpServer::config`, never in a
//! diagnostic. A repository can never approve its own servers.

mod change;
mod expand;
mod policy;
mod source;
mod tokens;

pub use change::{ChangeError, McpChange, McpDecision, McpPlace, McpSwitch, check_name, switch};
pub use expand::{ExpandedConfig, ExpansionVariables, expand};
pub use policy::McpPolicy;
pub use tokens::TokenFile;

use crate::layer::Diagnostic;
use crate::project::{ProjectConfig, SettingsSelection};
use crate::state::GlobalState;
use serde_json::Value;
use source::McpDeclaration;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mcp::{McpConfigError as Refused, McpScope, McpTransport, ServerConfig};

/// Whether a person can be asked about the servers of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpAudience {
    /// Nobody can be asked: servers of a repository run unless the user refused them or the folder.
    Headless,
    /// Servers that were not approved wait.
    Person,
}

/// What decides which servers are declared.
#[derive(Clone, Copy, Debug)]
pub struct McpQuery<'a> {
    pub cwd: &'a Path,
    /// The environment of the process: policies use no variable that a settings file set.
    pub env: &'a Env,
    pub loaded: &'a ProjectConfig,
    pub selection: &'a SettingsSelection,
    /// Values of `--mcp-config`: paths or JSON.
    pub flags: &'a [String],
    /// `--strict-mcp-config`
    pub strict: bool,
    pub audience: McpAudience,
}

/// Whether a server may run, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpApproval {
    Approved,
    /// A server of a repository that was not approved yet.
    Pending,
    /// The user refused this server of a repository.
    Rejected,
    /// The user switched the server off for this folder.
    Disabled,
    /// A policy refuses it; the text names the policy.
    Forbidden(String),
}

/// One declared server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredMcpServer {
    pub name: String,
    pub scope: McpScope,
    /// With variables expanded: for connecting, never for showing.
    pub config: ServerConfig,
    /// As written in the file: for showing.
    pub written: ServerConfig,
    pub approval: McpApproval,
    /// The file with the declaration; `None` for JSON on the command line.
    pub file: Option<PathBuf>,
    /// The directory in which its `headersHelper` runs.
    pub root: PathBuf,
    /// Problems for the user to check: unset variables, leading or trailing blanks.
    pub warnings: Vec<String>,
}

/// Everything declared. Servers that may run come before those that wait.
#[derive(Clone, Debug, Default)]
pub struct DeclaredMcpServers {
    pub servers: Vec<DeclaredMcpServer>,
    /// Declarations that cannot be used, as `mcp_server_errors` reports them.
    pub errors: Vec<Refused>,
    pub diagnostics: Vec<Diagnostic>,
    /// Lines for standard error.
    pub notices: Vec<String>,
    /// The file of the administrator is the only source.
    pub exclusive: bool,
}

impl DeclaredMcpServers {
    /// The servers to start.
    pub fn approved(&self) -> impl Iterator<Item = &DeclaredMcpServer> {
        self.servers.iter().filter(|server| server.approval == McpApproval::Approved)
    }

    pub fn get(&self, name: &str) -> Option<&DeclaredMcpServer> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// A problem with an option of the command line: the user must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    #[error(
        "Invalid MCP configuration: MCP config file not found: {0}. Check the path given to --mcp-config (JSON itself \
         begins with a brace), or start without it"
    )]
    NotFound(String),
    #[error("Invalid MCP configuration: {0}")]
    Invalid(String),
    #[error(
        "--mcp-config cannot be used: an enterprise MCP configuration is active and has exclusive control over MCP servers"
    )]
    Exclusive,
    #[error("--mcp-config is switched off by your administrator (disableSideloadFlags)")]
    Sideload,
}

/// Every server that is declared for a session, and whether it may run.
pub fn effective(request: &McpQuery<'_>) -> Result<DeclaredMcpServers, McpError> {
    let mut found = source::read(request)?;
    let policy = McpPolicy::of(request.loaded, request.env);
    let choices = McpChoices::of(request);
    let mut out = DeclaredMcpServers { exclusive: found.exclusive, ..DeclaredMcpServers::default() };
    out.diagnostics.append(&mut found.diagnostics);
    let mut taken: Vec<String> = Vec::new();
    for declaration in found.declarations {
        if taken.contains(&declaration.name) {
            continue;
        }
        let Some(server) = resolve_declaration(declaration, request, (&policy, &choices), &mut out) else { continue };
        // A waiting server of a repository must not hide the user's server of the same name.
        if !matches!(server.approval, McpApproval::Pending | McpApproval::Rejected) {
            taken.push(server.name.clone());
        }
        out.servers.push(server);
    }
    sys::compact_sort::sort_by(&mut out.servers, |a, b| a.name.cmp(&b.name).then((rank(a)).cmp(&rank(b))));
    Ok(out)
}

/// Sorts servers that run before servers that wait.
fn rank(server: &DeclaredMcpServer) -> bool {
    matches!(server.approval, McpApproval::Pending | McpApproval::Rejected)
}

fn resolve_declaration(
    declaration: McpDeclaration,
    request: &McpQuery<'_>,
    (policy, choices): (&McpPolicy, &McpChoices),
    out: &mut DeclaredMcpServers,
) -> Option<DeclaredMcpServer> {
    let written = match ServerConfig::parse(&declaration.name, &declaration.value) {
        Ok(written) => written,
        Err(refused) => {
            let message = format!("server {:?} is not used: {}", refused.name, refused.message);
            out.diagnostics.push(declaration.diagnostic(message));
            out.errors.push(refused);
            return None;
        }
    };
    let expanded = expand(&written, &request.loaded.env, declaration.variables(request));
    let mut config = expanded.config;
    let mut standing = choices.approval(&declaration, request);
    if let Err(why) = policy.admits(&declaration.name, &config) {
        standing = McpApproval::Forbidden(why);
    }
    let untrusted = declaration.scope == McpScope::Project && !request.loaded.trusted;
    if untrusted && standing == McpApproval::Approved && take_helper(&mut config) {
        out.notices.push(format!(
            "headersHelper not run: server {:?} of {} is used without it until the folder is trusted (`gimlet trust`).",
            declaration.name,
            declaration.file.as_deref().unwrap_or(Path::new(".mcp.json")).display()
        ));
    }
    for warning in &expanded.warnings {
        out.diagnostics.push(declaration.diagnostic(format!("server {:?}: {warning}", declaration.name)));
    }
    let McpDeclaration { name, scope, file, root, .. } = declaration;
    Some(DeclaredMcpServer {
        name,
        scope,
        config,
        written,
        approval: standing,
        file,
        root,
        warnings: expanded.warnings,
    })
}

fn take_helper(config: &mut ServerConfig) -> bool {
    match &mut config.transport {
        McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
            remote.headers_helper.take().is_some()
        }
        McpTransport::Stdio(_) | McpTransport::Sdk { .. } => false,
    }
}

/// The decisions of the user about servers, by name.
struct McpChoices {
    all: bool,
    enabled: Vec<String>,
    rejected: Vec<String>,
    disabled: Vec<String>,
}

impl McpChoices {
    fn of(request: &McpQuery<'_>) -> Self {
        let settings = &request.loaded.settings;
        let listed = |name: &str| names(&request.loaded.state, request, name);
        let mut enabled = settings.enabled_mcpjson_servers.clone();
        enabled.extend(listed("enabledMcpjsonServers"));
        let mut rejected = settings.disabled_mcpjson_servers.clone();
        rejected.extend(listed("disabledMcpjsonServers"));
        Self {
            all: settings.enable_all_project_mcp_servers == Some(true),
            enabled,
            rejected,
            disabled: listed("disabledMcpServers"),
        }
    }

    fn approval(&self, declaration: &McpDeclaration, request: &McpQuery<'_>) -> McpApproval {
        let name = &declaration.name;
        if self.disabled.contains(name) {
            return McpApproval::Disabled;
        }
        if declaration.scope != McpScope::Project {
            return McpApproval::Approved;
        }
        if self.rejected.contains(name) {
            return McpApproval::Rejected;
        }
        let approved = match request.audience {
            McpAudience::Headless => request.loaded.project_code,
            McpAudience::Person => request.loaded.trusted && (self.all || self.enabled.contains(name)),
        };
        if approved { McpApproval::Approved } else { McpApproval::Pending }
    }
}

/// A list of names in the folder's entry of the state file.
fn names(state: &GlobalState, request: &McpQuery<'_>, list: &str) -> Vec<String> {
    let folders = folders(request.loaded, request.cwd);
    let lists = folders.iter().filter_map(|folder| state.project_value(folder, list)?.as_array());
    lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The folders whose entries in the state file apply to a directory, nearest first.
fn folders(loaded: &ProjectConfig, cwd: &Path) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_path_buf()];
    if loaded.trust_key != cwd {
        folders.push(loaded.trust_key.clone());
    }
    folders
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
