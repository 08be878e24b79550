//! Records whether a request opened a new connection or reused one. A server may close an idle connection at any time,
//! also while the next request is on its way; only a request on a reused connection can fail for that reason.

use std::cell::Cell;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    static HAS_DIALLED: Cell<bool>;
}

/// Runs `exchange`; also returns whether a connection was opened for it.
pub(crate) async fn with_dial_flag<T>(exchange: impl Future<Output = T>) -> (T, bool) {
    HAS_DIALLED.scope(Cell::new(false), async { (exchange.await, HAS_DIALLED.with(Cell::get)) }).await
}

/// Records every new connection for the request that opens it. The client library connects inside the future of the
/// request, never in a separate task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialLayer;

#[derive(Clone, Debug)]
pub(crate) struct DialService<S>(S);

impl<S> Layer<S> for DialLayer {
    type Service = DialService<S>;

    fn layer(&self, inner: S) -> DialService<S> {
        DialService(inner)
    }
}

impl<R, S: Service<R>> Service<R> for DialService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, target: R) -> S::Future {
        // Outside of `with_dial_flag` there is no flag to set.
        HAS_DIALLED.try_with(|dialled| dialled.set(true)).ok();
        self.0.call(target)
    }
}
