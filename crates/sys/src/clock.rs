//! Wall-clock time. Durations are measured with `std::time::Instant` directly.

#![expect(clippy::disallowed_methods, reason = "this is the one place the clock is read")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// The current time as `2026-01-01T00:00:00.000Z`.
pub fn now_iso() -> String {
    iso(now_ms())
}

/// Formats milliseconds since the epoch as RFC 3339 with milliseconds and `Z`. Times after the year 9999 have no such
/// form and are written as the epoch.
pub fn iso(ms: u64) -> String {
    let ms = if ms < END_OF_9999_MS { ms } else { 0 };
    let (days, in_day) = (ms / DAY_MS, ms % DAY_MS);
    let (year, month, day) = civil(i64::try_from(days).unwrap_or(0));
    let (hour, minute, second) = (in_day / HOUR_MS, in_day / MINUTE_MS % 60, in_day / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// The local date as `2026-01-01`. The first call loads the time zone: do not call it where a millisecond matters.
pub fn today() -> String {
    local_day(now_ms())
}

/// The local date of a time in milliseconds since the epoch, as `2026-01-01`. As `today`, it may load the time zone.
pub fn local_day(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(0);
    let (year, month, day) = local_date(seconds).unwrap_or_else(|| civil(seconds.div_euclid(86_400)));
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date so many days before `day`; `None` when that is not a date.
pub fn days_before(day: &str, days: u32) -> Option<String> {
    let noon = parse_iso(&format!("{day}T12:00:00Z"))?;
    Some(iso(noon.checked_sub(u64::from(days) * DAY_MS)?)[..10].to_owned())
}

/// The local weekday and the offset of the time zone, `Thursday, UTC+01:00`. As `today`, it may load the time zone.
pub fn weekday_and_zone() -> Option<String> {
    const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let parts = local_parts(i64::try_from(now_ms() / 1000).ok()?)?;
    let minutes = parts.tm_gmtoff / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let day = DAYS.get(usize::try_from(parts.tm_wday).ok()?)?;
    Some(format!("{day}, UTC{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60))
}

fn local_date(seconds: i64) -> Option<(i64, i64, i64)> {
    let parts = local_parts(seconds)?;
    Some((i64::from(parts.tm_year) + 1900, i64::from(parts.tm_mon) + 1, i64::from(parts.tm_mday)))
}

fn local_parts(seconds: i64) -> Option<libc::tm> {
    let time: libc::time_t = seconds;
    let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid for the call, and all bytes of a zeroed `tm` are a value of it.
    unsafe {
        if libc::localtime_r(&raw const time, parts.as_mut_ptr()).is_null() {
            return None;
        }
        Some(parts.assume_init())
    }
}

/// Parses RFC 3339 into milliseconds since the epoch. Seconds may be missing; `None` for times before the epoch.
pub fn parse_iso(text: &str) -> Option<u64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let mut fields = date.split('-');
    let (year, month, day) = (number(fields.next()?, 4)?, number(fields.next()?, 2)?, number(fields.next()?, 2)?);
    if fields.next().is_some() || !rest.starts_with(['T', 't', ' ']) {
        return None;
    }
    let rest = &rest[1..];
    let (time, offset) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
    let (time, fraction) = time.split_once(['.', ',']).map_or((time, None), |(time, digits)| (time, Some(digits)));
    let seconds = seconds_at(year, month, day, time)? - parse_offset(offset)?;
    u64::try_from(seconds * 1000 + fraction.map_or(Some(0), milliseconds)?).ok()
}

/// Parses the date of an HTTP header, `Wed, 21 Oct 2015 07:28:00 GMT`, into milliseconds since the epoch.
pub fn parse_http_date(text: &str) -> Option<u64> {
    let text = text.split_once(',').map_or(text, |(_weekday, rest)| rest);
    let mut words = text.split_ascii_whitespace();
    let day = words.next().filter(|day| (1..=2).contains(&day.len())).and_then(|day| number(day, day.len()))?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))?;
    let year = number(words.next()?, 4)?;
    let seconds = seconds_at(year, i64::try_from(month).ok()? + 1, day, words.next()?)?;
    let offset = match words.next()? {
        "GMT" | "UT" | "UTC" | "Z" => 0,
        numeric => parse_offset(numeric)?,
    };
    if words.next().is_some() {
        return None;
    }
    u64::try_from((seconds - offset) * 1000).ok()
}

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
const END_OF_9999_MS: u64 = 253_402_300_800_000;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses exactly `digits` ASCII digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The milliseconds of a fraction of a second: its first three digits.
fn milliseconds(digits: &str) -> Option<i64> {
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    let all = number(digits, digits.len())?;
    Some(all * 1_000_000_000 / 10_i64.pow(u32::try_from(digits.len()).ok()?) / 1_000_000)
}

/// Parses `Z`, `+05:30`, `+0530` or `-08` into seconds east of UTC.
fn parse_offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = &text[1..];
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "00"),
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Seconds since the epoch of a date and `hh:mm` or `hh:mm:ss`. A leap second counts as the second before it.
fn seconds_at(year: i64, month: i64, day: i64, time: &str) -> Option<i64> {
    let mut fields = time.split(':');
    let (hour, minute) = (number(fields.next()?, 2)?, number(fields.next()?, 2)?);
    let second = fields.next().map_or(Some(0), |second| number(second, 2))?;
    let days = days_since_epoch(year, month, day);
    let exists = (1..=12).contains(&month) && day >= 1 && civil(days) == (year, month, day);
    if !exists || fields.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days * 86_400 + hour * 3600 + minute * 60 + second.min(59))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last day of a year. An era is 400 years; all eras have the same length.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970-01-01: the inverse of [`days_since_epoch`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_a_z() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_767_225_600_007), "2026-01-01T00:00:00.007Z");
        assert_eq!(iso(END_OF_9999_MS - 1), "9999-12-31T23:59:59.999Z");
        assert_eq!(iso(u64::MAX), iso(0));
        assert!(now_iso().ends_with('Z') && now_iso().len() == 24);
        assert_eq!(today().len(), 10);
    }

    #[test]
    fn days_are_counted_back() {
        assert_eq!(days_before("2026-03-01", 1).as_deref(), Some("2026-02-28"));
        assert_eq!(days_before("2024-03-01", 366).as_deref(), Some("2023-03-01"));
        assert_eq!(days_before("2024-02-30", 1), None);
        assert_eq!(days_before("1970-01-01", 1), None);
    }

    #[test]
    fn every_day_of_four_centuries_is_written_and_read_back() {
        let last = END_OF_9999_MS / DAY_MS;
        for day in (0..146_097).chain(last - 400..last) {
            let (ms, text) = (day * DAY_MS, iso(day * DAY_MS));
            assert_eq!(parse_iso(&text), Some(ms), "{text}");
            let (before, now) = (civil(i64::try_from(day).unwrap() - 1), civil(i64::try_from(day).unwrap()));
            let follows = now.1 == before.1 && now.2 == before.2 + 1 || now.1 == before.1 % 12 + 1 && now.2 == 1;
            assert!(follows && (now.2 > 1 || before.2 >= 28), "{text}");
        }
        assert_eq!(parse_iso("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
        assert_eq!(parse_iso("2000-02-29T00:00:00Z"), Some(951_782_400_000));
    }

    #[test]
    fn forms_of_rfc_3339_are_read() {
        let noon = 1_767_268_800_000;
        for text in [
            "2026-01-01T12:00:00Z",
            "2026-01-01T12:00Z",
            "2026-01-01 12:00:00z",
            "2026-01-01t17:30:00+05:30",
            "2026-01-01T04:00:00.000-0800",
            "2026-01-01T04:00:00,000000000-08",
        ] {
            assert_eq!(parse_iso(text), Some(noon), "{text}");
        }
        assert_eq!(parse_iso("2026-01-01T12:00:00.1239Z"), Some(noon + 123));
        assert_eq!(parse_iso("2016-12-31T23:59:60Z"), parse_iso("2016-12-31T23:59:59Z"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T12:00:00",
            "2026-1-01T12:00:00Z",
            "2026-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "2026-00-10T12:00:00Z",
            "2026-01-00T12:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T12:60:00Z",
            "2026-01-01T12:00:00.Z",
            "2026-01-01T12:00:00Zz",
            "2026-01-01T12:00:00+5",
            "2026-01-01T12:00:00\u{e9}",
            "\u{e9}026-01-01T12:00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }

    #[test]
    fn dates_of_headers_are_read() {
        let expected = Some(1_445_412_480_000);
        for text in [
            "Wed, 21 Oct 2015 07:28:00 GMT",
            "21 Oct 2015 07:28 UT",
            "Wed, 21 oct 2015 09:28:00 +0200",
            "Wed, 21 Oct 2015 03:28:00 -04:00",
        ] {
            assert_eq!(parse_http_date(text), expected, "{text}");
        }
        for text in
            ["", "Wed", "Wed, 21 Oct 2015 07:28:00", "Wed, 32 Oct 2015 07:28:00 GMT", "21 Okt 2015 07:28:00 GMT"]
        {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
