//! Settings files. Every key is declared once, in `settings/keys.rs`: its type, its meaning, which files may set it,
//! how layers are merged. Unknown keys are kept separately and reported; they are not an error.

mod checks;
mod keys;
mod sandbox;
mod schema;
mod shape;

pub use keys::{AttributionSettings, BudgetSettings, HOOK_EVENTS, PermissionSettings, Settings, WorktreeSettings};
pub use sandbox::{SandboxCredentials, SandboxFilesystem, SandboxNetwork, SandboxSettings};
pub use schema::schema;
pub use shape::{
    BrokenValue, HasShape, KeyScope, KeyShape, MergeRule, SettingKey, TextOrOff, TrustGate, ValueCheck, ValueProblem,
};

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a permission rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleBehaviour {
    Allow,
    Ask,
    Deny,
}

impl RuleBehaviour {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The source of a setting or permission rule, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SettingsSource {
    /// The administrator's file.
    #[serde(rename = "policySettings")]
    Managed,
    /// `--allowedTools` and related options.
    #[serde(rename = "cliArg")]
    CommandLine,
    /// `--settings`.
    #[serde(rename = "flagSettings")]
    Flag,
    /// Granted while the session runs.
    #[serde(rename = "session")]
    Session,
    #[serde(rename = "localSettings")]
    Local,
    #[serde(rename = "projectSettings")]
    Project,
    #[serde(rename = "userSettings")]
    User,
}

impl SettingsSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "policySettings",
            Self::CommandLine => "cliArg",
            Self::Flag => "flagSettings",
            Self::Session => "session",
            Self::Local => "localSettings",
            Self::Project => "projectSettings",
            Self::User => "userSettings",
        }
    }
}

/// A permission rule as it is written in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    pub behaviour: RuleBehaviour,
    pub source: SettingsSource,
    pub text: String,
    /// The directory that a leading `/` in a path specifier means.
    pub root: PathBuf,
}
