//! Loads what is declared for one directory: reads the layers, determines trust, merges.

use crate::activation::ActivationKind;
use crate::layer::{Diagnostic, LayerOrigin, ReadFailure, SettingsLayer, parse_object, read_text};
use crate::managed::is_administrators_own;
use crate::ownership::WaitingEntry;
use crate::policy::PolicyHelper;
use crate::stamp::PathStamps;
use crate::state::{GlobalState, config_home, state_file};
use crate::trust::{FolderTrust, TrustInputs};
use crate::{merge, settings_files};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

pub use crate::managed::managed_dir;
pub use crate::project_config::{KeyHelper, ProjectConfig};
pub use crate::selection::{SettingsSelection, TrustChoice};

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

/// Who may have changed a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAuthor {
    /// The session ran nothing meanwhile.
    User,
    /// A tool call or a background task may have changed it.
    Session,
}

pub struct ConfigLoader;

impl ConfigLoader {
    /// Reads settings only; instruction files and credentials are loaded separately.
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

    /// Reads the settings again when a file changed since `previous`, else returns `None`. Costs a stat per file.
    /// Values that refuse something apply at once; the session itself may have written grants, so they wait in
    /// `pending`.
    pub fn refresh(
        previous: &ProjectConfig,
        cwd: &Path,
        env: &Env,
        selection: &SettingsSelection,
    ) -> Option<Result<ProjectConfig, ConfigError>> {
        Self::refresh_by(previous, (cwd, env, selection), ChangeAuthor::Session)
    }

    /// Like `refresh`, when the author of the change is known: the user's changes of hooks apply at once.
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
    /// Reads the settings again after the host replaced the command-line layer: what that layer grants applies. Other
    /// layers may not grant more than `previous` did.
    pub fn reopen(
        previous: &ProjectConfig,
        (cwd, env, selection): (&Path, &Env, &SettingsSelection),
    ) -> Result<ProjectConfig, ConfigError> {
        let now = Self::open(cwd, env, selection)?;
        let of_host = |rule: &&RuleText| rule.source == SettingsSource::Flag && rule.behaviour == RuleBehaviour::Allow;
        let granted: Vec<RuleText> = now.rules.iter().filter(of_host).cloned().collect();
        // Rules of the old command-line layer no longer apply.
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
    // New entries that would grant something and wait for the user. Hooks are reported together.
    let known = |waiting: &&WaitingEntry| previous.waiting.iter().any(|old| old.item.mark == waiting.item.mark);
    let grants = |waiting: &&WaitingEntry| !matches!(waiting.item.kind, ActivationKind::Hook | ActivationKind::Other);
    let new = now.waiting.iter().filter(|waiting| !known(waiting) && grants(waiting));
    pending.extend(new.map(|waiting| waiting.item.label()));
    now.pending = pending;
    now
}

/// Holds hooks that the session may have added or removed. A file with unchanged hooks keeps its earlier state.
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
        // Hooks of a deleted file are kept.
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

/// True when the user or the administrator forbids code of untrusted folders.
fn refuses(layers: &[SettingsLayer]) -> bool {
    layers.iter().any(|layer| layer.valid.get("refuseUntrustedProjectCode") == Some(&Value::Bool(true)))
}

struct LayerReader<'a> {
    cwd: &'a Path,
    env: &'a Env,
    selection: &'a SettingsSelection,
    layers: Vec<SettingsLayer>,
    diagnostics: Vec<Diagnostic>,
    /// Every path that was checked, existing or not.
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

    /// Must be called while there are only managed layers.
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

    /// Reads the file at the repository root and, as older versions did, the one in the starting directory.
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
        // In the home directory this path is the user's own file, however it is spelled.
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
