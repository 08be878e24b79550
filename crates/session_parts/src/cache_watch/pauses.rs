//! Which life of the cache the pauses of a session make cheaper.

use model::CacheTtl;
use std::collections::VecDeque;

const WINDOW_MS: u64 = 60 * 60_000;
/// Prices in multiples of the input price: writing for five minutes, writing for an hour, reading.
const WRITE_SHORT: f64 = 1.25;
const WRITE_LONG: f64 = 2.0;
const READ: f64 = 0.1;

/// The answers of the last hour.
#[derive(Debug, Default)]
pub(super) struct PauseRecord(VecDeque<CachedAnswer>);

#[derive(Clone, Copy, Debug)]
struct CachedAnswer {
    at_ms: u64,
    /// Tokens that were in the cache after it.
    cached: u64,
}

impl PauseRecord {
    pub(super) fn record(&mut self, at_ms: u64, cached: u64) {
        while self.0.front().is_some_and(|first| first.at_ms + WINDOW_MS < at_ms) {
            self.0.pop_front();
        }
        self.0.push_back(CachedAnswer { at_ms, cached });
    }

    /// The longer life costs more for everything that is written; it saves writing everything again after a pause that
    /// the shorter one does not outlive.
    pub(super) fn cheapest_life(&self, now_ms: u64) -> CacheTtl {
        let recent = || self.0.iter().filter(|answer| answer.at_ms + WINDOW_MS >= now_ms);
        let (mut extra, mut saved) = (0.0, 0.0);
        let mut before: Option<CachedAnswer> = None;
        for answer in recent() {
            let known = before.map_or(0, |before| before.cached);
            extra += answer.cached.saturating_sub(known) as f64 * (WRITE_LONG - WRITE_SHORT);
            if let Some(before) = before {
                saved += saving(before, answer.at_ms);
            }
            before = Some(*answer);
        }
        // The pause that is about to end.
        saved += before.map_or(0.0, |before| saving(before, now_ms));
        if saved > extra { CacheTtl::Hour } else { CacheTtl::FiveMinutes }
    }
}

fn saving(before: CachedAnswer, next_ms: u64) -> f64 {
    let pause = next_ms.saturating_sub(before.at_ms);
    let outlives = (CacheTtl::FiveMinutes.millis()..CacheTtl::Hour.millis()).contains(&pause);
    if outlives { before.cached as f64 * (WRITE_SHORT - READ) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn life(answers: &[(u64, u64)], now: u64) -> CacheTtl {
        let mut record = PauseRecord::default();
        for (minute, cached) in answers {
            record.record(minute * MINUTE, *cached);
        }
        record.cheapest_life(now * MINUTE)
    }

    /// [LNG-29] `cacheTtl: "auto"`
    #[test]
    fn the_longer_life_is_used_where_pauses_make_it_cheaper() {
        let busy: Vec<(u64, u64)> = (0..20).map(|n| (n, 10_000 + n * 1_000)).collect();
        assert_eq!(life(&busy, 20), CacheTtl::FiveMinutes, "no pause is long");
        let slow = [(0, 50_000), (10, 55_000), (20, 60_000)];
        assert_eq!(life(&slow, 30), CacheTtl::Hour);
        assert_eq!(life(&[(0, 50_000)], 90), CacheTtl::FiveMinutes, "an hour would not have been enough");
        assert_eq!(life(&[], 0), CacheTtl::FiveMinutes);
        assert_eq!(life(&slow, 200), CacheTtl::FiveMinutes, "long ago");
    }
}
