//! The budgets of a session: which are in force, what is told about them, and raising one.

use super::LiveSession;

use session_parts::budgets::{BudgetCaps, BudgetLimits};
use wire::settings::SettingsSource;

impl LiveSession {
    /// Sets the budgets in force at the beginning of a turn. Agents spend what their session may.
    pub(crate) fn begin_budgets(&mut self) {
        if self.io.output.host.agent_id().is_some() {
            return;
        }
        self.set_budgets();
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

    /// Tells what came near its limit.
    pub(crate) async fn report_budgets(&self) {
        for notice in self.io.output.ledger.budgets().take_notices() {
            self.io.output.host.notice(notice).await;
        }
    }
}
