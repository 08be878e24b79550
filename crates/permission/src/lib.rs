//! Given rules, mode and a requested access, decide allow, deny or ask, and say why. No I/O: paths come in resolved.
//!
//! `Policy::needs` names the paths whose real location matters, the caller resolves them into `Facts`, and
//! `Policy::decide` compares both spellings. A path that was not resolved is never allowed by its place.

pub mod access;
pub mod decision;
pub mod destruction;
mod domain;
mod exclusion;
pub mod fuzz;
mod glob;
pub mod lint;
pub mod mask;
mod path;
pub mod policy;
pub mod reads;
pub mod rule;
mod sensitive;
mod shell;
pub mod suggest;

pub use access::Access;
pub use decision::{
    DecisionReason, FileAccess, FilePlace, PermissionDecision, PermissionRefusal, RequestedAction, describe_file,
};
pub use domain::matches as host_matches;
pub use exclusion::is_excluded;
pub use mask::{KnownSecret, Mask, masked_address, masked_arguments, masked_formats, masked_line};
pub use path::normalise;
pub use policy::explain::{DecisionExplanation, ExplainedPart};
pub use policy::names::{FoundNames, NameQuery};
pub use policy::repository::{GitGuard, GuardScope, RepositoryFacts};
pub use policy::{CommandConfinement, PathFacts, PermissionQuery, Policy, SessionDirectories, ShellEnvironment};
pub use rule::{PermissionRule, RuleWarning, ignored_reason};
pub use sensitive::{SECRET_PLACES, SecretPlaces};
pub use sensitive::{is_protected, is_secret};
pub use shell::find::FindName;
pub use suggest::RuleSuggestion;
pub use wire::deceptive::escape_invisible;
