//! Plain HTTP over real sockets: bodies, streaming, proxies, broken connections, cancellation.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/frames.rs"]
mod frames;

use bytes::Bytes;
use http::{Http, HttpError, HttpMethod, HttpRequest};
use std::time::{Duration, Instant};
use sys::Env;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

fn client(vars: &[(&str, &str)]) -> Http {
    Http::new(Env::default().with(vars.iter().copied()))
}

fn get(url: impl Into<String>) -> HttpRequest {
    let timeout = Duration::from_secs(20);
    HttpRequest { method: HttpMethod::Get, url: url.into(), headers: vec![], body: vec![], timeout }
}

/// Reads one request: the head, and as many body bytes as `content-length` says.
async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut data = Vec::new();
    loop {
        if let Some(end) = data.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(data[..end].to_vec()).unwrap().to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            while data.len() < end + 4 + length {
                assert_ne!(stream.read_buf(&mut data).await.unwrap(), 0);
            }
            return (head, data.split_off(end + 4));
        }
        assert_ne!(stream.read_buf(&mut data).await.unwrap(), 0, "closed before a whole request");
    }
}

async fn answer(stream: &mut TcpStream, body: &str) {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// Accepts one connection, answers one request with `body` and returns its head.
fn serve_once(listener: TcpListener, body: &'static str) -> tokio::task::JoinHandle<String> {
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (head, _) = read_request(&mut stream).await;
        answer(&mut stream, body).await;
        head
    })
}

#[tokio::test]
async fn a_body_in_parts_goes_out_whole_with_its_length() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut requests = Vec::new();
        for _ in 0..2 {
            requests.push(read_request(&mut stream).await);
            answer(&mut stream, "ok").await;
        }
        requests
    });
    let http = client(&[]);
    let parts =
        [Bytes::from_static(b"{\"a\":"), Bytes::new(), Bytes::from(vec![b'1'; 100_000]), Bytes::from_static(b"}")];
    for body in [parts.to_vec(), vec![Bytes::from_static(b"one")]] {
        let headers = vec![("User-Agent".to_owned(), "gimlet-test/1".to_owned())];
        let request =
            HttpRequest { method: HttpMethod::Post, headers, body, ..get(format!("http://{address}/v1?x=1")) };
        let response = http.send(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.bytes(10).await.unwrap(), (b"ok".to_vec(), false));
    }
    // Both requests used one connection: the server accepted only one.
    let requests = server.await.unwrap();
    let (head, body) = &requests[0];
    assert!(head.starts_with("post /v1?x=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("content-length: 100006") && !head.contains("transfer-encoding"), "{head}");
    assert!(head.contains("user-agent: gimlet-test/1"), "{head}");
    assert_eq!(*body, parts.concat());
    assert_eq!(requests[1].1, b"one");
}

#[tokio::test]
async fn chunks_arrive_as_they_are_sent() {
    let (listener, address) = listen().await;
    let (go, mut gate) = tokio::sync::mpsc::channel::<()>(1);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
        for text in ["3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n\r\n"] {
            gate.recv().await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        }
    });
    let mut response = client(&[]).send(get(format!("http://{address}/"))).await.unwrap();
    for expected in [Some("one"), Some("two"), None] {
        go.send(()).await.unwrap();
        assert_eq!(response.chunk().await.unwrap().as_deref(), expected.map(str::as_bytes));
    }
}

#[tokio::test]
async fn compressed_answers_are_opened_and_limits_hold() {
    const GZIP: [u8; 30] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 72, 175, 202, 44, 0, 0, 25, 106, 210, 223, 10, 0,
        0, 0,
    ];
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (head, _) = read_request(&mut stream).await;
        let text = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", GZIP.len());
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.write_all(&GZIP).await.unwrap();
        head
    });
    let response = client(&[]).send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(response.bytes(5).await.unwrap(), (b"hello".to_vec(), true));
    let head = server.await.unwrap();
    assert!(head.contains("accept-encoding: gzip"), "{head}");
}

#[tokio::test]
async fn redirects_are_answers() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    });
    let response = client(&[]).send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!((response.status(), response.header("location")), (302, Some("/x")));
}

// [TST-129]
#[tokio::test]
async fn a_proxy_from_the_environment_is_used_with_its_credentials() {
    let (listener, address) = listen().await;
    let proxy = serve_once(listener, "from the proxy");
    let http =
        client(&[("https_proxy", &format!("http://user:secret@{address}")), ("HTTP_PROXY", "http://127.0.0.1:1")]);
    let response = http.send(get("http://target.test/path?q=1")).await.unwrap();
    assert_eq!(response.bytes(100).await.unwrap().0, b"from the proxy");
    let head = proxy.await.unwrap();
    assert!(head.starts_with("get http://target.test/path?q=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic dxnlcjpzzwnyzxq="), "{head}");
}

// [TST-129]
#[tokio::test]
async fn tls_targets_are_tunnelled_and_a_refusing_proxy_is_a_connect_error() {
    let (listener, address) = listen().await;
    let proxy = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (head, _) = read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        head
    });
    let error = client(&[("HTTPS_PROXY", &address)]).send(get("https://target.test/")).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect(_)), "{error:?}");
    assert!(proxy.await.unwrap().starts_with("connect target.test:443 http/1.1\r\n"));
}

