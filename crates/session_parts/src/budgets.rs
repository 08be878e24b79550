//! Budgets of money and tokens. Every paid request of a session and of its agents passes [`SpendingGate::admit`]
//! before it is sent: what it may cost at most is reserved, and what it did cost is counted when it has ended. A request
//! that would surely exceed a budget is not sent. One that might exceed it together with others waits for them, so a
//! budget is exceeded by at most one reservation.

mod limits;
mod permit;
mod scope;

pub use limits::{BudgetCaps, BudgetLimits};
pub use scope::{BudgetAmount, BudgetScope, BudgetUnit};

use model::catalog;
use model::spending::{AdmissionFuture, SpendingGate};
use model::{CacheTtl, ErrorKind, ModelCatalog, ModelError, ModelRequest};
use permit::Permit;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::budget::{BudgetLedger, LedgerTotal, LedgerTotals, ReservationId, Spending};
use sys::sync::Mutex;
use wire::usage::Usage;

/// How often a waiting request looks again whether others have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// The share of a budget at which somebody is told.
const WARN_SHARE: f64 = 0.8;
/// An estimate of tokens may be wrong by so much.
const SURELY: f64 = 0.7;
const AT_MOST: f64 = 1.2;

/// A budget that is used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExhaustedBudget {
    pub scope: BudgetScope,
    pub limit: BudgetAmount,
    /// In the unit of the limit.
    pub spent: f64,
}

impl std::fmt::Display for ExhaustedBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scope, limit, spent } = self;
        write!(f, "The budget {} is used up: {} of {limit}.", scope.of(), limit.with(*spent))
    }
}

/// One line of `/budget`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetStatus {
    pub scope: BudgetScope,
    pub limit: BudgetAmount,
    pub spent: f64,
    pub cap: Option<f64>,
}

/// The budgets of a session and its agents.
#[derive(Debug)]
pub struct SpendingBudgets {
    catalog: Arc<ModelCatalog>,
    cwd: PathBuf,
    /// The repository of `cwd`, or `cwd`; found when a budget needs it.
    project: OnceLock<String>,
    /// Held while a request is considered and reserved, so that two are not judged at once.
    admission: Mutex<()>,
    state: Mutex<BudgetState>,
    /// Locked longer than `state`, because it reads and writes a file.
    ledger: Mutex<BudgetLedger>,
}

#[derive(Debug, Default)]
struct BudgetState {
    limits: BudgetLimits,
    turn: Spending,
    /// This process.
    run: Spending,
    session: Spending,
    /// Reservations of open requests, less what they have spent.
    open: BTreeMap<u64, Spending>,
    next_id: u64,
    /// The totals of all processes, as far as this one knows.
    shared: LedgerTotals,
    /// The budget that stopped the last request of this turn.
    stopped: Option<ExhaustedBudget>,
    told: BTreeSet<String>,
    notices: Vec<String>,
}

/// What may happen to a request.
enum Admission {
    Go(Option<ReservationId>),
    /// Other requests may use up what is left.
    Wait,
    Stop(ExhaustedBudget),
}

/// What a request costs at least and at most.
#[derive(Clone, Copy, Debug)]
struct RequestPrice {
    least: Spending,
    most: Spending,
}

impl SpendingBudgets {
    /// `home` holds the ledger that all processes share.
    pub fn new(catalog: Arc<ModelCatalog>, home: &Path, cwd: PathBuf) -> Self {
        let ledger = Mutex::new(BudgetLedger::new(home));
        let (project, admission, state) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Self { catalog, cwd, project, admission, state, ledger }
    }

    fn project(&self) -> &str {
        self.project.get_or_init(|| {
            let root = sys::git::root(&self.cwd).and_then(|root| sys::git::main_checkout(&root).or(Some(root)));
            root.as_ref().unwrap_or(&self.cwd).display().to_string()
        })
    }

    /// Sets the budgets in force; what was raised by hand stays raised.
    pub fn set_limits(&self, limits: BudgetLimits) {
        let mut state = self.state.lock();
        let raised = std::mem::take(&mut state.limits.raised);
        state.limits = limits;
        state.limits.raised = raised;
    }

    /// What earlier processes spent on this session.
    pub fn continue_session(&self, earlier: Spending) {
        self.state.lock().session = earlier;
    }

    /// A new conversation in the same process.
    pub fn begin_session(&self) {
        let mut state = self.state.lock();
        (state.run, state.session, state.turn) = (Spending::default(), Spending::default(), Spending::default());
    }

    pub fn begin_turn(&self) {
        let mut state = self.state.lock();
        state.turn = Spending::default();
        state.stopped = None;
    }

    /// The first budget that is used up, as far as this process knows.
    pub fn exhausted(&self) -> Option<ExhaustedBudget> {
        let state = self.state.lock();
        state.limits.all().find_map(|(scope, limit)| {
            let spent = limit.unit.of(&state.total(scope).spent);
            (spent >= limit.amount).then_some(ExhaustedBudget { scope, limit, spent })
        })
    }

