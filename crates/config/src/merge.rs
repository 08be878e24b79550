//! Merges layers into one set of settings, highest precedence first, and leaves out what a repository may not decide
//! before it is trusted. Deny and ask rules always apply.

use crate::activation::mark;
use crate::environment::{VariableSetter, is_tuning, may_set};
use crate::join::join;
use crate::layer::{Diagnostic, HeldValue, SettingsLayer};
use crate::ownership::WaitingEntry;
use crate::project_config::{KeyHelper, ProjectConfig};
use crate::stamp::PathStamps;
use crate::state::GlobalState;
use crate::trust::FolderTrust;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::counting::counted;
use wire::mode::PermissionMode;
use wire::settings::{KeyShape, RuleBehaviour, RuleText, SettingKey, Settings, SettingsSource, TrustGate};

pub(crate) struct MergeInputs<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a Env,
    /// Highest precedence first.
    pub(crate) layers: Vec<SettingsLayer>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) trust: FolderTrust,
    /// Code of an untrusted folder must not run.
    pub(crate) refuse: bool,
    pub(crate) stamps: PathStamps,
    pub(crate) state: GlobalState,
}

pub(crate) fn merge(inputs: MergeInputs<'_>) -> ProjectConfig {
    let MergeInputs { cwd, env, mut layers, mut diagnostics, trust, refuse, stamps, state } = inputs;
    for layer in &mut layers {
        let setter = setter(layer, &trust);
        let local = (layer.source == SettingsSource::Local).then(|| trust.effective_entries(layer.path.as_deref()));
        TrustFilter { setter, refuse, trust: &trust, diagnostics: &mut diagnostics }
            .filter_layer(layer, local.as_ref());
    }
    hold_sandbox_grant(&mut layers, &trust);
    let (merged, provenance) = fold(&layers);
    let settings = Arc::new(Settings::deserialize(&merged).unwrap_or_default());
    let mode = starting_mode(&layers, &trust, &mut diagnostics);
    let helper = settings.api_key_helper.clone().zip(provenance.get("apiKeyHelper").copied());
    let managed_rules_only = settings.allow_managed_permission_rules_only == Some(true);
    ProjectConfig {
        env: env.with(&settings.env),
        rules: rules(&layers, managed_rules_only),
        additional_directories: directories(&settings, cwd, env.home().as_deref()),
        default_mode: mode,
        bypass_disabled: settings.permissions.disable_bypass_permissions_mode.is_some(),
        managed_rules_only,
        helper: helper.map(|(command, source)| KeyHelper { command, source }),
        notices: notice(&layers, &trust, refuse).into_iter().chain(waiting_notice(&trust.waiting, cwd)).collect(),
        project_code: trust.trusted || !refuse,
        settings,
        merged: Arc::new(merged),
        layers: Arc::new(layers),
        provenance,
        diagnostics,
        trusted: trust.trusted,
        trust_key: trust.key,
        trust_changes: trust.changes,
        adopts_trust: trust.adopts,
        waiting: trust.waiting,
        first_sights: trust.first_sights,
        pending: Vec::new(),
        stamps,
        state: Arc::new(state),
    }
}

/// The author of a layer's variables. The applied part of a local file was accepted entry by entry and is the user's.
fn setter(layer: &SettingsLayer, trust: &FolderTrust) -> VariableSetter {
    match layer.source {
        SettingsSource::Project if trust.trusted => VariableSetter::TrustedFolder,
        SettingsSource::Project => VariableSetter::UntrustedFolder,
        SettingsSource::Managed
        | SettingsSource::CommandLine
        | SettingsSource::Flag
        | SettingsSource::Session
        | SettingsSource::User
        | SettingsSource::Local => VariableSetter::User,
    }
}

/// A sandbox that a folder switches on confines its commands before anybody vouched for the folder; that they need no
/// question in it waits. Where the user has the sandbox on, or wants no questions in it, the folder grants nothing.
fn hold_sandbox_grant(layers: &mut [SettingsLayer], trust: &FolderTrust) {
    const GRANT: &str = "autoAllowBashIfSandboxed";
    let says = |layer: &SettingsLayer, name: &str| {
        layer.effective.get("sandbox").and_then(|block| block.get(name)) == Some(&Value::Bool(true))
    };
    let is_folder = |layer: &SettingsLayer| setter(layer, trust) == VariableSetter::UntrustedFolder;
    if layers.iter().any(|layer| !is_folder(layer) && (says(layer, "enabled") || says(layer, GRANT))) {
        return;
    }
    for layer in layers.iter_mut().filter(|layer| is_folder(layer) && says(layer, "enabled")) {
        let Some(Value::Object(block)) = layer.effective.get_mut("sandbox") else { continue };
        if block.insert(GRANT.into(), false.into()).is_none() {
            layer.held.retain(|held| held.key != format!("sandbox.{GRANT}"));
            let description = "the sandbox is on, its commands are still asked about".to_owned();
            layer.held.push(HeldValue { key: format!("sandbox.{GRANT}"), description });
        }
    }
}

