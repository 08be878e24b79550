//! Usage and cost, counted once per API response. Turn totals restart with every turn; model totals cover the whole
//! session including its agents.

mod changed_files;

pub use changed_files::{ChangedFiles, changed_path, summed};

use crate::budgets::SpendingBudgets;
use crate::cache_watch::CacheMiss;
use crate::call_ids::CallIds;
use model::catalog::{self, ModelCatalog, ServingParty};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::budget::Spending;
use sys::Env;
use sys::sync::{Mutex, MutexGuard};
use wire::usage::{CostState, ModelUsage, Usage};

#[derive(Clone)]
pub struct Ledger {
    catalog: Arc<ModelCatalog>,
    env: Env,
    served: ServingParty,
    /// Shared with every agent of the session.
    accounts: Arc<Mutex<BTreeMap<String, ModelUsage>>>,
    /// Lines that edits added and removed; shared with agents.
    lines: Arc<(AtomicU64, AtomicU64)>,
    /// The files they changed; shared with agents.
    files: ChangedFiles,
    /// What earlier processes of this session spent; shared with agents.
    earlier_cost: Arc<CostState>,
    /// Shared with agents.
    budgets: Arc<SpendingBudgets>,
    /// Shared with agents.
    misses: Arc<Mutex<Vec<CacheMiss>>>,
    /// The models that answered in this conversation.
    used: BTreeSet<String>,
    turn: Usage,
    last: Usage,
    /// When the last response arrived, in milliseconds since the epoch.
    last_at_ms: u64,
    pub api_ms: u64,
    /// Milliseconds of answered requests, in all turns.
    pub answered_ms: u64,
    /// Milliseconds that calls took, in all turns.
    pub tool_ms: u64,
    /// Milliseconds of requests in earlier turns.
    earlier_api_ms: u64,
    started: Instant,
    started_at_ms: u64,
    /// Shared with agents.
    pub call_ids: CallIds,
    /// The model totals of the last result message.
    reported: BTreeMap<String, ModelUsage>,
}

/// The lines an edit added and removed, from its structured result.
pub fn changed_lines(structured: &RawValue) -> Option<(u64, u64)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct EditResult {
        #[serde(rename = "type")]
        kind: String,
        structured_patch: Vec<EditHunk>,
        content: String,
    }
    #[derive(Deserialize)]
    struct EditHunk {
        lines: Vec<String>,
    }
    let changed = serde_json::from_str::<EditResult>(structured.get()).ok()?;
    let lines = || changed.structured_patch.iter().flat_map(|hunk| &hunk.lines);
    let of = |mark: char| lines().filter(|line| line.starts_with(mark)).count() as u64;
    let created = if changed.kind == "create" { changed.content.lines().count() as u64 } else { 0 };
    Some((of('+') + created, of('-')))
}

impl Ledger {
    pub fn new(catalog: Arc<ModelCatalog>, env: Env, served: ServingParty, budgets: Arc<SpendingBudgets>) -> Self {
        Self {
            catalog,
            env,
            served,
            accounts: Arc::default(),
            lines: Arc::default(),
            files: ChangedFiles::default(),
            earlier_cost: Arc::default(),
            budgets,
            misses: Arc::default(),
            used: BTreeSet::new(),
            turn: Usage::default(),
            last: Usage::default(),
            last_at_ms: 0,
            api_ms: 0,
            answered_ms: 0,
            tool_ms: 0,
            earlier_api_ms: 0,
            started: Instant::now(),
            started_at_ms: sys::clock::now_ms(),
            call_ids: CallIds::default(),
            reported: BTreeMap::new(),
        }
    }

    /// Continues from what earlier processes of this session spent, as recorded in their last `cost-state` line.
    #[must_use]
    pub fn continue_from(mut self, line: Option<&str>) -> Self {
        let Some(state) = line.and_then(|line| serde_json::from_str::<CostState>(line).ok()) else { return self };
        self.lines.0.store(state.total_lines_added, Relaxed);
        self.lines.1.store(state.total_lines_removed, Relaxed);
        (*self.accounts()).clone_from(&state.model_usage);
        self.reported.clone_from(&state.model_usage);
        if state.start_time > 0 {
            self.started_at_ms = state.start_time;
        }
        let tokens = |row: &ModelUsage| {
            row.input_tokens + row.output_tokens + row.cache_read_input_tokens + row.cache_creation_input_tokens
        };
        self.budgets
            .continue_session(Spending { usd: self.cost(), tokens: state.model_usage.values().map(tokens).sum() });
        self.earlier_cost = Arc::new(state);
        self
    }

    /// The totals of the session, to be recorded for the process that resumes it.
    pub fn state(&self) -> CostState {
        let (total_lines_added, total_lines_removed) = self.lines();
        let model_usage = self.models();
        CostState {
            total_cost_usd: self.cost(),
            total_api_duration: self.all_api_ms(),
            total_api_duration_without_retries: self.earlier_cost.total_api_duration_without_retries + self.answered_ms,
            total_tool_duration: self.earlier_cost.total_tool_duration + self.tool_ms,
            total_lines_added,
            total_lines_removed,
            total_duration: self.wall_ms(),
            start_time: self.started_at_ms,
            has_unknown_model_cost: model_usage.values().any(|row| row.cost_basis == "unknown"),
            model_usage,
        }
    }