    /// The budget that is used up, or that stopped a request of this turn because the request would have exceeded it.
    pub fn stopped_by(&self) -> Option<ExhaustedBudget> {
        self.exhausted().or_else(|| self.state.lock().stopped)
    }

    /// Warnings that a budget is nearly used up, each returned once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().notices)
    }

    /// All budgets and what was spent of them. Reads the ledger; blocking.
    pub fn status(&self) -> Vec<BudgetStatus> {
        if self.state.lock().limits.has_shared() {
            let totals = self.ledger.lock().totals(&sys::clock::today(), self.project(), sys::clock::now_ms());
            match totals {
                Ok(totals) => self.state.lock().shared = totals,
                Err(error) => tracing::warn!(%error, "the ledger of budgets could not be read"),
            }
        }
        let state = self.state.lock();
        let row = |(scope, limit): (BudgetScope, BudgetAmount)| BudgetStatus {
            scope,
            limit,
            spent: limit.unit.of(&state.total(scope).spent),
            cap: state.limits.caps.of(scope, limit.unit),
        };
        state.limits.all().map(row).collect()
    }

    /// Sets a budget for the rest of this process; `None` removes it. Not above what the administrator allows.
    pub fn raise(&self, scope: BudgetScope, unit: BudgetUnit, amount: Option<f64>) -> Result<(), String> {
        let mut state = self.state.lock();
        if let Some(cap) = state.limits.caps.of(scope, unit)
            && amount.is_none_or(|amount| amount > cap)
        {
            let cap = BudgetAmount { unit, amount: cap };
            return Err(format!("The administrator allows {cap} {} at most.", scope.of()));
        }
        state.limits.raised.insert((scope, unit), amount);
        state.stopped = None;
        Ok(())
    }

    /// The highest amount that a budget may be raised to; `None` for no limit.
    pub fn cap(&self, scope: BudgetScope, unit: BudgetUnit) -> Option<f64> {
        self.state.lock().limits.caps.of(scope, unit)
    }

    fn price(&self, request: &ModelRequest) -> RequestPrice {
        let input = model::estimate::request(request);
        let facts = self.catalog.lookup(&request.model);
        let usd = |usage: &Usage| catalog::cost(usage, &facts).unwrap_or(0.0);
        let scaled = |share: f64| (input as f64 * share) as u64;
        let (surely, at_most) = (scaled(SURELY), scaled(AT_MOST));
        let least = Usage { cache_read_input_tokens: surely, ..Usage::default() };
        let mut most = Usage { output_tokens: request.max_tokens, ..Usage::default() };
        match request.cache.as_ref().map(|plan| plan.life.moving.max(plan.life.fixed)) {
            None => most.input_tokens = at_most,
            Some(life) => {
                most.cache_creation_input_tokens = at_most;
                match life {
                    CacheTtl::FiveMinutes => most.cache_creation.ephemeral_5m_input_tokens = at_most,
                    CacheTtl::Hour => most.cache_creation.ephemeral_1h_input_tokens = at_most,
                }
            }
        }
        RequestPrice {
            least: Spending { usd: usd(&least), tokens: surely },
            most: Spending { usd: usd(&most), tokens: at_most + request.max_tokens },
        }
    }

    /// Decides about a request, and reserves when it may go.
    fn consider(&self, price: RequestPrice) -> Result<Admission, ModelError> {
        let has_shared = {
            let state = self.state.lock();
            match state.judge(&state.shared, BudgetScope::is_own, price) {
                Verdict::Go => state.limits.has_shared(),
                Verdict::Wait => return Ok(Admission::Wait),
                Verdict::Stop(budget) => return Ok(Admission::Stop(budget)),
            }
        };
        if !has_shared {
            return Ok(Admission::Go(None));
        }
        let place = (sys::clock::today(), sys::clock::now_ms());
        let mut verdict = Verdict::Go;
        let reserved = self.ledger.lock().reserve((&place.0, self.project(), place.1), price.most, |totals| {
            verdict = self.state.lock().judge(totals, |scope| !scope.is_own(), price);
            matches!(verdict, Verdict::Go)
        });
        let (reservation, totals) = reserved.map_err(|error| {
            ModelError::new(
                ErrorKind::Budget,
                format!(
                    "A daily or monthly budget is set, and its ledger cannot be kept ({error}), so no request is sent. \
                     Make the folder writable, or remove the budget."
                ),
            )
        })?;
        self.state.lock().shared = totals;
        Ok(match verdict {
            Verdict::Go => Admission::Go(reservation),
            Verdict::Wait => Admission::Wait,
            Verdict::Stop(budget) => Admission::Stop(budget),
        })
    }

    fn open(self: &Arc<Self>, price: RequestPrice, reservation: Option<ReservationId>) -> Permit {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.open.insert(id, price.most);
        Permit::new(Arc::clone(self), id, reservation, price.most)
    }

    /// Counts `more` for an open request, which may spend `rest` in addition.
    fn count(&self, id: u64, more: Spending, rest: Option<Spending>) {
        let mut locked = self.state.lock();
        let state = &mut *locked;
        match rest {
            Some(rest) => drop(state.open.insert(id, rest)),
            None => drop(state.open.remove(&id)),
        }
        for sum in [&mut state.turn, &mut state.run, &mut state.session] {
            *sum += more;
        }
        let shared = &mut state.shared;
        for total in [&mut shared.project_day, &mut shared.day, &mut shared.month] {
            total.spent += more;
        }
    }

    /// Prepares warnings about budgets that are nearly used up.
    fn warn(&self) {
        let near: Vec<(BudgetScope, BudgetAmount, f64)> = {
            let state = self.state.lock();
            let spent = |scope, limit: BudgetAmount| limit.unit.of(&state.total(scope).spent);
            let all = state.limits.all().map(|(scope, limit)| (scope, limit, spent(scope, limit)));
            all.filter(|(_, limit, spent)| (limit.amount * WARN_SHARE..limit.amount).contains(spent)).collect()
        };
        for (scope, limit, spent) in near {
            let name = format!("{} {limit}", scope.name());
            if !self.state.lock().told.insert(name.clone()) {
                continue;
            }
            let is_first = scope.is_own() || {
                let told = self.ledger.lock().tell_once(&sys::clock::today(), &name);
                told.inspect_err(|error| tracing::warn!(%error, "the ledger of budgets could not be read"))
                    .unwrap_or(true)
            };
            if is_first {
                let text = format!(
                    "{:.0} % of the budget {} is used: {} of {limit}. See /budget.",
                    spent / limit.amount * 100.0,
                    scope.of(),
                    limit.with(spent)
                );
                self.state.lock().notices.push(text);
            }
        }
    }
}

