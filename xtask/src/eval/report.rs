//! The tables of a run and its figures as JSON.

use super::run::Finished;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::clumsy::{SLIP_NAMES, SlipOutcome};

/// Figures of one slip over all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SlipRow {
    pub(super) sent: u64,
    pub(super) absorbed: u64,
    pub(super) at1: u64,
    pub(super) at2: u64,
    pub(super) at4: u64,
    pub(super) later: u64,
    pub(super) never: u64,
    pub(super) bytes: u64,
    pub(super) wrong: u64,
}

impl SlipRow {
    fn add(&mut self, outcome: SlipOutcome) {
        self.sent += 1;
        let count = match outcome {
            SlipOutcome::Recovered(0) => &mut self.absorbed,
            SlipOutcome::Recovered(1) => &mut self.at1,
            SlipOutcome::Recovered(2) => &mut self.at2,
            SlipOutcome::Recovered(3 | 4) => &mut self.at4,
            SlipOutcome::Recovered(_) => &mut self.later,
            SlipOutcome::Open | SlipOutcome::Never => &mut self.never,
        };
        *count += 1;
    }

    pub(super) fn plus(&mut self, other: &Self) {
        self.sent += other.sent;
        self.absorbed += other.absorbed;
        self.at1 += other.at1;
        self.at2 += other.at2;
        self.at4 += other.at4;
        self.later += other.later;
        self.never += other.never;
        self.bytes += other.bytes;
        self.wrong += other.wrong;
    }

    /// Share of slips recovered from with at most one further call, in percent.
    pub(super) fn recovered_at_1(&self) -> f64 {
        percent(self.absorbed + self.at1, self.sent)
    }
}

pub(super) fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 100.0 } else { 100.0 * part as f64 / all as f64 }
}

