//! Calls that a person may move to the background. A call registers here while it is waited for; releasing it ends
//! the wait, not the call. The end of the output of a command can be read here while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

type WaitingCalls = Mutex<BTreeMap<String, WaitingCall>>;

#[derive(Debug)]
struct WaitingCall {
    release_token: CancellationToken,
    is_of_agent: bool,
    output: OutputTail,
}

/// How many bytes of an output are kept to be shown while its command runs.
const TAIL_BYTES: usize = 2_048;

/// The end of the output of a running command.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputTail(Arc<Mutex<TailState>>);

#[derive(Debug, Default)]
struct TailState {
    bytes: Vec<u8>,
    has_news: bool,
}

impl OutputTail {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let over = (state.bytes.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        state.bytes.drain(..over);
        state.bytes.extend_from_slice(bytes);
        state.has_news = true;
    }

    fn take_news(&self) -> Option<String> {
        let mut state = self.0.lock();
        std::mem::take(&mut state.has_news).then(|| String::from_utf8_lossy(&state.bytes).into_owned())
    }
}

#[derive(Clone, Debug, Default)]
pub struct ForegroundCalls(Arc<WaitingCalls>);

/// A call that is waited for, until this value is dropped.
#[derive(Debug)]
pub struct ForegroundCall {
    waiting: Arc<WaitingCalls>,
    id: String,
    release_token: CancellationToken,
    output: OutputTail,
}

fn lock(waiting: &WaitingCalls) -> MutexGuard<'_, BTreeMap<String, WaitingCall>> {
    waiting.lock()
}

impl ForegroundCalls {
    /// Registers the call `id` of the main thread or of the agent `agent`; from now on it can be released.
    pub fn enter(&self, id: &str, agent: Option<&str>) -> ForegroundCall {
        let release_token = CancellationToken::new();
        let output = OutputTail::default();
        let call =
            WaitingCall { release_token: release_token.clone(), is_of_agent: agent.is_some(), output: output.clone() };
        lock(&self.0).insert(id.to_owned(), call);
        ForegroundCall { waiting: Arc::clone(&self.0), id: id.to_owned(), release_token, output }
    }

    /// The end of what the call `id` has printed, when there is more than at the last time.
    pub fn take_output(&self, id: &str) -> Option<String> {
        let output = lock(&self.0).get(id)?.output.clone();
        output.take_news()
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
    /// Where the output of the call is shown while it runs.
    pub(crate) fn output(&self) -> OutputTail {
        self.output.clone()
    }

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

    #[test]
    fn the_end_of_an_output_is_told_once_and_bounded() {
        let foreground = ForegroundCalls::default();
        let call = foreground.enter("a", None);
        assert_eq!(foreground.take_output("a"), None);
        call.output().push(b"10 %\r");
        call.output().push(b"20 %");
        assert_eq!(foreground.take_output("a").as_deref(), Some("10 %\r20 %"));
        assert_eq!(foreground.take_output("a"), None);
        call.output().push(&[b'x'; 10_000]);
        assert_eq!(foreground.take_output("a").map(|text| text.len()), Some(TAIL_BYTES));
        drop(call);
        assert_eq!(foreground.take_output("a"), None);
    }

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
