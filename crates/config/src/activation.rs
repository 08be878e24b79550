//! Everything a folder would activate: each command, host and file, as the trust question lists it and as an approval
//! records it. Reads files and runs nothing. Values of variables and headers are stored as digests, never shown.

use crate::entries::{EntryPart, SettingsEntry};
use crate::frontmatter;
use crate::layer::{SettingsLayer, parse_object, read_text};
use crate::scan;
use crate::settings_files;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wire::settings::{KeyShape, SettingKey, Settings, SettingsSource, TrustGate};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivationKind {
    /// Determines where requests, and with them credentials, are sent.
    Redirect,
    Helper,
    Hook,
    Server,
    Variable,
    Rule,
    Directory,
    Sandbox,
    Other,
}

impl ActivationKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Redirect => "Where your requests and credentials go",
            Self::Helper => "Commands run by gimlet itself",
            Self::Hook => "Hooks: commands run while a session works",
            Self::Server => "MCP servers",
            Self::Variable => "Environment variables",
            Self::Rule => "Actions allowed without asking",
            Self::Directory => "More directories the tools may use",
            Self::Sandbox => "Weaker isolation of commands, or fewer questions about them",
            Self::Other => "Other settings",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationItem {
    pub kind: ActivationKind,
    /// Identifies the item; the same id with another digest is a changed item.
    pub id: String,
    /// The description shown to the user.
    pub text: String,
    pub file: PathBuf,
    pub digest: String,
    /// The host of a redirect; `None` for other items.
    pub host: Option<String>,
    /// An entry of the local settings file.
    pub is_local: bool,
    /// Identifies the content and its place in the file. Empty outside settings files.
    pub(crate) mark: String,
}

impl ActivationItem {
    /// The item is accepted or held individually, independently of other changes in its file.
    pub(crate) fn waits_alone(&self) -> bool {
        self.is_local || matches!(self.kind, ActivationKind::Rule | ActivationKind::Directory)
    }
}

/// An item that needs approval: it is new, or differs from the approved one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustDifference {
    pub kind: ActivationKind,
    pub id: String,
    /// What was approved; `None` for something new.
    pub before: Option<String>,
    pub now: String,
}

/// The longest text of an item in a line, in characters.
const MAX_LABEL_CHARS: usize = 80;

impl ActivationItem {
    /// A short name for one line of text, without characters that could change the terminal.
    pub fn label(&self) -> String {
        let text = match self.kind {
            ActivationKind::Rule => format!("allow rule {}", self.text),
            ActivationKind::Variable | ActivationKind::Redirect => format!("env {}", self.text),
            ActivationKind::Hook => format!("hook {}", self.text),
            ActivationKind::Helper
            | ActivationKind::Server
            | ActivationKind::Directory
            | ActivationKind::Sandbox
            | ActivationKind::Other => self.text.clone(),
        };
        let short: String =
            text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(MAX_LABEL_CHARS).collect();
        if text.chars().nth(MAX_LABEL_CHARS).is_some() { format!("{short}…") } else { short }
    }
}

