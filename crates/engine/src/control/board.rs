//! What the session last said about itself: requests are answered from it while phases own the real things.

use permission::Policy;
use std::sync::Arc;
use wire::control::{AgentInfo, SlashCommand};

#[derive(Default)]
pub(crate) struct Board {
    pub commands: Vec<SlashCommand>,
    pub agents: Vec<AgentInfo>,
    pub output_style: String,
    pub output_styles: Vec<String>,
    pub mode: &'static str,
    pub model: String,
    pub policy: Option<Arc<Policy>>,
    /// `perTaskStopAffordance` of the first `initialize`.
    pub spares_agents: bool,
    /// `supportedDialogKinds` of the first `initialize`.
    pub dialogs: Vec<String>,
    /// A host introduced itself.
    pub greeted: bool,
}
