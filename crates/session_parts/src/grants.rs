//! Applies the permissions a host grants or revokes while a session runs. Each change applies to the next decision; a
//! change meant for a settings file is also saved there. Nothing here widens what an administrator or a launch flag
//! has closed: bypass mode needs its launch flag, managed-only sessions accept no allow rules, and a rule that looks
//! like it contains a credential is kept for the session but never saved.

use wire::mode::PermissionMode;

/// Whether a host may choose bypass mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassAvailability {
    Available,
    Closed,
}

/// Who chose the mode of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeOwner {
    Session,
    /// The definition of an agent.
    Definition,
}

/// The mode a host asked for, or why it is refused.
pub fn wanted_mode(text: &str, bypass: BypassAvailability) -> Result<PermissionMode, String> {
    match PermissionMode::parse(text) {
        None => Err(format!("Unknown permission mode: {text}. Known modes: {}", PermissionMode::NAMES.join(", "))),
        Some(PermissionMode::Auto) => Err("Permission mode auto is not available: there is no classifier".into()),
        Some(PermissionMode::BypassPermissions) if bypass == BypassAvailability::Closed => {
            Err("Permission mode bypassPermissions is not available: the session was not started with \
             --dangerously-skip-permissions or --allow-dangerously-skip-permissions"
                .into())
        }
        Some(mode) => Ok(mode),
    }
}
