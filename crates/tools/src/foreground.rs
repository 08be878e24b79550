//! Calls that a person may move to the background. A call registers here while it is waited for; releasing it ends
//! the wait, not the call.

use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

type WaitingCalls = Mutex<BTreeMap<String, CancellationToken>>;

#[derive(Clone, Debug, Default)]
pub struct ForegroundCalls(Arc<WaitingCalls>);

/// A call that is waited for, until this value is dropped.
#[derive(Debug)]
pub struct ForegroundCall {
    waiting: Arc<WaitingCalls>,
    id: String,
    release_token: CancellationToken,
}

fn lock(waiting: &WaitingCalls) -> MutexGuard<'_, BTreeMap<String, CancellationToken>> {
    waiting.lock()
}

impl ForegroundCalls {
    /// Registers the call `id`; from now on it can be released.
    pub fn enter(&self, id: &str) -> ForegroundCall {
        let requested = CancellationToken::new();
        lock(&self.0).insert(id.to_owned(), requested.clone());
        ForegroundCall { waiting: Arc::clone(&self.0), id: id.to_owned(), release_token: requested }
    }

    /// Releases one call, or all with `None`; returns false when there was none.
    pub fn release(&self, only: Option<&str>) -> bool {
        let mut any = false;
        for (id, requested) in lock(&self.0).iter() {
            if only.is_none_or(|only| only == id) {
                requested.cancel();
                any = true;
            }
        }
        any
    }
}

impl ForegroundCall {
    /// Resolves when a person moves the call to the background.
    pub async fn released(&self) {
        self.release_token.cancelled().await;
    }
}

impl Drop for ForegroundCall {
    fn drop(&mut self) {
        lock(&self.waiting).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_is_waited_for_can_be_let_go() {
        let foreground = ForegroundCalls::default();
        assert!(!foreground.release(None));
        let (a, b) = (foreground.enter("a"), foreground.enter("b"));
        assert!(!foreground.release(Some("c")) && foreground.release(Some("a")));
        a.released().await;
        assert!(!b.release_token.is_cancelled());
        drop((a, b));
        assert!(!foreground.release(None));
    }
}