/// Lists of a shared file whose entries count or wait one by one.
const LONE_KEYS: [&str; 2] = ["permissions.allow", "permissions.additionalDirectories"];

/// Separates the values of one layer into those that apply and those that wait.
struct TrustFilter<'a> {
    setter: VariableSetter,
    refuse: bool,
    trust: &'a FolderTrust,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl TrustFilter<'_> {
    /// `local` is the part of a local file that belongs to the user.
    fn filter_layer(&mut self, layer: &mut SettingsLayer, local: Option<&Map<String, Value>>) {
        let valid = std::mem::take(&mut layer.valid);
        let given = local.unwrap_or(&valid);
        let mut effective = self.object(Settings::KEYS, given, "", layer);
        if let Some(Value::Object(variables)) = given.get("env") {
            effective.insert("env".into(), Value::Object(self.variables(variables, layer)));
        }
        layer.effective = effective;
        layer.valid = valid;
    }

    fn object(
        &mut self,
        keys: &'static [SettingKey],
        valid: &Map<String, Value>,
        prefix: &str,
        layer: &mut SettingsLayer,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in valid {
            let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
            let path = format!("{prefix}{name}");
            let value = match (&key.shape, value) {
                (KeyShape::Object(inner), Value::Object(members)) => {
                    Value::Object(self.object(inner, members, &format!("{path}."), layer))
                }
                (_, Value::Array(entries))
                    if self.setter != VariableSetter::User && LONE_KEYS.contains(&path.as_str()) =>
                {
                    self.filter_lone_entries(entries, &path, layer, &mut out);
                    continue;
                }
                _ => value.clone(),
            };
            if self.admits(key, &value, &path, layer) {
                out.insert(name.clone(), value);
            }
        }
        out
    }

    /// In a trusted folder all entries apply that are not held back; in others only those that gimlet wrote.
    fn filter_lone_entries(
        &self,
        entries: &[Value],
        path: &str,
        layer: &mut SettingsLayer,
        out: &mut Map<String, Value>,
    ) {
        let counts = |entry: &&Value| {
            let mark = mark(SettingsSource::Project, path, entry);
            match self.setter {
                VariableSetter::User => true,
                VariableSetter::TrustedFolder => !self.trust.holds_back(&mark),
                VariableSetter::UntrustedFolder => self.trust.own.contains(&mark),
            }
        };
        let kept: Vec<Value> = entries.iter().filter(counts).cloned().collect();
        let held = entries.len() - kept.len();
        if held > 0 && self.setter == VariableSetter::UntrustedFolder {
            layer.held.push(HeldValue { key: path.to_owned(), description: held.to_string() });
        }
        if !kept.is_empty() {
            let name = path.rsplit('.').next().unwrap_or(path);
            out.insert(name.to_owned(), Value::Array(kept));
        }
    }

    fn admits(&mut self, key: &SettingKey, value: &Value, path: &str, layer: &mut SettingsLayer) -> bool {
        if key.gate == TrustGate::Own && self.setter != VariableSetter::User {
            let message = format!("{path} has no effect here: a repository cannot approve its own servers");
            self.complain(layer, path, message);
            return false;
        }
        let waits = match key.gate {
            TrustGate::Open | TrustGate::Own => false,
            TrustGate::Grant | TrustGate::Helper => true,
            TrustGate::Code => self.refuse,
            TrustGate::Loosens { strict } => *value != Value::Bool(strict),
        };
        if !waits || self.setter != VariableSetter::UntrustedFolder {
            return true;
        }
        layer.held.push(HeldValue { key: path.to_owned(), description: amount(value) });
        false
    }

    fn variables(&mut self, variables: &Map<String, Value>, layer: &mut SettingsLayer) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in variables {
            let untrusted = self.setter == VariableSetter::UntrustedFolder;
            if may_set(name, self.setter) && !(untrusted && self.refuse && !is_tuning(name)) {
                out.insert(name.clone(), value.clone());
            } else if may_set(name, VariableSetter::TrustedFolder) {
                layer.held.push(HeldValue { key: format!("env.{name}"), description: String::new() });
            } else {
                self.complain(layer, &format!("env.{name}"), format!("env.{name} cannot be set here; it is ignored"));
            }
        }
        out
    }

    fn complain(&mut self, layer: &SettingsLayer, key: &str, message: String) {
        self.diagnostics.push(key_diagnostic(layer, key, message));
    }
}

