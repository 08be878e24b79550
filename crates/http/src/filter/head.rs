//! The head of a proxy request. Only the fields that decide its target are parsed; the rest is passed on.

use std::io;
use std::net::Ipv6Addr;
use tokio::io::{AsyncRead, AsyncReadExt};

const MAX_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyTarget {
    /// Lower case, without brackets or a final dot.
    pub(super) host: String,
    pub(super) port: u16,
}

impl ProxyTarget {
    /// Fails for everything that is neither a name of letters, digits, `.`, `-` and `_` nor an address. What is judged
    /// is also written into requests to the user's proxy, so no other character may get there.
    pub(super) fn new(host: &str, port: u16) -> Result<Self, &'static str> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let bare = bare.trim_end_matches('.');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if bare.is_empty() || (!bare.chars().all(is_plain) && bare.parse::<Ipv6Addr>().is_err()) {
            return Err("the host cannot be read");
        }
        Ok(Self { host: bare.to_ascii_lowercase(), port })
    }

    /// `host:port`, `[::1]:port`, or without the port.
    pub(super) fn parse(authority: &str, default: Option<u16>) -> Result<Self, &'static str> {
        let authority = authority.rsplit_once('@').map_or(authority, |(_, rest)| rest);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, Some(port.parse().map_err(|_| "the port is not a number")?))
            }
            Some(_) | None => (authority, default),
        };
        Self::new(host, port.ok_or("the port is missing")?)
    }
}

impl std::fmt::Display for ProxyTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)
    }
}

#[derive(Debug)]
pub(super) struct ProxyHead {
    text: String,
    /// Bytes that followed the head.
    rest: Vec<u8>,
}

impl ProxyHead {
    pub(super) async fn read(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = bytes.split_off(end + 4);
                let text = String::from_utf8(bytes).map_err(|_| io::Error::other("the request is not text"))?;
                if text.replace("\r\n", "").contains('\r') {
                    return Err(io::Error::other("the request has a stray carriage return"));
                }
                return Ok(Self { text, rest });
            }
            if bytes.len() > MAX_BYTES {
                return Err(io::Error::other("the request's head is too long"));
            }
            if client.read_buf(&mut bytes).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.rest
    }

    fn line(&self) -> (&str, &str, &str) {
        let mut words = self.text.lines().next().unwrap_or_default().split(' ');
        let mut word = || words.next().unwrap_or_default();
        (word(), word(), word())
    }

    pub(super) fn is_connect(&self) -> bool {
        self.line().0.eq_ignore_ascii_case("CONNECT")
    }

    pub(super) fn target(&self) -> Result<ProxyTarget, &'static str> {
        let (_, target, version) = self.line();
        if !version.starts_with("HTTP/1.") {
            return Err("only HTTP/1 is understood");
        }
        if self.is_connect() {
            return ProxyTarget::parse(target, None);
        }
        let rest = target.strip_prefix("http://").ok_or("only http:// URLs can be asked for without CONNECT")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        ProxyTarget::parse(authority, Some(80))
    }

    /// The request in the form the host expects: the host's name, one request per connection, no proxy headers.
    pub(super) fn forwarded(&self, target: &ProxyTarget, through_proxy: bool) -> Vec<u8> {
        let (method, url, version) = self.line();
        let path =
            url.strip_prefix("http://").and_then(|rest| rest.find(['/', '?']).map(|at| &rest[at..])).unwrap_or("/");
        let slash = if path.starts_with('/') { "" } else { "/" };
        let host =
            if target.port == 80 { target.to_string().trim_end_matches(":80").to_owned() } else { target.to_string() };
        let place = if through_proxy { format!("http://{host}{slash}{path}") } else { format!("{slash}{path}") };
        let mut out = format!("{method} {place} {version}\r\nHost: {host}\r\n");
        for line in self.text.lines().skip(1).filter(|line| !line.is_empty()) {
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            let dropped = ["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization"];
            if !dropped.contains(&name.as_str()) {
                out.push_str(line);
                out.push_str("\r\n");
            }
        }
        out.push_str("Connection: close\r\n\r\n");
        out.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> ProxyHead {
        ProxyHead { text: text.replace('\n', "\r\n"), rest: Vec::new() }
    }

    #[test]
    fn targets_are_read_or_refused() {
        let cases = [
            ("CONNECT Example.com:443 HTTP/1.1\n\n", Ok("example.com:443")),
            ("CONNECT [::1]:443 HTTP/1.1\n\n", Ok("[::1]:443")),
            ("GET http://a.test/x HTTP/1.1\n\n", Ok("a.test:80")),
            ("GET http://user:pw@a.test.:8080?q HTTP/1.0\n\n", Ok("a.test:8080")),
            ("GET http://allowed.test@evil.test/ HTTP/1.1\n\n", Ok("evil.test:80")),
            ("CONNECT example.com HTTP/1.1\n\n", Err("the port is missing")),
            ("CONNECT a%00b:1 HTTP/1.1\n\n", Err("the host cannot be read")),
            ("GET /local HTTP/1.1\n\n", Err("only http:// URLs can be asked for without CONNECT")),
            ("PRI * HTTP/2.0\n\n", Err("only HTTP/1 is understood")),
        ];
        for (text, expected) in cases {
            assert_eq!(head(text).target().map(|t| t.to_string()).as_deref().map_err(|e| *e), expected, "{text}");
        }
    }

    // [CLI-196] A name from SOCKS is written into the request to the user's proxy.
    #[test]
    fn only_names_and_addresses_are_hosts() {
        for host in
            ["", ".", "a b", "a\r\nHost: b.example.com", "[[::1]]", "a@b", "a:b", "\u{e9}.test", "a\0.test", "a/b"]
        {
            assert_eq!(ProxyTarget::new(host, 1), Err("the host cannot be read"), "{host:?}");
        }
        for (host, wanted) in
            [("A_b-c.Test.", "a_b-c.test"), ("[::1]", "::1"), ("fe80::1", "fe80::1"), ("127.0.0.1", "127.0.0.1")]
        {
            assert_eq!(ProxyTarget::new(host, 1).unwrap().host, wanted);
        }
    }

    #[tokio::test]
    async fn a_stray_carriage_return_is_no_line_end() {
        let mut request = &b"GET http://a.test/ HTTP/1.1\r\nA: b\rHost: c.test\r\n\r\n"[..];
        let refused = ProxyHead::read(&mut request).await.unwrap_err();
        assert_eq!(refused.to_string(), "the request has a stray carriage return");
    }

    #[test]
    fn the_host_gets_its_own_name_and_nothing_of_the_proxy() {
        let request = head("GET http://a.test/x?y HTTP/1.1\nHost: other.test\nProxy-Authorization: b\nA: 1\n\n");
        let target = request.target().unwrap();
        let text = String::from_utf8(request.forwarded(&target, false)).unwrap();
        assert_eq!(text, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nA: 1\r\nConnection: close\r\n\r\n");
        let text = String::from_utf8(request.forwarded(&target, true)).unwrap();
        assert!(text.starts_with("GET http://a.test/x?y HTTP/1.1\r\n"), "{text}");
    }
}
