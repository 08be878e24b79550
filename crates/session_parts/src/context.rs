//! Everything that is sent to the model: the history, the prompt parts that never change, and settings that may.
//! History is only appended to; repairs are made on a copy for one request.

mod compacting;
mod model_chain;
mod parts;
pub mod usage;

pub use model_chain::{MainModel, ModelChain};
pub use parts::{
    CacheLifeChoice, ContextParts, EarlierConversation, ForkContext, FreshContext, Reminders, RequestSettings,
    TurnLimits,
};

use crate::cache_watch::CacheWatch;
use crate::carried::CarriedRecord;
use crate::compaction_policy::CompactionPolicy;
use crate::compaction_policy::OverflowRelief;
use crate::history::{History, HistoryPart};
use crate::messages::Attachment;
use crate::project_facts::ToldFacts;
use crate::prompts::{self, InstructionText};
use model::repair::{KeepThinking, RepairLimits as BodyLimits, RepairNeeds};
use model::request::{PrefixTokens, ThinkingChoice};
use model::{
    CacheLife, CacheMarks, CacheTtl, Capability, EffortLevel, Fragment, Message, ModelCatalog, ModelFacts,
    ModelRequest, RequestIdentity, Role, ThinkingParameter,
};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;
use usage::ContextUsage;
use wire::control::FieldChange;

pub struct ModelContext {
    catalog: Arc<ModelCatalog>,
    history: History,
    /// Index in the history where the user's latest message begins, including the reminders before it; `None` without
    /// one.
    prompt_at: Option<usize>,
    compaction: CompactionPolicy,
    /// What the compactions of this conversation carry on.
    carried: CarriedRecord,
    /// Ids of the calls that the person refused.
    refused: BTreeSet<String>,
    /// The conversation was restored, so what it changed is not counted yet.
    is_uncounted: bool,
    models: ModelChain,
    settings: RequestSettings,
    tools: Arc<[Fragment]>,
    /// Some tools are loaded by the API when a `tool_reference` names them.
    uses_references: bool,
    system: Arc<[Fragment]>,
    cache_marks: CacheMarks,
    /// What the provider's cache holds of the conversation.
    pub cache: CacheWatch,
    disabled: Vec<Capability>,
    /// Set when the API reported that less output fits, in tokens.
    output_limit: Option<u64>,
    reminders: Reminders,
    /// The effort a skill asked for, for the rest of the turn.
    turn_effort: Option<String>,
    pub last_prompt: String,
    /// What the last turn said.
    pub last_answer: String,
    pub max_turns: Option<u32>,
    pub output_retries: u32,
}

impl ModelContext {
    pub fn new(parts: ContextParts) -> Self {
        Self {
            catalog: parts.catalog,
            prompt_at: None,
            compaction: parts.compaction,
            carried: parts.carried,
            refused: parts.refused,
            is_uncounted: !parts.history.is_empty(),
            history: parts.history,
            models: parts.models,
            settings: parts.settings,
            tools: parts.tools.into(),
            uses_references: false,
            system: parts.system.into(),
            cache_marks: CacheMarks::default(),
            cache: CacheWatch::resumed(parts.resumed),
            disabled: Vec::new(),
            output_limit: None,
            reminders: parts.reminders,
            turn_effort: None,
            last_prompt: String::new(),
            last_answer: String::new(),
            max_turns: parts.limits.max_turns,
            output_retries: parts.limits.output_retries,
        }
    }

    /// Moves the history of `before` here; reminders will be sent again.
    pub fn take_history_from(&mut self, before: &mut Self) {
        self.history = std::mem::take(&mut before.history);
        self.prompt_at = before.prompt_at;
        self.compaction.take_state_from(&before.compaction);
        self.carried = std::mem::take(&mut before.carried);
        self.refused = std::mem::take(&mut before.refused);
        self.is_uncounted = before.is_uncounted;
        self.settings.thinking = before.settings.thinking;
        self.settings.thinking_display = before.settings.thinking_display.take();
        self.disabled = std::mem::take(&mut before.disabled);
        self.cache = std::mem::take(&mut before.cache);
        self.reminders.sent_date = before.reminders.sent_date.take();
        self.last_prompt = std::mem::take(&mut before.last_prompt);
    }

    /// The effort the user or the host chose; `None` without a choice.
    pub fn chosen_effort(&self) -> Option<&str> {
        self.settings.effort.as_deref()
    }

