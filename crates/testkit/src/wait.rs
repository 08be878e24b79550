//! Waits for conditions that nothing announces, such as files and processes of others. Every wait has a limit and fails
//! with what it waited for. This is the only place where tests sleep.

use std::time::{Duration, Instant};

const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Blocks until `look` succeeds; returns its value. The error says what is still missing.
pub fn wait_for<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    loop {
        match look() {
            Ok(value) => return value,
            Err(missing) => assert!(Instant::now() < deadline, "waited in vain: {missing}"),
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Blocks until `holds` is true.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(|| holds().then_some(()).ok_or_else(|| what.to_owned()));
}

/// As [`wait_until`], while the other tasks of the runtime go on.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Lets time pass, for tests that strike at a random moment, show that nothing happens for a while, or act slowly.
/// Never a wait for something to happen.
pub fn let_pass(time: Duration) {
    std::thread::sleep(time);
}
