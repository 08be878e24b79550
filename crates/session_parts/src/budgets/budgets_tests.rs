use super::*;
use serde_json::json;
use std::collections::BTreeMap as Map;
use wire::settings::Settings;

const MODEL: &str = "claude-sonnet-4-5";

fn settings(budgets: &serde_json::Value) -> Settings {
    serde_json::from_value(json!({ "budgets": budgets })).unwrap()
}

fn budgets(home: &std::path::Path, limits: &serde_json::Value) -> Arc<SpendingBudgets> {
    let budgets = SpendingBudgets::new(Arc::default(), home, home.to_owned());
    budgets.set_limits(BudgetLimits::new(&settings(limits), (None, None), BudgetCaps::default()));
    Arc::new(budgets)
}

fn request() -> ModelRequest {
    ModelRequest::new(MODEL, 100_000, Arc::default())
}

/// Sends a request that costs `usd`.
async fn spend(budgets: &Arc<SpendingBudgets>, usd: f64) -> Result<(), ModelError> {
    let mut permit = BudgetGate(Arc::clone(budgets)).admit(&request()).await?;
    permit.spent(MODEL, &worth(usd));
    Ok(())
}

/// Usage that costs so much: output is 15 dollars per million.
fn worth(usd: f64) -> Usage {
    Usage { output_tokens: (usd / 15.0 * 1e6).round() as u64, ..Usage::default() }
}

/// [LNG-32] Every scope stops the next request, in money and in tokens, and names itself.
#[tokio::test]
async fn a_used_up_budget_stops_the_next_request() {
    for (key, scope) in [
        ("turnUsd", "of a turn"),
        ("sessionUsd", "of this session"),
        ("projectDailyUsd", "of this project"),
        ("dailyUsd", "for today"),
        ("monthlyUsd", "of this month"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let budgets = budgets(home.path(), &json!({ key: 3.0 }));
        spend(&budgets, 1.5).await.unwrap();
        assert_eq!(budgets.exhausted(), None);
        spend(&budgets, 1.75).await.unwrap();
        let error = spend(&budgets, 0.1).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Budget);
        assert!(error.message.contains(scope) && error.message.contains("$3.25 of $3.00"), "{key}: {error}");
        assert!(budgets.exhausted().is_some());
    }
    let home = tempfile::tempdir().unwrap();
    let budgets = budgets(home.path(), &json!({"dailyTokens": 150_000}));
    spend(&budgets, 3.0).await.unwrap();
    let error = spend(&budgets, 0.1).await.unwrap_err();
    assert!(error.message.contains("200,000 tokens of 150,000 tokens"), "{error}");
}

/// [LNG-32] A request whose input alone costs more than what is left is not sent at all.
#[tokio::test]
async fn a_request_that_would_surely_exceed_a_budget_is_not_sent() {
    let home = tempfile::tempdir().unwrap();
    let budgets = budgets(home.path(), &json!({"turnUsd": 0.01}));
    let long = "word ".repeat(100_000);
    let request = ModelRequest { messages: vec![model::Message::user_text(&long)], ..request() };
    let error = BudgetGate(Arc::clone(&budgets)).admit(&request).await.unwrap_err();
    assert!(error.message.contains("$0.00 of $0.0100"), "{error}");
}

/// [LNG-32] Budgets of a turn and of a conversation begin anew; a day goes on.
#[tokio::test]
async fn budgets_begin_anew_with_what_they_are_about() {
    let home = tempfile::tempdir().unwrap();
    let budgets = budgets(home.path(), &json!({"turnUsd": 1.0, "sessionUsd": 2.0, "dailyUsd": 3.0}));
    spend(&budgets, 1.0).await.unwrap();
    let stopped = |error: ModelError| error.message;
    assert!(spend(&budgets, 0.1).await.map_err(stopped).unwrap_err().contains("of a turn"));
    budgets.begin_turn();
    spend(&budgets, 1.0).await.unwrap();
    budgets.begin_turn();
    assert!(spend(&budgets, 0.1).await.map_err(stopped).unwrap_err().contains("of this session"));
    budgets.begin_session();
    spend(&budgets, 1.0).await.unwrap();
    budgets.begin_session();
    assert!(spend(&budgets, 0.1).await.map_err(stopped).unwrap_err().contains("for today"));
}

