//! Reads every place that can declare a server, highest precedence first: only the administrator's file, or else the
//! command line, the folder's entry in the state file, the repository, the user. A missing file costs one failed open.

use super::expand::ExpansionVariables;
use super::{McpError, McpQuery, folders};
use crate::environment::SECRET_VARIABLES;
use crate::layer::{Diagnostic, ReadFailure, locate, parse_object, read_text};
use crate::managed::{is_administrators_own, managed_dir};
use crate::settings_files::server_files;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::mcp::McpScope;
use wire::settings::SettingsSource;

const SERVERS: &str = "mcpServers";

/// One entry as written.
pub(super) struct McpDeclaration {
    pub(super) name: String,
    pub(super) scope: McpScope,
    pub(super) value: Value,
    pub(super) file: Option<PathBuf>,
    pub(super) root: PathBuf,
    /// For the line of a diagnostic. `None` for entries of the state file, which gimlet writes.
    text: Option<Arc<str>>,
}

impl McpDeclaration {
    pub(super) fn diagnostic(&self, message: String) -> Diagnostic {
        let line = self.text.as_deref().and_then(|text| locate(text, &[SERVERS, &self.name], None));
        let message = match (self.scope, &self.file) {
            (McpScope::Flag, None) => format!("--mcp-config: {message}"),
            _ => message,
        };
        Diagnostic { source: source_of(self.scope), path: self.file.clone(), line, key: None, message }
    }

    /// The variables its placeholders may use.
    pub(super) fn variables(&self, request: &McpQuery<'_>) -> ExpansionVariables<'static> {
        let hidden = if self.scope == McpScope::Project && !request.loaded.trusted { SECRET_VARIABLES } else { &[] };
        ExpansionVariables { hidden, project: request.loaded.trust_key.clone() }
    }
}

fn source_of(scope: McpScope) -> SettingsSource {
    match scope {
        McpScope::Managed => SettingsSource::Managed,
        McpScope::Flag | McpScope::Host => SettingsSource::Flag,
        McpScope::Local => SettingsSource::Local,
        McpScope::Project | McpScope::Agent | McpScope::Plugin => SettingsSource::Project,
        McpScope::User => SettingsSource::User,
    }
}

#[derive(Default)]
pub(super) struct McpDeclarations {
    pub(super) declarations: Vec<McpDeclaration>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) exclusive: bool,
}

pub(super) fn read(request: &McpQuery<'_>) -> Result<McpDeclarations, McpError> {
    let mut found = McpDeclarations::default();
    let flags = flags(request)?;
    if !request.selection.bare && !request.selection.safe_mode {
        managed(request, &mut found);
    }
    let only_hosts = flags.iter().all(|declaration| declaration.value.get("type") == Some(&"sdk".into()));
    if found.exclusive {
        if !only_hosts {
            return Err(McpError::Exclusive);
        }
        found.declarations.extend(flags);
        return Ok(found);
    }
    if !only_hosts && request.loaded.settings.disable_sideload_flags == Some(true) {
        return Err(McpError::Sideload);
    }
    found.declarations.extend(flags);
    let discovers = !request.strict && !request.selection.bare && !request.selection.safe_mode;
    if discovers {
        local(request, &mut found);
        project(request, &mut found);
        user(request, &mut found);
    }
    Ok(found)
}

fn managed(request: &McpQuery<'_>, found: &mut McpDeclarations) {
    let chosen = request.selection.managed_dir.as_deref();
    let path = chosen.map_or_else(managed_dir, Path::to_path_buf).join("managed-mcp.json");
    let problem = |message: String| Diagnostic {
        source: SettingsSource::Managed,
        path: Some(path.clone()),
        line: None,
        key: None,
        message,
    };
    if !path.exists() {
        return;
    }
    if !is_administrators_own(&path, chosen.is_some()) {
        found.diagnostics.push(problem("is ignored: only an administrator may be able to write it".into()));
        return;
    }
    // From here on no other source is used, even when this file cannot be used.
    found.exclusive = true;
    match read_text(&path) {
        Ok(text) => file(McpScope::Managed, &path, &text, found),
        Err(ReadFailure::Missing) => {}
        Err(ReadFailure::Unusable(why)) => found.diagnostics.push(problem(format!("{why}; no server is used"))),
    }
}

fn flags(request: &McpQuery<'_>) -> Result<Vec<McpDeclaration>, McpError> {
    let mut all: Vec<McpDeclaration> = Vec::new();
    for given in request.flags {
        let (text, path) = flag_text(given, request.cwd)?;
        let invalid = |line: Option<usize>, why: &str| McpError::Invalid(located(path.as_deref(), line, why));
        let mut parsed = parse_object(&text).map_err(|(line, why)| invalid(line, &why))?;
        let servers = match parsed.object.remove(SERVERS) {
            Some(Value::Object(servers)) => servers,
            Some(_) => {
                let line = locate(&text, &[SERVERS], None);
                return Err(invalid(line, "must hold an object under \"mcpServers\": names and their servers"));
            }
            // The object of a single server is a likely mistake, and the fix is short.
            None if !parsed.object.is_empty() => {
                return Err(invalid(None, "must hold its servers under \"mcpServers\""));
            }
            None => Map::new(),
        };
        let root = path.as_deref().and_then(Path::parent).unwrap_or(request.cwd).to_path_buf();
        let text: Arc<str> = text.into();
        for (name, value) in servers {
            // When two flags name the same server, the later one wins.
            all.retain(|earlier| earlier.name != name);
            let (file, root, text) = (path.clone(), root.clone(), path.is_some().then(|| Arc::clone(&text)));
            all.push(McpDeclaration { name, scope: McpScope::Flag, value, file, root, text });
        }
    }
    Ok(all)
}

