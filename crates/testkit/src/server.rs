//! The scripted model server. It runs on a separate thread, which ends when the server is dropped.

use crate::captured::CapturedRequest;
use crate::reply::ScriptedReply;
use crate::serve::connection;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type ReplyHandler = Box<dyn FnMut(&CapturedRequest) -> ScriptedReply + Send>;

/// Answers `POST /v1/messages` from a script, one reply per request, then from the handler if there is one.
/// `/v1/messages/count_tokens` and `/v1/models` have fixed answers; `route` adds others.
pub struct ModelServer {
    shared: Arc<ServerShared>,
    url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

pub(crate) struct ServerShared {
    state: Mutex<ServerState>,
    changed: Condvar,
}

struct ServerState {
    script: VecDeque<ScriptedReply>,
    handler: Option<ReplyHandler>,
    routes: Vec<(String, ScriptedReply)>,
    requests: Vec<CapturedRequest>,
    answered: usize,
    aborts: usize,
}

impl Default for ModelServer {
    fn default() -> Self {
        Self::start()
    }
}

impl ModelServer {
    /// A server with an empty script.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = ServerState {
            script: VecDeque::new(),
            handler: None,
            routes: Vec::new(),
            requests: Vec::new(),
            answered: 0,
            aborts: 0,
        };
        let shared = Arc::new(ServerShared { state: Mutex::new(state), changed: Condvar::new() });
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(listener, for_thread, stopped));
        Self { shared, url, stop: Some(stop), thread: Some(thread) }
    }

    /// A server that gives these replies in order.
    pub fn script(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let server = Self::start();
        server.shared.state.lock().unwrap().script.extend(replies);
        server
    }

    /// A server whose replies are computed from the request. Replies added with `push` come first.
    pub fn with_handler(handler: impl FnMut(&CapturedRequest) -> ScriptedReply + Send + 'static) -> Self {
        let server = Self::start();
        server.shared.state.lock().unwrap().handler = Some(Box::new(handler));
        server
    }

    /// Appends to the script.
    pub fn push(&self, reply: ScriptedReply) {
        self.shared.state.lock().unwrap().script.push_back(reply);
    }

    /// A permanent answer for another path, for every method. A path with a query answers only that query.
    pub fn route(&self, path: &str, reply: ScriptedReply) {
        self.shared.state.lock().unwrap().routes.insert(0, (path.to_owned(), reply));
    }

    /// `http://127.0.0.1:<port>`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The `POST /v1/messages` requests so far.
    pub fn requests(&self) -> Vec<CapturedRequest> {
        self.all_requests().into_iter().filter(is_message).collect()
    }

    /// The requests to all paths so far.
    pub fn all_requests(&self) -> Vec<CapturedRequest> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    /// The message request with this index; panics when it has not arrived.
    pub fn request(&self, index: usize) -> CapturedRequest {
        let requests = self.requests();
        let count = requests.len();
        requests.into_iter().nth(index).unwrap_or_else(|| panic!("request {index} never came ({count} did)"))
    }

    pub fn last_request(&self) -> CapturedRequest {
        self.requests().pop().expect("a request was made")
    }

    /// Blocks until `count` message requests have arrived; panics after 20 s.
    pub fn wait_for_requests(&self, count: usize) -> Vec<CapturedRequest> {
        self.wait("requests", |state| state.requests.iter().filter(|r| is_message(r)).count() >= count);
        self.requests()
    }

    /// Blocks until `count` clients have closed their connection during a reply.
    pub fn wait_for_aborts(&self, count: usize) {
        self.wait("aborted replies", |state| state.aborts >= count);
    }

    /// Deletes the recorded requests, so that a test of many turns does not keep them all.
    pub fn forget(&self) {
        self.shared.state.lock().unwrap().requests.clear();
    }

    /// Number of replies left in the script.
    pub fn unused_replies(&self) -> usize {
        self.shared.state.lock().unwrap().script.len()
    }

    fn wait(&self, what: &str, mut done: impl FnMut(&ServerState) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut state = self.shared.state.lock().unwrap();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "gave up waiting for {what}; {} requests came", state.requests.len());
            state = self.shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn serve(listener: std::net::TcpListener, shared: Arc<ServerShared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let accept = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, Arc::clone(&shared)));
        }
    };
    runtime.block_on(async {
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

impl ServerShared {
    /// Records the request and selects its reply; also returns a number that makes ids unique.
    pub(crate) fn answer(&self, request: &CapturedRequest) -> (usize, ScriptedReply) {
        let mut state = self.state.lock().unwrap();
        state.requests.push(request.clone());
        state.answered += 1;
        let number = state.answered;
        let reply = state.pick(request);
        drop(state);
        self.changed.notify_all();
        (number, reply)
    }

    pub(crate) fn count_abort(&self) {
        self.state.lock().unwrap().aborts += 1;
        self.changed.notify_all();
    }
}

impl ServerState {
    fn pick(&mut self, request: &CapturedRequest) -> ScriptedReply {
        let full = request.query.as_ref().map(|query| format!("{}?{query}", request.path));
        let is_meant = |(path, _): &&(String, ScriptedReply)| *path == request.path || Some(path) == full.as_ref();
        if let Some((_, reply)) = self.routes.iter().find(is_meant) {
            return reply.clone();
        }
        if !is_message(request) {
            return plain_answer(request);
        }
        if let Some(reply) = self.script.pop_front() {
            return reply;
        }
        match &mut self.handler {
            Some(handler) => handler(request),
            // A status that no client retries, so that a test with too short a script fails at once.
            None => ScriptedReply::error(400, "invalid_request_error", "testkit: the script has no reply left"),
        }
    }
}

fn is_message(request: &CapturedRequest) -> bool {
    request.method == "POST" && request.path == "/v1/messages"
}

fn plain_answer(request: &CapturedRequest) -> ScriptedReply {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/messages/count_tokens") => ScriptedReply::status(200).json(&json!({"input_tokens": 10})),
        ("GET", "/v1/models") => ScriptedReply::status(200).json(&models()),
        ("HEAD", "/") => ScriptedReply::status(200),
        _ => ScriptedReply::error(404, "not_found_error", "testkit: no such path"),
    }
}

fn models() -> Value {
    let row = |id: &str, name: &str| json!({"type": "model", "id": id, "display_name": name, "created_at": "2026-01-01T00:00:00Z"});
    json!({"data": [row("claude-sonnet-4-5", "Sonnet"), row("claude-haiku-4-5", "Haiku")],
           "has_more": false, "first_id": "claude-sonnet-4-5", "last_id": "claude-haiku-4-5"})
}
