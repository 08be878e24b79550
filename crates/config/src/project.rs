//! Opens what is declared for one directory: reads the layers, settles trust, merges.

use crate::activation::ActivationKind;
use crate::layer::{Diagnostic, LayerOrigin, ReadFailure, SettingsLayer, parse_object, read_text};
use crate::ownership::{FirstSight, WaitingEntry};
use crate::policy::PolicyHelper;
use crate::stamp::PathStamps;
use crate::state::{GlobalState, config_home, state_file};
use crate::trust::{FolderTrust, TrustDifference, TrustInputs};
use crate::{merge, settings_files};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, Settings, SettingsSource};

/// What the command line says about settings.
#[derive(Clone, Debug, Default)]
pub struct SettingsSelection {
    /// `--settings`: JSON text or a path.
    pub settings: Option<String>,
    /// `--setting-sources`: which of `User`, `Project`, `Local` are read; `None` = all.
    pub sources: Option<Vec<SettingsSource>>,
    pub bare: bool,
    pub safe_mode: bool,
    /// Where the administrator's files are; `None` = the platform's place.
    pub managed_dir: Option<PathBuf>,
    pub trust: TrustChoice,
    /// `--allow-external-imports`
    pub external_imports: bool,
}

/// What the command line says about trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustChoice {
    /// What was recorded counts; in an untrusted folder hooks and servers still run, as scripts expect.
    #[default]
    Stored,
    /// What was recorded counts; nothing an untrusted folder brings along runs.
    StoredOrRefuse,
    /// `--trust-workspace`: the folder is trusted for this run.
    Granted,
}

impl SettingsSelection {
    pub fn reads(&self, source: SettingsSource) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.contains(&source))
    }
}

/// Settings on the command line that cannot be used: the user must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("Settings file not found: {0}")]
    SettingsNotFound(String),
    #[error("Invalid settings given with --settings: {0}")]
    SettingsInvalid(String),
    #[error("the administrator's policyHelper failed, so gimlet does not start: {0}. Ask your administrator")]
    PolicyHelper(String),
}

/// A configured command that prints a key, and who configured it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHelper {
    pub command: String,
    pub source: SettingsSource,
}

/// Everything declared for a directory, merged, with what may not apply yet left out.
#[derive(Clone, Debug)]
pub struct ProjectConfig {
    pub settings: Arc<Settings>,
    /// All permission rules of all layers, with where they came from.
    pub rules: Vec<RuleText>,
    /// Absolute.
    pub additional_directories: Vec<PathBuf>,
    /// `permissions.defaultMode`, after the limits on what a repository may choose.
    pub default_mode: Option<PermissionMode>,
    /// A layer says that bypass mode must not be used.
    pub bypass_disabled: bool,
    /// Only the administrator's allow rules count, those of the command line included.
    pub managed_rules_only: bool,
    pub helper: Option<KeyHelper>,
    /// The process environment with the settings' `env` blocks applied.
    pub env: Env,
    /// Highest precedence first. Shared: they are large, and everyone who watches keeps what was loaded.
    pub layers: Arc<Vec<SettingsLayer>>,
    /// Which layer decided a key.
    pub provenance: BTreeMap<String, SettingsSource>,
    pub diagnostics: Vec<Diagnostic>,
    /// Lines for standard error.
    pub notices: Vec<String>,
    pub trusted: bool,
    /// The folder trust is recorded under.
    pub trust_key: PathBuf,
    /// What is there now and was not approved, in a folder that was trusted before.
    pub trust_changes: Vec<TrustDifference>,
    /// The folder was trusted without a record of what was there; `trust::record_first_sight` writes it.
    pub adopts_trust: bool,
    /// Entries that wait by themselves: of local settings files, and rules and directories added to a trusted folder.
    pub waiting: Vec<WaitingEntry>,
    pub(crate) first_sights: Vec<FirstSight>,
    /// Whether hooks, servers and other code of the folder may run.
    pub project_code: bool,
    /// Settings as one object.
    pub merged: Arc<Map<String, Value>>,
    /// What was added while the session runs and waits for the user.
    pub pending: Vec<String>,
    pub(crate) stamps: PathStamps,
    pub(crate) state: Arc<GlobalState>,
}

