//! State shared by the reader, the printer and the signal loop: whether a turn is open, and whether stdout may
//! still be written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct TurnCounter {
    submitted: AtomicU64,
    finished: AtomicU64,
    opened: AtomicBool,
    /// No turn runs, but work in the background is waited for.
    waiting: AtomicBool,
    /// Background tasks run.
    background: AtomicBool,
    muted: AtomicBool,
}

impl TurnCounter {
    pub(crate) fn submit(&self) {
        self.submitted.fetch_add(1, Ordering::Relaxed);
    }

    /// Records prompts that were dropped without a turn.
    pub(crate) fn withdraw(&self, prompts: usize) {
        self.finished.fetch_add(prompts as u64, Ordering::Relaxed);
    }

    /// Records `system/init`: a turn runs, with or without a prompt from the host.
    pub(crate) fn open(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }

    pub(crate) fn finish(&self) {
        self.opened.store(false, Ordering::Relaxed);
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn wait(&self) {
        self.waiting.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_background(&self, runs: bool) {
        self.background.store(runs, Ordering::Relaxed);
    }

    /// Whether no turn runs, but tasks that an interrupt would stop.
    pub(crate) fn has_only_background(&self) -> bool {
        !self.is_interruptible() && self.background.load(Ordering::Relaxed)
    }

    /// Whether an interrupt has something to end.
    pub(crate) fn is_interruptible(&self) -> bool {
        self.is_busy() || self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.opened.load(Ordering::Relaxed)
            || self.submitted.load(Ordering::Relaxed) > self.finished.load(Ordering::Relaxed)
    }

    /// Nothing is written to stdout after this call.
    pub(crate) fn mute(&self) {
        self.muted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_muted(&self) -> bool {
        self.muted.load(Ordering::Relaxed)
    }
}
