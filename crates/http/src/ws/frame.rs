//! Frames of RFC 6455 and how they join into messages, without any I/O. Both roles: a client masks what it sends, a
//! server must not. Extensions are never agreed on, so the reserved bits are always an error.

pub(super) const CONTINUATION: u8 = 0x0;
pub(super) const TEXT: u8 = 0x1;
pub(super) const BINARY: u8 = 0x2;
pub(super) const CLOSE: u8 = 0x8;
pub(super) const PING: u8 = 0x9;
pub(super) const PONG: u8 = 0xA;
/// Bits of the first and the second byte.
const LAST: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// Values of the length field: the length follows in two bytes, or in eight.
const WORD: u8 = 0x7E;
const LONG: u8 = 0x7F;
/// Longest payload of a control frame, in bytes.
const MAX_CONTROL: u64 = 125;

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketRole {
    Client,
    Server,
}

/// Close codes of the standard that this end sends.
pub mod code {
    pub const NORMAL: u16 = 1000;
    pub const PROTOCOL_ERROR: u16 = 1002;
    pub const NOT_TEXT: u16 = 1007;
    pub const TOO_BIG: u16 = 1009;
}

/// A protocol violation by the peer: the connection must be closed with this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebSocketViolation {
    pub code: u16,
    pub why: &'static str,
}

fn protocol(why: &'static str) -> WebSocketViolation {
    WebSocketViolation { code: code::PROTOCOL_ERROR, why }
}

/// Encodes one complete frame, masked if a mask is given.
pub(super) fn encode(opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let masked = if mask.is_some() { MASKED } else { 0 };
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(LAST | opcode);
    match payload.len() {
        length @ 0..=125 => frame.push(masked | length as u8),
        length @ 126..=0xFFFF => {
            frame.push(masked | WORD);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(masked | LONG);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    let start = frame.len() + mask.map_or(0, |mask| mask.len());
    frame.extend(mask.into_iter().flatten());
    frame.extend(payload);
    apply_mask(&mut frame[start..], mask.unwrap_or_default());
    frame
}

/// Masks or unmasks.
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
}

/// The first two bytes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHead {
    pub(super) opcode: u8,
    pub(super) is_last: bool,
    short_length: u8,
}

impl FrameHead {
    pub(super) fn read(bytes: [u8; 2], role: WebSocketRole) -> Result<Self, WebSocketViolation> {
        let [first, second] = bytes;
        let head = Self { opcode: first & 0x0F, is_last: first & LAST != 0, short_length: second & !MASKED };
        if first & RESERVED != 0 {
            return Err(protocol("a reserved bit is set"));
        }
        if (second & MASKED != 0) != (role == WebSocketRole::Server) {
            return Err(protocol("the frame is masked by a server, or not masked by a client"));
        }
        if !matches!(head.opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG) {
            return Err(protocol("the kind of the frame is reserved"));
        }
        if head.is_control() && (!head.is_last || u64::from(head.short_length) > MAX_CONTROL) {
            return Err(protocol("a control frame is too long or in parts"));
        }
        Ok(head)
    }

    fn is_control(self) -> bool {
        self.opcode & 0x8 != 0
    }

    /// Number of length bytes that follow the head.
    pub(super) fn length_bytes(self) -> usize {
        match self.short_length {
            WORD => 2,
            LONG => 8,
            _ => 0,
        }
    }

    /// The length of the payload, from the bytes that follow the head.
    pub(super) fn length(self, more: &[u8]) -> Result<u64, WebSocketViolation> {
        if more.is_empty() {
            return Ok(self.short_length.into());
        }
        let length = more.iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
        if length >> 63 != 0 {
            return Err(protocol("the length of a frame has its first bit set"));
        }
        Ok(length)
    }
}

/// A message from the peer.
#[derive(Debug, PartialEq, Eq)]
pub enum WebSocketMessage {
    Text(String),
    Binary(Vec<u8>),
    /// Must be answered with [`super::WebSocketSender::pong`]. May arrive between the parts of a message.
    Ping(Vec<u8>),
    /// The peer closes, with this code if it sent one. Must be answered with [`super::WebSocketSender::close`]; nothing
    /// follows.
    Close(Option<u16>),
}

/// Joins frames into messages.
#[derive(Debug)]
pub(super) struct MessageAssembly {
    /// Longest accepted message, in bytes.
    limit: usize,
    partial: Option<PartialMessage>,
}

#[derive(Debug)]
struct PartialMessage {
    is_text: bool,
    bytes: Vec<u8>,
    /// Number of bytes that were checked and are valid UTF-8.
    checked: usize,
}

impl MessageAssembly {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, partial: None }
    }

    /// Checks that a frame with this head may follow now; returns the length of its payload.
    pub(super) fn accept(&self, head: FrameHead, length: u64) -> Result<usize, WebSocketViolation> {
        match (head.opcode, &self.partial) {
            (CONTINUATION, None) => return Err(protocol("a continuation of nothing")),
            (TEXT | BINARY, Some(_)) => return Err(protocol("a new message inside another one")),
            _ => {}
        }
        let begun = self.partial.as_ref().map_or(0, |partial| partial.bytes.len());
        let room = if head.is_control() { MAX_CONTROL as usize } else { self.limit.saturating_sub(begun) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > room {
            return Err(WebSocketViolation { code: code::TOO_BIG, why: "the message is longer than this end takes" });
        }
        Ok(length)
    }

    /// Adds an accepted frame; returns the message when it is complete.
    pub(super) fn push(
        &mut self,
        head: FrameHead,
        payload: Vec<u8>,
    ) -> Result<Option<WebSocketMessage>, WebSocketViolation> {
        match head.opcode {
            PING => return Ok(Some(WebSocketMessage::Ping(payload))),
            PONG => return Ok(None),
            CLOSE => return closing(&payload).map(|code| Some(WebSocketMessage::Close(code))),
            _ => {}
        }
        let mut partial = match self.partial.take() {
            Some(mut partial) => {
                partial.bytes.extend(payload);
                partial
            }
            None => PartialMessage { is_text: head.opcode == TEXT, bytes: payload, checked: 0 },
        };
        if partial.is_text {
            partial.check_text(head.is_last)?;
        }
        if !head.is_last {
            self.partial = Some(partial);
            return Ok(None);
        }
        if !partial.is_text {
            return Ok(Some(WebSocketMessage::Binary(partial.bytes)));
        }
        String::from_utf8(partial.bytes).map(|text| Some(WebSocketMessage::Text(text))).map_err(|_| not_text())
    }
}

impl PartialMessage {
    /// Fails at the first invalid byte. A character may be split between two frames, but not at the end of the message.
    fn check_text(&mut self, is_last: bool) -> Result<(), WebSocketViolation> {
        match std::str::from_utf8(&self.bytes[self.checked..]) {
            Ok(_) => self.checked = self.bytes.len(),
            Err(error) if error.error_len().is_some() || is_last => return Err(not_text()),
            Err(error) => self.checked += error.valid_up_to(),
        }
        Ok(())
    }
}

fn not_text() -> WebSocketViolation {
    WebSocketViolation { code: code::NOT_TEXT, why: "a text is not UTF-8" }
}

/// The code of a close frame; `None` when it has none.
fn closing(payload: &[u8]) -> Result<Option<u16>, WebSocketViolation> {
    let (code, reason) = match payload {
        [] => return Ok(None),
        [_] => return Err(protocol("half a close code")),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(protocol("a close code that must not be sent"));
    }
    std::str::from_utf8(reason).map_err(|_| not_text())?;
    Ok(Some(code))
}