impl ProjectConfig {
    /// The file and line a rule stands in.
    pub fn place_of(&self, rule: &RuleText) -> Option<(&Path, Option<usize>)> {
        let name = match rule.behaviour {
            RuleBehaviour::Allow => "allow",
            RuleBehaviour::Ask => "ask",
            RuleBehaviour::Deny => "deny",
        };
        let of_layer = |layer: &&SettingsLayer| layer.source == rule.source && layer.root == rule.root;
        self.layers.iter().filter(of_layer).find_map(|layer| {
            let texts = layer.raw.get("permissions")?.get(name)?;
            let at = match texts {
                Value::Array(texts) => Some(texts.iter().position(|text| *text == rule.text.as_str())?),
                other => (*other == rule.text.as_str()).then_some(0),
            };
            let line = layer.line(&["permissions", name], at);
            layer.path.as_deref().map(|path| (path, line))
        })
    }
}

/// Who may have changed a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAuthor {
    /// Nothing of the session ran meanwhile.
    User,
    /// A tool call or a background task may have done it.
    Session,
}

impl ProjectConfig {
    /// The older settings stay in force, and `self` is not noticed again.
    #[must_use]
    pub fn ignore_changes(self, previous: &Self) -> Self {
        Self { stamps: self.stamps, ..previous.clone() }
    }

    /// Whether no file changed since these settings were read. Costs a stat per file.
    pub fn is_current(&self) -> bool {
        self.stamps.are_unchanged()
    }

    /// The settings files that differ from `previous`.
    pub fn changed_files(&self, previous: &Self) -> Vec<(SettingsSource, PathBuf)> {
        let differs = |layer: &SettingsLayer, others: &[SettingsLayer]| {
            let twin = others.iter().find(|other| other.source == layer.source && other.path == layer.path);
            twin.is_none_or(|twin| twin.raw != layer.raw)
        };
        let ours = self.layers.iter().filter(|layer| differs(layer, &previous.layers));
        let gone = previous.layers.iter().filter(|layer| !self.layers.iter().any(|l| l.path == layer.path));
        ours.chain(gone).filter_map(|layer| Some((layer.source, layer.path.clone()?))).collect()
    }
}

pub struct ConfigLoader;

impl ConfigLoader {
    /// Reads settings only; instruction files and credentials are asked for separately.
    pub fn open(cwd: &Path, env: &Env, selection: &SettingsSelection) -> Result<ProjectConfig, ConfigError> {
        let state = GlobalState::read(env);
        let mut reader = LayerReader {
            cwd,
            env,
            selection,
            layers: Vec::new(),
            diagnostics: Vec::new(),
            seen: state_file(env).into_iter().collect(),
        };
        reader.managed()?;
        reader.flag()?;
        reader.local();
        reader.project();
        reader.user();
        let LayerReader { layers, diagnostics, seen, .. } = reader;
        let refuse = selection.trust == TrustChoice::StoredOrRefuse || refuses(&layers);
        let reads_local = selection.reads(SettingsSource::Local);
        let trust =
            FolderTrust::of(&TrustInputs { cwd, env, layers: &layers, refuse, reads_local }, &state, selection.trust);
        let stamps = PathStamps::take(seen);
        Ok(merge::merge(merge::MergeInputs { cwd, env, layers, diagnostics, trust, refuse, stamps, state }))
    }

    /// What changed since `previous`, or `None`. Costs a stat per file while nothing did. Whatever refuses applies at
    /// once; what grants anything was perhaps written by the session itself and waits in `pending`.
    pub fn refresh(
        previous: &ProjectConfig,
        cwd: &Path,
        env: &Env,
        selection: &SettingsSelection,
    ) -> Option<Result<ProjectConfig, ConfigError>> {
        Self::refresh_by(previous, (cwd, env, selection), ChangeAuthor::Session)
    }

