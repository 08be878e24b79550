use super::*;
use std::net::SocketAddr;
use sys::sync::Mutex;

/// Allows one host and records every host and port it was asked about.
struct Only(&'static str, Mutex<Vec<String>>);

impl HostJudge for Only {
    fn judge(&self, host: &str, port: u16) -> HostVerdict {
        self.1.lock().push(format!("{host}:{port}"));
        if host == self.0 { HostVerdict::Allow } else { HostVerdict::Deny("it is not listed".into()) }
    }
}

fn started(host: &'static str) -> (SocketAddr, Arc<Only>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let judge = Arc::new(Only(host, Mutex::default()));
    let filter = Arc::new(FilterProxy::new(
        Arc::clone(&judge) as Arc<dyn HostJudge>,
        ExternalProxies::default(),
        &Env::default(),
    ));
    tokio::spawn(filter.serve(listener));
    (address, judge)
}

/// A host that answers each connection with the request head it received, and closes.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut seen = Vec::new();
            while !seen.ends_with(b"\r\n\r\n") {
                seen.push(client.read_u8().await.unwrap());
            }
            let body = String::from_utf8(seen).unwrap();
            client.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{body}").as_bytes()).await.unwrap();
        }
    });
    address
}

async fn say(proxy: SocketAddr, bytes: &[u8]) -> String {
    let mut client = TcpStream::connect(proxy).await.unwrap();
    client.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn plain_requests_reach_allowed_hosts_only() {
    // [CLI-196] SC-F09
    let host = echo().await;
    let (proxy, judge) = started("localhost");
    let port = host.port();
    let answer = say(proxy, format!("GET http://localhost:{port}/x HTTP/1.1\r\nHost: y\r\n\r\n").as_bytes()).await;
    assert!(
        answer.contains("GET /x HTTP/1.1\r\n") && answer.contains(&format!("Host: localhost:{port}\r\n")),
        "{answer}"
    );
    for other in ["127.0.0.1", "[::1]", "evil.test", "localhost.evil.test"] {
        let answer = say(proxy, format!("GET http://{other}:{port}/x HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("it is not listed"), "{answer}");
    }
    assert_eq!(judge.1.lock().len(), 5);
}

#[tokio::test]
async fn tunnels_carry_bytes_both_ways() {
    let host = echo().await;
    let (proxy, _) = started("localhost");
    let text = format!("CONNECT LOCALHOST:{} HTTP/1.1\r\n\r\nhello\r\n\r\n", host.port());
    let answer = say(proxy, text.as_bytes()).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 Connection established\r\n\r\n") && answer.ends_with("hello\r\n\r\n"),
        "{answer}"
    );
    assert!(say(proxy, b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn socks_speaks_the_same_law() {
    let host = echo().await;
    let (proxy, _) = started("localhost");
    let ask = |name: &str| {
        let mut bytes = vec![5, 1, 0, 5, 1, 0, 3, name.len() as u8];
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&host.port().to_be_bytes());
        bytes.extend_from_slice(b"hi\r\n\r\n");
        bytes
    };
    let granted = say(proxy, &ask("localhost")).await;
    assert!(granted.ends_with("hi\r\n\r\n"), "{granted:?}");
    let mut client = TcpStream::connect(proxy).await.unwrap();
    client.write_all(&ask("evil.test")).await.unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, [5, 0, 5, socks::NOT_ALLOWED]);
}