/// [LNG-32] [LNG-33] Two requests that together could exceed a budget go one after the other: over it by one at most.
#[tokio::test]
async fn requests_near_a_limit_wait_for_each_other() {
    let home = tempfile::tempdir().unwrap();
    let budgets = budgets(home.path(), &json!({"turnUsd": 2.0}));
    let gate = BudgetGate(Arc::clone(&budgets));
    let request = request();
    let mut first = gate.admit(&request).await.unwrap();
    let second = budgets.consider(budgets.price(&request)).unwrap();
    assert!(matches!(second, Admission::Wait), "each may cost 1.50");
    first.spent(MODEL, &worth(1.2));
    drop(first);
    let mut second = gate.admit(&request).await.unwrap();
    second.spent(MODEL, &worth(1.2));
    drop(second);
    assert!(gate.admit(&request).await.is_err());
}

/// [LNG-33] A request that was never answered costs nothing.
#[tokio::test]
async fn what_was_not_answered_is_given_back() {
    let home = tempfile::tempdir().unwrap();
    let budgets = budgets(home.path(), &json!({"dailyUsd": 1.0}));
    for _ in 0..5 {
        drop(BudgetGate(Arc::clone(&budgets)).admit(&request()).await.unwrap());
    }
    let rows = budgets.status();
    assert_eq!((rows[0].scope, rows[0].spent), (BudgetScope::Day, 0.0));
}

/// [LNG-35] 80 % is told once, also when another process reaches it.
#[tokio::test]
async fn a_budget_that_is_nearly_used_up_is_told_once() {
    let home = tempfile::tempdir().unwrap();
    let limits = json!({"dailyUsd": 10.0});
    let (one, two) = (budgets(home.path(), &limits), budgets(home.path(), &limits));
    spend(&one, 7.0).await.unwrap();
    assert_eq!(one.take_notices(), [""; 0]);
    spend(&one, 1.5).await.unwrap();
    let told = one.take_notices();
    assert_eq!(told, ["85 % of the budget for today is used: $8.50 of $10.00. See /budget."]);
    spend(&one, 0.1).await.unwrap();
    spend(&two, 0.1).await.unwrap();
    assert_eq!((one.take_notices(), two.take_notices()), (Vec::new(), Vec::new()));
}

/// [LNG-35] A budget can be raised, but not above what the administrator allows; new settings do not undo it.
#[tokio::test]
async fn a_budget_is_raised_within_the_caps() {
    let home = tempfile::tempdir().unwrap();
    let budgets = SpendingBudgets::new(Arc::default(), home.path(), home.path().to_owned());
    let managed = json!({"budgets": {"dailyUsd": 5.0}});
    let caps = BudgetCaps::of_settings(managed.as_object());
    let limits = BudgetLimits::new(&settings(&json!({"dailyUsd": 1.0, "turnUsd": 1.0})), (None, None), caps);
    budgets.set_limits(limits.clone());
    let budgets = Arc::new(budgets);
    spend(&budgets, 1.0).await.unwrap();
    assert!(spend(&budgets, 0.1).await.is_err());
    let raise = |scope, amount| budgets.raise(scope, BudgetUnit::Usd, amount);
    assert!(raise(BudgetScope::Day, Some(6.0)).unwrap_err().contains("$5.00 for today at most"));
    assert!(raise(BudgetScope::Day, None).is_err(), "no limit is above every limit");
    raise(BudgetScope::Day, Some(5.0)).unwrap();
    raise(BudgetScope::Turn, None).unwrap();
    budgets.set_limits(limits);
    spend(&budgets, 1.0).await.unwrap();
    let limits: Map<_, _> = budgets.status().into_iter().map(|row| (row.scope, row.limit.amount)).collect();
    assert_eq!(limits, Map::from([(BudgetScope::Day, 5.0)]));
}

/// [LNG-32] The flags are budgets too; of two the lower counts.
#[test]
fn flags_and_settings_are_joined() {
    let limits = BudgetLimits::new(&settings(&json!({"turnUsd": 5.0})), (Some(2.0), Some(9.0)), BudgetCaps::default());
    let all: Vec<(BudgetScope, f64)> = limits.all().map(|(scope, limit)| (scope, limit.amount)).collect();
    assert_eq!(all, [(BudgetScope::Turn, 5.0), (BudgetScope::Run, 2.0)]);
}

#[test]
fn amounts_are_read_as_people_write_them() {
    let read = |text| BudgetAmount::parse(text).map(|amount| (amount.unit, amount.amount));
    assert_eq!(read("5"), Some((BudgetUnit::Usd, 5.0)));
    assert_eq!(read("$2.50"), Some((BudgetUnit::Usd, 2.5)));
    assert_eq!(read("200k tokens"), Some((BudgetUnit::Tokens, 200_000.0)));
    assert_eq!(read("1.5M tokens"), Some((BudgetUnit::Tokens, 1_500_000.0)));
    for wrong in ["", "0", "-1", "much", "$", "k", "inf"] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}