    /// As `refresh`, when it is known who changed the files: what the user did to hooks counts at once.
    pub fn refresh_by(
        previous: &ProjectConfig,
        (cwd, env, selection): (&Path, &Env, &SettingsSelection),
        author: ChangeAuthor,
    ) -> Option<Result<ProjectConfig, ConfigError>> {
        if previous.stamps.are_unchanged() {
            return None;
        }
        let wanted =
            |now: ProjectConfig| hold_changed_hooks(restrict_to_previous(now, previous, author), previous, author);
        Some(Self::open(cwd, env, selection).map(wanted))
    }
}

impl ConfigLoader {
    /// The layer of the command line is another one, by the host's own wish: what it grants counts. Everything else is held
    /// to what `previous` granted.
    pub fn reopen(
        previous: &ProjectConfig,
        (cwd, env, selection): (&Path, &Env, &SettingsSelection),
    ) -> Result<ProjectConfig, ConfigError> {
        let now = Self::open(cwd, env, selection)?;
        let of_host = |rule: &&RuleText| rule.source == SettingsSource::Flag && rule.behaviour == RuleBehaviour::Allow;
        let granted: Vec<RuleText> = now.rules.iter().filter(of_host).cloned().collect();
        // Rules of the old layer are no longer anybody's.
        let mut before = previous.clone();
        before.rules.retain(|rule| rule.source != SettingsSource::Flag);
        let mut now = hold_changed_hooks(
            restrict_to_previous(now, &before, ChangeAuthor::Session),
            previous,
            ChangeAuthor::Session,
        );
        now.pending.retain(|waiting| !granted.iter().any(|rule| *waiting == format!("allow rule {}", rule.text)));
        for rule in granted {
            if !now.rules.contains(&rule) {
                now.rules.push(rule);
            }
        }
        Ok(now)
    }
}

/// Keeps `now` from granting more than `previous` did.
fn restrict_to_previous(mut now: ProjectConfig, previous: &ProjectConfig, author: ChangeAuthor) -> ProjectConfig {
    let mut pending = Vec::new();
    if author == ChangeAuthor::Session {
        let gone = |rule: &&RuleText| rule.behaviour != RuleBehaviour::Allow && !now.rules.contains(rule);
        let kept: Vec<RuleText> = previous.rules.iter().filter(gone).cloned().collect();
        pending.extend(kept.iter().map(|rule| format!("removal of {} rule {}", rule.behaviour.name(), rule.text)));
        now.rules.extend(kept);
    }
    now.rules.retain(|rule| {
        let known = rule.behaviour != RuleBehaviour::Allow || previous.rules.contains(rule);
        if !known {
            pending.push(format!("allow rule {}", rule.text));
        }
        known
    });
    now.additional_directories.retain(|dir| {
        let known = previous.additional_directories.contains(dir);
        if !known {
            pending.push(format!("additional directory {}", dir.display()));
        }
        known
    });
    if now.helper != previous.helper {
        pending.push("apiKeyHelper".into());
        now.helper.clone_from(&previous.helper);
    }
    if now.settings.env != previous.settings.env {
        pending.push("env".into());
        Arc::make_mut(&mut now.settings).env.clone_from(&previous.settings.env);
    }
    let sandbox = &previous.settings.sandbox;
    if now.settings.sandbox != *sandbox {
        pending.push("sandbox".into());
        Arc::make_mut(&mut now.settings).sandbox.clone_from(sandbox);
    }
    now.env = previous.env.clone();
    // New entries that would grant something and wait for the user anyway. Hooks are named together.
    let known = |waiting: &&WaitingEntry| previous.waiting.iter().any(|old| old.item.mark == waiting.item.mark);
    let grants = |waiting: &&WaitingEntry| !matches!(waiting.item.kind, ActivationKind::Hook | ActivationKind::Other);
    let new = now.waiting.iter().filter(|waiting| !known(waiting) && grants(waiting));
    pending.extend(new.map(|waiting| waiting.item.label()));
    now.pending = pending;
    now
}

