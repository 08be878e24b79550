//! What all processes of a user spend in a day: one append-only file per day below `budgets`. Before a request, what it
//! may cost at most is reserved under a lock; the end of the request records what it did cost. A reservation whose
//! process has died, or whose time is over, counts only with what was certainly spent.

use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::AddAssign;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FOLDER: &str = "budgets";
const LOCK: &str = "lock";
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a reservation counts when nobody can say whether its process still runs.
const LEASE_MS: u64 = 30 * 60_000;

/// An amount in US dollars and in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub usd: f64,
    pub tokens: u64,
}

impl AddAssign for Spending {
    fn add_assign(&mut self, more: Self) {
        self.usd += more.usd;
        self.tokens = self.tokens.saturating_add(more.tokens);
    }
}

/// Which part of the ledger a total is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerScope {
    ProjectDay,
    Day,
    Month,
}

/// What was spent, and what open requests may still spend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LedgerTotal {
    pub spent: Spending,
    /// More than is already counted as spent.
    pub reserved: Spending,
}

/// The totals of the project, the day and the month.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LedgerTotals {
    pub project_day: LedgerTotal,
    pub day: LedgerTotal,
    pub month: LedgerTotal,
}

impl LedgerTotals {
    pub fn of(&self, scope: LedgerScope) -> &LedgerTotal {
        match scope {
            LedgerScope::ProjectDay => &self.project_day,
            LedgerScope::Day => &self.day,
            LedgerScope::Month => &self.month,
        }
    }
}

/// A process, as others recognise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerOwner {
    pub pid: i32,
    pub start: String,
    /// The machine and the namespace of the pid.
    pub domain: String,
}

impl LedgerOwner {
    pub fn this_process() -> Self {
        let pid = sys::pid();
        let start = sys::proc_start(pid).unwrap_or_default();
        Self { pid, start, domain: sys::machine::pid_domain().unwrap_or_default() }
    }
}

/// A reservation of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationId {
    day: String,
    id: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum LedgerLine {
    Reserve {
        id: String,
        /// Milliseconds since the epoch.
        at: u64,
        project: String,
        pid: i32,
        start: String,
        domain: String,
        usd: f64,
        tokens: u64,
    },
    /// What has certainly been spent so far.
    Spent {
        id: String,
        usd: f64,
        tokens: u64,
    },
    Settle {
        id: String,
        usd: f64,
        tokens: u64,
    },
    /// Somebody was told that a budget is nearly used up.
    Told {
        budget: String,
    },
}

#[derive(Clone, Debug)]
struct LedgerEntry {
    at: u64,
    project: String,
    pid: i32,
    start: String,
    domain: String,
    reserved: Spending,
    spent: Spending,
    is_open: bool,
}

/// One day's file, as far as it was read.
#[derive(Debug, Default)]
struct DayLedger {
    offset: u64,
    entries: BTreeMap<String, LedgerEntry>,
    told: Vec<String>,
}

/// The ledger of a user. Blocking.
#[derive(Debug)]
pub struct BudgetLedger {
    dir: PathBuf,
    owner: Option<LedgerOwner>,
    day: String,
    today: DayLedger,
    /// What was spent on the earlier days of the month.
    month_before: Spending,
}

impl BudgetLedger {
    /// Reads nothing yet.
    pub fn new(home: &Path) -> Self {
        Self {
            dir: home.join(FOLDER),
            owner: None,
            day: String::new(),
            today: DayLedger::default(),
            month_before: Spending::default(),
        }
    }

    /// Another owner of the reservations than this process.
    #[must_use]
    pub fn owned_by(mut self, owner: LedgerOwner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The totals of `day` (`2026-01-31`).
    pub fn totals(&mut self, day: &str, project: &str, now_ms: u64) -> Result<LedgerTotals, StoreError> {
        self.refresh(day)?;
        Ok(self.sum(project, now_ms))
    }

    /// Reserves `most` when `admits` agrees to the totals without it. No other process reserves meanwhile. Returns the
    /// reservation and the totals.
    pub fn reserve(
        &mut self,
        (day, project, now_ms): (&str, &str, u64),
        most: Spending,
        admits: impl FnOnce(&LedgerTotals) -> bool,
    ) -> Result<(Option<ReservationId>, LedgerTotals), StoreError> {
        crate::layout::create_private(&self.dir).map_err(|error| self.failed(error))?;
        let path = self.dir.join(LOCK);
        let _held = sys::fs::lock(&path, LOCK_WAIT).map_err(|error| StoreError::write(&path, error))?;
        self.refresh(day)?;
        let totals = self.sum(project, now_ms);
        if !admits(&totals) {
            return Ok((None, totals));
        }
        let owner = self.owner.get_or_insert_with(LedgerOwner::this_process).clone();
        let id = sys::id::uuid();
        self.append(
            day,
            &LedgerLine::Reserve {
                id: id.clone(),
                at: now_ms,
                project: project.to_owned(),
                pid: owner.pid,
                start: owner.start,
                domain: owner.domain,
                usd: most.usd,
                tokens: most.tokens,
            },
        )?;
        Ok((Some(ReservationId { day: day.to_owned(), id }), totals))
    }

    /// Records what a request has certainly spent, before it has ended.
    pub fn note(&self, reservation: &ReservationId, so_far: Spending) -> Result<(), StoreError> {
        let Spending { usd, tokens } = so_far;
        self.append(&reservation.day, &LedgerLine::Spent { id: reservation.id.clone(), usd, tokens })
    }

    /// Ends a reservation.
    pub fn settle(&self, reservation: &ReservationId, spent: Spending) -> Result<(), StoreError> {
        let Spending { usd, tokens } = spent;
        self.append(&reservation.day, &LedgerLine::Settle { id: reservation.id.clone(), usd, tokens })
    }

    /// True for the first process of the day that asks about this budget.
    pub fn tell_once(&mut self, day: &str, budget: &str) -> Result<bool, StoreError> {
        self.refresh(day)?;
        if self.today.told.iter().any(|told| told == budget) {
            return Ok(false);
        }
        self.append(day, &LedgerLine::Told { budget: budget.to_owned() })?;
        Ok(true)
    }

    fn path(&self, day: &str) -> PathBuf {
        self.dir.join(format!("{day}.jsonl"))
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::write(&self.dir, error)
    }

    /// A line begins with a newline, so that one that was cut short does not spoil the next.
    fn append(&self, day: &str, line: &LedgerLine) -> Result<(), StoreError> {
        let path = self.path(day);
        let text = format!("\n{}", serde_json::to_string(line).unwrap_or_default());
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| StoreError::write(&path, error))
    }

