//! Tests the client with a real socket: the requests it sends, its handling of every kind of answer, and timeouts.

use crate::server::{Answer, Server, message, sse};
#[cfg(test)]
use model::client::{FIRST_PARTY, ListedModel};
use model::request::{CacheLife, CacheMarks, RequestIdentity};
use model::{
    AuthSecret, Endpoint, ErrorKind, EventKind, Fragment, Message, ModelClient, ModelError, ModelRequest,
    ModelTimeouts, ModelTransport, RequestAuth, TokenCount,
};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const KEY: &str = "sk-test-0123456789";

fn endpoint(server: &Server, auth: RequestAuth) -> Endpoint {
    let env = Env::default().with([
        ("ANTHROPIC_BASE_URL", server.url.as_str()),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Team: blue\nx-app: mine\n\nbroken line\n"),
    ]);
    Endpoint::from_env(&env, auth)
}

fn client(server: &Server, auth: RequestAuth, transport: ModelTransport) -> ModelClient {
    let timeouts = ModelTimeouts {
        headers: Duration::from_secs(20),
        bytes: Some(Duration::from_secs(20)),
        events: Some(Duration::from_secs(20)),
    };
    ModelClient::new(http::Http::new(Env::default()), endpoint(server, auth), timeouts, transport)
}

fn keyed(server: &Server) -> ModelClient {
    client(server, RequestAuth::ApiKey(AuthSecret::new(KEY)), ModelTransport::Network)
}

fn request(text: &str) -> ModelRequest {
    let identity = RequestIdentity::new(SESSION, "sdk-cli", &Env::default());
    let mut request = ModelRequest::new("claude-opus-5", 1_000, Arc::new(identity));
    request.system = vec![Fragment::text("sys")].into();
    request.messages = vec![Message::user_text(text)];
    request.cache = Some(CacheMarks::default().plan(&request.messages, CacheLife::default()));
    request
}

/// Far longer than every limit in these tests: only a broken time limit reaches it.
const HOPELESS: Duration = Duration::from_secs(30);

async fn text_of(client: &ModelClient, text: &str) -> Result<String, ModelError> {
    let done = tokio::time::timeout(HOPELESS, client.complete(&request(text)))
        .await
        .unwrap_or_else(|_| panic!("it must end"))?;
    Ok(done.blocks.iter().map(|b| b.block.get()).collect::<Vec<_>>().join(" "))
}

// [TST-100] [CLI-110] [CLI-102]
#[tokio::test]
async fn what_is_sent() {
    let server = Server::start(vec![Answer::stream(&message("hello"))]).await;
    let done = keyed(&server).complete(&request("hi")).await.unwrap();
    assert_eq!(done.blocks[0].block.get(), r#"{"type":"text","text":"hello"}"#);
    assert_eq!(done.request_id.as_deref(), Some("req_server"));
    let seen = server.requests().remove(0);
    assert_eq!(seen.line, "POST /v1/messages?beta=true HTTP/1.1");
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("x-claude-code-session-id"), Some(SESSION));
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("x-team"), Some("blue"));
    assert_eq!(seen.header("x-app"), Some("mine"), "the user's own header wins");
    assert!(sys::id::is_uuid(seen.header("x-client-request-id").unwrap()));
    assert!(seen.header("user-agent").unwrap().starts_with("gimlet/"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, String::from_utf8(request("hi").body().concat()).unwrap());
}

// [CLI-102]
#[tokio::test]
async fn credentials_by_kind() {
    let secret = || AuthSecret::new(KEY);
    let cases = [
        (RequestAuth::Bearer(secret()), None, Some(format!("Bearer {KEY}"))),
        (RequestAuth::Both(secret()), Some(KEY), Some(format!("Bearer {KEY}"))),
        (RequestAuth::None, None, None),
    ];
    for (auth, key, bearer) in cases {
        let server = Server::start(vec![Answer::stream(&message("x"))]).await;
        text_of(&client(&server, auth, ModelTransport::Network), "hi").await.unwrap();
        let seen = server.requests().remove(0);
        assert_eq!(seen.header("x-api-key"), key);
        assert_eq!(seen.header("authorization").map(str::to_owned), bearer);
    }
}

