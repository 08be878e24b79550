//! The server role: answers MCP requests on two byte streams, one JSON message per line. It implements the protocol
//! only; a [`ToolProvider`] supplies the tools. It writes nothing before the first request; calls run one after the
//! other, and pings and cancellations are handled while a call runs.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Supported protocol revisions, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Time limit for requests that were read before the input ended.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const PARSE_ERROR: i64 = -32700;

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    /// JSON schema of the input.
    pub schema: Value,
    /// True when the tool changes nothing.
    pub read_only: bool,
}

/// The result of a call.
#[derive(Debug, Default)]
pub struct ToolAnswer {
    /// MCP content blocks.
    pub content: Vec<Value>,
    pub structured: Option<Value>,
    pub is_error: bool,
}

/// Supplies and runs the tools.
pub trait ToolProvider {
    fn offers(&self) -> Vec<OfferedTool>;

    /// Runs an offered tool.
    fn call<'a>(
        &'a mut self,
        name: &'a str,
        arguments: Box<RawValue>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolAnswer>;
}

/// The identity sent in the handshake.
pub struct ServerIdentity {
    pub name: &'static str,
    pub version: String,
    pub instructions: Option<String>,
}

#[derive(Deserialize)]
struct IncomingMessage {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct CallParams {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// Serves until the input ends.
pub async fn run<R, W>(input: R, output: W, identity: &ServerIdentity, bench: &mut dyn ToolProvider) -> io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = MessageLine { input, output, buffer: Vec::new() };
    let mut waiting = WaitingLines::default();
    while let Some(next) = waiting.next(&mut line).await? {
        let Some(request) = line.parse(&next).await? else { continue };
        let (Some(id), Some(method)) = (request.id, request.method.as_deref()) else { continue };
        if method != "tools/call" {
            let answer = reply(method, request.params.as_deref(), identity, bench);
            line.answer(&id, answer).await?;
            continue;
        }
        let call = match read_call(request.params.as_deref(), bench) {
            Ok(call) => call,
            Err(why) => {
                line.answer(&id, Err((INVALID_PARAMS, why))).await?;
                continue;
            }
        };
        if let Some(answer) = waiting.run_call(call, &id, &mut line, bench).await? {
            line.answer(&id, Ok(called(answer))).await?;
        }
    }
    Ok(())
}

fn read_call(params: Option<&RawValue>, bench: &dyn ToolProvider) -> Result<CallParams, String> {
    let params = params.map_or("{}", RawValue::get);
    let call: CallParams = serde_json::from_str(params).map_err(|error| error.to_string())?;
    let known = bench.offers().iter().any(|offer| offer.name == call.name);
    if known { Ok(call) } else { Err(format!("there is no tool {:?}", call.name)) }
}

/// Lines that were read while a call ran.
#[derive(Default)]
struct WaitingLines {
    queue: VecDeque<Vec<u8>>,
    /// Set when the input has ended: the time until which the waiting lines must be handled.
    until: Option<Instant>,
}

impl WaitingLines {
    async fn next<R, W>(&mut self, line: &mut MessageLine<R, W>) -> io::Result<Option<Vec<u8>>>
    where
        R: AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        match self.queue.pop_front() {
            Some(next) => Ok(Some(next)),
            None if self.until.is_some() => Ok(None),
            None => line.read().await,
        }
    }

    /// Runs a call and reads further lines meanwhile. `None` when it was cancelled: such a request gets no answer.
    async fn run_call<R, W>(
        &mut self,
        call: CallParams,
        id: &Value,
        line: &mut MessageLine<R, W>,
        bench: &mut dyn ToolProvider,
    ) -> io::Result<Option<ToolAnswer>>
    where
        R: AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let arguments = call.arguments.unwrap_or_else(|| RawValue::from_string("{}".into()).unwrap_or_default());
        let cancel = CancellationToken::new();
        let run = bench.call(&call.name, arguments, &cancel);
        tokio::pin!(run);
        loop {
            let until = self.until;
            let time_is_up = async {
                match until.filter(|_| !cancel.is_cancelled()) {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                answer = &mut run => return Ok((!cancel.is_cancelled()).then_some(answer)),
                () = time_is_up => cancel.cancel(),
                read = line.read(), if until.is_none() => match read? {
                    Some(next) => line.handle_during_call(next, id, &cancel, &mut self.queue).await?,
                    None => self.until = Some(Instant::now() + SHUTDOWN_GRACE),
                },
            }
        }
    }
}

fn reply(
    method: &str,
    params: Option<&RawValue>,
    identity: &ServerIdentity,
    bench: &dyn ToolProvider,
) -> Result<Value, (i64, String)> {
    match method {
        "initialize" => Ok(greeting(params, identity)),
        "ping" => Ok(json!({})),
        "tools/list" => {
            let tools: Vec<Value> = bench.offers().iter().map(listed).collect();
            Ok(json!({"tools": tools}))
        }
        other => Err((UNKNOWN_METHOD, format!("{other} is not supported"))),
    }
}

fn greeting(params: Option<&RawValue>, identity: &ServerIdentity) -> Value {
    let params: Map<String, Value> = params.and_then(|p| serde_json::from_str(p.get()).ok()).unwrap_or_default();
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|known| Some(*known) == wanted).unwrap_or(VERSIONS[0]);
    let mut hello = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": identity.name, "version": identity.version},
    });
    if let Some(text) = &identity.instructions {
        hello["instructions"] = text.as_str().into();
    }
    hello
}

fn listed(offer: &OfferedTool) -> Value {
    json!({
        "name": offer.name,
        "description": offer.description,
        "inputSchema": offer.schema,
        "annotations": {"readOnlyHint": offer.read_only},
    })
}