/// Hooks that the session may have written, or taken away, wait. A file whose hooks did not change keeps what waited before.
fn hold_changed_hooks(mut now: ProjectConfig, previous: &ProjectConfig, author: ChangeAuthor) -> ProjectConfig {
    const KEYS: [&str; 2] = ["hooks", "disableAllHooks"];
    let mut waits = false;
    let layers = Arc::make_mut(&mut now.layers);
    for layer in layers.iter_mut().filter(|layer| layer.source != SettingsSource::Managed) {
        let before = previous.layers.iter().find(|old| old.source == layer.source && old.path == layer.path);
        for key in KEYS {
            let changed = before.and_then(|old| old.raw.get(key)) != layer.raw.get(key);
            if changed && author == ChangeAuthor::User {
                continue;
            }
            waits |= changed;
            match before.and_then(|old| old.effective.get(key)) {
                Some(value) => drop(layer.effective.insert(key.into(), value.clone())),
                None => drop(layer.effective.remove(key)),
            }
        }
    }
    if author == ChangeAuthor::Session {
        // A file that vanished takes no hooks with it.
        let has_hooks =
            |layer: &&SettingsLayer| layer.source != SettingsSource::Managed && layer.effective.contains_key("hooks");
        for old in previous.layers.iter().filter(has_hooks) {
            if !layers.iter().any(|layer| layer.source == old.source && layer.path == old.path) {
                let mut kept = old.clone();
                kept.effective.retain(|key, _| key == "hooks");
                layers.push(kept);
                waits = true;
            }
        }
    }
    if waits {
        now.pending.push("hooks".into());
    }
    if author == ChangeAuthor::Session {
        let settings = Arc::make_mut(&mut now.settings);
        settings.hooks.clone_from(&previous.settings.hooks);
        settings.disable_all_hooks = previous.settings.disable_all_hooks;
    }
    now
}

/// The user or the administrator wants no code of untrusted folders.
fn refuses(layers: &[SettingsLayer]) -> bool {
    layers.iter().any(|layer| layer.valid.get("refuseUntrustedProjectCode") == Some(&Value::Bool(true)))
}

/// The administrator's directory on this platform.
pub fn managed_dir() -> PathBuf {
    if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/ClaudeCode")
    } else {
        PathBuf::from("/etc/claude-code")
    }
}

/// A policy that an ordinary user can write is not a policy. With a `chosen` directory the owner does not matter.
pub(crate) fn is_administrators_own(path: &Path, chosen: bool) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = std::fs::metadata(path) else { return false };
    (chosen || meta.uid() == 0) && meta.mode() & 0o022 == 0
}

struct LayerReader<'a> {
    cwd: &'a Path,
    env: &'a Env,
    selection: &'a SettingsSelection,
    layers: Vec<SettingsLayer>,
    diagnostics: Vec<Diagnostic>,
    /// Every place that was looked at, there or not.
    seen: Vec<PathBuf>,
}

