//! What one open request may spend, and the count of what it did.

use super::SpendingBudgets;
use model::catalog;
use model::spending::SpendingPermit;
use std::sync::Arc;
use store::budget::{ReservationId, Spending};
use wire::usage::Usage;

#[derive(Debug)]
pub(super) struct Permit {
    budgets: Arc<SpendingBudgets>,
    id: u64,
    /// In the ledger that all processes share.
    reservation: Option<ReservationId>,
    most: Spending,
    spent: Spending,
}

impl Permit {
    pub(super) fn new(
        budgets: Arc<SpendingBudgets>,
        id: u64,
        reservation: Option<ReservationId>,
        most: Spending,
    ) -> Self {
        Self { budgets, id, reservation, most, spent: Spending::default() }
    }

    /// What `now` adds to what was counted.
    fn more(&mut self, now: Spending) -> Spending {
        let before = std::mem::replace(&mut self.spent, now);
        Spending { usd: now.usd - before.usd, tokens: now.tokens.saturating_sub(before.tokens) }
    }
}

impl SpendingPermit for Permit {
    fn spent(&mut self, model: &str, usage: &Usage) {
        let usd = catalog::cost(usage, &self.budgets.catalog.lookup(model)).unwrap_or(0.0);
        let now = Spending { usd, tokens: usage.total_input() + usage.output_tokens };
        let more = self.more(now);
        let rest =
            Spending { usd: (self.most.usd - now.usd).max(0.0), tokens: self.most.tokens.saturating_sub(now.tokens) };
        self.budgets.count(self.id, more, Some(rest));
        // A process that dies from here on has spent this.
        if let Some(reservation) = &self.reservation
            && let Err(error) = self.budgets.ledger.lock().note(reservation, now)
        {
            tracing::warn!(%error, "what a request has spent could not be noted");
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.budgets.count(self.id, Spending::default(), None);
        if let Some(reservation) = &self.reservation
            && let Err(error) = self.budgets.ledger.lock().settle(reservation, self.spent)
        {
            tracing::warn!(%error, "what a request has spent could not be recorded");
        }
        self.budgets.warn();
    }
}