fn key_diagnostic(layer: &SettingsLayer, key: &str, message: String) -> Diagnostic {
    let keys: Vec<&str> = key.splitn(3, '.').collect();
    let line = layer.line(&keys, None);
    Diagnostic { source: layer.source, path: layer.path.clone(), line, key: Some(key.to_owned()), message }
}

fn amount(value: &Value) -> String {
    match value {
        Value::Array(entries) => entries.len().to_string(),
        Value::Object(members) => members.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => String::new(),
    }
}

/// Merges all layers into one object; also returns which layer decided each key (the highest that sets it).
fn fold(layers: &[SettingsLayer]) -> (Map<String, Value>, BTreeMap<String, SettingsSource>) {
    let mut merged = Map::new();
    let mut provenance = BTreeMap::new();
    for layer in layers {
        for (name, value) in &layer.effective {
            provenance.entry(name.clone()).or_insert(layer.source);
            if let (Value::Object(members), true) = (value, is_block(name)) {
                for member in members.keys() {
                    provenance.entry(format!("{name}.{member}")).or_insert(layer.source);
                }
            }
        }
        join(Settings::KEYS, &mut merged, &layer.effective);
    }
    policy_alone(layers, &mut merged);
    (merged, provenance)
}

fn is_block(name: &str) -> bool {
    Settings::KEYS.iter().any(|key| key.name == name && matches!(key.shape, KeyShape::Object(_) | KeyShape::Map(_)))
}

/// Replaces lists that only the administrator decides, once a policy sets them.
fn policy_alone(layers: &[SettingsLayer], merged: &mut Map<String, Value>) {
    let mut policy = Map::new();
    for layer in layers.iter().filter(|layer| layer.source == SettingsSource::Managed) {
        join(Settings::KEYS, &mut policy, &layer.effective);
    }
    if policy.is_empty() {
        return;
    }
    if let Some(models) = policy.get("availableModels") {
        merged.insert("availableModels".into(), models.clone());
    }
    match policy.get("enforceAvailableModels") {
        Some(value) => drop(merged.insert("enforceAvailableModels".into(), value.clone())),
        None => drop(merged.remove("enforceAvailableModels")),
    }
}

fn rules(layers: &[SettingsLayer], managed_only: bool) -> Vec<RuleText> {
    let mut rules = Vec::new();
    for layer in layers {
        let mut add = |behaviour, name: &str| {
            let texts = layer.effective.get("permissions").and_then(|block| block.get(name)).and_then(Value::as_array);
            let texts = texts.into_iter().flatten().filter_map(Value::as_str);
            rules.extend(texts.map(|text| RuleText {
                behaviour,
                source: layer.source,
                text: text.to_owned(),
                root: layer.root.clone(),
            }));
        };
        add(RuleBehaviour::Deny, "deny");
        add(RuleBehaviour::Ask, "ask");
        // Rules that refuse are never dropped: a policy about allow rules must not widen anything.
        if !managed_only || layer.source == SettingsSource::Managed {
            add(RuleBehaviour::Allow, "allow");
        }
        let patterns = layer.effective.get("ignorePatterns").and_then(Value::as_array).into_iter().flatten();
        rules.extend(patterns.filter_map(Value::as_str).map(|pattern| RuleText {
            behaviour: RuleBehaviour::Deny,
            source: layer.source,
            text: format!("Read({pattern})"),
            root: layer.root.clone(),
        }));
    }
    rules
}

fn directories(settings: &Settings, cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    settings.permissions.additional_directories.iter().map(|dir| absolute(dir, cwd, home)).collect()
}