    /// For an agent: separate turn totals, shared session totals.
    #[must_use]
    pub fn for_agent(&self) -> Self {
        let empty = Self::new(Arc::clone(&self.catalog), self.env.clone(), self.served, Arc::clone(&self.budgets));
        Self {
            accounts: Arc::clone(&self.accounts),
            lines: Arc::clone(&self.lines),
            files: self.files.clone(),
            earlier_cost: Arc::clone(&self.earlier_cost),
            misses: Arc::clone(&self.misses),
            call_ids: self.call_ids.for_agent(),
            ..empty
        }
    }

    /// Resets the totals for a new conversation, also for its agents.
    pub fn begin_session(&mut self) {
        self.budgets.begin_session();
        self.accounts().clear();
        self.misses.lock().clear();
        self.reported.clear();
        self.earlier_cost = Arc::default();
        (self.answered_ms, self.tool_ms) = (0, 0);
        self.started_at_ms = sys::clock::now_ms();
        self.files.restart(Vec::new());
        self.lines.0.store(0, Relaxed);
        self.lines.1.store(0, Relaxed);
        self.used.clear();
        self.last = Usage::default();
        self.start_turn();
        self.earlier_api_ms = 0;
        self.started = Instant::now();
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeMap<String, ModelUsage>> {
        self.accounts.lock()
    }

    pub fn start_turn(&mut self) {
        self.turn = Usage::empty();
        self.earlier_api_ms += std::mem::take(&mut self.api_ms);
    }

    /// Milliseconds spent waiting for the API in the whole session.
    pub fn all_api_ms(&self) -> u64 {
        self.earlier_cost.total_api_duration + self.earlier_api_ms + self.api_ms
    }

    /// Milliseconds since the session began, including earlier processes.
    pub fn wall_ms(&self) -> u64 {
        let here = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.earlier_cost.total_duration.saturating_add(here)
    }

    /// Records a response of this conversation.
    pub fn record_main(&mut self, model: &str, usage: &Usage) {
        self.turn.add(usage);
        self.last = usage.clone();
        self.last_at_ms = sys::clock::now_ms();
        self.used.insert(model.to_owned());
        self.record_side(model, usage);
    }

    /// Records a response to a side request: it counts in the totals, not in the turn's usage.
    pub fn record_side(&self, model: &str, usage: &Usage) {
        let facts = self.catalog.lookup(model);
        let cost = catalog::cost(usage, &facts);
        let mut accounts = self.accounts();
        let row = accounts.entry(model.to_owned()).or_insert_with(|| ModelUsage {
            context_window: facts.window(&self.env, self.served),
            max_output_tokens: facts.max_tokens(&self.env),
            canonical_model: facts.canonical.clone(),
            provider: "firstParty".into(),
            cost_basis: if cost.is_some() { "list" } else { "unknown" }.into(),
            ..ModelUsage::default()
        });
        row.add(usage, cost.unwrap_or(0.0));
    }

    /// Counts the lines an edit added and removed, from its structured result.
    pub fn count_lines(&self, structured: &RawValue, owner: Option<&str>) {
        let Some((added, removed)) = changed_lines(structured) else { return };
        if let Some(path) = changed_path(structured) {
            self.files.add(owner, &path, added, removed);
        }
        self.lines.0.fetch_add(added, Relaxed);
        self.lines.1.fetch_add(removed, Relaxed);
    }

    pub fn changed_files(&self) -> &ChangedFiles {
        &self.files
    }

    /// Lines added and removed.
    pub fn lines(&self) -> (u64, u64) {
        (self.lines.0.load(Relaxed), self.lines.1.load(Relaxed))
    }

    pub fn cost(&self) -> f64 {
        // Not `sum`: the sum of nothing would be minus zero.
        self.accounts().values().fold(0.0, |all, m| all + m.cost_usd)
    }

    pub fn record_miss(&self, miss: CacheMiss) {
        self.misses.lock().push(miss);
    }

    /// The cache misses of this process, in order.
    pub fn misses(&self) -> Vec<CacheMiss> {
        self.misses.lock().clone()
    }

    pub fn catalog(&self) -> &ModelCatalog {
        &self.catalog
    }

    /// The budgets that all requests of the session and its agents count against.
    pub fn budgets(&self) -> &Arc<SpendingBudgets> {
        &self.budgets
    }

    pub fn turn_usage(&self) -> Usage {
        self.turn.clone()
    }

    pub fn models(&self) -> BTreeMap<String, ModelUsage> {
        self.accounts().clone()
    }

    /// The usage of every model since the last call.
    pub fn take_news(&mut self) -> BTreeMap<String, ModelUsage> {
        let now = self.models();
        let news = now.iter().filter_map(|(model, row)| Some((model.clone(), row.since(self.reported.get(model))?)));
        let news = news.collect();
        self.reported = now;
        news
    }

    /// Drops the usage of the last response, because it no longer describes the next request.
    pub fn forget_last(&mut self) {
        self.last = Usage::default();
    }

    /// The usage of the last response.
    pub fn last_usage(&self) -> &Usage {
        &self.last
    }

    /// When the last response arrived, in milliseconds since the epoch.
    pub fn last_at_ms(&self) -> u64 {
        self.last_at_ms
    }

    pub fn models_used(&self) -> Vec<String> {
        self.used.iter().cloned().collect()
    }
}
