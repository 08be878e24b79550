//! Tests the server with a client that is a plain socket.

#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use testkit::{ModelServer, ReplyGate, ScriptedBlock, ScriptedReply};

fn post(server: &ModelServer, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    stream
}

/// Reads until the text contains `end`.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while !String::from_utf8_lossy(&bytes).contains(end) {
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0, "ended before {end:?}: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(bytes).unwrap()
}

const STREAMING: &str =
    r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"Bash"}]}"#;

#[test]
fn a_message_is_streamed_as_the_api_does() {
    let server = ModelServer::script([ScriptedReply::message(vec![
        ScriptedBlock::thinking("hm", "sig"),
        ScriptedBlock::text("Hé"),
        ScriptedBlock::tool("Bash", &json!({"command": "ls"})),
        ScriptedBlock::tool("Read", &json!({"file_path": "/x"})),
    ])]);
    let text = read_until(&mut post(&server, STREAMING), "0\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"));
    for needle in ["event: message_start", "thinking_delta", "signature_delta", "input_json_delta", "Hé"] {
        assert!(text.contains(needle), "{needle} in {text}");
    }
    assert!(text.contains(r#""stop_reason":"tool_use""#));
    let request = server.last_request();
    assert_eq!((request.path.as_str(), request.query.as_deref()), ("/v1/messages", Some("beta=true")));
    assert_eq!(request.header("X-API-key"), Some("k"));
    assert_eq!((request.last_user_text().as_str(), request.tool_names()), ("hi", vec!["Bash".to_owned()]));
}

#[test]
fn a_request_without_stream_gets_one_object() {
    let server = ModelServer::script([ScriptedReply::text("whole").tokens(7, 9)]);
    let text = read_until(&mut post(&server, r#"{"model":"m","messages":[]}"#), "}}");
    assert!(
        text.contains("content-length") && text.contains(r#""text":"whole""#) && text.contains(r#""output_tokens":9"#)
    );
}

#[test]
fn cut_split_and_corruption_change_the_bytes() {
    let server = ModelServer::script([
        ScriptedReply::text("hello").cut_after_events(3),
        ScriptedReply::text("hello").cut_after_bytes(30).split_every(7),
        ScriptedReply::text("hello").corrupt_event(0, "{broken"),
    ]);
    let mut cut = String::new();
    post(&server, STREAMING).read_to_string(&mut cut).unwrap();
    assert!(cut.contains("content_block_start") && !cut.contains("content_block_delta") && !cut.ends_with("0\r\n\r\n"));
    let mut short = String::new();
    post(&server, STREAMING).read_to_string(&mut short).unwrap();
    assert!(short.contains("\r\n7\r\nevent: \r\n7\r\nmessage\r\n"), "{short}");
    assert!(read_until(&mut post(&server, STREAMING), "0\r\n\r\n").contains("data: {broken\n"));
}

#[test]
fn a_gate_holds_each_event() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("hello").gate(&gate)]);
    let mut stream = post(&server, STREAMING);
    gate.open();
    let start = read_until(&mut stream, "message_start");
    assert!(!start.contains("ping"));
    gate.wait_until_reached(2);
    gate.open_all();
    read_until(&mut stream, "0\r\n\r\n");
}

#[test]
fn hang_reset_and_status() {
    let server = ModelServer::script([
        ScriptedReply::hang(),
        ScriptedReply::reset(),
        ScriptedReply::error(429, "rate_limit_error", "slow down").header("retry-after", "1"),
    ]);
    let hung = post(&server, STREAMING);
    server.wait_for_requests(1);
    drop(hung);
    server.wait_for_aborts(1);
    let mut nothing = Vec::new();
    assert!(post(&server, STREAMING).read_to_end(&mut nothing).is_err() && nothing.is_empty());
    let limited = read_until(&mut post(&server, STREAMING), "slow down");
    assert!(limited.starts_with("HTTP/1.1 429 ") && limited.contains("retry-after: 1\r\n"));
}

#[test]
fn handler_answers_when_the_script_is_empty_and_exhaustion_is_an_error() {
    let server = ModelServer::with_handler(|request| ScriptedReply::text(format!("echo {}", request.last_user_text())));
    server.push(ScriptedReply::text("first"));
    assert!(read_until(&mut post(&server, STREAMING), "message_stop").contains("first"));
    assert!(read_until(&mut post(&server, STREAMING), "message_stop").contains("echo hi"));
    let empty = ModelServer::start();
    assert!(read_until(&mut post(&empty, STREAMING), "no reply left").starts_with("HTTP/1.1 400 "));
}
