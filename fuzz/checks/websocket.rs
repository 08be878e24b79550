//! WebSocket: messages do not depend on how the bytes were cut, are within their limits, end with a close or a violation,
//! and what one end sends the other receives. The first byte of the input is the role of the receiver.

use http::ws::{ReceiveError, WebSocketMessage, WebSocketRole, split};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const LIMIT: usize = 1024;
const MAX_CONTROL: usize = 125;

pub(crate) fn check(bytes: &[u8]) {
    let [flag, rest @ ..] = bytes else { return };
    let role = if flag & 1 == 1 { WebSocketRole::Client } else { WebSocketRole::Server };
    let whole = received(rest, rest.len(), role);
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(received(rest, size, role), whole, "in pieces of {size}");
    }
    let (messages, end) = whole;
    for (at, message) in messages.iter().enumerate() {
        match message {
            WebSocketMessage::Text(text) => assert!(text.len() <= LIMIT),
            WebSocketMessage::Binary(bytes) => assert!(bytes.len() <= LIMIT),
            WebSocketMessage::Ping(payload) => assert!(payload.len() <= MAX_CONTROL),
            WebSocketMessage::Close(_) => {
                assert!(at + 1 == messages.len() && end == "closed", "nothing follows a close");
            }
        }
    }
    sent_is_received(rest, role);
}

/// All messages of a stream, and how it ended.
fn received(bytes: &[u8], size: usize, role: WebSocketRole) -> (Vec<WebSocketMessage>, String) {
    let stream = MemoryStream { bytes: bytes.to_vec(), at: 0, size, sent: Arc::default() };
    let (_, mut receiver) = split(stream, role, LIMIT);
    let mut messages = Vec::new();
    loop {
        match now(receiver.next()) {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, "closed".to_owned()),
            Err(ReceiveError::Io(error)) => return (messages, error.kind().to_string()),
            Err(violation) => return (messages, violation.to_string()),
        }
    }
}

fn sent_is_received(bytes: &[u8], role: WebSocketRole) {
    let text: String = String::from_utf8_lossy(bytes).chars().take(LIMIT / 4).collect();
    let binary = &bytes[..bytes.len().min(LIMIT)];
    let sent = Arc::<Mutex<Vec<u8>>>::default();
    let stream = MemoryStream { bytes: Vec::new(), at: 0, size: 1, sent: Arc::clone(&sent) };
    let (mut sender, _receiver) = split(stream, role, LIMIT);
    let all = async {
        sender.text(text.as_bytes()).await?;
        sender.pong(b"unasked").await?;
        sender.binary(binary).await?;
        sender.close(Some(1000)).await
    };
    assert!(now(all).is_ok());
    let other = if role == WebSocketRole::Client { WebSocketRole::Server } else { WebSocketRole::Client };
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
    let expected =
        [WebSocketMessage::Text(text), WebSocketMessage::Binary(binary.to_vec()), WebSocketMessage::Close(Some(1000))];
    assert_eq!(received(&sent, 7, other), (expected.into(), "closed".to_owned()));
}

/// Hands out `bytes` in pieces of at most `size`, and keeps what is written.
struct MemoryStream {
    bytes: Vec<u8>,
    at: usize,
    size: usize,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for MemoryStream {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let end = self.bytes.len().min(self.at + self.size.max(1).min(into.remaining()));
        into.put_slice(&self.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
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