impl LayerReader<'_> {
    fn managed(&mut self) -> Result<(), ConfigError> {
        let dir = self.selection.managed_dir.clone().unwrap_or_else(managed_dir);
        let mut files = vec![dir.join("managed-settings.json")];
        let more = dir.join("managed-settings.d");
        files.extend(drop_ins(&more));
        self.seen.push(more);
        // Later files win, and layers are listed highest first.
        for path in files.into_iter().rev() {
            if self.spoofable(&path) {
                let origin = origin(SettingsSource::Managed, &path, self.cwd);
                let message = "is ignored: only an administrator may be able to write it";
                self.diagnostics.push(origin.diagnostic(message));
                continue;
            }
            self.file(SettingsSource::Managed, &path, self.cwd);
        }
        self.policy_helper().map_err(ConfigError::PolicyHelper)
    }

    /// Called while only managed layers are there.
    fn policy_helper(&mut self) -> Result<(), String> {
        let Some(helper) = PolicyHelper::of(&self.layers)? else { return Ok(()) };
        if self.spoofable(&helper.path) {
            return Err(format!("others than the administrator can write {}", helper.path.display()));
        }
        let Some(policy) = helper.run(self.env)? else { return Ok(()) };
        self.layers.clear();
        let origin = origin(SettingsSource::Managed, &helper.path, self.cwd);
        self.layers.push(SettingsLayer::decode(origin, policy, &mut self.diagnostics));
        Ok(())
    }

    fn spoofable(&self, path: &Path) -> bool {
        path.exists() && !is_administrators_own(path, self.selection.managed_dir.is_some())
    }

    fn flag(&mut self) -> Result<(), ConfigError> {
        let Some(given) = self.selection.settings.as_deref() else { return Ok(()) };
        let text = given.trim();
        if text.starts_with('{') {
            let raw = parse_object(text).map_err(|(_, problem)| ConfigError::SettingsInvalid(problem))?;
            let origin = LayerOrigin { source: SettingsSource::Flag, path: None, root: self.cwd.to_path_buf() };
            self.layers.push(SettingsLayer::decode(origin, raw, &mut self.diagnostics));
            return Ok(());
        }
        let path = self.cwd.join(text);
        let shown = path.display();
        let invalid = |problem: String| ConfigError::SettingsInvalid(format!("{shown} {problem}"));
        self.seen.push(path.clone());
        let text = read_text(&path).map_err(|failure| match failure {
            ReadFailure::Missing => ConfigError::SettingsNotFound(shown.to_string()),
            ReadFailure::Unusable(problem) => invalid(problem),
        })?;
        let raw = parse_object(&text).map_err(|(_, problem)| invalid(problem))?;
        let root = path.parent().unwrap_or(self.cwd).to_path_buf();
        let origin = LayerOrigin { source: SettingsSource::Flag, path: Some(path), root };
        self.layers.push(SettingsLayer::decode(origin, raw, &mut self.diagnostics));
        Ok(())
    }

    /// At the repository root, and, as older versions did, in the starting directory.
    fn local(&mut self) {
        if !self.selection.reads(SettingsSource::Local) {
            return;
        }
        for path in settings_files::local_files(self.cwd, self.env) {
            self.file(SettingsSource::Local, &path, self.cwd);
        }
    }

    fn project(&mut self) {
        let path = self.cwd.join(".claude/settings.json");
        // In the home directory this is the user's own file, whatever its path is spelled like.
        let is_same = |home: PathBuf| sys::real_path::path(&home.join("settings.json")) == sys::real_path::path(&path);
        let is_user_file = config_home(self.env).is_some_and(is_same);
        if self.selection.reads(SettingsSource::Project) && !is_user_file {
            self.file(SettingsSource::Project, &path, self.cwd);
        }
    }

    fn user(&mut self) {
        if let Some(home) = config_home(self.env).filter(|_| self.selection.reads(SettingsSource::User)) {
            self.file(SettingsSource::User, &home.join("settings.json"), &home);
        }
    }

    fn file(&mut self, source: SettingsSource, path: &Path, root: &Path) {
        let origin = origin(source, path, root);
        self.seen.push(path.to_path_buf());
        let text = match read_text(path) {
            Ok(text) => text,
            Err(ReadFailure::Missing) => return,
            Err(ReadFailure::Unusable(problem)) => {
                self.diagnostics.push(origin.diagnostic(format!("{problem}; the file is ignored")));
                return;
            }
        };
        match parse_object(&text) {
            Ok(raw) => self.layers.push(SettingsLayer::decode(origin, raw, &mut self.diagnostics)),
            Err((line, problem)) => {
                let message = format!("{problem}; the file is ignored");
                self.diagnostics.push(Diagnostic { line, ..origin.diagnostic(message) });
            }
        }
    }
}

fn origin(source: SettingsSource, path: &Path, root: &Path) -> LayerOrigin {
    LayerOrigin { source, path: Some(path.to_path_buf()), root: root.to_path_buf() }
}

fn drop_ins(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let json = |path: &PathBuf| {
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(json).collect();
    files.sort();
    files
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
