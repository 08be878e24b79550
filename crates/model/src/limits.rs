//! What response headers say about the limits of the account.

/// The limits as of one response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateLimits {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// Which limit is the nearest: `five_hour`, `requests`, …
    pub kind: Option<String>,
    /// Seconds since the epoch.
    pub resets_at: Option<u64>,
    /// The used share, from 0 to 1.
    pub utilization: Option<f64>,
    pub overage_status: Option<String>,
    pub overage_resets_at: Option<u64>,
    pub overage_disabled_reason: Option<String>,
    pub is_using_overage: Option<bool>,
}

const UNIFIED: &str = "anthropic-ratelimit-unified-";
const PLAIN: &str = "anthropic-ratelimit-";
/// The limits of accounts without a plan.
const KINDS: [&str; 4] = ["requests", "input-tokens", "output-tokens", "tokens"];

impl RateLimits {
    /// Reads headers in lower case; `None` when none of them is about limits. `rejected`: the response refuses the
    /// request because of a limit.
    pub fn read<'a>(headers: &(impl Iterator<Item = (&'a str, &'a str)> + Clone), rejected: bool) -> Option<Self> {
        let find = |name: &str| headers.clone().find(|(known, _)| *known == name).map(|(_, value)| value.trim());
        let unified = |name: &str| find(&format!("{UNIFIED}{name}"));
        if let Some(status) = unified("status") {
            let claim = unified("representative-claim");
            let share = claim.and_then(short_name).and_then(|short| unified(&format!("{short}-utilization")));
            return Some(Self {
                status: if rejected { "rejected" } else { status }.to_owned(),
                kind: claim.map(str::to_owned),
                resets_at: unified("reset").and_then(seconds),
                utilization: share.or_else(|| unified("utilization")).and_then(|share| share.parse().ok()),
                overage_status: unified("overage-status").map(str::to_owned),
                overage_resets_at: unified("overage-reset").and_then(seconds),
                overage_disabled_reason: unified("overage-disabled-reason").map(str::to_owned),
                is_using_overage: unified("overage-in-use").and_then(|used| used.parse().ok()),
            });
        }
        // Such limits refill all the time: only a refusal is news.
        let spent = |kind: &&str| find(&format!("{PLAIN}{kind}-remaining")) == Some("0");
        let kind = KINDS.into_iter().find(|kind| rejected && spent(kind))?;
        Some(Self {
            status: "rejected".to_owned(),
            kind: Some(kind.replace('-', "_")),
            resets_at: find(&format!("{PLAIN}{kind}-reset")).and_then(seconds),
            ..Self::default()
        })
    }

    /// Whether somebody who knows `before` should be told.
    pub fn is_news(&self, before: Option<&Self>) -> bool {
        let rounded = |limits: &Self| {
            let share = limits.utilization.map(|share| (share * 100.0).round() / 100.0);
            Self { utilization: share, ..limits.clone() }
        };
        before.is_none_or(|before| rounded(before) != rounded(self))
    }
}

/// The name of a plan's limit in other headers.
fn short_name(claim: &str) -> Option<&'static str> {
    match claim {
        "five_hour" => Some("5h"),
        "seven_day" => Some("7d"),
        _ => None,
    }
}

/// Seconds since the epoch, from a number or a date.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| Some(sys::clock::parse_iso(text)?.div_ceil(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)], rejected: bool) -> Option<RateLimits> {
        RateLimits::read(&headers.iter().copied(), rejected)
    }

    /// [LNG-37] [SDK-159]
    #[test]
    fn limits_of_a_plan_are_read() {
        let headers = [
            ("anthropic-ratelimit-unified-status", "allowed_warning"),
            ("anthropic-ratelimit-unified-reset", "1767400000"),
            ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
            ("anthropic-ratelimit-unified-5h-utilization", "0.9"),
            ("anthropic-ratelimit-unified-7d-utilization", "0.2"),
            ("anthropic-ratelimit-unified-overage-status", "rejected"),
        ];
        let limits = read(&headers, false).unwrap();
        assert_eq!((limits.status.as_str(), limits.kind.as_deref()), ("allowed_warning", Some("five_hour")));
        assert_eq!((limits.resets_at, limits.utilization), (Some(1_767_400_000), Some(0.9)));
        assert_eq!(limits.overage_status.as_deref(), Some("rejected"));
        assert_eq!(read(&headers, true).unwrap().status, "rejected");
        assert_eq!(read(&[("request-id", "r")], true), None);
    }

    /// [LNG-37]
    #[test]
    fn limits_without_a_plan_count_when_they_refuse() {
        let headers = [
            ("anthropic-ratelimit-requests-remaining", "7"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:00:00Z"),
        ];
        assert_eq!(read(&headers, false), None);
        let limits = read(&headers, true).unwrap();
        assert_eq!((limits.kind.as_deref(), limits.resets_at), (Some("input_tokens"), Some(1_767_225_600)));
    }

    /// [LNG-37]
    #[test]
    fn only_a_change_is_news() {
        let limits = |share| RateLimits { utilization: Some(share), ..RateLimits::default() };
        assert!(limits(0.5).is_news(None));
        assert!(!limits(0.5).is_news(Some(&limits(0.501))));
        assert!(limits(0.5).is_news(Some(&limits(0.52))));
        let rejected = RateLimits { status: "rejected".into(), ..limits(0.5) };
        assert!(rejected.is_news(Some(&limits(0.5))));
    }
}
