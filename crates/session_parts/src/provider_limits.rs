//! The limits of the provider: what was last told about them, and waiting until one resets. Shared by a session and
//! its agents.

use model::RateLimits;
use std::time::Duration;
use sys::sync::Mutex;
use wire::sdk::RateLimitInfo;

/// How often a waiting turn looks at the clock: a sleeping machine or a changed clock is noticed so soon.
const LOOK: Duration = Duration::from_secs(30);
/// The time between two that wait for the same limit, so that it is not hit again at once.
const SPACING_MS: u64 = 2_000;

/// `limitWait`, or `--wait-for-limits`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitWait {
    #[default]
    Never,
    Ask,
    Auto,
}

impl LimitWait {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "never" => Self::Never,
            "ask" => Self::Ask,
            "auto" => Self::Auto,
            _ => return None,
        })
    }
}

/// The clock that a wait looks at.
pub trait WaitClock: Sync {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> u64;
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

/// The clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl WaitClock for SystemClock {
    fn now_ms(&self) -> u64 {
        sys::clock::now_ms()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}

#[derive(Debug, Default)]
pub struct ProviderLimits {
    state: Mutex<LimitState>,
}

#[derive(Debug, Default)]
struct LimitState {
    told: Option<RateLimits>,
    policy: LimitWait,
    /// Places of those who wait.
    waiting: Vec<u64>,
}

impl ProviderLimits {
    /// Takes the limits of a response; returns them when they are news.
    pub fn take(&self, limits: RateLimits) -> Option<RateLimitInfo> {
        let mut state = self.state.lock();
        if !limits.is_news(state.told.as_ref()) {
            return None;
        }
        let news = info(&limits);
        state.told = Some(limits);
        Some(news)
    }

    /// What was last told.
    pub fn info(&self) -> Option<RateLimitInfo> {
        self.state.lock().told.as_ref().map(info)
    }

    pub fn set_policy(&self, policy: LimitWait) {
        self.state.lock().policy = policy;
    }

    pub fn policy(&self) -> LimitWait {
        self.state.lock().policy
    }

    /// Waits until `until_ms` by the wall clock, and behind those who already wait. Dropping the future ends the wait.
    pub async fn wait(&self, until_ms: u64, clock: &impl WaitClock) {
        let place = self.enter();
        let wake = until_ms.saturating_add(place.number * SPACING_MS);
        loop {
            let now = clock.now_ms();
            if now >= wake {
                return;
            }
            clock.sleep(Duration::from_millis(wake - now).min(LOOK)).await;
        }
    }

    fn enter(&self) -> WaitingPlace<'_> {
        let mut state = self.state.lock();
        let number =
            (0..=state.waiting.len() as u64).find(|number| !state.waiting.contains(number)).unwrap_or_default();
        state.waiting.push(number);
        WaitingPlace { limits: self, number }
    }
}

struct WaitingPlace<'a> {
    limits: &'a ProviderLimits,
    number: u64,
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.limits.state.lock().waiting.retain(|number| *number != self.number);
    }
}

fn info(limits: &RateLimits) -> RateLimitInfo {
    RateLimitInfo {
        status: limits.status.clone(),
        resets_at: limits.resets_at,
        rate_limit_type: limits.kind.clone(),
        utilization: limits.utilization,
        overage_status: limits.overage_status.clone(),
        overage_resets_at: limits.overage_resets_at,
        overage_disabled_reason: limits.overage_disabled_reason.clone(),
        is_using_overage: limits.is_using_overage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A clock that jumps over every sleep. The machine is suspended during the sleep of that number.
    #[derive(Default)]
    struct VirtualClock {
        now: AtomicU64,
        sleeps: AtomicU64,
        suspended_in: Option<u64>,
        /// Sleeps do not end.
        stands: bool,
    }

    const HOUR_MS: u64 = 3_600_000;

    impl WaitClock for VirtualClock {
        fn now_ms(&self) -> u64 {
            self.now.load(Ordering::Relaxed)
        }

        async fn sleep(&self, duration: Duration) {
            if self.stands {
                std::future::pending::<()>().await;
            }
            let slept = u64::try_from(duration.as_millis()).unwrap();
            let jump =
                if self.suspended_in == Some(self.sleeps.fetch_add(1, Ordering::Relaxed)) { 2 * HOUR_MS } else { 0 };
            self.now.fetch_add(slept + jump, Ordering::Relaxed);
        }
    }

    fn waited(clock: &VirtualClock) -> (u64, u64) {
        ProviderLimits::default().wait(HOUR_MS, clock).now_or_never().unwrap();
        (clock.now_ms(), clock.sleeps.load(Ordering::Relaxed))
    }

    /// [LNG-36] The turn goes on at the reset, and looks at the clock every half minute until then.
    #[test]
    fn a_wait_ends_at_the_reset() {
        assert_eq!(waited(&VirtualClock::default()), (HOUR_MS, 120));
        let over = VirtualClock { now: AtomicU64::new(HOUR_MS + 1), ..VirtualClock::default() };
        assert_eq!(waited(&over), (HOUR_MS + 1, 0));
    }

    /// [LNG-36] A machine that slept, or whose clock was set, goes on at the next look.
    #[test]
    fn a_suspended_machine_goes_on_soon() {
        let clock = VirtualClock { suspended_in: Some(2), ..VirtualClock::default() };
        assert_eq!(waited(&clock).1, 3);
    }

    /// [LNG-36] Those who wait for the same limit go on one after the other; one that was interrupted leaves its place.
    #[test]
    fn several_go_on_one_after_the_other() {
        let limits = ProviderLimits::default();
        let stands = VirtualClock { stands: true, ..VirtualClock::default() };
        let mut first = Box::pin(limits.wait(HOUR_MS, &stands));
        assert!(first.as_mut().now_or_never().is_none());
        let second = VirtualClock::default();
        limits.wait(HOUR_MS, &second).now_or_never().unwrap();
        assert_eq!(second.now_ms(), HOUR_MS + SPACING_MS);
        drop(first);
        let third = VirtualClock::default();
        limits.wait(HOUR_MS, &third).now_or_never().unwrap();
        assert_eq!(third.now_ms(), HOUR_MS);
        assert!(limits.state.lock().waiting.is_empty());
    }

    /// [LNG-37]
    #[test]
    fn a_change_is_told_once() {
        let limits = ProviderLimits::default();
        let response =
            |share| RateLimits { status: "allowed".into(), utilization: Some(share), ..RateLimits::default() };
        assert_eq!(limits.take(response(0.5)).unwrap().utilization, Some(0.5));
        assert_eq!(limits.take(response(0.5)), None);
        assert!(limits.take(response(0.6)).is_some());
        assert_eq!(limits.info().unwrap().utilization, Some(0.6));
    }
}
