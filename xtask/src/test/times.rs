//! The last duration of each test, stored below `target`: the queue starts the slow ones first.

use super::queue::TestRun;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Last duration of each test in milliseconds, by full name.
pub(super) type TestTimes = BTreeMap<String, u64>;

fn file(root: &Path) -> PathBuf {
    crate::steps::target_folder(root).join("test-times.json")
}

/// Reads the stored durations; empty when there was no earlier run.
pub(super) fn load(root: &Path) -> TestTimes {
    let text = std::fs::read_to_string(file(root)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Merges the new durations into the earlier ones and stores them. A failure to write affects only the order of the
/// next run.
pub(super) fn save(root: &Path, mut times: TestTimes, runs: &[TestRun]) {
    times.extend(runs.iter().map(|run| (run.name.clone(), run.took.as_millis() as u64)));
    let text = serde_json::to_string(&times).unwrap_or_default();
    if let Err(error) = std::fs::write(file(root), text) {
        println!("   the times of the tests could not be written: {error}");
    }
}