fn called(answer: ToolAnswer) -> Value {
    let mut out = json!({"content": answer.content, "isError": answer.is_error});
    // The specification requires an object.
    if let Some(structured) = answer.structured.filter(Value::is_object) {
        out["structuredContent"] = structured;
    }
    out
}

struct MessageLine<R, W> {
    input: R,
    output: W,
    /// Kept between reads, so that a cancelled read loses nothing.
    buffer: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> MessageLine<R, W> {
    /// The next line; `None` at the end. Cancel-safe.
    async fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(chunk.len(), |at| at + 1);
            self.buffer.extend_from_slice(&chunk[..used]);
            self.input.consume(used);
            if self.buffer.len() as u64 > MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than 16 MB"));
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.buffer);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
        }
    }

    /// Parses a line; an invalid line is answered with an error and gives `None`.
    async fn parse(&mut self, line: &[u8]) -> io::Result<Option<IncomingMessage>> {
        let problem = match serde_json::from_slice::<IncomingMessage>(line) {
            Ok(request) => return Ok(Some(request)),
            Err(error) if error.is_data() => (INVALID_REQUEST, "this is not a JSON-RPC message".to_owned()),
            Err(error) => (PARSE_ERROR, error.to_string()),
        };
        self.answer(&Value::Null, Err(problem)).await?;
        Ok(None)
    }

    /// Handles a line that was read while a call runs.
    async fn handle_during_call(
        &mut self,
        line: Vec<u8>,
        running: &Value,
        cancel: &CancellationToken,
        queue: &mut VecDeque<Vec<u8>>,
    ) -> io::Result<()> {
        let Ok(request) = serde_json::from_slice::<IncomingMessage>(&line) else {
            queue.push_back(line);
            return Ok(());
        };
        let params: Map<String, Value> =
            request.params.as_ref().and_then(|p| serde_json::from_str(p.get()).ok()).unwrap_or_default();
        match (request.method.as_deref(), &request.id) {
            (Some("ping"), Some(id)) => self.answer(id, Ok(json!({}))).await?,
            (Some("notifications/cancelled"), _) if params.get("requestId") == Some(running) => cancel.cancel(),
            // A waiting request is cancelled by removing it from the queue.
            (Some("notifications/cancelled"), _) => {
                let named = |line: &Vec<u8>| {
                    let waiting = serde_json::from_slice::<IncomingMessage>(line).ok().and_then(|request| request.id);
                    waiting.is_some() && waiting.as_ref() == params.get("requestId")
                };
                queue.retain(|line| !named(line));
            }
            _ => queue.push_back(line),
        }
        Ok(())
    }

    async fn answer(&mut self, id: &Value, answer: Result<Value, (i64, String)>) -> io::Result<()> {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
        };
        let mut text = message.to_string();
        text.push('\n');
        self.output.write_all(text.as_bytes()).await?;
        self.output.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, BufReader};

    struct Toy;

    impl ToolProvider for Toy {
        fn offers(&self) -> Vec<OfferedTool> {
            let offer = |name: &str| OfferedTool {
                name: name.into(),
                description: "d".into(),
                schema: json!({"type": "object"}),
                read_only: true,
            };
            vec![offer("echo"), offer("wait")]
        }

        fn call<'a>(
            &'a mut self,
            name: &'a str,
            arguments: Box<RawValue>,
            cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, ToolAnswer> {
            Box::pin(async move {
                if name == "wait" {
                    cancel.cancelled().await;
                }
                let content = vec![json!({"type": "text", "text": arguments.get()})];
                ToolAnswer { content, structured: Some(json!([1])), is_error: false }
            })
        }
    }

    async fn answers(lines: &[Value]) -> Vec<Value> {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        raw(&(lines.join("\n") + "\n")).await
    }

    async fn raw(text: &str) -> Vec<Value> {
        let (mut out, back) = tokio::io::duplex(1 << 20);
        let identity = ServerIdentity { name: "t", version: "1".into(), instructions: None };
        run(BufReader::new(text.as_bytes()), back, &identity, &mut Toy).await.unwrap();
        let mut all = String::new();
        out.read_to_string(&mut all).await.unwrap();
        all.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn the_protocol_is_answered_and_nothing_else_is_said() {
        // [TST-223]
        let got = answers(&[
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": "a", "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"x": 1}}}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "nope"}}),
            json!({"jsonrpc": "2.0", "id": 4, "method": "resources/list"}),
            json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        ])
        .await;
        assert_eq!(got.len(), 5, "{got:?}");
        assert_eq!(got[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!((&got[1]["id"], &got[1]["result"]), (&json!("a"), &json!({})));
        assert_eq!(got[2]["result"], json!({"content": [{"type": "text", "text": "{\"x\":1}"}], "isError": false}));
        assert_eq!(
            (&got[3]["error"]["code"], &got[4]["error"]["code"]),
            (&json!(INVALID_PARAMS), &json!(UNKNOWN_METHOD))
        );
        assert_eq!(
            raw("{nope\n\n7\n").await.iter().map(|e| e["error"]["code"].as_i64().unwrap()).collect::<Vec<_>>(),
            [PARSE_ERROR, INVALID_REQUEST]
        );
    }

    #[tokio::test]
    async fn a_running_call_can_be_cancelled_and_pings_do_not_wait() {
        let call =
            |id: u32, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
        let stop =
            |id: u32| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        let got = answers(&[call(1, "wait"), call(2, "echo"), call(3, "echo"), ping, stop(2), stop(1)]).await;
        let ids: Vec<&Value> = got.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!(7), &json!(3)]);
    }
}
