//! The budgets of a session: which are in force, what is told about them, and raising one.

use super::LiveSession;
use super::choice::ChoiceQuestion;
use crate::decide::PhaseResult;
use crate::turn_state::TurnState;

use session_parts::budgets::{BudgetCaps, BudgetLimits, ExhaustedBudget};
use std::sync::Arc;
use wire::settings::SettingsSource;

impl LiveSession {
    /// Sets the budgets in force at the beginning of a turn. Agents spend what their session may.
    pub(crate) fn begin_budgets(&mut self) {
        if self.io.output.host.agent_id().is_some() {
            return;
        }
        self.set_budgets();
        self.set_limit_wait();
        self.io.output.ledger.budgets().begin_turn();
    }

    pub(crate) fn set_budgets(&self) {
        let loaded = &self.io.rules.watch.loaded;
        let managed = loaded.layers.iter().find(|layer| layer.source == SettingsSource::Managed);
        let caps = BudgetCaps::of_settings(managed.map(|layer| &layer.effective));
        let flags = self.recipe.as_ref().map(|recipe| recipe.origin.options.limits).unwrap_or_default();
        let limits = BudgetLimits::new(&loaded.settings, (flags.max_budget_usd, flags.max_turn_usd), caps);
        self.io.output.ledger.budgets().set_limits(limits);
    }

    /// Asks the person whether to raise the budget that is used up. `true` when the turn goes on.
    pub(crate) async fn offer_budget(&mut self, turn: &mut TurnState) -> bool {
        let budgets = Arc::clone(self.io.output.ledger.budgets());
        let Some(budget) = budgets.stopped_by().filter(|_| self.has_person()) else { return false };
        let ExhaustedBudget { scope, limit, spent } = budget;
        let mut wanted = [1.25, 2.0].map(|factor| limit.amount.max(spent) * factor).to_vec();
        if let Some(cap) = budgets.cap(scope, limit.unit) {
            wanted.retain(|amount| *amount <= cap);
            if wanted.is_empty() && cap > spent {
                wanted.push(cap);
            }
        }
        if wanted.is_empty() {
            return false;
        }
        let offer = |amount: &f64| {
            let raised = limit.with(*amount);
            (format!("Raise it to {raised}"), format!("Until gimlet exits, the budget {} is {raised}", scope.of()))
        };
        let mut answers: Vec<(String, String)> = wanted.iter().map(offer).collect();
        answers.push(("Stop".into(), "End the turn now".into()));
        let asked = ChoiceQuestion { header: "Budget", question: format!("{budget} Continue?"), answers };
        let chosen = self.choose(&asked, &turn.token).await;
        let Some(amount) = chosen.and_then(|at| wanted.get(at)) else { return false };
        if let Err(why) = budgets.raise(scope, limit.unit, Some(*amount)) {
            self.io.output.host.notice(why).await;
            return false;
        }
        turn.facts.over_budget = budgets.exhausted().is_some();
        if matches!(turn.facts.last, PhaseResult::Failed(_)) {
            turn.error = None;
            turn.facts.last = PhaseResult::Waited;
        }
        !turn.facts.over_budget
    }

    /// Tells what came near its limit.
    pub(crate) async fn report_budgets(&self) {
        for notice in self.io.output.ledger.budgets().take_notices() {
            self.io.output.host.notice(notice).await;
        }
    }
}
