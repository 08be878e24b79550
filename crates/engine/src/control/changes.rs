//! What a host wants changed in the session. Noted at once, carried out by the session between two phases: the next
//! request to the model already follows it.

use serde_json::{Map, Value};
use std::path::PathBuf;
use wire::control::FieldChange;

#[derive(Debug, Default)]
pub(crate) struct SessionChanges {
    /// The main model; `Reset` is the session's default.
    pub model: FieldChange<String>,
    /// 0 is off.
    pub thinking_tokens: FieldChange<u32>,
    pub thinking_display: FieldChange<String>,
    pub effort: FieldChange<String>,
    /// The definition the main thread runs as.
    pub agent: FieldChange<String>,
    /// The flag layer as it is from now on.
    pub flag_settings: Option<Map<String, Value>>,
    /// The mode may be another one.
    pub mode: bool,
    /// Rules, modes and directories, in order.
    pub updates: Vec<wire::control::PermissionUpdate>,
    /// Agent definitions of a later `initialize`.
    pub agents: Option<Vec<config::agents::AgentDefinition>>,
    /// The running set of background tasks is to be told again.
    pub tasks: bool,
    /// Repositories below the session's directories that the host works with.
    pub repositories: Vec<PathBuf>,
    /// Credentials are looked for anew.
    pub credentials: Option<config::credentials::CredentialOptions>,
    /// Questions on the side, with the ids of their requests.
    pub questions: Vec<(String, String)>,
    /// The prompt of the turn that was stopped is taken back.
    pub retract: bool,
    /// Hooks are to hear of it.
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
            && !self.retract
            && self.notice.is_none()
    }
}

/// A value of the flag layer that also changes the running session.
pub(super) fn flag_change(value: &Value) -> FieldChange<String> {
    value
        .as_str()
        .filter(|name| *name != "default")
        .map_or(FieldChange::Reset, |name| FieldChange::Set(name.to_owned()))
}
