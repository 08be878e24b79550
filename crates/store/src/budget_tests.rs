use super::*;

const DAY: &str = "2026-03-04";
const NOW: u64 = 1_772_600_000_000;

fn usd(usd: f64) -> Spending {
    Spending { usd, tokens: 10 }
}

fn reserve(ledger: &mut BudgetLedger, project: &str, most: f64) -> ReservationId {
    ledger.reserve((DAY, project, NOW), usd(most), |_| true).unwrap().0.unwrap()
}

fn day(ledger: &mut BudgetLedger) -> (f64, f64) {
    let totals = ledger.totals(DAY, "p", NOW).unwrap();
    (totals.day.spent.usd, totals.day.reserved.usd)
}

/// [LNG-33]
#[test]
fn processes_see_what_others_reserve_and_spend() {
    let home = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (BudgetLedger::new(home.path()), BudgetLedger::new(home.path()));
    assert_eq!(day(&mut one), (0.0, 0.0));
    let first = reserve(&mut one, "p", 4.0);
    let second = reserve(&mut two, "q", 1.0);
    assert_eq!((day(&mut one), day(&mut two)), ((0.0, 5.0), (0.0, 5.0)));
    one.note(&first, usd(0.5)).unwrap();
    assert_eq!(day(&mut two), (0.5, 4.5), "what is spent is no longer reserved");
    one.settle(&first, usd(1.5)).unwrap();
    two.settle(&second, usd(0.25)).unwrap();
    assert_eq!((day(&mut one), day(&mut two)), ((1.75, 0.0), (1.75, 0.0)));
    let totals = one.totals(DAY, "p", NOW).unwrap();
    assert_eq!((totals.project_day.spent.usd, totals.month.spent.usd, totals.day.spent.tokens), (1.5, 1.75, 20));
}

/// [LNG-32] Days are told apart; the month sums them.
#[test]
fn the_month_holds_its_days() {
    let home = tempfile::tempdir().unwrap();
    let mut ledger = BudgetLedger::new(home.path());
    for (other, spent) in [("2026-02-28", 100.0), ("2026-03-01", 1.0), ("2026-03-03", 2.0), ("2026-03-05", 50.0)] {
        let id = ledger.reserve((other, "p", NOW), usd(9.0), |_| true).unwrap().0.unwrap();
        ledger.settle(&id, usd(spent)).unwrap();
    }
    let open = reserve(&mut ledger, "p", 9.0);
    ledger.settle(&open, usd(4.0)).unwrap();
    let totals = ledger.totals(DAY, "p", NOW).unwrap();
    assert_eq!((totals.day.spent.usd, totals.month.spent.usd), (4.0, 7.0));
}

/// [LNG-33] What a dead process may still have spent is given back; what it certainly spent is not.
#[test]
fn a_death_releases_a_reservation() {
    let home = tempfile::tempdir().unwrap();
    let here = LedgerOwner::this_process();
    let gone = LedgerOwner { start: "1".into(), ..here.clone() };
    let elsewhere = LedgerOwner { domain: "another machine".into(), ..gone.clone() };
    let mut dead = BudgetLedger::new(home.path()).owned_by(gone);
    let id = reserve(&mut dead, "p", 4.0);
    dead.note(&id, usd(0.5)).unwrap();
    let mut living = BudgetLedger::new(home.path());
    assert_eq!(day(&mut living), (0.5, 0.0));
    reserve(&mut BudgetLedger::new(home.path()).owned_by(elsewhere), "p", 2.0);
    assert_eq!(day(&mut living), (0.5, 2.0), "nobody knows whether it lives");
    let later = living.totals(DAY, "p", NOW + LEASE_MS).unwrap();
    assert_eq!((later.day.spent.usd, later.day.reserved.usd), (0.5, 0.0), "until its time is over");
}

/// [LNG-33] A refused reservation leaves no trace, and the judge sees the totals before it.
#[test]
fn a_refusal_reserves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut ledger = BudgetLedger::new(home.path());
    reserve(&mut ledger, "p", 4.0);
    let mut seen = 0.0;
    let (refused, totals) = ledger
        .reserve((DAY, "p", NOW), usd(1.0), |totals| {
            seen = totals.day.reserved.usd;
            false
        })
        .unwrap();
    assert_eq!((refused, seen, totals.day.reserved.usd), (None, 4.0, 4.0));
    assert_eq!(day(&mut ledger), (0.0, 4.0));
}

/// [LNG-33] A line that was cut short by a kill or a full disk hides no other.
#[test]
fn a_broken_line_hides_no_other() {
    let home = tempfile::tempdir().unwrap();
    let mut ledger = BudgetLedger::new(home.path());
    let first = reserve(&mut ledger, "p", 4.0);
    let path = home.path().join("budgets").join(format!("{DAY}.jsonl"));
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"\n{\"kind\":\"reserve\",\"id\":").unwrap();
    assert_eq!(day(&mut ledger), (0.0, 4.0));
    ledger.settle(&first, usd(1.0)).unwrap();
    assert_eq!(day(&mut ledger), (1.0, 0.0));
    assert_eq!(day(&mut BudgetLedger::new(home.path())), (1.0, 0.0));
}

/// [LNG-35]
#[test]
fn one_process_of_the_day_tells() {
    let home = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (BudgetLedger::new(home.path()), BudgetLedger::new(home.path()));
    reserve(&mut one, "p", 1.0);
    assert!(one.tell_once(DAY, "day usd 5").unwrap());
    assert!(!two.tell_once(DAY, "day usd 5").unwrap());
    assert!(two.tell_once(DAY, "day usd 9").unwrap(), "another limit is news");
}
