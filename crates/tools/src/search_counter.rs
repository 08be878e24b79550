//! The number of web searches of a session.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many searches a session made, with all of its agents.
#[derive(Debug, Default)]
pub struct SearchCounter(AtomicU64);

impl SearchCounter {
    /// Counts one search; false when the limit is reached.
    pub(crate) fn take(&self, limit: u64) -> bool {
        let within = |used| (used < limit).then_some(used + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }
}
