//! A scripted server on loopback: one answer per request, in order, over real HTTP/1.1.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

#[derive(Clone)]
pub(crate) struct Answer {
    head: String,
    body: String,
    end: End,
    step: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Whole,
    Cut,
    StayOpen,
    Pings,
    Silent,
}

impl Answer {
    fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let lines = headers.iter().map(|(k, v)| format!("{k}: {v}\r\n")).collect::<Vec<_>>().concat();
        Self {
            head: format!("HTTP/1.1 {status} X\r\n{lines}"),
            body: body.to_owned(),
            end: End::Whole,
            step: usize::MAX,
        }
    }

    pub(crate) fn stream(body: &str) -> Self {
        Self::new(200, &[("content-type", "text/event-stream"), ("request-id", "req_server")], body)
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::new(200, &[("content-type", "application/json")], body)
    }

    pub(crate) fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self::new(status, headers, body)
    }

    /// Sends one byte per chunk.
    pub(crate) fn drip(body: &str) -> Self {
        Self { step: 1, ..Self::stream(body) }
    }

    /// Breaks the connection after the given body.
    pub(crate) fn cut(body: &str) -> Self {
        Self { end: End::Cut, ..Self::stream(body) }
    }

    /// Breaks the connection before any answer.
    pub(crate) fn hang_up() -> Self {
        Self { head: String::new(), end: End::Cut, ..Self::stream("") }
    }

    pub(crate) fn stay_open(body: &str) -> Self {
        Self { end: End::StayOpen, ..Self::stream(body) }
    }

    /// Sends the body, then pings without end.
    pub(crate) fn pings(body: &str) -> Self {
        Self { end: End::Pings, ..Self::stream(body) }
    }

    /// Sends no answer at all.
    pub(crate) fn silent() -> Self {
        Self { end: End::Silent, ..Self::stream("") }
    }
}

#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

struct Shared {
    answers: Vec<Answer>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    closed: Notify,
}

pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            answers,
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: Notify::new(),
        });
        let mut tasks = JoinSet::new();
        let accepting = shared.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(socket, accepting.clone()));
            }
        });
        Self { url, shared, _tasks: tasks }
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Waits until a client has closed a connection during an answer.
    pub(crate) async fn closed(&self) {
        self.shared.closed.notified().await;
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(seen) = read_request(&mut socket, &mut buffer).await {
        let number = {
            let mut all = shared.seen.lock().unwrap();
            all.push(seen);
            all.len() - 1
        };
        let Some(answer) = shared.answers.get(number).cloned() else { return };
        if !write_answer(&mut socket, &answer).await {
            return;
        }
        if answer.end == End::Whole {
            continue;
        }
        if answer.end != End::Cut {
            until_closed(&mut socket, answer.end == End::Pings).await;
        }
        shared.closed.notify_one();
        return;
    }
}

async fn until_closed(socket: &mut TcpStream, pings: bool) {
    let mut rest = [0; 64];
    loop {
        if !pings {
            if matches!(socket.read(&mut rest).await, Ok(0) | Err(_)) {
                return;
            }
            continue;
        }
        let gone = tokio::time::timeout(std::time::Duration::from_millis(20), socket.read(&mut rest)).await;
        let ping = chunk("data: {\"type\":\"ping\"}\n\n");
        if matches!(gone, Ok(Ok(0) | Err(_))) || socket.write_all(ping.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        fill(socket, buffer).await?;
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> =
        lines.filter_map(|l| l.split_once(':')).map(|(k, v)| (k.to_ascii_lowercase(), v.trim().to_owned())).collect();
    let length = headers.iter().find(|(k, _)| k == "content-length").map_or(0, |(_, v)| v.parse().unwrap());
    while buffer.len() < head_end + length {
        fill(socket, buffer).await?;
    }
    let body = String::from_utf8(buffer[head_end..head_end + length].to_vec()).unwrap();
    buffer.drain(..head_end + length);
    Some(Seen { line, headers, body })
}

async fn fill(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 8192];
    let read = socket.read(&mut part).await.ok().filter(|n| *n > 0)?;
    buffer.extend_from_slice(&part[..read]);
    Some(())
}

async fn write_answer(socket: &mut TcpStream, answer: &Answer) -> bool {
    if answer.head.is_empty() || answer.end == End::Silent {
        return true;
    }
    let mut out = format!("{}transfer-encoding: chunked\r\n\r\n", answer.head).into_bytes();
    for part in answer.body.as_bytes().chunks(answer.step) {
        out.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
        if answer.step < 16 && socket.write_all(&std::mem::take(&mut out)).await.is_err() {
            return false;
        }
    }
    if answer.end == End::Whole {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    socket.write_all(&out).await.is_ok()
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The events in the API's SSE framing.
pub(crate) fn sse(events: &[&str]) -> String {
    let frame = |data: &&str| {
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        format!("event: {}\ndata: {data}\n\n", value["type"].as_str().unwrap())
    };
    events.iter().map(frame).collect::<Vec<_>>().concat()
}

/// A complete answer with one text.
pub(crate) fn message(text: &str) -> String {
    let delta = serde_json::json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}});
    sse(&[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        &delta.to_string(),
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}"#,
        r#"{"type":"message_stop"}"#,
    ])
}
