//! The parts of a session that phases act on. A phase names the parts it needs.

use crate::agents::AgentSpawner;
use crate::repeats::RepeatWatch;
use crate::session::changed_files::{ChangeCauses, ChangeWatch};
use crate::session::checks::TurnChecks;
use crate::session::prompt_marks::PromptMarks;
use crate::session::recall::RecallAccess;
use crate::session::reminders::ListReminder;
use crate::tool_facts::tool_facts;
use crate::view::SessionView;
use permission::Policy;
use session_parts::checkpoints::CheckpointScope;
use session_parts::grants::{BypassAvailability, ModeOwner};
use session_parts::hooks::SessionHooks;
use session_parts::host::{HostFlags, HostSender, InitFacts};
use session_parts::ledger::Ledger;
use session_parts::mcp::McpToolset;
use session_parts::permission_prompt::PermissionChannel;
use session_parts::plan::PlanState;
use session_parts::provider::ProviderConnection;
use session_parts::published_rules::{PublishedRules, RulesView};
use session_parts::settings_watch::SettingsWatch;
use session_parts::side_requests::SideClient;
use session_parts::skills::SessionSkills;
use session_parts::skills::invoke::SkillInvocation;
use session_parts::structured::StructuredOutput;
use session_parts::transcript_writer::TranscriptWriter;
use session_parts::worktree::{ActiveWorktree, WorktreeGuard};
use std::sync::Arc;
use store::live_sessions::LiveRecord;
use sys::Env;
use tokio::sync::watch;
use tools::state::ToolState;
use tools::{ToolFacts, ToolRegistry, Workspace};
use wire::mode::PermissionMode;
use wire::sdk::PermissionDenial;

/// Everything a phase needs to act.
pub(crate) struct SessionIo {
    pub env: Env,
    pub output: SessionOutput,
    pub rules: SessionRules,
    pub tooling: SessionTooling,
    pub knowledge: SessionKnowledge,
    pub provider: SessionProvider,
    pub hooks: SessionHooks,
}

/// Where the session writes: the host, the transcript, the totals.
pub(crate) struct SessionOutput {
    pub host: HostSender,
    pub transcript: TranscriptWriter,
    pub checkpoints: CheckpointScope,
    pub ledger: Ledger,
    /// The record of this process for other processes; `None` for agents.
    pub live_record: Option<Arc<LiveRecord>>,
    pub flags: HostFlags,
    pub facts: InitFacts,
    /// Result messages sent so far.
    pub results: u64,
}

/// What calls are allowed to do.
pub(crate) struct SessionRules {
    policy: Arc<Policy>,
    mode: PermissionMode,
    published: PublishedRules,
    pub watch: SettingsWatch,
    /// The mode the host chose with `set_permission_mode`.
    pub chosen_mode: watch::Receiver<Option<PermissionMode>>,
    pub bypass: BypassAvailability,
    pub mode_owner: ModeOwner,
    /// How many of the session's grants have been applied here.
    pub grants_seen: usize,
    pub permission_channel: PermissionChannel,
    /// Calls that were denied in this turn.
    pub denials: Vec<PermissionDenial>,
}

impl SessionTooling {
    /// The facts of a tool, by its current or an older name.
    pub(crate) fn facts(&self, name: &str) -> ToolFacts {
        self.registry.find(name).map_or_else(|| tool_facts(name), |tool| tool.spec().facts)
    }
}

/// The parameters of `SessionRules::new`.
pub(crate) struct RulesParts {
    pub policy: Arc<Policy>,
    pub mode: PermissionMode,
    pub watch: SettingsWatch,
    pub chosen_mode: watch::Receiver<Option<PermissionMode>>,
    pub bypass: BypassAvailability,
    pub mode_owner: ModeOwner,
    pub grants_seen: usize,
    pub permission_channel: PermissionChannel,
}

impl SessionRules {
    pub(crate) fn new(parts: RulesParts) -> Self {
        let RulesParts { policy, mode, watch, chosen_mode, bypass, mode_owner, grants_seen, permission_channel } =
            parts;
        let (published, denials) = (PublishedRules::default(), Vec::new());
        let rules = Self {
            policy,
            mode,
            published,
            watch,
            chosen_mode,
            bypass,
            mode_owner,
            grants_seen,
            permission_channel,
            denials,
        };
        rules.publish();
        rules
    }

    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.mode
    }

    pub(crate) fn set_policy(&mut self, policy: Policy) {
        self.policy = Arc::new(policy);
        self.publish();
    }

    pub(crate) fn set_mode(&mut self, mode: PermissionMode) {
        self.mode = mode;
        self.publish();
    }

    /// The rules as requests of the host see them. They follow every change, also while a phase runs.
    pub(crate) fn published(&self) -> PublishedRules {
        Arc::clone(&self.published)
    }

    /// Shows the rules to the host's requests after the settings changed.
    pub(crate) fn publish(&self) {
        *self.published.write() = RulesView {
            mode: self.mode.as_str(),
            policy: Some(Arc::clone(&self.policy)),
            rules: self.watch.rules(),
            directories: self.watch.additional(),
            managed_only: self.watch.loaded.managed_rules_only,
        };
    }
}

/// What calls run with and where.
pub(crate) struct SessionTooling {
    pub registry: Arc<ToolRegistry>,
    pub state: Arc<ToolState>,
    pub directories: Workspace,
    pub structured: Option<Arc<StructuredOutput>>,
    /// Maximum number of shared calls that run at once.
    pub concurrency: usize,
    /// Starts agents for this session.
    pub spawner: Arc<AgentSpawner>,
    /// Confines an agent to its worktree.
    pub worktree_guard: Option<Arc<WorktreeGuard>>,
    /// The worktree this session works in.
    pub active_worktree: Option<Arc<ActiveWorktree>>,
    pub recall: RecallAccess,
    /// The state of the session for the calls of this batch; `None` when none of them reads it.
    pub view: Option<Arc<SessionView>>,
}

/// What is sent to the model besides the conversation.
pub(crate) struct SessionKnowledge {
    pub skills: SessionSkills,
    pub mcp: McpToolset,
    pub plan: PlanState,
    /// What belongs to earlier prompts of this process.
    pub marks: PromptMarks,
    /// Notices for the next request.
    pub pending_notices: Vec<String>,
    /// Skills that calls of this batch loaded.
    pub loaded_skills: Vec<SkillInvocation>,
    /// What this turn did, as far as the model is told about it.
    pub repeats: RepeatWatch,
    pub checks: TurnChecks,
    pub lists: ListReminder,
    /// The person reads the next summary before it is used.
    pub reviews_next_summary: bool,
    /// What may have changed files since the last request.
    pub causes: ChangeCauses,
    pub changes: ChangeWatch,
}

/// The connections to models.
pub(crate) struct SessionProvider {
    pub connection: ProviderConnection,
    /// For requests beside the conversation.
    pub side: Arc<SideClient>,
}
