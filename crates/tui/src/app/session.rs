//! What is known about the session that is driven.

use wire::mode::PermissionMode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    pub argument_hint: String,
}

/// A task that goes on beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    pub id: String,
    pub is_agent: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Session {
    pub id: Option<String>,
    pub model: Option<String>,
    pub mode: PermissionMode,
    /// Bypassing was permitted at the start, so it can be chosen.
    pub may_bypass: bool,
    /// The working directory as shown.
    pub place: String,
    /// The working directory as it is.
    pub cwd: String,
    pub commands: Vec<SlashCommand>,
    pub cost_usd: f64,
    /// Tokens of the last request, all kinds.
    pub context_used: u64,
    pub context_window: u64,
    /// Nothing can be asked of the model without them.
    pub needs_credentials: bool,
    /// What runs in the background.
    pub background: Vec<Background>,
}

impl Session {
    /// Part of the context that is still free, once something is known.
    pub fn context_left(&self) -> Option<u64> {
        let window = self.context_window;
        (window > 0 && self.context_used > 0).then(|| 100 - (self.context_used.min(window) * 100 / window))
    }

    /// Shorter inside the working directory.
    pub fn short_path<'a>(&self, path: &'a str) -> &'a str {
        let inside = path.strip_prefix(&self.cwd).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// The mode after this one, in the order people know.
    pub fn next_mode(&self) -> PermissionMode {
        match self.mode {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            PermissionMode::Plan if self.may_bypass => PermissionMode::BypassPermissions,
            PermissionMode::Plan
            | PermissionMode::BypassPermissions
            | PermissionMode::Auto
            | PermissionMode::DontAsk => PermissionMode::Default,
        }
    }
}
