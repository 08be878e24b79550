//! The proxy through which sandboxed commands reach the network: HTTP `CONNECT`, plain HTTP and SOCKS5 on one port,
//! distinguished by the first byte. Every connection is checked by its target name before the name is resolved. A name
//! that resolves to this machine or to a link-local address is refused even if the judge allowed it.
//!
//! TLS is not decrypted: a command that may reach a host can send anything to it.

mod head;
#[cfg(any(test, fuzzing))]
pub mod probe;
mod socks;
mod upstream;

use crate::proxy::ProxyConfig;
use head::{ProxyHead, ProxyTarget};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Maximum number of simultaneous connections of one sandbox.
const MAX_CONNECTIONS: usize = 256;
/// Time limit for a client to send its request, and for a host to answer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The decision about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostVerdict {
    Allow,
    /// Contains the reason, which HTTP clients receive in the response.
    Deny(String),
}

/// Decides which hosts may be reached. `host` is a lower-case name without a final dot, or an address without brackets.
pub trait HostJudge: Send + Sync {
    fn judge(&self, host: &str, port: u16) -> HostVerdict;
}

/// Ports of the user's proxies on loopback. Where one is set, it does the filtering instead of this proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalProxies {
    pub http: Option<u16>,
    pub socks: Option<u16>,
}

/// Serves the connections of one sandbox until it is dropped.
pub struct FilterProxy {
    judge: Arc<dyn HostJudge>,
    external: ExternalProxies,
    /// The user's `HTTPS_PROXY` and related settings, for allowed hosts; the error says why they cannot be used.
    proxies: Result<ProxyConfig, String>,
}

impl FilterProxy {
    pub fn new(judge: Arc<dyn HostJudge>, external: ExternalProxies, env: &Env) -> Self {
        Self { judge, external, proxies: ProxyConfig::from_env(env).map_err(|error| error.to_string()) }
    }

    /// Accepts connections until an error occurs; must be called inside the runtime.
    pub async fn serve(self: Arc<Self>, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut open = tokio::task::JoinSet::new();
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return Ok(()) };
            let (client, _) = listener.accept().await?;
            let filter = Arc::clone(&self);
            open.spawn(async move {
                if let Err(error) = filter.handle(client).await {
                    tracing::debug!(%error, "a connection through the sandbox's proxy failed");
                }
                drop(place);
            });
            while open.try_join_next().is_some() {}
        }
    }

    async fn handle(&self, mut client: TcpStream) -> io::Result<()> {
        let mut first = [0_u8; 1];
        with_timeout(client.peek(&mut first)).await?;
        let external = if first[0] == socks::VERSION { self.external.socks } else { self.external.http };
        if let Some(port) = external {
            let mut proxy = with_timeout(TcpStream::connect(("127.0.0.1", port))).await?;
            return tokio::io::copy_bidirectional(&mut client, &mut proxy).await.map(drop);
        }
        if first[0] == socks::VERSION { self.handle_socks(client).await } else { self.handle_http(&mut client).await }
    }

    async fn handle_http(&self, client: &mut TcpStream) -> io::Result<()> {
        let head = match with_timeout(ProxyHead::read(client)).await {
            Ok(head) => head,
            Err(error) => return refuse(client, 400, &error.to_string()).await,
        };
        let target = match head.target() {
            Ok(target) => target,
            Err(why) => return refuse(client, 400, why).await,
        };
        if let HostVerdict::Deny(why) = self.judge.judge(&target.host, target.port) {
            return refuse(client, 403, &blocked_text(&target, &why)).await;
        }
        let connected = if head.is_connect() { self.tunnel(&target).await } else { self.plain(&target).await };
        let mut host = match connected {
            Ok(host) => host,
            Err(why) => return refuse(client, 502, &format!("{target}: {why}")).await,
        };
        if head.is_connect() {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        } else {
            host.write_all(&head.forwarded(&target, self.is_proxied(&target))).await?;
        }
        host.write_all(head.rest()).await?;
        tokio::io::copy_bidirectional(client, &mut host).await.map(drop)
    }

    async fn handle_socks(&self, mut client: TcpStream) -> io::Result<()> {
        let target = with_timeout(socks::greet(&mut client)).await?;
        if let HostVerdict::Deny(why) = self.judge.judge(&target.host, target.port) {
            tracing::debug!("{}", blocked_text(&target, &why));
            return socks::answer(&mut client, socks::NOT_ALLOWED).await;
        }
        let Ok(mut host) = self.tunnel(&target).await else {
            return socks::answer(&mut client, socks::UNREACHABLE).await;
        };
        socks::answer(&mut client, socks::GRANTED).await?;
        tokio::io::copy_bidirectional(&mut client, &mut host).await.map(drop)
    }
}

fn blocked_text(target: &ProxyTarget, why: &str) -> String {
    format!("gimlet sandbox: {target} is blocked: {why}")
}

async fn with_timeout<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(HANDSHAKE_TIMEOUT, work).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn refuse(client: &mut TcpStream, status: u16, text: &str) -> io::Result<()> {
    let reason = match status {
        403 => "Forbidden",
        502 => "Bad Gateway",
        _ => "Bad Request",
    };
    let body = format!("{text}\n");
    let reply = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(reply.as_bytes()).await?;
    client.shutdown().await?;
    // Reads what the client still sends, so that it receives the answer before a reset.
    let mut sink = [0_u8; 4096];
    let drained = async {
        while client.read(&mut sink).await? > 0 {}
        Ok(())
    };
    tokio::time::timeout(Duration::from_millis(500), drained).await.unwrap_or(Ok(()))
}

#[cfg(test)]
#[path = "filter/filter_tests.rs"]
mod tests;