#[tokio::test]
async fn a_key_never_shows() {
    let echo = format!(r#"{{"error":{{"type":"authentication_error","message":"invalid key {KEY}"}}}}"#);
    let server = Server::start(vec![Answer::status(401, &[], &echo)]).await;
    let client = keyed(&server);
    let error = client.stream(&request("hi")).await.err().unwrap();
    assert_eq!((error.kind.clone(), error.category()), (ErrorKind::Authentication, "authentication_failed"));
    assert_eq!(error.message, "invalid key [redacted]");
    for shown in [format!("{error:?}"), format!("{client:?}")] {
        assert!(!shown.contains(KEY) && !shown.contains("blue"), "{shown}");
    }
    let bad = ModelClient {
        endpoint: endpoint(&server, RequestAuth::ApiKey(AuthSecret::new("line\nbreak"))),
        ..client.clone()
    };
    let error = bad.stream(&request("hi")).await.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Unsendable);
    assert!(error.message.contains("x-api-key") && !error.message.contains("break"), "{error}");
    let unreachable = Endpoint { base_url: "http://user:pass1234@127.0.0.1:1".into(), ..client.endpoint.clone() };
    let error = ModelClient { endpoint: unreachable, ..client }.stream(&request("hi")).await.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Connect);
    assert!(!error.message.contains("pass1234"), "{error}");
}

// [TST-107] the facts a retry is decided on.
#[tokio::test]
async fn error_facts_come_from_headers() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#;
    let server = Server::start(vec![
        Answer::status(429, &[("retry-after", "1"), ("request-id", "req_9"), ("x-should-retry", "false")], body),
        Answer::status(429, &[("retry-after-ms", "250")], body),
        Answer::status(
            429,
            &[("anthropic-ratelimit-unified-status", "rejected"), ("anthropic-ratelimit-unified-reset", "1767225600")],
            body,
        ),
        Answer::status(502, &[], "<html>bad gateway</html>"),
        Answer::status(302, &[("location", "http://127.0.0.1:9/elsewhere?secret")], ""),
    ])
    .await;
    let client = keyed(&server);
    let mut errors = Vec::new();
    for _ in 0..5 {
        errors.push(client.stream(&request("hi")).await.err().unwrap());
    }
    assert_eq!(errors[0].retry_after, Some(Duration::from_secs(1)));
    assert_eq!((errors[0].request_id.as_deref(), errors[0].should_retry), (Some("req_9"), Some(false)));
    assert!(!errors[0].is_retryable());
    assert_eq!(errors[1].retry_after, Some(Duration::from_millis(250)));
    assert!(errors[1].is_retryable());
    assert_eq!(errors[2].kind, ErrorKind::Quota { resets_at: Some("1767225600".into()) });
    assert_eq!(
        (errors[3].kind.clone(), errors[3].message.as_str()),
        (ErrorKind::Server, "the server sent a web page (\"bad gateway\") in place of an answer")
    );
    assert_eq!(errors[4].kind, ErrorKind::InvalidRequest, "a redirect to another server is not followed");
    assert!(errors[4].message.contains("redirects to http://127.0.0.1:9/elsewhere,"), "{}", errors[4]);
    assert_eq!(server.requests().len(), 5);
}