    /// The conversation a fork of this session starts with.
    pub fn fork_context(&self) -> ForkContext {
        ForkContext {
            system: Arc::clone(&self.system),
            tools: Arc::clone(&self.tools),
            turns: self.history.turns().to_vec(),
            carried: CarriedRecord {
                words: vec![self.words_in(0..self.history.turns().len())],
                failed: self.carried.failed.clone(),
                ..CarriedRecord::default()
            },
            sent_date: self.reminders.sent_date.clone(),
        }
    }

    /// Applies the host's choice of the main model; fallbacks stay.
    pub fn choose_model(&mut self, wanted: &FieldChange<String>) {
        self.models.main = match wanted {
            FieldChange::Keep => return,
            FieldChange::Reset => self.models.default.clone(),
            FieldChange::Set(name) => MainModel::named(name, &self.catalog, &self.settings.env),
        };
        self.models.return_to_main();
    }

    /// Applies the host's choice of thinking; what it does not set stays.
    pub fn choose_thinking(&mut self, tokens: &FieldChange<u32>, display: &FieldChange<String>) {
        match tokens {
            FieldChange::Keep => {}
            FieldChange::Reset => self.settings.thinking = self.settings.default_thinking,
            FieldChange::Set(0) => self.settings.thinking = ThinkingChoice::Disabled,
            FieldChange::Set(tokens) => self.settings.thinking = ThinkingChoice::Budget(*tokens),
        }
        match display {
            FieldChange::Keep => {}
            FieldChange::Reset => self.settings.thinking_display = None,
            FieldChange::Set(display) => self.settings.thinking_display = Some(display.clone()),
        }
    }

    /// Applies the host's choice of effort; `Reset` restores the one the session started with.
    pub fn choose_effort(&mut self, wanted: &FieldChange<String>) {
        match wanted {
            FieldChange::Keep => {}
            FieldChange::Reset => self.settings.effort.clone_from(&self.settings.default_effort),
            FieldChange::Set(level) => self.settings.effort = Some(level.clone()),
        }
    }

    /// Replaces the system prompt and the tools, and resets the cache marks.
    pub fn set_prompt_parts(&mut self, system: Vec<Fragment>, tools: Vec<Fragment>) {
        self.system = system.into();
        self.tools = tools.into();
        self.cache_marks = CacheMarks::default();
    }

    /// Estimated tokens by category; skills, agents and MCP tools are filled in by the caller.
    pub fn usage(&mut self) -> ContextUsage {
        let (window, compact_at) = self.window();
        let tokens_of = |parts: &[Fragment]| model::estimate::text(parts.iter().map(Fragment::len).sum());
        let (system, tools) = (tokens_of(&self.system), tokens_of(&self.tools));
        let kind = |scope| match scope {
            config::MemoryScope::Managed => "Managed",
            config::MemoryScope::User => "User",
            config::MemoryScope::Auto => "AutoMem",
            config::MemoryScope::Project => "Project",
            config::MemoryScope::Local => "Local",
        };
        let weigh_file = |file: &config::MemoryFile| model::estimate::text(file.text.len());
        let files = self.reminders.files.iter();
        let memory: Vec<_> = files.map(|file| (file.path.clone(), kind(file.scope), weigh_file(file))).collect();
        let mut usage = ContextUsage {
            model: self.model().to_owned(),
            window,
            compact_at,
            total: self.tokens(),
            factor: self.history.factor(),
            shares: self.history.shares(),
            prompts: self.history.prompts(),
            system,
            tools,
            memory,
            ..ContextUsage::default()
        };
        usage.add_unsent(self.unsent_tokens());
        usage
    }

    /// Sets whether the next request is made in plan mode, which may use another model.
    pub fn set_planning(&mut self, planning: bool) {
        self.models.planning = planning;
    }

    /// Estimated tokens of the instruction files that the first request will add; 0 once they were sent.
    pub fn unsent_tokens(&self) -> u64 {
        if self.reminders.is_context_sent {
            return 0;
        }
        self.reminders.files.iter().map(|file| model::estimate::text(file.text.len())).sum()
    }

    /// Switches the model from the next request on; fallbacks stay.
    pub fn set_model(&mut self, model: MainModel) {
        self.models.main = model;
        self.models.return_to_main();
        self.cache_marks = CacheMarks::default();
        self.disabled.clear();
    }

    /// The models that a name stands for.
    pub fn resolve(&self, name: &str) -> MainModel {
        MainModel::named(name, &self.catalog, &self.settings.env)
    }

