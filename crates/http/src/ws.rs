//! WebSocket (RFC 6455): complete messages are received and sent. A client connection is an upgraded HTTP/1.1 exchange,
//! so proxies, certificates and credentials are those of every other request. The framing supports both roles.
//! Guarantees: pings are reported at once, also between the parts of a message; a close is reported with its code, so
//! that it can be answered; a violation is reported with the code to close with. Extensions are never offered.

mod frame;
#[cfg(test)]
mod tests;

pub use frame::{WebSocketMessage, WebSocketRole, WebSocketViolation, code};

use crate::{HttpError, HttpRequest, HttpResponse};
use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use frame::{FrameHead, MessageAssembly};
use std::fmt;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};

const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The key of one handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSocketKey(String);

impl WebSocketKey {
    /// A new key for every connection.
    pub fn random() -> Self {
        Self(STANDARD.encode(random()))
    }

    /// The headers that request the upgrade.
    pub fn headers(&self, protocol: &str) -> Vec<(String, String)> {
        let pairs = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", &self.0),
            ("sec-websocket-protocol", protocol),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// The value the server must answer with.
    pub fn accept(&self) -> String {
        let text = format!("{}{GUID}", self.0);
        STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
    }
}

fn random() -> [u8; 16] {
    let hex: Vec<u8> = sys::id::uuid().bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks(2)) {
        *byte = digit(pair[0]) << 4 | pair.get(1).map_or(0, |low| digit(*low));
    }
    bytes
}

impl crate::Http {
    /// Sends a request for an upgrade, on HTTP/1.1.
    pub async fn send_upgrading(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.exchange(request, crate::RequestPurpose::Upgrade).await
    }
}

type WebSocketConnection = Box<dyn DuplexStream>;

trait DuplexStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> DuplexStream for T {}

/// Why no more messages can be received.
#[derive(Debug)]
pub enum ReceiveError {
    /// The peer violated the protocol: close with the code of the violation.
    Violation(WebSocketViolation),
    Io(io::Error),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => write!(f, "{} (close code {})", violation.why, violation.code),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReceiveError {}

impl From<io::Error> for ReceiveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<WebSocketViolation> for ReceiveError {
    fn from(violation: WebSocketViolation) -> Self {
        Self::Violation(violation)
    }
}

pub struct WebSocketReceiver {
    reader: BufReader<ReadHalf<WebSocketConnection>>,
    role: WebSocketRole,
    assembly: MessageAssembly,
    is_closed: bool,
}

pub struct WebSocketSender {
    writer: WriteHalf<WebSocketConnection>,
    role: WebSocketRole,
}

/// Both directions of a connection that the server agreed to upgrade. `limit` is the longest accepted message in bytes.
pub async fn accept(
    response: HttpResponse,
    key: &WebSocketKey,
    limit: usize,
) -> Result<(WebSocketSender, WebSocketReceiver), HttpError> {
    if response.header("sec-websocket-accept") != Some(key.accept().as_str()) {
        return Err(HttpError::Invalid("the server does not speak WebSocket".into()));
    }
    Ok(split(response.upgrade().await?, WebSocketRole::Client, limit))
}

/// Both directions of a connection on which the handshake is done. `limit` is the longest accepted message in bytes.
pub fn split(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    role: WebSocketRole,
    limit: usize,
) -> (WebSocketSender, WebSocketReceiver) {
    let connection: WebSocketConnection = Box::new(connection);
    let (reader, writer) = tokio::io::split(connection);
    let receiver = WebSocketReceiver {
        reader: BufReader::new(reader),
        role,
        assembly: MessageAssembly::new(limit),
        is_closed: false,
    };
    (WebSocketSender { writer, role }, receiver)
}

impl WebSocketSender {
    pub async fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.frame(frame::TEXT, text).await
    }

    pub async fn binary(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.frame(frame::BINARY, bytes).await
    }

    pub async fn pong(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(frame::PONG, payload).await
    }

    /// Starts closing, or answers the peer's close with its code. `None` sends no code.
    pub async fn close(&mut self, code: Option<u16>) -> io::Result<()> {
        let payload = code.map_or_else(Vec::new, |code| code.to_be_bytes().to_vec());
        self.frame(frame::CLOSE, &payload).await?;
        self.writer.shutdown().await
    }

    async fn frame(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let mask = (self.role == WebSocketRole::Client).then(|| {
            let random = random();
            [random[0], random[1], random[2], random[3]]
        });
        self.writer.write_all(&frame::encode(opcode, payload, mask)).await?;
        self.writer.flush().await
    }
}

impl WebSocketReceiver {
    /// The next message; `None` after a close. Not cancel-safe: the future must be polled to its end.
    pub async fn next(&mut self) -> Result<Option<WebSocketMessage>, ReceiveError> {
        while !self.is_closed {
            let message = self.frame().await.inspect_err(|_| self.is_closed = true)?;
            self.is_closed = matches!(message, Some(WebSocketMessage::Close(_)));
            if message.is_some() {
                return Ok(message);
            }
        }
        Ok(None)
    }

    async fn frame(&mut self) -> Result<Option<WebSocketMessage>, ReceiveError> {
        let mut head = [0; 2];
        self.reader.read_exact(&mut head).await?;
        let head = FrameHead::read(head, self.role)?;
        let mut more = [0; 8];
        let more = &mut more[..head.length_bytes()];
        self.reader.read_exact(more).await?;
        let length = self.assembly.accept(head, head.length(more)?)?;
        let mut mask = [0; 4];
        if self.role == WebSocketRole::Server {
            self.reader.read_exact(&mut mask).await?;
        }
        let mut payload = vec![0; length];
        self.reader.read_exact(&mut payload).await?;
        frame::apply_mask(&mut payload, mask);
        Ok(self.assembly.push(head, payload)?)
    }
}
