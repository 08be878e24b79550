//! Why a session could not be opened.

use std::fmt;

/// What stood in the way, for callers that decide something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFailure {
    /// The working directory cannot be used.
    Directory,
    /// Settings, agents, servers or the output schema are not valid.
    Configuration,
    /// The conversation cannot be found, read or created.
    Conversation,
    /// Settings forbid bypassing permissions.
    BypassDisabled,
    /// Root may not bypass permissions.
    BypassAsRoot,
    /// The worktree of the conversation is not the one it was, or cannot be used.
    Worktree,
    /// No worktree could be created for the session.
    NewWorktree,
    /// The sandbox is required and not available.
    Sandbox,
    /// The first command was no `initialize` request, although one was promised.
    NotInitialized,
    /// Recorded exchanges cannot be read or written.
    Cassette,
    /// A fault of this program.
    Internal,
}

impl StartFailure {
    /// The `startup_failure_reason` of the protocol, which has no name for most failures.
    pub const fn protocol_reason(self) -> Option<&'static str> {
        match self {
            Self::Directory => Some("cwd_unavailable"),
            Self::BypassAsRoot => Some("bypass_root"),
            Self::Worktree => Some("worktree_unverified"),
            Self::NotInitialized => Some("initialize_not_first"),
            Self::Configuration
            | Self::Conversation
            | Self::BypassDisabled
            | Self::NewWorktree
            | Self::Sandbox
            | Self::Cassette
            | Self::Internal => None,
        }
    }
}

/// Why no session could be opened. Displayed as message and hint.
#[derive(Clone, Debug)]
pub struct StartError {
    pub failure: StartFailure,
    /// For the person who started it.
    pub message: String,
    /// What they can do about it; `None` when the message says all.
    pub hint: Option<String>,
}

impl StartError {
    pub fn new(failure: StartFailure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), hint: None }
    }

    /// The cause is shown behind `Error: `.
    pub fn of(failure: StartFailure, cause: impl fmt::Display) -> Self {
        Self::new(failure, format!("Error: {cause}"))
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StartError {}