/// Lists what the shared files of the folder would activate.
pub(crate) fn list(layers: &[SettingsLayer], cwd: &Path) -> Vec<ActivationItem> {
    let mut items = Vec::new();
    for layer in layers.iter().filter(|layer| layer.source == SettingsSource::Project) {
        list_layer(layer, &mut items);
    }
    servers(cwd, &mut items);
    front_matter(cwd, &mut items);
    sys::compact_sort::sort_by(&mut items, |a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
    items
}

/// Lists what one shared settings file would activate.
pub(crate) fn list_layer(layer: &SettingsLayer, items: &mut Vec<ActivationItem>) {
    let file = layer.path.clone().unwrap_or_default();
    ActivationLister { name: short_name(&file), file, items }.object(Settings::KEYS, &layer.valid, "");
}

/// The item for one entry of a local settings file.
pub(crate) fn entry_item(entry: &SettingsEntry<'_>, file: &Path) -> ActivationItem {
    let host = match entry.part {
        EntryPart::Member(name) if entry.path.starts_with("env.") => {
            redirect_host(name, entry.value.as_str().unwrap_or_default())
        }
        _ => None,
    };
    let kind = if host.is_some() { ActivationKind::Redirect } else { entry_kind(entry) };
    let (id, text) = entry_words(entry, kind, host.as_deref());
    let id = format!("{}#{id}", short_name(file));
    let (digest, mark) = (digest(&entry.value), mark(SettingsSource::Local, &entry.path, &entry.value));
    ActivationItem { kind, id, text, file: file.to_path_buf(), digest, host, is_local: true, mark }
}

fn entry_kind(entry: &SettingsEntry<'_>) -> ActivationKind {
    match (entry.path.as_str(), entry.key.gate) {
        (path, _) if path.starts_with("env.") => ActivationKind::Variable,
        (path, _) if path.starts_with("hooks.") => ActivationKind::Hook,
        ("permissions.allow", _) => ActivationKind::Rule,
        ("permissions.additionalDirectories", _) => ActivationKind::Directory,
        (path, _) if path.starts_with("sandbox.") => ActivationKind::Sandbox,
        (_, TrustGate::Helper) => ActivationKind::Helper,
        _ => ActivationKind::Other,
    }
}

/// The id of an entry within its file, and its description.
fn entry_words(entry: &SettingsEntry<'_>, kind: ActivationKind, host: Option<&str>) -> (String, String) {
    let SettingsEntry { path, value, .. } = entry;
    match &entry.part {
        EntryPart::Hook { matcher, group, number, hook } => {
            let event = path.trim_start_matches("hooks.");
            (format!("{path}.{group}.{number}"), format!("{event} [{matcher}]: {}", hook_text(hook)))
        }
        EntryPart::Element if kind == ActivationKind::Rule => {
            (format!("{path}:{}", value_text(value)), value_text(value))
        }
        EntryPart::Element => (format!("{path}:{}", value_text(value)), format!("{path}: {}", value_text(value))),
        EntryPart::Member(name) if kind == ActivationKind::Variable => (path.clone(), (*name).to_owned()),
        EntryPart::Member(name) if kind == ActivationKind::Redirect => {
            (path.clone(), format!("{name} sends requests to {}", host.unwrap_or_default()))
        }
        EntryPart::Member(_) | EntryPart::Whole => (path.clone(), format!("{path}: {}", value_text(value))),
    }
}

/// Identifies an entry by its content, its key, and the kind of file it is in.
pub(crate) fn mark(source: SettingsSource, path: &str, value: &Value) -> String {
    digest(&Value::Array(vec![source.as_str().into(), path.into(), value.clone()]))
}

fn short_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

struct ActivationLister<'a> {
    name: String,
    file: PathBuf,
    items: &'a mut Vec<ActivationItem>,
}

