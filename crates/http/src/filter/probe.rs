//! The check behind the `filter` fuzz target: whatever a client sends, reading it does not depend on how the bytes were
//! cut, and a target that is accepted is exactly what is judged, connected to and written into requests. Compiled for
//! tests and fuzzing only.

use super::head::{ProxyHead, ProxyTarget};
use super::socks;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub fn check(bytes: &[u8]) {
    if bytes.first() == Some(&socks::VERSION) {
        check_socks(bytes);
    } else {
        check_http(bytes);
    }
}

fn check_socks(bytes: &[u8]) {
    let read = |size| now(socks::greet(&mut Pieces { bytes, size })).map_err(|error| error.to_string());
    let whole = read(bytes.len());
    for size in [1, 3, 16] {
        assert_eq!(read(size), whole, "in pieces of {size}");
    }
    if let Ok(target) = whole {
        check_target(&target);
    }
}

fn check_http(bytes: &[u8]) {
    let read = |size| now(ProxyHead::read(&mut Pieces { bytes, size })).map_err(|error| error.to_string());
    let target_of = |size| read(size).and_then(|head| head.target().map_err(str::to_owned));
    let whole = target_of(bytes.len());
    for size in [1, 3, 64] {
        assert_eq!(target_of(size), whole, "in pieces of {size}");
    }
    let (Ok(head), Ok(target)) = (read(bytes.len()), whole) else { return };
    let body = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| &bytes[at + 4..]);
    assert!(body.is_some_and(|body| body.starts_with(head.rest())));
    check_target(&target);
    if !head.is_connect() {
        check_forwarded(&head.forwarded(&target, false), &target);
        check_forwarded(&head.forwarded(&target, true), &target);
    }
}

fn check_target(target: &ProxyTarget) {
    let host = &target.host;
    assert!(!host.is_empty() && !host.ends_with('.'), "{host:?}");
    assert!(host.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_:".contains(c)), "{host:?}");
    assert_eq!(ProxyTarget::parse(&target.to_string(), None).as_ref(), Ok(target), "the text names the same target");
}

/// The request names the target that was judged, once, and nothing that belongs to the proxy.
fn check_forwarded(request: &[u8], target: &ProxyTarget) {
    let Ok(text) = std::str::from_utf8(request) else { panic!("the request was text") };
    assert!(text.ends_with("\r\n\r\n") && text.matches("\r\n\r\n").count() == 1, "{text:?}");
    let lines: Vec<&str> = text.trim_end_matches("\r\n").split("\r\n").collect();
    assert!(lines.iter().all(|line| !line.contains(['\r', '\n'])), "{text:?}");
    let named = |name: &str| -> Vec<&str> {
        let fields = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
        fields.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    };
    let host = target.to_string();
    assert_eq!(named("host"), [host.strip_suffix(":80").filter(|_| target.port == 80).unwrap_or(&host)], "{text:?}");
    assert_eq!(named("connection"), ["close"]);
    assert!(named("proxy-authorization").is_empty() && named("proxy-connection").is_empty());
}

/// A client that sends `bytes` in pieces of at most `size`, and then nothing more; it ignores answers.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (piece, rest) = self.bytes.split_at(self.size.max(1).min(self.bytes.len()).min(into.remaining()));
        into.put_slice(piece);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pieces<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The result of a future that never waits, because its stream is in memory.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a stream in memory never waits"),
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