    /// The model the session started with.
    pub fn default_model(&self) -> MainModel {
        self.models.default.clone()
    }

    pub fn set_effort(&mut self, level: Option<String>) {
        self.settings.effort = level;
    }

    /// How long the provider caches the conversation; `None` when caching is off.
    pub fn cache_ttl(&self) -> Option<CacheTtl> {
        self.cache_life().map(|life| life.moving)
    }

    fn cache_life(&self) -> Option<CacheLife> {
        let env = &self.settings.env;
        let life = CacheLife::from_env(env, self.models.current(), self.settings.included_hour)?;
        let is_set = env.is_on("FORCE_PROMPT_CACHING_5M") || env.is_on("ENABLE_PROMPT_CACHING_1H");
        let moving = match self.settings.cache_life.filter(|_| !is_set) {
            None => return Some(life),
            Some(CacheLifeChoice::Fixed(CacheTtl::FiveMinutes)) => return Some(CacheLife::default()),
            Some(CacheLifeChoice::Fixed(CacheTtl::Hour)) => CacheTtl::Hour,
            Some(CacheLifeChoice::Auto) => self.cache.cheapest_life(sys::clock::now_ms()),
        };
        // A longer life must not follow a shorter one.
        Some(CacheLife { fixed: life.fixed.max(moving), moving })
    }

    /// The tokens before the conversation, and how many system blocks are the same in every directory: those before
    /// the one about this machine.
    fn prefix(&self) -> (PrefixTokens, usize) {
        let tokens = |parts: &[Fragment]| model::estimate::text(parts.iter().map(Fragment::len).sum());
        let static_blocks = self.system.iter().position(prompts::is_environment).unwrap_or(self.system.len());
        let (tools, shared) = (tokens(&self.tools), tokens(&self.system[..static_blocks]));
        (PrefixTokens { fixed: tools + shared, whole: tools + tokens(&self.system) }, static_blocks)
    }

    /// How long the provider caches a prompt for that model, and the cost in USD of writing `tokens` to the cache;
    /// `None` when the price is not known.
    pub fn cache_cost_of(&self, model: &str, tokens: u64) -> (&'static str, Option<f64>) {
        let hour = matches!(CacheTtl::from_env(&self.settings.env, model, false), Some(CacheTtl::Hour));
        let mut usage = wire::usage::Usage { cache_creation_input_tokens: tokens, ..wire::usage::Usage::default() };
        if hour {
            usage.cache_creation.ephemeral_1h_input_tokens = tokens;
        }
        let cost = model::catalog::cost(&usage, &self.catalog.lookup(model));
        (if hour { "1h" } else { "5m" }, cost)
    }

    pub fn memory_files(&self) -> impl Iterator<Item = &config::MemoryFile> {
        self.reminders.files.iter()
    }

    pub fn system_tokens(&self) -> u64 {
        model::estimate::text(self.system.iter().map(Fragment::len).sum())
    }

    /// The window of the model in tokens, and the size at which the conversation is compacted automatically; `None`
    /// when it is not.
    pub fn window(&self) -> (u64, Option<u64>) {
        let (facts, env) = (self.facts(), &self.settings.env);
        let limit = self.compaction.is_automatic().then(|| self.compaction.limit(&facts, env));
        (self.compaction.own_window(&facts, env), limit)
    }

    /// Resets everything for a new conversation.
    pub fn begin_session(&mut self, fresh: FreshContext) {
        self.history = History::default();
        self.prompt_at = None;
        self.compaction.begin_session();
        self.carried = CarriedRecord::default();
        self.refused.clear();
        self.is_uncounted = false;
        self.settings.identity = fresh.identity;
        self.cache_marks = CacheMarks::default();
        self.cache = CacheWatch::default();
        let notes = self.reminders.notes.take();
        let facts = fresh.facts;
        self.reminders = Reminders { files: fresh.files, sent_date: None, is_context_sent: false, notes, facts };
        self.last_prompt.clear();
        if let Some(system) = fresh.system {
            self.set_system(system);
        }
        self.end_turn();
    }

    /// The conversation goes on with an earlier history.
    pub fn go_back(&mut self, earlier: EarlierConversation) {
        let EarlierConversation { history, sent_date, is_context_sent, carried, refused } = earlier;
        (self.history, self.carried, self.refused) = (history, carried, refused);
        self.is_uncounted = true;
        self.cache.note_edit("rewind");
        self.prompt_at = None;
        self.compaction.begin_session();
        self.reminders.sent_date = sent_date;
        if !std::mem::replace(&mut self.reminders.is_context_sent, is_context_sent) || !is_context_sent {
            self.reminders.facts = self.reminders.facts.anew();
        }
        self.last_prompt.clear();
        self.last_answer.clear();
        self.end_turn();
    }

