//! What a conversation with the model is made from: settings of its requests, reminders, limits, and the parameters of a
//! new, a fresh and a forked one.

use super::ModelChain;
use crate::cache_watch::ResumedPrompt;
use crate::carried::CarriedRecord;
use crate::compaction_policy::CompactionPolicy;
use crate::history::History;
use crate::project_facts::ToldFacts;
use model::request::ThinkingChoice;
use model::{CacheTtl, EffortLevel, Fragment, Message, ModelCatalog, RequestIdentity};
use std::collections::BTreeSet;
use std::sync::Arc;
use sys::Env;

/// Request settings that the user chose.
#[derive(Clone)]
pub struct RequestSettings {
    pub env: Env,
    pub effort: Option<String>,
    /// The effort the session started with.
    pub default_effort: Option<String>,
    /// Used when nobody chose a level, instead of the model's default; `None` outside a terminal.
    pub usual_effort: Option<EffortLevel>,
    pub thinking: ThinkingChoice,
    /// The thinking mode the session started with.
    pub default_thinking: ThinkingChoice,
    pub thinking_display: Option<String>,
    pub task_budget: Option<u64>,
    pub betas: Vec<String>,
    pub identity: Arc<RequestIdentity>,
    pub user_id: Option<String>,
    /// The account includes the long life of the prompt cache.
    pub included_hour: bool,
    /// `cacheTtl`
    pub cache_life: Option<CacheLifeChoice>,
}

/// How long the conversation is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLifeChoice {
    Fixed(CacheTtl),
    /// By the pauses of the last hour.
    Auto,
}

impl CacheLifeChoice {
    /// Reads the setting `cacheTtl`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "5m" => Self::Fixed(CacheTtl::FiveMinutes),
            "1h" => Self::Fixed(CacheTtl::Hour),
            "auto" => Self::Auto,
            _ => return None,
        })
    }
}

/// What the session sends beside the conversation, and when it was last sent.
pub struct Reminders {
    pub files: Vec<config::MemoryFile>,
    /// The date that was last sent; `None` before anything was sent.
    pub sent_date: Option<String>,
    /// True when the date and the instruction files have been sent, also by the conversation that was resumed.
    pub is_context_sent: bool,
    /// The folder for notes to later sessions; `None` when there are no notes.
    pub notes: Option<std::path::PathBuf>,
    /// What was told of the facts about the project.
    pub facts: ToldFacts,
}

/// The parameters of `ModelContext::new`.
pub struct ContextParts {
    pub catalog: Arc<ModelCatalog>,
    pub history: History,
    pub compaction: CompactionPolicy,
    /// What the last compaction of the conversation carried on.
    pub carried: CarriedRecord,
    /// Ids of the calls that the person refused.
    pub refused: BTreeSet<String>,
    pub models: ModelChain,
    pub settings: RequestSettings,
    pub tools: Vec<Fragment>,
    pub system: Vec<Fragment>,
    pub reminders: Reminders,
    pub limits: TurnLimits,
    /// The last request of the conversation that is resumed.
    pub resumed: Option<ResumedPrompt>,
}

/// The parameters of a conversation that starts in a running process.
pub struct FreshContext {
    pub identity: Arc<RequestIdentity>,
    pub files: Vec<config::MemoryFile>,
    /// `None` keeps the system prompt.
    pub system: Option<Vec<Fragment>>,
    pub facts: ToldFacts,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TurnLimits {
    pub max_turns: Option<u32>,
    pub output_retries: u32,
}

/// A conversation as it was at an earlier line.
#[derive(Default)]
pub struct EarlierConversation {
    pub history: History,
    pub sent_date: Option<String>,
    pub is_context_sent: bool,
    pub carried: CarriedRecord,
    pub refused: BTreeSet<String>,
}

/// The conversation of a session at one moment, as it was sent to the model.
pub struct ForkContext {
    pub system: Arc<[Fragment]>,
    pub tools: Arc<[Fragment]>,
    pub turns: Vec<Message>,
    /// The words of the person in them, and what compactions carried on.
    pub carried: CarriedRecord,
    pub sent_date: Option<String>,
}
