//! One connection: reads requests, gets a reply from the script for each, and sends it in the shape it specifies.

use crate::captured::CapturedRequest;
use crate::http::{RequestReader, reason};
use crate::message::ScriptedEvent;
use crate::reply::{CutEnd, ReplyBody, ReplyCorruption, ReplyCut, ReplyShape, ScriptedReply};
use crate::server::ServerShared;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What happens to the connection after a reply.
#[derive(PartialEq, Eq)]
enum ConnectionFate {
    Keep,
    Close,
}

pub(crate) async fn connection(mut stream: TcpStream, shared: Arc<ServerShared>) {
    stream.set_nodelay(true).ok();
    let mut reader = RequestReader::default();
    while let Ok(Some(request)) = reader.next(&mut stream).await {
        let (number, reply) = shared.answer(&request);
        let sending = send(&mut stream, &request, reply, number);
        match sending.await {
            Ok(ConnectionFate::Keep) => {}
            Ok(ConnectionFate::Close) => return,
            Err(_) => {
                shared.count_abort();
                return;
            }
        }
    }
}

async fn send(
    stream: &mut TcpStream,
    request: &CapturedRequest,
    reply: ScriptedReply,
    number: usize,
) -> io::Result<ConnectionFate> {
    if let Some(delay) = reply.shape.delay {
        unless_client_leaves(stream, tokio::time::sleep(delay)).await?;
    }
    let ScriptedReply { status, mut headers, body, shape } = reply;
    headers.push(("request-id".into(), format!("req_test_{number:04}")));
    let (content_type, pieces) = match body {
        ReplyBody::Reset => {
            stream.set_zero_linger()?;
            return Ok(ConnectionFate::Close);
        }
        ReplyBody::Hang => {
            unless_client_leaves(stream, std::future::pending::<()>()).await?;
            return Ok(ConnectionFate::Close);
        }
        ReplyBody::Message(message) if !request.is_streaming() => {
            ("application/json".to_owned(), vec![message.whole(number, request.model()).to_string().into_bytes()])
        }
        ReplyBody::Message(message) => {
            ("text/event-stream".to_owned(), event_pieces(message.events(number, request.model()), &shape))
        }
        ReplyBody::Sse(events) => ("text/event-stream".to_owned(), event_pieces(events, &shape)),
        ReplyBody::Bytes { content_type, bytes } => (content_type, vec![bytes]),
    };
    headers.insert(0, ("content-type".into(), content_type));
    let head_only = request.method == "HEAD";
    write_head(stream, status, &headers, &pieces, &shape).await?;
    if head_only {
        return Ok(ConnectionFate::Close);
    }
    write_body(stream, pieces, &shape).await
}

fn event_pieces(mut events: Vec<ScriptedEvent>, shape: &ReplyShape) -> Vec<Vec<u8>> {
    for corrupt in &shape.corrupt {
        if let ReplyCorruption::Event(index, data) = corrupt {
            events[*index].data.clone_from(data);
        }
    }
    events.iter().map(ScriptedEvent::bytes).collect()
}

/// True for a reply that is sent in one piece with a content length; all others are chunked.
fn is_plain(pieces: &[Vec<u8>], shape: &ReplyShape) -> bool {
    pieces.len() <= 1 && shape.cut.is_none() && shape.split.is_none() && shape.gate.is_none()
}

async fn write_head(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    pieces: &[Vec<u8>],
    shape: &ReplyShape,
) -> io::Result<()> {
    let framing = if is_plain(pieces, shape) {
        format!("content-length: {}", pieces.iter().map(Vec::len).sum::<usize>())
    } else {
        "transfer-encoding: chunked".to_owned()
    };
    let fields: String = headers.iter().flat_map(|(n, v)| [n, ": ", v, "\r\n"]).collect();
    let head = format!("HTTP/1.1 {status} {}\r\n{fields}{framing}\r\n\r\n", reason(status));
    stream.write_all(head.as_bytes()).await
}

async fn write_body(stream: &mut TcpStream, pieces: Vec<Vec<u8>>, shape: &ReplyShape) -> io::Result<ConnectionFate> {
    if is_plain(&pieces, shape) {
        for piece in pieces {
            stream.write_all(&piece).await?;
        }
        return Ok(ConnectionFate::Keep);
    }
    let was_cut = shape.cut.is_some();
    for piece in shaped(pieces, shape) {
        if let Some(gate) = &shape.gate {
            unless_client_leaves(stream, gate.pass()).await?;
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(&piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).await?;
        if let Some(pause) = shape.pause {
            unless_client_leaves(stream, tokio::time::sleep(pause)).await?;
        }
    }
    if !was_cut || shape.end == CutEnd::Clean {
        stream.write_all(b"0\r\n\r\n").await?;
        return Ok(ConnectionFate::Keep);
    }
    match shape.end {
        CutEnd::Reset => stream.set_zero_linger()?,
        CutEnd::Stall => unless_client_leaves(stream, std::future::pending::<()>()).await?,
        CutEnd::Close | CutEnd::Clean => {}
    }
    Ok(ConnectionFate::Close)
}

/// The body in the pieces that are written: corrupted, cut, then split.
fn shaped(mut pieces: Vec<Vec<u8>>, shape: &ReplyShape) -> Vec<Vec<u8>> {
    for corrupt in &shape.corrupt {
        if let ReplyCorruption::Byte(at) = corrupt {
            flip(&mut pieces, *at);
        }
    }
    match shape.cut {
        Some(ReplyCut::Events(count)) => pieces.truncate(count),
        Some(ReplyCut::Bytes(count)) => cut_bytes(&mut pieces, count),
        None => {}
    }
    match shape.split {
        Some(size) => pieces.concat().chunks(size).map(<[u8]>::to_vec).collect(),
        None => pieces,
    }
}

fn flip(pieces: &mut [Vec<u8>], mut at: usize) {
    for piece in pieces {
        if at < piece.len() {
            piece[at] ^= 0x15;
            return;
        }
        at -= piece.len();
    }
}

fn cut_bytes(pieces: &mut Vec<Vec<u8>>, mut left: usize) {
    for piece in pieces.iter_mut() {
        piece.truncate(left);
        left -= piece.len();
    }
    pieces.retain(|p| !p.is_empty());
}

/// Runs `work`, but fails as soon as the client closes its side. The client must send nothing while a reply is under
/// way.
async fn unless_client_leaves<T>(stream: &mut TcpStream, work: impl Future<Output = T>) -> io::Result<T> {
    let mut byte = [0];
    tokio::select! {
        done = work => Ok(done),
        read = stream.read(&mut byte) => match read {
            Ok(0) => Err(io::ErrorKind::ConnectionAborted.into()),
            Ok(_) => Err(io::Error::other("the client sent bytes while a reply was under way")),
            Err(e) => Err(e),
        },
    }
}