/// The rows of all slips, in the order of the table; slips that never came have empty rows.
pub(super) fn slip_rows(runs: &[Finished]) -> Vec<(&'static str, SlipRow)> {
    let mut rows: Vec<(&'static str, SlipRow)> = SLIP_NAMES.iter().map(|name| (*name, SlipRow::default())).collect();
    for run in runs {
        for event in &run.slips {
            let Some((_, row)) = rows.iter_mut().find(|(name, _)| *name == event.slip) else { continue };
            row.add(event.outcome);
            row.bytes += event.bytes() as u64;
            row.wrong += u64::from(event.file.as_ref().is_some_and(|file| run.wrong.contains(file)));
        }
    }
    rows
}

pub(super) fn total(rows: &[(&'static str, SlipRow)]) -> SlipRow {
    let mut all = SlipRow::default();
    for (_, row) in rows {
        all.plus(row);
    }
    all
}

pub(super) fn by_task(runs: &[Finished]) -> BTreeMap<&str, Vec<&Finished>> {
    let mut tasks: BTreeMap<&str, Vec<&Finished>> = BTreeMap::new();
    for run in runs {
        tasks.entry(&run.task).or_default().push(run);
    }
    tasks
}

fn mean(runs: &[&Finished], of: impl Fn(&Finished) -> f64) -> f64 {
    runs.iter().map(|run| of(run)).sum::<f64>() / runs.len().max(1) as f64
}

pub(super) fn print_tasks(runs: &[Finished]) {
    println!(
        "\n{:<28} {:>7} {:>5} {:>5} {:>5} {:>6} {:>6} {:>8} {:>8} {:>6} {:>7} {:>9} {:>6}",
        "task",
        "passed",
        "wrong",
        "steps",
        "calls",
        "failed",
        "repeat",
        "cached",
        "written",
        "out",
        "cost",
        "bodies",
        "wall"
    );
    for (name, runs) in by_task(runs) {
        let passed = runs.iter().filter(|run| run.passed).count();
        let wrong: usize = runs.iter().map(|run| run.wrong.len()).sum();
        let m = |of: fn(&super::measure::Measures) -> f64| mean(&runs, |run| of(&run.measures));
        println!(
            "{name:<28} {:>7} {wrong:>5} {:>5.1} {:>5.1} {:>6.1} {:>6.1} {:>8.0} {:>8.0} {:>6.0} {:>7.4} {:>9.0} {:>5.2}s",
            format!("{passed}/{}", runs.len()),
            m(|m| m.steps as f64),
            m(|m| m.calls as f64),
            m(|m| m.failed as f64),
            m(|m| m.repeats as f64),
            m(|m| m.cached as f64),
            m(|m| m.written as f64),
            m(|m| m.out as f64),
            m(|m| m.cost),
            m(|m| m.body_bytes() as f64),
            m(|m| m.wall.as_secs_f64()),
        );
    }
    let passed = runs.iter().filter(|run| run.passed).count();
    println!("{passed} of {} runs passed ({:.1} %)", runs.len(), percent(passed as u64, runs.len() as u64));
    for run in runs.iter().filter(|run| !run.passed || !run.wrong.is_empty()) {
        let said = run.said.lines().next().unwrap_or_default();
        let steps = run.partial.map_or_else(String::new, |(done, all)| format!(" ({done} of {all} steps)"));
        let wrong = if run.wrong.is_empty() { String::new() } else { format!(" [wrong: {}]", run.wrong.join(", ")) };
        println!("  {} {}{steps}: {said}{wrong}", if run.passed { "passed" } else { "FAILED" }, run.task);
        for call in &run.given_up {
            println!("      gave up: {}", short(call));
        }
    }
}

pub(super) fn print_slips(rows: &[(&'static str, SlipRow)]) {
    println!(
        "\n{:<36} {:>5} {:>9} {:>4} {:>4} {:>4} {:>6} {:>6} {:>8} {:>6}",
        "slip", "sent", "absorbed", "+1", "+2", "+4", "later", "never", "bytes", "wrong"
    );
    let all = total(rows);
    for (name, row) in rows.iter().chain([&("all", all.clone())]) {
        println!(
            "{name:<36} {:>5} {:>9} {:>4} {:>4} {:>4} {:>6} {:>6} {:>8} {:>6}",
            row.sent, row.absorbed, row.at1, row.at2, row.at4, row.later, row.never, row.bytes, row.wrong
        );
    }
    println!(
        "recovered with at most one further call: {:.1} %; dead ends: {:.1} %; wrong changes: {}",
        all.recovered_at_1(),
        percent(all.never, all.sent),
        all.wrong
    );
}

/// Slips that cost more than one further call, the most expensive first, with what the model saw.
pub(super) fn print_costly(runs: &[Finished]) {
    let mut events: Vec<_> = runs.iter().flat_map(|run| run.slips.iter().map(move |event| (run, event))).collect();
    events.retain(|(_, event)| !matches!(event.outcome, SlipOutcome::Recovered(0 | 1)));
    events.sort_by_key(|(_, event)| std::cmp::Reverse((event.outcome == SlipOutcome::Never, event.further.len())));
    for (run, event) in events {
        println!("\n== {} in {}: {:?}", event.slip, run.task, event.outcome);
        println!("-> {}\n<- {}", short(&event.sent), short(&event.result));
        for further in &event.further {
            println!("-> {}\n<- {}", short(&further.call), short(&further.result));
        }
    }
}

fn short(text: &str) -> String {
    const SHOWN: usize = 700;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} […{} bytes]", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

pub(super) fn json(runs: &[Finished]) -> Value {
    let tasks = by_task(runs).into_iter().map(|(name, runs)| {
        let passed = runs.iter().filter(|run| run.passed).count();
        let wrong: usize = runs.iter().map(|run| run.wrong.len()).sum();
        let figure = |of: fn(&super::measure::Measures) -> f64| {
            let value = mean(&runs, |run| of(&run.measures));
            (value * 100.0).round() / 100.0
        };
        let value = json!({"runs": runs.len(), "passed": passed, "wrong": wrong,
            "steps": figure(|m| m.steps as f64), "calls": figure(|m| m.calls as f64),
            "failed": figure(|m| m.failed as f64), "repeats": figure(|m| m.repeats as f64),
            "bodies": figure(|m| m.body_bytes() as f64).round()});
        (name.to_owned(), value)
    });
    let rows = slip_rows(runs);
    let slips = rows.iter().map(|(name, row)| ((*name).to_owned(), row_json(row)));
    let passed = runs.iter().filter(|run| run.passed).count() as u64;
    json!({"success_percent": percent(passed, runs.len() as u64), "runs": runs.len(), "total": row_json(&total(&rows)),
        "recovered_at_1_percent": total(&rows).recovered_at_1(),
        "tasks": tasks.collect::<serde_json::Map<_, _>>(), "slips": slips.collect::<serde_json::Map<_, _>>()})
}

fn row_json(row: &SlipRow) -> Value {
    json!({"sent": row.sent, "absorbed": row.absorbed, "at1": row.at1, "at2": row.at2, "at4": row.at4,
        "later": row.later, "never": row.never, "bytes": row.bytes, "wrong": row.wrong})
}