/// The message about a bad value of `--mcp-config`: what is wrong, where, and the expected form.
fn located(path: Option<&Path>, line: Option<usize>, why: &str) -> String {
    const SHAPE: &str = r#"{"mcpServers": {"name": {"command": "program", "args": []}}}"#;
    let place = match (path, line) {
        (Some(path), Some(line)) => format!("{}:{line}", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, Some(line)) => format!("line {line} of the JSON given to --mcp-config"),
        (None, None) => "the JSON given to --mcp-config".to_owned(),
    };
    format!("{place} {why}. It should look like {SHAPE}; correct it, or start without --mcp-config")
}

fn flag_text(given: &str, cwd: &Path) -> Result<(String, Option<PathBuf>), McpError> {
    if given.trim_start().starts_with('{') {
        return Ok((given.to_owned(), None));
    }
    let path = cwd.join(given);
    match read_text(&path) {
        Ok(text) => Ok((text, Some(path))),
        Err(ReadFailure::Missing) => Err(McpError::NotFound(path.display().to_string())),
        Err(ReadFailure::Unusable(why)) => {
            let fix = "give --mcp-config a readable JSON file, or start without it";
            Err(McpError::Invalid(format!("{} {why}; {fix}", path.display())))
        }
    }
}

fn local(request: &McpQuery<'_>, found: &mut McpDeclarations) {
    if !request.selection.reads(SettingsSource::Local) {
        return;
    }
    for folder in folders(request.loaded, request.cwd) {
        let servers = request.loaded.state.project_value(&folder, SERVERS).and_then(Value::as_object);
        state_entries(McpScope::Local, &folder, servers, request, found);
    }
}

fn user(request: &McpQuery<'_>, found: &mut McpDeclarations) {
    if request.selection.reads(SettingsSource::User) {
        let servers = request.loaded.state.value(SERVERS).and_then(Value::as_object);
        let root = request.env.home().unwrap_or_else(|| request.cwd.to_path_buf());
        state_entries(McpScope::User, &root, servers, request, found);
    }
}

fn state_entries(
    scope: McpScope,
    root: &Path,
    servers: Option<&Map<String, Value>>,
    request: &McpQuery<'_>,
    found: &mut McpDeclarations,
) {
    let file = crate::state::state_file(request.env);
    for (name, value) in servers.into_iter().flatten() {
        let (name, value, file, root) = (name.clone(), value.clone(), file.clone(), root.to_path_buf());
        found.declarations.push(McpDeclaration { name, scope, value, file, root, text: None });
    }
}

/// Reads the files of the repository, that of the starting directory first.
fn project(request: &McpQuery<'_>, found: &mut McpDeclarations) {
    if !request.selection.reads(SettingsSource::Project) {
        return;
    }
    for path in server_files(request.cwd) {
        match read_text(&path) {
            Ok(text) => file(McpScope::Project, &path, &text, found),
            Err(ReadFailure::Missing) => {}
            Err(ReadFailure::Unusable(why)) => found.diagnostics.push(Diagnostic {
                source: SettingsSource::Project,
                path: Some(path),
                line: None,
                key: None,
                message: format!("{why}; the file is ignored"),
            }),
        }
    }
}

fn file(scope: McpScope, path: &Path, text: &str, found: &mut McpDeclarations) {
    let problem = |line: Option<usize>, message: String| Diagnostic {
        source: source_of(scope),
        path: Some(path.to_path_buf()),
        line,
        key: None,
        message,
    };
    let mut parsed = match parse_object(text) {
        Ok(parsed) => parsed,
        Err((line, why)) => {
            found.diagnostics.push(problem(line, format!("{why}; the file is ignored")));
            return;
        }
    };
    for key in &parsed.duplicates {
        found.diagnostics.push(problem(Some(key.line), key.to_string()));
    }
    let servers = match parsed.object.remove(SERVERS) {
        Some(Value::Object(servers)) => servers,
        Some(_) => {
            let line = locate(text, &[SERVERS], None);
            found.diagnostics.push(problem(line, "\"mcpServers\" must be an object; the file is ignored".into()));
            return;
        }
        None => return,
    };
    let text: Arc<str> = text.into();
    let root = path.parent().unwrap_or(path).to_path_buf();
    for (name, value) in servers {
        let (file, root, text) = (Some(path.to_path_buf()), root.clone(), Some(Arc::clone(&text)));
        found.declarations.push(McpDeclaration { name, scope, value, file, root, text });
    }
}