impl ActivationLister<'_> {
    fn object(&mut self, keys: &'static [SettingKey], values: &Map<String, Value>, prefix: &str) {
        for (name, value) in values {
            let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
            let path = format!("{prefix}{name}");
            match (path.as_str(), &key.shape, value) {
                ("sandbox.enabled", _, Value::Bool(true)) => self.sandbox(values, value),
                ("env", _, Value::Object(variables)) => self.variables(variables),
                ("hooks", _, Value::Object(events)) => self.hooks(events),
                (_, KeyShape::Object(inner), Value::Object(members)) => {
                    self.object(inner, members, &format!("{path}."));
                }
                _ => self.key(key, &path, value),
            }
        }
    }

    fn key(&mut self, key: &SettingKey, path: &str, value: &Value) {
        let kind = match (key.gate, path) {
            (TrustGate::Open | TrustGate::Own, _) => return,
            (TrustGate::Loosens { strict }, _) if *value == Value::Bool(strict) => return,
            (_, "permissions.allow") => ActivationKind::Rule,
            (_, "permissions.additionalDirectories") => ActivationKind::Directory,
            (_, path) if path.starts_with("sandbox.") => ActivationKind::Sandbox,
            (TrustGate::Helper, _) => ActivationKind::Helper,
            (TrustGate::Code | TrustGate::Grant | TrustGate::Loosens { .. }, _) => ActivationKind::Other,
        };
        match value {
            Value::Array(entries) => {
                for entry in entries {
                    let shown = value_text(entry);
                    let text = if kind == ActivationKind::Rule { shown.clone() } else { format!("{path}: {shown}") };
                    self.push(kind, &format!("{path}:{shown}"), text, (path, entry));
                }
            }
            _ => self.push(kind, path, format!("{path}: {}", value_text(value)), (path, value)),
        }
    }

    /// Commands in a sandbox need no question, unless the block says so.
    fn sandbox(&mut self, block: &Map<String, Value>, value: &Value) {
        if block.get("autoAllowBashIfSandboxed") != Some(&Value::Bool(false)) {
            let text = "sandbox.enabled: commands run in the sandbox without a question".to_owned();
            self.push(ActivationKind::Sandbox, "sandbox.enabled", text, ("sandbox.enabled", value));
        }
    }

    fn variables(&mut self, variables: &Map<String, Value>) {
        for (name, value) in variables {
            let host = redirect_host(name, value.as_str().unwrap_or_default());
            let (kind, text) = match &host {
                Some(host) => (ActivationKind::Redirect, format!("{name} sends requests to {host}")),
                None => (ActivationKind::Variable, name.clone()),
            };
            let path = format!("env.{name}");
            self.push(kind, &path, text, (&path, value));
            if let Some(item) = self.items.last_mut() {
                item.host = host;
            }
        }
    }

    fn hooks(&mut self, events: &Map<String, Value>) {
        for (event, groups) in events {
            for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
                let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or("*");
                for (number, hook) in group.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate() {
                    let text = format!("{event} [{matcher}]: {}", hook_text(hook));
                    let value = with_matcher(matcher, hook);
                    let path = format!("hooks.{event}");
                    self.push(ActivationKind::Hook, &format!("{path}.{at}.{number}"), text, (&path, &value));
                }
            }
        }
    }

    fn push(&mut self, kind: ActivationKind, id: &str, text: String, (path, value): (&str, &Value)) {
        let id = format!("{}#{id}", self.name);
        let (digest, mark) = (digest(value), mark(SettingsSource::Project, path, value));
        let file = self.file.clone();
        self.items.push(ActivationItem { kind, id, text, file, digest, host: None, is_local: false, mark });
    }
}

fn with_matcher(matcher: &str, hook: &Value) -> Value {
    Value::Array(vec![matcher.into(), hook.clone()])
}

fn hook_text(hook: &Value) -> String {
    let named = ["command", "url", "prompt", "tool"].iter().find_map(|key| hook.get(key)?.as_str());
    named.map_or_else(|| value_text(hook), str::to_owned)
}

fn value_text(value: &Value) -> String {
    let command = value.get("command").and_then(Value::as_str);
    command.or(value.as_str()).map_or_else(|| value.to_string(), str::to_owned)
}

/// The host to which a variable redirects our requests; `None` for other variables.
fn redirect_host(name: &str, value: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let steers = name.ends_with("_BASE_URL") || name.ends_with("_PROXY") || name.ends_with("_ENDPOINT");
    if !steers || value.is_empty() {
        return None;
    }
    let after = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or(after);
    Some(authority.rsplit('@').next().unwrap_or(authority).to_owned())
}

/// The MCP files of the folder, nearest first, each with the path from the starting directory up to it.
fn mcp_files(cwd: &Path) -> Vec<(String, PathBuf, Map<String, Value>)> {
    let read = |(up, path): (usize, PathBuf)| {
        let parsed = parse_object(&read_text(&path).ok()?).ok()?;
        let servers = parsed.object.get("mcpServers")?.as_object()?.clone();
        Some(("../".repeat(up), path, servers))
    };
    settings_files::server_files(cwd).into_iter().enumerate().filter_map(read).collect()
}