/// The mode of the highest layer that sets one. A value that does not apply still hides those of lower layers.
fn starting_mode(
    layers: &[SettingsLayer],
    trust: &FolderTrust,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<PermissionMode> {
    const KEY: &str = "permissions.defaultMode";
    for layer in layers {
        // A waiting entry of a local file hides nothing.
        let said = if layer.source == SettingsSource::Local { &layer.effective } else { &layer.valid };
        let text = said.get("permissions").and_then(|block| block.get("defaultMode")).and_then(Value::as_str);
        let Some(mode) = text.and_then(parse_mode) else { continue };
        let setter = setter(layer, trust);
        let of_folder = matches!(layer.source, SettingsSource::Project | SettingsSource::Local);
        let accepted = match mode {
            PermissionMode::Default | PermissionMode::Plan | PermissionMode::DontAsk => true,
            PermissionMode::AcceptEdits => setter != VariableSetter::UntrustedFolder,
            // A file of a repository cannot select these.
            PermissionMode::BypassPermissions => setter == VariableSetter::User,
            PermissionMode::Auto => !of_folder,
        };
        if !accepted {
            let shown = mode.as_str();
            diagnostics.push(key_diagnostic(layer, KEY, format!("{KEY} {shown:?} has no effect in a project file")));
        }
        return accepted.then_some(mode);
    }
    None
}

/// A number that is held as text, with its noun.
fn in_words(number: &str, noun: &str) -> String {
    number.parse::<usize>().map_or_else(|_| format!("{number} {noun}"), |number| counted(number, noun))
}

/// One line about everything that waits for trust; `None` when there is nothing.
fn notice(layers: &[SettingsLayer], trust: &FolderTrust, refuse: bool) -> Option<String> {
    if trust.trusted {
        return None;
    }
    let mut what = Vec::new();
    let mut variables = Vec::new();
    for held in layers.iter().flat_map(|layer| &layer.held) {
        match (held.key.as_str(), held.description.as_str()) {
            ("permissions.allow", n) => what.push(in_words(n, "permissions.allow rule")),
            ("permissions.additionalDirectories", n) => what.push(in_words(n, "additional directory")),
            (key, _) if key.starts_with("env.") => variables.push(key.trim_start_matches("env.").to_owned()),
            (key, "") => what.push(key.to_owned()),
            (key, names) => what.push(format!("{key} ({names})")),
        }
    }
    if !variables.is_empty() {
        what.push(format!("env {}", variables.join(", ")));
    }
    if refuse && !trust.servers.is_empty() {
        what.push(format!("servers of .mcp.json ({})", trust.servers.join(", ")));
    }
    if what.is_empty() {
        return None;
    }
    let why = if trust.changes.is_empty() { "has not been trusted" } else { "has changed since it was trusted" };
    Some(format!(
        "Warning: this workspace {why}, so these project settings are not used: {}. To look at them and trust the folder, \
         run `gimlet trust`, or set projects[{:?}].hasTrustDialogAccepted to true in .claude.json.",
        what.join("; "),
        trust.key.display().to_string()
    ))
}

/// The largest number of entries in the line about waiting entries.
const MAX_NAMED: usize = 10;

/// One line about the individually waiting entries. Those that the user refused are not mentioned again.
fn waiting_notice(waiting: &[WaitingEntry], cwd: &Path) -> Option<String> {
    let open: Vec<&WaitingEntry> = waiting.iter().filter(|waiting| !waiting.refused).collect();
    let first = open.first()?;
    let name = |file: &Path| file.strip_prefix(cwd).unwrap_or(file).display().to_string();
    let mut files: Vec<String> = open.iter().map(|waiting| name(&waiting.item.file)).collect();
    files.dedup();
    let mut named: Vec<String> = open.iter().take(MAX_NAMED).map(|waiting| waiting.item.label()).collect();
    if open.len() > MAX_NAMED {
        named.push(format!("{} more", open.len() - MAX_NAMED));
    }
    let what = if first.before.is_some() { "new or changed entries" } else { "entries" };
    Some(format!(
        "Warning: {what} of {} wait until you accept them and are not used: {}. `gimlet trust` shows and accepts them, \
         --trust-workspace uses them for one run, --settings FILE uses a file of your own.",
        files.join(" and "),
        named.join("; ")
    ))
}

/// `delegate` occurs in published schemas without a meaning; it is read as the default mode.
fn parse_mode(text: &str) -> Option<PermissionMode> {
    if text == "delegate" { Some(PermissionMode::Default) } else { PermissionMode::parse(text) }
}

fn absolute(dir: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (dir.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(dir),
    }
}
