//! Settings files. Every key is declared once, in `settings/keys.rs`: its type, its meaning, who may set it, how layers
//! join. Unknown keys are kept aside and reported, never fatal.

mod checks;
mod keys;
mod sandbox;
mod schema;
mod shape;

pub use keys::{AttributionSettings, HOOK_EVENTS, PermissionSettings, Settings, WorktreeSettings};
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

/// Where a setting or a permission rule came from, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SettingsSource {
    /// The administrator's file.
    #[serde(rename = "policySettings")]
    Managed,
    /// `--allowedTools` and its siblings.
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

/// A permission rule as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    pub behaviour: RuleBehaviour,
    pub source: SettingsSource,
    pub text: String,
    /// The directory a leading `/` in a path specifier stands for.
    pub root: PathBuf,
}
