//! The URL of a fetch: http and https only, without credentials, upgraded to https. Its host is checked before any
//! connection, at every hop.

use super::address::{AddressClass, classify};
use std::net::IpAddr;
use url::{Host, Url};

const MAX_URL: usize = 4000;

/// Parses the URL the model wrote. The error completes "the field `url` ".
pub(super) fn read(text: &str) -> Result<Url, String> {
    if text.len() > MAX_URL {
        return Err(format!("is longer than {MAX_URL} characters"));
    }
    let url = Url::parse(text.trim()).map_err(|e| format!("is not a complete URL ({e}): start it with https://"))?;
    check_url(url)
}

/// The checks that need no network. Also applied to redirect targets.
pub(super) fn check_url(url: Url) -> Result<Url, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("has the scheme {}: only http and https can be fetched", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("contains a user name or password: pass a URL without them".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("names no host".to_owned());
    }
    Ok(upgrade_to_https(url))
}

/// Plain http is used for this machine only.
fn upgrade_to_https(mut url: Url) -> Url {
    if url.scheme() == "http" && !is_loopback(&url) {
        // Cannot fail between these two schemes; if it did, the URL would be fetched unchanged.
        url.set_scheme("https").ok();
    }
    url
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(_)) => is_localhost(&host(url)),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// The host in the form that rules use: lower case, punycode, no final dot.
pub(super) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Whether a redirect to `to` may be followed without a question: same host, except for `www.`, and same port.
pub(super) fn same_site(from: &Url, to: &Url) -> bool {
    let bare = |url: &Url| host(url).trim_start_matches("www.").to_owned();
    bare(from) == bare(to) && from.port_or_known_default() == to.port_or_known_default()
}

/// Which addresses may be reached besides public ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressScope {
    PublicOnly,
    LocalToo,
}

impl AddressScope {
    pub(super) fn allows(self, ip: IpAddr) -> bool {
        match classify(ip) {
            AddressClass::Public => true,
            AddressClass::Local => self == Self::LocalToo,
            AddressClass::Forbidden => false,
        }
    }
}

/// Resolves the host and refuses it unless every address may be reached. `resolves_here` is false behind a proxy: a
/// name that cannot be resolved here is then left to the proxy.
pub(super) async fn check(url: &Url, reach: AddressScope, resolves_here: bool) -> Result<(), String> {
    let name = host(url);
    let addresses: Vec<IpAddr> = match url.host() {
        Some(Host::Ipv4(ip)) => vec![ip.into()],
        Some(Host::Ipv6(ip)) => vec![ip.into()],
        Some(Host::Domain(_)) if is_localhost(&name) => vec![std::net::Ipv4Addr::LOCALHOST.into()],
        Some(Host::Domain(_)) => match tokio::net::lookup_host((name.as_str(), 0)).await {
            Ok(found) => found.map(|addr| addr.ip()).collect(),
            Err(_) if !resolves_here => Vec::new(),
            Err(error) => return Err(format!("The host {name} could not be found: {error}")),
        },
        None => return Err(format!("The URL {url} names no host")),
    };
    match addresses.into_iter().find(|ip| !reach.allows(*ip)) {
        None => Ok(()),
        Some(ip) => Err(refusal(&name, ip)),
    }
}

fn refusal(name: &str, ip: IpAddr) -> String {
    match classify(ip) {
        AddressClass::Public | AddressClass::Local => format!(
            "Refused to fetch from {name}: {ip} is a private or local address, and only public hosts are fetched. \
             The user can permit local hosts with GIMLET_WEBFETCH_ALLOW_LOCAL=1."
        ),
        AddressClass::Forbidden => format!(
            "Refused to fetch from {name}: {ip} is a link-local, metadata or reserved address, which is never fetched."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_becomes_https_except_on_this_machine() {
        // [TST-78]
        let is = |text: &str, expected: &str| assert_eq!(read(text).unwrap().as_str(), expected);
        is("http://example.com/a?b#c", "https://example.com/a?b#c");
        is("http://example.com:80/", "https://example.com/");
        is("http://example.com:8080/", "https://example.com:8080/");
        is("http://localhost:3000/x", "http://localhost:3000/x");
        is("http://127.0.0.1:1/", "http://127.0.0.1:1/");
        is("http://[::1]/", "http://[::1]/");
        is("HTTPS://EXAMPLE.com", "https://example.com/");
    }

    #[test]
    fn what_is_not_fetched() {
        for (text, why) in [
            ("file:///etc/hostname", "scheme"),
            ("ftp://example.com/", "scheme"),
            ("javascript:alert(1)", "scheme"),
            ("example.com/page", "complete URL"),
            ("https://good.example@evil.example/", "user name"),
            ("https://u:p@example.com/", "user name"),
            ("https://", "complete URL"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        assert!(read(&format!("https://example.com/{}", "a".repeat(5000))).is_err());
    }

    #[test]
    fn hosts_are_compared_as_parsed() {
        let host_of = |text: &str| host(&read(text).unwrap());
        assert_eq!(host_of("https://Good.Example./x"), "good.example");
        assert_eq!(host_of("https://evil.example/#good.example"), "evil.example");
        assert_eq!(host_of("https://bücher.example/"), "xn--bcher-kva.example");
        assert_eq!(host_of("http://2130706433/"), "127.0.0.1");
        assert_eq!(host_of("http://0x7f.1/"), "127.0.0.1");
        assert_eq!(host_of("http://0177.0.0.1/"), "127.0.0.1");
        let same = |a: &str, b: &str| same_site(&read(a).unwrap(), &read(b).unwrap());
        assert!(same("https://example.com/a", "https://www.example.com/b"));
        assert!(same("http://example.com/a", "https://example.com/b"));
        assert!(!same("https://example.com/", "https://example.com.evil.example/"));
        assert!(!same("https://example.com/", "https://sub.example.com/"));
        assert!(!same("https://example.com/", "https://example.com:8443/"));
    }

    #[tokio::test]
    async fn private_hosts_are_refused() {
        for text in [
            "http://127.0.0.1/",
            "http://localhost:1/",
            "http://a.localhost/",
            "http://localhost./",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://10.0.0.1/",
            "http://192.168.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[fd00:ec2::254]/",
            "http://0.0.0.0/",
            "http://[fe80::1]/",
        ] {
            let url = read(text).unwrap();
            let refused = check(&url, AddressScope::PublicOnly, true).await.unwrap_err();
            assert!(refused.starts_with("Refused"), "{text}: {refused}");
        }
        let local = read("http://127.0.0.1/").unwrap();
        assert!(check(&local, AddressScope::LocalToo, true).await.is_ok());
        let metadata = read("http://169.254.169.254/").unwrap();
        assert!(check(&metadata, AddressScope::LocalToo, true).await.is_err());
    }
}
