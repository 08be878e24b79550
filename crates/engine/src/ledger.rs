//! Usage and cost, counted once per API response. Turn totals restart with every turn; model totals run on.

use model::catalog::{self, Catalog, Served};
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::Env;
use wire::usage::{ModelUsage, Usage};

pub(crate) struct Ledger {
    catalog: Arc<Catalog>,
    env: Env,
    served: Served,
    models: BTreeMap<String, ModelUsage>,
    turn: Usage,
    pub api_ms: u64,
}

impl Ledger {
    pub(crate) fn new(catalog: Arc<Catalog>, env: Env, served: Served) -> Self {
        Self { catalog, env, served, models: BTreeMap::new(), turn: Usage::default(), api_ms: 0 }
    }

    pub(crate) fn start_turn(&mut self) {
        self.turn = Usage { service_tier: "standard".into(), ..Usage::default() };
        self.api_ms = 0;
    }

    /// A response of the main conversation.
    pub(crate) fn main(&mut self, model: &str, usage: &Usage) {
        self.turn.add(usage);
        self.model(model, usage);
    }

    /// A response to a side request: in the totals, not in the turn's usage.
    pub(crate) fn model(&mut self, model: &str, usage: &Usage) {
        let facts = self.catalog.lookup(model);
        let cost = catalog::cost(usage, &facts);
        let row = self.models.entry(model.to_owned()).or_insert_with(|| ModelUsage {
            context_window: facts.window(&self.env, self.served),
            max_output_tokens: facts.max_tokens(&self.env),
            canonical_model: facts.canonical.clone(),
            provider: "firstParty",
            cost_basis: if cost.is_some() { "list" } else { "unknown" },
            ..ModelUsage::default()
        });
        row.add(usage, cost.unwrap_or(0.0));
    }

    pub(crate) fn cost(&self) -> f64 {
        // Not `sum`: that of nothing is minus zero.
        self.models.values().fold(0.0, |all, m| all + m.cost_usd)
    }

    pub(crate) fn turn_usage(&self) -> Usage {
        self.turn.clone()
    }

    pub(crate) fn models(&self) -> BTreeMap<String, ModelUsage> {
        self.models.clone()
    }
}
