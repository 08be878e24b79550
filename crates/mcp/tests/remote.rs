//! Remote servers that fail: the number of attempts, the pauses, failures that are not retried, and the limits of a
//! call. Uses a scripted server on loopback and shortened pauses.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use futures_util::future::BoxFuture;
use mcp::{
    CallError, Elicitation, ElicitationAnswer, HeaderOccasion, Headers, McpHost, McpOwner, McpServerSpec, McpSettings,
    McpStatus, RetryPauses, ServerSwitch,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use sys::Env;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use wire::mcp::{McpScope, RemoteConfig, ServerConfig};

/// An owner with nobody to ask and no credentials.
struct Alone;

impl McpOwner for Alone {
    fn hide(&self, text: &str) -> String {
        text.to_owned()
    }

    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async { ElicitationAnswer::DECLINED })
    }

    fn elicitation_completed(&self, _: &str, _: &str) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn forward(&self, _: &str, _: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>> {
        Box::pin(async { Err("there is no host".into()) })
    }

    fn headers(
        &self,
        _: &str,
        _: &RemoteConfig,
        occasion: HeaderOccasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>> {
        Box::pin(async move { Ok((occasion == HeaderOccasion::Connect).then(Vec::new)) })
    }
}

/// How the server treats a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Answer,
    Status(u16),
    /// Reads the request and sends nothing.
    Silent,
    /// Begins to answer and then stops.
    Stalled,
    /// Sends progress, then answers.
    Slow,
}

#[derive(Default)]
struct Script {
    /// For the next handshakes; then `later` applies.
    handshakes: Vec<Mood>,
    later: Option<Mood>,
    calls: Option<Mood>,
    /// The time of each handshake.
    seen: Vec<Instant>,
}

#[derive(Clone, Default)]
struct Server(Arc<Mutex<Script>>);

impl Server {
    fn set(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.0.lock().unwrap());
    }

    fn handshakes(&self) -> usize {
        self.0.lock().unwrap().seen.len()
    }

    fn gaps(&self) -> Vec<Duration> {
        self.0.lock().unwrap().seen.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn mood(&self, method: &str) -> Mood {
        let mut script = self.0.lock().unwrap();
        match method {
            "initialize" => {
                script.seen.push(Instant::now());
                let next = (!script.handshakes.is_empty()).then(|| script.handshakes.remove(0));
                next.or(script.later).unwrap_or(Mood::Answer)
            }
            "tools/call" => script.calls.unwrap_or(Mood::Answer),
            _ => Mood::Answer,
        }
    }

    async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        format!("http://{address}/mcp")
    }

    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (verb, body) = request(&mut stream).await?;
            if verb != "POST" {
                respond(&mut stream, 405, "").await?;
                continue;
            }
            let message: Value = serde_json::from_slice(&body).ok()?;
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            match self.mood(&method) {
                Mood::Answer if message.get("id").is_none() => respond(&mut stream, 202, "").await?,
                Mood::Answer => respond(&mut stream, 200, &answer(&method, &message)).await?,
                Mood::Status(status) => respond(&mut stream, status, "").await?,
                Mood::Silent => std::future::pending().await,
                Mood::Stalled => {
                    begin_events(&mut stream).await?;
                    std::future::pending::<()>().await;
                }
                Mood::Slow => slow(&mut stream, &method, &message).await?,
            }
        }
    }
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let verb = line.split(' ').next()?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
        let lower = line.trim().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((verb, body))
}

