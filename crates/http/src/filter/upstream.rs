//! Connections to allowed hosts: direct, or through the proxy that the user's environment names.

use super::head::ProxyTarget;
use super::{FilterProxy, with_timeout};
use base64::Engine;
use reqwest::Url;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

impl FilterProxy {
    /// A connection to the host itself, if necessary tunnelled through a proxy.
    pub(super) async fn tunnel(&self, target: &ProxyTarget) -> io::Result<TcpStream> {
        match self.proxy(target)? {
            None => direct(target).await,
            Some(proxy) => connect_through(proxy, target).await,
        }
    }

    /// A connection for one plain request; its other end may be a proxy.
    pub(super) async fn plain(&self, target: &ProxyTarget) -> io::Result<TcpStream> {
        match self.proxy(target)? {
            None => direct(target).await,
            Some(proxy) => to_proxy(proxy).await,
        }
    }

    pub(super) fn is_proxied(&self, target: &ProxyTarget) -> bool {
        matches!(self.proxy(target), Ok(Some(_)))
    }

    fn proxy(&self, target: &ProxyTarget) -> io::Result<Option<&Url>> {
        let proxies = self.proxies.as_ref().map_err(|why| io::Error::other(why.clone()))?;
        let url = Url::parse(&format!("http://{target}/")).map_err(io::Error::other)?;
        let Some(proxy) = proxies.proxy_for(&url) else { return Ok(None) };
        if proxy.scheme() != "http" {
            return Err(io::Error::other(format!("a {} proxy cannot be used from the sandbox", proxy.scheme())));
        }
        Ok(Some(proxy))
    }
}

async fn direct(target: &ProxyTarget) -> io::Result<TcpStream> {
    // A list entry that is an address or `localhost` deliberately names that machine.
    let literal = target.host.parse::<IpAddr>().is_ok() || target.host == "localhost";
    let found: Vec<SocketAddr> =
        with_timeout(async { Ok(tokio::net::lookup_host((target.host.as_str(), target.port)).await?.collect()) })
            .await?;
    if let Some(address) = found.iter().find(|address| !literal && is_local_address(address.ip())) {
        return Err(io::Error::other(format!(
            "the name resolves to {}, which is this machine or its link",
            address.ip()
        )));
    }
    with_timeout(TcpStream::connect(found.as_slice())).await
}

/// Addresses with a local meaning only. A public name must not resolve to one of them.
fn is_local_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_link_local() || v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast()
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast(),
    }
}

async fn to_proxy(proxy: &Url) -> io::Result<TcpStream> {
    let host = proxy.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    with_timeout(TcpStream::connect((host, proxy.port_or_known_default().unwrap_or(80)))).await
}

async fn connect_through(proxy: &Url, target: &ProxyTarget) -> io::Result<TcpStream> {
    let mut stream = to_proxy(proxy).await?;
    let login = match (proxy.username(), proxy.password()) {
        ("", None) => String::new(),
        (user, password) => {
            let pair = format!("{user}:{}", password.unwrap_or_default());
            format!("Proxy-Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(pair))
        }
    };
    stream.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    let answered = async {
        // Byte by byte, because the bytes after the head belong to the tunnel.
        while !head.ends_with(b"\r\n\r\n") && head.len() < 16 * 1024 {
            head.push(stream.read_u8().await?);
        }
        Ok(())
    };
    with_timeout(answered).await?;
    let status = String::from_utf8_lossy(&head);
    if status.split(' ').nth(1).is_some_and(|code| code.starts_with('2')) {
        return Ok(stream);
    }
    Err(io::Error::other(format!("the proxy answered: {}", status.lines().next().unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_addresses() {
        for near in ["127.0.0.1", "127.8.8.8", "::1", "169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1", "fe80::1"] {
            assert!(is_local_address(near.parse().unwrap()), "{near}");
        }
        for far in ["93.184.216.34", "10.0.0.1", "2606:4700::1111"] {
            assert!(!is_local_address(far.parse().unwrap()), "{far}");
        }
    }
}
