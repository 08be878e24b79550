//! Puts a session together. A start, an agent and a move to another directory (`/cd`) find out different things in
//! different ways; what a new session is made of, and how it begins, is the same for all of them and is decided here.

use super::{RulesParts, SessionIo, SessionKnowledge, SessionOutput, SessionProvider, SessionRules, SessionTooling};
use crate::agents::AgentSpawner;
use crate::repeats::RepeatWatch;
use crate::session::changed_files::{ChangeCauses, ChangeWatch};
use crate::session::checks::TurnChecks;
use crate::session::prompt_marks::PromptMarks;
use crate::session::recall::RecallAccess;
use crate::session::reminders::ListReminder;
use config::MemoryFile;
use model::{Fragment, ModelCatalog};
use session_parts::checkpoints::CheckpointScope;
use session_parts::compaction_policy::CompactionPolicy;
use session_parts::context::{ContextParts, ModelChain, ModelContext, Reminders, RequestSettings, TurnLimits};
use session_parts::hooks::SessionHooks;
use session_parts::host::{HostFlags, HostSender, InitFacts};
use session_parts::ledger::Ledger;
use session_parts::mcp::McpToolset;
use session_parts::plan::PlanState;
use session_parts::project_facts::{ProjectFacts, ToldFacts};
use session_parts::resume::RestoredConversation;
use session_parts::skills::SessionSkills;
use session_parts::structured::StructuredOutput;
use session_parts::transcript_writer::TranscriptWriter;
use session_parts::worktree::{ActiveWorktree, WorktreeGuard};
use std::path::PathBuf;
use std::sync::Arc;
use store::live_sessions::LiveRecord;
use sys::Env;
use tools::state::ToolState;
use tools::{ToolRegistry, Workspace};

/// Everything that is known about a new session.
pub(crate) struct NewSession {
    pub env: Env,
    pub output: OutputParts,
    pub rules: RulesParts,
    pub tooling: ToolingParts,
    pub knowledge: KnowledgeParts,
    pub provider: SessionProvider,
    pub hooks: SessionHooks,
    pub context: ContextSource,
}

/// Where the session writes.
pub(crate) struct OutputParts {
    pub host: HostSender,
    pub transcript: TranscriptWriter,
    pub checkpoints: CheckpointScope,
    pub ledger: Ledger,
    /// `None` for agents.
    pub live_record: Option<Arc<LiveRecord>>,
    pub flags: HostFlags,
    pub facts: InitFacts,
}

/// What its calls run with and where.
pub(crate) struct ToolingParts {
    pub registry: Arc<ToolRegistry>,
    pub state: Arc<ToolState>,
    pub directories: Workspace,
    pub structured: Option<Arc<StructuredOutput>>,
    pub concurrency: usize,
    pub spawner: Arc<AgentSpawner>,
    pub worktree_guard: Option<Arc<WorktreeGuard>>,
    pub active_worktree: Option<Arc<ActiveWorktree>>,
    pub recall: RecallAccess,
}

/// What it sends to the model besides the conversation.
pub(crate) struct KnowledgeParts {
    pub skills: SessionSkills,
    pub mcp: McpToolset,
    pub plan: PlanState,
}

/// What its requests begin with.
pub(crate) enum ContextSource {
    /// A new or restored conversation with the tools of the session.
    Conversation(Box<ConversationParts>),
    /// What another session has sent, down to its tools.
    Fork(Box<ContextParts>),
}

/// A new or restored conversation.
pub(crate) struct ConversationParts {
    pub catalog: Arc<ModelCatalog>,
    /// `None` for a new conversation.
    pub restored: Option<RestoredConversation>,
    pub compaction: CompactionPolicy,
    pub models: ModelChain,
    pub settings: RequestSettings,
    pub system: Vec<Fragment>,
    /// Instruction files, which are sent once.
    pub files: Vec<MemoryFile>,
    /// The folder of notes; `None` when the session keeps none.
    pub notes: Option<PathBuf>,
    /// Facts about the project; `None` when they are not sent.
    pub facts: Option<Arc<ProjectFacts>>,
    pub limits: TurnLimits,
}

impl NewSession {
    /// The parts of the session. It has sent nothing and counted nothing yet.
    pub(crate) fn build(self) -> (SessionIo, ModelContext) {
        let Self { env, output, rules, tooling, knowledge, provider, hooks, context } = self;
        let context = match context {
            ContextSource::Conversation(conversation) => conversation.context(&tooling.registry),
            ContextSource::Fork(parts) => ModelContext::new(*parts),
        };
        let io = SessionIo {
            env,
            output: output.build(),
            rules: SessionRules::new(rules),
            tooling: tooling.build(),
            knowledge: knowledge.build(),
            provider,
            hooks,
        };
        (io, context)
    }
}

impl OutputParts {
    fn build(self) -> SessionOutput {
        let Self { host, transcript, checkpoints, ledger, live_record, flags, facts } = self;
        SessionOutput { host, transcript, checkpoints, ledger, live_record, flags, facts, results: 0 }
    }
}

impl ToolingParts {
    fn build(self) -> SessionTooling {
        let Self {
            registry,
            state,
            directories,
            structured,
            concurrency,
            spawner,
            worktree_guard,
            active_worktree,
            recall,
        } = self;
        SessionTooling {
            registry,
            state,
            directories,
            structured,
            concurrency,
            spawner,
            worktree_guard,
            active_worktree,
            recall,
            view: None,
        }
    }
}

impl KnowledgeParts {
    fn build(self) -> SessionKnowledge {
        let Self { skills, mcp, plan } = self;
        SessionKnowledge {
            skills,
            mcp,
            plan,
            marks: PromptMarks::default(),
            pending_notices: Vec::new(),
            loaded_skills: Vec::new(),
            repeats: RepeatWatch::default(),
            checks: TurnChecks::default(),
            lists: ListReminder::default(),
            reviews_next_summary: false,
            causes: ChangeCauses::default(),
            changes: ChangeWatch::default(),
        }
    }
}

impl ConversationParts {
    fn context(self, registry: &ToolRegistry) -> ModelContext {
        let Self { catalog, restored, compaction, models, settings, system, files, notes, facts, limits } = self;
        let restored = restored.unwrap_or_default();
        let RestoredConversation {
            history, sent_date, is_context_sent, last_prompt: resumed, carried, refused, ..
        } = restored;
        let facts = if is_context_sent { ToldFacts::all_of(facts) } else { ToldFacts::nothing_of(facts) };
        ModelContext::new(ContextParts {
            catalog,
            history: history.into(),
            compaction,
            carried,
            refused,
            models,
            settings,
            tools: registry.tool_fragments().into_iter().map(Fragment::new).collect(),
            system,
            reminders: Reminders { files, sent_date, is_context_sent, notes, facts },
            limits,
            resumed,
        })
    }
}
