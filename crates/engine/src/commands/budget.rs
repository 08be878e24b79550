//! `/budget`: shows the budgets in force, and sets one for the rest of the process.

use super::CommandReply;
use crate::session::LiveSession;
use session_parts::budgets::{BudgetAmount, BudgetScope, BudgetUnit};
use std::fmt::Write;
use std::sync::Arc;

const USAGE: &str = "Usage: /budget [turn|run|session|project|day|month] [amount|off], for example /budget day 20 or \
                     /budget turn 200k tokens. It applies until gimlet exits; the setting `budgets` applies always.";

pub(super) async fn run(session: &mut LiveSession, arguments: &str) -> CommandReply {
    session.set_budgets();
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match words.split_first() {
        None => CommandReply::for_user(list(session).await),
        Some((scope, amount)) => match set(session, scope, &amount.join(" ")) {
            Ok(()) => CommandReply::for_user(list(session).await),
            Err(why) => CommandReply::refused(why),
        },
    }
}

fn set(session: &LiveSession, scope: &str, amount: &str) -> Result<(), String> {
    let scope = BudgetScope::parse(scope).ok_or(USAGE)?;
    let budgets = session.io.output.ledger.budgets();
    if amount == "off" {
        return [BudgetUnit::Usd, BudgetUnit::Tokens].into_iter().try_for_each(|unit| budgets.raise(scope, unit, None));
    }
    let BudgetAmount { unit, amount } = BudgetAmount::parse(amount).ok_or(USAGE)?;
    budgets.raise(scope, unit, Some(amount))
}

async fn list(session: &LiveSession) -> String {
    let budgets = Arc::clone(session.io.output.ledger.budgets());
    // The ledger is a file that other processes lock.
    let rows = tokio::task::spawn_blocking(move || budgets.status()).await.unwrap_or_default();
    if rows.is_empty() {
        return format!("No budget is set.\n{USAGE}");
    }
    let mut text = String::from("Budgets:");
    for row in rows {
        let share = row.spent / row.limit.amount * 100.0;
        write!(text, "\n  {}: {} of {} ({share:.0} %)", row.scope.name(), row.limit.with(row.spent), row.limit).ok();
        if let Some(cap) = row.cap {
            write!(text, ", at most {}", row.limit.with(cap)).ok();
        }
    }
    write!(text, "\n{USAGE}").ok();
    text
}
