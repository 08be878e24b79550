//! Control requests whose answer takes a while. Each gets at most one answer; one that the host withdraws, or repeats
//! under the same id, gets none.

use std::collections::BTreeMap;
use tokio::task::{AbortHandle, JoinSet};
use wire::control::ControlResponse;

#[derive(Default)]
pub(super) struct RequestJobs {
    running: JoinSet<(String, ControlResponse)>,
    handles: BTreeMap<String, AbortHandle>,
}

impl RequestJobs {
    /// `work` ends with the answer.
    pub(super) fn start(&mut self, request_id: String, work: impl Future<Output = ControlResponse> + Send + 'static) {
        self.abort(&request_id);
        let id = request_id.clone();
        let handle = self.running.spawn(async move { (id, work.await) });
        self.handles.insert(request_id, handle);
    }

    pub(super) fn abort(&mut self, request_id: &str) {
        if let Some(handle) = self.handles.remove(request_id) {
            handle.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// The next answer; `None` when nothing is under way.
    pub(super) async fn next(&mut self) -> Option<ControlResponse> {
        loop {
            match self.running.join_next().await? {
                Ok((id, response)) => {
                    self.handles.remove(&id);
                    return Some(response);
                }
                Err(error) if error.is_cancelled() => {}
                Err(error) => {
                    tracing::error!(%error, "a control request failed");
                    let id = error.id();
                    self.handles.retain(|_, handle| handle.id() != id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_host_takes_back_is_not_answered() {
        // [SDK-95]
        let mut jobs = RequestJobs::default();
        jobs.start("a".into(), std::future::pending());
        let answer = |text: &str| ControlResponse::success("b", serde_json::json!(text));
        let (first, second) = (answer("first"), answer("second"));
        jobs.start("b".into(), async { first });
        jobs.start("b".into(), async { second });
        jobs.abort("a");
        assert_eq!(jobs.next().await, Some(answer("second")), "asked again, answered once");
        assert_eq!((jobs.next().await, jobs.is_empty()), (None, true));
    }
}
