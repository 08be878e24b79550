//! Tests the framing against the rules of RFC 6455, in both roles: bytes sent to the socket, and the replies before the
//! connection is closed.

use super::frame::{self, BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT};
use super::*;
use tokio::io::DuplexStream;

const LIMIT: usize = 70_000;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

#[test]
fn the_answer_to_a_key_is_the_one_of_the_standard() {
    assert_eq!(WebSocketKey("dGhlIHNhbXBsZSBub25jZQ==".into()).accept(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_ne!(WebSocketKey::random(), WebSocketKey::random());
}

#[test]
fn frames_are_those_of_the_standard() {
    let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(frame::encode(TEXT, b"Hello", Some(MASK)), hello);
    assert_eq!(frame::encode(TEXT, b"Hello", None), [0x81, 5, b'H', b'e', b'l', b'l', b'o']);
    assert_eq!(frame::encode(TEXT, &[0; 256], None)[..4], [0x81, 0x7E, 1, 0]);
    assert_eq!(frame::encode(TEXT, &vec![0; 65536], None)[..10], [0x81, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]);
}

/// Echoes every message, answers pings and closes, and closes with the right code after a violation.
async fn echo(connection: DuplexStream, role: WebSocketRole) {
    let (mut sender, mut receiver) = split(connection, role, LIMIT);
    loop {
        let sent = match receiver.next().await {
            Ok(Some(WebSocketMessage::Text(text))) => sender.text(text.as_bytes()).await,
            Ok(Some(WebSocketMessage::Binary(bytes))) => sender.binary(&bytes).await,
            Ok(Some(WebSocketMessage::Ping(payload))) => sender.pong(&payload).await,
            Ok(Some(WebSocketMessage::Close(code))) => sender.close(code).await,
            Ok(None) | Err(ReceiveError::Io(_)) => return,
            Err(ReceiveError::Violation(violation)) => sender.close(Some(violation.code)).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// A frame as the peer of `role` sends it.
fn sent(role: WebSocketRole, opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame::encode(opcode, payload, (role == WebSocketRole::Server).then_some(MASK))
}

/// A frame that does not end its message.
fn part(role: WebSocketRole, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = sent(role, opcode, payload);
    bytes[0] &= 0x7F;
    bytes
}

/// A text frame with these bits of its first byte flipped.
fn flipped(role: WebSocketRole, bits: u8) -> Vec<u8> {
    let mut bytes = sent(role, TEXT, b"x");
    bytes[0] ^= bits;
    bytes
}

type Reply = (u8, Vec<u8>);

/// All frames that came back until the connection was closed.
fn replies(role: WebSocketRole, mut bytes: &[u8]) -> Vec<Reply> {
    let mut found = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        let width = match second & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let (more, rest) = rest.split_at(width);
        let long = more.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let length = if width == 0 { usize::from(second & 0x7F) } else { long };
        assert_eq!(second & 0x80 != 0, role == WebSocketRole::Client, "a client masks, a server does not");
        let (mask, rest) = rest.split_at(if role == WebSocketRole::Client { 4 } else { 0 });
        let (payload, rest) = rest.split_at(length);
        let mut payload = payload.to_vec();
        frame::apply_mask(&mut payload, mask.try_into().unwrap_or_default());
        found.push((first & 0x0F, payload));
        bytes = rest;
    }
    found
}

async fn exchange(role: WebSocketRole, bytes: &[u8], is_slow: bool) -> Vec<Reply> {
    let (mut theirs, ours) = tokio::io::duplex(1 << 20);
    let echo = tokio::spawn(echo(ours, role));
    let step = if is_slow { 1 } else { bytes.len().max(1) };
    for piece in bytes.chunks(step) {
        theirs.write_all(piece).await.ok();
        theirs.flush().await.ok();
        tokio::task::yield_now().await;
    }
    theirs.shutdown().await.ok();
    let mut back = Vec::new();
    theirs.read_to_end(&mut back).await.unwrap();
    echo.await.unwrap();
    replies(role, &back)
}

fn closed(code: u16) -> Reply {
    (CLOSE, code.to_be_bytes().to_vec())
}

type Case = (&'static str, Vec<u8>, Vec<Reply>);

fn messages(role: WebSocketRole) -> Vec<Case> {
    let frame = |opcode, payload: &[u8]| sent(role, opcode, payload);
    let part = |opcode, payload: &[u8]| part(role, opcode, payload);
    let text = |payload: &[u8]| vec![(TEXT, payload.to_vec())];
    let long = vec![b'a'; 65_536];
    let parts = [part(TEXT, b"Hel"), frame(CONTINUATION, b"lo")].concat();
    let empty_parts = [part(TEXT, b""), part(CONTINUATION, b"ab"), part(CONTINUATION, b""), frame(CONTINUATION, b"")];
    let pinged =
        [part(TEXT, b"a"), frame(PING, b"p"), part(CONTINUATION, b"b"), frame(PING, b"q"), frame(CONTINUATION, b"c")];
    let split_character = [part(TEXT, &[0xCE]), part(CONTINUATION, &[0xBA, 0xE1]), frame(CONTINUATION, &[0xBD, 0xB9])];
    vec![
        ("a text", frame(TEXT, b"Hello"), text(b"Hello")),
        ("an empty text", frame(TEXT, b""), text(b"")),
        ("125 bytes", frame(TEXT, &long[..125]), text(&long[..125])),
        ("126 bytes", frame(TEXT, &long[..126]), text(&long[..126])),
        ("64 KiB", frame(TEXT, &long), text(&long)),
        ("bytes", frame(BINARY, &[0, 0xFF, 0xC0]), vec![(BINARY, vec![0, 0xFF, 0xC0])]),
        ("two parts", parts, text(b"Hello")),
        ("empty parts", empty_parts.concat(), text(b"ab")),
        (
            "pings inside a message",
            pinged.concat(),
            vec![(PONG, b"p".to_vec()), (PONG, b"q".to_vec()), (TEXT, b"abc".to_vec())],
        ),
        ("a ping with 125 bytes", frame(PING, &long[..125]), vec![(PONG, long[..125].to_vec())]),
        ("a pong nobody asked for", [frame(PONG, b"x"), frame(TEXT, b"y")].concat(), text(b"y")),
        ("characters of many bytes", frame(TEXT, "κόσμε 🦀".as_bytes()), text("κόσμε 🦀".as_bytes())),
        ("a character in two parts", split_character.concat(), text("κό".replace('ό', "\u{1f79}").as_bytes())),
    ]
}

fn violations(role: WebSocketRole) -> Vec<Case> {
    let frame = |opcode, payload: &[u8]| sent(role, opcode, payload);
    let part = |opcode, payload: &[u8]| part(role, opcode, payload);
    let other = if role == WebSocketRole::Client { WebSocketRole::Server } else { WebSocketRole::Client };
    let error = |code| vec![closed(code)];
    let huge = [&frame(BINARY, &[])[..1], &[0x7F | frame(BINARY, &[])[1], 0xFF, 0, 0, 0, 0, 0, 0, 0][..]].concat();
    vec![
        ("masked for the other role", sent(other, TEXT, b"x"), error(1002)),
        ("first reserved bit", flipped(role, 0x40), error(1002)),
        ("second reserved bit", flipped(role, 0x20), error(1002)),
        ("third reserved bit", flipped(role, 0x10), error(1002)),
        ("reserved kind of data", frame(0x3, b""), error(1002)),
        ("reserved kind of control", frame(0xB, b""), error(1002)),
        ("a continuation of nothing", frame(CONTINUATION, b"x"), error(1002)),
        ("a message inside another", [part(TEXT, b"a"), frame(TEXT, b"b")].concat(), error(1002)),
        ("a ping in parts", part(PING, b"x"), error(1002)),
        ("a ping with 126 bytes", frame(PING, &[b'a'; 126]), error(1002)),
        ("a length with its first bit", huge, error(1002)),
        ("too long", frame(BINARY, &vec![0; LIMIT + 1]), error(1009)),
        ("too long in parts", [part(BINARY, &vec![0; LIMIT]), frame(CONTINUATION, &[0])].concat(), error(1009)),
        ("overlong character", frame(TEXT, &[b'a', 0xC0, 0xAF]), error(1007)),
        ("surrogate", frame(TEXT, &[0xED, 0xA0, 0x80]), error(1007)),
        ("half a character at the end", frame(TEXT, &[0xCE]), error(1007)),
        ("a wrong byte in an early part", part(TEXT, &[0xCE, b'a']), error(1007)),
    ]
}

fn closes(role: WebSocketRole) -> Vec<Case> {
    let frame = |payload: &[u8]| sent(role, CLOSE, payload);
    let with_reason = [&1000_u16.to_be_bytes()[..], "geschlossen – Ende".as_bytes()].concat();
    let bad_reason = [&1000_u16.to_be_bytes()[..], &[0xFF]].concat();
    let mut cases = vec![
        ("a close without a body", frame(b""), vec![(CLOSE, vec![])]),
        ("a close with a reason", frame(&with_reason), vec![closed(1000)]),
        ("a close of the application", frame(&4001_u16.to_be_bytes()), vec![closed(4001)]),
        ("half a code", frame(&[3]), vec![closed(1002)]),
        ("a reason that is no text", frame(&bad_reason), vec![closed(1007)]),
        ("data after a close", [frame(b""), sent(role, TEXT, b"late")].concat(), vec![(CLOSE, vec![])]),
    ];
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        cases.push(("a code that must not be sent", frame(&code.to_be_bytes()), vec![closed(1002)]));
    }
    cases
}

// [SRV-22] The cases of the server's specification, section 13.5.
#[tokio::test]
async fn every_case_of_the_standard_is_answered() {
    for role in [WebSocketRole::Client, WebSocketRole::Server] {
        let cases = [messages(role), violations(role), closes(role)].concat();
        assert!(cases.len() >= 26);
        for (name, bytes, expected) in cases {
            assert_eq!(exchange(role, &bytes, false).await, expected, "{name}, as {role:?}");
            if bytes.len() < 1000 {
                assert_eq!(exchange(role, &bytes, true).await, expected, "{name}, byte by byte, as {role:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_connection_that_ends_inside_a_frame_is_an_error() {
    let (mut theirs, ours) = tokio::io::duplex(64);
    let (_sender, mut receiver) = split(ours, WebSocketRole::Client, LIMIT);
    theirs.write_all(&[0x81, 5, b'H']).await.unwrap();
    drop(theirs);
    assert!(matches!(receiver.next().await, Err(ReceiveError::Io(_))));
    assert!(matches!(receiver.next().await, Ok(None)));
}