enum Verdict {
    Go,
    Wait,
    Stop(ExhaustedBudget),
}

impl BudgetState {
    fn total(&self, scope: BudgetScope) -> LedgerTotal {
        let reserved = || {
            let mut sum = Spending::default();
            for open in self.open.values() {
                sum += *open;
            }
            sum
        };
        match scope {
            BudgetScope::Turn => LedgerTotal { spent: self.turn, reserved: reserved() },
            BudgetScope::Run => LedgerTotal { spent: self.run, reserved: reserved() },
            BudgetScope::Session => LedgerTotal { spent: self.session, reserved: reserved() },
            BudgetScope::ProjectDay | BudgetScope::Day | BudgetScope::Month => {
                scope.shared().map(|shared| *self.shared.of(shared)).unwrap_or_default()
            }
        }
    }

    /// Judges the budgets of those scopes, with these totals of all processes.
    fn judge(&self, shared: &LedgerTotals, judged: impl Fn(BudgetScope) -> bool, price: RequestPrice) -> Verdict {
        let mut verdict = Verdict::Go;
        for (scope, limit) in self.limits.all().filter(|(scope, _)| judged(*scope)) {
            let total = scope.shared().map_or_else(|| self.total(scope), |of| *shared.of(of));
            let of = |spending: &Spending| limit.unit.of(spending);
            let (spent, others) = (of(&total.spent), of(&total.reserved));
            if spent >= limit.amount || spent + of(&price.least) > limit.amount {
                return Verdict::Stop(ExhaustedBudget { scope, limit, spent });
            }
            if others > 0.0 && spent + others + of(&price.most) > limit.amount {
                verdict = Verdict::Wait;
            }
        }
        verdict
    }
}

/// The gate of a session, for its client.
#[derive(Debug, Clone)]
pub struct BudgetGate(pub Arc<SpendingBudgets>);

impl SpendingGate for BudgetGate {
    fn admit<'a>(&'a self, request: &'a ModelRequest) -> AdmissionFuture<'a> {
        Box::pin(async move {
            let budgets = &self.0;
            if budgets.state.lock().limits.is_empty() {
                let none = RequestPrice { least: Spending::default(), most: Spending::default() };
                return Ok(Box::new(budgets.open(none, None)) as Box<_>);
            }
            let price = budgets.price(request);
            loop {
                let asked = Arc::clone(budgets);
                // The lock of the ledger may have to be waited for.
                let considered = tokio::task::spawn_blocking(move || {
                    let _alone = asked.admission.lock();
                    let admission = asked.consider(price)?;
                    Ok::<_, ModelError>(match admission {
                        Admission::Go(reservation) => Ok(asked.open(price, reservation)),
                        Admission::Wait => Err(None),
                        Admission::Stop(budget) => {
                            asked.state.lock().stopped = Some(budget);
                            Err(Some(budget))
                        }
                    })
                });
                let considered = considered.await.map_err(|e| ModelError::new(ErrorKind::Budget, e.to_string()))??;
                match considered {
                    Ok(permit) => return Ok(Box::new(permit) as Box<_>),
                    Err(Some(budget)) => return Err(ModelError::new(ErrorKind::Budget, budget.to_string())),
                    Err(None) => tokio::time::sleep(LOOK_AGAIN).await,
                }
            }
        })
    }
}

#[cfg(test)]
#[path = "budgets/budgets_tests.rs"]
mod tests;