// [TST-129]
#[tokio::test]
async fn exceptions_go_direct_and_loopback_is_none_by_itself() {
    let (listener, address) = listen().await;
    let target = serve_once(listener, "direct");
    let (proxy_listener, proxy_address) = listen().await;
    let proxy = serve_once(proxy_listener, "proxied");
    let vars = [("http_proxy", proxy_address.as_str()), ("NO_PROXY", "other.test 127.0.0.1")];
    let response = client(&vars).send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(response.bytes(100).await.unwrap().0, b"direct");
    assert!(target.await.unwrap().starts_with("get / "));
    let response = client(&vars[..1]).send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(response.bytes(100).await.unwrap().0, b"proxied");
    assert!(proxy.await.unwrap().starts_with(&format!("get http://{address}/ ")));
}

// [CLI-125]
#[tokio::test]
async fn a_bad_proxy_is_told_before_anything_is_sent() {
    let http = client(&[("HTTP_PROXY", "http://:99999")]);
    let error = http.check().unwrap_err();
    assert!(matches!(&error, HttpError::Invalid(message) if message.contains("HTTP_PROXY")), "{error:?}");
    let error = http.send(get("http://127.0.0.1:1/")).await.unwrap_err();
    assert!(matches!(&error, HttpError::Invalid(message) if message.contains("HTTP_PROXY")), "{error:?}");
    client(&[]).check().unwrap();
}

#[tokio::test]
async fn nobody_listening_is_a_connect_error_that_hides_the_query() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = client(&[]).send(get(format!("http://{address}/?key=secret"))).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, HttpError::Connect(_)), "{text}");
    assert!(text.contains(&address) && text.contains("refused") && !text.contains("secret"), "{text}");
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    Close,
    Reset,
    Garbage,
}

async fn cut(mut stream: TcpStream, how: Cut) {
    match how {
        Cut::Close => stream.shutdown().await.unwrap(),
        Cut::Reset => stream.set_zero_linger().unwrap(),
        Cut::Garbage => stream.write_all(b"this is not http at all\r\n\r\n").await.unwrap(),
    }
}

#[tokio::test]
async fn connections_that_break_are_broken() {
    for how in [Cut::Close, Cut::Reset, Cut::Garbage] {
        let (listener, address) = listen().await;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await;
            cut(stream, how).await;
        });
        let error = client(&[]).send(get(format!("http://{address}/"))).await.unwrap_err();
        assert!(matches!(error, HttpError::Broken(_)), "{how:?} {error:?}");
    }
    for how in [Cut::Close, Cut::Reset] {
        let (listener, address) = listen().await;
        let (stream, mut response) = half_answer(listener, &address).await;
        assert_eq!(response.chunk().await.unwrap().as_deref(), Some(b"part".as_slice()));
        cut(stream, how).await;
        let error = response.chunk().await.unwrap_err();
        assert!(matches!(error, HttpError::Broken(_)), "{how:?} {error:?}");
    }
}

/// A response whose body has begun and does not end, with the server's side of the connection.
async fn half_answer(listener: TcpListener, address: &str) -> (TcpStream, http::HttpResponse) {
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart").await.unwrap();
        stream
    };
    let http = client(&[]);
    let (stream, response) = tokio::join!(server, http.send(get(format!("http://{address}/"))));
    (stream, response.unwrap())
}

/// Waits until the client has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let mut byte = [0];
    // End of file or a reset: both mean that the client closed the connection.
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut byte)).await.expect("still open");
    assert!(matches!(read, Ok(0) | Err(_)));
}

// [TST-130]
#[tokio::test]
async fn dropping_a_response_closes_its_connection() {
    let (listener, address) = listen().await;
    let (mut stream, mut response) = half_answer(listener, &address).await;
    response.chunk().await.unwrap();
    drop(response);
    closed(&mut stream).await;
}

// [TST-130]
#[tokio::test]
async fn dropping_a_waiting_request_closes_its_connection() {
    let (listener, address) = listen().await;
    let http = client(&[]);
    let mut stream = tokio::select! {
        _ = http.send(get(format!("http://{address}/"))) => panic!("nobody answered"),
        stream = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await;
            stream
        } => stream,
    };
    closed(&mut stream).await;
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let (_listener, address) = listen().await;
    let request = HttpRequest { timeout: Duration::from_millis(30), ..get(format!("http://{address}/")) };
    let error = client(&[]).send(request).await.unwrap_err();
    assert!(matches!(error, HttpError::Timeout(limit) if limit == Duration::from_millis(30)), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_invalid() {
    let bad_header = HttpRequest { headers: vec![("a\nb".into(), "c".into())], ..get("http://127.0.0.1:1/") };
    for request in [get("nonsense"), get("ftp://127.0.0.1/"), get("http://"), bad_header] {
        let error = client(&[]).send(request).await.unwrap_err();
        assert!(matches!(error, HttpError::Invalid(_)), "{error:?}");
    }
}

/// A measurement, not a check: run with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "measurement"]
async fn cost_of_the_first_request() {
    for _ in 0..5 {
        let (listener, address) = listen().await;
        serve_once(listener, "x");
        let started = Instant::now();
        let http = client(&[]);
        http.warm(&format!("http://{address}/")).await.unwrap();
        let built = started.elapsed();
        http.send(get(format!("http://{address}/"))).await.unwrap();
        println!("plain: built {built:?}, answered {:?}", started.elapsed());
    }
    let started = Instant::now();
    client(&[]).warm("https://127.0.0.1/").await.unwrap();
    println!("secure: built {:?}", started.elapsed());
}
