//! The framing of WebSocket (RFC 6455), as a client: whole messages in, whole messages out. The connection itself is an
//! upgraded HTTP/1.1 exchange, so proxies, certificates and credentials are those of every other request. Extensions are
//! never offered. What breaks the rules ends the connection.

use crate::{HttpError, Request, Response};
use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};

const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
/// Bits of the first and the second byte.
const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;
/// In place of a length: it follows in two bytes, or in eight.
const WORD: u8 = 0x7E;
const LONG: u8 = 0x7F;
/// Longest payload of a control frame.
const CONTROL: usize = 125;

/// The key of one handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A new one for every connection.
    pub fn random() -> Self {
        Self(STANDARD.encode(random()))
    }

    /// The headers that ask for the upgrade.
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

    /// What the server must answer with.
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
    /// Sends a request that asks for an upgrade: on HTTP/1.1, which alone can be upgraded.
    pub async fn send_upgrading(&self, request: Request) -> Result<Response, HttpError> {
        self.exchange(request, crate::Purpose::Upgrade).await
    }
}

type Connection = Box<dyn Duplex>;

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// What comes in.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// Text or bytes.
    Data(Vec<u8>),
    /// To be answered with [`Sender::pong`].
    Ping(Vec<u8>),
}

pub struct Receiver {
    reader: BufReader<ReadHalf<Connection>>,
    /// The longest message that is taken.
    limit: usize,
}

pub struct Sender {
    writer: WriteHalf<Connection>,
}

/// The two ends of a connection that the server agreed to upgrade.
pub async fn accept(response: Response, key: &Key, limit: usize) -> Result<(Sender, Receiver), HttpError> {
    if response.header("sec-websocket-accept") != Some(key.accept().as_str()) {
        return Err(HttpError::Invalid("the server does not speak WebSocket".into()));
    }
    let connection: Connection = Box::new(response.upgrade().await?);
    let (reader, writer) = tokio::io::split(connection);
    Ok((Sender { writer }, Receiver { reader: BufReader::new(reader), limit }))
}

impl Sender {
    pub async fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.frame(TEXT, text).await
    }

    pub async fn pong(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(PONG, payload).await
    }

    /// Says that nothing more comes.
    pub async fn close(&mut self) -> io::Result<()> {
        self.frame(CLOSE, &1000_u16.to_be_bytes()).await
    }

    async fn frame(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let random = random();
        let mask = [random[0], random[1], random[2], random[3]];
        self.writer.write_all(&encode(opcode, payload, mask)).await?;
        self.writer.flush().await
    }
}

/// One whole frame, masked as a client must.
fn encode(opcode: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(LAST | opcode);
    match payload.len() {
        length @ 0..=125 => frame.push(MASKED | length as u8),
        length @ 126..=0xFFFF => {
            frame.push(MASKED | WORD);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(MASKED | LONG);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

struct Frame {
    opcode: u8,
    is_last: bool,
    payload: Vec<u8>,
}

impl Receiver {
    /// The next message; `None` when the server closes. Not to be given up half way.
    pub async fn next(&mut self) -> io::Result<Option<Message>> {
        let mut message: Option<Vec<u8>> = None;
        loop {
            let begun = message.as_ref().map_or(0, Vec::len);
            let Frame { opcode, is_last, payload } = read(&mut self.reader, self.limit - begun).await?;
            match (opcode, &mut message) {
                (CLOSE, _) => return Ok(None),
                // A ping may stand between the parts of a message; those are rare enough to be answered after it.
                (PING, None) => return Ok(Some(Message::Ping(payload))),
                (PING | PONG, _) => {}
                (TEXT | BINARY, None) if is_last => return Ok(Some(Message::Data(payload))),
                (TEXT | BINARY, None) => message = Some(payload),
                (CONTINUATION, Some(begun)) => {
                    begun.extend(payload);
                    if is_last {
                        return Ok(message.map(Message::Data));
                    }
                }
                _ => return Err(broken("a frame out of place")),
            }
        }
    }
}

async fn read(reader: &mut (impl AsyncRead + Unpin), room: usize) -> io::Result<Frame> {
    let mut head = [0; 2];
    reader.read_exact(&mut head).await?;
    let (opcode, is_last) = (head[0] & 0x0F, head[0] & LAST != 0);
    if head[0] & 0x70 != 0 || head[1] & MASKED != 0 {
        return Err(broken("a frame that a server must not send"));
    }
    let length = match head[1] & 0x7F {
        WORD => usize::from(reader.read_u16().await?),
        LONG => usize::try_from(reader.read_u64().await?).unwrap_or(usize::MAX),
        short => usize::from(short),
    };
    let is_control = opcode & 0x8 != 0;
    if length > room || (is_control && (length > CONTROL || !is_last)) {
        return Err(broken("a frame that is too long"));
    }
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload).await?;
    Ok(Frame { opcode, is_last, payload })
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(bytes: Vec<u8>, limit: usize) -> Receiver {
        let (mut theirs, ours) = tokio::io::duplex(1 << 20);
        tokio::spawn(async move { theirs.write_all(&bytes).await.ok() });
        let (reader, _) = tokio::io::split(Box::new(ours) as Connection);
        Receiver { reader: BufReader::new(reader), limit }
    }

    #[test]
    fn the_answer_to_a_key_is_the_one_of_the_standard() {
        assert_eq!(Key("dGhlIHNhbXBsZSBub25jZQ==".into()).accept(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_ne!(Key::random(), Key::random());
    }

    #[test]
    fn frames_are_those_of_the_standard() {
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(encode(TEXT, b"Hello", [0x37, 0xfa, 0x21, 0x3d]), hello);
        assert_eq!(encode(TEXT, &[0; 256], [0; 4])[..4], [0x81, 0xFE, 1, 0]);
        assert_eq!(encode(TEXT, &vec![0; 65536], [0; 4])[..10], [0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[tokio::test]
    async fn parts_are_joined_and_pings_are_told() {
        let bytes = [&[0x89, 1, b'p'][..], &[0x01, 3, b'H', b'e', b'l'], &[0x80, 2, b'l', b'o'], &[0x88, 0]].concat();
        let mut receiver = receiver(bytes, 100);
        assert_eq!(receiver.next().await.unwrap(), Some(Message::Ping(b"p".to_vec())));
        assert_eq!(receiver.next().await.unwrap(), Some(Message::Data(b"Hello".to_vec())));
        assert_eq!(receiver.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_breaks_the_rules_or_the_limit_ends_it() {
        let frames: [&[u8]; 5] = [
            &[0x81, 0x81, 0, 0, 0, 0, 0],
            &[0x80, 1, 0],
            &[0x81, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0x01, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 8, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xC1, 0],
        ];
        for frame in frames {
            assert!(receiver(frame.to_vec(), 10).next().await.is_err(), "{frame:?}");
        }
    }
}
