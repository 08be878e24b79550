//! What a budget is about, and amounts.

use std::fmt;
use store::budget::{LedgerScope, Spending};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetScope {
    Turn,
    /// This process: `--max-budget-usd`.
    Run,
    /// The conversation, also its earlier processes.
    Session,
    ProjectDay,
    Day,
    Month,
}

/// The most specific one first.
pub(super) const SCOPES: [BudgetScope; 6] = [
    BudgetScope::Turn,
    BudgetScope::Run,
    BudgetScope::Session,
    BudgetScope::ProjectDay,
    BudgetScope::Day,
    BudgetScope::Month,
];

impl BudgetScope {
    /// As `x_budget` and `/budget` call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Run => "run",
            Self::Session => "session",
            Self::ProjectDay => "project",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        SCOPES.into_iter().find(|scope| scope.name() == name)
    }

    /// Continues the word "budget".
    pub fn of(self) -> &'static str {
        match self {
            Self::Turn => "of a turn",
            Self::Run => "of this run (--max-budget-usd)",
            Self::Session => "of this session",
            Self::ProjectDay => "of this project for today",
            Self::Day => "for today",
            Self::Month => "of this month",
        }
    }

    /// Only this process spends it.
    pub(super) fn is_own(self) -> bool {
        self.shared().is_none()
    }

    /// Its total in the ledger of all processes.
    pub(super) fn shared(self) -> Option<LedgerScope> {
        match self {
            Self::Turn | Self::Run | Self::Session => None,
            Self::ProjectDay => Some(LedgerScope::ProjectDay),
            Self::Day => Some(LedgerScope::Day),
            Self::Month => Some(LedgerScope::Month),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetUnit {
    Usd,
    Tokens,
}

impl BudgetUnit {
    pub(super) fn of(self, spending: &Spending) -> f64 {
        match self {
            Self::Usd => spending.usd,
            Self::Tokens => spending.tokens as f64,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Usd => "usd",
            Self::Tokens => "tokens",
        }
    }
}

/// An amount in US dollars or tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetAmount {
    pub unit: BudgetUnit,
    pub amount: f64,
}

impl BudgetAmount {
    /// Another amount of the same unit.
    #[must_use]
    pub fn with(self, amount: f64) -> Self {
        Self { amount, ..self }
    }

    /// Reads `5`, `$5`, `5.50` or `200k tokens`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (text, unit) = match text.strip_suffix("tokens").or_else(|| text.strip_suffix("token")) {
            Some(number) => (number.trim().to_owned(), BudgetUnit::Tokens),
            None => (text.trim_start_matches('$').trim_end_matches("usd").trim().to_owned(), BudgetUnit::Usd),
        };
        let (number, factor) = match text.as_bytes().last()? {
            b'k' => (&text[..text.len() - 1], 1e3),
            b'm' => (&text[..text.len() - 1], 1e6),
            _ => (text.as_str(), 1.0),
        };
        let amount = number.trim().parse::<f64>().ok()? * factor;
        (amount.is_finite() && amount > 0.0).then_some(Self { unit, amount })
    }
}

impl fmt::Display for BudgetAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            BudgetUnit::Usd if self.amount > 0.0 && self.amount < 0.1 => write!(f, "${:.4}", self.amount),
            BudgetUnit::Usd => write!(f, "${:.2}", self.amount),
            BudgetUnit::Tokens => write!(f, "{} tokens", wire::counting::thousands(self.amount as u64)),
        }
    }
}
