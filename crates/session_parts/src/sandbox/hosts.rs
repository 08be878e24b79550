//! Which hosts sandboxed commands may reach. A denial takes precedence; unlisted hosts are refused, because nobody
//! can be asked while a connection waits.

use http::filter::{HostJudge, HostVerdict};
use std::net::Ipv6Addr;

/// `example.com`, `*.example.com` or an address, with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPattern {
    host: String,
    port: Option<u16>,
}

impl HostPattern {
    fn matches(&self, host: &str, port: u16) -> bool {
        if self.port.is_some_and(|wanted| wanted != port) {
            return false;
        }
        match (self.host.parse::<Ipv6Addr>(), host.parse::<Ipv6Addr>()) {
            (Ok(wanted), Ok(given)) => wanted == given,
            _ => permission::host_matches(&self.host, host),
        }
    }
}

/// All interpretations of an entry: `1::2:443` is an address, or an address with a port.
fn parse_patterns(text: &str) -> Vec<HostPattern> {
    let text = text.trim();
    let pattern = |host: &str, port: Option<u16>| HostPattern { host: host.to_owned(), port };
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(port) => port.parse().ok().map(|port| pattern(host, Some(port))).into_iter().collect(),
            None => vec![pattern(host, None)],
        };
    }
    let split = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let is_v6 = text.matches(':').count() > 1;
    match split {
        Some((host, port)) if is_v6 => {
            let mut all = Vec::new();
            all.extend(host.parse::<Ipv6Addr>().is_ok().then(|| pattern(host, Some(port))));
            all.extend(text.parse::<Ipv6Addr>().is_ok().then(|| pattern(text, None)));
            all
        }
        Some((host, port)) => vec![pattern(host, Some(port))],
        None => vec![pattern(text, None)],
    }
}

pub(super) struct HostFilter {
    allowed: Vec<HostPattern>,
    denied: Vec<HostPattern>,
    /// Every host that is not denied may be reached.
    open: bool,
}

impl HostFilter {
    pub(super) fn new(allowed: &[String], denied: &[String], open: bool) -> Self {
        Self {
            // The narrower interpretation comes first.
            allowed: allowed.iter().filter_map(|text| parse_patterns(text).into_iter().next()).collect(),
            denied: denied.iter().flat_map(|text| parse_patterns(text)).collect(),
            open,
        }
    }
}

impl HostJudge for HostFilter {
    fn judge(&self, host: &str, port: u16) -> HostVerdict {
        if self.denied.iter().any(|pattern| pattern.matches(host, port)) {
            return HostVerdict::Deny("a rule or sandbox.network.deniedDomains denies it".into());
        }
        if self.open || self.allowed.iter().any(|pattern| pattern.matches(host, port)) {
            return HostVerdict::Allow;
        }
        HostVerdict::Deny("it is not in sandbox.network.allowedDomains and no WebFetch(domain:…) rule allows it".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ports() {
        // [CLI-196] SC-F09
        let allowed = ["example.com:443", "*.good.test", "10.0.0.1", "[fd00::1]:80", "fd00::2:443"].map(str::to_owned);
        let denied = ["bad.good.test", "evil.test:25"].map(str::to_owned);
        let hosts = HostFilter::new(&allowed, &denied, false);
        let cases = [
            ("example.com", 443, true),
            ("example.com", 80, false),
            ("a.example.com", 443, false),
            ("x.good.test", 1, true),
            ("good.test", 1, false),
            ("bad.good.test", 443, false),
            ("10.0.0.1", 22, true),
            ("10.0.0.2", 22, false),
            ("fd00::1", 80, true),
            ("fd00:0::1", 80, true),
            ("fd00::1", 81, false),
            ("fd00::2", 443, true),
            ("fd00::2:443", 80, false),
            ("8.8.8.8", 53, false),
        ];
        for (host, port, expected) in cases {
            assert_eq!(hosts.judge(host, port) == HostVerdict::Allow, expected, "{host}:{port}");
        }
        let open = HostFilter::new(&[], &denied, true);
        assert_eq!(open.judge("anything.test", 1), HostVerdict::Allow);
        assert!(matches!(open.judge("bad.good.test", 1), HostVerdict::Deny(_)));
        let both = HostFilter::new(&[], &["fd00::2:443".to_owned()], true);
        assert!(matches!(both.judge("fd00::2", 443), HostVerdict::Deny(_)));
        assert!(matches!(both.judge("fd00::2:443", 1), HostVerdict::Deny(_)));
    }
}
