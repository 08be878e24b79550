//! Calls that a person may move to the background. A call registers here while it is waited for; releasing it ends
//! the wait, not the call.

use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

type WaitingCalls = Mutex<BTreeMap<String, WaitingCall>>;

#[derive(Debug)]
struct WaitingCall {
    release_token: CancellationToken,
    is_of_agent: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ForegroundCalls(Arc<WaitingCalls>);

/// A call that is waited for, until this value is dropped.
#[derive(Debug)]
pub struct ForegroundCall {
    waiting: Arc<WaitingCalls>,
    id: String,
    release_token: CancellationToken,
}

fn lock(waiting: &WaitingCalls) -> MutexGuard<'_, BTreeMap<String, WaitingCall>> {
    waiting.lock()
}

impl ForegroundCalls {
    /// Registers the call `id` of the main thread or of the agent `agent`; from now on it can be released.
    pub fn enter(&self, id: &str, agent: Option<&str>) -> ForegroundCall {
        let release_token = CancellationToken::new();
        let call = WaitingCall { release_token: release_token.clone(), is_of_agent: agent.is_some() };
        lock(&self.0).insert(id.to_owned(), call);
        ForegroundCall { waiting: Arc::clone(&self.0), id: id.to_owned(), release_token }
    }

    /// Releases one call, or with `None` all of the main thread, or those of agents when there are no others: an agent that
    /// moves takes its calls along. Returns false when there was none.
    pub fn release(&self, only: Option<&str>) -> bool {
        let calls = lock(&self.0);
        let has_main = calls.values().any(|call| !call.is_of_agent);
        let mut any = false;
        for (id, call) in calls.iter() {
            if only.map_or(!(has_main && call.is_of_agent), |only| only == id) {
                call.release_token.cancel();
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
        let (a, b) = (foreground.enter("a", None), foreground.enter("b", None));
        assert!(!foreground.release(Some("c")) && foreground.release(Some("a")));
        a.released().await;
        assert!(!b.release_token.is_cancelled());
        let inner = foreground.enter("inner", Some("agent"));
        assert!(foreground.release(None));
        assert!(b.release_token.is_cancelled() && !inner.release_token.is_cancelled());
        drop((a, b));
        assert!(foreground.release(None) && inner.release_token.is_cancelled());
        drop(inner);
        assert!(!foreground.release(None));
    }
}
