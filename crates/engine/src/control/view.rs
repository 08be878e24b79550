//! The state of the session as last published: requests are answered from it while phases own the session's parts.

use model::CacheTtl;
use session_parts::context::usage::ContextUsage;
use session_parts::published_rules::PublishedRules;
use wire::control::{AgentInfo, InitializeRequest, SlashCommand};
use wire::entry::WorktreeSession;
use wire::usage::Usage;

#[derive(Default)]
pub(crate) struct ControlView {
    pub commands: Vec<SlashCommand>,
    pub agents: Vec<AgentInfo>,
    pub output_style: String,
    pub output_styles: Vec<String>,
    /// Mode and rules; the session writes them through.
    pub rules: PublishedRules,
    pub model: String,
    pub effort: Option<&'static str>,
    /// Hooks of the definition the session runs as, and of invoked skills.
    pub own_hooks: Vec<hooks::HookLayer>,
    pub usage: ContextUsage,
    /// The usage reported by the provider for the last response since the conversation began or was compacted.
    pub last_usage: Option<Usage>,
    /// When that response arrived, in milliseconds since the epoch.
    pub last_at_ms: u64,
    /// How long the provider caches the conversation; `None` when caching is off.
    pub cache_ttl: Option<CacheTtl>,
    /// The name a person gave to the session.
    pub name: Option<String>,
    /// The colour of its prompt, by name.
    pub colour: Option<String>,
    pub prompt_id: Option<String>,
    /// The agent definition the main thread runs as.
    pub agent: Option<String>,
    pub worktree: Option<WorktreeSession>,
    pub thinks: bool,
    /// Milliseconds spent waiting for the model, in all finished turns.
    pub api_ms: u64,
    /// `perTaskStopAffordance` of the first `initialize`.
    pub keeps_agents_on_interrupt: bool,
    /// `supportedDialogKinds` of the first `initialize`.
    pub dialogs: Vec<String>,
    /// A host has sent `initialize`.
    pub is_initialized: bool,
}

impl ControlView {
    /// Takes over what the first `initialize` says about the host's abilities.
    pub(crate) fn apply_initialize(&mut self, request: &InitializeRequest) {
        self.keeps_agents_on_interrupt = request.per_task_stop_affordance == Some(true);
        self.dialogs = request.supported_dialog_kinds.clone().unwrap_or_default();
    }
}