// [TST-101] [TST-102] every event reaches the caller, one byte at a time.
#[tokio::test]
async fn a_drip_of_single_bytes() {
    let body = sse(&[r#"{"type":"novelty","x":1}"#])
        + ": note\r\n\r\n"
        + &sse(&[r#"{"type": "ping"}"#])
        + &message("é😀 done");
    let server = Server::start(vec![Answer::drip(&body)]).await;
    let mut stream = keyed(&server).stream(&request("hi")).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first.raw.get(), r#"{"type":"novelty","x":1}"#);
    assert!(matches!(stream.next().await.unwrap().unwrap().kind, EventKind::Ping));
    let mut assembly = model::ResponseAssembly::default();
    let mut texts = Vec::new();
    while let Some(event) = stream.next().await.unwrap() {
        texts.extend(assembly.push(&event).map(|c| c.block.get().to_owned()));
    }
    assert_eq!(texts, [r#"{"type":"text","text":"é😀 done"}"#]);
    assert!(stream.next().await.unwrap().is_none(), "the end stays the end");
}

// [TST-108]
#[tokio::test]
async fn broken_streams() {
    let whole = message("hello");
    let at = |needle: &str| whole[..whole.find(needle).unwrap()].to_owned();
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let server = Server::start(vec![
        Answer::cut(&at("content_block_stop")),
        Answer::stream(&at("content_block_stop")),
        Answer::cut(&at("event: message_stop")),
        Answer::stream(&(at("content_block_stop") + "\n\n" + &sse(&[overloaded]))),
        Answer::stream("data: {oops\n\n"),
        Answer::hang_up(),
    ])
    .await;
    let client = keyed(&server);
    let kind = |r: Result<String, ModelError>| r.map_err(|e| e.kind);
    assert_eq!(kind(text_of(&client, "cut").await), Err(ErrorKind::Dropped));
    assert_eq!(kind(text_of(&client, "ended early").await), Err(ErrorKind::Dropped));
    let complete = text_of(&client, "cut after the stop reason").await.unwrap();
    assert_eq!(complete, r#"{"type":"text","text":"hello"}"#);
    let error = text_of(&client, "error event").await.unwrap_err();
    assert_eq!((error.kind, error.request_id.as_deref()), (ErrorKind::Overloaded, Some("req_server")));
    assert_eq!(kind(text_of(&client, "no json").await), Err(ErrorKind::Malformed));
    let reset = text_of(&client, "reset").await.unwrap_err();
    assert!(reset.is_transport() && reset.is_retryable(), "{reset:?}");
}

// [TST-111]
#[tokio::test]
async fn silence_ends_in_a_stall() {
    const HOUR: u64 = 3_600_000;
    let start = sse(&[r#"{"type":"message_start","message":{"id":"m","model":"x"}}"#]);
    let server = Server::start(vec![Answer::stay_open(&start), Answer::pings(&start), Answer::silent()]).await;
    let watched = |bytes, events, headers| {
        let ms = |ms| Some(Duration::from_millis(ms));
        ModelClient {
            timeouts: ModelTimeouts { headers: ms(headers).unwrap(), bytes: ms(bytes), events: ms(events) },
            ..keyed(&server)
        }
    };
    let stalled = |error: ModelError| matches!(error.kind, ErrorKind::Stalled(_));
    // The other limits are an hour, so only the one that is meant can end the wait.
    assert!(stalled(text_of(&watched(80, HOUR, HOUR), "bytes").await.unwrap_err()));
    // Pings keep bytes coming but do not count as events.
    assert!(stalled(text_of(&watched(HOUR, 300, HOUR), "events").await.unwrap_err()));
    assert!(stalled(text_of(&watched(HOUR, HOUR, 80), "headers").await.unwrap_err()));
}

#[test]
fn watchdogs_by_environment() {
    let timeouts = |url: &str, vars: &[(&str, &str)]| {
        let env = Env::default().with(vars.iter().copied()).with([("ANTHROPIC_BASE_URL", url)]);
        let endpoint = Endpoint::from_env(&env, RequestAuth::None);
        let t = ModelTimeouts::from_env(&env, &endpoint);
        (t.headers.as_secs(), t.bytes.map(|d| d.as_secs()), t.events.map(|d| d.as_secs()))
    };
    let gateway = "http://127.0.0.1:9/";
    assert_eq!(timeouts(FIRST_PARTY, &[]), (600, Some(180), Some(300)));
    assert_eq!(timeouts(gateway, &[]), (600, Some(300), Some(300)));
    assert_eq!(timeouts(gateway, &[("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "5")]), (600, Some(300), Some(300)));
    assert_eq!(timeouts(gateway, &[("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "400000")]), (600, Some(400), Some(400)));
    assert_eq!(timeouts(gateway, &[("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", "1")]), (600, Some(10), Some(300)));
    assert_eq!(
        timeouts(gateway, &[("CLAUDE_ENABLE_BYTE_WATCHDOG", "0"), ("CLAUDE_ENABLE_STREAM_WATCHDOG", "0")]),
        (600, None, None)
    );
    assert_eq!(timeouts(gateway, &[("API_TIMEOUT_MS", "1000")]), (1, Some(300), Some(300)));
}

#[test]
fn futures_may_move_between_threads() {
    fn check<T: Send>(_: impl FnOnce(ModelClient, ModelRequest) -> T) {}
    check(|client, request| async move { client.stream(&request).await?.next().await });
    check(|client, request| async move { client.complete(&request).await });
}

// [TST-130]
#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let start = sse(&[r#"{"type":"message_start","message":{"id":"m","model":"x"}}"#]);
    let server = Server::start(vec![Answer::stay_open(&start)]).await;
    let mut stream = keyed(&server).stream(&request("hi")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    tokio::time::timeout(Duration::from_secs(30), server.closed()).await.expect("the connection is still open");
}

#[tokio::test]
async fn one_connection_serves_several_requests() {
    let server = Server::start(vec![Answer::stream(&message("a")), Answer::stream(&message("b"))]).await;
    let client = keyed(&server);
    text_of(&client, "1").await.unwrap();
    text_of(&client, "2").await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_gateway_that_does_not_stream() {
    let body = r#"{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"X","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}"#;
    let server = Server::start(vec![Answer::json(body)]).await;
    let done = keyed(&server).complete(&request("hi")).await.unwrap();
    let blocks: Vec<&str> = done.blocks.iter().map(|b| b.block.get()).collect();
    assert_eq!(blocks[0], r#"{"type":"thinking","thinking":"t","signature":"s"}"#);
    assert_eq!(blocks[2], r#"{"type":"tool_use","id":"t1","name":"X","input":{"a":1}}"#);
    assert_eq!(done.assembly.stop_reason.as_deref(), Some("tool_use"));
    assert_eq!((done.assembly.usage.input_tokens, done.assembly.usage.output_tokens), (3, 4));
}

// [TST-127]
#[tokio::test]
async fn counting_falls_back_to_an_estimate() {
    let server = Server::start(vec![Answer::json(r#"{"input_tokens":42}"#), Answer::status(404, &[], "{}")]).await;
    let client = keyed(&server);
    assert_eq!(client.count_tokens(&request("hi")).await.unwrap(), TokenCount::Exact(42));
    let estimate = client.count_tokens(&request(&"word ".repeat(1_000))).await.unwrap();
    assert!(matches!(estimate, TokenCount::Estimate(1_200..=2_000)), "{estimate:?}");
    let lines: Vec<String> = server.requests().into_iter().map(|r| r.line).collect();
    let counted = lines.iter().filter(|line| line.starts_with("POST /v1/messages/count_tokens")).count();
    assert_eq!((counted, lines.len()), (2, 2), "no paid request: {lines:?}");
}

// [TST-128] [CLI-116]
#[tokio::test]
async fn model_list() {
    let list = r#"{"data":[{"id":"claude-x","display_name":"X","type":"model"},{"id":"other"}],"has_more":false}"#;
    let server = Server::start(vec![Answer::json(list), Answer::status(307, &[("location", "/x")], "")]).await;
    let client = client(&server, RequestAuth::Both(AuthSecret::new(KEY)), ModelTransport::Network);
    let models = client.models().await.unwrap();
    assert_eq!(models[0], ListedModel { id: "claude-x".into(), display_name: Some("X".into()) });
    assert_eq!(models[1].id, "other");
    assert!(client.models().await.is_err(), "a redirect is a failure");
    let seen = server.requests().remove(0);
    assert_eq!(seen.line, "GET /v1/models?limit=1000 HTTP/1.1");
    assert_eq!((seen.header("x-api-key"), seen.header("authorization")), (Some(KEY), None));
}

// [F-B13]
#[tokio::test]
async fn every_page_of_the_model_list_is_read() {
    let page = |id: &str, more: bool| format!(r#"{{"data":[{{"id":"{id}"}}],"has_more":{more},"last_id":"{id}"}}"#);
    let server = Server::start(vec![Answer::json(&page("a", true)), Answer::json(&page("b", false))]).await;
    let client = client(&server, RequestAuth::Both(AuthSecret::new(KEY)), ModelTransport::Network);
    let ids: Vec<String> = client.models().await.unwrap().into_iter().map(|model| model.id).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(server.requests()[1].line, "GET /v1/models?limit=1000&after_id=a HTTP/1.1");
}

#[tokio::test]
async fn record_then_replay_without_a_network() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let server = Server::start(vec![
        Answer::status(
            529,
            &[("retry-after", "0")],
            r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
        ),
        Answer::stream(&message("hello from /srv/here")),
        Answer::cut(&message("x")[..120]),
    ])
    .await;
    let places = |path: &str| vec![(path.to_owned(), "<<cwd>>".to_owned())];
    let recorder = model::cassette::CassetteRecorder::create(&path, places("/srv/here")).unwrap();
    let client = client(&server, RequestAuth::ApiKey(AuthSecret::new(KEY)), ModelTransport::Record(recorder));
    assert_eq!(text_of(&client, "hi").await.unwrap_err().kind, ErrorKind::Overloaded);
    text_of(&client, "hi").await.unwrap();
    text_of(&client, "again").await.unwrap_err();
    drop(server);

    let tape = std::fs::read_to_string(&path).unwrap();
    assert!(!tape.contains(KEY) && !tape.contains("/srv/here"), "{tape}");
    let player = model::cassette::CassettePlayer::open(&path, places("/other/place")).unwrap();
    let replay = ModelClient { transport: ModelTransport::Replay(player.clone()), ..client };
    let busy = text_of(&replay, "hi").await.unwrap_err();
    assert_eq!((busy.kind, busy.retry_after), (ErrorKind::Overloaded, Some(Duration::ZERO)));
    assert_eq!(text_of(&replay, "hi").await.unwrap(), r#"{"type":"text","text":"hello from /other/place"}"#);
    assert_eq!(text_of(&replay, "again").await.unwrap_err().kind, ErrorKind::Dropped);
    assert_eq!(player.remaining(), 0);
    let error = text_of(&replay, "more").await.unwrap_err();
    assert!(error.message.contains("exchange 4"), "{error}");
}
