//! The models of a conversation: the main one and those that stand in for it.

use model::ModelCatalog;
use std::collections::VecDeque;
use sys::Env;

/// The configured model and its fallbacks.
pub struct ModelChain {
    /// The model the session started with.
    pub(crate) default: MainModel,
    pub(crate) main: MainModel,
    /// The session is in plan mode.
    pub(crate) planning: bool,
    fallbacks: Vec<String>,
    /// The fallback used for the rest of this turn, and those left to try after it.
    pub(crate) fallback: Option<String>,
    pub(crate) remaining: VecDeque<String>,
}

/// The model of the conversation and, when the user's choice names two, the one used in plan mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MainModel {
    pub id: String,
    pub plan_id: Option<String>,
}

impl MainModel {
    /// Resolves a name: an alias, an id, or `opusplan`.
    pub fn named(name: &str, catalog: &ModelCatalog, env: &Env) -> Self {
        Self { id: catalog.resolve(name, env), plan_id: catalog.plan_model(name, env) }
    }
}

impl From<String> for MainModel {
    fn from(id: String) -> Self {
        Self { id, plan_id: None }
    }
}

impl ModelChain {
    pub fn new(main: impl Into<MainModel>, fallbacks: Vec<String>) -> Self {
        let left = fallbacks.iter().cloned().collect();
        let main = main.into();
        Self { default: main.clone(), main, planning: false, fallbacks, fallback: None, remaining: left }
    }

    pub(crate) fn current(&self) -> &str {
        let plan = self.main.plan_id.as_deref().filter(|_| self.planning);
        self.fallback.as_deref().or(plan).unwrap_or(&self.main.id)
    }

    pub(crate) fn fall_back(&mut self) -> bool {
        self.fallback = self.remaining.pop_front().or(self.fallback.take());
        self.fallback.is_some()
    }

    pub(crate) fn return_to_main(&mut self) {
        self.fallback = None;
        self.remaining = self.fallbacks.iter().cloned().collect();
    }
}