    fn refresh(&mut self, day: &str) -> Result<(), StoreError> {
        if self.day != day {
            self.today = DayLedger::default();
            self.month_before = self.earlier_days(day);
            day.clone_into(&mut self.day);
        }
        let path = self.path(day);
        self.today.read(&path).map_err(|error| StoreError::read(&path, error))
    }

    fn earlier_days(&self, day: &str) -> Spending {
        let month = day.get(..8).unwrap_or(day);
        let mut sum = Spending::default();
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(other) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
            if other.starts_with(month) && other < day {
                let mut ledger = DayLedger::default();
                ledger.read(&entry.path()).ok();
                for entry in ledger.entries.values() {
                    sum += entry.spent;
                }
            }
        }
        sum
    }

    fn sum(&self, project: &str, now_ms: u64) -> LedgerTotals {
        let mut totals = LedgerTotals::default();
        let mut living = BTreeMap::new();
        for entry in self.today.entries.values() {
            let counts = entry.is_open
                && *living
                    .entry((entry.pid, &entry.start, &entry.domain, entry.at))
                    .or_insert_with(|| now_ms < entry.at.saturating_add(LEASE_MS) && !is_dead(entry));
            let reserved = if counts { entry.rest() } else { Spending::default() };
            totals.day.spent += entry.spent;
            totals.day.reserved += reserved;
            if entry.project == project {
                totals.project_day.spent += entry.spent;
                totals.project_day.reserved += reserved;
            }
        }
        totals.month = totals.day;
        totals.month.spent += self.month_before;
        totals
    }
}

/// False when that cannot be known, as on another machine.
fn is_dead(entry: &LedgerEntry) -> bool {
    let is_here = !entry.domain.is_empty() && sys::machine::pid_domain().as_deref() == Some(&entry.domain);
    is_here && (!sys::is_alive(entry.pid) || sys::proc_start(entry.pid).is_some_and(|start| start != entry.start))
}

impl LedgerEntry {
    /// What may be spent in addition to what was.
    fn rest(&self) -> Spending {
        Spending {
            usd: (self.reserved.usd - self.spent.usd).max(0.0),
            tokens: self.reserved.tokens.saturating_sub(self.spent.tokens),
        }
    }
}

impl DayLedger {
    /// Reads what was added. A line without an end is read next time.
    fn read(&mut self, path: &Path) -> io::Result<()> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice::<LedgerLine>(line) {
                self.take(line);
            }
        }
        // The last line may be one that another process is writing: it is read again, which changes nothing.
        let complete = memchr::memrchr(b'\n', &text).unwrap_or(0);
        self.offset += complete as u64;
        Ok(())
    }

    fn take(&mut self, line: LedgerLine) {
        match line {
            LedgerLine::Reserve { id, at, project, pid, start, domain, usd, tokens } => {
                let reserved = Spending { usd, tokens };
                let spent = Spending::default();
                self.entries.entry(id).or_insert(LedgerEntry {
                    at,
                    project,
                    pid,
                    start,
                    domain,
                    reserved,
                    spent,
                    is_open: true,
                });
            }
            LedgerLine::Spent { id, usd, tokens } => {
                if let Some(entry) = self.entries.get_mut(&id).filter(|entry| entry.is_open) {
                    entry.spent = Spending { usd, tokens };
                }
            }
            LedgerLine::Settle { id, usd, tokens } => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.spent = Spending { usd, tokens };
                    entry.is_open = false;
                }
            }
            LedgerLine::Told { budget } => {
                if !self.told.contains(&budget) {
                    self.told.push(budget);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
