//! A model server for measurements: one thread per connection, replies rendered beforehand, and a time stamp before
//! and after the work of the server, so that its cost can be excluded from every figure.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const OTHER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// When the first bytes of the request were read.
    pub(super) began: Instant,
    /// When the server was about to write the reply.
    pub(super) answered: Instant,
    /// Bytes of the request body.
    pub(super) size: usize,
}

#[derive(Default)]
struct State {
    replies: Vec<Arc<Vec<u8>>>,
    marks: Vec<Mark>,
    held: bool,
    /// Number of replies that are sent although replies are held.
    free: usize,
    waiting: usize,
    /// Time between the events of a reply; `None` sends it whole.
    pace: Option<Duration>,
    /// The last request body, if bodies are kept.
    kept: Option<Vec<u8>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Exists until the process ends, like its threads.
pub(super) struct Server {
    shared: Arc<Shared>,
    url: String,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no loopback port for the model server")?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&accepting);
                // A client that disconnects early is a normal end of a connection.
                std::thread::spawn(move || shared.converse(stream).ok());
            }
        });
        Ok(Self { shared, url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Begins a measurement: request *n* from now on gets reply *n*; further requests get the last reply.
    pub(super) fn script(&self, replies: &[Arc<Vec<u8>>]) {
        let mut state = self.shared.lock();
        state.replies = replies.to_vec();
        state.marks.clear();
    }

    /// The body of the last request of `run`.
    pub(super) fn body_of(&self, run: impl FnOnce() -> Result<()>) -> Result<Vec<u8>> {
        self.shared.lock().kept = Some(Vec::new());
        let outcome = run();
        let body = self.shared.lock().kept.take().unwrap_or_default();
        outcome.map(|()| body)
    }

    /// Sets the time between the events of a reply; `None` sends replies whole.
    pub(super) fn pace(&self, pace: Option<Duration>) {
        self.shared.lock().pace = pace;
    }

    /// The requests answered since `script`.
    pub(super) fn marks(&self) -> Vec<Mark> {
        self.shared.lock().marks.clone()
    }

    /// Delays every reply until `release`.
    pub(super) fn hold(&self) {
        self.hold_after(0);
    }

    /// As [`Self::hold`], but the first `free` replies since `script` are sent.
    pub(super) fn hold_after(&self, free: usize) {
        let mut state = self.shared.lock();
        (state.held, state.free) = (true, free);
    }

    pub(super) fn release(&self) {
        self.shared.lock().held = false;
        self.shared.changed.notify_all();
    }

    /// Waits until `count` requests are held.
    pub(super) fn wait_for_held(&self, count: usize) -> Result<()> {
        let waiting =
            self.shared.changed.wait_timeout_while(self.shared.lock(), REQUEST_TIMEOUT, |s| s.waiting < count);
        let (state, timeout) = waiting.unwrap_or_else(PoisonError::into_inner);
        anyhow::ensure!(!timeout.timed_out(), "only {} of {count} requests came", state.waiting);
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut buffer = Vec::with_capacity(1 << 16);
        while let Some(mut request) = Request::read(&mut stream, &mut buffer, || self.lock().kept.is_some())? {
            if !request.is_message {
                stream.write_all(OTHER)?;
                continue;
            }
            if let (Some(body), Some(kept)) = (request.body.take(), &mut self.lock().kept) {
                *kept = body;
            }
            let reply = self.answer(&request);
            let pace = self.lock().pace;
            match pace {
                Some(pace) => drip(&mut stream, &reply, pace)?,
                None => stream.write_all(&reply)?,
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Arc<Vec<u8>> {
        let mut state = self.lock();
        state.waiting += 1;
        self.changed.notify_all();
        state = self
            .changed
            .wait_while(state, |s| s.held && s.marks.len() >= s.free)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        let at = state.marks.len().min(state.replies.len().saturating_sub(1));
        let reply = state.replies.get(at).cloned().unwrap_or_default();
        state.marks.push(Mark { began: request.began, answered: Instant::now(), size: request.size });
        reply
    }
}

/// Sends each event at its scheduled time, counted from the first; a late event does not delay the following ones.
fn drip(stream: &mut TcpStream, reply: &[u8], pace: Duration) -> std::io::Result<()> {
    const EVENT_END: &[u8] = b"\n\n\r\n";
    let mut due = Instant::now();
    let mut rest = reply;
    while !rest.is_empty() {
        let end = rest.windows(EVENT_END.len()).position(|w| w == EVENT_END);
        let (event, after) = rest.split_at(end.map_or(rest.len(), |at| at + EVENT_END.len()));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        stream.write_all(event)?;
        due += pace;
        rest = after;
    }
    Ok(())
}

struct Request {
    began: Instant,
    size: usize,
    is_message: bool,
    /// All of the body, when it was asked for.
    body: Option<Vec<u8>>,
}

impl Request {
    /// The next request of the connection; `None` at its end. `buffer` is cleared, because clients wait for a reply
    /// before the next request.
    fn read(
        stream: &mut TcpStream,
        buffer: &mut Vec<u8>,
        keeps_body: impl FnOnce() -> bool,
    ) -> std::io::Result<Option<Self>> {
        buffer.clear();
        if fill(stream, buffer)? == 0 {
            return Ok(None);
        }
        let began = Instant::now();
        let head = loop {
            if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            if fill(stream, buffer)? == 0 {
                return Ok(None);
            }
        };
        let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
        let is_message = text.starts_with("post /v1/messages ") || text.starts_with("post /v1/messages?");
        let length = text.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let mut got = buffer.len() - head;
        let mut piece = vec![0; 1 << 18];
        let mut tail: Vec<u8> = buffer[head..].to_vec();
        let keeps_body = is_message && keeps_body();
        while !length.map_or_else(|| tail.ends_with(b"0\r\n\r\n"), |length| got >= length) {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            got += count;
            tail.extend_from_slice(&piece[..count]);
            if !keeps_body {
                tail.drain(..tail.len().saturating_sub(8));
            }
        }
        Ok(Some(Self { began, size: got, is_message, body: keeps_body.then_some(tail) }))
    }
}

fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut piece = [0; 1 << 14];
    let count = stream.read(&mut piece)?;
    buffer.extend_from_slice(&piece[..count]);
    Ok(count)
}
