//! Settings files. Every field is optional; unknown keys are kept aside and reported, never fatal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
