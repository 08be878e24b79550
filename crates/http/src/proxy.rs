//! Which proxy a request goes through. All targets use one proxy: the first variable that is set of `https_proxy`,
//! `HTTPS_PROXY`, `http_proxy`, `HTTP_PROXY`. `no_proxy` or `NO_PROXY` lists exceptions. Nothing else is exempt, not
//! even loopback. A proxy's credentials never appear in a message.

use crate::HttpError;
use reqwest::Url;
use std::net::IpAddr;
use sys::Env;

const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyConfig {
    proxy: Option<Url>,
    exceptions: Vec<ProxyException>,
}

impl ProxyConfig {
    pub(crate) fn from_env(env: &Env) -> Result<Self, HttpError> {
        let found = VARIABLES.iter().find_map(|name| Some((name, env.non_empty(name)?.trim())));
        let proxy = match found {
            Some((name, value)) => Some(parse_proxy(name, value)?),
            None => None,
        };
        let list = ["no_proxy", "NO_PROXY"].iter().find_map(|name| env.non_empty(name)).unwrap_or_default();
        let exceptions = list.split([',', ' ', '\t', '\n']).filter_map(ProxyException::parse).collect();
        Ok(Self { proxy, exceptions })
    }

    /// Whether all connections are direct.
    pub(crate) fn is_empty(&self) -> bool {
        self.proxy.is_none()
    }

    pub(crate) fn proxy_for(&self, target: &Url) -> Option<&Url> {
        let proxy = self.proxy.as_ref()?;
        let host = target.host_str()?;
        let port = target.port_or_known_default();
        let is_exempt = self.exceptions.iter().any(|exception| exception.covers(host, port));
        (!is_exempt).then_some(proxy)
    }
}

fn parse_proxy(name: &str, value: &str) -> Result<Url, HttpError> {
    let refuse =
        |why: &str| HttpError::Invalid(format!("{name} is not a usable proxy URL ({why}); correct or unset it"));
    let text = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&text).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h") {
        return Err(refuse(&format!("scheme {}", url.scheme())));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refuse("no host"));
    }
    Ok(url)
}

/// One entry of `NO_PROXY`, with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProxyException {
    kind: ExceptionKind,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExceptionKind {
    Everything,
    Network(IpAddr, u8),
    /// This name and all names below it, in lower case without a leading dot.
    Domain(String),
}

impl ProxyException {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim();
        if entry.is_empty() {
            return None;
        }
        if let Some(network) = network(entry) {
            return Some(Self { kind: network, port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port.parse().ok()),
            Some(_) | None => (entry, None),
        };
        let what = match network(host) {
            Some(network) => network,
            None if host == "*" => ExceptionKind::Everything,
            None => ExceptionKind::Domain(host.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase()),
        };
        Some(Self { kind: what, port })
    }

    fn covers(&self, host: &str, port: Option<u16>) -> bool {
        if self.port.is_some() && self.port != port {
            return false;
        }
        match &self.kind {
            ExceptionKind::Everything => true,
            ExceptionKind::Network(network, prefix) => {
                bare(host).parse().is_ok_and(|address| is_within(address, *network, *prefix))
            }
            ExceptionKind::Domain(domain) => {
                let host = host.trim_end_matches('.').to_ascii_lowercase();
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        }
    }
}

/// Removes the brackets of an IPv6 host.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

fn network(text: &str) -> Option<ExceptionKind> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = bare(address).parse().ok()?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    Some(ExceptionKind::Network(address, prefix.unwrap_or(whole).min(whole)))
}

fn is_within(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    let (address, network, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => (u128::from(a.to_bits()), u128::from(n.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(n)) => (a.to_bits(), n.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    let shift = width - u32::from(prefix);
    address.checked_shr(shift).unwrap_or(0) == network.checked_shr(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(vars: &[(&str, &str)]) -> Result<ProxyConfig, HttpError> {
        ProxyConfig::from_env(&Env::default().with(vars.iter().copied()))
    }

    fn chosen(vars: &[(&str, &str)], target: &str) -> Option<String> {
        let proxies = proxies(vars).unwrap();
        proxies.proxy_for(&Url::parse(target).unwrap()).map(|url| url.host_str().unwrap().to_owned())
    }

    // [TST-129] [CLI-125]
    #[test]
    fn the_first_variable_that_is_set_wins_for_every_target() {
        let all = [("HTTP_PROXY", "d"), ("http_proxy", "c"), ("HTTPS_PROXY", "b"), ("https_proxy", "a")];
        for (count, expected) in [(4, "a"), (3, "b"), (2, "c"), (1, "d")] {
            assert_eq!(chosen(&all[..count], "https://x.test/").as_deref(), Some(expected));
            assert_eq!(chosen(&all[..count], "http://x.test/").as_deref(), Some(expected));
        }
        assert_eq!(chosen(&[], "https://x.test/"), None);
        assert_eq!(chosen(&[("https_proxy", ""), ("HTTP_PROXY", "d")], "https://x.test/").as_deref(), Some("d"));
        assert_eq!(chosen(&all, "http://127.0.0.1:1/").as_deref(), Some("a"), "loopback is not exempt by itself");
    }

    // [CLI-125]
    #[test]
    fn a_bad_proxy_is_named_without_its_secret() {
        for value in ["http://", "ftp://user:hunter2@p", "http://user:hunter2@p:port", "http://user:hunter2@[::"] {
            let error = proxies(&[("HTTPS_PROXY", value)]).unwrap_err().to_string();
            assert!(error.contains("HTTPS_PROXY"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let kept = proxies(&[("HTTPS_PROXY", "proxy.test:3128")]).unwrap();
        assert_eq!(kept.proxy.unwrap().as_str(), "http://proxy.test:3128/");
    }

    #[test]
    fn exceptions() {
        let through = |list: &str, target: &str| chosen(&[("http_proxy", "p"), ("NO_PROXY", list)], target).is_some();
        let cases = [
            ("example.com", "http://example.com/", false),
            ("example.com", "http://a.example.com/", false),
            (".example.com", "http://EXAMPLE.com./", false),
            ("*.example.com", "http://a.b.example.com/", false),
            ("example.com", "http://notexample.com/", true),
            ("a.test b.test,c.test", "http://b.test/", false),
            ("a.test b.test,c.test", "http://d.test/", true),
            ("*", "http://anything.test/", false),
            ("localhost:8080", "http://localhost:8080/", false),
            ("localhost:8080", "http://localhost:8081/", true),
            ("localhost:443", "https://localhost/", false),
            ("127.0.0.1", "http://127.0.0.1:99/", false),
            ("127.0.0.1:99", "http://127.0.0.1:98/", true),
            ("10.0.0.0/8", "http://10.2.3.4/", false),
            ("10.0.0.0/8", "http://11.2.3.4/", true),
            ("0.0.0.0/0", "http://11.2.3.4/", false),
            ("::1", "http://[::1]:5/", false),
            ("[::1]:5", "http://[::1]:5/", false),
            ("fd00::/8", "http://[fd12::1]/", false),
            ("::/0", "http://[fd12::1]/", false),
            ("fd00::/8", "http://10.0.0.1/", true),
            ("", "http://x.test/", true),
        ];
        for (list, target, expected) in cases {
            assert_eq!(through(list, target), expected, "{list} {target}");
        }
        let both = [("http_proxy", "p"), ("no_proxy", "a.test"), ("NO_PROXY", "b.test")];
        assert_eq!(chosen(&both, "http://a.test/"), None);
        assert!(chosen(&both, "http://b.test/").is_some());
    }
}
