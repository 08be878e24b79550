//! The changes a host requested. They are recorded at once and applied by the session between two phases, before its
//! next request to the model.

use serde_json::{Map, Value};
use std::path::PathBuf;
use wire::control::FieldChange;

#[derive(Debug, Default)]
pub(crate) struct SessionChanges {
    /// The main model; `Reset` restores the session's default.
    pub model: FieldChange<String>,
    /// The thinking budget in tokens; 0 turns thinking off.
    pub thinking_tokens: FieldChange<u32>,
    pub thinking_display: FieldChange<String>,
    pub effort: FieldChange<String>,
    /// The agent definition the main thread runs as.
    pub agent: FieldChange<String>,
    /// The new flag layer of the settings.
    pub flag_settings: Option<Map<String, Value>>,
    /// The host chose a permission mode.
    pub mode: bool,
    /// Rules, modes and directories to change, in order.
    pub updates: Vec<wire::control::PermissionUpdate>,
    /// Agent definitions of a later `initialize`.
    pub agents: Option<Vec<config::agents::AgentDefinition>>,
    /// Send the list of running background tasks again.
    pub tasks: bool,
    /// Repositories below the session's directories that the host works with.
    pub repositories: Vec<PathBuf>,
    /// Load credentials again.
    pub credentials: Option<config::credentials::CredentialOptions>,
    /// Side questions with the ids of their requests.
    pub questions: Vec<(String, String)>,
    /// Requests to go back to a prompt, with their ids.
    pub rewinds: Vec<(String, wire::control::RewindConversation)>,
    /// Remove the prompt of the interrupted turn.
    pub retract: bool,
    /// A notification to run hooks for.
    pub notice: Option<wire::control::NotifyRequest>,
}

impl SessionChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.model == FieldChange::Keep
            && self.thinking_tokens == FieldChange::Keep
            && self.thinking_display == FieldChange::Keep
            && self.effort == FieldChange::Keep
            && self.agent == FieldChange::Keep
            && self.flag_settings.is_none()
            && !self.mode
            && self.updates.is_empty()
            && self.agents.is_none()
            && !self.tasks
            && self.repositories.is_empty()
            && self.credentials.is_none()
            && self.questions.is_empty()
            && self.rewinds.is_empty()
            && !self.retract
            && self.notice.is_none()
    }
}

/// The change of the running session that follows from a value of the flag layer; anything but a name other than
/// `default` is a reset.
pub(super) fn flag_change(value: &Value) -> FieldChange<String> {
    value
        .as_str()
        .filter(|name| *name != "default")
        .map_or(FieldChange::Reset, |name| FieldChange::Set(name.to_owned()))
}
