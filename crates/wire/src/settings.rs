//! Settings files. Every field is optional; unknown keys are kept aside and reported, never fatal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Model alias or id for the main conversation.
    pub model: Option<String>,
    /// Models tried in order when the main one is unavailable.
    pub fallback_model: Option<Vec<String>>,
    /// Shell command that prints an API key.
    pub api_key_helper: Option<String>,
    /// Environment variables for the session and its children.
    pub env: BTreeMap<String, String>,
    pub permissions: Permissions,
    /// `low`, `medium`, `high`, `xhigh` or `max`.
    pub effort_level: Option<String>,
    /// Days a transcript is kept.
    pub cleanup_period_days: Option<u32>,
    pub output_style: Option<String>,
    pub include_co_authored_by: Option<bool>,
    /// `false` turns extended thinking off where the model allows it.
    pub always_thinking_enabled: Option<bool>,
    /// Language the model should answer in.
    pub language: Option<String>,
    /// Globs on absolute paths of instruction files to leave out.
    pub claude_md_excludes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub additional_directories: Vec<String>,
    pub default_mode: Option<String>,
    pub disable_bypass_permissions_mode: Option<String>,
}

/// What a permission rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Behaviour {
    Allow,
    Ask,
    Deny,
}

/// Where a setting or a permission rule came from, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Source {
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

impl Source {
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
    pub behaviour: Behaviour,
    pub source: Source,
    pub text: String,
    /// The directory a leading `/` in a path specifier stands for.
    pub root: PathBuf,
}