fn answer(method: &str, message: &Value) -> String {
    let result = match method {
        "initialize" => json!({"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}),
        _ => json!({"content": [{"type": "text", "text": "seen"}]}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
}

async fn respond(stream: &mut BufReader<TcpStream>, status: u16, body: &str) -> Option<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).await.ok()
}

async fn begin_events(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok()
}

/// Sends eight progress steps, 60 ms apart, then the answer.
async fn slow(stream: &mut BufReader<TcpStream>, method: &str, message: &Value) -> Option<()> {
    begin_events(stream).await?;
    for step in 0..8 {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let params = json!({"progressToken": message["params"]["_meta"]["progressToken"], "progress": step});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        stream.write_all(format!("data: {note}\n\n").as_bytes()).await.ok()?;
    }
    stream.write_all(format!("data: {}\n\n", answer(method, message)).as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

const PAUSE: Duration = Duration::from_millis(20);

async fn host_with(server: &Server, change: impl FnOnce(&mut McpSettings)) -> McpHost {
    let mut settings = McpSettings::from_env(&Env::default(), Env::default(), PathBuf::from("/"));
    settings.pauses = RetryPauses { first: PAUSE, lost: PAUSE };
    change(&mut settings);
    let host = McpHost::new(settings, Arc::new(Alone));
    let config = ServerConfig::parse("s", &json!({"type": "http", "url": server.listen().await})).unwrap();
    host.add(McpServerSpec { name: "s".into(), scope: McpScope::User, config }, ServerSwitch::Enabled);
    host.wait_until_connected(Duration::from_secs(20), |_| true).await;
    host
}

async fn host(server: &Server) -> McpHost {
    host_with(server, |_| {}).await
}

fn status(host: &McpHost) -> McpStatus {
    host.view("s").unwrap().status
}

async fn call(host: &McpHost) -> Result<String, CallError> {
    let done = host.call("s", "look", Map::new(), &CancellationToken::new()).await?;
    match done.content.into_iter().next() {
        Some(mcp::ResultPart::Text(text)) => Ok(text),
        other => panic!("{other:?}"),
    }
}

/// Checks that the pauses are at least `PAUSE`, twice that, four times that, and so on.
fn assert_doubling(gaps: &[Duration]) {
    for (at, gap) in gaps.iter().enumerate() {
        assert!(*gap >= PAUSE * (1 << at), "{gaps:?}");
    }
}

// [TST-211]
#[tokio::test]
async fn the_first_connection_is_tried_four_times() {
    let server = Server::default();
    server.set(|script| script.handshakes = vec![Mood::Status(503); 3]);
    let connected = host(&server).await;
    assert_eq!((status(&connected), server.handshakes()), (McpStatus::Connected, 4));
    assert_doubling(&server.gaps());
    let server = Server::default();
    server.set(|script| script.later = Some(Mood::Status(502)));
    let failed = host(&server).await;
    assert_eq!(status(&failed), McpStatus::Failed("HTTP 502".into()));
    assert_eq!(server.handshakes(), 4);
}

// [TST-211]
#[tokio::test]
async fn what_is_refused_for_good_is_not_tried_again() {
    for (code, expected) in [(401, "needs-auth"), (403, "failed"), (404, "failed"), (400, "failed")] {
        let server = Server::default();
        server.set(|script| script.later = Some(Mood::Status(code)));
        let host = host(&server).await;
        assert_eq!((status(&host).as_str(), server.handshakes()), (expected, 1), "{code}: {:?}", status(&host));
    }
}

// [TST-211]
#[tokio::test]
async fn a_lost_connection_is_made_again_up_to_five_times() {
    let server = Server::default();
    let host = host(&server).await;
    assert_eq!(call(&host).await.unwrap(), "seen");
    server.set(|script| {
        script.seen.clear();
        script.calls = Some(Mood::Status(503));
        script.later = Some(Mood::Status(503));
    });
    assert!(matches!(call(&host).await, Err(CallError::Failed { .. })));
    host.wait_until_connected(Duration::from_secs(20), |_| true).await;
    assert_eq!((status(&host), server.handshakes()), (McpStatus::Failed("HTTP 503".into()), 5));
    assert_doubling(&server.gaps());
    // A requested reconnection succeeds once the server works again.
    server.set(|script| *script = Script::default());
    host.reconnect("s").await.unwrap();
    assert_eq!(call(&host).await.unwrap(), "seen");
    server.set(|script| {
        script.calls = Some(Mood::Status(503));
        script.handshakes = vec![Mood::Status(503); 2];
    });
    assert!(call(&host).await.is_err());
    server.set(|script| script.calls = None);
    host.wait_until_connected(Duration::from_secs(20), |_| true).await;
    assert_eq!(status(&host), McpStatus::Connected);
    assert_eq!(call(&host).await.unwrap(), "seen");
}

// [TST-210]
#[tokio::test]
async fn each_limit_of_a_call_holds_by_itself() {
    let short = Duration::from_millis(150);
    let server = Server::default();
    server.set(|script| script.calls = Some(Mood::Silent));
    let first_byte = host_with(&server, |settings| settings.calls.first_byte = short).await;
    let said = call(&first_byte).await.unwrap_err().to_string();
    assert!(said.contains("timed out after 150ms"), "{said}");
    server.set(|script| script.calls = Some(Mood::Stalled));
    let idle = host_with(&server, |settings| settings.calls.idle_remote = Some(short)).await;
    assert_eq!(call(&idle).await.unwrap_err(), CallError::TimedOut { server: "s".into(), after: short });
    // A call with progress is not idle.
    server.set(|script| script.calls = Some(Mood::Slow));
    assert_eq!(call(&idle).await.unwrap(), "seen");
    let total = host_with(&server, |settings| settings.calls.total = short).await;
    assert!(matches!(call(&total).await.unwrap_err(), CallError::TimedOut { .. }));
}

/// A WebSocket server; the first `drops` connections end after their first call.
async fn listen_ws(drops: usize) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}/mcp", listener.local_addr().unwrap());
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((stream, _)) = listener.accept().await {
            number += 1;
            tokio::spawn(serve_ws(stream, Arc::clone(&seen), number <= drops));
        }
    });
    (address, heads)
}

