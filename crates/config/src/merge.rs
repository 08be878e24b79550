//! Folds layers into one set of settings, highest precedence first, and leaves out what a repository may not decide
//! before it is trusted. Deny and ask rules always apply.

use crate::environment::{Setter, may_set};
use crate::layer::{Diagnostic, Layer};
use crate::project::{Helper, Loaded};
use crate::tracked;
use crate::trust::Trust;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::{Behaviour, RuleText, Settings, Source};

pub(crate) struct Inputs<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a Env,
    /// Highest precedence first.
    pub(crate) layers: Vec<Layer>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) trust: Trust,
}

pub(crate) fn merge(inputs: Inputs<'_>) -> Loaded {
    let Inputs { cwd, env, layers, diagnostics, trust } = inputs;
    let mut fold = Fold {
        cwd,
        home: env.home(),
        settings: Settings::default(),
        rules: Vec::new(),
        directories: Vec::new(),
        mode: Choice::Open,
        bypass_disabled: false,
        helper: None,
        provenance: BTreeMap::new(),
        diagnostics,
        held: Held::default(),
    };
    for layer in &layers {
        fold.layer(layer, setter(layer, &trust));
    }
    let notices = fold.held.notice(&trust.key).into_iter().collect();
    Loaded {
        env: env.with(&fold.settings.env),
        settings: fold.settings,
        rules: fold.rules,
        additional_directories: fold.directories,
        default_mode: match fold.mode {
            Choice::Open | Choice::Void => None,
            Choice::Made(mode) => Some(mode),
        },
        bypass_disabled: fold.bypass_disabled,
        helper: fold.helper,
        layers,
        provenance: fold.provenance,
        diagnostics: fold.diagnostics,
        notices,
        trusted: trust.trusted,
        trust_key: trust.key,
    }
}

/// On whose behalf a layer speaks. A local file counts as the user's own only while it is not repository content.
fn setter(layer: &Layer, trust: &Trust) -> Setter {
    let of_folder = if trust.trusted { Setter::TrustedFolder } else { Setter::UntrustedFolder };
    match layer.source {
        Source::Managed | Source::CommandLine | Source::Flag | Source::Session | Source::User => Setter::User,
        Source::Project => of_folder,
        Source::Local => {
            let path = layer.path.as_deref();
            let shipped = path.is_none_or(|path| tracked::is_repository_content(path, trust.repository.as_deref()));
            if shipped { of_folder } else { Setter::User }
        }
    }
}

/// What waits for trust, for one line to the user.
#[derive(Default)]
struct Held {
    allow: usize,
    directories: usize,
    helper: bool,
    variables: Vec<String>,
    mode: bool,
}

impl Held {
    fn notice(&self, key: &Path) -> Option<String> {
        let mut what = Vec::new();
        if self.allow > 0 {
            what.push(format!("{} permissions.allow rule(s)", self.allow));
        }
        if self.directories > 0 {
            what.push(format!("{} additional director(ies)", self.directories));
        }
        if self.helper {
            what.push("apiKeyHelper".to_owned());
        }
        if self.mode {
            what.push("permissions.defaultMode".to_owned());
        }
        if !self.variables.is_empty() {
            what.push(format!("env {}", self.variables.join(", ")));
        }
        if what.is_empty() {
            return None;
        }
        Some(format!(
            "Warning: this workspace has not been trusted, so these project settings are not used: {}. If you trust it, \
             set projects[{:?}].hasTrustDialogAccepted to true in .claude.json.",
            what.join("; "),
            key.display().to_string()
        ))
    }
}

/// The starting mode, as far as layers have spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Open,
    /// A layer spoke, but its value does not count; lower layers are not asked.
    Void,
    Made(PermissionMode),
}

struct Fold<'a> {
    cwd: &'a Path,
    home: Option<PathBuf>,
    settings: Settings,
    rules: Vec<RuleText>,
    directories: Vec<PathBuf>,
    mode: Choice,
    bypass_disabled: bool,
    helper: Option<Helper>,
    provenance: BTreeMap<&'static str, Source>,
    diagnostics: Vec<Diagnostic>,
    held: Held,
}

