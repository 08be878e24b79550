//! The recorded figures, and the gate of the test command that compares a short run with them.

use super::report::{self, slip_rows, total};
use super::run::{Backend, Finished};
use super::{budgets, run_all, task};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use testkit::clumsy::Clumsiness;

const FILE: &str = "eval/baseline.json";
/// The seed of the short run.
const GATE_SEED: u64 = 1;
/// A share may be lower than recorded by this many points.
const TOLERATED_POINTS: f64 = 1.0;

/// Writes the figures; of a run of several seeds also those of the gate, and the budgets.
pub(super) fn write(file: &Path, binary: &Path, runs: &[Finished], is_whole: bool) -> Result<()> {
    let mut value = report::json(runs);
    if is_whole {
        let tasks = report::by_task(runs).len();
        value["gate"] = report::json(&runs[..tasks]);
        value["budgets"] = budgets::json(binary)?;
    }
    std::fs::write(file, format!("{}\n", serde_json::to_string_pretty(&value)?))
        .with_context(|| file.display().to_string())
}

/// The short form: every task once. Fails when a task that passed no longer does, when slips are recovered from less often
/// than recorded, when a wrong change is made, or when a budget is exceeded further.
pub(crate) fn gate(root: &Path, binary: &Path) -> Result<()> {
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(root.join(FILE)).context(FILE)?)?;
    let tasks = task::load(root, None)?;
    let jobs: Vec<(usize, &task::Task, u64)> = tasks.iter().map(|task| (0, task, GATE_SEED)).collect();
    let runs = run_all(&jobs, &[binary], |seed| Backend::Clumsy(Clumsiness { seed, percent: 35 }))?;
    report::print_tasks(&runs);
    report::print_slips(&slip_rows(&runs));
    let mut wrong = differences(&recorded["gate"], &runs);
    wrong.extend(budgets::over(binary, &recorded["budgets"])?);
    if !wrong.is_empty() {
        bail!(
            "worse than {FILE}:\n  {}\nIf that is meant: cargo xtask eval --json {FILE}, and say why in the change.",
            wrong.join("\n  ")
        );
    }
    Ok(())
}

/// What is worse than recorded.
fn differences(recorded: &Value, runs: &[Finished]) -> Vec<String> {
    let mut wrong = Vec::new();
    for run in runs {
        let passed = recorded["tasks"][&run.task]["passed"].as_u64() == Some(1);
        if !run.passed && (passed || recorded["tasks"][&run.task].is_null()) {
            wrong.push(format!("{} fails: {}", run.task, run.said));
        }
        if !run.wrong.is_empty() {
            wrong.push(format!("{}: wrong changes in {}", run.task, run.wrong.join(", ")));
        }
    }
    let now = total(&slip_rows(runs)).recovered_at_1();
    let before = recorded["recovered_at_1_percent"].as_f64().unwrap_or(0.0);
    if now < before - TOLERATED_POINTS {
        wrong.push(format!("recovered with at most one further call: {now:.1} %, recorded are {before:.1} %"));
    }
    wrong
}

/// The figures of the budgets, to be recorded.
pub(super) fn rows_json(rows: &[(String, u64)]) -> Value {
    let pairs = rows.iter().map(|(name, bytes)| (name.clone(), json!(bytes)));
    Value::Object(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::measure::Measures;

    fn finished(task: &str, passed: bool, wrong: &[&str]) -> Finished {
        Finished {
            task: task.into(),
            passed,
            said: "said".into(),
            partial: None,
            wrong: wrong.iter().map(ToString::to_string).collect(),
            given_up: Vec::new(),
            slips: Vec::new(),
            measures: Measures::default(),
            changed: None,
        }
    }

    // [MX-41] [MX-42] The gate names what became worse, and tolerates what was recorded as failing.
    #[test]
    fn the_gate_compares_with_what_was_recorded() {
        let recorded = json!({"tasks": {"a": {"passed": 1}, "b": {"passed": 0}}, "recovered_at_1_percent": 80.0});
        assert!(differences(&recorded, &[finished("a", true, &[]), finished("b", false, &[])]).is_empty());
        assert_eq!(differences(&recorded, &[finished("a", false, &[])]), ["a fails: said"]);
        assert_eq!(differences(&recorded, &[finished("new", false, &[])]), ["new fails: said"]);
        assert_eq!(differences(&recorded, &[finished("b", true, &["x.py"])]), ["b: wrong changes in x.py"]);
        let better = json!({"tasks": {}, "recovered_at_1_percent": 101.5});
        assert_eq!(differences(&better, &[]).len(), 1);
    }
}
