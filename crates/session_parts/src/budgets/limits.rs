//! Which budgets are in force: those of the settings and the command line, what was raised by hand, and what the
//! administrator allows.

use super::scope::SCOPES;
use super::{BudgetAmount, BudgetScope, BudgetUnit};
use serde::Deserialize;
use std::collections::BTreeMap;
use wire::settings::{BudgetSettings, Settings};

/// Of every budget the highest amount that the administrator allows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetCaps(BTreeMap<(BudgetScope, BudgetUnit), f64>);

impl BudgetCaps {
    /// `managed` are the administrator's settings.
    pub fn of_settings(managed: Option<&serde_json::Map<String, serde_json::Value>>) -> Self {
        let budgets = managed.and_then(|settings| settings.get("budgets"));
        let read = budgets.and_then(|budgets| BudgetSettings::deserialize(budgets).ok());
        Self(read.as_ref().map(amounts).unwrap_or_default())
    }

    pub fn of(&self, scope: BudgetScope, unit: BudgetUnit) -> Option<f64> {
        // A run is a part of its conversation.
        let scope = if scope == BudgetScope::Run { BudgetScope::Session } else { scope };
        self.0.get(&(scope, unit)).copied()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetLimits {
    declared: BTreeMap<(BudgetScope, BudgetUnit), f64>,
    /// Set by hand while the session runs; `None` for no limit.
    pub(super) raised: BTreeMap<(BudgetScope, BudgetUnit), Option<f64>>,
    pub(super) caps: BudgetCaps,
}

impl BudgetLimits {
    /// The budgets of the settings, and of the flags `--max-budget-usd` and `--max-turn-usd`.
    pub fn new(settings: &Settings, (run_usd, turn_usd): (Option<f64>, Option<f64>), caps: BudgetCaps) -> Self {
        let mut declared = amounts(&settings.budgets);
        let flags = [(BudgetScope::Run, run_usd), (BudgetScope::Turn, turn_usd)];
        for (scope, amount) in flags.into_iter().filter_map(|(scope, amount)| Some((scope, amount?))) {
            let limit = declared.entry((scope, BudgetUnit::Usd)).or_insert(amount);
            *limit = limit.min(amount);
        }
        Self { declared, raised: BTreeMap::new(), caps }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Whether other processes spend of one of them.
    pub(super) fn has_shared(&self) -> bool {
        self.all().any(|(scope, _)| !scope.is_own())
    }

    /// The budgets in force, the most specific first.
    pub(super) fn all(&self) -> impl Iterator<Item = (BudgetScope, BudgetAmount)> {
        let units = [BudgetUnit::Usd, BudgetUnit::Tokens];
        let keys = SCOPES.into_iter().flat_map(move |scope| units.map(|unit| (scope, unit)));
        keys.filter_map(|key| {
            let declared = self.declared.get(&key).copied();
            let amount = self.raised.get(&key).copied().unwrap_or(declared)?;
            Some((key.0, BudgetAmount { unit: key.1, amount }))
        })
    }
}

fn amounts(settings: &BudgetSettings) -> BTreeMap<(BudgetScope, BudgetUnit), f64> {
    let usd = |amount: Option<f64>| (BudgetUnit::Usd, amount);
    let tokens = |amount: Option<u32>| (BudgetUnit::Tokens, amount.map(f64::from));
    let all = [
        (BudgetScope::Turn, usd(settings.turn_usd)),
        (BudgetScope::Session, usd(settings.session_usd)),
        (BudgetScope::ProjectDay, usd(settings.project_daily_usd)),
        (BudgetScope::Day, usd(settings.daily_usd)),
        (BudgetScope::Month, usd(settings.monthly_usd)),
        (BudgetScope::Turn, tokens(settings.turn_tokens)),
        (BudgetScope::Session, tokens(settings.session_tokens)),
        (BudgetScope::ProjectDay, tokens(settings.project_daily_tokens)),
        (BudgetScope::Day, tokens(settings.daily_tokens)),
        (BudgetScope::Month, tokens(settings.monthly_tokens)),
    ];
    all.into_iter().filter_map(|(scope, (unit, amount))| Some(((scope, unit), amount?))).collect()
}
