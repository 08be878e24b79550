//! How long each test took the last time, kept below `target`: the queue starts the slow ones first.

use super::queue::TestRun;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Full name of a test and its last duration in milliseconds.
pub(super) type TestTimes = BTreeMap<String, u64>;

fn file(root: &Path) -> PathBuf {
    crate::steps::target_folder(root).join("test-times.json")
}

/// Empty when there was no earlier run.
pub(super) fn load(root: &Path) -> TestTimes {
    let text = std::fs::read_to_string(file(root)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Joins the new durations to the earlier ones. A failure to write costs the next run its order only.
pub(super) fn save(root: &Path, mut times: TestTimes, runs: &[TestRun]) {
    times.extend(runs.iter().map(|run| (run.name.clone(), run.took.as_millis() as u64)));
    let text = serde_json::to_string(&times).unwrap_or_default();
    if let Err(error) = std::fs::write(file(root), text) {
        println!("   the times of the tests could not be written: {error}");
    }
}