impl Fold<'_> {
    fn layer(&mut self, layer: &Layer, setter: Setter) {
        self.scalars(layer);
        self.variables(layer, setter);
        self.helper(layer, setter);
        self.permissions(layer, setter);
        append_unique(&mut self.settings.claude_md_excludes, &layer.settings.claude_md_excludes);
    }

    fn scalars(&mut self, layer: &Layer) {
        let (into, from) = (&mut self.settings, &layer.settings);
        let mut seen = |key, set| {
            if set {
                self.provenance.insert(key, layer.source);
            }
        };
        seen("model", first(&mut into.model, from.model.as_ref()));
        seen("fallbackModel", first(&mut into.fallback_model, from.fallback_model.as_ref()));
        seen("effortLevel", first(&mut into.effort_level, from.effort_level.as_ref()));
        seen("cleanupPeriodDays", first(&mut into.cleanup_period_days, from.cleanup_period_days.as_ref()));
        seen("outputStyle", first(&mut into.output_style, from.output_style.as_ref()));
        seen("includeCoAuthoredBy", first(&mut into.include_co_authored_by, from.include_co_authored_by.as_ref()));
        seen("alwaysThinkingEnabled", first(&mut into.always_thinking_enabled, from.always_thinking_enabled.as_ref()));
        seen("language", first(&mut into.language, from.language.as_ref()));
    }

    fn variables(&mut self, layer: &Layer, setter: Setter) {
        for (name, value) in &layer.settings.env {
            if self.settings.env.contains_key(name) {
                continue;
            }
            if may_set(name, setter) {
                self.settings.env.insert(name.clone(), value.clone());
            } else if may_set(name, Setter::TrustedFolder) {
                self.held.variables.push(name.clone());
            } else {
                self.complain(layer, format!("env.{name} cannot be set here; it is ignored"));
            }
        }
    }

    fn helper(&mut self, layer: &Layer, setter: Setter) {
        let Some(command) = layer.settings.api_key_helper.as_ref().filter(|_| self.helper.is_none()) else { return };
        if setter == Setter::UntrustedFolder {
            self.held.helper = true;
            return;
        }
        self.helper = Some(Helper { command: command.clone(), source: layer.source });
        self.settings.api_key_helper = Some(command.clone());
        self.provenance.insert("apiKeyHelper", layer.source);
    }

    fn permissions(&mut self, layer: &Layer, setter: Setter) {
        let declared = &layer.settings.permissions;
        let into = &mut self.settings.permissions;
        let mut add = |behaviour, texts: &[String], merged: &mut Vec<String>| {
            append_unique(merged, texts);
            self.rules.extend(texts.iter().map(|text| RuleText {
                behaviour,
                source: layer.source,
                text: text.clone(),
                root: layer.root.clone(),
            }));
        };
        add(Behaviour::Deny, &declared.deny, &mut into.deny);
        add(Behaviour::Ask, &declared.ask, &mut into.ask);
        if setter == Setter::UntrustedFolder {
            self.held.allow += declared.allow.len();
            self.held.directories += declared.additional_directories.len();
        } else {
            add(Behaviour::Allow, &declared.allow, &mut into.allow);
            append_unique(&mut into.additional_directories, &declared.additional_directories);
            let dirs = declared.additional_directories.iter().map(|dir| absolute(dir, self.cwd, self.home.as_deref()));
            self.directories.extend(dirs);
        }
        if declared.disable_bypass_permissions_mode.as_deref() == Some("disable") {
            self.bypass_disabled = true;
            into.disable_bypass_permissions_mode = Some("disable".into());
        }
        self.default_mode(layer, setter);
    }

    fn default_mode(&mut self, layer: &Layer, setter: Setter) {
        let Some(text) = layer.settings.permissions.default_mode.as_deref().filter(|_| self.mode == Choice::Open)
        else {
            return;
        };
        let Some(mode) = parse_mode(text) else {
            self.complain(layer, format!("permissions.defaultMode {text:?} is not a mode; it is ignored"));
            return;
        };
        let of_folder = matches!(layer.source, Source::Project | Source::Local);
        let accepted = match mode {
            PermissionMode::Default | PermissionMode::Plan | PermissionMode::DontAsk => true,
            PermissionMode::AcceptEdits => setter != Setter::UntrustedFolder,
            // A file in a repository never selects these by itself.
            PermissionMode::BypassPermissions => setter == Setter::User,
            PermissionMode::Auto => !of_folder,
        };
        if !accepted && setter == Setter::UntrustedFolder {
            self.held.mode = true;
        } else if !accepted {
            self.complain(layer, format!("permissions.defaultMode {text:?} has no effect in a project file"));
        }
        self.mode = if accepted { Choice::Made(mode) } else { Choice::Void };
        if accepted {
            self.provenance.insert("permissions.defaultMode", layer.source);
            self.settings.permissions.default_mode = Some(mode.as_str().to_owned());
        }
    }

    fn complain(&mut self, layer: &Layer, message: String) {
        let (source, path) = (layer.source, layer.path.clone());
        self.diagnostics.push(Diagnostic { source, path, line: None, message });
    }
}

/// `delegate` stands in published schemas without a meaning of its own.
fn parse_mode(text: &str) -> Option<PermissionMode> {
    if text == "delegate" { Some(PermissionMode::Default) } else { PermissionMode::parse(text) }
}

/// Keeps the value of the highest layer; says whether this call set it.
fn first<T: Clone>(into: &mut Option<T>, from: Option<&T>) -> bool {
    let set = into.is_none() && from.is_some();
    if set {
        *into = from.cloned();
    }
    set
}

fn append_unique(into: &mut Vec<String>, from: &[String]) {
    for text in from {
        if !into.contains(text) {
            into.push(text.clone());
        }
    }
}

fn absolute(dir: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (dir.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(dir),
    }
}
