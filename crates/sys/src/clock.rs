//! Wall-clock time. Durations are measured with `std::time::Instant`, which needs no seam.

#![expect(clippy::disallowed_methods, reason = "this is the one place the clock is read")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// `2026-01-01T00:00:00.000Z`
pub fn now_iso() -> String {
    iso(now_ms())
}

/// RFC 3339 with milliseconds and `Z`, for a time in milliseconds since the epoch.
pub fn iso(ms: u64) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX)).unwrap_or_default();
    format!("{time:.3}")
}

/// Local calendar date, `2026-01-01`. Loads the time-zone database once: call it where a millisecond does not matter.
pub fn today() -> String {
    jiff::Zoned::now().date().to_string()
}

/// Milliseconds since the epoch of an RFC 3339 text.
pub fn parse_iso(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

/// Milliseconds since the epoch of a date in the form of HTTP headers, `Wed, 21 Oct 2015 07:28:00 GMT`.
pub fn parse_http_date(text: &str) -> Option<u64> {
    let time = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_a_z() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_767_225_600_007), "2026-01-01T00:00:00.007Z");
        assert!(now_iso().ends_with('Z') && now_iso().len() == 24);
        assert_eq!(today().len(), 10);
        assert_eq!(parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480_000));
    }
}
