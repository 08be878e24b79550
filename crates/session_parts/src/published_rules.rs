//! The rules of a session as requests of its host see them while phases own the session's parts.

use permission::Policy;
use std::path::PathBuf;
use std::sync::Arc;
use sys::sync::RwLock;
use wire::settings::RuleText;

/// Shared by the session, which writes it, and the requests of its host.
pub type PublishedRules = Arc<RwLock<RulesView>>;

#[derive(Clone, Default)]
pub struct RulesView {
    pub mode: &'static str,
    /// `None` before the session is built.
    pub policy: Option<Arc<Policy>>,
    /// All active rules.
    pub rules: Vec<RuleText>,
    /// Working directories in addition to the starting one.
    pub directories: Vec<PathBuf>,
    /// Only rules of managed settings count.
    pub managed_only: bool,
}
