//! What was decided about a call, by whom, and the words the model reads.

use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::SettingsSource;

/// The outcome for one call. An `Ask` in a session without a person to answer is a denial with the same message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    Allow(DecisionReason),
    Ask(PermissionRefusal),
    Deny(PermissionRefusal),
}

/// Why a call does not simply run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRefusal {
    /// Fit for the tool result.
    pub message: String,
    pub reason: DecisionReason,
    /// The path that caused the refusal; `None` when something else did.
    pub path: Option<PathBuf>,
}

/// The rule or layer that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionReason {
    Rule {
        text: String,
        source: SettingsSource,
    },
    Mode(PermissionMode),
    /// Inside, or outside, the working directories.
    WorkingDirectory,
    /// Every part of the command only reads.
    ReadOnlyCommand,
    /// The tool needs no permission.
    Harmless,
    /// A protected path, a credential file or a critical removal.
    SafetyCheck(&'static str),
    /// The command is not fully understood; the text says what stopped the analysis.
    NotUnderstood(&'static str),
    /// A part of the command opens a file that it may not open without a question.
    OpensFile {
        access: FileAccess,
        /// `None`: which file is known only when the command runs.
        path: Option<PathBuf>,
        place: FilePlace,
    },
    /// A part of the command sets a variable that may change what runs.
    SetsVariable(String),
    /// A file it would read is forbidden, or which files it reads is not known.
    Reads(String),
    /// The sandbox confines it.
    Sandboxed,
    /// It asks to leave the sandbox.
    SandboxOverride,
    /// A hook said so, for this reason.
    Hook(String),
    /// Git would read, but this key of the repository's own configuration may run a program and cannot be overridden.
    RepositoryConfiguration(String),
    /// Only the person can answer.
    Interaction,
    /// Nothing allowed it.
    NoRule,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    Reads,
    Writes,
}

/// Where a file is, as far as permission is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    Inside,
    Outside,
    /// A private key or a credential file, wherever it is.
    Secret,
}

impl std::fmt::Display for FileAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        })
    }
}

/// `writes outside the project: /etc/hosts`.
pub fn describe_file(access: FileAccess, path: Option<&Path>, place: FilePlace) -> String {
    let Some(path) = path else { return format!("{access} a file whose name is known only when it runs") };
    let path = path.display();
    match place {
        FilePlace::Inside => format!("{access} a file: {path}"),
        FilePlace::Outside => format!("{access} outside the project: {path}"),
        FilePlace::Secret => format!("{access} a private key or credential file: {path}"),
    }
}

/// What stopped the analysis, for a person who does not know the shell's words for it.
fn unclear_in_words(what: &'static str) -> &'static str {
    match what {
        "it has an expansion" | "a here-document has an expansion" => {
            "the value of a variable is known only when it runs"
        }
        "it has a command substitution" | "it has a process substitution" => {
            "the output of a command in it is known only when it runs"
        }
        "it cannot be parsed" | "it cannot be parsed twice" | "it is incomplete" | "a word cannot be parsed" => {
            "the command cannot be read to its end"
        }
        what => what,
    }
}

impl DecisionReason {
    /// `decision_reason_type` of the protocol.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Rule { .. } | Self::Reads(_) => "rule",
            Self::Mode(_) => "mode",
            Self::WorkingDirectory | Self::OpensFile { place: FilePlace::Outside, .. } => "workingDir",
            Self::SafetyCheck(_) | Self::RepositoryConfiguration(_) => "safetyCheck",
            Self::SandboxOverride => "sandboxOverride",
            Self::Hook(_) => "hook",
            Self::ReadOnlyCommand
            | Self::Harmless
            | Self::Sandboxed
            | Self::OpensFile { .. }
            | Self::SetsVariable(_)
            | Self::NotUnderstood(_)
            | Self::Interaction
            | Self::NoRule => "other",
        }
    }

    /// One sentence for `decision_reason`, prompts and the debug log.
    pub fn describe(&self) -> String {
        match self {
            Self::Rule { text, source } => format!("rule {text} from {}", source.as_str()),
            Self::Mode(mode) => format!("permission mode {}", mode.as_str()),
            Self::WorkingDirectory => "decided by the working directories".into(),
            Self::ReadOnlyCommand => "every part of the command only reads".into(),
            Self::Harmless => "the tool needs no permission".into(),
            Self::SafetyCheck(what) => (*what).into(),
            Self::NotUnderstood(what) => unclear_in_words(what).into(),
            Self::OpensFile { access, path, place } => describe_file(*access, path.as_deref(), *place),
            Self::SetsVariable(name) => format!("sets the variable {name}, which may change what runs"),
            Self::Reads(what) => what.clone(),
            Self::Sandboxed => "the command runs in the sandbox".into(),
            Self::SandboxOverride => "the command asks to run outside the sandbox".into(),
            Self::Hook(reason) if reason.is_empty() => "a hook decided it".into(),
            Self::Hook(reason) => reason.clone(),
            Self::RepositoryConfiguration(key) => {
                format!("git may run a program that the repository's own configuration names: {key}")
            }
            Self::Interaction => "the tool needs an answer of the user".into(),
            Self::NoRule => "no rule allows it".into(),
        }
    }
}

impl PermissionDecision {
    /// `allow`, `ask` or `deny`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(_) => "deny",
        }
    }

    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    pub fn reason(&self) -> &DecisionReason {
        match self {
            Self::Allow(reason) => reason,
            Self::Ask(refusal) | Self::Deny(refusal) => &refusal.reason,
        }
    }

    /// The stricter of two: deny, then ask, then allow; the first one on a tie.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Allow(_) => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

/// What a call wants, as words: `use Bash`, `write to /p/x`.
#[derive(Clone, Copy, Debug)]
pub enum RequestedAction<'a> {
    Use(&'a str),
    Read(&'a Path),
    Write(&'a Path),
}

impl std::fmt::Display for RequestedAction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Use(tool) => write!(f, "use {tool}"),
            Self::Read(path) => write!(f, "read from {}", path.display()),
            Self::Write(path) => write!(f, "write to {}", path.display()),
        }
    }
}

/// The message for a call that needs a person's permission.
pub fn not_granted_message(wish: RequestedAction<'_>) -> String {
    format!("Claude requested permissions to {wish}, but you haven't granted it yet.")
}

/// The sentence for a call refused because the session never asks.
pub fn never_asks_message(wish: RequestedAction<'_>) -> String {
    format!(
        "Permission to {wish} was denied: this session runs in dontAsk mode, so whatever is not allowed beforehand is \
         refused without a question. You may reach the goal in another honest way with the tools that are allowed, but \
         do not try to get around this decision. If nothing else will do, say what you needed and why."
    )
}
