//! What is declared for one directory, as it was read.

use crate::activation::TrustDifference;
use crate::layer::{Diagnostic, SettingsLayer};
use crate::ownership::{FirstSight, WaitingEntry};
use crate::stamp::PathStamps;
use crate::state::GlobalState;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, Settings, SettingsSource};

/// A configured command that prints a key, and the layer that configured it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHelper {
    pub command: String,
    pub source: SettingsSource,
}

/// Everything declared for a directory, merged, without what may not apply yet.
#[derive(Clone, Debug)]
pub struct ProjectConfig {
    pub settings: Arc<Settings>,
    /// All permission rules of all layers, with their sources.
    pub rules: Vec<RuleText>,
    /// Absolute paths.
    pub additional_directories: Vec<PathBuf>,
    /// `permissions.defaultMode`, after the limits on what a repository may choose.
    pub default_mode: Option<PermissionMode>,
    /// A layer forbids bypass mode.
    pub bypass_disabled: bool,
    /// Only allow rules of the administrator apply; those of the command line do not.
    pub managed_rules_only: bool,
    pub helper: Option<KeyHelper>,
    /// The process environment with the settings' `env` blocks applied.
    pub env: Env,
    /// Highest precedence first. Shared: layers are large, and several owners keep them.
    pub layers: Arc<Vec<SettingsLayer>>,
    /// Which layer decided a key.
    pub provenance: BTreeMap<String, SettingsSource>,
    pub diagnostics: Vec<Diagnostic>,
    /// Lines for standard error.
    pub notices: Vec<String>,
    pub trusted: bool,
    /// The folder under which trust is recorded.
    pub trust_key: PathBuf,
    /// What a trusted folder contains now and was not approved.
    pub trust_changes: Vec<TrustDifference>,
    /// The folder was trusted without a record of its content; `trust::record_first_sight` writes the record.
    pub adopts_trust: bool,
    /// Entries held individually: those of local settings files, and rules and directories added to a trusted folder.
    pub waiting: Vec<WaitingEntry>,
    pub(crate) first_sights: Vec<FirstSight>,
    /// True when hooks, servers and other code of the folder may run.
    pub project_code: bool,
    /// The merged settings as one object.
    pub merged: Arc<Map<String, Value>>,
    /// What was added during the session and waits for the user.
    pub pending: Vec<String>,
    pub(crate) stamps: PathStamps,
    pub(crate) state: Arc<GlobalState>,
}

impl ProjectConfig {
    /// The file and line of a rule.
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

impl ProjectConfig {
    /// Keeps the previous settings, and records the files of `self` as seen, so that the change is not reported again.
    #[must_use]
    pub fn ignore_changes(self, previous: &Self) -> Self {
        Self { stamps: self.stamps, ..previous.clone() }
    }

    /// True when no file changed since these settings were read. Costs a stat per file.
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
