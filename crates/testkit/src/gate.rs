//! A gate between server and test: before each chunk of a gated reply, the server waits until the test lets it
//! continue.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

#[derive(Clone, Debug)]
pub struct ReplyGate {
    inner: Arc<GateInner>,
}

#[derive(Debug)]
struct GateInner {
    permits: Semaphore,
    reached: Mutex<usize>,
    changed: Condvar,
}

impl Default for ReplyGate {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplyGate {
    pub fn new() -> Self {
        Self {
            inner: Arc::new(GateInner { permits: Semaphore::new(0), reached: Mutex::new(0), changed: Condvar::new() }),
        }
    }

    /// Lets one more chunk through.
    pub fn open(&self) {
        self.inner.permits.add_permits(1);
    }

    /// Lets `count` more chunks through.
    pub fn open_for(&self, count: usize) {
        self.inner.permits.add_permits(count);
    }

    /// Lets all chunks through from now on.
    pub fn open_all(&self) {
        self.inner.permits.close();
    }

    /// Blocks until the server has reached this gate `count` times in total. By then `count - 1` chunks have been
    /// written to the socket.
    pub fn wait_until_reached(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut reached = self.inner.reached.lock().unwrap();
        while *reached < count {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the gate was reached {reached} times, not {count}");
            reached = self.inner.changed.wait_timeout(reached, left).unwrap().0;
        }
    }

    pub(crate) async fn pass(&self) {
        *self.inner.reached.lock().unwrap() += 1;
        self.inner.changed.notify_all();
        if let Ok(permit) = self.inner.permits.acquire().await {
            permit.forget();
        }
    }
}
