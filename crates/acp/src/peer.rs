//! JSON-RPC 2.0, one object per line. Our requests are numbered; an answer with an unknown number is ignored.

use crate::protocol::ProtocolError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use sys::sync::Mutex;
use tokio::sync::{mpsc, oneshot};

/// Lines per queue, in each direction; a full queue slows its producer.
const QUEUE_LINES: usize = 256;

/// One line of the client, parsed as far as needed to route it.
#[derive(Debug, Deserialize)]
pub(crate) struct AcpLine<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The client's answer to one of our requests; the error is ready to be shown.
type AcpReply = Result<Box<RawValue>, String>;

/// The connection to the client.
#[derive(Debug)]
pub(crate) struct AcpPeer {
    lines: mpsc::Sender<String>,
    pending: Mutex<PendingReplies>,
}

#[derive(Debug, Default)]
struct PendingReplies {
    next: u64,
    replies: HashMap<u64, oneshot::Sender<AcpReply>>,
}

#[derive(Serialize)]
struct AcpCall<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct AcpAnswer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ProtocolError>,
}

impl AcpPeer {
    /// Starts the writer thread; it ends when the last sender is dropped or when stdout can no longer be written.
    pub(crate) fn start() -> (Self, std::thread::JoinHandle<()>) {
        let (lines, receiver) = mpsc::channel(QUEUE_LINES);
        let writer = std::thread::spawn(move || write_lines(receiver));
        (Self { lines, pending: Mutex::default() }, writer)
    }

    /// Resolves when the client no longer reads.
    pub(crate) async fn client_gone(&self) {
        self.lines.closed().await;
    }

    pub(crate) async fn notify<P: Serialize>(&self, method: &str, params: &P) {
        self.send(&AcpCall { jsonrpc: "2.0", id: None, method, params }).await;
    }

    pub(crate) async fn request<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<R, String> {
        let (id, reply) = self.register();
        self.send(&AcpCall { jsonrpc: "2.0", id: Some(id), method, params }).await;
        let raw = reply.await.map_err(|_| "the client has gone".to_owned())??;
        serde_json::from_str(raw.get()).map_err(|error| format!("the client's answer cannot be read: {error}"))
    }

    pub(crate) async fn answer<R: Serialize>(&self, id: &RawValue, outcome: Result<R, ProtocolError>) {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        self.send(&AcpAnswer { jsonrpc: "2.0", id, result, error }).await;
    }

    /// Passes an answer of the client to the request that waits for it.
    pub(crate) fn deliver_reply(&self, line: &AcpLine<'_>) {
        let Some(id) = line.id.and_then(|id| id.get().parse::<u64>().ok()) else { return };
        let waiting = self.pending.lock().replies.remove(&id);
        let reply = match (line.result, line.error) {
            (_, Some(error)) => Err(message_of(error)),
            (Some(result), None) => Ok(result.to_owned()),
            (None, None) => Err("the client's answer has neither result nor error".into()),
        };
        if let Some(waiting) = waiting {
            waiting.send(reply).ok();
        }
    }

    /// Drops all open requests, because nobody will answer them any more.
    pub(crate) fn drop_pending(&self) {
        self.pending.lock().replies.clear();
    }

    fn register(&self) -> (u64, oneshot::Receiver<AcpReply>) {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.pending.lock();
        let id = waiting.next;
        waiting.next += 1;
        waiting.replies.insert(id, sender);
        (id, receiver)
    }

    async fn send<T: Serialize>(&self, line: &T) {
        match wire::raw::to_line(line) {
            Ok(line) => {
                if self.lines.send(line).await.is_err() {
                    tracing::debug!("the client no longer reads; a line was dropped");
                }
            }
            Err(error) => tracing::error!(%error, "a line could not be written"),
        }
    }
}

fn message_of(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct AcpErrorHead {
        #[serde(default)]
        message: String,
    }
    serde_json::from_str::<AcpErrorHead>(error.get()).map_or_else(|_| error.get().to_owned(), |head| head.message)
}

fn write_lines(mut lines: mpsc::Receiver<String>) {
    let mut out = std::io::stdout().lock();
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// Reads lines of stdin on a separate thread.
pub(crate) fn read_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(QUEUE_LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.blocking_send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}