async fn serve_ws(stream: TcpStream, heads: Arc<Mutex<Vec<String>>>, drops: bool) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).await.ok().filter(|n| *n > 0)?;
    }
    let lower = head.to_ascii_lowercase();
    let at = lower.find("sec-websocket-key: ")? + "sec-websocket-key: ".len();
    let key = head[at..].split("\r\n").next()?;
    heads.lock().unwrap().push(lower.clone());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {}\r\n\r\n",
        accepted(key)
    );
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.write_all(&[0x89, 2, b'h', b'i']).await.ok()?;
    loop {
        let (opcode, payload) = frame(&mut stream).await?;
        if opcode != 1 {
            heads.lock().unwrap().push(format!("frame {opcode} {}", String::from_utf8_lossy(&payload)));
            continue;
        }
        let message: Value = serde_json::from_slice(&payload).ok()?;
        let method = message["method"].as_str()?.to_owned();
        if message.get("id").is_none() {
            continue;
        }
        let text = self::answer(&method, &message).into_bytes();
        // Sent in two fragments, the second with an extended length.
        stream.write_all(&[0x01, 1, text[0]]).await.ok()?;
        let rest = &text[1..];
        stream.write_all(&[0x80, 126]).await.ok()?;
        stream.write_all(&u16::try_from(rest.len()).ok()?.to_be_bytes()).await.ok()?;
        stream.write_all(rest).await.ok()?;
        if drops && method == "tools/call" {
            return stream.write_all(&[0x88, 0]).await.ok();
        }
    }
}

fn accepted(key: &str) -> String {
    use base64::Engine;
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(hash)
}

async fn frame(stream: &mut BufReader<TcpStream>) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await.ok()?;
    assert_eq!(head[1] & 0x80, 0x80, "a client masks");
    let length = match head[1] & 0x7F {
        126 => usize::from(stream.read_u16().await.ok()?),
        short => usize::from(short),
    };
    let mut mask = [0; 4];
    stream.read_exact(&mut mask).await.ok()?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.ok()?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((head[0] & 0x0F, payload))
}

// [TST-204] [TST-211]
#[tokio::test]
async fn a_server_behind_a_websocket_is_used_and_reconnected() {
    let (url, seen) = listen_ws(1).await;
    let mut settings = McpSettings::from_env(&Env::default(), Env::default(), PathBuf::from("/"));
    settings.pauses = RetryPauses { first: PAUSE, lost: PAUSE };
    let host = McpHost::new(settings, Arc::new(Alone));
    let declared = json!({"type": "ws", "url": url, "headers": {"Authorization": "Bearer t0ken"}});
    let config = ServerConfig::parse("s", &declared).unwrap();
    host.add(McpServerSpec { name: "s".into(), scope: McpScope::User, config }, ServerSwitch::Enabled);
    host.wait_until_connected(Duration::from_secs(20), |_| true).await;
    assert_eq!(status(&host), McpStatus::Connected);
    let version = host.version();
    assert_eq!(call(&host).await.unwrap(), "seen");
    // The server closes the connection after the first call.
    host.changed(version).await;
    host.wait_until_connected(Duration::from_secs(20), |_| true).await;
    assert_eq!(call(&host).await.unwrap(), "seen");
    let seen = seen.lock().unwrap();
    let heads: Vec<&String> = seen.iter().filter(|line| line.starts_with("get ")).collect();
    assert_eq!(heads.len(), 2);
    assert!(heads.iter().all(|head| head.contains("authorization: bearer t0ken")), "{heads:?}");
    assert!(seen.iter().any(|line| line == "frame 10 hi"), "the ping is answered: {seen:?}");
}
