//! What a host wants changed in the session. Noted at once, carried out by the session between two phases: the next
//! request to the model already follows it.

use serde_json::{Map, Value};
use std::path::PathBuf;
use wire::control::Change;

#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// The main model; `Reset` is the session's default.
    pub model: Change<String>,
    /// 0 is off.
    pub thinking_tokens: Change<u32>,
    pub thinking_display: Change<String>,
    pub effort: Change<String>,
    /// The definition the main thread runs as.
    pub agent: Change<String>,
    /// The flag layer as it is from now on.
    pub flag_settings: Option<Map<String, Value>>,
    /// The mode may be another one.
    pub mode: bool,
    /// Rules, modes and directories, in order.
    pub updates: Vec<wire::control::PermissionUpdate>,
    /// Agent definitions of a later `initialize`.
    pub agents: Option<Vec<config::agents::Definition>>,
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
    pub notice: Option<wire::control::Notify>,
}

impl Wishes {
    pub(crate) fn is_empty(&self) -> bool {
        self.model == Change::Keep
            && self.thinking_tokens == Change::Keep
            && self.thinking_display == Change::Keep
            && self.effort == Change::Keep
            && self.agent == Change::Keep
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
pub(super) fn wished(value: &Value) -> Change<String> {
    value.as_str().filter(|name| *name != "default").map_or(Change::Reset, |name| Change::Set(name.to_owned()))
}