    pub fn set_system(&mut self, system: Vec<Fragment>) {
        self.system = system.into();
    }

    pub fn identity(&self) -> &Arc<RequestIdentity> {
        &self.settings.identity
    }

    /// The model the next request is sent to.
    pub fn model(&self) -> &str {
        self.models.current()
    }

    pub fn facts(&self) -> ModelFacts {
        self.catalog.lookup(self.model())
    }

    pub fn effort(&self) -> Option<&'static str> {
        self.effort_level().map(EffortLevel::name)
    }

    fn effort_level(&self) -> Option<EffortLevel> {
        let facts = self.facts();
        let set = self.settings.env.non_empty("CLAUDE_CODE_EFFORT_LEVEL").or(self.settings.effort.as_deref());
        let wanted = self.turn_effort.as_deref().or(set);
        match wanted.and_then(EffortLevel::parse) {
            Some(wanted) => facts.clamp_effort(wanted),
            None => self.settings.usual_effort.and_then(|usual| facts.clamp_effort(usual)).or(facts.default_effort),
        }
    }

    /// Switches to the next fallback for this turn; `false` when there is none.
    pub fn fall_back(&mut self) -> bool {
        if self.models.remaining.is_empty() {
            return false;
        }
        self.models.fall_back()
    }

    /// Returns to the configured model and drops the choices made for one turn.
    pub fn end_turn(&mut self) {
        self.models.return_to_main();
        self.turn_effort = None;
        self.output_limit = None;
    }

    /// Applies the model and effort a skill asks for, for the rest of this turn. A model outside `allowed` is not
    /// used.
    pub fn choose_for_turn(&mut self, model: Option<&str>, effort: Option<&str>, allowed: Option<&[String]>) {
        if let Some(effort) = effort {
            self.turn_effort = Some(effort.to_owned());
        }
        let Some(model) = model else { return };
        let env = &self.settings.env;
        let id = self.catalog.resolve(model, env);
        let is_allowed = |entry: &String| {
            entry == model || self.catalog.resolve(entry, env) == id || id.starts_with(&format!("claude-{entry}"))
        };
        if allowed.is_none_or(|list| list.iter().any(is_allowed)) {
            self.models.fallback = Some(id);
        } else {
            tracing::warn!(model, "the model a skill asks for is not among availableModels; it is not used");
        }
    }

    pub fn limit_output(&mut self, limit: u64) {
        self.output_limit = Some(limit);
    }

    pub fn disable(&mut self, capability: Capability) {
        self.disabled.push(capability);
    }

    pub fn push_prompt(&mut self, content: &RawValue, line: String) {
        self.prompt_at = Some(self.history.turns().len());
        self.history.push(Message::from_content(Role::User, content), HistoryPart::Prompt, vec![line]);
    }

    /// Whether thinking is on.
    pub fn thinks(&self) -> bool {
        self.settings.thinking != ThinkingChoice::Disabled
    }

    /// Appends a prompt that joined a running turn.
    pub fn push_mid_turn(&mut self, content: &RawValue, line: String) {
        self.history.push(Message::from_content(Role::User, content), HistoryPart::Joined, vec![line]);
    }

    /// Appends the user's latest words after a compaction: later reminders are placed before them.
    pub fn push_latest_words(&mut self, text: &str, line: String) {
        self.history.push(Message::user_text(text), HistoryPart::Repeated, vec![line]);
    }

    /// Appends a message of the program at the end.
    pub fn push_text(&mut self, text: &str, line: impl Into<Option<String>>) {
        self.history.push(Message::user_text(text), HistoryPart::Other, line.into().into_iter().collect());
    }

    /// Adds a reminder to the latest prompt: it is placed before the user's text.
    pub fn push_before_prompt(&mut self, text: &str, line: impl Into<Option<String>>) {
        self.history.push(Message::user_text(text), HistoryPart::Beside, line.into().into_iter().collect());
    }

    pub fn push_assistant(&mut self, model: &str, blocks: Vec<Fragment>, lines: Vec<String>) {
        if !blocks.is_empty() {
            self.history.push(Message::assistant(model, blocks), HistoryPart::Other, lines);
        }
    }

    pub fn push_results(&mut self, results: Vec<Arc<RawValue>>, lines: Vec<String>) {
        if !results.is_empty() {
            let blocks = results.into_iter().map(|raw| Fragment::new((*raw).to_owned())).collect();
            self.history.push(Message::user(blocks), HistoryPart::Other, lines);
        }
    }

    /// Sets the tools of the next requests.
    pub fn set_tools(&mut self, tools: Vec<Fragment>, uses_references: bool) {
        self.tools = tools.into();
        self.uses_references = uses_references;
    }

    fn betas(&self) -> Vec<String> {
        const TOOL_REFERENCE_BETA: &str = "advanced-tool-use-2025-11-20";
        let own = self.uses_references.then(|| TOOL_REFERENCE_BETA.to_owned());
        self.settings.betas.iter().cloned().chain(own).collect()
    }

    /// Removes a refused prompt: everything after the last answer. Returns the uuids of its transcript lines.
    pub fn retract_prompt(&mut self) -> Vec<String> {
        self.prompt_at = None;
        self.cache.note_edit("a prompt was taken back");
        self.history.retract_prompt()
    }

    /// Removes the latest prompt and `mark`, which ended its turn, when there is no answer between them. Returns the
    /// uuids of their transcript lines.
    pub fn withdraw_prompt(&mut self, mark: &str) -> Option<Vec<String>> {
        let at = self.prompt_at?;
        let lines = self.history.take_unanswered(at, mark)?;
        self.cache.note_edit("a prompt was taken back");
        self.prompt_at = None;
        Some(lines)
    }

    /// Turns references to tools that are not sent into text.
    pub fn rewrite_references(&mut self, is_sent: impl Fn(&str) -> bool) {
        self.cache.note_edit("a tool is no longer there");
        self.history.rewrite_references(is_sent);
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// Records a response; `tokens` is the size of the conversation including it, as the server reported it.
    pub fn record_answer(&mut self, tokens: u64) {
        let fixed = self.fixed_tokens();
        self.history.report(tokens, fixed);
        self.compaction.record_answer();
    }

    /// Estimated tokens of the next request.
    pub fn tokens(&mut self) -> u64 {
        let fixed = self.fixed_tokens();
        self.history.tokens(fixed)
    }

    /// Estimated tokens of a request with another conversation.
    pub fn tokens_with<'a>(&self, turns: impl Iterator<Item = &'a Message>) -> u64 {
        let blocks = turns.flat_map(|turn| &turn.blocks);
        self.fixed_tokens() + blocks.map(model::estimate::fragment).sum::<u64>()
    }

    fn fixed_tokens(&self) -> u64 {
        model::estimate::text(self.fixed_bytes())
    }

    /// Whether the next request would come too close to the end of the window.
    pub fn is_crowded(&mut self) -> bool {
        let limit = self.compaction.limit(&self.facts(), &self.settings.env);
        self.compaction.is_automatic() && self.tokens() >= limit
    }

    /// What can be done when the conversation does not fit. Without an answer there is nothing to summarise.
    pub fn relief(&self) -> OverflowRelief {
        if self.history.has_answers() { self.compaction.relief() } else { OverflowRelief::None }
    }

    pub fn compaction(&mut self) -> &mut CompactionPolicy {
        &mut self.compaction
    }

    /// Begins to gather the facts about the project, unless they were told.
    pub fn start_facts(&self) {
        self.reminders.facts.start();
    }

    /// The facts about the project, for a new conversation.
    pub fn facts_again(&self) -> ToldFacts {
        self.reminders.facts.anew()
    }

    /// The reminder with facts about the project that is due.
    pub async fn due_facts(&mut self) -> Option<Attachment> {
        Attachment::note("x_project_facts", self.reminders.facts.take_due().await?)
    }

    /// Sets the instruction files to send next time.
    pub fn set_instructions(&mut self, files: Vec<config::MemoryFile>) {
        self.reminders.files = files;
    }

    /// Whether the date and the instruction files have been sent.
    pub fn is_context_sent(&self) -> bool {
        self.reminders.is_context_sent
    }

    /// The reminder to add to the prompt just accepted: the session context once, later a changed date.
    pub fn due_attachment(&mut self) -> Option<Attachment> {
        let today = sys::clock::today();
        let reminders = &mut self.reminders;
        let known = reminders.sent_date.replace(today.clone());
        if !std::mem::replace(&mut reminders.is_context_sent, true) {
            let shown: Vec<_> = reminders.files.iter().map(|f| (f.path.display().to_string(), f)).collect();
            let files: Vec<_> = shown
                .iter()
                .map(|(path, f)| InstructionText { path, scope: scope_name(f.scope), text: &f.text })
                .collect();
            let notes = reminders.notes.as_ref().map(|dir| dir.display().to_string());
            return Attachment::session_context(prompts::session_context(&today, &files, notes.as_deref()));
        }
        if known.as_deref() == Some(today.as_str()) { None } else { Attachment::date_change(&today) }
    }

    /// Path, kind and importing file of each instruction file, as hooks receive them.
    pub fn instruction_files(&self) -> Vec<(String, &'static str, Option<String>)> {
        let kind = |scope| match scope {
            config::MemoryScope::Managed => "Managed",
            config::MemoryScope::User | config::MemoryScope::Auto => "User",
            config::MemoryScope::Project => "Project",
            config::MemoryScope::Local => "Local",
        };
        let shown = |path: &std::path::PathBuf| path.display().to_string();
        let files = self.reminders.files.iter();
        files.map(|file| (shown(&file.path), kind(file.scope), file.imported_by.as_ref().map(shown))).collect()
    }

    /// The next request: the same bytes as the last one up to its moving cache marker, then what is new.
    pub fn request(&mut self) -> Result<ModelRequest, ConversationTooLarge> {
        let mut marks = std::mem::take(&mut self.cache_marks);
        let request = self.request_of(self.history.turns(), &mut marks);
        self.cache_marks = marks;
        request
    }

    fn request_of(&self, turns: &[Message], marks: &mut CacheMarks) -> Result<ModelRequest, ConversationTooLarge> {
        let facts = self.facts();
        let env = &self.settings.env;
        let max_tokens = self.output_limit.unwrap_or_else(|| facts.max_tokens(env));
        let refused = self.disabled.contains(&Capability::Thinking);
        let needs = RepairNeeds {
            model: self.models.current(),
            thinking: if refused { KeepThinking::Drop } else { KeepThinking::Keep },
            limits: BodyLimits { fixed: self.fixed_bytes(), ..BodyLimits::default() },
        };
        let repaired = model::repair(turns, &needs);
        for what in &repaired.notes {
            tracing::debug!(%what, "request repaired");
        }
        if let Some(bytes) = repaired.oversize {
            return Err(ConversationTooLarge { bytes });
        }
        let (prefix, static_blocks) = self.prefix();
        marks.context = self.history.context_end();
        let cache = self.cache_life().map(|life| {
            marks.plan(&repaired.messages, life).above_floor(&repaired.messages, prefix, facts.cache_floor)
        });
        let thinking = ThinkingParameter::for_model(&facts, self.settings.thinking, max_tokens, env)
            .map(|t| t.with_display(self.settings.thinking_display.as_deref()));
        let mut request = ModelRequest {
            thinking,
            interleaved: !env.is_on("DISABLE_INTERLEAVED_THINKING"),
            effort: self.effort_level(),
            task_budget: self.settings.task_budget,
            user_id: self.settings.user_id.clone(),
            tools: Arc::clone(&self.tools),
            system: Arc::clone(&self.system),
            static_blocks,
            messages: repaired.messages,
            cache,
            betas: self.betas(),
            experiments: model::betas::ExperimentalBetas::from_env(env),
            extra_body: model::request::extra_body(env),
            ..ModelRequest::new(self.models.current(), max_tokens, Arc::clone(&self.settings.identity))
        };
        for capability in &self.disabled {
            request.disable(*capability);
        }
        Ok(request)
    }

    /// The size in bytes of everything a request carries besides the conversation.
    fn fixed_bytes(&self) -> usize {
        self.tools.iter().chain(self.system.iter()).map(Fragment::len).sum()
    }
}

/// The conversation is larger than any endpoint accepts, even without its images.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the request would be {} MB, more than the API accepts", bytes / 1_000_000)]
pub struct ConversationTooLarge {
    bytes: usize,
}

fn scope_name(scope: config::MemoryScope) -> &'static str {
    match scope {
        config::MemoryScope::Managed => "organisation",
        config::MemoryScope::User => "user",
        config::MemoryScope::Project => "project",
        config::MemoryScope::Local => "project, private to the user",
        config::MemoryScope::Auto => "notes that earlier sessions kept",
    }
}