/// The names of the servers that the folder declares.
pub(crate) fn server_names(cwd: &Path) -> Vec<String> {
    mcp_files(cwd).into_iter().flat_map(|(_, _, servers)| servers.into_iter().map(|(name, _)| name)).collect()
}

fn servers(cwd: &Path, items: &mut Vec<ActivationItem>) {
    for (above, file, servers) in mcp_files(cwd) {
        for (name, server) in &servers {
            let mut text = format!("{name}: {}", server_text(server));
            if let Some(helper) = server.get("headersHelper").and_then(Value::as_str) {
                write!(text, " (headers from: {helper})").ok();
            }
            let id = format!("{above}.mcp.json#{name}");
            let (kind, file, digest, mark) = (ActivationKind::Server, file.clone(), digest(server), String::new());
            items.push(ActivationItem { kind, id, text, file, digest, host: None, is_local: false, mark });
        }
    }
}

fn server_text(server: &Value) -> String {
    if let Some(url) = server.get("url").and_then(Value::as_str) {
        return url.split(['?', '#']).next().unwrap_or(url).to_owned();
    }
    let command = server.get("command").and_then(Value::as_str).unwrap_or("?");
    let args = server.get("args").and_then(Value::as_array).into_iter().flatten().map(value_text).map(quoted);
    std::iter::once(command.to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}

/// An argument with blanks in quotes, so that its end can be seen.
fn quoted(argument: String) -> String {
    if argument.contains([' ', '\t']) { format!("'{argument}'") } else { argument }
}

/// The fields that make a definition file more than text.
const ACTIVE_FIELDS: [&str; 4] = ["hooks", "mcpServers", "allowed-tools", "permissionMode"];

/// Lists agents, skills and commands that declare hooks, servers or permissions, as their loaders would read them.
fn front_matter(cwd: &Path, items: &mut Vec<ActivationItem>) {
    let root = sys::git::root(cwd);
    for (up, dir) in settings_files::between(cwd, root.as_deref()).enumerate() {
        let place = dir.join(".claude");
        let above = "../".repeat(up);
        for kind in ["agents", "commands"] {
            for (path, _) in scan::markdown_tree(&place.join(kind)).files {
                active_file((&above, kind), &place.join(kind), path, items);
            }
        }
        let skills = place.join("skills");
        for entry in scan::entries(&skills) {
            active_file((&above, "skills"), &skills, skills.join(entry.name).join("SKILL.md"), items);
        }
    }
}

fn active_file((above, kind): (&str, &str), top: &Path, path: PathBuf, items: &mut Vec<ActivationItem>) {
    let Some(Ok(head)) = scan::head(&path) else { return };
    let read = frontmatter::read(&head);
    if !read.fields.iter().any(|field| ACTIVE_FIELDS.contains(&field.key.as_str())) {
        return;
    }
    let below = path.strip_prefix(top).unwrap_or(&path);
    let shown = below.to_string_lossy();
    let name = shown.strip_suffix("/SKILL.md").unwrap_or(&shown).to_owned();
    let id = format!("{above}{kind}#{name}");
    let text = format!("{above}{kind}/{name} brings hooks, servers or permissions of its own");
    let digest = digest(&Value::String(head[..read.body_at].to_owned()));
    let mark = String::new();
    items.push(ActivationItem {
        kind: ActivationKind::Hook,
        id,
        text,
        file: path,
        digest,
        host: None,
        is_local: false,
        mark,
    });
}

/// The order of members has no effect on what runs, so it does not change the digest.
fn digest(value: &Value) -> String {
    let mut text = String::new();
    canonical(value, &mut text);
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            out.push('{');
            for name in names {
                write!(out, "{name:?}:").ok();
                canonical(&members[name], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(entries) => {
            out.push('[');
            for entry in entries {
                canonical(entry, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write!(out, "{value}").ok();
        }
    }
}
